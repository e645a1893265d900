"""Writes `tables`: polynomials and tables of constants, computed with 60 digits.

    python -m lazyarr.codegen.mathlib.coefficients

In:  the functions' definitions and intervals, below.   Out: the text of `tables.py`; needs mpmath.
Nothing is taken from other libraries: a reader can follow each number to its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp

from lazyarr.codegen.mathlib.coefficients_error import bessel, errors
from lazyarr.codegen.mathlib.coefficients_single import ALONE, near_a_number
from lazyarr.codegen.mathlib.fitting import (
    DOUBLE,
    LN2,
    LN10,
    PI,
    Format,
    Number,
    both,
    fit,
    guarded,
    of_square,
    parts,
    short,
    short_and_rest,
)


def _without_exponents(f: Format) -> list[float]:
    """2**(j/16) less j / 16 of the exponent's bits, so that adding the index, shifted, scales, too."""
    powers = [f.round(mp.mpf(2) ** (mp.mpf(j) / 16)) for j in range(16)]
    return [f.of_bits(f.bits(x) - (j << f.mantissa - 4)) for j, x in enumerate(powers)]


def _falling(f: Format) -> list[float]:
    """2**(-2 - j/16), the same with the index taken away."""
    powers = [f.round(mp.mpf(2) ** (-2 - mp.mpf(j) / 16)) for j in range(16)]
    return [f.of_bits(f.bits(x) + (j << f.mantissa - 4)) for j, x in enumerate(powers)]


def exponentials(f: Format) -> dict[str, Any]:
    reach = LN2 / 32 * mp.mpf("1.0005")
    high = [mp.mpf(2) ** (mp.mpf(j) / 16) for j in range(16)]
    rounded = [f.round(h) for h in high]
    one = guarded(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2)
    two = guarded(lambda r: mp.expm1(r * LN2) / r, LN2)
    return {
        "EXP_TAIL": fit(one, -reach, reach, 1 if f.single else 4),
        "EXPM1_TAIL": fit(one, -3 * reach, 3 * reach, 3) if f.single else fit(one, -reach, reach, 5),
        "EXP2_TAIL": fit(two, -reach / LN2, reach / LN2, 2 if f.single else 5),
        "EXP_SCALE": f.round(16 / LN2),
        "EXP_STEP": short_and_rest(f, LN2 / 16, 13) if f.single else parts(LN2 / 16, 38, 2),
        "EXP_HIGH": _without_exponents(f),
        "EXP_LOW": [f.round((h - mp.mpf(r)) / h) for h, r in zip(high, rounded, strict=True)],
        **({} if f.single else _of_both_signs(reach)),
    }


def _of_both_signs(reach: Number) -> dict[str, Any]:
    """Of sums and differences of exponentials in float64."""
    sine = of_square(lambda x: (mp.sinh(x) / x - 1) / x**2, mp.mpf(1) / 6)
    return {
        "COSH_TAIL": fit(of_square(lambda x: (mp.cosh(x) - 1) / x**2, mp.mpf(1) / 2), 0, reach**2, 2),
        "SINH_TAIL": fit(sine, 0, reach**2, 2),
        "SINH_SERIES": fit(sine, 0, mp.mpf(9) / 16, 5),
        "EXP_FALL": _falling(DOUBLE),
    }


def _inverses(f: Format) -> tuple[list[float], Number]:
    """Numbers near the inverses of mantissas, and how far their products are from 1."""
    step, inverse, reach = 1 << f.mantissa - 4, [], mp.mpf(0)
    for k in range(16):
        low, high = (f.of_bits(_first(f) + j * step) for j in (k, k + 1))
        c = 1.0 if low <= 1 <= high else round(128 / (low + high)) / 64
        inverse.append(c)
        reach = max(reach, abs(mp.mpf(low) * c - 1), abs(mp.mpf(high) * c - 1))
    return inverse, reach * mp.mpf("1.001")


def _first(f: Format) -> int:
    """Nine intervals and two thirds lie below 1, so that 1 is in the middle of one."""
    return f.bits(1.0) - 29 * (1 << f.mantissa - 4) // 3


def logarithms(f: Format) -> dict[str, Any]:
    """Beside the tables: P of log1p(r) = r - s (r - s**2 P(s**2)), s = r / (2 + r); in other bases s is the
    scaled one, and the first term what the scale lacks.  For sums, series in r, and a scale of few bits."""
    inverse, reach = _inverses(f)
    tail = guarded(lambda r: (mp.log1p(r) - r + r * r / 2) / r**3, mp.mpf(1) / 3)
    bow = of_square(lambda s: 2 * (mp.atanh(s) - s) / s**3, mp.mpf(2) / 3)
    slopes = fit(bow, 0, (reach / (2 - reach)) ** 2, 2)
    last = 15 if f.single else 42
    found: dict[str, Any] = {
        "LOG_FIRST": _first(f),
        "LOG_INVERSE": inverse,
        "POWER_TAIL": [-2 * c for c in fit(tail, -reach, reach, 9)],
        "SUM_TAIL": [-2 * c for c in fit(tail, -reach, reach, 3 if f.single else 8)],
        "SUM_SCALE": short_and_rest(f, 1 / LN2, 12 if f.single else 26),
    }
    for name, base in (("LOG", mp.mpf(1)), ("LOG2", LN2), ("LOG10", LN10)):
        logs = [-mp.log(c) / base for c in inverse]
        found[f"{name}_HIGH"] = [short(x, last) for x in logs]
        found[f"{name}_LOW"] = [f.round(x - mp.mpf(short(x, last))) for x in logs]
        octave = LN2 / base
        high = short(octave, last)
        left = octave - mp.mpf(high)
        found[f"{name}_STEP"] = (high, *(parts(left, last, 1) if left else (0.0,)))
        scale = f.round(1 / base)
        lacks = 1 / base - mp.mpf(scale)
        found[f"{name}_SCALE"] = (scale, f.round(lacks))
        scaled = [float(mp.mpf(c) / mp.mpf(scale) ** (2 * k + 2)) for k, c in enumerate(slopes)]
        found[f"{name}_BOW"] = [float(2 * lacks / scale), *scaled] if lacks else scaled
    return found


def cubes() -> dict[str, Any]:
    """Numbers of 26 bits near the roots of sixteenths of an octave, and near those of 1, 2, 4 at the eighths
    next to thirds, 0, 3, 5; and what inverts their cubes, with the same power of two."""
    third = mp.mpf(1) / 3
    middles = [1 + (k + mp.mpf(1) / 2) / 16 for k in range(16)]
    roots = [_near_a_cube(x**third, 1) for x in middles]
    reach = mp.mpf(1) / 32
    powers = [mp.mpf(2) ** {3: 1, 5: 2}.get(k, 0) for k in range(8)]
    twos = [_near_a_cube(x**third, x) for x in powers]
    tail = guarded(lambda r: ((1 + r) ** third - 1) / r, third)
    return {
        "CBRT": [root for root, _ in roots],
        "CBRT_INVERSE": [c for _, c in roots],
        "CBRT_TWO": [root for root, _ in twos],
        "CBRT_TWO_INVERSE": [x for _, x in twos],
        "CBRT_TAIL": fit(tail, -reach, reach, 7),
    }


def _near_a_cube(root: Number, cube: Number) -> tuple[float, float]:
    """A number of 26 bits near a root, and cube / number**3, which is a number, within 2**-9 of its last
    place."""
    middle = parts(root, 26, 1)[0]
    for k in range(1 << 14):
        x = middle + (k + 1 >> 1) * (-1) ** k * 2.0**-26
        exact = cube / mp.mpf(x) ** 3
        if abs(exact - mp.mpf(float(exact))) < exact * mp.ldexp(1, -62):
            return x, float(exact)
    raise ValueError("no such number")


def angles(f: Format) -> dict[str, Any]:
    """Tangents around the middle of half octaves from 1/8 to 8, 0 below, infinity above: of few bits; those
    of float32 belong to angles that are numbers, all but, and so need no lower part."""
    edges = [mp.ldexp(m, e) for e in range(-3, 3) for m in (mp.mpf(1), mp.mpf("1.5"))] + [mp.mpf(8)]
    middle = [float(mp.tan((mp.atan(a) + mp.atan(b)) / 2)) for a, b in pairwise(edges)]
    tangents = [short(mp.mpf(c), 7 - math.frexp(c)[1]) for c in middle]
    endless = mp.mpf(0)     # the last c's reciprocal
    if f.single:
        tangents = [near_a_number(mp.atan, c * 0.96, c * 1.04)[0] for c in middle]
        endless = mp.cot(mp.mpf(f.round(PI / 2)))
    reach = mp.mpf(1) / 8
    for c, low, high in zip(tangents, edges, edges[1:], strict=False):
        reach = max(reach, *(abs(mp.atan(x) - mp.atan(c)) for x in (low, high)))
    limit = (mp.tan(reach) * mp.mpf("1.001")) ** 2
    exact = [mp.mpf(0), *(mp.atan(c) for c in tangents), PI / 2, mp.mpf(0), mp.mpf(0)]
    high = [f.round(x) for x in exact]
    half = f.round(PI / 2)
    tail = of_square(lambda x: (mp.atan(x) / x - 1) / x**2, mp.mpf(-1) / 3)
    arc = of_square(lambda x: (mp.asin(x) / x - 1) / x**2, mp.mpf(1) / 6)
    low = [f.round(x - mp.mpf(h)) for x, h in zip(exact, high, strict=True)]
    return {
        **({} if f.single else {"ATAN_LOW": low, "ASIN_TAIL": fit(arc, 0, mp.mpf("0.2501"), 12)}),
        "ATAN_P": [1.0] * 13 + [f.round(endless), 1.0, 1.0],
        "ATAN_Q": [0.0, *tangents, 1.0, 0.0, 0.0],
        "ATAN_HIGH": high,
        "ATAN_TAIL": fit(tail, 0, limit, 2 if f.single else 5),
        "HALF_PI": (half, f.round(PI / 2 - mp.mpf(half))),
    }


def slopes(f: Format) -> dict[str, Any]:
    """Quotients by quarter octaves from 5/64 to 1, of few bits; 0 below.  True ones: down to 8/9 of them."""
    edges = [mp.ldexp(1 + mp.mpf(k % 4) / 4, k // 4 - 4) for k in range(1, 17)]
    middle = [mp.tan((mp.atan(a * 8 / 9) + mp.atan(b)) / 2) for a, b in pairwise(edges)]
    slopes = [mp.mpf(0), *(mp.mpf(short(c, 8 - math.frexp(float(c))[1])) for c in middle)]
    reach = edges[0]
    for c, low, high in zip(slopes[1:], edges, edges[1:], strict=False):
        reach = max(reach, *(abs(mp.tan(mp.atan(x) - mp.atan(c))) for x in (low * 8 / 9, high)))
    exact = [mp.atan(c) for c in slopes]
    last = f.mantissa - 1        # multiples of it below 4 are numbers
    high, quarter = [short(x, last) for x in exact], short(PI / 2, last)
    tail = of_square(lambda x: (mp.atan(x) / x - 1) / x**2, mp.mpf(-1) / 3)
    return {
        "SLOPE": [float(c) for c in slopes],
        "SLOPE_HIGH": high,
        "SLOPE_LOW": [f.round(x - mp.mpf(h)) for x, h in zip(exact, high, strict=True)],
        "QUARTER_TURN": (quarter, f.round(PI / 2 - mp.mpf(quarter))),
        "SLOPE_TAIL": fit(tail, 0, (reach * mp.mpf("1.001")) ** 2, 1 if f.single else 5),
    }


def growth() -> dict[str, Any]:
    """Of float64's logaddexp: sums of two numbers."""

    def two(x: Number) -> list[float]:
        return [float(x), float(x - mp.mpf(float(x)))]

    return {
        "FACTORIALS": [two(1 / mp.factorial(k)) for k in range(1, 8)],
        "LOG2_STEPS": two(LN2),
        "EXP_STEP_REST": parts(LN2 / 16, 38, 3)[2],
    }


def circles() -> dict[str, Any]:
    quarter = (PI / 4 * mp.mpf("1.0001")) ** 2
    tangents = [mp.tan(PI / 32 * (k - 8)) for k in range(16)]
    return {
        "QUARTERS": float(2 / PI),
        "QUARTER_PARTS": (*parts(PI / 2, 53, 1), *_second_and_third(PI / 2, 31)),
        "SIXTEENTHS": float(32 / PI),
        "SIXTEENTH_PARTS": (*parts(PI / 32, 53, 1), *_second_and_third(PI / 32, 29)),
        "TAN_HIGH": [float(x) or -0.0 for x in tangents],
        "TAN_LOW": [float(x - mp.mpf(float(x))) for x in tangents],
        "TAN_TAIL": fit(
            of_square(lambda x: (1 - mp.tan(x) / x) / x**2, mp.mpf(-1) / 3), 0, quarter / 256, 3
        ),
        "SIN_TAIL": fit(of_square(lambda x: (mp.sin(x) / x - 1) / x**2, mp.mpf(-1) / 6), 0, quarter, 5),
        "COS_TAIL": fit(
            of_square(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, mp.mpf(1) / 24), 0, quarter, 5
        ),
        "TWO_OVER_PI": _two_over_pi(1216),
        "PI_QUARTER_BITS": parts(PI / 2, 53, 2),
    }


def ratios_of_sines() -> dict[str, Any]:
    """sin(pi r) / (pi r) as a function of r**2, without its first two terms; and all of it."""
    first = PI**2 / 6
    ratio = of_square(lambda r: mp.sin(PI * r) / (PI * r), mp.mpf(1))
    tail = guarded(lambda z: ((ratio(z) - 1) / z + first) / z, PI**4 / 120)
    return {
        "SINC_FIRST": (float(first), float(first - mp.mpf(float(first)))),
        "SINC_TAIL": fit(tail, 0, mp.mpf(1) / 4, 6),
        "SINC_SHORT": fit(ratio, 0, mp.mpf(1) / 4, 6),
    }


def _second_and_third(x: Number, bits: int) -> tuple[float, ...]:
    """What a double lacks of x: so many bits, and the rest."""
    rest = x - mp.mpf(float(x))
    second = parts(rest, bits, 1)[0]
    return second, float(rest - mp.mpf(second))


def _two_over_pi(bits: int) -> tuple[int, ...]:
    """Its first bits, in words of 64."""
    with mp.workprec(bits + 64):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, bits)))
    return tuple(whole >> (bits - 64 * (k + 1)) & 0xFFFFFFFFFFFFFFFF for k in range(bits // 64))


FAMILIES: tuple[Callable[[], dict[str, Any]], ...] = (
    *(partial(both, family) for family in (exponentials, logarithms, angles, slopes, errors)),
    growth, circles, cubes, ratios_of_sines, bessel, *ALONE,
)


def text() -> str:
    lines = ['"""Constants of the functions: `coefficients` writes this file."""', ""]
    lines.append("from __future__ import annotations")
    for family in FAMILIES:
        lines.append("")
        for name, value in family().items():
            lines += _assignment(name, value)
    return "\n".join(lines) + "\n"


def _assignment(name: str, value: Any) -> list[str]:
    if isinstance(value, int):
        return [f"{name} = {value:#x}"]
    if isinstance(value, float):
        return [f"{name} = {value!r}"]
    if isinstance(value[0], list):
        columns = [_assignment("", column) for column in value]
        inner = [f"    {line.removeprefix(': tuple[float, ...] = ')}" for c in columns for line in c]
        inner = [f"{line}," if line == "    )" else line for line in inner]
        return [f"{name}: tuple[tuple[float, ...], ...] = (", *inner, ")"]
    kind = "int" if isinstance(value[0], int) else "float"
    lines, row = [f"{name}: tuple[{kind}, ...] = ("], "   "
    for item in value:
        cell = f" {item:#x}," if kind == "int" else f" {item!r},"
        if len(row) + len(cell) > 100:
            lines.append(row)
            row = "   "
        row += cell
    return [*lines, row, ")"]


if __name__ == "__main__":
    Path(__file__).with_name("tables.py").write_text(text(), encoding="utf-8")
