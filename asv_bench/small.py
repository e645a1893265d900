"""Print how lazyarr compares with NumPy on small arrays: one line per call.

    python small.py [elements] [part of a call's text...]

Measured as `table` does it: in turn, in rounds, in one process; results have equal bits.
"""

from __future__ import annotations

import sys

import numpy
from benchmarks.small import CALLS, arrays
from table import alternate, duration, equal_bits

import lazyarr


def main(n: str = "10", *wanted: str) -> None:
    theirs, ours = arrays(numpy, int(n)), arrays(lazyarr, int(n))
    print(f"{'call':<24} {'NumPy':>9} {'lazyarr':>9} {'faster':>8}  quartiles")
    for name, call in CALLS.items():
        if wanted and not any(part in name for part in wanted):
            continue
        found, expected = call(lazyarr, *ours), call(numpy, *theirs)
        assert found is None or equal_bits(found, expected), name
        t = alternate(lambda call=call: call(numpy, *theirs), lambda call=call: call(lazyarr, *ours))
        times = f"{duration(t.numpy):>9} {duration(t.lazyarr):>9}"
        print(f"{name:<24} {times} {t.ratio:>7.2f}x  {t.low:.2f} .. {t.high:.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
