"""Launch: bind a program's operands to memory and run its kernel.

In:  a `Program`, the address of each operand's storage, and the runtime scalars.
Out: memory written, and the floating-point status flags (NumPy's FPE bits) that were raised.

What does not depend on addresses and scalars is prepared once for each program, kind of stores and
number of threads: the kernel, the tiles, and a template of the argument words.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy

from lazyarr import tuning
from lazyarr.buffers import empty
from lazyarr.codegen.abi import SCALAR_BYTES, SCALAR_WORDS, Layout
from lazyarr.codegen.reduce_plan import PARTIALS, Cuts, cut, extras, fill
from lazyarr.codegen.scan_plan import tiles_along
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import SCAN
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.hot import ran
from lazyarr.kernels import Kernel, cost, kernel_for
from lazyarr.records import dataclass
from lazyarr.schedule import LINE, chunk_count, in_sequence, tiles, worth_threads
from lazyarr.switches import is_off
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

NONTEMPORAL_BYTES = sys.maxsize if is_off("nontemporal") else tuning.NONTEMPORAL_BYTES
"""Outputs of at least this size do not stay in the caches: store past them, if pages are warm."""

WIDEST = 16
"""Bytes of the largest element."""


@dataclass(slots=True, eq=False)
class Prepared:
    """A launch that only lacks addresses and scalars."""

    kernel: Kernel
    words: array[int]
    """Template of the argument words."""
    pointers: tuple[int, ...]
    """The word of each operand's pointer."""
    scalars: tuple[int, ...]
    """The first word of each runtime scalar."""
    chunks: int
    threads: int
    scratch_bytes: int
    """For all threads together."""
    partials_word: int
    partial_bytes: int
    """Partial results of a fold; 0 where no combining follows."""
    combine_chunks: int
    combine: int
    """Address of what combines them."""


def program_key(streams: bool) -> tuple[Any, ...]:
    """Where a program has what `launch` runs."""
    return streams, plan_key()


def launch(program: Program, bases: Sequence[int], scalars: Sequence[numpy.generic], streams: bool) -> int:
    """Run a program.

    Parameters
    ----------
    program : Program
    bases : sequence of int
        Address of each operand's storage.
    scalars : sequence of numpy.generic
        Runtime scalars, of the dtypes that the parfor says.
    streams : bool
        Whether the outputs' pages are warm, so that they may be stored past the caches.

    Returns
    -------
    int
        NumPy's FPE flags of all chunks together.
    """
    if 0 in program.loops.shape:
        return 0
    addresses = [base + offset for base, offset in zip(bases, program.offsets, strict=True)]
    streams = streams and may_stream(program, addresses)
    key = program_key(streams)
    prepared = program.launches.get(key)
    if prepared is None:
        prepared = prepare(program, streams, get_num_threads())
        if prepared.kernel.nontemporal == streams:      # not a stand-in for what is yet to be compiled
            program.launches[key] = prepared
    else:
        COUNT.memory_hits += 1
    return run_prepared(prepared, addresses, scalars)


def is_streamed(program: Program) -> bool:
    """Is some result so large that stores past the caches might pay, wherever it lies?"""
    shape = program.loops.shape
    least = NONTEMPORAL_BYTES // (WIDEST * max(1, len(program.offsets)))
    return len(shape) == 1 and shape[0] >= least and program.parfor.dims == "p"


def may_stream(program: Program, addresses: Sequence[int]) -> bool:
    """Are the outputs such that stores past the caches pay?"""
    return is_streamed(program) and _past(program, addresses)


def stores_past(program: Program) -> bool:
    """The same where each output's memory is an array's own, from its first cache line on."""
    return is_streamed(program) and _past(program, program.offsets)


def _past(program: Program, addresses: Sequence[int]) -> bool:
    shape, written = program.loops.shape, 0
    for o, at in zip(program.parfor.operands, addresses, strict=True):
        if o.role != "in":
            if o.access != "u" or at % LINE:
                return False
            written += PLAIN[o.dtype].itemsize * shape[0]
    return written >= NONTEMPORAL_BYTES


def prepare(
    program: Program, nontemporal: bool, threads: int, cuts: Cuts | None = None, tile: list[int] | None = None
) -> Prepared:
    """All of a launch but addresses and scalars; `cuts` of a fold or the `tile` of a map may be given."""
    parfor, loops = program.parfor, program.loops
    threads = threads if program_worth_threads(program) else 1
    kernel = kernel_for(parfor, nontemporal)
    layout = kernel.layout
    folds, sequence = "r" in parfor.dims, "s" in parfor.dims
    words = array("q", bytes(8 * (layout.extra(0) + (extras(layout) if folds else parfor.dims == "s"))))
    for d, n in enumerate(loops.shape):
        words[layout.shape(d)] = n
    for k, strides in enumerate(loops.strides):
        for d, stride in enumerate(strides):
            words[layout.stride(k, d)] = stride
    for k, loop in enumerate(kernel.loops):
        words[layout.loop(k)] = loop.address
        words[layout.loop(k) + 1] = loop.data
    if folds:
        if cuts is None:
            cuts = cut(parfor, loops.shape, program.run, loops.strides, threads)
        fill(words, layout, cuts, 0, kernel.fold)
        chunks, partial_bytes, combine_chunks = cuts.chunks, cuts.partial_bytes, cuts.combine_chunks
    else:
        if tile is None and any(inst.op == SCAN for inst in parfor.body):
            tile = tiles_along(parfor.dims, loops.shape, threads)
        elif tile is None and sequence:
            tile, threads = in_sequence(parfor.dims, loops.shape, threads)
        elif tile is None:
            sizes = [PLAIN[o.dtype].itemsize for o in parfor.operands]
            tile = tiles(loops.shape, loops.strides, sizes, threads)
        for d, (n, t) in enumerate(zip(loops.shape, tile, strict=True)):
            words[layout.tile(d)] = t
            words[layout.grid(d)] = -(-n // t)
        chunks, partial_bytes, combine_chunks = chunk_count(loops.shape, tile), 0, 0
    threads = min(threads, chunks)
    return Prepared(
        kernel, words,
        tuple(layout.pointer(k) for k in range(len(parfor.operands))),
        tuple(layout.scalar(k) for k in range(len(parfor.scalars))),
        chunks, threads, kernel.scratch_bytes * threads,
        layout.extra(PARTIALS) if folds else 0, partial_bytes, combine_chunks,
        kernel.combine() if partial_bytes and kernel.combine else 0,
    )  # fmt: skip


def program_worth_threads(program: Program) -> bool:
    """Does a program have work for more than one thread?"""
    return worth_threads(*work(program))


def work(program: Program) -> tuple[int, int, float]:
    """Elements; bytes and nanoseconds for each."""
    parfor = program.parfor
    moved = sum(PLAIN[o.dtype].itemsize for o in parfor.operands if o.access != "z")
    return math.prod(program.loops.shape), moved, sum(cost(i.op) for i in parfor.body)


def bind(
    p: Prepared, addresses: Sequence[int], scalars: Sequence[numpy.generic]
) -> tuple[array[int], list[numpy.ndarray | None]]:
    """The argument words of one launch, and memory to keep until it is done."""
    words = p.words[:]
    for word, at in zip(p.pointers, addresses, strict=True):
        words[word] = at
    if p.scalars:
        put_scalars(words, p.scalars, scalars)
    scratch = partials = None
    if p.scratch_bytes:
        scratch, words[Layout.SCRATCH] = memory(p.scratch_bytes)
    if p.partial_bytes:
        partials, words[p.partials_word] = memory(p.partial_bytes)
    return words, [scratch, partials]


def put_scalars(words: array[int], places: Sequence[int], scalars: Sequence[numpy.generic]) -> None:
    """Write runtime scalars to the words that begin at `places`."""
    for word, scalar in zip(places, scalars, strict=True):
        put_scalar(words, (word,), scalar)


def put_scalar(words: array[int], places: Sequence[int], scalar: numpy.generic) -> None:
    """Write a runtime scalar to the words that begin at each of `places`."""
    raw = scalar.tobytes()
    lanes = array("q", raw * (SCALAR_BYTES // len(raw)))
    for word in places:
        words[word : word + SCALAR_WORDS] = lanes


def run_prepared(p: Prepared, addresses: Sequence[int], scalars: Sequence[numpy.generic]) -> int:
    """Run what is prepared; the flags that were raised."""
    words, keep = bind(p, addresses, scalars)
    kernel, began = p.kernel, perf_counter()
    at = words.buffer_info()[0]
    parallel_for(kernel.address, at, p.chunks, p.threads)
    if p.partial_bytes:
        parallel_for(p.combine, at, p.combine_chunks, 1)
    spent = perf_counter() - began
    COUNT.seconds["run"] += spent
    if not kernel.heat.asked:
        ran(kernel, spent)
    COUNT.native_launches += 1          # (`count_launch`, written out: this is the way of most launches)
    COUNT.fused_ops += kernel.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]
    del keep
    return words[Layout.FLAGS] & kernel.flags


def count_launch(p: Prepared, words: array[int]) -> None:
    COUNT.native_launches += 1
    COUNT.fused_ops += p.kernel.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]


def memory(nbytes: int) -> tuple[numpy.ndarray | None, int]:
    """Memory for the time of a launch, and where its first whole cache line begins."""
    if not nbytes:
        return None, 0
    block = empty(nbytes + LINE).ndarray()
    return block, -(-address(block) // LINE) * LINE
