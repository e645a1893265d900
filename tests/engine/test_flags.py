"""Floating-point warnings of compiled programs: those that NumPy gives, no others."""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr

X = numpy.linspace(-1, 1, 5000)

PROGRAMS = {
    "chosen after it was computed": lambda np, x: np.where(x > 0, np.sqrt(x), 0),
    "chosen, complex": lambda np, x: np.where(x > 0, (x + 0j) / (np.floor(x) + 0j), 0),
    "computed under a mask": lambda np, x: np.log(x, where=x > 0, out=np.zeros(x.size)),
    "divided under a mask": lambda np, x: np.divide(1.0, np.floor(x), where=x < 0, out=np.zeros(x.size)),
    "arctanh under a mask": lambda np, x: np.arctanh(x * 2, where=abs(x) < 0.4, out=np.zeros(x.size)),
    "mask that lets through": lambda np, x: np.log(x, where=x > -1, out=np.zeros(x.size)),
    "in place under a mask": lambda np, x: np.sqrt(x, where=x > 0, out=np.array(x)),
}


@pytest.mark.parametrize("level", ["", "X86_V2", "X86_V3"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings(name, level):
    outcomes = []
    for np in (numpy, lazyarr):
        with warnings.catch_warnings(record=True) as caught, lazyarr.options(jit="always", cpu_level=level):
            warnings.simplefilter("always")
            value = numpy.asarray(PROGRAMS[name](np, np.array(X)))
        outcomes.append((value.tobytes(), {str(w.message) for w in caught}))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("level", ["X86_V2", "X86_V3"])
def test_float16_at_every_level(level):
    x = X.astype("e")
    with lazyarr.options(jit="always", cpu_level=level):
        y = lazyarr.array(x)
        small = lazyarr.array(X.astype("i1"))
        results = y * y > 0, y + lazyarr.array(X), lazyarr.where(y > 0, y, 1), small > numpy.float16(0.5)
        got = [numpy.asarray(v) for v in results]
    want = [x * x > 0, x + X, numpy.where(x > 0, x, 1), X.astype("i1") > numpy.float16(0.5)]
    assert all(numpy.array_equal(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_masks_where_errors_raise(jit):
    x = numpy.linspace(-1, 1, 100_000)
    with lazyarr.options(jit=jit), lazyarr.errstate(all="raise"):
        y = lazyarr.array(x)
        assert numpy.array_equal(y[y > 0.5], x[x > 0.5])
        assert lazyarr.count_nonzero(y > 0.5) == numpy.count_nonzero(x > 0.5)
        with pytest.raises(FloatingPointError):
            (y * 1e308 * 1e308).sum()
