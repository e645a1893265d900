"""Instructions that occur again and again, where machine code is written.

In:  names of what is called and compared with (`Known`), registers.   Out: code in an `Assembler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from lazyarr.object_fields import BASE, DTYPE, FLAGS, LENGTH, OBJECTS, TYPE, TYPE_NUMBER
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.known import Known
from lazyarr.slots.loop_tables import ENTRY, TYPES, word_of
from lazyarr.slots.x86 import R8, R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP


class Writer:
    """Writes instructions that occur again and again."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        self.asm, self.known = asm, known

    def call(self, function: str) -> None:
        """Call a function of Python's C interface; what lets a reference go may have to keep a window."""
        if function == "Py_DecRef":
            self.asm.call("drop")
            return
        self.asm.constant(RAX, function)
        self.asm.call_at(RAX)

    def call_or(self, routine: str, to: str, answer: int = RAX) -> None:
        """Call a routine; on to a label, if it answers zero."""
        self.asm.call(routine)
        self.asm.test(answer)
        self.asm.jump_if("equal", to)

    def call_keeping(self, routine: str, *registers: int) -> None:
        """Call a routine, which may change these."""
        self.asm.push(*registers)
        self.asm.call(routine)
        self.asm.pop(*reversed(registers))

    def reserve(self, room: int, *registers: int) -> None:
        """Put registers on the stack, and leave so many bytes below them."""
        self.asm.push(*registers)
        self.asm.add(RSP, -room)

    def release(self, room: int, *registers: int) -> None:
        self.asm.add(RSP, room)
        self.asm.pop(*reversed(registers))

    def on(self, function: str, *objects: int | At) -> None:
        """Call a function on each of the objects."""
        for x in objects:
            self.move(RDI, x)
            self.call(function)

    def move(self, to: int | At, given: int | At) -> None:
        """Not both in memory."""
        if isinstance(given, At):
            assert not isinstance(to, At)
            self.asm.load(to, given)
        elif isinstance(to, At):
            self.asm.store(to, given)
        else:
            self.asm.copy(to, given)

    def compare(self, left: int | At, constant: int | str, scratch: int) -> None:
        self.asm.constant(scratch, constant)
        self.asm.compare(left, scratch)

    def add_named(self, count: int, names: int, label: str) -> None:
        """To a number of arguments those that have names."""
        self.asm.test(names)
        self.asm.jump_if("equal", f"{label} unnamed")
        self.asm.increase(count, At(names, LENGTH))
        self.asm.label(f"{label} unnamed")

    def if_forced(self, to: str, scratch: int = RAX) -> None:
        """On to a label, if nodes are to be made of everything."""
        self.asm.constant(scratch, self.known.forced)
        self.asm.compare_number(At(scratch), 0)
        self.asm.jump_if("other", to)

    def unless_flagged(self, array: int, flags: int, to: str, scratch: int = RAX) -> None:
        """On to a label, if a real array has none of these flags."""
        self.asm.load_int(scratch, At(array, FLAGS))
        self.asm.keep(scratch, flags)
        self.asm.jump_if("equal", to)

    def if_type_above(self, array: int, most: int, to: str, dtype: int, number: int = RAX) -> None:
        """A real array's type and its number, in registers; on to a label, if that is above another one."""
        self.asm.load(dtype, At(array, DTYPE))
        self.asm.load_int(number, At(dtype, TYPE_NUMBER))
        self.asm.compare_number(number, most)
        self.asm.jump_if("above", to)

    def real(
        self, to: int | At, given: int | At, routine: str = "unwrap", otherwise: str = "back"
    ) -> None:
        """The real array of an argument, or the argument, into a place; back, or on, if it is neither."""
        self.move(RDI, given)
        self.asm.call(routine)
        self.asm.test(RAX)
        self.asm.jump_if("equal", otherwise)
        self.move(to, RAX)

    def small_together(self, operands: Sequence[int | At], stem: str, leave: str) -> None:
        """Go on if any two arrays among them are small together (`fits`)."""
        a = self.asm
        for number, pair in enumerate(combinations(operands, 2)):
            for register, one in zip((RDI, RSI), pair, strict=True):
                self.move(register, one)
                self.compare(At(register, TYPE), self.known.real, RAX)
                a.jump_if("other", f"{stem} {number}")
            self.call_or("fits apart", leave)
            a.label(f"{stem} {number}")

    def viewed(self) -> None:
        """rsi: what a view of the array in rbx is a view of: what that is one of, if it is one, else itself.
        Of the others rcx alone is lost."""
        a, label = self.asm, f"viewed {len(self.asm.code)}"
        a.load(RSI, At(RBX, self.known.origin))
        self.compare(RSI, self.known.none, RCX)
        a.jump_if("other", label)
        a.copy(RSI, RBX)
        a.label(label)

    def wrap_view(self) -> None:
        """rbx: an array; r13: a geometry, which is given away.   rax: a view of the array, or zero."""
        self.asm.copy(RDI, R13)
        self.viewed()
        self.asm.call("wrap")

    def wrap_managed(self, storage: int) -> None:
        """The same of a managed array, whose storage, in a register, is given away, too; in r13."""
        a, label = self.asm, f"wrapped {len(self.asm.code)}"
        self.wrap_view()
        a.copy(R13, RAX)
        a.test(RAX)
        a.jump_if("equal", label)
        a.store(At(R13, self.known.storage), storage)
        a.constant(storage, self.known.none)        # which was there
        a.label(label)
        self.on("Py_DecRef", storage)

    def wrap_either(self, body: str, counts: bool = False) -> None:
        """The same of any array, in r13; r12 is lost.  It goes on at the leave of the body, or ends with what
        is plain, whose view it may count."""
        a, k = self.asm, self.known
        a.load(R12, At(RBX, k.storage))
        self.compare(R12, k.none, RAX)
        a.jump_if("equal", f"{body} plain")
        self.on("Py_IncRef", R12)
        self.wrap_managed(R12)
        a.jump(f"{body} leave")
        a.label(f"{body} plain")
        if counts:
            self.count()
        self.wrap_view()
        a.copy(R13, RAX)

    def manage(self, result: At) -> None:
        """rax: ours, for a real array that is large: plain ones are small (`arrays.wrap`)."""
        a, k = self.asm, self.known
        a.constant(RDI, k.managing)
        a.place(RSI, result)
        a.constant(RDX, 1)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")

    def begin_array(self, dtype: int | At) -> None:
        """What makes arrays gets all arguments but the number of axes (rdx) and the lengths (rcx), two on the
        stack; and a reference to the type, which is in a register that functions keep, or in a place."""
        a = self.asm
        self.on("Py_IncRef", dtype)
        a.zero(RAX)
        a.store(At(RSP), RAX)
        a.store(At(RSP, 8), RAX)
        a.constant(RDI, self.known.real)
        self.move(RSI, dtype)

    def make_array(self) -> None:
        """rax: a new real array in C order, or zero."""
        self.asm.zero(R8)
        self.asm.zero(R9)
        self.call("PyArray_NewFromDescr")

    def above_limit(self, number: int, to: str, scratch: int, limit: str = "") -> None:
        """On to a label, if a number of elements is more than NumPy's at the call."""
        self.asm.constant(scratch, limit or self.known.limit)
        self.asm.compare(At(scratch), number)
        self.asm.jump_if("below", to)

    def unless_raised(self, to: str, scratch: int) -> None:
        """On to a label, if only what is small is NumPy's at the call: so nearly always."""
        self.asm.constant(scratch, self.known.limit)
        self.asm.compare_number(At(scratch), self.known.eager)
        self.asm.jump_if("equal", to)

    def unless_alone(self, base: int, to: str) -> None:
        """On to a label, unless what a result is a view of is memory that nobody else refers to: it is a new
        array, in another shape."""
        a = self.asm
        self.compare(At(base, TYPE), self.known.real, RAX)
        a.jump_if("other", to)
        a.compare_number(At(base, BASE), 0)
        a.jump_if("other", to)
        a.compare_number(At(base), 1, wide=False)
        a.jump_if("other", to)

    def small(self, x: int | At, y: int | At, routine: str = "fits") -> None:
        """Back, unless two arrays are small together."""
        self.move(RDI, x)
        self.move(RSI, y)
        self.asm.call(routine)
        self.asm.test(RAX)
        self.asm.jump_if("equal", "back")

    def is_objects(self, array: int, scratch: int) -> None:
        """Compare: is it an array of objects?"""
        self.asm.load(scratch, At(array, DTYPE))
        self.asm.compare_number(At(scratch, TYPE_NUMBER), OBJECTS, wide=False)

    def unlock_past_error(self, lock: int, *places: At) -> None:
        """Let go of the lock, which must not see the exception that is on its way: it is in three places
        meanwhile."""
        a, given = self.asm, tuple(zip((RDI, RSI, RDX), places, strict=True))
        for register, place in given:
            a.place(register, place)
        self.call("PyErr_Fetch")
        a.constant(RDI, lock)
        a.call("unlock")
        for register, place in given:
            a.load(register, place)
        self.call("PyErr_Restore")

    def row_of(self, array: int, dtype: int, leave: str) -> None:
        """rax: where in a table the row of a real array's type is, which is in a register; on to a label, if
        it has none.  rcx is lost."""
        self.if_type_above(array, TYPES - 1, leave, dtype)
        self.asm.constant(RCX, ENTRY)
        self.asm.multiply(RAX, RCX)

    def numbers_type(self, array: int, leave: str) -> None:
        """r9: a real array's type; on to a label unless that is one of NumPy's numbers, as this machine has
        them.  rax, rcx are lost."""
        a = self.asm
        self.row_of(array, R9, leave)
        a.constant(RCX, word_of("add"))
        a.increase(RAX, RCX)
        a.compare(At(RAX), R9)
        a.jump_if("other", leave)

    def both_real(self, leave: str) -> None:
        """rsi, rdi: on to a label, unless they are real arrays."""
        for one in RSI, RDI:
            self.compare(At(one, TYPE), self.known.real, RAX)
            self.asm.jump_if("other", leave)

    def count(self) -> None:
        self.asm.constant(RAX, self.known.answered)
        self.asm.count(At(RAX))

    def found_in(self, types: str, routine: str) -> None:
        """Go on if the type in rax is in a list; else answer zero."""
        a = self.asm
        a.constant(RCX, types)
        a.label(f"{routine} next")
        a.load(RDX, At(RCX))
        a.add(RCX, 8)
        a.compare(RDX, RAX)
        a.jump_if("equal", f"{routine} found")
        a.test(RDX)
        a.jump_if("other", f"{routine} next")
        a.zero(RAX)
        a.leave()
        a.label(f"{routine} found")
