"""Pending nodes made by machine code: the calls of `recipes` that are met again and again; writes, and views.

In:  recipes of large results, and known writes, when Python has used one.
Out: `Made`, functions that go by them.
Python takes some four microseconds for a node, and three times as long where kernels have driven what the
interpreter needs out of the caches; the code of `nodes_text` and `writes_text` a fifth of that, most of it in
the Python function that calls it.  It lies in the cache as kernels do, and is loaded when so many nodes were
made that it pays.
Always holds: it makes what Python would have made, in the same order; what it does not know it leaves.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.arrays import PLAIN, capture, ndarray
from lazyarr.calls import Call
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.config import DEFAULTS, current
from lazyarr.dtypes import CHARS
from lazyarr.elementwise import IN_PLACE, MOVED
from lazyarr.error_state import Prompt
from lazyarr.expr import LOCK, Expr, Read
from lazyarr.fastcalls import fastcall, forever
from lazyarr.geometry import PROBED, address, fresh, probe
from lazyarr.habits import MEDIUM
from lazyarr.kernels import host
from lazyarr.late import Late
from lazyarr.node_places import fill, places
from lazyarr.nodes_words import (
    AXES,
    BITS,
    OPERAND,
    VIEWS,
    WRITES,
    Entry,
    Places,
    View,
    When,
    Word,
    Write,
    hashed,
)
from lazyarr.recall_words import HASH, MOST_ARGS, Row
from lazyarr.records import NamedTuple
from lazyarr.slot_words import GRANTED, GRANTEE, SHARED, UNUSUAL, at_address
from lazyarr.srcloc import Loc
from lazyarr.storage import REPEATED, SLACK, SMALL_WRITES, Storage, bound, evaluate, launch
from lazyarr.values import Buffer

MOST_RECALLS = 1024
"""Calls; all are forgotten when there are more."""

OPT = 0
"""LLVM's level of code generation: 1 and 2 take 0.1 s, not 0.03, and gain a tenth of a node."""


class Table:
    """The recipes that the code knows."""

    def __init__(self) -> None:
        self.rows = numpy.zeros((1 << BITS, Entry.END), numpy.int64)
        self.held: dict[int, Any] = {}
        """What entries refer to."""

        self._entries: dict[tuple[Any, ...], int] = {}
        """The places of the last recipes of a `_kind`."""
        self.writes = numpy.zeros((WRITES, Write.END), numpy.int64)
        self.heads = numpy.zeros(1 << HASH, numpy.int64)
        self.views = numpy.zeros((1 << VIEWS, View.END), numpy.int64)
        self._recalls: dict[tuple[Any, ...], Any] = {}
        """Rows of calls, and what these refer to."""
        self._written = 0
        self._known: dict[tuple[Any, ...], Any] = {}
        """What writes are known, by key, and what their rows refer to; how many rows there are."""

    def know(self, key: tuple[Any, ...], dtype: numpy.dtype, args: tuple[Any, ...], known: Any) -> None:
        """Let the code know a write, with the key by which `recipes` does."""
        if key in self._known or self._written == WRITES - 1 or len(args) > 2:
            return
        words, makers = [0] * Write.END, []
        words[Write.UFUNC], words[Write.INTO] = id(key[0]), id(dtype)
        words[Write.OP], words[Write.QUIET] = id(known.op), known.quiet
        for k, (x, type_) in enumerate(zip(args, known.types, strict=True)):
            is_array = x.__class__ is ndarray
            words[Write.TAGS + k] = id(x.geo.dtype if is_array else x.__class__)
            if not is_array and x.__class__ is not type_:
                if not isinstance(type_, type):
                    return
                makers.append(type_)
                words[Write.MAKERS + k] = id(type_)
        refers = known, makers, [x.__class__ for x in args]
        self._known[key] = refers
        # (Nothing is called from here on: rows, and what they refer to, are whole where handlers run.)
        if self._written < WRITES - 1:          # the last one ends the table
            self.writes[self._written] = words
            self._written += 1

    def recalls(
        self, key: tuple[Any, ...], method: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        known: Any,
    ) -> None:  # fmt: skip
        """Let the code know a method's call on an array, with the key by which `recalled` does."""
        call = known.op if known.op.__class__ is Call else None
        if (*key, id(known.state)) in self._recalls or max(len(args), len(kwargs)) > MOST_ARGS:
            return
        if known.region.nbytes >= PROBED:
            return
        if len(self._recalls) >= MOST_RECALLS:
            self.forget()
        row, op, nbytes = numpy.zeros(Row.END, numpy.int64), known.op, known.region.nbytes
        given = [each for pair in kwargs.items() for each in pair]
        words: dict[int, Any] = {
            Row.METHOD: id(method), Row.GEO: id(x.geo), Row.OPTIONS: id(known.state), Row.OP: id(op),
            Row.PENDING: known.pending, Row.ARGS: len(args), Row.WORDS: len(kwargs), Row.SEEN: id(known.seen),
            Row.REGION: id(known.region), Row.RESULT: id(known.geo), Row.NBYTES: id(nbytes),
            Row.BYTES: nbytes, Row.LOCATED: known.located,
        }  # fmt: skip
        if call is not None:
            words |= {Row.INNER: call.inner, Row.INNER_DEPTH: call.depth, Row.INNER_BYTES: call.nbytes}
            words[Row.PROBED] = bool(call.probed)
        for first, sequence in ((Row.ARGS, args), (Row.WORDS, given)):
            words |= {first + 1 + k: id(each) for k, each in enumerate(sequence)}
        for at, word in words.items():
            row[at] = word
        begin, head, whole = address(row), hashed(id(method), id(x.geo), HASH), (*key, id(known.state))
        self._recalls[whole] = row, method, x.geo, args, given, known, op, nbytes
        # (Nothing is called from here on.)
        row[Row.NEXT] = self.heads[head]
        self.heads[head] = begin

    def forget(self) -> None:
        """Let no calls be known."""
        self.heads[:] = 0
        self._recalls.clear()

    def write(self, place: int, fn: numpy.ufunc, args: tuple[Any, ...], recipe: Any) -> None:
        """Let the code know a recipe, if it is of the kind that it can go by."""
        row = _row(fn, args, recipe)
        if row is None:
            return
        words, refers = row
        before = self.held.get(place)
        self.held[place] = refers, before           # (till the entry is another one)
        self.rows[place] = words
        self.held[place] = refers
        if before is not None and self._entries.get(before[0]) == place:
            del self._entries[before[0]]
        self._entries[refers[0]] = place

    def waits(self, fn: numpy.ufunc, args: tuple[Any, ...], recipe: Any, loc: Loc | None) -> None:
        """Where a call by a recipe is whose results wait, always, if the last one was there (`habits`)."""
        place = self._entries.get(_kind(fn, args, recipe))
        if place is not None:
            code, at = (None, 0) if loc is None else loc
            self.rows[place, Entry.WAITS] = 0 if code is None else id(code)
            self.rows[place, Entry.WAITS + 1] = at


def _kind(fn: numpy.ufunc, args: tuple[Any, ...], recipe: Any) -> tuple[Any, ...]:
    """What recipes for the same call have in common.  (All may be forgotten, and made anew.)"""
    return fn, recipe.types, recipe.geo.shape, *[x.__class__ for x in args]


def _row(fn: numpy.ufunc, args: tuple[Any, ...], recipe: Any) -> tuple[list[int], Any] | None:
    """The words of an entry, and what they refer to."""
    geo = recipe.geo
    if geo.dtype.kind == "c" or id(geo.dtype) not in CHARS:
        return None
    words = [0] * Entry.END
    nbytes = geo.nbytes
    words[Entry.UFUNC], words[Entry.COUNT] = id(fn), len(args)
    makers: list[Any] = []
    for k, (x, type_) in enumerate(zip(args, recipe.types, strict=False)):
        at, maker = Entry.FIRST + k * OPERAND, None
        if x.__class__ is ndarray:
            g = x.geo
            if not g.ndim or g.ndim > AXES or g.dtype.kind == "c" or id(g.dtype) not in CHARS:
                return None
            words[at : at + 2] = id(g.dtype), g.ndim
            words[at + 2 : at + 2 + g.ndim] = g.shape
            words[at + 2 + AXES : at + 2 + AXES + g.ndim] = g.strides
        else:
            words[at] = id(x.__class__)
            if x.__class__ is not type_:
                if not isinstance(type_, type):
                    return None
                maker = type_
        makers.append(maker)
        words[Entry.MAKERS + k] = 0 if maker is None else id(maker)
    # (Also of those that are not plain now: others that lie so may be.)
    copied = [_copied(x.geo) if x.__class__ is ndarray else None for x in args]
    for k, lies in enumerate(copied):
        words[Entry.SNAPSHOTS + k] = 0 if lies is None else id(lies)
    words[Entry.OP], words[Entry.REGION], words[Entry.NBYTES] = id(recipe.op), id(geo), id(nbytes)
    words[Entry.BYTES], words[Entry.FLAGGED] = nbytes, recipe.flagged
    small = DEFAULTS["eager_elements"]
    medium = When.GRANTED if recipe.measure > small else When.PENDING
    words[Entry.WHEN] = When.ALWAYS if recipe.measure > MEDIUM * small else medium
    words[Entry.RECIPE] = id(recipe)
    return words, (_kind(fn, args, recipe), recipe, nbytes, makers, copied)


def _copied(real: numpy.ndarray) -> numpy.ndarray | None:
    """How a copy of a plain array lies (`arrays.capture`), if it is whole, and small whatever options say."""
    if not real.nbytes or real.nbytes > PLAIN or not real.flags.c_contiguous:
        return None
    usual = fresh(real.shape, real.dtype)
    return usual if usual.strides == real.strides else None


def usual(recipe: Any) -> bool:
    """Is a call a node by its recipe, whatever its operands, under the options in force?"""
    jit = current.jit
    return jit == "always" or (jit == "auto" and recipe.measure > MEDIUM * current.eager_elements)


def always(_: None) -> bool:
    """Is everything compiled under the options in force?"""
    return current.jit == "always"


def probed(call: Call) -> None:
    """Ask the system for memory as NumPy would for a call that stands for several nodes."""
    for geo in call.probed:
        probe(geo)


def crowded(node: Expr) -> None:
    """What `Expr` does where a new node is one of many readers, or reads what was written to meanwhile."""
    late = False
    for i in node.inputs:
        if i.__class__ is Read:
            value = i.expr
            value.waiting()
            late = late or (value.replaced and value is not node.old)
    if node.old is not None:
        node.old.waiting()
    if late:
        node.recapture()


def settled(node: Expr, old: Expr) -> None:
    """What `Storage.write` does at last where a new value may not just wait."""
    with LOCK:
        storage = None if node.home is None else node.home()
        if storage is None or node.op is None:
            return
        seen = node.errors.__class__ is Prompt
        for i in node.inputs:                   # (no comprehension: that is a function, too)
            if i.__class__ is Read:
                buf = i.expr.buf
                seen = seen or (buf is not None and buf.shared())
        if seen:
            storage._computed(node, old)
            return
        bound(node)
        if storage.small_writes + REPEATED * storage.repeats >= SMALL_WRITES:
            storage.small_writes = storage.repeats = 0
            evaluate([node])


class Made(NamedTuple):
    """The functions of `nodes_text` and `writes_text`, and what they go by."""

    make: Callable[..., Any]
    view: Callable[..., Any]
    assign: Callable[..., Any]
    update: Callable[..., Any]
    recall: Callable[..., Any]
    table: Table


_NAMES = Made._fields[:-1]


def names_of(suffix: str) -> dict[str, str]:
    """The names of the module's functions."""
    return {name: f"lazyarr_{name}_{suffix}" for name in _NAMES}


_text = Late("lazyarr.nodes_module", "text")


def load(compiles: bool) -> Made | None:
    """The functions, from the cache, or compiled; None where they are not there, or objects lie otherwise."""
    if not (loads_cached() or COMPILER.usable) or not fields.are_known() or not fields.owner_of(RLock()):
        return None
    where = places(Places, array=_array())
    if where is None:
        return None
    from lazyarr.own_code import load as loaded

    target = host()
    names = names_of(target.name)
    found = loaded(partial(_text, where, names), (*names.values(),), where, target, OPT, compiles)
    if found is None:
        return None
    table = Table()
    words = _words(table)
    _KEPT.extend((found, words, table))
    functions = [fastcall(name, found[name], words) for name in names.values()]
    return Made._make((*functions, table))


_KEPT: list[Any] = []
forever(_KEPT)


def _words(table: Table) -> numpy.ndarray:
    """What the functions are given."""
    words = numpy.zeros(Word.END, numpy.int64)
    fill(words)
    objects = {
        Word.LAZY: ndarray, Word.LAUNCH: launch, Word.CAPTURE: capture,
        Word.USUAL: usual, Word.ALWAYS: always, Word.CROWDED: crowded, Word.WRITTEN: settled,
        Word.PROBE: probed, Word.PROBE_ONE: probe,
    }  # fmt: skip
    _KEPT.append(objects)
    for at, x in objects.items():
        words[at] = id(x)
    eager = DEFAULTS["eager_elements"]
    numbers: dict[int, int] = {
        Word.TABLE: address(table.rows), Word.RECALLS: address(table.heads),
        Word.WRITES: address(table.writes), Word.VIEWS: address(table.views),
        Word.UNUSUAL: at_address(UNUSUAL),
        Word.ALLOWED: at_address(GRANTED), Word.GRANTEE: at_address(GRANTEE), Word.SHARED: at_address(SHARED),
        Word.OWNER: id(LOCK) + fields.owner_of(RLock()),
        Word.PENDING: DEFAULTS["pending_nodes"], Word.SLACK: SLACK, Word.EAGER: eager,
        Word.MOVED: MOVED * eager, Word.IN_PLACE: IN_PLACE * eager, Word.MEDIUM: MEDIUM * eager,
    }  # fmt: skip
    for at, number in numbers.items():
        words[at] = number
    return words


def _array() -> ndarray:
    """Some array."""
    x = object.__new__(ndarray)
    x.storage, x.geo, x.origin = Storage(Expr.leaf(Buffer.new(8))), numpy.empty(0), None
    return x
