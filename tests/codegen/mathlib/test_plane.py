"""Functions of complex numbers: each part within 1 ULP, NumPy's special values and flags."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache

import numpy
import pytest

pytest.importorskip("mpmath")
import mpmath

from lazyarr.codegen.mathlib import plane
from lazyarr.codegen.mathlib.functions import module
from lazyarr.codegen.mathlib.names import COMPLEX
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED

pytestmark = pytest.mark.usefixtures("quiet")

WIDTHS = ("X86_V2", "X86_V3", "X86_V4", "ASIMD", "SVE")
LEVELS = [level.target for level in host_levels() if level.target.name in WIDTHS]
ALL = [pytest.param(name, char, id=f"{name}-{char}") for name, chars in COMPLEX.items() for char in chars]
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
PART = {"D": "d", "F": "f"}
TRUTH = {"absolute": abs, "sqrt": mpmath.sqrt, "exp": mpmath.exp}


@cache
def loop(name, sig, target):
    made = module(name, sig, target)
    return LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])


def result(name, char):
    return getattr(numpy, name)(numpy.ones(1, char)).dtype.char


def call(name, char, z, target=LEVELS[-1], gap=1):
    out = numpy.empty(len(z) * gap, result(name, char))[::gap]
    args, steps = numpy.array([z.ctypes.data, out.ctypes.data]), numpy.array([z.strides[0], out.strides[0]])
    dims = numpy.array([len(z)])
    f = loop(name, f"{char}->{result(name, char)}", target)
    f(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
    return out


def parts(z):
    return z.view(PART.get(z.dtype.char, z.dtype.char)).reshape(len(z), -1)


def same(x, y):
    x, y = parts(numpy.ascontiguousarray(x)), parts(numpy.ascontiguousarray(y))
    bits = f"u{x.itemsize}"
    return ((x.view(bits) == y.view(bits)) | (numpy.isnan(x) & numpy.isnan(y))).all(1)


def numbers(char, count=400):
    """Usual ones, all sizes of both parts, next to the axes."""
    rng = numpy.random.default_rng(4)
    part = PART[char]
    info = numpy.finfo(part)
    usual = rng.normal(0, 20, (count, 2))
    reach = int(info.maxexp) // 2 - 4
    binades = numpy.ldexp(rng.uniform(-2, 2, (count, 2)), rng.integers(-reach, reach, (count, 2)))
    beside = usual * [1, 1e-9]
    ends = numpy.ldexp(rng.uniform(-2, 2, (count, 2)), int(info.maxexp) - 3)
    found = numpy.concatenate([usual, binades, beside, beside[:, ::-1], ends]).astype(part)
    return numpy.ascontiguousarray(found).view(char).ravel()


def test_what_names_promises_there_is():
    assert {name: "".join(rows) for name, rows in plane.FUNCTIONS.items()} == COMPLEX


@pytest.mark.parametrize("name, char", ALL)
def test_parts_are_within_one_ulp(name, char):
    z = numbers(char)
    if name == "exp":
        z = z[(abs(z.real) < (700 if char == "D" else 85)) & (abs(z.imag) < 1e30)]
    part = PART[char]
    info = numpy.finfo(part)
    with mpmath.workdps(60):
        for x, got in zip(z, parts(call(name, char, z)), strict=True):
            truth = TRUTH[name](mpmath.mpc(float(x.real), float(x.imag)))
            for one, true in zip(got, (truth.real, truth.imag), strict=False):
                if abs(true) < float(info.tiny):
                    continue
                unit = mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(true), 2))) - info.nmant)
                assert abs((mpmath.mpf(float(one)) - true) / unit) <= 1, (x, got, truth)


@pytest.mark.parametrize("name, char", ALL)
def test_every_level_gives_the_same_bits_at_any_stride(name, char):
    z = numbers(char)
    wanted = call(name, char, z)
    for target in LEVELS:
        assert same(call(name, char, z, target), wanted).all(), target.name
        for n in (1, 2, 7, 33):
            assert same(call(name, char, z[::-3][:n], target, gap=2), wanted[::-3][:n]).all(), target.name


@pytest.mark.parametrize("name, char", ALL)
def test_special_values_are_numpys(name, char, raised):
    sizes = numpy.array([0.0, 1.0, numpy.inf, 1e4], PART[char])
    values = [*sizes, *-sizes, numpy.nan]
    failures = []
    for re, im in itertools.product(values, repeat=2):
        z = numpy.array([[re, im]], PART[char]).view(char).ravel()
        want = getattr(numpy, name)(z)
        got = call(name, char, z)
        near = 4e-7 if char == "F" else 1e-15
        close = numpy.isclose(parts(got), parts(want), rtol=near, atol=0, equal_nan=True)
        signs = (numpy.signbit(parts(got)) == numpy.signbit(parts(want))) | numpy.isnan(parts(want))
        if not (close & signs).all():
            failures.append((re, im, got, want))
        flags = [raised(lambda f=f, z=z: f(z)) for f in (getattr(numpy, name), lambda z: call(name, char, z))]
        if flags[0] != flags[1]:
            failures.append((re, im, *flags))
    assert not failures, "\n".join(map(str, failures))
