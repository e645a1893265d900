"""Blocks of a loop's iterations, run by machine code: wholly, or as if they had never begun.

In:  a `Body`, values for its parameters, a range of indices.
Out: the results of its last iteration, or why it has stopped.
A block is one chunk, or several on all threads if iterations are independent.  What a block that stops has
written is undone from its log, so that Python finds the state between two iterations.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from array import array
from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr import mxcsr
from lazyarr.arrays import ndarray, now
from lazyarr.compiling.calling import read_first, warned
from lazyarr.compiling.trace import is_apart
from lazyarr.counters import COUNT
from lazyarr.dispatch import jit
from lazyarr.dtypes import char_of
from lazyarr.expr import LOCK
from lazyarr.flags import BITS
from lazyarr.geometry import address
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.kernels import host
from lazyarr.records import NamedTuple
from lazyarr.scalar.body import Body, Given, result_type
from lazyarr.scalar.elements import CHARS
from lazyarr.scalar.emit_elements import ENTRY
from lazyarr.scalar.emit_loop import RECORD, Words, emit_loop
from lazyarr.scalar.independent import Proof, accesses, independent
from lazyarr.scalar.ops import FULL, HIGH, LOW, OPS
from lazyarr.threading.limits import get_num_threads
from lazyarr.threading.run import parallel_for
from lazyarr.vectorizing import POLL_ADDRESS, Poll, polls

LOG = 1 << 17
"""Writes of a chunk that are remembered (2 MiB)."""
GRAIN_NS = 30_000.0
"""What a chunk takes at least."""
OPT = 2
"""LLVM's code generation level: a loop's code is one function, and runs long."""
_CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Unfit(Exception):
    """Arrays that machine code does not take: not aligned, or read-only where they are written to."""


class Ran(NamedTuple):
    values: tuple[Any, ...] = ()
    """Of the last iteration."""
    why: str = ""
    """Why the block has stopped: it has done nothing then."""


class Chunks:
    """The machine code of one body."""

    def __init__(
        self, body: Body, names: Sequence[str], carried: Sequence[str], results: Sequence[str]
    ) -> None:
        self.body, self.names = body, names
        types_ = "".join(map(result_type, body.results))
        feeds = {body.places[name]: results.index(name) for name in carried}
        text = emit_loop(body.function, types_, feeds)
        undo = f"{text.symbol}_undo"
        self.code = jit.load(text.ir, (text.symbol, undo), host(), OPT, kernel=False)
        self.address = self.code[text.symbol]
        self.chunk, self.undo = _CHUNK(self.address), _CHUNK(self.code[undo])
        self.stops = text.stops
        insts = [i.op for block in body.function.blocks for i in block.body]
        self.ticks = "tick" in insts
        self.stores = sum(op.startswith("store_") for op in insts)
        self.touched = accesses(body.function)
        self.written = {access.base for access in self.touched if access.writes}
        """Arrays, by first parameter."""
        if -1 in self.written:              # one of several: which, its iterations say
            self.written = {k for k, t in enumerate(body.function.params[1:]) if t == "a"}
        self.carried = tuple(carried)
        self.ns, self.timed = 2.0, False
        """What an iteration takes (what a block takes that waits for others, counts as twice as much at most:
        else threads would be called for small blocks, and then take the longer); is that known?"""
        self.order = ""
        """How blocks run, as the last proof says: what one thread does alone needs none."""
        self.proofs: dict[tuple[tuple[int, int], ...], Proof | str] = {}

    @property
    def most(self) -> int:
        """Iterations of a chunk whose writes are all remembered."""
        return LOG // max(self.stores, 1)

    def run(self, inputs: Sequence[Any], numbers: Sequence[Any], indices: range) -> Ran:
        """Run a block; `numbers` are those that the body captures."""
        with LOCK:
            arrays = self._memory(inputs)
            params = self._params(inputs, arrays, numbers)
            grain = max(int(GRAIN_NS / self.ns), 1)
            threads = min(get_num_threads(), len(indices) // grain)
            if threads > 1 or not self.order:
                proof = self.proof(params, arrays, indices)
                self.order = SIDE_BY_SIDE if isinstance(proof, Proof) else f"{IN_ORDER}: {proof}"
                threads = threads if isinstance(proof, Proof) else 1
            return self._run(params, indices, grain, max(threads, 1))

    def _memory(self, inputs: Sequence[Any]) -> dict[int, numpy.ndarray]:
        """The arrays' memory, by first parameter, with all done that waits for what it holds."""
        arrays = {self.body.places[n]: x for n, x in zip(self.names, inputs, strict=True) if is_array(x)}
        for at, x in arrays.items():
            if at in self.written:
                if not (x.geo if x.__class__ is ndarray else x).flags.writeable:
                    raise Unfit("an array that is written to is read-only")
                read_first(x)
        found = {at: now(x) if x.__class__ is ndarray else x for at, x in arrays.items()}
        for at, real in found.items():
            alignment = real.dtype.alignment
            if address(real) % alignment or any(s % alignment for s in real.strides):
                raise Unfit("an array is not aligned")
            if at in self.written and not real.flags.writeable:
                raise Unfit("an array that is written to is read-only")
        return found

    def _params(
        self, inputs: Sequence[Any], arrays: dict[int, numpy.ndarray], numbers: Sequence[Any]
    ) -> list[int]:
        """The words after the index."""
        words: list[int] = []
        for x in inputs:
            real = arrays.get(len(words))
            if real is None:
                words.append(_bits(x))
            else:
                words += (address(real), *real.shape, *real.strides)
        return words + list(map(_bits, numbers))

    def proof(self, params: list[int], arrays: dict[int, numpy.ndarray], indices: range) -> Proof | str:
        """May the iterations run in any order?"""
        if self.carried:
            return f"`{self.carried[0]}` carries a value from one iteration to the next"
        same = {at: at for at in arrays}
        for at in sorted(self.written):
            if not is_apart(arrays[at]):
                return "elements of an array that is written to may share memory"
            for other, real in arrays.items():
                if other == at or not numpy.may_share_memory(arrays[at], real):
                    continue
                if not _is_same(arrays[at], real):
                    return "arrays that are written to may share memory with others"
                same[other] = same[at]
        key = tuple(sorted(same.items()))
        if key not in self.proofs:
            self.proofs[key] = independent(self.touched, same)
        found = self.proofs[key]
        if isinstance(found, str):
            return found
        words = dict(enumerate(params))
        if any(p.at(i, words) < 0 for p in found.places for i in (indices[0], indices[-1])):
            return "indices of what it writes are negative"
        return found

    def _run(self, params: list[int], indices: range, grain: int, threads: int) -> Ran:
        count = len(indices)
        chunks = 1 if threads == 1 else min(-(-count // grain), 4 * threads)
        grain = -(-count // chunks)
        chunks = -(-count // grain)
        results = self.body.results
        size = RECORD + len(results)
        room = LOG if self.ticks else grain * self.stores
        records, logs = numpy.zeros(chunks * size, numpy.int64), _log(chunks * room)
        held = hold_signals() if self.ticks or chunks > 1 else None
        poll = Poll(held) if self.ticks else None
        words = array("q", [
            0, 0, threading.get_ident(), POLL_ADDRESS, indices.start, indices.step, count, grain, room,
            address(logs), address(records), chunks == 1, _mask(), *params,
        ])  # fmt: skip
        COUNT.loop_blocks += 1
        try:
            polls.append(poll)
            at = words.buffer_info()[0]
            began = time.perf_counter_ns()
            if chunks == 1:
                self.chunk(at, 0, 0)
            else:
                parallel_for(self.address, at, chunks, threads)
            spent = max(time.perf_counter_ns() - began, 1) * threads / count
            if chunks > 1 and (words[Words.STATUS] or words[Words.FLAGS]):
                for k in range(chunks):
                    self.undo(at, k, 0)
        finally:
            polls.pop()
            _logs.append(logs)
            if poll is not None:
                poll.end()
            else:
                release_signals(held)
        if words[Words.STATUS]:
            return Ran(why=self.stops[words[Words.STATUS] - 1][0])
        if words[Words.FLAGS]:
            return Ran(why=FLAGGED)
        self.ns, self.timed = min(spent, 2 * self.ns) if self.timed else spent, True
        COUNT.parallel_blocks += chunks > 1
        last = records[(chunks - 1) * size + RECORD :].tolist()
        return Ran(tuple(map(_number, results, last)))


SIDE_BY_SIDE = "compiled, iterations side by side"
IN_ORDER = "compiled, one iteration after the other"
FLAGGED = "a floating-point flag that NumPy warns of"
SOONER = (FULL, OPS["tick"].stops)
"""Stops that a block with fewer iterations may not meet."""
_logs: list[numpy.ndarray] = []
"""Logs that no block uses."""


def _log(writes: int) -> numpy.ndarray:
    """Room for what some chunks write."""
    words = writes * ENTRY // 8
    found = _logs.pop() if _logs else None
    _logs.clear()
    return numpy.empty(words, numpy.int64) if found is None or found.size < words else found


def is_array(x: Any) -> bool:
    return x.__class__ is ndarray or x.__class__ is numpy.ndarray


def fits(r: range) -> bool:
    """Are a range's values, its step and its length ints of 64 bits?"""
    if not r:
        return True
    low, high = sorted((r[0], r[-1]))
    return low >= LOW and high <= HIGH and high - low < HIGH and abs(r.step) <= HIGH


def _is_same(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    """Is an element of one at each place that of the other?"""
    return address(a) == address(b) and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)


def _mask() -> int:
    """Status flags that NumPy would warn of."""
    found = warned()
    return sum(bit for key, bit in mxcsr.BITS.items() if found & BITS[key])


def _bits(x: Any) -> int:
    """A number as a word."""
    if isinstance(x, float | numpy.floating):
        return int(struct.unpack("q", struct.pack("d", float(x)))[0])
    return int(x)


def _number(given: Given, word: int) -> Any:
    """The number of a word."""
    t = result_type(given)
    value: Any = bool(word) if t == "b" else word
    if t == "f":
        (value,) = struct.unpack("d", struct.pack("q", word))
    return value if given.kind == "number" else numpy.dtype(given.char).type(value)


SCALARS = {numpy.dtype(c).type: c for c in CHARS}
NUMBERS = {bool: "b", int: "i", float: "f"}


def kind_of(x: Any) -> Given | None:
    """What a body knows of a value; None for what it cannot take."""
    if is_array(x):
        dtype = x.geo.dtype if x.__class__ is ndarray else x.dtype
        char = char_of(dtype)
        ndim = len(x.shape)
        return Given("array", char, ndim) if char in CHARS and ndim else None
    t = type(x)
    if t in NUMBERS:
        return Given("number", NUMBERS[t]) if t is not int or LOW <= x <= HIGH else None
    if t not in SCALARS or (SCALARS[t] == "L" and x > HIGH):
        return None
    return Given("scalar", SCALARS[t])
