"""The text of three functions of Python's that go through the nodes of an evaluation.

In:  where objects have their fields.   Out: LLVM IR of the functions of `walk_words.names_of`.

    closure(scratch, roots, found, calls) -> an `Answer`; fills the lists `found` and `calls`
    key(scratch, nodes, roots, leaves, objects) -> bytes, or an `Answer`; fills `leaves` and `objects`
    finish(scratch, nodes, buffers) -> an `Answer`; marks the nodes as evaluated

They do what `materialize.closure` and the test of `sinking.sunk`, what `plan._stored` and `Tokens.of`, and
what `engine._finish` do, for usual nodes; what they do not expect they decline, and Python does it.  They
hold the GIL and run no Python, so nothing that they look at changes meanwhile.  The first two change nothing
but the lists; the last one lets go of what nodes had when all are marked.
"""

from __future__ import annotations

from typing import Any

from lazyarr.object_fields import DATA, DIMS, DTYPE, LENGTH, NDIM, REFERENT, STRIDES, TYPE
from lazyarr.walk_ir import Walk
from lazyarr.walk_words import ENTRY, MISSING, Answer, Head, Places, names_of

ROOT = 1 << 30
"""Added to the numbers of roots."""

NO_VALUE = (1 << 31) - 1
"""In the place of the number of an old value that nobody has."""

CONSTANT = 1 << 30
"""Added to the number of a constant's type, where reads have a value's number."""

LETS_GO = 3
"""Objects that a node which is done lets go of at last: with its op, its old value, and its inputs."""

NEVER = (1 << 63) - 1
"""A place in program order that no program reaches."""

_HASH = 0x9E3779B97F4A7C15 - (1 << 64)
"""What addresses are multiplied by: the golden ratio, of 64 bits."""


def text(of: Places, suffix: str) -> str:
    """The module."""
    names = names_of(suffix)
    makers = (
        _entry, _number, _put, _object, _contents, _alike, _geometry, _alive, _serial, _outside, _asked,
    )  # fmt: skip
    made = [make(of) for make in makers] + [_closure(of, names[0]), _key(of, names[1])]
    made.append(_finish(of, names[2]))
    return "\n".join(each.text() for each in made)


# ---------------------------------------------------------------------------------------- the table


def _entry(of: Places) -> Walk:
    """The place of an object's entry, or where it would be."""
    f = Walk("entry", ("context", "x"), of)
    table, end, generation = f.known(Head.TABLE), f.known(Head.TABLE_END), f.known(Head.GENERATION)
    hashed = f.by("lshr", f.by("mul", f.by("lshr", "%x", 4), _HASH), f.known(Head.SHIFT))
    at = f.variable(f.add(table, f.by("mul", hashed, ENTRY)))
    with f.loop():
        here = f.get(at)
        f.leave_if("ne", f.by("lshr", f.load(here, 8), 32), generation)
        f.leave_if("eq", f.load(here), "%x")
        f.set(at, f.add(here, ENTRY))
        with f.when("eq", f.get(at), end):
            f.set(at, table)
    f.give(f.get(at))
    return f


def _number(of: Places) -> Walk:
    """An object's number, or `MISSING`."""
    f = Walk("number", ("context", "x"), of)
    word = f.load(f.call("@entry", "%context", "%x"), 8)
    with f.when("ne", f.by("lshr", word, 32), f.known(Head.GENERATION)):
        f.give(MISSING)
    f.give(f.by("ashr", f.by("shl", word, 32), 32))
    return f


def _put(of: Places) -> Walk:
    """Give an object a number."""
    f = Walk("put", ("context", "x", "number"), of)
    count = f.add(f.known(Head.COUNT), 1)
    f.decline_if("sgt", count, f.known(Head.MOST), Answer.SMALL)
    f.note(Head.COUNT, count)
    at = f.call("@entry", "%context", "%x")
    f.store("%x", at)
    above = f.by("shl", f.known(Head.GENERATION), 32)
    f.store(f.by("or", above, f.by("and", "%number", 0xFFFFFFFF)), at, 8)
    f.give(0)
    return f


def _object(of: Places) -> Walk:
    """The number of an object that keys hold, which is on the list from now on."""
    f = Walk("object", ("context", "x", "objects"), of)
    found = f.number("%x")
    with f.when("ne", found, MISSING):
        f.give(found)
    number = f.known(Head.OBJECTS)
    f.within("@put", "%x", number)
    f.append("%objects", "%x")
    f.note(Head.OBJECTS, f.add(number, 1))
    f.give(number)
    return f


def _contents(of: Places) -> Walk:
    """A hash of what a geometry says: an odd number, which is no object's address."""
    f = Walk("contents", ("context", "x"), of)
    axes = f.load("%x", NDIM, "i32")
    found = f.variable(f.by("xor", f.load("%x", DATA), f.load("%x", DTYPE)))
    with f.each(axes) as d:
        for numbers in (DIMS, STRIDES):
            each = f.load(f.add(f.load("%x", numbers), f.by("shl", d, 3)))
            mixed = f.by("mul", f.by("xor", f.get(found), each), _HASH)
            f.set(found, f.by("xor", mixed, f.by("lshr", mixed, 32)))
    f.give(f.by("or", f.get(found), 1))
    return f


def _alike(of: Places) -> Walk:
    """Do two geometries say the same?"""
    f = Walk("alike", ("context", "x", "y"), of)
    axes = f.load("%x", NDIM, "i32")
    for x, y in (
        (axes, f.load("%y", NDIM, "i32")), *((f.load("%x", at), f.load("%y", at)) for at in (DATA, DTYPE)),
    ):  # fmt: skip
        with f.when("ne", x, y):
            f.give(0)
    with f.each(axes) as d:
        for numbers in (DIMS, STRIDES):
            x, y = (f.load(f.add(f.load(g, numbers), f.by("shl", d, 3))) for g in ("%x", "%y"))
            with f.when("ne", x, y):
                f.give(0)
    f.give(1)
    return f


def _geometry(of: Places) -> Walk:
    """The number of a geometry, whose address is in the area from now on, or of one that says the same.

    (Which of them are one object differs from time to time: `view_keys`.)"""
    f = Walk("geometry", ("context", "x"), of)
    found = f.number("%x")
    with f.when("ne", found, MISSING):
        f.give(found)
    f.is_type("%x", Head.NDARRAY)
    contents = f.call("@contents", "%context", "%x")
    known = f.number(contents)
    with f.when("ne", known, MISSING):
        other = f.load(f.add(f.known(Head.AREA), f.by("shl", known, 3)))
        with f.when("ne", f.call("@alike", "%context", "%x", other), 0):
            f.within("@put", "%x", known)
            f.give(known)
    number = f.known(Head.GEOMETRIES)
    f.within("@put", "%x", number)
    with f.when("eq", known, MISSING):
        f.within("@put", contents, number)
    at = f.add(f.known(Head.AREA), f.by("shl", number, 3))
    f.decline_if("uge", at, f.known(Head.AREA_END), Answer.SMALL)
    f.store("%x", at)
    f.note(Head.GEOMETRIES, f.add(number, 1))
    f.give(number)
    return f


# ------------------------------------------------------------------------------- who asks for values


def _alive(of: Places) -> Walk:
    """What a weak reference refers to, or 0."""
    f = Walk("alive", ("context", "ref"), of)
    f.is_type("%ref", Head.REF)
    found = f.load("%ref", REFERENT)
    for nothing in (0, f.known(Head.NONE)):
        with f.when("eq", found, nothing):
            f.give(0)
    with f.when("eq", f.load(found, kind="i32"), 0):        # (no references: it is going)
        f.give(0)
    f.give(found)
    return f


def _serial(of: Places) -> Walk:
    """A node's place in program order."""
    f = Walk("serial", ("context", "node"), of)
    f.give(f.call(f.known(Head.NUMBER), f.attribute("%node", "serial")))
    return f


def _outside(of: Places) -> Walk:
    """Does a pending node of no number, made before the program came so far, read it?"""
    f = Walk("outside", ("context", "node", "limit"), of)
    none, readers = f.known(Head.NONE), f.attribute("%node", "readers")
    with f.when("eq", readers, none):
        f.give(0)
    f.is_type(readers, Head.LIST)
    with f.items(readers, is_list=True) as (ref, _):
        reader = f.within("@alive", ref)
        with f.when("ne", reader, 0):
            f.is_type(reader, Head.EXPR)
            with (
                f.when("ne", f.attribute(reader, "op"), none), f.when("eq", f.number(reader), MISSING),
                f.when("slt", f.within("@serial", reader), "%limit"),
            ):  # fmt: skip
                f.give(1)
    f.give(0)
    return f


def _asked(of: Places) -> Walk:
    """Is a node worth its memory, or is there such a reader?"""
    f = Walk("asked", ("context", "node"), of)
    home = f.attribute("%node", "home")
    with f.when("ne", home, f.known(Head.NONE)):
        storage = f.within("@alive", home)
        with f.when("ne", storage, 0):
            f.is_type(storage, Head.STORAGE)
            with f.when("eq", f.attribute(storage, "value"), "%node"):
                with f.when("eq", f.is_true(storage, "dying"), 0):
                    f.give(1)
                with f.when("ne", f.is_true("%node", "spared"), 0):
                    f.give(1)
    f.give(f.within("@outside", "%node", NEVER))
    return f


# -------------------------------------------------------------------------------------- the closure


def _closure(of: Places, name: str) -> Walk:
    """All pending nodes below some, as they are met."""
    f = Walk(name, (), of, public=True)
    roots, found, calls = map(f.argument, (1, 2, 3))
    f.begin()
    none, expr, read = (f.known(word) for word in (Head.NONE, Head.EXPR, Head.READ))
    call, gather = f.known(Head.CALL), f.known(Head.GATHER)
    area, end = f.known(Head.AREA), f.known(Head.AREA_END)
    top, sinks, any_calls, overwrites = (f.variable(0) for _ in range(4))
    f.set(top, area)

    def push(x: str) -> None:
        at = f.get(top)
        f.decline_if("uge", at, end, Answer.SMALL)
        f.store(x, at)
        f.set(top, f.add(at, 8))

    with f.items(roots, is_list=True) as (root, _):
        push(root)
    with f.loop():
        at = f.add(f.get(top), -8)
        f.leave_if("ult", at, area)
        f.set(top, at)
        node = f.load(at)
        f.decline_if("ne", f.load(node, TYPE), expr)
        op = f.attribute(node, "op")
        with f.when("ne", op, none), f.when("eq", f.number(node), MISSING):
            f.within("@put", node, 0)
            f.append(found, node)
            kind = f.load(op, TYPE)
            with f.when("eq", kind, call):
                f.append(calls, node)
                f.set(any_calls, 1)
            with f.items(f.attribute(node, "inputs", Head.TUPLE), is_list=False) as (given, _):
                reads = f.when("eq", f.load(given, TYPE), read)
                with reads:
                    value = f.attribute(given, "expr", Head.EXPR)
                    pending = f.variable(1)
                    with f.when("eq", f.attribute(value, "op"), none):
                        f.decline_if("eq", f.attribute(value, "buf"), none)     # overtaken
                        f.set(pending, 0)
                    with f.when("ne", f.get(pending), 0):
                        push(value)
                        with f.when("eq", f.attribute(value, "old"), none):
                            with f.when("ne", f.attribute(given, "geo"), f.attribute(value, "region")):
                                f.set(sinks, 1)
                            with f.when("eq", kind, gather):
                                f.set(sinks, 1)
            old = f.attribute(node, "old")
            with f.when("ne", old, none):
                f.is_type(old, Head.EXPR)
                f.set(overwrites, 1)
                partly = f.when("eq", f.is_true(node, "covers"), 0)
                with partly, f.when("ne", f.attribute(old, "op"), none):
                    push(old)
    with f.when("ne", f.get(any_calls), 0):
        f.fail(Answer.CALLS)
    with f.when("ne", f.get(overwrites), 0):
        _look_at_readers(f, found)
    with f.when("ne", f.get(sinks), 0):
        f.fail(Answer.SINKS)
    f.fail(Answer.FINE)
    return f


def _look_at_readers(f: Walk, found: str) -> None:
    """Decline if somebody who is not met has to read an old value before it is overwritten.

    (`materialize._first` asks who reads these that is older, and what is made of that up to the write: if all
    of the first are here, and nobody else that is older than the last write reads what is, nothing is added.)
    """
    none, older, last = f.known(Head.NONE), f.variable(0), f.variable(0)
    with f.items(found, is_list=True) as (node, _):
        old = f.attribute(node, "old")
        with f.when("ne", old, none):
            there = f.variable(1)
            covers = f.when("ne", f.is_true(node, "covers"), 0)
            with covers, f.when("eq", f.attribute(old, "buf"), none):
                f.set(there, 0)
            readers = f.attribute(old, "readers")
            with f.when("eq", readers, none):
                f.set(there, 0)
            with f.when("ne", f.get(there), 0):
                f.is_type(readers, Head.LIST)
                serial = f.within("@serial", node)
                with f.when("sgt", serial, f.get(last)):
                    f.set(last, serial)
                with f.items(readers, is_list=True) as (ref, _):
                    reader = f.within("@alive", ref)
                    with f.when("ne", reader, 0), f.when("ne", reader, node):
                        f.is_type(reader, Head.EXPR)
                        with (
                            f.when("ne", f.attribute(reader, "op"), none),
                            f.when("slt", f.within("@serial", reader), serial),
                        ):
                            f.decline_if("eq", f.number(reader), MISSING)
                            f.set(older, 1)
    with f.when("ne", f.get(older), 0), f.items(found, is_list=True) as (node, _):
        f.decline_if("ne", f.within("@outside", node, f.get(last)), 0)


# ------------------------------------------------------------------------------------------ the key


def _key(of: Places, name: str) -> Walk:
    """What a plan depends on, but for the objects listed: which nodes are stored; for each node its op,
    region and inputs; old values; geometries."""
    f = Walk(name, (), of, public=True)
    nodes, roots, leaves, objects = map(f.argument, (1, 2, 3, 4))
    f.begin()
    none, read = f.known(Head.NONE), f.known(Head.READ)
    room, end = f.known(Head.ROOM), f.known(Head.ROOM_END)
    leaf = f.variable(0)

    def value_of(x: str) -> str:
        """The number of a node, or of another value, which is on the list of these from now on."""
        found = f.variable(f.number(x))
        with f.when("eq", f.get(found), MISSING):
            f.decline_if("ne", f.attribute(x, "op"), none)
            f.set(leaf, f.add(f.get(leaf), -1))
            f.within("@put", x, f.get(leaf))
            f.append(leaves, x)
            f.set(found, f.get(leaf))
        with f.when("sge", f.get(found), 0):
            f.set(found, f.by("and", f.get(found), ROOT - 1))
        return f.get(found)

    with f.items(nodes, is_list=True) as (node, k):
        f.is_type(node, Head.EXPR)
        f.decline_if("eq", f.attribute(node, "op"), none)
        f.within("@put", node, k)
    with f.items(roots, is_list=True) as (root, _):
        number = f.number(root)
        with f.when("ne", number, MISSING):
            f.store(f.by("or", number, ROOT), f.call("@entry", f.context, root), 8, "i32")
    count = f.load(nodes, LENGTH)
    f.decline_if("ugt", f.add(f.add(room, count), 8), end, Answer.SMALL)
    f.store(0, f.add(room, count))
    at = f.variable(f.by("and", f.add(f.add(room, count), 7), -8))

    def need(words: str) -> None:
        last = f.add(f.get(at), f.by("shl", words, 2))
        f.decline_if("ugt", last, end, Answer.SMALL)

    def write(word: Any, kind: str = "i32") -> None:
        f.store(word, f.get(at), kind=kind)
        f.set(at, f.add(f.get(at), 4 if kind == "i32" else 8))

    need("16")
    with f.items(nodes, is_list=True) as (node, k):
        stored = f.variable(1)
        with f.when("eq", f.by("and", f.number(node), ROOT), 0):
            f.set(stored, f.within("@asked", node))
        f.store(f.get(stored), f.add(room, k), kind="i8")
        given = f.attribute(node, "inputs", Head.TUPLE)
        inputs = f.load(given, LENGTH)
        need(f.add(f.by("shl", inputs, 1), 16))
        said = f.variable(f.by("shl", inputs, 3))
        for bit, flag in enumerate(("masked", "covers")):
            f.set(said, f.by("or", f.get(said), f.by("shl", f.is_true(node, flag), bit)))
        with f.when("ne", f.attribute(node, "old"), none):
            f.set(said, f.by("or", f.get(said), 4))
        write(f.get(said))
        write(f.within("@object", f.attribute(node, "op"), objects))
        write(f.within("@geometry", f.attribute(node, "region")))
        with f.items(given, is_list=False) as (i, _):
            reads = f.variable(0)
            kind = f.load(i, TYPE)
            with f.when("eq", kind, read):
                f.set(reads, 1)
                write(value_of(f.attribute(i, "expr", Head.EXPR)))
                write(f.within("@geometry", f.attribute(i, "geo")))
            with f.when("eq", f.get(reads), 0):
                write(f.by("or", f.within("@object", kind, objects), CONSTANT))
    with f.items(nodes, is_list=True) as (node, _):
        old = f.attribute(node, "old")
        with f.when("ne", old, none):
            below, number = f.variable(old), f.variable(NO_VALUE)
            with f.loop():
                f.leave_if("eq", f.get(below), none)
                f.is_type(f.get(below), Head.EXPR)
                f.leave_if("eq", f.attribute(f.get(below), "op"), none)
                f.leave_if("ne", f.number(f.get(below)), MISSING)
                f.set(below, f.attribute(f.get(below), "old"))
            with f.when("ne", f.get(below), none):
                f.set(number, value_of(f.get(below)))
            need("16")
            write(f.get(number))
            same = f.variable(0)
            with f.when("eq", f.get(below), old):
                f.set(same, 1)
            write(f.get(same))
    with f.each(f.known(Head.GEOMETRIES)) as k:
        geo = f.load(f.add(f.known(Head.AREA), f.by("shl", k, 3)))
        axes = f.load(geo, NDIM, "i32")
        need(f.add(f.by("shl", axes, 2), 16))
        write(f.within("@object", f.load(geo, DTYPE), objects))
        write(axes)
        write(f.load(geo, DATA), "i64")
        extents, strides = f.load(geo, DIMS), f.load(geo, STRIDES)
        with f.each(axes) as d:
            for each in (extents, strides):
                write(f.load(f.add(each, f.by("shl", d, 3))), "i64")
    f.give(f.call(f.known(Head.BYTES), room, f.add(f.get(at), f.by("sub", 0, room))))
    return f


# ---------------------------------------------------------------------------------------- what is done


def _finish(of: Places, name: str) -> Walk:
    """Nodes have their values, which lie in the buffers that a dict has by serial, or nowhere."""
    f = Walk(name, (), of, public=True)
    nodes, buffers = map(f.argument, (1, 2))
    none, nothing, zero = (f.known(word) for word in (Head.NONE, Head.NOTHING, Head.ZERO))
    area = f.known(Head.AREA)
    last = f.add(area, f.by("mul", f.load(nodes, LENGTH), 8 * LETS_GO))
    f.decline_if("ugt", last, f.known(Head.AREA_END))       # (never SMALL: the lists are not to be filled)
    with f.items(nodes, is_list=True) as (node, _):
        f.is_type(node, Head.EXPR)
        for field in ("op", "region", "old", "inputs", "buf", "depth", "weight", "nbytes", "serial"):
            f.attribute(node, field)
        home = f.attribute(node, "home")
        with f.when("ne", home, none):
            f.is_type(home, Head.REF)
    top = f.variable(area)                      # (nothing declines from here on)
    with f.items(nodes, is_list=True) as (node, _):
        op = f.load(node, of.op)
        with f.when("ne", op, none):            # (a signal's handler asked for it: see `ready.launched`)
            _allocated(f, node)
            found = f.variable(f.call(f.known(Head.LOOKUP), buffers, f.load(node, of.serial)))
            with f.when("eq", f.get(found), 0):
                f.set(found, none)
            given = {
                of.buf: f.get(found), of.op: none, of.region: none, of.depth: zero, of.weight: zero,
                of.old: none, of.inputs: nothing,
            }  # fmt: skip
            for place, x in given.items():
                before = f.load(node, place)
                f.call_void(f.known(Head.INCREF), x)
                f.store(x, node, place)
                if place in (of.op, of.old, of.inputs):     # (with which a program's finalizers may run)
                    f.store(before, f.get(top))
                    f.set(top, f.add(f.get(top), 8))
                else:
                    f.call_void(f.known(Head.DECREF), before)
    at = f.variable(area)
    with f.loop():
        f.leave_if("uge", f.get(at), f.get(top))
        f.call_void(f.known(Head.DECREF), f.load(f.get(at)))
        f.set(at, f.add(f.get(at), 8))
    f.fail(Answer.FINE)
    return f


def _allocated(f: Walk, node: str) -> None:
    """The memory of a node is there, if it is the current value of a live storage (`values.is_held`)."""
    none, home = f.known(Head.NONE), f.load(node, f.of.home)
    with f.when("ne", home, none):
        storage, slot = f.load(home, REFERENT), f.known(Head.UNALLOCATED)
        with (
            f.when("ne", storage, none), f.when("ne", f.load(storage, kind="i32"), 0),
            f.when("eq", f.load(storage, f.of.value), node),
        ):  # fmt: skip
            before = f.load(slot)
            nbytes = f.call(f.known(Head.NUMBER), f.load(node, f.of.nbytes))
            left = f.by("sub", f.call(f.known(Head.NUMBER), before), nbytes)
            f.store(f.call(f.known(Head.INT), left), slot)
            f.call_void(f.known(Head.DECREF), before)
