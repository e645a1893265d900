"""Operators on small arrays of which one is of double precision, and the other of a type that NumPy makes so.

In:  as `loops` has found them.   Out: the other one, cast; `loops` goes on, as if it had been given that.
NumPy casts it, too, element by element into its iterator's buffers, which takes longer than the loop.
"""

from __future__ import annotations

from lazyarr.object_fields import C_CONTIGUOUS, DATA, DTYPE, FLOATS, TYPE_NUMBER
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import ARGS, CAST, LOOP, MOST, NUMPYS, SECOND, STEPS, LoopCalls
from lazyarr.slots.loop_tables import DOUBLES, ENTRY
from lazyarr.slots.x86 import R15, RAX, RCX, RDI, RDX, RSI, RSP


class Mixed(LoopCalls):
    """Writes where "loop" goes on."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        self.types()
        self.cast()

    def types(self) -> None:
        """r15, rdi: two arrays of different types, whose descriptor of the first is in rax."""
        a, k = self.asm, self.known
        a.label("binary loop types")
        self.compare(RAX, k.doubles, RCX)
        a.jump_if("equal", "mixed second")
        self.compare(At(RDI, DTYPE), k.doubles, RCX)
        a.jump_if("other", "binary loop not")
        a.load_int(RAX, At(RAX, TYPE_NUMBER))       # the loop for doubles
        a.constant(RDX, ENTRY)
        a.multiply(RAX, RDX)
        a.load(RDX, LOOP)
        a.decrease(RDX, RAX)
        a.add(RDX, ENTRY * DOUBLES)
        a.compare(At(RDX, NUMPYS), RCX)
        a.jump_if("other", "binary loop not")
        a.store(LOOP, RDX)
        a.copy(RDI, R15)
        self.call_or("cast", "binary loop not")
        a.copy(R15, RAX)
        a.load(RAX, At(R15, DATA))
        a.store(At(RSP, ARGS), RAX)
        a.copy(RDI, R15)
        a.call("step")
        a.store(At(RSP, STEPS), RAX)
        a.load(RDI, SECOND)
        a.jump("mixed done")
        a.label("mixed second")
        a.call("cast")
        a.store(SECOND, RAX)
        a.copy(RDI, RAX)
        a.label("mixed done")
        a.load(RAX, CAST)
        a.test(RAX)
        a.jump_if("equal", "binary loop not")
        self.quiet("mixed")
        a.jump("binary loop typed")

    def cast(self) -> None:
        """rdi: an array.   rax: the same of doubles, which `CAST` refers to; zero if it is none that is cast
        here."""
        a, k, up = self.asm, self.known, 8
        a.label("cast")
        self.unless_flagged(RDI, C_CONTIGUOUS, "cast leave")
        self.if_type_above(RDI, FLOATS, "cast not", RSI)
        a.test(RAX)
        a.jump_if("equal", "cast native")           # truth values
        a.times_word(RAX)
        a.constant(RCX, k.native)
        a.increase(RAX, RCX)
        a.compare(At(RAX), RSI)
        a.jump_if("other", "cast not")
        a.label("cast native")
        a.call("size")
        a.add(RAX, -1)
        a.compare_number(RAX, min(MOST, max(k.eager, 1)) - 1)
        a.jump_if("above", "cast not")
        a.add(RSP, -8)
        a.store(At(RSP), RDI)
        a.constant(RDI, k.doubles)
        self.call("Py_IncRef")                      # the new array's reference
        a.load(RDI, At(RSP))
        a.constant(RSI, k.doubles)
        a.zero(RDX)
        self.call("PyArray_CastToType")
        a.add(RSP, 8)
        a.store(At(RSP, CAST.offset + up), RAX)
        a.test(RAX)
        a.jump_if("other", "cast leave")
        a.add(RSP, -8)
        self.call("PyErr_Clear")                    # no memory: NumPy says so
        a.add(RSP, 8)
        a.label("cast not")
        a.zero(RAX)
        a.label("cast leave")
        a.leave()
