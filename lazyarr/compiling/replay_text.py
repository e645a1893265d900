"""The text of a function of Python's that does a call of a replay of one launch.

In:  where objects have their fields.   Out: LLVM IR.

    replayed(row, arguments, options) -> what the compiled function returns; None: this is for Python to do
                                         False: a floating-point flag was raised, or something has changed

It does what `short.Short` does, by rows that `swift_replay` writes.  Memory for results comes first, since to
make it may run the program's Python; then all has to look as it did.  From there to the launch nothing of
Python's runs.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy

from lazyarr.nodes_ir import Making, alike, leaf, whole
from lazyarr.nodes_words import Word
from lazyarr.object_fields import DATA, ITEMS, LENGTH, TYPE, VALUE
from lazyarr.sight_looks import Sighted
from lazyarr.sight_rows import Also, Row
from lazyarr.sight_text import LAUNCHING, begin, signalled, timed
from lazyarr.walk_words import MISSING


class Replayed(IntEnum):
    """The words of a row behind those that the rows of evaluations have, too, of which options, values,
    launches and what is streamed, threads and heat count here."""

    ARGUMENTS = Row.END
    """Of `Argument`s."""
    ARGUMENTS_AT = Row.END + 1
    FIELDS = Row.END + 2
    """Of two words: where a field of an object is, and what it has to hold."""
    FIELDS_AT = Row.END + 3
    NAMES = Row.END + 4
    """Of three words: a namespace, a name, what it has to mean."""
    NAMES_AT = Row.END + 5
    RESULTS = Row.END + 6
    """Of `Result`s."""
    RESULTS_AT = Row.END + 7
    IS_TUPLE = Row.END + 8
    """Are results in a tuple?"""
    END = Row.END + 9


class Kind(IntEnum):
    """What an argument is, and a result."""

    MANAGED = 0
    """An array somewhere in a storage: all of it."""
    PLAIN = 1
    """An array that is memory itself."""
    NUMBER = 2
    """An argument that counts by type."""
    ITEM = 3
    """The one element of an array: a result."""


class Care(IntEnum):
    """What is to be looked at of a number."""

    NONE = 0
    SINGLE = 1
    """A float that is not finite, or one that those of 32 bits reach."""
    EXACT = 2
    """An int that floats of 64 bits can be."""


EXACT = 1 << 53
SINGLE, INFINITE = (int(numpy.float64(x).view("i8")) for x in (numpy.finfo("f").max, numpy.inf))
"""The bits of these."""


class Argument(IntEnum):
    KIND = 0
    SEEN = 1
    """The geometry, or the type."""
    CARE = 2
    """Bits that the address of plain memory must not have; of a number a `Care`."""
    LOOK = 3
    """How plain memory lies, as an operand in `nodes_words.Entry`; so the argument itself begins here."""


class Result(IntEnum):
    KIND = 0
    MAKER = 1
    """What gives its memory, called without arguments."""
    GEO = 2
    NBYTES = 3
    """As an int of Python's."""
    END = 4


def replayed(of: Any, name: str, argument: int) -> Sighted:
    """The function; entries of arguments have so many words."""
    f = Sighted(name, (), of, public=True)
    row, args, options = f.load(f.load(f.args), DATA), f.load(f.args, 8), f.load(f.args, 16)
    f.decline_if("ne", f.known(Also.BUSY), 0)
    f.decline_if("eq", f.within("@fits", row, args, options), 0)
    made, held = f.variable(0), list[str]()
    begin(f, row)

    def let_go() -> None:
        """Of results, and of arguments once these are held."""
        if held:
            f.within("@drop", f.known(Also.VALUES), f.load(row, 8 * Row.VALUES))
        f.within("@drop", f.known(Also.RESULTS), f.get(made))
        f.store(0, f.words, 8 * Also.BUSY)

    def stop_if(how: str, x: Any, y: Any, answer: str | int = 0) -> None:
        with f.when(how, x, y):
            let_go()
            f.give(answer if answer == 0 else f.held(answer))       # type: ignore[arg-type]

    none, false = f.known(Word.NONE), f.known(Word.FALSE)
    with f.listed(row, Replayed.RESULTS, Result.END) as at:
        memory = f.of_c(Word.CALL, f.load(at, 8 * Result.MAKER), 0, 0, 0)
        stop_if("eq", memory, 0)
        f.store(memory, f.nth(f.known(Also.RESULTS), f.get(made)))
        f.set(made, f.add(f.get(made), 1))
    stop_if("eq", f.within("@fits", row, args, options), 0, false)
    launch = f.variable(f.within("@chosen", row))
    stop_if("eq", f.get(launch), 0, none)
    with f.each(f.load(row, 8 * Row.VALUES)) as k:
        f.on(Word.INCREF, f.value(k))
    held.append(args)
    ran, took = timed(f, f.get(launch), args, let_go)
    with f.when("ne", f.within("@raised", f.get(launch)), 0):
        f.on(Word.DECREF, took)
        let_go()
        f.give(f.held(false))
    f.within("@count", f.get(launch), row, ran, took)
    with f.when("ne", signalled(f), 0):
        f.on(Word.DECREF, took)
        let_go()
        f.give(0)
    warming = f.variable(0)
    with f.when("ne", f.load(row, 8 * Row.WARMING), 0):
        f.set(warming, f.held(f.load(row, 8 * Row.NUMBER)))
    stop_if("eq", f.within("@hear", f.get(warming), took), 0)

    number = f.variable(0)
    with f.listed(row, Replayed.RESULTS, Result.END) as at:
        place = f.nth(f.known(Also.RESULTS), f.get(number))
        found = f.within("@given", at, f.load(place))
        stop_if("eq", found, 0)
        f.store(found, place)                   # (in the place of its memory, which it has taken)
        f.set(number, f.add(f.get(number), 1))
    answer = f.variable(0)
    with f.when("ne", f.load(row, 8 * Replayed.IS_TUPLE), 0):
        count = f.load(row, 8 * Replayed.RESULTS)
        f.set(answer, f.of_c(Word.NEW_TUPLE, count))
        stop_if("eq", f.get(answer), 0)
        with f.each(count) as k:
            f.store(f.load(f.nth(f.known(Also.RESULTS), k)), f.nth(f.get(answer), k), ITEMS)
    with f.when("eq", f.load(row, 8 * Replayed.IS_TUPLE), 0):
        f.set(answer, f.load(f.known(Also.RESULTS)))
    f.set(made, 0)                              # (they are the caller's)
    let_go()
    f.give(f.get(answer))
    return f


def text(of: Any, argument: int, name: str) -> str:
    """The module: the function, and those that it calls."""
    private: tuple[Callable[[Any], Making], ...] = (*LAUNCHING, alike, whole, _given)
    made = [*[make(of) for make in private], _fits(of, argument), replayed(of, name, argument)]
    return "\n".join([each.text() for each in made])


def _fits(of: Any, argument: int) -> Sighted:
    """Is a call what a row says?  The values of arguments, or what they are, are noted in order."""
    f = Sighted("fits", ("words", "row", "args", "options"), of)
    none = f.known(Word.NONE)
    f.refuse_if("ne", f.load("%row", 8 * Row.OPTIONS), "%options")
    f.refuse_if("ne", f.load(f.known(Word.OBSERVED), LENGTH), 0)
    f.refuse_if("ne", f.load("%args", LENGTH), f.load("%row", 8 * Replayed.ARGUMENTS))
    with f.listed("%row", Replayed.FIELDS, 2) as at:
        f.refuse_if("ne", f.load(f.load(at)), f.load(at, 8))
    with f.listed("%row", Replayed.NAMES, 3) as at:
        found = f.of_c(Word.LOOKUP, f.load(at), f.load(at, 8))
        with f.when("eq", found, 0):
            f.on(Word.CLEAR, None)              # (a key of the program's own type may raise when compared)
        f.refuse_if("ne", found, f.load(at, 16))
    errors = f.within("@state")
    f.refuse_if("eq", errors, MISSING)
    f.on(Word.DECREF, errors)                   # (`error_state` has it)
    f.refuse_if("ne", errors, none)
    number = f.variable(0)
    with f.listed("%row", Replayed.ARGUMENTS, argument) as at:
        x = f.load(f.nth("%args", f.get(number)), ITEMS)
        kind, value = f.load(at, 8 * Argument.KIND), f.variable(x)
        with f.when("eq", kind, Kind.NUMBER):
            f.refuse_if("ne", f.load(x, TYPE), f.load(at, 8 * Argument.SEEN))
            care = f.load(at, 8 * Argument.CARE)
            with f.when("eq", care, Care.SINGLE):
                bits = f.by("and", f.load(x, VALUE), (1 << 63) - 1)
                with f.when("ult", bits, INFINITE):
                    f.refuse_if("ugt", bits, SINGLE)
            with f.when("eq", care, Care.EXACT):
                n = f.of_c(Word.NUMBER, x)
                with f.when("eq", n, -1):       # (or it is larger than a word, which is an error)
                    f.on(Word.CLEAR, None)
                    f.give(0)
                f.refuse_if("ugt", f.add(n, EXACT), 2 * EXACT)
        with f.when("ne", kind, Kind.NUMBER):
            f.refuse_if("eq", f.within("@whole", x), 0)
            storage, geo = f.load(x, of.array_storage), f.load(x, of.array_geo)
            with f.when("eq", kind, Kind.PLAIN):
                f.refuse_if("ne", storage, none)
                f.refuse_if("eq", f.within("@alike", x, f.add(at, 8 * Argument.LOOK)), 0)
                odd = f.by("and", f.load(geo, DATA), f.load(at, 8 * Argument.CARE))
                f.refuse_if("ne", odd, 0)
                f.set(value, geo)
            with f.when("eq", kind, Kind.MANAGED):
                f.refuse_if("eq", storage, none)
                f.refuse_if("ne", geo, f.load(at, 8 * Argument.SEEN))
                f.set(value, f.load(storage, of.storage_value))
                buf = f.load(f.get(value), of.buf)
                f.refuse_if("ne", f.load(buf, TYPE), f.known(Word.BUFFER))
                f.refuse_if("ne", f.load(buf, of.buffer_bridge), none)
        f.store(f.get(value), f.nth(f.known(Also.VALUES), f.get(number)))
        f.set(number, f.add(f.get(number), 1))
    f.give(1)
    return f


def _given(of: Any) -> Sighted:
    """What a call returns for a result, whose memory it takes; 0 where that cannot be made."""
    f = Sighted("given", ("words", "result", "memory"), of)
    none, kind = f.known(Word.NONE), f.load("%result", 8 * Result.KIND)
    with f.when("eq", kind, Kind.ITEM):
        item = f.of_c(Word.ITEM, "%memory", f.known(Word.ZERO))
        f.refuse_if("eq", item, 0)
        f.on(Word.DECREF, "%memory")
        f.give(item)
    array = f.made(Word.ALLOC, f.known(Word.LAZY), 0)
    storage, geo = f.variable(none), f.variable("%memory")
    with f.when("eq", kind, Kind.MANAGED):
        value, home = (f.made(Word.ALLOC, f.known(kind), 0) for kind in (Word.EXPR, Word.STORAGE))
        me = f.made(Word.WEAKREF, home, 0)
        leaf(f, value, "%memory", f.held(f.load("%result", 8 * Result.NBYTES)))
        f.store(me, value, of.home)
        f.on(Word.DECREF, none)                 # (that was there)
        fields = {
            of.storage_value: value, of.storage_dying: f.held(f.known(Word.FALSE)),
            of.storage_small_writes: f.held(f.known(Word.ZERO)),
            of.storage_repeats: f.held(f.known(Word.ZERO)), of.storage_place: f.held(none),
        }  # fmt: skip
        for place, x in fields.items():
            f.store(x, home, place)
        f.set(storage, home)
        f.set(geo, f.held(f.load("%result", 8 * Result.GEO)))
    with f.when("ne", kind, Kind.MANAGED):
        f.held(none)
    for x, place in (
        (f.get(storage), of.array_storage), (f.get(geo), of.array_geo), (f.held(none), of.array_origin),
    ):  # fmt: skip
        f.store(x, array, place)
    f.give(array)
    return f
