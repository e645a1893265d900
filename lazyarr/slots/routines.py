"""What bodies of machine code have in common: calls, comparisons, and routines on arrays and operands.

In:  names of what is called and compared with (`Known`), registers.   Out: code in an `Assembler`.
A routine takes rdi (and rsi), answers in rax, and leaves all registers alone that functions keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from lazyarr.object_fields import (
    BASE,
    BOOLS,
    DTYPE,
    ITEMS,
    LENGTH,
    LIST_ITEMS,
    OBJECTS,
    TYPE,
    TYPE_NUMBER,
)  # fmt: skip
from lazyarr.records import NamedTuple
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.loop_tables import ENTRY, TYPES, word_of
from lazyarr.slots.x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class Known(NamedTuple):
    """Names of addresses (`install`), places in a lazy array, and limits."""

    lazy: str
    """The lazy array's type."""
    real: str
    """NumPy's."""
    none: str
    tuples: str
    floats: str
    complex: str
    double: str
    """NumPy's scalars of double precision."""
    doubles: str
    """The descriptor of arrays of those."""
    word: str
    """The same of integers of a word."""
    words: str
    dot: str
    """NumPy's function."""
    lists: str
    integers: str
    not_implemented: str
    refusals: str
    """What NumPy says of keys that it does not take."""
    type_error: str
    too_many: str
    """The bytes of its words."""
    scalars: str
    """A list of types, ended by a zero: of scalars."""
    indices: str
    """The same, of indices that make views."""
    complexes: str
    """The same, of scalars of which assignments may warn."""
    inert: str
    """The same, of other arguments that hold no arrays."""
    finish: str
    """`fallback.finished`."""
    managing: str
    """`fallback.taken`."""
    forced: str
    answered: str
    geo: int
    storage: int
    origin: int
    ufunc: str
    """The type of NumPy's ufuncs."""
    window: int
    """In a lazy array: what elements are taken from (`windows`)."""
    twin: int
    spares: str
    """How many arrays wait to be used again, and these (`spares`)."""
    spare_views: str
    """The same of real arrays, for each number of axes (`spare_views`)."""
    storages: str
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
    home: int
    nbytes: int
    """In a value."""
    orphan: int
    bridge: int
    extent: int
    """In a buffer: who else has a say, and its bytes' number."""
    blocks: str
    """The type of blocks, to which buffers' arrays refer."""
    ledger: str
    unallocated: int
    """In the ledger."""
    collecting: str
    """`resting.COLLECTING`, and two places in it."""
    now: int
    ended: int
    owed: str
    """The home of values that the garbage collector has made homeless."""
    warm: str
    """`buffers.WARM`, and its limits: of a size's bytes that there may be several of, how many, and what room
    there has to be in the cache."""
    warm_most: int
    warm_each: int
    warm_room: int
    total: int
    """In free spans."""
    lock: str
    """Of all values."""
    owner: int
    """In the lock: who holds it; 0 if that is not known."""
    acquire: str
    """Its method."""
    release: str
    true: str
    false: str
    ellipsis: str
    buffers: str
    """The type of buffers."""
    slices: str
    """The type of slices."""
    text: str
    """The type of texts."""
    bytes: str
    ufuncs: str
    """The type of lazy ufuncs."""
    windows: str
    """The list of windows that are used again (`reused`)."""
    numpys_row: str
    """NumPy's function for one row of an array, by its number."""
    call: str
    """The bytes of "__call__", ended by a zero."""
    fn: int
    """In a lazy ufunc: NumPy's."""
    record: int
    """In a function: its record (`calls`)."""
    function_method: str
    ufunc_method: str
    """The methods ``__call__`` of functions and lazy ufuncs."""
    cross: int
    """Elements: products of sizes up to this need no look at shapes."""
    elided: int
    """Bytes from which NumPy looks for temporaries."""
    elides: int
    """Those from which code does; 0: a reference count says nothing of them."""
    operators: str
    hear_operator: str
    """Where operators' instructions have their operands, and who says so (`stack_operands`)."""
    weak: int
    """Where arrays of ours have their weak references."""
    native: str
    """The descriptors of NumPy's types, by number, but for those that are no machine's."""
    eager: int
    """Elements up to which a ufunc's result is NumPy's at the call, wherever it is asked for."""
    limit: str
    """The word for either (`slot_words`): elements up to which it is now."""
    most: str
    """Bytes."""
    made: str
    """The number of larger results."""
    until: str
    """And which of them Python hears of, by `hear`."""
    hear: str
    over: int
    """Elements up to which writes over what exists are NumPy's at the call at any time."""
    moved: int
    """The same of those that only move elements."""
    filled: int
    """The same of those that set them to one value."""
    outs: str
    """What is given by name where there is nothing but `out`."""
    masked: str
    """The same with `where`."""
    out: str
    """The bytes of "out", ended by a zero."""
    where: str
    dtype: str
    copy: str
    """The same of these names."""
    apart: str
    packers: str
    spreaders: str
    unpacked: str
    packed: str
    """Words (`slot_words`) for `picks`."""
    ranges: str
    """That of `elements`."""
    finds: str
    """That of `firsts`."""
    hear_masks: str
    too_deep: str
    """What is raised where a call of Python's has no room."""
    room: str
    """Memory in which an operator in place computes (`loops`)."""


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
            a.call("fits apart")
            a.test(RAX)
            a.jump_if("equal", leave)
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

    def manage(self, result: At) -> None:
        """rax: ours, for a real array that is large: plain ones are small (`arrays.wrap`)."""
        a, k = self.asm, self.known
        a.constant(RDI, k.managing)
        a.place(RSI, result)
        a.constant(RDX, 1)
        a.zero(RCX)
        self.call("PyObject_Vectorcall")

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

    def numbers_type(self, array: int, leave: str) -> None:
        """r9: a real array's type; on to a label unless that is one of NumPy's numbers, as this machine has
        them.  rax, rcx are lost."""
        a = self.asm
        a.load(R9, At(array, DTYPE))
        a.load_int(RAX, At(R9, TYPE_NUMBER))
        a.compare_number(RAX, TYPES - 1)
        a.jump_if("above", leave)
        a.constant(RCX, ENTRY)
        a.multiply(RAX, RCX)
        a.constant(RCX, word_of("add"))
        a.increase(RAX, RCX)
        a.compare(At(RAX), R9)
        a.jump_if("other", leave)

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


KEPT = RBX, RBP, R12, R13, R14, R15
PLACES = 40
"""Bytes on the stack for real arrays, `LOOPS`, and `NAMES`: with the six registers and the return address, a
multiple of 16."""
LOOPS, NAMES = At(RSP, 24), At(RSP, 32)
"""Where operators keep their table of loops (`loops`), or 0; where ufuncs keep the fourth word that they were
given, the names of arguments, or 0."""
COUNTED = (1 << 31) - 1
"""The bits of an argument that say how many there are (PEP 590)."""


class Framed(Writer):
    """Writes how the slots' functions begin and end (`bodies`)."""

    def enter(self, names: bool = False) -> None:
        """`names`: is there a fourth word?"""
        a = self.asm
        a.push(*KEPT)
        a.add(RSP, -PLACES)
        for kept, given in ((RBX, RDI), (RBP, RSI), (R12, RDX), (R13, R10), (R14, R11)):
            a.copy(kept, given)
        if names:
            a.store(NAMES, RCX)
        a.constant(RAX, self.known.forced)
        a.compare_number(At(RAX), 0)
        a.jump_if("other", "back")

    def call_ufunc(self) -> None:
        """rax: what the function in r13 gives for the ufunc and its rdx operands, on the stack."""
        a = self.asm
        a.load(RDI, At(RSP, 16))
        a.copy(RSI, RSP)
        a.zero(RCX)
        a.call_at(R13)

    def unless_passing(self, leave: str) -> None:
        """rbx: a managed array that has no window of elements.   On to a label if Python is to keep one with
        it, since it may last: it is no temporary, and no view, as rows are in loops."""
        a, label = self.asm, f"passing {len(self.asm.code)}"
        a.compare_number(At(RBX), 1, wide=False)
        a.jump_if("equal", label)
        self.compare(At(RBX, self.known.origin), self.known.none, RAX)
        a.jump_if("equal", leave)
        a.label(label)

    def most(self, least: int) -> None:
        """rdx: the elements of windows, that is what is NumPy's at the call now, and at least so many."""
        a, label = self.asm, f"most {len(self.asm.code)}"
        a.constant(RDX, self.known.limit)
        a.load(RDX, At(RDX))
        a.compare_number(RDX, least)
        a.jump_if("above", label)
        a.constant(RDX, least)
        a.label(label)

    def let_go(self, value: At) -> None:
        """A value that was assigned.   r15: its elements; 0 for a scalar."""
        self.asm.load(RDI, value)
        self.asm.call("elements of")
        self.asm.copy(R15, RAX)
        self.on("Py_DecRef", value)

    def assigned(self, label: str) -> None:
        """r13 is what an assignment of r15 elements gave: the end of it, for which nothing is held."""
        a = self.asm
        a.test_int(R13)
        a.jump_if("other", label)
        a.copy(RDI, R15)
        a.call("moved")
        a.test(RAX)
        a.jump_if("other", label)
        a.add(R13, -1)
        a.label(label)
        a.copy(RAX, R13)
        self.restore()
        a.leave()

    def restore(self) -> None:
        self.asm.add(RSP, PLACES)
        self.asm.pop(*reversed(KEPT))


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
        a.push(RBX, RBP)
        a.add(RSP, -8)
        a.copy(RBX, RDI)
        a.copy(RBP, RSI)
        self.on("Py_IncRef", RBP)                   # (an allocation may collect garbage)
        a.constant(RDI, k.lazy)
        a.zero(RSI)
        a.constant(R11, "PyType_GenericAlloc")
        a.call("array begins")
        a.test(RAX)
        a.jump_if("equal", "wrap no memory")
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
        a.add(RSP, 8)
        a.pop(RBP, RBX)
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
        self.found_in(k.scalars, "unwrap")
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
        a.call("unwrap")
        a.test(RAX)
        a.jump_if("equal", "argument none")
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
