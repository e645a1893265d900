"""Routines on arrays and operands, which bodies of machine code have in common.

A routine takes rdi (and rsi), answers in rax, and leaves all registers alone that functions keep.
"""

from __future__ import annotations

from lazyarr.object_fields import BOOLS, DTYPE, ITEMS, LENGTH, LIST_ITEMS, TYPE, TYPE_NUMBER
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R11, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class Routines(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.wrap, self.counted, self.written, self.moved, self.unwrap, self.index, self.argument,
            self.types, self.refused,
        ):  # fmt: skip
            write()

    def wrap(self) -> None:
        """rdi: a result, or zero.   rsi: the array that it is a view of, or None.   rax: ours, if an array.

        As `arrays.wrapped` and `arrays.part`."""
        a, k = self.asm, self.known
        a.label("wrap")
        a.copy(RAX, RDI)
        a.test(RAX)
        a.jump_if("equal", "wrap as it is")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "wrap as it is")
        self.reserve(8, RBX, RBP)
        a.copy(RBX, RDI)
        a.copy(RBP, RSI)
        self.on("Py_IncRef", RBP)                   # (an allocation may collect garbage)
        a.constant(RDI, k.lazy)
        a.zero(RSI)
        a.constant(R11, "PyType_GenericAlloc")
        self.call_or("array begins", "wrap no memory")
        a.store(At(RAX, k.geo), RBX)
        a.constant(RCX, k.none)
        a.store(At(RAX, k.storage), RCX)
        a.store(At(RAX, k.origin), RBP)
        a.copy(RBX, RAX)
        a.copy(RDI, RCX)
        self.call("Py_IncRef")
        self.unless_raised("wrap done", RAX)
        self.compare(RBP, k.none, RAX)
        a.jump_if("equal", "wrap new")
        a.label("wrap done")
        a.copy(RAX, RBX)
        self.release(8, RBX, RBP)
        a.label("wrap as it is")
        a.leave()
        a.label("wrap no memory")
        self.on("Py_DecRef", RBX, RBP)
        a.zero(RBX)
        a.jump("wrap done")
        self.large()

    def large(self) -> None:
        """A new array, rbx, that may be large: then it is counted, as long as more than that is NumPy's."""
        a, k = self.asm, self.known
        a.label("wrap new")
        self.unless_raised("wrap done", RAX)
        a.load(RDI, At(RBX, k.geo))
        a.load(RAX, At(RDI, DTYPE))
        a.compare_number(At(RAX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("equal", "wrap truths")           # (what is compared counts, and that is wider)
        a.call("words")
        a.jump("wrap sized")
        a.label("wrap truths")
        a.call("size")
        a.label("wrap sized")
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "wrap large")
        a.jump("wrap done")
        a.label("wrap large")
        a.call("counted")
        a.test(RAX)
        a.jump_if("other", "wrap done")
        self.on("Py_DecRef", RBX)
        a.zero(RBX)
        a.jump("wrap done")

    def counted(self) -> None:
        """One more result of medium size (`direct`), of which Python hears now and then.   rax: zero if that
        raised something, by a signal's handler, say."""
        a, k = self.asm, self.known
        a.label("counted")
        a.add(RSP, -8)
        a.constant(RAX, k.made)
        a.count(At(RAX))
        a.load(RCX, At(RAX))
        self.above_limit(RCX, "counted heard", RDX, k.until)
        a.label("counted leave")
        a.constant(RAX, 1)
        a.add(RSP, 8)
        a.leave()
        a.label("counted heard")
        a.constant(RDI, k.hear)
        for register in (RSI, RDX, RCX):
            a.zero(register)
        self.call("PyObject_Vectorcall")
        a.test(RAX)
        a.jump_if("equal", "counted raised")
        self.on("Py_DecRef", RAX)
        a.jump("counted leave")
        a.label("counted raised")
        a.zero(RAX)
        a.add(RSP, 8)
        a.leave()

    def written(self) -> None:
        """rdi: the real array that was written over, or its geometry, or zero: counts if it is large, as in
        Python (`elementwise.overwritten`).   rax: as of "counted"."""
        a, k = self.asm, self.known
        a.label("written")
        self.unless_raised("written leave", RAX)
        a.test(RDI)
        a.jump_if("equal", "written leave")
        a.call("size")
        a.compare_number(RAX, k.over)
        a.jump_if("above", "counted")
        a.label("written leave")
        a.constant(RAX, 1)
        a.leave()

    def moved(self) -> None:
        """rdi: elements that were assigned: they count if they are many.   rax: as of "counted".

        "elements of": rdi: a value.   rax: its elements; 0 for a scalar."""
        a, k = self.asm, self.known
        a.label("moved")
        self.unless_raised("moved leave", RAX)
        a.compare_number(RDI, k.moved)
        a.jump_if("above", "counted")
        a.label("moved leave")
        a.constant(RAX, 1)
        a.leave()
        a.label("elements of")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("equal", "size")
        a.zero(RAX)
        a.leave()

    def unwrap(self) -> None:
        """rdi: an operand.   rax: the real array of a plain one, a scalar itself, else zero.
        "operand": the same, or one of NumPy's own small arrays, as libraries give them.

        (Plain arrays that are larger than others are Python's, unless such are made just now: `direct`.)"""
        a, k = self.asm, self.known
        a.label("unwrap")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("other", "unwrap scalar")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "unwrap neither")
        a.push(RDI, RDX)
        a.load(RDI, At(RDI, k.geo))
        a.test(RDI)
        a.jump_if("equal", "unwrap large")          # not whole yet
        a.call("nbytes")
        a.copy(RDX, RDI)
        self.above_limit(RAX, "unwrap large", RCX, k.most)
        a.copy(RAX, RDX)
        a.pop(RDX, RDI)
        a.leave()
        a.label("unwrap large")
        a.pop(RDX, RDI)
        a.label("unwrap neither")
        a.zero(RAX)
        a.leave()
        a.label("operand")                          # (what NumPy's arrays refer to never waits)
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "unwrap")
        a.push(RDI, RDX)
        self.is_objects(RDI, RAX)
        a.jump_if("equal", "unwrap large")
        a.call("nbytes")
        self.above_limit(RAX, "unwrap large", RCX, k.most)
        a.pop(RDX, RDI)
        a.copy(RAX, RDI)
        a.leave()
        a.label("unwrap scalar")
        self.found_in(k.operands, "unwrap")
        a.copy(RAX, RDI)
        a.leave()

    def index(self) -> None:
        """rdi: a key.   rax: a plain array's real one; itself, if it makes views or elements, or is a list of
        scalars; else zero."""
        a, k = self.asm, self.known
        a.label("index")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("equal", "unwrap")
        self.compare(RAX, k.tuples, RCX)
        a.jump_if("equal", "index tuple")
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "argument list")
        self.compare(RAX, k.real, RCX)
        a.jump_if("equal", "operand")
        self.found_in(k.indices, "index")
        a.copy(RAX, RDI)
        a.leave()
        a.label("index tuple")
        self.each_found_in(k.indices, "index tuple")

    def argument(self) -> None:
        """rdi: an argument.   rax: the real array of a plain one; what holds no arrays itself; else zero."""
        a, k = self.asm, self.known
        a.label("argument")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("equal", "argument array")
        self.compare(RAX, k.tuples, RCX)
        a.jump_if("equal", "argument tuple")
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "argument list")
        self.found_in(k.inert, "argument")
        a.copy(RAX, RDI)
        a.leave()
        a.label("argument array")                   # of objects, which may be arrays: Python's business
        self.call_or("unwrap", "argument none")
        self.is_objects(RAX, RCX)
        a.jump_if("other", "argument none")
        a.zero(RAX)
        a.label("argument none")
        a.leave()
        a.label("value")                            # of an assignment
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("other", "operand")
        a.label("argument list")                    # (NumPy reads it, and keeps it nowhere)
        a.load(R8, At(RDI, LENGTH))
        a.load(RSI, At(RDI, LIST_ITEMS))
        a.compare_number(R8, k.eager)
        a.jump_if("below", "argument tuple part")
        a.zero(RAX)
        a.leave()
        a.label("argument tuple")
        self.each_found_in(k.inert, "argument tuple")

    def types(self) -> None:
        """rax: a type.   rax: itself, if it is one of numbers, of complex ones, of what makes views and
        elements as part of a key; else zero; rcx and rdx are lost."""
        a, k = self.asm, self.known
        for routine, types in (
            ("scalar type", k.scalars), ("complex type", k.complexes), ("index type", k.indices),
        ):  # fmt: skip
            a.label(routine)
            self.found_in(types, routine)
            a.leave()

    def refused(self) -> None:
        """rax: not zero if it was NumPy that did not take a key, and nothing is to be raised any more.

        What else was raised, by a signal's handler, say, while NumPy read a list, is not to be lost."""
        a = self.asm
        a.label("refused")
        a.add(RSP, -8)
        a.constant(RDI, self.known.refusals)
        self.call("PyErr_ExceptionMatches")
        a.test_int(RAX)
        a.jump_if("equal", "refused leave")
        self.call("PyErr_Clear")
        a.constant(RAX, 1)
        a.label("refused leave")
        a.add(RSP, 8)
        a.leave()

    def each_found_in(self, types: str, routine: str) -> None:
        """rdi: a tuple.   Answer itself if the types of its parts are in a list; else zero."""
        a = self.asm
        a.load(R8, At(RDI, LENGTH))
        a.place(RSI, At(RDI, ITEMS))
        a.label(f"{routine} part")
        a.test(R8)
        a.jump_if("equal", f"{routine} whole")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        self.call_or(f"{routine} type", f"{routine} answer")
        a.add(RSI, 8)
        a.count_down(R8)
        a.jump(f"{routine} part")
        a.label(f"{routine} whole")
        a.copy(RAX, RDI)
        a.label(f"{routine} answer")
        a.leave()
        a.label(f"{routine} type")
        self.found_in(types, f"{routine} type")
        a.leave()
