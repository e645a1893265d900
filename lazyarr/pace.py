"""Where laziness does not pay: code that builds nodes for as long as NumPy computes.

In:  calls whose results are of medium size, by the code that makes them.   Out: are they NumPy's?
To build a node takes some microseconds, one that writes to parts of an array several times as many, and to
look at it before it runs as long again.  Where NumPy takes no longer for what nodes do (boards rolled about,
halves of matrices joined), no kernel makes up for that.  Nobody can say it of a call, but of a program that
repeats itself it can be measured: a number of calls with nodes, the same number without.

    looks    calls make nodes; the time that is not evaluation is building, and the program's own; where that
             is much, a second time: the program may do something else in between, now and then
    tries    NumPy computes at the call, and so often as before is timed
    stays    what was found holds for some time, twice as long each time it is found again

The program's own time is in both, so it drops out.  Where all evaluations had plans, the two times are
compared; else what NumPy's way takes more than building is the most that kernels will save.
Time is that of the thread, which what else the machine does has no part in.
Only times depend on this, never a result.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Sequence
from time import thread_time
from types import CodeType, FrameType

from lazyarr.config import OBSERVED, current, is_observed
from lazyarr.counters import COUNT
from lazyarr.expr import Expr
from lazyarr.srcloc import THEIRS, nearest

WINDOW = 64
"""Calls that are timed together."""

SETTLING = 32
"""Calls after a change that are not timed: what was pending is computed in them."""

TIMED = 4 * WINDOW
"""Evaluations that are timed from the beginning of a look on: code may never come to its end."""

SUSPECT = 0.4
"""Building takes so much of what NumPy is estimated to take: then NumPy tries."""

LOOKS = 2
"""So often in a row it has to; the time that took least counts."""

GAIN = 0.5
"""Of what NumPy is estimated to take kernels have to save so much, for walks and launches take as long as
building does."""

LASTING = 1024
"""Calls for which NumPy stays, the first time."""

MOST = 1 << 14
"""And at most: what is looked at again by then takes a hundredth of the time."""

QUIET = 512
"""Calls that nobody counts, where laziness pays and no call is NumPy's: to count one takes a tenth of what a
node does."""

QUIETS = 8
"""So often between two looks, with `SETTLING` calls that are counted after each: other code may begin."""

UNASKED = 256
"""Calls that nobody counts, rolls say, are NumPy's for so long after one that was counted."""

SOONER: list[Callable[[], None]] = []
"""Who hears that NumPy was found to be the sooner one, for some code."""

COMING: list[Callable[[], bool]] = []
"""Who says whether machine code that makes nodes may be there soon: what they take before says nothing."""

DELAYS = 10
"""So many looks, at most, wait for that: some nodes are made otherwise."""

MAX_PACES = 1024
"""Places; all are forgotten when there are more."""


class _Now:
    """What holds for calls that nobody counts."""

    __slots__ = (
        "delays", "evaluating", "hasty", "in_vain", "least", "looker", "numpys", "quiet", "thread", "timed",
        "unasked", "unknown", "weighs", "work",
    )  # fmt: skip

    def __init__(self) -> None:
        self.numpys = False
        """Are those of medium size NumPy's?  (As the last one that was counted.)"""
        self.unasked = 0
        """How many more calls that nobody counts go by that."""
        self.hasty: set[Pace] = set()
        """Pieces of code whose calls are."""
        self.quiet = 0
        """Calls that nobody need count."""
        self.looker: Pace | None = None
        """Who looks: one at a time, the latest."""
        self.thread = 0
        """Whose evaluations are timed meanwhile."""
        self.timed = 0
        """How many of them yet."""
        self.evaluating = self.work = 0.0
        """Seconds of those that were, and what NumPy would take for them."""
        self.unknown = 0
        """Those of them that no plan was there for."""
        self.delays = DELAYS
        """How many more looks wait for code that makes nodes."""
        self.in_vain = 0
        """Nodes that NumPy has computed, since nobody meets plans of such ones again (`worth`)."""
        self.weighs = False
        """Does somebody ask what NumPy would take at least (`direct`)?"""
        self.least = 0.0
        """Seconds of that, of evaluations since."""


NOW = _Now()


class Pace:
    """What is known of the calls of one size that one piece of code makes."""

    __slots__ = (
        "_began", "_built", "_lasting", "_least", "_left", "_looks", "_next", "_quiets", "_thread", "_took",
        "_work", "numpys",
    )  # fmt: skip

    def __init__(self) -> None:
        self.numpys = False
        self._lasting = LASTING
        self._looks = 0
        """In a row, that building takes much in."""
        self._built = self._work = self._least = 0.0
        self._took: float | None = None
        """Seconds of a look, if its evaluations had plans."""
        self._rest(SETTLING)

    def counts(self) -> bool:
        """One more call: is it NumPy's?"""
        self._left -= 1
        if self._left <= 0:                     # (two threads may have counted at once)
            self._next()
        NOW.numpys, NOW.unasked = self.numpys, UNASKED
        return self.numpys

    def left(self) -> int:
        """How many more calls are nodes whatever they take."""
        return 0 if self.numpys else self._left - 1

    def passes(self, calls: int) -> None:
        """So many calls have been nodes."""
        self._left -= calls

    def _rest(self, calls: int) -> None:
        self.numpys, self._left, self._next = False, calls, self._look

    def _pays(self) -> None:
        self._quiets = QUIETS
        self._falls_quiet()

    def _falls_quiet(self) -> None:
        self._rest(SETTLING)
        self._quiets -= 1
        if self._quiets:
            self._next = self._falls_quiet
        if NOW.looker is None and not NOW.hasty:
            NOW.quiet = QUIET

    def _hastens(self) -> None:
        NOW.hasty.add(self)
        self.numpys, self._left, self._next = True, SETTLING, self._try

    def _begins(self, then: Callable[[], None]) -> None:
        self._thread, self._began = get_ident(), thread_time()
        self._left, self._next = WINDOW, then

    def _look(self) -> None:
        if NOW.delays and not self._looks and is_coming():
            NOW.delays -= 1
            self._rest(WINDOW)
            return
        NOW.looker, NOW.thread, NOW.timed = self, get_ident(), TIMED
        NOW.evaluating, NOW.work, NOW.unknown = 0.0, 0.0, 0
        self._begins(self._looked)

    def _looked(self) -> None:
        took, alone = thread_time() - self._began, NOW.looker is self and get_ident() == self._thread
        if alone:
            NOW.looker, NOW.thread = None, 0
        built, work = took - NOW.evaluating, NOW.work
        if not alone or not work:
            self._looks = 0
            self._rest(WINDOW)                  # somebody else looks by now, or nothing was evaluated
            return
        if built < SUSPECT * work or not may_try():
            self._looks = 0
            self._pays()
            return
        if not self._looks or took < self._least:
            self._built, self._work, self._least = built, work, took
            self._took = None if NOW.unknown else took
        self._looks += 1
        if self._looks < LOOKS:
            self._look()
        else:
            self._looks = 0
            self._hastens()

    def _try(self) -> None:
        self._begins(self._tried)

    def _tried(self) -> None:
        took, most = thread_time() - self._began, self._took
        if most is None:
            most = self._built + GAIN * self._work
        if took <= most and get_ident() == self._thread:
            COUNT.hastened += 1
            self._left, self._next = self._lasting, self.stayed
            self._lasting = min(2 * self._lasting, MOST)
            for hear in SOONER:
                hear()
        else:
            NOW.hasty.discard(self)
            self._pays()

    def stayed(self) -> None:
        """It holds no longer."""
        NOW.hasty.discard(self)
        self._rest(SETTLING)


class _Uncounted(Pace):
    """That of code which is a part of what the program calls."""

    __slots__ = ()

    def counts(self) -> bool:
        return NOW.numpys

    def left(self) -> int:
        return 0


_UNCOUNTED = _Uncounted()

PACES: dict[tuple[int, int], Pace] = {}
"""By the identity of code, and `band` of a size."""
_pins: list[CodeType] = []


def band(measure: float) -> int:
    """Sizes that are alike."""
    return int(measure).bit_length()


def pace_of(frame: FrameType, size_band: int) -> Pace:
    """What is to be known of the calls of a size that the code of a frame makes."""
    code = frame.f_code
    if len(PACES) >= MAX_PACES:
        forget()
    own = id(code) in THEIRS or (nearest(frame) or (None,))[0] is code
    found = PACES[id(code), size_band] = Pace() if own else _UNCOUNTED
    _pins.append(code)
    return found


def work_of(nodes: Sequence[Expr]) -> float:
    """Seconds that NumPy would take for nodes."""
    from lazyarr.compiler import warm_ns  # here: whoever imports lazyarr need not wait for it

    return 1e-9 * sum(map(warm_ns, nodes))


AT_LEAST = 0.02e-9
"""Seconds that NumPy takes for a byte of a result of medium size, whatever it computes."""


def weighs(nodes: Sequence[Expr]) -> None:
    """An evaluation takes NumPy so long, at least."""
    written = [region.nbytes for node in nodes if (region := node.region) is not None]
    NOW.least += AT_LEAST * sum(written)


def begins(work: float, known: bool) -> None:
    """An evaluation that is timed computes so much (`work_of`), that a plan is known of, or is not."""
    NOW.work += work
    NOW.unknown += not known


def ended(seconds: float) -> None:
    """It took so long."""
    NOW.evaluating += seconds
    NOW.timed -= 1
    if NOW.timed <= 0:
        NOW.looker, NOW.thread = None, 0


def at_once() -> bool:
    """Are nodes and plans made whatever they cost, since somebody asks for compiled code, looks on, or would
    get other bits from NumPy?"""
    asked = current.plan == "always" or current.jit == "always"
    return asked or current.math == "native" or current.fast_math or (bool(OBSERVED) and is_observed())


def is_coming() -> bool:
    """Will nodes take much less time soon?"""
    return any(coming() for coming in COMING)


def holds() -> bool:
    """Are calls that nobody counts NumPy's?  As long as others are counted now and then."""
    NOW.unasked -= 1
    if NOW.unasked < 0:
        NOW.numpys = False
    return NOW.numpys


def look_anew() -> None:
    """Let all code make nodes: that NumPy was the sooner one may have been found long ago, before machine
    code made them."""
    for each in list(NOW.hasty):
        each.stayed()
    NOW.numpys = False


def may_try() -> bool:
    """Do the options leave it to measurements who computes?"""
    return current.jit == "auto" and not at_once()


def forget() -> None:
    """Let no code have been met before."""
    PACES.clear()
    _pins.clear()
    NOW.hasty.clear()
    NOW.numpys, NOW.quiet, NOW.looker, NOW.thread, NOW.delays = False, 0, None, 0, DELAYS
