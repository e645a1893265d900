"""Functions of float64 that are written for whole registers, of as many lanes as a target's have.

In:  a Builder, the name of numbers in its lanes, of any width.   Out: the name of the results.
Lanes that do not fill a register are filled up with a number that is harmless.  Hot code has the functions
written out, of registers side by side; other code calls them, and so do lone numbers.  What a function leaves
over is in a branch that is seldom taken; some of that is NumPy's loop's, a register at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, reduce

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_anatomy import joined
from lazyarr.codegen.emitters_types import any_, literal, or_
from lazyarr.numpy_loops import symbol_of_loop
from lazyarr.records import dataclass
from lazyarr.target import Target

Found = tuple[str, str]
"""Results, and where they do not hold."""


@dataclass(frozen=True, slots=True)
class Function:
    """One of them, on registers."""

    name: str
    make: Callable[[Builder, Sequence[str]], list[Found]]
    """Of registers side by side; the Builder has the width of one."""
    rest: Callable[[Builder, Sequence[str], Sequence[Found]], list[str]]
    """Of registers, and what `make` found, where there is more to do: the results."""
    harmless: float
    """A number of which all is usual."""

    def __call__(self, b: Builder, t: str, x: str) -> str:
        """Of all lanes; what does not fill a register is filled up."""
        n, width, each = lanes(b.target), b.width, b.ty("double")
        filled = f"<{n} x double>"
        if not width:
            harmless = f"splat (double {literal(self.harmless)})"
            one = b.op(f"insertelement {filled} {harmless}, double {x}, i64 0")
            return b.op(f"extractelement {filled} {self.called(b, one)}, i64 0")
        if width < n:
            rest = b.splat("double", literal(self.harmless))
            full = shuffled(b, each, x, rest, [min(k, width) for k in range(n)])
            return shuffled(b, filled, self.called(b, full), "poison", range(width))
        parts = registers(b, each, x, n)
        return joined(b, "double", self.written(b, parts) if b.hot else [self.called(b, x) for x in parts])

    def written(self, b: Builder, xs: Sequence[str]) -> list[str]:
        """Of registers side by side."""
        with as_wide(b, lanes(b.target)):
            made = self.make(b, xs)
            some = any_of(b, [where for _, where in made])
            return b.rarely(some, b.ty("double"), [y for y, _ in made], lambda: self.rest(b, xs, made))

    def called(self, b: Builder, x: str) -> str:
        """By a function of the module's: less code, where there is no time for more."""
        for each in _apart(self, b.target):
            b.declare(each)
        t = f"<{lanes(b.target)} x double>"
        return b.op(f"call {t} @{self.name}_of({t} {x})")


def lanes(target: Target) -> int:
    """Numbers of a register."""
    return target.vector_bytes // 8


@contextmanager
def as_wide(b: Builder, n: int) -> Iterator[None]:
    """In this block values have so many lanes."""
    before, b.width = b.width, n
    try:
        yield
    finally:
        b.width = before


@cache
def _apart(function: Function, target: Target) -> tuple[str, ...]:
    """The text of the function, and of what it needs."""
    b = Builder(target, lanes(target))
    b.label("entry")
    (found,) = function.written(b, ["%x"])
    t = b.ty("double")
    b.do(f"ret {t} {found}")
    head = f"define internal {t} @{function.name}_of({t} %x) nounwind {{"
    return *b.declarations, "\n".join([head, *b.lines, "}"])


def registers(b: Builder, t: str, x: str, n: int) -> list[str]:
    """Values of so many lanes out of one of type `t`, if that has more."""
    if b.width <= n:
        return [x]
    return [shuffled(b, t, x, "poison", range(k, k + n)) for k in range(0, b.width, n)]


def any_of(b: Builder, masks: Sequence[str]) -> str:
    """Is some lane of some register True (i1)?"""
    return any_(b, reduce(lambda x, y: or_(b, x, y), masks))


def shuffled(b: Builder, t: str, x: str, y: str, order: Sequence[int]) -> str:
    numbers = f"<{', '.join(f'i32 {k}' for k in order)}>"
    return b.op(f"shufflevector {t} {x}, {t} {y}, <{len(order)} x i32> {numbers}")


def by_numpy(b: Builder, name: str, xs: Sequence[str]) -> list[str]:
    """Results of NumPy's loop, a register at a time, each with the bits that it has alone."""
    b.declare(_numpys_loop(name, b.width))
    t = b.ty("double")
    return [b.op(f"call {t} @{name}_by_numpy({t} {x}) cold") for x in xs]


@cache
def _numpys_loop(name: str, n: int) -> str:
    """The text of a function that calls NumPy's loop on a register."""
    loop, t = symbol_of_loop(name, "d->d"), f"<{n} x double>"
    return f"""declare void @{loop}(ptr, ptr, ptr, ptr)
define internal {t} @{name}_by_numpy({t} %x) noinline cold nounwind {{
  %from = alloca {t}, align 64
  %to = alloca {t}, align 64
  %args = alloca [2 x ptr], align 16
  %steps = alloca [2 x i64], align 16
  %count = alloca i64, align 8
  store {t} %x, ptr %from, align 64
  store ptr %from, ptr %args, align 8
  %second = getelementptr ptr, ptr %args, i64 1
  store ptr %to, ptr %second, align 8
  store <2 x i64> <i64 8, i64 8>, ptr %steps, align 16
  store i64 {n}, ptr %count, align 8
  call void @{loop}(ptr %args, ptr %count, ptr %steps, ptr null)
  %y = load {t}, ptr %to, align 64
  ret {t} %y
}}"""
