"""Where the interpreter has the operands of the operator under way.

In:  the running frame.   Out: is the instruction under way an operator's, and are these its operands?
What only the interpreter's stack refers to has one reference: a temporary, whose memory an operator may take.
So may have what C code keeps, and computes with meanwhile: a partial's argument, an element of an array of
objects.  These are not where the instruction finds its operands: on the frame's stack, as deep as it is
before that instruction.
Always holds: nothing but a frame's own words is read, and where the interpreter is none of those known here,
nothing is.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from types import CodeType, FrameType
from typing import Any

from lazyarr.elision import SECOND_REFS
from lazyarr.records import NamedTuple
from lazyarr.warning_sites import ours

PLACES = 256
"""Of instructions that machine code knows; others take their place."""

OPERATORS = (ctypes.c_ssize_t * (3 * PLACES))()
"""What it knows: of each the piece of code, the place in it, and where its operands are (`operands_at`)."""

_places: dict[int, CodeType] = {}
"""Whose identity the rows go by."""

OPERANDS = {"BINARY_OP": 2, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1}
"""The instructions of operators: they alone have operands that nobody comes back to."""

LAST = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}  # fmt: skip
"""Those that the next one does not follow."""

MAX_DEPTHS = 64
"""Pieces of code of which it is known where operators find their operands; all are forgotten when there are
more."""

_depths: dict[int, tuple[CodeType, dict[int, int]]] = {}
"""By identity: to hash a piece of code takes long."""


def _depths_of(code: CodeType) -> dict[int, int]:
    """How many things are on the interpreter's stack before each instruction that is an operator's."""
    from dis import Bytecode, stack_effect  # here: most programs need no table of all instructions

    ops, raw = _numbers(), code.co_code
    found, seen = dict[int, int](), set[int]()
    # (What an exception's handler finds, and perhaps where it was raised.)
    raised: Any = Bytecode(code)
    handlers = [(each.target, each.depth + each.lasti + 1) for each in raised.exception_entries]
    todo = [(0, 0), *handlers]
    while todo:
        at, depth = todo.pop()
        wide = 0
        while at not in seen:
            seen.add(at)
            op, arg, here = raw[at], wide | raw[at + 1], at
            at, wide = at + 2, arg << 8 if op == ops.wide else 0
            if op == ops.wide:
                continue
            if op in ops.operands:
                found[here] = depth
            elif op in ops.jumps:
                base = at
                while raw[base] == ops.room:
                    base += 2
                to = base - 2 * arg if op in ops.back else base + 2 * arg
                todo.append((to, depth + stack_effect(op, arg, jump=True)))
            if op in ops.last:
                break
            if op == ops.generator:
                depth = 1                       # (what is sent first, which versions count as they like)
            else:
                depth += stack_effect(op, arg if op >= ops.with_argument else None, jump=False)
    return found


class _Numbers(NamedTuple):
    """Of instructions."""

    operands: dict[int, int]
    """How many the operators have."""
    jumps: frozenset[int]
    back: frozenset[int]
    last: frozenset[int]
    """Which the next one does not follow."""
    wide: int
    room: int
    generator: int
    with_argument: int
    """From this one on they have arguments."""


@cache
def _numbers() -> _Numbers:
    from opcode import HAVE_ARGUMENT, hasjabs, hasjrel, opmap

    return _Numbers(
        {opmap[name]: count for name, count in OPERANDS.items()},
        frozenset([*hasjrel, *hasjabs]),
        frozenset([number for name, number in opmap.items() if "BACKWARD" in name]),
        frozenset([opmap[name] for name in LAST if name in opmap]),
        opmap["EXTENDED_ARG"], opmap["CACHE"], opmap["RETURN_GENERATOR"], HAVE_ARGUMENT,
    )  # fmt: skip


RUNS = 24
"""Where a frame says what the interpreter runs."""


def _word(address: int) -> int:
    return ctypes.c_ssize_t.from_address(address).value


@cache
def variables_at() -> int:
    """And where that has its variables, which its stack follows; 0 where they are not found."""
    from lazyarr.object_fields import TYPE  # here: whoever imports lazyarr need not wait for it

    known = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (3, 13)
    if not known or not SECOND_REFS or ctypes.sizeof(ctypes.c_void_p) != 8:
        return 0

    def looks(x: object) -> int:
        frame = sys._getframe()
        if _word(id(frame) + TYPE) != id(type(frame)):
            return 0
        runs, first = _word(id(frame) + RUNS), id(x)       # (a cell would be where x is, else)
        found = [8 * k for k in range(6, 14) if _word(runs + 8 * k) == first]
        return found[0] if len(found) == 1 else 0

    return looks(object())


def operands_at(code: CodeType, at: int) -> int:
    """Where, in what the interpreter runs, the operands are of an instruction that is an operator's; 0 of any
    other, and where nobody knows."""
    if not variables_at():
        return 0
    found = _depths.get(id(code))
    if found is None:
        if len(_depths) >= MAX_DEPTHS:
            _depths.clear()
        found = _depths[id(code)] = code, _depths_of(code)
    depth = found[1].get(at)
    if depth is None:
        return 0
    variables = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    return variables_at() + 8 * (variables + depth - _numbers().operands[code.co_code[at]])


def is_operand(x: object, getframe: Any = sys._getframe) -> bool:
    """Does an operator call us, whose first operand this is: is that the instruction of the nearest code that
    is not ours?"""
    frame: FrameType | None = getframe(1)
    while frame is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    place = 0 if frame is None else operands_at(frame.f_code, frame.f_lasti)
    return place != 0 and _word(_word(id(frame) + RUNS) + place) == id(x)


def hear_operator(
    frame: FrameType, asked: Any = operands_at, rows: Any = OPERATORS, places: Any = _places,
    count: int = PLACES, finalizing: Any = sys.is_finalizing,
) -> int:  # fmt: skip
    """Where the operands are of the instruction that is under way, entered in the table.

    (Arguments as in `values.Buffer.__del__`.)"""
    if finalizing():                            # (nothing can be imported any more)
        return 0
    code, at = frame.f_code, frame.f_lasti
    found: int = asked(code, at)
    row = 3 * ((id(code) >> 3) + at & count - 1)
    rows[row] = 0                               # (the code that had it may go now)
    places[row] = code
    rows[row : row + 3] = id(code), at, found
    return found
