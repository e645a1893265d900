"""Numbers at equal steps (`numpy.arange`, `linspace`) as ops of their positions: nothing of them lies in memory.

In:  the position of each element (`values.Positions`: its address stands for it), and numbers.
Out: `Range`s, ops of elementwise nodes, called like ufuncs: the oracle, and the way without a compiler.

    number = Range(position, origin, first, step, place, other, *asked)

An element's number is the distance of its address from `origin`, in positions, so that any view has its
elements' numbers.  They are ``first + k * step`` in the result's type, as NumPy computes them, but for the one
at a `place`: of an arange the first two are what was asked for, and the step is their difference; the
last one of a linspace is where it stops.  `asked` is what was asked for, from which NumPy makes all of it.
`codegen.emitters_ranges` writes the same as machine code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

from lazyarr.draws import places
from lazyarr.records import NamedTuple

POSITION = numpy.dtype("L")
STEP_BYTES = POSITION.itemsize

COST = 0.3
"""Of a number, as in the op table."""


class Range(NamedTuple):
    """Numbers of one dtype; `asked` is the dtype of what was asked for."""

    kind: str
    """'range', where an arange's first number is exact, too, or 'line'."""
    dtype: str
    asked: str

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.dtype}{self.asked}"

    @property
    def sig(self) -> str:
        c = self.dtype
        return f"LL{c}{c}l{c}{3 * self.asked}->{c}"

    @property
    def nin(self) -> int:
        return self.sig.index("-")

    @property
    def types(self) -> list[str]:
        return [self.sig]

    def __call__(self, position: Any, origin: Any, *rest: Any, out: Any, **_: Any) -> None:
        out = out[0] if isinstance(out, tuple) else out
        given = (numpy.asarray(x).flat[0] for x in rest[:4])
        found = places(position, int(numpy.asarray(origin).flat[0]))
        if isinstance(found, int):
            found = numpy.arange(found, found + out.size).reshape(out.shape)
        out[...] = self.numbers(found, *given)

    def numbers(self, k: numpy.ndarray, first: Any, step: Any, place: Any, other: Any) -> numpy.ndarray:
        """Element number k, for each k."""
        with numpy.errstate(all="ignore"):
            made = k.astype(self.dtype) * step + first
        if self.kind == "range":
            made[k == 0] = first
        made[k == place] = other
        return made

    def at(self, address: numpy.ndarray, origin: Any, *rest: Any) -> numpy.ndarray:
        """The same, of addresses."""
        return self.numbers((address - origin) // STEP_BYTES, *rest[:4])

    def as_asked(self, start: Any, stop: Any, third: Any, dtype: Any) -> numpy.ndarray:
        """All of it, by NumPy; the third is a step, or how many there are (with the last one, if positive)."""
        make: Any = numpy.arange
        if self.kind == "range":
            made: numpy.ndarray = make(start, stop, third, dtype)
            return made
        return numpy.linspace(start, stop, abs(int(third)), bool(third > 0))


ASKED = slice(6, 9)
"""Of a node's inputs: what was asked for."""

RANGES = {r.name: r for r in (
    *(Range("range", c, asked) for c in "lidf" for asked in "ld"), Range("line", "d", "d"),
)}  # fmt: skip

TRIED = (0, 1), (7, -3), (0.1, 0.1), (-0.7, 1 / 3), (-0.0, 0.3), (1e10, 0.3)
"""First numbers and steps with which the running NumPy is tried."""


@cache
def conforms(name: str) -> bool:
    """Does the running NumPy make such numbers as we do?  (Compilers may join two roundings.)"""
    made, n = RANGES[name], 999
    if made.dtype in "li":
        return True                     # (whole numbers are what they are)
    for start, step in TRIED:
        stop = start + (n - 0.5) * step
        if made.kind == "line":
            wanted = numpy.linspace(start, stop, n)
            given = numpy.float64(start), numpy.float64(stop - start) / (n - 1), n - 1, numpy.float64(stop)
        else:
            wanted = numpy.arange(start, stop, step, made.dtype)
            given = wanted[0], wanted[1] - wanted[0], 1, wanted[1]
        if made.numbers(numpy.arange(wanted.size), *given).tobytes() != wanted.tobytes():
            return False
    return True
