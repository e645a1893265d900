"""log, log2, log10, log1p in float32: as `logarithm`, with a table of 32 and one number for each logarithm.

x = 2**k m, r = m c - 1.  The table's c are those near 1/m whose logarithm t has so few bits, all but exactly,
that it needs no second number and k log(2) + t none either, its lower part aside.  So what is rounded is
log(1 + r), which is 1/4 of the result at most where c is not 1 (1/2 in other bases), and the sum.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib import logarithm, registers
from lazyarr.codegen.mathlib.arithmetic import chain, fma, ordered, remains
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.logarithm import out_of_range
from lazyarr.codegen.mathlib.lookup import look_up
from lazyarr.codegen.mathlib.wider import rare_by_double
from lazyarr.records import dataclass

Core = Callable[[Real], Real]


def split(x: Real) -> tuple[Real, Real, Bits]:
    """k, m from 3/4 to 3/2, and the index of its interval."""
    on, bits = x.on, x.bits
    offset = bits - on.real(0.75).bits
    m = Real(on, registers.part("getmant", x, 3)) if on.full else (bits - (offset & on.p.exponent)).real
    return offset.exponent(), m, bits >> on.p.mantissa - 5


@dataclass(frozen=True, slots=True)
class _Reduced:
    top: Real
    """k log(2), but for its lower part, and -log(c)."""
    low: Real
    """That lower part."""
    r: Real
    scale: Real
    """c / 2**k."""


def _reduced(x: Real, name: str) -> _Reduced:
    on = x.on
    k, m, index = split(x)
    c, t = look_up(index, on.table(f"SHORT_{name}_INVERSE"), on.table(f"SHORT_{name}"))
    high, low = on.table(f"SHORT_{name}_STEP")
    octave = (x.bits - on.real(0.75).bits) & on.p.exponent
    return _Reduced(k.times(high, t), k * low, remains(m, c, -1.0), (c.bits - octave).real)


def _natural(found: _Reduced, r: Real, more: Real) -> Real:
    return found.top + (r + fma(r * r, chain(r, r.on.table("SHORT_LOG_BEND"), apart=1), more))


def _log(x: Real) -> Real:
    found = _reduced(x, "LOG")
    return _natural(found, found.r, found.low)


def of_sum(x: Real, more: Real) -> Real:
    """log(x + more), where `more` is what rounding left off x: part of what is small, but for the bend."""
    found = _reduced(x, "LOG")
    r, low = fma(more, found.scale, found.r), fma(more, found.scale, found.low)
    one, two, three, four = x.on.table("SHORT_LOG_BEND")
    z = r * r
    bend = fma(z, fma(r, four, three), fma(r, two, one))
    return found.top + (found.r + fma(z, bend, low))


def log1p(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Next to 1 the remainder is x."""
    whole, more = ordered(on.real(1.0), x)
    found = _reduced(whole, "LOG")
    return _natural(found, fma(more, found.scale, found.r), found.low).signed(x), out_of_range(whole)


def _decimal(x: Real) -> Real:
    found = _reduced(x, "LOG10")
    first, *slopes = x.on.table("SHORT_LOG10_BEND")
    return found.top + fma(found.r, first, fma(found.r, chain(found.r, slopes), found.low))


def _binary(x: Real) -> Real:
    on = x.on
    c, t = look_up(x.bits >> on.p.mantissa - 5, on.table("SHORT_LOG2_INVERSE"), on.table("SHORT_LOG2"))
    first, *slopes = on.table("SHORT_LOG2_BEND")
    r = remains(x.fraction(), c, -1.0)
    return (x.floor_log2() + t) + fma(r, first, r * chain(r, slopes, apart=1))


def _fast(core: Core) -> Callable[[Lanes, Real], tuple[Real, Mask]]:
    return lambda on, x: (core(x), x.odd())


log, log2, log10 = (_fast(core) for core in (_log, _binary, _decimal))
log_rare, log2_rare, log10_rare, log1p_rare = map(
    rare_by_double, (logarithm.log_rare, logarithm.log2_rare, logarithm.log10_rare, logarithm.log1p_rare)
)
