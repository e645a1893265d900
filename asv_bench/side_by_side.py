"""A target program in NumPy, lazyarr and other engines, measured in turn in one process.

In:  a name of `benchmarks.targets.TARGETS`.
Out: `Row`: times, ratios with their spread, whether results are NumPy's.

Before each measurement the engine runs once unmeasured, after a pause: the threads of the one before may
still spin, its own may sleep.  Inputs change from call to call.  lazyarr's results must have NumPy's bits,
the others' be close.
"""

from __future__ import annotations

import gc
import re
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from benchmarks.targets import TARGETS, Running, as_tuple
from benchmarks.workloads import SETS
from peers import ENGINES, peers
from table import duration, equal_bits, repeats, seconds

import lazyarr
from lazyarr.config import OBSERVED
from lazyarr.debug import watch
from lazyarr.debug.explain import Explanation

PAUSE = 5e-3
"""Seconds until idle threads of other engines sleep."""
WARM = 0.4
"""Seconds that each engine runs before it is measured: what compiles hot code does so by then."""
BUDGET = 7.0
ROUNDS = 7, 31
HEAD = (
    "program", "NumPy", "lazyarr", *ENGINES, "over NumPy", "over the fastest peer", "moved, over the least",
    "results",
)  # fmt: skip


class Row(NamedTuple):
    """Medians in seconds, and ratios of the rounds: their lower quartile, median, upper quartile."""

    name: str
    seconds: dict[str, float]
    over_numpy: tuple[float, ...]
    over_peer: tuple[float, ...] | None
    fastest: str
    moved: int
    """Bytes that lazyarr's plans of a call read and write, """
    least: int
    """and that they must: what each evaluation is given once, and what it leaves."""
    equal: bool
    strange: list[str]
    """Engines whose results are not NumPy's approximately."""

    def cells(self) -> list[str]:
        times = [duration(self.seconds[e]) if e in self.seconds else "" for e in HEAD[1 : 3 + len(ENGINES)]]
        peer = f"{spread(self.over_peer)} {self.fastest}" if self.over_peer else ""
        results = ["equal bits" if self.equal else "DIFFERENT"]
        results += [f"{engine}'s are not close" for engine in self.strange]
        moved = f"{self.moved / 1e6:.3g} MB, {self.moved / self.least:.2f}"
        return [self.name, *times, spread(self.over_numpy), peer, moved, ", ".join(results)]


def spread(ratio: tuple[float, ...]) -> str:
    low, middle, high = ratio
    return f"{middle:.2f} ({low:.2f} .. {high:.2f})"


def close(mine: Any, theirs: Any) -> bool:
    """Up to rounding, also of differences that cancel."""
    pairs = zip(as_tuple(mine), as_tuple(theirs), strict=True)
    return all(numpy.allclose(numpy.asarray(a), numpy.asarray(b), rtol=1e-3, atol=1e-4) for a, b in pairs)


def same(mine: Any, theirs: Any) -> bool:
    return all(equal_bits(a, b) for a, b in zip(as_tuple(mine), as_tuple(theirs), strict=True))


def traffic(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that the plans of a call move, and the least that they could."""
    found: list[Explanation] = []
    watch.LISTENERS.append(found.append)
    OBSERVED.append("traffic")
    try:
        call()
    finally:
        OBSERVED.remove("traffic")
        watch.LISTENERS.remove(found.append)
    return sum(e.bytes_moved for e in found), sum(e.bytes_least for e in found)


def warm(call: Callable[[], Any]) -> None:
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        call()


def rounds(calls: dict[str, Callable[[], Any]]) -> list[dict[str, float]]:
    """Seconds per call of each, round by round."""
    for call in calls.values():
        warm(call)
    times = {name: repeats(call) for name, call in calls.items()}
    found: list[dict[str, float]] = []
    end = time.perf_counter() + BUDGET
    gc.disable()
    while len(found) < ROUNDS[0] or (len(found) < ROUNDS[1] and time.perf_counter() < end):
        found.append({})
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()
            found[-1][name] = seconds(call, times[name])
    gc.enable()
    return found


def measure(name: str) -> Row:
    """One row of the table."""
    lazyarr.set_options(tier="2")       # what a program comes to that runs for long
    others = peers(name, TARGETS[name].sets())
    base, ours = Running("numpy", name), Running("lazyarr", name)
    results = [base() for _ in range(SETS)]
    equal = all(same(ours(), r) for r in results)
    strange = [e for e, peer in others.items() if not all(close(peer(), r) for r in results)]
    del results
    found = rounds({"NumPy": base, "lazyarr": ours, **others})
    medians = {e: statistics.median(r[e] for r in found) for e in found[0]}

    def over(engine: str) -> tuple[float, ...]:
        return tuple(statistics.quantiles([r[engine] / r["lazyarr"] for r in found], n=4))

    fastest = min(others, key=medians.__getitem__, default="")
    peer = over(fastest) if fastest else None
    return Row(name, medians, over("NumPy"), peer, fastest, *traffic(ours), equal, strange)


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def note(page: Path, row: Row) -> None:
    """Put a row in its place on a page, which keeps those of other programs."""
    text = page.read_text()
    old = re.compile(rf"^\| {re.escape(row.name)} \|.*$", re.MULTILINE)
    assert old.search(text), f"{page} has no row for {row.name}"
    page.write_text(old.sub(lambda _: line(row.cells()), text))
