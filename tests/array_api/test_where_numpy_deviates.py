"""What the standard says and NumPy does not: its special cases as a table, and its stricter rules."""

from __future__ import annotations

import operator
import warnings

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp

INF, NAN = numpy.inf, numpy.nan

FLOOR_DIVIDE = [
    (INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF),
    (2.0, INF, 0.0), (2.0, -INF, -0.0), (-2.0, INF, -0.0), (-2.0, -INF, 0.0),
    (INF, INF, NAN), (NAN, INF, NAN), (INF, NAN, NAN), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (0.0, -3.0, -0.0),
]  # fmt: skip

COMPLEX = {
    "expm1": [
        (complex(-0.0, 0.0), complex(0.0, 0.0)), (complex(INF, 0.0), complex(INF, 0.0)),
        (complex(INF, INF), complex(INF, NAN)), (complex(INF, NAN), complex(INF, NAN)),
        (complex(-INF, INF), complex(-1.0, 0.0)), (complex(-INF, NAN), complex(-1.0, 0.0)),
        (complex(NAN, 0.0), complex(NAN, 0.0)), (complex(NAN, 1.0), complex(NAN, NAN)),
        (complex(1.0, INF), complex(NAN, NAN)),
    ],
    "tanh": [
        (complex(0.0, INF), complex(0.0, NAN)), (complex(0.0, NAN), complex(0.0, NAN)),
        (complex(INF, 2.0), complex(1.0, 0.0)), (complex(INF, 1.0), complex(1.0, 0.0)),
        (complex(-INF, 2.0), complex(-1.0, 0.0)), (complex(INF, INF), complex(1.0, 0.0)),
        (complex(NAN, 0.0), complex(NAN, 0.0)), (complex(1.0, INF), complex(NAN, NAN)),
    ],
}  # fmt: skip
SIGN_IS_OPEN = {complex(INF, INF), complex(-INF, INF)}


def same(got, want):
    return (numpy.isnan(got) and numpy.isnan(want)) or (
        got == want and numpy.signbit(got) == numpy.signbit(want)
    )


@pytest.fixture(params=["auto", "always"], autouse=True)
def jit(request):
    with lazyarr.options(jit=request.param):
        yield


@pytest.mark.parametrize("x1, x2, want", FLOOR_DIVIDE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_floor_divide(x1, x2, want, dtype, shape):
    a, b = xp.full(shape, x1, dtype=getattr(xp, dtype)), xp.full(shape, x2, dtype=getattr(xp, dtype))
    changed = xp.asarray(a, copy=True)
    changed //= b
    face = lazyarr.asarray(a)
    for got in (xp.floor_divide(a, b), xp.floor_divide(a, x2), a // b, changed, a // x2, x1 // b, face // b):
        assert got.dtype == dtype and got.shape == shape
        assert all(same(v, want) for v in numpy.asarray(got).ravel())


def test_floor_divide_of_infinities_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(xp.asarray(INF) // 2) == INF and float(xp.asarray(-3.0) // INF) == 0


def test_floor_divide_in_place_keeps_the_type():
    x = xp.asarray([7, 8])
    with pytest.raises(TypeError):
        x //= 2.0
    x //= 2
    assert x.dtype == xp.int64 and x[1] == 4
    y = xp.asarray([7.0], dtype=xp.float32)
    with pytest.raises(TypeError):
        y //= xp.asarray(1j)
    with pytest.raises(ValueError):
        y //= xp.ones(3, dtype=xp.float32)


@pytest.mark.parametrize("name, z, want", [(n, *case) for n, cases in COMPLEX.items() for case in cases])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_special_cases(name, z, want, dtype):
    with numpy.errstate(all="ignore"):
        x = xp.full((2,), z, dtype=getattr(xp, dtype))
        got = getattr(xp, name)(x)
        assert got.dtype == dtype
        found = numpy.asarray(got)[1]
    assert same(found.real, want.real)
    assert same(found.imag, want.imag) or (z in SIGN_IS_OPEN and found.imag == 0 == want.imag)


def test_sorts_descending_and_stable():
    x = xp.asarray([[2, 1, 2, 3], [0, 0, 5, 0]])
    assert xp.sort(x, descending=True).tolist() == [[3, 2, 2, 1], [5, 0, 0, 0]]
    assert xp.argsort(x, descending=True).tolist() == [[3, 0, 2, 1], [2, 0, 1, 3]]
    assert xp.argsort(x, axis=0, descending=True).tolist() == [[0, 0, 1, 0], [1, 1, 0, 1]]
    assert xp.argsort(x).tolist() == numpy.argsort(numpy.asarray(x), stable=True).tolist()


def test_other_rules():
    x = xp.asarray([1.0, 2.0])
    with pytest.raises(ValueError):
        _ = x.T
    with pytest.raises(TypeError):
        float(xp.asarray(1j))
    with pytest.raises(TypeError):
        xp.astype(xp.asarray([1j]), xp.float64)
    with pytest.raises(TypeError):
        operator.index(x[0])
    assert xp.clip(xp.asarray([1, 9], dtype=xp.int8), 2, 5).dtype == xp.int8
    assert xp.fft.fftfreq(4, dtype=xp.float32).dtype == xp.float32
    assert isinstance(xp.broadcast_arrays(x, x), tuple) and isinstance(xp.meshgrid(x, x), tuple)
    assert xp.linalg.eigvals(xp.eye(2)).dtype == xp.complex128
    assert xp.linalg.eig(xp.eye(2, dtype=xp.float32)).eigenvectors.dtype == xp.complex64
    for make in (xp.zeros, xp.asarray, xp.empty_like):
        with pytest.raises(ValueError):
            make(x if make is not xp.zeros else 3, device="cuda")
    with pytest.raises(ValueError):
        x.to_device("cuda")
    assert x.to_device("cpu") is x and x.device == "cpu"


def test_the_numpy_face_follows_numpy():
    with numpy.errstate(all="ignore"):
        assert numpy.isnan(lazyarr.floor_divide(lazyarr.array([INF]), 2.0)[0])
    assert lazyarr.ones((2, 3, 4)).T.shape == (4, 3, 2)
    assert isinstance(lazyarr.ones(3).sum(), numpy.float64)
