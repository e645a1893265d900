"""NumPy's elementary functions in code of ours: the bits of its loops, within a kernel's own loops.

In:  an op, a signature, the target.   Out: how it is emitted, or None: then the kernel calls NumPy's loop.
A call of NumPy's loop takes operands and results through memory, a block at a time; written here, a function
is arithmetic like any other.  Its bits, and its flags, have to be those of the running NumPy, which depend on
NumPy's version, the CPU, and the C library: `Target.equal` has the functions for which this was seen
(`equal_loops`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache, reduce

from lazyarr.codegen import emitters_libm, emitters_libm_log, emitters_numpys_double
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit, bound
from lazyarr.codegen.emitters_anatomy import avx512, fills_registers, joined
from lazyarr.codegen.emitters_registers import as_wide, registers
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    any_,
    convert,
    fcmp,
    fdiv,
    icmp,
    lane,
    literal,
    or_,
    select,
)
from lazyarr.target import LIBM, OWN, SVML, Key, Target

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

RAISED, LARGE = 26, 70.0
"""Results of numbers up to `LARGE` are first 2**`RAISED` times too large: those next to zero are normal then,
and one product rounds them.  (`RAISED` is even: `MAGIC` plus it has to round ties as `MAGIC` does.)"""

OVER = tuple(map(float.fromhex, (
    "0x1.a8579ap-6", "0x1.860666p-2", "0x1.7ae152p+0", "0x1.0e6c38p+1", "0x1p+0", "0x0p+0",
)))  # fmt: skip
UNDER = tuple(map(float.fromhex, (
    "0x1.8107bep-8", "0x1.3cb7e6p-3", "0x1.f915c8p-1", "0x1.39fc1ap+1", "0x1.4e6c38p+1", "0x1p+0",
)))  # fmt: skip
"""Numerator and denominator of log1p(r), between the roots of 1 / 2 and 2; the highest power first."""

LN2, ROOT = map(float.fromhex, ("0x1.62e43p-1", "0x1.6a09e6p-1"))
"""ln2, and the root of 1 / 2, rounded."""

USUAL = literal(3.0)
"""A number whose logarithm, without its exponent, is negative."""

LEAST = 1 << 23
"""The bits of the least normal number."""

MADE_NORMAL = 24
"""By so many powers of two a subnormal number becomes a normal one."""

INFINITE, NO_NUMBER = literal(float("inf")), "0x7FF8000000000000"
INFINITE_BITS = 0x7F800000


def exp(b: Builder, t: str, x: str) -> str:
    """2**k times exp(r), x = k ln2 + r.  Hot code computes only that, and zero far below, where all are
    numbers up to `LARGE`."""
    if not b.hot or fills_registers(b, t):
        return _any_exp(b, t, x)
    i, parts = b.ty("i32"), registers(b, b.ty(t), x, b.target.vector_bytes // 4)
    with as_wide(b, b.width // len(parts)):
        above = [fcmp(b, t, "ugt", part, b.splat(t, literal(LARGE))) for part in parts]
        masks = [b.op(f"sext {b.ty('i1')} {each} to {b.ty('i32')}") for each in above]
    some, other = _some(b, masks), joined(b, "i32", masks)
    bits = convert(b, "bitcast", t, x, "i32")
    below = icmp(b, "i32", "eq", bits, b.splat("i32", str(INFINITE_BITS - (1 << 31))))
    # (The others are computed as 0, which raises nothing.)
    usual = b.op(f"xor {i} {other}, {b.splat('i32', '-1')}")
    held = convert(b, "bitcast", "i32", b.op(f"and {i} {_least(b, bits)}, {usual}"), t)
    held = select(b, t, below, ZERO, held)
    part, shifted, _ = _apart(b, t, held, MAGIC + RAISED)
    power = b.op(f"shl {i} {convert(b, 'bitcast', t, shifted, 'i32')}, {b.splat('i32', '23')}")
    found = convert(b, "bitcast", "i32", b.op(f"add {i} {convert(b, 'bitcast', t, part, 'i32')}, {power}"), t)
    found = b.op(f"fmul {b.ty(t)} {found}, {b.splat(t, literal(2.0**-RAISED))}")
    found = select(b, t, below, ZERO, found)
    return b.rarely(some, b.ty(t), [found], lambda: [_any_exp(b, t, x)])[0]


def _some(b: Builder, masks: Sequence[str]) -> str:
    """Is a lane of some registers negative (i1)?"""
    with as_wide(b, b.width // len(masks)):
        joint = reduce(lambda x, y: b.op(f"or {b.ty('i32')} {x}, {y}"), masks)
        return any_(b, icmp(b, "i32", "slt", joint, ZERO))


def _some_true(b: Builder, truths: str) -> str:
    """Is one of some truths one (i1)?  AVX-512 has masks for them; else LLVM would make bytes of them."""
    size = b.target.vector_bytes
    if size >= 64:
        return any_(b, truths)
    mask = b.op(f"sext {b.ty('i1')} {truths} to {b.ty('i32')}")
    return _some(b, registers(b, b.ty("i32"), mask, size // 4))


def _any_exp(b: Builder, t: str, x: str) -> str:
    """Infinities raise nothing, so they do not take part."""
    bits, endless = _endless(b, t, x)
    most = b.intrinsic("smin", "i32", ("i32", bits), ("i32", b.splat("i32", str(_bits(HIGH)))))
    held = select(b, t, endless, ZERO, convert(b, "bitcast", "i32", _least(b, most), t))
    part, shifted, k = _apart(b, t, held, MAGIC)
    beyond = select(b, t, icmp(b, "i32", "sgt", bits, ZERO), b.splat(t, INFINITE), ZERO)
    beyond = select(b, t, fcmp(b, t, "uno", x, x), b.splat(t, NO_NUMBER), beyond)
    if fills_registers(b, t):
        found = avx512(b, "scalef", t, (t, part), (t, k))
    else:
        found = _scaled(b, t, part, shifted)
    return select(b, t, endless, beyond, found)


def _apart(b: Builder, t: str, x: str, magic: float) -> tuple[str, str, str]:
    """exp(r); k + `magic`; k."""
    shifted = b.op(f"fmul {b.ty(t)} {x}, {b.splat(t, literal(LOG2E))}")
    shifted = b.op(f"fadd {b.ty(t)} {shifted}, {b.splat(t, literal(magic))}")
    k = b.op(f"fsub {b.ty(t)} {shifted}, {b.splat(t, literal(magic))}")
    r = _fma(b, t, k, b.splat(t, literal(-LN2_HIGH)), x)
    r = _fma(b, t, k, b.splat(t, literal(-LN2_LOW)), r)
    return fdiv(b, t, _polynomial(b, t, r, ABOVE), _polynomial(b, t, r, BELOW)), shifted, k


def _endless(b: Builder, t: str, x: str) -> tuple[str, str]:
    """The bits of numbers, and which of them are infinite, or none."""
    bits = convert(b, "bitcast", t, x, "i32")
    size = b.op(f"and {b.ty('i32')} {bits}, {b.splat('i32', '2147483647')}")
    return bits, icmp(b, "i32", "sgt", size, b.splat("i32", str(INFINITE_BITS - 1)))


def log(b: Builder, t: str, x: str) -> str:
    """k ln2 and the logarithm of m, x = 2**k m.  Hot code computes only that where all numbers are normal."""
    if not b.hot:
        return _any_log(b, t, x)
    bits = convert(b, "bitcast", t, x, "i32")
    above = b.op(f"sub {b.ty('i32')} {bits}, {b.splat('i32', str(LEAST))}")
    other = icmp(b, "i32", "uge", above, b.splat("i32", str(INFINITE_BITS - LEAST)))
    some = _some_true(b, other)
    found = _quotient(b, t, *_reduced(b, t, x))
    return b.rarely(some, b.ty(t), [found], lambda: [_any_log(b, t, x)])[0]


def _any_log(b: Builder, t: str, x: str) -> str:
    """Zeros and negative numbers are quotients with 0, which raise what these do."""
    # (By bits: of comparisons of single floats LLVM makes some that raise a flag for what is no number.)
    finite, negative = (_among(b, t, x, most) for most in (INFINITE_BITS - 1, INFINITE_BITS - (1 << 31)))
    zero = fcmp(b, t, "oeq", x, ZERO)
    k, over, under = _reduced(b, t, select(b, t, finite, x, b.splat(t, USUAL)))
    over = select(b, t, negative, ZERO, over)
    under = select(b, t, or_(b, negative, zero), ZERO, under)
    found = _quotient(b, t, k, over, under)
    bits = convert(b, "bitcast", t, x, "i32")
    infinite = icmp(b, "i32", "eq", bits, b.splat("i32", str(INFINITE_BITS)))
    found = select(b, t, infinite, b.splat(t, INFINITE), found)
    return select(b, t, fcmp(b, t, "uno", x, x), b.splat(t, NO_NUMBER), found)


def _among(b: Builder, t: str, x: str, most: int) -> str:
    """Is it no zero, of one sign, and are its bits so many at most?"""
    below = b.op(f"sub {b.ty('i32')} {b.splat('i32', str(most))}, {convert(b, 'bitcast', t, x, 'i32')}")
    return icmp(b, "i32", "ult", below, b.splat("i32", str(most & (1 << 31) - 1)))


def _reduced(b: Builder, t: str, x: str) -> tuple[str, str, str]:
    """k, and the logarithm of m as a numerator and a denominator."""
    k, m = _parted(b, t, x)
    low = icmp(b, "i32", "sle", convert(b, "bitcast", t, m, "i32"), b.splat("i32", str(_bits(ROOT))))
    one = b.splat(t, literal(1.0))
    m = select(b, t, low, b.op(f"fadd {b.ty(t)} {m}, {m}"), m)
    k = select(b, t, low, b.op(f"fsub {b.ty(t)} {k}, {one}"), k)
    r = b.op(f"fsub {b.ty(t)} {m}, {one}")
    return k, _polynomial(b, t, r, OVER), _polynomial(b, t, r, UNDER)


def _quotient(b: Builder, t: str, k: str, over: str, under: str) -> str:
    return _fma(b, t, k, b.splat(t, literal(LN2)), fdiv(b, t, over, under))


def _parted(b: Builder, t: str, x: str) -> tuple[str, str]:
    """The exponent of positive finite numbers, as a number, and the rest, from 0.5 to 1."""
    if fills_registers(b, t):
        k = b.op(f"fadd {b.ty(t)} {avx512(b, 'getexp', t, (t, x))}, {b.splat(t, literal(1.0))}")
        return k, avx512(b, "getmant", t, (t, x), ("i32", "2"))
    i = b.ty("i32")
    least = b.splat("i32", str(LEAST))
    tiny = icmp(b, "i32", "ult", convert(b, "bitcast", t, x, "i32"), least)
    factor = select(b, t, tiny, b.splat(t, literal(2.0**MADE_NORMAL)), b.splat(t, literal(1.0)))
    bits = convert(b, "bitcast", t, b.op(f"fmul {b.ty(t)} {x}, {factor}"), "i32")
    bias = select(b, "i32", tiny, b.splat("i32", str(126 + MADE_NORMAL)), b.splat("i32", "126"))
    field = b.op(f"lshr {i} {bits}, {b.splat('i32', '23')}")
    k = b.op(f"sub {i} {field}, {bias}")
    rest = b.op(f"and {i} {bits}, {b.splat('i32', str(LEAST - 1))}")
    half = b.op(f"or {i} {rest}, {b.splat('i32', str(126 << 23))}")
    return convert(b, "sitofp", "i32", k, t), convert(b, "bitcast", "i32", half, t)


def _bits(x: float) -> int:
    return int(struct.unpack("i", struct.pack("f", x))[0])


def _least(b: Builder, bits: str) -> str:
    """Numbers from `LOW` on, by their bits.  (Of signed integers these are in order where numbers are
    positive, of unsigned ones negative numbers come last, the least at the end.)"""
    return b.intrinsic("umin", "i32", ("i32", bits), ("i32", b.splat("i32", str(_bits(LOW)))))


def _fma(b: Builder, t: str, x: str, y: str, z: str) -> str:
    return b.intrinsic("fma", t, (t, x), (t, y), (t, z))


def _polynomial(b: Builder, t: str, x: str, coefficients: tuple[float, ...]) -> str:
    first, *others = (b.splat(t, literal(c)) for c in coefficients)
    for c in others:
        first = _fma(b, t, first, x, c)
    return first


def _scaled(b: Builder, t: str, x: str, shifted: str) -> str:
    """x times 2**k, `shifted` being k + `MAGIC`: by two powers, of which the second one rounds."""
    i = b.ty("i32")
    whole = b.op(f"sub {i} {convert(b, 'bitcast', t, shifted, 'i32')}, {b.splat('i32', str(MAGIC_BITS))}")
    half = b.op(f"ashr {i} {whole}, {b.splat('i32', '1')}")
    for each in half, b.op(f"sub {i} {whole}, {half}"):
        biased = b.op(f"add {i} {each}, {b.splat('i32', '127')}")
        power = convert(b, "bitcast", "i32", b.op(f"shl {i} {biased}, {b.splat('i32', '23')}"), t)
        x = b.op(f"fmul {b.ty(t)} {x}, {power}")
    return x


FUNCTIONS: dict[Key, Fn] = {
    ("exp", "f->f", OWN): exp,
    ("log", "f->f", OWN): log,
    ("exp", "d->d", LIBM): emitters_libm.exp,
    ("log", "d->d", LIBM): emitters_libm_log.log,
    ("log2", "d->d", LIBM): emitters_libm_log.log2,
    ("exp", "d->d", SVML): emitters_numpys_double.exp,
    ("log", "d->d", SVML): emitters_numpys_double.log,
}

BRANCHING = {("exp", "f->f"), ("log", "f->f"), ("exp", "d->d"), ("log", "d->d"), ("log2", "d->d")}
"""Their hot code has more than one basic block (float32's `exp` where registers are not those of AVX-512)."""


@cache
def numpys(name: str, sig: str, target: Target) -> Emit | None:
    """How to emit one of NumPy's functions, if the running NumPy's bits are these."""
    whose = target.whose(name, sig)
    return bound(FUNCTIONS[name, sig, whose], lane(sig[0])) if whose else None
