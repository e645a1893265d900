"""float64's exponential and logarithm with the bits of the GNU C library, where it fuses products.

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
from lazyarr.codegen.emitters_anatomy import joined
from lazyarr.codegen.emitters_registers import Found, Function, any_of, by_numpy, shuffled
from lazyarr.codegen.emitters_types import ZERO, and_, convert, icmp, literal, not_, or_, select
from lazyarr.codegen.tables_libm import LOGARITHMS, POWERS

REAL, BITS = "double", "i64"
MANTISSA = 52
SIZE, INFINITE, SIGN = (1 << 63) - 1, 0x7FF << MANTISSA, 1 << 63
ROW = 4
"""Bytes of a table's row, as a power of two."""


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(each) for each in text.split())


# exp(x) = 2**(k / 128) exp(r), x = k ln2 / 128 + r.

SEVEN = 7
"""Bits that k has after the point."""
LOG2E, LN2_HIGH, LN2_LOW, WHOLE = _numbers("""
    0x1.71547652b82fep+7 0x1.62e42fefa0000p-8 0x1.cf79abc9e3b3ap-47 0x1.8p+52
""")
"""128 / ln2, ln2 / 128 in two parts; a sum with the last one has no bits after the point."""
TAIL = _numbers("0x1.ffffffffffdbdp-2 0x1.555555555543cp-3 0x1.55555cf172b91p-5 0x1.1111167a4d017p-7")
"""(exp(r) - 1 - r) / r**2; the lowest power first."""
LEAST, RANGE, ENDS = 0x3C90 << 48, 0x4080 << 48, 0x4086200000000000
"""The bits of 2**-54, below which exponentials are 1; of 512, from which on small ones are summed otherwise;
and of 708, from which on results may be no normal numbers."""
LOW = 1022
"""By so many powers of two small ones are raised before they are summed."""
ABOVE, BELOW = 0x40862E42FEFA39EF, 0x40874910D52D3051
"""The bits of the last numbers, of either sign, whose exponentials are neither infinite nor zero."""
OUTER = 1000
"""Powers of two whose squares leave the range."""

# log(x) = k ln2 - log(c) + log1p(r), r = m c - 1: c is near 1 / m, from a table.

FIRST = 0x3FE6 << 48
"""The bits of the least m, 0.6875."""
HALF_RANGE = 1024
NORMAL = 1 << MANTISSA
"""The bits of the least normal number."""
STEP_HIGH, STEP_LOW = _numbers("0x1.62e42fefa3800p-1 0x1.ef35793c76730p-45")
"""ln2 in two parts."""
BOW = _numbers("""
    -0x1.0000000000001p-1 0x1.555555551305bp-2 -0x1.fffffffeb4590p-3 0x1.999b324f10111p-3
    -0x1.55575e506c89fp-3
""")
"""(log1p(r) - r) / r**2; the lowest power first."""
NEAR, NEAR_LEFT = 0x3FEE << 48, 0x0003090000000000
"""The bits of the least number near 1, and how many more there are."""
NEAR_HALF, *NEAR_BOW = _numbers("""
    -0x1p-1
    0x1.5555555555577p-2 -0x1.ffffffffffdcbp-3 0x1.999999995dd0cp-3 -0x1.55555556745a7p-3
    0x1.24924a344de30p-3 -0x1.fffffa4423d65p-4 0x1.c7184282ad6cap-4 -0x1.999eb43b068ffp-4
    0x1.78182f7afd085p-4 -0x1.5521375d145cdp-4
""")
"""(log1p(r) - r) / r**2 near 1; the lowest power first."""
HIGHER = 2.0**27
"""Sums with its multiples lose the lower half of their bits."""


def _exp(b: Builder, xs: Sequence[str]) -> list[Found]:
    found = []
    for x in xs:
        scale, tail = _parts(b, x)
        factor = convert(b, "bitcast", BITS, scale, REAL)
        size = _int(b, "and", _bits(b, x), SIZE)
        found.append((_fma(b, factor, tail, factor), icmp(b, BITS, "sgt", size, _whole(b, RANGE - 1))))
    return found


def _parts(b: Builder, x: str) -> tuple[str, str]:
    """The bits of a power of two, and by how much of it the exponential is more.

    Tiny numbers have those of 0, and those far away as well."""
    size = _int(b, "and", _bits(b, x), SIZE)
    # (As signed numbers, which the CPU compares.)
    usual = icmp(b, BITS, "slt", _int(b, "sub", size, LEAST - SIGN), _whole(b, ENDS - LEAST - SIGN))
    held = select(b, REAL, usual, x, ZERO)
    shifted = _fma(b, held, _real(b, LOG2E), _real(b, WHOLE))
    k = _op(b, "fsub", shifted, _real(b, WHOLE))
    r = _fma(b, k, _real(b, -LN2_HIGH), held)
    r = _fma(b, k, _real(b, -LN2_LOW), r)
    bits = _bits(b, shifted)
    left, power = _look_up(b, "powers", POWERS, _int(b, "shl", bits, ROW))
    scale = _op(b, "add", _bits(b, power), _int(b, "shl", bits, MANTISSA - SEVEN), BITS)
    square = _op(b, "fmul", r, r)
    two, three, four, five = (_real(b, x) for x in TAIL)
    tail = _fma(b, _fma(b, r, three, two), square, _op(b, "fadd", left, r))
    return scale, _fma(b, _op(b, "fmul", square, square), _fma(b, r, five, four), tail)


def _exp_rest(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Far away are infinities, and zeros; small ones, and the ends of the range, are rarer still."""
    results, others = [], []
    one = _real(b, 1.0)
    for x, (found, where) in zip(xs, made, strict=True):
        bits = _bits(b, x)
        size = _int(b, "and", bits, SIZE)
        negative = icmp(b, BITS, "slt", bits, ZERO)
        limit = select(b, BITS, negative, _whole(b, BELOW), _whole(b, ABOVE))
        far = icmp(b, BITS, "sgt", size, limit)
        endless = icmp(b, BITS, "sgt", size, _whole(b, INFINITE - 1))
        outer = select(b, REAL, negative, _real(b, 2.0**-OUTER), _real(b, 2.0**OUTER))
        outer = select(b, REAL, and_(b, far, not_(b, endless)), outer, one)
        itself = _op(b, "fadd", select(b, REAL, endless, x, one), one)
        itself = select(b, REAL, icmp(b, BITS, "eq", bits, _whole(b, INFINITE | SIGN)), ZERO, itself)
        beyond = select(b, REAL, endless, itself, _op(b, "fmul", outer, outer))
        results.append(select(b, REAL, far, beyond, found))
        others.append(and_(b, where, not_(b, far)))
    left = list(zip(results, others, strict=True))
    return b.rarely(any_of(b, others), b.ty(REAL), results, lambda: _small_exp(b, xs, left))


def _small_exp(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Small ones are sums of rounded products; the ends of the range are NumPy's."""
    results, ends = [], []
    for x, (found, where) in zip(xs, made, strict=True):
        bits = _bits(b, x)
        inside = icmp(b, BITS, "slt", _int(b, "and", bits, SIZE), _whole(b, ENDS))
        small = and_(b, where, and_(b, inside, icmp(b, BITS, "slt", bits, ZERO)))
        scale, tail = _parts(b, x)
        raised = convert(b, "bitcast", BITS, _int(b, "add", scale, LOW << MANTISSA), REAL)
        raised = select(b, REAL, small, raised, _real(b, 1.0))
        raised = _op(b, "fadd", _op(b, "fmul", raised, tail), raised)
        results.append(select(b, REAL, small, _op(b, "fmul", raised, _real(b, 2.0**-LOW)), found))
        ends.append(and_(b, where, not_(b, inside)))
    return b.rarely(any_of(b, ends), b.ty(REAL), results, lambda: by_numpy(b, "exp", xs))


def _log(b: Builder, xs: Sequence[str]) -> list[Found]:
    """Whatever its bits are, a number has an exponent and an m, which raise nothing."""
    made, near = [], []
    for x in xs:
        made.append(_one_log(b, x))
        near.append(_near(b, x))

    def both() -> list[str]:
        return [
            select(b, REAL, where, _near_log(b, x, where), found)
            for x, (found, _), where in zip(xs, made, near, strict=True)
        ]

    results = b.rarely(any_of(b, near), b.ty(REAL), [found for found, _ in made], both)
    return [(y, where) for y, (_, where) in zip(results, made, strict=True)]


def _one_log(b: Builder, x: str) -> Found:
    bits = _bits(b, x)
    above = _int(b, "sub", bits, FIRST)
    # (The exponent is a positive number's last bits, and so becomes a number itself.)
    raised = _int(b, "lshr", _int(b, "add", above, HALF_RANGE << MANTISSA), MANTISSA)
    raised = convert(b, "bitcast", BITS, _int(b, "or", raised, _number_bits(2.0**MANTISSA)), REAL)
    k = _op(b, "fsub", raised, _real(b, 2.0**MANTISSA + HALF_RANGE))
    m = convert(b, "bitcast", BITS, _int(b, "add", _int(b, "and", above, NORMAL - 1), FIRST), REAL)
    c, start = _look_up(b, "logarithms", LOGARITHMS, _int(b, "lshr", above, MANTISSA - SEVEN - ROW))
    r = _fma(b, m, c, _real(b, -1.0))
    first, second, third, fourth, fifth = (_real(b, x) for x in BOW)
    upper = _fma(b, k, _real(b, STEP_HIGH), start)
    high = _op(b, "fadd", upper, r)
    low = _op(b, "fadd", _op(b, "fsub", upper, high), r)
    low = _fma(b, k, _real(b, STEP_LOW), low)
    square = _op(b, "fmul", r, r)
    bow = _fma(b, _fma(b, r, fifth, fourth), square, _fma(b, r, third, second))
    low = _fma(b, square, first, low)
    found = _op(b, "fadd", _fma(b, _op(b, "fmul", r, square), bow, low), high)
    # (Unsigned, below the bits of infinity, and no fewer than the least normal number's.)
    normal = _int(b, "sub", bits, NORMAL - SIGN)
    return found, icmp(b, BITS, "sgt", normal, _whole(b, INFINITE - NORMAL - 1 - SIGN))


def _near(b: Builder, x: str) -> str:
    """Is it near 1?"""
    beyond = _int(b, "sub", _bits(b, x), NEAR - SIGN)
    return icmp(b, BITS, "slt", beyond, _whole(b, NEAR_LEFT - SIGN))


def _near_log(b: Builder, x: str, where: str) -> str:
    r = _op(b, "fsub", select(b, REAL, where, x, _real(b, 1.0)), _real(b, 1.0))
    square = _op(b, "fmul", r, r)
    cube = _op(b, "fmul", r, square)
    low, middle, high = (
        _fma(b, square, _real(b, c), _fma(b, r, _real(b, y), _real(b, x)))
        for x, y, c in zip(NEAR_BOW[:9:3], NEAR_BOW[1:9:3], NEAR_BOW[2:9:3], strict=True)
    )
    high = _fma(b, cube, _real(b, NEAR_BOW[9]), high)
    bow = _fma(b, _fma(b, high, cube, middle), cube, low)
    higher = _real(b, HIGHER)
    upper = _fma(b, _real(b, -HIGHER), r, _fma(b, r, higher, r))
    lower, half = _op(b, "fsub", r, upper), _real(b, NEAR_HALF)
    squared = _op(b, "fmul", upper, upper)
    found = _fma(b, squared, half, r)
    left = _fma(b, squared, half, _op(b, "fsub", r, found))
    left = _fma(b, _op(b, "fmul", half, lower), _op(b, "fadd", r, upper), left)
    return _op(b, "fadd", _fma(b, bow, cube, left), found)


def _log_rest(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Of zeros they are quotients; infinity, and what is no number, stay; all else is NumPy's."""
    results, others = [], []
    one = _real(b, 1.0)
    for x, (found, where) in zip(xs, made, strict=True):
        bits = _bits(b, x)
        size = _int(b, "and", bits, SIZE)
        zero = icmp(b, BITS, "eq", size, ZERO)
        stays = icmp(b, BITS, "sgt", size, _whole(b, INFINITE - 1))
        stays = and_(b, stays, not_(b, icmp(b, BITS, "eq", bits, _whole(b, INFINITE | SIGN))))
        least = _op(b, "fdiv", _real(b, -1.0), select(b, REAL, zero, ZERO, one))
        itself = _op(b, "fadd", select(b, REAL, stays, x, one), one)
        results.append(select(b, REAL, stays, itself, select(b, REAL, zero, least, found)))
        others.append(and_(b, where, not_(b, or_(b, zero, stays))))
    return b.rarely(any_of(b, others), b.ty(REAL), results, lambda: by_numpy(b, "log", xs))


exp, log = Function("exp", _exp, _exp_rest, 0.0), Function("log", _log, _log_rest, 2.0)


# One instruction each


def _real(b: Builder, x: float) -> str:
    return b.splat(REAL, literal(x))


def _whole(b: Builder, x: int) -> str:
    return b.splat(BITS, str(_signed(x)))


def _signed(x: int) -> int:
    """The signed number with the last 64 bits of x."""
    return (x + SIGN) % (1 << 64) - SIGN


def _number_bits(x: float) -> int:
    return int(literal(x), 16)


def _bits(b: Builder, x: str) -> str:
    return convert(b, "bitcast", REAL, x, BITS)


def _int(b: Builder, name: str, x: str, y: int) -> str:
    return b.op(f"{name} {b.ty(BITS)} {x}, {_whole(b, y)}")


def _op(b: Builder, name: str, x: str, y: str, t: str = REAL) -> str:
    return b.op(f"{name} {b.ty(t)} {x}, {y}")


def _fma(b: Builder, x: str, y: str, z: str) -> str:
    return b.intrinsic("fma", REAL, (REAL, x), (REAL, y), (REAL, z))


def _look_up(b: Builder, name: str, table: Sequence[int], offset: str) -> tuple[str, str]:
    """Two numbers for each lane, from the row of a table at an offset in bytes, modulo the table's.

    A lane loads its row: that is sooner done than the CPU's gathers of each."""
    n, rows = b.width, []
    size = 8 * len(table)
    b.declare(f"@{name} = internal constant [{size} x i8] {_memory(table)}, align 64")
    offset = _int(b, "and", offset, size - (1 << ROW))
    for k in range(n):
        at = b.op(f"extractelement {b.ty(BITS)} {offset}, i64 {k}")
        at = b.op(f"getelementptr i8, ptr @{name}, i64 {at}")
        rows.append(b.op(f"load <2 x {REAL}>, ptr {at}, align {1 << ROW}"))
    even, odd = joined(b, REAL, rows[::2]), joined(b, REAL, rows[1::2])
    left, right = ([k + side for k in range(at, n, 2) for side in (0, n)] for at in (0, 1))
    return shuffled(b, b.ty(REAL), even, odd, left), shuffled(b, b.ty(REAL), even, odd, right)


def _memory(table: Sequence[int]) -> str:
    raw = "".join(f"\\{byte:02X}" for x in table for byte in x.to_bytes(8, "little"))
    return f'c"{raw}"'
