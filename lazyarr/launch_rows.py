"""Launch steps that run together, block by block of rows.

In:  `RowBlocks`, addresses and runtime scalars of each step.
Out: memory written, and the floating-point flags that each step raised.
One kernel, the same for all programs (`codegen.rows_shell`), runs the steps' kernels on each block.  All
that it needs to know lies in one array of words; what does not depend on addresses and scalars is prepared
once.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Collection, Mapping, Sequence
from operator import methodcaller
from typing import Any, Protocol

import numpy

from lazyarr.codegen import rows_words as shell
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_plan import AHEAD, PASSES, STEPS, cut, lasting
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import SCAN
from lazyarr.fusion.program import Program
from lazyarr.hot import ran
from lazyarr.kernels import Kernel, host, whole_of
from lazyarr.launch import Prepared, memory, prepare, put_scalar, work
from lazyarr.plan import PlacedRing, RowBlocks, RowPart
from lazyarr.records import dataclass, field
from lazyarr.schedule import LINE, duration, squares
from lazyarr.shared_kernels import ROWS
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for
from lazyarr.tuning import tuning


class Watch(Protocol):
    """Somebody who wants to see what blocks were computed from, if that raised something."""

    @property
    def masks(self) -> Sequence[int]:
        """For each part the flags that are of interest."""

    def look(self, at: Sequence[tuple[int, int]], between: bool) -> Sequence[int]:
        """Some of the flags were raised by one or more of these parts, on these blocks, of strips or what is
        left out between them; the masks from now on."""


@dataclass(slots=True, eq=False)
class Ready:
    """A launch that lacks addresses and scalars only."""

    words: array[int]
    addresses: list[tuple[int, int]]
    """The words for addresses of buffers, and which value lies there."""
    scalars: list[list[list[int]]]
    """For each part, and each of its runtime scalars: the first words of it, in all variants."""
    raised: list[tuple[int, int]]
    """For each part: the word that collects flags, and those that its ops can raise."""
    threads: int
    chunks: int
    """Of blocks, where no part lags."""
    memory_bytes: int
    ops: int
    lasting: bool
    """No kernel stands in for one that is yet to be compiled."""
    kernels: list[Kernel]
    """Whose addresses are among the words."""
    shares: list[float]
    """For each part: how much of the time it takes, roughly."""
    shell: dict[str, int]
    """Addresses of the kernels that run those."""
    kernel: str
    """Which of them does, where no part lags."""
    heating: bool = True
    """Is somebody to hear how long kernels run?"""
    said: tuple[list[bytes], array[int]] | None = None
    """The scalars of the launch before, and the words with these: most loops come with the same ones."""
    alike: dict[tuple[object, ...], int] = field(default_factory=dict)
    """The first words of variants that have been entered, by all that these say."""


def rows_key(streams: bool, threads: int) -> tuple[Any, ...]:
    """Where `RowBlocks.launches` has what is ready."""
    return plan_key(), streams, threads


def launch_rows(
    rows: RowBlocks, homes: Mapping[int, int], scalars: Sequence[numpy.generic], warm: bool,
    watch: Watch | None = None, threads: int = 0,
) -> list[int]:
    """Run the steps.

    Parameters
    ----------
    rows : RowBlocks
    homes : mapping of int to int
        Where the storage of each value lies that steps read and write there (`RowBlocks.lying`).
    scalars : sequence of numpy.generic
        The runtime scalars of all steps, one after the other.
    warm : bool
        Whether the pages of what may be stored past the caches are warm.
    watch : Watch, optional
        Who looks at blocks in which something was raised, where parts lag.
    threads : int
        By how many, at most, if not by as many as the option says now: rings are for so many's strips.

    Returns
    -------
    list of int
        NumPy's FPE flags of each step.
    """
    threads = threads or get_num_threads()
    streams = warm and _aligned(rows, homes)
    key = rows_key(streams, threads)
    ready = rows.launches.get(key)
    if ready is None:
        ready = _prepare(rows, threads, streams)
        if ready.lasting:
            rows.launches[key] = ready
    else:
        COUNT.memory_hits += len(rows.parts)
    words = _with(ready, scalars)
    for word, value in ready.addresses:
        words[word] = homes[value]
    block, words[shell.MEMORY] = memory(ready.memory_bytes)
    began = time.perf_counter()
    found = _run(rows, ready, words, watch)
    spent = time.perf_counter() - began
    COUNT.seconds["run"] += spent
    if ready.heating:
        for kernel, share in zip(ready.kernels, ready.shares, strict=False):
            if not kernel.heat.asked:
                ran(kernel, spent * share)
        ready.heating = not all(kernel.heat.asked for kernel in ready.kernels[: len(ready.shares)])
    COUNT.native_launches += 1
    COUNT.fused_ops += ready.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]
    del block
    return found


def _with(ready: Ready, scalars: Sequence[numpy.generic]) -> array[int]:
    """Words with these scalars."""
    if not scalars:
        return ready.words[:]
    raw = [*map(_BYTES, scalars)]
    if ready.said is not None and ready.said[0] == raw:
        return ready.said[1][:]
    words = ready.words[:]
    places = [each for mine in ready.scalars for each in mine]
    for firsts, scalar in zip(places, scalars, strict=True):
        put_scalar(words, firsts, scalar)
    ready.said = raw, words[:]
    return words


_BYTES = methodcaller("tobytes")


def _run(rows: RowBlocks, ready: Ready, words: array[int], watch: Watch | None) -> list[int]:
    """Run the blocks, and ask who watches about those that stop them; the flags of each part."""
    kernels, at, strips = ready.shell, words.buffer_info()[0], words[shell.STRIPS]
    found = [0] * len(rows.parts)
    flags = slice(ready.raised[0][0], ready.raised[-1][0] + 1)

    def collect() -> None:
        if not any(words[flags]):
            return
        for k, (word, own) in enumerate(ready.raised):
            found[k] |= words[word] & own
            words[word] = 0

    def run(kernel: str, chunks: int, at_end: int) -> None:
        """Run all chunks; where they are stopped, look at what they ran last, and go on."""
        while chunks:
            parallel_for(kernels[kernel], at, chunks, ready.threads)
            if not words[shell.STOP] or watch is None:
                return
            collect()
            words[shell.STOP] = 0
            _care(words, watch.look(_last(rows, words, chunks, at_end), at_end > 0))

    if not strips:
        parallel_for(kernels[ready.kernel], at, ready.chunks, ready.threads)
    else:
        if watch is not None:
            _care(words, watch.masks)
        run(shell.STRIP, strips, 0)
        run(shell.SEAM, strips - 1, strips)
    collect()
    return found


def _care(words: array[int], masks: Sequence[int]) -> None:
    """What strips stop for, by part."""
    for k, mask in enumerate(masks):
        words[shell.FIRST + k * shell.PER_PART + shell.CARE] = mask


def _last(rows: RowBlocks, words: array[int], chunks: int, first: int) -> list[tuple[int, int]]:
    """The parts that strips or seams ran last, and on which blocks; their words begin at the one `first`."""
    strips, at, found = words[shell.STRIPS], words[shell.DONE_AT] // words.itemsize + first * shell.WORDS, []
    for k in range(chunks):
        done = words[at + k * shell.WORDS]
        if done:
            begin = (k + (first > 0)) * rows.blocks // strips
            time, part = divmod(done - 1, len(rows.parts))
            found.append((part, begin + time - rows.parts[part].place.late))
    return found


def _aligned(rows: RowBlocks, homes: Mapping[int, int]) -> bool:
    """Is there anything to store past the caches, and does all of it begin at a cache line?"""
    return bool(rows.streamed) and not any(homes[k] % LINE for k in rows.streamed)


def _prepare(rows: RowBlocks, threads: int, streams: bool) -> Ready:
    """The words: head, parts, moves, templates, flags."""
    parts = [_variants(part) for part in rows.parts]
    distinct = {id(program): (program, part) for part in rows.parts for program, _ in _variants(part)}
    past = {key: streams and part.streams for key, (_, part) in distinct.items()}
    kernels = {key: _kernel(program, past[key]) for key, (program, _) in distinct.items()}
    copy_bytes = -(-8 * (max(len(k.words) for k in kernels.values()) + shell.WORDS) // LINE) * LINE
    own_bytes = copy_bytes + -(-max(k.scratch_bytes for k in kernels.values()) // LINE) * LINE
    threads = min(threads, rows.chunks)
    usual = [kernels[id(part.program)].kernel for part in rows.parts]
    is_bound = _is_bound(rows, kernels.values(), threads)
    bound_bytes = is_bound * copy_bytes * len(parts)
    ready = Ready(
        array("q", bytes(8 * (shell.FIRST + shell.PER_PART * len(parts)))), [], [[] for _ in parts], [],
        threads, -(-rows.chunks // rows.run(threads)),
        threads * (own_bytes + bound_bytes) + rows.slots(threads) * rows.own_bytes,
        sum(k.ops for k in usual), all(past[key] == k.kernel.nontemporal for key, k in kernels.items()),
        [*usual, *(k.kernel for k in kernels.values())], _shares(rows), ROWS.addresses(),
        shell.BOUND if is_bound else shell.ROWS,
    )  # fmt: skip
    words = ready.words
    for kernel in usual:
        ready.raised.append((len(words), kernel.flags))
        words.append(0)
    words[shell.OUTER], words[shell.OUTER_AT] = len(rows.outer), 8 * len(words)
    words.extend(reversed(rows.outer))
    places: dict[int, int] = {}
    for value in rows.lying:
        places[value] = len(words)
        ready.addresses.append((len(words), value))
        words.append(0)
    # (Threads take chunks in turn; these are strips, runs of blocks, or single ones.)
    apart = 1 if rows.delay or rows.run(threads) > 1 else threads
    fetched = _fetched(rows)
    for k, (part, variants) in enumerate(zip(rows.parts, parts, strict=True)):
        bases = [8 * places.get(value, 0) for value in part.step.operands]
        made: dict[tuple[int, bool], int] = {}
        for program, moving in variants:
            if (id(program), moving) not in made:
                prepared, steps = kernels[id(program)], rows.rows * moving
                first = _add(ready, k, part, program, prepared, steps, bases, apart, fetched[k])
                made[id(program), moving] = 8 * first
        at, added = shell.FIRST + k * shell.PER_PART, [made[id(p), moving] for p, moving in variants]
        words[at : at + shell.PER_PART] = array(
            "q", [*part.place[:2], *rows.span(part), 8 * ready.raised[k][0], 0, *added, 0]
        )
    for k in range(len(parts)):
        mine = [placed for placed in rows.rings if placed.ring.part == k and placed.ring.pieces]
        if mine:
            words[shell.FIRST + k * shell.PER_PART + shell.MARGINS] = 8 * len(words)
            words.extend([len(mine), *(word for placed in mine for word in _margins(placed, places))])
    if rows.delay:
        words[shell.STRIPS] = rows.strips(threads)
        words[shell.SLOTS_AT] = threads * own_bytes
    else:
        own_bytes += rows.own_bytes
        words[shell.SLOTS_AT] = own_bytes - rows.own_bytes
        words[shell.BOUND_AT], words[shell.BOUND_BYTES] = own_bytes, copy_bytes
        own_bytes += bound_bytes
    words[shell.SLOT_BYTES] = rows.own_bytes
    words[shell.MEMORY_BYTES] = own_bytes
    words[shell.SCRATCH_AT] = copy_bytes
    words[shell.LAST] = rows.blocks - 1
    words[shell.ALL], words[shell.RUN] = rows.chunks, rows.run(threads)
    words[shell.PARTS] = len(parts)
    words[shell.MOST] = max(part.place.late for part in rows.parts)
    words[shell.BEYOND] = max(part.place.late + part.place.front for part in rows.parts)
    words[shell.DELAY] = rows.delay
    words.extend([0] * shell.WORDS)         # (what others read is in another cache line)
    words[shell.DONE_AT] = len(words) * words.itemsize
    words.extend([0] * 2 * shell.WORDS * words[shell.STRIPS])
    return ready


def _is_bound(rows: RowBlocks, kernels: Collection[Prepared], threads: int) -> bool:
    """Are all blocks but the last one alike, one behind the other, and does a chunk have several of them?

    (A kernel with a lone result remembers in its words that this is decided.)"""
    alike = all(
        _variants(part)[0] == (part.program, True) and rows.span(part) == (0, rows.blocks)
        and part.program.parfor.dims.strip("r") for part in rows.parts
    )
    simple = not (rows.delay or rows.outer or rows.rings) and all(k.chunks == 1 for k in kernels)
    return alike and simple and rows.run(threads) > 1


def _margins(placed: PlacedRing, places: Mapping[int, int]) -> list[int]:
    """The words of what a part copies to a ring before it runs on a block."""
    ring = placed.ring
    rows = ring.row, ring.before, ring.rows, ring.nbytes // ring.row
    bases = 8 * places[placed.source], 8 * places[placed.to]
    return [*bases, *rows, len(ring.pieces), *(word for piece in ring.pieces for word in piece)]


def _shares(rows: RowBlocks) -> list[float]:
    """How much of the time each part takes: among large ones borders are soon done, which are many."""
    times = [duration(*work(part.step.program)) for part in rows.parts if part.step.program is not None]
    return [time / sum(times) for time in times]


def _fetched(rows: RowBlocks) -> list[dict[int, int]]:
    """For each part, of which operands it fetches what the next block reads, and which share of that.

    They are those that folds along rows read, and the first of these share it, where rows follow each other
    (one whose functions take longer than memory does gets all of it)."""
    readers = dict[int, dict[int, int]]()
    found: list[dict[int, int]] = [{} for _ in rows.parts]
    long = {k for k, part in enumerate(rows.parts) if lasting(part.program.parfor, host())}
    passes = PASSES if tuning(host().name).next_rows else 0
    for number, part in enumerate(rows.parts):
        parfor, shape = part.program.parfor, part.program.loops.shape
        if parfor.dims[-1] != "r":
            continue
        elements = math.prod(n for n, dim in zip(shape, parfor.dims, strict=True) if dim == "r")
        for k, (value, operand) in enumerate(zip(part.step.operands, parfor.operands, strict=True)):
            move = part.program.moves[k][-1] if part.program.moves[k] else 0
            streams = part.inside[k] < 0 and operand.role == "in" and operand.access == "u" and move
            if streams and (number in long or abs(move) == elements * PLAIN[operand.dtype].itemsize):
                readers.setdefault(value, {}).setdefault(number, k)
    for each in readers.values():
        whole = [number for number in each if number in long]
        for share, number in enumerate(whole[:1] or [*each][:passes]):
            found[number][each[number]] = share
    return found


def _variants(part: RowPart) -> list[tuple[Program, bool]]:
    """The programs of a part in its first block, in others, in its last one; and whether operands have moved
    by then, to rows that are counted from the first block on."""
    same = part.first is part.program and not part.start
    return [(part.first, same), (part.program, True), (part.last, True)]


def _add(
    ready: Ready, number: int, part: RowPart, program: Program, kernel: Prepared, rows: int,
    bases: Sequence[int], apart: int, fetched: Mapping[int, int],
) -> int:  # fmt: skip
    """The words of a variant that moves on by so many rows from block to block; the first one.  A thread's
    next block is so many `apart`, of which it fetches what `fetched` says: an operand's share, by number.

    Variants without scalars that are alike are one: sweeps that take turns do the same again and again, and
    what threads go through for each block is to stay in their first-level caches."""
    laid: list[int] = []
    ahead = dict[int, int]()
    operands = zip(kernel.pointers, program.offsets, program.moves, strict=True)
    for k, (word, offset, each) in enumerate(operands):
        own, move = part.inside[k] >= 0, each[-1] if each else 0
        if k in fetched:
            ahead[k] = move * rows * apart + move * rows * fetched[k] // PASSES
        offset += part.inside[k] if own else 0
        offset -= part.start * move if rows else 0
        laid += 8 * word, 0 if own else bases[k], offset, move * rows, *part.sources[k][:2]
    address = _address(kernel)
    key = address, kernel.chunks, bytes(kernel.words), *laid, *program.moves, *ahead.items()
    if not kernel.scalars and key in ready.alike:
        return ready.alike[key]
    words, first = ready.words, len(ready.words)
    ready.alike[key] = first
    words.extend([0] * shell.VARIANT)
    jumps: list[int] = []
    for _, *across in (reversed(move) for move in program.moves if move):
        jumps.append(8 * len(words))
        words.extend(across)
    moves = len(words)
    steps = laid[shell.STEP :: shell.JUMPS]
    for k in sorted(range(len(steps)), key=lambda k: not steps[k]):
        words.extend(laid[k * shell.JUMPS : (k + 1) * shell.JUMPS])
        words.append(jumps[k] if jumps else 0)
    template = len(words)
    words.extend(kernel.words)
    for k, distance in ahead.items():
        words[template + kernel.kernel.layout.extra(AHEAD + k)] = distance
    words.extend([0] * (-len(kernel.words) % shell.WORDS))
    if not ready.scalars[number]:
        ready.scalars[number] = [[] for _ in kernel.scalars]
    for places, word in zip(ready.scalars[number], kernel.scalars, strict=True):
        places.append(template + word)
    words[first : first + shell.VARIANT] = array("q", [
        address, kernel.chunks, 8 * template, -(-len(kernel.words) // shell.WORDS), 8 * moves,
        len(steps), sum(map(bool, steps)),
    ])  # fmt: skip
    return first


def _address(p: Prepared) -> int:
    """What runs a block."""
    kernel = p.kernel
    if kernel.fold and p.chunks == 1 and p.words[kernel.layout.extra(STEPS)] == 1 and not p.partial_bytes:
        return whole_of(kernel)
    return kernel.address


def _kernel(program: Program, streams: bool) -> Prepared:
    """The kernel of a part, for one thread: a block is one chunk, where the caches do not ask for tiles."""
    parfor, loops = program.parfor, program.loops
    if "r" in parfor.dims:
        cuts = cut(parfor, loops.shape, program.run, loops.strides, 1, whole=True)
        return prepare(program, False, 1, cuts)
    if any(inst.op == SCAN for inst in parfor.body):
        return prepare(program, False, 1)
    return prepare(program, streams, 1, tile=_squares(program) or list(loops.shape))


def _squares(program: Program) -> list[int] | None:
    sizes = [PLAIN[o.dtype].itemsize for o in program.parfor.operands]
    return squares(program.loops.shape, program.loops.strides, sizes)


def may_stream(program: Program) -> bool:
    """May the rows of a map be stored past the caches, if its results begin at cache lines?"""
    parfor, loops = program.parfor, program.loops
    places = zip(parfor.operands, loops.strides, program.offsets, program.moves, strict=True)
    return not set("rs") & set(parfor.dims) and _squares(program) is None and all(
        o.role == "in" or (o.access == "u" and not any(x % LINE for x in (*strides[:-1], offset, *moves)))
        for o, strides, offset, moves in places
    )
