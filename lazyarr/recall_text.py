"""The text of a function of Python's that makes the node of a method's call met before.

In:  where objects have their fields.   Out: LLVM IR.

    recall(method, array, args, kwargs, options) -> the new array; None: this is for Python to do

It does what `recalled.again` does where the result is an array, by rows that Python has written.
"""

from __future__ import annotations

from typing import Any

from lazyarr.nodes_inputs import Inputs
from lazyarr.nodes_ir import Making
from lazyarr.nodes_text import Inner, waiting_array
from lazyarr.nodes_words import Places, Word
from lazyarr.object_fields import ITEMS, LENGTH, USED
from lazyarr.recall_words import HASH, Row
from lazyarr.walk_words import MISSING


def recall(of: Places, name: str) -> Making:
    f = Making(name, (), of, public=True)
    none = f.known(Word.NONE)
    method, x, args, words, options = (f.load(f.args, 8 * k) for k in range(5))
    for waits in (Word.DUE, Word.OBSERVED):
        f.decline_if("ne", f.load(f.known(waits), LENGTH), 0)
    f.decline_if("eq", f.within("@whole", x), 0)
    geo, storage = f.load(x, of.array_geo), f.load(x, of.array_storage)
    f.decline_if("eq", storage, none)
    value = f.load(storage, of.storage_value)
    f.decline_if("ne", f.within("@exposed", value), 0)
    at = f.variable(f.load(f.add(f.known(Word.RECALLS), f.by("shl", f.hashed(method, geo, HASH), 3))))
    with f.loop():
        with f.when("eq", f.get(at), 0):
            f.decline()
        f.leave_if("ne", f.within("@called_so", f.get(at), method, geo, args, words), 0)
        f.set(at, f.load(f.get(at), 8 * Row.NEXT))
    row = f.get(at)

    def said(word: int) -> str:
        return f.load(row, 8 * word)

    f.decline_if("ne", said(Row.OPTIONS), options)
    is_pending = f.within("@pending", x)
    f.decline_if("ne", said(Row.PENDING), is_pending)
    size, located, probed = (said(word) for word in (Row.BYTES, Row.LOCATED, Row.PROBED))
    inner = Inner(said(Row.INNER), said(Row.INNER_DEPTH), said(Row.INNER_BYTES))
    owned = [f.held(said(word)) for word in (Row.OP, Row.REGION, Row.NBYTES, Row.SEEN, Row.RESULT)]
    op, region, nbytes, seen, result = owned    # (from here on the row may go)

    def let_go() -> None:
        for mine in owned:
            f.on(Word.DECREF, mine)

    def give_up() -> None:
        let_go()
        f.decline()

    errors = f.within("@state")
    with f.when("eq", errors, MISSING):
        give_up()
    owned.append(errors)
    loc = f.variable(none)
    with f.when("ne", located, 0):
        f.set(loc, f.within("@place", f.known(Word.ZERO)))
        with f.when("eq", f.get(loc), MISSING):
            give_up()
    with f.when("eq", located, 0):
        f.held(none)
    owned.append(f.get(loc))
    inputs = Inputs(f, (x, "0"), ("0", "0"), seen)         # (from here on Python may run)
    with f.when("ne", probed, 0):
        answer = f.within("@called", f.known(Word.PROBE), op)
        with f.when("eq", answer, 0):
            let_go()
            f.give(0)
        f.on(Word.DECREF, answer)
    inputs.make("1", give_up, let_go)
    fields = {
        "op": op, "region": region, "nbytes": nbytes, "errors": errors, "loc": f.get(loc),
        "array_geo": result,
    }  # fmt: skip
    array = waiting_array(f, inputs, fields, size, give_up, (seen, result), inner)
    f.add_to(Word.COUNT, of.count_recalled, 1)
    f.give(array)
    return f


def called_so(of: Places) -> Making:
    """Is a call the one of a row?"""
    f = Making("called_so", ("words", "row", "method", "geo", "args", "kwargs"), of)

    def refuse_if(x: Any, y: Any) -> None:
        with f.when("ne", x, y):
            f.give(0)

    def said(word: int) -> str:
        return f.load("%row", 8 * word)

    refuse_if(said(Row.METHOD), "%method")
    refuse_if(said(Row.GEO), "%geo")
    counts = said(Row.ARGS), said(Row.WORDS)
    refuse_if(f.load("%args", LENGTH), counts[0])
    refuse_if(f.load("%kwargs", USED), counts[1])
    with f.each(counts[0]) as k:
        at = f.by("shl", k, 3)
        refuse_if(f.load(f.add("%args", at), ITEMS), f.load(f.add("%row", at), 8 * (Row.ARGS + 1)))
    with f.each(counts[1]) as k:
        pair = f.add("%row", f.by("shl", k, 4))
        given = f.of_c(Word.LOOKUP, "%kwargs", f.load(pair, 8 * (Row.WORDS + 1)))
        refuse_if(given, f.load(pair, 8 * (Row.WORDS + 2)))
    f.give(1)
    return f
