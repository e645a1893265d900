"""Lengths: what a function asks of the lengths of its arrays, where these are samples.

In:  the interpreter's questions.   Out: answers, which are remembered: for other lengths they are guards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from lazyarr.compiling.values import Refused
from lazyarr.records import NamedTuple

FEW, MANY = (1009, 2503), (101, 211, 431, 877, 1777, 3571)
"""Samples of lengths; those of the second recording are a bit longer, each by another number."""
NEAR = 40
"""How much longer or shorter than a sample a length may be, to count as that one and so many more or less."""

Lengths = Sequence[int]


def samples(count: int) -> tuple[Lengths, Lengths]:
    """Two sets of lengths."""
    some = FEW if count <= len(FEW) else MANY
    if count > len(some):
        raise Refused("arrays of so many lengths")
    return some[:count], [n + NEAR // 2 + k for k, n in enumerate(some[:count])]


class Length(int):
    """A length of an array in a recording.

    It is no plain number, so what the interpreter does not know how to do with it is refused."""


def has_length(x: Any) -> bool:
    """Is a length in it?"""
    if type(x) is slice:
        x = (x.start, x.stop, x.step)
    return type(x) is Length or (type(x) in (tuple, list) and any(map(has_length, x)))


def as_numbers(x: Any) -> Any:
    """The same with plain numbers for lengths."""
    if type(x) is slice:
        return slice(*map(as_numbers, (x.start, x.stop, x.step)))
    return int(x) if type(x) is Length else x


QUESTIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "<=": operator.le, "<": operator.lt,
}  # fmt: skip


class Question(NamedTuple):
    """What was asked of two numbers, and the answer."""

    sign: str
    left: Any
    right: Any
    answer: bool


class Asked:
    """What a recording depends on besides its kind."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def ask(self, sign: str, left: int, right: int) -> bool:
        answer = QUESTIONS[sign](left, right)
        self.questions.append(Question(sign, int(left), int(right), answer))
        return answer

    def told(self, x: Any) -> Any:
        """What an array says of itself: lengths, where they are."""
        if type(x) is tuple:
            return tuple(map(self.told, x))
        return Length(x) if type(x) is int else x

    def compared(self, fn: Callable[..., Any], left: Any, right: Any) -> bool | None:
        """A comparison with lengths in it; None where it is no comparison that is known."""
        if type(left) is tuple and type(right) is tuple and fn in (operator.eq, operator.ne):
            if len(left) != len(right):
                return fn is operator.ne
            alike = True
            for pair in zip(left, right, strict=True):
                same = self.compared(operator.eq, *pair)
                if same is None:
                    return None
                alike = alike and same
                if not alike:
                    break
            return alike is (fn is operator.eq)
        if not all(type(x) in (int, Length) for x in (left, right)) or fn not in _SIGNS:
            return None
        sign, swap, negate = _SIGNS[fn]
        return self.ask(sign, *((right, left) if swap else (left, right))) is not negate

    def computed(self, t: Any, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """fn(*args), with lengths among the arguments."""
        found = self.compared(fn, *args) if len(args) == 2 else None
        if found is not None:
            return found
        if fn in (operator.add, operator.sub, operator.mul) and all(type(x) in (int, Length) for x in args):
            return Length(fn(*args))
        raise t.refuse("it computes with lengths")

    def part(self, key: Any, shape: Sequence[int]) -> bool:
        """Note where the parts that a key shows begin and end; False for a key that is not known."""
        keys = list(key) if type(key) is tuple else [key]
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            at = next(d for d, k in enumerate(keys) if k is Ellipsis)
            rest = sum(k is not None for k in keys) - 1
            keys[at : at + 1] = [slice(None)] * (len(shape) - rest)
        axes = iter(shape)
        for k in keys:
            if k is None:
                continue
            n = next(axes, None)
            if n is None:
                return False
            if type(k) in (int, Length):
                if not self.ask("<=", -k if self.ask("<", k, 0) else k + 1, n):
                    return False
                continue
            if type(k) is not slice or k.step not in (None, 1, -1):
                return False
            for bound in (k.start, k.stop):
                if type(bound) not in (int, Length, type(None)):
                    return False
                if bound is not None:
                    self.ask("<=", -bound if self.ask("<", bound, 0) else bound, n)
        return True


_SIGNS: dict[Any, tuple[str, bool, bool]] = {
    operator.eq: ("==", False, False), operator.ne: ("==", False, True), operator.le: ("<=", False, False),
    operator.ge: ("<=", True, False), operator.lt: ("<", False, False), operator.gt: ("<", True, False),
}  # fmt: skip
"""For each comparison: the question, whether its sides are swapped, whether its answer is negated."""
