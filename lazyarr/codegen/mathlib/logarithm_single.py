"""log, log2, log10, log1p in float32: as `logarithm`, with a table of 32 (log10: 16) and one number for each
logarithm.

x = 2**k m, r = m c - 1.  The table's c are those near 1/m whose logarithm t has so few bits, all but exactly,
that it needs no second number and k log(2) + t none either, its lower part aside.  So what is rounded is
log(1 + r), which is 1/4 of the result at most where c is not 1 (1/2 in other bases), and the sum.

In other bases c is next to 1 / (m log(base)), a number of few bits where it is 1 above, so that small results
are r, all but.  log10's k and t are in thirds of log10(2), whose float32 needs no second number.  Its table
is one register of AVX-512, by one more term: a permute of two holds up fused products for longer than that.
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


def _reduced(x: Real) -> _Reduced:
    on = x.on
    k, m, index = split(x)
    c, t = look_up(index, on.table("SHORT_LOG_INVERSE"), on.table("SHORT_LOG"))
    high, low = on.table("SHORT_LOG_STEP")
    octave = (x.bits - on.real(0.75).bits) & on.p.exponent
    return _Reduced(k.times(high, t), k * low, remains(m, c, -1.0), (c.bits - octave).real)


def _natural(found: _Reduced, r: Real, more: Real) -> Real:
    return found.top + (r + fma(r * r, chain(r, r.on.table("SHORT_LOG_BEND"), apart=1), more))


def _log(x: Real) -> Real:
    found = _reduced(x)
    return _natural(found, found.r, found.low)


def of_sum(x: Real, more: Real) -> Real:
    """log(x + more), where `more` is what rounding left off x: part of what is small, but for the bend."""
    found = _reduced(x)
    r, low = fma(more, found.scale, found.r), fma(more, found.scale, found.low)
    one, two, three, four = x.on.table("SHORT_LOG_BEND")
    z = r * r
    bend = fma(z, fma(r, four, three), fma(r, two, one))
    return found.top + (found.r + fma(z, bend, low))


def log1p(on: Lanes, x: Real) -> tuple[Real, Mask]:
    """Next to 1 the remainder is x."""
    whole, more = ordered(on.real(1.0), x)
    found = _reduced(whole)
    return _natural(found, fma(more, found.scale, found.r), found.low).signed(x), out_of_range(whole)


def _scaled(x: Real, name: str) -> tuple[Real, Real]:
    """-log(c), and r, of mantissas from 1 to 2."""
    on = x.on
    inverse, logs = on.table(f"SHORT_{name}_INVERSE"), on.table(f"SHORT_{name}")
    index = x.bits >> on.p.mantissa + 1 - len(inverse).bit_length()
    c, t = look_up(index, inverse, logs)
    return t, remains(x.fraction(), c, -on.table(f"SHORT_{name}_ONE"))


def decimal(x: Real) -> tuple[Real, Real]:
    """What r is added to, in thirds of log10(2), and r."""
    t, r = _scaled(x, "LOG10")
    return x.floor_log2().times(3.0, t), r


def _decimal(x: Real) -> Real:
    thirds, r = decimal(x)
    bend = chain(r, x.on.table("SHORT_LOG10_BEND"))
    return fma(thirds, x.on.table("SHORT_LOG10_THIRD"), fma(r, bend, r))


def _binary(x: Real) -> Real:
    t, r = _scaled(x, "LOG2")
    bend = chain(r, x.on.table("SHORT_LOG2_BEND"), apart=1)
    return (x.floor_log2() + t) + (r + r * bend)


def _fast(core: Core) -> Callable[[Lanes, Real], tuple[Real, Mask]]:
    return lambda on, x: (core(x), x.odd())


log, log2, log10 = (_fast(core) for core in (_log, _binary, _decimal))
log_rare, log2_rare, log10_rare, log1p_rare = map(
    rare_by_double, (logarithm.log_rare, logarithm.log2_rare, logarithm.log10_rare, logarithm.log1p_rare)
)
