"""Calls of compiled functions by machine code: from the arguments to the launch and what it gives.

In:  a short way to a replay (`short.Way`).   Out: a row, by which the function of `replay_text` does calls.
Python takes some fifteen microseconds for a call, and ten times as long where large data drove what the
interpreter needs out of the caches.  The code lies in the cache as kernels do, and is loaded when it pays.
Always holds: it does what Python would have done, or nothing.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr import nodes_words, sight_rows
from lazyarr import object_fields as fields
from lazyarr.arrays import ndarray, plain
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.compiling.calling import NOTHING, WARNED
from lazyarr.compiling.interpret import ABSENT, Cell
from lazyarr.compiling.known import Known
from lazyarr.compiling.replay import Make
from lazyarr.compiling.replay_words import Argument, Care, Kind, Replayed, Result, Source, Stage
from lazyarr.compiling.short import Itself, Last, Layout, Short
from lazyarr.compiling.small import Small
from lazyarr.compiling.trace import Result as Returned
from lazyarr.fastcalls import fastcall, forever
from lazyarr.geometry import address
from lazyarr.hot import ran
from lazyarr.late import Late
from lazyarr.namespace import Names
from lazyarr.node_places import places
from lazyarr.nodes_words import AXES, OPERAND, Word
from lazyarr.sight_rows import MOST_VALUES, Also, Launch, Number, Row, Rows, begun
from lazyarr.swift_sight import Given, launching
from lazyarr.threading.run import parallel_for
from lazyarr.values import Buffer

if TYPE_CHECKING:
    from lazyarr.compiling.short import Filled, Once, Way

BECOMES: dict[tuple[type, type], Number] = {
    (float, numpy.float64): Number.DOUBLE, (float, numpy.float32): Number.SINGLE,
    (int, numpy.int64): Number.INT, (int, numpy.float64): Number.INT_DOUBLE,
    (int, numpy.float32): Number.INT_SINGLE,
}  # fmt: skip
"""Types of arguments and of kernels' scalars."""

CARE = {number: Care.EXACT if number >= Number.INT else Care.NONE for number in Number} | {
    Number.SINGLE: Care.SINGLE
}

_text = Late("lazyarr.compiling.replay_text", "text")

ARGUMENT = Argument.LOOK + OPERAND
"""Words of an argument."""

_PLACES = [*dict.fromkeys((*nodes_words.Places._fields, *sight_rows.Places._fields))]
Places: Any = namedtuple("Places", _PLACES)     # type: ignore[misc]
"""Where objects have the attributes that the code looks at."""


class Code:
    """The code, and what it goes by."""

    def __init__(self, found: Any, name: str) -> None:
        self.given = Given({Also.REST: rest, Also.WARMED: warmed, Word.LAZY: ndarray})
        forever((self, found))
        self.call = fastcall(name, found[name], self.given.words)
        """Function (row, arguments, `config.plan_key`) -> what the compiled function returns; None: Python is
        to do it; False: likewise, and not the short way."""

    def row(self, way: Way) -> tuple[numpy.ndarray, Rows] | bool | None:
        """What `row_of` says, and room for the launches of the row; False while a call is under way."""
        found = row_of(way)
        if self.busy() or (found is not None and not self.given.widen(found[1].scratch)):
            return False
        return found

    def busy(self) -> bool:
        """Is a call under way?  Its row stays."""
        return bool(self.given.words[Also.BUSY])


def rest(left: tuple[Any, int, int, int, int, int]) -> None:
    """Run the chunks of a launch that are left, which looks for signals in between."""
    _, entry, words, done, chunks, threads = left
    parallel_for(entry, words, chunks, threads, done)


def warmed(heard: tuple[Last | tuple[Once, Short, int], float]) -> None:
    """The kernels of a launch have run for so long, or a small replay so often that they hear of it."""
    told, seconds = heard
    if isinstance(told, Last):
        told.replay.heard()
        return
    once, short, at = told
    kernels = [k for each in once.filled if each is not None for k in each.bound.kernels]
    for kernel in kernels:
        ran(kernel, seconds / len(kernels))
    if short.row is not None:                   # (the call's own: it stays as long as that lasts)
        short.row[at + Row.WARMING] = not all(kernel.heat.asked for kernel in kernels)


def load(compiles: bool) -> Code | None:
    """The code, from the cache, or compiled; None where it is not there, or objects lie otherwise."""
    if not (loads_cached() or COMPILER.usable) or not FIELDS:
        return None
    where = places(Places, array=plain(numpy.empty(0)))
    if where is None:
        return None
    found = launching("replayed", partial(_text, where, ARGUMENT), (where, ARGUMENT), compiles)
    return None if found is None else Code(*found)


# ---------------------------------------------------------------------------------------------------- rows


def row_of(way: Way) -> tuple[numpy.ndarray, Rows] | None:
    """The row of a way, and what it refers to; None for what is not of the kind that the code does."""
    replay = way.replay
    returned, kinds = _returned(replay.result), _numbers(way)
    if returned is None or kinds is None or [r.at for r in returned] != [*range(len(replay.makes))]:
        return None
    if max(len(way.looks), len(returned), len(kinds)) > MOST_VALUES:
        return None
    row = Rows(Replayed.END)
    arguments = [found for look in way.looks if (found := _argument(row, look)) is not None]
    guarded = _guards(row, way.known)
    if len(arguments) < len(way.looks) or guarded is None:
        return None
    for argument, kind in kinds:
        arguments[argument][Argument.CARE] |= CARE[kind]
    row.words[Row.OPTIONS], row.words[Row.VALUES] = row.refer(way.options), len(way.looks)
    row.words[Replayed.IS_TUPLE] = replay.result.kind == "tuple"
    row.words[Replayed.ANSWER] = row.refer(NOTHING) if replay.result.kind == "constant" else 0
    row.put(0, Replayed.ARGUMENTS, arguments)
    row.put(0, Replayed.FIELDS, guarded[0])
    row.put(0, Replayed.NAMES, guarded[1])
    results = [
        _result(row, r, nbytes, make)
        for r, nbytes, make in zip(returned, replay.sizes, replay.makes, strict=True)
    ]  # fmt: skip
    row.put(0, Replayed.RESULTS, results)
    if not isinstance(way, Short):
        _enter(row, way, kinds)
    elif not _launches(row, way, results):
        return None
    return numpy.array(row.words, numpy.int64), row


def _enter(row: Rows, way: Way, kinds: Sequence[tuple[int, Number]]) -> None:
    """Add what the entry of small replays is given."""
    replay: Small = way.replay
    block, own = replay.block()
    row.refer(own)
    given = [[Source.ARGUMENT, k, 0] for k in replay.arrays]
    given += [[Source.RESULT, k, 0] for k in range(len(replay.makes))]
    given += [[Source.NUMBER, k, kind] for k, kind in kinds]
    row.words[Replayed.ENTRY], row.words[Replayed.BLOCK] = replay.entry, row.refer(block)
    row.words[Row.NUMBER] = row.refer(way)
    row.words[Replayed.KERNELS], row.words[Replayed.OPS] = replay.kernels, replay.ops
    row.put(0, Replayed.GIVEN, given)
    row.put(0, Replayed.COUNTS, [[word] for word in replay.counts])
    extents = {k: _extent(way.looks[k]) for k in replay.arrays}
    writes, apart = list[list[int]](), list[list[int]]()
    for k in replay.written:
        begin, end = extents[k]
        backup = numpy.empty(end - begin, numpy.uint8)
        row.refer(backup)
        writes.append([k, begin, end - begin, address(backup)])
        apart += [[k, begin, end, other, *extents[other]] for other in replay.arrays if other != k]
    row.put(0, Replayed.WRITES, writes)
    row.put(0, Replayed.APART, apart)
    row.words[Replayed.COPY] = replay.copy if replay.flagged else 0


def _extent(look: Layout) -> tuple[int, int]:
    """Where an array begins and ends, in bytes behind its first element."""
    spans = [stride * (n - 1) for stride, n in zip(look.strides, look.shape, strict=True)]
    if 0 in look.shape:
        return 0, 0
    return sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + look.dtype.itemsize


def _launches(row: Rows, short: Short, made: Sequence[list[int]]) -> bool:
    """Add the launches of a large replay; False if they are not of the kind that the code does."""
    results = {place: (k, made[k]) for k, (place, _, _) in enumerate(short.results)}
    stages = list[list[int]]()
    for once in short.launches:
        at = len(row.words)
        row.words.extend([0] * Stage.END)
        stages.append([8 * at])
        for place, nbytes in once.takes:
            results[place] = len(results), _memory(row, nbytes)
        row.put(at, Stage.TAKES, [[results[place][1][Result.MAKER]] for place, _ in once.takes])
        row.put(at, Stage.ENDS, [[results[place][0]] for place in once.ends if place in results])
        if len(results) > MOST_VALUES or not _stage(row, at, once, short, results):
            return False
        row.words[at + Row.NUMBER], row.words[at + Row.WARMING] = row.refer((once, short, at)), 1
    row.put(0, Replayed.STAGES, stages)
    filled = [each for once in short.launches for each in once.filled if each is not None]
    row.words[Row.THREADS] = max(each.bound.threads for each in filled)
    return True


def _stage(
    row: Rows, at: int, once: Once, short: Short, results: dict[int, tuple[int, list[int]]]
) -> bool:  # fmt: skip
    """Add what is known of a launch whose words begin there."""
    streamed = [results[place] for place in once.streamed]
    if all(entry[Result.KIND] == Kind.MANAGED for _, entry in streamed):
        row.put(at, Row.STREAMED, [[k] for k, _ in streamed])
        filled = dict(zip((Row.COLD, Row.WARM), once.filled, strict=True))
        if not streamed:                        # (then Python calls it warm, and the code cold)
            filled = {Row.COLD: once.filled[True]}
    else:                                       # (of pages of NumPy's nobody knows whether they are warm)
        filled = {Row.COLD: once.filled[False]}
    for word, each in filled.items():
        if each is not None:
            row.words[at + word] = 8 * (len(row.words) - at)
            if not _launch(row, each, short, results):
                return False
    return True


def _returned(result: Returned) -> list[Returned] | None:
    """The arrays and scalars that a call returns, in order; None for something else but None."""
    if result.kind == "constant" and result.at is None:
        return []
    found = result.at if result.kind == "tuple" else [result]
    known = all(r.kind == "scalar" or (r.kind == "array" and r.origin is None) for r in found)
    return [*found] if known and found else None


def _argument(row: Rows, look: Any) -> list[int] | None:
    """The entry of an argument that looks so."""
    if isinstance(look, type):
        return [Kind.NUMBER, row.refer(look), 0, *[0] * OPERAND]
    if look.__class__ is numpy.ndarray:
        return [Kind.MANAGED, row.refer(look), 0, *[0] * OPERAND]
    if look.__class__ is Itself:
        return [Kind.ITSELF, row.refer(look.x), 0, *[0] * OPERAND]
    axes, rest = len(look.shape), [0] * (AXES - len(look.shape))
    if axes > AXES:
        return None
    lies = [row.refer(look.dtype), axes, *look.shape, *rest, *look.strides, *rest]
    return [Kind.PLAIN if look.kind is ndarray else Kind.NUMPYS, 0, look.dtype.alignment - 1, *lies]


def _memory(row: Rows, nbytes: int) -> list[int]:
    """The entry of what lies in memory of ours."""
    words = [0] * Result.END
    words[Result.KIND], words[Result.MAKER] = Kind.MANAGED, row.refer(partial(Buffer.new, nbytes))
    return words


def _result(row: Rows, r: Returned, nbytes: int, make: Make | None) -> list[int]:
    """The entry of a result."""
    words = _memory(row, nbytes)
    words[Result.GEO], words[Result.NBYTES] = row.refer(r.geo), row.refer(nbytes)
    if make is None:
        return words
    words[Result.MAKER] = 0
    kinds = {"array": Kind.NUMPYS if r.foreign else Kind.PLAIN, "scalar": Kind.ITEM}
    words[Result.KIND] = kinds[r.kind]
    fn, (shape, *given) = make[0], make[1]
    if fn is numpy.empty and len(shape) <= AXES:
        words[Result.DTYPE], words[Result.AXES] = row.refer(given[0]), len(shape)
        words[Result.FLAGS] = given[1:] == ["F"]        # (NumPy's flag of that order is 1)
        words[Result.DIMS : Result.DIMS + len(shape)] = shape
    else:
        words[Result.MAKER] = row.refer(partial(fn, *make[1]))
    return words


def _numbers(way: Any) -> list[tuple[int, Number]] | None:
    """Which arguments are numbers of kernels, and what becomes of them; None for others than the code's."""
    replay = way.replay
    if replay.numbers is None:
        return []
    if replay.numbers.steps:
        return None
    if isinstance(replay, Small):
        linked = replay.links
    else:
        some = [each for once in way.launches for each in once.filled if each is not None]
        linked = [(number, type_) for each in some for _, number, type_ in each.numbers]
    found = list[tuple[int, Number]]()
    for number, type_ in linked:
        place = replay.numbers.inputs[number]
        kind = BECOMES.get((way.looks[place], type_))
        if kind is None:
            return None
        found.append((place, kind))
    return found


def _launch(row: Rows, filled: Filled, short: Short, results: dict[int, tuple[int, list[int]]]) -> bool:
    """Add a launch to a row; False if it is not of the kind that the code does."""
    begin = begun(row, filled.bound)
    if begin is None:
        return False
    entries: dict[int, list[list[int]]] = {
        each: [] for each in (Launch.READ, Launch.REAL, Launch.WRITTEN, Launch.MADE)
    }
    first = begin + row.words[begin + Launch.WORDS_AT] // 8
    for word, place, offset in filled.addresses:
        if place < len(short.looks):
            real = short.looks[place].__class__ is not numpy.ndarray
            entries[Launch.REAL if real else Launch.READ].append([word, place, offset])
        elif place in results:
            k, entry = results[place]
            real = entry[Result.KIND] != Kind.MANAGED
            entries[Launch.MADE if real else Launch.WRITTEN].append([word, k, offset])
        else:                                   # (a constant, which does not move)
            row.words[first + word] = short.homes[place].address + offset
    for each, some in entries.items():
        row.put(begin, each, some)
    of, numbers = short.replay.numbers, list[list[int]]()
    for firsts, number, type_ in filled.numbers:
        assert of is not None
        argument = of.inputs[number]
        kind = BECOMES[short.looks[argument], type_]
        numbers += [[first, argument, kind] for first in firsts]
    row.put(begin, Launch.NUMBERS, numbers)
    at = begin + row.words[begin + Launch.RAISED_AT] // 8
    for k in range(row.words[begin + Launch.RAISED]):
        row.words[at + 2 * k + 1] &= WARNED
    return True


def _guards(row: Rows, known: Known) -> tuple[list[list[int]], list[list[int]]] | None:
    """What fields and names have to be for `Known.holds`; None if it looks at more."""
    held, names = [_field(row, known.fn, "code", known.code)], list[list[int]]()
    for fn, code, *given in known.outside.codes:
        held.append(_field(row, fn, "code", code))
        for name, x in zip(("defaults", "kwdefaults"), given, strict=True):
            held.append(_field(row, fn, name, ABSENT if x is None else x))
    for guard in known.outside.guards:
        if isinstance(guard.names, Cell):
            held.append(_field(row, guard.names.cell, "content", guard.found))
        elif type(guard.names) in (dict, Names) and type(guard.name) is str:
            found = 0 if guard.found is ABSENT else row.refer(guard.found)
            names.append([row.refer(guard.names), row.refer(guard.name), found])
        else:
            return None
    return held, names


def _field(row: Rows, x: Any, name: str, held: Any) -> list[int]:
    """Where a field of an object is, and what it has to hold.  (What it holds now may be something else.)"""
    return [row.refer(x) + FIELDS[name], 0 if held is ABSENT else row.refer(held)]


def _offsets() -> dict[str, int]:
    """Where functions and cells of closures have what guards look at; nothing where that is not found."""
    captured = object()

    def sample(x: float = 0.5, *, y: float = 1.5) -> object:
        return captured

    (cell,) = sample.__closure__ or (None,)
    looked_for = {
        "code": (sample, sample.__code__), "defaults": (sample, sample.__defaults__),
        "kwdefaults": (sample, sample.__kwdefaults__), "content": (cell, captured),
    }  # fmt: skip
    found = {}
    for name, (x, held) in looked_for.items():
        places = range(fields.TYPE + 8, type(x).__basicsize__, 8)
        ats = [at for at in places if fields.word(id(x) + at).value == id(held)]
        if len(ats) != 1:
            return {}
        (found[name],) = ats
    return found


FIELDS = _offsets() if fields.are_known() else {}
