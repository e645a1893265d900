"""What tests of loops share: functions from text, calls as Python and as machine code, random loops."""

from __future__ import annotations

import linecache
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy

import lazyarr as np
from lazyarr.debug import counters
from lazyarr.geometry import address


def defined(text: str, name: str = "f", **names: Any) -> Callable[..., Any]:
    """A function from its text, which tracebacks and `inspect` find as they find a file's."""
    file = f"<loops {hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space: dict[str, Any] = {
        "np": np, "numpy": numpy, "math": math, "prange": np.prange, "helper": helper, **names,
    }  # fmt: skip
    exec(compile(text, file, "exec"), space)
    return space[name]      # type: ignore[no-any-return]


def helper(x: Any, y: Any = 2) -> Any:
    """What loops call."""
    return x - y if x > y else x * 2


def shown(x: Any) -> Any:
    """A value with all that counts: its type, and its bits (NaNs have none that count)."""
    if isinstance(x, numpy.ndarray | np.ndarray):
        x = numpy.asarray(x)
        if x.dtype.kind == "f":
            x = numpy.where(numpy.isnan(x), x.dtype.type(numpy.nan), x)
        return str(x.dtype), x.shape, x.tobytes()
    if isinstance(x, tuple | list):
        return [shown(item) for item in x]
    if isinstance(x, float | numpy.floating):
        return type(x), "nan" if x != x else float(x).hex()
    return type(x), repr(x)


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives or raises, what it leaves in its arguments, and what it warns of, in order."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = shown(fn(*args))
        except Exception as error:
            lines = []
            at = error.__traceback__
            while at is not None:
                if at.tb_frame.f_code.co_name == fn.__name__:
                    lines.append(at.tb_lineno)
                at = at.tb_next
            result = (type(error), str(error), lines)
    told = [(w.category, str(w.message), w.lineno) for w in seen]
    return result, [shown(x) for x in args], told


def both(
    fn: Callable[..., Any], make: Callable[[], tuple[Any, ...]], calls: int = 2, **options: Any
) -> dict[str, int]:
    """Compare calls of a function with calls of the compiled one; what was counted of these."""
    want = outcome(fn, make())
    f = np.compile(fn)
    before = counters()
    with np.options(jit="always", **options):
        for _ in range(calls):
            got = outcome(f, make())
            assert got == want, (f.explain(), got, want)
    after = counters()
    return {name: after[name] - before[name] for name in ("loop_blocks", "parallel_blocks")}


DTYPES = ("f8", "f8", "f8", "f4", "i8", "i8", "i4", "i1", "u1", "u8", "?")


class Writer:
    """A random function with loops."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.temporaries: list[str] = []
        self.depth = 0
        self.indices: list[str] = []

    def pick(self, *some: Any) -> Any:
        return self.r.choice(some)

    def index(self) -> str:
        r, i = self.r, self.pick(*self.indices)
        return self.pick(
            i, i, i, i, f"{i} + 1", f"{i} - 1", f"{i} - 3", f"2 * {i}", f"n - 1 - {i}", f"-1 - {i}",
            f"{i} % 5", f"{i} // 2", str(r.randrange(-3, 4)),
        )  # fmt: skip

    def element(self) -> str:
        if self.r.random() < 0.25:
            return f"{self.pick('p', 'q')}[{self.index()}, {self.index()}]"
        return f"{self.pick('a', 'b', 'c')}[{self.index()}]"

    def number(self, deep: int = 0) -> str:
        r = self.r.random()
        if deep > 2 or r < 0.3:
            return self.element()
        if r < 0.4:
            return self.pick(*self.indices, "n", *self.temporaries, "s", "x")
        if r < 0.5:
            return self.pick("1", "2", "-3", "0.5", "1.5e3", "100", "True", "0.1")
        if r < 0.8:
            sign = self.pick(*"+-*" * 6, *"/%/", "//", "**", self.pick("&", "|", "<<", ">>"))
            return f"({self.number(deep + 1)} {sign} {self.number(deep + 1)})"
        if r < 0.83:
            return f"(-{self.number(deep + 1)})"
        if r < 0.85:
            return f"({self.number(deep + 1)} if {self.condition()} else {self.number(deep + 1)})"
        name = self.pick("abs", "min", "max", "float", "int", "math.sqrt", "math.sin", "np.sqrt", "bool",
                         "helper")  # fmt: skip
        count = 2 if name in ("min", "max", "helper") else 1
        return f"{name}({', '.join(self.number(deep + 1) for _ in range(count))})"

    def condition(self) -> str:
        sign = self.pick("<", ">", "<=", "==", "!=")
        one = f"{self.number(1)} {sign} {self.number(1)}"
        return self.pick(one, one, f"not {one}", f"{one} and {self.number(2)} > 0", self.number(1))

    def write(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def block(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        r = self.r.random()
        if r < 0.45:
            self.write(f"{self.element()} {self.pick('=', '=', '=', '+=', '*=', '-=')} {self.number()}")
        elif r < 0.55:
            name = self.pick("t", "u")
            self.write(f"{name} = {self.number()}")
            if self.depth <= 1 + len(self.indices) - 1:
                self.temporaries.append(name)
        elif r < 0.68:
            self.write(f"s {self.pick('+=', '+=', '-=', '*=', '=')} {self.number()}")
        elif r < 0.8 and self.depth < 4:
            self.write(f"if {self.condition()}:")
            self.block(self.r.randrange(1, 3))
            if self.r.random() < 0.4:
                self.write("else:")
                self.block(1)
        elif r < 0.9 and len(self.indices) < 2:
            some = "range(3)", "range(n)", "range(1, n - 1)", "range(n - 1, -1, -2)", "prange(4)"
            self.loop(self.pick(*some))
        elif r < 0.93:
            self.leaving("continue")
        elif r < 0.95 and self.depth < 4:
            self.whiles()
        elif r < 0.96:
            one, other = self.element(), self.element()
            self.write(f"{one}, {other} = {other}, {one}")
        elif r < 0.98:
            some = self.pick("a", "b", "c", f"p[{self.index()}]", f"q[{self.index()}]")
            self.write(f"row = {some} if {self.condition()} else {self.pick('a', 'b', f'p[{self.index()}]')}")
            self.write(f"row[{self.index()}] {self.pick('=', '+=')} {self.number()}")
        else:
            self.write(f"{self.element()} = {self.number()}")

    def leaving(self, how: str) -> None:
        self.write(f"if {self.condition()}:")
        self.depth += 1
        self.write(how)
        self.depth -= 1

    def whiles(self) -> None:
        self.write("k = 0")
        self.write(f"while k < {self.pick('3', 'i', 'n')}:")
        self.depth += 1
        self.write("k += 1")
        self.leaving(self.pick("break", "continue"))
        self.depth -= 1
        self.block(1)

    def outer(self, iterated: str) -> None:
        """A loop of the function, within another statement or not."""
        r = self.r.random()
        if r < 0.7:
            self.loop(iterated)
            return
        self.write(self.pick("for t in (1, 2.5):", "try:", "if x:", "while s != s + 1:"))
        kind = self.lines[-1].split()[0]
        self.depth += 1
        self.loop(iterated)
        if kind == "while":
            self.write("break")
        self.depth -= 1
        if kind == "try:":
            self.write("except (IndexError, ZeroDivisionError):")
            self.write("    s = -1")

    def loop(self, iterated: str) -> None:
        name = "ij"[len(self.indices)]
        self.write(f"for {name} in {iterated}:")
        self.indices.append(name)
        held = list(self.temporaries)
        self.block(self.r.randrange(1, 4))
        self.temporaries = held
        self.indices.pop()

    def text(self) -> str:
        self.lines = []
        self.write(f"s = {self.pick('0', '0.0', 'x', 'a[0]')}")
        for _ in range(self.r.randrange(1, 3)):
            self.outer(self.pick(
                "prange(n)", "prange(1, n)", "range(n)", "prange(n - 1, -1, -1)", "range(0, n, 3)",
                "prange(len(a))", "range(2, n - 2)", "range(n, 0, -4)",
            ))  # fmt: skip
        self.write(f"return s, {self.pick('i', 'n', 's * 2')}")
        return "\n".join(["def f(a, b, c, p, q, n, x):", *self.lines, ""])

    def arrays(self) -> Callable[[], tuple[Any, ...]]:
        r = numpy.random.default_rng(self.r.randrange(1 << 30))
        n = self.pick(0, 1, 7, 40, 40, 100)
        made: list[Any] = []
        for shape in ((n + 2,), (n + 2,), (n + 2,), (n + 1, n + 1), (n + 1, n + 1)):
            made.append(self.values(r, shape))
        if self.r.random() < 0.3:
            made[1] = made[0]
        if self.r.random() < 0.2:
            made[2] = made[0][::-1] if self.r.random() < 0.5 else made[0][1:]
        if self.r.random() < 0.2:
            made[3] = made[3].T
        x = self.pick(2, 0.5, -1, numpy.float64(3), numpy.float32(0.1), numpy.int8(5), True)
        lazy = self.r.random() < 0.3

        def make() -> tuple[Any, ...]:
            owners: dict[int, Any] = {}
            fresh: list[Any] = []
            for one in made:                # views stay views of one array
                base = one if one.base is None else one.base
                copy = owners.setdefault(id(base), numpy.array(base))
                if lazy:
                    fresh.append(np.array(one))
                elif one.size:
                    first = address(one) - address(base)
                    fresh.append(numpy.ndarray(one.shape, one.dtype, copy.data, first, one.strides))
                else:
                    fresh.append(numpy.array(one))
            return (*fresh, n, x)

        return make

    def values(self, r: Any, shape: tuple[int, ...]) -> Any:
        dtype = numpy.dtype(self.pick(*DTYPES))
        if dtype.kind == "f":
            x = r.normal(size=shape) * self.pick(1, 1, 10, 1e200 if dtype.itemsize == 8 else 1e30)
            if x.size and self.r.random() < 0.2:
                x.flat[r.integers(x.size)] = self.pick(numpy.nan, numpy.inf, 0.0, -0.0)
            return x.astype(dtype)
        if dtype.kind == "b":
            return r.random(shape) < 0.5
        low, high = (0, 100) if dtype.kind == "u" else (-50, 100)
        if self.r.random() < 0.1:
            low, high = numpy.iinfo(dtype).min // 2, numpy.iinfo(dtype).max // 2
        return r.integers(low, high, shape).astype(dtype)
