"""Elements and small parts of large arrays, written to in machine code.

In:  what the bodies of assignments and of operators in place found no plain array (`items`, `bodies`).
Out: what NumPy does, at once, where nothing pending reads the value that is overwritten, and both array and
memory may be written to; else Python finds out what must be computed before.
"""

from __future__ import annotations

from lazyarr.object_fields import FLAGS, TYPE, WRITEABLE
from lazyarr.slots.assembler import (
    R9,
    R12,
    R13,
    R15,
    RAX,
    RBP,
    RBX,
    RDI,
    RDX,
    RSI,
    RSP,
    Assembler,
    At,
)  # fmt: skip
from lazyarr.slots.items import ELEMENT, VIEW
from lazyarr.slots.parts import KEEPS_GIL, NEEDLESS, TAKEN
from lazyarr.slots.routines import Framed, Known


class PartWrites(Framed):
    """Writes the routines, and the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in self.in_place, self.element, self.part, self.into_plain, self.failed:
            write()

    # ------------------------------------------------------------------------------- bodies

    def in_place(self) -> None:
        """(a, b, c): into a plain array, or into a part."""
        a, k = self.asm, self.known
        y, locked = At(RSP), At(RSP, 16)
        a.label("in_place parts")
        self.compare(At(RBX, TYPE), k.lazy, RAX)
        a.jump_if("other", "back")
        self.compare(At(RBX, k.storage), k.none, RAX)
        a.jump_if("other", "in_place part")
        a.constant(RAX, NEEDLESS)
        a.store(locked, RAX)
        self.real(R15, RBX, "look")
        a.jump("in_place other")

        a.label("in_place part")
        a.load(RDI, At(RBX, k.geo))
        a.test(RDI)
        a.jump_if("equal", "back")
        a.load_int(RAX, At(RDI, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "back")
        self._lock(RDI, locked)
        a.copy(RDI, RBX)
        a.constant(RSI, WRITEABLE)
        a.constant(RDX, k.limit)
        a.load(RDX, At(RDX))
        a.call("window")
        a.test(RAX)
        a.jump_if("equal", "write unlock back")
        a.copy(R15, RAX)
        a.load(RDI, At(RBX, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "write one back")
        a.label("in_place other")
        self.real(y, RBP, "look", "write one back")
        a.compare(RAX, RBP)
        a.jump_if("equal", "in_place run")
        a.copy(RDI, R15)
        a.copy(RSI, RAX)
        a.call("fits")
        a.test(RAX)
        a.jump_if("equal", "write two back")
        a.label("in_place run")
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, y)
        self.count()
        a.test(R13)
        a.jump_if("equal", "write failed")
        self.on("Py_DecRef", R13)                   # it is the window
        a.load(RDI, locked)
        a.call("unlock")
        self.on("Py_IncRef", RBX)
        a.copy(RAX, RBX)
        self.restore()
        a.leave()

    def _lock(self, array: int, locked: At) -> None:
        """For a write into an array; back if others hold it."""
        a, label = self.asm, f"lock {len(self.asm.code)}"
        self.move(RDI, array)
        a.call("size")
        a.copy(RDI, RAX)
        a.compare_number(RDI, KEEPS_GIL)
        a.jump_if("above", label)
        a.zero(RDI)
        a.label(label)
        a.call("lock")
        a.store(locked, RAX)
        a.test(RAX)
        a.jump_if("equal", "back")

    def element(self) -> None:
        """(a, key, value): a scalar for an element, through the window of elements; or on to `part`."""
        a, k, elements, locked = self.asm, self.known, At(RSP, 8), At(RSP, 16)
        a.label("managed store")
        a.load(R15, At(RBX, k.geo))
        a.test(R15)
        a.jump_if("equal", "back")
        a.call("picks")
        a.compare_number(RAX, VIEW)
        a.jump_if("equal", "store part")
        a.compare_number(RAX, ELEMENT)
        a.jump_if("other", "back")
        a.copy(RDI, R12)
        a.call("unwrap")
        a.compare(RAX, R12)
        a.jump_if("other", "back")                  # no scalar
        a.copy(RDI, R12)
        a.copy(RSI, R15)
        a.call("warns")
        a.copy(RDI, RAX)
        a.call("lock")
        a.store(locked, RAX)
        a.test(RAX)
        a.jump_if("equal", "back")
        a.call("elements")
        a.store(elements, RAX)
        a.test(RAX)
        a.jump_if("equal", "write unlock back")
        a.load(RDI, At(RBX, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "write unlock back")
        self.on("Py_IncRef", elements)
        a.load(RDI, elements)
        a.copy(RSI, RBP)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", elements)
        a.jump("write ends")

    def part(self) -> None:
        """A scalar, a plain array or another part for a part, which is given first: keys may run Python."""
        a, k = self.asm, self.known
        region, value, locked = At(RSP), At(RSP, 8), At(RSP, 16)
        a.label("store part")
        a.load_int(RAX, At(R15, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "back")                  # which comes before errors in keys
        self.on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        self.call("PyObject_GetItem")
        a.store(region, RAX)
        self.on("Py_DecRef", R15)
        a.load(RDI, region)
        a.test(RDI)
        a.jump_if("equal", "get_item refused")
        self.compare(At(RDI, TYPE), k.real, RAX)
        a.jump_if("other", "store part back")
        self.compare(At(R12, TYPE), k.lazy, RAX)
        a.jump_if("other", "store part of others")
        a.load(RAX, At(R12, k.storage))
        a.compare(At(RBX, k.storage), RAX)
        a.jump_if("other", "store part of others")
        a.load(RSI, At(R12, k.geo))                 # (the same storage, so no plain array)
        a.test(RSI)
        a.jump_if("equal", "store part back")
        a.call("alike")
        a.test(RAX)
        a.jump_if("other", "store part nothing")    # the last step of  x[key] += 1

        a.label("store part of others")
        a.copy(RDI, R12)
        a.call("look")
        a.store(value, RAX)
        a.test(RAX)
        a.jump_if("equal", "store part back")
        a.copy(RDI, RAX)
        a.load(RSI, region)
        a.call("warns")
        a.test(RAX)
        a.jump_if("other", "store part value back")
        a.load(RDI, region)
        a.call("size")
        a.copy(RDI, RAX)
        a.compare_number(RDI, KEEPS_GIL)
        a.jump_if("above", "store part lock")
        a.zero(RDI)
        a.label("store part lock")
        a.call("lock")
        a.store(locked, RAX)
        a.test(RAX)
        a.jump_if("equal", "store part value back")
        a.load(R9, region)
        a.load(RDI, At(RBX, k.storage))
        a.constant(RSI, WRITEABLE)
        a.constant(RDX, k.limit)
        a.load(RDX, At(RDX))
        a.call("window of")
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("equal", "store part unlock back")
        a.load(RDI, At(RBX, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "store part window back")
        a.copy(RDI, R15)
        a.constant(RSI, k.ellipsis)
        a.load(RDX, value)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, value, region)
        a.jump("write ends")

        a.label("store part nothing")
        self.on("Py_DecRef", region)
        a.zero(RAX)
        self.restore()
        a.leave()
        a.label("store part window back")
        self.on("Py_DecRef", R15)
        a.label("store part unlock back")
        a.load(RDI, locked)
        a.call("unlock")
        a.label("store part value back")
        self.on("Py_DecRef", value)
        a.label("store part back")
        self.on("Py_DecRef", region)
        a.jump("back")

    def into_plain(self) -> None:
        """A part as the value for a plain array, r15; the key is on the stack."""
        a, key, value = self.asm, At(RSP), At(RSP, 8)
        a.label("set_item parts")
        self.real(value, R12, "look")
        self.on("Py_IncRef", R15, key)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.load(RDX, value)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key, value)
        self.count()
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    # ---------------------------------------------------------------------------- their ends

    def failed(self) -> None:
        """r13: what an assignment gave, -1 where NumPy raised something, which the release must not see."""
        a = self.asm
        first, second, locked = At(RSP), At(RSP, 8), At(RSP, 16)
        a.label("write ends")
        self.count()
        a.test_int(R13)
        a.jump_if("other", "write failed")
        a.load(RDI, locked)
        a.call("unlock")
        a.zero(RAX)
        self.restore()
        a.leave()
        a.label("write failed")
        a.load(RAX, locked)
        a.compare_number(RAX, TAKEN)
        a.jump_if("other", "write raised")
        for register, place in ((RDI, first), (RSI, second), (RDX, locked)):
            a.place(register, place)
        self.call("PyErr_Fetch")
        a.constant(RDI, TAKEN)
        a.call("unlock")
        for register, place in ((RDI, first), (RSI, second), (RDX, locked)):
            a.load(register, place)
        self.call("PyErr_Restore")
        a.label("write raised")
        a.copy(RAX, R13)
        self.restore()
        a.leave()
        a.label("write two back")
        self.on("Py_DecRef", first)
        a.label("write one back")
        self.on("Py_DecRef", R15)
        a.label("write unlock back")
        a.load(RDI, locked)
        a.call("unlock")
        a.jump("back")
