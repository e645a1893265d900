"""What NumPy takes for each program, and what lazyarr says that it would: JSON lines.

Run as a program of its own.  None of the programs has a temporary that NumPy could use again by itself
(its elision), so each call takes the memory of its result.
"""

from __future__ import annotations

import json
import os
import sys

import memory_hook
import numpy

import lazyarr
from lazyarr.counters import COUNT, reset

N = 50_000


def in_place(np, a, m):
    b = np.add(a, 1)
    b *= a
    b[::2] -= 3
    np.sqrt(a, out=b)
    return b


def made(np, a, m):
    b, c, d = np.empty(a.size), np.zeros(m.shape), np.full(a.shape, 7.0)
    b[:] = a
    return b, c, d, np.empty_like(m), np.ones_like(a)


def rolled(np, a, m):
    return np.roll(m, 1, axis=0), np.roll(a, -5)


PROGRAMS = {
    "map": lambda np, a, m: np.exp(a),
    "chain of calls": lambda np, a, m: np.add(np.multiply(np.subtract(a, 1), 2), a),
    "in place": in_place,
    "made": made,
    "rolled": rolled,
    "casts": lambda np, a, m: (a.astype("f4"), a.copy(), m.T.flatten()),
    "views": lambda np, a, m: (m.T, a[::2], m.reshape(-1)),
    "compared": lambda np, a, m: (np.greater(a, 0.5), np.where(np.greater(a, 0.5), a, 0.0)),
    "rows": lambda np, a, m: (m.sum(axis=1), m.max(axis=0), np.argmax(m, axis=1)),
    "selected": lambda np, a, m: a[np.greater(a, 0.5)],
    "broadcast": lambda np, a, m: np.multiply(m, m[:, :1]),
    "differences": lambda np, a, m: (np.diff(a), np.diff(m, axis=0, n=2)),
}


def main() -> None:
    memory_hook.install()
    x = numpy.random.default_rng(1).random((N // 50, 50))
    for name, program in PROGRAMS.items():
        real = program(numpy, x.ravel(), x)         # what NumPy makes once in a process
        memory_hook.TAKEN.clear()
        real = program(numpy, x.ravel(), x)
        taken = sum(memory_hook.TAKEN)
        lazyarr.set_options(jit="always")
        ours = lazyarr.array(x.ravel()), lazyarr.array(x)
        lazyarr.evaluate(*ours)
        reset()
        made = program(lazyarr, *ours)
        print(json.dumps({"program": name, "taken": taken, "counted": COUNT.bytes_numpy}))
        del real, made
    sys.stdout.flush()
    os._exit(0)             # the interpreter's end would free memory by a function that is gone


if __name__ == "__main__":
    main()
