"""Launch: bind a program's operands to memory and run its kernel.

In:  a `Program`, the address of each operand's storage, and the runtime scalars.
Out: memory written, and the floating-point status flags (NumPy's FPE bits) that were raised.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Sequence

import numpy

from lazyarr.buffers import empty
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_plan import WORDS, Cuts, cut, fill
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.assemble import Program
from lazyarr.geometry import address
from lazyarr.kernels import Kernel, cost, kernel_for
from lazyarr.schedule import chunk_count, tiles, worth_threads
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for

NONTEMPORAL_BYTES = 16 << 20
"""Outputs of at least this size do not stay in the caches: store past them, if pages are warm."""

LINE = 64


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
    pointers = [base + offset for base, offset in zip(bases, program.offsets, strict=True)]
    if "r" in program.parfor.dims:
        return _launch_fold(program, pointers, scalars)
    return _launch_map(program, pointers, scalars, streams)


def _launch_map(
    program: Program, pointers: Sequence[int], scalars: Sequence[numpy.generic], streams: bool
) -> int:
    parfor, loops = program.parfor, program.loops
    itemsizes = [PLAIN[o.dtype].itemsize for o in parfor.operands]
    tile = tiles(loops.shape, loops.strides, itemsizes)
    nontemporal = streams and _may_stream(program, pointers, itemsizes)
    kernel = kernel_for(parfor, nontemporal)
    chunks = chunk_count(loops.shape, tile)
    layout = kernel.layout
    words = array("q", bytes(8 * layout.extra(0)))
    for d, n in enumerate(loops.shape):
        words[layout.tile(d)] = tile[d]
        words[layout.grid(d)] = -(-n // tile[d])
    _bind(kernel, words, program, pointers, scalars)
    scratch = _scratch(kernel, words, _threads(program, chunks))
    flags = _run(kernel, words, chunks, _threads(program, chunks), kernel.address)
    del scratch
    return flags


def _launch_fold(program: Program, pointers: Sequence[int], scalars: Sequence[numpy.generic]) -> int:
    kernel = kernel_for(program.parfor)
    cuts: Cuts = cut(program.parfor, program.loops.shape, program.run)
    words = array("q", bytes(8 * (kernel.layout.extra(0) + WORDS)))
    _bind(kernel, words, program, pointers, scalars)
    partials = empty(cuts.partial_bytes + LINE).ndarray() if cuts.partial_bytes else None
    at = 0 if partials is None else -(-address(partials) // LINE) * LINE
    fill(words, kernel.layout, cuts, at)
    threads = _threads(program, cuts.chunks)
    scratch = _scratch(kernel, words, threads)
    flags = _run(kernel, words, cuts.chunks, threads, kernel.address)
    if partials is not None:
        parallel_for(kernel.combine, words.buffer_info()[0], cuts.combine_chunks, 1)
        flags |= words[Layout.FLAGS]
    del scratch
    return flags


def _bind(
    kernel: Kernel, words: array[int], program: Program, pointers: Sequence[int],
    scalars: Sequence[numpy.generic],
) -> None:
    """Extents, pointers, strides, scalars and NumPy's inner loops."""
    layout, loops = kernel.layout, program.loops
    for d, n in enumerate(loops.shape):
        words[layout.shape(d)] = n
    for k, pointer in enumerate(pointers):
        words[layout.pointer(k)] = pointer
        for d, stride in enumerate(loops.strides[k]):
            words[layout.stride(k, d)] = stride
    for k, scalar in enumerate(scalars):
        raw = scalar.tobytes().ljust(16, b"\0")
        words[layout.scalar(k)] = int.from_bytes(raw[:8], "little", signed=True)
        words[layout.scalar(k) + 1] = int.from_bytes(raw[8:], "little", signed=True)
    for k, loop in enumerate(kernel.loops):
        words[layout.loop(k)] = loop.address
        words[layout.loop(k) + 1] = loop.data


def _may_stream(program: Program, pointers: Sequence[int], sizes: Sequence[int]) -> bool:
    if len(program.loops.shape) != 1:
        return False
    written = 0
    for o, p, size in zip(program.parfor.operands, pointers, sizes, strict=True):
        if o.role != "in":
            if o.access != "u" or p % LINE:
                return False
            written += size * program.loops.shape[0]
    return written >= NONTEMPORAL_BYTES


def _threads(program: Program, chunks: int) -> int:
    """One, unless the work outweighs the waking of workers."""
    if chunks == 1:
        return 1
    parfor = program.parfor
    moved = sum(PLAIN[o.dtype].itemsize for o in parfor.operands if o.access != "z")
    work = sum(cost(i.op) for i in parfor.body)
    if worth_threads(math.prod(program.loops.shape), moved, work):
        return min(get_num_threads(), chunks)
    return 1


def _scratch(kernel: Kernel, words: array[int], threads: int) -> numpy.ndarray | None:
    """Scratch memory for every thread; keep it until the kernel is done."""
    if not kernel.scratch_bytes:
        return None
    scratch = empty(kernel.scratch_bytes * threads + LINE).ndarray()
    words[Layout.SCRATCH] = -(-address(scratch) // LINE) * LINE
    return scratch


def _run(kernel: Kernel, words: array[int], chunks: int, threads: int, entry: int) -> int:
    began = time.perf_counter()
    parallel_for(entry, words.buffer_info()[0], chunks, threads)
    COUNT.seconds["run"] += time.perf_counter() - began
    COUNT.native_launches += 1
    COUNT.fused_ops += kernel.ops
    if kernel.loops:
        COUNT.numpy_loop_blocks += chunks
    return words[Layout.FLAGS]
