"""Steps of all kinds, at every level: the bits of elements side by side, and no memory but theirs."""

from __future__ import annotations

import ctypes
import mmap

import numpy
import pytest
from ulp_functions import LOOP, signature

from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED

LEVELS = [level.target for level in host_levels()]
CASES = [
    pytest.param(name, char, target, id=f"{name}-{char}-{target.name}")
    for name, char in (("exp", "e"), ("log10", "f"), ("cbrt", "d"), ("power", "e"), ("power", "f"),
                       ("hypot", "f"), ("arctan2", "d"), ("exp", "F"), ("power", "F"), ("sqrt", "D"),
                       ("absolute", "D"), ("power", "D"))
    for target in LEVELS
]  # fmt: skip
STEPS = [(1, 1, 1), (2, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 1), (-1, 2, 1), (1, 1, 2), (3, -2, -3)]
"""Of both operands and the result, in elements."""
PAGE = mmap.PAGESIZE


def loop_of(name, char, target):
    made = module(name, signature(name, char), target)
    return LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])


def called(loop, arrays):
    args, steps = (numpy.array(x) for x in ([a.ctypes.data for a in arrays], [a.strides[0] for a in arrays]))
    loop(args.ctypes.data, numpy.array([len(arrays[-1])]).ctypes.data, steps.ctypes.data, 0)


def numbers(char, count, seed):
    rng = numpy.random.default_rng(seed)
    x = rng.uniform(0.2, 3, count)
    return (x + 1j * rng.uniform(-2, 2, count) if char in "DF" else x).astype(char)


def strided(x, step):
    """The same numbers, so many elements apart; with step 0 the first one, for all."""
    if step == 0:
        return numpy.broadcast_to(x[:1], x.shape)
    wide = numpy.zeros(len(x) * abs(step), x.dtype)[:: abs(step)][:: 1 if step > 0 else -1]
    wide[:] = x
    return wide


@pytest.mark.parametrize("name, char, target", CASES)
def test_steps_change_no_bit(name, char, target):
    sig, loop = signature(name, char), loop_of(name, char, target)
    nin = sig.index("-")
    for n in (1, 2, 5, 16, 31, 64, 100, 131):
        xs = [numbers(char, n, seed) for seed in range(nin)]
        for steps in STEPS:
            ins = [strided(x, step) for x, step in zip(xs, steps, strict=False)]
            wanted = numpy.empty(n, sig[-1])
            called(loop, [*(numpy.array(x) for x in ins), wanted])
            out = strided(numpy.zeros(n, sig[-1]), steps[2])
            around = out if out.base is None else out.base
            around[...] = 7
            called(loop, [*ins, out])
            assert out.tobytes() == wanted.tobytes(), (n, steps)
            out[...] = 7
            assert (around == 7).all(), (n, steps)


def guarded(x, at_end):
    """The same numbers between pages that nobody may touch, next to one of these."""
    size = -(-x.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, size + 2 * PAGE)
    whole = numpy.frombuffer(memory, numpy.uint8)
    inner = whole[PAGE : PAGE + size]
    libc = ctypes.CDLL(None, use_errno=True)
    for first in (0, PAGE + size):
        assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + first), PAGE, 0) == 0
    place = inner[size - x.nbytes :] if at_end else inner[: x.nbytes]
    found = place.view(x.dtype)
    found[:] = x
    return found


@pytest.mark.parametrize("name, char, target", CASES)
def test_no_memory_beyond_the_elements(name, char, target):
    sig, loop = signature(name, char), loop_of(name, char, target)
    nin = sig.index("-")
    for n in (1, 3, 17, 33, 64, 67):
        xs = [numbers(char, 2 * n - 1, seed) for seed in range(nin)]
        wanted = numpy.empty(n, sig[-1])
        called(loop, [*(numpy.array(x[::2]) for x in xs), wanted])
        for at_end in (False, True):
            ins = [guarded(numpy.array(x[::2]), at_end) for x in xs]
            out = guarded(numpy.zeros(n, sig[-1]), at_end)
            called(loop, [*ins, out])
            assert out.tobytes() == wanted.tobytes()
            out[:] = 0
            called(loop, [*(guarded(x, at_end)[::2] for x in xs), out])
            assert out.tobytes() == wanted.tobytes()
            apart = guarded(numpy.zeros(2 * n - 1, sig[-1]), at_end)[::2]
            called(loop, [*ins, apart])
            assert apart.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
@pytest.mark.parametrize(
    "name, char, full, avx, unfused", [("power", "f", 64, 64, 64), ("exp", "d", 16, 32, 0)]
)
def test_only_whole_groups_of_registers_are_computed_side_by_side(name, char, full, avx, unfused, target):
    """What is left has one register at a time; with AVX2 so have rows of less than four groups, and such have
    two without fused products."""
    text = module(name, signature(name, char), target).ir
    parts = text.count("define internal void @groups("), text.count("define internal void @rest(")
    least = unfused if not target.fma else full if target.vector_bytes == 64 else avx
    assert parts == (bool(least), bool(least))
    if least:
        assert f"icmp slt i64 %n, {least}\n" in text
        groups, rest = text.split("define internal void @rest(")
        assert "\nend:" not in groups and "\nend:" in rest
