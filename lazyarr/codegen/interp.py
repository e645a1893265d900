"""Interpreter of the loop IR on real memory: what a kernel means, as slow and plain as possible.

In:  a `Kernel` after any pass that has placed its slots, the words of a launch, a chunk number.
Out: the chunk's operands written, by NumPy, statement by statement; status flags are not kept.
It is the oracle that emitted code is compared with.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.loopir import (
    AFTER_MAIN,
    PLACE,
    Apply,
    Blocks,
    Call,
    Gather,
    Kernel,
    Lane,
    Load,
    Loop,
    Once,
    Ref,
    Scan,
    Scatter,
    Stmt,
    Store,
)
from lazyarr.codegen.natives import DENSE, OFFSET
from lazyarr.dtypes import PLAIN
from lazyarr.ops import WITHIN, own_signature, row, within
from lazyarr.ranges import RANGES
from lazyarr.records import dataclass


def run_chunk(kernel: Kernel, words: numpy.ndarray, chunk: int, tid: int) -> None:
    """Run one chunk as the compiled kernel does.

    Parameters
    ----------
    kernel : Kernel
    words : ndarray of int64
        The argument block, see `abi`.
    chunk, tid : int
        Number of the chunk and of the thread.
    """
    layout = Layout(kernel.rank, len(kernel.operands), len(kernel.scalars), len(kernel.loops))
    low: list[int] = []
    high: list[int] = []
    for d in reversed(range(kernel.rank)):
        chunk, at = divmod(chunk, int(words[layout.grid(d)])) if d else (0, chunk)
        tile = int(words[layout.tile(d)])
        low.insert(0, at * tile)
        high.insert(0, min(at * tile + tile, int(words[layout.shape(d)])))
    for outer in itertools.product(*(range(a, z) for a, z in zip(low[:-1], high[:-1], strict=True))):
        machine = Machine(kernel, layout, words, tid)
        pointers = [machine.address(k, (*outer, low[-1])) for k in range(len(kernel.operands))]
        machine.run(kernel.body, Range(pointers, high[-1] - low[-1]))


def view(address: int, char: str, count: int, step: int) -> numpy.ndarray:
    """Elements in memory as an array."""
    size = PLAIN[char].itemsize
    first = address + min(0, (count - 1) * step)
    memory = (ctypes.c_char * (abs((count - 1) * step) + size)).from_address(first)
    return numpy.ndarray((count,), char, memoryview(memory), address - first, (step,))


@dataclass(frozen=True, slots=True)
class Range:
    pointers: list[int]
    count: int


class Machine:
    """One position of the outer loops."""

    def __init__(self, kernel: Kernel, layout: Layout, words: numpy.ndarray, tid: int) -> None:
        self.kernel, self.layout, self.words = kernel, layout, words
        self.scratch = int(words[Layout.SCRATCH]) + tid * kernel.scratch_bytes
        self.fixed: dict[int, Any] = {}
        self.running: dict[Scan, numpy.ndarray] = {}
        """The last result of each scan."""

    def stride(self, k: int, d: int) -> int:
        operand = self.kernel.operands[k]
        if d == self.kernel.rank - 1 and operand.access != "s":
            return PLAIN[operand.dtype].itemsize if operand.access == "u" else 0
        return int(self.words[self.layout.stride(k, d)])

    def address(self, k: int, index: tuple[int, ...]) -> int:
        base = int(self.words[self.layout.pointer(k)])
        return base + sum(i * self.stride(k, d) for d, i in enumerate(index))

    def run(self, stmts: tuple[Stmt, ...], at: Range) -> None:
        main = 0
        for stmt in stmts:
            if isinstance(stmt, Once):
                for lane in stmt.body:
                    self.lane(lane, self.fixed, at, 0, 1)
            elif isinstance(stmt, Blocks):
                for start in range(0, at.count, stmt.size):
                    inner = self.kernel.rank - 1
                    pointers = [p + start * self.stride(k, inner) for k, p in enumerate(at.pointers)]
                    self.run(stmt.body, Range(pointers, min(stmt.size, at.count - start)))
            elif isinstance(stmt, Call):
                self.call(stmt, at, at.count)
            elif isinstance(stmt, Scan):
                self.scan(stmt, at)
            else:
                main = self.loop(stmt, at, main if stmt.part in AFTER_MAIN else 0)

    def loop(self, loop: Loop, at: Range, start: int) -> int:
        lanes = max(loop.lanes, 1)
        end = at.count - at.count % lanes if loop.part in ("main", "more") else at.count
        for i in range(start, end, lanes):
            values = dict(self.fixed)
            for lane in loop.body:
                self.lane(lane, values, at, i, lanes)
        return end

    def scan(self, scan: Scan, at: Range) -> None:
        values = self.at(scan.source, at, 0, at.count).copy()
        if scan in self.running:
            values = numpy.concatenate([self.running[scan], values])
        with numpy.errstate(all="ignore"):
            found = row(scan.op).fn.accumulate(values, dtype=scan.source.char)
        self.at(scan.target, at, 0, at.count)[...] = found[-at.count :]
        self.running[scan] = found[-1:]

    def lane(self, lane: Lane, values: dict[int, Any], at: Range, i: int, lanes: int) -> None:
        if isinstance(lane, Load):
            values[lane.value] = self.at(lane.ref, at, i, lanes).copy()
        elif isinstance(lane, Store):
            self.at(lane.ref, at, i, lanes)[...] = values[lane.value]
        elif isinstance(lane, Call):
            self.call(lane, at, 1)
        elif isinstance(lane, Gather):
            places = self.places(lane.ref, values[lane.offset], lanes, at, i)
            values[lane.value] = numpy.concatenate([view(p, lane.ref.char, 1, 0) for p in places])
        elif isinstance(lane, Scatter):
            self.scatter(lane, values, lanes, at, i)
        else:
            results = evaluate(lane, [values[a] for a in lane.args])
            values.update((v, r) for v, r in zip(lane.values, results, strict=True) if v >= 0)

    def call(self, call: Call, at: Range, count: int) -> None:
        name, sig = self.kernel.loops[call.loop]
        ins, outs = ([self.at(ref, at, 0, count) for ref in refs] for refs in (call.ins, call.outs))
        with numpy.errstate(all="ignore"):
            row(name).fn(*ins, out=tuple(outs), signature=own_signature(name, sig))

    def places(self, ref: Ref, offsets: numpy.ndarray, lanes: int, at: Range, i: int) -> list[int]:
        """Addresses of `lanes` elements, each so many bytes further on."""
        first, step = at.pointers[ref.index], self.stride(ref.index, self.kernel.rank - 1)
        each = enumerate(numpy.broadcast_to(offsets, lanes))
        return [first + (i + k) * step + int(offset) for k, offset in each]

    def scatter(self, lane: Scatter, values: dict[int, Any], lanes: int, at: Range, i: int) -> None:
        places = self.places(lane.ref, values[lane.offset], lanes, at, i)
        for place, value in zip(places, numpy.broadcast_to(values[lane.value], lanes), strict=True):
            view(place, lane.ref.char, 1, 0)[...] = value

    def at(self, ref: Ref, at: Range, i: int, count: int) -> numpy.ndarray:
        """Elements `i` and on of a range."""
        step = 0 if ref.access == "z" else PLAIN[ref.char].itemsize
        if ref.space in ("operand", PLACE):
            base = at.pointers[ref.index]
            step = self.stride(ref.index, self.kernel.rank - 1)
        elif ref.space == "scalar":
            base = self.words.ctypes.data + 8 * self.layout.scalar(ref.index)
        else:
            base = self.scratch + self.kernel.slots[ref.index].offset
        if ref.space == PLACE:
            return numpy.uint64(base + i * step) + numpy.arange(count, dtype="L") * numpy.uint64(step)
        return view(base + i * step, ref.char, count, step)


def evaluate(lane: Apply, args: list[Any]) -> list[Any]:
    """The results of one op on arrays of a few elements."""
    outs = lane.sig.partition("->")[2]
    with numpy.errstate(all="ignore"):
        if lane.op == DENSE:
            return args
        if lane.op == OFFSET:
            steps = zip(args[::3], args[1::3], args[2::3], strict=True)
            return [sum(_held(v + n * (v < 0), n - 1) * stride for v, n, stride in steps)]
        if lane.op == "cast":
            return [args[0].astype(outs, casting="unsafe")]
        if lane.op == "where":
            return [numpy.where(*args)]
        if lane.op in RANGES:
            return [RANGES[lane.op].at(*args)]
        if lane.op == WITHIN:
            return [within(*args)]
        results = row(lane.op).fn(*args, signature=own_signature(lane.op, lane.sig))
    return list(results) if len(outs) > 1 else [results]


def _held(v: numpy.ndarray, last: numpy.ndarray) -> numpy.ndarray:
    """Positions inside an axis: what is not, is its last."""
    held: numpy.ndarray = numpy.minimum(v.view("L"), last.view("L"))
    return held.view("l")
