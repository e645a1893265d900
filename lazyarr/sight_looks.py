"""The text of functions that tell whether an evaluation looks as one that is known at sight.

In:  where objects have their fields.   Out: LLVM IR: `match` (a row, nodes, options), and what it calls.
They do what `at_sight.at_sight` does, by the words of rows (`sight_rows`), run no Python, and change nothing
but memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lazyarr.at_sight import AGAIN, CONSTANT, LEAF, NODE
from lazyarr.nodes_ir import Making
from lazyarr.nodes_words import Word
from lazyarr.object_fields import (
    BASE,
    DATA,
    DIMS,
    DTYPE,
    ITEMS,
    LENGTH,
    LIST_ITEMS,
    NDIM,
    REFERENT,
    STRIDES,
    TYPE,
)  # fmt: skip
from lazyarr.sight_rows import Also, Input, Node, Row
from lazyarr.values import ALIGNED
from lazyarr.walk_words import MISSING


class Sighted(Making):
    """A function that evaluates, or one that it calls."""

    def nth(self, first: str, number: str) -> str:
        """The address of a word in a sequence."""
        return self.add(first, self.by("shl", number, 3))

    @contextmanager
    def listed(self, owner: str, count: int, size: int = 1) -> Iterator[str]:
        """The addresses of the entries of a list, which have so many words."""
        first = self.add(owner, self.load(owner, 8 * (count + 1)))
        with self.each(self.load(owner, 8 * count)) as k:
            yield self.add(first, self.by("mul", k, 8 * size))

    def value(self, place: str) -> str:
        return self.load(self.nth(self.known(Also.VALUES), place))

    def refuse_if(self, how: str, x: Any, y: Any) -> None:
        with self.when(how, x, y):
            self.give(0)

    def refuse_odd(self, buf: str) -> None:
        """Refuse a buffer that begins where none of ours does (`Buffer.is_odd`)."""
        with self.when("ne", self.load(buf, self.of.buffer_bridge), self.known(Word.NONE)):
            begin = self.load(self.load(buf, self.of.buffer_memory), DATA)
            self.refuse_if("ne", self.by("and", begin, ALIGNED - 1), 0)


def same(of: Any) -> Sighted:
    """Are two geometries alike?"""
    f = Sighted("same", ("words", "x", "y"), of)
    with f.when("eq", "%x", "%y"):
        f.give(1)
    for geo in ("%x", "%y"):
        f.refuse_if("ne", f.load(geo, TYPE), f.known(Word.REAL))
    axes = f.load("%x", NDIM, "i32")
    f.refuse_if("ne", axes, f.load("%y", NDIM, "i32"))
    for field in (DATA, BASE, DTYPE):
        f.refuse_if("ne", f.load("%x", field), f.load("%y", field))
    for field in (DIMS, STRIDES):
        mine, other = (f.load(geo, field) for geo in ("%x", "%y"))
        with f.each(axes) as d:
            f.refuse_if("ne", f.load(f.nth(mine, d)), f.load(f.nth(other, d)))
    f.give(1)
    return f


def _buffers(of: Any) -> Sighted:
    """The size of NumPy's buffers, if `error_state` need not look again; else `MISSING`."""
    f = Sighted("buffers", ("words",), of)
    errors = f.within("@state")
    f.leave_to_python("eq", errors, MISSING)
    f.on(Word.DECREF, errors)                   # (`_seen` has it)
    seen = f.of_c(Word.LOOKUP, f.known(Word.SEEN_IN), f.known(Word.SEEN))
    f.give(f.of_c(Word.NUMBER, f.load(seen, ITEMS + 8 * 6)))
    return f


def _seen(of: Any) -> Sighted:
    """Is an input what it was?  Those met for the first time are noted."""
    f = Sighted("seen", ("words", "given", "item", "met"), of)
    kind, seen = (f.load("%item", 8 * word) for word in (Input.KIND, Input.SEEN))
    with f.when("eq", kind, CONSTANT):
        f.refuse_if("ne", f.load("%given", TYPE), seen)
        f.give(1)
    f.refuse_if("ne", f.load("%given", TYPE), f.known(Word.READ))
    value, none = f.load("%given", of.read_expr), f.known(Word.NONE)
    f.refuse_if("eq", f.within("@same", f.load("%given", of.read_geo), seen), 0)
    with f.when("eq", kind, AGAIN):
        f.refuse_if("ne", f.value(f.load("%item", 8 * Input.PLACE)), value)
        f.give(1)
    with f.when("eq", kind, LEAF):
        f.refuse_if("ne", f.load(value, of.op), none)
        buf = f.load(value, of.buf)
        f.refuse_if("ne", f.load(buf, TYPE), f.known(Word.BUFFER))
        f.refuse_odd(buf)
    with f.each("%met") as k:
        f.refuse_if("eq", f.value(k), value)
    f.store(value, f.nth(f.known(Also.VALUES), "%met"))
    f.give(1)
    return f


def _met(of: Any) -> Sighted:
    """Is an object one of the first values?"""
    f = Sighted("met", ("words", "x", "count"), of)
    with f.each("%count") as k, f.when("eq", f.value(k), "%x"):
        f.give(1)
    f.give(0)
    return f


def _holder(of: Any) -> Sighted:
    """The storage whose current value this is; 0 if there is none."""
    f = Sighted("holder", ("words", "value"), of)
    none, home = f.known(Word.NONE), f.load("%value", of.home)
    f.refuse_if("eq", home, none)
    storage = f.load(home, REFERENT)
    f.refuse_if("ne", f.load(storage, TYPE), f.known(Word.STORAGE))
    f.refuse_if("ne", f.load(storage, of.storage_value), "%value")
    f.give(storage)
    return f


def _asked(of: Any) -> Sighted:
    """1 if a node's value is to exist afterwards, 0 if not; then `KEPT` says whether an array that seems to
    be a temporary holds it.  `MISSING` where Python is to look."""
    f = Sighted("asked", ("words", "node", "readers", "count"), of)
    none, storage = f.known(Word.NONE), f.within("@holder", "%node")
    with f.when("ne", storage, 0):
        with f.when("eq", f.load(storage, of.storage_dying), f.known(Word.FALSE)):
            f.give(1)
        with f.when("eq", f.load("%node", of.spared), f.known(Word.TRUE)):
            f.give(1)
        f.store(1, f.words, 8 * Also.KEPT)
    readers = f.load("%node", of.readers)
    f.leave_to_python("ne", f.load(readers, TYPE), f.known(Also.LISTS))
    count = f.load(readers, LENGTH)
    with f.when("eq", count, "%readers"):
        f.give(0)
    items = f.load(readers, LIST_ITEMS)
    with f.each(count) as k:
        reader = f.load(f.load(f.nth(items, k)), REFERENT)
        with (
            f.when("ne", reader, none), f.when("ne", f.load(reader, of.op), none),
            f.when("eq", f.within("@met", reader, "%count"), 0),
        ):  # fmt: skip
            f.give(1)
    f.give(0)
    return f


def _match(of: Any) -> Sighted:
    """Is an evaluation what a row says?  Its values are noted in order."""
    f = Sighted("match", ("words", "row", "roots", "options"), of)
    none = f.known(Word.NONE)

    def said(word: int) -> str:
        return f.load("%row", 8 * word)

    f.refuse_if("ne", said(Row.OFF), 0)
    f.refuse_if("ne", said(Row.OPTIONS), "%options")
    f.store(0, f.words, 8 * Also.KEPT)
    count = said(Row.ROOTS)
    f.refuse_if("ne", f.load("%roots", LENGTH), count)
    values, asked_for = f.known(Also.VALUES), f.load("%roots", LIST_ITEMS)
    with f.each(count) as k:
        f.store(f.load(f.nth(asked_for, k)), f.nth(values, k))
    f.refuse_if("ne", f.load(f.load(values), of.op), f.load(f.add("%row", said(Row.NODES_AT)), 8 * Node.OP))
    for ref in (Row.PLAN, Row.WAY):
        f.refuse_if("eq", f.load(said(ref), REFERENT), none)
    f.refuse_if("ne", f.within("@buffers"), said(Row.BUFFERS))
    met = f.variable(count)
    item = f.variable(f.add("%row", said(Row.INPUTS_AT)))
    with f.listed("%row", Row.NODES, Node.END) as at:
        node = f.value(f.load(at, 8 * Node.PLACE))
        f.refuse_if("ne", f.load(node, of.op), f.load(at, 8 * Node.OP))
        with f.when("eq", f.load(at, 8 * Node.IS_OVER), 0):
            f.refuse_if("ne", f.load(node, of.old), none)
        f.refuse_if("ne", f.load(node, of.region), f.load(at, 8 * Node.REGION))
        inputs = f.load(node, of.inputs)
        f.refuse_if("ne", f.load(inputs, LENGTH), f.load(at, 8 * Node.INPUTS))
        with f.each(f.load(inputs, LENGTH)) as j:
            mine = f.get(item)
            given = f.load(f.nth(inputs, j), ITEMS)
            f.refuse_if("eq", f.within("@seen", given, mine, f.get(met)), 0)
            with f.when("ule", f.load(mine, 8 * Input.KIND), NODE):
                f.set(met, f.add(f.get(met), 1))
            f.set(item, f.add(mine, 8 * Input.END))
    with f.listed("%row", Row.OVER, 2) as at:
        node = f.value(f.load(at))
        f.refuse_if("ne", f.load(node, of.old), f.value(f.load(at, 8)))
        f.refuse_if("ne", f.load(node, of.covers), f.known(Word.TRUE))
    before = f.variable(0)
    with f.listed("%row", Row.ORDER) as place:
        serial = f.of_c(Word.NUMBER, f.load(f.value(f.load(place)), of.serial))
        f.refuse_if("sle", serial, f.get(before))
        f.set(before, serial)
    with f.listed("%row", Row.NODES, Node.END) as at:
        place = f.load(at, 8 * Node.PLACE)
        with f.when("uge", place, count):
            node = f.value(place)
            asked = f.within("@asked", node, f.load(at, 8 * Node.READERS), f.get(met))
            f.refuse_if("ne", asked, f.load(at, 8 * Node.STORED))
    with f.listed("%row", Row.HELD) as place:
        f.refuse_if("eq", f.within("@holder", f.value(f.load(place))), 0)
    f.give(1)
    return f


LOOKS: tuple[Callable[[Any], Sighted], ...] = (same, _buffers, _seen, _met, _holder, _asked, _match)
