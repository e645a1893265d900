"""Numbers at equal steps (`numpy.arange`, `linspace`) as ops of their positions: none lies in memory.

In:  the position of each element (`values.Positions`: its address stands for it), and numbers.
Out: `Range`s, ops of elementwise nodes, called like ufuncs: the oracle, and the way without a compiler.

    number = Range(position, origin, first, step, place, other, *asked)

An element's number is the distance of its address from `origin`, in positions, so that any view has its
elements' numbers.  They are ``first + k * step`` in the result's type, as NumPy computes them.  Of an arange
the first two are what was asked for, and the step is their difference; where that gives them again, it is
'even', or a 'count' of whole numbers, else a 'range', whose second one is the `other`.  Of a 'line' the
last one, at `place`, is where it stops.  `asked` is what was asked for, from which NumPy makes all of it.
`codegen.emitters_ranges` writes the same as machine code.
"""

from __future__ import annotations

import math
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
    dtype: str
    asked: str

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.dtype}{self.asked}"

    @property
    def nout(self) -> int:
        return 1

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
            made: numpy.ndarray = k.astype(self.dtype) * step + first
        if self.kind == "range":
            made[k == 0] = first
        if self.kind in ("range", "line"):
            made[k == place] = other
        return made

    def at(self, address: numpy.ndarray, origin: Any, *rest: Any) -> numpy.ndarray:
        """The same, of addresses."""
        k: numpy.ndarray = (address - origin) // STEP_BYTES
        return self.numbers(k, *rest[:4])

    def as_asked(self, dtype: Any, start: Any, stop: Any, third: Any) -> numpy.ndarray:
        """All of it, by NumPy; the third is a step, or how many there are (below 0: without the last one)."""
        if self.kind == "line":
            return numpy.linspace(start, stop, abs(int(third)), bool(third > 0))
        make: Any = numpy.arange
        made: numpy.ndarray = make(start, stop, third, dtype)
        return made

    def words(self, start: Any, stop: Any, third: Any) -> str:
        """What was asked for, as a call."""
        begin, end, last = (x.item() for x in (start, stop, third))
        if self.kind == "line":
            return f"np.linspace({begin!r}, {end!r}, {abs(int(last))}, {last > 0})"
        return f"np.arange({begin!r}, {end!r}, {last!r}, {self.dtype!r})"


ASKED = slice(6, 9)
"""Of a node's inputs: what was asked for."""

RANGES = {r.name: r for r in (
    *(Range("count", c, asked) for c in "li" for asked in "ld"),
    *(Range("even", c, asked) for c in "lidf" for asked in "ld"),
    *(Range("range", c, asked) for c in "df" for asked in "ld"), Range("line", "d", "d"),
)}  # fmt: skip


def arange_of(dtype: str, asked: str, begin: numpy.ndarray) -> tuple[Range, Any] | None:
    """The op of an arange that begins with these elements, and its step; None: it is NumPy's."""
    if f"even_{dtype}{asked}" not in RANGES:
        return None
    step = (begin[1:2] - begin[:1])[0]          # (of arrays: whole numbers go round)
    if dtype in "li":
        kind = "count" if step == 1 else "even"
    else:
        signed = not begin[0] and math.copysign(1.0, begin[0]) < 0      # (-0.0 + 0 is 0.0)
        exact = begin[0] + step == begin[1] and not signed
        kind = "even" if exact else "range"
    made = RANGES[f"{kind}_{dtype}{asked}"]
    return (made, step) if conforms(made.name) else None


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
            wanted = made.as_asked(made.dtype, start, stop, step)
            given = wanted[0], wanted[1] - wanted[0], 1, wanted[1]
        kind = made if made.kind == "line" else made._replace(kind="range")
        if kind.numbers(numpy.arange(wanted.size), *given).tobytes() != wanted.tobytes():
            return False
    return True
