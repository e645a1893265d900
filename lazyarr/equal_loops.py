"""Elementary functions of which kernels have code of their own with the bits of the running NumPy.

In:  a target.   Out: `equal`: which functions, and whose bits, for `Target.equal`; the code:
`codegen.emitters_numpys`; `whatever_strides`, `is_near`: whose bits are those however numbers lie in memory,
or as they mostly lie.
The bits of NumPy's loops change with its version, with the CPU, and with the C library where it calls that;
those of our code do not, since it is made of sums, quotients and fused products.  So the running NumPy
computes numbers whose results are known by a checksum: some from everywhere, those around all limits, and
witnesses, for which another coefficient gives other bits: one that is off by a last bit, or, as some of
float64's have no part in so small a change, by the least that has one.  (They tell whether products are
fused, not whether each single one is.)  It takes one or two milliseconds, once.
(NumPy 2.0 and 2.4 were compared with the code: for all 2**32 numbers of float32, at the levels X86_V3 and
X86_V4, and for 10**9 of float64 and more.)
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy

from lazyarr.records import NamedTuple
from lazyarr.target import LIBM, OWN, SVML, Key, Target


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
    inverse: bool = False
    """It goes by an inverse that the CPU estimates and rounds to four bits.  Estimates need not be the same
    on all CPUs, so no number is taken whose inverse lies near the middle of two."""
    any_nan: bool = False
    """Which NaN there is for numbers that have no result may be any: the code leaves them to NumPy's loop."""


def _bits(text: str) -> tuple[int, ...]:
    return tuple(int(each, 16) for each in text.split())


POWERS = _bits("""
    40236b8d8b255964 3fe67b27c6a87f80 c01ba94d913af2a8 c03362dcf3413d2e c02d0ec89c75a3f1 c0261db07f582e64
    c01b92783f0bf0d4 c028ddade0cf0a3d 402ffb8929536500 400c2a6b277059a8 c00b3fcc6e8f10e0 c005a95a029d9360
    c00016090f080c58 c02a2fe60200cbe6 4027bafd019c6896 c00b086c67f1adc0 c028c3da5e46c0d6 c01e1bf3d7392c72
    c02a215cab92c0f2 4032d28c67b94568 c015ba6fb15fef5c c01b3eaf1f82ebfa c00aba9aa1e36238 c0101d6c64b11758
    c0307f5c7b0f4070 4023b082b5cf9bb6 401988bff1a1c5b8 c012cc81caebd244 40294407fdcde2d4 4016d57289d55378
    40317f298c520bdc 3fc63c451d24c180 c02cc14eab818dee 4022640321879340 40252ca592453a48 c0203ed961513ec6
    c0306fc3b5db312d 3ff975503712d8c0 c0328101eacf6bac 4032ee77e7b168d4 c0332f87771954be bfddc79f5f9c9800
    402ace701cc5ee90 c01ac671aaf28544 bffd611edc3a7270 401f7e5e44004c18 c01263ac479f495c 401471a87dacaf70
    c01d6f73cb1feb20 3ffa847baf093dc0 40324c3f3bfc67fa bff1ac96ef49c830 4023fb592600dbd8 c0285e2f7c145044
    c033cdc480dcc119 bff151a71889ff80 c02004b8a7151219 c02f41d107deebfe 402f22ff4c6c622c c029b0c00605f8ba
    c02dd649d88fd356 c02f36a009640af8 4029a1ac44d860d8 40330ff700a06a84 c02f2e7a85cd8c8c c026da0faab21c52
    c0283a24809687b3 4024246725c807e8 c0240c21ae8fdab9 40305259553449fe c01cf6d0349b5506 c01764482d375f18
    c0303dacece808ae 40123d2a651b4178 402f4f7721d74290 401d5fc237c8af84 c0303802f7957e45 bfeed8ce46c5cb40
    3fdb6089cb6c1780 4029d1d6ea6a5b24 c02ad964f1397ec6 bfcfd9a211104a00 4015349171a25528 bfedca4990c54a60
    402ca588dd5c0aa4 c02d90c21e0e153c c007f56563bf14b8 bfcba67c9b315b00 c02c2632ea488aee c02534c7f2af02fe
    401db2d532c00814 3fdfef55b00b9f00 403286b758467302 403287f140d944be bfebf7e023e7fec0 3fe0a2f4e71f2c40
    402e29a8706068b4 c023bbff41ebceb4 402a06d6aeb4905c 402f94cc9c5f16a0 4028a95ddec58608 c01c4a16abfe5db2
    4015a3a2799a84c8 402e3d1013d2f980 402b79e0d02ee4c8 c0292fe0551060fc c0018ad156f1af20 400adc7575528188
    c02a8b7d8d435992 c020d4809eb7883e 401e20f40689b164 bfe8f57cc4a84720 40233ef6b867f9d8 400007e47d404248
    c02229b2917ac12e c032164940681257 c02386f205904978 401b82d1060f18a8 40309647f1968536 40133ca2f4895af8
    400b69894de25648 c00670be1735bfa0 c0320c97bc740119 c024d66dc854d3ac 4013589830f70c08 c030a55851fb7ee0
    4023646ce659cd5c
""")
"""Numbers for which other powers of two in the C library's table would give other exponentials."""

KNOWN: dict[Key, Known] = {
    ("exp", "f->f", OWN): Known(
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
    ("log", "f->f", OWN): Known(
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
    ("exp", "d->d", LIBM): Known(
        0x08A89AB3, 1 << 13, 0x3F90 << 48, 8, True,
        (
            # Of 128 / ln2, of ln2's parts, of the coefficients.
            0x40545A36CCF34BB0, 0x40702823A27C03C0, 0xBFEC8CBF63588DC8, 0x4073AA1EC3B81C88,
            0xC07C7EE7E0E0BD1D, 0xC07C1C267165AC7F, 0xC068A361BEC5AA8E, 0xC064EE3C857D13AC,
            0x401BDDC17D15C7EA, 0x4055C997F0FD9468, 0xC07AFDD7C2B71985, 0x3FE56846A3501229,
            # Of 128 x / ln2 that is rounded before it is rounded to a whole number.
            0xC0737609E70FD2AA, 0xC071C6353EBBBB12, 0xC070BB58A8B00889,
            *POWERS,
        ),
        (
            0.0, 2.0**-54, 512.0, -512.0, 708.0, -708.0, 709.782712893384, -745.1332191019411,
            -708.3964185322641, 1e-300,
        ),
        (
            (1.0, ""), (710.0, "overflow"), (1e300, "overflow"), (float("inf"), ""), (-float("inf"), ""),
            (-746.0, "underflow"), (-1e300, "underflow"), (1e-310, ""), (-600.0, ""), (-708.2, ""),
            (-708.5, "underflow"), (float("nan"), ""),
        ),
    ),
    ("log", "d->d", LIBM): Known(
        0x549939BE, 1 << 13, 0x3F90 << 48, 8, False,
        (
            # Of ln2's parts, of the coefficients, of those near 1.
            0x3FB5B7E44F2F09EA, 0x3FA3F1BF21C2A3D5, 0x401257C26450FCD9, 0x3FE45710B13FF012,
            0x3FF108C3D6F39352, 0x3FEE22E046BD4764, 0x3FF148E207F6F9AC, 0x3FF11EC436ED9385,
            0x3FF53F96F8E86396, 0x3FE65F525DDDB0CA, 0x3FF120D2F058BD05, 0x3FEF0D3B106B03DA,
            0x3FF0981F30E59742, 0x3FF0D2810C3823F0, 0x3FEE8790948D3DE5, 0x3FF1061807A4653E,
            0x3FF1014634034367, 0x3FF103799239190D, 0x3FF0F355DFC5B502, 0x3FEE24F9E79032EA,
            0x3FEE2D5C71D8756B, 0x3FEE0516A5A7BA11,
        ),
        (
            0.0, 1.0, 0.5, 0.6875, 1.375, 0.9375, 1.064697265625, 2.0**-1022, 1.7976931348623157e308,
            -(2.0**-1022),
        ),
        (
            (1.0, ""), (0.0, "divide by zero"), (-0.0, "divide by zero"), (-1.0, "invalid value"),
            (-1e-310, "invalid value"), (-float("inf"), "invalid value"), (float("inf"), ""), (1e-310, ""),
            (float("nan"), ""),
        ),
        any_nan=True,
    ),
    ("log2", "d->d", LIBM): Known(
        0xE17E45A1, 1 << 13, 0x3F90 << 48, 8, False,
        (
            # Of 1 / ln2's parts, of the coefficients, of those near 1.
            0x3FF05448DD668DB3, 0x3FEF799DD18E5ED8, 0x3FEFFAE009268E91, 0x3FF0149026B0C9C3,
            0x3FF0C4E7A7678F54, 0x3FF188AE608E5B1F, 0x3FF0BDEDD99B7AF5, 0x3FEE4BA2CC3477B1,
            0x3FF0BF98C2366491, 0x3FF0C2CAECABF9A1, 0x3FED49CD024470FF, 0x3FF0CE0B03042770,
            0x3FF3008BC2879DC9, 0x3FF0546544960BE3, 0x3FF072B1EC7E8D1C, 0x3FF0A98AE1AD8977,
            0x3FEEA5559668AA66, 0x3FEEBB8235502DFA, 0x3FF07FBC818B3BA2, 0x3FF0B23AB4312CC4,
            0x3FF0B1006CF455CC, 0x3FF0AD3300C83922, 0x3FF0A1B73C8C9BD6, 0x3FF09B3C257B8F37,
            0x3FF0A060A6504976, 0x3FEEA6DEF0FEAEE0,
        ),
        (
            0.0, 1.0, 0.5, 0.6875, 1.375, 0.9576029777526855, 1.0442743301391602, 2.0**-1022,
            1.7976931348623157e308, -(2.0**-1022),
        ),
        (
            (1.0, ""), (0.0, "divide by zero"), (-0.0, "divide by zero"), (-1.0, "invalid value"),
            (-1e-310, "invalid value"), (-float("inf"), "invalid value"), (float("inf"), ""), (1e-310, ""),
            (float("nan"), ""),
        ),
        any_nan=True,
    ),
    ("exp", "d->d", SVML): Known(
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
    ),
    ("log", "d->d", SVML): Known(
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
        inverse=True,
    ),
}  # fmt: skip

SOME = 36
"""Witnesses that are computed alone, too, at most."""

AROUND = 16
"""Numbers around each edge, on either side."""

NEAR = 2.0**-7
"""How near to the middle of two numbers of four bits an inverse from 8 to 16 is left out."""

SCATTER = 0x9E3779B97F4A7C15
"""Multiples of its highest bits lie everywhere."""


def equal(target: Target) -> tuple[Key, ...]:
    """Those for kernels of a target.  (Without fused products they would be slow.)"""
    if not (target.x86 and target.fma):
        return ()
    wide = target.vector_bytes == 64
    return tuple(each for each in KNOWN if (wide or each[2] != SVML) and _whose(*each[:2]) == each[2])


def whatever_strides(name: str, sig: str) -> bool:
    """Are NumPy's bits known, at any strides?"""
    return (name, sig) in _NAMED and _whose(name, sig) not in (SVML, "")


def is_near(name: str, sig: str, strides: Sequence[int]) -> bool:
    """Are NumPy's bits those of our code, if we have some?

    NumPy 2.4 has the C library compute what of float64 it reads backwards, or from far apart, where it has a
    vector library compute the rest."""
    if (name, sig, SVML) not in KNOWN or all(0 <= s < FAR for s in strides):
        return True
    return _whose(name, sig) != SVML


FAR = 1 << 30
"""Bytes."""


_NAMED = {key[:2] for key in KNOWN}
"""Names and signatures."""


@cache
def _whose(name: str, sig: str) -> str:
    """The bits that the running NumPy has; none that are known: the empty word."""
    rows = [(key[2], known) for key, known in KNOWN.items() if key[:2] == (name, sig)]
    return next((w for w, known in rows if _agrees(getattr(numpy, name), sig[0], known)), "")


def _agrees(ufunc: Any, char: str, known: Known) -> bool:
    with numpy.errstate(all="ignore"):
        x = _numbers(char, known)
        found = ufunc(x)
        none = numpy.isnan(found) & ~numpy.isnan(x)
        told = numpy.where(none, numpy.nan, found) if known.any_nan else found
        if crc32(told.tobytes()) != known.checksum:
            return False
        # (Loops may have other ways for memory with gaps, and for few numbers.)
        some, gaps = min(len(known.witnesses), SOME), numpy.empty((SOME, 3), x.dtype)
        ufunc(x[:some][::-1], out=gaps[:some][::-1, 1])
        single = [ufunc(x[k : k + 1]) for k in range(some)]
    same = gaps[:some, 1].tobytes() == numpy.concatenate(single).tobytes() == found[:some].tobytes()
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
