"""Elements that the fast path cannot give, among usual ones: the bits that each has alone."""

from __future__ import annotations

import ctypes
import re

import numpy
import pytest
from ulp_functions import LOOP

from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED

LEVELS = [level.target for level in host_levels()]
INF, NAN = numpy.inf, numpy.nan
SIGNATURES = [
    ("exp", "e->e"), ("exp", "f->f"), ("log", "f->f"), ("log", "e->e"), ("log10", "d->d"), ("log1p", "d->d"),
    ("tan", "f->f"), ("sin", "d->d"),
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


_COUNTED = """
  %count.before = load i64, ptr @count, align 8
  %count.after = add i64 %count.before, 1
  store i64 %count.after, ptr @count, align 8
"""


def rare_calls(name, sig, xs, target):
    """How often the rare way is taken for such operands."""
    made = module(name, sig, target)
    begun = r"(define internal void @rarely\d+\([^{]*\{\nentry:)"
    text = re.sub(begun, lambda head: head[1] + _COUNTED.rstrip(), made.ir)
    loop, counter = f"counted_{made.symbol}", f"counter_{made.symbol}"
    text = text.replace(made.symbol, loop) + f"""
@count = internal global i64 0, align 8
define i64 @{counter}() {{
  %count = load i64, ptr @count, align 8
  ret i64 %count
}}
"""
    found = jit.load(text, (loop, counter), target, OPTIMISED, kernel=False)
    counted, arrays = ctypes.CFUNCTYPE(ctypes.c_int64)(found[counter]), [*xs, numpy.empty_like(xs[0])]
    before = counted()
    args, steps = numpy.array([a.ctypes.data for a in arrays]), numpy.array([a.itemsize for a in arrays])
    LOOP(found[loop])(args.ctypes.data, numpy.array([len(xs[0])]).ctypes.data, steps.ctypes.data, 0)
    return counted() - before


@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
@pytest.mark.parametrize(
    "name, char, known",
    [("log", "f", [0, -0.0, -1, -INF, INF, NAN]), ("log10", "d", [0, -1, INF]), ("log2", "f", [-1, INF]),
     ("log1p", "d", [-1, -2, -INF, INF, NAN]), ("cbrt", "d", [0, -0.0, INF, -INF, NAN]),
     ("arcsin", "f", [-2, INF, NAN]), ("arccos", "d", [2, -INF]), ("arccosh", "d", [0, -1, -INF, NAN]),
     ("arctanh", "f", [1, -1, 2, -INF])],
)  # fmt: skip
def test_what_is_known_does_not_wait(name, char, known, target):
    sig, least = f"{char}->{char}", numpy.finfo(char).smallest_subnormal
    low, high = (0.1, 0.9) if name in ("arcsin", "arccos", "arctanh") else (1.0, 4.0)
    usual = numpy.linspace(low, high, 500, dtype=char)
    usual[::7] = numpy.resize(known, len(usual[::7]))
    assert rare_calls(name, sig, [usual], target) == 0
    if name in ("log", "log2", "log10", "cbrt"):
        usual[3] = least
        assert rare_calls(name, sig, [usual], target) == 1


@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
@pytest.mark.parametrize("char", "df")
def test_powers_of_nan_do_not_wait(char, target):
    """But for those that are 1."""
    x, y = (numpy.linspace(0.5, 4, 500, dtype=char) for _ in range(2))
    x[::7], y[3::7] = NAN, NAN
    assert rare_calls("power", f"{char}{char}->{char}", [x, y], target) == 0
    y[0] = 0
    assert rare_calls("power", f"{char}{char}->{char}", [x, y], target) == 1


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
