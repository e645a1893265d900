"""What NumPy asks lazy arrays (`__array_ufunc__`), in machine code.

In:  as methods have it (`calls`): a ufunc, how it was called, one or two operands, one of them ours; perhaps
one of NumPy's arrays as `out`.
Out: the ufunc's answer on the real arrays; `part_calls` and Python go on with anything else.
"""

from __future__ import annotations

from lazyarr.object_fields import ITEMS, LENGTH, NOUT, TYPE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import LEFT, RESULT, VALUES, Calls
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R12, R13, R14, RAX, RCX, RDI, RDX, RSI, RSP

INTO = LEFT
"""One of NumPy's arrays to which is written, or zero: `array_ufunc` has no loops."""


class Asked(Calls):
    """Writes the body."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        Writer.__init__(self, asm, known)
        self.array_ufunc()

    def array_ufunc(self) -> None:
        """(array, [ufunc, method, one or two operands], count, names): NumPy asks, as its scalar, array or
        ufunc met a lazy array; one of NumPy's arrays may be named as `out`."""
        a, k = self.asm, self.known
        x, y = At(RSP, VALUES), At(RSP, VALUES + 8)
        a.label("array ufunc")
        self._enter_method("array ufunc")
        a.zero(RAX)
        a.store(INTO, RAX)
        a.test(R14)
        a.jump_if("other", "array ufunc named")
        a.label("array ufunc asked")
        a.place(RAX, At(R13, -3))
        a.compare_number(RAX, 1)
        a.jump_if("above", "call back")
        a.load(RDI, At(R12))
        self.compare(At(RDI, TYPE), k.ufunc, RAX)
        a.jump_if("other", "call back")
        a.compare_number(At(RDI, NOUT), 1, wide=False)
        a.jump_if("other", "call back")
        a.load(RDI, At(R12, 8))
        self.compare(At(RDI, TYPE), k.text, RAX)
        a.jump_if("other", "call back")
        a.constant(RSI, k.call)
        self.call("PyUnicode_CompareWithASCIIString")
        a.test_int(RAX)
        a.jump_if("other", "call back")
        a.compare_number(R13, 3)
        a.jump_if("equal", "array ufunc only")
        for at, place in ((16, x), (24, y)):
            a.load(RDI, At(R12, at))
            self.call_or("operand", "array ufunc parts")
            a.store(place, RAX)
        for place in (x, y):                        # a scalar fits whatever the array
            a.load(RDI, place)
            self.compare(At(RDI, TYPE), k.real, RAX)
            a.jump_if("other", "array ufunc fits")
        a.load(RDI, x)
        a.load(RSI, y)
        self.call_or("fits", "call back")
        a.label("array ufunc fits")
        self.on("Py_IncRef", x, y)
        a.label("array ufunc run")
        self._call_asked()
        self.on("Py_DecRef", x, y)
        a.label("array ufunc ran")
        self.count()
        a.compare_number(INTO, 0)
        a.jump_if("other", "call exit")             # it is `out`
        a.load(RDI, RESULT)
        a.constant(RSI, k.none)
        a.call("wrap")
        a.store(RESULT, RAX)
        a.jump("call exit")

        a.label("array ufunc only")
        a.load(RDI, At(R12, 16))
        self.call_or("operand", "call back")
        a.store(x, RAX)
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "call back")
        a.copy(RDI, RAX)
        a.call("words")
        self.above_limit(RAX, "call back", RCX)
        self.on("Py_IncRef", x)
        self._call_asked()
        self.on("Py_DecRef", x)
        a.jump("array ufunc ran")

        a.label("array ufunc named")
        a.compare_number(At(R14, LENGTH), 1)
        a.jump_if("other", "call back")
        a.load(RDI, At(R14, ITEMS))
        a.constant(RSI, k.out)
        self.call("PyUnicode_CompareWithASCIIString")
        a.test_int(RAX)
        a.jump_if("other", "call back")
        a.copy(RCX, R13)
        a.times_word(RCX)
        a.increase(RCX, R12)
        a.load(RCX, At(RCX))
        self.compare(At(RCX, TYPE), k.tuples, RAX)
        a.jump_if("other", "call back")
        a.compare_number(At(RCX, LENGTH), 1)
        a.jump_if("other", "call back")
        a.load(RDI, At(RCX, ITEMS))
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "call back")
        a.call("operand")                           # (not of objects)
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.store(INTO, RAX)
        a.call("words")
        self.above_limit(RAX, "call back", RCX)
        a.jump("array ufunc asked")

    def _call_asked(self) -> None:
        """The ufunc on what is on the stack; an `out` lies behind."""
        a, k, label = self.asm, self.known, f"asked {len(self.asm.code)}"
        a.place(RDX, At(R13, -2))
        a.zero(RCX)
        a.load(RAX, INTO)
        a.test(RAX)
        a.jump_if("equal", label)
        a.constant(RCX, k.outs)
        a.copy(RDI, RDX)
        a.times_word(RDI)
        a.increase(RDI, RSP)
        a.store(At(RDI, VALUES), RAX)
        a.label(label)
        a.load(RDI, At(R12))
        a.place(RSI, At(RSP, VALUES))
        self.call("PyObject_Vectorcall")
        a.store(RESULT, RAX)
