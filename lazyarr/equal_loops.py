"""Elementary functions of which kernels have code of their own with the bits of the running NumPy.

In:  a target.   Out: `equal`: names and signatures, for `Target.equal`; the code: `codegen.emitters_numpys`.
The bits of NumPy's loops change with its version and with the CPU; those of our code do not, since it is made
of sums, quotients and fused products.  So the running NumPy computes numbers whose results are known by a
checksum: some from everywhere, those around all limits, and witnesses, for which any other coefficient, be
it off by a last bit, gives other bits.  It takes half a millisecond, once.  (NumPy 2.0 and 2.4 were compared
with the code for all 2**32 numbers, at the levels X86_V3 and X86_V4.)
"""

from __future__ import annotations

from binascii import crc32
from functools import cache
from typing import Any

import numpy

from lazyarr.records import NamedTuple
from lazyarr.target import Target


class Known(NamedTuple):
    """What is known of a function of one float32."""

    checksum: int
    """Of its results for all `_numbers`."""
    witnesses: tuple[int, ...]
    """Bits of numbers."""
    edges: tuple[float, ...]
    """Numbers around which it has limits."""
    flags: tuple[tuple[float, str], ...]
    """Numbers, and what computing one of them raises; nothing: the empty word."""


KNOWN = {
    ("exp", "f->f"): Known(
        0xC51023DB,
        (
            # Two for each of 1 / ln2 one bit less, one more, of ln2's lower part, of the coefficients of the
            # fifth to the first power above the line, and of the second and first below it.
            0xC1E09468, 0x4264BD15, 0xC2118F98, 0xC2755FC5, 0x426619AD, 0xC2918BC1, 0x4299D253, 0x4299EB9D,
            0x3F1153A5, 0xC0A4D26E, 0xBF840163, 0xC0A68CAB, 0xC074E919, 0xC0FE7AEB, 0x3FE0EC28, 0xC10AB9FD,
            0xBEABD03D, 0xBF67F7F0, 0x3EA5106D, 0x3EE9FD55, 0x3D95322B, 0xBDD6E6F4, 0x3D911166, 0x3DD6593E,
            0xBA2B3F4A, 0x3AC19BFF, 0x3A389C0E, 0xBAB0ECF7, 0xBE7688C0, 0xBEB366E4, 0xBE74F8A0, 0x3EB07A2C,
            0x3AF7E6A8, 0xBB7D5EE8, 0x3AFDDB60, 0x3B8B3CE1,
        ),
        (0.0, 2.0**-24, -(2.0**-25), 88.72284, 89.0, -87.33655, -103.97208, -104.0),
        (
            (1.0, ""), (88.8, "overflow"), (1e30, "overflow"), (float("inf"), ""), (-float("inf"), ""),
            (-90.5, "underflow"), (-1e30, "underflow"), (1e-40, "underflow"), (float("nan"), ""),
        ),
    ),
}  # fmt: skip

SAMPLE = 1 << 15
AROUND = 16
"""Numbers around each edge, on either side."""


def equal(target: Target) -> tuple[str, ...]:
    """Names and signatures, for kernels of a target.  (Without fused products they would be slow.)"""
    if target.x86 and target.fma: return (*_seen(),"log f->f","exp d->d","log d->d") if target.vector_bytes==64 else (*_seen(),"log f->f")
    return ()


@cache
def _seen() -> tuple[str, ...]:
    rows = ((name, sig, getattr(numpy, name), known) for (name, sig), known in KNOWN.items())
    return tuple(f"{name} {sig}" for name, sig, ufunc, known in rows if _agrees(ufunc, known))


def _agrees(ufunc: Any, known: Known) -> bool:
    with numpy.errstate(all="ignore"):
        x = _numbers(known)
        found = ufunc(x)
        # (Loops may have other ways for memory with gaps, and for few numbers.)
        some, gaps = len(known.witnesses), numpy.empty((len(known.witnesses), 3), x.dtype)
        ufunc(x[:some][::-1], out=gaps[::-1, 1])
        single = [ufunc(x[k : k + 1]) for k in range(some)]
    same = crc32(found.tobytes()) == known.checksum
    same = same and gaps[:, 1].tobytes() == numpy.concatenate(single).tobytes() == found[:some].tobytes()
    return same and all(_raises(ufunc, x) == flag for x, flag in known.flags)


def _numbers(known: Known) -> numpy.ndarray[Any, Any]:
    """As many as leave a rest in every register."""
    every = numpy.arange(SAMPLE, dtype=numpy.uint32) * numpy.uint32(0x9E3779B1)
    # (Those below 2**-25 and above 128 are as good as these.)
    usual = (every >> 4) + numpy.uint32(0x33000000) | (every & 1) << 31
    edges = numpy.array(known.edges, numpy.float32).view(numpy.uint32)
    near = (edges[:, None] + numpy.arange(-AROUND, AROUND).astype(numpy.uint32)).ravel()
    witnesses = numpy.array(known.witnesses, numpy.uint32)
    bits = numpy.concatenate([witnesses, near, usual, every[: SAMPLE // 8 + 5]])
    return bits.view(numpy.float32)


def _raises(ufunc: Any, x: float) -> str:
    told: list[str] = []
    with numpy.errstate(all="call", call=lambda what, _: told.append(what)):
        ufunc(numpy.full(16, x, numpy.float32))
    return " ".join(dict.fromkeys(told))
