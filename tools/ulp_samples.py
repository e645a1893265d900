"""Operands of real functions: every binade, random bit patterns, special values, and the neighbourhood of
multiples of pi/2, of 1, and of where tables and cases begin."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy
from ulp_functions import INTEGERS, function, usual_range

from lazyarr.codegen.mathlib.tables import LOG_FIRST

SPECIAL = (
    0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, 2.5, -2.5,
    709.0, 710.0, -745.0, -746.0, 88.0, 89.0, -103.0, -104.0, -150.0, 128.0, 1024.0, -1074.0, -1075.0,
    1e5, 1e15, 1e22,
)  # fmt: skip


def special(char: str) -> numpy.ndarray:
    info = numpy.finfo(char)
    least = float(info.smallest_subnormal)
    ends = [float(info.max), float(info.tiny), least, float(info.tiny) - least]
    with numpy.errstate(over="ignore"):
        return numpy.array([*SPECIAL, *ends, *(-x for x in ends)]).astype(char)


def samples(name: str, char: str, seed: int, count: int) -> Iterator[tuple[numpy.ndarray, ...]]:
    """Operands of all kinds, `count` of most."""
    rng = numpy.random.default_rng(seed)
    nin = function(name, char).operands
    info, integer = numpy.finfo(char), numpy.dtype(INTEGERS[char])
    low, high = usual_range(name, char)

    def patterns() -> numpy.ndarray:
        limits = numpy.iinfo(integer)
        return rng.integers(limits.min, limits.max, count, integer, endpoint=True).view(char)

    def binades() -> numpy.ndarray:
        each = max(count // 1000, 1)
        exponents = numpy.repeat(numpy.arange(int(info.minexp) - info.nmant, int(info.maxexp)), each)
        sizes = numpy.ldexp(rng.uniform(1, 2, len(exponents)), exponents)
        return (sizes * rng.choice([-1.0, 1.0], len(sizes))).astype(char)

    def quarters() -> numpy.ndarray:
        k = rng.integers(-(10**6), 10**6, count)
        exact = k * numpy.longdouble(mpmath.nstr(mpmath.pi / 2, 40))
        return _near(exact.astype(char), rng)

    def ones() -> numpy.ndarray:
        return (1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-int(info.nmant), 1, count)).astype(char)

    def edges() -> numpy.ndarray:
        steps = (2 * rng.integers(-700, 700, count) + 1) / 2 * float(mpmath.log(2)) / 16
        mantissas = (LOG_FIRST + (rng.integers(0, 17, count) << 48)).view("f8")
        halves = (2 + rng.integers(0, 2, count)) * 2.0 ** rng.integers(-5, 4, count)
        return _near(numpy.concatenate([steps, mantissas, halves]).astype(char), rng)

    def usual() -> numpy.ndarray:
        return rng.uniform(low, high, count).astype(char)

    def wide() -> numpy.ndarray:
        return (rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-12, 11, count)).astype(char)

    if name in ("power", "float_power"):
        yield _of_all_sizes(char, count, rng)
    for kind in (patterns, binades, quarters, ones, edges, usual, wide):
        yield tuple(kind() for _ in range(nin))
    values = special(char)
    yield tuple(a.ravel() for a in numpy.meshgrid(*[values] * nin)) if nin > 1 else (values,)


def _of_all_sizes(char: str, count: int, rng: numpy.random.Generator) -> tuple[numpy.ndarray, ...]:
    """Bases next to 1 and exponents whose powers are of all sizes: operands that only together are rare."""
    info = numpy.finfo(char)
    x = numpy.concatenate([
        1 + rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(-int(info.nmant), -3, count),
        rng.uniform(0.9, 1.1, count),
    ]).astype(char)  # fmt: skip
    octaves = rng.uniform(int(info.minexp) - info.nmant, int(info.maxexp), len(x))
    with numpy.errstate(all="ignore"):
        return x, (octaves / numpy.log2(x.astype("d"))).astype(char)


def _near(x: numpy.ndarray, rng: numpy.random.Generator) -> numpy.ndarray:
    """The same numbers, or some bits away."""
    moved = x.view(INTEGERS[x.dtype.char]) + rng.integers(-2, 3, len(x)).astype(INTEGERS[x.dtype.char])
    return moved.view(x.dtype)
