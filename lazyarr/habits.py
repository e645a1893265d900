"""Which calls gain nothing by waiting: results of medium size that are always computed alone.

In:  calls at a place of the program, and how long their results took, computed alone.   Out: is the next one
NumPy's, at the call?
To build a node, to plan and to launch take as long as NumPy needs for one operation on some hundred thousand
elements.  Such a node pays where it is fused with others.  Whether it will be nobody can say at the call; but
what happened to the results of this line before is known.  So a line whose results were computed alone a
number of times, or with few operations more, has NumPy try, and the sooner of the two stays for some time.
If that is waiting, nobody looks any more, but at calls that Python makes anyway: if these take longer than
NumPy did, it tries again.
Only times depend on that, never a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from lazyarr.expr import Expr
from lazyarr.srcloc import Loc

MEDIUM = 8
"""Up to so many times `eager_elements` a result is of medium size."""

ALONE = 64
"""So many results are computed alone before NumPy is tried: a program that comes to a line so often comes
there for long, and they have taken no more than some milliseconds."""

AGAIN = 16
"""The same where NumPy was the sooner one before."""

MIXED = 16
"""Of so many results that are computed alone, about one may be computed with others, or not at all."""

TRIES = 4
"""Calls that NumPy does before there is a decision."""

LASTING = 512
"""Calls for which it stands."""

FEW = 4
"""Nodes of which the first may be sooner by itself: then the next one is the first.  (More of them are worth
waiting for.)"""

SURELY = 8
"""So often some results in a row (three) were computed with others, all of them, until nobody looks for some
time (`slot_words.GRANTED`).  And so many results in a row, computed alone, took longer than NumPy had, where
waiting was the sooner way, until NumPy tries again."""

LATER = 1.5
"""They do where they take so many times as long, NumPy's least time being one of few."""

BUILDING = 3e-6
"""Seconds that machine code takes for a node, where caches are cold.  What is looked at was made by Python,
and took ten times as long, but the next ones will not be."""

MAX_HABITS = 4096
"""All are forgotten when there are more."""

MAX_WATCHED = 64
"""Results that are waited for; all are given up when there are more."""


class Habit:
    """What is known of one kind of calls at one place."""

    __slots__ = (
        "alone", "at_call", "calls", "fused", "later", "needed", "sooner", "tries", "waited", "waits",
    )  # fmt: skip

    def __init__(self) -> None:
        self.calls = 0
        """Since the last change."""
        self.alone = 0
        """Of these, how many results were computed alone."""
        self.fused = 0
        """How often some results in a row were all computed with others."""
        self.needed = ALONE
        self.waited = self.at_call = inf
        """The least time that a result has taken, of the two ways."""
        self.tries = 0
        """That NumPy has yet to do."""
        self.sooner = False
        """Is NumPy the sooner one?"""
        self.waits = False
        """Was it found not to be?"""
        self.later = 0
        """How many results in a row have taken longer than NumPy had, then."""

    def need_not_look(self) -> bool:
        """May the next calls be nodes, unseen?"""
        return self.waits or self.fused >= SURELY

    def is_numpys(self) -> bool:
        """Is the call that is under way NumPy's?"""
        self.calls += 1
        if self.tries:
            return True
        if self.calls > LASTING if self.sooner else self.calls - self.alone > 2 + self.alone // MIXED:
            self._anew()
        return self.sooner

    def _anew(self) -> None:
        self.fused += not self.alone
        self.calls, self.alone, self.sooner, self.waits = 0, 0, False, False
        self.waited = self.at_call = inf

    def took(self, seconds: float) -> None:
        """NumPy has done a call."""
        self.at_call = min(self.at_call, seconds)
        if self.tries:
            self.tries -= 1
            if not self.tries:
                self.calls, self.alone, self.sooner = 0, 0, self.at_call < self.waited
                self.needed = AGAIN if self.sooner else LASTING
                self.waits, self.later = not self.sooner, 0

    def ran_alone(self, seconds: float) -> None:
        """A result that had waited was computed alone."""
        self.alone, self.fused = self.alone + 1, 0
        self.waited = min(self.waited, seconds)
        self.later = self.later + 1 if seconds > LATER * self.at_call else 0
        if (self.alone >= self.needed or (self.waits and self.later >= SURELY)) and not self.sooner:
            self.tries, self.waits = TRIES, False


HABITS: dict[tuple[int, int, int], Habit] = {}
_pins: list[object] = []
"""Whose identity the keys go by."""

WATCHED: dict[int, tuple[Habit, float]] = {}
"""Serial of a pending node -> the habit that it tells about, and the seconds that building it took."""


def habit_of(loc: Loc, kind: object) -> Habit:
    """What is known of calls of one `kind` (by identity) at a place."""
    key = id(loc[0]), loc[1], id(kind)
    found = HABITS.get(key)
    if found is None:
        if len(HABITS) >= MAX_HABITS:
            HABITS.clear()
            _pins.clear()
        found = HABITS[key] = Habit()
        _pins.append((loc[0], kind))
    return found


def look_anew() -> None:
    """Let results wait again where NumPy was found to be the sooner one (as `pace.look_anew`)."""
    for each in list(HABITS.values()):          # (other threads may enter more)
        if each.sooner:
            each.calls = LASTING


def watch(node: Expr, habit: Habit, seconds: float) -> None:
    """See how a pending node is computed, which was built in so many seconds."""
    if len(WATCHED) >= MAX_WATCHED:
        WATCHED.clear()
    WATCHED[node.serial] = habit, seconds


Told = tuple[Habit, float, float]


def told_by(nodes: Sequence[Expr], share: float | None = None) -> Told | None:
    """The habit that an evaluation of these nodes tells about; the seconds of building; how much of the time
    for all nodes is the habit's.  `share`: the first one's, if that is known."""
    told = told_of(nodes[0].serial, len(nodes), share or 0.0)
    if told is None or told[2]:
        return told
    from lazyarr.compiler import numpy_ns  # here: whoever imports lazyarr need not wait for it

    works = [*map(numpy_ns, nodes)]
    return *told[:2], works[0] / sum(works)


def told_of(first: int, count: int, share: float) -> Told | None:
    """The same of the first node's serial, how many there are, and the first one's share."""
    found = WATCHED.pop(first, None)
    if found is None:
        return None
    if count == 1:
        return *found, 1.0
    WATCHED.clear()                             # what else is among them is not alone
    return None if count > FEW else (*found, share)
