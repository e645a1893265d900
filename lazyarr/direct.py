"""Medium arrays directly by NumPy, for the whole process, where a program that makes nodes of them is slower.

In:  results of medium size, counted.   Out: `LIMIT`, up to which slots hand arrays to NumPy (`slot_words`).
A node, a look at it and a launch take as long as NumPy takes for some hundred thousand elements, and so does
NumPy's call by Python; by the slots it takes a tenth of a microsecond.  Which is sooner depends on how much
of a program is fused, so it is measured on the program itself:

    nodes     calls make nodes, or are NumPy's one by one (`habits`, `pace`): some spans, as they come; where
              that takes less time than NumPy surely would, there is nothing to try
    directly  the slots compute what exists, and Python what is pending, at the call: two short spans, which
              tell whether that is much slower, then as many as there were of nodes

Time is the thread's own, without that of plans and of compiling; the program's own time is in both.  What it
says is for `spans` to tell; what is found holds for some thousand results, twice as many each time.
A process begins directly: what a program does first is NumPy's anyway (`compiler`, `worth`), and a node that
NumPy computes takes longer than NumPy.  That ends sooner where nodes paid in an earlier run (`earlier_runs`).
What NumPy made directly is plain, however large, until a node reads it.
Only times depend on this, never a result.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident
from collections.abc import Callable
from time import thread_time
from types import CodeType
from typing import TYPE_CHECKING, Any

from lazyarr import habits, pace
from lazyarr.config import DEFAULTS, is_barred
from lazyarr.counters import COUNT
from lazyarr.habits import MEDIUM
from lazyarr.pace import NOW, SOONER, Pace, may_try
from lazyarr.pages import keep_heap
from lazyarr.slot_words import BARRING, GRANTED, GRANTEE, LIMIT, MADE, MOST, UNTIL, WAITING

if TYPE_CHECKING:
    from lazyarr.spans import Spans

FIRST = 4096
"""Results with which a process begins, at most."""

EARLY = 64
"""After so many of them Python looks how long they took."""

LOADING = 0.25
"""Seconds: about what it takes to load the compiler.  Results that took so long are enough."""

SOON = 0.05
"""The same where an earlier run of the program found nodes to be the sooner way: its kernels are looked for
after so long (`compiler.LOOK_NS`)."""

AT_FIRST = 4
"""Up to so many times `eager_elements` they are: for larger ones, kernels of an earlier run pay sooner."""

AS_SMALL = 1 << 12
"""Elements of a result that count for a small call, as long as the slots' code is not in place: that computes
in temporaries' memory, where each result of Python's calls has fresh pages."""

SPAN = 128
"""Results that are timed together."""

SPANS = 4
"""So many of both ways; all but the longest count, on an average: the program's own time may be in few of
them, and much, so the shortest ones would tell who had the luck to have none."""

DIRECTLY = 32, 32, *[SPAN] * SPANS
"""Results of the spans in which NumPy tries."""

RARELY = 24
"""Spans until the next look, where NumPy may not try."""

SETTLING = 64
"""Results after a change to nodes that are not timed: what is cut in the middle has no plan."""

LAG = 16
"""The same after a change from nodes: what is pending is computed then."""

UNPLANNED = 0.25
"""Of a span's results, at most, NumPy may have computed as nodes, for want of a plan; and of its time plans
may have taken."""

VAIN = 0.5
"""If it has computed so many as no plan is ever met again, nodes are not the sooner way."""

DELAYS = 8
"""So many spans, at most, do not count since machine code that makes nodes is not there yet."""

LASTING = {False: 1 << 13, True: 1 << 11}
"""Results for which a decision for nodes, or against them, stands the first time."""

MOST_LASTING = {False: 1 << 17, True: 1 << 14}
"""And at most."""

WIDEST = 16
"""Bytes of an element at most: of complex numbers."""

HEAP = 8 << 20
"""Bytes up to which NumPy's arrays shall lie among others, and have pages that were used before."""

EAGER: int = DEFAULTS["eager_elements"]


class Direct:
    """What holds now, and what has been measured."""

    __slots__ = (
        "_began", "_busy", "_delays", "_fallbacks", "_in_vain", "_lasting", "_lock", "_made", "_next",
        "_pace", "_spans", "_thread", "calls", "granted", "left", "on", "reach",
    )  # fmt: skip

    def __init__(self) -> None:
        self.begins_anew()

    def begins_anew(self) -> None:
        """In a child of a fork, too: another thread may have been at it."""
        self._lock = allocate_lock()
        self.forget()

    def forget(self) -> None:
        """Let nothing have been measured."""
        self._lasting = dict(LASTING)
        self._began = self._busy = 0.0
        self._thread = self._fallbacks = self._in_vain = 0
        self._delays = DELAYS
        self._spans: Spans | None = None
        self._made = 0
        """The result with which what stays began."""
        self.calls = 0
        """Those of `numpy_fallbacks` that no plan would be there for: calls of functions."""
        self.on = False
        """Is what is of medium size NumPy's now?"""
        self.reach = EAGER
        """Up to so many elements, then."""
        self.left = SPAN
        """Results by nodes that are yet to come before something changes."""
        self._next: Callable[[], None] = self._looks
        self.granted = GRANTED.value = 0
        """Nodes that machine code may make before Python counts those that it has made."""
        self._pace: Pace | None = None
        """Who counts them."""
        NOW.weighs = False
        self._ends()

    @property
    def spans(self) -> Spans:
        """What has been measured."""
        if self._spans is None:
            from lazyarr.spans import Spans  # here: a process of small arrays needs none of it

            self._spans = Spans(SPAN, SPANS)
        return self._spans

    def opens(self) -> None:
        """Begin directly."""
        if not is_barred():
            self._starts(EARLY, AT_FIRST)
            self.left, self._next, self._began = FIRST // EARLY, self._opened, 0.0

    def counts(self, measure: float) -> bool:
        """One more result of medium size, so large, that Python sees: is it NumPy's?"""
        if self.on:
            for hear in WAITING:
                hear(int(measure) // AS_SMALL)
            MADE.value += 1
            if MADE.value > UNTIL.value:
                self.hear()
        else:
            self.left -= 1
            if self.left <= 0:
                self.hear()
        return self.on and measure <= self.reach

    def grant(self, pace: Pace | None, code: CodeType | None) -> None:
        """Let machine code make nodes until something changes: all of them, or those of a piece of code."""
        most = NOW.quiet if pace is None else pace.left()
        self._pace, GRANTEE.value = pace, 0 if code is None else id(code)
        self.granted = GRANTED.value = max(0, min(self.left - 1, most))

    def taken(self) -> None:
        """Count those that it has made."""
        made = self.granted - GRANTED.value
        self.granted = GRANTED.value = 0
        self.left -= made
        if self._pace is None:
            NOW.quiet = max(0, NOW.quiet - made)
        else:
            self._pace.passes(made)

    def mark(self) -> tuple[bool, int]:
        """Where counting is: for `once`."""
        on = self.on
        return on, MADE.value if on else self.left

    def once(self, mark: tuple[bool, int]) -> None:
        """What has been counted since a mark is one result, which NumPy's own code made in some steps."""
        on, at = mark
        if on is self.on:
            if not on:
                self.left = max(self.left, at - 1)
            elif MADE.value > at + 1:
                MADE.value = at + 1

    def hear(self, finalizing: Any = sys.is_finalizing) -> None:
        """It is time for what comes next; not where the interpreter ends: nothing can be imported then."""
        if not finalizing() and self._lock.acquire(False):      # (else another thread is at it)
            try:
                self._next()
            finally:
                self._lock.release()

    def barred(self) -> None:
        """Options have come into force for which nothing is NumPy's that is not small."""
        if self.on:
            self._ends()
            self.left, self._next = LASTING[False], self._looks

    def may_be_sooner(self) -> None:
        """Some code's calls are NumPy's from now on, by Python: directly they may be sooner still."""
        if not self.on and self._next == self._looks:
            self.left = min(self.left, SETTLING)

    def _opened(self) -> None:
        """The next results of a process are there."""
        self.left -= 1
        if not self._began:
            keep_heap(HEAP)
            self._stays()
        spent = thread_time() - self._began
        if self.left <= 0 or spent > LOADING or (spent > SOON and _paid_before()):
            from lazyarr.worth import rented  # here: a process of small arrays needs no engine

            rented(1e9 * spent)
            self.spans.at_first = spent / (EARLY * max(1, FIRST // EARLY - 1 - self.left))
            self._stayed()
        else:
            UNTIL.value += EARLY

    # ------------------------------------------------------------------------------- spans

    def _looks(self) -> None:
        if is_barred() or not may_try():
            self.left = SPAN * RARELY
            return
        if self._delays and pace.is_coming():
            self._delays -= 1
            self.left = SPAN
            return
        pace.look_anew()
        habits.look_anew()
        self.spans.looks_anew()
        NOW.weighs = True
        self._thread = get_ident()
        self.left, self._next = SPAN, self._looked
        self._begins()

    def _looked(self) -> None:
        fallbacks = self._waiting_for_plans() - self._fallbacks
        took, least = self._took(SPAN), NOW.least / SPAN
        self.left = SPAN
        if self._thread != get_ident():
            self._looks()
            return
        if NOW.in_vain - self._in_vain > VAIN * SPAN and self._may_try():
            from lazyarr.worth import forfeited  # here: as `rented`

            forfeited()
            self._decides(True)                 # (who makes nodes for NumPy to compute is later in any case)
            return
        spans, waits = self.spans, fallbacks > UNPLANNED * SPAN
        counts = spans.adds(took, least, self._was_busy(), waits)
        if not counts and spans.is_late() and self._may_try():
            self._rests(True)
        elif spans.nodes_are_surely_sooner():
            self._decides(False)                # (to cut what waits would take new plans, for nothing)
        elif spans.is_enough():
            self._tries()
        else:
            self._begins()

    def _may_try(self) -> bool:
        if is_barred() or not may_try() or not _is_there():
            return False
        keep_heap(HEAP)
        return True

    def _tries(self) -> None:
        NOW.weighs = False
        self.spans.compares()
        if not self._may_try():
            self._rests(False)
            return
        self._starts(LAG)
        self._next = self._caught_up

    def _caught_up(self) -> None:
        UNTIL.value, self._next = MADE.value + self._next_span(), self._tried
        self._begins()

    def _tried(self) -> None:
        spans = self.spans
        spans.directly.append(self._took(self._next_span()))
        later = spans.numpy_is_clearly_later()
        if self._thread != get_ident():
            self._rests(False)
        elif len(spans.directly) < len(DIRECTLY) and not later:
            self._caught_up()
        else:
            self._decides(not later and spans.numpy_is_sooner())

    def _next_span(self) -> int:
        """Results of the next one in which NumPy tries."""
        return DIRECTLY[len(self.spans.directly)]

    def _decides(self, directly: bool) -> None:
        """Rest, with what has been measured, of which later runs hear, too."""
        from lazyarr.earlier_runs import RUNS  # here: as `rented`

        RUNS.note(not directly)
        self._rests(directly)

    def _rests(self, directly: bool) -> None:
        """Leave it at that for some time."""
        NOW.weighs = False
        lasting = self._lasting[directly]
        self._lasting[directly] = min(2 * lasting, MOST_LASTING[directly])
        self._lasting[not directly] = LASTING[not directly]
        if directly:
            COUNT.hastened += 1
            self._stays(lasting)
        else:
            self._ends()
            self.left, self._next = lasting, self._looks

    def _stays(self, results: int = 0) -> None:
        """Let so many more be NumPy's, if any, and see what they take."""
        if results:
            self._starts(results)
            self._next = self._stayed
        self._thread, self._made, self._began = get_ident(), MADE.value, thread_time()

    def _stayed(self) -> None:
        results, spent = MADE.value - self._made, thread_time() - self._began
        self.spans.stays(results if self._thread == get_ident() else 0, spent)
        if self.spans.late:
            from lazyarr.worth import rented  # here: as above

            self.spans.late = 0
            rented(1e9 * self.spans.spent)
        self._ends()
        self.left, self._next = SETTLING, self._looks

    # ------------------------------------------------------------------------------- words

    def _starts(self, results: int, most: int = MEDIUM) -> None:
        """Let so many results be NumPy's, up to so many times `eager_elements`."""
        self.granted = GRANTED.value = 0
        NOW.looker, NOW.thread = None, 0        # what is timed elsewhere has come to nothing
        UNTIL.value = MADE.value + results
        self.reach = most * EAGER
        MOST.value, LIMIT.value, self.on = self.reach * WIDEST, self.reach, True
        if is_barred():                         # since it was asked
            self._ends()

    def _ends(self) -> None:
        """Let small results alone be NumPy's."""
        LIMIT.value, MOST.value, self.on = EAGER, 8 * EAGER, False

    # -------------------------------------------------------------------------------- time

    def _begins(self) -> None:
        self._fallbacks, self._in_vain = self._waiting_for_plans(), NOW.in_vain
        NOW.least = 0.0
        self._busy, self._began = _busy(), thread_time()

    def _waiting_for_plans(self) -> int:
        """How many nodes NumPy has computed so far that may have a plan one day."""
        return COUNT.numpy_fallbacks - self.calls - NOW.in_vain

    def _was_busy(self) -> bool:
        """Did plans and compiling take much of it?  Then nobody knows the rest: theirs is the clock's time,
        in which other programs may have had the CPU."""
        return _busy() - self._busy > UNPLANNED * (thread_time() - self._began)

    def _took(self, results: int) -> float:
        """Seconds that each of so many results took, but for plans and compiling."""
        return max(thread_time() - self._began - (_busy() - self._busy), 0.0) / results


def _paid_before() -> bool:
    from lazyarr.earlier_runs import RUNS  # here: as `rented`

    return RUNS.paid()


def _busy() -> float:
    return COUNT.seconds["plan"] + COUNT.seconds["compile"]


def _is_there() -> bool:
    """Is the slots' code in place?  It is put there now if it may be."""
    if WAITING:
        from lazyarr.slots import hasten  # here: machine code is for programs that need it

        hasten()
    return not WAITING


DIRECT = Direct()
BARRING.append(DIRECT.barred)
SOONER.append(DIRECT.may_be_sooner)
DIRECT.opens()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=DIRECT.begins_anew)


def hear(told: Any = DIRECT.hear) -> None:
    """Called by the slots.  (Arguments as in `values.Buffer.__del__`.)"""
    told()
