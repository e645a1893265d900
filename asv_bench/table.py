"""Print how lazyarr compares with NumPy, one line per workload and size, and with other engines.

    python table.py [--page FILE] [part of a name...]

With ``--page`` only target programs are measured, and their rows written into that page, too.
All are measured in turn, in rounds, so that a slow spell of the machine hits all of them: target programs in
a process for each engine, the others in this one.  Per line: the medians over the rounds, the median of the
rounds' ratios with its quartiles, and whether the results have equal bits.  Inputs change from call to call;
``kept`` lines keep the last results alive.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy
from benchmarks.targets import TARGETS
from benchmarks.workloads import KEPT, SETS, WORKLOADS, Running

SIZES = (10, 100_000, 10_000_000)
BUDGET = 1.0
"""Seconds per line, beyond the least number of rounds."""
ROUNDS = (5, 30)
SHORTEST = 1e-3
"""Seconds of one measurement; shorter calls are repeated."""


@dataclass(frozen=True)
class Timing:
    """One line: seconds per call, and NumPy's time over lazyarr's."""

    numpy: float
    lazyarr: float
    ratio: float
    low: float
    high: float


def seconds(call: Callable[[], Any], times: int) -> float:
    """Mean time of one call."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def repeats(call: Callable[[], Any]) -> int:
    """How many calls make a measurement long enough."""
    times = 1
    while (spent := seconds(call, times) * times) < SHORTEST:
        times = max(times * 2, int(times * SHORTEST / max(spent, 1e-9)))
    return times


def alternate(first: Callable[[], Any], second: Callable[[], Any]) -> Timing:
    """Measure two calls in turn."""
    counts = repeats(first), repeats(second)
    rounds: list[tuple[float, float]] = []
    end = time.perf_counter() + BUDGET
    while len(rounds) < ROUNDS[0] or (len(rounds) < ROUNDS[1] and time.perf_counter() < end):
        rounds.append((seconds(first, counts[0]), seconds(second, counts[1])))
    ratios = [a / b for a, b in rounds]
    low, middle, high = statistics.quantiles(ratios, n=4)
    ours = statistics.median(b for _, b in rounds)
    return Timing(statistics.median(a for a, _ in rounds), ours, middle, low, high)


def equal_bits(a: Any, b: Any) -> bool:
    """Same shape, type and bits; NaNs count as equal."""
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    bits = f"u{a.dtype.itemsize}"
    return bool(((a.view(bits) == b.view(bits)) | (a != a) & (b != b)).all())


def duration(value: float) -> str:
    for unit, scale in (("us", 1e-6), ("ms", 1e-3)):
        if value < scale * 1000:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} s"


def measure(name: str, n: int, keep: str) -> str:
    base, ours = Running("numpy", name, n, keep), Running("lazyarr", name, n, keep)
    equal = all(equal_bits(base(), ours()) for _ in range(SETS))
    t = alternate(base, ours)
    return (
        f"{name:<18} {n:>10,} {keep:<8} {duration(t.numpy):>9} {duration(t.lazyarr):>9}"
        f" {t.ratio:>7.2f}x  {t.low:5.2f} .. {t.high:<5.2f}  {'equal' if equal else 'DIFFERENT'}"
    )


def lines(chosen: list[str]) -> Iterator[str]:
    head = f"{'workload':<18} {'n':>10} {'results':<8} {'NumPy':>9} {'lazyarr':>9} {'faster':>8}"
    yield f"{head}  quartiles       bits"
    for name in chosen:
        for n in SIZES:
            yield measure(name, n, "dropped")
        if name in KEPT:
            yield measure(name, SIZES[-1], "kept")


def against_peers(chosen: list[str], page: Path | None) -> Iterator[str]:
    """Target programs in all engines: rows of a Markdown table."""
    from side_by_side import HEAD, line, measure, note

    yield line(HEAD)
    yield line("-" for _ in HEAD)
    for name in chosen:
        row = measure(name)
        if page:
            note(page, row)
        yield line(row.cells())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all if there are none")
    parser.add_argument("--page", type=Path, help="a page with a row for each target program")
    given = parser.parse_args()

    def chosen(table: Iterable[str]) -> list[str]:
        return [name for name in table if not given.names or any(part in name for part in given.names)]

    different = False
    workloads, targets = [] if given.page else chosen(WORKLOADS), chosen(TARGETS)
    first = lines(workloads) if workloads else ()
    second = against_peers(targets, given.page) if targets else ()
    for line in chain(first, second):
        print(line, flush=True)
        different = different or "DIFFERENT" in line
    if different:
        sys.exit("results differ")


if __name__ == "__main__":
    main()
