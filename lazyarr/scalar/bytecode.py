"""A code object as instructions: where each may go on, which lines they are of, which locals live where.

In:  a Python code object.   Out: `Code`; `Refused` for what is more than a plain function of its arguments.
Bytecode is what runs, whatever became of the source since, and lambdas and functions without source have it.
Its instructions differ between versions of Python; `instructions` names those that it knows.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from lazyarr.records import dataclass
from lazyarr.scalar.ir import NOWHERE, Place

R = TypeVar("R")

UNCONDITIONAL = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")


class Refused(Exception):
    """The function is not compiled: why, and at which place."""

    def __init__(self, why: str, place: Place = NOWHERE) -> None:
        super().__init__(why)
        self.why, self.place = why, place
        self.captured: Any = None
        """What the refusal goes by, see `capture.Captured`."""


@dataclass(frozen=True, slots=True)
class Code:
    code: types.CodeType
    instructions: tuple[dis.Instruction, ...]
    at: dict[int, int]
    """Offset of an instruction -> its number."""
    lines: tuple[int, ...]
    live: tuple[frozenset[str], ...]
    """Per instruction: the locals that may still be read from it on."""
    targets: frozenset[int]
    """Numbers of the instructions that jumps go to."""


@lru_cache(256)
def decoded(code: types.CodeType) -> Code:
    """The instructions of a function."""
    first = Place(code.co_filename, code.co_firstlineno)
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Refused("it is a generator or a coroutine", first)
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise Refused("it takes any number of arguments", first)
    if code.co_exceptiontable:
        raise Refused("it has a try or a with statement", first)
    if code.co_cellvars:
        raise Refused("a function within it shares its variables", first)
    found = tuple(i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG"))
    at = {i.offset: k for k, i in enumerate(found)}
    _after_prefixes(code, at, len(found))
    lines = []
    line = first.line
    for i in found:
        position = i.positions.lineno if i.positions is not None else None
        line = line if position is None else position
        lines.append(line)
    after = [_successors(found, at, k) for k in range(len(found))]
    targets = frozenset(at[i.argval] for i in found if is_jump(i))
    return Code(code, found, at, tuple(lines), _live(found, after), targets)


def _after_prefixes(code: types.CodeType, at: dict[int, int], count: int) -> None:
    """A jump may go to the prefix that lengthens an argument: its instruction is the next one."""
    number = count
    for i in reversed(list(dis.get_instructions(code))):
        number = at.setdefault(i.offset, number)


def is_jump(i: dis.Instruction) -> bool:
    return i.opcode in dis.hasjrel or i.opcode in dis.hasjabs


def _successors(found: tuple[dis.Instruction, ...], at: dict[int, int], k: int) -> list[int]:
    i = found[k]
    after = [at[i.argval]] if is_jump(i) else []
    if i.opname not in UNCONDITIONAL and i.opname not in ENDS and k + 1 < len(found):
        after.append(k + 1)
    return after


def after_loop(code: Code, at: int) -> int:
    """Where a loop goes on that has no more to go through, of where its iterator's instruction says."""
    found = code.instructions
    while found[at].opname in ("END_FOR", "POP_ITER") or (
        found[at].opname == "POP_TOP" and found[at - 1].opname == "END_FOR"
    ):
        at += 1
    return at


def rule_of(name: str, rules: Mapping[str, R], fast: R, pop_jump: R) -> R | None:
    """The rule of an instruction: those for locals and for jumps have many names."""
    if "_FAST" in name and name != "LOAD_FAST_AND_CLEAR":
        return fast
    found = rules.get(name)
    return pop_jump if found is None and name.startswith("POP_JUMP") else found


def parameters(code: types.CodeType) -> tuple[str, ...]:
    """The names of a function's parameters."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def bound(code: types.CodeType, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call's arguments by parameter, without defaults; None where Python refuses them."""
    positional = code.co_varnames[: code.co_argcount]
    held = dict(zip(positional, args, strict=False))
    wrong = len(args) > len(positional) or not set(named) <= set(parameters(code)[code.co_posonlyargcount :])
    return None if wrong or held.keys() & named.keys() else {**held, **named}


def names(i: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does to locals, in order: ("load" or "store", name)."""
    if "_FAST" not in i.opname:
        return []
    kinds = [p.lower() for p in i.opname.split("_") if p in ("LOAD", "STORE", "DELETE")]
    given = i.argval if isinstance(i.argval, tuple) else (i.argval,)     # from 3.13 on, some do two
    return list(zip(kinds, map(str, given), strict=True))


def _live(found: tuple[dis.Instruction, ...], after: list[list[int]]) -> tuple[frozenset[str], ...]:
    live: list[frozenset[str]] = [frozenset()] * len(found)
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(found))):
            now = frozenset[str]().union(*[live[s] for s in after[k]])
            for what, name in reversed(names(found[k])):
                now = now | {name} if what == "load" else now - {name}
            if now != live[k]:
                live[k], changed = now, True
    return tuple(live)
