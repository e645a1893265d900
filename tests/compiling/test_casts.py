"""Numbers that are beyond the types of arrays: a compiled function warns of them, or raises, at each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr

np = numpy
LARGE = 1e10


def given_where(x: Any, m: Any, p: float) -> Any:
    return np.where(m, x, p)


def known_where(x: Any, m: Any, p: float) -> Any:
    return np.where(m, x, LARGE)


def known_sum(x: Any, m: Any, p: float) -> Any:
    return 1 - x + 70000


def clipped(x: Any, m: Any, p: float) -> Any:
    return x.clip(0, LARGE) + np.clip(x, -p, p)


def filled(x: Any, m: Any, p: float) -> Any:
    return x + np.full(len(x), LARGE, np.dtype("f2")) + np.full_like(x, p, dtype=np.float16)


def copied(x: Any, m: Any, p: float) -> Any:
    np.copyto(x, LARGE, where=m)
    return x + np.array([p, p], "f2")[0]


def into_itself(x: Any, m: Any, p: float) -> Any:
    np.add(x, LARGE, out=x)
    x += p
    return x


def compared(x: Any, m: Any, p: float) -> Any:
    return (x < LARGE) & (x < p)


PROGRAMS = (given_where, known_where, known_sum, clipped, filled, copied, into_itself, compared)


def told(f: Callable[..., Any], xp: Any, p: float, over: str) -> tuple[Any, list[str]]:
    x, m = xp.arange(7).astype("f2"), xp.arange(7) > 3
    with warnings.catch_warnings(record=True) as found, numpy.errstate(over=over):
        warnings.simplefilter("always")
        try:
            result: Any = numpy.asarray(f(x, m, p)).tobytes()
        except FloatingPointError as error:
            result = str(error)
    return result, sorted(str(w.message) for w in found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("over", ["warn", "raise", "ignore"])
def test_as_numpy(program: Callable[..., Any], over: str) -> None:
    f = lazyarr.compile(program)
    for p in (LARGE, LARGE, 0.5, 0.5, LARGE, 2.0):
        assert told(f, lazyarr, p, over) == told(program, numpy, p, over)


def test_what_fits_is_compiled() -> None:
    f = lazyarr.compile(given_where)
    for p in (0.5, numpy.inf, 65504.0):
        assert told(f, lazyarr, p, "warn") == told(given_where, numpy, p, "warn")
    assert f.refusal is None
