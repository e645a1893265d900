"""What is translated, what is refused and why, and by what a translation goes."""

from __future__ import annotations

import gc
import math
import weakref
from contextlib import suppress

import numpy
import pytest
from scalar.conftest import check

import lazyarr
from lazyarr.scalar import compiled
from lazyarr.scalar.translate import translate

X = numpy.linspace(0.25, 4, 16)
FACTOR = 3
TABLE = [1, 2, 3]


def summed(x, n=5):
    s = 0
    for k in range(n):
        if k == 3:
            continue
        s += x / (k + 1)
    else:
        s += 0.125
    return s


def halvings(x):
    n = 0
    while x > 0.01:
        x /= 2
        n += 1
        if n > 100:
            break
    return n


def nested(x):
    total = 0
    for i in range(3):
        for j in range(i, 6, 2):
            if (i + j) % 3 == 0:
                continue
            total = max(total, i * x - j) if i != j else total + 1
    return total, i


def calls(x):
    a, b = pair(x, scale=2)
    return a if b < 2 < 5 else pair(b)[1]


def pair(x, *, scale=1):
    return x * scale, x - scale


def late(x):
    if x > 2:
        y = x
    return y


def recursive(x):
    return 1 if x < 1 else x * recursive(x - 1)


@pytest.mark.parametrize("f", [summed, halvings, nested, calls])
def test_control_flow(f):
    assert check(f, X).refusal is None
    check(f, numpy.arange(-3, 9))
    check(f, X > 1)


def test_a_variable_without_value():
    check(late, X)
    assert check(late, X[X > 2]).refusal is None


def test_a_variable_of_two_types_is_translated_twice():
    """``s`` is an int first and a float then; each has its own code, as in Python."""
    t = translate(summed, {"x": "f"})
    ops = {i.op for b in t.function.blocks for i in b.body}
    assert {"int_float", "float_add"} <= ops and "int_add" in ops


REFUSED = {
    "it makes a list": lambda x: [x],
    "attribute `real` of what is no module": lambda x: x.real,
    "a call of `print`": lambda x: print(x),
    "a call of `math.hypot`": lambda x: math.hypot(x, x),
    "a call of `numpy.sin`": lambda x: numpy.sin(x),
    "`TABLE` is of type list": lambda x: TABLE[x],
    "it makes a string": lambda x: f"{x}",
    "it makes a function or a comprehension": lambda x: (lambda y: y + x)(x),
    "`nothing` is not defined": lambda x: nothing(x),  # noqa: F821
    "it returns what is no number, nor several": lambda x: None,
    "`recursive` calls itself, or calls are nested too deep": recursive,
    "`round` with 2 arguments": lambda x: round(x, 2),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals(why):
    f = REFUSED[why]
    with numpy.errstate(all="ignore"):
        v = lazyarr.vectorize(f, otypes="O")
    with suppress(NameError, TypeError, AttributeError, RecursionError, ValueError):
        v(lazyarr.asarray(X))
    if "function or a comprehension" in why:
        assert "function" in v.refusal.why
    else:
        assert v.refusal.why == why
    assert str(v.refusal) == f"{__file__}:{v.refusal.line}: {v.refusal.why}"
    assert v.refusal.line - f.__code__.co_firstlineno in (0, 1)


def test_what_is_no_function_of_numbers():
    for f in (math.sin, numpy.sin, int, "abc".count):
        v = lazyarr.vectorize(f, otypes="O")
        with suppress(TypeError):
            v(lazyarr.asarray(X))
        assert v.refusal.why == "it is no Python function"


def test_effects_are_refused():
    seen = []

    def keep(x):
        seen.append(x)
        return x

    v = lazyarr.vectorize(keep, otypes="d")
    v(lazyarr.asarray(X))
    assert seen == X.tolist() and v.refusal


def test_globals_are_those_of_the_call(monkeypatch):
    """A number is an argument: another one needs no other translation; another type or function does."""
    v = lazyarr.vectorize(lambda x: x * FACTOR + helper(x))
    assert numpy.array_equal(v(X), X * 3 + X)
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert numpy.array_equal(v(X), X * 5 + X)
    assert sum(map(len, compiled._known.values())) == 1
    monkeypatch.setitem(globals(), "FACTOR", 0.5)
    assert numpy.array_equal(v(X), X * 0.5 + X)
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    assert numpy.array_equal(v(X), X * 0.5 - X)
    assert sum(map(len, compiled._known.values())) == 3
    monkeypatch.setitem(globals(), "FACTOR", "abc")
    with pytest.raises(TypeError):
        v(X)
    assert v.refusal.why == "`FACTOR` is of type str"
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert numpy.array_equal(v(X), X * 2 - X) and v.refusal is None


def helper(x):
    return x


def test_closures_share_a_translation():
    def scaled(by):
        return lazyarr.vectorize(lambda x: x * by)

    for by in (2.0, 3.0, -1.0):
        assert numpy.array_equal(scaled(by)(X), X * by)
    assert sum(map(len, compiled._known.values())) == 1


def test_code_that_changes():
    def f(x):
        return x + 1

    def g(x):
        return x - 1

    v = lazyarr.vectorize(f)
    assert numpy.array_equal(v(X), X + 1)
    f.__code__ = g.__code__
    assert numpy.array_equal(v(X), X - 1)


def test_a_function_without_source():
    names: dict = {}
    exec("f = lambda x: x * x if x > 1 else -x", names)
    assert check(names["f"], X).refusal is None


def test_what_is_refused_is_not_kept_alive():
    class Table(list):
        pass

    table = Table([1.0, 2.0])
    gone = weakref.ref(table)
    v = lazyarr.vectorize(lambda x: table[0] * x)
    v(lazyarr.asarray(X))
    assert v.refusal.why == "`table` is of type Table"
    table = None
    del v
    gc.collect()
    assert gone() is None
