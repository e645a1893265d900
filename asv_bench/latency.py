"""Measure how long a program waits for kernels: one line for each kernel, and for each first use.

    python latency.py [--page FILE]

With ``--page`` the two tables of that page are written anew.  Kernels are compiled at both tiers, loaded from
the disk cache, and looked up in memory, in turn, in rounds; what happens once in a process is measured in
processes of its own, in turn, too.  Medians over the rounds, with quartiles.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy
from side_by_side import line
from table import duration

import lazyarr
from lazyarr import kernels
from lazyarr.dispatch import jit
from lazyarr.fusion.parfor import Parfor

ROUNDS = 15
PROCESSES = 7


def _chain(x: Any, y: Any) -> Any:
    for _ in range(10):
        x = x * y + y
    return x


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "`x + y`": lambda x, y: x + y,
    "20 operations": _chain,
    "`exp(x) * y`": lambda x, y: numpy.exp(x) * y,
    "`x[1:] > y[:-1]`": lambda x, y: x[1:] > y[:-1],
    "sum of squares": lambda x, y: (x * x).sum(keepdims=True),
    "column maxima": lambda x, y: x.reshape(100, -1).max(0),
}
"""Of one kernel each."""

ONCE = {
    "`import lazyarr`, after NumPy's": ("import numpy", "import lazyarr"),
    "LLVM loaded, by the first compile": (
        "import lazyarr; from lazyarr.dispatch import jit", "jit.available()"
    ),
    "`load_kernels`, a bundle of {count} entries": ("import lazyarr as np", "np.load_kernels({bundle!r})"),
    "first result, kernel compiled, LLVM there": ("{program}; COMPILER.load()", "first()"),
    "first result, kernel in the disk cache": ("{program}", "first()"),
    "first result, kernel in a bundle": ("{program}; np.load_kernels({bundle!r})", "first()"),
}
"""What is there before, and what is measured."""

PROGRAM = """import numpy, lazyarr as np
from lazyarr.compiler import COMPILER
np.set_options(jit="always")
x = np.array(numpy.ones(100_000))
def first():
    np.evaluate(np.sqrt(x * 2 + 1))
    assert np.debug.counters()["native_launches"]"""


def kernel_of(program: Callable[[Any, Any], Any]) -> tuple[Parfor, bool]:
    """The one kernel that a program is compiled to."""
    x, y = (lazyarr.array(numpy.linspace(0, 1, 10_000)) for _ in range(2))
    known = {id(kernel) for _, kernel in kernels.loaded()}
    lazyarr.evaluate(program(x, y))
    ((parfor, kernel),) = [row for row in kernels.loaded() if id(row[1]) not in known]
    return parfor, kernel.nontemporal


def forget() -> None:
    """Leave what is compiled to the disk."""
    kernels._kernels.clear()
    jit._loaded.clear()
    jit._symbols.clear()


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def waits(parfor: Parfor, streams: bool) -> dict[str, float]:
    """One round."""
    found = {}

    def get() -> None:
        kernels.kernel_for(parfor, streams)

    for tier in (1, 2):
        with lazyarr.options(tier=tier, cache_bytes=0):
            forget()
            found[f"tier {tier}"] = seconds(get)
    with lazyarr.options(tier=1):
        get()
        forget()
        found["disk cache"] = seconds(get)
        found["memory"] = seconds(get)
    return found


def spread(values: Iterable[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{duration(middle)} ({duration(low)} .. {duration(high)})"


def of_kernels() -> list[str]:
    """The first table."""
    chosen = {name: kernel_of(program) for name, program in PROGRAMS.items()}
    with lazyarr.options(tier=1):
        for parfor, streams in chosen.values():             # into the cache
            kernels.kernel_for(parfor, streams)
    rounds = [{name: waits(*of) for name, of in chosen.items()} for _ in range(ROUNDS)]
    ways = list(next(iter(rounds[0].values())))
    rows = [line(["kernel", *ways]), line(["-"] * (1 + len(ways)))]
    return rows + [line([name, *(spread(r[name][way] for r in rounds) for way in ways)]) for name in chosen]


def of_processes(folder: str) -> list[str]:
    """The second table."""
    bundle = os.path.join(folder, "kernels.lzb")
    made = lazyarr.export_kernels(
        lambda x: lazyarr.sqrt(x * 2 + 1), "float64[:]", [kernels.host().name], bundle
    )
    with lazyarr.options(tier="auto"):              # into the cache
        lazyarr.evaluate(lazyarr.sqrt(lazyarr.array(numpy.ones(100_000)) * 2 + 1))
    words = {"bundle": bundle, "program": PROGRAM, "count": made.entries}
    spent: dict[str, list[float]] = {name.format(**words): [] for name in ONCE}
    for _ in range(PROCESSES):
        for (name, times), parts in zip(spent.items(), ONCE.values(), strict=True):
            before, measured = (part.format(**words) for part in parts)
            code = f"import time\n{before.replace('; ', chr(10))}\nbegan = time.perf_counter()\n{measured}\n"
            kept = {"LAZYARR_CACHE_DIR": folder} if "disk" in name else {"LAZYARR_CACHE_BYTES": "0"}
            done = subprocess.run(
                [sys.executable, "-c", code + "print(time.perf_counter() - began)"], check=True, text=True,
                capture_output=True, env={**os.environ, **kept},
            )  # fmt: skip
            times.append(float(done.stdout))
    return [line(["once in a process", "time"]), line(["-"] * 2)] + [
        line([name, spread(times)]) for name, times in spent.items()
    ]


def write(page: Path, tables: list[list[str]]) -> None:
    """Put tables in the place of those that the page has."""
    kept: list[str] = []
    for text in page.read_text(encoding="utf-8").splitlines():
        if not text.startswith("|"):
            kept.append(text)
        elif not kept[-1].startswith("|"):
            kept += tables.pop(0)
    page.write_text("\n".join([*kept, ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page with the two tables")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lazyarr.set_options(jit="always", cache_dir=folder, tier=1)
        tables = [of_kernels(), of_processes(folder)]
    for row in (row for table in tables for row in table):
        print(row)
    if given.page:
        write(given.page, tables)


if __name__ == "__main__":
    main()
