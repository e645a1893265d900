"""The target programs as users of other engines would write them: a module for each engine.

In:  a program's name and its inputs.   Out: for each engine that is installed, a call that computes a result.

A module has `PROGRAMS`, the versions of `benchmarks.targets.TARGETS` by name; `array`, which makes the
engine's array of NumPy's; and `finish`, which waits for a result.  The engines may reassociate and contract,
as their users would allow, so their results are NumPy's approximately.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy

ENGINES = {"numexpr": "numexpr", "Numba": "numba", "jax": "jax", "torch": "torch"}
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


def peers(name: str, sets: list[list[numpy.ndarray]]) -> dict[str, Peer]:
    """The program in each engine that is installed and has a version of it."""
    found = {}
    for engine, package in ENGINES.items():
        if importlib.util.find_spec(package):
            module = importlib.import_module(f"peers.in_{package}")
            if name in module.PROGRAMS:
                found[engine] = Peer(module, module.PROGRAMS[name], sets)
    return found
