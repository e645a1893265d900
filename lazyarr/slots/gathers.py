"""Keys with arrays among their parts, in machine code: `x[rows, columns]`, `x[3, picked] = y`.

In:  an array, and a key that picks neither an element nor a view (`items`); for a write, the value.
Out: what NumPy gives for real arrays, or windows, in the key's parts, where that is small by their sizes, and
what it does where one array of truths is the key of a small part; all else is for Python: arrays of more
axes, and what is not computed yet.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    BASE,
    BOOLS,
    DIMS,
    DTYPE,
    ITEMS,
    LENGTH,
    NDIM,
    OBJECTS,
    TYPE,
    TYPE_NUMBER,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import Framed
from lazyarr.slots.known import Known
from lazyarr.slots.parts import ANY_SIZE
from lazyarr.slots.views import BOUNDS
from lazyarr.slots.x86 import R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP

MOST = 8
"""Parts of a key."""

KEPT = RBX, R12, R13, R14
"""Bytes of axes passed; parts that are left; the next one; its place in the new key."""
LOCAL = 40
"""Bytes on the stack: with the registers and the return address, a multiple of 16."""
KEY, ELEMENTS, PICKED, ONE = (At(RSP, 8 * k) for k in range(4))
"""The new key; elements for each that arrays pick; how many those pick; a key that is no tuple."""
ARRAY = At(RSP, LOCAL + 8 * (len(KEPT) - 1))
"""The array, which was in rbx."""


def _called(place: At) -> At:
    """A place of `key`'s in what it calls: behind the return address."""
    return At(RSP, place.offset + 8)


class Gathers(Framed):
    """Writes the routine, and the bodies."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.key, self.part, self.rest, self.axis, self.arrays, self.get, self.set, self.store, self.mask,
        ):  # fmt: skip
            write()

    # ------------------------------------------------------------------------------ routine

    def key(self) -> None:
        """rbx: an array.   r15: its real one, or its geometry.   rbp: a key.   rax: a new tuple for NumPy, or
        zero: then r15 may be gone."""
        a, k = self.asm, self.known
        a.label("key")
        self.reserve(LOCAL, *KEPT)
        a.store(ONE, RBP)
        a.place(R13, ONE)
        a.constant(R12, 1)
        self.compare(At(RBP, TYPE), k.tuples, RAX)
        a.jump_if("other", "key begins")
        a.load(R12, At(RBP, LENGTH))
        a.place(R13, At(RBP, ITEMS))
        a.label("key begins")
        a.place(RAX, At(R12, -1))
        a.compare_number(RAX, MOST - 1)
        a.jump_if("above", "key none")
        a.copy(RDI, R12)
        self.call("PyTuple_New")
        a.test(RAX)
        a.jump_if("equal", "key no memory")
        a.store(KEY, RAX)
        a.load(RCX, ARRAY)
        a.compare(At(RCX, k.geo), R15)              # making a tuple may collect garbage, and run Python
        a.jump_if("other", "key not")
        a.place(R14, At(RAX, ITEMS))
        a.zero(RBX)
        a.constant(RAX, 1)
        a.store(ELEMENTS, RAX)
        a.store(PICKED, RAX)
        a.jump("key part")

        a.label("key no memory")
        self.call("PyErr_Clear")
        a.jump("key none")
        a.label("key not")
        self.on("Py_DecRef", KEY)
        a.label("key none")
        a.zero(RAX)
        a.label("key leave")
        self.release(LOCAL, *KEPT)
        a.leave()

    def part(self) -> None:
        """The next part, into the new key."""
        a, k = self.asm, self.known
        a.label("key part")
        a.load(RDI, At(R13))
        self.compare(RDI, k.none, RAX)
        a.jump_if("equal", "key hold")
        a.load_int(RCX, At(R15, NDIM))
        a.times_word(RCX)
        a.compare(RBX, RCX)
        a.jump_if("equal", "key not")               # too many
        a.load(RAX, At(RDI, TYPE))
        self.compare(RAX, k.slices, RCX)
        a.jump_if("equal", "key slice")
        for of_arrays in k.lazy, k.real:
            self.compare(RAX, of_arrays, RCX)
            a.jump_if("equal", "key array")
        self.compare(RAX, k.lists, RCX)
        a.jump_if("equal", "key list")
        self.compare(RDI, k.ellipsis, RCX)
        a.jump_if("equal", "key not")
        self.call_or("index type", "key not")
        a.jump("key passed")
        a.label("key slice")                        # of integers and None: others run Python
        for at in BOUNDS:
            a.load(RAX, At(RDI, at))
            self.compare(RAX, k.none, RCX)
            a.jump_if("equal", f"key bound {at}")
            a.load(RAX, At(RAX, TYPE))
            self.call_or("index type", "key not")
            a.label(f"key bound {at}")
        a.call("key length")
        a.label("key passed")
        a.add(RBX, 8)
        a.label("key hold")
        a.load(RDI, At(R13))
        self.call("Py_IncRef")
        a.load(RAX, At(R13))
        a.label("key held")
        a.store(At(R14), RAX)
        a.add(R14, 8)
        a.add(R13, 8)
        a.count_down(R12)
        a.jump_if("other", "key part")

    def rest(self) -> None:
        """Axes of which the key says nothing; the key, if it picks few elements."""
        a = self.asm
        a.label("key rest")
        a.load_int(RCX, At(R15, NDIM))
        a.times_word(RCX)
        a.compare(RCX, RBX)
        a.jump_if("equal", "key whole")
        a.call("key length")
        a.add(RBX, 8)
        a.jump("key rest")
        a.label("key whole")
        a.load(RAX, ELEMENTS)
        a.multiply(RAX, PICKED)
        self.above_limit(RAX, "key not", RCX)
        a.load(RAX, KEY)
        a.jump("key leave")

    def axis(self) -> None:
        """An axis has so many elements for each that arrays pick."""
        a = self.asm
        a.label("key length")
        a.load(RCX, At(R15, DIMS))
        a.increase(RCX, RBX)
        a.load(RAX, _called(ELEMENTS))
        a.multiply(RAX, At(RCX))
        a.store(_called(ELEMENTS), RAX)
        a.leave()

    def arrays(self) -> None:
        """A part, in rdi, that picks elements of one axis: the most of these are as many as there are."""
        a = self.asm
        a.label("key list")
        self.call_or("argument list", "key not")
        a.load(RDI, At(RAX, LENGTH))
        a.call("key picked")
        a.jump("key passed")
        a.label("key array")
        a.call("look of any lasting")               # the key holds it
        a.test(RAX)
        a.jump_if("equal", "key not")
        a.load(RCX, At(RAX, DTYPE))
        a.load_int(RCX, At(RCX, TYPE_NUMBER))
        for mask in BOOLS, OBJECTS:
            a.compare_number(RCX, mask)
            a.jump_if("equal", "key array not")
        a.compare_number(At(RAX, NDIM), 1, wide=False)
        a.jump_if("other", "key array not")
        a.load(RDI, At(RAX, DIMS))
        a.load(RDI, At(RDI))
        a.call("key picked")
        a.add(RBX, 8)
        a.jump("key held")
        a.label("key array not")
        self.on("Py_DecRef", RAX)
        a.jump("key not")
        a.label("key picked")
        a.compare(_called(PICKED), RDI)
        a.jump_if("above", "key picked already")
        a.store(_called(PICKED), RDI)
        a.label("key picked already")
        a.leave()

    # ------------------------------------------------------------------------------- bodies

    def get(self) -> None:
        """(a, key): of a plain array, whose real one is r15, or of a part."""
        a, k, key = self.asm, self.known, At(RSP)
        a.label("item gathered")
        self.call_or("key", "back")
        a.store(key, RAX)
        a.copy(RDI, RBX)
        a.zero(RSI)
        a.constant(RDX, ANY_SIZE)
        a.call("look as")
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("other", "get_item gathers")
        self.on("Py_DecRef", key)
        a.jump("back")
        a.label("get_item gathered")
        self.compare(At(RBP, TYPE), k.text, RAX)
        a.jump_if("equal", "get_item plain")     # a field
        self._if_mask("item parts", "get_item by key")
        self.call_or("key", "back")
        a.store(key, RAX)
        self.on("Py_IncRef", R15)
        a.label("get_item gathers")
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.call_at(R13)
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15, key)
        a.test(R13)
        a.jump_if("equal", "get_item refused")
        self.compare(At(R13, TYPE), k.real, RAX)
        a.jump_if("other", "give")
        a.load(RDI, At(R13, BASE))
        a.test(RDI)
        a.jump_if("equal", "answer")
        self.unless_alone(RDI, "get_item no copy")
        a.jump("answer")
        a.label("get_item no copy")
        self.on("Py_DecRef", R13)
        a.jump("back")

    def set(self) -> None:
        """(a, key, value): into a plain array, whose real one is r15."""
        a, k, key, value = self.asm, self.known, At(RSP), At(RSP, 8)
        a.label("set_item gathered")
        self._if_mask("set_item by mask", "set_item by key")
        a.call("key")
        a.label("set_item by")
        a.test(RAX)
        a.jump_if("equal", "back")
        a.store(key, RAX)
        self.real(value, R12, "value", "set_item key back")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("other", "set_item scattered")
        self.is_objects(RAX, RCX)
        a.jump_if("other", "set_item scattered")
        a.label("set_item key back")
        self.on("Py_DecRef", key)
        a.jump("back")
        a.label("set_item by mask")
        a.copy(RDI, RBP)
        a.call("look")
        a.jump("set_item by")

    def _if_mask(self, to: str, otherwise: str) -> None:
        """rbp: a key.   On to a label if it is a mask of ours, a part of a large one, say; else go on."""
        a, k = self.asm, self.known
        self.compare(At(RBP, TYPE), k.lazy, RAX)
        a.jump_if("other", otherwise)
        a.load(RCX, At(RBP, k.geo))
        a.test(RCX)
        a.jump_if("equal", otherwise)
        a.load(RCX, At(RCX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("equal", to)
        a.label(otherwise)

    def store(self) -> None:
        """(a, key, value): into a part, whose geometry is r15; the lock is taken, since NumPy may give others
        a turn."""
        a, k = self.asm, self.known
        key, value, locked = At(RSP), At(RSP, 8), At(RSP, 16)
        a.label("store gathered")
        self.unless_flagged(R15, WRITEABLE, "back")                  # which comes before errors in keys
        self.call_or("key", "store masked")
        a.label("store by key")
        a.store(key, RAX)
        self.real(value, R12, "look", "set_item key back")
        a.copy(RDI, RAX)
        a.copy(RSI, R15)
        a.call("warns")
        a.test(RAX)
        a.jump_if("other", "store gathered value back")
        a.constant(RDI, 1)
        a.call("lock")
        a.store(locked, RAX)
        a.test(RAX)
        a.jump_if("equal", "store gathered value back")
        a.copy(RDI, RBX)
        a.constant(RSI, WRITEABLE)
        a.constant(RDX, ANY_SIZE)
        a.call("window")
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("equal", "store gathered unlock back")
        a.load(RDI, At(RBX, k.storage))
        self.call_or("free", "store gathered window back")
        a.copy(RDI, R15)
        a.load(RSI, key)
        a.load(RDX, value)
        a.call("placed")
        a.copy(R13, RAX)
        self.on("Py_DecRef", R15)
        self.let_go(value)
        self.on("Py_DecRef", key)
        a.jump("write ends")
        a.label("store gathered window back")
        self.on("Py_DecRef", R15)
        a.label("store gathered unlock back")
        a.load(RDI, locked)
        a.call("unlock")
        a.label("store gathered value back")
        self.on("Py_DecRef", value)
        a.jump("set_item key back")

    def mask(self) -> None:
        """(a, key, value): an array of truths as the key, for a part that is small."""
        a, k = self.asm, self.known
        a.label("store masked")
        a.load(R15, At(RBX, k.geo))
        a.copy(RDI, R15)
        a.test(RDI)
        a.jump_if("equal", "back")
        a.call("size")
        self.above_limit(RAX, "back", RCX)
        self.compare(At(RBP, TYPE), k.lazy, RAX)
        a.jump_if("other", "back")
        a.copy(RDI, RBP)
        self.call_or("look", "back")
        a.load(RCX, At(RAX, DTYPE))
        a.compare_number(At(RCX, TYPE_NUMBER), BOOLS, wide=False)
        a.jump_if("equal", "store by key")
        self.on("Py_DecRef", RAX)
        a.jump("back")
