"""What a compiled function gives is what the function gives, to the last thing that a program can see.

Compared are results with dtypes' characters, strides, flags, bases and bytes; which objects are the same and
which share memory; arguments afterwards; exceptions, and warnings with their lines."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.compiling.attributes import OUT_AT
from lazyarr.debug import counters

np = numpy
RNG = numpy.random.default_rng(0)
X = RNG.standard_normal(60)
M = X.reshape(6, 10).copy()
T = RNG.standard_normal((2, 3, 4))
I = numpy.arange(60)
F4 = X.astype("f4")
C = X + 1j
OUTSIDE = numpy.arange(60.0)
Q = numpy.arange(9, dtype="q")


def warns(x: Any) -> Any:
    warnings.warn("w", stacklevel=2)
    return x + 1


def twice(x: Any) -> Any:
    y = x * 2
    return y, y


def one_list_twice(x: Any) -> Any:
    parts = [x + 1]
    return parts, parts


def list_in_itself(x: Any) -> Any:
    parts = [x + 1]
    parts.append(parts)
    return x * 2


def by_name(x: Any, *, k: int = 2) -> Any:
    return x * k


def writes_outside(x: Any) -> Any:
    OUTSIDE[0] = x[1]
    return x + OUTSIDE


def again(x: Any, n: int = 3) -> Any:
    return x if n == 0 else again(x, n - 1) + 1


def into_made(x: Any) -> Any:
    out = np.zeros(x.shape[1])
    found = x.sum(0, out=out)
    return found * 2


def no_copy(x: Any) -> Any:
    y = x + 1
    z = y.astype(y.dtype, copy=False)
    z += 1
    return y


def half_way(x: Any, y: Any) -> Any:
    x += 1
    y[100] = 2
    return x


Case = tuple[Callable[..., Any], list[Any]]
CASES: dict[str, Case] = {
    # the function's own objects
    "warns": (warns, [X]), "twice": (twice, [X]), "one list twice": (one_list_twice, [X]),
    "list in itself": (list_in_itself, [X]), "calls by name": (lambda x: by_name(x, k=3) + by_name(x), [X]),
    "reads outside": (lambda x: x + OUTSIDE, [X]),
    "returns what is outside": (lambda x: (x + 1, OUTSIDE), [X]),
    "writes outside": (writes_outside, [X]), "calls itself": (again, [X]), "half way": (half_way, [X, X]),
    "argument": (lambda x: (x, x, x + 1), [X]), "view": (lambda x: (x[1:], x + 1), [X]),
    "tuple": (lambda x, t: (x + 1, t), [X, (1, 2)]), "text": (lambda x, s: (x + 1, s), [X, "abc"]),
    "number": (lambda x, a: (x * 2, a, a + 1), [X, 2.5]), "bool": (lambda x, a: (x * a, a > 1), [I, True]),
    "shape": (lambda x, t: x.reshape(t) + 1, [M, (10, 6)]), "conj": (lambda x: x.conj() + 1, [C]),
    "conj of reals": (lambda x: (x.conj(), x + 1), [X]), "asarray": (lambda x: (np.asarray(x), x + 1), [X]),
    "no copy": (no_copy, [X]), "nan_to_num": (lambda x: np.nan_to_num(x, copy=False), [X]),
    # layouts
    "permuted": (lambda x: x + 1, [T.transpose(1, 0, 2)]), "transposed": (lambda x: (x.T * 2, x * 2), [T]),
    "rotated": (lambda x: (x.transpose(2, 0, 1) + 1, x * 2), [T]), "part": (lambda x: (x + 1)[:, ::2], [M]),
    "lengths 1": (lambda x: x + 1, [numpy.ones((1, 5, 1)).transpose(2, 1, 0)]),
    "reversed length 1": (lambda x: x + 1, [numpy.ones((3, 1))[:, ::-1]]),
    "part of columns": (lambda x: (x + 1)[1:], [numpy.asfortranarray(M)]),
    "repeated": (lambda x: x + 1, [numpy.broadcast_to(X, (3, 60))]),
    "read-only": (lambda x: lazyarr.broadcast_to(x + 1, (3, 60)), [X]),
    "reshaped": (lambda x: (x + 1).reshape(10, 6), [M]),
    "empty": (lambda x: x + 1, [X[:0]]), "no axes": (lambda x: x + 1, [numpy.array(2.0)]),
    "empty part": (lambda x: (x[1:1].sum(), x + 1), [X]),
    "mean of nothing": (lambda x: (x[1:1].mean(), x + 1), [X]),
    "big-endian": (lambda x: x + 1, [X.astype(">f8")]),
    "matrix": (lambda x: x * x, [M[:6, :6].view(numpy.matrix)]),
    "masked": (lambda x: x * 2, [numpy.ma.masked_array(X, X > 0)]),
    "to itself": (lambda x, y: np.add(x, y, out=x), [X, X]),
    # folds, and where their arguments go
    "out": (lambda x, o: np.sum(x, 0, None, o), [M, numpy.zeros(10)]),
    "method out": (lambda x, o: x.sum(0, None, o), [M, numpy.zeros(10)]),
    "out by name": (lambda x, o: x.sum(axis=0, out=o), [M, numpy.zeros(10)]), "into made": (into_made, [M]),
    "out of another shape": (lambda x, o: np.sum(x, 0, None, o), [M, numpy.zeros(9)]),
    "out of ints": (lambda x, o: x.sum(0, None, o), [M, numpy.zeros(10, "i4")]),
    "clip into": (lambda x, o: np.clip(x, -1, 1, o), [M, numpy.zeros((6, 10))]),
    "fix into": (lambda x, o: np.fix(x, o), [X, numpy.zeros(60)]),
    "concatenate into": (lambda x, o: np.concatenate([x, x], 0, o), [X, numpy.zeros(120)]),
    "cumsum into": (lambda x, o: x.cumsum(0, None, o), [X, numpy.zeros(60)]),
    "round into": (lambda x, o: x.round(2, o), [X, numpy.zeros(60)]),
    "argmax into": (lambda x, o: np.argmax(x, 0, o), [M, numpy.zeros(10, int)]),
    "copyto": (lambda x, o: np.copyto(o, x), [X, numpy.zeros(60)]),
    "dtype": (lambda x: x.sum(None, np.float32), [X]), "no such axis": (lambda x: np.sum(x, 5), [X]),
    "axis -2": (lambda x: np.sum(x, -2), [X]), "axis 1.0": (lambda x: np.sum(x, 1.0), [M]),
    "an axis twice": (lambda x: x.sum((0, -2)) + x, [M]), "axis True": (lambda x: np.sum(x, True), [M]),
    "no axis": (lambda x: np.sum(x, ()), [M]), "all axes": (lambda x: x.max((1, 0)), [M]),
    "axis given": (lambda x, a: np.sum(x, a), [M, -2]),
    "keepdims given": (lambda x, a: np.sum(x, keepdims=a), [M, 1]),
    "keepdims": (lambda x: np.max(x, None, None, True), [X]),
    "no such word": (lambda x: np.sum(x, bogus=1), [X]),
    "too many": (lambda x: x.sum(None, None, None, False, 0, True, 3), [X]),
    "initial": (lambda x: np.max(x, None, None, False, 7.0), [X]),
    "ddof": (lambda x: x.std(None, None, None, 1), [X]),
    "ddof of columns": (lambda x: np.var(x, 0, ddof=2), [M]), "all degrees": (lambda x: x.std(ddof=60), [X]),
    "mean given": (lambda x: np.std(x, mean=np.mean(x, keepdims=True)), [X]),
    "any into": (lambda x, o: (x > 0).any(0, None, o), [M, numpy.zeros(10, bool)]),
    "any's dtype": (lambda x, o: (x > 0).any(0, o), [M, numpy.zeros(10, bool)]),
    "function any into": (lambda x, o: np.any(x > 0, 0, o), [M, numpy.zeros(10, bool)]),
    "any of columns": (lambda x: (x > 0).any(0), [M]),
    "all where": (lambda x: np.all(x > 0, where=x > 1), [M]),
    "any or all": (lambda x: (x > 2).any() | (x > 0).all(), [X]), "not any": (lambda x: ~(x > 9).any(), [X]),
    "sum of -0.0": (lambda x: x.sum(), [numpy.full(4, -0.0)]),
    "sum of -0.0 along 0": (lambda x: x.sum(axis=0), [numpy.full(4, -0.0)]),
    "mean": (lambda x: x.mean(), [I]),
    # dtypes
    "q": (lambda x: x + x, [Q]), "to q": (lambda x: x.astype("q"), [I]),
    "with a q": (lambda x, a: x + a, [I, np.longlong(1)]),
    "dtype q": (lambda x, d: x.astype(d), [I, np.dtype("q")]),
    "dtype l": (lambda x, d: x.astype(d), [I, np.dtype("l")]),
    "by dtype": (lambda x: x * 2 if x.dtype == np.float64 else x, [X]),
    "casts of NaN": (lambda x: x.astype("i4"), [numpy.array([1.0, np.nan, 3])]),
    "imaginary parts": (lambda x: x.astype("f8"), [C]),
    "imaginary parts into": (lambda x, o: np.add(x, 1, out=o, casting="unsafe"), [C, numpy.zeros(60)]),
    # numbers
    "too large for f4": (lambda x, a: x * a, [F4, 1e300]),
    "overflow": (lambda x, a: x * (a * a), [X, np.float64(1e300)]),
    "overflow of ints": (lambda x, a: x + (a * a), [I, np.int64(2**62)]),
    "f8 scalar": (lambda x, a: x * (a * a), [X, np.float64(1.5)]),
    "not of a bool": (lambda x, a: x * (~(a > 1)), [X, 2.0]),
    "larger": (lambda x, a, b: x * max(a, b), [X, 1, 2.5]),
    "division": (lambda x, a: x * (1 / a), [X, 0.0]),
    "division of NumPy's": (lambda x, a: x * (1 / a), [X, np.float64(0)]),
    "too large": (lambda x, a: x + a, [I.astype("u1"), 300]),
    "compared": (lambda x, a: x < a, [I.astype("u1"), 300]),
    "huge": (lambda x, a: x + a, [I, 2**70]), "negative": (lambda x, a: x + a, [I.astype("u1"), -1]),
    "negative power": (lambda x, n: x**n, [I, -1]), "by zero": (lambda x, y: x // y, [I, I - 3]),
    "of negatives": (lambda x: np.sqrt(x).sum(), [X]),
    "scalars": (lambda x: x.sum() * 2 + x.mean() / 3 - 1, [X]),
    "2-vectors": (lambda x, y: np.cross(x, y) + 1, [numpy.ones((4, 2)), numpy.ones((4, 2))]),
}  # fmt: skip


def copied(x: Any, own: bool) -> Any:
    """An array like x in memory of its own, with x's strides."""
    if not isinstance(x, numpy.ndarray):
        return x
    y = numpy.empty_like(x)
    y[...] = x
    if y.strides != x.strides:
        low, high = numpy.lib.array_utils.byte_bounds(x)
        at = x.__array_interface__["data"][0] - low
        y = numpy.ndarray(x.shape, x.dtype, numpy.zeros(high - low, "u1"), at, x.strides)
        y[...] = x
    y.flags.writeable = x.flags.writeable
    return lazyarr.asarray(y) if own else y


def seen(x: Any, flat: list[Any]) -> Any:
    """All that a program can see of x; arrays are appended to `flat`."""
    if isinstance(x, tuple | list):
        return type(x), [seen(item, flat) for item in x]
    if not isinstance(x, numpy.ndarray | lazyarr.ndarray):
        return type(x), repr(x)
    flat.append(x)
    base: Any = x.base
    real = numpy.asarray(x)
    return (
        type(x), x.dtype.char, x.dtype.str, x.shape, x.strides, bool(x.flags.writeable), real.tobytes(),
        None if base is None else (base.shape, base.dtype.char),
    )  # fmt: skip


def outcome(f: Any, args: list[Any]) -> Any:
    flat: list[Any] = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result: Any = seen(f(*args), flat)
        except Exception as error:
            result = type(error), str(error)
        left = seen(args, flat)
    same = [[x is y for y in flat] for x in flat]
    reals = [numpy.asarray(x) for x in flat]
    shared = [[numpy.shares_memory(x, y) for y in reals] for x in reals]
    return result, left, same, shared, [(w.category, str(w.message), w.filename, w.lineno) for w in given]


@pytest.mark.parametrize("own", [False, True], ids=["NumPy's", "lazy"])
@pytest.mark.parametrize("name", CASES)
def test_exactly(name: str, own: bool) -> None:
    fn, values = CASES[name]
    f = lazyarr.compile(fn)
    for _ in range(4):
        OUTSIDE[:] = numpy.arange(60.0)
        want = outcome(fn, [copied(x, own) for x in values])
        OUTSIDE[:] = numpy.arange(60.0)
        got = outcome(f, [copied(x, own) for x in values])


        assert got == want, f.explain()


def test_outs_are_where_numpy_has_them() -> None:
    for name, at in OUT_AT.items():
        try:
            found = list(inspect.signature(getattr(numpy, name)).parameters)
        except ValueError:                      # written in C
            continue
        assert name in ("matmul", "vecdot") or found[at] == "out", name


def test_many_of_them_are_replays() -> None:
    before = counters()["traced_calls"]
    for name in CASES:
        test_exactly(name, False)
    assert counters()["traced_calls"] - before > 4 * len(CASES) // 3
