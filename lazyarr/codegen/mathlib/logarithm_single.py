"""log, log2, log10 in float32: as `logarithm`, but with a table of 32 and one number for each logarithm.

x = 2**k m, r = m c - 1.  The table's c are those near 1/m whose logarithm t has so few bits, all but exactly,
that it needs no second number and k log(2) + t none either, its lower part aside.  So what is rounded is
log(1 + r), which is 1/2 of the result at most where c is not 1, and the sum.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.arithmetic import chain, fma
from lazyarr.codegen.mathlib.lanes import Bits, Lanes, Mask, Real
from lazyarr.codegen.mathlib.lookup import look_up

Core = Callable[[Real], Real]


def split(x: Real) -> tuple[Real, Real, Bits]:
    """k, m from 3/4 to 3/2, and the index of its interval."""
    on, bits = x.on, x.bits
    offset = bits - on.real(0.75).bits
    m = on.avx512("getmant", x, 3) if on.full else (bits - (offset & on.p.exponent)).real
    return offset.exponent(), m, bits >> on.p.mantissa - 5


def _natural(name: str) -> Core:
    def log(x: Real) -> Real:
        on = x.on
        k, m, index = split(x)
        c, t = look_up(index, on.table(f"SHORT_{name}_INVERSE"), on.table(f"SHORT_{name}"))
        first, slopes = on.table(f"SHORT_{name}_BEND")[0], on.table(f"SHORT_{name}_BEND")[1:]
        high, low = on.table(f"SHORT_{name}_STEP")
        r = fma(m, c, -1.0)
        rest = fma(r, chain(r, slopes), k * low)
        near = r + rest if first == 1.0 else fma(r, first, rest)
        return k.times(high, t) + near

    return log


def _binary(x: Real) -> Real:
    on = x.on
    c, t = look_up(x.bits >> on.p.mantissa - 5, on.table("SHORT_LOG2_INVERSE"), on.table("SHORT_LOG2"))
    first, *slopes = on.table("SHORT_LOG2_BEND")
    r = fma(x.fraction(), c, -1.0)
    return (x.floor_log2() + t) + fma(r, first, r * chain(r, slopes))


def _fast(core: Core) -> Callable[[Lanes, Real], tuple[Real, Mask]]:
    return lambda on, x: (core(x), x.odd())


log, log2, log10 = (_fast(core) for core in (_natural("LOG"), _binary, _natural("LOG10")))
