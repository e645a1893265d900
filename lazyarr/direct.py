"""Medium arrays directly by NumPy, for the whole process, where a program that makes nodes of them is slower.

In:  results of medium size, counted.   Out: `LIMIT`, up to which slots hand arrays to NumPy (`slot_words`).
A node, a look at it and a launch take as long as NumPy takes for some hundred thousand elements, and so does
NumPy's call by Python; by the slots it takes a tenth of a microsecond.  Which is sooner depends on how much
of a program is fused, so it is measured on the program itself, by turns:

    nodes     calls make nodes, or are NumPy's one by one (`habits`, `pace`)
    directly  the slots compute what exists, and Python what is pending, at the call

Time is the thread's own, without that of plans and of compiling, and is taken for so many results; the
program's own time is in both.  What is pending when a turn ends is computed by the first calls of the next,
which count as that turn's.  What is found holds for some thousand results, twice as many each time.
What NumPy made directly is plain; when nodes are made again, what lives of it is managed first.
Only times depend on this, never a result.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from collections.abc import Callable
from time import thread_time

from lazyarr.arrays import manage
from lazyarr.config import DEFAULTS, is_barred
from lazyarr.counters import COUNT
from lazyarr.habits import MEDIUM
from lazyarr.pace import NOW, may_try
from lazyarr.pages import keep_heap
from lazyarr.slot_words import BARRING, LIMIT, MADE, MOST, NOTED, UNTIL, WAITING

BEGIN = 512
"""Results of medium size before the first turn: to put the slots in place takes as long as a hundred."""

TURN = 128
"""Results that are timed together."""

SETTLING = 32
"""Results by nodes before that are not timed: what is cut in the middle has no plan."""

LAG = 16
"""Results at the beginning of the other turn that are timed with it."""

TURNS = 3
"""Of each kind before there is a decision."""

HEAP = 8 << 20
"""Bytes up to which NumPy's arrays shall lie among others, and have pages that were used before."""

GAIN = 0.95
"""Of the time by nodes, at most, NumPy's has to be."""

LASTING = 2048
"""Results for which a decision stands, the first time."""

MOST_LASTING = {False: 1 << 16, True: 1 << 14}
"""And at most: looking again costs a hundredth by then."""

WIDEST = 16
"""Bytes of an element at most: of complex numbers."""

EAGER: int = DEFAULTS["eager_elements"]


class Direct:
    """What holds now, and what has been measured."""

    __slots__ = (
        "_began", "_busy", "_lasting", "_lock", "_next", "_thread", "_turns", "calls", "left", "on", "times",
    )  # fmt: skip

    def __init__(self) -> None:
        self.on = False
        """Is what is of medium size NumPy's now?"""
        self._lock = allocate_lock()
        self.forget()

    def forget(self) -> None:
        """Let nothing have been measured."""
        self._ends()
        self.left = BEGIN
        """Results by nodes that are yet to come before something changes."""
        self._lasting = dict.fromkeys((False, True), LASTING)
        self._next: Callable[[], None] = self._begins
        self._thread, self._turns = 0, 0
        self._began = self._busy = 0.0
        self.times, self.calls = {False: 0.0, True: 0.0}, {False: 0, True: 0}
        """Seconds of turns of either kind, and their results."""

    def counts(self) -> bool:
        """One more result of medium size that Python sees: is it NumPy's?"""
        if self.on:
            MADE.value += 1
            if MADE.value >= UNTIL.value:
                self.hear()
            elif LIMIT.value == EAGER:          # (so many are noted)
                self._starts(UNTIL.value - MADE.value)
        else:
            self.left -= 1
            if self.left <= 0:
                self.hear()
        return self.on

    def hear(self) -> None:
        """It is time for what comes next."""
        if self._lock.acquire(False):           # (else another thread is at it)
            try:
                self._next()
            finally:
                self._lock.release()

    def barred(self) -> None:
        """Options have come into force for which nothing is NumPy's that is not small."""
        if self.on:
            with self._lock:
                self._rests(False)

    # ------------------------------------------------------------------------------- turns

    def _begins(self) -> None:
        if is_barred() or not may_try():
            self.left = self._lasting[False]
            return
        if WAITING:
            from lazyarr.slots import hasten  # here: machine code is for programs that need it

            hasten()
            if WAITING:                         # not on this machine, or not now
                self.left = MOST_LASTING[False]
                return
        keep_heap(HEAP)
        self.times, self.calls = {False: 0.0, True: 0.0}, {False: 0, True: 0}
        self._turns, self._thread = TURNS, get_ident()
        self._nodes()

    def _nodes(self) -> None:
        self._ends()
        self.left, self._next = SETTLING, self._settled

    def _settled(self) -> None:
        self._begin_time()
        self.left, self._next = TURN, self._directly

    def _directly(self) -> None:
        self._starts(LAG)
        self._next = self._caught_up

    def _caught_up(self) -> None:
        self._took(False, TURN + LAG)
        self._begin_time()
        UNTIL.value, self._next = MADE.value + TURN, self._turned

    def _turned(self) -> None:
        self._took(True, TURN)
        self._turns -= 1
        if self._thread != get_ident() or is_barred():
            self._rests(False)
        elif self._turns:
            self._nodes()
        else:
            self._rests(self.times[True] * self.calls[False] < GAIN * self.times[False] * self.calls[True])

    def _rests(self, directly: bool) -> None:
        """Leave it at that for some time."""
        lasting = self._lasting[directly]
        self._lasting[directly] = min(2 * lasting, MOST_LASTING[directly])
        self._lasting[not directly] = LASTING
        self._next = self._begins
        if directly:
            COUNT.hastened += 1
            self._starts(lasting)
        else:
            self._ends()
            self.left = lasting

    # ------------------------------------------------------------------------------- words

    def _starts(self, results: int) -> None:
        """Let so many results of medium size be NumPy's."""
        NOW.looker, NOW.thread = None, 0        # what is timed elsewhere has come to nothing
        NOTED[:] = [ref for ref in NOTED if ref() is not None]
        UNTIL.value = MADE.value + results
        MOST.value, LIMIT.value, self.on = MEDIUM * EAGER * WIDEST, MEDIUM * EAGER, True

    def _ends(self) -> None:
        """Let small results alone be NumPy's; what is larger is managed from now on."""
        LIMIT.value, MOST.value, self.on = EAGER, 8 * EAGER, False
        while NOTED:
            x = NOTED.pop()()
            if x is not None:
                manage(x)

    # -------------------------------------------------------------------------------- time

    def _begin_time(self) -> None:
        seconds = COUNT.seconds
        self._began, self._busy = thread_time(), seconds["plan"] + seconds["compile"]

    def _took(self, directly: bool, calls: int) -> None:
        seconds = COUNT.seconds
        busy = 0.0 if directly else seconds["plan"] + seconds["compile"] - self._busy
        self.times[directly] += max(thread_time() - self._began - busy, 0.0)
        self.calls[directly] += calls


DIRECT = Direct()
BARRING.append(DIRECT.barred)


def hear() -> None:
    """Called by the slots."""
    DIRECT.hear()
