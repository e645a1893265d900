"""The target programs in lazyarr as functions for `lazyarr.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.targets import SWEEPS, TARGETS, heat_step, jacobi_sweep

import lazyarr
from peers.in_lazyarr import array

__all__ = ["PROGRAMS", "array", "finish"]


def finish(result: Any) -> Any:
    return result                   # (computed at the call)


def compiled(call: Callable[..., Any], arrays: int) -> Callable[..., Any]:
    """A program of so many arrays.  (Functions of any number are not looked into.)"""
    given: tuple[Callable[..., Any], ...] = (
        lambda a: call(lazyarr, a), lambda a, b: call(lazyarr, a, b), lambda a, b, c: call(lazyarr, a, b, c),
    )  # fmt: skip
    found: Callable[..., Any] = lazyarr.compile(given[arrays - 1])
    return found


def sweeps(step: Callable[[Any], None]) -> Callable[..., Any]:
    """`targets.stepped`, with the loop in the function."""

    def run(np: Any, start: Any) -> Any:
        u = start.copy()
        for _ in range(SWEEPS):
            step(u)
        return u

    return run


LOOPS = {"Jacobi": sweeps(jacobi_sweep), "heat": sweeps(heat_step)}
PROGRAMS = {name: compiled(LOOPS.get(name, t.call), len(t.shapes)) for name, t in TARGETS.items()}
