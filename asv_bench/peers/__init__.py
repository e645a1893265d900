"""The target programs as users of other engines would write them: a module for each engine.

In:  an engine, a program's name, its inputs.   Out: a call that computes a result.

A module has `PROGRAMS`, the versions of `benchmarks.targets.TARGETS` by name; `array`, which makes the
engine's array of NumPy's; and `finish`, which waits for a result.  Other engines than ours may reassociate
and contract, as their users would allow, so their results are NumPy's approximately.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy

OURS = {"NumPy": "numpy", "lazyarr": "lazyarr", "compiled": "lazyarr_compile"}
"""NumPy, lazyarr as it is, and functions that `lazyarr.compile` was given, and the modules `in_...`."""

OTHERS = {"numexpr": "numexpr", "Numba": "numba", "jax": "jax", "torch": "torch"}
"""The engines, and the packages that they are imported by."""


class Peer:
    """A program in one engine: each call takes the next set of inputs and computes one result."""

    def __init__(self, module: Any, program: Callable[..., Any], sets: list[list[numpy.ndarray]]) -> None:
        self.program, self.finish = program, module.finish
        self.sets = [[module.array(x) for x in each] for each in sets]
        self.turn = 0

    def __call__(self) -> Any:
        self.turn = (self.turn + 1) % len(self.sets)
        return self.finish(self.program(*self.sets[self.turn]))


def peer(engine: str, name: str, sets: list[list[numpy.ndarray]]) -> Peer | None:
    """The program in an engine; None if that is not installed, or has no version of it."""
    package = OTHERS.get(engine)
    if package is not None and not importlib.util.find_spec(package):
        return None
    module = importlib.import_module(f"peers.in_{package or OURS[engine]}")
    return Peer(module, module.PROGRAMS[name], sets) if name in module.PROGRAMS else None
