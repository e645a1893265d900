"""Operators by NumPy's inner loops alone give what NumPy gives: bits, layouts, types, warnings, errors."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.numpy_loops import loops_of
from lazyarr.slots.loop_tables import ALONE, COMPARISONS, OPERATORS, UFUNCS, tables
from tests.slots.operands import ONLY_HERE, python_calls

DYADIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, pow]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARED = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
    operator.iand, operator.ior, operator.ixor,
]  # fmt: skip
TYPES = "?bBhHiIlLqQefdgFD"
SPECIAL = [0.0, -0.0, 1.5, -2.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e308, -1e-310, 3.0, 7.0]


def values(char: str, seed: int = 0) -> numpy.ndarray:
    """Twelve numbers, some special ones among them."""
    rng = numpy.random.default_rng(seed)
    if char in "efdgFD":
        with numpy.errstate(all="ignore"):
            found = rng.permutation(numpy.array(SPECIAL)).astype(char)
            return found * numpy.dtype(char).type(1 + 1j) if char in "FD" else found
    if char == "?":
        return rng.random(12) < 0.5
    info = numpy.iinfo(char)
    found = numpy.array([info.min, info.max, 0, 1, 2, 3, 5, 7, 11, 100, info.max - 1, 4], char)
    return rng.permutation(found)


def outcome(fn: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """What comes of a call: the result as bytes, its looks, warnings; or an error."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            result = fn(*args)
            real = numpy.asarray(result)
            bits = repr(real) if real.dtype.char in "gG" else real.tobytes()    # (some bytes are nobody's)
            found: Any = (bits, real.dtype, real.shape, getattr(result, "strides", None))
        except (TypeError, ValueError, FloatingPointError, ZeroDivisionError, OverflowError) as error:
            found = (type(error), str(error))
    return found, [(w.category, str(w.message)) for w in met]


def scalars(char: str) -> list[Any]:
    of = numpy.dtype(char).type
    return [
        *values(char)[:5], of(1), 0, 1, -1, 2, 255, 1 << 24, (1 << 24) + 1, -(1 << 40), 1 << 70, True, 0.5,
        -0.0, 1e300, 1e-320, float("nan"), float("inf"), 2 + 1j, numpy.float64(0.1), numpy.float32(0.1),
        numpy.int64(3), numpy.int8(3), numpy.bool(True), numpy.complex128(1j),
    ]  # fmt: skip


@pytest.mark.parametrize("char", TYPES)
def test_scalars(char: str) -> None:
    real = values(char)
    x = np.array(real)
    for fn in DYADIC + BITS + COMPARED:
        for scalar in scalars(char):
            assert outcome(fn, x, scalar) == outcome(fn, real, scalar), (fn, scalar)
            assert outcome(fn, scalar, x) == outcome(fn, scalar, real), (fn, scalar)


@pytest.mark.parametrize("char", TYPES)
def test_pairs(char: str) -> None:
    for other in char, "d", "l":
        a, b = values(char), values(other, 1)
        x, y = np.array(a), np.array(b)
        for fn in DYADIC + BITS + COMPARED:
            for cut in LAYOUTS.values():
                assert outcome(fn, cut(x), cut(y)) == outcome(fn, cut(a), cut(b)), (fn, other)
                assert outcome(fn, cut(x), y[:1]) == outcome(fn, cut(a), b[:1]), (fn, other)
            assert outcome(fn, x, y[::-1]) == outcome(fn, a, b[::-1]), (fn, other)
            assert outcome(fn, x, x) == outcome(fn, a, a)
            assert outcome(fn, x, y[:3]) == outcome(fn, a, b[:3])


@pytest.mark.parametrize("char", "FD")
def test_complex_numbers_of_any_length(char: str) -> None:
    """Sums with scalars and absolute values: bits, whatever lies beside an element."""
    rng = numpy.random.default_rng(4)
    real = (rng.standard_normal(200) + 1j * rng.standard_normal(200)).astype(char)
    real *= (10.0 ** rng.integers(-15, 15, 200)).astype(real.real.dtype)
    x, scalar = np.array(real), real[7]
    for n in (*range(1, 40), 63, 64, 65, 100):
        for part in slice(n), slice(3, 3 + n), slice(n, None, -1), slice(0, 2 * n, 2):
            a, b = x[part], real[part]
            assert outcome(abs, a) == outcome(abs, b)
            for fn in operator.add, operator.sub, operator.mul:
                assert outcome(fn, a, scalar) == outcome(fn, b, scalar)
                assert outcome(fn, scalar, a) == outcome(fn, scalar, b)
    for fn in (lambda x: abs(x), lambda x: x + scalar, lambda x: scalar - x, np.absolute):
        assert python_calls(fn, x)[1] <= 1


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "rows": lambda x: x.reshape(3, 4),
    "columns": lambda x: x.reshape(3, 4).T,
    "part": lambda x: x.reshape(3, 4)[1:, 1:3],
    "backwards": lambda x: x[::-2],
    "empty": lambda x: x[:0],
    "one": lambda x: x[3:4],
    "one of many axes": lambda x: x[3:4].reshape(1, 1, 1),
    "no axes": lambda x: x.reshape(3, 4)[1, 2:3].reshape(()),
    "one axis of a row": lambda x: x.reshape(12, 1),
}


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_by_name(char: str, name: str) -> None:
    real, other = values(char), values(char, 1)
    x, y = np.array(real), np.array(other)
    mine, theirs = getattr(np, name), getattr(numpy, name)
    for scalar in scalars(char):
        assert outcome(mine, x, scalar) == outcome(theirs, real, scalar), scalar
        assert outcome(mine, scalar, x) == outcome(theirs, scalar, real), scalar
    for cut in LAYOUTS.values():
        assert outcome(mine, cut(x), cut(y)) == outcome(theirs, cut(real), cut(other))
        assert outcome(mine, cut(x), y[:1]) == outcome(theirs, cut(real), other[:1])
        assert outcome(mine, cut(x), cut(y), cut(x)) == outcome(theirs, cut(real), cut(other), cut(real))
    for given in (x,), (x, "text"), (x, None), (1, 2), (x, [1] * 12), (1.0, numpy.float64(2)), (x, y, 1, 1):
        assert outcome(mine, *given)[0][0] == outcome(theirs, *given)[0][0]


@pytest.mark.parametrize("char", "?BilqdfgD")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_place(char: str, layout: str) -> None:
    def run(of: Callable[..., Any], fn: Any, other: Any) -> Any:
        whole = of(values(char))
        part = LAYOUTS[layout](whole)
        other = of(other) if isinstance(other, numpy.ndarray) else other
        if isinstance(other, str):
            other = part if other == "itself" else LAYOUTS[layout](whole[::-1])
        return outcome(lambda: fn(part, other)), outcome(lambda: whole)

    others = [*scalars(char), "itself", "the same memory", LAYOUTS[layout](values(char, 2)), values("d")]
    for fn in IN_PLACE:
        for other in others:
            assert run(np.array, fn, other) == run(numpy.array, fn, other), (fn, other)


def test_what_overlaps_is_read_first() -> None:
    for shift in 1, 3, -1:
        a = numpy.arange(40.0)
        x = np.array(a)
        for z in a, x:
            read, written = (z[:-shift], z[shift:]) if shift > 0 else (z[-shift:], z[:shift])
            written += read
            z[::2] -= z[1::2]
            z[::-1] *= z
        assert numpy.asarray(x).tobytes() == a.tobytes()


def test_what_may_not_be_written() -> None:
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert x.tolist() == [1, 2]
    for module in np, numpy:
        with pytest.warns(DeprecationWarning, match="broadcast"):
            part = module.broadcast_arrays(module.ones(3), module.ones((2, 3)))[0]
            part += 1


def test_what_does_not_lie_as_usual() -> None:
    odd = numpy.frombuffer(bytearray(8 * 5 + 1), "<f8", 5, 1)
    odd[:] = range(5)
    turned = numpy.arange(5).astype(">f8")
    named = numpy.arange(5.0).astype(numpy.dtype("f8", metadata={"a": 1}))
    for real in odd, turned, named:
        x = np.asarray(real)
        for fn in DYADIC + COMPARED:
            assert outcome(fn, x, 2.5) == outcome(fn, real, 2.5)
            assert outcome(fn, x, x) == outcome(fn, real, real)


@pytest.mark.parametrize("what", ["raise", "warn", "ignore", "call", "print"])
def test_error_states(what: str, capfd: Any) -> None:
    heard: list[Any] = []
    said = []
    for module in np, numpy:
        a = module.array([0.0, 1.0, 1e300])
        for fn, other in (
            (operator.truediv, 0.0), (operator.mul, 1e300), (operator.mul, 1e-320),
            (operator.isub, numpy.inf), (operator.imul, 1e300), (operator.itruediv, 0),
            (operator.floordiv, 0), (operator.lt, numpy.nan),
        ):  # fmt: skip
            with module.errstate(all=what, call=lambda *given: heard.append(given)):
                said.append((outcome(fn, a, other), len(heard), capfd.readouterr()))
            heard.clear()
    assert said[: len(said) // 2] == said[len(said) // 2 :]


def test_a_status_of_before_is_nobodys() -> None:
    """C code leaves the CPU's status as it is: the next operation does not warn of that."""
    import math

    x = np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            math.exp(-745.0)
            assert (x + 1).tolist() == [2, 3]
            math.exp(-745.0)
            x *= 1


@ONLY_HERE
def test_no_python_runs() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for scalar in 2, 0.5, numpy.float64(2), numpy.float32(2), numpy.int64(2):
        for fn in *DYADIC, *COMPARED:
            assert python_calls(fn, scalar, x)[1] == 0
            assert python_calls(fn, x, scalar)[1] == 0
    assert python_calls(operator.mul, numpy.complex128(2), x)[1] == 0
    for fn in *DYADIC, *COMPARED, operator.iadd:
        assert python_calls(fn, x, y)[1] == 0


def test_scalars_of_numpys_among_themselves() -> None:
    class Own(numpy.float64):
        pass

    class Asked:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "mine"

    assert numpy.float64(1) + numpy.float64(2) == 3 and type(numpy.float64(1) + 1) is numpy.float64
    assert numpy.float64(1) + Asked() == "mine" and Own(1) + Asked() == "mine"
    assert (numpy.float64(2) * numpy.ones(3)).__class__ is numpy.ndarray
    assert (Own(2) * np.ones(3)).tolist() == [2, 2, 2]
    assert (numpy.int64(1) < np.ones(2)).tolist() == [False, False]
    with pytest.raises(TypeError):
        numpy.float64(1) + "text"
    x = np.arange(200_000.0)
    assert np.is_evaluated(x * 2) == np.is_evaluated(numpy.float64(2) * x)


def test_nothing_leaks() -> None:
    import sys

    x, y, scalar = np.array([1.0, 2.0]), np.array([0.0, 1.0]), 2.5
    kept = numpy.asarray(x)
    objects = x, y, kept, kept.dtype, scalar, numpy.ndarray
    before = [sys.getrefcount(each) for each in objects]
    with numpy.errstate(all="ignore"):
        for _ in range(100):
            x + y, x / y, x * scalar, scalar - x, x < y
            x += y
            x /= 1
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True))


def test_tables_name_loops_of_numpy() -> None:
    for name in *OPERATORS.values(), *COMPARISONS, *UFUNCS, *ALONE:
        loops = loops_of(getattr(numpy, name))
        assert set(loops) == set(getattr(numpy, name).types)
    assert len(tables([])) == len({*OPERATORS.values(), *UFUNCS, *ALONE}) + 2


def test_types_of_a_word_with_numbers_of_pythons() -> None:
    """NumPy makes some results of `longlong` ones of `long`."""
    for char in "lq":
        a = numpy.arange(1, 9).astype(char)
        x = np.array(a)
        for op in (operator.add, operator.floordiv, operator.mod, operator.and_, operator.xor, operator.lt):
            for y in (2, -3, 1 << 40):
                for args, expected in (((x, y), op(a, y)), ((y, x), op(y, a))):
                    found = numpy.asarray(op(*args))
                    assert found.dtype.char == expected.dtype.char and found.tobytes() == expected.tobytes()
