"""Walks in machine code: closure, and plans of structures met before, found by bytes that describe these.

In:  pending roots; the nodes of an evaluation.   Out: what `closure`, `sunk` and `plan.walk` would say of
them; None where these are to be asked.
The interpreter takes two to five microseconds for a node, going through all of them three times; the code of
`walk_text` takes a tenth of that.  It lies in the cache as kernels do, and is loaded when so many nodes went
by that it pays.
Always holds: nodes of one key have one plan.  The key says all that a walk's says, for nodes and options of
the usual kinds; others have none here.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import Any

import numpy

from lazyarr import object_fields as fields
from lazyarr.awaited import Awaited
from lazyarr.calls import Call, written_out
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.config import current, plan_key
from lazyarr.error_state import buffer_size
from lazyarr.expr import Expr, Gather, Read, Reduce
from lazyarr.fastcalls import fastcall
from lazyarr.fusion.rewrite import Keeps
from lazyarr.fusion.structure import beyond
from lazyarr.geometry import address
from lazyarr.kernels import host
from lazyarr.late import Late
from lazyarr.plan import Plan, Walk
from lazyarr.records import NamedTuple
from lazyarr.reduce_order import DECIDED_EARLY
from lazyarr.sinking import sunk
from lazyarr.storage import Storage
from lazyarr.values import LEDGER, Buffer, Ledger
from lazyarr.walk_words import ENTRY, LAST, Answer, Head, Places, names_of

PAYS = 500
"""Nodes that Python goes through, after which the code is looked for in the cache: that takes one ms."""

WRITING_PAYS = 20_000
"""Nodes after which it is compiled."""

FEW = 4
"""Nodes: of fewer Python finds the closure sooner."""

MAX_MET = 512
"""Keys of plans; all are forgotten when there are more."""

LEAST, MOST, KEPT = 10, 20, 16
"""Of tables, how many entries there are at least, at most, and in those that are kept: the powers of two."""

ROOM = 8
"""Words of scratch memory for each entry of a table, its own two among them."""


class Code(NamedTuple):
    """The functions of `walk_text`."""

    closure: Callable[..., Any]
    key: Callable[..., Any]
    finish: Callable[..., Any]
    memory: Any
    """What keeps them in memory."""


class Swift(Awaited):
    """What there is of it in this process."""

    def __init__(self) -> None:
        super().__init__(PAYS, WRITING_PAYS)
        self.code: Code | None = None
        self.bits = LEAST
        """Of the table that sufficed for the last closure."""
        self.idle: list[tuple[int, int, numpy.ndarray]] = []
        """Scratch memory that no thread is using: for tables of how many entries, of how many at last."""
        self.met: dict[Any, weakref.ref[Plan]] = {}
        """Plans that `planning` remembers, by key."""

    def load(self, compiles: bool) -> bool:
        self.code = _load(compiles)
        return self.code is not None


SWIFT = Swift()

_SERIAL, _WEIGHT = map(attrgetter, ("serial", "weight"))


def pending(roots: Sequence[Expr]) -> list[Expr] | None:
    """The nodes to compute for pending roots, in program order, what can sink being sunk."""
    code = SWIFT.code
    if code is None or sys.is_finalizing() or (weight := sum(map(_WEIGHT, roots))) < FEW:
        return None
    bits = min((2 * weight).bit_length(), SWIFT.bits)
    given, found, calls = [*roots], list[Expr](), list[Expr]()
    if 4 * len(given) > 1 << SWIFT.bits:
        given.reverse()                         # (of two to four entries a node: most are asked for, which
                                                # are in order if the oldest come first)
    while (answer := _run(code.closure, bits, given, found, calls)) == Answer.CALLS:
        for node in calls:
            written_out(node)
        found, calls = [], []
    if answer > Answer.SINKS:
        return None
    found.sort(key=_SERIAL)
    SWIFT.bits = max(LEAST, (2 * len(found)).bit_length())
    return sunk(found, given) if answer == Answer.SINKS else found


class Looked(NamedTuple):
    """The nodes of an evaluation, looked at."""

    key: Any
    leaves: list[Expr]
    stored: bytes
    plan: Plan | None


def look(nodes: list[Expr], roots: Sequence[Expr]) -> Looked | None:
    """The key of some nodes, and the plan that goes with it."""
    code = SWIFT.code
    if code is None:
        return None
    options = plan_key()
    rules = options[-1].at(Keeps.APPROX if current.fast_math else Keeps.BITWISE)
    if rules.numbers or rules.flagless:         # (constants make a difference, or who asks for flags)
        return None
    leaves: list[Expr] = []
    objects: list[Any] = []
    said = _run(code.key, (4 * len(nodes)).bit_length(), nodes, [*roots], leaves, objects)
    if said.__class__ is not bytes:
        return None
    types = [*map(type, objects)]
    if Reduce in types:
        for op in objects:
            if op.__class__ is Reduce and (op.initial is not None or op.name in DECIDED_EARLY):
                return None         # (-0.0 and 0.0 are equal; what is decided early goes by error states)
    foreign: list[int] = []
    for k, leaf in enumerate(leaves):
        if astray := beyond(leaf):
            foreign += (k, astray)
    key = (options, buffer_size(), len(nodes), said, *foreign, *types, *objects)
    there = SWIFT.met.get(key)
    return Looked(key, leaves, said[: len(nodes)], None if there is None else there())


_UNASKED: Any = None
"""Stands for what planning alone asks of a walk."""


def walk_of(nodes: list[Expr], looked: Looked) -> Walk:
    """What the steps of a known plan go by."""
    return Walk(nodes, looked.leaves, looked.key, _UNASKED, _UNASKED, _UNASKED)


def note(looked: Looked, w: Walk, plan: Plan) -> None:
    """Remember the plan that was made for a walk through the nodes looked at."""
    if looked.stored != bytes(w.stored) or len(looked.leaves) != len(w.leaves):
        return                                  # somebody let go of an array since
    if not all(map(is_, looked.leaves, w.leaves)):
        return
    if len(SWIFT.met) >= MAX_MET:
        SWIFT.met.clear()
    SWIFT.met[looked.key] = weakref.ref(plan)


def finished(nodes: list[Expr], buffers: dict[int, Buffer]) -> bool:
    """Mark nodes as evaluated, whose values lie in these buffers by serial, or nowhere; False: this is for
    Python to do."""
    code, bits = SWIFT.code, (2 * len(nodes)).bit_length()
    if code is None or bits > MOST or sys.is_finalizing():
        return False
    answer: int = _run(code.finish, bits, nodes, buffers)
    return answer == Answer.FINE


# ------------------------------------------------------------------------------------- calls of the code


def _run(function: Callable[..., Any], bits: int, *lists: Any) -> Any:
    """Call a function, with a table of so many entries, or more where it answers that these are too few; then
    it has begun to fill the last two lists."""
    bits = min(max(bits, LEAST), MOST)
    while True:
        try:
            most, now, scratch = SWIFT.idle.pop()
        except IndexError:                      # (the first call, or a signal's handler within one)
            most, now, scratch = _NONE
        if most < bits:
            most, now, scratch = bits, bits, _scratch(bits)
        if now != bits:
            _lay(scratch, bits)
        answer = function(scratch, *lists)
        if most <= KEPT and (answer != Answer.DECLINED or scratch[Head.GENERATION] < LAST):
            SWIFT.idle[:] = [(most, bits, scratch)]
        if answer != Answer.SMALL or bits >= MOST:
            return answer
        for each in lists[-2:]:
            each.clear()
        bits = min(bits + 2, MOST)


_NONE = 0, 0, numpy.empty(0, numpy.int64)


def _lay(scratch: numpy.ndarray, bits: int) -> None:
    """Let a table have so many entries.  (What is in it belongs to calls before.)"""
    scratch[Head.MOST], scratch[Head.SHIFT] = 1 << bits - 1, 64 - bits
    scratch[Head.TABLE_END] = scratch[Head.TABLE] + (ENTRY << bits)


_ANSWERS = [*range(Answer.END)]
"""The ints that are answers."""


def _scratch(bits: int) -> numpy.ndarray:
    """Memory with its head, for tables of so many entries at most."""
    words = numpy.zeros(Head.END + (ROOM << bits), numpy.int64)
    begin = address(words)
    known: dict[int, Any] = {
        Head.NONE: None, Head.TRUE: True, Head.FALSE: False, Head.EXPR: Expr, Head.READ: Read,
        Head.TUPLE: tuple, Head.LIST: list, Head.REF: weakref.ref, Head.NDARRAY: numpy.ndarray,
        Head.STORAGE: Storage, Head.CALL: Call, Head.GATHER: Gather, Head.ZERO: 0, Head.NOTHING: (),
    }  # fmt: skip
    for at, x in known.items():
        words[at] = id(x)
    for at, name in _FUNCTIONS.items():
        words[at] = fields.function(name)
    for answer in _ANSWERS:
        words[Head.ANSWERS + answer] = id(answer)
    words[Head.UNALLOCATED] = id(LEDGER) + fields.offset_of(vars(Ledger)["unallocated"])
    table = begin + 8 * Head.END
    area = table + (ENTRY << bits)
    room = area + (ENTRY << bits)
    words[[Head.TABLE, Head.AREA, Head.AREA_END, Head.ROOM, Head.ROOM_END]] = [
        table, area, room, room, begin + words.nbytes,
    ]  # fmt: skip
    _lay(words, bits)
    return words


_FUNCTIONS = {
    Head.APPEND: "PyList_Append", Head.INCREF: "Py_IncRef", Head.NUMBER: "PyLong_AsSsize_t",
    Head.BYTES: "PyBytes_FromStringAndSize", Head.DECREF: "Py_DecRef",
    Head.LOOKUP: "PyDict_GetItemWithError", Head.INT: "PyLong_FromSsize_t",
}  # fmt: skip


# ------------------------------------------------------------------------------------------- loading it


def _load(compiles: bool) -> Code | None:
    """The code, from the cache, or compiled; None where it is not there, or objects lie otherwise."""
    if not (loads_cached() or COMPILER.usable) or not fields.are_known() or not _lie_there(_places()):
        return None
    from lazyarr.own_code import load

    target, where = host(), _places()
    names = names_of(target.name)
    found = load(partial(_text, where, target.name), names, where, target, OPT, compiles)
    if found is None:
        return None
    closure, key, finish = (fastcall(name, found[name]) for name in names)
    return Code(closure, key, finish, found)


OPT = 2
"""LLVM's level of code generation."""

_text = Late("lazyarr.walk_text", "text")


_OWNERS = {"expr": Read, "geo": Read, "value": Storage, "dying": Storage}


def _places() -> Places:
    return Places._make([fields.offset_of(vars(_OWNERS.get(n, Expr))[n]) for n in Places._fields])


def _lie_there(places: Places) -> bool:
    """Are the attributes where they are looked for?"""
    value = Expr.leaf(Buffer.new(8))
    value.inputs, value.readers, value.spared = (1,), [], True      # type: ignore[assignment]
    samples = {Expr: value, Storage: Storage(value), Read: Read(value, numpy.empty(0))}
    found = [samples[_OWNERS.get(name, Expr)] for name in Places._fields]
    return all(
        fields.word(id(x) + at).value == id(getattr(x, name))
        for x, at, name in zip(found, places, Places._fields, strict=True)
    )
