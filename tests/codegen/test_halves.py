"""float16 <-> float32 in integers: the bits of the CPU's instructions, and NumPy's flags, at every width."""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache

import numpy
import pytest

from lazyarr.codegen import halves
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import emitter
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels

pytestmark = pytest.mark.skipif(not jit.available(), reason="nothing is compiled")
LOWEST, BEST = (sorted(host_levels(), key=lambda level: level.target.half)[k].target for k in (0, -1))
SOFT = LOWEST._replace(half=False)
WIDTHS = (0, 4, 8)
ALL = numpy.arange(1 << 16, dtype="u2")


@cache
def compiled(write, source, target, cpu, width):
    """A function of an array into another one of as many elements, which is a multiple of the width."""
    b = Builder(cpu, width)
    b.do("br label %loop")
    b.label("loop")
    b.do("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    x = b.op(f"getelementptr {source}, ptr %x, i64 %i")
    found = write(b, b.op(f"load {b.ty(source)}, ptr {x}, align 2"))
    y = b.op(f"getelementptr {target}, ptr %y, i64 %i")
    b.do(f"store {b.ty(target)} {found}, ptr {y}, align 1")
    b.do(f"%next = add i64 %i, {max(width, 1)}")
    b.do("%more = icmp ult i64 %next, %n")
    b.do("br i1 %more, label %loop, label %end")
    b.label("end")
    text = "\n".join(["(ptr %x, ptr %y, i64 %n) {", "entry:", *b.lines, "  ret void", "}", *b.declarations])
    symbol = f"lazyarr_test_{hashlib.blake2b((cpu.name + text).encode(), digest_size=8).hexdigest()}"
    address = jit.load(f"define void @{symbol}{text}\n", (symbol,), cpu, 2, kernel=False)[symbol]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def run(write, x, source, target, dtype, cpu=SOFT, width=4):
    y = numpy.empty(len(x), dtype)
    compiled(write, source, target, cpu, width)(x.ctypes.data, y.ctypes.data, len(x))
    return y


def cast(sig):
    """What kernels write."""
    return lambda b, x: emitter("cast", sig, b.target)(b, [x])[0]


WIDER, NARROWER = cast("e->f"), cast("f->e")


def singles():
    """Around all float16, what lies in the middle of two, and all kinds of NaNs: both signs."""
    half = ALL[: 0x7C00].view("e").astype("d")
    middle = (half[1:] + half[:-1]) / 2
    special = [65519.99, 65520.0, 65536.0, 3e38, 2.0**-25, 2.0**-24, 2.0**-14, 2.0**-126, 2.0**-149]
    base = numpy.concatenate([half, middle, special]).astype("f").view("u4")
    nans = 0x7F800000 + (1 << numpy.arange(23, dtype="u4"))
    many = numpy.random.default_rng(1).integers(0, 1 << 31, 1 << 16, dtype="u4")
    bits = numpy.concatenate([base, base[1:] - 1, base + 1, [0x7F800000, 0x7FFFFFFF], nans, nans | 1, many])
    bits = bits.astype("u4")
    return numpy.resize(numpy.concatenate([bits, bits | 1 << 31]), -(-2 * len(bits) // 8) * 8).view("f")


@pytest.mark.parametrize("width", WIDTHS)
def test_all_numbers_are_widened(width):
    x = ALL.view("e")
    found = run(WIDER, x, "half", "float", "f", width=width).view("u4")
    with numpy.errstate(all="ignore"):
        wanted = x.astype("f").view("u4")
    nan = numpy.isnan(x)
    assert (found[~nan] == wanted[~nan]).all()
    assert (found[nan] == wanted[nan] | 1 << 22).all()            # quiet
    assert numpy.array_equal(found, run(halves.widened, ALL, "i16", "float", "u4", width=width))


@pytest.mark.parametrize("width", WIDTHS)
def test_all_boundaries_are_narrowed(width):
    x = singles()
    found = run(NARROWER, x, "float", "half", "u2", width=width)
    with numpy.errstate(all="ignore"):
        wanted = x.astype("e").view("u2")
    nan = numpy.isnan(x)
    assert (found[~nan] == wanted[~nan]).all()
    carried = (x.view("u4")[nan] >> 13 & 0x3FF | 0x7E00) | (x.view("u4")[nan] >> 16 & 0x8000)
    assert (found[nan] == carried).all()


@pytest.mark.skipif(not BEST.half, reason="the CPU has no instruction for it")
def test_bits_are_those_of_the_instructions():
    x = singles()
    assert numpy.array_equal(
        run(NARROWER, x, "float", "half", "u2"), run(NARROWER, x, "float", "half", "u2", BEST)
    )
    x = ALL.view("e")
    assert numpy.array_equal(
        run(WIDER, x, "half", "float", "u4"), run(WIDER, x, "half", "float", "u4", BEST)
    )


@pytest.mark.parametrize("flag, where", [("over", halves.overflowing), ("under", halves.underflowing)])
@pytest.mark.parametrize("width", WIDTHS)
def test_flags_are_numpys(flag, where, width):
    """Of each number alone; NumPy is asked for all that are said to raise none, and some of the others."""
    x = singles()
    found = run(lambda b, v: b.op(f"zext {b.ty('i1')} {where(b, v)} to {b.ty('i8')}"), x, "float", "i8", "?",
                width=width)
    with numpy.errstate(all="ignore", **{flag: "raise"}):
        x[~found].astype("e")
        for one in x[found][::97]:
            with pytest.raises(FloatingPointError):
                numpy.array([one]).astype("e")
