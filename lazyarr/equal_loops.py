"""Elementary functions of which kernels have code of their own with the bits of the running NumPy.

In:  a target.   Out: `equal`: names and signatures, for `Target.equal`; the code: `codegen.emitters_numpys`;
`whatever_strides`, `is_near`: whose bits are those however numbers lie in memory, or as they mostly lie.
The bits of NumPy's loops change with its version and with the CPU; those of our code do not, since it is made
of sums, quotients and fused products.  So the running NumPy computes numbers whose results are known by a
checksum: some from everywhere, those around all limits, and witnesses, for which another coefficient gives
other bits: one that is off by a last bit, or, as some of float64's have no part in so small a change, by the
least that has one.  It takes half a millisecond, once.  (NumPy 2.0 and 2.4 were compared with the code: for
all 2**32 numbers of float32, at the levels X86_V3 and X86_V4, and for 10**9 of float64.)
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy

from lazyarr.records import NamedTuple
from lazyarr.target import Target


class Known(NamedTuple):
    """What is known of a function of one float."""

    checksum: int
    """Of its results for all `_numbers`."""
    sample: int
    """How many of the numbers are from where most are."""
    least: int
    """The bits of the least that is there."""
    spread: int
    """One in 2**spread of all bits are there."""
    signed: bool
    """As many negative ones, too."""
    witnesses: tuple[int, ...]
    """Bits of numbers."""
    edges: tuple[float, ...]
    """Numbers around which it has limits."""
    flags: tuple[tuple[float, str], ...]
    """Numbers, and what computing one of them raises; nothing: the empty word."""
    wide: bool = False
    """It is computed in registers of AVX-512."""
    inverse: bool = False
    """It goes by an inverse that the CPU estimates and rounds to four bits.  Estimates need not be the same
    on all CPUs, so no number is taken whose inverse lies near the middle of two."""


KNOWN = {
    ("exp", "f->f"): Known(
        0x732C151E, 1 << 15, 0x33000000, 4, True,
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
    ("log", "f->f"): Known(
        0xCFF53E91, 1 << 13, 0x3B800000, 5, False,
        (
            # Of the coefficients above and below the line, of ln2, and of the root of 1 / 2.
            0x40447B34, 0x3FCC056B, 0x40350DFC, 0x3FC4C43B, 0x40ADF630, 0x3F45E44A, 0x3F2B6604, 0x3FC1D9EF,
            0x3F5D17EB, 0x3FC5E52D, 0x40AF18C7, 0x3DB82048, 0x40BDFC10, 0x3FBA6FDD, 0x3DB86514, 0x412E047C,
            0x3FC2134A, 0x3F3BF81C, 0x3F2B5B18, 0x3FB790C8, 0x3EBE0ADA, 0x3FCC2027, 0x3D8A55DF, 0x419ACECB,
            0x3F3504F7, 0x3FB504EC,
        ),
        (0.0, 1.0, 0.5, 0.70710677, 1.4142135, 2.0**-126, 3.4028235e38, -(2.0**-126)),
        (
            (1.0, ""), (0.0, "divide by zero"), (-0.0, "divide by zero"), (-1.0, "invalid value"),
            (-1e-40, "invalid value"), (-float("inf"), "invalid value"), (float("inf"), ""), (1e-40, ""),
            (float("nan"), ""),
        ),
    ),
    ("exp", "d->d"): Known(
        0xA144EACA, 1 << 13, 0x3C90 << 48, 6, True,
        (
            # Of 1 / ln2, of ln2's parts, of the coefficients; all numbers of tables have some below.
            0xC05488D4060ACB98, 0x407CBDC1DFD7410C, 0xC06328B25DE0CCD4, 0x4053A7949F9F7B60,
            0xC085B9B206D18DFA, 0xC0859F566DCA52E3, 0xBF77A7523810D2D0, 0x40483724933140C0,
            0xBFF9B33FA8205674, 0xC0752B087A2F8EED, 0xBF9A79E11F53E534, 0xBF71EC5441A843B0,
            0xC060CF23822AD4D4, 0x403CA147F20348A0, 0xC081355076D494E6, 0x407B14B44DF1A544,
            0x405B84DB15C65260, 0x4045F0E86E04FD60,
        ),
        (
            0.0, 2.0**-54, 707.7032713517042, -707.7032713517042, 709.782712893384, -745.1332191019411,
            -708.3964185322641, 1e-300,
        ),
        (
            (1.0, ""), (710.0, "overflow"), (1e300, "overflow"), (float("inf"), ""), (-float("inf"), ""),
            (-746.0, "underflow"), (-1e300, "underflow"), (1e-310, ""), (float("nan"), ""),
        ),
        wide=True,
    ),
    ("log", "d->d"): Known(
        0x144D620D, 1 << 13, 0x3EF0 << 48, 7, False,
        (
            # Of ln2's parts, and of the coefficients.
            0x3FF91B592F5B2878, 0x40082C3200196ECC, 0x74138398BA80498C, 0x1B1883D839DB84BC,
            0x3FEF175EBB142A25, 0x3FEF298C01B147E0, 0x3FDA4B14E7433010, 0x3FEF0ADA271861F2,
            0x3FEF0254A375EBD4, 0x3FEEE0712BD15B24, 0x3FED8C8ECDC3589C, 0x3FF04F28825DCA90,
            0x3FE6DF1E011F3102, 0x400F324468580D0C,
        ),
        (0.0, 1.0, 0.5, 2.0**-1022, 1.7976931348623157e308, -(2.0**-1022)),
        (
            (1.0, ""), (0.0, "divide by zero"), (-0.0, "divide by zero"), (-1.0, "invalid value"),
            (-1e-310, "invalid value"), (-float("inf"), "invalid value"), (float("inf"), ""), (1e-310, ""),
            (float("nan"), ""),
        ),
        wide=True, inverse=True,
    ),
}  # fmt: skip

AROUND = 16
"""Numbers around each edge, on either side."""

NEAR = 2.0**-7
"""How near to the middle of two numbers of four bits an inverse from 8 to 16 is left out."""

SCATTER = 0x9E3779B97F4A7C15
"""Multiples of its highest bits lie everywhere."""


def equal(target: Target) -> tuple[str, ...]:
    """Names and signatures, for kernels of a target.  (Without fused products they would be slow.)"""
    if not (target.x86 and target.fma):
        return ()
    wide = target.vector_bytes == 64
    able = [each for each, known in KNOWN.items() if wide or not known.wide]
    return tuple(f"{name} {sig}" for name, sig in able if _seen(name, sig))


def whatever_strides(name: str, sig: str) -> bool:
    """Are NumPy's bits known, at any strides?"""
    known = KNOWN.get((name, sig))
    return known is not None and not known.wide and _seen(name, sig)


def is_near(name: str, sig: str, strides: Sequence[int]) -> bool:
    """Are NumPy's bits those of our code, if we have some?

    NumPy 2.4 has the C library compute what of float64 it reads backwards, or from far apart."""
    known = KNOWN.get((name, sig))
    return known is None or not known.wide or not _seen(name, sig) or all(0 <= s < FAR for s in strides)


FAR = 1 << 30
"""Bytes."""


@cache
def _seen(name: str, sig: str) -> bool:
    return _agrees(getattr(numpy, name), sig[0], KNOWN[name, sig])


def _agrees(ufunc: Any, char: str, known: Known) -> bool:
    with numpy.errstate(all="ignore"):
        x = _numbers(char, known)
        found = ufunc(x)
        # (Loops may have other ways for memory with gaps, and for few numbers.)
        some, gaps = len(known.witnesses), numpy.empty((len(known.witnesses), 3), x.dtype)
        ufunc(x[:some][::-1], out=gaps[::-1, 1])
        single = [ufunc(x[k : k + 1]) for k in range(some)]
    same = crc32(found.tobytes()) == known.checksum
    same = same and gaps[:, 1].tobytes() == numpy.concatenate(single).tobytes() == found[:some].tobytes()
    return same and all(_raises(ufunc, char, x) == flag for x, flag in known.flags)


def _numbers(char: str, known: Known) -> numpy.ndarray[Any, Any]:
    """As many as leave a rest in every register."""
    bits = numpy.dtype(f"u{numpy.dtype(char).itemsize}")
    size = 8 * bits.itemsize
    every = numpy.arange(known.sample, dtype=bits) * bits.type(SCATTER >> 64 - size)
    usual = (every >> bits.type(known.spread)) + bits.type(known.least)
    if known.signed:
        usual |= (every & bits.type(1)) << bits.type(size - 1)
    edges = numpy.array(known.edges, char).view(bits)
    near = (edges[:, None] + numpy.arange(-AROUND, AROUND).astype(bits)).ravel()
    witnesses = numpy.array(known.witnesses, bits)
    if known.inverse:
        usual, every, near = (_certain(some, char) for some in (usual, every, near))
    return numpy.concatenate([witnesses, near, usual, every[: known.sample // 8 + 5]]).view(char)


def _certain(bits: numpy.ndarray[Any, Any], char: str) -> numpy.ndarray[Any, Any]:
    """Without those whose inverse lies near the middle."""
    with numpy.errstate(all="ignore"):
        inverse = 8.0 / numpy.frexp(bits.view(char))[0]
        near = abs(abs(inverse) % 1.0 - 0.5) < NEAR
    return numpy.compress(~near, bits)


def _raises(ufunc: Any, char: str, x: float) -> str:
    told: list[str] = []
    with numpy.errstate(all="ignore"):
        several = numpy.full(16, x, char)
    with numpy.errstate(all="call", call=lambda what, _: told.append(what)):
        ufunc(several)
    return " ".join(dict.fromkeys(told))
