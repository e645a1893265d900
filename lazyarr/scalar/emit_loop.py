"""Emit: scalar IR of a loop's body -> LLVM IR of a chunk of its iterations, as the thread pool calls it.

In:  a `Function` whose parameters are the index, then all else that the body needs; which results are
parameters of the next iteration.   Out: `Text`: ``void f(words, chunk, thread)``, and what each stop means.

    words:   `Words`, then the parameters after the index: numbers by their bits, addresses
    record:  entries of the log, then the results of the last iteration; one for each chunk

A chunk that stops, or raises a status flag that counts, has written what it has written: the log of the old
bits says how to undo that.  With `ALONE` the one chunk does so itself, so that no signal's handler finds half
of a block; else `f_undo`, which is called for each chunk.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

from lazyarr import mxcsr
from lazyarr.records import NamedTuple
from lazyarr.scalar.emit import FUEL, LLVM, Lines, blocks
from lazyarr.scalar.emit import Words as First
from lazyarr.scalar.emit_elements import ENTRY, undo
from lazyarr.scalar.emit_lanes import QUIET
from lazyarr.scalar.ir import Function, Place


class Words(IntEnum):
    """What lies where in the words of a block of iterations; the first are `emit.Words`."""

    STATUS = First.STATUS
    FLAGS = First.FLAGS
    THREAD = First.THREAD
    POLL = First.POLL
    FIRST = 4
    """The index of the block's first iteration."""
    STEP = 5
    COUNT = 6
    GRAIN = 7
    """Iterations of a chunk."""
    CAPACITY = 8
    """Entries of a chunk's log."""
    LOGS = 9
    """Where the logs begin, one after the other."""
    RECORDS = 10
    ALONE = 11
    MASK = 12
    """Status flags that count."""
    PARAMS = 13


RECORD = 1
"""The first word of a record that is a result."""


class Text(NamedTuple):
    ir: str
    symbol: str
    stops: tuple[tuple[str, Place], ...]


class LoopLines(Lines):
    """The text of one chunk function as it grows."""

    signals = False

    def __init__(self, f: Function, carried: dict[int, int]) -> None:
        super().__init__(f, "")
        self.carried = carried
        """Place of a parameter (after the index) -> the result that it has from the last iteration."""
        self.given: list[tuple[list[str], str, str]] = []
        """Results, fuel and label of each way to the next iteration."""

    def load(self, params: tuple[int, ...]) -> None:
        self.names[params[0]] = "%fuel"
        self.names[params[1]] = "%index"
        for k, v in enumerate(params[2:]):
            self.names[v] = f"%r{self.carried[k]}" if k in self.carried else f"%p{k}"

    def give(self, values: tuple[int, ...], fuel: int) -> None:
        self.given.append(([self.names[v] for v in values], self.names[fuel], self.label))
        self.do("br label %latch")


def emit_loop(f: Function, results: str, carried: dict[int, int]) -> Text:
    """The chunk function of a body with results of these types."""
    w = LoopLines(f, carried)
    body = blocks(w)
    lines = [*_head(w, results), *body, *_tail(w, results)]
    for text in mxcsr.DECLARATIONS:
        w.declare(text)
    called = "".join(w.called)
    declared = [d for d in w.declarations if d not in called]
    text = "\n".join([*lines, undo("take_back"), called, *declared,
                      '!0 = !{!"branch_weights", i32 1, i32 1000000}', ""])  # fmt: skip
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    symbol = f"lazyarr_loop_{digest}"
    return Text(text.replace("@loop", f"@{symbol}"), symbol, tuple(w.stops))


def _word(name: str, at: int) -> list[str]:
    return [
        f"  %{name}.at = getelementptr i64, ptr %data, i64 {at}",
        f"  %{name} = load i64, ptr %{name}.at, align 8",
    ]


def _of_bits(name: str, t: str, bits: str) -> str:
    """A parameter, of the word that holds it."""
    how = {
        "b": f"icmp ne i64 {bits}, 0", "i": f"add i64 {bits}, 0", "f": f"bitcast i64 {bits} to double",
        "a": f"inttoptr i64 {bits} to ptr",
    }  # fmt: skip
    return f"  %{name} = {how[t]}"


_LOG = f"""
  %log.at = mul i64 %chunk, %log.capacity
  %log.bytes = mul i64 %log.at, {ENTRY}
  %logs.ptr = inttoptr i64 %logs to ptr
  %log = getelementptr i8, ptr %logs.ptr, i64 %log.bytes
"""


def _record(results: int) -> str:
    return f"""
  %record.at = mul i64 %chunk, {8 * (RECORD + results)}
  %records.ptr = inttoptr i64 %records to ptr
  %record = getelementptr i8, ptr %records.ptr, i64 %record.at
"""


def _head(w: LoopLines, results: str) -> list[str]:
    """Up to the test whether there is one more iteration."""
    lines = ["define void @loop(ptr %data, i64 %chunk, i64 %thread) nounwind strictfp {", "entry:"]
    lines += [f"  %{name} = alloca i32, align 4" for name in ("saved", "status")]
    lines.append("  %log.count = alloca i64, align 8")
    lines.append("  store i64 0, ptr %log.count, align 8")
    named = ("first", "step", "count", "grain", "log.capacity", "logs", "records", "alone", "mask")
    for name, at in zip(named, range(Words.FIRST, Words.PARAMS), strict=True):
        lines += _word(name, at)
    lines.append(_LOG.strip("\n"))
    lines.append(_record(len(results)).strip("\n"))
    for k, t in enumerate(w.f.params[1:]):
        lines += [*_word(f"w{k}", Words.PARAMS + k), _of_bits(f"p{k}", t, f"%w{k}")]
    lines += [
        "  %low = mul i64 %chunk, %grain", "  %rest = sub i64 %count, %low",
        "  %short = icmp slt i64 %rest, %grain", "  %mine = select i1 %short, i64 %rest, i64 %grain",
        "  %high = add i64 %low, %mine", "  %before = load atomic i64, ptr %data monotonic, align 8",
        "  %go = icmp eq i64 %before, 0", "  br i1 %go, label %start, label %leave", "start:",
        QUIET.strip("\n"), "  br label %look", "look:",
        "  %i = phi i64 [ %low, %start ], [ %i.next, %latch ]",
        f"  %fuel = phi i64 [ {FUEL}, %start ], [ %fuel.left, %latch ]",
    ]  # fmt: skip
    begins = {result: f"%p{k}" for k, result in w.carried.items()}
    for k, t in enumerate(results):
        begin = begins.get(k, {"b": "false", "i": "0", "f": "0.0"}[t])
        lines.append(f"  %r{k} = phi {LLVM[t]} [ {begin}, %start ], [ %r{k}.next, %latch ]")
    return [
        *lines, "  %more = icmp slt i64 %i, %high", "  br i1 %more, label %iteration, label %done",
        "iteration:", "  %moved = mul i64 %i, %step", "  %index = add i64 %first, %moved", "  br label %b0",
    ]  # fmt: skip


def _phi(name: str, t: str, ways: list[tuple[str, str]]) -> str:
    return f"  %{name} = phi {t} {', '.join(f'[ {x}, %{label} ]' for x, label in ways)}"


def _tail(w: LoopLines, results: str) -> list[str]:
    lines = ["latch:", _phi("fuel.left", "i64", [(fuel, label) for _, fuel, label in w.given])]
    for k, t in enumerate(results):
        lines.append(_phi(f"r{k}.next", LLVM[t], [(values[k], label) for values, _, label in w.given]))
    lines += ["  %i.next = add i64 %i, 1", "  br label %look"]
    if w.stopped:
        lines += ["stopped:", _phi("code", "i64", [(str(code), label) for code, label in w.stopped])]
        lines += ["  store atomic i64 %code, ptr %data monotonic, align 8", "  br label %done"]
    stopped = "[ true, %stopped ], " if w.stopped else ""
    lines += ["done:", f"  %bad.stop = phi i1 {stopped}[ false, %look ]"]
    lines += [
        f"  call void @{mxcsr.READ}(ptr %status) strictfp", "  %raised = load i32, ptr %status, align 4",
        "  %wide = zext i32 %raised to i64", "  %bits = and i64 %wide, %mask",
        f"  %flags.at = getelementptr i64, ptr %data, i64 {Words.FLAGS:d}",
        "  %old = atomicrmw or ptr %flags.at, i64 %bits monotonic",
        f"  call void @{mxcsr.WRITE}(ptr %saved) strictfp",
        "  %written = load i64, ptr %log.count, align 8", "  store i64 %written, ptr %record, align 8",
    ]  # fmt: skip
    for k, t in enumerate(results):
        lines.append(f"  %out{k}.at = getelementptr i64, ptr %record, i64 {RECORD + k}")
        value = f"%r{k}"
        if t == "b":
            lines.append(f"  %out{k} = zext i1 {value} to i64")
            t, value = "i", f"%out{k}"
        lines.append(f"  store {LLVM[t]} {value}, ptr %out{k}.at, align 8")
    return [
        *lines, "  %flagged = icmp ne i64 %bits, 0", "  %bad = or i1 %bad.stop, %flagged",
        "  %lonely = icmp ne i64 %alone, 0", "  %undoes = and i1 %bad, %lonely",
        "  br i1 %undoes, label %undo, label %leave", "undo:",
        "  call void @take_back(ptr %log, i64 %written) strictfp", "  br label %leave", "leave:",
        "  ret void", "}", _undo_chunk(len(results)),
    ]  # fmt: skip


def _undo_chunk(results: int) -> str:
    named = {"log.capacity": Words.CAPACITY, "logs": Words.LOGS, "records": Words.RECORDS}
    words = [line for name, at in named.items() for line in _word(name, at)]
    return "\n".join([
        "define void @loop_undo(ptr %data, i64 %chunk, i64 %thread) nounwind {", *words, _LOG.strip("\n"),
        _record(results).strip("\n"), "  %written = load i64, ptr %record, align 8",
        "  call void @take_back(ptr %log, i64 %written)", "  ret void", "}",
    ])  # fmt: skip
