"""Loops of compiled functions against the functions as Python runs them: values, types, memory, errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
import weakref
from functools import reduce
from operator import add
from typing import Any

import numpy
import pytest
from numpy.lib.stride_tricks import as_strided

import lazyarr as np
from lazyarr.compiling import chunks, loops
from lazyarr.debug import counters
from lazyarr.parallel import ALL
from tests.compiling.loops import Writer, both, defined, outcome
from tests.crowd import at_once

N = 100


def floats(*shape: int, dtype: str = "f8", seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape or (N,)).astype(dtype)


def ints(*shape: int, dtype: str = "i8") -> Any:
    return numpy.random.default_rng(5).integers(0, 50, size=shape or (N,)).astype(dtype)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: Any) -> None:
    monkeypatch.setattr(chunks, "GRAIN_NS", 16.0)


def function(body: str, params: str = "a, b, out", **names: Any) -> Any:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return defined(f"def f({params}):\n{lines}\n", **names)


SMOOTH = """
for i in prange(1, len(a) - 1):
    out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
return i
"""
SUM = """
s = 0
for i in prange(len(a)):
    s += a[i]
return s
"""
PRODUCT = """
s = 1.0
for i in prange(len(a)):
    s *= a[i]
return s
"""
EXTREMES = """
low, high = a[0], a[0]
for i in prange(1, len(a)):
    low = min(low, a[i])
    if a[i] > high:
        high = a[i]
return low, high
"""
TWO_AXES = """
for i in prange(a.shape[0]):
    for j in prange(a.shape[1]):
        out[i, j] = a[i, j] * b[j, i] + i - j
"""
MATMUL = """
for i in prange(a.shape[0]):
    for j in range(b.shape[1]):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        out[i, j] = s
"""
ROWS = """
for i in prange(len(a)):
    row, to = a[i], out[i]
    for j in range(len(row)):
        to[j] = row[j] + 1
"""
RECURRENCE = """
for i in range(1, len(a)):
    out[i] = 0.5 * out[i - 1] + a[i]
"""
WHILES = """
for i in prange(len(a)):
    x, steps = a[i], 0
    while x * x < 50.0 and steps < 30:
        x = x * 1.5 + 0.1
        steps += 1
    if steps == 0:
        continue
    out[i] = steps
return steps
"""
HISTOGRAM = """
for i in range(len(b)):
    out[b[i] % len(out)] += 1
"""
BACKWARDS = """
for i in prange(len(a) - 1, -1, -1):
    out[i] = a[len(a) - 1 - i] * 2
return i
"""
NESTED = """
total = 0
for t in range(3):
    print(end="")
    for i in prange(len(a)):
        total += b[i]
        out[i] += a[i] * t
return total
"""
ALL_OF_THEM: dict[str, tuple[str, str, bool]] = {
    "smooth": (SMOOTH, "vvv", True), "sum": (SUM, "vvv", False), "product": (PRODUCT, "vvv", False),
    "extremes": (EXTREMES, "vvv", False), "two axes": (TWO_AXES, "mmm", True),
    "matmul": (MATMUL, "mmm", True), "rows": (ROWS, "mmm", True), "recurrence": (RECURRENCE, "vvv", False),
    "whiles": (WHILES, "vvv", True), "histogram": (HISTOGRAM, "viv", False),
    "backwards": (BACKWARDS, "vvv", True), "nested": (NESTED, "viv", False),
}  # fmt: skip


def made(kinds: str, dtype: str = "f8", wrap: Any = numpy.array) -> Any:
    """What makes arguments: vectors, matrices, vectors of ints."""
    def make() -> tuple[Any, ...]:
        shapes = {"v": (N,), "m": (30, 30), "i": (N,)}
        return tuple([
            wrap(ints() if kind == "i" else floats(*shapes[kind], dtype=dtype, seed=k))
            for k, kind in enumerate(kinds)
        ])

    return make


@pytest.mark.parametrize("wrap", [numpy.array, np.array], ids=["numpy", "lazy"])
@pytest.mark.parametrize("name", ALL_OF_THEM)
def test_programs(name: str, wrap: Any) -> None:
    text, kinds, parallel = ALL_OF_THEM[name]
    found = both(function(text), made(kinds, wrap=wrap))
    assert found["loop_blocks"]
    assert (found["parallel_blocks"] > 0) == parallel


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("name", ["smooth", "sum", "extremes", "two axes", "backwards"])
def test_dtypes(name: str, dtype: str) -> None:
    text, kinds, _ = ALL_OF_THEM[name]

    def make() -> tuple[Any, ...]:
        shapes = {"v": (N,), "m": (12, 12)}
        return tuple([(ints(*shapes[k]) % 12).astype(dtype) for k in kinds])

    assert both(function(text), make)["loop_blocks"] or dtype == "?"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    writer = Writer(1000 + seed)
    both(defined(writer.text()), writer.arrays())


# --------------------------------------------------------------------------- order and memory


def test_a_sum_of_floats_keeps_its_order() -> None:
    """Any other order gives other bits."""
    a = floats(20000) * 10.0 ** (numpy.arange(20000) % 30)
    found = both(function(SUM), lambda: (a, a, a))
    assert found["loop_blocks"] and not found["parallel_blocks"]
    assert reduce(add, a.tolist()) != reduce(add, a.tolist()[::-1])


ALIASES: dict[str, tuple[str, Any, bool]] = {
    "same": ("out[i] = a[i] * 2 + a[i]", lambda x: (x, x), True),
    "same, its neighbour": ("out[i] = a[i - 1] * 2", lambda x: (x, x), False),
    "shifted": ("out[i] = a[i] + 1", lambda x: (x[:-1], x[1:]), False),
    "reversed": ("out[i] = a[i] + 1", lambda x: (x, x[::-1]), False),
    "apart": ("out[i] = a[i] + 1", lambda x: (x[::2], x[1::2]), False),
    "each to one place": ("out[0] = a[i]", lambda x: (x, x.copy()), False),
    "each to several": ("out[i] = a[i]", lambda x: (x, as_strided(x.copy(), x.shape, (0,))), False),
    "two places": ("out[2 * i % 7] = a[i]", lambda x: (x, x.copy()), False),
    "every third": ("out[3 * i - i - i] = a[i]", lambda x: (x, x.copy()), True),
    "from the end": ("out[-1 - i] = a[i]", lambda x: (x, x.copy()), False),
    "both signs": ("out[i - 5] = a[i]", lambda x: (x, x.copy()), False),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIASES)
def test_memory_that_is_shared(name: str) -> None:
    statement, views, parallel = ALIASES[name]
    f = function(f"for i in prange(len(a)):\n    {statement}", "a, out")
    found = both(f, lambda: views(floats()))
    assert found["loop_blocks"] and (found["parallel_blocks"] > 0) == parallel


@pytest.mark.parametrize("step", [1, -1, 2, -3])
def test_strides(step: int) -> None:
    def make() -> tuple[Any, ...]:
        return floats(3 * N)[::step][:N], floats(N, 2)[:, 1], floats(2 * N)[:: 2 if step > 0 else -2]

    assert both(function(SMOOTH), make)["parallel_blocks"]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_iterations(n: int) -> None:
    for name in ("smooth", "sum", "backwards"):
        both(function(ALL_OF_THEM[name][0]), lambda: (floats(n)[:n], floats(n)[:n], floats(n)[:n]))


def test_arrays_without_axes_read_only_or_of_other_dtypes_are_pythons() -> None:
    read_only = floats()
    read_only.flags.writeable = False
    askew = numpy.zeros(8 * N + 1, "u1")[1:].view("f8")
    others = [floats().astype(dtype) for dtype in (">f8", "f2", "c16", object)]
    f = function("for i in prange(100):\n    a[i] = 1", "a")
    for x in (numpy.array(3.0), read_only, askew, *others):
        assert not both(f, lambda x=x: (x,))["loop_blocks"]     # type: ignore[misc]


def test_what_is_pending_is_read_first() -> None:
    f = np.compile(function("for i in prange(len(out)):\n    out[i] = a[i] * 2\nreturn out", "a, out"))
    with np.options(jit="always", eager_elements=0):
        x = np.array(floats())
        before = x + 1.0                    # pending, of what the loop overwrites
        after = f(x, x)
        assert numpy.asarray(before).tobytes() == (floats() + 1.0).tobytes()
        assert numpy.asarray(after).tobytes() == (floats() * 2).tobytes()
        y = np.array(floats()) * 3.0        # the loop's input is pending
        out = np.empty(N)
        assert numpy.asarray(f(y, out)).tobytes() == (floats() * 3.0 * 2).tobytes()


# ------------------------------------------------------------------------ errors half way, warnings


def spoiled(at: int, value: Any, dtype: str = "f8") -> Any:
    x = numpy.ones(N, dtype)
    x[at] = value
    return x


HALF_WAY = {
    "out of bounds": ("out[i] = a[i + 40]", lambda: (numpy.ones(N), numpy.zeros(N))),
    "read out of bounds": ("out[2 * i] = a[i]", lambda: (numpy.ones(N), numpy.zeros(N))),
    "division": ("out[i] = 1 / int(a[i])", lambda: (spoiled(70, 0), numpy.zeros(N))),
    "domain": ("out[i] = math.sqrt(a[i])", lambda: (spoiled(70, -1), numpy.zeros(N))),
    "cast": ("out[i] = 300 - int(a[i])", lambda: (spoiled(70, 250) * 100, numpy.zeros(N, "i1"))),
    "assertion": ("out[i] = i\n    assert a[i] == 1", lambda: (spoiled(70, 0), numpy.zeros(N))),
    "raise": ("out[i] = i\n    if a[i] != 1:\n        raise ValueError(i)",
              lambda: (spoiled(70, 0), numpy.zeros(N))),
    "in a row": ("for j in range(i):\n        out[j] += a[i + j]", lambda: (numpy.ones(N), numpy.zeros(N))),
}  # fmt: skip


@pytest.mark.parametrize("name", HALF_WAY)
def test_errors_half_way_leave_what_python_leaves(name: str) -> None:
    body, make = HALF_WAY[name]
    f = function(f"for i in prange(len(a)):\n    {body}", "a, out")
    result, _, _ = outcome(f, make())
    assert isinstance(result[0], type) and issubclass(result[0], Exception)
    assert both(f, make)["loop_blocks"]


WARNS = {
    "divide": ("out[i] = 1.0 / a[i]", lambda: (spoiled(70, 0), numpy.zeros(N))),
    "invalid": ("out[i] = a[i] - a[i]", lambda: (spoiled(70, numpy.inf), numpy.zeros(N))),
    "overflow": ("out[i] = a[i] * a[i]", lambda: (spoiled(70, 1e200), numpy.zeros(N))),
    "int overflow": ("out[i] = a[i] * a[i]", lambda: (spoiled(70, 1 << 40, "i8"), numpy.zeros(N, "i8"))),
    "small int overflow": ("out[i] = a[i] + a[i]", lambda: (spoiled(70, 100, "i1"), numpy.zeros(N, "i1"))),
    "float32": ("out[i] = a[i] * a[i]", lambda: (spoiled(70, 1e30, "f4"), numpy.zeros(N, "f4"))),
    "cast to float32": ("out[i] = a[i]", lambda: (spoiled(70, 1e300), numpy.zeros(N, "f4"))),
    "unsigned": ("out[i] = a[i] - 2", lambda: (spoiled(70, 3, "u1") + 2, numpy.zeros(N, "u1"))),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNS)
def test_warnings_are_numpys(name: str) -> None:
    body, make = WARNS[name]
    f = function(f"s = 0\nfor i in prange(len(a)):\n    {body}\n    s += i\nreturn s", "a, out")
    assert outcome(f, make())[2] or name == "unsigned"
    assert both(f, make)["loop_blocks"]


def test_nans_that_are_compared_are_no_reason_to_stop() -> None:
    f = function("for i in prange(len(a)):\n    out[i] = 1 if a[i] > 0.5 else 2", "a, out")
    found = both(f, lambda: (spoiled(70, numpy.nan), numpy.zeros(N)), calls=1)
    assert found["loop_blocks"] == 1


def test_errors_of_error_states() -> None:
    f = function(f"for i in prange(len(a)):\n    {WARNS['divide'][0]}", "a, out")
    with numpy.errstate(all="raise"):
        both(f, WARNS["divide"][1])
    with numpy.errstate(all="ignore"):
        assert both(f, WARNS["divide"][1], calls=1)["loop_blocks"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = np.compile(f)
        a, out = WARNS["divide"][1]()
        with np.options(jit="always"), pytest.raises(RuntimeWarning, match="divide by zero"):
            g(a, out)
    assert out[69] == 1 and not out[70:].any()


def test_where_each_block_stops_python_is_left_alone() -> None:
    f = np.compile(function("for i in prange(len(a)):\n    out[i] = 1.0 / a[i]", "a, out"))
    before = counters()["loop_blocks"]
    with np.options(jit="always"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(numpy.zeros(5000), numpy.zeros(5000))
    assert 0 < counters()["loop_blocks"] - before < 80


# ------------------------------------------------------------------------------ ranges and statements

BEYOND = (
    "range(2**63 - 20, 2**63 + 20)", "range(2**70, 2**70 + 9)", "range(-2**63, 2**63 - 1, 2**62)",
    "range(0, 5, 2**70)", "range(2**64)", "range(-2**63, 2**63)",
)  # fmt: skip


@pytest.mark.parametrize("given", BEYOND)
def test_ranges_beyond_64_bits_are_pythons(given: str) -> None:
    body = "    s = s + i\n    out[i % 7] = a[s % 90] + s\n    assert out[3] == 0\nreturn s"
    both(function(f"s = 0\nfor i in {given}:\n{body}", "a, out"), lambda: (floats(), numpy.zeros(N)))


LOST = {
    "an exception's": ("try:\n    raise ValueError\nexcept ValueError as x:\n    pass", ""),
    "in a loop": ("while True:\n    del x\n    break", ""), "after it": ("", "del x"),
}  # fmt: skip


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("name", LOST)
def test_variables_that_lose_their_values(name: str, n: int) -> None:
    before, after = (text.replace("\n", "\n    ") for text in LOST[name])
    body = f"x = 3.0\nfor k in (1, 2):\n    {before}\n    for i in range(n):\n        out[i] = x\n    {after}"
    f = function(body, "out, n")
    with np.options(jit="always"):
        got = outcome(np.compile(f), (numpy.zeros(N), n))
    want = outcome(f, (numpy.zeros(N), n))
    assert got[0][:2] == want[0][:2] and got[1] == want[1]      # (CPython 3.11 gives one of two lines)


STATEMENTS = {
    "a global variable": "global G\nfor i in range(50):\n    G = a[i]\nreturn G",
    "another function's": "r = 3\ndef g():\n    nonlocal r\n    for i in range(50):\n        r = i\n"
    "g()\nreturn r",
    "an else clause that goes on": "for i in range(50):\n    for j in range(5):\n        if j == i % 9:\n"
    "            break\n    else:\n        out[i] = -1\n        continue\n    out[i] = j\nreturn j",
    "one of two arrays": "for i in range(50):\n    x = a if i % 3 else b\n    x[i] = i\nreturn x is a",
    "one of two rows": "m = out.reshape(10, 10)\nfor i in range(9):\n    x = m[i] if a[i] > 0 else m[i + 1]\n"
    "    for j in range(9):\n        x[j] += m[j, i]",
    "arrays round two loops": "for i in range(9):\n    for j in range(1, 9):\n"
    "        a[i] = max(a[j], min(b[i], i))"
    "\n    for j in range(1, 9):\n        if not b[j] ** 2 > a[i]:\n            continue\n"
    "        a[i - 1] = bool(b[i])"
    "\n    out[i // 2] += -b[i]",
    "float32 and too large a number": "s = numpy.float32(1)\nfor i in range(50):\n"
    "    s = s * 1e300\nreturn s",
    "another range": "for i in reversed(range(9)):\n    out[i] = i\nfor x in sorted(a):\n"
    "    out[0] += x\nreturn i",
    "its caller": "for i in asks(3):\n    out[i] = i\nreturn i",
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name: str) -> None:
    def asks(n: int) -> range:
        return range(n + sys._getframe(1).f_lineno)

    f = function(STATEMENTS[name], asks=asks)
    both(f, lambda: (floats(), floats(seed=4), numpy.zeros(N)))


def test_read_only_arrays_are_not_written_to_by_way_of_another() -> None:
    def make() -> tuple[Any, ...]:
        x = floats()
        x.flags.writeable = False
        return floats(), x

    for last in (30, 1000):
        f = function(f"for i in range(60):\n    x = a if i < {last} else b\n    x[i] = i", "a, b")
        assert not both(f, make)["loop_blocks"]


def test_what_is_gone_through_is_not_kept() -> None:
    class Thing(list[int]):
        pass

    text = "for i in made():\n    out[i] = i\nreturn ref()"
    refs: list[Any] = []

    def made() -> Thing:
        x = Thing((1, 2))
        refs.append(weakref.ref(x))
        return x

    f = np.compile(function(text, "out", made=made, ref=lambda: refs[-1]()))
    with np.options(jit="always"):
        assert f(floats()) is None


# ------------------------------------------------------------------------------------ types, names


def test_variables_that_change_their_type() -> None:
    for start in ("0", "0.0", "a[0]", "True", "numpy.float32(0)"):
        body = f"s = {start}\nfor i in prange(len(a)):\n    if a[i] > 0:\n        s += a[i]\nreturn s"
        for dtype in ("f8", "f4", "i4"):
            assert both(function(body), lambda d=dtype: (floats(dtype=d), 0, 0))["loop_blocks"]     # type: ignore[misc]


def test_variables_that_may_have_no_value() -> None:
    body = "for i in prange(len(a)):\n    if a[i] > 100:\n        t = a[i]\nreturn t"
    both(function(body), lambda: (floats(), 0, 0))
    both(function(body), lambda: (floats() + 101, 0, 0))
    both(function("for i in prange(n):\n    pass\nreturn i", "n"), lambda: (0,))
    both(function("del a\nfor i in prange(3):\n    b[i] = a[i]"), lambda: (floats(), floats(), 0))


SCALE = 3.0


def helper(x: Any, k: int = 2) -> Any:
    return x * k + SCALE


def test_globals_closures_and_helpers_are_those_of_the_call(monkeypatch: Any) -> None:
    def outer() -> Any:
        factor = 2.0

        def f(a: Any, out: Any) -> Any:
            for i in np.prange(len(a)):
                out[i] = helper(a[i]) * factor + SCALE
            return out

        def change(x: float) -> None:
            nonlocal factor
            factor = x

        return f, change

    f, change = outer()
    g = np.compile(f)
    for scale, factor in ((3.0, 2.0), (4.0, 0.5), (5, 7)):
        monkeypatch.setitem(globals(), "SCALE", scale)
        change(factor)
        before = counters()["loop_blocks"]
        with np.options(jit="always"):
            got = g(floats(), numpy.zeros(N))
        assert got.tobytes() == f(floats(), numpy.zeros(N)).tobytes()
        assert counters()["loop_blocks"] > before
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    with np.options(jit="always"):
        assert g(floats(), numpy.zeros(N)).tobytes() == f(floats(), numpy.zeros(N)).tobytes()


def test_outside_of_compiled_functions_prange_is_range() -> None:
    for args in ((5,), (2, 9), (9, 2, -3)):
        assert np.prange(*args) == range(*args) and type(np.prange(*args)) is range
    for wrong in ((), (1, 2, 3, 4), (1.5,)):
        with pytest.raises(TypeError):
            np.prange(*wrong)


NOT_LIFTED = {
    "break": ("for i in prange(3):\n    if a[i] > 0:\n        break", "break"),
    "return": ("for i in prange(3):\n    if a[i] > 0:\n        return i", "returns"),
    "print": ("for i in prange(20):\n    print(end='')", "print"),
    "list": ("for i in prange(3):\n    x = [k for k in range(i)]", "list"),
    "string": ("for i in prange(20):\n    x = 'a' if a[i] else 'b'\nreturn x", "no number"),
    "else": ("for i in prange(3):\n    b = a[i]\nelse:\n    b = 7\nreturn b", "else"),
    "row": ("for i in prange(20):\n    a[i:i + 1] = 0", "instruction"),
    "attribute": ("for i in prange(20):\n    x = a.real\nreturn 0", "real"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_LIFTED)
def test_what_is_pythons_says_why(name: str) -> None:
    body, why = NOT_LIFTED[name]
    f = function(body)
    assert not both(f, lambda: (floats(), floats(), floats()))["loop_blocks"]
    g = np.compile(f)
    with np.options(jit="always"):
        g(floats(), floats(), floats())
    assert why in g.explain() and "loop at line 2" in g.explain()


def test_what_has_no_loops_says_so_without_a_line() -> None:
    g = np.compile(function("return sorted([x + y for x, y in zip(a, b)])[0]"))
    with np.options(jit="always"):
        g(floats(), floats(), floats())
    assert "  loops: Python's: it has no loops over ranges" in g.explain()


def test_a_function_is_compiled_in_part() -> None:
    """What cannot be compiled stays Python's, in its place."""
    seen: list[Any] = []
    text = """
for i in range(len(a)):
    out[i] = a[i] * 2
seen.append(out.sum())
for i in range(len(a)):
    out[i] += b[i]
seen.append(out.sum())
while a[0] < 0:
    seen.append(a[0])
    for i in range(len(a)):
        a[i] += 1.0
return out + 1
"""
    f = function(text, seen=seen)
    want = f(floats() - 5, floats(), numpy.zeros(N)).tobytes(), list(seen)
    seen.clear()
    g = np.compile(f)
    before = counters()["loop_blocks"]
    with np.options(jit="always"):
        got = g(floats() - 5, floats(), numpy.zeros(N)).tobytes(), list(seen)
    assert got == want and counters()["loop_blocks"] - before >= 4
    assert g.explain().count("compiled, iterations side by side") == 3, g.explain()


def test_a_source_that_is_not_what_runs_is_not_taken_for_it(tmp_path: Any) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def f(a):\n    for i in range(len(a)):\n        a[i] = 1\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    file.write_text("def f(a):\n    for i in range(len(a)):\n        a[i] = 2\n")
    f = np.compile(space["f"])
    a = floats()
    with np.options(jit="always"):
        f(a)
    assert (a == 1).all() and "not what runs" in f.explain()


def test_prange_switched_off() -> None:
    f = function(SMOOTH)
    want = outcome(f, made("vvv")())
    rest: Any = ALL - {"prange"}
    for g, off in ((np.compile(f, parallel=rest), {}), (np.compile(f), {"parallel": rest})):
        before = counters()["loop_blocks"]
        with np.options(jit="always", **off):
            assert outcome(g, made("vvv")()) == want
        assert counters()["loop_blocks"] == before and "switched off" in g.explain()


def test_recursion_generators_and_methods() -> None:
    class Thing:
        @np.compile
        def add(self, a: Any, depth: int) -> Any:
            for i in range(len(a)):
                a[i] += depth
            return self.add(a, depth - 1) if depth else a

    with np.options(jit="always"):
        assert Thing().add(numpy.zeros(N), 3).tolist() == [6.0] * N
    generates = np.compile(defined("def f(n):\n    for i in range(n):\n        yield i\n"))
    assert list(generates(3)) == [0, 1, 2]


# ------------------------------------------------------------------------------ threads, signals


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    for name in ("smooth", "two axes", "matmul"):
        text, kinds, _ = ALL_OF_THEM[name]
        for threads in (1, 2):
            both(function(text), made(kinds), num_threads=threads)


def test_loops_in_several_threads() -> None:
    f = np.compile(function(SMOOTH))
    want = outcome(function(SMOOTH), made("vvv")())
    wrong: list[Any] = []

    def work() -> None:
        with np.options(jit="always"):
            for _ in range(5):
                got = outcome(f, made("vvv")())
                if got != want:
                    wrong.append(got)

    at_once(work)
    assert not wrong


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy, lazyarr as np

@np.compile
def forever(a, out, k):
    for i in range(1 << 50):
        {body}

def kill():
    while not np.debug.counters()["loop_blocks"]:
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

a, out = numpy.ones(10), numpy.zeros(10)
threading.Thread(target=kill, daemon=True).start()
began = time.perf_counter()
try:
    forever(a, out, 0)
except KeyboardInterrupt:
    took = time.perf_counter() - began
    assert took < 10, took
    assert out[0] == out[1], out
    print("interrupted", np.debug.counters()["loop_blocks"] > 0)
"""


@pytest.mark.parametrize(
    "body",
    [
        "out[0] += 1.0; out[1] += 1.0",
        "out[0] += 1.0\n        while a[0] > 0: k = k ^ 1\n        out[1] += 1.0",
    ],
    ids=["between blocks", "within an iteration"],
)
def test_ctrl_c_finds_the_state_between_two_iterations(body: str, tmp_path: Any) -> None:
    file = tmp_path / "forever.py"
    file.write_text(INTERRUPTED.format(body=body))
    env = {**os.environ, "LAZYARR_JIT": "always"}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60, env=env)
    if "while" in body and "interrupted False" in done.stdout:
        pytest.fail("the loop was Python's")
    assert done.stdout.startswith("interrupted True"), done.stdout + done.stderr


def test_a_handler_that_returns_goes_on() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        text = "for i in range(60000000):\n    out[i % 7] = a[i % 5] + i\nreturn i"
        f = np.compile(function(text, "a, out"))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with np.options(jit="always"):
            assert f(numpy.ones(9), numpy.zeros(9)) == 59999999
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen


def test_what_is_not_worth_it_is_pythons() -> None:
    f = np.compile(function(SMOOTH))
    before = counters()["loop_blocks"]
    for _ in range(5):
        f(*made("vvv")())
    assert counters()["loop_blocks"] == before
    assert "little time" in f.explain()
    began = time.perf_counter()
    for _ in range(20):
        f(floats(30000), 0, floats(30000))
        if counters()["loop_blocks"] > before:
            break
    assert counters()["loop_blocks"] > before and time.perf_counter() - began < 30
    assert loops.FEW < 100


def test_a_function_that_sees_its_variables_is_left_alone() -> None:
    f = function("for i in range(len(a)):\n    a[i] += 1\nreturn sorted(locals())", "a")
    assert not both(f, lambda: (floats(),))["loop_blocks"]


def test_bodies_are_verified() -> None:
    for name in ("smooth", "matmul", "whiles"):
        text, kinds, _ = ALL_OF_THEM[name]
        both(function(text), made(kinds), verify=True)
