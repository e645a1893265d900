"""Methods and functions that ask a managed array's geometry alone, in machine code: views, shapes.

In:  as `part_calls` has it, whose loop finds the other arguments; which ones these are (`tables.SHAPES`).
Out: the array itself, a view of it, whatever its value, or a number or tuple that tells of its shape, which
count as no work; what NumPy answers else is looked at as if it had read the array.
NumPy must not read what a geometry describes: it runs on one only where it copies nothing, whatever is asked.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    BASE,
    C_CONTIGUOUS,
    COMPLEX,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMS,
    LENGTH,
    NDIM,
    SCALARS,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import AT, GIVEN, LEFT, RESULT, SHAPES, VALUES, Calls
from lazyarr.slots.known import Known
from lazyarr.slots.loop_tables import ENTRY, TYPES, word_of
from lazyarr.slots.tables import ANY, BARE, OWN, PACKED, REAL, VIEWED
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, RAX, RBX, RCX, RDI, RDX, RSI, RSP


class Shapes(Calls):
    """Writes the first argument's part, and the answer's."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        Writer.__init__(self, asm, known)
        for write in self.ask, self.answer, self.typed, self.own_type, self.of_window:
            write()

    def ask(self) -> None:
        """NumPy is given the geometry; on to "parts read" if it is not enough."""
        a, k = self.asm, self.known
        a.label("call parts")
        a.zero(RCX)
        a.store(LEFT, RCX)
        a.store(AT, RCX)
        a.compare_number(SHAPES, 0)
        a.jump_if("equal", "parts read")
        self.compare(At(RBX, TYPE), k.lazy, RAX)
        a.jump_if("other", "parts read")
        a.load(RCX, At(RBX, k.storage))
        self.compare(RCX, k.none, RAX)
        a.jump_if("equal", "parts read")
        a.load(RAX, At(RBX, k.geo))
        a.test(RAX)
        a.jump_if("equal", "parts read")            # it is not whole yet
        a.store(AT, RAX)
        a.compare_number(At(RAX, NDIM), 0, wide=False)
        a.jump_if("equal", "parts read")            # which some take for elements
        a.compare_number(SHAPES, ANY)
        a.jump_if("equal", "shapes asked")
        for kind, label in ((OWN, "own"), (REAL, "real"), (VIEWED, "of any type")):
            a.compare_number(SHAPES, kind)
            a.jump_if("equal", f"shapes {label}")
        self.unless_flagged(RAX, C_CONTIGUOUS, "parts read", RCX)
        a.test(R14)
        a.jump_if("other", "shapes named")
        a.copy(R10, R12)
        a.load(R11, GIVEN)
        a.label("shapes next")
        a.test(R11)
        a.jump_if("equal", "shapes asked")
        a.compare_number(SHAPES, BARE)
        a.jump_if("equal", "shapes typed")
        a.load(RDX, At(R10))
        a.load(RDX, At(RDX, TYPE))
        self.compare(RDX, k.integers, RCX)
        a.jump_if("equal", "shapes on")
        self.compare(RDX, k.tuples, RCX)
        a.jump_if("other", "parts read")
        a.label("shapes on")
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("shapes next")
        a.label("shapes asked")
        a.store(At(RSP, VALUES), RAX)
        self.on("Py_IncRef", RAX)
        a.constant(RCX, 1)
        a.store(LEFT, RCX)
        a.jump("parts placed")

    def answer(self) -> None:
        """rax: what NumPy answered."""
        a, k = self.asm, self.known
        a.label("shapes answer")
        a.load(RDX, At(RSP, VALUES))
        a.compare(At(RBX, k.geo), RDX)              # (no window is that; NumPy's code may run others')
        a.jump_if("other", "parts answer read")
        a.load(RSI, At(RBX, k.storage))
        a.test(RSI)
        a.jump_if("equal", "parts answer read")
        self.compare(At(RSI, TYPE), k.storages, RCX)
        a.jump_if("other", "parts answer read")
        a.compare(RAX, RDX)
        a.jump_if("equal", "shapes same")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "shapes told")
        a.load(RCX, At(RAX, BASE))
        a.test(RCX)
        a.jump_if("equal", "parts answer read")
        a.compare(At(RDX, BASE), RCX)
        a.jump_if("other", "parts answer read")
        a.load(RDX, At(RDX, DTYPE))                 # some types are not the engine's business
        a.load(RCX, At(RAX, DTYPE))
        a.compare(RCX, RDX)
        a.jump_if("equal", "shapes viewed")
        a.load_int(RDX, At(RCX, TYPE_NUMBER))
        a.compare_number(RDX, TYPES - 1)
        a.jump_if("above", "parts thrown away")
        a.constant(RDI, ENTRY)
        a.multiply(RDX, RDI)
        a.constant(RDI, word_of("add"))
        a.increase(RDI, RDX)
        a.compare(At(RDI), RCX)                     # (in the machine's byte order)
        a.jump_if("other", "parts thrown away")
        a.label("shapes viewed")
        a.store(AT, RSI)
        self.on("Py_IncRef", RSI)
        a.load(RDI, RESULT)
        self.viewed()
        a.call("wrap")
        a.store(RESULT, RAX)
        a.test(RAX)
        a.jump_if("equal", "shapes no view")
        a.load(RCX, AT)
        a.store(At(RAX, k.storage), RCX)
        a.constant(RDI, k.none)                     # which was there
        self.call("Py_DecRef")
        a.jump("take done")
        a.label("shapes no view")
        self.on("Py_DecRef", AT)
        a.jump("take done")
        a.label("shapes same")
        self.on("Py_IncRef", RBX)
        self.on("Py_DecRef", RESULT)
        a.store(RESULT, RBX)
        a.jump("take done")
        a.label("shapes told")
        a.copy(RDI, RAX)
        a.call("argument")
        a.test(RAX)
        a.jump_if("other", "take done")
        a.jump("parts thrown away")

    def typed(self) -> None:
        """The geometry is in rax; AT, too."""
        a, k = self.asm, self.known
        a.label("shapes typed")                     # asarray(x, float)
        a.compare_number(GIVEN, 1)
        a.jump_if("other", "parts read")
        a.label("shapes type given")
        a.load(RDI, At(R12))
        a.load(RSI, AT)
        self.call_or("own type", "parts read")
        a.load(RAX, AT)
        a.jump("shapes asked")

        a.label("shapes named")                     # asarray(x, dtype=float)
        a.compare_number(SHAPES, BARE)
        a.jump_if("other", "parts read")
        a.compare_number(GIVEN, 1)
        a.jump_if("other", "parts read")
        a.compare_number(At(R14, LENGTH), 1)
        a.jump_if("other", "parts read")
        a.load(RDI, At(R14, ITEMS))
        a.constant(RSI, k.dtype)
        self.call("PyUnicode_CompareWithASCIIString")
        a.test_int(RAX)
        a.jump_if("equal", "shapes type given")
        a.jump("parts read")

        a.label("shapes own")                       # x.astype(float, copy=False)
        a.compare_number(R13, 1)
        a.jump_if("other", "parts read")
        a.test(R14)
        a.jump_if("equal", "parts read")
        a.compare_number(At(R14, LENGTH), 1)
        a.jump_if("other", "parts read")
        self.compare(At(R12, 8), k.false, RCX)
        a.jump_if("other", "parts read")
        a.load(RDI, At(R14, ITEMS))
        a.constant(RSI, k.copy)
        self.call("PyUnicode_CompareWithASCIIString")
        a.test_int(RAX)
        a.jump_if("equal", "shapes type given")
        a.jump("parts read")

        a.label("shapes real")                      # x.conj()
        a.load(RCX, At(RAX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), COMPLEX, wide=False)
        a.jump_if("below", "shapes bare")
        a.jump("parts read")
        a.label("shapes bare")
        a.compare_number(GIVEN, 0)
        a.jump_if("equal", "shapes asked")
        a.jump("parts read")

        a.label("shapes of any type")               # x.view('i8')
        a.compare_number(GIVEN, 0)
        a.jump_if("equal", "shapes asked")
        a.compare_number(GIVEN, 1)
        a.jump_if("other", "parts read")
        a.test(R14)
        a.jump_if("other", "parts read")
        self.compare(At(R12), k.lazy, RCX)
        a.jump_if("other", "shapes asked")
        a.jump("parts read")

    def own_type(self) -> None:
        """rdi: an object.   rsi: a geometry.   rax: not zero if NumPy reads the object as the geometry's
        type."""
        a, k = self.asm, self.known
        a.label("own type")
        a.load(RCX, At(RSI, DTYPE))
        a.copy(RAX, RDI)
        a.compare(RCX, RDI)
        a.jump_if("equal", "own type leave")
        a.compare(At(RCX, SCALARS), RDI)
        a.jump_if("equal", "own type leave")
        for python, numpys in ((k.floats, k.doubles), (k.integers, k.words)):
            self.compare(RDI, python, RDX)
            a.jump_if("other", f"own type not {python}")
            self.compare(RCX, numpys, RDX)
            a.jump_if("equal", "own type leave")
            a.label(f"own type not {python}")
        a.zero(RAX)
        a.label("own type leave")
        a.leave()

    def of_window(self) -> None:
        """rdi: a view of a window, as `reshape` makes where no copy is needed, though rows have gaps: the
        same view of the geometry, if it is still the one that the window shows."""
        a, k = self.asm, self.known
        a.label("shapes of window")
        a.compare_number(SHAPES, PACKED)
        a.jump_if("other", "parts thrown away")
        a.load(R10, At(RBX, k.geo))
        a.compare(AT, R10)
        a.jump_if("other", "parts thrown away")
        a.load(RSI, At(RBX, k.storage))
        a.test(RSI)
        a.jump_if("equal", "parts thrown away")
        self.compare(At(RSI, TYPE), k.storages, RCX)
        a.jump_if("other", "parts thrown away")
        a.load(R9, At(RDI, DATA))
        a.load(RDX, At(RSP, VALUES))
        a.decrease(R9, At(RDX, DATA))
        a.increase(R9, At(R10, DATA))
        a.store(LEFT, R9)
        a.store(AT, RDI)
        a.load_int(RAX, At(R10, FLAGS))
        a.add(RSP, -16)                             # two arguments
        a.store(At(RSP), RAX)
        a.zero(RAX)
        a.store(At(RSP, 8), RAX)
        a.load(RDI, At(RDI, DTYPE))
        self.call("Py_IncRef")                      # the new array's reference
        a.load(RAX, AT)
        a.constant(RDI, k.real)
        a.load(RSI, At(RAX, DTYPE))
        a.load_int(RDX, At(RAX, NDIM))
        a.load(RCX, At(RAX, DIMS))
        a.load(R8, At(RAX, STRIDES))
        a.load(R9, LEFT)
        self.call("PyArray_NewFromDescr")
        a.add(RSP, 16)
        a.test(RAX)
        a.jump_if("equal", "shapes not seen")
        a.store(LEFT, RAX)
        self.on("Py_DecRef", RESULT)
        a.load(RAX, LEFT)
        a.store(RESULT, RAX)
        self.on("Py_IncRef", At(RBX, k.geo))
        a.load(RDI, RESULT)
        a.load(RSI, At(RBX, k.geo))
        self.call("PyArray_SetBaseObject")
        a.load(RSI, At(RBX, k.storage))
        a.test_int(RAX)
        a.jump_if("equal", "shapes viewed")
        a.label("shapes not seen")
        self.call("PyErr_Clear")
        a.load(RCX, GIVEN)
        a.add(RCX, 1)
        a.store(LEFT, RCX)
        a.jump("parts thrown away")
