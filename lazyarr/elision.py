"""Operators that NumPy computes in place: ``a * (b + c)`` becomes ``t = b + c; t *= a``.

From 256 KiB on NumPy's operators reuse a temporary operand's memory: the first one's, or else, where the
operator is commutative, the second one's.  So the result has that operand's memory order, whatever the
other's is, and where operands are swapped the product of complex numbers has other last bits, or other flags:
of one by a real number only these.

In: the operands of an operator, and whether only the interpreter's stack holds them.   Out: in which one's
memory NumPy would compute.
The criterion is NumPy's own, an object's reference count: a program's references to a lazy array are those
it would have to NumPy's.  Where the interpreter's counts do not tell temporaries from variables, nothing is
elided.  Nor where the running NumPy does not: it is asked once (products: for each type of first operand).
Not covered: a NumPy scalar before a temporary, which NumPy 2.0 swaps (the scalar's own operator runs); arrays
of NumPy's among the operands; shifts of bools, which NumPy refuses in a temporary's memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from sys import getrefcount
from types import CodeType, FrameType
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.records import NamedTuple

ELIDED = 256 * 1024
"""Bytes from which NumPy looks for temporaries."""


class _Probe:
    def __mul__(self, other: Any) -> int:
        return getrefcount(other)

    def __rmul__(self, other: Any) -> int:
        return getrefcount(self)


def _counts() -> tuple[int, int]:
    """References to a temporary operand as the operator's method sees them; 0: a variable has as many."""
    variable: Any = _Probe()
    second, first = _Probe() * _Probe(), 1 * _Probe()
    held = _Probe() * variable, 1 * variable
    return (0 if held[0] <= second else second), (0 if held[1] <= first else first)


SECOND_REFS, REFLECTED_REFS = _counts()
"""For the second operand of ``__mul__``, and for the array whose ``__rmul__`` is called."""


PLACES = 256
"""Of instructions that code knows; others take their place."""

OPERATORS = (ctypes.c_ssize_t * (3 * PLACES))()
"""What code knows: of each the piece of code, the place in it, and where its operands are (`operands_at`)."""

_places: dict[int, CodeType] = {}
"""Whose identity its rows go by."""


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


OPERANDS = {"BINARY_OP": 2, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1}
"""The instructions of operators: they alone have operands that nobody comes back to."""

LAST = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}  # fmt: skip
"""Those that the next one does not follow."""

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


_OURS = os.path.join(os.path.dirname(__file__), "")


def is_operand(x: object, getframe: Any = sys._getframe) -> bool:
    """Does an operator call us, whose first operand this is: is that the instruction of the nearest code that
    is not ours?"""
    frame: FrameType | None = getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    place = 0 if frame is None else operands_at(frame.f_code, frame.f_lasti)
    return place != 0 and _word(_word(id(frame) + RUNS) + place) == id(x)


def hear_operator(
    frame: FrameType, asked: Any = operands_at, rows: Any = OPERATORS, places: Any = _places,
    count: int = PLACES,
) -> int:  # fmt: skip
    """The operands' place of the one that is under way, entered in the table.

    (Arguments as in `values.Buffer.__del__`.)"""
    code, at = frame.f_code, frame.f_lasti
    found: int = asked(code, at)
    row = 3 * ((id(code) >> 3) + at & count - 1)
    rows[row] = 0
    places[row] = code
    rows[row : row + 3] = id(code), at, found
    return found


IN_PLACE = {
    "add": True, "sub": False, "mul": True, "truediv": False, "floordiv": False, "lshift": False,
    "rshift": False, "and": True, "or": True, "xor": True,
}  # fmt: skip
"""Python's names of the operators that are elided -> may it be in the second operand's memory, too?"""


def matters(x: ndarray, y: ndarray) -> bool:
    """May the memory order of a result be another one for being computed in the memory of x or y?

    Where an operand lies in C order, so does every result of NumPy's."""
    return (x.origin is None and not x.geo.flags.c_contiguous) or (
        y.origin is None and not y.geo.flags.c_contiguous
    )


def taken(name: str, a: ndarray, b: ndarray, first: bool, second: bool) -> ndarray | None:
    """The operand in whose memory NumPy computes the operator `name`; None for memory of its own.

    `first`, `second`: which are temporaries.  Ask where it `matters`."""
    if name == "truediv" and a.geo.dtype.kind not in "fc":
        return None
    if first and _elides(a, b):
        found = a
    elif second and IN_PLACE[name] and _elides(b, a):
        found = b
    else:
        return None
    return found if _is_dense(found.geo) and numpy_elides() else None


def swaps(a: Any, b: Any, first: bool, second: bool) -> bool:
    """Does NumPy compute a * b as b *= a, with other bits?  `first`, `second`: which are temporaries."""
    if not second or b.geo.nbytes < ELIDED or b.geo.dtype.char not in "FD":
        return False
    if not _elides(b, a) or (first and a.__class__ is ndarray and _elides(a, b)):
        return False
    return numpy_swaps(numpy.ndarray if a.__class__ is ndarray else _complex_kind(type(a)))


@cache
def numpy_elides() -> bool:
    """Has the sum of a variable and a temporary in Fortran's order that order?"""
    n = int(ELIDED**0.5)
    a, b = numpy.zeros((n, n), "i1"), numpy.zeros((n, n), "i1", "F")
    return not (a + (-b)).flags.c_contiguous


@cache
def numpy_swaps(first: type) -> bool:
    """Has a product of complex numbers with a temporary second operand other bits than `numpy.multiply`?"""
    b = numpy.exp(1j * numpy.arange(ELIDED // 16))
    a: Any = b[::-1] * 0.7 if first is numpy.ndarray else first(0.1 + 0.7j)
    return bool((a * (-b) != numpy.multiply(a, -b)).any())


def _complex_kind(scalar: type) -> Any:
    """The type that is asked about for a scalar's: real ones cannot tell by bits."""
    return numpy.result_type(scalar, numpy.complex64).type if issubclass(scalar, numpy.generic) else complex


def _is_dense(geo: numpy.ndarray) -> bool:
    step = geo.itemsize
    for stride, n in sorted(zip(geo.strides, geo.shape, strict=True)):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


def _elides(x: ndarray, y: Any) -> bool:
    """May a temporary x receive the result with y?"""
    geo = x.geo
    if geo.nbytes < ELIDED or geo.dtype.kind not in "biufc" or not geo.flags.writeable or not _owns(x):
        return False
    if y.__class__ is ndarray:
        return y.geo.shape in (geo.shape, ()) and numpy.can_cast(y.geo.dtype, geo.dtype)
    return numpy.can_cast(numpy.result_type(type(y)), geo.dtype)


def _owns(x: ndarray) -> bool:
    """Is the memory its own, and reachable through it alone?"""
    if x.storage is None:
        return x.geo.base is None
    buf = x.storage.value.buf
    return x.origin is None and (buf is None or not buf.shared())
