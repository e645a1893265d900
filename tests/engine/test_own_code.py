"""Machine code of the library's own: found without its text, while that would be the same."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

import lazyarr as np
from lazyarr import own_code
from lazyarr.compiler import COMPILER
from lazyarr.dispatch import jit
from lazyarr.kernels import host


def value_of(found: Any, symbol: str) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(found[symbol])()


class Writer:
    """Writes a function that gives a number; counts how often."""

    def __init__(self, symbol: str, number: int) -> None:
        self.symbol, self.number, self.times = symbol, number, 0

    def __call__(self) -> str:
        self.times += 1
        return f"define i64 @{self.symbol}() {{\n  ret i64 {self.number}\n}}\n"

    def load(self, of: Any = (), compiles: bool = True) -> Any:
        return own_code.load(self, (self.symbol,), of, host(), 0, compiles)


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that forgets what this process has loaded; the cache is another one."""
    COMPILER.ready(1e12)
    if not COMPILER.usable:
        pytest.skip("there is no LLVM")

    def new() -> None:
        for name in ("_loaded", "_lasting", "_symbols"):
            monkeypatch.setattr(jit, name, type(getattr(jit, name))())

    with np.options(cache_dir=str(tmp_path)):
        new()
        yield new


def test_the_text_is_written_once(forget: Any) -> None:
    one = Writer("lazyarr_test_once", 7)
    assert value_of(one.load(), one.symbol) == 7 and one.times == 1
    forget()
    assert value_of(one.load(compiles=False), one.symbol) == 7 and one.times == 1


def test_it_is_another_one_for_other_places_and_sources(forget: Any, monkeypatch: Any) -> None:
    one, other = Writer("lazyarr_test_other", 1), Writer("lazyarr_test_other", 2)
    one.load((8, 16))
    forget()
    assert value_of(other.load((8, 24)), other.symbol) == 2 and other.times == 1
    forget()
    monkeypatch.setattr(own_code, "_sources", lambda: "another edition")
    changed = Writer("lazyarr_test_other", 3)
    assert value_of(changed.load((8, 16)), changed.symbol) == 3 and changed.times == 1


def test_nothing_is_remembered_where_editions_are_unknown(forget: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(own_code, "_sources", lambda: "")
    one = Writer("lazyarr_test_unknown", 4)
    for times in (1, 2):
        assert value_of(one.load(), one.symbol) == 4 and one.times == times
        forget()


def test_what_the_cache_lost_is_not_there(forget: Any, tmp_path: Path) -> None:
    one = Writer("lazyarr_test_lost", 5)
    assert one.load(compiles=False) is None
    one.load()
    key = jit.key_of(one(), host(), 0)
    (tmp_path / f"{key.hex()}.lzo").unlink()
    forget()
    assert one.load(compiles=False) is None
    assert value_of(one.load(), one.symbol) == 5


def test_what_nobody_has_compiled_is_written_once(forget: Any) -> None:
    one = Writer("lazyarr_test_later", 6)
    for _ in range(3):
        assert one.load(compiles=False) is None and one.times == 1
        forget()
    assert value_of(one.load(), one.symbol) == 6 and one.times == 2
    forget()
    assert value_of(one.load(compiles=False), one.symbol) == 6 and one.times == 2
