"""What is done when storages and buffers end (`Storage.__del__`, `Buffer.__del__`), and when garbage is
collected (`resting.Collecting.hear`), in machine code.

In:  the object.   Out: nothing; what is not of the usual kind goes on in Python's method.
A signal's handler runs where the next function of Python's begins.  Where that is a finalizer or a callback
of the collector, what the handler raises is printed and forgotten, Ctrl-C among it, and the function does not
run: so none of ours should be there whenever an array is dropped.
Always holds: an exception that is on its way when something ends is there afterwards.
"""

from __future__ import annotations

from lazyarr.object_fields import BASE, DIMS, ITEMS, LENGTH, LIST_ITEMS, REFERENT, TYPE
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R11, R12, R13, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

KEPT = RBX, RBP, R12, R13
ERROR = 24
"""Bytes on the stack for the three words of an exception: with the registers and the return address, a
multiple of 16."""


class Endings(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.storage, self.buffer, self.end, self.collector:
            write()

    def storage(self) -> None:
        """(storage): its value counts no more; if it exists, nobody may be left who needs it."""
        a, k = self.asm, self.known
        a.label("storage ends")
        self._unless_collecting("ends by Python")
        self._attribute(RDX, RDI, k.value)
        self._attribute(RCX, RDX, k.op)
        self.compare(RCX, k.none, RAX)
        a.jump_if("equal", "storage computed")
        self._attribute(RCX, RDX, k.nbytes)
        self._enter(RDX)
        a.constant(R12, k.ledger)
        a.load(RDI, At(R12, k.unallocated))
        a.load(RSI, At(RBX, k.nbytes))
        self.call("PyNumber_Subtract")
        a.test(RAX)
        a.jump_if("equal", "end")
        a.load(RDI, At(R12, k.unallocated))
        a.store(At(R12, k.unallocated), RAX)
        self.call("Py_DecRef")
        a.jump("end")

        a.label("storage computed")
        self._attribute(RCX, RDX, k.home)
        self.compare(RCX, k.owed, RAX)
        a.jump_if("equal", "ends by Python")
        self._attribute(RCX, RDX, k.buf)
        self.compare(RCX, k.none, RAX)
        a.jump_if("equal", "ended")
        self.compare(At(RCX, TYPE), k.buffers, RAX)
        a.jump_if("other", "ends by Python")
        self._attribute(RCX, RDX, k.readers)
        self.compare(RCX, k.none, RAX)
        a.jump_if("equal", "ended")
        self.compare(At(RCX, TYPE), k.lists, RAX)
        a.jump_if("other", "ends by Python")
        a.load(RSI, At(RCX, LENGTH))
        a.load(RCX, At(RCX, LIST_ITEMS))
        a.label("storage reader")                   # do they wait for it?
        a.test(RSI)
        a.jump_if("equal", "ended")
        a.load(RDX, At(RCX))
        a.load(RDX, At(RDX, REFERENT))
        a.add(RCX, 8)
        a.add(RSI, -1)
        self.compare(RDX, k.none, RAX)
        a.jump_if("equal", "storage reader")
        self.compare(At(RDX, k.op), k.none, RAX)
        a.jump_if("equal", "storage reader")
        a.jump("ends by Python")
        a.label("ended")
        a.leave()

    def buffer(self) -> None:
        """(buffer): memory that nobody else holds is kept warm (`buffers.keep_warm`)."""
        a, k = self.asm, self.known
        a.label("buffer ends")
        self._unless_collecting("ends by Python")
        self._attribute(RCX, RDI, k.orphan)
        self.compare(RCX, k.false, RAX)
        a.jump_if("other", "ends by Python")
        self._attribute(RCX, RDI, k.bridge)
        self.compare(RCX, k.none, RAX)
        a.jump_if("other", "ended")
        self._attribute(RCX, RDI, k.memory)
        a.compare_number(At(RCX), 1, wide=False)
        a.jump_if("other", "ended")
        a.load(RCX, At(RCX, BASE))
        a.test(RCX)
        a.jump_if("equal", "ended")
        self.compare(At(RCX, TYPE), k.blocks, RAX)
        a.jump_if("other", "ended")
        for place in k.extent, k.address:
            self._attribute(RCX, RDI, place)
        self._enter(RDI)
        a.constant(RDI, k.warm)
        a.load(RSI, At(RBX, k.extent))
        self.call("PyDict_GetItemWithError")
        a.test(RAX)
        a.jump_if("equal", "end")                   # no such size is kept
        a.copy(R12, RAX)                            # (what runs Python may drop it from the dict)
        self.on("Py_IncRef", R12)
        a.load(RCX, At(RBX, k.memory))
        a.load(RCX, At(RCX, DIMS))
        a.load(R13, At(RCX))
        a.zero(RAX)
        a.compare_number(R13, k.warm_most)
        a.jump_if("above", "buffer one")
        a.add(RAX, k.warm_each - 1)
        a.label("buffer one")
        a.compare(At(R12, LENGTH), RAX)
        a.jump_if("above", "buffer leaves")
        a.load(RDI, At(RBX, k.extent))
        self.call("PyLong_AsSsize_t")
        a.compare(R13, RAX)
        a.jump_if("other", "buffer leaves")
        self._look_up("allocator", "free", "buffer leaves")     # is there room for more?
        a.load(R13, At(RAX, k.total))
        self.on("Py_DecRef", RAX)
        a.copy(RDI, R13)
        self.call("PyLong_AsSsize_t")
        a.copy(R13, RAX)
        self._look_up("options", "cache bytes", "buffer leaves")
        a.copy(RBP, RAX)
        a.copy(RDI, RAX)
        self.call("PyLong_AsSsize_t")
        a.decrease(RAX, R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", RBP)
        a.test(R13)
        a.jump_if("negative", "buffer leaves")
        a.compare_number(R13, k.warm_room)
        a.jump_if("below", "buffer leaves")

        a.constant(RDI, 2)
        self.call("PyTuple_New")
        a.test(RAX)
        a.jump_if("equal", "buffer leaves")
        a.copy(R13, RAX)
        for at, place in enumerate((k.memory, k.address)):
            a.load(RDI, At(RBX, place))
            a.store(At(R13, ITEMS + 8 * at), RDI)
            self.call("Py_IncRef")
        a.copy(RDI, R12)
        a.copy(RSI, R13)
        self.call("PyList_Append")
        self.on("Py_DecRef", R13)
        a.label("buffer leaves")
        self.on("Py_DecRef", R12)
        a.jump("end")

    def end(self) -> None:
        a = self.asm
        a.label("end")
        for at, register in enumerate((RDI, RSI, RDX)):
            a.load(register, At(RSP, 8 * at))
        self.call("PyErr_Restore")
        self.release(ERROR, *KEPT)
        a.leave()
        a.label("ends by Python")
        a.jump_to(R11)

    def collector(self) -> None:
        """(nothing, [phase, ...]), a function of Python's: garbage is being collected, or has been."""
        a, k = self.asm, self.known
        a.label("collector")
        a.push(RBX)
        a.load(RDI, At(RSI))
        a.constant(RSI, "start")
        self.call("PyUnicode_CompareWithASCIIString")
        a.constant(RBX, k.collecting)
        a.test_int(RAX)
        a.jump_if("other", "collector ended")
        self.call("PyThread_get_thread_ident")
        a.copy(RDI, RAX)
        self.call("PyLong_FromUnsignedLong")
        a.test(RAX)
        a.jump_if("equal", "collector gives")
        a.load(RDI, At(RBX, k.now))
        a.store(At(RBX, k.now), RAX)
        self.call("Py_DecRef")
        a.jump("collector done")
        a.label("collector ended")
        a.constant(RDI, "zero")
        self.call("Py_IncRef")
        a.load(RDI, At(RBX, k.now))
        a.constant(RAX, "zero")
        a.store(At(RBX, k.now), RAX)
        self.call("Py_DecRef")
        a.load(RAX, At(RBX, k.ended))
        a.compare_number(At(RAX, LENGTH), 0)
        a.jump_if("equal", "collector done")
        a.constant(RDI, "bring back")
        a.zero(RSI)
        a.zero(RDX)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")
        a.jump("collector gives")
        a.label("collector done")
        a.constant(RDI, k.none)
        self.call("Py_IncRef")
        a.constant(RAX, k.none)
        a.label("collector gives")
        a.pop(RBX)
        a.leave()

    # ---------------------------------------------------------------------------------------- their parts

    def _unless_collecting(self, label: str) -> None:
        """On, unless garbage is being collected (`resting.Collecting`)."""
        self.asm.constant(RCX, self.known.collecting)
        self.compare(At(RCX, self.known.now), "zero", RAX)
        self.asm.jump_if("other", label)

    def _attribute(self, to: int, base: int, place: int) -> None:
        """An attribute; Python goes on where it is not set."""
        a = self.asm
        a.load(to, At(base, place))
        a.test(to)
        a.jump_if("equal", "ends by Python")

    def _enter(self, register: int) -> None:
        """rbx: what is in a register.  The exception that is on its way is put aside."""
        a = self.asm
        self.reserve(ERROR, *KEPT)
        a.copy(RBX, register)
        for at, given in enumerate((RDI, RSI, RDX)):
            a.place(given, At(RSP, 8 * at))
        self.call("PyErr_Fetch")

    def _look_up(self, owner: str, name: str, leave: str) -> None:
        """rax: an attribute of an object that has no place for it; on to a label, where there is none."""
        a = self.asm
        a.constant(RDI, owner)
        a.constant(RSI, name)
        self.call("PyObject_GetAttr")
        a.test(RAX)
        a.jump_if("equal", leave)
