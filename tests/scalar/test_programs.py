"""Random functions of numbers, as `def` and as `lambda`, against NumPy; and the IR's interpreter."""

from __future__ import annotations

import random

import numpy
import pytest
from scalar.conftest import check

from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.interpret import interpret
from lazyarr.scalar.ops import Stopped
from lazyarr.scalar.translate import translate
from lazyarr.scalar.verify import verify

BINARY = ["+", "-", "*", "/", "//", "%", "+", "-", "*"]
COMPARISONS = ["<", "<=", "==", "!=", ">", ">="]
CALLS = [
    "abs({})", "max({}, {})", "min({}, {})", "float({})", "math.sin({})", "math.sqrt(abs({}))", "bool({})",
    "math.atan({})", "helper({}, {})", "int(math.tanh({}) * 9)", "(-({}))", "round(math.erf({}) * 5)",
]  # fmt: skip


class Program:
    """One random function."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["x", "y"]

    def expression(self, depth: int) -> str:
        r = self.r
        kind = r.random()
        if depth <= 0 or kind < 0.15:
            numbers = str(r.randint(-4, 9)), str(r.choice([0.5, -1.25, 2.0, 1e3]))
            return r.choice([*self.names, *self.names, "K", *numbers])
        if kind < 0.6:
            return f"({self.expression(depth - 1)} {r.choice(BINARY)} {self.expression(depth - 1)})"
        if kind < 0.75:
            form = r.choice(CALLS)
            return form.format(*[self.expression(depth - 1) for _ in range(form.count("{}"))])
        if kind < 0.9:
            yes, no = self.expression(depth - 1), self.expression(depth - 1)
            return f"({yes} if {self.condition(depth - 1)} else {no})"
        return f"({self.condition(depth - 1)} {r.choice(['and', 'or'])} {self.expression(depth - 1)})"

    def condition(self, depth: int) -> str:
        r = self.r
        kind = r.random()
        one = f"{self.expression(depth)} {r.choice(COMPARISONS)} {self.expression(depth)}"
        if kind < 0.5:
            return one
        if kind < 0.7:
            return f"{one} {r.choice(COMPARISONS)} {self.expression(depth)}"
        return f"not ({one})" if kind < 0.8 else f"({one} {r.choice(['and', 'or'])} {self.expression(depth)})"

    def block(self, indent: str, depth: int, inside: bool = False) -> None:
        for _ in range(self.r.randint(1, 3)):
            self.statement(indent, depth, inside)

    def statement(self, indent: str, depth: int, inside: bool) -> None:
        r = self.r
        kind = r.random() if depth else r.random() * 0.4
        if kind < 0.4:
            name = r.choice(["a", "b", "c", "x"])
            sign = r.choice(["=", "=", "+=", "-=", "*="]) if name in self.names else "="
            self.lines.append(f"{indent}{name} {sign} {self.expression(2)}")
            if not indent[4:] and name not in self.names:
                self.names.append(name)
        elif kind < 0.6:
            self.lines.append(f"{indent}if {self.condition(2)}:")
            self.block(indent + "    ", depth - 1, inside)
            if r.random() < 0.6:
                self.lines.append(f"{indent}else:")
                self.block(indent + "    ", depth - 1, inside)
        elif kind < 0.75:
            bounds = r.choice(["4", "1, 6, 2", "int(abs(y)) % 7", "5, 0, -1"])
            self.lines.append(f"{indent}for k in range({bounds}):")
            self.lines.append(f"{indent}    x = x + k * {self.expression(1)}")
            self.block(indent + "    ", depth - 1, True)
        elif kind < 0.85:
            name = f"n{len(self.lines)}"
            self.lines.append(f"{indent}{name} = {r.randint(1, 5)}")
            self.lines.append(f"{indent}while {name} > 0 and {self.condition(1)}:")
            self.lines.append(f"{indent}    {name} -= 1")
            self.block(indent + "    ", depth - 1, True)
        elif inside and kind < 0.92:
            self.lines.append(f"{indent}if {self.condition(1)}:")
            self.lines.append(f"{indent}    {r.choice(['break', 'continue'])}")
        else:
            self.lines.append(f"{indent}if {self.condition(1)}:")
            self.lines.append(f"{indent}    return {self.expression(2)}")

    def source(self) -> str:
        self.block("    ", 2)
        self.block("    ", 2)
        return "\n".join(["def f(x, y):", *self.lines, f"    return {self.expression(2)}"])


def made(source: str):
    names: dict = {}
    exec("import math\nK = 3\ndef helper(a, b=2):\n    return a if a > b else b - 1\n" + source, names)
    return names["f"]


DATA = [
    numpy.linspace(-3, 3, 9), numpy.array([0.0, -0.0, 1.5, -2.5, 7, 1e300, 2, 3, -1]), numpy.arange(-4, 5),
    numpy.arange(9) % 2 == 0, numpy.arange(9, dtype="b"),
]  # fmt: skip


def compare(source: str, seed: int) -> bool:
    """Does the function give what it gives through NumPy, and is it translated?"""
    f = made(source)
    r = random.Random(seed)
    columns = [r.choice(DATA), r.choice(DATA)]
    try:
        t = translate(f, {"x": kind(columns[0]), "y": kind(columns[1])})
    except Refused:
        t = None
    check(f, *columns)
    check(f, columns[0][3:4], columns[1][3:4], options={"otypes": "d"})
    if t is not None:
        verify(t.function)
        captured = [{"K": 3}.get(str(path), 2) for path, _ in t.captured.numbers]
        for args in zip(*[x.tolist() for x in columns], strict=True):
            agree(f, t.function, args, captured)
    return t is not None


def agree(f, function, args, captured):
    """What the interpreter gives is what Python gives."""
    try:
        (found,) = interpret(function, (*args, *captured))
    except Stopped:
        return
    wanted = f(*args)
    assert repr(found) == repr(wanted), args


def kind(x: numpy.ndarray) -> str:
    return {"f": "f", "i": "i", "b": "b"}[x.dtype.kind]


@pytest.mark.parametrize("chunk", range(8))
def test_random_functions(chunk):
    translated = [compare(Program(seed).source(), seed) for seed in range(10 * chunk, 10 * chunk + 10)]
    assert sum(translated) >= 7


@pytest.mark.parametrize("chunk", range(4))
def test_random_lambdas(chunk):
    for seed in range(10 * chunk, 10 * chunk + 10):
        assert compare(f"f = lambda x, y: {Program(seed).expression(4)}", seed) or seed
