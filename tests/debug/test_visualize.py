"""Pictures: the text says what the plan is, and what is missing for a picture is said clearly."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr


@pytest.fixture
def pending() -> Any:
    with lazyarr.options(jit="always"):
        a = lazyarr.array(numpy.arange(3000.0).reshape(60, 50))
        lazyarr.evaluate(a)
        b = a * 2
        yield b[1:] + b[:-1]


def test_text(pending: Any, tmp_path: Path) -> None:
    told = lazyarr.debug.explain(pending)
    text = pending.visualize(tmp_path / "plan.dot")
    assert (tmp_path / "plan.dot").read_text() == text == lazyarr.debug.visualize(pending)
    assert not lazyarr.is_evaluated(pending)
    first, second = (o.serial for o in told.operations)
    assert len(re.findall("subgraph cluster_", text)) == len(told.groups) == 2
    edges = re.findall(r"(\w+) -> (\w+) \[style=(\w+)", text)
    assert edges == [("x0", f"n{first}", "solid"), *[(f"n{first}", f"n{second}", "solid")] * 2]
    assert told.groups[1].refusals[0].why in text


def test_registers_are_dashed() -> None:
    with lazyarr.options(jit="always"):
        text = (lazyarr.array(numpy.arange(1e5)) * 2 + 1).visualize()
    assert re.findall(r"style=(dashed|solid)", text) == ["solid", "dashed"]


def test_without_the_package(pending: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r"pip install 'lazyarr\[viz\]'"):
        pending.visualize(tmp_path / "plan.svg")
    assert not list(tmp_path.iterdir())


def test_with_the_package(pending: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ExecutableNotFound(Exception):
        pass

    class Source:
        def __init__(self, text: str) -> None:
            self.text = text

        def pipe(self, format: str) -> bytes:
            if format == "png":
                raise ExecutableNotFound
            return f"{format}: {self.text}".encode()

    fake = types.ModuleType("graphviz")
    vars(fake).update(Source=Source, ExecutableNotFound=ExecutableNotFound)
    monkeypatch.setitem(sys.modules, "graphviz", fake)
    text = pending.visualize(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text() == f"svg: {text}"
    with pytest.raises(RuntimeError, match="program `dot`"):
        pending.visualize(tmp_path / "plan.png")
    with pytest.raises(ValueError, match="kind of picture"):
        pending.visualize(tmp_path / "plan")
