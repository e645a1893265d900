"""Writes `tables`: polynomials and tables of constants, computed with 60 digits.

    python -m lazyarr.codegen.mathlib.coefficients

In:  the functions' definitions and intervals, below.   Out: the text of `tables.py`; needs mpmath.
Polynomials interpolate at Chebyshev's nodes, which is within a small factor of the best approximation.
Nothing is taken from other libraries: a reader can follow each number to its definition.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import mpmath as mp
import numpy

mp.mp.dps = 60
Number = Any
LN2, LN10, PI = mp.log(2), mp.log(10), +mp.pi


def fit(f: Callable[[Number], Number], low: Number, high: Number, degree: int) -> tuple[float, ...]:
    """Coefficients, lowest degree first, of the polynomial that equals f at the Chebyshev nodes."""
    n, low, high = degree + 1, mp.mpf(low), mp.mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    powers = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = x**j
    found = mp.lu_solve(powers, mp.matrix([f(x) for x in nodes]))
    return tuple(float(c) for c in found)


def short(x: Number, last: int) -> float:
    """x rounded to a multiple of 2**-last."""
    return float(mp.nint(mp.ldexp(x, last)) / mp.mpf(2) ** last)


def parts(x: Number, bits: int, count: int) -> tuple[float, ...]:
    """Numbers of so many bits, largest first, whose sum is x to the last one's precision."""
    found = []
    for _ in range(count):
        piece = short(x, bits - math.frexp(float(x))[1])
        found.append(piece)
        x -= mp.mpf(piece)
    return tuple(found)


def short_and_rest(f: Format, x: Number, bits: int) -> tuple[float, float]:
    """A number of so many bits, and what it lacks of x."""
    high = parts(x, bits, 1)[0]
    return high, f.round(x - mp.mpf(high))


def guarded(f: Callable[[Number], Number], at_zero: Number) -> Callable[[Number], Number]:
    """f where its formula loses all digits near 0."""
    return lambda x: at_zero if abs(x) < mp.mpf("1e-25") else f(x)


def of_square(f: Callable[[Number], Number], at_zero: Number) -> Callable[[Number], Number]:
    """An even function of x as a function of x * x."""
    return guarded(lambda z: f(mp.sqrt(z)), at_zero)


def both(family: Callable[[Format], dict[str, Any]]) -> dict[str, Any]:
    """The tables of a family for float64, and for float32 with the suffix _F."""
    single = {f"{name}_F": value for name, value in family(SINGLE).items()}
    return {**family(DOUBLE), **single}


class Format(NamedTuple):
    """What a family needs to know of a precision."""

    single: bool
    mantissa: int
    real: str
    """The format of `struct`."""
    integer: str

    def round(self, x: Number) -> float:
        return float(numpy.float32(float(x))) if self.single else float(x)

    def of_bits(self, bits: int) -> float:
        return float(struct.unpack(self.real, struct.pack(self.integer, bits))[0])

    def bits(self, x: float) -> int:
        return int(struct.unpack(self.integer, struct.pack(self.real, x))[0])


DOUBLE, SINGLE = Format(False, 52, "<d", "<q"), Format(True, 23, "<f", "<i")


def _without_exponents(f: Format) -> list[float]:
    """2**(j/16) less j / 16 of the exponent's bits, so that adding the index, shifted, scales, too."""
    powers = [f.round(mp.mpf(2) ** (mp.mpf(j) / 16)) for j in range(16)]
    return [f.of_bits(f.bits(x) - (j << f.mantissa - 4)) for j, x in enumerate(powers)]


def exponentials(f: Format) -> dict[str, Any]:
    reach = LN2 / 32 * mp.mpf("1.0005")
    high = [mp.mpf(2) ** (mp.mpf(j) / 16) for j in range(16)]
    rounded = [f.round(h) for h in high]
    one = guarded(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2)
    two = guarded(lambda r: mp.expm1(r * LN2) / r, LN2)
    return {
        "EXP_TAIL": fit(one, -reach, reach, 1 if f.single else 4),
        "EXPM1_TAIL": fit(one, -reach, reach, 2 if f.single else 5),
        "EXP2_TAIL": fit(two, -reach / LN2, reach / LN2, 2 if f.single else 5),
        "COSH_TAIL": fit(
            of_square(lambda x: (mp.cosh(x) - 1) / x**2, mp.mpf(1) / 2), 0, reach**2, 1 if f.single else 3
        ),
        "SINH_TAIL": fit(
            of_square(lambda x: (mp.sinh(x) / x - 1) / x**2, mp.mpf(1) / 6), 0, reach**2, 0 if f.single else 2
        ),
        "EXP_SCALE": f.round(16 / LN2),
        "EXP_STEP": short_and_rest(f, LN2 / 16, 13 if f.single else 38),
        "EXP_HIGH": _without_exponents(f),
        "EXP_LOW": [f.round((h - mp.mpf(r)) / h) for h, r in zip(high, rounded, strict=True)],
    }


TANH_FIRST = 0.0625
"""Where quarter octaves begin in the table; below 5/4 of it tanh is odd."""


def hyperbolas() -> dict[str, Any]:
    """tanh in float32: a polynomial for each quarter octave around a number whose tanh is one, all but."""
    edges = [TANH_FIRST * 2.0 ** (k // 4) * (1 + (k % 4) / 4) for k in range(1, 33)]
    low = fit(of_square(lambda x: (mp.tanh(x) / x - 1) / x**2, mp.mpf(-1) / 3), 0, mp.mpf(edges[0]) ** 2, 1)
    rows: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 0.0, low[0], 0.0, low[1])]
    for a, b in pairwise(edges):
        center, value = _near_a_number(mp.tanh, a, b)
        reach = mp.mpf(a) - center, mp.mpf(b) - center
        rows.append((center, value, *fit(partial(_secant, mp.mpf(center)), *reach, 4)))
    columns = enumerate(zip(*rows, strict=True))
    return {"TANH_FIRST": TANH_FIRST} | {f"TANH_ROWS_{k}": list(column) for k, column in columns}


def _secant(center: Number, r: Number) -> Number:
    """The slope of tanh from a number to the one r above it."""
    near = abs(r) < mp.mpf("1e-25")
    return mp.sech(center) ** 2 if near else (mp.tanh(center + r) - mp.tanh(center)) / r


def _near_a_number(f: Callable[[Number], Number], low: float, high: float) -> tuple[float, float]:
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


def logarithms(f: Format) -> dict[str, Any]:
    """Nine intervals and two thirds lie below 1, so that 1 is in the middle of one."""
    step = 1 << f.mantissa - 4
    first = f.bits(1.0) - 29 * step // 3
    inverse, reach = [], mp.mpf(0)
    for k in range(16):
        low, high = (f.of_bits(first + j * step) for j in (k, k + 1))
        c = 1.0 if low <= 1 <= high else round(128 / (low + high)) / 64
        inverse.append(c)
        reach = max(reach, abs(mp.mpf(low) * c - 1), abs(mp.mpf(high) * c - 1))
    reach *= mp.mpf("1.001")
    tail = guarded(lambda r: (mp.log1p(r) - r + r * r / 2) / r**3, mp.mpf(1) / 3)
    found: dict[str, Any] = {
        "LOG_FIRST": first,
        "LOG_INVERSE": inverse,
        "LOG_TAIL": fit(tail, -reach, reach, 2 if f.single else 7),
    }
    found["POWER_TAIL"] = [-2 * c for c in fit(tail, -reach, reach, 11)]
    found |= cubes(f, inverse, reach)
    last = 15 if f.single else 42
    for name, base in (("LOG", mp.mpf(1)), ("LOG2", LN2), ("LOG10", LN10)):
        logs = [-mp.log(c) / base for c in inverse]
        found[f"{name}_HIGH"] = [short(x, last) for x in logs]
        found[f"{name}_LOW"] = [f.round(x - mp.mpf(short(x, last))) for x in logs]
        octave = LN2 / base
        high = short(octave, last)
        found[f"{name}_STEP"] = (high, f.round(octave - mp.mpf(high)))
        scale = f.round(1 / base)
        found[f"{name}_SCALE"] = (scale, f.round(1 / base - mp.mpf(scale)))
        bend = fit(_bend, -reach, reach, 3 if f.single else 8)
        found[f"{name}_BEND"] = [float(mp.mpf(c) / base) for c in bend]
    return found


def short_logarithms() -> dict[str, Any]:
    """In float32: logarithms of few bits, so that multiples of log(2) can be added exactly."""
    found: dict[str, Any] = {}
    for name, base, last in (("LOG", mp.mpf(1), 17), ("LOG2", LN2, 16), ("LOG10", LN10, 18)):
        pairs = [_near_few_bits(*_thirty_second(k), base, last) for k in range(32)]
        halved = base == LN2        # mantissas lie between 1 and 2 there, else from 3/4 to 3/2
        octave = short(LN2 / base, last)
        first = SINGLE.round(1 / base)
        slope = partial(_above, base, mp.mpf(first))
        ends = [x * c - 1 for k, (c, _) in enumerate(pairs) for x in _thirty_second(k)]
        found[f"SHORT_{name}_INVERSE"] = [c / 2 if halved and k > 15 else c for k, (c, _) in enumerate(pairs)]
        found[f"SHORT_{name}"] = [t + 1 if halved and k > 15 else t for k, (_, t) in enumerate(pairs)]
        found[f"SHORT_{name}_STEP"] = (octave, SINGLE.round(LN2 / base - mp.mpf(octave)))
        found[f"SHORT_{name}_BEND"] = (first, *fit(slope, min(ends), max(ends), 3))
    return {f"{name}_F": value for name, value in found.items()}


def binary() -> dict[str, Any]:
    """Of float32's power, in float64: log2 by sixteenths of an octave's mantissas, and 2**x by sixteenths."""
    inverse = [1.0, *(float(2 / (2 + mp.mpf(2 * k + 1) / 16)) for k in range(1, 15)), 0.5]
    ends = [(1 + mp.mpf(j) / 16) * mp.mpf(c) - 1 for k, c in enumerate(inverse) for j in (k, k + 1)]
    return {
        "BINARY_INVERSE": inverse,
        "BINARY_LOG": [float(-mp.log(mp.mpf(c)) / LN2) for c in inverse],
        "BINARY_BEND": fit(partial(_above, LN2, mp.mpf(0)), min(ends), max(ends), 5),
        "BINARY_POWER": fit(lambda x: mp.mpf(2) ** x, mp.mpf(-1) / 32, mp.mpf(1) / 32, 3),
    }


def _above(base: Number, first: Number, r: Number) -> Number:
    """The slope of the logarithm from 1 to 1 + r, less its first part."""
    return (mp.log1p(r) / r if abs(r) > mp.mpf("1e-25") else 1) / base - first


def _thirty_second(k: int) -> tuple[float, float]:
    """The mantissas of an index, from 3/4 to 3/2."""
    low, high = 1 + k / 32, 1 + (k + 1) / 32
    return (low, high) if k < 16 else (low / 2, high / 2)


def _near_few_bits(low: float, high: float, base: Number, last: int) -> tuple[float, float]:
    """c near the inverse of an interval's middle, and -log(c) in units of 2**-last, off by little of it."""
    if low <= 1 <= high:
        return 1.0, 0.0
    scale = float(2**last / base)
    unit = float(min(abs(mp.log(low)), abs(mp.log(high))) / base) * 2.0**-24
    middle = numpy.float32(2 / (low + high))
    for k in range(1 << 18):
        c = float(middle) + float(numpy.spacing(middle)) * (k + 1 >> 1) * (-1) ** k
        t = -math.log(c) * scale
        if abs(t - round(t)) < 2.0**last * unit / 4:
            exact = -mp.log(mp.mpf(c)) / base
            if abs(exact - mp.mpf(short(exact, last))) < unit / 8:
                return c, short(exact, last)
    raise ValueError("no such number")


_bend = guarded(lambda r: (mp.log1p(r) - r) / r**2, mp.mpf(-1) / 2)


def cubes(f: Format, inverse: list[float], reach: Number) -> dict[str, Any]:
    """Roots of what the logarithms' table inverts, and of 1/2, 1, 2 at the indices -1, 0, 1."""
    third = mp.mpf(1) / 3
    roots = [(1 / mp.mpf(c)) ** third for c in inverse]
    twos = [mp.mpf(2) ** (third * {1: 1, 15: -1}.get(k, 0)) for k in range(16)]
    tail = guarded(lambda r: ((1 + r) ** third - 1) / r, third)
    found: dict[str, Any] = {"CBRT_TAIL": fit(tail, -reach, reach, 3 if f.single else 9)}
    for name, exact in (("CBRT", roots), ("CBRT_TWO", twos)):
        high = [f.round(x) for x in exact]
        found[f"{name}_HIGH"] = high
        found[f"{name}_LOW"] = [f.round((x - mp.mpf(h)) / x) for x, h in zip(exact, high, strict=True)]
    return found


def angles(f: Format) -> dict[str, Any]:
    """Tangents in the middle of half octaves from 1/8 to 8, of few bits; 0 below, infinity above."""
    edges = [mp.ldexp(m, e) for e in range(-3, 3) for m in (mp.mpf(1), mp.mpf("1.5"))] + [mp.mpf(8)]
    middle = [float(mp.tan((mp.atan(a) + mp.atan(b)) / 2)) for a, b in pairwise(edges)]
    tangents = [short(mp.mpf(c), 7 - math.frexp(c)[1]) for c in middle]
    reach = mp.mpf(1) / 8
    for c, low, high in zip(tangents, edges, edges[1:], strict=False):
        reach = max(reach, *(abs(mp.atan(x) - mp.atan(c)) for x in (low, high)))
    limit = (mp.tan(reach) * mp.mpf("1.001")) ** 2
    exact = [mp.mpf(0), *(mp.atan(c) for c in tangents), PI / 2, mp.mpf(0), mp.mpf(0)]
    high = [f.round(x) for x in exact]
    half = f.round(PI / 2)
    tail = of_square(lambda x: (mp.atan(x) / x - 1) / x**2, mp.mpf(-1) / 3)
    arc = of_square(lambda x: (mp.asin(x) / x - 1) / x**2, mp.mpf(1) / 6)
    return {
        "ATAN_P": [1.0] * 13 + [0.0, 1.0, 1.0],
        "ATAN_Q": [0.0, *tangents, 1.0, 0.0, 0.0],
        "ATAN_HIGH": high,
        "ATAN_LOW": [f.round(x - mp.mpf(h)) for x, h in zip(exact, high, strict=True)],
        "ATAN_TAIL": fit(tail, 0, limit, 2 if f.single else 7),
        "ASIN_TAIL": fit(arc, 0, mp.mpf("0.2501"), 5 if f.single else 12),
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
    high = [f.round(x) for x in exact]
    tail = of_square(lambda x: (mp.atan(x) / x - 1) / x**2, mp.mpf(-1) / 3)
    return {
        "SLOPE": [float(c) for c in slopes],
        "SLOPE_HIGH": high,
        "SLOPE_LOW": [f.round(x - mp.mpf(h)) for x, h in zip(exact, high, strict=True)],
        "SLOPE_TAIL": fit(tail, 0, (reach * mp.mpf("1.001")) ** 2, 1 if f.single else 6),
    }


def circles() -> dict[str, Any]:
    quarter = (PI / 4 * mp.mpf("1.0001")) ** 2
    return {
        "QUARTERS": float(2 / PI),
        "QUARTER_PARTS": (*parts(PI / 2, 53, 1), *_second_and_third(PI / 2)),
        "SIN_TAIL": fit(of_square(lambda x: (mp.sin(x) / x - 1) / x**2, mp.mpf(-1) / 6), 0, quarter, 5),
        "COS_TAIL": fit(
            of_square(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, mp.mpf(1) / 24), 0, quarter, 5
        ),
        "TWO_OVER_PI": _digits(2 / PI, 1216),
        "PI_QUARTER_BITS": parts(PI / 2, 53, 2),
    }


def short_circles() -> dict[str, Any]:
    """In float32; the tangent's series, and the sine's, with the sign of what is taken from the remainder."""
    quarter = (PI / 4 * mp.mpf("1.0001")) ** 2
    tangent = fit(of_square(lambda x: (1 - mp.tan(x) / x) / x**2, mp.mpf(-1) / 3), 0, quarter, 6)
    return {
        "QUARTERS_F": SINGLE.round(2 / PI),
        "QUARTER_PARTS_F": _all_positive(PI / 2, 23, 11),
        "SINE_F": fit(of_square(lambda x: (1 - mp.sin(x) / x) / x**2, mp.mpf(1) / 6), 0, quarter, 2),
        "COSINE_F": fit(of_square(lambda x: (mp.cos(x) - 1) / x**2, mp.mpf(-1) / 2), 0, quarter, 3),
        "TANGENT_F": tangent,
    }


def _second_and_third(x: Number) -> tuple[float, ...]:
    """What a double lacks of x: 31 bits, and the rest."""
    rest = x - mp.mpf(float(x))
    second = parts(rest, 31, 1)[0]
    return second, float(rest - mp.mpf(second))


def _all_positive(x: Number, last: int, bits: int) -> tuple[float, ...]:
    """x cut off after a bit, the next bits, and the rest: zeros keep their sign if nothing is negative."""
    first = mp.floor(mp.ldexp(x, last)) / mp.mpf(2) ** last
    second = parts(x - first - mp.ldexp(1, -last - bits - 1), bits, 1)[0]
    return float(first), second, SINGLE.round(x - first - mp.mpf(second))


def _digits(x: Number, bits: int) -> tuple[int, ...]:
    """The first bits of a fraction, in words of 64."""
    with mp.workprec(bits + 64):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, bits)))
    return tuple(whole >> (bits - 64 * (k + 1)) & 0xFFFFFFFFFFFFFFFF for k in range(bits // 64))


FAMILIES: tuple[Callable[[], dict[str, Any]], ...] = (
    *(partial(both, family) for family in (exponentials, logarithms, angles, slopes)),
    short_logarithms, binary, hyperbolas, circles, short_circles,
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
