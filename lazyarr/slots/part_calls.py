"""Methods and functions of small parts of large arrays, in machine code.

In:  a call in which `calls` met an array that is not plain; how many of its first arguments are arrays that
the callee only reads (`tables.READS`).
Out: NumPy's answer on windows (`parts`), where it is a scalar or an array with memory of its own.
An array in any other place, and so all that is written to, is Python's business: arguments with names are
looked at as arguments, and not as the operands that they might stand for.
"""

from __future__ import annotations

from lazyarr.slots.assembler import R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Assembler, At
from lazyarr.slots.calls import AT, GIVEN, LEFT, READ, RESULT, NUMPYS, VALUES, Calls
from lazyarr.slots.fields import BASE, TYPE
from lazyarr.slots.routines import Known, Writer


class PartCalls(Calls):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        Writer.__init__(self, asm, known)
        for write in self.arguments, self.answer, self.refused, self.numpy_asks:
            write()

    def arguments(self) -> None:
        """What NumPy is given, with references of ours: as many as `LEFT` says."""
        a, k = self.asm, self.known
        a.label("call parts")
        a.compare_number(READ, 0)
        a.jump_if("equal", "call back")
        a.zero(RCX)
        a.store(LEFT, RCX)
        a.label("parts next")
        a.load(RCX, LEFT)
        a.copy(RDI, RBX)
        a.test(RCX)
        a.jump_if("equal", "parts operand")
        a.copy(RDX, RCX)
        a.times_word(RDX)
        a.increase(RDX, R12)
        a.load(RDI, At(RDX, -8))
        a.compare(READ, RCX)
        a.jump_if("below", "parts other")
        a.jump_if("equal", "parts other")
        a.compare(R13, RCX)
        a.jump_if("below", "parts other")           # given by name
        a.label("parts operand")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "parts other")
        a.call("look")
        a.test(RAX)
        a.jump_if("equal", "parts refused")
        self._place()
        self.is_objects(RAX, RCX)
        a.jump_if("other", "parts placed")
        a.jump("parts refused")
        a.label("parts other")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("equal", "parts refused")
        a.call("argument")
        a.test(RAX)
        a.jump_if("equal", "parts refused")
        self._place()
        self.on("Py_IncRef", RAX)
        a.label("parts placed")
        a.load(RCX, LEFT)
        a.compare(GIVEN, RCX)
        a.jump_if("below", "parts run")             # the first is not among those
        a.jump("parts next")

        a.label("parts run")
        self._run(NUMPYS, VALUES, 1)
        a.store(RESULT, RAX)

    def _place(self) -> None:
        """rax is the next one."""
        a = self.asm
        a.load(RCX, LEFT)
        a.copy(RDX, RCX)
        a.times_word(RDX)
        a.increase(RDX, RSP)
        a.store(At(RDX, VALUES), RAX)
        a.add(RCX, 1)
        a.store(LEFT, RCX)

    def answer(self) -> None:
        a, k = self.asm, self.known
        a.load(RAX, RESULT)
        a.test(RAX)
        a.jump_if("equal", "parts answered")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "parts array")
        a.copy(RDI, RAX)
        a.call("unwrap")
        a.test(RAX)
        a.jump_if("other", "parts answered")
        a.jump("parts thrown away")
        a.label("parts array")
        a.compare_number(At(RAX, BASE), 0)
        a.jump_if("other", "parts thrown away")
        a.copy(RDI, RAX)
        a.call("nbytes")
        a.compare_number(RAX, k.plain)
        a.jump_if("above", "parts thrown away")
        self.count()
        a.constant(RSI, k.none)
        a.jump("take wrap")
        a.label("parts answered")
        self.count()
        a.jump("take done")
        a.label("parts thrown away")                # nothing was written to, so Python may do it again
        self.on("Py_DecRef", RESULT)

    def refused(self) -> None:
        """Back, without those that were placed."""
        a = self.asm
        a.label("parts refused")
        a.load(RCX, LEFT)
        a.test(RCX)
        a.jump_if("equal", "call back")
        a.add(RCX, -1)
        a.store(LEFT, RCX)
        a.times_word(RCX)
        a.increase(RCX, RSP)
        self.on("Py_DecRef", At(RCX, VALUES))
        a.jump("parts refused")

    def numpy_asks(self) -> None:
        """As `array_ufunc`, where an operand is managed."""
        a, k = self.asm, self.known
        x, y = At(RSP, VALUES), At(RSP, VALUES + 8)
        a.label("array ufunc parts")
        for at, place, leave in ((16, x, "call back"), (24, y, "array ufunc one")):
            a.load(RDI, At(R12, at))
            a.call("look")
            a.test(RAX)
            a.jump_if("equal", leave)
            a.store(place, RAX)
        for place in (x, y):
            a.load(RDI, place)
            self.compare(At(RDI, TYPE), k.real, RAX)
            a.jump_if("other", "array ufunc run")
        a.load(RDI, x)
        a.load(RSI, y)
        a.call("fits")
        a.test(RAX)
        a.jump_if("other", "array ufunc run")
        self.on("Py_DecRef", y)
        a.label("array ufunc one")
        self.on("Py_DecRef", x)
        a.jump("call back")
