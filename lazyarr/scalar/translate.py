"""Translate: a Python function and the types of its arguments -> scalar IR.

In:  a function, the types of its arguments.   Out: `Translation`; `Refused` says why there is none.
The bytecode is run on types.  A piece of code that is reached with other types of stack and locals is
translated again for them (lazy basic block versioning, Chevalier-Boisvert & Feeley 2015), so ``s = 0``
before ``s += 0.5`` needs no common type of int and float, and each path computes what Python does.
Calls of Python functions are followed into their code.  `instructions` has the rule of each instruction.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.scalar.bytecode import Code, Refused, decoded
from lazyarr.scalar.capture import ABSENT, Captured, OfType, Path, found, is_own, known_as, number_type
from lazyarr.scalar.ir import Block, Branch, Edge, End, Function, Inst, Jump, Place, Return, Stop
from lazyarr.scalar.ops import HIGH, LOW, OPS
from lazyarr.scalar.simplify import simplified
from lazyarr.scalar.values import TYPES, Const, Pack, Static, Val, Value, kind, leaves, rebuilt

BLOCKS = 400
"""Of one function: a larger one is refused."""
VERSIONS = 16
"""Translations of one piece of code."""
CALLS = 12
"""Functions within each other's calls."""


class Translation(NamedTuple):
    function: Function
    captured: Captured


@dataclass(slots=True)
class Frame:
    """A function that runs."""

    fn: types.FunctionType
    path: Path | None
    """Where the function was found; None for the one that is translated."""
    code: Code
    locals: dict[str, Value]
    stack: list[Value] = field(default_factory=list)
    next: int = 0
    names: tuple[str, ...] = ()
    """Of the keyword arguments of the call that comes next."""

    def live(self) -> list[str]:
        return sorted(self.code.live[self.next] & self.locals.keys())

    def key(self) -> Any:
        return (
            self.path, self.next, tuple((name, kind(self.locals[name])) for name in self.live()),
            tuple(map(kind, self.stack)),
        )  # fmt: skip


@dataclass(slots=True)
class Draft:
    """A block that is being written."""

    params: tuple[int, ...]
    body: list[Inst] = field(default_factory=list)
    end: End | None = None


class Tracer:
    """One translation as it grows."""

    scalars = False
    """Are there NumPy scalars?  (`vectorize` has none: it calls functions on Python's own numbers.)"""

    def __init__(self, fn: types.FunctionType, given: Mapping[str, str]) -> None:
        self.fn = fn
        self.types: list[str] = []
        self.drafts: list[Draft] = []
        self.known: dict[Any, int] = {}
        self.versions: dict[Any, int] = {}
        self.todo: list[tuple[int, Val, list[Frame]]] = []
        self.numbers: dict[Path, Val] = {}
        self.objects: dict[Path, Any] = {}
        self.frames: list[Frame] = []
        self.fuel = self.fresh("n")
        self.draft = Draft(())
        self.given: dict[str, Value] = {name: self.fresh(t) for name, t in given.items()}

    # Values and instructions

    def fresh(self, t: str) -> Val:
        self.types.append(t)
        return Val(t, len(self.types) - 1)

    @property
    def place(self) -> Place:
        frame = next(frame for frame in reversed(self.frames) if not is_own(frame.path))
        return Place(frame.fn.__code__.co_filename, frame.code.lines[max(frame.next - 1, 0)])

    def emit(self, op: str, *args: Any) -> Val:
        """The result of an op on numbers of the types that it takes."""
        row = OPS[op]
        result = self.fresh(row.result)
        numbers = tuple([self.number(a) for a in args])
        self.draft.body.append(Inst(result.number, op, numbers, None, self.place))
        return result

    def number(self, x: Any) -> int:
        if isinstance(x, Const):
            made = self.fresh(x.type)
            self.draft.body.append(Inst(made.number, "const", (), x.value, self.place))
            return made.number
        assert isinstance(x, Val), x
        return x.number

    def refuse(self, why: str) -> Refused:
        return Refused(why, self.place)

    # What comes from outside

    def object(self, path: Path) -> Value:
        """What is found by name: a number that the function takes, or an object."""
        if path in self.numbers:
            return self.numbers[path]
        x = found(path, self.fn)
        if is_own(path):
            return self.constant(x) if number_type(x) else Static(x, path)
        t = number_type(x)
        if t is not None:
            value = self.numbers[path] = self.fresh(t)
            return value
        remembered = self.objects[path] = known_as(x)
        if x is ABSENT:
            raise self.refuse(f"`{path}` is not defined")
        if isinstance(remembered, OfType):
            raise self.refuse(f"`{path}` is of type {type(x).__name__}")
        return Static(x, path)

    def constant(self, x: Any) -> Value:
        """What stands in the code."""
        t = TYPES.get(type(x))
        if t == "i" and not LOW <= x <= HIGH:
            raise self.refuse("an int beyond 64 bits")
        if t is not None:
            return Const(t, x)
        if isinstance(x, tuple):
            return Pack(tuple([self.constant(item) for item in x]))
        return Static(x)

    # Control flow

    def end(self, end: End) -> None:
        self.draft.end = end

    def stop(self, why: str) -> None:
        """Give up if this is reached."""
        self.end(Stop(why, self.place))

    def edge(self, next: int | None = None, *push: Value) -> Edge:
        """Go on at an instruction of the running function, with more on the stack."""
        frame = self.frames[-1]
        before = frame.next, frame.stack
        frame.next = before[0] if next is None else next
        frame.stack = [*frame.stack, *push]
        try:
            return self._edge()
        finally:
            frame.next, frame.stack = before

    def _edge(self) -> Edge:
        key = tuple(frame.key() for frame in self.frames)
        args = [self.fuel]
        for frame in self.frames:
            for x in (*[frame.locals[name] for name in frame.live()], *frame.stack):
                args += leaves(x)
        numbers = tuple([self.number(a) for a in args])
        block = self.known.get(key)
        if block is None:
            block = self.known[key] = self._new_block(tuple((f.path, f.next) for f in self.frames))
        return Edge(block, numbers)

    def _new_block(self, place: Any) -> int:
        self.versions[place] = self.versions.get(place, 0) + 1
        if self.versions[place] > VERSIONS:
            raise self.refuse("variables have too many combinations of types here")
        if len(self.drafts) >= BLOCKS:
            raise self.refuse("it is too long")
        params: list[int] = []

        def param(x: Any) -> Val:
            made = self.fresh(x.type)
            params.append(made.number)
            return made

        fuel = param(self.fuel)
        frames = []
        for frame in self.frames:
            held = {name: rebuilt(frame.locals[name], param) for name in frame.live()}
            stack = [rebuilt(x, param) for x in frame.stack]
            frames.append(Frame(frame.fn, frame.path, frame.code, held, stack, frame.next, frame.names))
        self.drafts.append(Draft(tuple(params)))
        self.todo.append((len(self.drafts) - 1, fuel, frames))
        return len(self.drafts) - 1

    def jump(self, next: int) -> None:
        """Go on at an instruction; round a loop, for some of the fuel."""
        if next < self.frames[-1].next:
            self.fuel = self.emit("tick", self.fuel)
        self.end(Jump(self.edge(next)))

    def branch(self, cond: Val, true: int, false: int) -> None:
        if min(true, false) < self.frames[-1].next - 1:
            self.fuel = self.emit("tick", self.fuel)
        self.end(Branch(cond.number, self.edge(true), self.edge(false)))

    def enter(self, fn: types.FunctionType, path: Path | None, held: dict[str, Value]) -> None:
        """A call of a Python function, which was found there."""
        if len(self.frames) >= CALLS:
            raise self.refuse(f"`{fn.__name__}` calls itself, or calls are nested too deep")
        self.frames.append(Frame(fn, path, decoded(fn.__code__), held))

    def leave(self, value: Value) -> None:
        """The running function returns."""
        if len(self.frames) > 1:
            self.frames.pop()
            self.end(Jump(self.edge(None, value)))
            return
        values = value.items if isinstance(value, Pack) else (value,)
        several = len(values) > 1 or not isinstance(value, Pack)
        if not several or not all(isinstance(x, Val | Const) for x in values):
            self.stop("it returns what is no number, nor several")
            return
        self.end(Return(tuple([self.number(x) for x in values]), self.fuel.number))

    # All of it

    def run(self) -> Translation:
        from lazyarr.scalar.instructions import perform

        self.drafts.append(self.draft)
        held: dict[str, Value] = dict(self.given)
        self.enter(self.fn, None, held)
        code = self.fn.__code__
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if name not in held:
                held[name] = self.object(Path("default", None, name))
        self.todo.append((0, self.fuel, self.frames))
        while self.todo:
            number, self.fuel, self.frames = self.todo.pop()
            self.draft, begun = self.drafts[number], False
            while self.draft.end is None:
                frame = self.frames[-1]
                if begun and frame.next in frame.code.targets:
                    self.end(Jump(self.edge()))
                    break
                begun = True
                i = frame.code.instructions[frame.next]
                frame.next += 1
                perform(self, i)
        return self._finished()

    def _finished(self) -> Translation:
        params = [v for x in (*self.given.values(), *self.numbers.values()) for v in leaves(x)]
        entry = (0, *[v.number for v in params])
        blocks = []
        for k, draft in enumerate(self.drafts):
            assert draft.end is not None
            blocks.append(Block(draft.params if k else entry, tuple(draft.body), draft.end))
        if not any(isinstance(b.end, Return) for b in blocks):
            stop = next((b.end for b in blocks if isinstance(b.end, Stop)), None)
            raise Refused(stop.why, stop.place) if stop else Refused("it never returns")
        types_ = "".join(v.type for v in params)
        function = simplified(Function(types_, "", tuple(blocks), tuple(self.types)))
        return Translation(function, self.captured())

    def captured(self) -> Captured:
        """What the translation has gone by so far."""
        numbers = tuple((path, v.type) for path, v in self.numbers.items())
        return Captured(numbers, tuple(self.objects.items()))


def translate(fn: types.FunctionType, given: Mapping[str, str]) -> Translation:
    """The IR of a function for arguments of given types, by parameter; defaults are what it captures.

    Raises
    ------
    Refused
        If it does what is not translated.
    """
    tracer = Tracer(fn, given)
    try:
        return tracer.run()
    except Refused as refusal:
        if not refusal.place.line:
            refusal.place = Place(fn.__code__.co_filename, fn.__code__.co_firstlineno)
        refusal.captured = tracer.captured()
        raise
