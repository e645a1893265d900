"""What the slots' functions do, in machine code: one body for each kind of slot.

In:  addresses of what the bodies call and compare with (`Known`).   Out: an `Assembler` with their labels.
A slot's own function puts two words into registers, and jumps to the body of its kind:

    r10   the function of Python's C interface that does it, `PyNumber_Add` say
    r11   what finds the Python method: what was in the slot before, or a function of the kind `method`

Each body asks whether the operands are NumPy's business; if not, it goes to r11 with the arguments that it
was given, as if it had not been there.  Else it calls r10 with the real arrays, and wraps what comes back.

Registers that functions keep hold, in all bodies: rbx, rbp, r12 the arguments; r13 what is called, then its
result; r14 what was there before; r15 the first array.  Other real arrays are on the stack.
Invariants: the GIL is held throughout; while anything is called that may run Python, each array that is
passed has a reference of ours, so that it stays, and so that NumPy does not take it for a temporary; nothing
has been done when r11 is asked.
"""

from __future__ import annotations

from typing import NamedTuple

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
from lazyarr.slots.fields import BASE, DIMS, DTYPE, ITEMS, ITEMSIZE, LENGTH, NDIM, NIN, NOUT, TYPE, USED

KEPT = RBX, RBP, R12, R13, R14, R15
PLACES = 24
"""Bytes on the stack for real arrays: with the six registers and the return address, a multiple of 16."""
HUGE = (1 << 31) - 1
"""Sizes whose product might not fit a word."""


class Known(NamedTuple):
    """Addresses, places in a lazy array, and limits."""

    lazy: int
    """The lazy array's type."""
    real: int
    """NumPy's."""
    none: int
    tuples: int
    objects: int
    """The dtype of objects."""
    value_error: int
    not_implemented: int
    scalars: int
    """A list of types, ended by a zero: of scalars."""
    indices: int
    """The same, of indices that make views."""
    forced: int
    answered: int
    geo: int
    storage: int
    origin: int
    fn: int
    """In a lazy ufunc: NumPy's."""
    cross: int
    """Elements: products of sizes up to this need no look at shapes."""
    elided: int
    """Bytes from which NumPy looks for temporaries."""
    eager: int
    """Elements up to which a ufunc's result is NumPy's at the call."""
    functions: dict[str, int]


class Bodies:
    """Writes all bodies, and the routines that they share."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        self.asm, self.known = asm, known
        for write in (
            self.binary, self.method, self.in_place, self.unary, self.get_item, self.set_item, self.length,
            self.ufunc, self.back, self.answer, self.give, self.wrap, self.unwrap, self.index, self.fits,
            self.size, self.nbytes,
        ):  # fmt: skip
            write()

    # -------------------------------------------------------------------------------- parts

    def _enter(self) -> None:
        a = self.asm
        a.push(*KEPT)
        a.add(RSP, -PLACES)
        for kept, given in ((RBX, RDI), (RBP, RSI), (R12, RDX), (R13, R10), (R14, R11)):
            a.copy(kept, given)
        a.constant(RAX, self.known.forced)
        a.compare_number(At(RAX), 0)
        a.jump_if("other", "back")

    def _restore(self) -> None:
        self.asm.add(RSP, PLACES)
        self.asm.pop(*reversed(KEPT))

    def _call(self, function: str) -> None:
        self.asm.constant(RAX, self.known.functions[function])
        self.asm.call_at(RAX)

    def _on(self, function: str, *objects: int | At) -> None:
        """Call a function on each of the objects."""
        for x in objects:
            self.asm.load(RDI, x) if isinstance(x, At) else self.asm.copy(RDI, x)
            self._call(function)

    def _compare(self, left: int | At, constant: int, scratch: int) -> None:
        self.asm.constant(scratch, constant)
        self.asm.compare(left, scratch)

    def _real(self, to: int | At, given: int | At, routine: str = "unwrap") -> None:
        """The real array of an argument, or the argument, into a place; back if it is neither."""
        a = self.asm
        a.load(RDI, given) if isinstance(given, At) else a.copy(RDI, given)
        a.call(routine)
        a.test(RAX)
        a.jump_if("equal", "back")
        a.store(to, RAX) if isinstance(to, At) else a.copy(to, RAX)

    def _small(self, x: int | At, y: int | At) -> None:
        """Back, unless two arrays are small together."""
        a = self.asm
        for to, given in ((RDI, x), (RSI, y)):
            a.load(to, given) if isinstance(given, At) else a.copy(to, given)
        a.call("fits")
        a.test(RAX)
        a.jump_if("equal", "back")

    def _count(self) -> None:
        self.asm.constant(RAX, self.known.answered)
        self.asm.count(At(RAX))

    # ------------------------------------------------------------------------------- bodies

    def binary(self) -> None:
        """(a, b, c): c is what a comparison asks, or the modulus of a power; any other slot has none."""
        a, y = self.asm, At(RSP)
        a.label("binary")
        self._enter()
        self._real(R15, RBX)
        self._real(y, RBP)
        a.compare(RAX, RBP)
        a.jump_if("equal", "binary two")            # an array and a scalar
        a.compare(R15, RBX)
        a.jump_if("equal", "binary turned")
        self._small(R15, y)
        a.label("binary two")
        self._on("Py_IncRef", R15, y)
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15, y)
        a.jump("answer")
        a.label("binary turned")                    # a scalar and an array, which may be a temporary
        a.load(RDI, y)
        a.call("nbytes")
        a.compare_number(RAX, self.known.elided)
        a.jump_if("below", "binary two")
        a.jump("back")

    def method(self) -> None:
        """(a, b, c): by Python's methods, `__add__` in r10, `__radd__` in r11; a power may have a modulus.

        As CPython's own function for the slot, which asks first whether the slot still holds itself."""
        a = self.asm
        a.label("power method")
        self._compare(RDX, self.known.none, RAX)
        a.jump_if("equal", "method")
        self._compare(At(RDI, TYPE), self.known.lazy, RAX)
        a.constant(R8, 3)
        a.jump_if("equal", "method on")
        a.constant(RDI, self.known.not_implemented)
        a.add(RSP, -8)
        self._call("Py_IncRef")
        a.add(RSP, 8)
        a.constant(RAX, self.known.not_implemented)
        a.leave()
        a.label("method")
        a.constant(R8, 2)
        self._compare(At(RDI, TYPE), self.known.lazy, RAX)
        a.jump_if("equal", "method on")
        a.copy(R10, R11)
        a.copy(RAX, RDI)
        a.copy(RDI, RSI)
        a.copy(RSI, RAX)
        a.label("method on")
        a.add(RSP, -PLACES)
        for k, given in enumerate((RDI, RSI, RDX)):
            a.store(At(RSP, 8 * k), given)
        a.copy(RDI, R10)
        a.copy(RSI, RSP)
        a.copy(RDX, R8)
        a.zero(RCX)
        self._call("PyObject_Vectorcall")
        a.add(RSP, PLACES)
        a.leave()

    def in_place(self) -> None:
        """(a, b, c): the same as `binary`, into a."""
        a, y = self.asm, At(RSP)
        a.label("in_place")
        self._enter()
        self._real(R15, RBX)
        self._real(y, RBP)
        self._on("Py_IncRef", R15, y)
        a.copy(RDI, R15)
        a.load(RSI, y)
        a.copy(RDX, R12)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15, y)
        self._count()
        a.test(R13)
        a.jump_if("equal", "in_place failed")
        self._on("Py_DecRef", R13)                  # it is a's real array
        self._on("Py_IncRef", RBX)
        a.copy(R13, RBX)
        a.label("in_place failed")
        a.copy(RAX, R13)
        self._restore()
        a.leave()

    def unary(self) -> None:
        a = self.asm
        a.label("unary")
        self._enter()
        self._real(R15, RBX)
        self._on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15)
        a.jump("answer")

    def get_item(self) -> None:
        """(a, key): elements and views; with small arrays as keys, copies."""
        a, key = self.asm, At(RSP)
        a.label("get_item")
        self._enter()
        self._real(R15, RBX)
        self._compare(At(R15, DTYPE), self.known.objects, RAX)      # their elements may be arrays
        a.jump_if("equal", "back")
        self._real(key, RBP, "index")
        a.compare(RAX, RBP)
        a.jump_if("other", "get_item copy")
        self._on("Py_IncRef", R15)
        a.copy(RDI, R15)
        a.copy(RSI, RBP)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15)
        a.copy(RDI, R13)
        a.load(RSI, At(RBX, self.known.origin))     # a view of what a is a view of, if it is one
        self._compare(RSI, self.known.none, RAX)
        a.jump_if("other", "get_item view")
        a.copy(RSI, RBX)
        a.label("get_item view")
        a.call("wrap")
        self._restore()
        a.leave()

        a.label("get_item copy")
        self._small(R15, key)
        self._on("Py_IncRef", R15, key)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15, key)
        a.test(R13)
        a.jump_if("equal", "get_item refused")
        self._compare(At(R13, TYPE), self.known.real, RAX)
        a.jump_if("other", "give")
        a.compare_number(At(R13, BASE), 0)          # not a copy: Python knows of what it is a view
        a.jump_if("equal", "give")
        self._on("Py_DecRef", R13)
        a.jump("back")
        a.label("get_item refused")                 # nothing has happened: Python finds the words for it
        self._call("PyErr_Clear")
        a.jump("back")

    def set_item(self) -> None:
        """(a, key, value); no value where an element is to be deleted."""
        a, key, value = self.asm, At(RSP), At(RSP, 8)
        a.label("set_item")
        self._enter()
        a.test(R12)
        a.jump_if("equal", "back")
        self._real(R15, RBX)
        self._compare(At(R15, DTYPE), self.known.objects, RAX)
        a.jump_if("equal", "back")
        self._real(key, RBP, "index")
        self._real(value, R12)
        self._on("Py_IncRef", R15, key, value)
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.load(RDX, value)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", R15, key, value)
        a.test_int(R13)
        a.jump_if("equal", "set_item done")
        a.constant(RDI, self.known.value_error)     # what NumPy refuses, Python may know how to ask
        self._call("PyErr_ExceptionMatches")
        a.test_int(RAX)
        a.jump_if("equal", "set_item done")
        self._call("PyErr_Clear")
        a.jump("back")
        a.label("set_item done")
        a.copy(RAX, R13)
        self._restore()
        a.leave()

    def length(self) -> None:
        """(a): any lazy array knows its own."""
        a = self.asm
        a.label("length")
        a.load(RAX, At(RDI, self.known.geo))
        a.test(RAX)
        a.jump_if("equal", "length before")
        a.load_int(RCX, At(RAX, NDIM))
        a.test_int(RCX)
        a.jump_if("equal", "length before")
        a.load(RAX, At(RAX, DIMS))
        a.load(RAX, At(RAX))
        a.leave()
        a.label("length before")
        a.jump_to(R11)

    def ufunc(self) -> None:
        """(ufunc, args, kwargs): of one or two operands and one result; r10 is PyObject_Vectorcall."""
        a, x, y, fn = self.asm, At(RSP), At(RSP, 8), At(RSP, 16)
        first, second = At(RBP, ITEMS), At(RBP, ITEMS + 8)
        a.label("ufunc")
        self._enter()
        a.test(R12)
        a.jump_if("equal", "ufunc positional")
        a.compare_number(At(R12, USED), 0)
        a.jump_if("other", "back")
        a.label("ufunc positional")
        a.load(RAX, At(RBX, self.known.fn))
        a.test(RAX)
        a.jump_if("equal", "back")
        a.store(fn, RAX)
        a.compare_number(At(RAX, NOUT), 1, wide=False)
        a.jump_if("other", "back")
        a.load_int(R15, At(RAX, NIN))
        a.compare(At(RBP, LENGTH), R15)
        a.jump_if("other", "back")
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc one")
        a.compare_number(R15, 2)
        a.jump_if("other", "back")

        self._real(x, first)
        self._real(y, second)
        a.load(RDI, x)                              # the only array, or the first
        a.compare(RDI, RAX)                         # (one array twice is as small as alone)
        a.jump_if("equal", "ufunc size")
        a.load(RCX, second)
        a.compare(RAX, RCX)
        a.jump_if("equal", "ufunc size")            # the second is a scalar
        a.load(RCX, first)
        a.compare(RDI, RCX)
        a.jump_if("other", "ufunc arrays")
        a.copy(RDI, RAX)
        a.jump("ufunc size")
        a.label("ufunc arrays")
        self._small(x, y)
        a.jump("ufunc two")
        a.label("ufunc size")
        self._compare(At(RDI, TYPE), self.known.real, RAX)          # (two scalars are no array)
        a.jump_if("other", "back")
        a.call("size")
        a.compare_number(RAX, self.known.eager)
        a.jump_if("above", "back")
        a.compare_number(R15, 1)
        a.jump_if("equal", "ufunc call")
        a.label("ufunc two")
        self._on("Py_IncRef", y)
        a.label("ufunc call")
        self._on("Py_IncRef", x)
        a.load(RDI, fn)
        a.copy(RSI, RSP)
        a.copy(RDX, R15)
        a.zero(RCX)
        a.call_at(R13)
        a.copy(R13, RAX)
        self._on("Py_DecRef", x)
        a.compare_number(R15, 1)
        a.jump_if("equal", "answer")
        self._on("Py_DecRef", y)
        a.jump("answer")
        a.label("ufunc one")
        self._real(x, first)
        a.copy(RDI, RAX)
        a.jump("ufunc size")

    # ---------------------------------------------------------------------------- their ends

    def back(self) -> None:
        """Not here: what was in the slot before."""
        a = self.asm
        a.label("back")
        for given, kept in ((RDI, RBX), (RSI, RBP), (RDX, R12), (R11, R14)):
            a.copy(given, kept)
        self._restore()
        a.jump_to(R11)

    def answer(self) -> None:
        """r13 is NumPy's result, which counts."""
        self.asm.label("answer")
        self._count()

    def give(self) -> None:
        """r13 is the result."""
        a = self.asm
        a.label("give")
        a.copy(RDI, R13)
        a.constant(RSI, self.known.none)
        a.call("wrap")
        self._restore()
        a.leave()

    # ------------------------------------------------------------------------------ routines

    def wrap(self) -> None:
        """rdi: a result, or zero.   rsi: the array that it is a view of, or None.   rax: ours, if an array.

        As `arrays.wrapped` and `arrays.part`."""
        a, k = self.asm, self.known
        a.label("wrap")
        a.copy(RAX, RDI)
        a.test(RAX)
        a.jump_if("equal", "wrap as it is")
        self._compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "wrap as it is")
        a.push(RBX, RBP)
        a.add(RSP, -8)
        a.copy(RBX, RDI)
        a.copy(RBP, RSI)
        a.constant(RDI, k.lazy)
        a.zero(RSI)
        self._call("PyType_GenericAlloc")
        a.test(RAX)
        a.jump_if("equal", "wrap no memory")
        a.store(At(RAX, k.geo), RBX)
        a.constant(RCX, k.none)
        a.store(At(RAX, k.storage), RCX)
        a.store(At(RAX, k.origin), RBP)
        a.copy(RBX, RAX)
        a.copy(RDI, RCX)
        self._call("Py_IncRef")
        self._on("Py_IncRef", RBP)
        a.label("wrap done")
        a.copy(RAX, RBX)
        a.add(RSP, 8)
        a.pop(RBP, RBX)
        a.label("wrap as it is")
        a.leave()
        a.label("wrap no memory")
        self._on("Py_DecRef", RBX)
        a.zero(RBX)
        a.jump("wrap done")

    def unwrap(self) -> None:
        """rdi: an operand.   rax: the real array of a plain one, a scalar itself, else zero."""
        a, k = self.asm, self.known
        a.label("unwrap")
        a.load(RAX, At(RDI, TYPE))
        self._compare(RAX, k.lazy, RCX)
        a.jump_if("other", "unwrap scalar")
        self._compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "unwrap neither")
        a.load(RAX, At(RDI, k.geo))
        a.leave()
        a.label("unwrap neither")
        a.zero(RAX)
        a.leave()
        a.label("unwrap scalar")
        self._found_in(k.scalars, "unwrap")
        a.copy(RAX, RDI)
        a.leave()

    def _found_in(self, types: int, routine: str) -> None:
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

    def index(self) -> None:
        """rdi: a key.   rax: itself, if it makes views or elements; a plain array's real one; else zero."""
        a, k = self.asm, self.known
        a.label("index")
        a.load(RAX, At(RDI, TYPE))
        self._compare(RAX, k.lazy, RCX)
        a.jump_if("equal", "unwrap")
        self._compare(RAX, k.tuples, RCX)
        a.jump_if("equal", "index tuple")
        self._found_in(k.indices, "index")
        a.copy(RAX, RDI)
        a.leave()
        a.label("index tuple")
        a.load(R8, At(RDI, LENGTH))
        a.place(RSI, At(RDI, ITEMS))
        a.label("index part")
        a.test(R8)
        a.jump_if("equal", "index whole")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        a.call("index type")
        a.test(RAX)
        a.jump_if("equal", "index none")
        a.add(RSI, 8)
        a.count_down(R8)
        a.jump("index part")
        a.label("index whole")
        a.copy(RAX, RDI)
        a.label("index none")
        a.leave()
        a.label("index type")
        self._found_in(k.indices, "index type")
        a.leave()

    def fits(self) -> None:
        """rdi, rsi: arrays.   rax: not zero if they are small together, as `operators.plain_pair` says."""
        a, k = self.asm, self.known
        a.label("fits")
        a.call("size")
        a.copy(R8, RAX)
        a.copy(R9, RDI)
        a.copy(RDI, RSI)
        a.call("size")
        for one in (R8, RAX):
            a.compare_number(one, HUGE)
            a.jump_if("above", "fits not")
        a.multiply(R8, RAX)
        a.compare_number(R8, k.cross)
        a.jump_if("above", "fits if alike")
        a.label("fits so")
        a.constant(RAX, 1)
        a.leave()

        a.label("fits if alike")
        a.load_int(RCX, At(R9, NDIM))
        a.load_int(RDX, At(RDI, NDIM))
        a.compare(RCX, RDX)
        a.jump_if("other", "fits not")
        a.load(R8, At(R9, DIMS))
        a.load(RDX, At(RDI, DIMS))
        a.label("fits axis")
        a.test(RCX)
        a.jump_if("equal", "fits alike")
        a.load(RAX, At(R8))
        a.compare(At(RDX), RAX)
        a.jump_if("other", "fits not")
        a.add(R8, 8)
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump("fits axis")
        a.label("fits alike")
        a.call("nbytes")
        a.compare_number(RAX, k.elided)
        a.jump_if("below", "fits so")
        a.label("fits not")
        a.zero(RAX)
        a.leave()

    def nbytes(self) -> None:
        """rdi: an array.   rax: its bytes."""
        a = self.asm
        a.label("nbytes")
        a.call("size")
        a.load(RCX, At(RDI, DTYPE))
        a.multiply(RAX, At(RCX, ITEMSIZE))
        a.leave()

    def size(self) -> None:
        """rdi: an array.   rax: its elements; rcx and rdx are lost."""
        a = self.asm
        a.label("size")
        a.load_int(RCX, At(RDI, NDIM))
        a.load(RDX, At(RDI, DIMS))
        a.constant(RAX, 1)
        a.label("size axis")
        a.test(RCX)
        a.jump_if("equal", "size whole")
        a.multiply(RAX, At(RDX))
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump("size axis")
        a.label("size whole")
        a.leave()
