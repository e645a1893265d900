"""Emit: scalar IR -> LLVM IR of an inner loop, called by kernels as they call NumPy's.

In:  a `Function` that returns elements, the dtype characters of its inputs.   Out: `Text`: the loop
``void f(char **args, intp *dims, intp *steps, void *data)``, and what each way to stop means.

`data` are the words of `Words`.  A loop that may stop begins with a look at STATUS, and is done at once if
anything has stopped before.  The CPU's status flags are collected in FLAGS; a loop that may stop leaves the
CPU's as they were, since a call that stops has raised none.  Fuel lasts `FUEL` rounds of loops for one run
of the inner loop; then the thread that launched it asks POLL for more, by which Python sees signals, and any
other thread stops.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

from lazyarr import mxcsr
from lazyarr.dtypes import PLAIN
from lazyarr.records import NamedTuple
from lazyarr.scalar.emit_elements import EMIT as OF_ELEMENTS
from lazyarr.scalar.emit_lanes import QUIET, lanes, literal
from lazyarr.scalar.emit_ops import EMIT as OF_NUMBERS
from lazyarr.scalar.emit_ops import INFINITE as IS_INFINITE
from lazyarr.scalar.emit_ops import TOO_LARGE, TRUNC, to_double, to_int, to_single
from lazyarr.scalar.ir import Block, Branch, Edge, Function, Inst, Jump, Place, Return, Stop
from lazyarr.scalar.ops import OPS
from lazyarr.scalar.results import INTEGERS, stops


class Words(IntEnum):
    """What lies where in a loop's data."""

    STATUS = 0
    """0, or 1 + the number of the stop."""
    FLAGS = 1
    """Status flags (`mxcsr`) that were raised."""
    THREAD = 2
    """Who launched it; 0 while nobody has."""
    POLL = 3
    """Address of ``i64 poll(void)``."""


FUEL = 1 << 24
LLVM = {"b": "i1", "i": "i64", "f": "double", "n": "i64", "a": "ptr"}
EMIT = OF_NUMBERS | OF_ELEMENTS
"""Op -> what writes it."""


class Text(NamedTuple):
    ir: str
    symbol: str
    stops: tuple[tuple[str, Place], ...]
    """Why, and where in the program, for each number of a stop; () for a loop that never does."""


class Lines:
    """The text of one loop as it grows."""

    signals = True
    """Do comparisons tell of NaNs, as Python's do?"""

    def __init__(self, f: Function, inputs: str) -> None:
        self.f, self.inputs = f, inputs
        self.body: list[str] = []
        self.declarations: dict[str, None] = {}
        self.called: dict[str, None] = {}
        """Texts of functions that it calls, and that stand beside it."""
        self.label = "entry"
        self.stops: list[tuple[str, Place]] = []
        self.stopped: list[tuple[int, str]] = []
        self.inst = Inst(-1, "")
        self.names: dict[int, str] = {}
        """Value -> what it is called."""
        self.returns: list[tuple[str, str]] = []
        """Fuel that is left, and the label of the block that returns with it."""
        self.arrivals: dict[int, list[tuple[str, Edge]]] = {}
        """Block -> labels that lead to it."""
        self._names = 0

    def fresh(self) -> int:
        self._names += 1
        return self._names

    def op(self, text: str) -> str:
        name = f"%t{self.fresh()}"
        self.body.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.body.append(f"  {text}")

    def begin(self, label: str) -> None:
        self.body.append(f"{label}:")
        self.label = label

    def declare(self, text: str) -> None:
        self.declarations[text] = None

    def calls(self, text: str) -> None:
        self.called[text] = None

    # One element

    def load(self, params: tuple[int, ...]) -> None:
        """The parameters of the entry."""
        _load(self, params)

    def give(self, values: tuple[int, ...], fuel: int) -> None:
        """Put the results of an element where they belong, and go on."""
        for place, v in enumerate(values):
            row = PLAIN[self.f.outs[place]]
            at = f"%a{len(self.inputs) + place}"
            self.do(f"store {row.llvm} {self.names[v]}, ptr {at}, align {row.itemsize}")
        self.returns.append((self.names[fuel], self.label))
        self.do("br label %latch")

    # Stopping

    def stopping(self, why: str, place: Place) -> None:
        """The block that is being written goes to `stopped`, perhaps."""
        reason = (why, place)
        if reason not in self.stops:
            self.stops.append(reason)
        self.stopped.append((self.stops.index(reason) + 1, self.label))

    def stop_if(self, bad: str, why: str = "") -> None:
        self.stopping(why or OPS[self.inst.op].stops, self.inst.place)
        on = f"c{self.fresh()}"
        self.do(f"br i1 {bad}, label %stopped, label %{on}, !prof !0")
        self.begin(on)

    def tick(self, fuel: str) -> str:
        left = self.op(f"sub i64 {fuel}, 1")
        before, more, on = self.label, f"c{self.fresh()}", f"c{self.fresh()}"
        self.do(f"br i1 {self.op(f'icmp eq i64 {left}, 0')}, label %{more}, label %{on}, !prof !0")
        self.begin(more)
        self.calls(_MORE)
        given = self.op("call i64 @more(ptr %data) strictfp")
        self.stop_if(self.op(f"icmp eq i64 {given}, 0"))
        after = self.label
        self.do(f"br label %{on}")
        self.begin(on)
        return self.op(f"phi i64 [ {left}, %{before} ], [ {given}, %{after} ]")


_MORE = f"""
define internal i64 @more(ptr %data) nounwind strictfp noinline {{
  %self = call i64 @pthread_self() strictfp
  %at = getelementptr i64, ptr %data, i64 {Words.THREAD:d}
  %owner = load i64, ptr %at, align 8
  %mine = icmp eq i64 %self, %owner
  br i1 %mine, label %ask, label %no
ask:
  %slot = getelementptr i64, ptr %data, i64 {Words.POLL:d}
  %poll = load ptr, ptr %slot, align 8
  %given = call i64 %poll() strictfp
  ret i64 %given
no:
  ret i64 0
}}
declare i64 @pthread_self()
"""

_KEEP = f"""
  %mine = or i32 %raised, %mode
  store i32 %mine, ptr %status, align 4
  call void @{mxcsr.WRITE}(ptr %status) strictfp
  ret void
"""

_TELL = f"""
  call void @{mxcsr.READ}(ptr %status) strictfp
  %raised = load i32, ptr %status, align 4
  %bits = and i32 %raised, {mxcsr.STATUS}
  %wide = zext i32 %bits to i64
  %flags.at = getelementptr i64, ptr %data, i64 {Words.FLAGS:d}
  %old = atomicrmw or ptr %flags.at, i64 %wide monotonic
"""

_GIVE_BACK = f"""
  call void @{mxcsr.WRITE}(ptr %saved) strictfp
  br label %leave
leave:
  ret void
"""


def emit(f: Function, inputs: str) -> Text:
    """The loop of a function over elements of dtypes `inputs`, one of "?lLd" for each parameter."""
    w = Lines(f, inputs)
    body = blocks(w)
    count = len(inputs) + len(f.outs)
    lines = [*_head(w, count), *body, *_tail(w, count)]
    wide = None if w.stops else lanes(f, inputs)
    if wide is not None:
        lines[0] = lines[0].replace("define void @loop(", "define internal void @single(")
        lines.append(wide[0])
    for text in (*mxcsr.DECLARATIONS, *(wide[1] if wide else ())):
        w.declare(text)
    called = "".join(w.called)
    declared = [d for d in w.declarations if d not in called]
    text = "\n".join([*lines, called, *declared, '!0 = !{!"branch_weights", i32 1, i32 1000000}', ""])
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    symbol = f"lazyarr_scalar_{digest}"
    return Text(text.replace("@loop(", f"@{symbol}("), symbol, tuple(w.stops))


def _head(w: Lines, count: int) -> list[str]:
    """Up to the test whether there are more elements."""
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind strictfp {", "entry:"]
    lines += ["  %saved = alloca i32, align 4", "  %status = alloca i32, align 4"]
    lines.append("  %count = load i64, ptr %dims, align 8")
    for k in range(count):
        lines += [
            f"  %a{k}.slot = getelementptr ptr, ptr %args, i64 {k}",
            f"  %a{k}.first = load ptr, ptr %a{k}.slot, align 8",
            f"  %a{k}.step.at = getelementptr i64, ptr %steps, i64 {k}",
            f"  %a{k}.step = load i64, ptr %a{k}.step.at, align 8",
        ]
    if w.stops:
        lines.append("  %before = load atomic i64, ptr %data monotonic, align 8")
        lines.append("  %go = icmp eq i64 %before, 0")
    lines.append("  br i1 %go, label %start, label %leave" if w.stops else "  br label %start")
    lines += ["start:", QUIET.strip("\n"), "  br label %look", "look:"]
    lines.append("  %i = phi i64 [ 0, %start ], [ %i.next, %latch ]")
    for k in range(count):
        lines.append(f"  %a{k} = phi ptr [ %a{k}.first, %start ], [ %a{k}.next, %latch ]")
    lines.append(f"  %fuel = phi i64 [ {FUEL}, %start ], [ %fuel.left, %latch ]")
    return [*lines, "  %more = icmp ult i64 %i, %count", "  br i1 %more, label %b0, label %done"]


def _tail(w: Lines, count: int) -> list[str]:
    """The next element, and the ends."""
    ways = ", ".join(f"[ {fuel}, %{label} ]" for fuel, label in w.returns)
    lines = ["latch:", f"  %fuel.left = phi i64 {ways}", "  %i.next = add i64 %i, 1"]
    for k in range(count):
        lines.append(f"  %a{k}.next = getelementptr i8, ptr %a{k}, i64 %a{k}.step")
    lines.append("  br label %look")
    if not w.stops:
        return [*lines, "done:", _TELL.strip("\n"), _KEEP.strip("\n"), "}"]
    codes = ", ".join(f"[ {code}, %{label} ]" for code, label in w.stopped)
    lines += ["stopped:", f"  %code = phi i64 {codes}"]
    lines.append("  store atomic i64 %code, ptr %data monotonic, align 8")
    return [*lines, "  br label %done", "done:", _TELL.strip("\n"), _GIVE_BACK.strip("\n"), "}"]


# ------------------------------------------------------------------------------------- blocks


def blocks(w: Lines) -> list[str]:
    """The body for one element, from label b0 on."""
    texts = []
    for k, block in enumerate(w.f.blocks):
        w.body = []
        w.label = f"b{k}"
        if k == 0:
            w.load(block.params)
        else:
            w.names |= {v: f"%v{v}" for v in block.params}
        for inst in block.body:
            _write(w, inst)
        _end(w, k, block)
        texts.append(w.body)
    lines: list[str] = []
    for k, (block, text) in enumerate(zip(w.f.blocks, texts, strict=True)):
        lines.append(f"b{k}:")
        for place, v in enumerate(block.params if k else ()):
            ways = [f"[ {w.names[edge.args[place]]}, %{label} ]" for label, edge in w.arrivals[k]]
            lines.append(f"  %v{v} = phi {LLVM[w.f.types[v]]} {', '.join(ways)}")
        lines += text
    return lines


def _load(w: Lines, params: tuple[int, ...]) -> None:
    w.names[params[0]] = "%fuel"
    for k, (v, char) in enumerate(zip(params[1:], w.inputs, strict=True)):
        row = PLAIN[char]
        x = w.op(f"load {row.llvm}, ptr %a{k}, align {row.itemsize}")
        if char == "?":
            x = w.op(f"icmp ne i8 {x}, 0")
        elif char == "L":
            w.stop_if(w.op(f"icmp slt i64 {x}, 0"), "an int beyond 64 bits with its sign")
        w.names[v] = x


def _write(w: Lines, inst: Inst) -> None:
    w.inst = inst
    if inst.op == "const":
        w.names[inst.value] = literal(inst.attr)
    elif inst.op == "element":
        (v,) = inst.args
        assert isinstance(inst.attr, str)
        w.names[inst.value] = _element(w, w.names[v], w.f.types[v], inst.attr)
    else:
        w.names[inst.value] = EMIT[inst.op](w, *[w.names[a] for a in inst.args])


def _end(w: Lines, k: int, block: Block) -> None:
    match block.end:
        case Jump(edge):
            w.do(f"br label %{_arrive(w, edge, w.label)}")
        case Branch(cond, true, false):
            here, there = w.label, f"e{k}"
            if true.block != false.block:
                yes, no = _arrive(w, true, here), _arrive(w, false, here)
                w.do(f"br i1 {w.names[cond]}, label %{yes}, label %{no}")
                return
            yes = _arrive(w, true, here)
            w.do(f"br i1 {w.names[cond]}, label %{yes}, label %{there}")
            w.begin(there)
            w.do(f"br label %{_arrive(w, false, there)}")
        case Return(values, fuel):
            w.give(values, fuel)
        case Stop(why, place):
            w.stopping(why, place)
            w.do("br label %stopped")


def _arrive(w: Lines, edge: Edge, label: str) -> str:
    w.arrivals.setdefault(edge.block, []).append((label, edge))
    return f"b{edge.block}"


# ----------------------------------------------------------------------------------- elements


def _element(w: Lines, x: str, t: str, char: str) -> str:
    """A number as an element of a dtype."""
    why = stops(t, char)
    if char == "?":
        if t != "b":
            x = EMIT[f"{'int' if t == 'i' else 'float'}_ne"](w, x, "0" if t == "i" else "0.0")
        return w.op(f"zext i1 {x} to i8")
    if t == "b":
        x = w.op(f"zext i1 {x} to i64")
        t = "i"
    if char in INTEGERS:
        return _integer(w, x, t, char, why)
    x = to_double(w, x) if t == "i" else x
    if char == "d":
        return x
    single = to_single(w, x)
    if why:
        wide = w.op(f"fpext float {single} to double")
        lost = w.op(f"and i1 {IS_INFINITE(w, wide)}, {w.op(f'xor i1 {IS_INFINITE(w, x)}, true')}")
        w.stop_if(lost, why)
    return single


def _integer(w: Lines, x: str, t: str, char: str, why: str) -> str:
    if t == "f":
        w.stop_if(TOO_LARGE(w, x), why)
        x = to_int(w, TRUNC(w, x))
    low, high = INTEGERS[char]
    if why:
        beyond = [w.op(f"icmp slt i64 {x}, {low}"), w.op(f"icmp sgt i64 {x}, {high}")]
        w.stop_if(w.op(f"or i1 {beyond[0]}, {beyond[1]}"), why)
    row = PLAIN[char]
    return x if row.itemsize == 8 else w.op(f"trunc i64 {x} to {row.llvm}")
