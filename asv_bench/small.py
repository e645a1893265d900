"""Print how lazyarr compares with NumPy on small arrays and small parts of large ones: one line per call.

    python small.py [elements] [part of a call's text...]

Measured as `table` does it: in turn, in rounds, in one process; results have equal bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from benchmarks.small import CALLS, PARTS, arrays, large
from table import alternate, duration, equal_bits

import lazyarr


def main(n: str = "10", *wanted: str) -> None:
    print(f"{'call':<24} {'NumPy':>9} {'lazyarr':>9} {'faster':>8}  quartiles")
    for calls, made in ((CALLS, arrays), (PARTS, large)):
        theirs, ours = made(numpy, int(n)), made(lazyarr, int(n))
        for name, call in calls.items():
            if not wanted or any(part in name for part in wanted):
                line(name, partial(call, numpy, *theirs), partial(call, lazyarr, *ours))


def line(name: str, theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    found, expected = ours(), theirs()
    assert found is None or equal_bits(found, expected), name
    t = alternate(theirs, ours)
    times = f"{duration(t.numpy):>9} {duration(t.lazyarr):>9}"
    print(f"{name:<24} {times} {t.ratio:>7.2f}x  {t.low:.2f} .. {t.high:.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
