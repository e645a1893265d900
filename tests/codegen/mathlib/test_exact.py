"""Functions with one right answer: NumPy's bits and flags, on every level, at any stride."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache

import numpy
import pytest

from lazyarr.codegen.mathlib import exact
from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED
from lazyarr.own_loops import EXACT

pytestmark = pytest.mark.usefixtures("quiet")

WIDTHS = ("X86_V2", "X86_V3", "X86_V4", "ASIMD", "SVE")
LEVELS = [level.target for level in host_levels() if level.target.name in WIDTHS]
CASES = [
    pytest.param(name, char, target, id=f"{name}-{char}-{target.name}")
    for name, chars in EXACT.items()
    for char in chars
    for target in LEVELS
]
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


@cache
def loop(name, sig, target):
    made = module(name, sig, target)
    return LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])


def call(name, char, target, *xs, gap=1):
    fn = getattr(numpy, name)
    outs = [numpy.empty(len(xs[0]) * gap, char)[::gap] for _ in range(fn.nout)]
    arrays = (*xs, *outs)
    args = numpy.array([a.ctypes.data for a in arrays])
    steps = numpy.array([a.strides[0] for a in arrays])
    dims = numpy.array([len(xs[0])])
    sig = f"{char * fn.nin}->{char * fn.nout}"
    loop(name, sig, target)(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
    return outs


def wanted(name, *xs):
    seen = [0]

    def record(_kind, flags):
        seen[0] |= flags

    with numpy.errstate(all="call", call=record):
        found = getattr(numpy, name)(*xs)
    names = {1: "divide", 2: "over", 4: "under", 8: "invalid"}
    outs = list(found) if isinstance(found, tuple) else [found]
    return outs, {told for bit, told in names.items() if seen[0] & bit}


def differ(got, want):
    wrong = got.view(f"u{got.itemsize}") != want.view(f"u{want.itemsize}")
    return wrong & ~(numpy.isnan(got) & numpy.isnan(want))


def check(name, char, target, x, y, gap=1):
    for got, want in zip(call(name, char, target, x, y, gap=gap), wanted(name, x, y)[0], strict=True):
        wrong = numpy.flatnonzero(differ(got, want))
        at = wrong[:3]
        assert not wrong.size, (wrong.size, x[at], y[at], got[at], want[at])


def special(char):
    info = numpy.finfo(char)
    least = float(info.smallest_subnormal)
    sizes = [0.0, 1.0, 2.5, 3.0, 7.0, 1e-3, float(info.max), float(info.tiny), least, 3 * least, numpy.inf]
    return numpy.array([*sizes, *(-s for s in sizes), numpy.nan, 0.5, 0.1, 1000.0]).astype(char)


def pairs(char, count=20_000):
    """Random bits, ordinary sizes, multiples and what lies beside them, quotients of all sizes."""
    rng = numpy.random.default_rng(8)
    whole = f"i{numpy.dtype(char).itemsize}"
    limits = numpy.iinfo(whole)

    def bits():
        return rng.integers(limits.min, limits.max, count, whole, endpoint=True).view(char)

    def usual():
        return rng.normal(0, 30, count).astype(char)

    yield bits(), bits()
    yield usual(), usual()
    y = usual()
    k = rng.integers(0, 2000, count).astype(char)
    multiple = (k * y).astype(char)
    for x in (multiple, numpy.nextafter(multiple, y), numpy.nextafter(multiple, -y)):
        yield x, y
    info = numpy.finfo(char)
    low, high = int(info.minexp), int(info.maxexp) - 1
    for gap in range(0, high - low, max((high - low) // 60, 1)):
        e = rng.integers(low, high - gap + 1, 300)
        x, y = (numpy.ldexp(rng.uniform(1, 2, 300), at).astype(char) for at in (e + gap, e))
        yield x * rng.choice([-1, 1], 300).astype(char), y


def test_what_names_promises_there_is():
    assert {name: "".join(rows) for name, rows in exact.FUNCTIONS.items()} == EXACT


@pytest.mark.parametrize("name, char, target", CASES)
def test_bits_are_numpys(name, char, target):
    for x, y in pairs(char):
        check(name, char, target, x, y)


@pytest.mark.parametrize("name, char, target", CASES)
def test_special_values_and_their_flags_are_numpys(name, char, target, raised):
    for x, y in itertools.product(special(char), repeat=2):
        xs = numpy.array([x]), numpy.array([y])
        check(name, char, target, *xs)
        assert raised(lambda xs=xs: call(name, char, target, *xs)) == wanted(name, *xs)[1], (x, y)


@pytest.mark.parametrize("name, char, target", CASES)
def test_strides_and_ends_change_no_bit(name, char, target):
    x, y = next(pairs(char, 200))
    for n in (1, 2, 7, 8, 9, 33, 65):
        check(name, char, target, x[:n], y[:n])
        check(name, char, target, x[::2][:n], y[::-1][: len(x[::2][:n])], gap=3)
    same = numpy.broadcast_to(y[:1], 50)
    check(name, char, target, x[:50], same)
