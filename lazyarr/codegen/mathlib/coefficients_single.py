"""Tables that only float32's functions have, and float16's: part of what `coefficients` writes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy

from lazyarr.codegen.mathlib.fitting import (
    LN2,
    LN10,
    PI,
    SINGLE,
    Number,
    fit,
    fit_factor,
    guarded,
    of_square,
    parts,
    short,
    short_and_rest,
)

TANH_FIRST = 0.0625
"""Where quarter octaves begin in the table; below 5/4 of it tanh is odd."""


def hyperbolas() -> dict[str, Any]:
    """tanh in float32: a polynomial for each quarter octave around a number whose tanh is one, all but."""
    edges = [TANH_FIRST * 2.0 ** (k // 4) * (1 + (k % 4) / 4) for k in range(1, 33)]
    odd = of_square(lambda x: (mp.tanh(x) / x - 1) / x**2, mp.mpf(-1) / 3)
    low = fit(odd, mp.mpf("0.06") ** 2, mp.mpf(edges[0]) ** 2, 1)       # where roundings are the largest
    rows: list[tuple[float, ...]] = [(0.0, 0.0, 1.0, 0.0, low[0], 0.0, low[1])]
    for a, b in pairwise(edges):
        center, value = near_a_number(mp.tanh, a, b)
        reach = mp.mpf(a) - center, mp.mpf(b) - center
        rows.append((center, value, *fit(partial(_secant, mp.mpf(center)), *reach, 4)))
    first = SINGLE.bits(TANH_FIRST) >> 21
    columns = enumerate(zip(*(rows[(k - first) % 32] for k in range(32)), strict=True))
    octave = mp.floor(mp.ldexp(LN2, 24)) / 2**24        # zeros keep their sign if what is left is positive
    reach = (LN2 / 2 * mp.mpf("1.0005")) ** 2
    sine = of_square(lambda x: (mp.sinh(x) / x - 1) / x**2, mp.mpf(1) / 6)
    cosine = of_square(lambda x: (mp.cosh(x) - 1) / x**2, mp.mpf(1) / 2)
    return {
        "TANH_FIRST": TANH_FIRST,
        **{f"TANH_ROWS_{k}": list(column) for k, column in columns},
        "STEP_F": short_and_rest(SINGLE, LN2 / 16, 24),
        "OCTAVES_F": SINGLE.round(1 / LN2),
        "OCTAVE_F": (float(octave), SINGLE.round(LN2 - octave)),
        "OCTAVE_SINH_F": fit(sine, 0, reach, 2),
        "OCTAVE_COSH_F": fit(cosine, 0, reach, 2),
    }


def _secant(center: Number, r: Number) -> Number:
    """The slope of tanh from a number to the one r above it."""
    near = abs(r) < mp.mpf("1e-25")
    return mp.sech(center) ** 2 if near else (mp.tanh(center + r) - mp.tanh(center)) / r


def near_a_number(f: Callable[[Number], Number], low: float, high: float) -> tuple[float, float]:
    """A number around the middle where f is a float32, within a hundredth of its last place if any is."""
    found = []
    for k in range(500):
        x = numpy.float32((low + high) / 2 + (high - low) / 1000 * ((k + 1) // 2) * (-1) ** k)
        exact = f(mp.mpf(float(x)))
        value = numpy.float32(float(exact))
        off = abs(exact - mp.mpf(float(value))) / float(numpy.spacing(value))
        found.append((float(off), float(x), float(value)))
        if found[-1][0] < 0.01:
            break
    return min(found)[1:]


_DECIMAL = 7 / 16
"""Near log10(e), of few bits."""
_NEAR_ONE = 31 / 32, 17 / 16
"""What log10's table of 16 has 1 for, which reaches as far as that above and half as far below."""


def short_logarithms() -> dict[str, Any]:
    """In float32: logarithms of few bits, so that multiples of log(2) can be added exactly.

    Those in other bases scale the inverses by a number of few bits, so that what the remainder is multiplied
    by is 1, all but; and log10's are in thirds of log10(2), as that is a float32, all but."""
    found: dict[str, Any] = {}
    for name, base, last, near, thirds, scale, count, degree in (
        ("LOG", mp.mpf(1), 17, (15 / 16, 17 / 16), 1, 1.0, 32, 3),
        ("LOG2", LN2, 17, (31 / 32, 33 / 32), 1, 3 / 2, 32, 3),
        ("LOG10", LN10, 15, _NEAR_ONE, 3, _DECIMAL, 16, 4),
    ):
        unit = base if base == 1 else LN2 / thirds      # of what the table has
        intervals = [_part(k, count) for k in range(count)]
        pairs = [_near_few_bits(*interval, unit, last, near, scale) for interval in intervals]
        # Mantissas lie between 1 and 2 there, else from 3/4 to 3/2.
        halved = [base != 1 and k >= count // 2 for k in range(count)]
        rows = list(zip(intervals, halved, pairs, strict=True))
        ends = [x * c - scale for interval, _, (c, _) in rows for x in interval]
        found[f"SHORT_{name}_INVERSE"] = [c / 2 if half else c for _, half, (c, _) in rows]
        found[f"SHORT_{name}"] = [t + thirds if half else t for _, half, (_, t) in rows]
        found[f"SHORT_{name}_BEND"] = _bend(base, mp.mpf(scale), min(ends), max(ends), degree)
        if base != 1:
            found[f"SHORT_{name}_ONE"] = scale
    octave = short(LN2, 17)
    found["SHORT_LOG_STEP"] = octave, SINGLE.round(LN2 - mp.mpf(octave))
    found["SHORT_LOG10_THIRD"] = SINGLE.round(LN2 / LN10 / 3)
    return {f"{name}_F": value for name, value in found.items()}


def _bend(base: Number, scale: Number, low: Number, high: Number, degree: int) -> tuple[float, ...]:
    """p of log1p(r) = r + r**2 p(r); in other bases, of log(1 + r / scale) = r + r p(r)."""
    if base == 1:
        return fit(guarded(lambda r: (mp.log1p(r) / r - 1) / r, mp.mpf(-1) / 2), low, high, degree)
    beyond = guarded(lambda r: mp.log1p(r / scale) / r / base - 1, 1 / (scale * base) - 1)
    return fit(beyond, low, high, degree)


def powers() -> dict[str, Any]:
    """Of float32's power: inverses with six bits below the point, so that m c - 1 is exact for all mantissas
    from 1 to 2, and their logarithms in base 2 as sums, of which the first number adds to exponents."""
    inverse = [2 / (2 + mp.mpf(2 * k + 1) / 32) for k in range(32)]
    inverse = [mp.mpf(1), *(mp.mpf(short(c, 6)) for c in inverse[1:-1]), mp.mpf(1) / 2]
    ends = [(1 + mp.mpf(j) / 32) * c - 1 for k, c in enumerate(inverse) for j in (k, k + 1)]
    logs = [-mp.log(c) / LN2 for c in inverse]
    high = [short(x, 16) for x in logs]
    scale, first = SINGLE.round(1 / LN2), SINGLE.round(-1 / LN2 / 2)
    found = {
        "POWER_INVERSE_F": [float(c) for c in inverse],
        "POWER_LOG_HIGH_F": high,
        "POWER_LOG_LOW_F": [SINGLE.round(x - mp.mpf(h)) for x, h in zip(logs, high, strict=True)],
        "POWER_SCALE_F": (scale, SINGLE.round(1 / LN2 - mp.mpf(scale)), first),
    }
    bend = guarded(lambda r: ((mp.log1p(r) / r - 1) / r + mp.mpf(1) / 2) / r, mp.mpf(1) / 3)
    # What rounding left off `first` has no operation of its own: in the place of lost / r is the multiple
    # of r next to it, whose error counts a third of what it would without.
    lost = -1 / LN2 / 2 - mp.mpf(first)
    zero, one, *rest = fit(lambda r: bend(r) / LN2, min(ends), max(ends), 3)
    return found | {"POWER_BEND_F": (zero, one + float(lost * mp.mpf(4) / 3 / max(ends) ** 2), *rest)}


def _part(k: int, count: int) -> tuple[float, float]:
    """The mantissas of one of so many equal parts of octaves, from 3/4 to 3/2."""
    low, high = 1 + k / count, 1 + (k + 1) / count
    return (low, high) if k < count // 2 else (low / 2, high / 2)


def _near_few_bits(
    low: float, high: float, base: Number, last: int, near: tuple[float, float], one: float
) -> tuple[float, float]:
    """c near the inverse of an interval's middle, and -log(c) in units of 2**-last, off by little of it; c
    is multiplied by a number then.

    1 next to it, within limits: else small results were a difference of larger numbers."""
    if near[0] <= low < high <= near[1]:
        return one, 0.0
    scale = float(2**last / base)
    unit = float(min(abs(mp.log(low)), abs(mp.log(high))) / base) * 2.0**-24
    middle = numpy.float32(2 * one / (low + high))
    for k in range(1 << 18):
        c = float(middle) + float(numpy.spacing(middle)) * (k + 1 >> 1) * (-1) ** k
        t = -math.log(c / one) * scale
        if abs(t - round(t)) < 2.0**last * unit / 4:
            exact = -mp.log(mp.mpf(c) / one) / base
            if abs(exact - mp.mpf(short(exact, last))) < unit / 8:
                return c, short(exact, last)
    raise ValueError("no such number")


def short_circles() -> dict[str, Any]:
    """In float32: what the arcsine has beyond x, by (2 x)**2; what sine and cosine lack of x and of 1; what
    the tangent has beyond x."""
    quarter = (PI / 4 * mp.mpf("1.0001")) ** 2
    arc = fit_factor(of_square(lambda x: (mp.asin(x) / x - 1) / x**2, mp.mpf(1) / 6), mp.mpf("0.2501"), 4)
    tangent = of_square(lambda x: (mp.tan(x) / x - 1) / x**2, mp.mpf(1) / 3)
    return {
        "QUARTERS_F": SINGLE.round(2 / PI),
        "QUARTER_PARTS_F": _all_positive(PI / 2, 23, 11),
        "SINE_F": fit(of_square(lambda x: (1 - mp.sin(x) / x) / x**2, mp.mpf(1) / 6), 0, quarter, 3),
        "COSINE_F": fit(of_square(lambda x: (1 - mp.cos(x)) / x**2, mp.mpf(1) / 2), 0, quarter, 3),
        "TANGENT_F": fit_factor(tangent, quarter, 6),
        "ASIN_OF_DOUBLE_F": [c / 4 ** (k + 1) for k, c in enumerate(arc)],
    }


def _all_positive(x: Number, last: int, bits: int) -> tuple[float, ...]:
    """x cut off after a bit, the next bits, and the rest: zeros keep their sign if nothing is negative."""
    first = mp.floor(mp.ldexp(x, last)) / mp.mpf(2) ** last
    second = parts(x - first - mp.ldexp(1, -last - bits - 1), bits, 1)[0]
    return float(first), second, SINGLE.round(x - first - mp.mpf(second))


def ratios() -> dict[str, Any]:
    """Of float32's arctanh: sixteenths of an octave; the difference of bits is within 0.0861 of log2.

    The first three are 1, so that small results are no difference of larger numbers; all have seven bits
    behind the point."""
    powers = [mp.mpf(1)] * 3 + [mp.mpf(2) ** ((2 * mp.mpf(k) + 1) / 32) for k in range(3, 16)]
    ratios = [mp.mpf(short(x, 7)) for x in powers]
    logs = [mp.log(x) / 2 for x in ratios]
    reach = mp.tanh((mp.mpf(3) / 16 + mp.mpf("0.0861")) * LN2 / 2)
    high = short(LN2 / 2, 17)
    return {
        "RATIO_F": [float(x) for x in ratios],
        "RATIO_LOG_HIGH_F": [short(x, 17) for x in logs],
        "RATIO_LOG_LOW_F": [SINGLE.round(x - mp.mpf(short(x, 17))) for x in logs],
        "RATIO_STEP_F": (high, *parts(LN2 / 2 - mp.mpf(high), 15, 1)),
        "RATIO_TAIL_F": fit(of_square(lambda x: (mp.atanh(x) / x - 1) / x**2, mp.mpf(1) / 3), 0, reach**2, 2),
    }


def short_cubes() -> dict[str, Any]:
    """Numbers near the roots of eighths of three octaves, whose cubes' inverses are numbers, all but exactly.

    Beside the eighth an index has what the octave is above -1, modulo 4."""
    octaves = [2.0 ** (1, 0, -1, 0)[k >> 3] for k in range(32)]
    pairs = [_near_a_cube(octave, *_eighth(k)) for k, octave in enumerate(octaves)]
    third = mp.mpf(1) / 3
    ends = [x * c - 1 for k, (_, c) in enumerate(pairs) for x in _eighth(k)]
    tail = guarded(lambda r: ((1 + r) ** third - 1) / r, third)
    return {
        "ROOT_F": [root for root, _ in pairs], "ROOT_INVERSE_F": [c for _, c in pairs],
        "ROOT_TAIL_F": fit(tail, min(ends), max(ends), 3),
        "HALF_CBRT_F": fit(tail, min(ends), max(ends), 1),
    }  # fmt: skip


def _eighth(k: int) -> tuple[float, float]:
    """The mantissas of one, modulo 8."""
    return 1 + (k & 7) / 8, 1 + ((k & 7) + 1) / 8


def _near_a_cube(octave: float, low: float, high: float) -> tuple[float, float]:
    root = numpy.float32((octave * (low + high) / 2) ** (1 / 3))
    for k in range(1 << 12):
        x = root + numpy.spacing(root) * (k + 1 >> 1) * (-1) ** k
        exact = octave / mp.mpf(float(x)) ** 3
        if abs(exact - mp.mpf(SINGLE.round(exact))) < exact * mp.mpf(2) ** -31:
            return float(x), SINGLE.round(exact)
    raise ValueError("no such number")


def halves() -> dict[str, Any]:
    """Of float16's functions: to 2**-17 or so."""
    quarter, reach = (PI / 4 * mp.mpf("1.0001")) ** 2, mp.mpf(1) / 32
    small = mp.mpf(1) / 16
    two = guarded(lambda r: mp.expm1(r * LN2) / r, LN2)
    found: dict[str, Any] = {
        "EXP2": fit(two, -reach, reach, 1),
        "SINH": fit(of_square(lambda x: (mp.sinh(x) / x - 1) / x**2, mp.mpf(1) / 6), 0, mp.mpf(1) / 4, 1),
        "LOG1P": fit(guarded(lambda x: (mp.log1p(x) - x) / x**2, mp.mpf(-1) / 2), -small, small, 2),
        "ASIN": fit(of_square(lambda x: (mp.asin(x) / x - 1) / x**2, mp.mpf(1) / 6), 0, mp.mpf("0.2501"), 3),
        "SINE": fit(of_square(lambda x: (mp.sin(x) / x - 1) / x**2, mp.mpf(-1) / 6), 0, quarter, 1),
        "COSINE": fit(of_square(lambda x: (mp.cos(x) - 1) / x**2, mp.mpf(-1) / 2), 0, quarter, 2),
        "TANGENT": fit(of_square(lambda x: (mp.tan(x) / x - 1) / x**2, mp.mpf(1) / 3), 0, quarter, 4),
    }
    found["LOG"] = fit(guarded(lambda r: mp.log1p(r) / r, mp.mpf(1)), -2 * reach, 2 * reach, 3)
    decimal = guarded(lambda r: mp.log1p(r / _DECIMAL) / r / LN10, 1 / (LN10 * _DECIMAL))
    low, high = ((x - 1) * _DECIMAL for x in _NEAR_ONE)
    found["LOG10"] = fit(decimal, low, high, 2)
    return {f"HALF_{name}_F": value for name, value in found.items()}


ALONE = (short_logarithms, powers, hyperbolas, short_circles, ratios, short_cubes, halves)
