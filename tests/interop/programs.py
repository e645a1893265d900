"""What the tests of this folder share: programs with NumPy and with lazyarr, with equal results."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr

MISSING = "needs the extra `interop`"

WAYS = [("auto", 40_000), ("always", 600)]
"""Options of `jit`, with a size: what is large enough to wait, and what is small and made to wait."""


def table(programs: dict[str, Any]) -> Any:
    """The names of a table of programs as a parameter."""
    return pytest.mark.parametrize("name", programs)


ways = pytest.mark.parametrize("jit, n", WAYS, ids=[jit for jit, _ in WAYS])


class Data:
    """Inputs of a program, in arrays of `np`; what lazyarr gets is pending."""

    def __init__(self, np: Any, n: int) -> None:
        self.n = n
        self.rng = numpy.random.default_rng(7)
        self.np = np

    def array(self, values: Any) -> Any:
        return self.np.array(values) * 1

    def normal(self, *shape: int) -> Any:
        return self.array(self.rng.normal(size=shape))

    def labels(self, k: int, n: int) -> Any:
        return self.array(self.rng.integers(0, k, n))


def plain(x: Any) -> Any:
    """A result as NumPy's arrays, nested as it is."""
    if isinstance(x, tuple | list):
        return [plain(y) for y in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return numpy.asarray(x) if isinstance(x, lazyarr.ndarray) else x


def check(program: Any, jit: str, n: int, rtol: float = 0.0) -> None:
    """`rtol`: of results of the BLAS, whose bits depend on where its operands lie."""
    want = plain(program(numpy, Data(numpy, n)))
    with lazyarr.options(jit=jit):
        got = plain(program(lazyarr, Data(lazyarr, n)))
    numpy.testing.assert_equal(types(got), types(want))
    same(got, want, rtol)


def types(x: Any) -> Any:
    if isinstance(x, list):
        return [types(y) for y in x]
    return str(x.dtype) if isinstance(x, numpy.ndarray) else type(x).__name__


def same(got: Any, want: Any, rtol: float) -> None:
    if isinstance(want, list):
        assert len(got) == len(want)
        for pair in zip(got, want, strict=True):
            same(*pair, rtol)
    elif rtol and getattr(want, "dtype", numpy.dtype(bool)).kind in "fc":
        numpy.testing.assert_allclose(got, want, rtol, atol=rtol)
    else:
        numpy.testing.assert_equal(got, want)


def outcome(program: str, names: dict[str, Any], seen: Any) -> Any:
    """What the last of some statements, ``a; b; c``, gives."""
    *before, last = program.split("; ")
    exec("\n".join(before), names)
    return seen(eval(last, names))
