"""Slots: small operations run no Python code of ours, and do what the Python methods do."""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from tests.slots.operands import ONLY_HERE, VALUES, lazy, python_calls, same

pytestmark = ONLY_HERE

ARITHMETIC = "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"
PAIR: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (*ARITHMETIC, "lt", "le", "gt", "ge", "eq", "ne", "matmul")
}
BITS = {name: getattr(operator, name) for name in ["and_", "or_", "xor", "lshift", "rshift"]}
UNARY = {name: getattr(operator, name) for name in ["neg", "pos", "abs"]}
IN_PLACE = {f"i{name}": getattr(operator, f"i{name}") for name in ARITHMETIC}
UFUNC = {name: (lambda x, y, name=name: getattr(np, name)(x, y)) for name in ["add", "maximum", "arctan2"]}
KEYS = {
    "element": 3, "negative": -2, "slice": slice(2, 9, 3), "row": (None, slice(1, 4)), "whole": ...,
    "NumPy's integer": numpy.int16(4), "tuple": (5,), "array": np.array([1, 4, 1]),
    "mask": np.array([True, False] * 6), "none of them": np.array([], int),
}  # fmt: skip


def operands() -> dict[str, tuple[Any, Any]]:
    x, y = VALUES.copy(), VALUES[::-1] + 0.5
    return {"arrays": (x, y), "scalar": (x, 2.5), "NumPy's scalar": (x, numpy.float32(3)), "alone": (x, x)}


@pytest.mark.parametrize("kind", operands())
@pytest.mark.parametrize("name", PAIR)
def test_operators_run_no_python(name: str, kind: str) -> None:
    if name == "matmul" and "scalar" in kind:
        return
    a, b = operands()[kind]
    x, y = lazy(a), lazy(b)
    with numpy.errstate(all="ignore"):
        found, calls = python_calls(PAIR[name], x, y)
        assert calls == 0 and same(found, PAIR[name](a, b))
        if kind == "scalar" and name != "matmul":
            found, calls = python_calls(PAIR[name], y, x)
            assert calls == 0 and same(found, PAIR[name](b, a))


@pytest.mark.parametrize("name", BITS)
def test_operators_of_integers(name: str) -> None:
    a, b = numpy.arange(8), numpy.arange(8) % 3
    for given in ((a, b), (a, 2), (2, b)):
        found, calls = python_calls(BITS[name], *map(lazy, given))
        assert calls == 0 and same(found, BITS[name](*given))
    x, y = np.array(a), np.array(b)
    before = x
    getattr(operator, "i" + name.rstrip("_"))(x, y)
    assert x is before and same(x, BITS[name](a, b))


@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one_array(name: str) -> None:
    found, calls = python_calls(UNARY[name], np.array(VALUES))
    assert calls == 0 and same(found, UNARY[name](VALUES))


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("kind", operands())
def test_in_place(name: str, kind: str) -> None:
    a, b = operands()[kind]
    x = np.array(a)
    y = x if kind == "alone" else lazy(b)
    view = x[2:]
    with numpy.errstate(all="ignore"):
        if name == "ipow" and kind != "scalar":
            found = IN_PLACE[name](x, y)
        else:
            found, calls = python_calls(IN_PLACE[name], x, y)
            assert calls == 0
        expected = IN_PLACE[name](a, a if kind == "alone" else b)
    assert found is x and same(x, expected) and same(view, expected[2:])


@pytest.mark.parametrize("name", KEYS)
def test_items(name: str) -> None:
    key, x = KEYS[name], np.array(VALUES)
    theirs = numpy.asarray(key) if type(key) is np.ndarray else key
    found, calls = python_calls(operator.getitem, x, key)
    expected = VALUES[theirs]
    assert calls == 0 and same(found, expected)
    if type(found) is np.ndarray:
        assert (found.base is x) == (expected.base is VALUES)
        assert found[:1].base is (x if found.base is x else found)
    for value in (7, numpy.float32(2.5), np.array(3.5)):
        b = VALUES.copy()
        _, calls = python_calls(operator.setitem, x, key, value)
        b[theirs] = numpy.asarray(value)
        assert calls == 0
        x[...] = np.where(numpy.isin(numpy.arange(12), numpy.arange(12)[theirs]), x, b)
        assert same(x, b)
        x[...] = np.array(VALUES)


@pytest.mark.parametrize("name", UFUNC)
def test_ufuncs(name: str) -> None:
    fn, ours = getattr(numpy, name), getattr(np, name)
    for a, b in operands().values():
        found, calls = python_calls(ours, lazy(a), lazy(b))
        assert calls == 0 and same(found, fn(a, b))
    assert same(ours(2.0, 3.0), fn(2.0, 3.0)) and same(ours([1.0], (2.0,)), fn([1.0], (2.0,)))
    assert same(ours(np.array(VALUES), 1, dtype="f4"), fn(VALUES, 1, dtype="f4"))
    found, calls = python_calls(np.negative, np.array(VALUES))
    assert calls == 0 and same(found, -VALUES)


def test_lengths() -> None:
    for x in (np.arange(3), np.zeros((4, 2)), np.arange(10**6) * 2):
        found, calls = python_calls(len, x)
        assert calls == 0 and found == x.shape[0]
    with pytest.raises(TypeError, match="unsized"):
        len(np.array(3))


def test_what_others_answer() -> None:
    class Other:
        def __radd__(self, x: Any) -> Any:
            return "radd", x

        def __add__(self, x: Any) -> Any:
            return "add", x

        def __rmatmul__(self, x: Any) -> Any:
            return "rmatmul", x

        def __eq__(self, x: Any) -> Any:
            return "eq"

        __array_ufunc__ = None

    x, other = np.array(VALUES), Other()
    assert (x + other)[0] == "radd" and (x + other)[1] is x
    assert (other + x)[0] == "add" and (other + x)[1] is x
    assert (x @ other)[0] == "rmatmul" and (x == other) == "eq" and (other == x) == "eq"
    with pytest.raises(TypeError, match="unsupported operand"):
        x - other
    with pytest.raises(TypeError):
        x += object()
    with pytest.raises(TypeError):
        pow(x, 2, 5)
    with pytest.raises(TypeError):
        pow(2, x, 5)
    with pytest.raises(TypeError, match="negative"):
        -np.array(["a"])


def test_a_changed_method_is_called() -> None:
    """From then on that operator goes through Python, as the type says."""
    was = np.ndarray.__rshift__
    try:
        np.ndarray.__rshift__ = lambda self, other: "changed"
        assert np.arange(3) >> 1 == "changed"
    finally:
        np.ndarray.__rshift__ = was
    assert same(np.arange(3) >> 1, numpy.arange(3) >> 1)


@pytest.mark.parametrize("changes", [{"jit": "always"}, {"eager_elements": 0}])
def test_options_come_first(changes: dict[str, Any]) -> None:
    x, y = np.array(VALUES), np.array(VALUES)
    with np.options(**changes):
        before = np.debug.counters()["nodes_built"]
        np.sqrt(np.array(VALUES + 9))
        assert np.debug.counters()["nodes_built"] > before
        assert python_calls(operator.add, x, x)[1] > 0
    assert python_calls(operator.add, y, y)[1] == 0


def test_large_operands_are_lazy() -> None:
    x, column = np.array(VALUES), np.array(numpy.arange(1e5))
    before = np.debug.counters()["nodes_built"]
    outer = np.array(numpy.arange(3000.0))[:, None] * np.array(numpy.arange(3000.0))
    assert np.debug.counters()["nodes_built"] == before + 1 and outer.shape == (3000, 3000)
    assert same(x[3] + column[:2], VALUES[3] + numpy.arange(2.0))


def test_answers_are_counted() -> None:
    x = np.array(VALUES)
    before = np.debug.counters()["numpy_eager"]
    x + x, x < 1, -x, np.sqrt(abs(x)), np.add(x, 1)
    x += 1
    assert np.debug.counters()["numpy_eager"] == before + 7
    np.debug.reset()
    assert np.debug.counters()["numpy_eager"] == 0


def test_nothing_leaks() -> None:
    x, y, mask = np.array(VALUES), np.array(VALUES), np.array(VALUES > 0)
    held = x, y, x.geo, y.geo, mask, mask.geo, None, 7, NotImplemented, operator.add

    def work() -> None:
        x + y, 2 * x, x < y, -x, x[mask], x[2:], x[3], np.sqrt(x * x), np.add(x, y), x == "a", len(x)
        x[mask] = 7
        x[1] = y[2]
        x.__iadd__(1)
        for wrong in (lambda: x[99], lambda: x + object(), lambda: x[mask[:3]], lambda: x @ y[:2]):
            with suppress(IndexError, TypeError, ValueError):
                wrong()

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(h) for h in held]

    for _ in range(20):
        work()
    before = counts()
    for _ in range(100):
        work()
    assert all(abs(now - then) < 20 for now, then in zip(counts(), before, strict=True))


def test_objects_keep_their_identity() -> None:
    inner = np.array(VALUES)
    x = np.empty(3, object)
    x[0], x[1], x[2] = inner, None, 3
    assert x[0] is inner and x[1] is None and (x[2:] + 1)[0] == 4


@pytest.mark.parametrize("text", ["a + b", "a * b + a", "2 * (a + b)", "(a < b) | (b < a)", "a / b - 3.0"])
def test_operands_that_numpy_may_compute_in_need_no_python(text: str) -> None:
    """From 256 KiB on NumPy's operators take a temporary's memory, which says nothing of real numbers in C's
    order, slices included.  In another order the result has it, and complex products have other bits: that is
    Python's."""
    rising = numpy.linspace(1, 2, 48_000).reshape(200, 240)
    real = {"a": rising, "b": rising[::-1].copy()}
    code = compile(text, "", "eval")
    for change, needless in ((lambda x: x, True), (lambda x: x.T, False), (lambda x: x * (1 + 0.1j), False)):
        given = {name: change(x) for name, x in real.items()}
        if given["a"].dtype.kind == "c" and "<" in text:
            continue
        ours = {name: np.array(x, copy=True) for name, x in given.items()}
        eval(code, ours)                            # (of each instruction Python is asked once: `elided`)
        found, calls = python_calls(eval, code, ours)
        expected = eval(code, given)
        assert calls == 0 or not needless
        assert found.strides == expected.strides and numpy.asarray(found).tobytes() == expected.tobytes()


SLICES: dict[str, tuple[Any, bool]] = {
    "a part": (lambda x: x[1:221, 1:281], True),
    "every other column": (lambda x: x[:220, ::2], True),
    "one column of each": (lambda x: x[:220, 1:281].reshape(220, 1, 280), True),
    "rows backwards": (lambda x: x[220:0:-1, 1:281], False),
    "columns backwards": (lambda x: x[:220, ::-2], False),
    "columns first": (lambda x: x[1:221, 1:281].T, False),
    "axes in turn": (lambda x: x.reshape(10, 30, 560)[:, :20, :280].transpose(1, 0, 2), False),
    "a row again and again": (lambda x: numpy.broadcast_to(x[0, :280], (220, 280)), False),
}


@pytest.mark.parametrize("text", ["a + b", "a * b + a", "2 * (a + b)", "(a < b) | (b < a)", "a / b - 3.0"])
@pytest.mark.parametrize("name", SLICES)
def test_large_slices_need_no_python(name: str, text: str) -> None:
    take, needless = SLICES[name]
    rising = numpy.linspace(1, 2, 300 * 560).reshape(300, 560)
    real = {"a": rising, "b": rising[::-1].copy()}
    code = compile(text, "", "eval")
    given = {name: take(x) for name, x in real.items()}
    ours = {name: np.asarray(take(np.array(x))) for name, x in real.items()}
    eval(code, ours)                            # (of each instruction Python is asked once: `elided`)
    found, calls = python_calls(eval, code, ours)
    expected = eval(code, given)
    assert calls == 0 or not needless
    assert found.strides == expected.strides and numpy.asarray(found).tobytes() == expected.tobytes()
    mixed = {"a": ours["a"], "b": np.array(given["b"], order="C")}
    found, expected = eval(code, mixed), eval(code, {"a": given["a"], "b": given["b"].copy(order="C")})
    assert found.strides == expected.strides and numpy.asarray(found).tobytes() == expected.tobytes()
