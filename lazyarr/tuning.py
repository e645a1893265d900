"""Numbers that were measured, one row for each CPU level: how code moves data.

In:  a level's name; the host's features, and its second-level cache.   Out: `Tuning`.
`asv_bench/tuning.py` measures other values on a host; `docs/tuning.md` has the figures that these rows were
chosen by.  They are part of what kernels' text follows from.
"""

from __future__ import annotations

from functools import cache

from lazyarr.cache_sizes import cache_bytes
from lazyarr.cpu_features import of_the_system
from lazyarr.records import NamedTuple


class Tuning(NamedTuple):
    """How code of a level moves data."""

    step_bytes: int
    """Bytes of a loop's widest type that one iteration takes: the width of registers, times the unrolling."""
    fold_lanes: int = 24
    """Instructions on lanes in a row, in a fold: at tier 1 what stays in registers passes through memory once
    a round."""
    stream_ahead: int = 2048
    """Bytes that kernels prefetch ahead which store past the caches, or call NumPy's loops on blocks that are
    no longer.  The hardware's prefetchers follow fewer bytes as a loop computes more."""
    fold_ahead: int = 4096
    """The same for folds along the innermost loop."""
    pack_ahead: int = 4096
    """The same for what packs the elements that a mask keeps."""
    sums_ahead: int | None = None
    """Where sums that may be leaves are made of packed elements: bytes from the end of the block that was
    packed last to what is asked for meanwhile (`compress_keep`); None: nothing is."""
    sums_blocks: int = 32
    """Blocks of a chunk of which such sums are made, at most.  What two chunks keep stays in the second-level
    cache where that is what counts; prefetchers begin anew with each, and threads tell each other of it."""
    sums_share: float = 0.9
    """Share of an array's elements that a mask keeps, at most, of which such sums are made: both sums of each
    octet take longer than to read these again where more are kept."""
    next_rows: bool = True
    """Do passes over rows that are in the caches fetch the next ones (`reduce_plan.PASSES`)?"""
    abreast: int = 1
    """Vectors that an iteration of a hot kernel's loop takes if its body is long (`vectorize.LONG`): their
    chains of operations overlap, where the next iterations are out of the processor's reach."""
    rows_ahead: int = 4
    """Rows from the one that is folded to the one that is prefetched; 0: none is."""
    beside: int = 2
    """Rows of a stencil side by side, at most, a power of two: as many as a block has whose sweeps follow
    each other by rows."""
    fused_folds: bool = False
    """Of differences in folds of all pairs, and of chains of sums that may be leaves (`compress_sums`), every
    other one is made of fused products with one: other units compute these, and do not take part in sums."""
    fused_sums: bool = False
    """The same of sums in stencils whose rows run side by side, as many as leave the units for sums and those
    for products the same work."""
    rows_at_once: int = 1
    """Rows that hot kernels fold onto accumulators at a time, which are loaded and stored once then; each of
    them is a stream for the prefetchers, or the next ones are prefetched (`reduce_outer.NARROW`)."""
    beside_bytes: int = 1 << 12
    """So far apart neighbours lie at most that are folded side by side: short runs, and leaves of a fold's
    tree, which are 2048 bytes at most.  What is longer is read one after the other, where prefetchers follow
    that alone."""


NONTEMPORAL_BYTES = 8 << 20
"""Results of at least this size are stored past the caches, into warm pages: it is caches that decide, not
levels."""

_OLD, _V4 = Tuning(16), Tuning(64, sums_ahead=4096, rows_ahead=0)
_V3 = Tuning(32, abreast=2, rows_ahead=0, beside=4, fused_folds=True, fused_sums=True)
"""The last three measured on a Zen 4 that hides AVX-512; they go by what all CPUs of the level have: sixteen
registers, and units that compute products beside those for sums, or the same ones."""

_ICL = Tuning(64, fold_ahead=0, pack_ahead=0)
"""Measured on a Zen 4, before that had a row of its own: its prefetchers follow a stream by themselves, where
others get in their way, and rows not at all.  Other CPUs of the level may be Xeons, as those of the other
AVX-512 levels are, so all that was measured on a Zen 4 since is in its own row alone."""

_VP2 = Tuning(64, fold_ahead=8192, pack_ahead=8192, sums_ahead=8192, abreast=4)
"""Measured on a Zen 5, whose prefetchers stay behind where a loop computes."""

_ZEN3 = _V3._replace(fold_ahead=0, rows_at_once=8, beside_bytes=128)
"""Measured on a Zen 4 whose AVX-512 is hidden: prefetchers follow a stream by themselves, but not several
side by side within a page, and rows apart as well as eight streams permit.  Packing, and passes over rows,
were measured on a Zen 3."""

_ZEN4 = _ZEN3._replace(pack_ahead=0, next_rows=False)
"""A Zen 4's do so beside packing, too, and from one row to the next."""

_ZEN_ICL = _ICL._replace(
    sums_ahead=0, sums_blocks=256, sums_share=1.0, abreast=4, next_rows=False, rows_ahead=0, rows_at_once=8,
    beside=4, beside_bytes=128, fused_folds=True,
)  # fmt: skip
"""One that shows its AVX-512 has the same prefetchers, and its window holds no more of long loops."""

L2_1M = "L2_1M"
"""Stands for a second-level cache of a megabyte or more (or one of which the system says nothing): it tells a
Zen 4 from a Zen 3 where a hypervisor hides all else."""

TABLE = {
    "X86_V2": _OLD, "X86_V3": _V3, "X86_V4": _V4, "AVX512_ICL": _ICL, "AVX512_SPR": _V4,
    "AVX512_ICL AVX512VP2INTERSECT AVXVNNI": _VP2, "AVX512_ICL CLZERO": _ZEN_ICL,
    "X86_V3 CLZERO VAES AVXVNNI": _V3,          # (a Zen 5, whose prefetchers differ)
    "X86_V3 CLZERO VAES L2_1M": _ZEN4, "X86_V3 CLZERO VAES": _ZEN3,
    "ASIMD": _OLD, "ASIMDHP": _OLD, "SVE": _OLD,
    "VSX2": _OLD, "VSX3": _OLD, "VSX4": _OLD, "RVV": _OLD,
}  # fmt: skip
"""By level, and features besides, the first row that applies.  Other machines than x86-64 are not measured:
they have the row of the least."""


@cache
def row_of(level: str) -> str:
    """The key of the row for a level's code that this host compiles: other CPUs of the level run it, too.

    So the rows of a level differ in how soon results are there, not in results or layouts, and are not in the
    keys of caches and bundles: what one host has compiled serves others of its level."""
    has = {*(of_the_system() or ()), *([L2_1M] if cache_bytes() >= 1 << 20 else [])}
    finer = [key for key in TABLE if key.startswith(f"{level} ") and has.issuperset(key.split()[1:])]
    return finer[0] if finer else level


def tuning(level: str) -> Tuning:
    """The numbers for a level's code."""
    return TABLE[row_of(level)]
