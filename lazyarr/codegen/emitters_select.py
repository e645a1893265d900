"""Choosing one of several values: maximum, minimum, fmax, fmin, clip, where.

In:  operands of one dtype; for `where` a bool first.   Out: one of the operands, unchanged.
Holds: maximum, minimum and clip return a NaN if there is one, fmax and fmin the other operand.
Ties between zeros go as in NumPy's vector loops: to the second operand, in float16 to the first, and
so where bounds of clip stand still (`WITHIN`).
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters_types import Fn, Rules, Value, binary, convert, fcmp, intrinsic, or_, select


def extremum(predicate: str, keep_nan: bool) -> Fn:
    """x if it is beyond y, or is NaN (`keep_nan`) or y is (not `keep_nan`); else y."""

    def emit(b: Builder, t: str, x: str, y: str) -> str:
        left, right, f = x, y, t
        if t == "half":
            left, right, f = convert(b, "fpext", t, x, "float"), convert(b, "fpext", t, y, "float"), "float"
        nan = left if keep_nan else right
        first = or_(b, fcmp(b, f, predicate, left, right), fcmp(b, f, "uno", nan, nan))
        return select(b, t, first, x, y)

    return emit


def clip(high: Fn, low: Fn) -> Fn:
    """At least `a`, then at most `z`: where a > z, z wins."""

    def emit(b: Builder, t: str, x: str, a: str, z: str) -> Value | list[Value]:
        return low(b, t, high(b, t, x, a), z)

    return emit


def where(b: Builder, t: str, c: str, x: str, y: str) -> str:
    return select(b, t, c, _fence(b, t, x), _fence(b, t, y))


def where_complex(b: Builder, t: str, c: str, x: tuple[str, str], y: tuple[str, str]) -> Value:
    return where(b, t, c, x[0], y[0]), where(b, t, c, x[1], y[1])


def _fence(b: Builder, t: str, x: str) -> str:
    """x, computed in every lane: AVX-512 would compute it only where it is chosen, and the
    floating-point flags of the other lanes would be lost."""
    fenced = t in ("float", "double") and "avx512" in b.target.features and x.startswith("%")
    return b.intrinsic("arithmetic.fence", t, (t, x)) if fenced else x


_HIGH = {
    "b": binary("or"), "i": intrinsic("smax"), "u": intrinsic("umax"),
    "f": extremum("ogt", True), "e": extremum("oge", True),
}  # fmt: skip
_LOW = {
    "b": binary("and"), "i": intrinsic("smin"), "u": intrinsic("umin"),
    "f": extremum("olt", True), "e": extremum("ole", True),
}  # fmt: skip

WITHIN = clip(extremum("oge", True), extremum("ole", True))

RULES: Rules = {
    "maximum": _HIGH,
    "minimum": _LOW,
    "fmax": {**_HIGH, "f": extremum("ogt", False), "e": extremum("oge", False)},
    "fmin": {**_LOW, "f": extremum("olt", False), "e": extremum("ole", False)},
    "clip": {k: clip(_HIGH[k], _LOW[k]) for k in _HIGH},
    "where": {**dict.fromkeys("biuef", where), "c": where_complex},
}
