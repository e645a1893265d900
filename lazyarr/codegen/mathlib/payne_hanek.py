"""The remainder of a huge number by pi/2, after Payne and Hanek: exact products with the bits that matter.

In:  a `Target`.   Out: the text of ``{ double, double, i64 } @reduce(double)``: the remainder as a sum, and
the number of quarters (its low bits).  Operands below 2**20 give anything, infinities and NaNs zeros, soon.
Of x = m 2**e the bits of 2/pi that make multiples of 4 drop out; 192 of the following ones suffice, as no
double is closer to a multiple of pi/2 than 2**-62 or so.
"""

from __future__ import annotations

from itertools import pairwise

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib import tables as t
from lazyarr.codegen.mathlib.arithmetic import ordered, product
from lazyarr.codegen.mathlib.lanes import Lanes, Real
from lazyarr.target import Target

REDUCE = "reduce"

_FIRST, _LAST = 1013, 1033
"""Exponent of a number whose bits begin where the words do (the first is zero), and the last place."""


def reduce_text(target: Target) -> str:
    b = Builder(target, 0)
    words = [0, *t.TWO_OVER_PI]
    table = ", ".join(f"i64 {w - (1 << 64) if w >> 63 else w}" for w in words)
    b.label("entry")
    bits = b.op("bitcast double %x to i64")
    exponent = b.op(f"and i64 {b.op(f'lshr i64 {bits}, 52')}, 2047")
    b.do(f"br i1 {b.op(f'icmp eq i64 {exponent}, 2047')}, label %none, label %some")
    b.label("none")
    b.do("ret { double, double, i64 } zeroinitializer")
    b.label("some")
    place = b.intrinsic("smax", "i64", ("i64", b.op(f"sub i64 {exponent}, {_FIRST}")), ("i64", "0"))
    place = b.intrinsic("smin", "i64", ("i64", place), ("i64", str(_LAST)))
    m = b.op(f"or i64 {b.op(f'and i64 {bits}, {(1 << 52) - 1}')}, {1 << 52}")
    window = _window(b, place)
    fraction, quarters = _fraction(b, m, window)
    high, low = _times_quarter(b, fraction)
    negative = b.op(f"icmp slt i64 {bits}, 0")
    results = [(_signed(b, negative, part), "double") for part in (high, low)]
    turned = b.op(f"select i1 {negative}, i64 {b.op(f'sub i64 0, {quarters}')}, i64 {quarters}")
    whole = "poison"
    for k, (value, ty) in enumerate([*results, (turned, "i64")]):
        whole = b.op(f"insertvalue {{ double, double, i64 }} {whole}, {ty} {value}, {k}")
    b.do(f"ret {{ double, double, i64 }} {whole}")
    head = f"define internal {{ double, double, i64 }} @{REDUCE}(double %x) noinline cold nounwind {{"
    constant = f"@two_over_pi = private unnamed_addr constant [{len(words)} x i64] [{table}], align 64"
    declarations = [d for d in b.declarations if not d.startswith("declare double @llvm.fma")]
    return "\n".join([constant, *declarations, head, *b.lines, "}", ""])


def _window(b: Builder, place: str) -> list[str]:
    """192 bits from a place on, in words, the upper one first."""
    first, shift = b.op(f"lshr i64 {place}, 6"), b.op(f"and i64 {place}, 63")
    words = []
    for k in range(4):
        at = b.op(f"getelementptr i64, ptr @two_over_pi, i64 {b.op(f'add i64 {first}, {k}')}")
        words.append(b.op(f"load i64, ptr {at}, align 8"))
    pairs = pairwise(words)
    return [b.intrinsic("fshl", "i64", ("i64", x), ("i64", y), ("i64", shift)) for x, y in pairs]


def _fraction(b: Builder, m: str, window: list[str]) -> tuple[str, str]:
    """m times the window: quarters modulo 4, and a signed fraction of a quarter in units of 2**-128."""

    top, middle, last = (b.wide_product(m, word) for word in window)
    middle = b.op(f"add i128 {middle}, {b.op(f'lshr i128 {last}, 64')}")
    upper = b.op(f"add i128 {b.op(f'shl i128 {top}, 64')}, {middle}")
    rest = b.op(f"trunc i128 {last} to i64")
    near = b.op(f"add i128 {upper}, {1 << 125}")
    quarters = b.op(f"trunc i128 {b.op(f'lshr i128 {near}, 126')} to i64")
    carried = b.op(f"zext i64 {b.op(f'lshr i64 {rest}, 62')} to i128")
    fraction = b.op(f"or i128 {b.op(f'shl i128 {upper}, 2')}, {carried}")
    return fraction, quarters


def _times_quarter(b: Builder, fraction: str) -> tuple[str, str]:
    """The fraction times pi/2, as a sum."""
    negative = b.op(f"icmp slt i128 {fraction}, 0")
    size = b.op(f"select i1 {negative}, i128 {b.op(f'sub i128 0, {fraction}')}, i128 {fraction}")
    b.declare("declare i128 @llvm.ctlz.i128(i128, i1)")
    zeros = b.op(f"call i128 @llvm.ctlz.i128(i128 {b.op(f'or i128 {size}, 1')}, i1 false)")
    moved = b.op(f"shl i128 {size}, {zeros}")
    upper = b.op(f"trunc i128 {b.op(f'lshr i128 {moved}, 75')} to i64")
    lower = b.op(f"trunc i128 {b.op(f'lshr i128 {moved}, 11')} to i64")
    short = b.op(f"trunc i128 {zeros} to i64")
    exponent = b.op(f"sub i64 1023, {short}")
    scale = b.op(f"bitcast i64 {b.op(f'shl i64 {exponent}, 52')} to double")
    on = Lanes(b)
    unit = Real(on, scale)
    high = Real(on, b.op(f"uitofp i64 {upper} to double")) * 2.0**-53 * unit
    low = Real(on, b.op(f"uitofp i64 {lower} to double")) * 2.0**-117 * unit
    one, two = t.PI_QUARTER_BITS
    main, rest = product(high, one)
    found, left = ordered(main, rest + (high * two + low * one))
    return _signed(b, negative, found.name), _signed(b, negative, left.name)


def _signed(b: Builder, negative: str, x: str) -> str:
    return b.op(f"select i1 {negative}, double {b.op(f'fneg double {x}')}, double {x}")
