"""Errors of a program come at the call, with NumPy's type and words, on arrays that are lazy.

Each row is run with NumPy and with lazyarr; the result of lazyarr's call is never looked at, so an
error that waited for the evaluation would go unseen.  What the call left behind must be unharmed.
"""

from __future__ import annotations

import gc
import re

import numpy
import pytest

import lazyarr

X = numpy.random.default_rng(4).random((1200, 450))
NAMES = {
    "a": X,
    "i": (X * 100).astype("i8"),
    "u": (X * 100).astype("u1"),
    "z": X + 1j,
    "b": X > 0.5,
    "v": X[0].copy(),
    "f": X.astype("f4"),
}

SHAPE = [
    "a + v[:-1]", "a * a.T", "a[:100] + a", "a += a[0, :5]", "v += a", "a[:50] = a", "a[0] = v[:7]",
    "np.add(a, v[1:])", "np.where(a > 0, a, v[1:])", "np.add(a, a, out=v)", "np.add(a, a, out=a[1:])",
    "np.clip(a, v[:3], 1)", "a.reshape(7, 11)", "a.reshape(-1, 7)", "a.reshape(-1, -1)",
    "a.T.reshape(3, 2)", "np.broadcast_to(a, (3, 3))", "np.concatenate([a, v])", "np.stack([a, a.T])",
    "a @ a", "a @ v[1:]", "np.split(a, 7)", "a.squeeze(0)", "a.transpose(0, 0)", "a.transpose(0)",
    "np.copyto(a, v[1:])", "a.view('c16')[..., :0].reshape(5)", "np.sum(a, where=b[:3])",
    "np.add(a, a, where=b[:3], out=a)",
]  # fmt: skip

AXIS = [
    "a.sum(axis=2)", "a.sum(axis=-3)", "a.sum(axis=(0, 0))", "a.sum(axis=(0, 5))", "a.sum(axis='x')",
    "a.sum(axis=1.5)", "a.max(axis=2)", "a.mean(axis=2)", "a.std(axis=(0, 2))", "a.argmax(axis=2)",
    "a.argmin(axis=(0, 1))", "a.any(axis=-3)", "np.count_nonzero(a, axis=4)", "a.prod(axis=[0, 1])",
    "np.flip(a, 2)", "a.swapaxes(0, 2)", "np.moveaxis(a, 0, 5)", "np.expand_dims(a, 7)",
    "np.cumsum(a, axis=3)", "np.concatenate([a, a], axis=2)", "np.add.reduce(a, axis=3)",
    "np.subtract.reduce(a, axis=(0, 1))", "np.sort(a, axis=2)", "np.take(a, 5, axis=2)",
    "np.diagonal(a, axis1=0, axis2=0)",
]  # fmt: skip

TYPES = [
    "a & 1", "a | a", "~a", "a << 2", "a ^ b", "-b", "b - b", "z < 'x'", "z // 2", "z % z", "np.floor(z)",
    "np.arctan2(z, z)", "np.cbrt(z)", "i += 1.5", "i *= a", "i /= 2", "i **= 0.5", "u += i", "u -= 300",
    "u + 300", "f += z", "a += 1j", "b += b * 1.5", "np.add(a, a, out=i)",
    "np.add(i, a, out=i, casting='no')", "np.add(a, 1, dtype='i8')",
    "np.add(a, a, dtype=object, out=a, casting='no')", "np.sqrt(i, dtype='i4')",
    "a.astype('i8', casting='safe')", "f.astype('f2', casting='equiv')", "a.astype('nonsense')", "a + 'x'",
    "a + [1, 'x']", "a + object", "a.sum(dtype='nonsense')", "np.copyto(i, a)", "np.copyto(u, 300)",
    "np.where(a)[0].nope", "a.nope", "np.ldexp(a, a)", "np.gcd(a, a)", "np.logical_and(a)", "np.add(a)",
    "np.exp(a, a, a)", "np.add(a, a, nope=1)", "np.add(a, a, casting='nope')", "np.add(a, a, order='nope')",
    "a.sum(nope=1)", "i[0] = 'x'", "u[0] = 1000", "u[:5] = -1", "np.invert(a)", "np.isnat(a)",
    "np.bitwise_count(a)", "i ** -1", "i ** -i", "np.power(i, -2)", "np.left_shift(a, 1)", "a.view('i3')",
    "a[:, ::2].view('i4')", "np.full(a.shape, 'x') + a", "np.sum(a, initial='x')", "np.max(a, initial='x')",
    "np.min(a[:, :0])", "a[:0].max()", "np.argmax(a[:0])", "np.sum(a, out=i)", "np.sum(a, out=v)",
    "np.sum(a, axis=0, out=i[0])", "bool(a)", "float(a)", "int(v)", "if_(a > 1)", "a.item()",
    "a.item(10**9)", "hash(a)", "a()", "len(a.sum(0)[0])", "memoryview(z[..., None].nope)", "round(a, 'x')",
    "divmod(a, 'x')", "a @ 3", "a < 'x' < a", "operator.index(a)", "operator.index(i)", "range(i)",
    "complex(a)",
]  # fmt: skip

INDEX = [
    "a[1200]", "a[0, 450]", "a[-1201]", "a[0, 0, 0]", "a[1.5]", "a['x']", "a[None, ..., ...]",
    "a[..., 1, ..., 2]", "a[::0]", "a[1:2:0]", "a[1200] = 1", "a[0, 0, 0] = 1", "a[:, 450] += 1", "a[b[:5]]",
    "a[b.T]", "a[[1200]]", "a[[0, 1], [0, 1, 2]]", "a[a]", "a[b[0]]", "a[b] = v[:3]", "a['x':'y']",
    "a[[0, 1200]] = 1", "a[{}]", "a[()][1200]", "a.flat[10**8]", "a.take(10**8)", "a[np.array(5.5)]",
    "del_(a)", "a[2.0] = 1", "v[True, True]", "a[slice(None, None, 1.5)]", "next(iter(a[1200:]))",
]  # fmt: skip

READ_ONLY = [
    "r += 1", "r[0] = 1", "r[...] = a", "np.add(a, 1, out=r)", "r.fill(0)", "r.sort()", "r.flat[0] = 1",
    "r[b] = 0", "r.T[:5] -= 1", "r[::2][0] = 3", "np.copyto(r, a)", "r.itemset(0, 1)", "r.partition(3)",
    "np.put(r, 0, 1)", "r.resize(3)", "np.add.at(r, 0, 1)", "r.byteswap(inplace=True)", "r.real[0] = 1",
    "r.flags.writeable_ = 1", "np.broadcast_to(v, (1200, 450))[0, 0] = 1", "r.shape = (3, 3)",
    "r.dtype = 'nonsense'", "a.imag[0] = 1", "a.diagonal()[0] = 1", "np.sum(a, axis=0, out=r[0])",
    "np.cumsum(a, axis=0, out=r)", "np.clip(a, 0, 1, out=r)",
]  # fmt: skip

CALLS = [
    "np.copy(a, dtype='f4')", "np.copy(a, copy=True)", "np.ascontiguousarray(a, order='F')",
    "np.asfortranarray(a, copy=True)", "np.asarray(a, order='Q')", "np.asarray(a, v)",
    "np.asarray(a, ndmin=3)", "np.array(a, 'f4', dtype='f4')", "np.array(a, 'f4', 'C')",
    "np.nan_to_num(a, 'x')", "np.take_along_axis(v, [0, 2])", "np.vecmat(v, a[:450], axis=1)",
    "np.fill_diagonal(r, 1)", "np.broadcast_arrays(v, v[:2])", "a.setflags(foo=1)", "np.ndarray()",
    "np.ndarray((2, 3), nope=1)", "pow(a, 2, 3)", "np.dsplit(v, i[0, :2])", "v[:] = [1, 2, 'x'] * 150",
    "v[1:4] = [1, 'x', 3]",
]  # fmt: skip

ROWS = [*SHAPE, *AXIS, *TYPES, *INDEX, *READ_ONLY, *CALLS]


def truth(x):
    if x:
        return x


def environment(np):
    """The names of the rows; all arrays but the read-only r are pending."""
    names = {name: np.array(x) for name, x in NAMES.items()}
    if np is lazyarr:
        np.evaluate(*names.values())
        names = {name: x & True if x.dtype == bool else x * x.dtype.type(1) for name, x in names.items()}
    names["r"] = names["a"].copy()
    names["r"].flags.writeable = False
    names |= {"np": np, "if_": truth, "del_": lambda x: x.__delitem__(0), "operator": __import__("operator")}
    return names


def attempt(row, np):
    """(type, words) of the error, and the names afterwards."""
    names = environment(np)
    kind = "eval" if is_expression(row) else "exec"
    try:
        with numpy.errstate(all="ignore"):
            eval(compile(row, "row", kind), names)
    except Exception as error:
        return (type(error), str(error)), names
    return None, names


def is_expression(row):
    try:
        compile(row, "row", "eval")
    except SyntaxError:
        return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("row", ROWS)
def test_error(row, jit):
    want, plain = attempt(row, numpy)
    with lazyarr.options(jit=jit):
        found, lazy = attempt(row, lazyarr)
        assert found == want
        for name in set(re.findall(r"\w+", row)) & {*NAMES, "r"}:
            assert numpy.asarray(lazy[name]).tobytes() == plain[name].tobytes(), name


def test_the_table_is_of_errors():
    """A row that does not raise proves nothing; some are there since NumPy's versions differ."""
    quiet = [row for row in ROWS if attempt(row, numpy)[0] is None]
    assert len(quiet) <= 12, quiet


def test_the_arrays_are_pending():
    gc.collect()                        # arrays in tracebacks of earlier tests count as kept
    names = environment(lazyarr)
    assert not any(lazyarr.is_evaluated(names[name]) for name in NAMES if names[name].ndim == 2)
