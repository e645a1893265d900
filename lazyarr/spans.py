"""What results of medium size have taken, and which way that says is the sooner one (`direct`).

In:  seconds that a result took in spans of results by nodes, and directly by NumPy; those with which the
process began, and those while NumPy stayed.   Out: whether nodes have been looked at for long enough, and
whether NumPy is sooner.
Spans of nodes count where there are plans: before that, nobody knows what they will take.  What results took
directly before is known, too: where those by nodes are much slower two spans of them will do, and where all
of them have lost a share of the time that was spent so, plans or not, NumPy tries then; if it is the sooner
one, plans are waited for later.
"""

from __future__ import annotations

MOST_ANEW = 8
"""So often those by nodes are counted anew from one on that is shorter than all before by that much (`GAIN`):
code that takes over from Python has been loaded."""

PATIENCE = 24
"""Spans that wait for plans, at most: then all count."""

LATE = 2
"""After so many such spans in a row that take much longer (`CLEAR`) than what a process began with, NumPy
computes directly again, and what that takes pays for plans."""

GAIN = 0.9
"""Of the time by nodes, at most, NumPy's has to be."""

SLOWER, LIKELY = 0.6, 0.5
"""Where results take less than the one, of what those took with which the process began, that share of nodes'
time is enough for the least that NumPy takes (`pace.AT_LEAST`): it takes more, as it did then."""

CLEAR = 1.5
"""So many times as long is much longer."""

LOSS = 0.25
"""So much of the time that was spent directly nodes may lose until NumPy tries."""


class Spans:
    """What has been measured: seconds of a result, on an average of each span; 0 where nobody knows."""

    __slots__ = (
        "_anew", "_least", "at_first", "by_nodes", "directly", "late", "number", "patience", "since", "size",
        "spent", "stayed",
    )  # fmt: skip

    def __init__(self, size: int, number: int) -> None:
        self.size, self.number = size, number
        """Results that are timed together, and how many such spans count, of both ways."""
        self.at_first = 0.0
        """With which the process began."""
        self.spent = self.stayed = 0.0
        """While NumPy stayed, the last time: of all results together, and of each."""
        self.since: list[float] = []
        """By nodes since then, with plans or without."""
        self.by_nodes: list[float] = []
        """Those of them that count."""
        self._least: list[float] = []
        """What each of these would have taken NumPy, at least."""
        self.directly: list[float] = []
        self.patience = PATIENCE
        """Spans that may still wait for plans."""
        self.late = 0
        """Those in a row that took much longer than what the process began with."""
        self._anew = 0
        """How often more those by nodes are counted anew."""

    def looks_anew(self) -> None:
        """Nodes come now, and count from here on."""
        self.by_nodes, self._least, self.directly, self.since = [], [], [], []
        self._anew = MOST_ANEW

    def adds(self, took: float, least: float, busy: bool, waits: bool) -> bool:
        """One more span of nodes, which would have taken NumPy `least`: does it count?  Not if plans took
        much of its time (`busy`), or many of its nodes wait for one."""
        if not busy:
            self.since.append(took)
        if (busy or waits) and self.patience:
            self.patience -= 1
            self.by_nodes.clear()
            self._least.clear()
            if not busy:
                self.late = self.late + 1 if 0.0 < CLEAR * self.at_first < took else 0
            return False
        if self.by_nodes and self._anew and took < GAIN * min(self.by_nodes):
            self._anew -= 1
            self.by_nodes, self._least = [], []
        self.by_nodes.append(took)
        self._least.append(least)
        return True

    def stays(self, results: int, spent: float) -> None:
        """NumPy has stayed for so many results; for none if nobody knows what they took."""
        self.spent, self.stayed = (spent, spent / results) if results > 0 and spent > 0.0 else (0.0, 0.0)

    # ---------------------------------------------------------------------------- verdicts

    def is_late(self) -> bool:
        """Do nodes that wait for plans take much longer than what the process began with?"""
        return self.late >= LATE

    def nodes_are_surely_sooner(self) -> bool:
        """Would NumPy take longer, by the least that it takes, or by more where it did at first?"""
        if len(self.by_nodes) != self.number:
            return False
        by_nodes = usual(self.by_nodes)
        share = LIKELY if by_nodes < SLOWER * self.at_first else 1.0
        return sum(self._least) > self.number * GAIN * by_nodes * share

    def is_enough(self) -> bool:
        """Have nodes been looked at for long enough?"""
        return len(self.by_nodes) >= self.number or self._is_slow() or self._loses()

    def _is_slow(self) -> bool:
        """Are some spans by nodes much slower than results were directly?"""
        spans = self.by_nodes
        return len(spans) > 1 and sum(spans) > len(spans) * CLEAR * self.stayed > 0.0

    def _loses(self) -> bool:
        """Have nodes lost too much by now?  (Not in the first span, in which code is loaded.)"""
        counted = self.since[1:]
        lost = self.size * (sum(counted) - len(counted) * self.stayed)
        return bool(self.stayed) and lost > LOSS * self.spent

    def compares(self) -> None:
        """NumPy tries now: it is compared with all that there is, if few spans count.  (Not with one alone:
        spans that count may be more, if plans took much of their time.)"""
        if len(self.by_nodes) < self.number and len(self.since) > 1:
            self.by_nodes = self.since[-self.number :]

    def numpy_is_clearly_later(self) -> bool:
        """Does NumPy take much longer, in two spans or more?  (Short ones may have the program's own time:
        that is no reason where NumPy was sooner before.)"""
        by_nodes = usual(self.by_nodes)
        clear = len(self.directly) > 1 and min(self.directly) > CLEAR * by_nodes
        return clear and not 0.0 < self.stayed < by_nodes

    def numpy_is_sooner(self) -> bool:
        return usual(self.directly[-self.number :]) < GAIN * usual(self.by_nodes)


def usual(spans: list[float]) -> float:
    """Of all spans but the longest, on an average."""
    return sum(sorted(spans)[:-1]) / (len(spans) - 1)
