"""The launches of steps met before (`known_steps`) that go by what a mask keeps.

In:  a step that counts, keeps or is fed, where its values are.   Out: `Bound`, if such a launch was prepared.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.feed_words import FEED, RANKS_OF
from lazyarr.codegen.keep_words import CLOSED, KEEP
from lazyarr.codegen.ranks_words import COUNTED, NUMBER, SUMS
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.expr import Keep
from lazyarr.fusion.program import Program
from lazyarr.known_steps import Bound, Source, Whereabouts, put
from lazyarr.launch import Prepared, put_scalar
from lazyarr.launch_compress import MOST_COUNTS, Fed, blocks_key, blocks_of, fed_key
from lazyarr.launch_keep import RESULT, Keeping, keeping_key
from lazyarr.plan import Step
from lazyarr.records import replace
from lazyarr.shared_kernels import COMPRESS, KEEPING


def of_tally(step: Step, program: Program, places: Whereabouts) -> Bound | None:
    """Counting, then adding up: the words for that lie behind the kernel's."""
    p: Prepared | None = program.launches.get(blocks_key())
    if p is None:
        return None
    words, scalars, behind = p.words[:], list[tuple[Sequence[int], Source]](), len(p.words)
    for word, given in zip(p.scalars, step.constants, strict=True):
        put(words, (word,), places.constant(given), scalars)
    words.extend([0, blocks := blocks_of(program), 0])
    assert (COUNTED, NUMBER, SUMS) == (0, 1, 2)
    homes = [places.home(k) for k in (*step.operands, step.members[-1])]
    addresses = zip((*p.pointers, behind + SUMS), homes, (*program.offsets, 0), strict=True)
    memory = ((Layout.SCRATCH,), p.scratch_bytes), ((p.partials_word, behind + COUNTED), SLOT * blocks)
    return None if None in homes else Bound(
        words, tuple(addresses), tuple(scalars),        # type: ignore[arg-type]
        tuple([each for each in memory if each[1]]), p.kernel.address, p.chunks, p.threads,
        COMPRESS.addresses()[RANKS_OF], 1, ((Layout.FLAGS, p.kernel.flags),), (p.kernel,), p.kernel.ops, p,
        combine_at=8 * behind,
    )  # fmt: skip


def of_keep(step: Step, program: Program, op: Keep, places: Whereabouts) -> Bound | None:
    k: Keeping | None = program.launches.get(keeping_key(op))
    if k is None:
        return None
    words, scalars = k.words[:], list[tuple[Sequence[int], Source]]()
    for word, given in zip(k.own.scalars, step.constants, strict=True):
        put(words, (word,), places.constant(given), scalars)
    addresses = [(word, places.home(step.operands[at]), program.offsets[at]) for word, at in k.own.operands]
    addresses.append((RESULT, places.home(step.members[-1]), 0))
    if None in [home for _, home, _ in addresses]:
        return None
    flags, *also = k.raised
    entries, kernel = KEEPING.addresses(), k.pack.kernel
    return Bound(
        words, tuple(addresses), tuple(scalars), k.memory, entries[KEEP], k.chunks, k.threads,     # type: ignore[arg-type]
        entries[CLOSED], 1, (flags,), (kernel,), kernel.ops, k, k.inside, 0, tuple(also),
    )  # fmt: skip


def of_fed(step: Step, program: Program, places: Whereabouts, warm: bool) -> Bound | None:
    """What is fed with kept elements, for any number of them."""
    steps = step, *[source for _, source in step.feeds]
    packed = [(k, source.program) for k, source in step.feeds if source.program is not None]
    fed: Fed | None = program.launches.get(fed_key(packed, warm))
    if fed is None:
        return None
    addresses: list[tuple[int, Any, int]] = []
    scalars, constants = list[tuple[Sequence[int], Source]](), []
    for own, each in zip(fed.own, steps, strict=True):
        assert each.program is not None
        for word, k in own.operands:
            addresses.append((word, places.home(each.operands[k]), each.program.offsets[k]))
        for word, given in zip(own.scalars, map(places.constant, each.constants), strict=True):
            if given.__class__ is tuple:
                scalars.append(((word,), given))
            else:
                constants.append((word, given))
    for words, (_, source) in zip(fed.ranks, step.feeds, strict=True):
        assert source.ranks is not None
        addresses += [(word, places.home(source.ranks), 0) for word in words]
    if None in [home for _, home, _ in addresses]:
        return None
    flags, *also = fed.raised
    return Bound(
        array("q"), tuple(addresses), tuple(scalars), (), COMPRESS.addresses()[FEED], 0, 0, 0, 1, (flags,),
        tuple(fed.kernels), fed.ops, fed, fed.inside, 8 * fed.inner, tuple(also), tuple(constants), {},
    )  # fmt: skip


def counted(b: Bound, n: int) -> Bound:
    """The same launch for `n` kept elements."""
    assert b.counts is not None
    found = b.counts.get(n)
    if found is None:
        if len(b.counts) >= MOST_COUNTS:
            b.counts.clear()
        words, memory, chunks, threads, combine = b.keep.counted(n)
        words = words[:]
        for word, given in b.constants:
            put_scalar(words, (word,), given)
        found = b.counts[n] = replace(
            b, words=words, memory=tuple([((word,), nbytes) for word, nbytes in memory]), chunks=chunks,
            threads=threads, combine=combine, counts=None,      # (no circle: code goes with the last plan)
        )  # fmt: skip
    return found
