"""Array comprehensions of compiled functions against Python's: bits, dtypes, errors, what is refused."""

from __future__ import annotations

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
    ):  # fmt: skip
        both(function(f"return np.array({text})"), make())


@pytest.mark.parametrize(
    "text",
    ["np.array([x for x in a if x])", "np.array([x for x in a], dtype='f4')", "list([x for x in a])",
     "np.array([(x, x) for x in a])", "np.array([str(x) for x in a])", "np.array([x for x in []])"],
)  # fmt: skip
def test_what_is_pythons(text: str) -> None:
    assert not both(function(f"return {text}"), make())["loop_blocks"]


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
