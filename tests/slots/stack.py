"""The stack, followed through what an assembler was told, on all paths: what tests of results would not show.

In:  the steps of a `Recorded`, and where code outside enters.   Out: `Followed`: faults, in words.
What always holds: where C functions are called the stack lies at a multiple of 16; who leaves has let go of
what it took, and given back the registers that are its caller's; nothing lies below the stack; and where
paths meet, they have taken as much, or it is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.x86 import R12, R13, R14, R15, RAX, RBP, RBX, RDX, RSP

CALLERS = RBX, RBP, R12, R13, R14, R15
"""Registers that functions give back."""
ENTERED = 8
"""Bytes that the stack lies beyond a multiple of 16 where a function begins that C has called."""
ROOM: Any = "some multiple of 16 bytes"
MORE: Any = "who knows how much"
"""On the stack, in the place of a word."""


class Step(NamedTuple):
    """An instruction, or a label, with the label before it."""

    kind: str
    given: tuple[Any, ...]
    where: str


class Recorded(Assembler):
    """An assembler that remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []


def _recorded(kind: str) -> Callable[..., None]:
    told = getattr(Assembler, kind)

    def tell(self: Recorded, *given: Any, **options: Any) -> None:
        where = given[0] if kind == "label" else self.steps[-1].where if self.steps else ""
        self.steps.append(Step(kind, given, where))
        told(self, *given, **options)

    return tell


for _kind, _told in vars(Assembler).items():
    if callable(_told) and not _kind.startswith("_") and _kind != "finished":
        setattr(Recorded, _kind, _recorded(_kind))


class Fault(Exception):
    """What is wrong, in words."""


class State(NamedTuple):
    """What is known where a step begins; None is any word."""

    stack: tuple[Any, ...]
    """Above the address to which the function returns, the last one on top."""
    registers: tuple[Any, ...]

    def put(self, register: Any, word: Any = None) -> State:
        """With a word in a register."""
        if register == RSP:
            raise Fault("the stack goes somewhere")
        found = [*self.registers]
        found[register] = word
        return self._replace(registers=tuple(found))

    def place(self, at: At) -> int | None:
        """Which word of the stack lies there; None if it is none of it, or nobody knows which."""
        words, rest = divmod(at.offset, 8)
        if at.base == RSP:
            if at.offset < 0:
                raise Fault("below the stack")
            if not _counted(self.stack[max(len(self.stack) - 1 - words, 0) :]):
                return None
            height = len(self.stack)
        else:
            held = self.registers[at.base]
            if held.__class__ is not Height:
                return None
            height = held.words
        found = height - 1 - words
        if found == -1:
            raise Fault("where it returns to")
        return found if 0 <= found < len(self.stack) and not rest else None

    def size(self) -> int:
        """Bytes of the stack, but for multiples of 16."""
        if MORE in self.stack:
            raise Fault("paths have met that have taken more and less")
        return 8 * sum(word is not ROOM for word in self.stack)


class Given(NamedTuple):
    """The word that a register had where the function began."""

    register: int


class Height(NamedTuple):
    """The address of the stack when it had so many words."""

    words: int


class Multiple(NamedTuple):
    """A multiple of a number."""

    of: int


def _counted(stack: tuple[Any, ...]) -> bool:
    """Is it words alone?"""
    return ROOM not in stack and MORE not in stack


def _push(s: State, *registers: int) -> State:
    return s._replace(stack=(*s.stack, *[s.registers[r] for r in registers]))


def _pop(s: State, *registers: int) -> State:
    for r in registers:
        if not s.stack or not _counted(s.stack[-1:]):
            raise Fault("pops what it has not pushed")
        s = s._replace(stack=s.stack[:-1]).put(r, s.stack[-1])
    return s


def _add(s: State, register: int, number: int) -> State:
    if register != RSP:
        return s.put(register)
    words, rest = divmod(number, 8)
    if rest:
        raise Fault("half a word of the stack")
    if words < 0:
        return s._replace(stack=(*s.stack, *[None] * -words))
    if words > len(s.stack) or not _counted(s.stack[len(s.stack) - words :]):
        raise Fault("lets go of what it has not taken")
    return s._replace(stack=s.stack[: len(s.stack) - words])


def _decrease(s: State, register: int, by: int | At) -> State:
    if register != RSP:
        return s.put(register)
    held = None if isinstance(by, At) else s.registers[by]
    if held.__class__ is not Multiple or held.of % 16:
        raise Fault("takes who knows how much")
    return s._replace(stack=(*s.stack, ROOM))


def _copy(s: State, to: int, register: int) -> State:
    if register == RSP:
        return s.put(to, Height(len(s.stack)) if _counted(s.stack) else None)
    return s.put(to, s.registers[register])


def _place(s: State, to: int, at: At) -> State:
    if to != RSP:
        return s.put(to)
    held, words = s.registers[at.base], -at.offset // 8
    if held.__class__ is not Height or not 0 <= held.words + words <= len(s.stack):
        raise Fault("the stack goes somewhere")
    return s._replace(stack=s.stack[: held.words + words])


def _load(s: State, to: int, at: At) -> State:
    found = s.place(at)
    return s.put(to, None if found is None else s.stack[found])


def _store(s: State, at: At, register: int | None = None) -> State:
    found = s.place(at)
    if found is None:
        return s
    word = None if register is None else s.registers[register]
    return s._replace(stack=(*s.stack[:found], word, *s.stack[found + 1 :]))


def _round_down(s: State, register: int, multiple: int) -> State:
    return s.put(register, Multiple(multiple))


def _times_word(s: State, register: int) -> State:
    held = s.registers[register]
    return s.put(register, Multiple(8 * held.of) if held.__class__ is Multiple else None)


def _called(s: State, *_: Any) -> State:
    """A function keeps the registers that are its caller's."""
    return s._replace(registers=tuple([x if r in CALLERS else None for r, x in enumerate(s.registers)]))


def _changed(s: State, register: Any, *_: Any) -> State:
    return s.put(register)


def _to_rax(s: State) -> State:
    return s.put(RAX)


def _divided(s: State, _: int) -> State:
    return s.put(RAX).put(RDX)


def _looked_at(s: State, *_: Any) -> State:
    return s


EFFECTS: dict[str, Callable[..., State]] = {
    "push": _push, "pop": _pop, "add": _add, "decrease": _decrease, "copy": _copy, "place": _place,
    "load": _load, "store": _store, "store_int": _store, "status": _store,
    "store_bytes": lambda s, at, *_: _store(s, at),
    "store_vector": lambda s, at, *_: _store(s, at), "vector": _looked_at, "load_vector": _looked_at,
    "fill_vector": _looked_at, "to_double": _store, "to_single": _store,
    "count": _store, "round_down": _round_down, "times_word": _times_word,
    "call": _called, "call_at": _called, "constant": _changed, "address": _changed, "load_int": _changed,
    "load_signed_int": _changed,
    "zero": _changed, "increase": _changed, "keep": _changed, "whole_words": _changed, "multiply": _changed,
    "count_down": _changed, "x87_status": _to_rax, "to_integer": _to_rax, "divide": _divided,
    "label": _looked_at, "jump_if": _looked_at,
    "compare": _looked_at, "compare_number": _looked_at, "test": _looked_at, "test_int": _looked_at,
    "clear_status": _looked_at,
}  # fmt: skip
"""What steps change, but for those that only go elsewhere."""


class Followed:
    """All paths from some labels on, and from what is called on them."""

    def __init__(self, steps: Sequence[Step], entries: Sequence[str]) -> None:
        self.steps = steps
        self.labels = {step.given[0]: k for k, step in enumerate(steps) if step.kind == "label"}
        self.reached: set[int] = set()
        """Steps that some path comes to."""
        self.faults: dict[tuple[str, str], None] = {}
        """Where, and what."""
        self._todo = [(entry, ENTERED) for entry in entries]
        done = set[tuple[str, int]]()
        while self._todo:
            entry = self._todo.pop()
            if entry not in done:
                done.add(entry)
                self._follow(*entry)

    def _follow(self, entry: str, beyond: int) -> None:
        """All paths of a function that is called where the stack lies so far beyond a multiple of 16."""
        given = tuple([Given(r) if r in CALLERS else None for r in range(16)])
        todo = [(self.labels[entry], State((), given))]
        known: dict[int, State] = {}
        while todo:
            at, state = todo.pop()
            step = self.steps[at]
            try:
                before = known.get(at)
                if before is not None:
                    state = _met(before, state)
                    if state == before:
                        continue
                known[at] = state
                todo += self._after(at, step, state, beyond)
            except Fault as fault:
                self.faults[step.where, f"{step.kind}: {fault}"] = None
        self.reached.update(known)

    def _after(self, at: int, step: Step, s: State, beyond: int) -> list[tuple[int, State]]:
        """Where it goes on, and with what."""
        for x in step.given:
            if x.__class__ is At:
                s.place(x)
        if step.kind in ("leave", "jump_to"):
            if s.stack:
                raise Fault("something is left on the stack")
            for r in CALLERS:
                if s.registers[r] != Given(r):
                    raise Fault(f"register {r} is its caller's")
            return []
        if step.kind == "jump":
            return [(self.labels[step.given[0]], s)]
        if step.kind in ("call", "call_at"):
            low = (beyond + s.size()) % 16
            if step.kind == "call":
                self._todo.append((step.given[0], (low + 8) % 16))
            elif low:
                raise Fault("the stack lies between multiples of 16")
        s = EFFECTS[step.kind](s, *step.given)
        if at + 1 == len(self.steps):
            raise Fault("the code ends")
        more = [(self.labels[step.given[1]], s)] if step.kind == "jump_if" else []
        return [(at + 1, s), *more]


def _met(a: State, b: State) -> State:
    """What is known where two paths meet."""
    stack, registers = (
        [x if x == y else None for x, y in zip(*words, strict=False)] for words in zip(a, b, strict=True)
    )
    alike = [x == y or _counted((x, y)) for x, y in zip(a.stack, b.stack, strict=False)]
    if len(a.stack) != len(b.stack) or not all(alike):
        stack = [*stack[: [*alike, False].index(False)], MORE]
    return State(tuple(stack), tuple(registers))
