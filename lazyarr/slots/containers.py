"""Tuples and lists that NumPy answers with, in machine code.

In:  as `calls` has them: a new tuple, named tuple or list, in RESULT.
Out: itself, with our arrays in the place of NumPy's; Python finishes what is anything else (`calls`, "take by
Python"): a container or an array that somebody else refers to, arrays of objects, large ones, lists in
tuples that are not of scalars alone.
First all parts are looked at, then they are replaced: in between nothing is left to Python.
"""

from __future__ import annotations

from lazyarr.object_fields import BASE, ITEMS, LENGTH, LIST_ITEMS, TUPLES, TYPE, TYPE_FLAGS
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.calls import AT, LEFT, MOST, RESULT, VALUES
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP

FEW = 64
"""Parts up to which those with the same base are counted."""
FIRST = At(RSP, VALUES)
"""The first real argument."""


class Containers(Writer):
    """Writes the bodies, which begin and end in those of `calls`."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.container, self.parts, self.replace:
            write()

    def container(self) -> None:
        """To r10 where its parts are, to r11 how many."""
        a, k = self.asm, self.known
        a.label("take container")
        a.load(RDI, RESULT)
        a.compare_number(At(RDI), 1, wide=False)    # (of NumPy's making, and nobody else's)
        a.jump_if("other", "take by Python")
        a.load(R11, At(RDI, LENGTH))
        a.load(RCX, At(RDI, TYPE))
        self.compare(RCX, k.lists, RAX)
        a.jump_if("equal", "container list")
        a.load(RCX, At(RCX, TYPE_FLAGS))
        a.keep(RCX, TUPLES)
        a.jump_if("equal", "take by Python")
        a.place(R10, At(RDI, ITEMS))
        a.jump("container begin")
        a.label("container list")
        a.load(R10, At(RDI, LIST_ITEMS))
        a.label("container begin")
        a.compare_number(R11, MOST)
        a.jump_if("above", "take by Python")

    def parts(self) -> None:
        """Is each a scalar, a list of scalars, or a small array that is new, or a view of the first one?"""
        a, k = self.asm, self.known
        a.label("container next")
        a.test(R11)
        a.jump_if("equal", "container fits")
        a.load(RDI, At(R10))
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.real, RCX)
        a.jump_if("equal", "container array")
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "container inner")
        self.call_or("unwrap scalar", "take by Python")
        a.jump("container on")
        a.label("container inner")
        a.push(R10, R11)
        a.call("of values")                         # (which changes LEFT)
        a.pop(R11, R10)
        a.test(RAX)
        a.jump_if("equal", "take by Python")
        a.jump("container on")
        a.label("container array")
        a.compare_number(At(RDI), 1, wide=False)
        a.jump_if("other", "take by Python")
        self.is_objects(RDI, RAX)
        a.jump_if("equal", "take by Python")
        a.load(RCX, At(RDI, BASE))
        a.test(RCX)
        a.jump_if("equal", "container sized")
        self._if_view("container on")
        self._unless_shared()
        a.copy(RDI, RCX)
        a.label("container sized")
        self.call_keeping("nbytes", R10, R11)
        self.above_limit(RAX, "take by Python", RCX, k.most)
        a.label("container on")
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("container next")

    def replace(self) -> None:
        """Arrays by ours."""
        a, k = self.asm, self.known
        a.label("container fits")
        self._begin()
        a.label("container each")
        a.load(RAX, LEFT)
        a.test(RAX)
        a.jump_if("equal", "container whole")
        a.load(R10, AT)
        a.load(RDI, At(R10))
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "container replaced")
        self.call("Py_IncRef")                      # the container refers to it till the end
        a.load(R10, AT)
        a.load(RDI, At(R10))
        a.load(RCX, At(RDI, BASE))
        a.constant(RSI, k.none)
        a.test(RCX)
        a.jump_if("equal", "container wrap")
        self._if_view("container view")
        a.jump("container wrap")
        a.label("container view")
        self.viewed()
        a.label("container wrap")
        self.call_or("wrap", "container lost")
        a.load(R10, AT)
        a.load(RDI, At(R10))
        a.store(At(R10), RAX)
        self.call("Py_DecRef")
        a.label("container replaced")
        a.load(RAX, AT)
        a.add(RAX, 8)
        a.store(AT, RAX)
        a.load(RAX, LEFT)
        a.count_down(RAX)
        a.store(LEFT, RAX)
        a.jump("container each")
        a.label("container lost")                   # wrapping raised something
        self.on("Py_DecRef", RESULT)
        a.zero(RAX)
        a.store(RESULT, RAX)
        a.jump("take done")
        a.label("container whole")                  # (the collector forgets tuples of NumPy's arrays)
        self.on("PyObject_GC_IsTracked", RESULT)
        a.test_int(RAX)
        a.jump_if("other", "take done")
        self.on("PyObject_GC_Track", RESULT)
        a.jump("take done")

    def _unless_shared(self) -> None:
        """To Python, unless what a part is a view of, in rcx, is known to parts alone, as of `nonzero`."""
        a, k = self.asm, self.known
        self.compare(At(RCX, TYPE), k.real, RAX)
        a.jump_if("other", "take by Python")
        a.compare_number(At(RCX, BASE), 0)
        a.jump_if("other", "take by Python")
        a.load(R9, RESULT)
        a.load(R8, At(R9, LENGTH))
        a.compare_number(R8, FEW)
        a.jump_if("above", "take by Python")
        a.place(RDX, At(R9, ITEMS))
        self.compare(At(R9, TYPE), k.lists, RAX)
        a.jump_if("other", "container count")
        a.load(RDX, At(R9, LIST_ITEMS))
        a.label("container count")
        a.zero(R9)
        a.constant(RSI, k.real)
        a.label("container count next")
        a.test(R8)
        a.jump_if("equal", "container counted")
        a.load(RAX, At(RDX))
        a.compare(At(RAX, TYPE), RSI)
        a.jump_if("other", "container count on")
        a.compare(At(RAX, BASE), RCX)
        a.jump_if("other", "container count on")
        a.add(R9, 1)
        a.label("container count on")
        a.add(RDX, 8)
        a.count_down(R8)
        a.jump("container count next")
        a.label("container counted")
        a.compare(At(RCX), R9)
        a.jump_if("other", "take by Python")

    def _begin(self) -> None:
        """AT and LEFT, from the start."""
        a = self.asm
        a.load(RDI, RESULT)
        a.load(RAX, At(RDI, LENGTH))
        a.store(LEFT, RAX)
        a.place(RCX, At(RDI, ITEMS))
        self.compare(At(RDI, TYPE), self.known.lists, RAX)
        a.jump_if("other", "container begun")
        a.load(RCX, At(RDI, LIST_ITEMS))
        a.label("container begun")
        a.store(AT, RCX)

    def _if_view(self, to: str) -> None:
        """On to a label, if the base in rcx is the first real argument, or what that is a view of."""
        a, label = self.asm, f"no view {len(self.asm.code)}"
        a.load(RDX, FIRST)
        a.compare(RCX, RDX)
        a.jump_if("equal", to)
        self.compare(At(RDX, TYPE), self.known.real, RAX)
        a.jump_if("other", label)
        a.compare(At(RDX, BASE), RCX)
        a.jump_if("equal", to)
        a.label(label)
