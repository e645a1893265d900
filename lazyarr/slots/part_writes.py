"""Elements and small parts of large arrays, written to in machine code.

In:  what the bodies of assignments and of operators in place found no plain array (`items`, `bodies`).
Out: what NumPy does, at once, where nothing pending reads the value that is overwritten, and both array and
memory may be written to; else Python finds out what must be computed before.
"""

from __future__ import annotations

from lazyarr.object_fields import FLAGS, ITEMS, LENGTH, TYPE, WRITEABLE
from lazyarr.slots.assembler import (
    R8,
    R9,
    R12,
    R13,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Assembler,
    At,
)  # fmt: skip
from lazyarr.slots.items import ELEMENT, VIEW
from lazyarr.slots.parts import ANY_SIZE, KEEPS_GIL, NEEDLESS, TAKEN
from lazyarr.slots.routines import LOOPS, NAMES, Framed, Known

WIDER = 80
"""Bytes on the stack for `OUT`."""
OUT = tuple(At(RSP, 8 * n) for n in range(9))
"""Two operands, what is written to, and where, as NumPy is given them; how it is locked; what is called; the
number of arguments by position, and the names of others; the array that was given."""


class PartWrites(Framed):
    """Writes the routines, and the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.in_place, self.out, self.element, self.part, self.into_plain, self.fill, self.failed,
        ):  # fmt: skip
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
        self.most(k.over)
        a.call("window")
        a.test(RAX)
        a.jump_if("equal", "write unlock back")
        a.copy(R15, RAX)
        a.load(RDI, At(RBX, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "write one back")
        a.label("in_place other")                   # (what fits into the first is no larger)
        a.zero(RSI)
        self.most(k.over)
        self.real(y, RBP, "look as", "write one back")
        a.load(R9, LOOPS)
        a.load(RAX, y)
        a.call("loop over reals")
        a.test(RAX)
        a.jump_if("other", "in_place looped")
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
        a.jump("in_place written")
        a.label("in_place looped")
        self.on("Py_DecRef", R15, y)
        self.count()
        a.label("in_place written")
        a.load(RDI, locked)
        a.call("unlock")
        a.jump("in_place counts")

    def _lock(self, array: int, locked: At, leave: str = "back") -> None:
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
        a.jump_if("equal", leave)

    def out(self) -> None:
        """(ufunc, args, count, names), with one operand or two, r15, and `out` by its name, perhaps with
        `where`, or behind them.

        As it is given NumPy is given it: of some functions it warns where it has no name."""
        a, k = self.asm, self.known
        number, name, value, mask, _, fn, *_, given = OUT
        a.label("ufunc named")
        a.load(RAX, At(RCX, LENGTH))
        a.add(RAX, -1)
        a.compare_number(RAX, 1)
        a.jump_if("above", "back")
        a.compare(R12, R15)
        a.jump_if("other", "back")
        a.load(RAX, At(RSP, 16))
        a.add(RSP, -WIDER)
        a.store(fn, RAX)
        a.zero(RAX)
        for place in number, mask, given:
            a.store(place, RAX)
        a.label("out name")
        a.load(RCX, number)
        a.load(RDX, At(RSP, WIDER + NAMES.offset))
        a.compare(At(RDX, LENGTH), RCX)
        a.jump_if("equal", "out named")
        a.count(number)
        a.times_word(RCX)
        a.increase(RDX, RCX)
        a.load(RDI, At(RDX, ITEMS))
        a.store(name, RDI)
        a.copy(RDX, R12)
        a.times_word(RDX)
        a.increase(RCX, RDX)
        a.increase(RCX, RBP)
        a.load(RCX, At(RCX))
        a.store(value, RCX)
        self.compare(At(RDI, TYPE), k.text, RAX)
        a.jump_if("other", "out back")
        for text, to in ((k.out, given), (k.where, mask)):
            a.load(RDI, name)
            a.constant(RSI, text)
            self.call("PyUnicode_CompareWithASCIIString")
            a.load(RCX, value)
            a.test_int(RAX)
            a.jump_if("other", f"out not {text}")
            a.store(to, RCX)
            a.jump("out name")
            a.label(f"out not {text}")
        a.jump("out back")
        a.label("out named")
        a.load(RCX, given)
        a.test(RCX)
        a.jump_if("equal", "out back")
        a.load(RAX, fn)
        a.copy(R8, R15)
        a.constant(R9, k.outs)
        a.compare_number(mask, 0)
        a.jump_if("equal", "out begins")
        a.constant(R9, k.masked)
        a.jump("out begins")

        a.label("ufunc more")
        a.place(RAX, At(R15, 1))
        a.compare(R12, RAX)
        a.jump_if("other", "back")
        a.load(RAX, At(RSP, 16))
        a.add(RSP, -WIDER)
        a.copy(R8, R15)
        a.times_word(R8)
        a.increase(R8, RBP)
        a.load(RCX, At(R8))
        a.place(R8, At(R15, 1))
        a.zero(R9)
        a.store(mask, R9)
        a.label("out begins")
        self._into()
        self._write()

    def _into(self) -> None:
        """rax: NumPy's ufunc.   rcx: what was given as `out`.   r8, r9: how many arguments, and the names.

        What NumPy writes to is found first, then what it reads."""
        a, k = self.asm, self.known
        x, y, out, mask, locked, fn, count, names, given = OUT
        for place, register in ((fn, RAX), (count, R8), (names, R9), (given, RCX)):
            a.store(place, register)
        a.compare_number(R15, 1)
        a.jump_if("below", "out back")
        a.compare_number(R15, 2)
        a.jump_if("above", "out back")
        self.compare(At(RCX, TYPE), k.lazy, RAX)
        a.jump_if("other", "out back")
        a.constant(RAX, NEEDLESS)
        a.store(locked, RAX)
        self.compare(At(RCX, k.storage), k.none, RAX)
        a.jump_if("other", "out part")
        self.real(out, RCX, "look", "out back")
        a.jump("out reads")

        a.label("out part")
        a.load(RDI, At(RCX, k.geo))
        a.test(RDI)
        a.jump_if("equal", "out back")
        a.load_int(RAX, At(RDI, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "out back")
        self._lock(RDI, locked, "out back")
        a.load(RDI, given)
        a.constant(RSI, WRITEABLE)
        self.most(k.over)
        a.call("window")
        a.test(RAX)
        a.jump_if("equal", "out unlock back")
        a.store(out, RAX)
        a.load(RDI, given)
        a.load(RDI, At(RDI, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "out one back")
        a.label("out reads")
        for place, at in ((x, 0), (y, 8)):
            a.zero(RSI)
            self.most(k.over)
            self.real(place, At(RBP, at), "look as", "out one back" if place is x else "out two back")
            if place is x:
                a.compare_number(R15, 1)
                a.jump_if("equal", "out where")
        a.label("out where")
        a.load(RDI, mask)
        a.test(RDI)
        a.jump_if("equal", "out run")
        a.call("look of any")
        a.store(mask, RAX)
        a.test(RAX)
        a.jump_if("equal", "out three back")

    def _write(self) -> None:
        """r15: how many operands there are.   r12, rbp: what is written to, and where, from here on."""
        a, k = self.asm, self.known
        x, y, out, mask, locked, fn, count, names, given = OUT
        a.label("out run")
        a.load(R12, out)
        a.load(RBP, mask)
        a.compare_number(R15, 1)
        a.jump_if("other", "out call")
        a.store(y, R12)                             # they follow the only operand
        a.store(out, RBP)
        a.label("out call")
        for register, place in ((RDI, fn), (RDX, count), (RCX, names)):
            a.load(register, place)
        a.copy(RSI, RSP)
        a.call_at(R13)
        a.copy(R13, RAX)
        a.copy(RDI, R12)
        a.compare(RAX, RDI)
        a.jump_if("other", "out let go")
        a.constant(RAX, "Py_DecRef")                # (it is not let go yet)
        a.call_at(RAX)
        a.constant(R13, k.none)
        self.on("Py_IncRef", R13)
        a.label("out let go")
        self.on("Py_DecRef", x, R12)
        a.compare_number(R15, 1)
        a.jump_if("equal", "out masked")
        self.on("Py_DecRef", y)
        a.label("out masked")
        a.test(RBP)
        a.jump_if("equal", "out over")
        self.on("Py_DecRef", RBP)
        a.label("out over")
        a.load(RBX, given)
        a.load(RAX, locked)
        a.add(RSP, WIDER)
        a.store(At(RSP, 16), RAX)
        self.count()
        a.test(R13)
        a.jump_if("equal", "write failed")
        self.on("Py_DecRef", R13)                   # it is the window, or the array's own
        a.load(RDI, At(RSP, 16))
        a.call("unlock")
        a.jump("in_place counts")

        a.label("out three back")
        a.compare_number(R15, 1)
        a.jump_if("equal", "out two back")
        self.on("Py_DecRef", y)
        a.label("out two back")
        self.on("Py_DecRef", x)
        a.label("out one back")
        self.on("Py_DecRef", out)
        a.label("out unlock back")
        a.load(RDI, locked)
        a.call("unlock")
        a.label("out back")
        a.add(RSP, WIDER)
        a.jump("back")

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
        a.jump_if("other", "store gathered")
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
        a.jump_if("equal", "store temporary")
        self.on("Py_IncRef", RAX)
        a.label("store opened")
        a.load(RDI, At(RBX, k.storage))
        a.call("free")
        a.test(RAX)
        a.jump_if("equal", "store not free")
        a.load(RDI, elements)
        a.copy(RSI, RBP)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", elements)
        a.zero(R15)
        a.jump("write ends")

        a.label("store temporary")
        self.unless_passing("write unlock back")
        a.load_int(RAX, At(R15, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "write unlock back")
        a.copy(RDI, RBX)
        a.constant(RSI, WRITEABLE)
        a.constant(RDX, ANY_SIZE)
        a.call("window")
        a.store(elements, RAX)
        a.test(RAX)
        a.jump_if("equal", "write unlock back")
        a.jump("store opened")
        a.label("store not free")
        self.on("Py_DecRef", elements)
        a.jump("write unlock back")

    def part(self) -> None:
        """A scalar, a plain array or another part for a part, which is given first: keys may run Python."""
        a, k = self.asm, self.known
        region, value, locked = At(RSP), At(RSP, 8), At(RSP, 16)
        a.label("store part")
        a.load_int(RAX, At(R15, FLAGS))
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "back")                  # which comes before errors in keys
        self.on("Py_IncRef", R15)
        a.store(region, R15)
        self.compare(RBP, k.ellipsis, RAX)
        a.jump_if("equal", "store part found")      # all of it
        a.call("part")
        a.test(RAX)
        a.jump_if("other", "store part picked")
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        self.call("PyObject_GetItem")
        a.label("store part picked")
        a.store(region, RAX)
        self.on("Py_DecRef", R15)
        a.label("store part found")
        a.load(RDI, region)
        a.test(RDI)
        a.jump_if("equal", "store part refused")
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
        for sequence in k.lists, k.tuples:
            self.compare(At(RDI, TYPE), sequence, RAX)
            a.jump_if("equal", "store part listed")
        a.zero(RSI)
        self.most(k.moved)
        a.call("look as")
        a.label("store part looked")
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
        self.most(k.moved)
        a.load(RAX, value)
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "store part window")
        a.constant(RDX, k.filled)
        a.label("store part window")
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
        self.on("Py_DecRef", R15)
        self.let_go(value)
        self.on("Py_DecRef", region)
        a.jump("write ends")

        a.label("store part listed")                # of scalars, of which NumPy warns of nothing
        a.call("numbers")
        a.test(RAX)
        a.jump_if("equal", "store part back")
        a.call("look hold")
        a.jump("store part looked")

        a.label("store part refused")
        a.call("refused")
        a.test_int(RAX)
        a.jump_if("other", "back")
        a.zero(RAX)
        a.add(RAX, -1)
        self.restore()
        a.leave()
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
        a.call("placed")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key)
        self.let_go(value)
        self.count()
        self.assigned("set_item parts done")

    def fill(self) -> None:
        """(array, args, count, names), as a method: of a managed array, by a scalar, it is an assignment."""
        a, k = self.asm, self.known
        a.label("fill")
        a.compare_number(RDX, 1)
        a.jump_if("other", "method")
        a.test(RCX)
        a.jump_if("other", "method")
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "method")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("equal", "method")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        a.call("scalar type")
        a.constant(RDX, 1)
        a.zero(RCX)
        a.test(RAX)
        a.jump_if("equal", "method")
        a.load(RDX, At(RSI))
        a.constant(RSI, k.ellipsis)
        a.add(RSP, -8)
        self.call("PyObject_SetItem")
        a.test_int(RAX)
        a.constant(RAX, 0)
        a.jump_if("other", "fill leave")
        a.constant(RDI, k.none)
        self.call("Py_IncRef")
        a.constant(RAX, k.none)
        a.label("fill leave")
        a.add(RSP, 8)
        a.leave()

    # ---------------------------------------------------------------------------- their ends

    def failed(self) -> None:
        """r13: what an assignment of r15 elements gave, -1 where NumPy raised something: the release must not
        see that."""
        a = self.asm
        first, second, locked = At(RSP), At(RSP, 8), At(RSP, 16)
        a.label("write ends")
        self.count()
        a.test_int(R13)
        a.jump_if("other", "write failed")
        a.load(RDI, locked)
        a.call("unlock")
        self.assigned("write done")
        a.label("write failed")
        a.load(RAX, locked)
        a.compare_number(RAX, TAKEN)
        a.jump_if("other", "write raised")
        self.unlock_past_error(TAKEN, first, second, locked)
        a.label("write raised")
        a.copy(RAX, R13)
        self.restore()
        a.leave()
        a.label("write one back")
        self.on("Py_DecRef", R15)
        a.label("write unlock back")
        a.load(RDI, locked)
        a.call("unlock")
        a.jump("back")
