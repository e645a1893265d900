"""`r_` and `c_` of small arrays, scalars, slices and words: as NumPy; and `s_`, which gives back its key."""

from __future__ import annotations

import numpy
import pytest

import lazyarr

KEYS = {
    "vectors": lambda np, a: np.r_[0, a, 1.5],
    "slices": lambda np, a: np.r_[1:4, a, 0:1:5j],
    "columns": lambda np, a: np.c_[a, a[::-1]],
    "words": lambda np, a: np.r_["0,2", a, a],
    "matrices": lambda np, a: np.r_["r", a, 1],
    "one": lambda np, a: (np.r_[a], np.r_[a,], np.c_[a]),
    "types": lambda np, a: np.r_[a.astype("f4"), True, 3, a > 2],
    "strings": lambda np, a: np.r_[np.array(["a", "bc"]), np.array(["d"])],
    "objects": lambda np, a: np.r_[a.astype(object), 3],
    "lists": lambda np, a: np.r_[[1, 2], a, (3, 4)],
    "empty": lambda np, a: np.r_[a[:0], a[:0]],
    "rows": lambda np, a: np.r_["-1", a.reshape(2, 3), a.reshape(2, 3)],
    "pending": lambda np, a: np.r_[np.arange(200_000) * 2.0, a],
    "key": lambda np, a: np.s_[a, 1:2, ...][1:],
    "grids": lambda np, a: (*np.ogrid[0:2, 0:3], np.mgrid[0:2, 0:3]),
    "meshes": lambda np, a: (*np.meshgrid(a, a[:2]), *np.meshgrid(a, a, indexing="ij", sparse=True)),
    "views": lambda np, a: (*np.meshgrid(a, a[:3], copy=False), *np.meshgrid(a)),
}


@pytest.mark.parametrize("name", KEYS)
def test_as_numpy(name: str) -> None:
    real = numpy.arange(6.0)
    expected, found = KEYS[name](numpy, real), KEYS[name](lazyarr, lazyarr.array(real))
    for x, y in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        if not isinstance(y, numpy.ndarray):
            assert x == y
            continue
        assert isinstance(x, type(y) if type(y) is not numpy.ndarray else lazyarr.ndarray)
        assert x.dtype == y.dtype and x.shape == y.shape and numpy.array_equal(numpy.asarray(x), y)


def test_keys_come_back() -> None:
    a = lazyarr.arange(3)
    assert lazyarr.s_[a, 1][0] is a and lazyarr.index_exp[a][0] is a


def test_results_are_new() -> None:
    a = lazyarr.arange(3.0)
    joined, (mesh, _) = lazyarr.r_[a,], lazyarr.meshgrid(a, a)
    view, _ = lazyarr.meshgrid(a, a, copy=False)
    a += 1
    assert joined.tolist() == [0, 1, 2] and mesh[1].tolist() == [0, 1, 2] and view[1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("key", [(numpy.zeros((2, 2)), 1), ("nonsense", 1), (1, "r")])
def test_refusals(key: tuple[object, ...]) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        numpy.r_[key]
    lazy = tuple(lazyarr.array(x) if isinstance(x, numpy.ndarray) else x for x in key)
    with pytest.raises(type(expected.value)) as found:
        lazyarr.r_[lazy]
    assert str(found.value) == str(expected.value)
