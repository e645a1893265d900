"""Where laziness does not pay: code that builds nodes for as long as NumPy computes.

In:  calls whose results are of medium size, by the code that makes them.   Out: are they NumPy's?
To build a node takes some microseconds, one that writes to parts of an array several times as many, and to
look at it before it runs as long again.  Where NumPy takes no longer for what nodes do (boards rolled about,
halves of matrices joined), no kernel makes up for that.  Nobody can say it of a call, but of a program that
repeats itself it can be measured: a number of calls with nodes, the same number without.

    looks    calls make nodes; the time that is not evaluation is building, and the program's own
    tries    NumPy computes at the call, and so often as before is timed
    stays    what was found holds for some time, twice as long each time it is found again

The program's own time is in both, so it drops out: what NumPy's way takes more is all that kernels can save.
Time is that of the thread, which what else the machine does has no part in.
Only times depend on this, never a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from types import CodeType

from lazyarr.config import at_once, current
from lazyarr.counters import COUNT
from lazyarr.expr import Expr

WINDOW = 64
"""Calls that are timed together."""

SETTLING = 32
"""Calls after a change that are not timed: what was pending is computed in them."""

SUSPECT = 0.4
"""Building takes so much of what NumPy is estimated to take: then NumPy tries."""

GAIN = 0.5
"""Of what NumPy is estimated to take kernels have to save so much, for walks and launches take as long as
building does."""

CLEAR = 0.3
"""And so much of all that NumPy's way took."""

LASTING = 1024
"""Calls for which NumPy stays, the first time."""

MOST = 1 << 20
"""And at most."""

RESTING = 4096
"""Calls between two looks where laziness pays."""

MAX_PACES = 1024
"""Places; all are forgotten when there are more."""


class _Now:
    """What holds for calls that nobody counts."""

    __slots__ = ("evaluating", "looking", "numpys", "work")

    def __init__(self) -> None:
        self.numpys = False
        """Are those of medium size NumPy's?  (As the last one that was counted.)"""
        self.looking = False
        self.evaluating = self.work = 0.0
        """While somebody looks: seconds of evaluations, and what NumPy would take for them."""


NOW = _Now()


class Pace:
    """What is known of the calls of one size that one piece of code makes."""

    __slots__ = ("_began", "_built", "_evaluating", "_lasting", "_left", "_next", "_work", "numpys")

    def __init__(self) -> None:
        self.numpys = False
        self._lasting = LASTING
        self._built = self._work = 0.0
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
        NOW.looking = True
        self._began, self._evaluating, self._work = thread_time(), NOW.evaluating, NOW.work
        self._left, self._next = WINDOW, self._looked

    def _looked(self) -> None:
        NOW.looking = False
        self._work = NOW.work - self._work
        self._built = thread_time() - self._began - (NOW.evaluating - self._evaluating)
        if not self._work:
            self._rest(WINDOW)                  # nothing was evaluated
        elif self._built < SUSPECT * self._work or not may_try():
            self._rest(RESTING)
        else:
            self.numpys, self._left, self._next = True, SETTLING, self._try

    def _try(self) -> None:
        self._began = thread_time()
        self._left, self._next = WINDOW, self._tried

    def _tried(self) -> None:
        took = thread_time() - self._began
        if took - self._built > max(GAIN * self._work, CLEAR * took):
            self._rest(RESTING)
            return
        COUNT.hastened += 1
        self._left, self._next = self._lasting, self._stayed
        self._lasting = min(2 * self._lasting, MOST)

    def _stayed(self) -> None:
        self._rest(SETTLING)


_paces: dict[tuple[int, int], Pace] = {}
_pins: list[CodeType] = []
"""Whose identity the keys go by."""


def pace_of(code: CodeType, measure: float) -> Pace:
    """What is known of the calls of a size (twice as large ones are others)."""
    key = id(code), int(measure).bit_length()
    found = _paces.get(key)
    if found is None:
        if len(_paces) >= MAX_PACES:
            forget()
        found = _paces[key] = Pace()
        _pins.append(code)
    return found


def evaluated(nodes: Sequence[Expr]) -> None:
    """Somebody looks, and these are about to be computed."""
    from lazyarr.compiler import warm_ns  # here: whoever imports lazyarr need not wait for it

    NOW.work += 1e-9 * sum(map(warm_ns, nodes))


def may_try() -> bool:
    """Do the options leave it to measurements who computes?"""
    return current.jit == "auto" and not at_once()


def forget() -> None:
    """Let no code have been met before."""
    _paces.clear()
    _pins.clear()
    NOW.numpys = NOW.looking = False
