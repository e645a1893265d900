"""Test data and the comparison: NumPy's bits, but for what DESIGN leaves free."""

from __future__ import annotations

import numpy
import pytest

import lazyarr

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, numpy.inf, -numpy.inf, numpy.nan, 1e-310, 65504.0, 3.7e38]


@pytest.fixture(params=["auto", "always"])
def jit(request):
    """Lazily at every size, with NumPy behind the nodes or kernels."""
    with lazyarr.options(jit=request.param, eager_elements=0):
        yield request.param


@pytest.fixture
def values():
    return make_values


def make_values(char, n, seed=0, domain=None):
    """n values of a dtype: within an interval, or any, with specials and extremes among them."""
    rng = numpy.random.default_rng(seed)
    dtype = numpy.dtype(char)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        low, high = (info.min, info.max) if domain is None else (max(domain[0], info.min), domain[1])
        x = rng.integers(low, min(high, info.max), n, dtype=dtype, endpoint=True)
        if domain is None:
            x[: n // 4] = rng.choice(numpy.array([0, 1, info.min, info.max, 3], dtype), n // 4)
        return x
    if domain is not None:
        x = rng.uniform(*domain, n)
    else:
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-4, 5, n)
        x[: n // 4] = rng.choice(SPECIAL, n // 4)
    if dtype.kind == "c":
        x = x + 1j * x[::-1]
    with numpy.errstate(all="ignore"):
        return x.astype(dtype)


@pytest.fixture
def same():
    return assert_same


def assert_same(got, want, zero_sign=True):
    """The same type, shape, dtype and bits; NaN payloads (and zeros' signs, if so) aside."""
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, zero_sign)
        return
    assert isinstance(got, numpy.generic) == isinstance(want, numpy.generic), (type(got), type(want))
    g, w = numpy.asarray(got), numpy.asarray(want)
    assert (g.shape, g.dtype) == (w.shape, w.dtype)
    if isinstance(want, numpy.ndarray) and w.size:
        assert got.strides == want.strides
    if w.dtype.kind == "c":
        g, w = (x.reshape(-1).view(x.real.dtype) for x in (numpy.array(g), numpy.array(w)))
    equal = g == w
    if w.dtype.kind == "f":
        equal |= numpy.isnan(g) & numpy.isnan(w)
        if zero_sign:
            equal &= (numpy.signbit(g) == numpy.signbit(w)) | numpy.isnan(w)
    assert equal.all(), (g[~equal][:3], w[~equal][:3])
