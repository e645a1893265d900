"""Functions of complex numbers: each part within 1 ULP, NumPy's special values and flags."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from functools import cache

import numpy
import pytest

pytest.importorskip("mpmath")
import mpmath
from ulp_plane import PART, errors, pairs, parts, samples

from lazyarr.codegen.mathlib import plane
from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_levels
from lazyarr.op_targets import OPTIMISED
from lazyarr.own_loops import COMPLEX

pytestmark = pytest.mark.usefixtures("quiet")

WIDTHS = ("X86_V2", "X86_V3", "X86_V4", "ASIMD", "SVE")
LEVELS = [level.target for level in host_levels() if level.target.name in WIDTHS]
ALL = [pytest.param(name, char, id=f"{name}-{char}") for name, chars in COMPLEX.items() for char in chars]
POWERS = ("power", "float_power")
UNARY = [p for p in ALL if p.values[0] not in POWERS]
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
BOUNDS = dict.fromkeys(POWERS, 2.0)
"""Other bounds than 1 unit in the last place of a result's modulus."""
PARTS = {**dict.fromkeys(POWERS, numpy.inf), "expm1": 100.0, "log2": 1.5, "log10": 1.5}
"""And than 1 of each part: there terms cancel, or a number is rounded once more."""


@cache
def loop(name, sig, target):
    made = module(name, sig, target)
    return LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])


def result(name, char):
    return "d" if name == "absolute" else char


def call(name, char, *zs, target=LEVELS[-1], gap=1):
    out = numpy.empty(len(zs[0]) * gap, result(name, char))[::gap]
    arrays = (*zs, out)
    args, steps = (numpy.array(x) for x in ([a.ctypes.data for a in arrays], [a.strides[0] for a in arrays]))
    dims = numpy.array([len(out)])
    f = loop(name, f"{char * len(zs)}->{result(name, char)}", target)
    f(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
    return out


def same(x, y):
    x, y = parts(numpy.ascontiguousarray(x)), parts(numpy.ascontiguousarray(y))
    bits = f"u{x.itemsize}"
    return ((x.view(bits) == y.view(bits)) | (numpy.isnan(x) & numpy.isnan(y))).all(1)


def all_bits(char, count=300):
    """Any bits, all exponents, all pairs of special values."""
    rng = numpy.random.default_rng(5)
    info, size = numpy.finfo(PART[char]), numpy.dtype(PART[char]).itemsize
    bits = rng.integers(0, 256, (count, 2 * size), "u1").view(PART[char])
    exponents = rng.integers(int(info.minexp) - info.nmant, int(info.maxexp), (count, 2))
    values = special_values(char)
    rows = [bits, numpy.ldexp(rng.uniform(-1, 1, (count, 2)), exponents), rng.normal(0, 9, (count, 2))]
    return pairs(numpy.concatenate([*rows, list(itertools.product(values, values))]), char)


def special_values(char):
    info = numpy.finfo(PART[char])
    ends = [float(x) for x in (info.max, info.tiny, info.smallest_subnormal)]
    sizes = [0.0, 1.0, 0.5, 2.0, 1e4, *ends, numpy.inf]
    return [*sizes, *(-x for x in sizes), numpy.nan]


def test_what_names_promises_there_is():
    assert {name: "".join(rows) for name, rows in plane.FUNCTIONS.items()} == COMPLEX


@pytest.mark.parametrize("name, char", ALL)
def test_parts_are_as_near_as_the_modulus_has_bits(name, char):
    zs = samples(name, char, 25)
    of_modulus, of_parts = errors(name, zs, (call(name, char, *zs),))[0]
    assert of_modulus <= BOUNDS.get(name, 1.0)
    assert of_parts <= PARTS.get(name, 1.0)


@pytest.mark.parametrize("name", ["sqrt", "log", "absolute"])
def test_parts_of_very_different_sizes(name):
    exponents = [-1040, -900, -600, -500, -300, 0, 300, 500, 900, 1010]
    z = pairs(numpy.ldexp([1.3, -1.7], list(itertools.product(exponents, repeat=2))), "D")
    assert errors(name, (z,), (call(name, "D", z),))[0].max() <= 1


@pytest.mark.parametrize("char", "DF")
def test_log_keeps_its_first_part_next_to_the_circle(char):
    """Of which the square differs from 1 by less than a unit in the last place."""
    sides = [(3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29), (7, 24, 25), (119, 120, 169)]
    z = pairs(numpy.array([[a / c, b / c] for a, b, c in sides]), char)
    with mpmath.workdps(80):
        for x, got in zip(z, call("log", char, z), strict=True):
            true = mpmath.log(mpmath.mpc(float(x.real), float(x.imag))).real
            off = abs(mpmath.mpf(float(got.real)) - true)
            assert off <= abs(true) * 2 * float(numpy.finfo(PART[char]).eps)


@pytest.mark.parametrize("name, char", ALL)
def test_every_level_gives_the_same_bits_at_any_stride(name, char):
    z = all_bits(char)
    zs = (z, numpy.roll(z, 101)) if name in POWERS else (z,)
    wanted = call(name, char, *zs)
    for target in LEVELS:
        assert same(call(name, char, *zs, target=target), wanted).all(), target.name
        for n in (1, 2, 7, 33):
            few = [z[::-3][:n] for z in zs]
            assert same(call(name, char, *few, target=target, gap=2), wanted[::-3][:n]).all(), target.name


def _numpy_loses(name, x, y):
    """Where NumPy's formulas do not give what there is to give: documented in docs/ulp.md."""
    finite = numpy.isfinite(x) and numpy.isfinite(y)
    if name == "absolute":  # without a flag
        return finite and abs(x) + abs(y) > 1e308
    if name == "log1p":     # hypot(1 + x, y) is 1, or overflows
        return finite and (0 < abs(x) < 1e-30 or abs(x) > 1e30 < abs(y))
    if name == "exp2":      # y log(2), rounded
        return numpy.isfinite(y) and abs(y) >= 1e4
    if name == "expm1":     # infinity times 0; the square of a subnormal sine
        return (x >= 1e4 and (y == 0 or not numpy.isfinite(y))) or (x == 0 and 0 < abs(y) < 1e-37)
    return False


def test_another_process_writes_the_same_text():
    """Which what is cached goes by: tables have NaNs in them."""
    names = [f"{name} {char * (2 if name in POWERS else 1)}->{result(name, char)}" for name, char in
             (p.values for p in ALL)]  # fmt: skip
    code = f"""
from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch.levels import BY_NAME
for row in {names}:
    print(module(*row.split(), BY_NAME["X86_V3"].target).symbol)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [module(*row.split(), BY_NAME["X86_V3"].target).symbol for row in names]
    assert done.stdout.split() == here


@pytest.mark.parametrize("name, char", UNARY)
def test_special_values_are_numpys(name, char, raised):
    least = float(numpy.finfo(PART[char]).smallest_subnormal)
    near = 4e-7 if char == "F" else 1e-15
    values, failures = special_values(char), []
    for re, im in itertools.product(values, repeat=2):
        z = pairs(numpy.array([[re, im]]), char)
        if _numpy_loses(name, re, im):
            continue
        want, got = getattr(numpy, name)(z), call(name, char, z)
        close = numpy.isclose(parts(got), parts(want), rtol=near, atol=2 * least, equal_nan=True)
        signs = (numpy.signbit(parts(got)) == numpy.signbit(parts(want))) | numpy.isnan(parts(want))
        flags = [raised(lambda f=f, z=z: f(z)) for f in (getattr(numpy, name), lambda z: call(name, char, z))]
        if not (close & signs).all() or flags[0] - {"under"} != flags[1] - {"under"}:
            failures.append((re, im, got, want, *flags))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("char", "DF")
def test_special_values_of_power_are_numpys(char, raised):
    """Not the flags where an operand is no number, or infinite next to a finite base."""
    sizes = [0.0, 1.0, 0.5, 3.0, numpy.inf]
    values = [*sizes, *(-x for x in sizes), numpy.nan]
    some = [pairs(numpy.array([row]), char) for row in itertools.product(values, repeat=2)]
    near, failures = 2e-5 if char == "F" else 1e-13, []
    for a, b in itertools.product(some[::2], some):
        want, got = numpy.power(a, b), call("power", char, a, b)
        if numpy.isfinite(want).all():
            good = (abs(got - want) <= near * abs(want)).all()
        else:
            signs = (numpy.signbit(parts(got)) == numpy.signbit(parts(want))) | numpy.isnan(parts(want))
            good = (numpy.isclose(parts(got), parts(want), rtol=near, equal_nan=True) & signs).all()
        flags = [set[str]()] * 2
        if numpy.isfinite(a).all() and numpy.isfinite(b).all():
            both = (lambda a=a, b=b: numpy.power(a, b), lambda a=a, b=b: call("power", char, a, b))
            flags = [raised(f) - {"under"} for f in both]
        if not good or flags[0] != flags[1]:
            failures.append((a, b, got, want, *flags))
    assert not failures, "\n".join(map(str, failures[:20]))


@pytest.mark.parametrize("char", "DF")
def test_powers_by_multiplication_have_numpys_bits(char):
    """Where all elements of a vector are such, where some are, and where results overflow."""
    rng = numpy.random.default_rng(6)
    z = pairs(rng.normal(0, 1.3, (4000, 2)), char)
    z[::97] = 0
    n = rng.integers(-99, 100, len(z)).astype(char)
    few = rng.integers(0, 8, len(z)).astype(char)
    mixed = numpy.where(rng.random(len(z)) < 0.1, 0.3, few).astype(char)
    for exponents in (n, few, mixed):
        whole = exponents.real == numpy.rint(exponents.real)
        got, want = call("power", char, z, exponents), numpy.power(z, exponents)
        assert same(got[whole], want[whole]).all()
    for target in LEVELS:
        assert same(call("power", char, z, mixed, target=target), call("power", char, z, mixed)).all()


@pytest.mark.parametrize("name, char", ALL)
def test_every_level_gives_the_same_bits_of_all_sizes(name, char):
    """Parts of any bits, and parts that are each of a size of their own."""
    rng, real = numpy.random.default_rng(17), char.lower()
    n, reach = 20_000, 1000 if char == "D" else 120

    def any_bits():
        return rng.integers(0, 256, n * numpy.dtype(real).itemsize, dtype="u1").view(real)

    def any_size():
        octaves = numpy.where(rng.random(n) < 0.5, 0, rng.integers(0, reach, n))
        return (rng.normal(0, 100, n) * 2.0**-octaves).astype(real)

    for made in (any_bits, any_size):
        zs = []
        for _ in range(2 if name in POWERS else 1):
            z = numpy.empty(n, char)
            z.real, z.imag = made(), made()
            zs.append(z)
        wanted = call(name, char, *zs)
        for target in LEVELS[:-1]:
            assert same(call(name, char, *zs, target=target), wanted).all(), target.name


@pytest.mark.parametrize("name", ["tan", "tanh"])
def test_tangents_next_to_the_least_numbers(name):
    """Whose sums of two have no room below them."""
    rng = numpy.random.default_rng(18)
    b = rng.uniform(100, 300, 20_000)
    a = numpy.finfo("d").tiny / 4 * rng.uniform(1, 1000, len(b)) * numpy.exp(2 * b)
    z = b + 1j * a if name == "tanh" else a + 1j * b
    wanted = call(name, "D", z)
    for target in LEVELS[:-1]:
        assert same(call(name, "D", z, target=target), wanted).all(), target.name
