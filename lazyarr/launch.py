"""Launch: bind a program's operands to memory and run its kernel.

In:  a `Program` and the address of each operand's storage.   Out: memory written, and the
floating-point status flags that were raised.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Sequence

import numpy

from lazyarr.buffers import empty
from lazyarr.codegen.abi import Layout
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


def launch_map(
    program: Program, bases: Sequence[int], scalars: Sequence[numpy.generic], streams: bool
) -> int:
    """Run a map.  `bases`: address of each operand's storage; `streams`: the outputs may be
    written past the caches.  Returns NumPy's FPE flags."""
    parfor, loops = program.parfor, program.loops
    itemsizes = [PLAIN[o.dtype].itemsize for o in parfor.operands]
    tile = tiles(loops.shape, loops.strides, itemsizes)
    elements = math.prod(loops.shape)
    pointers = [base + offset for base, offset in zip(bases, program.offsets, strict=True)]
    nontemporal = streams and _may_stream(program, pointers, elements, itemsizes)
    kernel = kernel_for(parfor, nontemporal)
    chunks = chunk_count(loops.shape, tile)
    threads = 1
    moved = sum(size for o, size in zip(parfor.operands, itemsizes, strict=True) if o.access != "z")
    work = sum(cost(i.op) for i in parfor.body)
    if chunks > 1 and worth_threads(elements, moved, work):
        threads = min(get_num_threads(), chunks)
    words = _words(kernel, program, pointers, tile)
    fill_constants(kernel, words, scalars)
    return run(kernel, words, chunks, threads, len(parfor.body))


def _may_stream(program: Program, pointers: Sequence[int], elements: int, sizes: Sequence[int]) -> bool:
    if len(program.loops.shape) != 1:
        return False
    written = 0
    for o, p, size in zip(program.parfor.operands, pointers, sizes, strict=True):
        if o.role != "in":
            if o.access != "u" or p % 64:
                return False
            written += size * elements
    return written >= NONTEMPORAL_BYTES


def _words(
    kernel: Kernel, program: Program, pointers: Sequence[int], tile: Sequence[int]
) -> array[int]:
    layout, loops = kernel.layout, program.loops
    words = array("q", bytes(8 * layout.extra(0)))
    for d, n in enumerate(loops.shape):
        words[layout.shape(d)] = n
        words[layout.tile(d)] = tile[d]
        words[layout.grid(d)] = -(-n // tile[d])
    for k, pointer in enumerate(pointers):
        words[layout.pointer(k)] = pointer
        for d, stride in enumerate(loops.strides[k]):
            words[layout.stride(k, d)] = stride
    return words


def fill_constants(kernel: Kernel, words: array[int], scalars: Sequence[numpy.generic]) -> None:
    """Runtime scalars and the addresses of NumPy's inner loops."""
    layout = kernel.layout
    for k, scalar in enumerate(scalars):
        raw = scalar.tobytes().ljust(16, b"\0")
        words[layout.scalar(k)] = int.from_bytes(raw[:8], "little", signed=True)
        words[layout.scalar(k) + 1] = int.from_bytes(raw[8:], "little", signed=True)
    for k, loop in enumerate(kernel.loops):
        words[layout.loop(k)] = loop.address
        words[layout.loop(k) + 1] = loop.data


def run(kernel: Kernel, words: array[int], chunks: int, threads: int, ops: int) -> int:
    """Give the kernel its scratch memory and run all chunks."""
    scratch = None
    if kernel.scratch_bytes:
        scratch = empty(kernel.scratch_bytes * threads + 64).ndarray()
        words[Layout.SCRATCH] = -(-address(scratch) // 64) * 64
    began = time.perf_counter()
    parallel_for(kernel.address, words.buffer_info()[0], chunks, threads)
    COUNT.seconds["run"] += time.perf_counter() - began
    COUNT.native_launches += 1
    COUNT.fused_ops += ops
    if kernel.loops:
        COUNT.numpy_loop_blocks += chunks
    del scratch
    return words[Layout.FLAGS]
