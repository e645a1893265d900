"""Methods and functions that write to small parts of large arrays, in machine code: `x[3].sort()`.

In:  calls as `calls` and `part_calls` have them, of what `tables.WRITING` lists: the first array is written
to, others are only read; nothing comes back.
Out: what NumPy does, at once, under the lock, where nothing pending reads the value that is overwritten, and
both array and memory may be written to; else Python finds out what must be computed before.
"""

from __future__ import annotations

from lazyarr.object_fields import ITEMS, LENGTH, LIST_ITEMS, TYPE, WRITEABLE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import AT, GIVEN, LEFT, LOCKED, RESULT, VALUES, Calls
from lazyarr.slots.known import Known
from lazyarr.slots.parts import NEEDLESS, TAKEN
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R10, R11, RAX, RBX, RCX, RDI, RDX, RSI, RSP


class Changes(Calls):
    """Writes what comes before the other arguments, and the end."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        Writer.__init__(self, asm, known)
        for write in self.begin, self.calm, self.quiet, self.numbers, self.end:
            write()

    def begin(self) -> None:
        """The first array, or a window on it; on to the others."""
        a, k = self.asm, self.known
        a.label("changes")
        self.compare(At(RBX, TYPE), k.lazy, RAX)
        a.jump_if("other", "call back")
        self.compare(At(RBX, k.storage), k.none, RAX)
        a.jump_if("equal", "changes plain")
        a.load(RDI, At(RBX, k.geo))
        a.test(RDI)
        a.jump_if("equal", "call back")
        self.unless_flagged(RDI, WRITEABLE, "call back")
        a.constant(RDI, 1)                          # NumPy may give others a turn
        a.call("lock")
        a.store(LOCKED, RAX)
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.copy(RDI, RBX)
        a.constant(RSI, WRITEABLE)
        a.constant(RDX, k.limit)
        a.load(RDX, At(RDX))
        self.call_or("window", "parts refused")
        self.placed()
        a.load(RDI, At(RBX, k.storage))
        self.call_or("free", "parts refused")
        a.jump("parts placed")

        a.label("changes plain")
        a.copy(RDI, RBX)
        self.call_or("look", "call back")
        self.placed()
        a.constant(RCX, NEEDLESS)
        a.store(LOCKED, RCX)
        self.is_objects(RAX, RCX)
        a.jump_if("equal", "parts refused")
        a.jump("parts placed")

        a.label("changes not")                      # nothing is placed any more
        a.load(RDI, LOCKED)
        a.test(RDI)
        a.jump_if("equal", "call back")
        a.call("unlock")
        a.jump("call back")

    def calm(self) -> None:
        """All is placed: NumPy is asked, unless it might warn of complex numbers, since Python runs then."""
        a = self.asm
        a.label("changes calm")
        a.load(R11, GIVEN)
        a.place(R10, At(RSP, VALUES))
        a.label("changes calm next")
        a.test(R11)
        a.jump_if("equal", "parts call")
        a.add(R10, 8)
        a.load(RDI, At(R10))
        a.load(RSI, At(RSP, VALUES))
        a.call("warns")
        a.test(RAX)
        a.jump_if("other", "parts refused")
        self.call_or("quiet", "parts refused")
        a.count_down(R11)
        a.jump("changes calm next")

    def quiet(self) -> None:
        """rdi: a list or tuple of what holds no arrays, or anything else.   rax: zero if there are complex
        numbers in it, of which NumPy may warn."""
        a, k = self.asm, self.known
        a.label("quiet")
        a.place(RSI, At(RDI, ITEMS))
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("equal", "quiet parts")
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("other", "quiet whole")
        a.load(RSI, At(RDI, LIST_ITEMS))
        a.label("quiet parts")
        a.load(R8, At(RDI, LENGTH))
        a.label("quiet part")
        a.test(R8)
        a.jump_if("equal", "quiet whole")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        a.call("complex type")
        a.test(RAX)
        a.constant(RAX, 0)
        a.jump_if("other", "quiet leave")
        a.add(RSI, 8)
        a.count_down(R8)
        a.jump("quiet part")
        a.label("quiet whole")
        a.constant(RAX, 1)
        a.label("quiet leave")
        a.leave()

    def numbers(self) -> None:
        """rdi: a list or tuple.   rax: itself, if it is one of real scalars, not too long; else zero."""
        a, k = self.asm, self.known
        a.label("numbers")
        a.load(R8, At(RDI, LENGTH))
        a.compare_number(R8, k.eager)
        a.jump_if("above", "numbers not")
        a.place(RSI, At(RDI, ITEMS))
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("equal", "numbers part")
        a.load(RSI, At(RDI, LIST_ITEMS))
        a.label("numbers part")
        a.test(R8)
        a.jump_if("equal", "numbers so")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        self.call_or("scalar type", "numbers not")
        a.add(RSI, 8)
        a.count_down(R8)
        a.jump("numbers part")
        a.label("numbers so")
        a.call("quiet")
        a.test(RAX)
        a.copy(RAX, RDI)
        a.jump_if("other", "numbers leave")
        a.label("numbers not")
        a.zero(RAX)
        a.label("numbers leave")
        a.leave()

    def end(self) -> None:
        """It has run.  The release must not see what NumPy raised."""
        a = self.asm
        a.label("changed")
        self.count()
        a.load(RAX, RESULT)
        a.test(RAX)
        a.jump_if("equal", "changes failed")
        a.load(RDI, LOCKED)
        a.call("unlock")
        a.load(RDI, At(RSP, VALUES))
        a.call("written")
        a.test(RAX)
        a.jump_if("other", "take done")
        self.on("Py_DecRef", RESULT)
        a.zero(RAX)
        a.store(RESULT, RAX)
        a.jump("take done")
        a.label("changes failed")
        a.compare_number(LOCKED, TAKEN)
        a.jump_if("other", "take done")
        self.unlock_past_error(TAKEN, AT, LEFT, LOCKED)
        a.jump("take done")
