"""Elements and scalar products by machine code are NumPy's, and what is refused NumPy refuses."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from covering import pairs_of

import lazyarr as np
from tests.slots.operands import ONLY_HERE, python_calls

TYPES = "?bBhHiIlLqQefdgFDG"
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x,
    "part": lambda x: x[::-2, 1::2],
    "columns": lambda x: x.T,
    "repeated": lambda x: x[:, :1].T,
}


def outcome(fn: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """What comes of a call: type, value, shape; or an error; and what was warned of."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            x = fn(*args)
            found: Any = (type(x).__name__, repr(numpy.asarray(x)), numpy.asarray(x).dtype)
        except (IndexError, TypeError, ValueError, OverflowError) as error:
            found = type(error), str(error)
    return found, [str(w.message) for w in met]


def keys() -> list[Any]:
    found: list[Any] = []
    for i in range(-5, 5):
        found += [i, (i,), (i, 1), (-1, i), (i, -i), (numpy.int64(0), i), (i, True), (i, i, i)]
        found.append((i, slice(None)))
    return [*found, (0, 1 << 70), (-1 << 70, 0), (), (..., 1), (1, 1.0), (None, 1)]


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements(char: str, layout: str) -> None:
    whole = numpy.arange(12).reshape(3, 4).astype(char)
    real, x = LAYOUTS[layout](whole), LAYOUTS[layout](np.array(whole))
    for key in keys():
        assert outcome(operator.getitem, x, key) == outcome(operator.getitem, real, key), key
    swapped = real.astype(real.dtype.newbyteorder(">"))
    assert outcome(operator.getitem, np.asarray(swapped), (0, 1)) == outcome(lambda: swapped[0, 1])


VALUES: list[Any] = [
    1.5, 2, -1, 1 << 60, 1 << 70, True, (1 << 24) + 1, -(1 << 24) - 1, float("nan"), -0.0, 1j, None, "1",
    numpy.float64(3.5), numpy.int64(4), numpy.float32(2), numpy.int8(-1), numpy.longlong(5),
]  # fmt: skip
WRITES = pairs_of(LAYOUTS, keys(), VALUES)


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_writes(char: str, layout: str) -> None:
    for key, value in (each[1:] for each in WRITES if each[0] == layout):
        found = []
        for of in np.array, numpy.array:
            whole = of(numpy.arange(12).reshape(3, 4).astype(char))
            done = outcome(operator.setitem, LAYOUTS[layout](whole), key, value)
            found.append((done, outcome(operator.pos, whole)))
        (mine, now), (theirs, then) = found
        assert mine == theirs and now[0][1:] == then[0][1:], (key, value)


BITS = 0, 7, 8, 15, 16, 24, 31, 32, 63, 64
EDGES = sorted({n + k for bits in BITS for n in (1 << bits, -(1 << bits)) for k in (-1, 0, 1)})
SCALARS: list[Any] = [
    *EDGES, True, False, numpy.True_, 0.0, -0.0, 1 / 3, -2.5, 255.0, 1e-45, 1e-39, 2.0**-126, -(2.0**-127),
    1.17e-38, 2.0**127, 1.7e38, 3.4028235e38, 3.5e38, 1e300, -1e300, 5e-324,
    float("inf"), -float("inf"), float("nan"),
    1j, 2 - 3j, complex("nan-infj"), -0.0j, 1e300j,
    *[numpy.dtype(c).type(v) for c in TYPES for v in (0, 1, 100)],
    *[numpy.int64(n) for n in (-1, 127, 128, 255, 256, 1 << 31, -(1 << 31) - 1, 1 << 32, 1 << 53)],
    *[numpy.float64(v) for v in (-0.0, 0.1, 1e-40, 1e39, numpy.nan)], numpy.complex128(2 - 3j),
    numpy.float16(2.5),
]  # fmt: skip


@pytest.mark.parametrize("char", sorted({*TYPES} - {*"gG"}))
def test_numbers_of_all_kinds_written(char: str) -> None:
    """Bit for bit, into an element among others; also where bytes have another order."""
    for dtype in numpy.dtype(char), numpy.dtype(char).newbyteorder():
        for value in SCALARS:
            real = numpy.full(3, 77).astype(dtype)
            x = np.array(real)
            mine, theirs = (outcome(operator.setitem, of, 1, value) for of in (x, real))
            assert mine == theirs and numpy.asarray(x).tobytes() == real.tobytes(), (dtype, value)


def test_what_may_not_be_written() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[1] = 1.0
    with pytest.raises(ValueError, match="delete"):
        del x[1]
    for module in np, numpy:
        with pytest.warns(DeprecationWarning, match="broadcast"):
            module.broadcast_arrays(module.ones(3), module.ones((2, 3)))[0][0, 1] = 2.0


@pytest.mark.parametrize("char", "fdlD?ge")
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 31, 400, 9000])
def test_scalar_products(char: str, n: int) -> None:
    rng = numpy.random.default_rng(n)
    a, b = (rng.integers(0, 9, shape) / 7 for shape in ((n + 1, 5), 2 * n + 2))
    a, b = a.astype(char), b.astype(char)
    large = numpy.full(3, 1e200) if char == "d" else b
    x, y = np.array(a), np.array(b)
    for take in (
        lambda a, b, dot: a[:n, 1] @ b[:n], lambda a, b, dot: b[:n] @ b[n : 2 * n],
        lambda a, b, dot: b[: 2 * n : 2] @ b[:n], lambda a, b, dot: b[:n] @ a[:n],
        lambda a, b, dot: b[:n][::-1] @ b[:n], lambda a, b, dot: b[:n] @ b[: n + 1],
        lambda a, b, dot: a[:, 2] @ a[:, 2], lambda a, b, dot: a[:, 2] @ a,
        lambda a, b, dot: dot(a[:n, 1], b[:n]), lambda a, b, dot: dot(b[: 2 * n : 2], b[:n]),
        lambda a, b, dot: dot(b[:n][::-1], b[:n]), lambda a, b, dot: dot(b[:n], b[: n + 1]),
        lambda a, b, dot: dot(-b[:1] * 0, b[:1]), lambda a, b, dot: dot(b[:n], a[:n]),
    ):  # fmt: skip
        assert outcome(take, x, y, np.dot) == outcome(take, a, b, numpy.dot)
    lazy = np.array(large)
    for fn in operator.matmul, numpy.dot:
        mine = np.dot if fn is numpy.dot else fn
        assert outcome(mine, lazy, lazy) == outcome(fn, large, large)


@pytest.mark.parametrize("n", [1, 2, 40, 3000])
def test_scalar_products_of_parts(n: int) -> None:
    """Of arrays that are large, and of a part of one and a small one."""
    a = numpy.random.default_rng(n).random((400, 400)) - 0.5
    x, b = np.array(a) + 0, numpy.arange(3000.0)
    np.evaluate(x)
    y = np.array(b)
    for take in (
        lambda a, b: a[3, :n] @ b[:400][:n], lambda a, b: a[:n, 5] @ a[7, :n],
        lambda a, b: a[3, :n] @ a[4, :n], lambda a, b: a[3, :n][::-1] @ b[:400][:n],
        lambda a, b: a.ravel()[:n] @ b[:n], lambda a, b: b[:n] @ a[0, 0],
        lambda a, b: a[:n, :2].T @ b[:400][:n], lambda a, b: a[0, 0] @ b,
    ):  # fmt: skip
        assert outcome(take, x, y) == outcome(take, a, b)


@ONLY_HERE
def test_no_python_runs() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    for fn, args in (
        (operator.getitem, (x, (1, -1))), (operator.setitem, (x, (1, -1), 2)), (operator.matmul, (y, y)),
        (np.dot, (y, y)),
        (operator.setitem, (y, 1, 2.5)), (operator.setitem, (y, -1, numpy.float64(2))),
        *[(operator.setitem, (np.zeros(3, c), 1, numpy.dtype(c).type(1))) for c in "?bBhHiIlLqQfdFD"],
        *[(operator.setitem, (np.zeros(3, c), 1, value)) for c in "fD" for value in (2, 2.5, numpy.int64(1))],
        *[(operator.setitem, (np.zeros(3, c), 1, 100)) for c in "bBhHiIlLqQ"],
        (operator.setitem, (np.zeros(3, "D"), 1, 1j)), (operator.setitem, (np.zeros(3, "?"), 1, True)),
    ):  # fmt: skip
        assert python_calls(fn, *args)[1] == 0, args
