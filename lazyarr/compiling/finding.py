"""Which replay a call has: one that is known, or a new one, from a trace.

In:  what is `Known`, the key of a call, its inputs.   Out: a `Replay`, a `Refusal`, or None where more of the
inputs must be known first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiler import COMPILER
from lazyarr.compiling.general import General, Lengthless, Varied, lengthless
from lazyarr.compiling.interpret import Discovered
from lazyarr.compiling.known import RUNTIME, Key, Known, structure
from lazyarr.compiling.large import Large
from lazyarr.compiling.replay import Replay
from lazyarr.compiling.small import small
from lazyarr.compiling.trace import Kind, Trace, trace
from lazyarr.compiling.values import NeedsValue, Pinned, Refused
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.expr import LOCK
from lazyarr.scalar.compiled import Refusal
from lazyarr.scalar.ir import NOWHERE

REPLAYS = 256
"""Of one function: all are forgotten when there are more."""
CHANGES = 8
"""How often what it goes by may change, before it is left alone."""
MET = 4096
"""Kinds of calls that are remembered as met once."""

LARGE = 1 << 18
"""Elements of an array for which a replay is looked for at the first call of a new shape."""

ONCE = Refusal("the first call of a new shape")


def replay_for(known: Known, key: Key, inputs: tuple[Any, ...]) -> Replay | Refusal | None:
    """What there is for calls of this key; None where they must be looked at again, with more known."""
    found = known.replays.get(key)
    if found is not None:
        return found
    if known.changes > CHANGES or current.jit == "never":
        return known.refuse("what it refers to changes too often, or nothing is compiled here")
    if "numpy" not in current.parallel:
        return known.refuse("operations on arrays are switched off")
    if len(known.met) > MET:
        known.met.clear()
        known.varied.clear()
    shapeless = structure(key)
    varied = known.varied.get(shapeless)
    if varied is None:
        known.varied[shapeless] = Varied(inputs)
    else:
        lengths = varied.met(inputs)
        # (A new shape may never come again; where arrays are small the function itself takes less.)
        if key not in known.met and not known.eager and not _is_large(inputs):
            known.met.add(key)
            return ONCE
        general = _of_another_length(known, key, inputs, lengths)
        if general is not None:
            return general
        if key not in known.met and not known.eager:
            known.met.add(key)
            return ONCE
    with LOCK:                              # the engine's: a fork waits for it, handlers may come back here
        return known.replays.get(key) or _traced(known, key, inputs)


def _traced(known: Known, key: Key, inputs: tuple[Any, ...]) -> Replay | Refusal | None:
    if COMPILER.usable is None:
        COMPILER.load()
    if not COMPILER.usable:
        return known.refuse("nothing can be compiled here")
    if len(known.replays) >= REPLAYS:
        known.replays.clear()
    found: Replay | Refusal
    try:
        found = _replay_of(trace(known.fn, _kinds(known, inputs), known.outside, known.root))
        known.refusal = None
        COUNT.traces += 1
    except (Pinned, Discovered) as more:
        if isinstance(more, Pinned):
            known.pinned |= more.inputs
        known.replays.clear()
        known.last = None
        return None
    except Refused as refused:
        found = known.refuse(refused.why, refused.place)
    known.replays[key] = found
    return found


def _is_large(inputs: tuple[Any, ...]) -> bool:
    """Does NumPy take longer for a few operations than it takes to find a replay?"""
    return any(isinstance(x, ndarray | numpy.ndarray) and x.size > LARGE for x in inputs)


def _of_another_length(
    known: Known, key: Key, inputs: tuple[Any, ...], varied: Sequence[bool]
) -> Replay | None:
    """The replay of a call whose like was met with arrays of other lengths; None where lengths decide."""
    if not COMPILER.usable:
        return None
    try:
        kinds = _kinds(known, inputs)
        like = lengthless(kinds, key[1:], varied)
        if like is None:
            return None
        with LOCK:
            general = known.general.get((key[0], like.key))
            if general is None:
                if len(known.general) >= REPLAYS:
                    known.general.clear()
                known.general[key[0], like.key] = general = _general(known, kinds, like)
            if isinstance(general, Refusal):
                return None
            found = general.trace(kinds, like.lengths)
            if found is None:
                return None
            if len(known.replays) >= REPLAYS:
                known.replays.clear()
            replay = known.replays[key] = _replay_of(found)
    except (Refused, NeedsValue):
        return None
    COUNT.instances += 1
    known.refusal = None
    return replay


def _general(known: Known, kinds: list[Kind], like: Lengthless) -> General | Refusal:
    try:
        return General(known.fn, kinds, known.outside, known.root, like)
    except Refused as refused:
        return Refusal(refused.why, refused.place)
    except (Pinned, Discovered, MemoryError):   # (the trace of these lengths finds what more must be known)
        return Refusal("more must be known of its inputs", NOWHERE)


def _replay_of(found: Trace) -> Replay:
    return small(found) or Large(found)


def _kinds(known: Known, inputs: tuple[Any, ...]) -> list[Kind]:
    """What a trace may know of each input."""
    kinds = []
    for k, x in enumerate(inputs):
        c = x.__class__
        if c is ndarray or c is numpy.ndarray:
            geo = x.geo if c is ndarray else x
            dtype = geo.dtype
            if char_of(dtype) is None or not geo.ndim or not geo.size:
                raise Refused(f"an array of dtype {dtype}, or without axes or elements")
            if not geo.flags.aligned or any(s % dtype.alignment for s in geo.strides):
                raise Refused("an array that is not aligned")
            kinds.append(Kind("array", geo, c is numpy.ndarray))
        elif c in RUNTIME and k not in known.pinned:
            kinds.append(Kind("number", x))
        else:
            kinds.append(Kind("static", x))
    return kinds
