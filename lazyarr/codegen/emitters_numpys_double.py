"""float64's exponential and logarithm with the bits of NumPy's vector library, on registers of AVX-512.

In:  a Builder whose target has these, the name of numbers in its lanes.   Out: the name of the results.
Where numbers may be infinite, none at all, or tiny, instructions say that they raise nothing: nor do the
library's.  What that leaves to a scalar function, which may raise flags, is in a branch that is seldom taken;
exponentials near the ends of the range are NumPy's loop's, a register at a time, each with the bits that it
has alone.
The numbers, and the order of operations on them, are those of Intel's SVML as NumPy distributes it (BSD
3-Clause, Copyright Intel Corporation): other ones would have other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_registers import Found, Function, any_of, by_numpy
from lazyarr.codegen.emitters_types import ZERO, literal

N = 8
REAL, BITS, MASK = f"<{N} x double>", f"<{N} x i64>", f"<{N} x i1>"
"""A register: of numbers, of their bits, and a truth for each."""

LOUD, QUIET, QUIET_TO_ZERO = 4, 8, 11
"""Round as usual; that, and towards zero, without raising anything."""

EQUAL, LESS, GREATER = 0, 17, 30
"""Comparisons, which are not true of what is no number."""



def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(each) for each in text.split())


# exp(x) = 2**n (1 + low) high exp(r), x = n ln2 + r: n has four bits after the point, which are an index.

LOG2E, LN2_HIGH, LN2_LOW = _numbers("0x1.71547652b82fep+0 0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56")
SIXTEENTHS = _numbers("0x1.8000000003ff0p+48")[0]
"""A sum with it has four bits after the point."""
TAIL = _numbers("""
    0x1.7411836940c04p-10 0x1.1101cbbc265c0p-7 0x1.55557242d68fep-5 0x1.5555553939732p-3
    0x1.000000000d008p-1 0x1.fffffffffff70p-1
""")
"""(exp(r) - 1) / r, |r| <= ln2 / 16; the highest power first."""
POWER = _numbers("""
    0x1p+0               0x1.0b5586cf9890fp+0 0x1.172b83c7d517bp+0 0x1.2387a6e756238p+0
    0x1.306fe0a31b715p+0 0x1.3dea64c123422p+0 0x1.4bfdad5362a27p+0 0x1.5ab07dd485429p+0
    0x1.6a09e667f3bcdp+0 0x1.7a11473eb0187p+0 0x1.8ace5422aa0dbp+0 0x1.9c49182a3f090p+0
    0x1.ae89f995ad3adp+0 0x1.c199bdd85529cp+0 0x1.d5818dcfba487p+0 0x1.ea4afa2a490dap+0
""")
POWER_LEFT = _numbers("""
    0x0p+0                0x1.79aa65d837b6dp-54 -0x1.01b15eaa59348p-55 0x1.68efde3a8a894p-54
    0x1.34d754db0abb6p-55 0x1.59f48a72a4c6dp-55 0x1.690cebb7aafb0p-56  0x1.063e1e21c5409p-54
    -0x1.3b3efbf5e2228p-54 -0x1.b32dcb94da51dp-56 0x1.db72fc1f0eab4p-55 0x1.1affc2b91ce27p-56
    0x1.c1a7792cb3387p-55 0x1.36eae30af0cb3p-56 0x1.4a385a63d07a7p-56  -0x1.ff7128fd391f0p-55
""")
"""2**(k/16), and what rounding left off, relative to it."""
RANGE = 0x40861DA04CBAFE44
"""The bits of the least number whose exponential is left to NumPy; to that of infinity is known."""
ABOVE, BELOW = _numbers("0x1.62e42fefa39efp+9 -0x1.74910d52d3051p+9")
"""Beyond these the exponential is infinite, and zero."""
OUTER = 1000
"""A power of two to which less is added than it takes to leave the range."""
INFINITE, SIZE = 0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF
SMALL = ~0x4000000000000000
"""The bits of any number, with these alone, are those of one below 2."""

# log(x) = k ln2 - log(c) + log1p(r), r = m c - 1: c is near 1 / m, and has four bits after the point.

FOUR_BITS = 88
"""Round to them, at most once inexact, as the instruction's operand has it."""
TO_TWO, TO_NONE = 8, 223
"""Parts of numbers from 1 to 2, none of negative ones; zeros, what is negative, infinite, or no number."""
STEP_HIGH, STEP_LOW = _numbers("0x1.62e42fefa0000p-1 0x1.cf79abc9e0000p-40")
THREE_QUARTERS = 0x3FE8000000000000
BOW = _numbers("""
    0x1.c81cd309d7c70p-4  -0x1.007357e93af62p-3 0x1.249229cee81efp-3  -0x1.55553fb28db06p-3
    0x1.9999999cc9f5cp-3  -0x1.00000000c05bdp-2 0x1.5555555555466p-2  -0x1.fffffffffffc6p-2
""")
"""(log1p(r) - r) / r**2; the highest power first."""
LOGARITHM = _numbers("""
    0x0p+0                -0x1.f0a30c0120000p-5 -0x1.e27076e2b0000p-4 -0x1.5ff3070a78000p-3
    -0x1.c8ff7c79a8000p-3 -0x1.1675cababc000p-2 -0x1.4618bc21c4000p-2 -0x1.739d7f6bbc000p-2
    0x1.269621134c000p-2  0x1.f991c6cb38000p-3  0x1.a93ed3c8b0000p-3  0x1.5bf406b540000p-3
    0x1.1178e82280000p-3  0x1.9335e5d590000p-4  0x1.08598b59e0000p-4  0x1.0415d89e80000p-5
""")
LOGARITHM_LEFT = _numbers("""
    0x0p+0                0x1.3ab33d066d1d2p-42 0x1.a342c2af0003cp-45  -0x1.3d3c873e20a07p-43
    -0x1.a21ac25d81ef3p-43 0x1.9f1fc63382a8fp-42 -0x1.ec27d0b7b37b3p-42 -0x1.0069ce24c53fbp-42
    0x1.b92783beb7677p-42 0x1.9bcbecca0cdf3p-42 -0x1.30e486a0ac42dp-42 0x1.ed8fdc149767ep-42
    -0x1.b8421cc74be04p-43 0x1.2622b8757a8fbp-42 0x1.d034451fecdfbp-43 -0x1.77771fd187145p-42
""")
"""-log(1 + k/16), from k = 8 on with ln2, in two parts, of which the first has few bits."""


def _exp(b: Builder, x: str) -> Found:
    """Infinities, and what is no number, take the same way: of the first `r` is none, and then small."""
    shifted = _fma(b, x, _splat(LOG2E), _splat(SIXTEENTHS), QUIET_TO_ZERO)
    n = _quiet(b, "sub", shifted, _splat(SIXTEENTHS))
    r = _fma(b, n, _splat(-LN2_HIGH), x, QUIET)
    r = _fma(b, n, _splat(-LN2_LOW), r, QUIET)
    r = _as(b, b.op(f"and {BITS} {_as(b, r, BITS)}, {_bits(SMALL)}"), REAL)
    index = _as(b, shifted, BITS)
    square = _quiet(b, "mul", r, r)
    top, middle, last = (_fma(b, r, _splat(x), _splat(y)) for x, y in zip(TAIL[::2], TAIL[1::2], strict=True))
    tail = _fma(b, _fma(b, top, square, middle), square, last)
    power = _look_up(b, index, POWER)
    part = _fma(b, power, _fma(b, tail, r, _look_up(b, index, POWER_LEFT), QUIET), power)
    found = _call(b, "mask.scalef.pd.512", REAL, (REAL, part), (REAL, n), *_all_lanes(QUIET))
    size = b.op(f"and {BITS} {_as(b, x, BITS)}, {_bits(SIZE)}")
    beyond = b.op(f"sub {BITS} {size}, {_bits(RANGE)}")
    where = b.op(f"icmp ult {BITS} {beyond}, {_bits(INFINITE - RANGE)}")
    return found, where


def _log(b: Builder, x: str) -> Found:
    m = _call(b, "mask.getmant.pd.512", REAL, (REAL, x), ("i32", str(TO_TWO)), *_all_lanes(QUIET))
    k = _call(b, "mask.getexp.pd.512", REAL, (REAL, x), *_all_lanes(QUIET))
    c = _call(b, "rcp14.pd.512", REAL, (REAL, m), *_all_lanes())
    c = _call(b, "mask.rndscale.pd.512", REAL, (REAL, c), ("i32", str(FOUR_BITS)), *_all_lanes(QUIET))
    bits = _as(b, c, BITS)
    below = b.op(f"icmp slt {BITS} {bits}, {_bits(THREE_QUARTERS)}")
    next_ = b.op(f"fadd {REAL} {k}, {_splat(1.0)}")
    k = _select(b, below, next_, k)
    r = _fma(b, c, m, _splat(-1.0))
    square = b.op(f"fmul {REAL} {r}, {r}")
    pairs = zip(BOW[::2], BOW[1::2], strict=True)
    first, second, third, fourth = (_fma(b, r, _splat(x), _splat(y)) for x, y in pairs)
    upper, lower = _fma(b, first, square, second), _fma(b, third, square, fourth)
    bow = _fma(b, upper, b.op(f"fmul {REAL} {square}, {square}"), lower)
    index = b.op(f"lshr {BITS} {bits}, {_bits(48)}")
    high = _fma(b, k, _splat(STEP_HIGH), _look_up(b, index, LOGARITHM))
    low = _fma(b, k, _splat(STEP_LOW), _look_up(b, index, LOGARITHM_LEFT))
    top = b.op(f"fadd {REAL} {high}, {r}")
    left = b.op(f"fsub {REAL} {r}, {_quiet(b, 'sub', top, high)}")
    low = b.op(f"fadd {REAL} {_fma(b, bow, square, left)}, {low}")
    found = b.op(f"fadd {REAL} {top}, {low}")
    where = _call(b, "fpclass.pd.512", MASK, (REAL, x), ("i32", str(TO_NONE)))
    return found, where


def _exp_rest(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Far away results are powers of two out of the range; those near its ends are NumPy's."""
    results, ends = [], []
    for x, (found, where) in zip(xs, made, strict=True):
        above, below = _compare(b, GREATER, x, ABOVE), _compare(b, LESS, x, BELOW)
        far = _both(b, "and", where, _both(b, "or", above, below))
        ends.append(_both(b, "xor", where, far))
        outer = _select(b, above, _splat(2.0**OUTER), _splat(2.0**-OUTER))
        lanes = b.op(f"bitcast {MASK} {far} to i{N}")
        rest = (REAL, found), (f"i{N}", lanes), ("i32", str(LOUD))
        results.append(_call(b, "mask.scalef.pd.512", REAL, (REAL, outer), (REAL, x), *rest))
    return b.rarely(any_of(b, ends), REAL, results, lambda: by_numpy(b, "exp", xs))


def _log_rest(b: Builder, xs: Sequence[str], made: Sequence[Found]) -> list[str]:
    """Roots raise what logarithms do, and are what these are, but for those of zeros: there quotients do."""
    b.declare(f"declare {REAL} @llvm.sqrt.v{N}f64({REAL})")
    results = []
    for x, (found, where) in zip(xs, made, strict=True):
        zero = _compare(b, EQUAL, x, 0.0)
        size = _as(b, b.op(f"and {BITS} {_as(b, x, BITS)}, {_bits(SIZE)}"), REAL)
        least = b.op(f"fdiv {REAL} {_splat(-1.0)}, {_select(b, zero, size, _splat(1.0))}")
        root = b.op(f"call {REAL} @llvm.sqrt.v{N}f64({REAL} {_select(b, where, x, _splat(1.0))})")
        results.append(_select(b, zero, least, _select(b, where, root, found)))
    return results


def _each(make: Callable[[Builder, str], Found]) -> Callable[[Builder, Sequence[str]], list[Found]]:
    return lambda b, xs: [make(b, x) for x in xs]


exp = Function("exp", _each(_exp), _exp_rest, 0.0)
log = Function("log", _each(_log), _log_rest, 1.0)


# One instruction each


def _splat(x: float) -> str:
    return f"splat (double {literal(x)})"


def _bits(x: int) -> str:
    return f"splat (i64 {x})"


def _register(t: str, values: Sequence[str]) -> str:
    return f"<{', '.join(f'{t} {value}' for value in values)}>"


def _as(b: Builder, x: str, t: str) -> str:
    """The same bits."""
    return b.op(f"bitcast {BITS if t == REAL else REAL} {x} to {t}")


def _both(b: Builder, name: str, x: str, y: str) -> str:
    return b.op(f"{name} {MASK} {x}, {y}")


def _select(b: Builder, where: str, x: str, y: str) -> str:
    return b.op(f"select {MASK} {where}, {REAL} {x}, {REAL} {y}")


def _compare(b: Builder, how: int, x: str, y: float) -> str:
    every = "splat (i1 true)"
    operands = (REAL, x), (REAL, _splat(y)), ("i32", str(how)), (MASK, every), ("i32", str(QUIET))
    return _call(b, "mask.cmp.pd.512", MASK, *operands)


def _call(b: Builder, name: str, result: str, *operands: tuple[str, str]) -> str:
    callee = f"{result} @llvm.x86.avx512.{name}"
    b.declare(f"declare {callee}({', '.join(t for t, _ in operands)})")
    return b.op(f"call {callee}({', '.join(f'{t} {x}' for t, x in operands)})")


def _all_lanes(how: int | None = None) -> tuple[tuple[str, str], ...]:
    """The last operands of an instruction that could leave lanes out."""
    rest = (REAL, ZERO), (f"i{N}", "-1")
    return rest if how is None else (*rest, ("i32", str(how)))


def _quiet(b: Builder, name: str, x: str, y: str) -> str:
    return _call(b, f"{name}.pd.512", REAL, (REAL, x), (REAL, y), ("i32", str(QUIET)))


def _fma(b: Builder, x: str, y: str, z: str, how: int | None = None) -> str:
    if how is not None:
        return _call(b, "vfmadd.pd.512", REAL, (REAL, x), (REAL, y), (REAL, z), ("i32", str(how)))
    callee = f"{REAL} @llvm.fma.v{N}f64"
    b.declare(f"declare {callee}({REAL}, {REAL}, {REAL})")
    return b.op(f"call {callee}({REAL} {x}, {REAL} {y}, {REAL} {z})")


def _look_up(b: Builder, index: str, table: tuple[float, ...]) -> str:
    """The numbers of a table of two registers at an index modulo its length."""
    low, high = (_register("double", [literal(x) for x in half]) for half in (table[:N], table[N:]))
    return _call(b, "vpermi2var.pd.512", REAL, (REAL, low), (BITS, index), (REAL, high))
