"""What Python functions raise that machine code calls meanwhile (a signal's handler may) is the program's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
import lazyarr.arrays
from lazyarr import swift_nodes
from lazyarr.recipes import NODES
from tests.engine.test_swift_nodes import arrays, nodes  # noqa: F401


class Stopped(BaseException):
    """What a handler raises."""


def once(calls: list[int], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is interrupted when it is first called."""

    def call(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise Stopped
        return otherwise(*args)

    return call


class Interrupted:
    """Options, in the midst of which a signal comes."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.ask = once(self.calls, lambda: "always")

    @property
    def jit(self) -> Any:
        return self.ask()


def write(x: Any, y: Any) -> None:
    x[1:] = y[1:]


def test_while_options_are_asked(monkeypatch: Any) -> None:
    x, y, _, _ = arrays("f8", "f8")
    for _ in range(3):                          # (what is not known is Python's)
        z = x + y
        write(z, y * 2.0)
        z += y
    value = y * 2.0
    for run in (lambda: x + y, lambda: write(z, value), lambda: NODES.update(1, z, np.add.fn, z, y)):
        options = Interrupted()
        held = [sys.getrefcount(of) for of in (x, y, z, z.storage, z.geo, None)]
        with monkeypatch.context() as patch:
            patch.setattr(swift_nodes, "current", options)
            with pytest.raises(Stopped):
                run()
        assert len(options.calls) == 1
        assert [sys.getrefcount(of) for of in (x, y, z, z.storage, z.geo, None)][:-1] == held[:-1]


def test_while_plain_operands_are_copied(monkeypatch: Any) -> None:
    with np.options(jit="auto"):
        x, row = np.ones((1200, 1000)), np.array(numpy.linspace(0, 1, 1001))[:-1]
        assert row.storage is None              # (a part of its memory)
        for _ in range(3):
            z = x + row
        held = [sys.getrefcount(of) for of in (x, row, x.storage)]
        calls: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(lazyarr.arrays, "_snapshot", once(calls, lazyarr.arrays._snapshot))
            with pytest.raises(Stopped):
                x + row
        assert len(calls) == 1
        assert [sys.getrefcount(of) for of in (x, row, x.storage)] == held
        assert (x + row == z).all()
