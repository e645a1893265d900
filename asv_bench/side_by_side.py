"""A target program in NumPy, lazyarr and other engines, measured in turn.

In:  a name of `benchmarks.targets.TARGETS`.
Out: `Row`: times, ratios with their spread, whether results are NumPy's.

Each engine has a process of its own, as in programs that use it: there its threads, its allocator and what it
sets in the C library meet no other's.  They take turns; who waits sleeps.  Before each measurement the engine
runs once unmeasured, after a pause: the threads of the one before may still spin, its own may sleep.  Inputs
change from call to call.  lazyarr's results must have NumPy's bits, the others' be close.
"""

from __future__ import annotations

import gc
import multiprocessing
import re
import statistics
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from benchmarks.targets import TARGETS, as_tuple
from benchmarks.workloads import SETS
from peers import OTHERS, OURS, peer
from table import duration, equal_bits, repeats, seconds

PAUSE = 5e-3
"""Seconds until idle threads of other engines sleep."""
WARM = 0.4
"""Seconds that each engine runs before it is measured: what compiles hot code does so by then."""
BUDGET = 7.0
ROUNDS = 7, 31
ENGINES = (*OURS, *OTHERS)
EXACT = "lazyarr", "compiled"
"""Engines whose results must have NumPy's bits."""
HEAD = (
    "program", *ENGINES, "over NumPy", "over the fastest peer", "compiled over it", "moved, over the least",
    "results",
)  # fmt: skip


class Row(NamedTuple):
    """Medians in seconds, and ratios of the rounds: their lower quartile, median, upper quartile."""

    name: str
    seconds: dict[str, float]
    over_numpy: tuple[float, ...]
    over_peer: tuple[float, ...] | None
    compiled_over: tuple[float, ...] | None
    fastest: str
    moved: int
    """Bytes that lazyarr's plans of a call read and write, """
    least: int
    """and that they must: what each evaluation is given once, and what it leaves."""
    different: list[str]
    """Engines of ours whose results have not NumPy's bits, """
    strange: list[str]
    """and others whose results are not NumPy's approximately."""

    def cells(self) -> list[str]:
        times = [duration(self.seconds[e]) if e in self.seconds else "" for e in ENGINES]
        peer = f"{spread(self.over_peer)} {self.fastest}" if self.over_peer else ""
        compiled = spread(self.compiled_over) if self.compiled_over else ""
        results = [f"{engine}'s DIFFERENT" for engine in self.different] or ["equal bits"]
        results += [f"{engine}'s are not close" for engine in self.strange]
        moved = f"{self.moved / 1e6:.3g} MB, {self.moved / self.least:.2f}"
        return [self.name, *times, spread(self.over_numpy), peer, compiled, moved, ", ".join(results)]


def spread(ratio: tuple[float, ...]) -> str:
    low, middle, high = ratio
    return f"{middle:.2f} ({low:.2f} .. {high:.2f})"


def close(mine: Any, theirs: Any) -> bool:
    """Up to rounding, also of differences that cancel."""
    return all(numpy.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(mine, theirs, strict=True))


def same(mine: Any, theirs: Any) -> bool:
    return all(equal_bits(a, b) for a, b in zip(mine, theirs, strict=True))


def traffic(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that the plans of a call move, and the least that they could."""
    from lazyarr.config import OBSERVED
    from lazyarr.debug import watch
    from lazyarr.debug.explain import Explanation

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


def serve(engine: str, name: str, asked: Connection) -> None:
    """An engine's process: for each question an answer.  Sends at first whether there is such a program."""
    call = peer(engine, name, TARGETS[name].sets())
    asked.send(call is not None)
    if call is None:
        return
    times = 0
    while (question := asked.recv()) != "end":
        if question == "results":
            results = [[numpy.asarray(x) for x in as_tuple(call())] for _ in range(SETS)]
            asked.send(results)
            del results
        elif question == "traffic":
            asked.send(traffic(call))
        elif question == "warm":
            warm(call)
            times = repeats(call)
            gc.disable()
            asked.send(times)
        else:
            call()
            asked.send(seconds(call, times))


class Engine:
    """An engine in its process."""

    def __init__(self, engine: str, name: str) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._asking, asked = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(engine, name, asked), daemon=True)
        self._process.start()
        asked.close()
        self.is_there: bool = self._asking.recv()

    def ask(self, question: str) -> Any:
        self._asking.send(question)
        return self._asking.recv()

    def end(self) -> None:
        if self.is_there:
            self._asking.send("end")
        self._process.join()


def rounds(engines: dict[str, Engine]) -> list[dict[str, float]]:
    """Seconds per call of each, round by round."""
    for engine in engines.values():
        engine.ask("warm")
    found: list[dict[str, float]] = []
    end = time.perf_counter() + BUDGET
    while len(found) < ROUNDS[0] or (len(found) < ROUNDS[1] and time.perf_counter() < end):
        found.append({})
        for name, engine in engines.items():
            time.sleep(PAUSE)
            found[-1][name] = engine.ask("time")
    return found


def measure(name: str) -> Row:
    """One row of the table."""
    started = {engine: Engine(engine, name) for engine in ENGINES}
    engines = {e: engine for e, engine in started.items() if engine.is_there}
    results = engines["NumPy"].ask("results")
    off = [
        e for e, engine in engines.items()
        if not all(map(same if e in EXACT else close, engine.ask("results"), results))
    ]  # fmt: skip
    del results
    found = rounds(engines)
    moved, least = engines["lazyarr"].ask("traffic")    # (of plans that are known)
    for engine in started.values():
        engine.end()
    medians = {e: statistics.median(r[e] for r in found) for e in engines}

    def over(engine: str, ours: str = "lazyarr") -> tuple[float, ...]:
        return tuple(statistics.quantiles([r[engine] / r[ours] for r in found], n=4))

    fastest = min((e for e in engines if e in OTHERS), key=medians.__getitem__, default="")
    return Row(
        name, medians, over("NumPy"), over(fastest) if fastest else None,
        over(fastest, "compiled") if fastest else None, fastest, moved, least,
        [e for e in off if e in EXACT], [e for e in off if e not in EXACT],
    )  # fmt: skip


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def note(page: Path, row: Row) -> None:
    """Put a row in its place on a page, which keeps those of other programs."""
    text = page.read_text()
    old = re.compile(rf"^\| {re.escape(row.name)} \|.*$", re.MULTILINE)
    assert old.search(text), f"{page} has no row for {row.name}"
    page.write_text(old.sub(lambda _: line(row.cells()), text))
