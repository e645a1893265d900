"""Calls of replays: memory is taken, kernels run, what was written in vain is put back.

In:  a `Replay` and the inputs of a call.   Out: what the function returns, or `MISFIT`: it must run itself.
Nothing of the call's memory is held when `MISFIT` is answered, and no argument has changed, so the function
finds everything as its caller left it: a reference to memory would count as somebody's who can write there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray, now
from lazyarr.compiling.replay import Misfit, Replay
from lazyarr.error_state import remembered
from lazyarr.expr import LOCK
from lazyarr.flags import BITS
from lazyarr.geometry import FRESH
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.storage import evaluate
from lazyarr.values import results

MISFIT: Any = object()
NOTHING: Any = object()
"""What machine code says where a function returns None."""

BACKUP = 1 << 20
"""Most bytes of arguments that are written to, of which a copy is kept for the time of a call."""

WARNED = BITS["divide"] | BITS["over"] | BITS["invalid"]
"""Flags that NumPy warns of unless it is told otherwise."""


def warned() -> int:
    """The flags that the error state of now warns of."""
    state = remembered()
    if state is None:
        return WARNED
    return sum(BITS[key] for key, what in state.items() if what == "warn")


def replayed(replay: Replay, inputs: Sequence[Any]) -> Any:
    """What a call of the function gives."""
    mask = warned()
    try:
        if replay.written:
            with LOCK:
                return _written(replay, inputs, mask)
        return replay(inputs, _memory(replay, inputs), mask)
    except Misfit:
        return MISFIT


def _memory(replay: Replay, inputs: Sequence[Any]) -> list[Any]:
    """For each array, one that begins where its first element lies."""
    arrays = [inputs[k] for k in replay.arrays]
    for x in arrays:                        # first of all: evaluations want memory that nobody holds
        if x.__class__ is ndarray and x.storage is not None and x.storage.value.op is not None:
            evaluate([x.storage.value])
    return [_place(x) if x.__class__ is ndarray else x for x in arrays]


def _place(x: Any) -> numpy.ndarray:
    storage, geo = x.storage, x.geo
    if storage is None or storage.value.op is not None:     # (by another thread, meanwhile)
        return now(x)
    buf = storage.value.buf
    return buf.memory if id(geo) in FRESH else buf.real(geo)    # type: ignore[no-any-return]


def _written(replay: Replay, inputs: Sequence[Any], mask: int) -> Any:
    """A call that writes to some of its arguments."""
    for k in replay.written:
        x = inputs[k]
        geo = x.geo if x.__class__ is ndarray else x
        if not geo.flags.writeable or (replay.flagged and mask and geo.nbytes > BACKUP):
            raise Misfit
        read_first(x)
    memory = _memory(replay, inputs)
    places = dict(zip(replay.arrays, memory, strict=True))
    for k in replay.written:
        others = [at for j, at in places.items() if j != k]
        if not places[k].flags.writeable or any(numpy.may_share_memory(places[k], at) for at in others):
            raise Misfit
    backups = []
    if replay.flagged and mask:
        reals = [now(x) if x.__class__ is ndarray else x for x in (inputs[k] for k in replay.written)]
        backups = [(real, real.copy()) for real in reals]
    held = hold_signals()
    try:
        return replay(inputs, memory, mask)
    except BaseException:
        for real, copy in backups:
            real[...] = copy
        raise
    finally:
        release_signals(held)


def read_first(x: Any) -> None:
    """Let what is pending read x's values before they change."""
    if x.__class__ is ndarray and x.storage is not None:
        if x.storage.value.op is not None:
            evaluate([x.storage.value])
        value = x.storage.value
        if value.readers:
            evaluate(results(value, None))
