"""float16 <-> float32 on CPUs without an instruction for it.

In:  a vector of 16-bit integers, or of float32.   Out: the other one.
Holds: the bits that the instructions give: to nearest, ties to even; NaNs stay NaNs.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.lanes import SINGLE, Bits, Lanes, Real

_INFINITE, _NAN = 0x7C00, 0x7E00
_SIGN = 0x8000
_SUBNORMAL = 0.5
"""What has float16's last place of subnormal numbers in its own last place."""


def widened(b: Builder, x: str) -> str:
    on = Lanes(b, SINGLE)
    bits = Bits(on, b.op(f"zext {b.ty('i16')} {x} to {b.ty('i32')}"))
    size = bits & (_SIGN - 1)
    finite = (size << 13).real * 2.0**112
    endless = (size << 13 | 0x7F800000).real
    found = size.at_least(_INFINITE).real(endless, finite)
    return (found.bits | (bits & _SIGN) << 16).real.name


def narrowed(b: Builder, x: str) -> str:
    on = Lanes(b, SINGLE)
    y = Real(on, x)
    size = abs(y)
    half = ((size.bits >> 13) & 1) + 0xFFF      # of a last place, for ties to even
    usual = size.bits + half - (112 << 23)
    small = (size + _SUBNORMAL).bits - on.real(_SUBNORMAL).bits
    found = size.below(2.0**-14).bits(small, usual >> 13)
    found = size.outside(65520.0).bits(_INFINITE, found)
    found = y.nan().bits(_NAN, found) | (y.bits >> 16) & _SIGN
    return b.op(f"trunc {b.ty('i32')} {found.name} to {b.ty('i16')}")
