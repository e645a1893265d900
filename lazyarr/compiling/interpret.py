"""Interpret: the bytecode of a function, run once on arrays without memory.

In:  a function and values for its parameters.   Out: what it returns, and with it the DAG.
Python objects that cannot differ at the next call are computed with at once, so the one path that is
taken is the trace.  Whatever might have an effect, or depend on what is not known, is refused: what is run
here is listed in `instructions`, `calls` and `attributes`, and nothing else is.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.extents import Asked, has_length
from lazyarr.compiling.values import Method, Number, Pinned, Refused, Traced
from lazyarr.dtypes import PLAIN, char_of
from lazyarr.expr import Expr
from lazyarr.namespace import Function
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.scalar.bytecode import Code, decoded
from lazyarr.scalar.bytecode import Refused as NotPlain
from lazyarr.scalar.ir import Place

MOST_INSTRUCTIONS = 200_000
"""Loops are unrolled: what takes more is a loop that has to stay one."""
CALLS = 20
"""Functions within each other's calls."""
ABSENT: Any = object()
"""What is found where there is nothing."""

NUMBERS = frozenset((bool, int, float, complex, *(numpy.dtype(c).type for c in PLAIN)))
"""Types of numbers that may be arguments, exactly."""
PYTHON = frozenset((bool, int, float, complex))
"""Numbers whose arithmetic never warns."""
STATIC = NUMBERS | {type(None), str, bytes, type(Ellipsis), slice, range}
"""Types of immutable objects that tell all about themselves."""


def is_plain(x: Any) -> bool:
    """Is it such an object?"""
    return type(x) in STATIC or (type(x) is type and x in NUMBERS) or (
        isinstance(x, numpy.dtype) and char_of(x) is not None
    )


def known_within(x: Any) -> bool:
    """Is it one, or a tuple or list of such?"""
    return all(map(known_within, x)) if type(x) in (tuple, list) else is_plain(x)


TRUE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, Function)
"""Objects that are true."""


def _warns(fn: Callable[..., Any], types_: tuple[type, ...]) -> bool:
    """May a function of numbers of these types warn, where no error state has a say?"""
    if fn is operator.invert:
        return bool in types_
    return fn not in OPERATORS and any(issubclass(t, numpy.complexfloating) for t in types_)


OPERATORS = frozenset(f for f in vars(operator).values() if callable(f)) | {pow, divmod}


class Derived(NamedTuple):
    """A number that the function computes of others, again at each call."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    """Numbers by `Ref`, or constants."""
    type: type
    pure: bool
    """Are the arguments Python's own numbers?"""


class Ref(NamedTuple):
    """A number of the trace: an argument (`input`) or a derived one."""

    place: int


class Link(NamedTuple):
    """An operand of a node that is a number of the trace."""

    node: Expr | None
    """None where only the number counts: a replay holds no node."""
    place: int
    ref: int
    type: type
    """What the number becomes on the way."""


class Guard(NamedTuple):
    """A name that must mean the same object at each call."""

    names: dict[str, Any]
    name: str
    found: Any


class Cell(dict[str, Any]):
    """What a closure holds, to be looked up like a namespace."""

    def __init__(self, cell: types.CellType) -> None:
        super().__init__()
        self.cell = cell

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return default


@dataclass(slots=True)
class Outside:
    """What a function finds by name, and so depends on, besides its arguments."""

    guards: list[Guard] = field(default_factory=list)
    codes: list[tuple[types.FunctionType, types.CodeType, Any, Any]] = field(default_factory=list)
    """Functions that are called: their code and defaults."""
    inputs: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)
    """Arrays and numbers outside: how to get the one of now, and what it is known by."""
    cells: dict[int, Cell] = field(default_factory=dict)
    """Of closures, by identity."""


class Discovered(Exception):
    """Another input was found outside: the arguments' kinds have one entry more."""


@dataclass(slots=True)
class Frame:
    fn: types.FunctionType
    code: Code
    locals: dict[str, Any]
    stack: list[Any] = field(default_factory=list)
    next: int = 0
    names: tuple[str, ...] = ()
    """Of the keyword arguments of the call that comes next."""
    result: Any = ABSENT


class Tracer:
    """One trace as it grows."""

    def __init__(self, outside: Outside, found: dict[Any, Any]) -> None:
        self.outside = outside
        self.found = found
        """Inputs from outside by what they are known by."""
        self.numbers: list[int | Derived] = []
        """Where each number comes from: the input of that index, or a computation."""
        self.links: list[Link] = []
        self.arrays: WeakValueDictionary[int, Traced] = WeakValueDictionary()
        """By the identity of the face's array.  (What nobody holds any more need not be stored.)"""
        self.frames: list[Frame] = []
        self.left = MOST_INSTRUCTIONS
        self.elements = 0
        """How many single elements were read and written."""
        self.reach: Any = None
        """How far the last stencil looks."""
        self.asked: Asked | None = None
        """Where the lengths of arrays are samples: what is asked of them."""

    def refuse(self, why: str) -> Refused:
        if not self.frames:
            return Refused(why)
        frame = self.frames[-1]
        return Refused(why, Place(frame.fn.__code__.co_filename, frame.code.lines[max(frame.next - 1, 0)]))

    def hold(self, array: ndarray, foreign: bool, lone: bool = False) -> Traced:
        """An array of the face's, as a value."""
        found = self.arrays[id(array)] = Traced(array, foreign, lone)
        return found

    def held(self, array: ndarray) -> Traced | None:
        """The value that an array of the face's is already."""
        found = self.arrays.get(id(array))
        return found if found is not None and found.array is array else None

    # Numbers

    def input(self, value: Any, index: int) -> Number:
        """An argument that is a number."""
        self.numbers.append(index)
        return Number(value, len(self.numbers) - 1)

    def derive(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn(*args) for numbers, constants among them."""
        if self.asked is not None and has_length(args):
            return self.asked.computed(self, fn, args)
        values = [a.value if isinstance(a, Number) else a for a in args]
        types_ = tuple(map(type, values))
        if not all(map(known_within, values)) or _warns(fn, types_):
            raise self.refuse(f"`{getattr(fn, '__name__', fn)}` of such objects")
        try:
            with numpy.errstate(all="raise"):
                value = fn(*values)
        except Exception as error:
            raise self.refuse(f"{type(error).__name__}: {error}") from None
        if not any(isinstance(a, Number) for a in args):
            return value
        if type(value) not in NUMBERS:
            raise self.pin(*args)
        refs = tuple([Ref(a.ref) if isinstance(a, Number) else a for a in args])
        self.numbers.append(Derived(fn, refs, type(value), PYTHON.issuperset(types_)))
        return Number(value, len(self.numbers) - 1)

    def pin(self, *numbers: Any) -> Pinned:
        """What is computed depends on these numbers' values."""
        todo = [x.ref for x in numbers if isinstance(x, Number)]
        inputs = set()
        while todo:
            made = self.numbers[todo.pop()]
            if isinstance(made, Derived):
                todo += [a.place for a in made.args if isinstance(a, Ref)]
            else:
                inputs.add(made)
        return Pinned(frozenset(inputs))

    # What comes from outside

    def outer(self, names: dict[str, Any], name: str) -> Any:
        """The object that a name means outside, guarded."""
        value = names.get(name, ABSENT)
        if value is ABSENT:
            return ABSENT
        kind = self.kind(value)
        if kind == "input":
            return self.outer_input(lambda: names.get(name, ABSENT), (id(names), name))
        if kind != "static":
            raise self.refuse(f"`{name}` is of type {type(value).__name__}")
        self.guard(names, name, value)
        return value

    def guard(self, names: dict[str, Any], name: str, value: Any) -> None:
        guard = Guard(names, name, value)
        if not any(g.names is names and g.name == name for g in self.outside.guards):
            self.outside.guards.append(guard)

    def outer_input(self, get: Callable[[], Any], known: Any) -> Any:
        if known not in self.found:
            self.outside.inputs.append((get, known))
            raise Discovered
        return self.found[known]

    def kind(self, x: Any) -> str:
        """How an object from outside takes part: "input", "static", or not at all."""
        c = x.__class__
        if c is ndarray or c is numpy.ndarray or (c in NUMBERS and c is not bool):
            return "input"
        if is_plain(x) or type(x) is types.ModuleType or callable(x):
            return "static"
        if type(x) is tuple:
            return "static" if all(is_plain(i) or self.kind(i) == "static" for i in x) else ""
        return ""

    # Running

    def enter(self, fn: types.FunctionType, held: dict[str, Any]) -> Frame:
        if len(self.frames) >= CALLS:
            raise self.refuse(f"`{fn.__name__}` calls itself, or calls are nested too deep")
        try:
            code = decoded(fn.__code__)
        except NotPlain as refusal:
            raise Refused(refusal.why, refusal.place) from None
        frame = Frame(fn, code, held)
        self.frames.append(frame)
        return frame

    def follow(self, fn: types.FunctionType, held: dict[str, Any]) -> Any:
        """What a function gives whose code counts, as it is called from here."""
        if not any(each[0] is fn for each in self.outside.codes):
            self.outside.codes.append((fn, fn.__code__, fn.__defaults__, fn.__kwdefaults__))
        return self.run(fn, held)

    def run(self, fn: types.FunctionType, held: dict[str, Any]) -> Any:
        """What the function returns."""
        from lazyarr.compiling.instructions import perform

        frame = self.enter(fn, held)
        while frame.result is ABSENT:
            self.left -= 1
            if self.left < 0:
                raise self.refuse("its loops go round too often to be unrolled")
            i = frame.code.instructions[frame.next]
            frame.next += 1
            perform(self, frame, i)
        self.frames.pop()
        return frame.result

    def truth(self, x: Any) -> bool:
        """bool(x), where that is known."""
        if isinstance(x, Number):
            raise self.pin(x)
        if isinstance(x, Traced):
            raise self.refuse("it goes on by the value of an array")
        if isinstance(x, Method):
            return True
        if isinstance(x, TRUE) or known_within(x):
            return bool(x)
        raise self.refuse(f"the truth of an object of type {type(x).__name__}")
