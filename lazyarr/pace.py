"""Where laziness does not pay: code that builds nodes for as long as NumPy computes.

In:  calls whose results are of medium size, by the code that makes them.   Out: are they NumPy's?
To build a node takes some microseconds, one that writes to parts of an array several times as many, and to
look at it before it runs as long again.  Where NumPy takes no longer for what nodes do (boards rolled about,
halves of matrices joined), no kernel makes up for that.  Nobody can say it of a call, but of a program that
repeats itself it can be measured: a number of calls with nodes, the same number without.

    looks    calls make nodes; the time that is not evaluation is building, and the program's own
    tries    NumPy computes at the call, and so often as before is timed
    stays    what was found holds for some time, twice as long each time it is found again

The program's own time is in both, so it drops out.  Where all evaluations had plans, the two times are
compared; else what NumPy's way takes more than building is the most that kernels will save.
Time is that of the thread, which what else the machine does has no part in; each thread has paces of its own.
Only times depend on this, never a result.
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Sequence
from time import thread_time
from types import CodeType

from lazyarr.config import OBSERVED, current, is_observed
from lazyarr.counters import COUNT
from lazyarr.expr import Expr

WINDOW = 64
"""Calls that are timed together."""

SETTLING = 32
"""Calls after a change that are not timed: what was pending is computed in them."""

TIMED = 4 * WINDOW
"""Evaluations that are timed from the beginning of a look on: code may never come to its end."""

SUSPECT = 0.4
"""Building takes so much of what NumPy is estimated to take: then NumPy tries."""

GAIN = 0.5
"""Of what NumPy is estimated to take kernels have to save so much, for walks and launches take as long as
building does."""

LASTING = 1024
"""Calls for which NumPy stays, the first time."""

MOST = 1 << 14
"""And at most: what is looked at again by then takes a hundredth of the time."""

RESTING = 4096
"""Calls between two looks where laziness pays."""

MAX_PACES = 1024
"""Places; all are forgotten when there are more."""


class _Now(_local):
    """What holds in a thread, for calls that nobody counts, too."""

    def __init__(self) -> None:
        self.numpys = False
        """Are calls of medium size NumPy's?  (As the last one that was counted.)"""
        self.timed = 0
        """Evaluations yet to be timed."""
        self.missed = 0
        """Times that these ran out."""
        self.evaluating = self.work = 0.0
        """Seconds of those that were timed, and what NumPy would take for them."""
        self.unknown = 0
        """Those of them that no plan was there for."""
        self.paces: dict[tuple[int, int], Pace] = {}
        self.pins: list[CodeType] = []
        """Whose identity the keys go by."""


NOW = _Now()


class Pace:
    """What is known of the calls of one size that one piece of code makes."""

    __slots__ = ("_began", "_built", "_lasting", "_left", "_next", "_took", "_work", "numpys")

    def __init__(self) -> None:
        self.numpys = False
        self._lasting = LASTING
        self._built = self._work = 0.0
        self._took: float | None = None
        """Seconds of a look, if its evaluations had plans."""
        self._rest(SETTLING)

    def counts(self) -> bool:
        """One more call: is it NumPy's?"""
        self._left -= 1
        if not self._left:
            self._next()
        NOW.numpys = self.numpys
        return self.numpys

    def _rest(self, calls: int) -> None:
        self.numpys, self._left, self._next = False, calls, self._look

    def _look(self) -> None:
        NOW.timed = TIMED
        self._began = thread_time(), NOW.evaluating, NOW.work, NOW.missed, NOW.unknown
        self._left, self._next = WINDOW, self._looked

    def _looked(self) -> None:
        began, evaluating, work, missed, unknown = self._began
        took = thread_time() - began
        self._work = NOW.work - work
        self._built = took - (NOW.evaluating - evaluating)
        self._took = took if NOW.unknown == unknown else None
        if not self._work or NOW.missed != missed:
            self._rest(WINDOW)                  # nothing was evaluated, or too often
        elif self._built < SUSPECT * self._work or not may_try():
            self._rest(RESTING)
        else:
            self.numpys, self._left, self._next = True, SETTLING, self._try

    def _try(self) -> None:
        self._began = thread_time(), 0.0, 0.0, 0, 0
        self._left, self._next = WINDOW, self._tried

    def _tried(self) -> None:
        took = thread_time() - self._began[0]
        if self._took is None:
            pays = took - self._built > GAIN * self._work
        else:
            pays = took > self._took
        if pays:
            self._rest(RESTING)
            return
        COUNT.hastened += 1
        self._left, self._next = self._lasting, self._stayed
        self._lasting = min(2 * self._lasting, MOST)

    def _stayed(self) -> None:
        self._rest(SETTLING)


def pace_of(code: CodeType, measure: float) -> Pace:
    """What is known of the calls of a size (twice as large ones are others)."""
    paces, key = NOW.paces, (id(code), int(measure).bit_length())
    found = paces.get(key)
    if found is None:
        if len(paces) >= MAX_PACES:
            forget()
        found = paces[key] = Pace()
        NOW.pins.append(code)
    return found


def begins(nodes: Sequence[Expr], known: bool) -> None:
    """An evaluation that is timed computes nodes that a plan is known of, or is not."""
    from lazyarr.compiler import warm_ns  # here: whoever imports lazyarr need not wait for it

    NOW.work += 1e-9 * sum(map(warm_ns, nodes))
    NOW.unknown += not known


def ended(seconds: float) -> None:
    """It took so long."""
    NOW.evaluating += seconds
    NOW.timed = max(NOW.timed - 1, 0)       # (one may be part of another)
    NOW.missed += not NOW.timed


def at_once() -> bool:
    """Is nothing left to what it costs, since somebody asks for compiled code, looks on, or would get other
    bits from NumPy?"""
    asked = current.plan == "always" or current.jit == "always"
    return asked or current.math == "native" or current.fast_math or (bool(OBSERVED) and is_observed())


def may_try() -> bool:
    """Do the options leave it to measurements who computes?"""
    return current.jit == "auto" and not at_once()


def forget() -> None:
    """Let no code have been met before."""
    NOW.paces.clear()
    NOW.pins.clear()
    NOW.numpys, NOW.timed = False, 0
