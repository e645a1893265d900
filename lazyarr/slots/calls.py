"""Methods and functions of small arrays, in machine code.

In:  a method's arguments (METH_FASTCALL | METH_KEYWORDS), a function's (PEP 590, vectorcall).
Out: what NumPy answers, wrapped as `fallback.on_plain` does it.
Each has a record of words, to which r10 points where its body begins:

    NUMPYS   what NumPy has under the name
    PYTHONS  what lazyarr has: a Python function, which does all that is not done here
    FIRST    of functions: the routine for the first argument, which says whether the result is small, too
    READ     how many of the first arguments are arrays that it only reads, if that is known (`part_calls`)
    FLAGS    of the windows that it is given instead; or that a call without arguments gives a scalar
    LARGEST  how many elements such a one may have
    SHAPES   when it asks nothing of a managed array but its geometry (`shapes`)
    SPECIAL  what else is to be looked at, where arrays are parts (`tables.SPECIAL`)

Where all arguments are plain arrays or such as hold none (numbers, names, types, tuples of those), NumPy's is
called on the real ones; what comes back is an argument, a view of the first one, a new array, or a scalar.
Anything else, in or out, is for Python.
Registers: rbx the first argument; r12, r13 the others and the number of those without names; r14 the names
of the last ones, if any; r15 the record; rbp the frame.  Real arguments are on the stack, with one place
before the first.
"""

from __future__ import annotations

from lazyarr.object_fields import BASE, BYTES, DTYPE, RECORDS, TYPE, TYPE_NUMBER
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import COUNTED
from lazyarr.slots.known import Known
from lazyarr.slots.tables import OF_NOTHING
from lazyarr.slots.writer import Writer
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

NUMPYS, PYTHONS, FIRST, READ, FLAGS, LARGEST, SHAPES, SPECIAL = (At(R15, 8 * k) for k in range(8))

KEPT = RBX, R12, R13, R14, R15
GIVEN, AT, LEFT, RESULT, OWNED, LOCKED = (At(RBP, -8 * (len(KEPT) + k)) for k in range(1, 7))
"""How many arguments there are but the first; two words of loops; what NumPy answered; a
sequence that was made of the first argument, or zero; how the first one is locked, if it is written to, or
zero."""
LOCAL = 8 * 7
"""Bytes of these: the stack is aligned."""
MOST = 4096
"""Arguments: more are none that NumPy takes."""
VALUES = 8
"""Bytes from the stack's end to the first real argument."""


class Calls(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.function, self.by_python, self.method, self.alone, self.of_places, self.of_lists,
            self.draw, self.of_ufunc, self.take, self.exits,
        ):  # fmt: skip
            write()

    # ---------------------------------------------------------------------- methods, functions

    def function(self) -> None:
        """(function, args, count, names): the first argument is what a method's array would be.

        (It begins in `products`.)"""
        a = self.asm
        a.label("function with record")
        a.test(RDX)
        a.jump_if("equal", "function of nothing")
        a.place(R11, At(RDX, -1))
        self.add_named(R11, RCX, "function")
        a.compare_number(R11, MOST)
        a.jump_if("above", "function of Python")
        a.load(RDI, At(RSI))
        a.add(RSI, 8)
        a.add(RDX, -1)
        self._enter()
        a.store(GIVEN, R11)
        a.copy(RAX, R11)
        self._make_room()
        self.if_forced("call back")
        a.copy(RDI, RBX)
        a.load(RAX, FIRST)
        a.call_at(RAX)
        a.jump("call arguments")
        a.label("function of nothing")
        a.test(RCX)
        a.jump_if("other", "function of Python")
        a.compare_number(At(R10, FLAGS.offset), OF_NOTHING)
        a.jump_if("other", "function of Python")
        self.count()
        a.load(RDI, At(R10))
        a.jump("function on")
        a.label("function of Python")
        a.load(RDI, At(R10, PYTHONS.offset))
        a.label("function on")
        a.constant(RAX, "PyObject_Vectorcall")
        a.jump_to(RAX)

    def by_python(self) -> None:
        """(object, args, count, names): as the Python method in r10 does it."""
        a = self.asm
        a.label("call of Python")
        a.push(RBP)
        a.copy(RBP, RSP)
        a.copy(R11, RDX)
        self.add_named(R11, RCX, "call of Python")
        a.compare_number(R11, MOST)
        a.jump_if("above", "call of Python too long")
        a.place(RAX, At(R11, 2))
        a.round_down(RAX, 2)
        a.times_word(RAX)
        a.decrease(RSP, RAX)
        a.store(At(RSP), RDI)
        a.place(R9, At(RSP, 8))
        a.label("call of Python next")
        a.test(R11)
        a.jump_if("equal", "call of Python whole")
        a.load(RAX, At(RSI))
        a.store(At(R9), RAX)
        a.add(RSI, 8)
        a.add(R9, 8)
        a.count_down(R11)
        a.jump("call of Python next")
        a.label("call of Python whole")
        a.copy(RDI, R10)
        a.copy(RSI, RSP)
        a.add(RDX, 1)
        self.call("PyObject_Vectorcall")
        a.label("call of Python leave")
        a.place(RSP, At(RBP))
        a.pop(RBP)
        a.leave()
        a.label("call of Python too long")
        self._too_many()
        a.jump("call of Python leave")

    def method(self) -> None:
        """(array, args, count, names)."""
        a = self.asm
        a.label("method")
        self._enter_method("method")
        a.copy(RDI, RBX)
        a.call("argument")
        a.label("call arguments")
        a.test(RAX)
        a.jump_if("equal", "call parts")
        a.label("call others")
        a.store(At(RSP, VALUES), RAX)
        a.place(R9, At(RSP, VALUES))
        a.copy(R10, R12)
        a.load(R11, GIVEN)
        a.label("call argument")
        a.test(R11)
        a.jump_if("equal", "call")
        a.load(RDI, At(R10))
        self.call_or("argument", "call parts")
        a.add(R9, 8)
        a.store(At(R9), RAX)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("call argument")

        a.label("call")
        self._each("Py_IncRef")
        self._run(NUMPYS, VALUES, 1)
        a.store(RESULT, RAX)
        self.count()
        a.jump("take")

    def alone(self) -> None:
        """The same, where NumPy does not look at the arguments, unless they are for arrays of objects."""
        a = self.asm
        a.label("method alone")
        self._enter_method("method alone")
        self._as_given()
        a.copy(RDI, RBX)
        self.call_or("argument", "call back")
        a.store(At(RSP, VALUES), RAX)
        a.jump("call")

    def of_places(self) -> None:
        """`method`, of what is sooner by Python's code where arrays are larger."""
        a = self.asm
        a.label("method of places")
        self._enter_method("method of places")
        a.copy(RDI, RBX)
        a.call("of places")
        a.jump("call arguments")

    def of_lists(self) -> None:
        """`method`, of what is asked without arguments and gives lists without arrays, which are ours as they
        are.  (Those of records may hold some.)"""
        a = self.asm
        a.label("method of lists")
        self._enter_method("method of lists")
        a.copy(RDI, RBX)
        self.call_or("argument", "call parts")
        a.load(RCX, GIVEN)
        a.test(RCX)
        a.jump_if("other", "call others")
        a.load(RCX, At(RAX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), RECORDS, wide=False)
        a.jump_if("equal", "call others")
        a.store(At(RSP, VALUES), RAX)
        self._each("Py_IncRef")
        self._run(NUMPYS, VALUES, 1)
        a.store(RESULT, RAX)
        self.count()
        a.jump("take done")

    def draw(self) -> None:
        """(method, args, count, names), a generator the first argument: few numbers, or one, where no arrays
        are given.

        LARGEST is the generators' class, FLAGS where they have NumPy's, READ the argument that is a size; by
        names there may be one anywhere."""
        a, k = self.asm, self.known
        a.label("draw")
        a.load(R10, At(RDI, k.record))
        a.add(R10, BYTES)
        a.keep(RDX, COUNTED)
        a.test(RDX)
        a.jump_if("equal", "function of Python")
        a.load(RDI, At(RSI))
        a.add(RSI, 8)
        a.add(RDX, -1)
        self._enter_method("draw")
        self._as_given()
        a.load(RAX, LARGEST)
        a.compare(At(RBX, TYPE), RAX)
        a.jump_if("other", "call back")
        a.load(RAX, FLAGS)
        a.increase(RAX, RBX)
        a.load(RAX, At(RAX))
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.store(At(RSP, VALUES), RAX)
        a.zero(RAX)
        a.store(LEFT, RAX)
        a.label("draw next")
        a.load(RCX, LEFT)
        a.load(RAX, GIVEN)
        a.compare(RCX, RAX)
        a.jump_if("equal", "call")
        a.copy(RDX, RCX)
        a.times_word(RDX)
        a.increase(RDX, R12)
        a.load(RDI, At(RDX))
        a.load(RAX, READ)
        a.compare(RCX, RAX)
        a.jump_if("equal", "draw size")
        a.compare(RCX, R13)
        a.jump_if("below", "draw number")
        a.label("draw size")
        for size in (k.integers, k.tuples):
            self.compare(At(RDI, TYPE), size, RAX)
            a.jump_if("equal", "draw sized")
        a.label("draw number")
        for array in (k.lazy, k.lists):
            self.compare(At(RDI, TYPE), array, RAX)
            a.jump_if("equal", "call back")
        self.call_or("argument", "call back")
        a.jump("draw on")
        a.label("draw sized")
        self.call_or("of shape", "call back")
        a.label("draw on")
        a.load(RCX, LEFT)
        a.add(RCX, 1)
        a.store(LEFT, RCX)
        a.jump("draw next")

    def of_ufunc(self) -> None:
        """(ufunc, args, count, names): as `method`, of what is around NumPy's ufunc."""
        a = self.asm
        a.label("ufunc method")
        self._enter_method("ufunc method")
        a.load(RAX, At(RBX, self.known.fn))
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.jump("call others")

    def _enter_method(self, name: str) -> None:
        a = self.asm
        self._enter()
        a.copy(RAX, R13)
        self.add_named(RAX, R14, name)
        a.store(GIVEN, RAX)
        a.compare_number(RAX, MOST)
        a.jump_if("above", "call too long")
        self._make_room()
        self.if_forced("call back")

    def _enter(self) -> None:
        a = self.asm
        a.push(RBP)
        a.copy(RBP, RSP)
        self.reserve(LOCAL, *KEPT)
        for kept, given in zip(KEPT, (RDI, RSI, RDX, RCX, R10), strict=True):
            a.copy(kept, given)
        a.zero(RAX)
        a.store(OWNED, RAX)
        a.store(LOCKED, RAX)

    def _too_many(self) -> None:
        a = self.asm
        a.constant(RDI, self.known.type_error)
        a.constant(RSI, self.known.too_many)
        self.call("PyErr_SetString")
        a.zero(RAX)

    def _make_room(self) -> None:
        """For rax arguments, the first, and one before it."""
        a = self.asm
        a.add(RAX, 3)
        a.round_down(RAX, 2)
        a.times_word(RAX)
        a.decrease(RSP, RAX)

    def _each(self, function: str) -> None:
        """Call a function on each real argument."""
        a, label = self.asm, f"{function} from {len(self.asm.code)}"
        a.place(RAX, At(RSP, VALUES))
        a.store(AT, RAX)
        a.load(RAX, GIVEN)
        a.add(RAX, 1)
        a.store(LEFT, RAX)
        a.label(label)
        a.load(RAX, AT)
        a.load(RDI, At(RAX))
        a.add(RAX, 8)
        a.store(AT, RAX)
        self.call(function)
        a.load(RAX, LEFT)
        a.count_down(RAX)
        a.store(LEFT, RAX)
        a.test(RAX)
        a.jump_if("other", label)

    def _run(self, what: At, first: int, more: int) -> None:
        """Call an object with the arguments that begin somewhere on the stack."""
        a = self.asm
        a.load(RDI, what)
        a.place(RSI, At(RSP, first))
        a.place(RDX, At(R13, more))
        a.copy(RCX, R14)
        self.call("PyObject_Vectorcall")

    def placed(self) -> None:
        """rax is the next real argument: as many as `LEFT` says are there."""
        a = self.asm
        a.load(RCX, LEFT)
        a.copy(RDX, RCX)
        a.times_word(RDX)
        a.increase(RDX, RSP)
        a.store(At(RDX, VALUES), RAX)
        a.add(RCX, 1)
        a.store(LEFT, RCX)

    def _as_given(self) -> None:
        """The arguments, as they were given, to where the real ones are."""
        a, label = self.asm, f"given {len(self.asm.code)}"
        a.place(R9, At(RSP, VALUES))
        a.store(At(R9), RBX)
        a.copy(R10, R12)
        a.load(R11, GIVEN)
        a.label(f"{label} next")
        a.test(R11)
        a.jump_if("equal", label)
        a.load(RAX, At(R10))
        a.add(R9, 8)
        a.store(At(R9), RAX)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump(f"{label} next")
        a.label(label)

    # -------------------------------------------------------------------------------- results

    def take(self) -> None:
        """NumPy's result as ours."""
        a, k = self.asm, self.known
        a.label("take")
        a.load(RAX, RESULT)
        a.test(RAX)
        a.jump_if("equal", "take done")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "take array")
        self.compare(RAX, k.none, RCX)
        a.jump_if("equal", "take done")
        a.load(RAX, At(RAX, TYPE))
        self.compare(RAX, k.bytes, RCX)
        a.jump_if("equal", "take done")
        self.compare(At(RAX, TYPE), k.dtypes, RCX)
        a.jump_if("equal", "take done")
        a.call("unwrap scalar")
        a.test(RAX)
        a.jump_if("other", "take done")
        a.jump("take container")

        a.label("take array")
        a.load(RDX, At(RSP, VALUES))
        a.compare(RAX, RDX)
        a.copy(RDI, RBX)
        a.jump_if("equal", "take given")
        a.place(R9, At(RSP, VALUES + 8))
        a.copy(R10, R12)
        a.load(R11, GIVEN)
        a.label("take next")
        a.test(R11)
        a.jump_if("equal", "take new")
        a.load(RDI, At(R10))
        a.compare(At(R9), RAX)
        a.jump_if("equal", "take given")
        a.add(R9, 8)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("take next")
        a.label("take given")                       # rdi is the argument that it is
        a.copy(RBX, RDI)
        self.call("Py_IncRef")
        self.on("Py_DecRef", RESULT)
        a.store(RESULT, RBX)
        a.jump("take done")

        a.label("take new")
        a.load(RCX, At(RAX, BASE))
        a.test(RCX)
        a.jump_if("equal", "take fresh")
        a.compare(RCX, RDX)
        a.jump_if("equal", "take view")
        self.compare(At(RDX, TYPE), k.real, R8)
        a.jump_if("other", "take shaped")
        a.compare(At(RDX, BASE), RCX)
        a.jump_if("other", "take shaped")
        a.label("take view")                        # of what the array is a view of, if it is one
        self.viewed()
        a.jump("take wrap")
        a.label("take shaped")
        a.copy(RDI, RCX)
        self.unless_alone(RDI, "take by Python")
        a.jump("take sized")
        a.label("take fresh")
        a.copy(RDI, RAX)
        a.label("take sized")
        a.call("nbytes")
        self.above_limit(RAX, "take by Python", RCX, k.most)
        a.constant(RSI, k.none)
        a.label("take wrap")
        a.load(RDI, RESULT)
        a.call("wrap")
        a.store(RESULT, RAX)
        a.jump("take done")

        a.label("take by Python")
        self._each("Py_DecRef")
        self._as_given()
        a.load(RAX, RESULT)
        a.store(At(RSP), RAX)
        a.constant(RAX, k.finish)
        a.store(AT, RAX)
        self._run(AT, 0, 2)
        a.copy(RBX, RAX)
        self.on("Py_DecRef", RESULT)
        a.store(RESULT, RBX)
        a.jump("call exit")

    def exits(self) -> None:
        a = self.asm
        a.label("call back")
        a.load(RDI, OWNED)
        a.test(RDI)
        a.jump_if("equal", "call back at once")
        self.call("Py_DecRef")
        a.label("call back at once")
        self._as_given()
        self._run(PYTHONS, VALUES, 1)
        a.jump("call leave")
        a.label("call too long")
        self._too_many()
        a.jump("call leave")
        a.label("take done")
        self._each("Py_DecRef")
        a.label("call exit")
        a.load(RDI, OWNED)
        a.test(RDI)
        a.jump_if("equal", "call owns nothing")
        self.call("Py_DecRef")
        a.label("call owns nothing")
        a.load(RAX, RESULT)
        a.label("call leave")
        a.place(RSP, At(RBP, -8 * len(KEPT)))
        a.pop(*reversed(KEPT))
        a.pop(RBP)
        a.leave()
