"""Small replays: all kernels by one call of machine code.

In:  a `Trace` of little work.   Out: a `Replay`, or None where the work is not small.
The argument words of all kernels are one block of memory (`entry`), with the temporaries' places in it; a
call writes the addresses of its arrays into it.  Blocks are kept for the next calls, each for one thread at a
time.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any

import numpy

from lazyarr.codegen.abi import Layout as Words
from lazyarr.codegen.reduce_plan import DECIDED
from lazyarr.compiling import entry
from lazyarr.compiling.interpret import Link
from lazyarr.compiling.places import Cell, Launch, layout
from lazyarr.compiling.replay import COUNTED, Misfit, Replay, builder, converted, maker, over
from lazyarr.compiling.trace import Trace, parts
from lazyarr.counters import COUNT
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.program import Program
from lazyarr.geometry import address
from lazyarr.hot import ran
from lazyarr.kernels import Kernel
from lazyarr.launch import Prepared, prepare, put_scalars, work
from lazyarr.schedule import LINE, duration

LONG = 100_000
"""Nanoseconds of a kernel from which threads, and the GIL for others, are worth launches one by one."""
KEPT = 1 << 22
"""Most bytes of temporaries and scratch memory that a block keeps."""
EXTENT = 1 << 19
"""Most bytes from end to end of an operand."""


class _Writer:
    """A block as it grows: the words of kernels, and the tables."""

    def __init__(self, trace: Trace, results: int, copies: int) -> None:
        self.trace, self.copies = trace, copies
        arrays = [k for k, value in enumerate(trace.recorded.inputs) if value is not None]
        self.place = {k: 1 + n for n, k in enumerate(arrays)}
        self.first_result = 1 + len(arrays)
        self.first_number = self.first_result + results
        self.words: list[int] = []
        self.pokes: list[tuple[int, int, int, int]] = []
        self.calls: list[tuple[int, int, int, int, int]] = []
        self.kernels: list[Kernel] = []
        self.works: list[float] = []
        """Seconds that each of them takes, roughly."""
        self.counts: list[int] = []
        """Words that count calls of NumPy's loops."""
        self.kept: list[tuple[int, int]] = []
        """Words that point into the block's own memory, and where to."""
        self.own = 0
        self.temporaries: dict[int, int] = {}
        self.free: dict[int, list[int]] = {}
        """By size: places of temporaries that are over."""
        self.constants: list[Any] = []
        self.links: dict[tuple[int, type], int] = {}

    def memory(self, nbytes: int) -> int:
        """A place in the block's own memory."""
        at = self.own
        self.own += -(-max(nbytes, 1) // LINE) * LINE
        return at

    def add(self, each: Launch, p: Prepared) -> None:
        """One kernel."""
        program, first = each.step.program, len(self.words)
        assert program is not None
        places = zip(program.parfor.operands, each.cells[0], program.offsets, p.pointers, strict=True)
        for o, cell, offset, word in places:
            assert cell is not None
            self.operand(cell, first, word, offset, numpy.dtype(o.dtype).alignment, p.words)
        for word, scalar in zip(p.scalars, each.scalars[0], strict=True):
            if isinstance(scalar, Link):
                n = self.links.setdefault((scalar.ref, scalar.type), len(self.links))
                self.pokes.append((self.first_number + n, first + word, scalar.type().itemsize, 0))
            else:
                put_scalars(p.words, (word,), (scalar,))
        for word, nbytes in ((Words.SCRATCH, p.scratch_bytes), (p.partials_word, p.partial_bytes)):
            if nbytes:
                self.kept.append((first + word, self.memory(nbytes)))
        self.clear(first + Words.FLAGS)
        if p.kernel.loops:
            self.clear(first + Words.CALLS)
            self.counts.append(first + Words.CALLS)
        if "r" in program.parfor.dims:
            self.clear(first + p.kernel.layout.extra(DECIDED))
        flags = p.kernel.flags
        self.kernels.append(p.kernel)
        self.works.append(1e-9 * _duration(program))
        self.calls.append((p.kernel.address, first, p.chunks, 1, 0 if p.partial_bytes else flags))
        if p.partial_bytes:
            self.calls.append((p.combine, first, p.combine_chunks, 0, flags))
        self.words += p.words

    def clear(self, word: int) -> None:
        """Let a word that a kernel changes be 0 before each run."""
        self.pokes.append((0, word, entry.CLEAR, 0))

    def copy(self, source: Cell, to: Cell) -> None:
        """A copy of all bytes of a cell."""
        first, words = len(self.words), [0] * entry.COPY_WORDS
        words[entry.NBYTES] = source.nbytes
        for cell, word in ((source, entry.FROM), (to, entry.TO)):
            self.operand(cell, first, word, 0, 1, words)
        self.calls.append((self.copies, first, 1, 0, 0))
        self.words += words

    def operand(
        self, cell: Cell, first: int, at: int, offset: int, alignment: int, words: MutableSequence[int]
    ) -> None:  # fmt: skip
        """The word `at` of a call whose `words` come `first`."""
        word = first + at
        if cell.kind == "input":
            offset -= self.trace.recorded.offsets[cell.at]
            self.pokes.append((self.place[cell.at], word, -alignment, offset))
        elif cell.kind == "result":
            self.pokes.append((self.first_result + cell.at, word, -1, offset))
        elif cell.constant is not None:
            self.constants.append(cell.constant)
            words[at] = cell.constant.address + offset
        else:
            if id(cell) not in self.temporaries:
                free = self.free.get(cell.nbytes)
                self.temporaries[id(cell)] = free.pop() if free else self.memory(cell.nbytes)
            self.kept.append((word, self.temporaries[id(cell)] + offset))

    def end(self, cells: Sequence[Cell]) -> None:
        """These temporaries are over."""
        for cell in cells:
            self.free.setdefault(cell.nbytes, []).append(self.temporaries[id(cell)])

    def finished(self) -> tuple[list[int], int]:
        """All words, and where those of the kernels begin."""
        checks = [entry.check(*self.trace.layouts[k]) for k in self.place]
        lengths = entry.POKE * len(self.pokes), entry.CALL * len(self.calls), sum(map(len, checks))
        first = entry.HEAD + sum(lengths)
        words = entry.head()
        words[entry.POKES], words[entry.CALLS] = len(self.pokes), len(self.calls)
        words[entry.ARGUMENTS], words[entry.CHECKS] = self.first_number + len(self.links), len(checks)
        for operand, word, kind, offset in self.pokes:
            words += (operand, first + word, kind, offset)
        for kernel, word, chunks, clear, flags in self.calls:
            words += (kernel, first + word, chunks, clear, flags)
        for check in checks:
            words += check
        return words + self.words, first


def small(trace: Trace) -> Small | None:
    """The replay by one call, if the work is small and this Python has the entry."""
    found = entry.entry()
    if found is None:
        return None
    if any(step.boxes for step in trace.plan.steps):
        return None
    programs = [part.program for step in trace.plan.steps for part in parts(step)]
    if any(program is None or _is_large(program) for program in programs):
        return None
    placed = layout(trace, apart=True)
    writer = _Writer(trace, len(placed.results), found.copy)
    for each in placed.launches:
        program = each.step.program
        assert program is not None
        # (Of what is copied in part, all may be: of a new buffer the rest is written before it is read.)
        for source, to in (*each.copies, *[(source, to) for source, to, margins in each.margins if margins]):
            writer.copy(source, to)
        p = prepare(program, False, 1)
        if any(isinstance(s, Link) and s.type().itemsize > 8 for s in each.scalars[0]):
            return None
        writer.add(each, p)
        writer.end(each.ends)
    if writer.own > KEPT:
        return None
    return Small(trace, writer, found, placed.results)


def _is_large(program: Program) -> bool:
    loops = program.loops
    extents = [
        sum(abs(s) * (n - 1) for s, n in zip(strides, loops.shape, strict=True)) for strides in loops.strides
    ]
    return 0 in loops.shape or _duration(program) > LONG or max(extents, default=0) > EXTENT


def _duration(program: Program) -> float:
    """Nanoseconds that a kernel takes, roughly; what a stencil reads again is at hand."""
    elements, moved, ns = work(program)
    parfor = program.parfor
    again = [PLAIN[parfor.operands[k].dtype].itemsize for k, s in enumerate(parfor.shifts) if s.leader != k]
    return duration(elements, moved - sum(again), ns)


class Small(Replay):
    def __init__(
        self, trace: Trace, writer: _Writer, run: entry.Entry, results: list[Cell]
    ) -> None:
        super().__init__(trace)
        self.run, self.entry, self.copy = run.run, run.address, run.copy
        self.ops = sum(k.ops for k in writer.kernels)
        self.code = writer.kernels
        """Their addresses are among the words: code lives as long as its kernel."""
        self.links = [(self.places[ref], type_) for ref, type_ in writer.links]
        self.constants = writer.constants
        self.layouts = trace.layouts
        """They are compared by the identity of dtypes, which must live."""
        words, first = writer.finished()
        self.template = numpy.array(words, numpy.int64)
        self.kept = [(first + word, at) for word, at in writer.kept]
        self.counts = [first + word for word in writer.counts]
        self.own_bytes = writer.own
        self.idle: list[tuple[numpy.ndarray, numpy.ndarray]] = []
        """Blocks that no thread is using, with their memory."""
        self.sizes = [cell.nbytes for cell in results]
        self.makes = [maker(cell.nbytes, k, trace.recorded.result) for k, cell in enumerate(results)]
        self.build = builder(trace.recorded.result, lambda r: over(r, self.makes[r.at]), self.places)
        self.kernels = len(writer.calls)
        self.works = writer.works
        self.calls = 0

    def block(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        words, own = self.template.copy(), numpy.empty(self.own_bytes + LINE, numpy.uint8)
        start = -(-address(own) // LINE) * LINE
        for word, at in self.kept:
            words[word] = start + at
        return words, own

    def __call__(self, given: Sequence[Any], memory: list[Any], mask: int, looked: bool = True) -> Any:
        try:
            block = self.idle.pop()
        except IndexError:
            block = self.block()
        results = [make(*how) for make, how in self.makes]
        operands, numbers = memory + results, []
        if self.numbers is not None:
            numbers = self.numbers(given)
            operands += [converted(type_, numbers[place]) for place, type_ in self.links]
        raised = self.run(block[0], *operands, None) if looked else self.run(block[0], *operands)
        blocks = sum([int(block[0][word]) for word in self.counts])
        self.idle.append(block)
        if raised is None or raised & mask:
            raise Misfit
        COUNT.native_launches += self.kernels
        COUNT.fused_ops += self.ops
        COUNT.numpy_loop_blocks += blocks
        self.calls += 1
        if not self.calls % COUNTED:
            self.heard()
        return self.build(results, given, numbers)

    def heard(self) -> None:
        """Kernels hear of so many calls."""
        for kernel, seconds in zip(self.code, self.works, strict=True):
            ran(kernel, COUNTED * seconds)
