"""Print how lazyarr compares with NumPy: one line per workload and size.

    python table.py [part of a workload's name...]

Both are measured in turn, in rounds, in this process, so that a slow spell of the machine hits both.
Per line: the medians over the rounds, the median of the rounds' ratios with its quartiles, and whether
the results have equal bits.  Inputs change from call to call; ``kept`` lines keep the last results alive.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
from benchmarks.workloads import SETS, TARGETS, WORKLOADS, Running
from peers import peers

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
        if name in TARGETS:
            yield measure(name, SIZES[-1], "kept")


def compared(name: str) -> Iterator[str]:
    """The same workload in other engines, on the largest size."""
    for engine, call in peers(name).items():
        base = Running("numpy", name, SIZES[-1])
        peer = Running("numpy", name, SIZES[-1])
        peer.call = lambda np, *arrays, call=call: call(*arrays)
        start = time.perf_counter()
        peer()
        first = time.perf_counter() - start
        t = alternate(base, peer)
        took, began = duration(t.lazyarr), duration(first)
        yield f"{name:<18} {engine:<8} {took:>9} {t.ratio:>7.2f}x  first call {began}"


def main(*wanted: str) -> None:
    chosen = [name for name in WORKLOADS if not wanted or any(part in name for part in wanted)]
    different = False
    for line in lines(chosen):
        print(line, flush=True)
        different = different or line.endswith("DIFFERENT")
    print("\nOther engines, over NumPy:")
    for name in chosen:
        if name in TARGETS:
            for line in compared(name):
                print(line, flush=True)
    if different:
        sys.exit("results differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
