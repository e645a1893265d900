"""Methods, functions and attributes of small arrays, in machine code.

In:  a method's arguments (METH_FASTCALL | METH_KEYWORDS), a function's (tp_call), an attribute's array.
Out: what NumPy answers, wrapped as `fallback.on_plain` does it.
Each has a record of words, to which its own function points in r10 before it jumps to its body:

    NUMPYS   what NumPy has under the name: a method, a function; of an attribute its name
    PYTHONS  what lazyarr has: a Python function, which does all that is not done here; of an attribute the
             property
    FIRST    of functions: the routine for the first argument, which says whether the result is small, too

Where all arguments are plain arrays or such as hold none (numbers, names, types, tuples of those), NumPy's is
called on the real ones; what comes back is an argument, a view of the first one, a new array, or a scalar.
Anything else, in or out, is for Python.
Registers: rbx the first argument; r12, r13 the others and the number of those without names; r14 the names
of the last ones, of functions a dict of them; r15 the record; rbp the frame.  Real arguments are on the
stack, with one place before the first.
"""

from __future__ import annotations

from lazyarr.slots.assembler import (
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
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
from lazyarr.slots.fields import BASE, BYTES, ITEMS, LENGTH, LIST_ITEMS, TYPE, USED
from lazyarr.slots.routines import Known, Writer

NUMPYS, PYTHONS, FIRST = (At(R15, 8 * k) for k in range(3))

KEPT = RBX, R12, R13, R14, R15
GIVEN, AT, LEFT, RESULT, RUN, OWNED = (At(RBP, -8 * (len(KEPT) + k)) for k in range(1, 7))
"""How many arguments there are but the first; two words of loops; what NumPy answered; what calls; a
sequence that was made of the first argument, or zero."""
LOCAL = 8 * 7
"""Bytes of these, and one more word, so that the stack is aligned."""
MOST = 4096
"""Arguments: more are none that NumPy takes."""
DEEP = 16
"""Lists in lists that are looked at, one less: a list may be in itself."""
VALUES = 8
"""Bytes from the stack's end to the first real argument."""


class Calls(Writer):
    """Writes the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.called, self.method, self.take, self.exits, self.attribute, self.view, self.setter,
            self.of_nothing, self.of_shape, self.of_numbers, self.of_samples, self.of_values, self.of_arrays,
        ):  # fmt: skip
            write()

    # ---------------------------------------------------------------------- methods, functions

    def called(self) -> None:
        """(function, args, kwargs): the first argument is what a method's array would be."""
        a, k = self.asm, self.known
        a.label("called")
        a.load(R10, At(RDI, k.record))
        a.test(R10)
        a.jump_if("equal", "called by type")
        a.add(R10, BYTES)
        a.test(RDX)
        a.jump_if("equal", "called with names")
        a.compare_number(At(RDX, USED), 0)
        a.jump_if("other", "called with names")
        a.zero(RDX)
        a.label("called with names")
        a.load(RAX, At(RSI, LENGTH))
        a.test(RAX)
        a.jump_if("equal", "called on none")
        a.load(RDI, At(RSI, ITEMS))
        a.copy(RCX, RDX)
        a.place(RDX, At(RAX, -1))
        a.add(RSI, ITEMS + 8)
        self._enter("PyObject_VectorcallDict")
        a.store(GIVEN, R13)
        a.copy(RAX, R13)
        self._make_room()
        self._forced()
        a.test(R14)
        a.jump_if("equal", "called first")
        a.zero(RAX)                                 # what is given by name
        a.store(LEFT, RAX)
        a.label("called named")
        a.copy(RDI, R14)
        a.place(RSI, LEFT)
        a.zero(RDX)
        a.place(RCX, AT)
        self.call("PyDict_Next")
        a.test_int(RAX)
        a.jump_if("equal", "called first")
        a.load(RDI, AT)
        self.compare(At(RDI, TYPE), k.lazy, RAX)    # as `out`, say
        a.jump_if("equal", "call back")
        a.call("argument")
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.jump("called named")
        a.label("called first")
        a.copy(RDI, RBX)
        a.load(RAX, FIRST)
        a.call_at(RAX)
        a.jump("call arguments")
        a.label("called on none")
        a.load(RDI, At(R10, PYTHONS.offset))
        a.constant(RAX, k.functions["PyObject_Call"])
        a.jump_to(RAX)
        a.label("called by type")
        a.jump_to(R11)

    def method(self) -> None:
        """(array, args, count, names)."""
        a = self.asm
        a.label("method")
        self._enter("PyObject_Vectorcall")
        a.copy(RAX, R13)
        a.test(R14)
        a.jump_if("equal", "method unnamed")
        a.increase(RAX, At(R14, LENGTH))
        a.label("method unnamed")
        a.store(GIVEN, RAX)
        self._make_room()
        self._forced()
        a.copy(RDI, RBX)
        a.call("argument")
        a.label("call arguments")
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.store(At(RSP, VALUES), RAX)
        a.place(R9, At(RSP, VALUES))
        a.copy(R10, R12)
        a.load(R11, GIVEN)
        a.label("call argument")
        a.test(R11)
        a.jump_if("equal", "call")
        a.load(RDI, At(R10))
        a.call("argument")
        a.test(RAX)
        a.jump_if("equal", "call back")
        a.add(R9, 8)
        a.store(At(R9), RAX)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("call argument")

        a.label("call")
        self._each("Py_IncRef")
        self._run(NUMPYS, VALUES, 1)
        a.store(RESULT, RAX)
        self._each("Py_DecRef")
        self.count()
        a.jump("take")

    def _enter(self, run: str) -> None:
        """`run`: the function that calls with what is in r14."""
        a = self.asm
        a.push(RBP)
        a.copy(RBP, RSP)
        a.push(*KEPT)
        a.add(RSP, -LOCAL)
        for kept, given in zip(KEPT, (RDI, RSI, RDX, RCX, R10), strict=True):
            a.copy(kept, given)
        a.constant(RAX, self.known.functions[run])
        a.store(RUN, RAX)
        a.zero(RAX)
        a.store(OWNED, RAX)

    def _make_room(self) -> None:
        """For rax arguments, the first, and one before it."""
        a = self.asm
        a.compare_number(RAX, MOST)
        a.jump_if("above", "call too long")
        a.add(RAX, 3)
        a.round_down(RAX, 2)
        a.times_word(RAX)
        a.decrease(RSP, RAX)

    def _forced(self) -> None:
        a = self.asm
        a.constant(RAX, self.known.forced)
        a.compare_number(At(RAX), 0)
        a.jump_if("other", "call back")

    def _each(self, function: str) -> None:
        """Call a function on each real argument."""
        a, label = self.asm, f"each {function}"
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
        a.load(RAX, RUN)
        a.call_at(RAX)

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
        a.jump_if("equal", "call exit")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "take array")
        self.compare(RAX, k.none, RCX)
        a.jump_if("equal", "call exit")
        a.load(RAX, At(RAX, TYPE))
        a.call("unwrap scalar")
        a.test(RAX)
        a.jump_if("other", "call exit")
        a.jump("take by Python")

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
        a.jump("call exit")

        a.label("take new")
        a.load(RCX, At(RAX, BASE))
        a.test(RCX)
        a.jump_if("equal", "take fresh")
        a.compare(RCX, RDX)
        a.jump_if("equal", "take view")
        self.compare(At(RDX, TYPE), k.real, R8)
        a.jump_if("other", "take by Python")
        a.compare(At(RDX, BASE), RCX)
        a.jump_if("other", "take by Python")
        a.label("take view")                        # of what the array is a view of, if it is one
        a.load(RSI, At(RBX, k.origin))
        self.compare(RSI, k.none, RCX)
        a.jump_if("other", "take wrap")
        a.copy(RSI, RBX)
        a.jump("take wrap")
        a.label("take fresh")
        a.copy(RDI, RAX)
        a.call("nbytes")
        a.compare_number(RAX, k.plain)
        a.jump_if("above", "take by Python")
        a.constant(RSI, k.none)
        a.label("take wrap")
        a.load(RDI, RESULT)
        a.call("wrap")
        a.store(RESULT, RAX)
        a.jump("call exit")

        a.label("take by Python")
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
        self.call("PyErr_NoMemory")
        a.jump("call leave")
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

    # ------------------------------------------------------------------------------ attributes

    def attribute(self) -> None:
        """(array, record): what every lazy array's geometry knows."""
        a, k = self.asm, self.known
        a.label("attribute")
        a.copy(R10, RSI)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "attribute by Python")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("equal", "attribute by Python")
        a.copy(RDI, RAX)
        a.load(RSI, At(R10))
        a.constant(RAX, k.functions["PyObject_GetAttr"])
        a.jump_to(RAX)
        a.label("attribute by Python")
        a.copy(RSI, RDI)
        a.load(RDI, At(R10, PYTHONS.offset))
        a.zero(RDX)
        a.constant(RAX, k.functions["property get"])
        a.jump_to(RAX)

    def view(self) -> None:
        """(array, record): a view of a plain array."""
        a, k = self.asm, self.known
        a.label("view")
        a.copy(R10, RSI)
        self.compare(At(RDI, TYPE), k.lazy, RAX)
        a.jump_if("other", "attribute by Python")
        self.compare(At(RDI, k.storage), k.none, RAX)
        a.jump_if("other", "attribute by Python")
        a.push(RBX, R12, R13)
        a.copy(RBX, RDI)
        a.load(R12, At(RDI, k.geo))
        a.load(R13, At(R10))
        self.on("Py_IncRef", R12)
        a.copy(RDI, R12)
        a.copy(RSI, R13)
        self.call("PyObject_GetAttr")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R12)
        a.compare(R13, R12)
        a.jump_if("equal", "view of nothing")
        a.copy(RDI, R13)
        a.load(RSI, At(RBX, k.origin))
        self.compare(RSI, k.none, RAX)
        a.jump_if("other", "view wrap")
        a.copy(RSI, RBX)
        a.label("view wrap")
        a.call("wrap")
        a.label("view leave")
        a.pop(R13, R12, RBX)
        a.leave()
        a.label("view of nothing")                  # the array itself: the real part of a real one
        self.on("Py_DecRef", R13)
        self.on("Py_IncRef", RBX)
        a.copy(RAX, RBX)
        a.jump("view leave")

    def setter(self) -> None:
        """(array, value, record): as the property says."""
        a = self.asm
        a.label("setter")
        a.copy(RAX, RDX)
        a.copy(RDX, RSI)
        a.copy(RSI, RDI)
        a.load(RDI, At(RAX, PYTHONS.offset))
        a.constant(RAX, self.known.functions["property set"])
        a.jump_to(RAX)

    # --------------------------------------------------------------------------------- guards

    def of_nothing(self) -> None:
        """Python's business, all of it."""
        a = self.asm
        a.label("of nothing")
        a.zero(RAX)
        a.leave()

    def of_shape(self) -> None:
        """rdi: a shape.   rax: itself, if it has few elements; else zero."""
        a, k = self.asm, self.known
        a.label("of shape")
        a.push(RBX, R12, R13, R14, R15)
        a.copy(RBX, RDI)
        a.constant(R14, 1)
        a.constant(R12, 1)
        a.add(RSP, -16)
        a.store(At(RSP), RDI)                       # as if it were a tuple of one
        a.copy(R13, RSP)
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("other", "of shape axis")
        a.load(R12, At(RDI, LENGTH))
        a.place(R13, At(RDI, ITEMS))
        a.label("of shape axis")
        a.test(R12)
        a.jump_if("equal", "of shape whole")
        a.load(RDI, At(R13))
        self.compare(At(RDI, TYPE), k.integers, RAX)
        a.jump_if("other", "of shape not")
        self.call("PyLong_AsSsize_t")
        a.test(RAX)
        a.jump_if("negative", "of shape negative")
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "of shape not")
        a.multiply(R14, RAX)
        a.compare_number(R14, k.eager)
        a.jump_if("above", "of shape not")
        a.add(R13, 8)
        a.count_down(R12)
        a.jump("of shape axis")
        a.label("of shape negative")                # or too large for a word
        self.call("PyErr_Clear")
        a.label("of shape not")
        a.zero(RBX)
        a.label("of shape whole")
        a.copy(RAX, RBX)
        a.add(RSP, 16)
        a.pop(R15, R14, R13, R12, RBX)
        a.leave()

    def of_numbers(self) -> None:
        """The same of a range's one or two numbers."""
        a = self.asm
        a.label("of numbers")
        a.compare_number(GIVEN, 1)
        a.jump_if("above", "of numbers not")
        a.jump_if("below", "of shape")
        a.test(R14)
        a.jump_if("other", "of numbers not")
        a.push(RDI)
        a.load(RDI, At(R12))
        a.call("of shape")
        a.pop(RDI)
        a.test(RAX)
        a.jump_if("other", "of shape")
        a.label("of numbers not")
        a.zero(RAX)
        a.leave()

    def of_samples(self) -> None:
        """As `argument`, where the third one is a small number, or not given."""
        a = self.asm
        a.label("of samples")
        a.test(R14)
        a.jump_if("other", "of nothing")
        a.compare_number(GIVEN, 2)
        a.jump_if("below", "argument")
        a.jump_if("above", "of nothing")
        a.push(RDI)
        a.load(RDI, At(R12, 8))
        a.call("of shape")
        a.pop(RDI)
        a.test(RAX)
        a.jump_if("other", "argument")
        a.leave()

    def of_values(self) -> None:
        """rdi: what an array is to be made of.   rax: as `argument`, or itself, if it is a list of scalars or
        of such lists; else zero."""
        a, k = self.asm, self.known
        a.label("of values")
        a.constant(RAX, DEEP)
        a.store(LEFT, RAX)
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("other", "argument")
        a.label("of values inside")
        a.load(RAX, LEFT)
        a.count_down(RAX)
        a.jump_if("equal", "of values not")
        a.store(LEFT, RAX)
        a.load(R9, At(RDI, LENGTH))
        a.compare_number(R9, k.eager)
        a.jump_if("above", "of values not")
        a.load(R10, At(RDI, LIST_ITEMS))
        a.label("of values next")
        a.test(R9)
        a.jump_if("equal", "of values all")
        a.load(RAX, At(R10))
        a.load(RAX, At(RAX, TYPE))
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "of values list")
        a.call("of values type")
        a.test(RAX)
        a.jump_if("equal", "of values not")
        a.label("of values on")
        a.add(R10, 8)
        a.count_down(R9)
        a.jump("of values next")
        a.label("of values list")
        a.push(RDI, R9, R10)
        a.load(RDI, At(R10))
        a.call("of values inside")
        a.pop(R10, R9, RDI)
        a.test(RAX)
        a.jump_if("other", "of values on")
        a.label("of values not")
        a.zero(RAX)
        a.leave()
        a.label("of values all")
        a.load(RAX, LEFT)
        a.add(RAX, 1)
        a.store(LEFT, RAX)
        a.copy(RAX, RDI)
        a.leave()
        a.label("of values type")
        self.found_in(k.scalars, "of values type")
        a.leave()

    def of_arrays(self) -> None:
        """rdi: arrays to be joined.   rax: a tuple of the real ones, which `OWNED` keeps; else zero."""
        a, k = self.asm, self.known
        a.label("of arrays")
        a.place(R10, At(RDI, ITEMS))
        self.compare(At(RDI, TYPE), k.tuples, RAX)
        a.jump_if("equal", "of arrays begin")
        a.load(R10, At(RDI, LIST_ITEMS))
        self.compare(At(RDI, TYPE), k.lists, RAX)
        a.jump_if("equal", "of arrays begin")
        a.zero(RAX)
        a.leave()
        a.label("of arrays begin")
        a.push(R10, R12, R13)
        a.copy(R12, RDI)
        a.load(RDI, At(R12, LENGTH))
        a.compare_number(RDI, MOST)
        a.jump_if("above", "of arrays not")
        self.call("PyTuple_New")
        a.test(RAX)
        a.jump_if("equal", "of arrays no memory")
        a.store(OWNED, RAX)
        a.load(R10, At(RSP, 16))
        a.load(R11, At(R12, LENGTH))
        a.place(R13, At(RAX, ITEMS))
        a.label("of arrays next")
        a.test(R11)
        a.jump_if("equal", "of arrays all")
        a.load(RDI, At(R10))
        a.call("argument")
        a.test(RAX)
        a.jump_if("equal", "of arrays leave")
        a.push(R10, R11)
        a.copy(R12, RAX)
        a.copy(RDI, RAX)
        self.call("Py_IncRef")
        a.store(At(R13), R12)
        a.pop(R11, R10)
        a.add(R13, 8)
        a.add(R10, 8)
        a.count_down(R11)
        a.jump("of arrays next")
        a.label("of arrays all")
        a.load(RAX, OWNED)
        a.jump("of arrays leave")
        a.label("of arrays no memory")
        self.call("PyErr_Clear")
        a.label("of arrays not")
        a.zero(RAX)
        a.label("of arrays leave")
        a.pop(R13, R12, R10)
        a.leave()
