"""Evaluations known at sight, by machine code: from the node that is asked for to the launch and back.

In:  evaluations that come round again and take one launch, as `at_sight` knows them.
Out: `Swift.evaluate`, which computes such ones; None where Python is to do it.
Python takes some twenty microseconds for an evaluation, and five to ten times as long where large data drove
what the interpreter needs out of the caches, which is longer than many launches take; the code of
`sight_text` takes a few.  It lies in the cache as kernels do, and is loaded when it pays.
Always holds: it does what Python would have done, or nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from time import perf_counter
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.at_sight import Sight
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.expr import Expr
from lazyarr.fastcalls import fastcall, forever
from lazyarr.flags import UNRAISED
from lazyarr.geometry import address
from lazyarr.habits import FEW
from lazyarr.hot import ran
from lazyarr.kernels import host
from lazyarr.known_steps import KnownStep
from lazyarr.late import Late
from lazyarr.node_places import fill, places
from lazyarr.nodes_words import hashed
from lazyarr.schedule import LINE
from lazyarr.sight_rows import (
    DROPS,
    HASH,
    MOST_VALUES,
    MOST_WORDS,
    PLAIN,
    Also,
    Places,
    Row,
    Written,
    written,
)
from lazyarr.srcloc import note_lines
from lazyarr.threading import pool
from lazyarr.threading.run import parallel_for
from lazyarr.values import Buffer

MOST_ROWS = 2048
"""All are forgotten when there are more."""

OPT = 0
"""LLVM's level of code generation."""

_text = Late("lazyarr.sight_text", "text")


class Given:
    """The words that such code is given, and the memory that it has."""

    def __init__(self, objects: dict[int, Any]) -> None:
        objects = {Also.STAGE: "run", Also.CLOCK: perf_counter, **objects}
        self.words = numpy.zeros(Also.END, numpy.int64)
        fill(self.words)
        for at, x in objects.items():
            self.words[at] = id(x)
        for at, function in FUNCTIONS.items():
            self.words[at] = fields.function(function)
        room = numpy.zeros((3 + DROPS) * MOST_VALUES + MOST_WORDS, numpy.int64)
        begin = address(room)
        numbers = {
            Also.VALUES: begin, Also.RESULTS: begin + 8 * MOST_VALUES, Also.MARKS: begin + 16 * MOST_VALUES,
            Also.DROPS: begin + 24 * MOST_VALUES, Also.AREA: begin + 8 * (3 + DROPS) * MOST_VALUES,
            Also.PARALLEL: _address(pool.parallel_for()), Also.SERIAL: _address(pool.serial_for()),
            Also.STIR: pool.stir(), Also.NEW_ARRAY: fields.numpys_function(fields.NEW_ARRAY),
        }  # fmt: skip
        for at, number in numbers.items():
            self.words[at] = number
        self.scratch = numpy.empty(0, numpy.uint8)
        forever((self, objects, room))

    def widen(self, nbytes: int) -> bool:
        """Let launches need so many bytes beside their words; False while one runs, in the memory of now."""
        if self.scratch.nbytes >= nbytes + LINE:
            return True
        memory = numpy.empty(nbytes + LINE, numpy.uint8)
        begin = -(-address(memory) // LINE) * LINE
        if self.words[Also.BUSY]:
            return False
        # (Nothing is called in here: there signals' handlers run, and may raise, or launch.)
        before, self.scratch = self.scratch, memory
        self.words[Also.SCRATCH] = begin
        del before                              # till then the word leads there
        return True


class Swift:
    """The code, and what it goes by."""

    def __init__(self, found: Any, name: str) -> None:
        self.heads = numpy.zeros(1 << HASH, numpy.int64)
        self.given = Given({
            Also.LISTS: list, Also.NOTHING: (), Also.MEMORY: Buffer.new, Also.REST: rest,
            Also.WARMED: self.warmed, Also.UNRAISED: UNRAISED,
        })  # fmt: skip
        self.words = self.given.words
        self.words[Also.HEADS] = address(self.heads)
        self.rows: list[tuple[numpy.ndarray, Written]] = []
        forever((found, self))                  # (a program's `__del__` may still call it)
        self.evaluate = fastcall(name, found[name], self.words)
        """See `at_sight.Swift`."""

    def know(self, sight: Sight, values: Sequence[Expr], step: KnownStep) -> None:
        """Let the code know an evaluation, if it is of the kind that it does.  (It may have been known, and
        raised flags, or been another launch.)"""
        if self.words[Also.BUSY]:
            return
        row = written(sight, values, step)
        if row is None or not self.given.widen(row.scratch):
            return
        number = len(self.rows) if len(self.rows) < MOST_ROWS else 0
        words = numpy.array(row.words, numpy.int64)
        words[Row.NUMBER], words[Row.WARMING] = row.refer(number), 1
        begin, head = address(words), hashed(id(values[0].op), id(values[0].region), HASH)
        if self.words[Also.BUSY]:
            return
        # (Nothing is called from here on: what the code goes by is whole wherever a signal's handler runs.)
        if not number:
            self.heads[:] = 0
            self.rows = []
        if sight.row is not None:
            sight.row[Row.OFF] = 1
        words[Row.NEXT] = self.heads[head]
        self.rows += [(words, row)]
        self.heads[head] = begin
        sight.row = words

    def last(self) -> tuple[int, int, float]:
        """Of the last evaluation: the serial of its first node, how many there were, and the first one's
        share of the time."""
        first, number = int(self.words[Also.FIRST]), int(self.words[Also.ROW])
        if number >= len(self.rows):            # (all were forgotten: a handler has evaluated others)
            return first, FEW + 1, 0.0
        words, row = self.rows[number]
        return first, int(words[Row.NODES]), row.share

    def work(self) -> float | None:
        """What NumPy would take for it, in seconds."""
        number = int(self.words[Also.ROW])
        return self.rows[number][1].work if number < len(self.rows) else None

    def warmed(self, heard: tuple[int, float]) -> None:
        """The kernels of a row have run for so long."""
        number, seconds = heard
        if number >= len(self.rows):            # (all were forgotten)
            return
        words, row = self.rows[number]
        way = row.way()
        step = None if way is None else way[0]
        if step is None:
            return
        kernels = [kernel for bound in step.bound if bound is not None for kernel in bound.kernels]
        for kernel in kernels:
            ran(kernel, seconds / len(kernels))
        words[Row.WARMING] = not all(kernel.heat.asked for kernel in kernels)


def rest(left: tuple[Expr, int, int, int, int, int]) -> None:
    """Run the chunks of a launch that are left, which looks for signals in between."""
    root, entry, words, done, chunks, threads = left
    try:
        parallel_for(entry, words, chunks, threads, done)
    except Exception as error:
        note_lines(error, [node.loc for node in root.pending()])
        raise


FUNCTIONS = {
    Also.SAVE: "PyEval_SaveThread", Also.RESTORE: "PyEval_RestoreThread", Also.SUBTRACT: "PyNumber_Subtract",
    Also.SUM: "PyNumber_Add", Also.PUT: "PyDict_SetItem", Also.SIGNALS: "PyErr_CheckSignals",
}  # fmt: skip


def _address(function: Any) -> int:
    """Of a function of ctypes."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def load(compiles: bool) -> Swift | None:
    """The code, from the cache, or compiled; None where it is not there, or objects lie otherwise."""
    if not (loads_cached() or COMPILER.usable) or not fields.are_known() or not _constants_lie_there():
        return None
    where = places(Places)
    if where is None:
        return None
    found = launching("sighted", partial(_text, where), where, compiles)
    return None if found is None else Swift(*found)


def launching(
    kind: str, write: Callable[[str], str], where: Any, compiles: bool
) -> tuple[Any, str] | None:  # fmt: skip
    """The code of a function that launches, whose module's text is written for some places, and its name."""
    from lazyarr.dispatch.jit import NotCompiled, cached_only
    from lazyarr.own_code import load as loaded

    target = host()
    name = f"lazyarr_{kind}_{target.name}"
    with suppress(NotCompiled, RuntimeError), (
        nullcontext() if compiles and COMPILER.usable else cached_only()
    ):
        if pool.parallel_for() is None:         # (no threads: nobody has so little time)
            return None
    found = loaded(partial(write, name), (name,), where, target, OPT, compiles)
    return None if found is None else (found, name)


def _constants_lie_there() -> bool:
    """Do constants have their value where it is looked for?"""
    samples = [numpy.dtype(char).type(1) for char in PLAIN]
    return all(ctypes.string_at(id(x) + fields.VALUE, x.nbytes) == x.tobytes() for x in samples)
