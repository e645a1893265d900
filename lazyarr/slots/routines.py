"""What bodies of machine code have in common: calls, comparisons, and routines on arrays and operands.

In:  addresses of what is called and compared with (`Known`), registers.   Out: code in an `Assembler`.
A routine takes rdi (and rsi), answers in rax, and leaves all registers alone that functions keep.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple
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
from lazyarr.slots.fields import (
    C_CONTIGUOUS,
    COMPLEX,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    OBJECTS,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip

HUGE = (1 << 31) - 1
"""Sizes whose product might not fit a word."""

LONGEST = (1 << 63) - 1
"""Bytes from one element of an axis to the next one, at most."""


class Known(NamedTuple):
    """Addresses, places in a lazy array, and limits."""

    lazy: int
    """The lazy array's type."""
    real: int
    """NumPy's."""
    none: int
    tuples: int
    lists: int
    integers: int
    not_implemented: int
    type_error: int
    too_many: int
    """The bytes of its words."""
    scalars: int
    """A list of types, ended by a zero: of scalars."""
    indices: int
    """The same, of indices that make views."""
    complexes: int
    """The same, of scalars of which assignments may warn."""
    inert: int
    """The same, of other arguments that hold no arrays."""
    finish: int
    """`fallback.finished`."""
    managing: int
    """`arrays.wrap`."""
    forced: int
    answered: int
    geo: int
    storage: int
    origin: int
    ufunc: int
    """The type of NumPy's ufuncs."""
    window: int
    """In a lazy array: what elements are taken from (`windows`)."""
    storages: int
    """The type of storages."""
    value: int
    """In a storage: its value."""
    op: int
    """In a value: what computes it."""
    buf: int
    """And where it is."""
    address: int
    """In a buffer."""
    readers: int
    """In a value: what reads it."""
    memory: int
    """In a buffer: its bytes, as an array."""
    lock: int
    """Of all values."""
    owner: int
    """In the lock: who holds it; 0 if that is not known."""
    acquire: int
    """Its method."""
    release: int
    true: int
    false: int
    ellipsis: int
    buffers: int
    """The type of buffers."""
    slices: int
    """The type of slices."""
    text: int
    """The type of texts."""
    call: int
    """The bytes of "__call__", ended by a zero."""
    fn: int
    """In a lazy ufunc: NumPy's."""
    record: int
    """In a function: its record (`calls`)."""
    cross: int
    """Elements: products of sizes up to this need no look at shapes."""
    elided: int
    """Bytes from which NumPy looks for temporaries."""
    eager: int
    """Elements up to which a ufunc's result is NumPy's at the call."""
    plain: int
    """Bytes up to which an array stays plain."""
    functions: dict[str, int]


class Writer:
    """Writes instructions that occur again and again."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        self.asm, self.known = asm, known

    def call(self, function: str) -> None:
        """Call a function of Python's C interface."""
        self.asm.constant(RAX, self.known.functions[function])
        self.asm.call_at(RAX)

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

    def compare(self, left: int | At, constant: int, scratch: int) -> None:
        self.asm.constant(scratch, constant)
        self.asm.compare(left, scratch)

    def real(
        self, to: int | At, given: int | At, routine: str = "unwrap", otherwise: str = "back"
    ) -> None:
        """The real array of an argument, or the argument, into a place; back, or on, if it is neither."""
        self.move(RDI, given)
        self.asm.call(routine)
        self.asm.test(RAX)
        self.asm.jump_if("equal", otherwise)
        self.move(to, RAX)

    def small(self, x: int | At, y: int | At) -> None:
        """Back, unless two arrays are small together."""
        self.move(RDI, x)
        self.move(RSI, y)
        self.asm.call("fits")
        self.asm.test(RAX)
        self.asm.jump_if("equal", "back")

    def is_objects(self, array: int, scratch: int) -> None:
        """Compare: is it an array of objects?"""
        self.asm.load(scratch, At(array, DTYPE))
        self.asm.compare_number(At(scratch, TYPE_NUMBER), OBJECTS, wide=False)

    def count(self) -> None:
        self.asm.constant(RAX, self.known.answered)
        self.asm.count(At(RAX))

    def found_in(self, types: int, routine: str) -> None:
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


KEPT = RBX, RBP, R12, R13, R14, R15
PLACES = 24
"""Bytes on the stack for real arrays: with the six registers and the return address, a multiple of 16."""


class Framed(Writer):
    """Writes how the slots' functions begin and end (`bodies`)."""

    def enter(self) -> None:
        a = self.asm
        a.push(*KEPT)
        a.add(RSP, -PLACES)
        for kept, given in ((RBX, RDI), (RBP, RSI), (R12, RDX), (R13, R10), (R14, R11)):
            a.copy(kept, given)
        a.constant(RAX, self.known.forced)
        a.compare_number(At(RAX), 0)
        a.jump_if("other", "back")

    def restore(self) -> None:
        self.asm.add(RSP, PLACES)
        self.asm.pop(*reversed(KEPT))


class Routines(Writer):
    """Writes the routines."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.wrap, self.unwrap, self.index, self.argument, self.fits, self.orderly, self.nbytes,
            self.size,
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
        a.push(RBX, RBP)
        a.add(RSP, -8)
        a.copy(RBX, RDI)
        a.copy(RBP, RSI)
        self.on("Py_IncRef", RBP)                   # (an allocation may collect garbage)
        a.constant(RDI, k.lazy)
        a.zero(RSI)
        self.call("PyType_GenericAlloc")
        a.test(RAX)
        a.jump_if("equal", "wrap no memory")
        a.store(At(RAX, k.geo), RBX)
        a.constant(RCX, k.none)
        a.store(At(RAX, k.storage), RCX)
        a.store(At(RAX, k.origin), RBP)
        a.copy(RBX, RAX)
        a.copy(RDI, RCX)
        self.call("Py_IncRef")
        a.label("wrap done")
        a.copy(RAX, RBX)
        a.add(RSP, 8)
        a.pop(RBP, RBX)
        a.label("wrap as it is")
        a.leave()
        a.label("wrap no memory")
        self.on("Py_DecRef", RBX, RBP)
        a.zero(RBX)
        a.jump("wrap done")

    def unwrap(self) -> None:
        """rdi: an operand.   rax: the real array of a plain one, a scalar itself, else zero."""
        a, k = self.asm, self.known
        a.label("unwrap")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("other", "unwrap scalar")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "unwrap neither")
        a.load(RAX, At(RDI, k.geo))
        a.leave()
        a.label("unwrap neither")
        a.zero(RAX)
        a.leave()
        a.label("unwrap scalar")
        self.found_in(k.scalars, "unwrap")
        a.copy(RAX, RDI)
        a.leave()

    def index(self) -> None:
        """rdi: a key.   rax: itself, if it makes views or elements; a plain array's real one; else zero."""
        a, k = self.asm, self.known
        a.label("index")
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.lazy, RCX)
        a.jump_if("equal", "unwrap")
        self.compare(RAX, k.tuples, RCX)
        a.jump_if("equal", "index tuple")
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
        self.found_in(k.inert, "argument")
        a.copy(RAX, RDI)
        a.leave()
        a.label("argument array")                   # of objects, which may be arrays: Python's business
        a.call("unwrap")
        a.test(RAX)
        a.jump_if("equal", "argument none")
        self.is_objects(RAX, RCX)
        a.jump_if("other", "argument none")
        a.zero(RAX)
        a.label("argument none")
        a.leave()
        a.label("argument tuple")
        self.each_found_in(k.inert, "argument tuple")

    def each_found_in(self, types: int, routine: str) -> None:
        """rdi: a tuple.   Answer itself if the types of its parts are in a list; else zero."""
        a = self.asm
        a.load(R8, At(RDI, LENGTH))
        a.place(RSI, At(RDI, ITEMS))
        a.label(f"{routine} part")
        a.test(R8)
        a.jump_if("equal", f"{routine} whole")
        a.load(RAX, At(RSI))
        a.load(RAX, At(RAX, TYPE))
        a.call(f"{routine} type")
        a.test(RAX)
        a.jump_if("equal", f"{routine} answer")
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
        a.load_int(R10, At(RDI, NDIM))
        a.load(R8, At(R9, DIMS))
        a.load(RDX, At(RDI, DIMS))
        a.compare(RCX, R10)
        a.jump_if("other", "fits across")
        a.label("fits axis")
        a.test(R10)
        a.jump_if("equal", "fits alike")
        a.load(RAX, At(R8))
        a.compare(At(RDX), RAX)
        a.jump_if("other", "fits across")
        a.add(R8, 8)
        a.add(RDX, 8)
        a.count_down(R10)
        a.jump("fits axis")
        a.label("fits alike")
        a.call("orderly")
        a.test(RAX)
        a.jump_if("equal", "fits not")
        a.copy(RDI, R9)
        a.call("orderly")
        a.test(RAX)
        a.jump_if("other", "fits so")
        a.label("fits not")
        a.zero(RAX)
        a.leave()
        self._fits_across()

    def _fits_across(self) -> None:
        """r9, rdi: arrays of several shapes.   Is the result small that these make together?

        From the last axes on; what does not go together NumPy refuses, however large."""
        a, k = self.asm, self.known
        a.label("fits across")
        a.load_int(RCX, At(R9, NDIM))
        a.load_int(R10, At(RDI, NDIM))
        for end, array, ndim in ((R8, R9, RCX), (RDX, RDI, R10)):
            a.copy(end, ndim)
            a.times_word(end)
            a.increase(end, At(array, DIMS))
        a.constant(RAX, 1)
        a.label("fits across axis")
        a.constant(RSI, 1)
        a.test(RCX)
        a.jump_if("equal", "fits across other")
        a.count_down(RCX)
        a.add(R8, -8)
        a.load(RSI, At(R8))
        a.label("fits across other")
        a.test(R10)
        a.jump_if("equal", "fits across longer")
        a.count_down(R10)
        a.add(RDX, -8)
        a.compare(At(RDX), RSI)
        a.jump_if("below", "fits across longer")
        a.load(RSI, At(RDX))
        a.label("fits across longer")
        a.multiply(RAX, RSI)
        a.test(RCX)
        a.jump_if("other", "fits across axis")
        a.test(R10)
        a.jump_if("other", "fits across axis")
        a.compare_number(RAX, k.eager)
        a.jump_if("above", "fits not")
        a.jump("fits so")

    def orderly(self) -> None:
        """rdi: an operand.   rax: not zero if nothing depends on whether NumPy computes in its memory
        (`elision`): it is too small for that, or real, with axes in C's order, as a slice has them; rcx and
        rdx are lost."""
        a, k = self.asm, self.known
        a.label("orderly")
        a.call("nbytes")
        a.compare_number(RAX, k.elided)
        a.jump_if("below", "orderly so")
        a.load(RCX, At(RDI, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), COMPLEX - 1, wide=False)
        a.jump_if("above", "orderly not")           # (complex, objects, half precision)
        a.load_int(RAX, At(RDI, FLAGS))
        a.keep(RAX, C_CONTIGUOUS)
        a.test(RAX)
        a.jump_if("other", "orderly so")            # (axes of one element may have any strides)
        a.load_int(RCX, At(RDI, NDIM))
        a.load(RDX, At(RDI, STRIDES))
        a.constant(RAX, LONGEST)
        a.label("orderly axis")
        a.compare(At(RDX), RAX)
        a.jump_if("above", "orderly not")           # (negative ones count as longer than all others)
        a.load(RAX, At(RDX))
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump_if("other", "orderly axis")
        a.test(RAX)                                 # zero: an axis along which it repeats
        a.leave()
        a.label("orderly so")
        a.constant(RAX, 1)
        a.leave()
        a.label("orderly not")
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
