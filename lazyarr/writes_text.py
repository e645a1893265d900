"""The text of functions of Python's that make views, and pending writes to values that wait.

In:  where objects have their fields.   Out: LLVM IR.

    view(array, key) -> the view; None: this is for Python to do
    assign(depth, array, key, value) -> True; None: likewise
    update(depth, array, ufunc, *operands) -> the same, of a write of ufunc(*operands) to the whole array

They do what `indexing.getitem` and `setitem`, `recipes.known_write` and `storage.Storage.write` do in usual
cases.  What a write needs is made before anything is looked at that somebody else may change.  Nobody holds
the lock of all values then, nor does anything of Python's run till it is done; so it is as if it was held.
"""

from __future__ import annotations

from typing import Any

from lazyarr.nodes_inputs import Inputs, fill
from lazyarr.nodes_ir import Making
from lazyarr.nodes_words import WRITES, Places, Word, Write
from lazyarr.object_fields import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    F_CONTIGUOUS,
    FLAGS,
    ITEMS,
    ITEMSIZE,
    LENGTH,
    NDIM,
    TYPE,
    WRITEABLE,
)  # fmt: skip
from lazyarr.storage import REPEATED, SMALL_WRITES
from lazyarr.walk_words import MISSING


def is_slice(of: Places) -> Making:
    """Is a key a slice, or a tuple with one, of nothing but slices, ints, None and Ellipsis; or an int, where
    there are more axes?"""
    f = Making("is_slice", ("words", "key", "geo"), of)
    kind, some = f.load("%key", TYPE), f.variable(0)
    with f.when("eq", kind, f.known(Word.SLICE)):
        f.give(1)
    with f.when("eq", kind, f.known(Word.INTEGER)), f.when("ugt", f.load("%geo", NDIM, "i32"), 1):
        f.give(1)
    with f.when("ne", kind, f.known(Word.TUPLE)):
        f.give(0)
    with f.items("%key", is_list=False) as (item, _):
        kind, fine = f.load(item, TYPE), f.variable(0)
        with f.when("eq", kind, f.known(Word.SLICE)):
            f.set(some, 1)
        for basic in (Word.SLICE, Word.INTEGER, Word.NOTHING, Word.ELLIPSIS):
            with f.when("eq", kind, f.known(basic)):
                f.set(fine, 1)
        with f.when("eq", f.get(fine), 0):
            f.give(0)
    f.give(f.get(some))
    return f


def view(of: Places, name: str) -> Making:
    f = Making(name, (), of, public=True)
    x, key = (f.load(f.args, 8 * k) for k in range(2))
    none = f.known(Word.NONE)
    f.decline_if("eq", f.within("@whole", x), 0)
    storage = f.load(x, of.array_storage)
    f.decline_if("eq", storage, none)
    geo = f.load(x, of.array_geo)
    f.decline_if("eq", f.within("@is_slice", key, geo), 0)
    f.held(storage)                             # (an index may be the program's, and give x others)
    f.held(geo)
    seen = f.within("@seen", geo, key)
    f.on(Word.DECREF, geo)
    with f.when("eq", seen, 0):
        f.on(Word.DECREF, storage)
        f.give(0)                               # (in NumPy's words)
    found = f.made(Word.ALLOC, f.known(Word.LAZY), 0)
    origin = f.variable(f.load(x, of.array_origin))
    with f.when("eq", f.get(origin), none):
        f.set(origin, x)
    f.store(storage, found, of.array_storage)
    f.store(seen, found, of.array_geo)
    f.store(f.held(f.get(origin)), found, of.array_origin)
    f.give(found)
    return f


def assign(of: Places, name: str) -> Making:
    f = Making(name, (), of, public=True)
    depth, x, key, value = (f.load(f.args, 8 * k) for k in range(4))
    storage = _waiting(f, x)
    f.decline_if("eq", f.within("@is_slice", key, f.load(x, of.array_geo)), 0)
    f.held(storage)
    geo = f.held(f.load(x, of.array_geo))       # (as in `view`)
    region = f.within("@seen", geo, key)
    f.on(Word.DECREF, geo)
    with f.when("eq", region, 0):               # (Python will tell)
        f.on(Word.CLEAR, None)
        f.on(Word.DECREF, storage)
        f.decline()
    done = f.variable(MISSING)
    same = f.variable(0)
    counts = f.variable(0)
    with f.when("ne", f.within("@whole", value), 0):
        f.set(counts, 1)
        whose, begins = f.load(value, of.array_storage), f.load(f.load(value, of.array_geo), DATA)
        with f.when("eq", whose, storage), f.when("eq", begins, f.load(region, DATA)):
            f.set(same, 1)                      # the last step of  x[key] += 1, perhaps
    with f.when("eq", f.get(same), 0):
        moved = f.by("mul", f.get(counts), f.known(Word.MOVED))
        given = f.known(Word.NONE), storage, region, depth, value, 0, moved
        f.set(done, f.within("@written", *given))
    _told(f, f.get(done), region, storage)
    return f


def update(of: Places, name: str) -> Making:
    f = Making(name, (), of, public=True)
    depth, x, fn, first = (f.load(f.args, 8 * k) for k in range(4))
    second = f.variable(0)
    with f.when("sgt", "%count", 4):
        f.set(second, f.load(f.args, 32))
    storage = f.held(_waiting(f, x))
    region = f.held(f.load(x, of.array_geo))
    given = fn, storage, region, depth, first, f.get(second), f.known(Word.IN_PLACE)
    _told(f, f.within("@written", *given), region, storage)
    return f


def _waiting(f: Making, x: str) -> str:
    """The storage of an array that may be written to and waits; the function ends where it is none."""
    f.decline_if("eq", f.within("@whole", x), 0)
    storage = f.load(x, f.of.array_storage)
    f.decline_if("eq", storage, f.known(Word.NONE))
    f.decline_if("eq", f.load(f.load(storage, f.of.storage_value), f.of.op), f.known(Word.NONE))
    flags = f.load(f.load(x, f.of.array_geo), FLAGS, "i32")
    f.decline_if("eq", f.by("and", flags, WRITEABLE), 0)
    return storage


def _told(f: Making, answer: str, *held: str) -> None:
    """The end of a function: what `written` says, as an object."""
    for x in held:
        f.on(Word.DECREF, x)
    with f.when("eq", answer, 0):
        f.give(0)
    f.decline_if("eq", answer, MISSING)
    f.give(f.held(f.known(Word.TRUE)))


def written(of: Places) -> Making:
    """A write to a region of a storage that the caller holds: 1 where it is made, 0 where something raises,
    `MISSING` where Python has to look.

    `most`: elements from which on writes are counted as results of medium size; 0 where they are not."""
    parameters = "words", "fn", "storage", "region", "depth", "first", "second", "most"
    f = Making("written", parameters, of)
    none, unusual = f.known(Word.NONE), f.load(f.known(Word.UNUSUAL))
    for waits in (Word.DUE, Word.OBSERVED):
        f.leave_to_python("ne", f.load(f.known(waits), LENGTH), 0)
    with f.when("ne", unusual, 0):
        f.leave_to_python("eq", f.agrees(Word.ALWAYS, none), 0)
    entry, size, nbytes = _known(f), f.variable(1), f.variable(0)
    _fits(f, size)
    f.set(nbytes, f.by("mul", f.get(size), f.load(f.load("%region", DTYPE), ITEMSIZE)))
    f.leave_to_python("eq", f.get(size), 0)
    is_medium, allowed = f.variable(0), f.known(Word.ALLOWED)
    with (
        f.when("eq", unusual, 0), f.when("ne", "%most", 0), f.when("sgt", f.get(size), "%most"),
        f.when("sle", f.get(size), f.known(Word.MEDIUM)),
    ):  # fmt: skip
        f.leave_to_python("sle", f.load(allowed), 0)
        f.set(is_medium, 1)

    owned = [f.held(f.load(entry, 8 * Write.OP)), f.held("%region")]
    makers = [f.held(f.load(entry, 8 * (Write.MAKERS + k))) for k in (0, 1)]
    is_quiet = f.load(entry, 8 * Write.QUIET)
    owned += makers
    inputs = Inputs(f, ("%first", "%second"), makers)
    old = f.held(f.load("%storage", of.storage_value))
    owned.append(old)

    def let_go() -> None:
        for x in owned:
            f.on(Word.DECREF, x)

    def give_up() -> None:
        let_go()
        f.give(MISSING)

    def give_up_if(how: str, x: Any, y: Any) -> None:
        with f.when(how, x, y):
            give_up()

    covers = f.variable(0)
    with f.when("eq", f.get(nbytes), f.of_c(Word.NUMBER, f.load(old, of.nbytes))):
        dense = f.by("and", f.load("%region", FLAGS, "i32"), C_CONTIGUOUS | F_CONTIGUOUS)
        give_up_if("eq", dense, 0)              # (it may be, or not)
        f.set(covers, 1)
    errors = f.within("@state")
    give_up_if("eq", errors, MISSING)
    owned.append(errors)
    is_small, where = f.variable(0), f.variable(0)
    with f.when("eq", unusual, 0), f.when("sle", f.get(size), f.known(Word.EAGER)):
        f.set(is_small, 1)
    asked = f.by("or", f.get(is_small), f.by("xor", is_quiet, 1))
    with f.when("ne", asked, 0):
        f.set(where, f.within("@place", "%depth"))
        give_up_if("eq", f.get(where), MISSING)
    place = f.get(where)
    owned.append(place)

    is_pair = f.variable(0)
    with f.when("ne", "%second", 0):
        f.set(is_pair, 1)
    inputs.make(f.add(f.get(is_pair), 1), give_up, let_go)
    node, fresh = f.made(Word.ALLOC, f.known(Word.EXPR), 0), f.made(Word.LIST, 0)
    me, home = f.made(Word.WEAKREF, node, 0), f.made(Word.WEAKREF, "%storage", 0)
    moved = f.variable(f.load(f.known(Word.OWNER)))
    for now, then in (
        (f.load("%storage", of.storage_value), old), (f.load(old, of.buf), none),
    ):  # fmt: skip
        with f.when("ne", now, then):
            f.set(moved, 1)
    with f.when("eq", f.load(old, of.op), none):
        f.set(moved, 1)
    with f.when("ne", inputs.changed(), 0):
        f.set(moved, 1)
    with f.when("ne", f.get(moved), 0):         # somebody was there meanwhile, or is
        inputs.drop()
        for mine in (me, home, node, fresh):
            f.on(Word.DECREF, mine)
        give_up()

    inputs.capture()                            # (nothing of Python's runs from here on)
    with f.when("ne", f.get(is_medium), 0), f.when("sgt", f.load(allowed), 0):
        f.store(f.add(f.load(allowed), -1), allowed)
    reads, keeps = f.variable(0), f.variable(1)
    for _, _, read in inputs.reads():
        with f.when("eq", f.load(read, of.read_expr), old):
            f.set(reads, 1)
    with f.when("ne", f.get(covers), 0), f.when("eq", f.get(reads), 0):
        f.set(keeps, 0)                         # nobody can ask for the old value
    below, whole, loc = (f.variable(x) for x in (none, f.known(Word.TRUE), none))
    with f.when("ne", f.get(keeps), 0):
        f.set(below, old)
    with f.when("eq", f.get(covers), 0):
        f.set(whole, f.known(Word.FALSE))
        inputs.count(old)
    with f.when("eq", is_quiet, 0):
        f.set(loc, place)
    _replace(f, old, fresh)
    fields = {
        "op": owned[0], "region": "%region", "old": f.held(f.get(below)), "covers": f.held(f.get(whole)),
        "nbytes": f.held(f.load(old, of.nbytes)), "home": home, "errors": errors,
        "loc": f.held(f.get(loc)), "storage_value": node,
    }  # fmt: skip
    fill(f, node, inputs, fields, {"storage": "%storage"})
    f.held(node)
    f.on(Word.DECREF, old)                      # (the storage's reference)
    crowded, looks = f.variable(0), f.variable(0)
    inputs.enlist(me, crowded, looks, old)
    with f.when("eq", f.get(covers), 0):
        found = f.within("@enlisted", old, me, fresh)
        f.set(crowded, f.by("or", f.get(crowded), found))

    f.set(looks, f.by("or", f.get(looks), f.within("@due", f.get(inputs.depth), f.get(inputs.weight))))
    for x, usual in ((errors, none), (unusual, 0)):
        with f.when("ne", x, usual):
            f.set(looks, 1)
    _count_small(f, f.get(is_small), place, looks)
    done = f.variable(1)
    with f.when("ne", f.get(crowded), 0):
        answer = f.within("@called", f.known(Word.CROWDED), node)
        f.on(Word.DECREF, answer)
        with f.when("eq", answer, 0):
            f.set(done, 0)
    with f.when("ne", f.get(looks), 0), f.when("ne", f.get(done), 0):
        at = f.variable(node)
        f.head.append("  %pair = alloca [2 x i64]")
        pair = f.op("ptrtoint ptr %pair to i64")
        f.store(f.get(at), pair)
        f.store(old, pair, 8)
        answer = f.of_c(Word.CALL, f.known(Word.WRITTEN), pair, 2, 0)
        f.on(Word.DECREF, answer)
        with f.when("eq", answer, 0):
            f.set(done, 0)
    for mine in (me, fresh, old, place, node, *makers):
        f.on(Word.DECREF, mine)
    f.give(f.get(done))
    return f


def _known(f: Making) -> str:
    """The entry of a write; the function ends where there is none."""
    tags = f.within("@tag", "%first"), f.within("@tag", "%second")
    dtype = f.load("%region", DTYPE)
    entry, at = f.variable(0), f.variable(f.known(Word.WRITES))
    with f.each(str(WRITES)) as _:
        here = f.get(at)
        f.leave_if("eq", f.load(here, 8 * Write.UFUNC), 0)
        agreed = f.variable(1)
        for word, x in (
            (Write.UFUNC, "%fn"), (Write.INTO, dtype), (Write.TAGS, tags[0]), (Write.TAGS + 1, tags[1]),
        ):  # fmt: skip
            with f.when("ne", f.load(here, 8 * word), x):
                f.set(agreed, 0)
        with f.when("ne", f.get(agreed), 0):
            f.set(entry, here)
        f.leave_if("ne", f.get(entry), 0)
        f.set(at, f.add(here, 8 * Write.END))
    f.leave_to_python("eq", f.get(entry), 0)
    return f.get(entry)


def _fits(f: Making, size: str) -> None:
    """Arrays must have the region's extents, whose product is set."""
    of, extents = f.of, f.load("%region", DIMS)
    axes = f.load("%region", NDIM, "i32")
    with f.each(axes) as d:
        f.set(size, f.by("mul", f.get(size), f.load(f.add(extents, f.by("shl", d, 3)))))
    for x in ("%first", "%second"):
        with f.when("ne", x, 0), f.is_lazy(x):
            f.leave_to_python("eq", f.load(x, of.array_storage), f.known(Word.NONE))
            geo = f.load(x, of.array_geo)
            f.leave_to_python("ne", f.load(geo, NDIM, "i32"), axes)
            others = f.load(geo, DIMS)
            with f.each(axes) as d:
                at = f.by("shl", d, 3)
                f.leave_to_python("ne", f.load(f.add(others, at)), f.load(f.add(extents, at)))


def _replace(f: Making, old: str, fresh: str) -> None:
    """A value is replaced (`Expr.replace`)."""
    with f.when("eq", f.load(old, f.of.readers), f.known(Word.NONE)):
        f.store(f.held(fresh), old, f.of.readers)
        f.on(Word.DECREF, f.known(Word.NONE))
    before = f.load(old, f.of.replaced)
    f.store(f.held(f.known(Word.TRUE)), old, f.of.replaced)
    f.on(Word.DECREF, before)


def _count_small(f: Making, is_small: str, place: str, looks: str) -> None:
    """Count small writes in a row, and those from one place (`Storage._loops`), or begin anew."""
    of, zero = f.of, f.known(Word.ZERO)
    attributes = of.storage_small_writes, of.storage_repeats

    def put(at: int, x: str) -> None:
        before = f.load("%storage", at)
        f.store(x, "%storage", at)
        f.on(Word.DECREF, before)

    with f.when("eq", is_small, 0):
        for at in attributes:
            put(at, f.held(zero))
    with f.when("ne", is_small, 0):
        writes, repeats = (f.variable(f.of_c(Word.NUMBER, f.load("%storage", at))) for at in attributes)
        f.set(writes, f.add(f.get(writes), 1))
        last = f.load("%storage", of.storage_place)
        with f.when("ne", last, f.known(Word.NONE)):
            same = [(f.load(x, ITEMS), f.of_c(Word.NUMBER, f.load(x, ITEMS + 8))) for x in (last, place)]
            with f.when("eq", same[0][0], same[1][0]), f.when("eq", same[0][1], same[1][1]):
                f.set(repeats, f.add(f.get(repeats), 1))
        put(attributes[0], f.of_c(Word.INT, f.get(writes)))
        put(attributes[1], f.of_c(Word.INT, f.get(repeats)))
        put(of.storage_place, f.held(place))
        many = f.add(f.get(writes), f.by("mul", f.get(repeats), REPEATED))
        with f.when("sge", many, SMALL_WRITES):
            f.set(looks, 1)
