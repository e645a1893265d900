"""Elements that the fast path cannot give, among usual ones: the bits that each has alone."""

from __future__ import annotations

import re

import numpy
import pytest
from ulp_functions import LOOP

from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED

LEVELS = [level.target for level in host_levels()]
SIGNATURES = [
    ("exp", "e->e"), ("exp", "f->f"), ("log", "f->f"), ("log1p", "d->d"), ("tan", "f->f"), ("sin", "d->d"),
    ("cbrt", "e->e"), ("arctan2", "ff->f"), ("logaddexp", "dd->d"), ("power", "ee->e"), ("power", "ff->f"),
    ("power", "dd->d"), ("divmod", "dd->dd"), ("divmod", "ee->ee"), ("sqrt", "D->D"), ("power", "FF->F"),
    ("absolute", "D->d"),
]  # fmt: skip
CASES = [
    pytest.param(name, sig, target, id=f"{name}-{sig}-{target.name}")
    for name, sig in SIGNATURES
    for target in LEVELS
]


def operands(chars, n, odd, seed):
    """Usual numbers, of which such a part is special: zeros, infinities, NaNs, large, small, and negative."""
    rng = numpy.random.default_rng(seed)

    def numbers(char):
        x = rng.uniform(0.1, 4, n)
        large, tiny = (6e4, 1e-7) if char == "e" else (1e30, 1e-40) if char in "fF" else (1e300, 1e-310)
        values = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -1.5, -2.0, large, -large, tiny]
        return numpy.where(rng.random(n) < odd, rng.choice(values, n), x)

    with numpy.errstate(all="ignore"):
        return [
            (numbers(char) + 1j * numbers(char) if char in "DF" else numbers(char)).astype(char)
            for char in chars
        ]


def caller(name, sig, target):
    made = module(name, sig, target)
    loop = LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])

    def call(xs, outs=None):
        arrays = [*xs, *(outs or (numpy.empty(len(xs[0]), char) for char in sig.split("->")[1]))]
        args = numpy.array([a.ctypes.data for a in arrays])
        steps = numpy.array([a.strides[0] for a in arrays])
        loop(args.ctypes.data, numpy.array([len(xs[0])]).ctypes.data, steps.ctypes.data, 0)
        return arrays[len(xs) :]

    return call


def same(x, y):
    x, y = (numpy.ascontiguousarray(a) for a in (x, y))
    x, y = (a.view(a.dtype.char.lower()) if a.dtype.kind == "c" else a for a in (x, y))
    unsigned = f"u{x.itemsize}"
    return bool(((x.view(unsigned) == y.view(unsigned)) | (numpy.isnan(x) & numpy.isnan(y))).all())


@pytest.mark.parametrize("name, sig, target", CASES)
def test_neighbours_change_no_bit_and_no_flag(name, sig, target, raised):
    call, (ins, outs) = caller(name, sig, target), sig.split("->")
    for odd, n in ((0.03, 300), (0.3, 70), (1.0, 100)):
        xs = operands(ins, n, odd, seed=n)
        alone, found = [], []
        single = [[x[k : k + 1] for x in xs] for k in range(n)]
        told = raised(lambda to=alone, few=single: to.extend(map(call, few)))
        wanted = [numpy.concatenate(parts) for parts in zip(*alone, strict=True)]
        assert raised(lambda to=found, xs=xs: to.extend(call(xs))) == told
        assert all(map(same, found, wanted))
        backwards = call([x[::-1] for x in xs])
        assert all(same(y, w[::-1]) for y, w in zip(backwards, wanted, strict=True))
        wide = [numpy.zeros(3 * n, char)[::-3] for char in outs]
        assert all(map(same, call(xs, wide), wanted))
        if set(ins) == set(outs):
            taken = [x.copy() for x in xs]
            call(taken, taken[: len(outs)])
            assert all(map(same, taken, wanted))


@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
def test_the_rare_way_is_written_once_for_each_number_of_lanes(target):
    text = module("log", "f->f", target).ir
    found = re.findall(r"define internal void @rarely(\d+)\(", text)
    assert len(found) == len(set(found)) == 1 + ("@groups(" in text)


@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
def test_powers_of_negative_numbers_are_those_of_their_sizes(char, target):
    """Whole exponents; of others there is none, which is told."""
    call, rng = caller("power", f"{char}{char}->{char}", target), numpy.random.default_rng(7)
    x = rng.uniform(0.3, 2, 500).astype(char)
    for y in (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 5.0, 6.0):
        ys = numpy.full(len(x), y, char)
        (size,) = call([x, ys])
        assert same(call([-x, ys])[0], -size if y % 2 else size), y
    assert numpy.isnan(call([-x, numpy.full(len(x), 1.5, char)])[0]).all()
