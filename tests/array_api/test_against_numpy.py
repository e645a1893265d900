"""The namespace against NumPy: the same bits wherever the standard agrees with it."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp
from lazyarr.array_api import elementwise
from lazyarr.array_api.array_type import Array

KINDS = "?bhilBHILfdFD"
CORRECTED = {"expm1", "floor_divide", "tanh"}


@pytest.fixture(params=["auto", "always"], autouse=True)
def jit(request):
    with lazyarr.options(jit=request.param):
        yield


def values(char, shape=(6, 5), seed=0):
    rng = numpy.random.default_rng(seed)
    x = rng.normal(0, 3, shape) + (1j * rng.normal(0, 3, shape) if char in "FD" else 0)
    return (numpy.abs(x) if char in "BHIL" else x).astype(char)


def lazy(x):
    return xp.asarray(lazyarr.array(x))


def assert_same(got, want):
    assert type(got) is Array
    want = numpy.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    numpy.testing.assert_array_equal(numpy.asarray(got), want, strict=True)


def outcome(fn, *args, **kwargs):
    with numpy.errstate(all="ignore"):
        try:
            return fn(*args, **kwargs)
        except TypeError:
            return TypeError


def compare(fn, reference, *args, **kwargs):
    want = outcome(reference, *args, **kwargs)
    got = outcome(fn, *[lazy(x) if isinstance(x, numpy.ndarray) else x for x in args], **kwargs)
    if want is TypeError:
        assert got is TypeError
    else:
        assert_same(got, want)


def keeps_integers(fn, char):
    """NumPy 2.0 makes floating-point numbers of integers where the standard keeps them."""
    return char in "fdFD" or fn(numpy.ones(1, char)).dtype.char == char


@pytest.mark.parametrize("name", sorted({*elementwise.UNARY.split(), *CORRECTED} - {"floor_divide"}))
def test_unary(name):
    for char in KINDS:
        if name in ("ceil", "floor", "trunc") and not keeps_integers(getattr(numpy, name), char):
            continue
        compare(getattr(xp, name), getattr(numpy, name), values(char))
        compare(getattr(xp, name), getattr(numpy, name), values(char, ()))


@pytest.mark.parametrize("name", sorted([*elementwise.BINARY.split(), "floor_divide"]))
def test_binary(name):
    fn, reference = getattr(xp, name), getattr(numpy, name)
    for char in KINDS:
        x, y = values(char), numpy.abs(values(char, (5,), 1)) + values("?", (5,), 2)
        y = y.astype(char)
        compare(fn, reference, x, y)
        compare(fn, reference, values(char, ()), y[:0].sum(dtype=char, keepdims=True)[0] + y[0] + x[0, 0] * 0)
        compare(fn, reference, x, True if char == "?" else 3)
        compare(fn, reference, True if char == "?" else 3, y)
    compare(fn, reference, values("f"), values("d"))
    compare(fn, reference, values("b"), values("B"))


FOLDS = "sum prod max min mean std var all any count_nonzero argmax argmin"


AXES = [None, 0, -1, (0, 1), (1,)]
FOLDED = [(name, axis) for name in FOLDS.split() for axis in (AXES[:3] if name.startswith("arg") else AXES)]


@pytest.mark.parametrize("name, axis", FOLDED)
@pytest.mark.parametrize("keepdims", [False, True])
def test_folds(name, axis, keepdims):
    for char in "fd" if name in ("mean", "std", "var") else "?bilBLfd":
        for shape in ((6, 5), (700, 60)):
            x = values(char, shape)
            compare(getattr(xp, name), getattr(numpy, name), x, axis=axis, keepdims=keepdims)
    one = values("d", ())
    if axis is None:
        compare(getattr(xp, name), getattr(numpy, name), one, axis=axis, keepdims=keepdims)


def test_corrections():
    x = values("d", (40, 30))
    for name in ("std", "var"):
        compare(getattr(xp, name), getattr(numpy, name), x, axis=0, correction=1)
        compare(getattr(xp, name), getattr(numpy, name), x, correction=1.5)
    compare(xp.sum, numpy.sum, x.astype("f"), dtype=xp.float64)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running(name):
    reference = {"cumulative_sum": numpy.cumsum, "cumulative_prod": numpy.cumprod}[name]
    x = values("d")
    compare(getattr(xp, name), reference, x, axis=1)
    compare(getattr(xp, name), reference, x[0])
    got = getattr(xp, name)(lazy(x), axis=-1, include_initial=True)
    assert got.shape == (6, 6) and bool(xp.all(got[:, 0] == (name == "cumulative_prod")))
    assert_same(got[:, 1:], reference(x, axis=1))
    with pytest.raises(ValueError):
        getattr(xp, name)(lazy(x))


MOVES = {
    "concat": lambda m, a, b: m.concat((a, b), axis=1),
    "concat flat": lambda m, a, b: m.concat((a, b), axis=None),
    "stack": lambda m, a, b: m.stack([a, b], axis=-1),
    "expand_dims": lambda m, a, b: m.expand_dims(a, axis=(0, 2)),
    "squeeze": lambda m, a, b: m.squeeze(m.expand_dims(a, axis=1), axis=1),
    "permute_dims": lambda m, a, b: m.permute_dims(a, (1, 0)),
    "moveaxis": lambda m, a, b: m.moveaxis(a, 0, -1),
    "flip": lambda m, a, b: m.flip(a, axis=1),
    "roll": lambda m, a, b: m.roll(a, 2, axis=0),
    "tile": lambda m, a, b: m.tile(a, (2, 3)),
    "repeat": lambda m, a, b: m.repeat(a, 2, axis=1),
    "reshape": lambda m, a, b: m.reshape(a, (5, -1)),
    "broadcast_to": lambda m, a, b: m.broadcast_to(a, (2, 6, 5)),
    "triu": lambda m, a, b: m.triu(a, k=1),
    "take": lambda m, a, b: m.take(a, m.asarray([1, 0, 3]), axis=1),
    "take_along_axis": lambda m, a, b: m.take_along_axis(a, m.argsort(b, axis=0), axis=0),
    "where": lambda m, a, b: m.where(a > b, a, 0.5),
    "clip": lambda m, a, b: m.clip(a, -1, b),
    "diff": lambda m, a, b: m.diff(a, axis=0, n=2),
    "matmul": lambda m, a, b: a @ m.matrix_transpose(b),
    "inner": lambda m, a, b: a[0, :] @ b[0, :],
    "tensordot": lambda m, a, b: m.tensordot(a, b, axes=((0,), (0,))),
    "vecdot": lambda m, a, b: m.vecdot(a, b),
    "searchsorted": lambda m, a, b: m.searchsorted(m.sort(a[0, :]), 0.5),
    "isin": lambda m, a, b: m.isin(a, b),
    "nonzero": lambda m, a, b: m.nonzero(a > 0)[1],
    "mask": lambda m, a, b: a[a > b],
    "unique_counts": lambda m, a, b: m.unique_counts(m.round(a)).counts,
    "unique_values": lambda m, a, b: m.unique_values(m.round(a)) if m is xp else m.unique(m.round(a)),
    "unstack": lambda m, a, b: m.unstack(a, axis=1)[2] if m is xp else a[:, 2],
    "unstack all": lambda m, a, b: m.unstack(a[0, :])[2] if m is xp else a[0, 2],
    "meshgrid": lambda m, a, b: m.meshgrid(a[0, :], b[1, :], indexing="ij")[1],
    "norm": lambda m, a, b: m.linalg.vector_norm(a),
    "norms": lambda m, a, b: m.linalg.vector_norm(a, axis=1, keepdims=True),
    "svdvals": lambda m, a, b: m.linalg.svdvals(a),
    "slogdet": lambda m, a, b: m.linalg.slogdet(a[:5, :])[1],
    "fft": lambda m, a, b: m.fft.fft(a),
    "fftshift": lambda m, a, b: m.fft.fftshift(a, axes=1),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves(name):
    a, b = values("d"), values("d", seed=1)
    assert_same(MOVES[name](xp, lazy(a), lazy(b)), MOVES[name](numpy, a, b))


KEYS = [
    0, -1, (1, 2), slice(None, None, 2), (slice(1, 4), 0), (..., 1), None, (None, 0), (..., None), (),
    numpy.array([0, 2, 2]), (numpy.array([0, 1]), numpy.array([1, 4])), numpy.arange(6) % 2 == 0,
]  # fmt: skip


def of_key(k):
    return xp.asarray(k) if isinstance(k, numpy.ndarray) else k


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_items(key):
    x = values("d")
    ours = tuple(map(of_key, key)) if isinstance(key, tuple) else of_key(key)
    y = lazy(x)
    assert_same(y[ours], x[key])
    y[ours] = 7
    x[key] = 7
    assert_same(y, x)


def test_an_integer_array_without_axes_is_an_index():
    x = lazy(values("d"))
    assert_same(x[xp.argmax(x[:, 0]), :], numpy.asarray(x)[int(xp.argmax(x[:, 0]))])
    assert [float(v) for v in x[0, :]] == [float(v) for v in numpy.asarray(x)[0]]
