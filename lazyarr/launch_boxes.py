"""Launch kernels for boxes of one space together: threads are woken once.

In:  programs, whose memory their operands are, addresses and runtime scalars.
Out: memory written, and the floating-point flags that were raised.
One kernel, the same for all programs (`codegen.boxes_shell`), runs the chunks of the others.  All words lie
in one array; what does not depend on addresses and scalars is prepared once.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from lazyarr.codegen import boxes_words as shell
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_plan import Cuts, cut, following
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.fusion.parfor import resumes
from lazyarr.fusion.program import Program
from lazyarr.hot import ran
from lazyarr.launch import Prepared, may_stream, memory, prepare, put_scalar, work
from lazyarr.plan import Step
from lazyarr.records import dataclass
from lazyarr.schedule import LINE, duration, worth_threads
from lazyarr.shared_kernels import BOXES
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for


@dataclass(slots=True, eq=False)
class Ready:
    """A launch that lacks addresses and scalars only."""

    words: array[int]
    pointers: list[tuple[int, int, int]]
    """The words for pointers; whose memory that is, and how many bytes behind its begin."""
    scalars: list[tuple[int, int, list[int]]]
    """Runtime scalars: the first box that has one, which of its constants it is, and the first words of it in
    all boxes."""
    scratch: list[tuple[int, int]]
    """The words for addresses of scratch memory, and where in the launch's it lies."""
    scratch_bytes: int
    flags: list[int]
    """The words that collect flags, besides the first one."""
    own: int
    """Those that the ops can raise."""
    calls: list[int]
    """The words that count calls of NumPy's loops."""
    chunks: int
    threads: int
    kernels: list[Prepared]
    shares: list[float]
    """Which part of the time each takes, roughly."""


def launch_boxes(
    boxes: Sequence[Step], addresses: Mapping[int, int], scalars: Sequence[Sequence[numpy.generic]],
    warm: bool,
) -> int:
    """Run the programs of the boxes.

    Parameters
    ----------
    boxes : sequence of Step
        Of one plan's step.
    addresses : mapping of int to int
        Where the memory of each operand's value begins, by its number.
    scalars : sequence of sequences of numpy.generic
        For each box its runtime scalars.
    warm : bool
        Whether the outputs' pages are, so that they may be stored past the caches.

    Returns
    -------
    int
        NumPy's FPE flags of all chunks together.
    """
    streams = tuple([
        k for k, box in enumerate(boxes) if warm and box.program is not None and may_stream(
            box.program, [addresses[v] + o for v, o in zip(box.operands, box.program.offsets, strict=True)]
        )
    ])  # fmt: skip
    first = boxes[0].program
    assert first is not None
    key = "boxes", plan_key(), streams
    ready: Ready | None = first.launches.get(key)
    if ready is None:
        ready = _prepare(boxes, streams, get_num_threads())
        if all(p.kernel.nontemporal == (k in streams) for k, p in enumerate(ready.kernels)):
            first.launches[key] = ready         # (these programs are this step's alone)
    else:
        COUNT.memory_hits += len(boxes)
    words = ready.words[:]
    for word, value, offset in ready.pointers:
        words[word] = addresses[value] + offset
    for box, constant, places in ready.scalars:
        put_scalar(words, places, scalars[box][constant])
    scratch, base = memory(ready.scratch_bytes)
    for word, offset in ready.scratch:
        words[word] = base + offset
    began = time.perf_counter()
    parallel_for(BOXES.addresses()[shell.SYMBOL], words.buffer_info()[0], ready.chunks, ready.threads)
    spent = time.perf_counter() - began
    COUNT.seconds["run"] += spent
    for p, share in zip(ready.kernels, ready.shares, strict=True):
        ran(p.kernel, spent * share)
    COUNT.native_launches += 1
    COUNT.fused_ops += sum(p.kernel.ops for p in ready.kernels)
    COUNT.numpy_loop_blocks += sum(words[word] for word in ready.calls)
    del scratch
    told = words[Layout.FLAGS]
    for word in ready.flags:
        told |= words[word]
    return told & ready.own


def _prepare(boxes: Sequence[Step], streams: Sequence[int], threads: int) -> Ready:
    """The words: head, boxes, templates."""
    programs = [box.program for box in boxes if box.program is not None and 0 not in box.program.loops.shape]
    assert len(programs) == len(boxes)
    each = [work(program) for program in programs]
    total, most = sum(n for n, _, _ in each), max(nbytes for _, nbytes, _ in each)
    threads = threads if worth_threads(total, most, max(ns for _, _, ns in each)) else 1
    kernels = _kernels(programs, streams, threads)
    times = [duration(*one) for one in each]
    words = array("q", bytes(8 * (shell.FIRST + shell.PER_BOX * len(boxes))))
    shares = [t / sum(times) for t in times]
    ready = Ready(words, [], [], [], 0, [], 0, [], 0, threads, kernels, shares)
    known: dict[Any, list[int]] = {}
    for k, (box, program, p) in enumerate(zip(boxes, programs, kernels, strict=True)):
        ready.chunks += p.chunks * (not resumes(program.parfor))
        at, here = shell.FIRST + shell.PER_BOX * k, len(words)
        resumed = k + 1 < len(programs) and resumes(programs[k + 1].parfor)
        words[at : at + shell.PER_BOX] = array("q", [ready.chunks, p.kernel.address, 8 * here, resumed])
        words.extend(p.words)
        operands = zip(p.pointers, box.operands, program.offsets, strict=True)
        ready.pointers += [(here + word, value, offset) for word, value, offset in operands]
        for at, (word, constant) in enumerate(zip(p.scalars, box.constants, strict=True)):
            which = constant if isinstance(constant, tuple) else (k, at)
            one = program.parfor.scalars[at], isinstance(constant, tuple), which
            if one not in known:
                known[one] = []
                ready.scalars.append((k, at, known[one]))
            known[one].append(here + word)
        ready.flags.append(here + Layout.FLAGS)
        ready.own |= p.kernel.flags
        ready.calls.append(here + Layout.CALLS)
        if p.kernel.scratch_bytes:
            ready.scratch.append((here + Layout.SCRATCH, ready.scratch_bytes))
            ready.scratch_bytes += -(-p.kernel.scratch_bytes * threads // LINE) * LINE
    ready.threads = min(threads, ready.chunks)
    return ready


def _kernels(programs: Sequence[Program], streams: Sequence[int], threads: int) -> list[Prepared]:
    """The kernels; those that go on from others' results have chunks of the same outputs."""
    found: list[Prepared] = []
    cuts: Cuts | None = None
    for k, program in enumerate(programs):
        shape, parfor = program.loops.shape, program.parfor
        if "r" not in parfor.dims:
            cuts = None
        elif cuts is not None and resumes(parfor):
            cuts = following(cuts, programs[k - 1].parfor, parfor, shape)
        else:
            cuts = cut(parfor, shape, program.run, program.loops.strides, threads, whole=True)
        found.append(prepare(program, k in streams, threads, cuts))
    return found
