"""fmod, remainder, floor_divide, divmod: exact, so they have NumPy's bits, and kernels call them always.

With q the whole part of the rounded quotient of sizes a and b, a - q b is exact where q has no more bits
than a mantissa, and is the remainder or, since rounding may reach the next whole number, that less b.
Larger quotients are taken in steps: by b times a power of two first, until none is left.

NumPy computes a quotient again from what the remainder leaves, with roundings of its own that its last step
undoes if the quotient has some bits to spare; else, on the rare path, this does the same roundings.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.arithmetic import fma
from lazyarr.codegen.mathlib.exponential import INF, NAN
from lazyarr.codegen.mathlib.lanes import DOUBLE, Bits, Lanes, Mask, Raised, Real

_SPARE = 3
"""Bits of a mantissa that a quotient must leave so that NumPy's roundings of it cancel."""
_FAR, _SCALE = 2.0**1000, 2.0**-8
"""Without a fused product, from where on operands are made smaller, and by what."""
_LARGEST = 65520.0
"""What float16 rounds to infinity."""

_MORE = {8: (2.0**600, 2.0**800, 2.0**-300), 4: (2.0**80, 2.0**100, 2.0**-30)}
"""By the bytes of a number: what makes subnormal numbers normal; what is large; what makes that smaller."""

_REDUCED = "less_multiples"

Pair = tuple[Real, Real]


def _places(on: Lanes) -> int:
    """How many bits a quotient may have."""
    return on.p.mantissa + 1


def _less(a: Real, q: Real, b: Real) -> Real:
    """a - q b, which is exact, and so is all that it takes without a fused product: one half of q is cut off
    by rounding, one of b by bits, which may be too large to be rounded so."""
    on = a.on
    if on.b.target.fma:
        return on.call("fma", -q, b, a)
    if on.p is not DOUBLE:
        return (a.wide - q.wide * b.wide).narrow
    large = a.outside(_FAR)
    scale = large.real(_SCALE, 1.0)
    a, b = a * scale, b * scale
    high, spread = (b.bits & -(1 << 27)).real, q * (2.0**27 + 1)
    upper, low = spread - (spread - q), b - high
    lower, product = q - upper, q * b
    off = (((upper * high - product) + upper * low) + lower * high) + lower * low
    return ((a - product) - off) * large.real(1 / _SCALE, 1.0)


def _step(a: Real, b: Real) -> tuple[Real, Real, Real]:
    """Remainder and quotient of positive numbers, and the quotient as it was rounded."""
    near = a / b
    q = a.on.call("trunc", near)
    left = _less(a, q, b)
    under = left.bits.negative()
    return under.real(left + b, left), under.real(q - 1.0, q), near


def _normal(x: Real) -> tuple[Real, Bits]:
    """A positive number, made normal, and the power of two that takes for it."""
    more = x.on.p.mantissa + 1
    tiny = x < x.on.p.least
    return tiny.real(x * 2.0**more, x), tiny.bits(more, 0)


def _exponent(x: Real) -> Bits:
    """Of a positive number, biased; subnormal ones have theirs, too."""
    normal, more = _normal(x)
    return (normal.bits >> x.on.p.mantissa) - more


def _reduced(a: Real, b: Real) -> Real:
    """a less a multiple of b, so much that the quotient has no more than so many bits.

    The loop is a function, so that what its caller keeps takes no registers from it."""
    on, v = a.on, a.on.b.ty(a.on.p.real)
    inside = Builder(on.b.target, on.b.width)
    found = _loop(Real(Lanes(inside, on.p), "%a"), Real(Lanes(inside, on.p), "%b"))
    inside.do(f"ret {v} {found.name}")
    for declaration in inside.declarations:
        on.b.declare(declaration)
    head = f"define internal {v} @{_REDUCED}({v} %a, {v} %b) noinline cold nounwind {{"
    on.b.declare("\n".join([head, *inside.lines, "}"]))
    return Real(on, on.b.op(f"call {v} @{_REDUCED}({v} {a.name}, {v} {b.name})"))


def _loop(a: Real, b: Real) -> Real:
    on = a.on
    w, t, places = on.b, on.b.ty(on.p.real), _places(on)
    w.label("entry")
    exponent, (normal, more) = _exponent(b), _normal(b)
    w.do("br label %again")
    w.label("again")
    w.do(f"%now = phi {t} [ {a.name}, %entry ], [ %next, %reduce ]")
    now = Real(on, "%now")
    excess = on.held(_exponent(now) - exponent - (places - 1), 0, 4 * on.p.bias)
    some = w.op(f"bitcast {w.ty('i1')} {excess.differs(0).name} to i{w.width}")
    w.do(f"br i1 {w.op(f'icmp ne i{w.width} {some}, 0')}, label %reduce, label %reduced")
    w.label("reduce")
    rest = excess - more
    half = rest.shifted(1)
    left, _, _ = _step(now, normal * on.power_of_two(half) * on.power_of_two(rest - half))
    w.do(f"%next = select {w.ty('i1')} {excess.differs(0).name}, {t} {left.name}, {t} {now.name}")
    w.do("br label %again")
    w.label("reduced")
    return now


def _limit(on: Lanes) -> float:
    return 2.0 ** _places(on)


def _invalid(x: Real, y: Real) -> Mask:
    """Numbers, of which there is no remainder."""
    return (abs(x).is_(INF) | y.is_(0.0)) & ~(x.nan() | y.nan())


def _rest(x: Real, y: Real) -> Real:
    """fmod, of all numbers."""
    a, b = abs(x), abs(y)
    none = a.outside(INF) | b.is_(0.0) | y.nan()
    endless = b.is_(INF)
    known = none | endless
    b = known.real(1.0, b)
    left, _, _ = _step(_reduced(known.real(0.0, a), b), b)
    return none.real(NAN, endless.real(x, left.signed(x)))


def _special(near: Real, b: Real, limit: float) -> Mask:
    return near.outside(limit) | b.is_(INF)


def fmod(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    a, b = abs(x), abs(y)
    left, _, near = _step(a, b)
    return left.signed(x), _special(near, b, _limit(on))


def fmod_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    return _rest(x, y), {"invalid": _invalid(x, y)}


def _opposite(x: Real, y: Real) -> Mask:
    return (x.bits ^ y.bits).negative()


def _floored(rest: Real, x: Real, y: Real) -> Real:
    """The remainder with the divisor's sign."""
    turn = _opposite(x, y) & ~rest.is_(0.0)
    return rest.is_(0.0).real(rest.signed(y), turn.real(rest + y, rest))


def remainder(on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
    rest, special = fmod(on, x, y)
    return _floored(rest, x, y), special


def remainder_rare(on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
    return _floored(_rest(x, y), x, y), {"invalid": _invalid(x, y)}


def _quotient(on: Lanes, x: Real, y: Real, most: float) -> tuple[Real, Real, Mask]:
    """Rest, whole quotient, and which may be others or raise a flag, as quotients that are subnormal do."""
    a, b = abs(x), abs(y)
    left, q, near = _step(a, b)
    tiny = near.below(on.p.least) ^ a.is_(0.0)
    special = _special(near, b, min(_limit(on) * 2.0**-_SPARE, most)) | tiny
    opposite = _opposite(x, y)
    whole = (opposite & ~left.is_(0.0)).real(q + 1.0, q)
    return left.signed(x), (whole.bits | opposite.bits(on.p.sign, 0)).real, special


def _inexact(ratio: Real, x: Real, y: Real) -> Mask:
    """Is a subnormal quotient a rounded one?  Scaled, so that what is left of x is not rounded."""
    more, far, less = _MORE[ratio.on.p.size]
    scale = (abs(y) > far).real(less, 1.0)
    return ~fma(-(ratio * more), y * scale, x * more * scale).is_(0.0)


def _quotient_rare(on: Lanes, x: Real, y: Real, largest: float) -> tuple[Real, Real, Raised]:
    """Rest and quotient by NumPy's operations.  The flags are those of its divisions: of the last one where
    the quotient is zero, to have its sign."""
    rest = _rest(x, y)
    whole = (x - rest) / y
    less = _opposite(x, y) & ~rest.is_(0.0)
    whole = less.real(whole - 1.0, whole)
    low = on.call("floor", whole)
    near = (whole - low > 0.5).real(low + 1.0, low)
    ratio = x / y
    zero = y.is_(0.0)
    found = zero.real(ratio, whole.is_(0.0).real(on.real(0.0).signed(ratio), near))
    usual = (abs(x) < INF) & (abs(y) < INF) & ~zero
    over = usual & abs(found).outside(largest)
    under = usual & whole.is_(0.0) & (abs(ratio) < on.p.least) & _inexact(ratio, x, y)
    invalid = (x.is_(0.0) & zero) | (abs(x).is_(INF) & ~zero & ~y.nan())
    divide = zero & (abs(x) < INF) & ~x.is_(0.0)
    lost = over if largest == INF else over & ~over
    return rest, found, {"over": over, "under": under, "divide": divide, "invalid": invalid | lost}


class Quotients:
    """floor_divide and divmod of a dtype, whose largest result is given."""

    def __init__(self, most: float = INF, largest: float = INF) -> None:
        self.most, self.largest = most, largest

    def floor_divide(self, on: Lanes, x: Real, y: Real) -> tuple[Real, Mask]:
        _, found, special = _quotient(on, x, y, self.most)
        return found, special

    def floor_divide_rare(self, on: Lanes, x: Real, y: Real) -> tuple[Real, Raised]:
        _, found, raised = _quotient_rare(on, x, y, self.largest)
        return found, raised

    def divmod(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Mask]:
        rest, found, special = _quotient(on, x, y, self.most)
        return (found, _floored(rest, x, y)), special

    def divmod_rare(self, on: Lanes, x: Real, y: Real) -> tuple[Pair, Raised]:
        rest, found, raised = _quotient_rare(on, x, y, self.largest)
        raised = {**raised, "invalid": raised["invalid"] | _invalid(x, y)}
        return (found, _floored(rest, x, y)), raised


WIDE = Quotients()
HALF = Quotients(2.0**15, _LARGEST)
