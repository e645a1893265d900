"""float16 <-> float32 on CPUs without an instruction for it, in 32-bit integers.

In:  lanes of 16-bit integers, or of float32.   Out: the other ones; which lanes of a narrowed number tell of
overflow and underflow.
Holds: the bits that the instructions give: to nearest, ties to even; NaNs stay NaNs, keep the leading bits of
what they carry, and become quiet.  No subnormal number of float32 is met on the way, which would take long.
"""

from __future__ import annotations

from lazyarr.codegen.builder import Builder

_SIGN, _SIZE = 0x8000, 0x7FFF
_LEAST, _INFINITE, _QUIET = 0x0400, 0x7C00, 0x0200
"""float16: the least normal number, infinity; the bit of quiet NaNs."""
_PLACES = 13
"""What float32 has more of a mantissa."""
_EXPONENTS = 112 << 23
"""The difference of the exponents' biases, in float32."""
_LEAST_BITS, _HALF_BITS, _ENDLESS = 113 << 23, 126 << 23, 255 << 23
"""float32: float16's least normal number; 1/2, which has float16's last place of subnormal numbers in its own
last place; infinity."""
_OVERFLOWING = 0x477F_F000
"""float32: 65520, the least number that float16 rounds to infinity."""


def widened(b: Builder, x: str) -> str:
    """Of 16-bit integers the float32 numbers.

    Subnormal numbers get 2**-14 as their leading bit, which is taken off again; the subtraction, of zero
    from others, is what makes NaNs quiet."""
    bits = b.op(f"zext {b.ty('i16')} {x} to {b.ty('i32')}")
    size = _op(b, "and", bits, _SIZE)
    small, endless = _where(b, "ult", size, _LEAST), _where(b, "uge", size, _INFINITE)
    found = _op(b, "add", _op(b, "shl", size, _PLACES), _EXPONENTS)
    found = _op(b, "add", found, _op(b, "and", small, 1 << 23))
    found = _op(b, "add", found, _op(b, "and", endless, _EXPONENTS))
    leading = _real(b, _op(b, "and", small, _LEAST_BITS))
    found = _bits(b, b.op(f"fsub {b.ty('float')} {_real(b, found)}, {leading}"))
    return _real(b, _op(b, "or", found, _op(b, "shl", _op(b, "and", bits, _SIGN), 16)))


def narrowed(b: Builder, x: str) -> str:
    """Of float32 numbers the 16-bit integers.

    A sum with 1/2 rounds what becomes subnormal; else half of a last place is added, less the smallest part
    of it where the last bit is even."""
    bits, size = _parts(b, x)
    half = _one_half(b)
    small = _op(b, "sub", _bits(b, b.op(f"fadd {b.ty('float')} {_real(b, size)}, {half}")), _HALF_BITS)
    odd = _op(b, "and", _op(b, "lshr", size, _PLACES), 1)
    usual = _op(b, "lshr", _op(b, "add", _op(b, "add", size, 0xFFF - _EXPONENTS), odd), _PLACES)
    subnormal = _op(b, "icmp ult", size, _LEAST_BITS)
    found = b.op(f"select {b.ty('i1')} {subnormal}, {b.ty('i32')} {small}, {b.ty('i32')} {usual}")
    found = b.intrinsic("umin", "i32", ("i32", found), ("i32", b.splat("i32", str(_INFINITE))))
    carried = _op(b, "or", _op(b, "and", _op(b, "lshr", bits, _PLACES), 0x3FF), _QUIET)
    found = _op(b, "or", found, _op(b, "and", carried, _where(b, "ugt", size, _ENDLESS)))
    found = _op(b, "or", found, _op(b, "and", _op(b, "lshr", bits, 16), _SIGN))
    return b.op(f"trunc {b.ty('i32')} {found} to {b.ty('i16')}")


def overflowing(b: Builder, x: str) -> str:
    """Which float32 numbers are finite and too large."""
    size = _parts(b, x)[1]
    within = b.splat("i32", str(_ENDLESS - _OVERFLOWING))
    return b.op(f"icmp ult {b.ty('i32')} {_op(b, 'sub', size, _OVERFLOWING)}, {within}")


def underflowing(b: Builder, x: str) -> str:
    """Which float32 numbers lose bits below the least normal number, as NumPy sees it: before rounding."""
    size = _parts(b, x)[1]
    half, t = _one_half(b), b.ty("float")
    kept = b.op(f"fsub {t} {b.op(f'fadd {t} {_real(b, size)}, {half}')}, {half}")
    differs = _op(b, "icmp ne", _bits(b, kept), size)
    subnormal = _op(b, "icmp ult", size, _LEAST_BITS)
    return b.op(f"and {b.ty('i1')} {subnormal}, {differs}")


def _parts(b: Builder, x: str) -> tuple[str, str]:
    """All bits, and those without the sign."""
    bits = _bits(b, x)
    return bits, _op(b, "and", bits, 0x7FFF_FFFF)


def _one_half(b: Builder) -> str:
    """1/2, in lanes."""
    return b.splat("float", "5.0e-01")


def _op(b: Builder, opcode: str, x: str, y: str | int) -> str:
    """An instruction for integers."""
    return b.op(f"{opcode} {b.ty('i32')} {x}, {y if isinstance(y, str) else b.splat('i32', str(y))}")


def _where(b: Builder, predicate: str, x: str, y: int) -> str:
    """All bits set where it holds."""
    return b.op(f"sext {b.ty('i1')} {_op(b, f'icmp {predicate}', x, y)} to {b.ty('i32')}")


def _real(b: Builder, bits: str) -> str:
    return b.op(f"bitcast {b.ty('i32')} {bits} to {b.ty('float')}")


def _bits(b: Builder, x: str) -> str:
    return b.op(f"bitcast {b.ty('float')} {x} to {b.ty('i32')}")
