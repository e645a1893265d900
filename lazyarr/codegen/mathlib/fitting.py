"""Polynomials and rounded constants, with 60 digits: what `coefficients` computes its tables with.

In:  functions of mpmath's numbers, and intervals.   Out: floats, and the formats that they are rounded to.
Polynomials interpolate at Chebyshev's nodes, which is within a small factor of the best approximation.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy

from lazyarr.records import NamedTuple

mp.mp.dps = 60
Number = Any
LN2, LN10, PI = mp.log(2), mp.log(10), +mp.pi


def _nodes(low: Number, high: Number, n: int) -> list[Number]:
    """Chebyshev's."""
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]


def fit(f: Callable[[Number], Number], low: Number, high: Number, degree: int) -> tuple[float, ...]:
    """Coefficients, lowest degree first, of the polynomial that equals f at the Chebyshev nodes."""
    return _through(f, _nodes(mp.mpf(low), mp.mpf(high), degree + 1))


def fit_factor(f: Callable[[Number], Number], high: Number, degree: int) -> tuple[float, ...]:
    """The same from 0 on, of what is multiplied by x, so that small numbers may be off by more: the nodes of
    a longer interval, of which the first one is 0."""
    n, high = degree + 1, mp.mpf(high)
    c = mp.cos(mp.pi / (2 * n + 2))
    return _through(f, _nodes(-high * (1 - c) / (1 + c), high, n + 1)[:-1])


def _through(f: Callable[[Number], Number], nodes: list[Number]) -> tuple[float, ...]:
    n = len(nodes)
    powers = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = x**j
    found = mp.lu_solve(powers, mp.matrix([f(x) for x in nodes]))
    return tuple(float(c) for c in found)


def ratio(
    f: Callable[[Number], Number], high: Number, over: int, under: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The coefficients beyond the first, which is 1, of two polynomials of these degrees whose quotient
    equals f, which is 1 at 0, at the Chebyshev nodes from 0 on."""
    n = over + under
    nodes = _nodes(mp.mpf(0), mp.mpf(high), n)
    powers = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = x ** (j + 1) if j < over else -f(x) * x ** (j - over + 1)
    found = [float(c) for c in mp.lu_solve(powers, mp.matrix([f(x) - 1 for x in nodes]))]
    return tuple(found[:over]), tuple(found[over:])


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
