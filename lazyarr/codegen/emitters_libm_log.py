"""float64's logarithms with the bits of the GNU C library, where it fuses products.

In:  a Builder whose target does, the name of numbers in its lanes.   Out: the name of the results.
log(x) is k log(2) - log(c) + log(1 + r), where x = 2**k m and r = m c - 1: c is near 1 / m, from a table.
Near 1 another polynomial is taken, and no table: that is a branch, for all lanes if any of them is near.
Whatever its bits are, a number has an exponent and an m, which raise nothing; what is right for zeros and for
what is infinite, or no number, is in a branch that is seldom taken, and all the rest is NumPy's loop's.
The numbers, and the order of operations on them, are those of ARM's optimized routines (MIT, Copyright Arm
Limited), products fused as compilers fuse them for the C library since version 2.28: other ones would have
other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_registers import Found, Function, any_of, by_numpy
from lazyarr.codegen.emitters_types import ZERO, and_, convert, icmp, not_, or_, select
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
    number_bits,
    numbers,
    op,
    real,
    whole,
    with_integer,
)
from lazyarr.codegen.tables_libm import LOGARITHMS, LOGARITHMS_TO_TWO
from lazyarr.records import dataclass

FIRST = 0x3FE6 << 48
"""The bits of the least m, 0.6875."""
HALF_RANGE = 1024
NORMAL = 1 << MANTISSA
"""The bits of the least normal number."""


@dataclass(frozen=True, slots=True)
class Logarithm:
    """To some base."""

    name: str
    table: tuple[int, ...]
    """A power of two of rows: c, and -log(c)."""
    near: int
    """The bits of the least number near 1."""
    near_left: int
    """How many more there are."""
    sum: Callable[[Builder, str, str, str], str]
    """Of k, -log(c) and r."""
    near_one: Callable[[Builder, str], str]
    """Of r = x - 1."""

    def make(self, b: Builder, xs: Sequence[str]) -> list[Found]:
        usual = [self.usual(b, x) for x in xs]
        near = [self.is_near(b, x) for x in xs]

        def both() -> list[str]:
            return [
                select(b, REAL, where, self.near_one(b, _less_one(b, x, where)), y)
                for x, y, where in zip(xs, usual, near, strict=True)
            ]

        found = b.rarely(any_of(b, near), b.ty(REAL), usual, both)
        return [(y, _no_normal(b, x)) for x, y in zip(xs, found, strict=True)]

    def usual(self, b: Builder, x: str) -> str:
        above = with_integer(b, "sub", bits_of_real(b, x), FIRST)
        # (The exponent is a positive number's last bits, and so becomes a number itself.)
        raised = with_integer(b, "lshr", with_integer(b, "add", above, HALF_RANGE << MANTISSA), MANTISSA)
        raised = with_integer(b, "or", raised, number_bits(2.0**MANTISSA))
        k = op(b, "fsub", convert(b, "bitcast", BITS, raised, REAL), real(b, 2.0**MANTISSA + HALF_RANGE))
        m = with_integer(b, "add", with_integer(b, "and", above, NORMAL - 1), FIRST)
        m = convert(b, "bitcast", BITS, m, REAL)
        places = (len(self.table) // 2).bit_length() - 1
        row = with_integer(b, "lshr", above, MANTISSA - places - ROW)
        c, start = look_up(b, f"rows_of_{self.name}", self.table, row)
        return self.sum(b, k, start, fma(b, m, c, real(b, -1.0)))

    def is_near(self, b: Builder, x: str) -> str:
        # (As signed numbers, which the CPU compares.)
        beyond = with_integer(b, "sub", bits_of_real(b, x), self.near - SIGN)
        return icmp(b, BITS, "slt", beyond, whole(b, self.near_left - SIGN))

    def rest(self, b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
        """Of zeros they are quotients; infinity, and what is no number, stay; all else is NumPy's."""
        results, others = [], []
        one = real(b, 1.0)
        for x, (found, where) in zip(xs, made, strict=True):
            bits = bits_of_real(b, x)
            size = with_integer(b, "and", bits, SIZE)
            zero = icmp(b, BITS, "eq", size, ZERO)
            stays = icmp(b, BITS, "sgt", size, whole(b, INFINITE - 1))
            stays = and_(b, stays, not_(b, icmp(b, BITS, "eq", bits, whole(b, INFINITE | SIGN))))
            least = op(b, "fdiv", real(b, -1.0), select(b, REAL, zero, ZERO, one))
            itself = op(b, "fadd", select(b, REAL, stays, x, one), one)
            results.append(select(b, REAL, stays, itself, select(b, REAL, zero, least, found)))
            others.append(and_(b, where, not_(b, or_(b, zero, stays))))
        return b.rarely(any_of(b, others), b.ty(REAL), results, lambda: by_numpy(b, self.name, xs))

    def function(self) -> Function:
        return Function(self.name, self.make, self.rest, 2.0)


def _less_one(b: Builder, x: str, where: str) -> str:
    one = real(b, 1.0)
    return op(b, "fsub", select(b, REAL, where, x, one), one)


def _no_normal(b: Builder, x: str) -> str:
    """Is it no positive normal number?  (Of these there are as many as from the least one to infinity.)"""
    above = with_integer(b, "sub", bits_of_real(b, x), NORMAL - SIGN)
    return icmp(b, BITS, "sgt", above, whole(b, INFINITE - NORMAL - 1 - SIGN))


# To the base e

STEP_HIGH, STEP_LOW = numbers("0x1.62e42fefa3800p-1 0x1.ef35793c76730p-45")
"""ln2 in two parts."""
BOW = numbers("""
    -0x1.0000000000001p-1 0x1.555555551305bp-2 -0x1.fffffffeb4590p-3 0x1.999b324f10111p-3
    -0x1.55575e506c89fp-3
""")
"""(log1p(r) - r) / r**2; the lowest power first."""
NEAR_HALF, *NEAR_BOW = numbers("""
    -0x1p-1
    0x1.5555555555577p-2 -0x1.ffffffffffdcbp-3 0x1.999999995dd0cp-3 -0x1.55555556745a7p-3
    0x1.24924a344de30p-3 -0x1.fffffa4423d65p-4 0x1.c7184282ad6cap-4 -0x1.999eb43b068ffp-4
    0x1.78182f7afd085p-4 -0x1.5521375d145cdp-4
""")
"""The same near 1."""
HIGHER = 2.0**27
"""Sums with its multiples lose the lower half of their bits."""


def _log(b: Builder, k: str, start: str, r: str) -> str:
    first, second, third, fourth, fifth = (real(b, x) for x in BOW)
    upper = fma(b, k, real(b, STEP_HIGH), start)
    high = op(b, "fadd", upper, r)
    low = op(b, "fadd", op(b, "fsub", upper, high), r)
    low = fma(b, k, real(b, STEP_LOW), low)
    square = op(b, "fmul", r, r)
    bow = fma(b, fma(b, r, fifth, fourth), square, fma(b, r, third, second))
    low = fma(b, square, first, low)
    return op(b, "fadd", fma(b, op(b, "fmul", r, square), bow, low), high)


def _log_near_one(b: Builder, r: str) -> str:
    square = op(b, "fmul", r, r)
    cube = op(b, "fmul", r, square)
    low, middle, high = (
        fma(b, square, real(b, c), fma(b, r, real(b, y), real(b, x)))
        for x, y, c in zip(NEAR_BOW[:9:3], NEAR_BOW[1:9:3], NEAR_BOW[2:9:3], strict=True)
    )
    high = fma(b, cube, real(b, NEAR_BOW[9]), high)
    bow = fma(b, fma(b, high, cube, middle), cube, low)
    upper = fma(b, real(b, -HIGHER), r, fma(b, r, real(b, HIGHER), r))
    lower, half = op(b, "fsub", r, upper), real(b, NEAR_HALF)
    squared = op(b, "fmul", upper, upper)
    found = fma(b, squared, half, r)
    left = fma(b, squared, half, op(b, "fsub", r, found))
    left = fma(b, op(b, "fmul", half, lower), op(b, "fadd", r, upper), left)
    return op(b, "fadd", fma(b, bow, cube, left), found)


# To the base 2

UNIT_HIGH, UNIT_LOW = numbers("0x1.7154765200000p+0 0x1.705fc2eefa200p-33")
"""1 / ln2 in two parts."""
BOW_TO_TWO = numbers("""
    -0x1.71547652b8339p-1 0x1.ec709dc3a04bep-2 -0x1.7154764702ffbp-2 0x1.2776c50034c48p-2
    -0x1.ec7b328ea92bcp-3 0x1.a6225e117f92ep-3
""")
"""(log2(1 + r) - r / ln2) / r**2; the lowest power first."""
NEAR_BOW_TO_TWO = numbers("""
    -0x1.71547652b82fep-1 0x1.ec709dc3a03f7p-2 -0x1.71547652b7c3fp-2 0x1.2776c50f05be4p-2
    -0x1.ec709dd768fe5p-3 0x1.a61761ec4e736p-3 -0x1.7153fbc64a79bp-3 0x1.484d154f01b4ap-3
    -0x1.289e4a72c383cp-3 0x1.0b32f285aee66p-3
""")
"""The same near 1."""


def _pairs(b: Builder, r: str, coefficients: Sequence[float]) -> list[str]:
    pairs = zip(coefficients[::2], coefficients[1::2], strict=True)
    return [fma(b, r, real(b, y), real(b, x)) for x, y in pairs]


def _units(b: Builder, r: str) -> tuple[str, str]:
    """r / ln2, and what rounding left off."""
    high = op(b, "fmul", real(b, UNIT_HIGH), r)
    exact = fma(b, real(b, UNIT_HIGH), r, b.op(f"fneg {b.ty(REAL)} {high}"))
    return high, fma(b, r, real(b, UNIT_LOW), exact)


def _log2(b: Builder, k: str, start: str, r: str) -> str:
    whole_, square = op(b, "fadd", k, start), op(b, "fmul", r, r)
    unit, left = _units(b, r)
    high = op(b, "fadd", unit, whole_)
    low = op(b, "fadd", op(b, "fadd", op(b, "fsub", whole_, high), unit), left)
    first, second, third = _pairs(b, r, BOW_TO_TWO)
    bow = fma(b, third, op(b, "fmul", square, square), fma(b, second, square, first))
    return op(b, "fadd", fma(b, square, bow, low), high)


def _log2_near_one(b: Builder, r: str) -> str:
    square = op(b, "fmul", r, r)
    fourth = op(b, "fmul", square, square)
    unit, left = _units(b, r)
    first, *others = _pairs(b, r, NEAR_BOW_TO_TWO)
    high = fma(b, first, square, unit)
    low = op(b, "fadd", fma(b, first, square, op(b, "fsub", unit, high)), left)
    lower, upper = (fma(b, y, square, x) for x, y in zip(others[::2], others[1::2], strict=True))
    return op(b, "fadd", high, fma(b, fma(b, upper, fourth, lower), fourth, low))


log = Logarithm("log", LOGARITHMS, 0x3FEE << 48, 0x0003090000000000, _log, _log_near_one).function()
log2 = Logarithm(
    "log2", LOGARITHMS_TO_TWO, 0x3FEEA4AF00000000, 0x000210AA00000000, _log2, _log2_near_one
).function()
