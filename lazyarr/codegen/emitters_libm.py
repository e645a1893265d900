"""float64's exponential with the bits of the GNU C library, where it fuses products.

In:  a Builder whose target does, the name of numbers in its lanes.   Out: the name of the results.
NumPy calls the C library's functions where it has none of its own.  Lanes that would raise something are held
back: they compute the function of another number.  What is right for them is in branches that are seldom
taken; at the ends of the range, and for what is none of the function's business, that is NumPy's loop, which
computes a register at a time.
The numbers, and the order of operations on them, are those of ARM's optimized routines (MIT, Copyright Arm
Limited), products fused as compilers fuse them for the C library since version 2.28: other ones would have
other bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_registers import Found, Function, any_of, by_numpy
from lazyarr.codegen.emitters_types import ZERO, and_, convert, icmp, not_, select
from lazyarr.codegen.libm_parts import (
    BITS,
    INFINITE,
    MANTISSA,
    REAL,
    ROW,
    SIGN,
    SIZE,
    bits_of_real,
    fma,
    look_up,
    numbers,
    op,
    real,
    whole,
    with_integer,
)
from lazyarr.codegen.tables_libm import POWERS

# exp(x) = 2**(k / 128) exp(r), x = k ln2 / 128 + r.

SEVEN = 7
"""Bits that k has after the point."""
LOG2E, LN2_HIGH, LN2_LOW, WHOLE = numbers("""
    0x1.71547652b82fep+7 0x1.62e42fefa0000p-8 0x1.cf79abc9e3b3ap-47 0x1.8p+52
""")
"""128 / ln2, ln2 / 128 in two parts; a sum with the last one has no bits after the point."""
TAIL = numbers("0x1.ffffffffffdbdp-2 0x1.555555555543cp-3 0x1.55555cf172b91p-5 0x1.1111167a4d017p-7")
"""(exp(r) - 1 - r) / r**2; the lowest power first."""
LEAST, RANGE = 0x3C90 << 48, 0x4080 << 48
"""The bits of 2**-54, below which exponentials are 1, and of 512, from which on they are summed otherwise."""
ABOVE, BELOW = 0x40862E42FEFA39EF, 0x40874910D52D3051
"""The bits of the last numbers, of either sign, whose exponentials are neither infinite nor zero."""
OUTER = 1000
"""Powers of two whose squares leave the range."""


def _exp(b: Builder, xs: Sequence[str]) -> list[Found]:
    return [_one_exp(b, x) for x in xs]


def _one_exp(b: Builder, x: str) -> Found:
    """Tiny numbers have the exponential of 0, which is theirs."""
    size = with_integer(b, "and", bits_of_real(b, x), SIZE)
    # (As signed numbers, which the CPU compares.)
    usual = icmp(b, BITS, "slt", with_integer(b, "sub", size, LEAST - SIGN), whole(b, RANGE - LEAST - SIGN))
    held = select(b, REAL, usual, x, ZERO)
    shifted = fma(b, held, real(b, LOG2E), real(b, WHOLE))
    k = op(b, "fsub", shifted, real(b, WHOLE))
    r = fma(b, k, real(b, -LN2_HIGH), held)
    r = fma(b, k, real(b, -LN2_LOW), r)
    bits = bits_of_real(b, shifted)
    left, power = look_up(b, "powers", POWERS, with_integer(b, "shl", bits, ROW))
    whole_part = with_integer(b, "shl", bits, MANTISSA - SEVEN)
    scale = convert(b, "bitcast", BITS, op(b, "add", bits_of_real(b, power), whole_part, BITS), REAL)
    square = op(b, "fmul", r, r)
    two, three, four, five = (real(b, x) for x in TAIL)
    tail = fma(b, fma(b, r, three, two), square, op(b, "fadd", left, r))
    tail = fma(b, op(b, "fmul", square, square), fma(b, r, five, four), tail)
    return fma(b, scale, tail, scale), icmp(b, BITS, "sgt", size, whole(b, RANGE - 1))


def _exp_rest(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Far away are infinities, and zeros; what lies between is rarer still, and NumPy's: small ones are sums
    of rounded products, and subnormal ones are rounded otherwise."""
    results, others = [], []
    one = real(b, 1.0)
    for x, (found, where) in zip(xs, made, strict=True):
        bits = bits_of_real(b, x)
        size = with_integer(b, "and", bits, SIZE)
        negative = icmp(b, BITS, "slt", bits, ZERO)
        limit = select(b, BITS, negative, whole(b, BELOW), whole(b, ABOVE))
        far = icmp(b, BITS, "sgt", size, limit)
        endless = icmp(b, BITS, "sgt", size, whole(b, INFINITE - 1))
        outer = select(b, REAL, negative, real(b, 2.0**-OUTER), real(b, 2.0**OUTER))
        outer = select(b, REAL, and_(b, far, not_(b, endless)), outer, one)
        itself = op(b, "fadd", select(b, REAL, endless, x, one), one)
        itself = select(b, REAL, icmp(b, BITS, "eq", bits, whole(b, INFINITE | SIGN)), ZERO, itself)
        beyond = select(b, REAL, endless, itself, op(b, "fmul", outer, outer))
        results.append(select(b, REAL, far, beyond, found))
        others.append(and_(b, where, not_(b, far)))
    return b.rarely(any_of(b, others), b.ty(REAL), results, lambda: by_numpy(b, "exp", xs))


exp = Function("exp", _exp, _exp_rest, 0.0)
