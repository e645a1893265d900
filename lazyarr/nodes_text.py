"""The text of a function of Python's that makes a pending node, and the array that it is the value of.

In:  where objects have their fields.   Out: LLVM IR.

    make(ufunc, depth, *operands) -> the new array; None: this is for Python to do;
                                     an int: so it is, and its recipe may be written there

It does what `recipes.again` does with a recipe whose result is large, `Expr`, `Storage` and `storage.launch`
among it, and calls the latter for nodes that may not just wait.  Of medium size it makes as many as Python
has granted, which counts them later (`direct`), and only those that Python would make (`nodes_words.When`).
All objects are made before a value is captured, since to make one may run the garbage collector, and so a
program's Python; then operands must be as they were, else all goes again.  From the capture to the last field
that is set nothing of Python's runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyarr.geometry import PROBED
from lazyarr.nodes_inputs import Inputs, fill
from lazyarr.nodes_ir import Making
from lazyarr.nodes_words import BITS, Entry, Places, When, Word
from lazyarr.object_fields import ITEMS, LENGTH
from lazyarr.records import NamedTuple
from lazyarr.walk_words import MISSING


def make(of: Places, name: str) -> Making:
    f = Making(name, (), of, public=True)
    none = f.known(Word.NONE)
    fn, depth, first = (f.load(f.args, 8 * k) for k in range(3))
    is_pair = f.by("lshr", "%count", 2)         # (three arguments, or four)
    given = f.variable(0)
    with f.when("ne", is_pair, 0):
        f.set(given, f.load(f.args, 24))
    second = f.get(given)
    for waits in (Word.DUE, Word.OBSERVED):
        f.decline_if("ne", f.load(f.known(waits), LENGTH), 0)
    entry = _entry(f, fn, is_pair, first, second)

    def said(word: int) -> str:
        return f.load(entry, 8 * word)

    size, is_flagged, when = said(Entry.BYTES), said(Entry.FLAGGED), said(Entry.WHEN)
    snapshots = [f.held(said(Entry.SNAPSHOTS + k)) for k in (0, 1)]         # (zero, perhaps)
    owned = [f.held(said(word)) for word in (Entry.OP, Entry.REGION, Entry.NBYTES, Entry.RECIPE)]
    op, region, nbytes, recipe = owned          # (from here on the entry may become another one)
    makers = [f.held(said(Entry.MAKERS + k)) for k in (0, 1)]
    owned += [*makers, *snapshots]
    inputs = Inputs(f, (first, second), makers, copied=snapshots)

    def let_go() -> None:
        for x in owned:
            f.on(Word.DECREF, x)                # (of nothing, perhaps)

    def give_up() -> None:
        let_go()
        f.decline()

    def give_up_if(how: str, x: Any, y: Any) -> None:
        with f.when(how, x, y):
            give_up()

    code, at = f.variable(0), f.variable(-1)    # where the call has to be, if anywhere
    unusual = f.load(f.known(Word.UNUSUAL))
    with f.when("eq", unusual, 0):
        give_up_if("eq", when, When.NEVER)
        with f.when("ne", when, When.ALWAYS):
            waiting = [f.within("@pending", x) for x in (first, second)]
            with f.when("eq", f.by("or", *waiting), 0):
                f.set(code, said(Entry.WAITS))  # (else zero)
                f.set(at, said(Entry.WAITS + 1))
                give_up_if("eq", f.get(code), 0)
        with f.when("eq", when, When.GRANTED):
            give_up_if("sle", f.load(f.known(Word.ALLOWED)), 0)
            grantee = f.load(f.known(Word.GRANTEE))
            with f.when("ne", grantee, 0):
                with f.when("ne", f.get(code), 0):
                    give_up_if("ne", f.get(code), grantee)
                f.set(code, grantee)
    with f.when("ne", unusual, 0):
        give_up_if("eq", f.agrees(Word.USUAL, recipe, let_go), 0)
    errors = f.within("@state")
    give_up_if("eq", errors, MISSING)
    owned.append(errors)
    loc = f.variable(none)
    f.held(none)
    with f.when("ne", f.by("or", is_flagged, f.get(code)), 0):
        f.on(Word.DECREF, none)
        f.set(loc, f.within("@place", depth))
        give_up_if("eq", f.get(loc), MISSING)
    with f.when("ne", f.get(code), 0):
        there = f.get(loc)
        elsewhere = f.variable(f.by("xor", f.load(there, ITEMS), f.get(code)))
        with f.when("ne", f.get(at), -1):
            number = f.of_c(Word.NUMBER, f.load(there, ITEMS + 8))
            f.set(elsewhere, f.by("or", f.get(elsewhere), f.by("xor", number, f.get(at))))
        with f.when("eq", is_flagged, 0):
            f.set(loc, f.held(none))
            f.on(Word.DECREF, there)
        with f.when("ne", f.get(elsewhere), 0):
            f.on(Word.DECREF, f.get(loc))
            give_up()
    owned.append(f.get(loc))
    with f.when("eq", unusual, 0), f.when("eq", when, When.GRANTED):
        allowed = f.known(Word.ALLOWED)         # (Python may have counted them since: a finalizer's)
        with f.when("sgt", f.load(allowed), 0):
            f.store(f.add(f.load(allowed), -1), allowed)
    with f.when("uge", size, PROBED):
        answer = f.within("@called", f.known(Word.PROBE_ONE), region)
        with f.when("eq", answer, 0):
            let_go()
            f.give(0)
        f.on(Word.DECREF, answer)

    inputs.make(f.add(is_pair, 1), give_up, let_go)
    fields = {
        "op": op, "region": region, "nbytes": nbytes, "errors": errors, "loc": f.get(loc),
        "array_geo": region,
    }  # fmt: skip
    array = waiting_array(f, inputs, fields, size, give_up, (recipe, *snapshots, *makers))
    f.give(array)
    return f


class Inner(NamedTuple):
    """What a node that stands for several is more than one: nodes, depth, bytes of results."""

    count: Any = 0
    depth: Any = 0
    size: Any = 0


ALONE = Inner()


def waiting_array(
    f: Making, inputs: Inputs, given: dict[str, str], size: str, give_up: Callable[[], None],
    rest: Sequence[str], inner: Inner = ALONE,
) -> str:  # fmt: skip
    """A new array, of so many bytes, whose node has these fields, the references to which are the caller's.

    The caller gives up if it cannot be made; else the `rest` is let go."""
    of, none = f.of, f.known(Word.NONE)
    node, storage, array = (
        f.made(Word.ALLOC, f.known(kind), 0) for kind in (Word.EXPR, Word.STORAGE, Word.LAZY)
    )
    me, home = (f.made(Word.WEAKREF, x, 0) for x in (node, storage))
    with f.when("ne", inputs.changed(), 0):     # the collector may have run the program's code
        for x, at, empty in ((node, of.op, Word.TRUE), (node, of.nbytes, Word.ZERO)):
            f.store(f.held(f.known(empty)), x, at)
        f.store(node, storage, of.storage_value)            # (`Storage.__del__` finds nothing to count)
        inputs.drop()
        for mine in (me, home, storage, array):
            f.on(Word.DECREF, mine)
        give_up()

    inputs.capture()                            # (nothing of Python's runs from here on)
    for total, more in ((inputs.depth, inner.depth), (inputs.weight, inner.count)):
        f.set(total, f.add(f.get(total), more))
    with f.each(inner.count):
        f.on(Word.DECREF, f.of_c(Word.NEXT, f.known(Word.SERIALS)))
    fields = {
        **given, "old": f.held(none), "covers": f.held(f.known(Word.TRUE)), "home": home,
        "storage_value": node, "storage_dying": f.held(f.known(Word.FALSE)),
        "storage_small_writes": f.held(f.known(Word.ZERO)),
        "storage_repeats": f.held(f.known(Word.ZERO)), "storage_place": f.held(none),
        "array_storage": storage, "array_geo": f.held(given["array_geo"]), "array_origin": f.held(none),
    }  # fmt: skip
    fill(f, node, inputs, fields, {"storage": storage, "array": array})
    f.add_to(Word.COUNT, of.count_nodes_built, inner.count)
    f.add_to(Word.COUNT, of.count_bytes_numpy, f.add(size, inner.size))
    f.add_to(Word.LEDGER, of.ledger_unallocated, size)
    crowded, looks = f.variable(0), f.variable(0)
    inputs.enlist(me, crowded, looks)

    f.set(looks, f.by("or", f.get(looks), f.within("@due", f.get(inputs.depth), f.get(inputs.weight))))
    for x, usual in ((given["errors"], none), (f.load(f.known(Word.UNUSUAL)), 0)):
        with f.when("ne", x, usual):
            f.set(looks, 1)
    for mine in (me, *rest):
        f.on(Word.DECREF, mine)
    for asked, word in ((crowded, Word.CROWDED), (looks, Word.LAUNCH)):
        with f.when("ne", f.get(asked), 0):
            answer = f.within("@called", f.known(word), node)
            with f.when("eq", answer, 0):
                f.on(Word.DECREF, array)
                f.give(0)
            f.on(Word.DECREF, answer)
    return array


def _entry(f: Making, fn: str, is_pair: str, first: str, second: str) -> str:
    """The entry of a call in the table of recipes; the function ends where there is none."""
    hashed = f.variable(f.within("@hashed", first, fn))
    f.decline_if("eq", f.get(hashed), MISSING)
    with f.when("ne", is_pair, 0):
        f.set(hashed, f.within("@hashed", second, f.get(hashed)))
        f.decline_if("eq", f.get(hashed), MISSING)
    number = f.by("lshr", f.get(hashed), 64 - BITS)
    entry, table = f.variable(0), f.known(Word.TABLE)
    for other in (0, 1):                        # (there are two places for each)
        at = f.add(table, f.by("mul", f.by("xor", number, other), 8 * Entry.END))
        agreed = f.variable(1)
        for word, found in ((Entry.UFUNC, fn), (Entry.COUNT, f.add(is_pair, 1))):
            with f.when("ne", f.load(at, 8 * word), found):
                f.set(agreed, 0)
        with f.when("ne", f.get(agreed), 0):
            f.set(agreed, f.within("@alike", first, f.add(at, 8 * Entry.FIRST)))
        with f.when("ne", is_pair, 0), f.when("ne", f.get(agreed), 0):
            f.set(agreed, f.within("@alike", second, f.add(at, 8 * Entry.SECOND)))
        with f.when("ne", f.get(agreed), 0):
            f.set(entry, at)
    with f.when("eq", f.get(entry), 0):
        free = f.variable(number)
        there = f.add(table, f.by("mul", number, 8 * Entry.END))
        with f.when("ne", f.load(there, 8 * Entry.UFUNC), 0):
            f.set(free, f.by("xor", number, 1))
        f.give(f.of_c(Word.INT, f.get(free)))
    return f.get(entry)
