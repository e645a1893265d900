"""What all functions of complex numbers share: special values as tables, and the flags of results.

In:  a formula for usual numbers, one for all finite ones, what is special.   Out: a `Function`.
Special values are C's (Annex G), and NumPy's where that leaves a choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import DOUBLE, Bits, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.records import dataclass, field
from lazyarr.target import Target

Pair = tuple[Real, Real]

FORMULA = 7.0
"""In the place of a special value: what the formula gives."""
CLASSES = "0", "1", "inf", "nan"
"""Of sizes: nothing, finite, infinite, none."""


Row = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Special:
    """The parts' sizes for classes of the operand's parts, "x y", and whose signs they have."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    """What is not listed is NaN, if either size is not finite."""
    signs: str = "xy"
    """For each part: x, y, - for y's other one, or + for none."""
    plain: tuple[str, ...] = ()
    """Classes whose parts have no sign."""
    loud: tuple[str, ...] = ()
    """Classes that are invalid although a part is no number; all others are if a result's part is none."""

    def turned(self, odd: bool) -> Special:
        """Of the function of iz: the parts are changed, and so are the results if it is odd."""

        def key(classes: str) -> str:
            return " ".join(reversed(classes.split()))

        rows = {key(classes): row[::-1] if odd else row for classes, row in self.rows.items()}
        signs = "".join({"x": "y", "y": "x"}.get(sign, sign) for sign in self.signs)
        keys = (tuple(map(key, classes)) for classes in (self.plain, self.loud))
        return Special(rows, signs[::-1] if odd else signs, *keys)

    def cells(self) -> list[tuple[float, ...]]:
        """For each pair of classes: the parts, whether that is invalid, whether it has no sign."""
        found: list[tuple[float, ...]] = []
        for x in CLASSES:
            for y in CLASSES:
                key, finite = f"{x} {y}", x in "01" and y in "01"
                row = self.rows.get(key, (FORMULA, FORMULA) if finite else (NAN, NAN))
                bad = any(map(math.isnan, row)) and "nan" not in (x, y)
                found.append((*row, float(bad or key in self.loud), float(key in self.plain)))
        return found

    def apply(self, on: Lanes, x: Real, y: Real, found: Pair) -> tuple[Pair, Mask]:
        index = _class_of(on, x) * 4 + _class_of(on, y)
        *parts, bad, plain = look_up(index, *zip(*self.cells(), strict=True))
        made = []
        for part, usual, sign in zip(parts, found, self.signs, strict=True):
            signed = part if sign == "+" else part.signed({"x": x, "y": y, "-": -y}[sign])
            signed = (plain > 0.5).real(part, signed) if self.plain else signed
            made.append(part.is_(FORMULA).real(usual, signed))
        return (made[0], made[1]), bad > 0.5


def _class_of(on: Lanes, x: Real) -> Bits:
    size = abs(x)
    usual = size.is_(0.0).bits(0, 1)
    return x.nan().bits(3, size.is_(INF).bits(2, usual))


@dataclass(frozen=True, slots=True)
class Kind:
    """How a dtype's functions are computed."""

    twice: bool
    """With sums: its numbers are float64's."""
    least: float
    """The least normal number."""
    over: float
    """What rounds to infinity."""


WIDE = Kind(True, DOUBLE.least, INF)
SHORT = Kind(False, 2.0**-126, (2.0 - 2.0**-24) * 2.0**127)

Fast = Callable[[Kind, Lanes, Real, Real], tuple[Pair, Mask]]
Rare = Callable[[Kind, Lanes, Real, Real], Pair]
Flags = Callable[[Real, Real], Raised]


def rows(
    fast: Fast, rare: Rare, special: Special, flags: Flags | None = None,
    needs: Callable[[Target], str] | None = None,
) -> dict[str, Function]:
    """A function of complex128 and complex64."""
    return {
        char: _function(kind, fast, rare, special, flags, needs)
        for char, kind in (("D", WIDE), ("F", SHORT))
    }


def _function(
    kind: Kind, fast: Fast, rare: Rare, special: Special, flags: Flags | None,
    needs: Callable[[Target], str] | None,
) -> Function:
    def usual(on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        parts, odd = fast(kind, on, x, y)
        for part in parts:
            odd = odd | ((abs(part) < kind.least) & ~part.is_(0.0))
        return parts, odd

    def seldom(on: Lanes, x: Real, y: Real) -> tuple[Pair, Raised]:
        parts = rare(kind, on, x, y)
        finite = (abs(x) < INF) & (abs(y) < INF)
        apart = ~x.is_(0.0) & ~y.is_(0.0)
        over, under = (abs(parts[0]) >= kind.over) | (abs(parts[1]) >= kind.over), apart & ~apart
        for part in parts:
            under = under | ((abs(part) < kind.least) & (apart | ~part.is_(0.0)))
        more = flags(x, y) if flags else {}
        for where in more.values():
            over = over & ~where
        parts, invalid = special.apply(on, x, y, parts)
        if "invalid" in more:
            invalid = invalid | more["invalid"]
        return parts, {**more, "over": finite & over, "under": finite & under, "invalid": invalid}

    return Function(1, DOUBLE, usual, seldom, needs=needs, fused=False)


def beyond(x: Real, low: float, high: float) -> Mask:
    """Is its size neither 0 nor within limits?"""
    size = abs(x)
    return ((size < low) & ~x.is_(0.0)) | size.outside(high)
