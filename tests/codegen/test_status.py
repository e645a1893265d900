"""Floating-point status: what ops raised arrives in word 0, nothing else does, the caller's stays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
import pytest

from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level

DIVIDE, OVER, UNDER, INVALID = 1, 2, 4, 8

pytestmark = pytest.mark.skipif(
    jit.available() and host_level().name == "ASIMD", reason="status is read on x86 only"
)


def run(p: Any, native: Any) -> int:
    return int(native(p, p.fresh(), (16,)))


CASES = {
    "nothing": ("divide", 1.0, 2.0, 0),
    "divide": ("divide", 1.0, 0.0, DIVIDE),
    "overflow": ("multiply", 1e308, 1e308, OVER),
    "underflow": ("multiply", 1e-308, 1e-308, UNDER),
    "invalid": ("subtract", numpy.inf, numpy.inf, INVALID),
    "quiet NaN": ("add", numpy.nan, 1.0, 0),
    "compare NaN": ("less", numpy.nan, 1.0, 0),
    "by NumPy's loop": ("power", 1e308, 2.0, OVER),
    "by NumPy's loop, nothing": ("power", 2.0, 2.0, 0),
}


@pytest.mark.parametrize("n", [1, 16, 40])
@pytest.mark.parametrize(("op", "x", "y", "flags"), CASES.values(), ids=CASES)
def test_flags(program: Any, native: Any, n: int, op: str, x: float, y: float, flags: int) -> None:
    p = program((n,))
    out = "?" if op == "less" else "d"
    a, b = (p.load("d", array=numpy.full(n, v)) for v in (x, y))
    p.store(p.op(op, f"dd->{out}", a, b), out)
    assert run(p, native) == flags


def test_flags_before_a_loop_of_numpy_that_clears_them(program: Any, native: Any) -> None:
    p = program((100,))
    x = p.op("divide", "dd->d", p.load("d", array=numpy.ones(100)), p.load("d", array=numpy.zeros(100)))
    for name in ("tanh", "sin", "exp", "log1p", "floor_divide"):
        args = (x,) * OP_INPUTS.get(name, 1)
        p.store(p.op(name, "d" * len(args) + "->d", *args), "d")
    assert run(p, native) & DIVIDE


OP_INPUTS = {"floor_divide": 2}


def test_flags_of_what_does_not_vary(program: Any, native: Any) -> None:
    p = program((3, 20))
    one = p.load("d", "z", numpy.ones((3, 20)))
    zero = p.scalar("d", 0)
    p.store(p.op("divide", "dd->d", one, zero), "d")
    assert int(native(p, p.fresh())) == DIVIDE


def test_integer_division_reports_too(program: Any, native: Any) -> None:
    p = program((20,))
    p.store(p.op("floor_divide", "ii->i", p.load("i"), p.load("i", array=numpy.zeros(20, "i"))), "i")
    assert int(native(p, p.fresh())) == DIVIDE


@pytest.mark.parametrize("n", [1, 16, 40])
def test_flags_of_the_x87_unit(program: Any, native: Any, n: int) -> None:
    """There NumPy's own code raises what it finds by comparing."""
    p = program((n,))
    p.store(p.op("exp", "f->f", p.load("f", array=numpy.full(n, 1000, "f"))), "f")
    assert run(p, native) == OVER


def test_flags_of_the_caller_in_the_x87_unit(program: Any, native: Any) -> None:
    """They are neither reported nor lost, by kernels that call NumPy's loops."""
    libm = ctypes.CDLL(None)
    p = program((20,))
    p.store(p.op("exp", "f->f", p.load("f", array=numpy.zeros(20, "f"))), "f")
    arrays = p.fresh()
    native(p, arrays)                   # compiled, from here on nothing else computes
    libm.feclearexcept(_ALL)
    libm.feraiseexcept(_OVERFLOW)       # glibc: in the x87 unit
    flags, left = native(p, arrays), libm.fetestexcept(_ALL)
    libm.feclearexcept(_ALL)
    assert flags == 0 and left & ~0b100000 == _OVERFLOW


_ALL, _OVERFLOW = 0b111101, 0b1000


_READ = """
define i32 @lazyarr_test_mxcsr(i32 %set, i1 %write) {
  %p = alloca i32
  store i32 %set, ptr %p
  br i1 %write, label %w, label %r
w:
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret i32 0
r:
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %v = load i32, ptr %p
  ret i32 %v
}
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
"""


@pytest.mark.parametrize("sticky", [0, 0b100, 0b111101])
def test_the_callers_status_is_restored(program: Any, native: Any, sticky: int) -> None:
    """Flags that the caller had are neither reported nor lost; the kernel's own do not leak."""
    address = jit.load(_READ, ("lazyarr_test_mxcsr",), host_level())["lazyarr_test_mxcsr"]
    mxcsr = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_bool)(address)
    p = program((20,))
    huge = p.load("d", array=numpy.full(20, 1e308))
    p.store(p.op("multiply", "dd->d", huge, huge), "d")
    arrays = p.fresh()
    native(p, arrays)                   # compiled, from here on nothing else computes
    before = mxcsr(0, False)
    mxcsr(before & ~0x3F | sticky, True)
    flags = native(p, arrays)
    after = mxcsr(0, False)
    mxcsr(before, True)
    assert flags == OVER and after & 0x3F & ~0b100000 == sticky & ~0b100000
