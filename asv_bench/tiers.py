"""Measure what the second tier of kernels gains: one line for each workload and size.

    python tiers.py [part of a workload's name...]

A line has the time that a call spends in kernels of tier 1, the median over rounds of tier 2's time over that
one, with quartiles, whether the results have equal bits, and what LLVM took for a module, at each of its code
generation levels.  One thread runs the kernels; both tiers take turns.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.workloads import SETS, WORKLOADS, Running, finisher
from table import duration, equal_bits

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.dispatch import jit

SIZES = (10_000, 1_000_000, 10_000_000)
TIERS = (1, 2)
ROUNDS = 9
SHORTEST = 2e-3
"""Seconds of one measurement, all that is not kernels among it."""

Compiling = dict[int, list[float]]
"""Seconds by code generation level."""


def watched(spent: Compiling) -> Callable[..., bytes]:
    """LLVM, with a clock."""
    compile_object = jit.compile_object

    def compiled(ir: str, target: Any, opt: int = 0) -> bytes:
        began = time.perf_counter()
        body = compile_object(ir, target, opt)
        spent.setdefault(opt, []).append(time.perf_counter() - began)
        return body

    return compiled


def kernel_seconds(call: Callable[[], Any], times: int) -> float:
    before = COUNT.seconds["run"]
    for _ in range(times):
        call()
    return (COUNT.seconds["run"] - before) / times


def measure(name: str, n: int, spent: Compiling) -> str:
    spent.clear()
    call, results = Running("lazyarr", name, n), {}
    call.finish = finisher("lazyarr")           # small results wait here, too
    for tier in TIERS:
        with lazyarr.options(tier=tier):
            results[tier] = [call() for _ in range(2 * SETS)][SETS:]
    equal = all(equal_bits(a, b) for a, b in zip(*results.values(), strict=True))
    began = time.perf_counter()
    call()
    times, rounds = max(2, int(SHORTEST / (time.perf_counter() - began))), []
    for k in range(ROUNDS):
        took = {}
        for tier in TIERS if k % 2 else TIERS[::-1]:
            with lazyarr.options(tier=tier):
                call()
                took[tier] = kernel_seconds(call, times)
        rounds.append(took)
    low, middle, high = statistics.quantiles((r[2] / r[1] for r in rounds), n=4)
    means = ", ".join(f"opt {opt} {statistics.mean(s) * 1e3:.1f} ms" for opt, s in sorted(spent.items()))
    return (
        f"{name:<18} {n:>10,} {duration(statistics.median(r[1] for r in rounds)):>9} {middle:>6.2f}"
        f"  {low:.2f} .. {high:.2f}  {'equal' if equal else 'DIFFERENT':<9}  {means}"
    )


def lines(wanted: list[str]) -> Iterator[str]:
    yield f"{'workload':<18} {'n':>10} {'tier 1':>9} {'tier 2':>6}  quartiles     bits       a compile"
    spent: Compiling = {}
    jit.compile_object = watched(spent)
    for name, workload in WORKLOADS.items():
        if not wanted or any(part in name for part in wanted):
            yield from (measure(name, n, spent) for n in SIZES if n > 4 * workload.columns)


def main(*wanted: str) -> None:
    lazyarr.set_options(jit="always", num_threads=1, cache_bytes=0)
    for line in lines(list(wanted)):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
