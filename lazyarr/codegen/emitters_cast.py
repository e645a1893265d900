"""Casts between all plain dtypes: NumPy's unsafe cast.

In:  a value, its dtype character and the one wanted.   Out: the value in that dtype.
Holds: True is x != 0 (also NaN); integers wrap; int -> float and float -> narrower float round to
nearest even, once; float -> int truncates, and out of range gives some fixed value (frozen, never
poison) with the 'invalid' status of the hardware; complex -> real drops the imaginary part.
float16 converts by hardware to and from float32 only; the other types reach it through float32 without
rounding twice.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_compare import TRUTH
from lazyarr.codegen.emitters_types import (
    ZERO,
    Fn,
    Value,
    bits_of,
    convert,
    fcmp,
    icmp,
    lane,
    literal,
    select,
    size_of,
)
from lazyarr.dtypes import PLAIN
from lazyarr.ops import kind

_REAL_OF = {"F": "f", "D": "d"}
_RANK = {"half": 0, "float": 1, "double": 2}


def cast(source: str, target: str) -> Fn:
    """The cast between two dtype characters, as ``fn(b, t, x)``; `t` is not used."""

    def emit(b: Builder, t: str, x: Value) -> Value:
        if target == "?":
            return truth(b, source, x)
        if isinstance(x, str):
            re, im = x, ZERO
        else:
            re, im = x
        re = real(b, _REAL_OF.get(source, source), re, _REAL_OF.get(target, target))
        if target not in _REAL_OF:
            return re
        return re, im if im == ZERO else real(b, _REAL_OF[source], im, _REAL_OF[target])

    return emit


def truth(b: Builder, source: str, x: Value) -> str:
    if source == "e":
        x = b.op(f"shl {b.ty('i16')} {convert(b, 'bitcast', 'half', str(x), 'i16')}, {b.splat('i16', '1')}")
        return icmp(b, "i16", "ne", x, ZERO)
    found = TRUTH[kind(source)](b, lane(source), x)
    assert isinstance(found, str)
    return found


def real(b: Builder, source: str, x: str, target: str) -> str:
    """A cast between two dtypes that are neither complex nor, on the target's side, bool."""
    if source == target:
        return x
    to_float, from_float = kind(target) in "ef", kind(source) in "ef"
    if from_float:
        return float_to_float(b, lane(source), x, lane(target)) if to_float else to_int(b, source, x, target)
    if source == "?":
        found = from_bool(b, x, target)
    else:
        found = from_int(b, source, x, target) if to_float else int_to_int(b, source, x, target)
    return _opaque(b, lane(target), found) if to_float else found


def _opaque(b: Builder, t: str, x: str) -> str:
    """A float of which LLVM does not ask what it is.

    It may know what integers come to, as of ``n - n``, and where such a number is compared quietly
    (`emitters_types.fcmp`) and then chosen, LLVM 22 ends the process ("potential legalization loop").
    Constants are loaded, and the imaginary part of what was real is not compared so."""
    quietly = "+avx" in b.target.features and t != "half"
    return b.intrinsic("arithmetic.fence", t, (t, x)) if quietly else x


ONES = {"half": str(0x3C00), "float": str(0x3F80_0000), "double": str(0x3FF0_0000_0000_0000)}
"""The bits of 1."""


def from_bool(b: Builder, x: str, target: str) -> str:
    t = lane(target)
    if kind(target) in "iu":
        return convert(b, "zext", "i1", x, t)
    # A select of 1 and 0 would be one whose other factor LLVM picks, of a product with it: after it has
    # multiplied that by 0 on all lanes, which is invalid where it is infinite.
    bits = bits_of(t)
    mask = convert(b, "sext", "i1", x, bits)
    return convert(b, "bitcast", bits, b.op(f"and {b.ty(bits)} {mask}, {b.splat(bits, ONES[t])}"), t)


def int_to_int(b: Builder, source: str, x: str, target: str) -> str:
    t, wanted = lane(source), lane(target)
    if size_of(t) == size_of(wanted):
        return x
    if size_of(t) > size_of(wanted):
        return convert(b, "trunc", t, x, wanted)
    return convert(b, "sext" if kind(source) == "i" else "zext", t, x, wanted)


def from_int(b: Builder, source: str, x: str, target: str) -> str:
    """float16 through float32: integers that float32 cannot hold are beyond float16's range."""
    t, signed = lane(source), kind(source) == "i"
    if size_of(t) < 32:
        x, t, signed = convert(b, "sext" if signed else "zext", t, x, "i32"), "i32", True
    through = "float" if target == "e" else lane(target)
    found = convert(b, "sitofp" if signed else "uitofp", t, x, through)
    return convert(b, "fptrunc", "float", found, "half") if target == "e" else found


def float_to_float(b: Builder, t: str, x: str, wanted: str) -> str:
    if {t, wanted} == {"half", "double"}:
        if t == "half":
            return convert(b, "fpext", "float", convert(b, "fpext", "half", x, "float"), "double")
        return convert(b, "fptrunc", "float", round_to_odd(b, x), "half")
    return convert(b, "fpext" if _RANK[t] < _RANK[wanted] else "fptrunc", t, x, wanted)


_SURPLUS = 29
"""What float64 has more of a mantissa than float32."""


def round_to_odd(b: Builder, x: str) -> str:
    """float64 as float32, rounded towards zero with the last bit set if inexact.

    Rounding that to a type at least two bits narrower is then correct (Boldo and Melquiond, 2008).  Numbers
    that are subnormal in float32 are rounded to nearest after that: they are zero in float16 all the same."""
    ty, rest = b.ty("i64"), b.splat("i64", str((1 << _SURPLUS) - 1))
    bits = convert(b, "bitcast", "double", x, "i64")
    some = b.op(f"add {ty} {b.op(f'and {ty} {bits}, {rest}')}, {rest}")
    odd = b.op(f"and {ty} {b.op(f'or {ty} {bits}, {some}')}, {b.splat('i64', str(-1 << _SURPLUS))}")
    return convert(b, "fptrunc", "double", convert(b, "bitcast", "i64", odd, "double"), "float")


def to_int(b: Builder, source: str, x: str, target: str) -> str:
    """Narrow integers through int32 and uint32 through int64, as C compilers do."""
    t, wanted = lane(source), lane(target)
    if t == "half":
        t, x = "float", convert(b, "fpext", "half", x, "float")
    if target == "L":
        return to_uint64(b, t, x)
    through = "i64" if target in "Il" else "i32"
    found = b.op(f"freeze {b.ty(through)} {convert(b, 'fptosi', t, x, through)}")
    return found if through == wanted else convert(b, "trunc", through, found, wanted)


def to_uint64(b: Builder, t: str, x: str) -> str:
    """From 2**63 up the number less 2**63, and the top bit put back."""
    half = b.splat(t, literal(2.0**63))
    large = fcmp(b, t, "oge", x, half)
    small = select(b, t, large, b.op(f"fsub {b.ty(t)} {x}, {half}"), x)
    found = b.op(f"freeze {b.ty('i64')} {convert(b, 'fptosi', t, small, 'i64')}")
    top = select(b, "i64", large, b.splat("i64", str(-(2**63))), ZERO)
    return b.op(f"xor {b.ty('i64')} {found}, {top}")


CASTS: dict[tuple[str, str], Fn] = {(a, z): cast(a, z) for a in PLAIN for z in PLAIN}
