"""Array comprehensions of compiled functions against Python's: bits, dtypes, errors, what is refused."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiling import chunks
from lazyarr.debug import counters
from lazyarr.parallel import ALL
from tests.compiling.loops import both, defined, outcome

ONE_AXIS = {
    "of an array": "[x * 2 + 1 for x in a]", "of a range": "[math.sin(i) * k for i in range(3, n)]",
    "backwards": "[i * k for i in range(n, -n, -3)]", "bools": "[x > 0 for x in a]",
    "ints": "[i * i for i in prange(n)]", "elements": "[a[i] - a[i - 1] for i in range(len(a))]",
    "a branch": "[x if x > 0 else -x for x in a]", "a call": "[helper(x, k) for x in a]",
    "float32 scalars": "[numpy.sqrt(c[i]) for i in range(c.shape[0])]",
}  # fmt: skip
TWO_AXES = {
    "outer": "[[x * y for y in b] for x in a]", "ranges": "[[i - j for j in range(3)] for i in range(n)]",
    "mixed": "[[a[i] + y for y in b] for i in range(len(a))]",
}  # fmt: skip
SIDE_BY_SIDE = {
    "zipped": "[x * y for x, y in zip(a, b)]", "counted": "[i * x for i, x in enumerate(a)]",
    "counted from": "[i - x for i, x in enumerate(a, 5)]",
    "by keyword": "[i - x for i, x in enumerate(a, start=n)]",
    "three": "[x * y + z for x, y, z in zip(a, b, c)]",
    "counted pairs": "[i * x - y for i, (x, y) in enumerate(zip(a, b))]",
    "pairs of counted ones": "[i * x - y for y, (i, x) in zip(range(n), enumerate(a))]",
    "neighbours": "[x - y for x, y in zip(a[1:], a[:-1])]",
    "with a range": "[x + i for i, x in zip(range(0, 90, 4), a)]",
    "one name": "[p[0] - p[1] for p in zip(a, b)]", "one each": "[x for x, in zip(a)]",
    "equal lengths": "[x + y for x, y in zip(a, a[::-1], strict=True)]",
    "outer": "[[x * y + z for y, z in zip(b, range(5))] for i, x in enumerate(a)]",
    "rows": "[r[0] - r[1] for r in c.reshape(4, 5)]",
    "within rows": "[[x * k for x in r] for r in c.reshape(4, 5)]",
    "rows and more": "[[x * j for j, x in zip(b, a)] for r in c.reshape(4, 5)]",
}  # fmt: skip
FLAT = {
    "two": "[x * y for x in a for y in b]",
    "ranges": "[i * n - j for i in range(n) for j in range(4, 0, -1)]",
    "of rows": "[x * k for r in c.reshape(4, 5) for x in r]",
    "zipped within": "[x * y - z for x in a for y, z in zip(b, c)]",
}  # fmt: skip
PICKED = {
    "some": "[x * k for x in a if x > 2]", "none": "[x * k for x in a if x > 90]",
    "all": "[x for x in a if x >= 0]",
    "two conditions": "[1 / x for x in a if x if x < 5]", "and": "[1 / x for x in a if x and x < 5]",
    "of pairs": "[x - y for x, y in zip(a, b) if x != y]", "places": "[i for i, x in enumerate(a) if x > 2]",
    "rows": "[[x * y for y in b] for x in a if x > 2]",
    "no rows": "[[x * y for y in b] for x in a if x > 99]",
    "of both": "[x * y for x in a if x > 1 for y in b if y < x]",
    "before the second": "[1 // x + y for x in a if x for y in b]",
    "triangle": "[i * 10 + j for i in range(n) for j in range(n) if j < i]",
    "narrows": "[math.sqrt(x) for x in a if x >= 3]",
}  # fmt: skip
TYPED = {
    "doubles": "[i * 3 for i in range(n)], dtype=float", "singles": "[x / 3 for x in a], dtype='f4'",
    "ints": "[x for x in a], dtype=numpy.int16", "bools": "[x > 1 for x in a], dtype=bool",
    "an object": "[x + 1 for x in a], dtype=numpy.dtype('f4')", "none": "[x + 1 for x in a], dtype=None",
    "none picked": "[x for x in a if x > 99], dtype='i4'",
    "an argument's": "[x + 1 for x in a], dtype=c.dtype",
}  # fmt: skip
MORE = SIDE_BY_SIDE | FLAT | PICKED | TYPED


def helper(x: Any, k: Any) -> Any:
    return x + k if x > 1 else x - k


def function(text: str) -> Any:
    return defined(f"def f(a, b, c, n, k):\n    {text}\n", helper=helper)


def make(dtype: str = "f8", wrap: Any = numpy.array) -> Any:
    return lambda: (
        wrap((numpy.arange(40) % 7).astype(dtype)), wrap(numpy.arange(9).astype(dtype)),
        wrap(numpy.arange(20, dtype="f4")), 30, 0.5,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?"])
@pytest.mark.parametrize("name", [*ONE_AXIS, *TWO_AXES])
def test_against_python(name: str, dtype: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunks, "GRAIN_NS", 16.0)
    text = (ONE_AXIS | TWO_AXES)[name]
    for maker, wrap in (("np.array", np.array), ("numpy.asarray", numpy.array)):
        found = both(function(f"return {maker}({text})"), make(dtype, wrap))
        assert found["loop_blocks"] or dtype == "?"
        assert dtype != "f8" or found["parallel_blocks"]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("name", MORE)
def test_more_against_python(name: str, dtype: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunks, "GRAIN_NS", 16.0)
    for maker, wrap in (("np.array", np.array), ("numpy.asarray", numpy.array)):
        found = both(function(f"return {maker}({MORE[name]})"), make(dtype, wrap))
        typed = "numpy.dtype(" in MORE[name]        # (a call, which is evaluated in its turn)
        divides = name == "before the second" and dtype == "f4"
        wraps = dtype == "u1" and "-" in MORE[name]
        assert found["loop_blocks"] or typed or divides or wraps, name
        assert dtype != "f8" or found["parallel_blocks"] or typed, name


@pytest.mark.parametrize("name", [*SIDE_BY_SIDE, *FLAT, *PICKED, *TYPED])
def test_their_class_and_layout(name: str) -> None:
    for maker, kind in (("np.array", np.ndarray), ("numpy.asarray", numpy.ndarray)):
        f = np.compile(function(f"return {maker}({MORE[name]})"))
        want = f.__wrapped__(*make()())
        with np.options(jit="always"):
            x = f(*make()())
        assert type(x) is kind and x.flags.c_contiguous and x.flags.writeable == want.flags.writeable
        assert x.strides == want.strides and x.flags.owndata == want.flags.owndata


@pytest.mark.parametrize("imports", ["", "import math", "import numpy as np", "import math, numpy as np"])
@pytest.mark.parametrize(
    "text", ["return np.array([math.sin(x) for x in a])", "for i in range(n):\n        b[0] += math.cos(i)"]
)
def test_modules_that_are_imported_and_those_that_are_bound(imports: str, text: str) -> None:
    """CPython compiles calls of their functions in two ways; so do names within comprehensions count."""
    text = imports.replace("numpy", "lazyarr") + f"\ndef f(a, b, c, n, k):\n    {text}\n"
    assert both(defined(text), make("f8", np.array))["loop_blocks"]


def test_the_class_of_the_result_is_that_of_the_call() -> None:
    for maker, kind in (("np.array", np.ndarray), ("numpy.array", numpy.ndarray)):
        f = np.compile(function(f"return {maker}([x + 1 for x in a])"))
        with np.options(jit="always"):
            assert type(f(*make()())) is kind


def test_several_in_one_function_and_within_expressions() -> None:
    text = "y = np.array([x + 1 for x in a]).sum() + np.array([i for i in range(n)]).max()\n"
    text += "    z = 0\n    for i in range(len(b)):\n        z += b[i]\n    return y + z"
    f = np.compile(function(text))
    both(function(text), make())
    with np.options(jit="always"):
        f(*make()())
    assert f.explain().count(": compiled") == 3, f.explain()


def test_errors_and_warnings_are_pythons() -> None:
    for text in (
        "[a[i + 20] for i in range(n)]", "[1 / x for x in a]", "[1 // int(x) for x in a]", "[x for x in k]",
        "[undefined for x in a]", "[[x for x in range(i)] for i in range(3)]", "[x for x in range(0.5)]",
        "[[y for y in range(len(k))] for x in range(0)]", "[x for x in range(1, 9, 0)]",
        "[x for x, y in zip(a, b, strict=True)]", "[x for x, y in zip(a, k)]", "[x for x, y in enumerate(k)]",
        "[x for x, y, z in zip(a, b)]", "[x for x, y in zip(a, b, c)]", "[x for i, x in enumerate(a, 1.5)]",
        "[1 / x for x in a if x < 5]", "[1 / int(x) for x in a if x < 5]", "[1 for x in a if 1 // int(x)]",
        "[a[i] for i in range(n * 2) if a[i] >= 0]", "[x * 1e308 for x, y in zip(a, b)]",
        "[y for x in a for y in x]", "[y for r in b for y in r if y]", "[i for i, x in zip(range(n), a, k)]",
        "[x for x in a if undefined]", "[x for x, y in zip()]", "[x for x in zip(a, strict=3)]",
        "[x * 1e300 for x in a], dtype='f4'", "[x * 100 for x in a], dtype='i1'",
        "[x for x in a], dtype='nonsense'",
        "[x - 1 for x in a], dtype=numpy.uint8", "[math.nan for x in a], dtype=int",
        "[i - 1 for i in range(n)], dtype=numpy.uint8", "[2.0**62 * i for i in range(1, n)], dtype='i8'",
    ):  # fmt: skip
        both(function(f"return np.array({text})"), make())


@pytest.mark.parametrize(
    "text",
    ["np.array([x for x in a], copy=True)", "np.array([x for x in a], dtype='f2')", "list([x for x in a])",
     "np.array([(x, x) for x in a])", "np.array([str(x) for x in a])", "np.array([x for x in []])",
     "np.array([x for x in a], dtype='>f8')",
     "np.array([x for x in a], dtype=numpy.longlong)", "np.array([x for x in a], 'f8')",
     "np.array([x for x in a], dtype=numpy.dtype('f8', metadata={'a': 1}))"],
)  # fmt: skip
def test_what_is_pythons(text: str) -> None:
    assert not both(function(f"return {text}"), make())["loop_blocks"]


@pytest.mark.parametrize(
    "text, why",
    [("[[x for x in b if x] for y in a]", "its rows may differ in length"),
     ("[x for x in b for y in a for z in a]", "more than two axes"),
     ("[j for i in range(n) for j in range(i)]", "depends on the first"), ("[x for x in a for x in b]",
     "two axes have one variable"),
     ("[x for x in a for y in np.sort(b)]", "no variable, range"), ("[[*x] for x in a]", "makes a"),
     ("[[y for y in x] for x in a]", "no rows"),
     ("[[x * y for y in count(b)] for x in a]", "no variable, range"),
     ("[x for x in a], dtype=numpy.dtype('f8')", "a plain dtype"), ("[x for x in map(abs, a)]",
     "neither ranges nor arrays"),
     ("[x for x in zip(a, {1: 2})]", "neither ranges nor arrays"), ("[b[x] for b[0], x in zip(a, a)]",
     "no variable, nor a tuple"),
     ("[x for x in a], dtype='f2'", "its dtype is none"), ("[x for i, x in enumerate(a, True)]",
     "start at an int"),
     ("[lambda: x for x in a]", "makes a function"), ("[x for x, y in zip(a, b, strict=True)]",
     "different lengths")],
)  # fmt: skip
def test_reasons(text: str, why: str) -> None:
    f = np.compile(function(f"return np.array({text})"))
    with np.options(jit="always"), contextlib.suppress(Exception):
        f(*make()())
    assert why in f.explain(), f.explain()


@pytest.mark.parametrize("name", ["zipped", "counted", "two", "some", "of both", "doubles"])
def test_the_plan_changes(name: str) -> None:
    """On, elements are computed by blocks of machine code on all threads; off, by none."""
    f = function(f"return np.array({MORE[name]})")
    rest: Any = ALL - {"comprehension"}
    want = outcome(f, make()())
    counts = []
    for on in (True, rest):
        g = np.compile(f, parallel=on)
        before = counters()["loop_blocks"]
        with np.options(jit="always"):
            assert outcome(g, make()()) == want
        counts.append(counters()["loop_blocks"] - before)
    assert counts[0] == 1 and not counts[1] and "switched off" in g.explain()


def test_a_function_of_the_programs_own_name() -> None:
    """`zip` and `enumerate` are what they are called at the call."""
    f = function("return numpy.array([x + y for x, y in zip(a, b)])")
    g = np.compile(f)
    with np.options(jit="always"):
        g(*make()())
        f.__globals__["zip"] = lambda a, b: [(1, 2), (3, 4)]
        assert g(*make()()).tolist() == [3, 7]
        del f.__globals__["zip"]
        assert outcome(g, make()()) == outcome(f, make()())


def test_iterated_arguments_are_evaluated_in_order_and_once() -> None:
    asked: list[str] = []

    def ask(name: str, x: Any) -> Any:
        asked.append(name)
        return x

    through = "enumerate(zip(ask('a', a), ask('b', b)), n)"
    f = function(f"return numpy.array([x + y * i for i, (x, y) in {through}])")
    f.__globals__["ask"] = ask
    want, once = outcome(f, make()()), list(asked)
    g = np.compile(f)
    for mode in ("always", "never"):
        asked.clear()
        with np.options(jit=mode):
            assert outcome(g, make()()) == want and asked == once


def test_arrays_that_are_gone_through_may_be_anything() -> None:
    """Layouts, dtypes of other byte orders, memory that is read-only, what waits."""
    some = (
        lambda: numpy.arange(40.0)[::-2], lambda: numpy.arange(40, dtype=">f8"),
        lambda: numpy.broadcast_to(2.5, 40),
        lambda: numpy.frombuffer(b"12345678" * 9, dtype="f8"), lambda: np.arange(50.0) * 2 + 1,
        lambda: numpy.arange(6.0).reshape(2, 3), lambda: numpy.zeros((0, 3)), lambda: numpy.array(1.0),
        lambda: numpy.arange(9).astype(object), lambda: numpy.ma.array([1, 2, 3]), lambda: [1, 2, 3],
    )  # fmt: skip
    for text in ("[x * 2 for x in a]", "[x - y for x, y in zip(a, b)]", "[i for i, x in enumerate(a) if i]",
                 "[[x for x in r] for r in a]", "[x for r in a for x in r if x > 1]"):  # fmt: skip
        for one in some:
            both(function(f"return numpy.array({text})"), lambda one=one: (one(), *make()()[1:]))


def test_switched_off() -> None:
    f = function("return np.array([x + 1 for x in a])")
    want = outcome(f, make()())
    rest: Any = ALL - {"comprehension"}
    for g, off in ((np.compile(f, parallel=rest), {}), (np.compile(f), {"parallel": rest})):
        before = counters()["loop_blocks"]
        with np.options(jit="always", **off):
            assert outcome(g, make()()) == want
        assert counters()["loop_blocks"] == before and "switched off" in g.explain()
    g = np.compile(f, parallel=True)
    with np.options(jit="always"):
        assert outcome(g, make()()) == want
    assert counters()["loop_blocks"] > before


def by_chance(seed: int) -> str:
    """A comprehension of numbers x, y and i."""
    r = random.Random(seed)
    names = r.choice([("x", "a"), ("x, y", "zip(a, b)"), ("i, x", "enumerate(a)"), ("i, (x, y)",
    "enumerate(zip(b, c), n)"),
                      ("x, i", "zip(a[::-1], range(n, -n, -3))")])  # fmt: skip

    def number(some: list[str], deep: int = 0) -> str:
        if deep > 2 or r.random() < 0.3:
            return r.choice([*some * 3, "k", "n", "2", "0.5", "-3", "True", "a[3]"])
        one, other = number(some, deep + 1), number(some, deep + 1)
        return r.choice([f"({one} {r.choice('+-*+-*/%')} {other})", f"abs({one})", f"max({one}, {other})",
                         f"({one} if {one} > {other} else {other})", f"math.cos({one})",
                         f"helper({one}, {other})"])  # fmt: skip

    def condition(some: list[str]) -> str:
        return f" if {number(some)} {r.choice(['<', '>', '!='])} {number(some)}" if r.random() < 0.5 else ""

    some = [x.strip("() ") for x in names[0].split(",")]
    first = f"for {names[0]} in {names[1]}{condition(some)}"
    if r.random() < 0.6:
        return f"[{number(some)} {first}]"
    if r.random() < 0.5:
        return f"[[{number([*some, 'u'])} for u in {r.choice(['b', 'c', 'range(4)'])}] {first}]"
    some.append("u")
    return f"[{number(some)} {first} for u in {r.choice(['b', 'c', 'range(n)'])}{condition(some)}]"


@pytest.mark.parametrize("seed", range(60))
def test_by_chance(seed: int) -> None:
    text, dtype = by_chance(seed), random.Random(-1 - seed).choice(["f8", "f8", "f4", "i8", "i2", "u1", "?"])
    wrap = (np.array, numpy.array)[seed % 2]
    with numpy.errstate(invalid="ignore") if seed % 3 else contextlib.nullcontext():
        both(function(f"return np.array({text})"), make(dtype, wrap))


class Counting:
    """What counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def n(self) -> int:
        self.asked += 1
        return 20 + self.asked

    def __getitem__(self, k: int) -> int:
        return self.n


@pytest.mark.parametrize(
    "text", ["range(C.n)", "range(C[0])", "range(0, C.n, 2)", "range(2**63 - 2, 2**63 + 2)"]
)  # fmt: skip
def test_what_is_gone_through_is_evaluated_once(text: str) -> None:
    f = function(f"return numpy.array([i * k for i in {text}])")
    g = np.compile(f)
    for mode in ("always", "auto"):
        one, other = Counting(), Counting()
        f.__globals__["C"] = one
        want = outcome(f, make()())
        f.__globals__["C"] = other
        with np.options(jit=mode):
            assert outcome(g, make()()) == want and one.asked == other.asked


def test_vectors_of_any_expression() -> None:
    some = "[x * 2 for x in a[1:-1]]", "[x + i for x in a[::-2]]", "[[x * y for y in b] for x in a[:3]]"
    for text in some:
        assert both(function(f"i = 3\n    return numpy.array({text})"), make())["loop_blocks"]


def test_the_array_is_not_kept() -> None:
    import gc
    import weakref

    f = np.compile(function("x = numpy.array([x + 1 for x in a])\n    kept.append(ref(x))\n    del x\n    "
                            "return kept[-1]()"))
    kept: list[Any] = []
    f.__wrapped__.__globals__.update(kept=kept, ref=weakref.ref)
    with np.options(jit="always"):
        gone = f(*make()())
        gc.collect()
    assert gone is None
