"""The text of a function of Python's that makes a pending node, and the array that it is the value of.

In:  where objects have their fields.   Out: LLVM IR of `MAKE`.

    make(ufunc, depth, *operands) -> the new array; None: this is for Python to do;
                                     an int: so it is, and its recipe may be written there

It does what `recipes.again` does with a recipe whose result is large, `Expr`, `Storage` and `storage.launch`
among it, and calls the latter for nodes that may not just wait.
All objects are made before a value is captured, since to make one may run the garbage collector, and so a
program's Python; from the capture to the last field that is set nothing of Python's runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any

from lazyarr.cuts import MAX_WEIGHT, SHARED_DEPTH
from lazyarr.object_fields import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMS,
    LENGTH,
    NDIM,
    STRIDES,
    TYPE,
)  # fmt: skip
from lazyarr.records import NamedTuple
from lazyarr.walk_ir import MISSING, Function

MAKE = "lazyarr_make"

AXES = 4
"""Operands have so many axes at most."""

BITS = 8
"""Of the number of an entry in the table of recipes."""

COLLECTS = 64
"""Readers of a value, from which on each doubling has the dead ones removed (`expr`)."""

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)


class Word(IntEnum):
    """What the function is given: the words of an array, by what they hold."""

    TABLE = 0
    """The address of the first entry (`Entry`)."""
    UNUSUAL = 1
    """The address of `slot_words.UNUSUAL`."""
    PENDING = 2
    """The option `pending_nodes` where that is zero."""
    SLACK = 3
    NONE = 4
    FALSE = 5
    TRUE = 6
    ZERO = 7
    ONE = 8
    LESS = 9
    """-1."""
    LAZY = 10
    """Types: of arrays, reads, nodes, storages, buffers."""
    READ = 11
    EXPR = 12
    STORAGE = 13
    BUFFER = 14
    SERIALS = 15
    COUNT = 16
    LEDGER = 17
    DUE = 18
    OBSERVED = 19
    STATES = 20
    """The context variable of NumPy's error state."""
    WARNINGS = 21
    """The namespaces of two modules, each followed by a name in it."""
    FILTERS = 22
    SEEN_IN = 23
    SEEN = 24
    GETFRAME = 25
    THEIRS = 26
    USUAL = 27
    """Python functions: may a recipe be used under unusual options, and what is done after all is set."""
    LAUNCH = 28
    CROWDED = 29
    ALLOC = 30
    """Functions of C, as in `swift_nodes.FUNCTIONS`."""
    INCREF = 31
    DECREF = 32
    TUPLE = 33
    LIST = 34
    APPEND = 35
    WEAKREF = 36
    NUMBER = 37
    INT = 38
    NEXT = 39
    STATE = 40
    ITEM = 41
    LOOKUP = 42
    CALL = 43
    CLEAR = 44
    CODE = 45
    LASTI = 46
    END = 47


OPERAND = 2 + 2 * AXES
"""Words that say what an operand is: its dtype, or the type of a scalar; axes, extents, strides."""


class Entry(IntEnum):
    """The words of an entry: a recipe that Python has written."""

    UFUNC = 0
    COUNT = 1
    """Operands."""
    FIRST = 2
    SECOND = FIRST + OPERAND
    OP = SECOND + OPERAND
    REGION = OP + 1
    NBYTES = OP + 2
    """As an int of Python's."""
    BYTES = OP + 3
    FLAGGED = OP + 4
    LARGE = OP + 5
    """Is it a node under usual options?"""
    MAKERS = OP + 6
    """Types that make constants of the operands, or zero."""
    RECIPE = OP + 8
    END = 32


class Places(NamedTuple):
    """Where nodes, reads, storages, arrays, buffers and counters have their attributes."""

    op: int
    inputs: int
    region: int
    old: int
    covers: int
    masked: int
    nbytes: int
    buf: int
    readers: int
    home: int
    replaced: int
    errors: int
    loc: int
    spared: int
    serial: int
    depth: int
    weight: int
    epoch: int
    index: int
    read_expr: int
    read_geo: int
    storage_value: int
    storage_dying: int
    storage_small_writes: int
    storage_repeats: int
    storage_place: int
    array_storage: int
    array_geo: int
    array_origin: int
    buffer_memory: int
    buffer_bridge: int
    count_nodes_built: int
    count_bytes_numpy: int
    ledger_kept: int
    ledger_unallocated: int


class _Making(Function):
    """A function of this module."""

    def __init__(self, name: str, parameters: tuple[str, ...], of: Places, public: bool = False) -> None:
        super().__init__(name, parameters, public)
        self.of = of
        self.words = "%words"
        if public:
            self.args = self.op("ptrtoint ptr %args to i64")
            self.words = self.load(self.op("ptrtoint ptr %self to i64"), DATA)

    def known(self, word: Word) -> str:
        return self.load(self.words, 8 * word)

    def within(self, function: str, *words: Any) -> str:
        return self.call(function, self.words, *words)

    def of_c(self, word: Word, *given: Any) -> str:
        return self.call(self.known(word), *given)

    def on(self, word: Word, x: Any) -> None:
        """Call a function of C's that gives nothing."""
        function = self.op(f"inttoptr i64 {self.known(word)} to ptr")
        self.do(f"call void {function}({f'i64 {x}' if x is not None else ''})")

    def made(self, word: Word, *given: Any) -> str:
        """An object that a function of C's makes; where there is no memory for it, this function raises."""
        found = self.of_c(word, *given)
        with self.when("eq", found, 0):
            self.give(0)                        # (what was made before is left alone: there is little of it)
        return found

    def held(self, x: str) -> str:
        """An object, with one more reference to it."""
        self.on(Word.INCREF, x)
        return x

    def is_lazy(self, x: str) -> AbstractContextManager[None]:
        return self.when("eq", self.load(x, TYPE), self.known(Word.LAZY))

    def add_to(self, owner: Word, place: int, more: Any) -> None:
        """Add to an attribute that is an int."""
        at = self.known(owner)
        old = self.load(at, place)
        self.store(self.of_c(Word.INT, self.add(self.of_c(Word.NUMBER, old), more)), at, place)
        self.on(Word.DECREF, old)


def text(of: Places, suffix: str) -> tuple[str, str]:
    """The module, and the name of its function, which ends with a suffix."""
    name = f"{MAKE}_{suffix}"
    made: list[Callable[[Places], _Making]] = [_hashed, _alike, _exposed, _enlisted, _called]
    return "\n".join([each(of).text() for each in made] + [_make(of, name).text()]), name


def _hashed(of: Places) -> _Making:
    """A hash with one more operand in it; `MISSING` where the operand is Python's business.

    (Where memory order may be that of a temporary operand, `elision` knows.)"""
    f = _Making("hashed", ("words", "x", "hash"), of)
    result = f.variable("%hash")

    def mix(word: str) -> None:
        mixed = f.by("mul", f.by("xor", f.get(result), word), _MIX)
        f.set(result, f.by("xor", mixed, f.by("lshr", mixed, 32)))

    with f.when("ne", f.load("%x", TYPE), f.known(Word.LAZY)):
        mix(f.load("%x", TYPE))
        f.give(f.get(result))
    none = f.known(Word.NONE)
    with f.when("eq", f.load("%x", of.array_storage), none):
        f.give(MISSING)
    geo = f.load("%x", of.array_geo)
    axes = f.load(geo, NDIM, "i32")
    with f.when("ugt", axes, AXES):
        f.give(MISSING)
    with f.when("eq", f.load("%x", of.array_origin), none):
        contiguous = f.by("and", f.load(geo, FLAGS, "i32"), C_CONTIGUOUS)
        with f.when("eq", contiguous, 0):
            f.give(MISSING)
    mix(f.load(geo, DTYPE))
    extents, strides = f.load(geo, DIMS), f.load(geo, STRIDES)
    with f.each(axes) as d:
        at = f.by("shl", d, 3)
        mix(f.load(f.add(extents, at)))
        mix(f.load(f.add(strides, at)))
    f.give(f.get(result))
    return f


def _alike(of: Places) -> _Making:
    """Is an operand what an entry says at a place?"""
    f = _Making("alike", ("words", "x", "at"), of)
    with f.is_lazy("%x"):
        geo = f.load("%x", of.array_geo)
        axes = f.load(geo, NDIM, "i32")
        for known, found in ((0, f.load(geo, DTYPE)), (1, axes)):
            with f.when("ne", f.load("%at", 8 * known), found):
                f.give(0)
        extents, strides = f.load(geo, DIMS), f.load(geo, STRIDES)
        with f.each(axes) as d:
            offset = f.by("shl", d, 3)
            known_at = f.add("%at", offset)
            for first, numbers in ((2, extents), (2 + AXES, strides)):
                with f.when("ne", f.load(known_at, 8 * first), f.load(f.add(numbers, offset))):
                    f.give(0)
        f.give(1)
    with f.when("eq", f.load("%at"), f.load("%x", TYPE)):
        f.give(1)
    f.give(0)
    return f


def _exposed(of: Places) -> _Making:
    """May somebody outside see the memory of a value, if it has some?  (`Buffer.shared` knows.)"""
    f = _Making("exposed", ("words", "value"), of)
    none, buf = f.known(Word.NONE), f.load("%value", of.buf)
    with f.when("eq", buf, none):
        f.give(0)
    with f.when("ne", f.load(buf, TYPE), f.known(Word.BUFFER)):
        f.give(1)
    with f.when("ne", f.load(buf, of.buffer_bridge), none):
        f.give(1)
    with f.when("ne", f.load(f.load(buf, of.buffer_memory), 0, "i32"), 1):
        f.give(1)
    f.give(0)
    return f


def _enlisted(of: Places) -> _Making:
    """One more reader of a value, perhaps in a new list; 1 if dead ones are due to go, or the value was
    replaced."""
    f = _Making("enlisted", ("words", "value", "reader", "list"), of)
    readers = f.variable(f.load("%value", of.readers))
    with f.when("eq", f.get(readers), f.known(Word.NONE)):
        f.set(readers, f.held("%list"))
        f.store("%list", "%value", of.readers)
        f.on(Word.DECREF, f.known(Word.NONE))
    f.of_c(Word.APPEND, f.get(readers), "%reader")
    count = f.load(f.get(readers), LENGTH)
    with f.when("uge", count, COLLECTS), f.when("eq", f.by("and", count, f.add(count, -1)), 0):
        f.give(1)
    with f.when("ne", f.load("%value", of.replaced), f.known(Word.FALSE)):
        f.give(1)
    f.give(0)
    return f


def _called(of: Places) -> _Making:
    """What a Python function gives for one argument; 0 where it raises."""
    f = _Making("called", ("words", "function", "x"), of)
    at = f.variable("%x")
    given = f.op(f"ptrtoint ptr {at} to i64")
    f.give(f.of_c(Word.CALL, "%function", given, 1, 0))
    return f


def _make(of: Places, name: str) -> _Making:
    f = _Making(name, (), of, public=True)
    none, false = f.known(Word.NONE), f.known(Word.FALSE)
    fn, depth, first = (f.load(f.args, 8 * k) for k in range(3))
    is_pair = f.by("lshr", "%count", 2)         # (three arguments, or four)
    second = f.variable(0)
    with f.when("ne", is_pair, 0):
        f.set(second, f.load(f.args, 24))

    def decline() -> None:
        f.give(f.held(none))

    def decline_if(how: str, x: Any, y: Any) -> None:
        with f.when(how, x, y):
            decline()

    # ------------------------------------------------------------------ is it known?
    decline_if("ne", f.load(f.known(Word.DUE), LENGTH), 0)
    decline_if("ne", f.load(f.known(Word.OBSERVED), LENGTH), 0)
    hashed = f.variable(f.within("@hashed", first, fn))
    decline_if("eq", f.get(hashed), MISSING)
    with f.when("ne", is_pair, 0):
        f.set(hashed, f.within("@hashed", f.get(second), f.get(hashed)))
        decline_if("eq", f.get(hashed), MISSING)
    number = f.by("lshr", f.get(hashed), 64 - BITS)
    entry = f.variable(0)
    table = f.known(Word.TABLE)
    for other in (0, 1):                        # two places for each
        at = f.add(table, f.by("mul", f.by("xor", number, other), 8 * Entry.END))
        same = [(Entry.UFUNC, fn), (Entry.COUNT, f.add(is_pair, 1))]
        agreed = f.variable(1)
        for word, found in same:
            with f.when("ne", f.load(at, 8 * word), found):
                f.set(agreed, 0)
        with f.when("ne", f.get(agreed), 0):
            f.set(agreed, f.within("@alike", first, f.add(at, 8 * Entry.FIRST)))
        with f.when("ne", is_pair, 0), f.when("ne", f.get(agreed), 0):
            f.set(agreed, f.within("@alike", f.get(second), f.add(at, 8 * Entry.SECOND)))
        with f.when("ne", f.get(agreed), 0):
            f.set(entry, at)
    with f.when("eq", f.get(entry), 0):
        free = f.variable(number)
        there = f.add(table, f.by("mul", number, 8 * Entry.END))
        with f.when("ne", f.load(there, 8 * Entry.UFUNC), 0):
            f.set(free, f.by("xor", number, 1))
        f.give(f.of_c(Word.INT, f.get(free)))

    def said(word: int) -> str:
        return f.load(f.get(entry), 8 * word)

    owned = [f.held(said(word)) for word in (Entry.OP, Entry.REGION, Entry.NBYTES, Entry.RECIPE)]
    op, region, nbytes, recipe = owned          # (from here on the entry may become another one)
    size, is_flagged = said(Entry.BYTES), said(Entry.FLAGGED)
    is_large = said(Entry.LARGE)
    makers = [f.held(said(Entry.MAKERS + k)) for k in (0, 1)]
    owned += makers

    def give_up() -> None:
        for x in owned:
            f.on(Word.DECREF, x)                # (of nothing, perhaps)
        decline()

    def give_up_if(how: str, x: Any, y: Any) -> None:
        with f.when(how, x, y):
            give_up()

    # ------------------------------------------------------------------ may it wait?
    unusual = f.load(f.known(Word.UNUSUAL))
    with f.when("eq", unusual, 0):
        give_up_if("eq", is_large, 0)
    with f.when("ne", unusual, 0):
        answer = f.within("@called", f.known(Word.USUAL), recipe)
        with f.when("eq", answer, 0):
            f.on(Word.CLEAR, None)
            give_up()
        f.on(Word.DECREF, answer)
        give_up_if("ne", answer, f.known(Word.TRUE))
    seen = f.of_c(Word.ITEM, f.known(Word.SEEN_IN), f.known(Word.SEEN))
    filters = f.of_c(Word.ITEM, f.known(Word.WARNINGS), f.known(Word.FILTERS))
    give_up_if("eq", filters, 0)
    state = f.variable(0)
    f.of_c(Word.STATE, f.known(Word.STATES), 0, f.op(f"ptrtoint ptr {state} to i64"))
    give_up_if("eq", f.get(state), 0)
    f.on(Word.DECREF, f.get(state))             # (`seen` holds it, or it is another one)

    def of_seen(k: int) -> str:
        return f.load(seen, ITEMS + 8 * k)

    give_up_if("ne", f.get(state), of_seen(0))
    give_up_if("ne", filters, of_seen(1))
    count = f.load(filters, LENGTH)
    give_up_if("ne", count, f.of_c(Word.NUMBER, of_seen(2)))
    with f.when("ne", count, 0):
        give_up_if("ne", f.load(f.load(filters, ITEMS)), of_seen(3))
    give_up_if("ne", of_seen(4), false)
    errors = f.held(of_seen(5))
    owned.append(errors)

    # ------------------------------------------------------------------ all objects that it takes
    loc = f.variable(f.held(none))
    with f.when("ne", is_flagged, 0):
        frame = f.within("@called", f.known(Word.GETFRAME), depth)
        with f.when("eq", frame, 0):
            f.on(Word.CLEAR, None)
            give_up()
        code = f.of_c(Word.CODE, frame)
        at_byte = f.by("and", f.of_c(Word.LASTI, frame), 0xFFFFFFFF)
        f.on(Word.DECREF, frame)
        key = f.made(Word.INT, code)
        theirs = f.of_c(Word.LOOKUP, f.known(Word.THEIRS), key)
        f.on(Word.DECREF, key)
        with f.when("eq", theirs, 0):
            f.on(Word.DECREF, code)
            give_up()
        place = f.made(Word.TUPLE, 2)
        f.store(code, place, ITEMS)
        f.store(f.made(Word.INT, at_byte), place, ITEMS + 8)
        f.set(loc, place)

    inputs = f.made(Word.TUPLE, f.add(is_pair, 1))
    operands = [(0, first), (1, f.get(second))]

    def for_each() -> Any:
        for k, x in operands:
            with f.when("ne", x, 0):
                yield k, x

    lists = [f.variable(0), f.variable(0)]
    for k, x in for_each():
        item = ITEMS + 8 * k
        maker = makers[k]
        is_array = f.variable(0)
        with f.is_lazy(x):
            f.set(is_array, 1)
            f.store(f.made(Word.ALLOC, f.known(Word.READ), 0), inputs, item)
            f.set(lists[k], f.made(Word.LIST, 0))
        with f.when("eq", f.get(is_array), 0):
            with f.when("eq", maker, 0):
                f.store(f.held(x), inputs, item)
            with f.when("ne", maker, 0):
                made = f.within("@called", maker, x)
                with f.when("eq", made, 0):     # (Python tries again, and knows what to do)
                    f.on(Word.CLEAR, None)
                    for mine in (inputs, f.get(loc), f.get(lists[0])):
                        f.on(Word.DECREF, mine)
                    give_up()
                f.store(made, inputs, item)
    node, storage, array = (
        f.made(Word.ALLOC, f.known(kind), 0) for kind in (Word.EXPR, Word.STORAGE, Word.LAZY)
    )
    me, home = (f.made(Word.WEAKREF, x, 0) for x in (node, storage))

    # ------------------------------------------------------------------ capture; nothing runs from here on
    deepest, weight = f.variable(0), f.variable(1)
    for k, x in for_each():
        with f.is_lazy(x):
            read = f.load(inputs, ITEMS + 8 * k)
            value = f.load(f.load(x, of.array_storage), of.storage_value)
            f.store(f.held(value), read, of.read_expr)
            f.store(f.held(f.load(x, of.array_geo)), read, of.read_geo)
            with f.when("ne", f.load(value, of.op), none):
                below = f.of_c(Word.NUMBER, f.load(value, of.depth))
                with f.when("sgt", below, f.get(deepest)):
                    f.set(deepest, below)
                heavy = f.of_c(Word.NUMBER, f.load(value, of.weight))
                f.set(weight, f.add(f.get(weight), heavy))
    f.set(deepest, f.add(f.get(deepest), 1))
    fields: list[tuple[str, str]] = [
        ("op", op), ("inputs", inputs), ("region", region),
        ("old", f.held(none)), ("covers", f.held(f.known(Word.TRUE))), ("masked", f.held(false)),
        ("nbytes", nbytes), ("buf", f.held(none)), ("readers", f.held(none)),
        ("home", home), ("replaced", f.held(false)), ("errors", errors), ("loc", f.get(loc)),
        ("spared", f.held(false)), ("serial", f.of_c(Word.NEXT, f.known(Word.SERIALS))),
        ("depth", f.of_c(Word.INT, f.get(deepest))), ("weight", f.of_c(Word.INT, f.get(weight))),
        ("epoch", f.held(f.known(Word.LESS))), ("index", f.held(f.known(Word.ZERO))),
        ("storage_value", node), ("storage_dying", f.held(false)),
        ("storage_small_writes", f.held(f.known(Word.ZERO))),
        ("storage_repeats", f.held(f.known(Word.ZERO))), ("storage_place", f.held(none)),
        ("array_storage", storage), ("array_geo", f.held(region)),
        ("array_origin", f.held(none)),
    ]  # fmt: skip
    owners = {"storage": storage, "array": array}
    for attribute, x in fields:
        f.store(x, owners.get(attribute.split("_")[0], node), getattr(of, attribute))
    f.add_to(Word.COUNT, of.count_nodes_built, 1)
    f.add_to(Word.COUNT, of.count_bytes_numpy, size)
    f.add_to(Word.LEDGER, of.ledger_unallocated, size)
    crowded, looks = f.variable(0), f.variable(0)
    for k, x in for_each():
        with f.is_lazy(x):
            value = f.load(f.load(inputs, ITEMS + 8 * k), of.read_expr)
            due = f.within("@enlisted", value, me, f.get(lists[k]))
            f.set(crowded, f.by("or", f.get(crowded), due))
            f.set(looks, f.by("or", f.get(looks), f.within("@exposed", value)))
            f.on(Word.DECREF, f.get(lists[k]))
    for mine in (me, recipe, *makers):
        f.on(Word.DECREF, mine)

    # ------------------------------------------------------------------ may it wait, now that it is there?
    most = f.variable(f.known(Word.PENDING))
    with f.when("sgt", f.get(weight), MAX_WEIGHT), f.when("sgt", f.get(most), SHARED_DEPTH):
        f.set(most, SHARED_DEPTH)
    least = f.by("sub", f.get(most), f.by("ashr", f.get(most), 2))
    kept, unallocated = (
        f.of_c(Word.NUMBER, f.load(f.known(Word.LEDGER), at))
        for at in (of.ledger_kept, of.ledger_unallocated)
    )
    bound = f.add(unallocated, f.known(Word.SLACK))
    for how, x, y in (("sgt", f.get(deepest), least), ("sgt", kept, bound), ("ne", errors, none)):
        with f.when(how, x, y):
            f.set(looks, 1)
    with f.when("ne", unusual, 0):
        f.set(looks, 1)
    for asked, word in ((crowded, Word.CROWDED), (looks, Word.LAUNCH)):
        with f.when("ne", f.get(asked), 0):
            answer = f.within("@called", f.known(word), node)
            with f.when("eq", answer, 0):
                f.on(Word.DECREF, array)
                f.give(0)
            f.on(Word.DECREF, answer)
    f.give(array)
    return f
