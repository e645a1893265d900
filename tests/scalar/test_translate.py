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
from lazyarr.scalar import compiled, loop
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
    "a call of `math.fsum`": lambda x: math.fsum((x, x)),
    "a call of `numpy.sin`": lambda x: numpy.sin(x),
    "`TABLE` is of type list": lambda x: TABLE[x],
    "it makes a string": lambda x: f"{x}",
    "it makes a function or a comprehension": lambda x: (lambda y: y + x)(x),
    "`nothing` is not defined": lambda x: nothing(x),  # noqa: F821
    "it returns what is no number, nor several": lambda x: None,
    "`recursive` calls itself, or calls are nested too deep": recursive,
    "`round` with 2 arguments": lambda x: round(x, 2),
    "`range` with 4 arguments": lambda x: range(x, 1, 1, 1),
    "`math.atan2` with 1 arguments": lambda x: math.atan2(x),
    "`math.log` with 3 arguments": lambda x: math.log(x, 2, 3),
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
    assert variants() == 1
    monkeypatch.setitem(globals(), "FACTOR", 0.5)
    assert numpy.array_equal(v(X), X * 0.5 + X)
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    assert numpy.array_equal(v(X), X * 0.5 - X)
    assert variants() == 3
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
    assert variants() == 1


def variants():
    return sum(map(len, compiled._known.values()))


def test_a_helper_that_is_defined_again_is_known():
    """The same code, with other numbers captured: by default, by closure, and by a helper of its own."""
    for k in range(30):
        def inner(x, by=k):
            return x - by

        def outer_helper(x, k=0.5 * k):
            return inner(x) * k

        v = lazyarr.vectorize(lambda x: outer_helper(x) + 1, otypes="d")
        assert numpy.array_equal(v(X), (X - k) * (0.5 * k) + 1) and v.refusal is None
    assert variants() == 1


def test_a_helper_that_changes_is_translated_again_and_again():
    """What was used last is kept."""
    names: dict = {"X": X}
    exec("def f(x): return helper(x) * 2", names)
    v = lazyarr.vectorize(names["f"], otypes="d")
    for k in [*range(30), 29, 28]:
        exec(f"def helper(x): return x + {k}.5", names)
        assert numpy.array_equal(v(X), (X + (k + 0.5)) * 2) and v.refusal is None
        assert variants() <= compiled.VARIANTS
    (known,) = compiled._known.values()
    assert "28.5" in str(known[-1].function) and "29.5" in str(known[-2].function)


def test_functions_that_are_forgotten(monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 4)
    for k in range(10):
        v = lazyarr.vectorize(eval(f"lambda x: x * {k}.5 - 1"), otypes="d")
        assert numpy.array_equal(v(X), X * (k + 0.5) - 1) and v.refusal is None
        assert len(compiled._known) <= 4


def test_a_bound_of_machine_code(monkeypatch):
    monkeypatch.setattr(loop, "_entered", {})
    monkeypatch.setattr(loop, "LOOPS", 1)
    first, second = (lazyarr.vectorize(eval(f"lambda x: x * {k}.25 + 7"), otypes="d") for k in range(2))
    for _ in range(2):
        assert numpy.array_equal(first(X), X * 0.25 + 7) and first.refusal is None
        assert numpy.array_equal(second(X), X * 1.25 + 7)
        assert second.refusal.why == "too many functions are compiled"


def test_two_names_of_one_function():
    """Each is found by itself: they may be different functions of one code later."""
    def made(by):
        return lambda x: x * by

    names: dict = {"a": made(2.0)}
    names["b"] = names["a"]
    exec("def f(x):\n h = a if x > 0 else b\n return h(x)", names)
    v = lazyarr.vectorize(names["f"], otypes="d")
    assert numpy.array_equal(v(X), X * 2) and v.refusal is None
    names["b"] = made(-3.0)
    assert numpy.array_equal(v(X), numpy.where(X > 0, X * 2, X * -3)) and v.refusal is None
    assert variants() == 1


def test_whether_functions_are_the_same_is_not_known():
    check(lambda x: x if helper is helper else -x, X)
    assert "between functions" in check(lambda x: x if helper is other_helper else -x, X).refusal.why


def other_helper(x):
    return x


def from_file(text, file):
    names: dict = {"math": math}
    exec(compile(text, file, "exec"), names)
    return names["f"]


ROOT = "def f(x):\n    return math.sqrt(x)\n"


def test_a_stop_in_another_file():
    """File and line are of the function that is called."""
    f = from_file(ROOT, "roots.py")
    v = lazyarr.vectorize(lambda x: f(x) + 1, otypes="d")
    with pytest.raises(ValueError):
        v(-X - 10)
    assert str(v.refusal) == "roots.py:2: at this call: a math domain or range error"
    bad = from_file("def f(x):\n    return x\n\ndef g(x):\n    return [x]\nf = g", "bad.py")
    v = lazyarr.vectorize(lambda x: bad(x)[0], otypes="d")
    v(X)
    assert str(v.refusal) == "bad.py:5: it makes a list"
    bad = from_file("\n\ndef f(x):\n    try:\n        return x\n    finally:\n        pass", "bad.py")
    v = lazyarr.vectorize(lambda x: bad(x), otypes="d")
    v(X)
    assert str(v.refusal) == "bad.py:3: it has a try or a with statement"


def test_equal_functions_stop_at_lines_of_their_own():
    """They share a loop, also where only their files differ."""
    places = [("one.py", ""), ("one.py", "\n\n"), ("two.py", "")]
    made = [lazyarr.vectorize(from_file(before + ROOT, file), otypes="d") for file, before in places]
    for _ in range(2):
        for v, (file, before) in zip(made, places, strict=True):
            with pytest.raises(ValueError):
                v(-X - 10)
            assert (v.refusal.file, v.refusal.line) == (file, 2 + len(before))
    every = [known for variants in compiled._known.values() for known in variants]
    assert len(every) == 3 and len({known.loop("d", "d", "f (vectorized)").loop for known in every}) == 1


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


def test_what_has_no_hash_may_be_called() -> None:
    """A program's own objects are compared with nothing, and asked for nothing."""

    class Scale:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("nobody compares it")

        def __call__(self, x):
            return x * 2

    scale = Scale()

    def scaled(x):
        return scale(x) + 1

    assert (numpy.asarray(lazyarr.vectorize(scaled)(X)) == X * 2 + 1).all()

    def listed(a):
        return lazyarr.array([scale(x) for x in a])

    assert (numpy.asarray(lazyarr.compile(listed)(lazyarr.array(X))) == X * 2).all()
