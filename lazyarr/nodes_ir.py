"""LLVM IR of functions that make pending nodes: what they have in common.

In:  where objects have their fields (`Places`), calls of a `Making`'s methods.   Out: the text of a function.
All values are words.  Each function is given the address of `nodes_words.Word`s: where objects and
functions are.  `MISSING` is the answer of those that leave a call to Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from lazyarr.cuts import MAX_WEIGHT
from lazyarr.nodes_words import AXES, MIX, WORD_BITS, Places, Word
from lazyarr.object_fields import (
    BASE,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    LIST_ITEMS,
    NDIM,
    STRIDES,
    TYPE,
)  # fmt: skip
from lazyarr.walk_ir import Function
from lazyarr.walk_words import MISSING

COLLECTS = 64
"""Readers of a value, from which on each doubling has the dead ones removed (`expr`)."""

HEAVY = 1 << 40
"""More nodes than this are counted as so many."""

class Making(Function):
    """A function of this module."""

    def __init__(self, name: str, parameters: tuple[str, ...], of: Places, public: bool = False) -> None:
        super().__init__(name, parameters, public)
        self.of = of
        self.words = "%words"
        if public:
            self.args = self.op("ptrtoint ptr %args to i64")
            self.words = self.load(self.op("ptrtoint ptr %self to i64"), DATA)

    def known(self, word: int) -> str:
        return self.load(self.words, 8 * word)

    def within(self, function: str, *words: Any) -> str:
        return self.call(function, self.words, *words)

    def of_c(self, word: int, *given: Any) -> str:
        return self.call(self.known(word), *given)

    def on(self, word: int, x: Any) -> None:
        """Call a function of C's that gives nothing."""
        function = self.op(f"inttoptr i64 {self.known(word)} to ptr")
        self.do(f"call void {function}({f'i64 {x}' if x is not None else ''})")

    def made(self, word: int, *given: Any) -> str:
        """An object that a function of C's makes; where there is no memory for it, this function raises."""
        found = self.of_c(word, *given)
        with self.when("eq", found, 0):
            self.give(0)                        # (what was made before is left alone: there is little of it)
        return found

    def decline(self) -> None:
        """End a function of Python's: this is for Python to do."""
        self.give(self.held(self.known(Word.NONE)))

    def decline_if(self, how: str, x: Any, y: Any) -> None:
        with self.when(how, x, y):
            self.decline()

    def agrees(self, word: int, x: str, let_go: Callable[[], None] | None = None) -> str:
        """1 if a function of Python's gives True, else 0; where it raises, by a signal's handler, say, this
        function does, after it has let go of what it holds."""
        answer = self.within("@called", self.known(word), x)
        with self.when("eq", answer, 0):
            if let_go is not None:
                let_go()
            self.give(0)
        self.on(Word.DECREF, answer)
        return self.op(f"zext i1 {self.op(f'icmp eq i64 {answer}, {self.known(Word.TRUE)}')} to i64")

    def leave_to_python(self, how: str, x: Any, y: Any) -> None:
        """If a comparison holds, the answer is `MISSING`."""
        with self.when(how, x, y):
            self.give(MISSING)

    def hashed(self, x: str, geo: str, bits: int) -> str:
        """A hash of two addresses (`hashed`)."""
        mixed = self.by("mul", self.by("xor", x, self.by("lshr", geo, 4)), MIX)
        return self.by("lshr", mixed, WORD_BITS - bits)

    def held(self, x: str) -> str:
        """An object, with one more reference to it."""
        self.on(Word.INCREF, x)
        return x

    def is_lazy(self, x: str) -> AbstractContextManager[None]:
        return self.when("eq", self.load(x, TYPE), self.known(Word.LAZY))

    def add_to(self, owner: int, place: int, more: Any) -> None:
        """Add to an attribute that is an int."""
        at = self.known(owner)
        old = self.load(at, place)
        self.store(self.of_c(Word.INT, self.add(self.of_c(Word.NUMBER, old), more)), at, place)
        self.on(Word.DECREF, old)


def shared(of: Places) -> list[Making]:
    """Functions that the others call."""
    made: Sequence[Callable[[Places], Making]] = (
        _outline, _hashed, alike, lies, _exposed, _snapshot, _enlisted, called, state, _place, _due, _tag,
        _pending, whole,
    )
    return [each(of) for each in made]


def _hashed(of: Places) -> Making:
    """A hash with one more operand in it; `MISSING` where the operand is Python's business.

    (Where memory order may be that of a temporary operand, `elision` knows.)"""
    f = Making("hashed", ("words", "x", "hash"), of)
    with f.when("ne", f.load("%x", TYPE), f.known(Word.LAZY)):
        f.give(_mixed(f, "%hash", f.load("%x", TYPE)))
    outline = f.within("@outline", "%x")
    f.leave_to_python("eq", outline, 0)
    geo = f.load("%x", of.array_geo)
    with f.when("ugt", f.load(geo, NDIM, "i32"), AXES):
        f.give(MISSING)
    with f.when("eq", f.load("%x", of.array_origin), f.known(Word.NONE)):
        contiguous = f.by("and", f.load(geo, FLAGS, "i32"), C_CONTIGUOUS)
        with f.when("eq", contiguous, 0):
            f.give(MISSING)
    f.give(_mixed(f, "%hash", outline))
    return f


def _mixed(f: Making, hashed: str, word: str) -> str:
    mixed = f.by("mul", f.by("xor", hashed, word), MIX)
    return f.by("xor", mixed, f.by("lshr", mixed, 32))


def _outline(of: Places) -> Making:
    """A hash of an array's dtype, extents and strides; 0 of what is none."""
    f = Making("outline", ("words", "x"), of)
    with f.when("eq", "%x", 0):
        f.give(0)
    with f.when("eq", f.within("@whole", "%x"), 0):
        f.give(0)
    geo = f.load("%x", of.array_geo)
    axes, extents, strides = f.load(geo, NDIM, "i32"), f.load(geo, DIMS), f.load(geo, STRIDES)
    result = f.variable(_mixed(f, axes, f.load(geo, DTYPE)))
    with f.each(axes) as d:
        at = f.by("shl", d, 3)
        for numbers in (extents, strides):
            f.set(result, _mixed(f, f.get(result), f.load(f.add(numbers, at))))
    f.give(f.by("or", f.get(result), 1))
    return f


def alike(of: Places) -> Making:
    """Is an operand what an entry says at a place?"""
    f = Making("alike", ("words", "x", "at"), of)
    with f.is_lazy("%x"):
        f.give(f.within("@lies", f.load("%x", of.array_geo), "%at"))
    with f.when("eq", f.load("%at"), f.load("%x", TYPE)):
        f.give(1)
    f.give(0)
    return f


def lies(of: Places) -> Making:
    """Does an array of NumPy's lie as an entry says at a place?"""
    f = Making("lies", ("words", "geo", "at"), of)
    axes = f.load("%geo", NDIM, "i32")
    for known, found in ((0, f.load("%geo", DTYPE)), (1, axes)):
        with f.when("ne", f.load("%at", 8 * known), found):
            f.give(0)
    extents, strides = f.load("%geo", DIMS), f.load("%geo", STRIDES)
    with f.each(axes) as d:
        offset = f.by("shl", d, 3)
        known_at = f.add("%at", offset)
        for first, numbers in ((2, extents), (2 + AXES, strides)):
            with f.when("ne", f.load(known_at, 8 * first), f.load(f.add(numbers, offset))):
                f.give(0)
    f.give(1)
    return f


def _exposed(of: Places) -> Making:
    """May somebody outside see the memory of a value, if it has some?  (`Buffer.shared` knows.)"""
    f = Making("exposed", ("words", "value"), of)
    none, buf = f.known(Word.NONE), f.load("%value", of.buf)
    with f.when("eq", buf, none):
        f.give(0)
    with f.when("ne", f.load(buf, TYPE), f.known(Word.BUFFER)):
        f.give(1)
    with f.when("ne", f.load(f.load(buf, of.buffer_memory), 0, "i32"), 1):
        f.give(1)
    bridge = f.load(buf, of.buffer_bridge)
    with f.when("ne", bridge, none):
        owner = f.load(bridge, of.bridge_base)
        with f.when("ne", f.load(owner, 0, "i32"), 1):
            f.give(1)
        below = f.load(owner, BASE)
        with f.when("ne", below, 0):
            for x, expected in ((f.load(below, TYPE), f.known(Word.REAL)), (f.load(below, 0, "i32"), 1)):
                with f.when("ne", x, expected):
                    f.give(1)
            with f.when("ne", f.load(below, BASE), 0):
                f.give(1)
    f.give(0)
    return f


def _snapshot(of: Places) -> Making:
    """A read of a copy of a plain array, which lies as a geometry says; 0 where there is no memory."""
    f = Making("snapshot", ("words", "x", "geo"), of)
    real = f.load("%x", of.array_geo)
    nbytes, sizes = f.variable(f.load(f.load(real, DTYPE), ITEMSIZE)), f.load(real, DIMS)
    with f.each(f.load(real, NDIM, "i32")) as d:
        f.set(nbytes, f.by("mul", f.get(nbytes), f.load(f.add(sizes, f.by("shl", d, 3)))))
    pair = f.op("alloca [2 x i64]")
    given = f.op(f"ptrtoint ptr {pair} to i64")
    data = f.made(Word.BYTES, f.load(real, DATA), f.get(nbytes))
    f.store(data, given)
    f.store(f.known(Word.OCTET), given, 8)
    memory = f.made(Word.CALL, f.known(Word.FLAT), given, 2, 0)
    f.on(Word.DECREF, data)
    buf, value, read = (
        f.made(Word.ALLOC, f.known(kind), 0) for kind in (Word.BUFFER, Word.EXPR, Word.READ)
    )
    leaf(f, value, buf, f.of_c(Word.INT, f.get(nbytes)))
    for field in (of.buffer_recycled, of.buffer_orphan):
        f.store(f.held(f.known(Word.FALSE)), buf, field)
    for x, owner, field in (
        (f.held(f.known(Word.NONE)), buf, of.buffer_bridge), (memory, buf, of.buffer_memory),
        (f.of_c(Word.INT, f.load(memory, DATA)), buf, of.buffer_address),
        (f.of_c(Word.INT, f.get(nbytes)), buf, of.buffer_nbytes),
        (value, read, of.read_expr), (f.held("%geo"), read, of.read_geo),
    ):  # fmt: skip
        f.store(x, owner, field)
    f.give(read)
    return f


def leaf(f: Making, value: str, buf: str, nbytes: str) -> None:
    """Set all fields of a new value that exists already (`Expr.leaf`); references are the caller's."""
    words = {
        **dict.fromkeys(("op", "region", "old", "readers", "home", "errors", "loc"), Word.NONE),
        **dict.fromkeys(("masked", "spared", "replaced"), Word.FALSE),
        **dict.fromkeys(("node_index", "depth", "weight"), Word.ZERO), "epoch": Word.LESS,
        "inputs": Word.EMPTY, "covers": Word.TRUE,
    }  # fmt: skip
    fields = {name: f.held(f.known(word)) for name, word in words.items()} | {
        "buf": buf, "nbytes": nbytes, "serial": f.of_c(Word.NEXT, f.known(Word.SERIALS)),
    }  # fmt: skip
    for name, x in fields.items():
        f.store(x, value, getattr(f.of, name))


def _enlisted(of: Places) -> Making:
    """One more reader of a value, perhaps in a new list; 1 if dead ones are due to go."""
    f = Making("enlisted", ("words", "value", "reader", "list"), of)
    readers = f.variable(f.load("%value", of.readers))
    with f.when("eq", f.get(readers), f.known(Word.NONE)):
        f.set(readers, f.held("%list"))
        f.store("%list", "%value", of.readers)
        f.on(Word.DECREF, f.known(Word.NONE))
    f.of_c(Word.APPEND, f.get(readers), "%reader")
    count = f.load(f.get(readers), LENGTH)
    with f.when("uge", count, COLLECTS), f.when("eq", f.by("and", count, f.add(count, -1)), 0):
        f.give(1)
    f.give(0)
    return f


def called(of: Places) -> Making:
    """What a Python function gives for one argument; 0 where it raises."""
    f = Making("called", ("words", "function", "x"), of)
    at = f.variable("%x")
    given = f.op(f"ptrtoint ptr {at} to i64")
    f.give(f.of_c(Word.CALL, "%function", given, 1, 0))
    return f


def state(of: Places) -> Making:
    """The error state that a node keeps, as `error_state.look` has found it; the caller owns a reference.

    `MISSING` where that has to look again, or NumPy is to compute at the call."""
    f = Making("state", ("words",), of)
    seen = f.of_c(Word.LOOKUP, f.known(Word.SEEN_IN), f.known(Word.SEEN))
    filters = f.of_c(Word.LOOKUP, f.known(Word.WARNINGS), f.known(Word.FILTERS))
    for found in (seen, filters):
        f.leave_to_python("eq", found, 0)
    f.leave_to_python("ne", f.load(seen, TYPE), f.known(Word.TUPLE))    # (names lose their values at exit)
    state = f.variable(0)
    f.of_c(Word.STATE, f.known(Word.STATES), 0, f.op(f"ptrtoint ptr {state} to i64"))
    f.leave_to_python("eq", f.get(state), 0)
    f.on(Word.DECREF, f.get(state))             # (`seen` holds it, or it is another one)

    def of_seen(k: int) -> str:
        return f.load(seen, ITEMS + 8 * k)

    f.leave_to_python("ne", f.get(state), of_seen(0))
    f.leave_to_python("ne", filters, of_seen(1))
    count = f.load(filters, LENGTH)
    f.leave_to_python("ne", count, f.of_c(Word.NUMBER, of_seen(2)))
    with f.when("ne", count, 0):
        f.leave_to_python("ne", f.load(f.load(filters, LIST_ITEMS)), of_seen(3))
    f.leave_to_python("ne", of_seen(4), f.known(Word.FALSE))
    f.give(f.held(of_seen(5)))
    return f


def _place(of: Places) -> Making:
    """The place of the program that called, so many frames above or behind more of ours, as a new object.

    `MISSING` where it is not a program's that is known."""
    f = Making("place", ("words", "depth"), of)
    at = f.variable(f.within("@called", f.known(Word.GETFRAME), "%depth"))
    code, theirs = f.variable(0), f.variable(0)
    with f.loop():
        frame = f.get(at)
        with f.when("eq", frame, 0):
            f.on(Word.CLEAR, None)
            f.give(MISSING)
        f.set(code, f.of_c(Word.CODE, frame))
        key, above = f.of_c(Word.INT, f.get(code)), f.variable(0)
        with f.when("ne", key, 0):
            f.set(theirs, f.of_c(Word.LOOKUP, f.known(Word.THEIRS), key))
            with f.when("eq", f.get(theirs), 0):
                f.set(above, f.of_c(Word.LOOKUP, f.known(Word.OURS), key))
        f.on(Word.DECREF, key)
        f.leave_if("ne", f.get(theirs), 0)
        f.on(Word.DECREF, f.get(code))
        with f.when("ne", f.get(above), 0):
            f.set(above, f.of_c(Word.ABOVE, frame))
        f.on(Word.DECREF, frame)
        f.set(at, f.get(above))
    at_byte = f.by("and", f.of_c(Word.LASTI, f.get(at)), 0xFFFFFFFF)
    f.on(Word.DECREF, f.get(at))
    made, number = f.of_c(Word.NEW_TUPLE, 2), f.of_c(Word.INT, at_byte)
    for needed in (made, number):
        with f.when("eq", needed, 0):
            f.on(Word.CLEAR, None)
            for mine in (f.get(code), made, number):
                f.on(Word.DECREF, mine)
            f.give(MISSING)
    f.store(f.get(code), made, ITEMS)
    f.store(number, made, ITEMS + 8)
    f.give(made)
    return f


def _due(of: Places) -> Making:
    """Has Python to look whether nodes are to be computed, since one has so many below, or they keep much
    memory?"""
    f = Making("due", ("words", "depth", "weight"), of)
    most = f.variable(f.known(Word.PENDING))
    with f.when("sgt", "%weight", MAX_WEIGHT):          # (less, or more, than the usual option says)
        f.set(most, f.load(f.known(Word.SHARED)))
    least = f.by("sub", f.get(most), f.by("ashr", f.get(most), 2))
    with f.when("sgt", "%depth", least):
        f.give(1)
    kept, unallocated = (
        f.of_c(Word.NUMBER, f.load(f.known(Word.LEDGER), at))
        for at in (of.ledger_kept, of.ledger_unallocated)
    )
    with f.when("sgt", kept, f.add(unallocated, f.known(Word.SLACK))):
        f.give(1)
    f.give(0)
    return f


def whole(of: Places) -> Making:
    """Is it an array of ours?  (Somebody may have made one without its attributes, or with others.)"""
    f = Making("whole", ("words", "x"), of)
    none = f.known(Word.NONE)

    def refuse_if(how: str, x: str, y: Any) -> None:
        with f.when(how, x, y):
            f.give(0)

    refuse_if("ne", f.load("%x", TYPE), f.known(Word.LAZY))
    storage, geo = f.load("%x", of.array_storage), f.load("%x", of.array_geo)
    for attribute in (storage, geo, f.load("%x", of.array_origin)):
        refuse_if("eq", attribute, 0)
    refuse_if("ne", f.load(geo, TYPE), f.known(Word.REAL))
    with f.when("ne", storage, none):
        refuse_if("ne", f.load(storage, TYPE), f.known(Word.STORAGE))
        value = f.load(storage, of.storage_value)
        refuse_if("eq", value, 0)
        refuse_if("ne", f.load(value, TYPE), f.known(Word.EXPR))
    f.give(1)
    return f


def _pending(of: Places) -> Making:
    """Is an operand an array whose value is yet to be computed?"""
    f = Making("pending", ("words", "x"), of)
    none = f.known(Word.NONE)
    with f.when("ne", "%x", 0), f.is_lazy("%x"):
        storage = f.load("%x", of.array_storage)
        with f.when("ne", storage, none):
            value = f.load(storage, of.storage_value)
            with f.when("ne", f.load(value, of.op), none):
                f.give(1)
    f.give(0)
    return f


def _tag(of: Places) -> Making:
    """What an operand is known by: an array's dtype, the type of anything else."""
    f = Making("tag", ("words", "x"), of)
    with f.when("eq", "%x", 0):
        f.give(0)
    with f.when("ne", f.within("@whole", "%x"), 0):
        f.give(f.load(f.load("%x", of.array_geo), DTYPE))
    f.give(f.load("%x", TYPE))                  # (which no entry knows, if it is that of arrays)
    return f
