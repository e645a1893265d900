"""Arrays joined, repeated, padded and cut: as NumPy, lazily, with and without kernels."""

from __future__ import annotations

import itertools

import numpy
import pytest

import lazyarr

pytestmark = pytest.mark.filterwarnings("ignore")


def given(np, dtype="f8"):
    """A matrix, a block and a vector, with later uses that must not show."""
    a = np.array(numpy.arange(24).reshape(4, 6).astype(dtype))
    b = np.array(numpy.arange(24, 48).reshape(4, 6).astype(dtype))
    return a, b, np.array(numpy.arange(7).astype(dtype))


CALLS = {
    "rows": lambda np, a, b, v: np.concatenate([a, b]),
    "columns": lambda np, a, b, v: np.concatenate((a, b, a), axis=-1),
    "flat": lambda np, a, b, v: np.concatenate([a, b, v], axis=None),
    "concat": lambda np, a, b, v: np.concat([a, b[:1]]),
    "same": lambda np, a, b, v: np.concatenate([a, a, a]),
    "slices": lambda np, a, b, v: np.concatenate([a[:, ::2], b[:, :1]], 1),
    "reversed": lambda np, a, b, v: np.concatenate([a[::-1], b[:, ::-1]]),
    "turned": lambda np, a, b, v: np.concatenate([a.T, b.T]),
    "mixed": lambda np, a, b, v: (np.concatenate([a.T, b[:, :4].T]),
                                  np.concatenate([a[:, :4], b[:, :4].T])),
    "wide": lambda np, a, b, v: np.concatenate([np.broadcast_to(v[:6], (3, 6)), a]),
    "lists": lambda np, a, b, v: np.concatenate([a, [[1, 2, 3, 4, 5, 6]]]),
    "types": lambda np, a, b, v: np.concatenate([a, b > 30, b.astype("f4")]),
    "dtype": lambda np, a, b, v: np.concatenate([a, b], dtype="c8", casting="unsafe"),
    "down": lambda np, a, b, v: np.concatenate([a, b], dtype="i2", casting="unsafe"),
    "one": lambda np, a, b, v: np.concatenate([a]),
    "empty parts": lambda np, a, b, v: np.concatenate([a[:0], b, a[:0]]),
    "all empty": lambda np, a, b, v: np.concatenate([a[:0], b[:0]]),
    "many": lambda np, a, b, v: np.concatenate([v + i for i in range(40)]),
    "out": lambda np, a, b, v: np.concatenate([a, b], out=np.zeros((8, 6), a.dtype)),
    "out cast": lambda np, a, b, v: np.concatenate([a, b], out=np.zeros((8, 6), "f4"), casting="unsafe"),
    "stack": lambda np, a, b, v: (np.stack([a, b]), np.stack((a, b), axis=-1), np.stack([a, b], 1)),
    "stacks": lambda np, a, b, v: (np.vstack([a, b]), np.hstack([a, b]), np.dstack([a, b]), np.vstack([v, v]),
                                   np.column_stack([v, v]), np.hstack([v, v]), np.dstack([v, v])),
    "block": lambda np, a, b, v: np.block([[a, b], [b, a + 1]]),
    "block of scalars": lambda np, a, b, v: np.block([v, 5, v]),
    "append": lambda np, a, b, v: (np.append(a, b), np.append(a, b, axis=1), np.append(v, 3)),
    "array of arrays": lambda np, a, b, v: (np.array([a, b]), np.asarray([a, b > 30]),
                                            np.array((v, v), "f4")),
    "tile": lambda np, a, b, v: (np.tile(a, 2), np.tile(a, (2, 1, 3)), np.tile(v, (1,)), np.tile(a, 0)),
    "repeat": lambda np, a, b, v: (np.repeat(a, 3), np.repeat(a, 2, axis=0), a.T.repeat(2, -1), v.repeat(0),
                                   np.repeat(v, [1, 0, 2, 1, 1, 1, 1]), np.repeat(a[:, ::2], 2)),
    "pad": lambda np, a, b, v: tuple(np.pad(a, ((2, 1), (0, 3)), m) for m in (
        "constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "linear_ramp",
    )),
    "pad by value": lambda np, a, b, v: (np.pad(v, 2, constant_values=(3, 4)), np.pad(a, 1, "mean")),
    "insert": lambda np, a, b, v: (np.insert(v, 3, 9), np.insert(a, 1, b[0], axis=0),
                                   np.insert(a, -1, 5, axis=1), np.insert(v, [1, 3], [8, 9]),
                                   np.insert(a, slice(1, 3), 4, axis=0)),
    "delete": lambda np, a, b, v: (np.delete(v, 3), np.delete(a, -1, axis=1), np.delete(a, slice(1, 3), 0),
                                   np.delete(v, [1, 3]), np.delete(a, 5), np.delete(v, slice(0, None, 2))),
    "resize": lambda np, a, b, v: (np.resize(a, (3, 5)), np.resize(v, 20), np.resize(v, (2, 2)),
                                   np.resize(v, 0)),
    "kron": lambda np, a, b, v: (np.kron(v[:3], v), np.kron(a[:2, :2], b), np.kron(a, 2)),
    "diag": lambda np, a, b, v: (np.diag(v), np.diag(v, 2), np.diag(a, -1), np.diagflat(a, 1)),
    "trace": lambda np, a, b, v: (np.trace(a), a.trace(1), np.trace(np.stack([a, b])), a.trace(dtype="f4")),
    "roll": lambda np, a, b, v: (np.roll(a, 2), np.roll(a, -1, 0), np.roll(a, (1, 2), (0, 1))),
    "vander": lambda np, a, b, v: (np.vander(v), np.vander(v, 3, increasing=True)),
    "meshgrid": lambda np, a, b, v: (*np.meshgrid(v, v[:3]), *np.meshgrid(v, v, indexing="ij", copy=False)),
    "select": lambda np, a, b, v: (np.select([a > 3, b > 30], [a, b], 7), np.select([a > 3], [a])),
    "piecewise": lambda np, a, b, v: (np.piecewise(v, [v < 2, v > 4], [-1, 1]),
                                      np.piecewise(v, v > 3, [1, 2])),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16", "f2"])
@pytest.mark.parametrize("name", CALLS)
def test_call(name, dtype, jit, same):
    try:
        want = CALLS[name](numpy, *given(numpy, dtype))
    except Exception as error:
        with pytest.raises(type(error)):
            CALLS[name](lazyarr, *given(lazyarr, dtype))
        return
    got = CALLS[name](lazyarr, *given(lazyarr, dtype))
    same(list(got) if isinstance(want, tuple) else got, list(want) if isinstance(want, tuple) else want)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"diag", "meshgrid"}))     # those make views
def test_inputs_change_afterwards(name, jit, same):
    a, b, v = given(lazyarr)
    a, b, v = a + 1, b * 2, v - 1
    got = CALLS[name](lazyarr, a, b, v)
    a[1:] = -5
    b *= 100
    v[::2] = 77
    a, b, v = given(numpy)
    want = CALLS[name](numpy, a + 1, b * 2, v - 1)
    same(list(got) if isinstance(want, tuple) else got, list(want) if isinstance(want, tuple) else want)


ERRORS = {
    "no arrays": lambda np, a: np.concatenate([]),
    "no sequence": lambda np, a: np.concatenate(5),
    "no axes": lambda np, a: np.concatenate([a[0, 0], a[0, 0]]),
    "ranks": lambda np, a: np.concatenate([a, a[0]]),
    "extents": lambda np, a: np.concatenate([a, a[:, :2]]),
    "axis": lambda np, a: np.concatenate([a, a], axis=2),
    "axis type": lambda np, a: np.concatenate([a, a], axis=1.0),
    "out shape": lambda np, a: np.concatenate([a, a], out=np.zeros((3, 3))),
    "out type": lambda np, a: np.concatenate([a, a], out=np.zeros((6, 4), int)),
    "out and dtype": lambda np, a: np.concatenate([a, a], out=np.zeros((6, 4)), dtype=float),
    "casting": lambda np, a: np.concatenate([a, a], dtype=int),
    "stack": lambda np, a: np.stack([a, a[0]]),
    "stack nothing": lambda np, a: np.stack([]),
    "stack axis": lambda np, a: np.stack([a, a], axis=7),
    "hstack": lambda np, a: np.hstack([a, a[:2]]),
    "block": lambda np, a: np.block([[a, a], [a]]),
    "block depth": lambda np, a: np.block([a, [a]]),
    "tile": lambda np, a: np.tile(a, -1),
    "repeat": lambda np, a: np.repeat(a, -1),
    "repeat axis": lambda np, a: np.repeat(a, 2, axis=3),
    "repeats": lambda np, a: np.repeat(a, [1, 2]),
    "pad": lambda np, a: np.pad(a, -1),
    "pad mode": lambda np, a: np.pad(a, 1, "nothing"),
    "insert": lambda np, a: np.insert(a, 9, 1, axis=0),
    "delete": lambda np, a: np.delete(a, 9, axis=0),
    "trace": lambda np, a: np.trace(a[0]),
    "cumsum axis": lambda np, a: np.cumsum(a, axis=4),
    "cumulative": lambda np, a: np.cumulative_sum(a),
    "cumsum type": lambda np, a: np.cumsum(a, dtype="U3"),
    "matmul": lambda np, a: a @ a,
    "matmul scalar": lambda np, a: np.matmul(a, 3),
    "dot": lambda np, a: np.dot(a, a),
    "inner": lambda np, a: np.inner(a, a.T),
    "vecdot": lambda np, a: np.vecdot(a, a[:, :2]),
    "tensordot": lambda np, a: np.tensordot(a, a, axes=1),
    "select": lambda np, a: np.select([a, a], [a, a]),
    "select lengths": lambda np, a: np.select([a > 1], [a, a]),
    "diag": lambda np, a: np.diag(np.stack([a, a])),
    "fill diagonal": lambda np, a: np.fill_diagonal(a[0], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error(name, jit):
    x = numpy.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as want:
        ERRORS[name](numpy, x + 1)
    with pytest.raises(type(want.value)) as got:
        a = lazyarr.array(x)
        ERRORS[name](lazyarr, a + 1)
    # (What a NumPy does not have, lazyarr does not have, in its own name.)
    assert str(got.value).replace("lazyarr", "numpy") == str(want.value)


LAYOUTS = [
    lambda x: x, lambda x: x.transpose(2, 1, 0), lambda x: x.transpose(1, 2, 0), lambda x: x[:, ::-1],
    lambda x: x[:, :1].transpose(1, 0, 2), lambda x: x[::2].transpose(0, 2, 1),
]  # fmt: skip


@pytest.mark.parametrize("pair", list(itertools.product(range(6), repeat=2)))
def test_layouts(pair, jit, same):
    def joined(np):
        x = np.array(numpy.arange(64.0).reshape(4, 4, 4))
        parts = [LAYOUTS[k](x) for k in pair]
        n = min(p.shape[0] for p in parts), min(p.shape[1] for p in parts)
        fit = parts[0].shape[2] == parts[1].shape[2]
        return [np.concatenate([p[:, : n[1]] for p in parts]) if fit else x]

    same(joined(lazyarr), joined(numpy))


def test_out_overlaps_inputs(jit, same):
    def program(np):
        b = np.array(numpy.arange(12.0)) + 1
        a = b[:4]
        assert np.concatenate([a, b[2:6], a], out=b) is b
        c = np.array(numpy.arange(20.0)) * 2
        np.concatenate([c[10:], c[:10]], out=c)
        d = np.array(numpy.arange(20.0)) * 2
        np.concatenate([d[5:15]], out=d[4:14])
        e = np.array(numpy.arange(20.0)) * 3
        np.cumsum(e, out=e)
        f = np.array(numpy.arange(20.0)) * 3
        np.cumsum(f[::2], out=f[5:15])
        g = np.array(numpy.arange(20.0)) * 3
        h = g.copy()
        np.add.accumulate(g[1:], out=g[:-1])
        return b, c, d, e, f, g, h

    same(list(program(lazyarr)), list(program(numpy)))


def test_classes_of_others_answer(jit):
    class Answers:
        def __array_function__(self, fn, types, args, kwargs):
            return fn.__name__

    a = lazyarr.ones(50) + 1
    assert lazyarr.concatenate([a, Answers()]) == "concatenate"
    assert lazyarr.stack([a, Answers()]) == "stack" and lazyarr.hstack([a, Answers()]) == "hstack"
    masked = numpy.ma.array(numpy.ones(50), mask=[True] + [False] * 49)
    for name in ("stack", "hstack", "vstack", "append", "block"):
        args = (a, masked) if name == "append" else ([a, masked],)
        plain = numpy.asarray(a)
        real = (plain, masked) if name == "append" else ([plain, masked],)
        got, want = getattr(lazyarr, name)(*args), getattr(numpy, name)(*real)
        assert type(numpy.asarray(got)) is type(numpy.asarray(want))
        assert isinstance(got, numpy.ma.MaskedArray) == isinstance(want, numpy.ma.MaskedArray), name
    words = numpy.array(["a", "b"], object)
    assert lazyarr.concatenate([words, a[:1]]).dtype == object


@pytest.fixture
def planned():
    """What is evaluated is planned at once."""
    with lazyarr.options(plan="always"):
        yield


@pytest.mark.usefixtures("planned")
def test_laziness_and_memory():
    """Pending parts are computed into their places, and nothing is computed at the call."""
    from lazyarr.compiler import COMPILER

    COMPILER.load()
    a, b = lazyarr.ones(200_000), lazyarr.ones(300_000)
    lazyarr.evaluate(a, b)
    joined = lazyarr.concatenate([a * 2, b + 3])
    assert not lazyarr.is_evaluated(joined)
    before = lazyarr.debug.counters()
    lazyarr.evaluate(joined)
    after = lazyarr.debug.counters()
    assert after["bytes_allocated"] - before["bytes_allocated"] == joined.nbytes
    assert after["numpy_fallbacks"] == before["numpy_fallbacks"]
    stacked = lazyarr.array([a * 2, a - 1], dtype="f4")
    between = lazyarr.debug.counters()
    lazyarr.evaluate(stacked)
    assert lazyarr.debug.counters()["bytes_allocated"] - between["bytes_allocated"] == stacked.nbytes
    assert joined[0] == 2 and joined[-1] == 4 and joined[199_999] == 2 and joined[200_000] == 4


@pytest.mark.parametrize("jit", ["auto", "always", "never"])
def test_arrays_of_arrays_are_in_c_order(jit):
    x = numpy.arange(700 * 300.0).reshape(700, 300)
    with lazyarr.options(jit=jit):
        a = lazyarr.array(x)
        for order in (None, "K", "A", "C", "F"):
            want = numpy.array([x.T, x.T * 2], order=order or "K")
            found = lazyarr.array([a.T, a.T * 2], order=order or "K")
            assert found.strides == want.strides and (found == want).all()


MEDIUM = 70_000, (250, 280), (40, 50, 35)


@pytest.mark.parametrize("shape", MEDIUM)
@pytest.mark.parametrize("dtype", ["f8", "i2", "?", "c16"])
def test_medium_rolls(shape: object, dtype: str) -> None:
    """Of what exists, and of what waits; contiguous or not; the array itself stays."""
    real = (numpy.random.default_rng(1).uniform(-9, 9, shape)).astype(dtype)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[1:], lambda x: x[..., ::2]):
        for args in (3,), (-1,), (0,), (10**9,), (True,), (2, 0), (-3, -1), ((1, 2), (0, 0)):
            for pending in False, True:
                x = lazyarr.array(real)
                given, expected = (x + x, real + real) if pending else (x, real)
                found, wanted = lazyarr.roll(view(given), *args), numpy.roll(view(expected), *args)
                later = found[..., :3] + found[..., 1:4]
                found[..., 1] = 0
                asked = numpy.asarray(found)
                assert numpy.array_equal(later, wanted[..., :3] + wanted[..., 1:4])
                wanted[..., 1] = 0
                assert (asked.dtype, asked.strides) == (wanted.dtype, wanted.strides)
                assert found.flags.owndata == wanted.flags.owndata
                assert (found.base is None) == (wanted.base is None)
                assert numpy.array_equal(asked, wanted) and numpy.array_equal(given, expected)
