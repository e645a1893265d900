"""One program on every CPU level that it can be compiled for here: an oracle for the levels.

In:  a function and its arguments.   Out: its result, or `LevelsDiffer`.
A program calls the highest level; this calls all of them, through kernels at any size, and holds results
against those of the lowest, bit for bit (NaNs as NaNs, since their sign and payload are promised to nobody).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from lazyarr.config import options
from lazyarr.dispatch.introspect import usable


class LevelsDiffer(AssertionError):
    """Code of two CPU levels gave two results."""


def call_all(fn: Callable[..., Any], *args: Any, levels: Sequence[str] | None = None) -> Any:
    """Call a function once for each CPU level, and compare what it returns.

    Parameters
    ----------
    fn : callable
        Takes `args`, returns an array, or a sequence of arrays.
    *args
        Arrays are copied for each call.
    levels : sequence of str, optional
        Names of levels; all that kernels can be compiled for here, if not given.

    Returns
    -------
    Any
        What it returned on the last level.

    Raises
    ------
    LevelsDiffer
        If results differ in shape, dtype or a bit.
    """
    names = list(usable() if levels is None else levels)
    first: list[numpy.ndarray] | None = None
    result = None
    for name in names:
        with options(jit="always", cpu_level=name):
            result = fn(*(x.copy() if hasattr(x, "copy") else x for x in args))
            found = [numpy.asarray(x) for x in _arrays(result)]
        if first is None:
            first = found
        elif len(first) != len(found):
            raise LevelsDiffer(f"{len(first)} results with {names[0]}, {len(found)} with {name}")
        for k, (a, b) in enumerate(zip(first, found, strict=True)):
            _compare(k, a, b, names[0], name)
    return result


def _arrays(result: Any) -> Iterable[Any]:
    return result if isinstance(result, (tuple, list)) else [result]


def _compare(k: int, a: numpy.ndarray, b: numpy.ndarray, one: str, other: str) -> None:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        raise LevelsDiffer(
            f"result {k}: {a.dtype} of shape {a.shape} with {one}, {b.dtype} of {b.shape} with {other}"
        )
    differ = _bits(a) != _bits(b)
    if a.dtype.kind in "fc":
        parts = [(x.view(x.real.dtype) if x.dtype.kind == "c" else x) for x in (_flat(a), _flat(b))]
        both = numpy.isnan(parts[0]) & numpy.isnan(parts[1])
        differ &= ~numpy.repeat(both, parts[0].dtype.itemsize)
    if differ.any():
        at = int(differ.argmax()) // a.dtype.itemsize
        where = tuple(map(int, numpy.unravel_index(at, a.shape)))
        raise LevelsDiffer(
            f"result {k}: element {where} is {_flat(a)[at]!r} with {one}, {_flat(b)[at]!r} with {other}"
        )


def _flat(x: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(x).reshape(-1)


def _bits(x: numpy.ndarray) -> numpy.ndarray:
    return _flat(x).view(numpy.uint8)
