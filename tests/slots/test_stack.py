"""The slots' machine code gives back what it takes from the stack, on all paths; who does not is found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from lazyarr.slots import writing
from lazyarr.slots.assembler import At
from lazyarr.slots.tables import ATTRIBUTES, FOLDS, METHODS, OTHER_METHODS, QUICK, SLOTS, UFUNC_METHODS
from lazyarr.slots.tables import ENTRIES as BODIES
from lazyarr.slots.words import entry_of, fold_of, method_of, places
from lazyarr.slots.x86 import R12, RAX, RBP, RBX, RCX, RDI, RSP
from tests.slots.operands import ONLY_HERE
from tests.slots.stack import CALLERS, Followed, Recorded

METHOD_NAMES = [*METHODS.split(), *OTHER_METHODS, *UFUNC_METHODS.split()]
ENTRIES = [
    *[entry_of(number) for number in range(len(SLOTS))], *map(method_of, METHOD_NAMES), *QUICK, *ATTRIBUTES,
    *map(fold_of, FOLDS), "setter", "collector", "of nothing", "argument", "function", "ufunc",
    "draw", *BODIES,
]  # fmt: skip
"""What `install` puts somewhere."""


@ONLY_HERE
def test_the_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Recorded] = []

    def assembler() -> Recorded:
        made.append(Recorded())
        return made[-1]

    monkeypatch.setattr(writing, "Assembler", assembler)
    template = writing.written(places())
    (told,) = made
    by_address = [step.given[1] for step in told.steps if step.kind == "address"]
    followed = Followed(told.steps, [*dict.fromkeys((*ENTRIES, *by_address))])
    assert not followed.faults
    missed = {step.where for k, step in enumerate(told.steps) if k not in followed.reached}
    assert not missed and len(template.code) > len(told.steps)


def faults(write: Callable[[Recorded], object]) -> list[str]:
    """What is found of a function."""
    told = Recorded()
    told.label("function")
    write(told)
    assert told.finished()
    return [fault for _, fault in Followed(told.steps, ["function"]).faults]


def called(a: Recorded) -> None:
    a.push(RBX)
    a.copy(RBX, RDI)
    a.call_at(RAX)
    a.copy(RAX, RBX)
    a.pop(RBX)
    a.leave()


def two_paths(a: Recorded) -> None:
    a.test(RDI)
    a.jump_if("equal", "other")
    a.push(RBX)
    a.pop(RBX)
    a.label("other")
    a.leave()


def tail(a: Recorded) -> None:
    a.add(RSP, -24)
    a.store(At(RSP, 8), RDI)
    a.load(RDI, At(RSP, 8))
    a.add(RSP, 24)
    a.jump_to(RAX)


def with_room(a: Recorded) -> None:
    """A frame by rbp, below which there is room for who knows how many arguments."""
    a.push(RBP)
    a.copy(RBP, RSP)
    a.push(RBX, R12)
    a.test(RDI)
    a.jump_if("equal", "none")
    a.round_down(RAX, 2)
    a.times_word(RAX)
    a.decrease(RSP, RAX)
    a.store(At(RSP, 16), RDI)
    a.zero(RBX)
    a.call_at(RCX)
    a.label("none")
    a.place(RSP, At(RBP, -16))
    a.pop(R12, RBX, RBP)
    a.leave()


def stored(a: Recorded) -> None:
    """A caller's register, kept beside what is pushed."""
    a.add(RSP, -16)
    a.store(At(RSP, 8), R12)
    a.zero(R12)
    a.load(R12, At(RSP, 8))
    a.add(RSP, 16)
    a.leave()


def in_turn(a: Recorded) -> None:
    """What is called within the code need not have an aligned stack, unless it calls others."""
    a.call("routine")
    a.leave()
    a.label("routine")
    a.add(RSP, -16)
    a.call_at(RAX)
    a.add(RSP, 16)
    a.leave()


@pytest.mark.parametrize("write", [called, two_paths, tail, with_room, stored, in_turn])
def test_what_is_right(write: Callable[[Recorded], None]) -> None:
    assert faults(write) == []


def without(write: Callable[[Recorded], None], kind: str, *given: object) -> Callable[[Recorded], None]:
    """The same without one of its steps."""

    def writes(a: Recorded) -> None:
        told = Recorded()
        write(told)
        left = [(step.kind, step.given) for step in told.steps]
        left.remove((kind, given))
        for name, operands in left:
            getattr(a, name)(*operands)

    return writes


def clobbered(register: int, a: Recorded) -> None:
    a.zero(register)
    a.leave()


LEFT = "leave: something is left on the stack"
SEEDED: list[tuple[Callable[[Recorded], object], str]] = [
    (without(called, "push", RBX), "call_at: the stack lies between multiples of 16"),
    (without(called, "pop", RBX), LEFT),
    (without(two_paths, "push", RBX), "pop: pops what it has not pushed"),
    (without(two_paths, "pop", RBX), LEFT),
    (without(tail, "add", RSP, 24), "jump_to: something is left on the stack"),
    (without(tail, "add", RSP, -24), "add: lets go of what it has not taken"),
    (without(with_room, "round_down", RAX, 2), "decrease: takes who knows how much"),
    (without(with_room, "copy", RBP, RSP), "place: the stack goes somewhere"),
    (without(with_room, "place", RSP, At(RBP, -16)), "pop: pops what it has not pushed"),
    (without(with_room, "push", RBX, R12), "place: the stack goes somewhere"),
    (without(stored, "load", R12, At(RSP, 8)), f"leave: register {R12} is its caller's"),
    (without(stored, "store", At(RSP, 8), R12), f"leave: register {R12} is its caller's"),
    (without(in_turn, "add", RSP, -16), "add: lets go of what it has not taken"),
    (lambda a: a.load(RAX, At(RSP, -8)), "load: below the stack"),
    (lambda a: a.count(At(RSP, 0)), "count: where it returns to"),
    (lambda a: a.zero(RAX), "zero: the code ends"),
    (lambda a: a.add(RSP, -4), "add: half a word of the stack"),
    (lambda a: a.zero(RSP), "zero: the stack goes somewhere"),
    *[(partial(clobbered, r), f"leave: register {r} is its caller's") for r in CALLERS],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SEEDED)))
def test_what_is_wrong(number: int) -> None:
    write, found = SEEDED[number]
    assert found in faults(write)
