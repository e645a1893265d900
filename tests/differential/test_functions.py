"""Views, reshapes, creation, NumPy's own Python functions, and errors: as NumPy."""

from __future__ import annotations

import numpy
import pytest

import lazyarr

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

CALLS = {
    "transpose": lambda np, a: (a.T, np.transpose(a, (2, 0, 1)), a.swapaxes(0, 2), np.moveaxis(a, 0, -1)),
    "slices": lambda np, a: (a[1:, ::-2], a[..., None, 0], a[-1], a[:, 1:1], a[1, 2, 3]),
    "reshape": lambda np, a: (a.reshape(6, -1), a[:, ::2].reshape(-1), np.reshape(a, (8, 6), order="F"),
                              a.T.reshape(2, -1, order="A")),
    "ravel": lambda np, a: (a.ravel(), a.T.ravel("F"), np.ravel(a[::2]), a.flatten("F"), a.T.flatten("A")),
    "flips": lambda np, a: (np.flip(a), np.fliplr(a), np.rot90(a), np.roll(a, 3), np.roll(a, (1, 2), (0, 2))),
    "dims": lambda np, a: (np.expand_dims(a, (0, 2)), np.squeeze(a[:1]), np.atleast_3d(a[0, 0]), a.T.mT),
    "broadcast": lambda np, a: (np.broadcast_to(a, (2, *a.shape)), *np.broadcast_arrays(a[:, :1], a[0])),
    "diagonal": lambda np, a: (a.diagonal(1, 1, 2), np.diagonal(a), np.trace(a)),
    "split": lambda np, a: (*np.split(a, 2, axis=2), *np.array_split(a, 3), *np.hsplit(a, [1])),
    "windows": lambda np, a: np.lib.stride_tricks.sliding_window_view(a, (2, 2), axis=(0, 2)).sum(axis=-1),
    "parts": lambda np, a: (a.real, a.imag, (a * 1j).real, (a * 1j).imag, np.conj(a * 1j), np.angle(a * 1j)),
    "copies": lambda np, a: (a.copy("F"), np.array(a, order="F"), np.ascontiguousarray(a.T), a.astype("f4")),
    "likes": lambda np, a: (np.zeros_like(a.T), np.ones_like(a, dtype="i2"), np.full_like(a, 3, shape=5)),
    "fills": lambda np, a: (np.zeros((3, 4), order="F"), np.ones(5, "?"), np.full((2, 3), 7), np.eye(4)),
    "differences": lambda np, a: (np.diff(a), np.diff(a, n=2, axis=0), *np.gradient(a[0]), np.ediff1d(a)),
    "averages": lambda np, a: (np.average(a, axis=1, weights=[1, 2, 3]), np.median(a), np.cov(a[0])),
    "norms": lambda np, a: (np.linalg.norm(a, axis=1), np.linalg.norm(a[0], 1), np.hypot(a, 2)),
    "closeness": lambda np, a: (np.isclose(a, a + 1e-9), np.allclose(a, a), np.array_equal(a, a[::-1])),
    "triangles": lambda np, a: (np.tril(a), np.triu(a[0], 1)),
    "rounding": lambda np, a: (np.round(a / 7, 2), (a / 7).round(), np.fix(a / 7), np.around(a / 3, -1)),
    "masks": lambda np, a: (a[a > 10], a[a[:, 0, 0] > 10], np.where(a > 10, a, -a), np.extract(a > 5, a)),
    "fancy": lambda np, a: (a[[2, 0]], a[:, [1, -1], 2], a[np.array([[0, 1], [1, 0]])], np.take(a, [5, 3])),
    "joins": lambda np, a: (np.concatenate([a, a[:1]]), np.stack([a, a]), np.vstack([a[0], a[1]])),
    "searches": lambda np, a: (np.sort(a, axis=0), np.argsort(a[0]), *np.nonzero(a > 3), np.unique(a // 7)),
    "scans": lambda np, a: (np.cumsum(a), np.cumprod(a[0], axis=1), np.add.accumulate(a, axis=1)),
    "outer": lambda np, a: (np.outer(a[0, 0], a[1, 1]), np.multiply.outer(a[0, 0], a[0]), np.tile(a, 2),
                            np.cross(a[..., :3], a[..., 1:4])),
    "methods": lambda np, a: (np.add.reduceat(a, [0, 2]), np.nan_to_num(a / 0), np.isposinf(a / 0),
                              np.unwrap(a)),
    "elements": lambda np, a: (a.item(3), a.tolist(), list(a[0, 0]), [x.sum() for x in a], 5 in a, len(a)),
    "samples": lambda np, a: (np.linspace(a[0], a[1], 5), np.linspace(a[1], a[0] + 9, 3, axis=1),
                              np.logspace(a[0, 0], a[1, 0], 4), np.geomspace(a[2] + 9, a[3], 5)),
    "axes": lambda np, a: many_axes(np, a.reshape((1,) * 38 + (12, 4))),
    "iterators": lambda np, a: (np.indices(iter((2, 3))), np.fromfunction(np.add, iter((3, 2))),
                                np.broadcast_to(a[0, 0], iter((2, 4))), np.tile(a[0], iter((2, 1))),
                                np.moveaxis(a, iter((0, 1)), iter((1, 2))), np.flip(a, iter((0, 2))),
                                np.tensordot(a, a, iter(([0, 1], [0, 1]))),
                                np.median(a, axis=iter((0, 1)))),
    "text": lambda np, a: (repr(a), str(a[0]), f"{a[0, 0, 0]:.2f}", np.array2string(a[0, 0])),
}  # fmt: skip


def many_axes(np, a):
    """More axes than some code of NumPy's takes."""
    b = a[..., 0, :].reshape(4)
    a[..., :2, :] = b
    return a + b, np.where(a > 3, b, a), a.sum(where=b > 2), a @ b, np.add(a, b, out=a.copy(), where=b > 2)


def compare(same, got, want):
    if isinstance(want, numpy.ndarray | numpy.generic):
        same(got, want)
    elif isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            compare(same, g, w)
    else:
        assert got == want and type(got) is type(want)


@pytest.mark.parametrize("name", CALLS)
def test_call(name, jit, same):
    x = numpy.arange(48.0).reshape(4, 3, 4) - 7
    compare(same, CALLS[name](lazyarr, lazyarr.array(x)), CALLS[name](numpy, numpy.array(x)))


ERRORS = {
    "shapes": lambda np, a: a + np.ones(5),
    "output shape": lambda np, a: np.add(a, a, out=np.ones(3)),
    "output cast": lambda np, a: np.add(a, a, out=np.ones((3, 4), int)),
    "in-place cast": lambda np, a: np.ones((3, 4), int).__itruediv__(a),
    "no loop": lambda np, a: a & a,
    "index": lambda np, a: a[7],
    "too many indices": lambda np, a: a[0, 0, 0],
    "index type": lambda np, a: a["x"],
    "assignment": lambda np, a: a.__setitem__(slice(None), np.ones(3)),
    "assignment type": lambda np, a: a.__setitem__(0, "x"),
    "read only": lambda np, a: np.broadcast_to(a, (2, 3, 4)).__setitem__(0, 1),
    "axis": lambda np, a: a.sum(axis=5),
    "axis twice": lambda np, a: a.sum(axis=(0, 0)),
    "reshape": lambda np, a: a.reshape(5, -1),
    "transpose": lambda np, a: a.transpose(0, 0),
    "truth": lambda np, a: bool(a),
    "conversion": lambda np, a: float(a),
    "empty maximum": lambda np, a: a[:0].max(),
    "no identity": lambda np, a: np.maximum.reduce(a, where=a > 1),
    "range": lambda np, a: np.ones(3, "i1") + 300,
    "negative shape": lambda np, a: np.zeros((100_000, -1)),
    "negative power": lambda np, a: np.arange(3) ** -1,
    "weak range": lambda np, a: np.full(3, 300, "u1"),
    "astype": lambda np, a: a.astype(int, casting="safe"),
    "copy": lambda np, a: np.array(a, dtype="f4", copy=False),
    "copyto": lambda np, a: np.copyto(np.ones((3, 4), int), a),
    "keywords": lambda np, a: np.add(a, a, colour=3),
    "arguments": lambda np, a: np.add(a),
    "view": lambda np, a: a[:, ::2].view("i1"),
    "where": lambda np, a: np.where(a > 0, a),
    "a sequence for an element": lambda np, a: a.__setitem__((0, 0), [1]),
    "two for an element": lambda np, a: a.__setitem__((0, 0), [1, 2]),
    "an array for an element": lambda np, a: a.__setitem__((0, 0), a[:1, 0] + 1),
    "an object for an element": lambda np, a: a.__setitem__((0, 0), object()),
    "more axes than 32": lambda np, a: a.reshape((1,) * 38 + (3, 4)) + np.ones(3),
    "axis of vectors": lambda np, a: np.vecdot(a, a, axis=[0]),
    "no shape": lambda np, a: np.reshape(a),
    "another name": lambda np, a: np.reshape(a, (12,), colour=3),
    "another name in a method": lambda np, a: a.astype("i4").choose(colour=3),
    "no dtype": lambda np, a: a.astype(),
    "a scan's names": lambda np, a: np.cumsum(a, colour=3),
    "concatenate": lambda np, a: np.concatenate([a, np.ones(3)]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name, jit):
    x = numpy.arange(12.0).reshape(3, 4)
    try:
        ERRORS[name](numpy, numpy.array(x))
    except Exception as error:
        want = error
    else:                                       # not an error in this NumPy
        ERRORS[name](lazyarr, lazyarr.array(x))
        return
    with pytest.raises(type(want)) as got:
        ERRORS[name](lazyarr, lazyarr.array(x))
    assert str(got.value) == str(want)
