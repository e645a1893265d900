"""The entry of small replays: a function of Python's, in machine code, that binds memory and runs kernels.

In:  a block of words (the argument words of all kernels, and tables of what goes where), arrays, numbers.
Out: the floating-point flags that were raised, as NumPy has them; None where an array has another layout than
expected, or its memory is not aligned: then nothing was run.
A kernel on ten elements takes less than one call through ctypes: here a replay of any number of kernels takes
one call, of the kind that C extensions offer (METH_FASTCALL).  The GIL is held: what runs longer goes another
way.

    block: pokes, calls, Py_IncRef, None, the ints from 0 to 15, arguments, checks (`HEAD` words); 4 words a
           poke; 5 a call; the checks
    check: dtype, axes, then the length and the stride of each axis, for each of the arrays, which come first.
           They are left out where there is one argument more than `arguments`: the caller has looked already.
    poke:  operand, word, kind, offset     kind < 0: a pointer whose lowest bits under ~kind are to be 0
                                           kind 1, 2, 4, 8: a number of so many bytes, over `SCALAR_WORDS`
                                           kind 0: the word is to be `offset`, whatever a run made of it
    call:  kernel, word, chunks, clear, flags
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from string import Template
from typing import Any

import numpy

from lazyarr.codegen.abi import SCALAR_WORDS, Layout
from lazyarr.fastcalls import fastcall
from lazyarr.flags import BITS
from lazyarr.geometry import DATA_FIELD
from lazyarr.object_fields import DIMS, DTYPE, NDIM, STRIDES, are_known
from lazyarr.records import NamedTuple
from lazyarr.threading.system_ir import basics, this_system

WORD = 8
POKES, CALLS, INCREF, NONE, INTS = range(5)
"""Words of a block's head; the last is the first of the objects for flags."""
FLAG_SETS = 1 << len(BITS)
ARGUMENTS = INTS + FLAG_SETS
CHECKS = ARGUMENTS + 1
HEAD = CHECKS + 3
"""Its words, so that the tables begin at a cache line."""
POKE, CALL = 4, 5
"""Words of an item."""
CHECK_HEAD, CHECK_AXIS = 2, 2
"""Words of a check: dtype and axes, then of each axis length and stride."""
CLEAR = 0
"""The kind of a poke that sets a word to its offset."""

VALUE = DATA_FIELD
"""Bytes from the start of a number to its value, as from that of an array to its data pointer."""

SYMBOL = "lazyarr_replay"

FROM, TO, NBYTES = range(Layout.FIRST, Layout.FIRST + 3)
COPY_WORDS = NBYTES + 1
"""Words of a call that copies bytes."""

_IR = Template(r"""
define void @${SYMBOL}_copy(ptr %words, i64 %chunk, i64 %tid) {
entry:
  %p.from = getelementptr i64, ptr %words, i64 $FROM
  %from = load ptr, ptr %p.from
  %p.to = getelementptr i64, ptr %words, i64 $TO
  %to = load ptr, ptr %p.to
  %p.bytes = getelementptr i64, ptr %words, i64 $NBYTES
  %bytes = load i64, ptr %p.bytes
  %whole = and i64 %bytes, -64
  br label %lines
lines:
  %k = phi i64 [0, %entry], [%k1, %line]
  %more = icmp slt i64 %k, %whole
  br i1 %more, label %line, label %rest
line:
  %p.line = getelementptr i8, ptr %from, i64 %k
  %found = load <8 x i64>, ptr %p.line, align 1
  %to.line = getelementptr i8, ptr %to, i64 %k
  store <8 x i64> %found, ptr %to.line, align 1
  %k1 = add i64 %k, 64
  br label %lines
rest:
  %r = phi i64 [%whole, %lines], [%r1, %byte]
  %left = icmp slt i64 %r, %bytes
  br i1 %left, label %byte, label %done
byte:
  %p.byte = getelementptr i8, ptr %from, i64 %r
  %one = load i8, ptr %p.byte
  %to.byte = getelementptr i8, ptr %to, i64 %r
  store i8 %one, ptr %to.byte
  %r1 = add i64 %r, 1
  br label %rest
done:
  ret void
}

define void @${SYMBOL}_splat(ptr %to, ptr %from, i64 %kind) {
entry:
  switch i64 %kind, label %w8 [i64 1, label %w1 i64 2, label %w2 i64 4, label %w4]
w1:
  %a1 = load i8, ptr %from
  %b1 = zext i8 %a1 to i64
  %c1 = mul i64 %b1, $OF_BYTES
  br label %fill
w2:
  %a2 = load i16, ptr %from
  %b2 = zext i16 %a2 to i64
  %c2 = mul i64 %b2, $OF_HALVES
  br label %fill
w4:
  %a4 = load i32, ptr %from
  %b4 = zext i32 %a4 to i64
  %c4 = mul i64 %b4, $OF_WORDS
  br label %fill
w8:
  %a8 = load i64, ptr %from
  br label %fill
fill:
  %x = phi i64 [%c1, %w1], [%c2, %w2], [%c4, %w4], [%a8, %w8]
  br label %next
next:
  %k = phi i64 [0, %fill], [%k1, %next]
  %p = getelementptr i64, ptr %to, i64 %k
  store i64 %x, ptr %p
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, $SCALAR_WORDS
  br i1 %more, label %next, label %end
end:
  ret void
}

define ptr @$SYMBOL(ptr %self, ptr %args, i64 %count) {
entry:
  %environment = alloca [64 x i8], align 16
  %object = load ptr, ptr %args
  %where = getelementptr i8, ptr %object, i64 $VALUE
  %block = load ptr, ptr %where
  %p.pokes = getelementptr i64, ptr %block, i64 $POKES
  %pokes = load i64, ptr %p.pokes
  %p.calls = getelementptr i64, ptr %block, i64 $CALLS
  %calls = load i64, ptr %p.calls
  %first = getelementptr i64, ptr %block, i64 $HEAD
  %bytes = mul i64 %pokes, $POKE_BYTES
  %calls.at = getelementptr i8, ptr %first, i64 %bytes
  %p.expected = getelementptr i64, ptr %block, i64 $ARGUMENTS
  %expected = load i64, ptr %p.expected
  %p.checks = getelementptr i64, ptr %block, i64 $CHECKS
  %checks = load i64, ptr %p.checks
  %call.bytes = mul i64 %calls, $CALL_BYTES
  %checks.at = getelementptr i8, ptr %calls.at, i64 %call.bytes
  %looked = icmp sgt i64 %count, %expected
  %none = icmp eq i64 %checks, 0
  %skip = or i1 %looked, %none
  br i1 %skip, label %bind, label %array

array:
  %n = phi i64 [0, %entry], [%n1, %same]
  %it = phi ptr [%checks.at, %entry], [%next.it, %same]
  %n1 = add i64 %n, 1
  %px = getelementptr ptr, ptr %args, i64 %n1
  %x = load ptr, ptr %px
  %px.nd = getelementptr i8, ptr %x, i64 $NDIM
  %nd32 = load i32, ptr %px.nd
  %nd = zext i32 %nd32 to i64
  %px.dims = getelementptr i8, ptr %x, i64 $DIMS
  %dims = load ptr, ptr %px.dims
  %px.strides = getelementptr i8, ptr %x, i64 $STRIDES
  %strides = load ptr, ptr %px.strides
  %px.dtype = getelementptr i8, ptr %x, i64 $DTYPE
  %dtype = load i64, ptr %px.dtype
  %dtype.want = load i64, ptr %it
  %it1 = getelementptr i64, ptr %it, i64 1
  %nd.want = load i64, ptr %it1
  %it2 = getelementptr i64, ptr %it, i64 $CHECK_HEAD
  %same.dtype = icmp eq i64 %dtype, %dtype.want
  %same.nd = icmp eq i64 %nd, %nd.want
  %same.kind = and i1 %same.dtype, %same.nd
  br i1 %same.kind, label %axis, label %misaligned
axis:
  %d = phi i64 [0, %array], [%d1, %axis.next]
  %it.d = phi ptr [%it2, %array], [%it4, %axis.next]
  %rest.axes = icmp slt i64 %d, %nd
  br i1 %rest.axes, label %axis.look, label %same
axis.look:
  %p.dim = getelementptr i64, ptr %dims, i64 %d
  %dim = load i64, ptr %p.dim
  %dim.want = load i64, ptr %it.d
  %p.stride = getelementptr i64, ptr %strides, i64 %d
  %stride = load i64, ptr %p.stride
  %it3 = getelementptr i64, ptr %it.d, i64 1
  %stride.want = load i64, ptr %it3
  %same.dim = icmp eq i64 %dim, %dim.want
  %same.stride = icmp eq i64 %stride, %stride.want
  %same.axis = and i1 %same.dim, %same.stride
  br i1 %same.axis, label %axis.next, label %misaligned
axis.next:
  %it4 = getelementptr i64, ptr %it.d, i64 $CHECK_AXIS
  %d1 = add i64 %d, 1
  br label %axis
same:
  %next.it = phi ptr [%it.d, %axis]
  %more.arrays = icmp slt i64 %n1, %checks
  br i1 %more.arrays, label %array, label %bind

bind:
  %any = icmp sgt i64 %pokes, 0
  br i1 %any, label %poke, label %run

poke:
  %k = phi i64 [0, %bind], [%k1, %poked]
  %bad = phi i64 [0, %bind], [%bad1, %poked]
  %t0 = mul i64 %k, $POKE
  %q0 = getelementptr i64, ptr %first, i64 %t0
  %operand = load i64, ptr %q0
  %q1 = getelementptr i64, ptr %q0, i64 1
  %word = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %q0, i64 2
  %kind = load i64, ptr %q2
  %q3 = getelementptr i64, ptr %q0, i64 3
  %offset = load i64, ptr %q3
  %pa = getelementptr ptr, ptr %args, i64 %operand
  %given = load ptr, ptr %pa
  %value = getelementptr i8, ptr %given, i64 $VALUE
  %to = getelementptr i64, ptr %block, i64 %word
  %clears.word = icmp eq i64 %kind, $CLEAR
  br i1 %clears.word, label %clear.word, label %bound
clear.word:
  store i64 %offset, ptr %to
  br label %poked
bound:
  %pointer = icmp slt i64 %kind, 0
  br i1 %pointer, label %address, label %number
address:
  %data = load i64, ptr %value
  %at = add i64 %data, %offset
  store i64 %at, ptr %to
  %mask = xor i64 %kind, -1
  %low = and i64 %at, %mask
  %bad2 = or i64 %bad, %low
  br label %poked
number:
  call void @${SYMBOL}_splat(ptr %to, ptr %value, i64 %kind)
  br label %poked
poked:
  %bad1 = phi i64 [%bad2, %address], [%bad, %number], [%bad, %clear.word]
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %pokes
  br i1 %more, label %poke, label %check
check:
  %wrong = icmp ne i64 %bad1, 0
  br i1 %wrong, label %misaligned, label %run
misaligned:
  br label %leave

run:
  call void @save_environment(ptr %environment)
  %some = icmp sgt i64 %calls, 0
  br i1 %some, label %call, label %done
call:
  %c = phi i64 [0, %run], [%c1, %called]
  %raised = phi i64 [0, %run], [%raised1, %called]
  %u0 = mul i64 %c, $CALL
  %r0 = getelementptr i64, ptr %calls.at, i64 %u0
  %kernel.at = load i64, ptr %r0
  %kernel = inttoptr i64 %kernel.at to ptr
  %r1 = getelementptr i64, ptr %r0, i64 1
  %words.at = load i64, ptr %r1
  %words = getelementptr i64, ptr %block, i64 %words.at
  %r2 = getelementptr i64, ptr %r0, i64 2
  %chunks = load i64, ptr %r2
  %r3 = getelementptr i64, ptr %r0, i64 3
  %clear = load i64, ptr %r3
  %r4 = getelementptr i64, ptr %r0, i64 4
  %own = load i64, ptr %r4
  %clears = icmp ne i64 %clear, 0
  br i1 %clears, label %clearing, label %chunk0
clearing:
  call void @clear_flags()
  br label %chunk0
chunk0:
  %has = icmp sgt i64 %chunks, 0
  br i1 %has, label %chunk, label %called
chunk:
  %i = phi i64 [0, %chunk0], [%i1, %chunk]
  call void %kernel(ptr %words, i64 %i, i64 0)
  %i1 = add i64 %i, 1
  %again = icmp slt i64 %i1, %chunks
  br i1 %again, label %chunk, label %called
called:
  %p.flags = getelementptr i64, ptr %words, i64 $FLAGS
  call void @tell_flags(ptr %p.flags)
  %flags = load i64, ptr %p.flags
  %mine = and i64 %flags, %own
  %raised1 = or i64 %raised, %mine
  %c1 = add i64 %c, 1
  %rest = icmp slt i64 %c1, %calls
  br i1 %rest, label %call, label %done
done:
  %all = phi i64 [0, %run], [%raised1, %called]
  call void @load_environment(ptr %environment)
  %low.flags = and i64 %all, $FLAG_MASK
  %which = add i64 %low.flags, $INTS
  br label %leave
leave:
  %answer = phi i64 [$NONE, %misaligned], [%which, %done]
  %pr = getelementptr i64, ptr %block, i64 %answer
  %result.at = load i64, ptr %pr
  %result = inttoptr i64 %result.at to ptr
  %pi = getelementptr i64, ptr %block, i64 $INCREF
  %incref.at = load i64, ptr %pi
  %incref = inttoptr i64 %incref.at to ptr
  call void %incref(ptr %result)
  ret ptr %result
}
""")


def _all_ones(size: int) -> int:
    """The number that repeats one of so many bytes over a word, by multiplication."""
    return ((1 << 8 * WORD) - 1) // ((1 << 8 * size) - 1)


_NAMES = {
    "VALUE": VALUE, "NDIM": NDIM, "DIMS": DIMS, "STRIDES": STRIDES, "DTYPE": DTYPE, "POKES": POKES,
    "CALLS": CALLS, "INCREF": INCREF, "NONE": NONE, "INTS": INTS, "ARGUMENTS": ARGUMENTS, "CHECKS": CHECKS,
    "HEAD": HEAD, "POKE": POKE, "CALL": CALL, "POKE_BYTES": WORD * POKE, "CALL_BYTES": WORD * CALL,
    "CHECK_HEAD": CHECK_HEAD, "CHECK_AXIS": CHECK_AXIS, "CLEAR": CLEAR, "FLAGS": Layout.FLAGS,
    "FROM": FROM, "TO": TO, "NBYTES": NBYTES,
    "FLAG_MASK": FLAG_SETS - 1, "SCALAR_WORDS": SCALAR_WORDS, "OF_BYTES": _all_ones(1),
    "OF_HALVES": _all_ones(2), "OF_WORDS": _all_ones(4),
}  # fmt: skip


class Entry(NamedTuple):
    run: Callable[..., Any]
    """The function: a block, arrays, numbers -> flags."""
    address: int
    """Where its code lies."""
    copy: int
    """Where the code lies that copies bytes, for calls in a block."""


@cache
def entry() -> Entry | None:
    """The entry; None on a Python whose objects lie otherwise."""
    if not _as_expected():
        return None
    from lazyarr.dispatch.jit import load
    from lazyarr.kernels import host

    target = host()
    symbol = f"{SYMBOL}_{target.name}"
    text = basics(this_system()) + _IR.substitute(_NAMES, SYMBOL=symbol)
    found = load(text, (symbol, f"{symbol}_copy"), target, kernel=False)
    return Entry(fastcall(SYMBOL, found[symbol]), found[symbol], found[f"{symbol}_copy"])


_FLAGS = list(range(FLAG_SETS))


def head() -> list[int]:
    """The words of a block that are the same for all."""
    incref = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
    assert incref is not None
    words = [0] * HEAD
    words[INCREF], words[NONE] = incref, id(None)
    words[INTS:ARGUMENTS] = map(id, _FLAGS)
    return words


def check(dtype: numpy.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The words of a check."""
    return [id(dtype), len(shape), *[x for pair in zip(shape, strides, strict=True) for x in pair]]


def _as_expected() -> bool:
    """Do arrays have their fields, and numbers their value, where they are looked for?"""
    numbers = [numpy.dtype(c).type(3) for c in "?bBhHiIlLefdF"]
    return (
        are_known()
        and ctypes.string_at(id(2.5) + VALUE, WORD) == numpy.float64(2.5).tobytes()
        and all(ctypes.string_at(id(n) + VALUE, n.itemsize) == n.tobytes() for n in numbers)
    )
