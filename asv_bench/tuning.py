"""Measure on this host what `lazyarr.tuning` says: print how other values compare with those in force.

    python tuning.py [part of a parameter's name...] [--levels X86_V2,X86_V3] [--tier 1] [--threads 1]

For each CPU level that the host has, a line for each parameter, program and size: the time with the value
in force (marked by a star), then for every value the median, over rounds in which all take turns, of its
time over that one, with quartiles.  Only launches of kernels are timed.  Results are compared: no value may
change a bit.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

import lazyarr
from lazyarr import kernels, launch, planning, tuning
from lazyarr.dispatch.levels import usable_levels

ROUNDS = 11
SHORTEST = 1e-3
"""Seconds of one measurement; shorter launches are repeated."""

Program = Callable[..., Any]


def triad(a: Any, b: Any) -> Any:
    return a + b * a


def chain(a: Any, b: Any) -> Any:
    return ((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0


def long_chain(a: Any, b: Any) -> Any:
    for _ in range(32):
        a = a * b + b
    return a


def scalars(a: Any, b: Any) -> Any:
    """Each of them takes a register."""
    for _ in range(32):
        a = a * 0.5 + b
    return a


def powers(a: Any, b: Any) -> Any:
    return lazyarr.exp(lazyarr.log(a) * b)


def nested(a: Any, b: Any) -> Any:
    return lazyarr.exp(-lazyarr.exp(-lazyarr.exp(-a)))


def five_points(a: Any, b: Any) -> Any:
    x = a.reshape(-1, 1000)
    return 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def nine_points(a: Any, b: Any) -> Any:
    x = a.reshape(-1, 1000)
    nearby = [x[i : i - 2 or None, k : k - 2 or None] for i in range(3) for k in range(3)]
    return sum(nearby[1:], start=nearby[0]) / 9.0


def compared(a: Any, b: Any) -> Any:
    return lazyarr.where((a > b) & (a < 1.2), a - b, a * 2)


def then_read(a: Any, b: Any) -> Any:
    x = a + b * a
    lazyarr.evaluate(x)
    return x, (x - b).sum()


def then_written(a: Any, b: Any) -> Any:
    x = a + b * a
    lazyarr.evaluate(x)
    return x, x * b


def total(a: Any, b: Any) -> Any:
    return a.sum()


def squares(a: Any, b: Any) -> Any:
    return ((a - b) ** 2).sum()


def columns(a: Any, b: Any) -> Any:
    return (a.reshape(-1, 1000) * 2).sum(axis=0)


def wide(a: Any, b: Any) -> Any:
    return a.reshape(-1, 5000).sum(axis=0)


def narrow(a: Any, b: Any) -> Any:
    return a.reshape(-1, 100).sum(axis=0)


def apart(a: Any, b: Any) -> Any:
    return a.reshape(-1, 5000)[:, 300:700].sum(axis=0)


def few(a: Any, b: Any) -> Any:
    return a.reshape(-1, 5000)[:, 300:316].sum(axis=0)


def runs(a: Any, b: Any) -> Any:
    return a.reshape(-1, 100).sum(axis=1)


def short_runs(a: Any, b: Any) -> Any:
    return a.reshape(-1, 20).sum(axis=1)


def scan(a: Any, b: Any) -> Any:
    return lazyarr.cumsum(a.reshape(-1, 1000), axis=0)


def distances(a: Any, b: Any) -> Any:
    return ((a.reshape(-1, 1, 32) - b.reshape(1, -1, 32)) ** 2).sum(axis=2)


def manhattan(a: Any, b: Any) -> Any:
    return lazyarr.abs(a.reshape(-1, 1, 8) - b.reshape(1, -1, 8)).sum(axis=2)


class Parameter(NamedTuple):
    """A field of `Tuning` (or the module's own number), values to try, and what to try them on.
    (`abreast` and what follows it make a difference at tier 2 alone.)"""

    values: tuple[int, ...]
    programs: tuple[Program, ...]
    sizes: tuple[int, ...]
    dtypes: tuple[str, ...] = ("float64",)


BOTH = "float64", "float32"
CACHED, SHARED, LARGE = 10_000, 1_000_000, 10_000_000
POINTS = 3_200, 25_600
"""Elements of arrays of points, all pairs of which are asked for."""
PARAMETERS = {
    "step_bytes": Parameter((16, 32, 64, 128, 256), (triad, chain, compared), (CACHED, SHARED), BOTH),
    "fold_lanes": Parameter((1, 12, 24, 48), (total, squares), (CACHED, SHARED), BOTH),
    "stream_ahead": Parameter((0, 1024, 2048, 4096, 8192), (triad, chain), (LARGE,)),
    "fold_ahead": Parameter((0, 1024, 2048, 4096, 8192), (total, squares), (CACHED, SHARED, LARGE)),
    "rows_ahead": Parameter(
        (0, 2, 4, 8, 16), (columns, wide, narrow, apart, few, scan), (CACHED, SHARED, LARGE)
    ),
    "rows_at_once": Parameter((1, 2, 4, 8), (columns, wide, narrow, apart, few), (CACHED, SHARED, LARGE)),
    "beside_bytes": Parameter(
        (64, 128, 256, 4096), (total, squares, runs, short_runs), (CACHED, SHARED, LARGE), BOTH
    ),
    "NONTEMPORAL_BYTES": Parameter(
        (0, 1 << 62), (triad, chain, then_read, then_written), tuple((1 << k) // 8 for k in range(20, 28))
    ),
    "abreast": Parameter((1, 2, 4, 8), (long_chain, scalars, powers, nested), (CACHED, SHARED), BOTH),
    "beside": Parameter((1, 2, 4, 8), (five_points, nine_points), (SHARED,), BOTH),
    "fused_sums": Parameter((0, 1), (five_points, nine_points), (SHARED,), BOTH),
    "fused_folds": Parameter((0, 1), (distances, manhattan), POINTS, BOTH),
}  # fmt: skip


class Launch:
    """The launches of a program, which can be repeated: memory, words and code are there."""

    def __init__(self, program: Program, arrays: tuple[Any, ...]) -> None:
        for cache in (kernels._kernels, planning._plans, planning._patterns):
            cache.clear()
        self.launches: list[tuple[Any, ...]] = []
        run = launch.run_prepared
        launch.run_prepared = lambda *how: (self.launches.append(how), run(*how))[1]
        try:
            found = program(*arrays)
            self.result = found if isinstance(found, tuple) else (found,)       # (it keeps the memory)
            lazyarr.evaluate(*[x for x in self.result if isinstance(x, lazyarr.ndarray)])
        finally:
            launch.run_prepared = run
        assert self.launches, "nothing was launched"
        self.bits = b"".join(numpy.asarray(x).tobytes() for x in self.result)

    def seconds(self, times: int) -> float:
        began = time.perf_counter()
        for _ in range(times):
            for how in self.launches:
                launch.run_prepared(*how)
        return (time.perf_counter() - began) / times


class Value:
    """A parameter with another value, for a block."""

    def __init__(self, level: str, name: str, value: int) -> None:
        self.level, self.name, self.value = level, name, value

    def __enter__(self) -> None:
        self.row, self.number = tuning.TABLE[tuning.row_of(self.level)], launch.NONTEMPORAL_BYTES
        if self.name in tuning.Tuning._fields:
            tuning.TABLE[tuning.row_of(self.level)] = self.row._replace(**{self.name: self.value})
        else:
            launch.NONTEMPORAL_BYTES = self.value

    def __exit__(self, *_: object) -> None:
        tuning.TABLE[tuning.row_of(self.level)], launch.NONTEMPORAL_BYTES = self.row, self.number


def in_force(level: str, name: str) -> int:
    return int(getattr(tuning.tuning(level), name, launch.NONTEMPORAL_BYTES))


def line(level: str, name: str, program: Program, n: int, dtype: str) -> str:
    parameter, mine = PARAMETERS[name], in_force(level, name)
    rng = numpy.random.default_rng(0)
    arrays = tuple(lazyarr.borrow(rng.uniform(0.5, 1.5, n).astype(dtype)) for _ in range(2))
    values = sorted({*parameter.values, mine}) if name in tuning.Tuning._fields else list(parameter.values)
    base = mine if mine in values else values[-1]
    launches = {}
    for value in values:
        with Value(level, name, value):
            launches[value] = Launch(program, arrays)
    assert len({x.bits for x in launches.values()}) == 1, f"{name} changes bits"
    times = max(1, int(SHORTEST / launches[base].seconds(1)))
    rounds = []
    for k in range(ROUNDS):
        order = values if k % 2 else values[::-1]
        rounds.append({value: launches[value].seconds(times) for value in order})
    took = statistics.median(r[base] for r in rounds) * 1e6
    found = []
    for value in values:
        low, middle, high = statistics.quantiles((r[value] / r[base] for r in rounds), n=4)
        found.append(f"{value}{'*' * (value == base)} {middle:.2f} ({low:.2f}-{high:.2f})")
    of = f"{level:<10} {name:<17} {program.__name__:<12} {dtype} {n:>10,}"
    return f"{of} {took:>9.1f} us  {'  '.join(found)}"


def lines(wanted: list[str], levels: list[str]) -> Iterator[str]:
    for name, parameter in PARAMETERS.items():
        if wanted and not any(part in name for part in wanted):
            continue
        for level in levels:
            with lazyarr.options(cpu_level=level):
                for program in parameter.programs:
                    for dtype in parameter.dtypes:
                        for n in parameter.sizes:
                            yield line(level, name, program, n, dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description="how other values of lazyarr.tuning compare on this host")
    parser.add_argument("wanted", nargs="*")
    parser.add_argument("--levels", default="")
    parser.add_argument("--tier", default="2", help="of the kernels")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    levels = asked.levels.split(",") if asked.levels else [level.target.name for level in usable_levels()]
    # Nothing is kept: the index of kernels knows nothing of other values.
    lazyarr.set_options(jit="always", num_threads=asked.threads, tier=asked.tier, cache_bytes=0)
    for text in lines(asked.wanted, levels):
        print(text, flush=True)


if __name__ == "__main__":
    main()
