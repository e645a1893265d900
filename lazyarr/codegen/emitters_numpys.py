"""NumPy's elementary functions in code of ours: the bits of its loops, within a kernel's own loops.

In:  an op, a signature, the target.   Out: how it is emitted, or None: then the kernel calls NumPy's loop.
A call of NumPy's loop takes operands and results through memory, a block at a time; written here, a function
is arithmetic like any other.  Its bits, and its flags, have to be those of the running NumPy, which depend on
NumPy's version and on the CPU: `Target.equal` has the functions for which this was seen (`equal_loops`).
"""

from __future__ import annotations

import struct
from functools import cache

from lazyarr.codegen import emitters_numpys_double
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit, bound
from lazyarr.codegen.emitters_anatomy import avx512, fills_registers
from lazyarr.codegen.emitters_types import ZERO, Fn, convert, fcmp, fdiv, icmp, lane, literal, select
from lazyarr.target import Target

LOG2E, LN2_HIGH, LN2_LOW = map(float.fromhex, ("0x1.715476p+0", "0x1.62e4p-1", "0x1.7f7d1cp-20"))
"""1 / ln2, and ln2 in two parts, of which the first has few bits: its products are exact."""

ABOVE = tuple(map(float.fromhex, (
    "0x1.0a7bbp-11", "0x1.bae2b2p-8", "0x1.a2fb18p-5", "0x1.fa98bp-3", "0x1.7397aap-1", "0x1p+0",
)))  # fmt: skip
BELOW = tuple(map(float.fromhex, ("0x1.61d064p-6", "-0x1.18d0aep-2", "0x1p+0")))
"""Numerator and denominator of exp(r), |r| <= ln2 / 2; the highest power first."""

MAGIC, MAGIC_BITS = 1.5 * 2.0**23, 0x4B400000
"""A sum with it has no bits after the point."""

LOW, HIGH = -104.0, 89.0
"""Here results are zero and infinite, and raise 'underflow' and 'overflow': so they do further away."""

INFINITE, NO_NUMBER = literal(float("inf")), "0x7FF8000000000000"
INFINITE_BITS = 0x7F800000


def exp(b: Builder, t: str, x: str) -> str:
    """2**k times exp(r), x = k ln2 + r.  Infinities raise nothing, so they do not take part."""
    bits = convert(b, "bitcast", t, x, "i32")
    size = b.op(f"and {b.ty('i32')} {bits}, {b.splat('i32', '2147483647')}")
    finite = icmp(b, "i32", "ult", size, b.splat("i32", str(INFINITE_BITS)))
    held = convert(b, "bitcast", "i32", _held(b, bits), t)
    if not fills_registers(b, t):
        held = select(b, t, finite, held, ZERO)
    magic = b.splat(t, literal(MAGIC))
    shifted = b.op(f"fadd {b.ty(t)} {b.op(f'fmul {b.ty(t)} {held}, {b.splat(t, literal(LOG2E))}')}, {magic}")
    k = b.op(f"fsub {b.ty(t)} {shifted}, {magic}")
    r = _fma(b, t, k, b.splat(t, literal(-LN2_HIGH)), held)
    r = _fma(b, t, k, b.splat(t, literal(-LN2_LOW)), r)
    part = fdiv(b, t, _polynomial(b, t, r, ABOVE), _polynomial(b, t, r, BELOW))
    beyond = select(b, t, icmp(b, "i32", "sgt", bits, ZERO), b.splat(t, INFINITE), ZERO)
    beyond = select(b, t, fcmp(b, t, "uno", x, x), b.splat(t, NO_NUMBER), beyond)
    if fills_registers(b, t):
        return avx512(b, "scalef", t, (t, part), (t, k), given=(beyond, finite))
    return select(b, t, finite, _scaled(b, t, part, shifted), beyond)


def _held(b: Builder, bits: str) -> str:
    """Numbers from `LOW` to `HIGH`, by their bits: of signed integers these are in order where numbers are
    positive, of unsigned ones negative numbers come last, the least at the end."""
    high, low = (struct.unpack("i", struct.pack("f", x))[0] for x in (HIGH, LOW))
    most = b.intrinsic("smin", "i32", ("i32", bits), ("i32", b.splat("i32", str(high))))
    return b.intrinsic("umin", "i32", ("i32", most), ("i32", b.splat("i32", str(low))))


def _fma(b: Builder, t: str, x: str, y: str, z: str) -> str:
    return b.intrinsic("fma", t, (t, x), (t, y), (t, z))


def _polynomial(b: Builder, t: str, x: str, coefficients: tuple[float, ...]) -> str:
    first, *others = (b.splat(t, literal(c)) for c in coefficients)
    for c in others:
        first = _fma(b, t, first, x, c)
    return first


def _scaled(b: Builder, t: str, x: str, shifted: str) -> str:
    """x times 2**k, `shifted` being k and `MAGIC`: by two powers, of which the second one rounds."""
    i = b.ty("i32")
    whole = b.op(f"sub {i} {convert(b, 'bitcast', t, shifted, 'i32')}, {b.splat('i32', str(MAGIC_BITS))}")
    half = b.op(f"ashr {i} {whole}, {b.splat('i32', '1')}")
    for each in half, b.op(f"sub {i} {whole}, {half}"):
        biased = b.op(f"add {i} {each}, {b.splat('i32', '127')}")
        power = convert(b, "bitcast", "i32", b.op(f"shl {i} {biased}, {b.splat('i32', '23')}"), t)
        x = b.op(f"fmul {b.ty(t)} {x}, {power}")
    return x


FUNCTIONS: dict[tuple[str, str], Fn] = {
    ("exp", "f->f"): exp,
    ("exp", "d->d"): emitters_numpys_double.exp,
    ("log", "d->d"): emitters_numpys_double.log,
}


@cache
def numpys(name: str, sig: str, target: Target) -> Emit | None:
    """How to emit one of NumPy's functions, if the running NumPy's bits are these."""
    return bound(FUNCTIONS[name, sig], lane(sig[0])) if f"{name} {sig}" in target.equal else None
