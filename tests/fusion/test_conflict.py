"""Why nodes do not share loops: a program for each reason that `explain` gives; the values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.debug import explain

A = numpy.arange(3000.0).reshape(60, 50) % 37 - 11
MASK = A % 3 == 0


def _fold_then_write(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    total = (a + 1).sum(axis=0)
    a *= 2
    return total, a


def _writes_then_fold(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    a[mask] = 1
    a[a > 7] = 0
    return a.sum(axis=0), a


def _two_axes(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    b = a + 1
    return b.sum(axis=0), b.sum(axis=1)


def _other_elements(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    b = np.exp(a)
    return (b[:-1] + b[1:],)


def _turned(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    b = np.exp(a[:50])
    return (b + b.T,)


def _written_apart(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    c = a[1:] + 1
    a[:-1] = c
    return c, a


def _columns(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    return ((np.asfortranarray(a) + 1)[mask],)


def _kept(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    b = a + 1
    return b[mask], b


def _after_packing(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    return ((a + 1)[mask] * 2,)


def _overlap(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    np.add(a[:-1], 1, out=a[1:])
    return (a,)


def _twice(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    windows = np.lib.stride_tricks.sliding_window_view(a, 3, axis=0, writeable=True)
    windows += 0.0
    return (a,)


def _long(np: Any, a: Any, mask: Any) -> tuple[Any, ...]:
    for _ in range(150):
        a = a + mask
    return (a,)


PROGRAMS: dict[Callable[[Any, Any, Any], tuple[Any, ...]], str] = {
    _fold_then_write: "a fold may visit elements twice, and this changes what the group reads",
    _writes_then_fold: "a fold may visit elements twice, and the group changes what it reads",
    _two_axes: "folds other axes, or in another order, than the group",
    _other_elements: "iteration space (59, 50) is not (60, 50)",
    _turned: "reads a value of the group at other elements",
    _written_apart: "writes memory that the group uses, at other elements",
    _columns: "memory lies in another order than C",
    _kept: "somebody else may ask for what the group makes",
    _after_packing: "elements are counted or kept in a kernel of its own",
    _overlap: "reads what it overwrites, at other elements",
    _twice: "writes some element twice",
    _long: "the kernel has 128 nodes already",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__.strip("_"))
def test_reason(program: Callable[[Any, Any, Any], tuple[Any, ...]]) -> None:
    with lazyarr.options(jit="always"):
        results = program(lazyarr, lazyarr.array(A), lazyarr.array(MASK))
        assert PROGRAMS[program] in explain(*results)
        for got, want in zip(results, program(numpy, A.copy(), MASK), strict=True):
            assert numpy.asarray(got).tobytes() == want.tobytes()
