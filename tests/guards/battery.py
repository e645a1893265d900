"""Programs under observation: what lazyarr counts, and what hooks of our own count, as JSON lines.

Run as a program of its own: ``python battery.py``.  The hooks sit where an event cannot be missed: in
NumPy's inner loops, in LLVM's code generator, before the pool, in the allocator, in the node's constructor.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy
import numpy_hook

import lazyarr
from lazyarr import (
    buffers,
    expr,
    kernels,
    launch,
    launch_boxes,
    launch_compress,
    launch_feeds,
    launch_keep,
    ready,
    values,
)
from lazyarr.codegen.feed_words import FEED
from lazyarr.codegen.keep_words import KEEP
from lazyarr.counters import counters, reset
from lazyarr.dispatch import image, llvm
from lazyarr.shared_kernels import BOXES, COMPRESS, KEEPING, PORTIONS
from lazyarr.slot_words import FORCED
from lazyarr.threading import pool

SEEN: Counter[str] = Counter()

METHODS = {"sort", "argsort", "argmax"}
"""Methods of NumPy's arrays that run no ufunc."""

ROUNDS = [("cold", "always"), ("warm", "always"), ("never", "never"), ("auto", "auto")]


def chain(np, a, m):
    b = a
    for k in range(5):
        b = b * 0.5 + k
    return b


def in_place(np, a, m):
    b = a + 1
    b *= a
    b[::2] -= 3
    return b


def kept(np, a, m):
    b = a * 2
    return b, b + 1


def dropped(np, a, m):
    a * 2
    a + 1
    return a - 1


PROGRAMS: dict[str, Callable[..., Any]] = {
    "triad": lambda np, a, m: a + a * 3,
    "chain": chain,
    "in place": in_place,
    "kept": kept,
    "dropped": dropped,
    "transposed": lambda np, a, m: m.T + m.T * 2,
    "exp": lambda np, a, m: np.exp(a),
    "two loops": lambda np, a, m: np.exp(a) + np.sin(a),
    "half of it": lambda np, a, m: np.log(a[::2]) * 2,
    "sum": lambda np, a, m: a.sum(),
    "sum of a map": lambda np, a, m: ((a - 1) ** 2).sum(),
    "rows": lambda np, a, m: m.sum(axis=1),
    "columns": lambda np, a, m: (m * 3).max(axis=0),
    "argmax": lambda np, a, m: (a * 2).argmax(),
    "sum of exp": lambda np, a, m: np.exp(a).sum(),
    "columns of exp": lambda np, a, m: np.exp(m).sum(axis=0),
    "rows of log": lambda np, a, m: np.log(m).max(axis=1),
    "called fold": lambda np, a, m: np.hypot.reduce(m + 1, axis=0),
    "power of rows": lambda np, a, m: m ** m[0] + np.exp(m[:, :1]),
    "fed exp": lambda np, a, m: np.exp(a[a > 0.5]).sum(),
    "masked": lambda np, a, m: a[a > 0.5] * 2,
    "where": lambda np, a, m: np.where(a > 0.5, a, -a),
    "sort": lambda np, a, m: np.sort(a),
    "accumulate": lambda np, a, m: np.add.accumulate(a) * 2,
    "views": lambda np, a, m: m[::2].T[::-1],
    "element": lambda np, a, m: a[17],
    "small": lambda np, a, m: np.exp(a[:10] + 1),
}
INVISIBLE = {(jit, p) for jit in ("always", "never", "auto") for p in ("masked", "fed exp")} | {
    ("never", "where")
}
"""What NumPy does there shows neither in a loop nor as a method."""


def watch(owner: Any, name: str, event: Callable[..., None]) -> None:
    """Call `event(result, *args)` after each call of a function."""
    original = getattr(owner, name)

    def watched(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        event(result, *args)
        return result

    setattr(owner, name, watched)


def count(name: str, amount: Callable[..., int] = lambda *_: 1) -> Callable[..., None]:
    def event(result: Any, *args: Any) -> None:
        SEEN[name] += amount(result, *args)

    return event


def watch_launches() -> None:
    """Launches, and what they gave to NumPy's loops."""
    original = launch.parallel_for

    def watched(fn: int, words: int, chunks: int, threads: int) -> None:
        before = len(numpy_hook.CALLS)
        original(fn, words, chunks, threads)
        SEEN["numpy_loop_blocks"] += len(numpy_hook.CALLS) - before
        del numpy_hook.CALLS[before:]
        kernel = any(fn == k.address for k in kernels._kernels.values())
        SEEN["native_launches"] += kernel or fn in shells

    shells = {COMPRESS.addresses()[FEED], KEEPING.addresses()[KEEP]}
    shells.update(PORTIONS.addresses().values(), BOXES.addresses().values())
    for module in (launch, launch_boxes, launch_feeds, launch_compress, launch_keep, ready):
        module.parallel_for = watched


def watch_pool() -> None:
    on_pool = pool.parallel_for()
    assert on_pool is not None

    def watched(fn: int, words: int, first: int, *args: int) -> int:
        reached = on_pool(fn, words, first, *args)
        SEEN["parallel_launches"] += not first and reached >= 0
        return reached

    pool._pool[0] = watched


def is_kernel(binary: bytes) -> bool:
    """Not what kernels share: the functions around and after the folding of a range."""
    return b"lazyarr_shared_" not in binary


def watch_code() -> None:
    """Kernels that are compiled; and those that are put into memory without."""
    machine = llvm.binding().TargetMachine
    watch(machine, "emit_object", count("compiles", lambda found, *_: is_kernel(found)))
    watch(machine, "emit_object", count("disk_hits", lambda found, *_: -is_kernel(found)))
    watch(image, "load", count("disk_hits", lambda found, *_: is_kernel("".join(found).encode())))


def watch_all() -> None:
    watch_launches()
    watch_pool()
    watch_code()
    watch(buffers._allocator._pages, "fresh", count("pages_fresh"))
    watch(buffers._allocator._pages, "fresh", count("bytes_fresh", lambda _, nbytes: nbytes))
    watch(expr.Expr, "__init__", count("nodes_built"))
    watch(values, "array", count("bytes_allocated", lambda _, nbytes: nbytes))
    watch(ready, "array", count("bytes_allocated", lambda _, nbytes: nbytes))
    watch(launch, "empty", count("bytes_allocated", lambda _, nbytes: nbytes))


def watch_methods(frame: Any, event: str, what: Any) -> None:
    """A plain array's method calls NumPy's, and no event tells of that."""
    if event == "c_call" and what.__name__ in METHODS:
        x = what.__self__
        plain = type(x) is lazyarr.ndarray and x.storage is None and not FORCED.value
        SEEN["numpy_calls"] += plain or isinstance(x, numpy.ndarray)


def observe(name: str, *arrays: Any) -> dict[str, dict[str, float]]:
    """One program: its counters, and ours under the same names."""
    buffers.trim()
    reset()
    SEEN.clear()
    numpy_hook.CALLS.clear()
    sys.setprofile(watch_methods)
    found = PROGRAMS[name](lazyarr, *arrays)
    lazyarr.evaluate(*found if isinstance(found, tuple) else (found,))
    sys.setprofile(None)
    # A call over rows is several calls of the same loop, one after the other.
    SEEN["numpy_calls"] += sum(1 for _ in groupby(numpy_hook.CALLS, lambda call: call[:2]))
    return {"counted": counters(), "seen": dict(SEEN)}


def main() -> None:
    numpy_hook.install()
    x = numpy.random.default_rng(1).random((400, 250))
    lazyarr.set_options(num_threads=2, jit="always")
    warm = lazyarr.array(x)
    lazyarr.evaluate(warm)
    lazyarr.evaluate(warm * 7 - 2)          # loads LLVM and the pool, which are nobody's kernels
    warm.sum()
    watch_all()
    for name, jit in ROUNDS:
        lazyarr.set_options(jit=jit)
        arrays = lazyarr.array(x.ravel()), lazyarr.array(x)
        lazyarr.evaluate(*arrays)
        for program in PROGRAMS:
            print(json.dumps({"round": name, "program": program} | observe(program, *arrays)))


if __name__ == "__main__":
    main()
