"""Eight elements at a time: the loop of a function that neither stops, loops nor calls, without branches.

In:  a `Function`, the dtype characters of its inputs, the name of its loop over single elements.
Out: LLVM IR of a loop around that one; None where the function does more.
All blocks run for all elements, and masks select what is kept.  So operations run that Python would not, and
if the CPU's status flags tell that any of all these raised one, the single elements' loop does the range
again, with Python's flags.  It also does what is left over, and operands that are not contiguous.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from lazyarr import mxcsr
from lazyarr.dtypes import PLAIN
from lazyarr.scalar.ir import Branch, Edge, Function, Inst, Jump, Return, edges
from lazyarr.scalar.results import INTEGERS

LANES = 8

_LLVM = {"b": "i1", "i": "i64", "f": "double"}
_TYPE = {t: f"<{LANES} x {x}>" for t, x in _LLVM.items()}
_NEAR, _STRICT = 'metadata !"round.tonearest"', 'metadata !"fpexcept.strict"'
_INT_SIGNS = {"lt": "slt", "le": "sle", "eq": "eq", "ne": "ne", "gt": "sgt", "ge": "sge"}
_INFINITY = 0x7FF << 52
_PREFIX = "@llvm.experimental.constrained."


def splat(t: str, literal: str) -> str:
    return f"<{', '.join([f'{_LLVM[t]} {literal}'] * LANES)}>"


Emit = Callable[["Lanes", list[str]], str]


def _plain(text: str) -> Emit:
    return lambda w, args: w.op(text.format(*args, **_TYPE))


def _arithmetic(name: str) -> Emit:
    f = _TYPE["f"]

    def emit(w: Lanes, args: list[str]) -> str:
        w.declare(f"declare {f} {_PREFIX}{name}.v{LANES}f64({f}, {f}, metadata, metadata)")
        call = f"{_PREFIX}{name}.v{LANES}f64({f} {args[0]}, {f} {args[1]}, {_NEAR}, {_STRICT})"
        return w.op(f"call {f} {call} strictfp")

    return emit


def _compare(sign: str, signals: bool) -> Emit:
    f, b, name = _TYPE["f"], _TYPE["b"], f"fcmp{'s' if signals else ''}.v{LANES}f64"

    def emit(w: Lanes, args: list[str]) -> str:
        w.declare(f"declare {b} {_PREFIX}{name}({f}, {f}, metadata, metadata)")
        given = f'{f} {args[0]}, {f} {args[1]}, metadata !"{sign}", {_STRICT}'
        return w.op(f"call {b} {_PREFIX}{name}({given}) strictfp")

    return emit


def _of_bits(sign: str) -> Emit:
    def emit(w: Lanes, args: list[str]) -> str:
        bits = w.op(f"bitcast {_TYPE['f']} {args[0]} to {_TYPE['i']}")
        size = w.op(f"and {_TYPE['i']} {bits}, {splat('i', str((1 << 63) - 1))}")
        return w.op(f"icmp {sign} {_TYPE['i']} {size}, {splat('i', str(_INFINITY))}")

    return emit


def _abs(w: Lanes, args: list[str]) -> str:
    f = _TYPE["f"]
    w.declare(f"declare {f} @llvm.fabs.v{LANES}f64({f})")
    return w.op(f"call {f} @llvm.fabs.v{LANES}f64({f} {args[0]})")


EMIT: dict[str, Emit] = {
    "not": lambda w, args: w.op(f"xor {_TYPE['b']} {args[0]}, {splat('b', 'true')}"),
    **{f"bool_{name}": _plain(f"{name} {{b}} {{0}}, {{1}}") for name in ("and", "or", "xor")},
    **{f"select_{t}": _plain(f"select {{b}} {{0}}, {x} {{1}}, {x} {{2}}") for t, x in _TYPE.items()},
    **{f"int_{name}": _plain(f"{name} {{i}} {{0}}, {{1}}") for name in ("and", "or", "xor")},
    "int_invert": lambda w, args: w.op(f"xor {_TYPE['i']} {args[0]}, {splat('i', '-1')}"),
    **{f"int_{name}": _plain(f"icmp {sign} {{i}} {{0}}, {{1}}") for name, sign in _INT_SIGNS.items()},
    "float_add": _arithmetic("fadd"), "float_sub": _arithmetic("fsub"), "float_mul": _arithmetic("fmul"),
    "float_quotient": _arithmetic("fdiv"), "float_neg": _plain("fneg {f} {0}"),
    "float_abs": _abs,
    **{f"float_{name}": _compare(f"o{name}", True) for name in ("lt", "le", "gt", "ge")},
    "float_eq": _compare("oeq", False), "float_ne": _compare("une", False),
    "float_eq_signaling": _compare("oeq", True), "float_ne_signaling": _compare("une", True),
    "isnan": _of_bits("ugt"), "isinf": _of_bits("eq"), "isfinite": _of_bits("ult"),
    "bool_int": _plain("zext {b} {0} to {i}"), "int_float": _plain("sitofp {i} {0} to {f}"),
}  # fmt: skip


QUIET = f"""
  call void @{mxcsr.READ}(ptr %saved) strictfp
  %mode = load i32, ptr %saved, align 4
  %clear = and i32 %mode, {~mxcsr.STATUS}
  store i32 %clear, ptr %status, align 4
  call void @{mxcsr.WRITE}(ptr %status) strictfp
"""
"""Clears the CPU's status flags, and keeps what was there in %saved."""


def literal(x: object) -> str:
    """A number as LLVM writes it."""
    if isinstance(x, float):
        return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"
    return str(x).lower()


class Lanes:
    """The text of one loop as it grows."""

    def __init__(self, f: Function, inputs: str) -> None:
        self.f, self.inputs = f, inputs
        self.body: list[str] = []
        self.declarations: dict[str, None] = {}
        self.names: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.ways: dict[int, list[tuple[str, Edge]]] = {}
        """Block -> masks and edges that lead to it."""
        self.returned: list[tuple[str, tuple[int, ...]]] = []

    def op(self, text: str) -> str:
        name = f"%l{len(self.body)}"
        self.body.append(f"  {name} = {text}")
        return name

    def declare(self, text: str) -> None:
        self.declarations[text] = None

    def chosen(self, t: str, ways: list[tuple[str, str]]) -> str:
        """Of values under masks, the one whose mask is true."""
        (_, found), *others = ways
        for mask, value in others:
            if value != found:
                found = self.op(f"select {_TYPE['b']} {mask}, {_TYPE[t]} {value}, {_TYPE[t]} {found}")
        return found

    def block(self, k: int) -> None:
        block = self.f.blocks[k]
        if k:
            ways = self.ways[k]
            self.masks[k] = ways[0][0]
            for mask, _ in ways[1:]:
                self.masks[k] = self.op(f"or {_TYPE['b']} {self.masks[k]}, {mask}")
            for place, v in enumerate(block.params):
                if self.f.types[v] != "n":
                    given = [(mask, self.names[edge.args[place]]) for mask, edge in ways]
                    self.names[v] = self.chosen(self.f.types[v], given)
        else:
            self.masks[k] = splat("b", "true")
            self.load(block.params[1:])
        for inst in block.body:
            self.write(inst)
        self.leave(k)

    def load(self, params: tuple[int, ...]) -> None:
        for k, (v, char) in enumerate(zip(params, self.inputs, strict=True)):
            row = PLAIN[char]
            at = self.op(f"mul i64 %i, %s{k}")
            at = self.op(f"getelementptr i8, ptr %p{k}, i64 {at}")
            x = self.op(f"load <{LANES} x {row.llvm}>, ptr {at}, align {row.itemsize}")
            zeros = f"<{', '.join(['i8 0'] * LANES)}>"
            self.names[v] = self.op(f"icmp ne <{LANES} x i8> {x}, {zeros}") if char == "?" else x

    def write(self, inst: Inst) -> None:
        t = self.f.types[inst.value]
        if inst.op == "const":
            self.names[inst.value] = splat(t, literal(inst.attr))
        elif inst.op == "element":
            (v,) = inst.args
            self.names[inst.value] = self.element(self.names[v], self.f.types[v], str(inst.attr))
        else:
            self.names[inst.value] = EMIT[inst.op](self, [self.names[a] for a in inst.args])

    def element(self, x: str, t: str, char: str) -> str:
        """A number as an element, where that never stops."""
        row = PLAIN[char]
        to = f"<{LANES} x {row.llvm}>"
        if char == "?":
            zero = {"i": splat("i", "0"), "f": splat("f", "0.0")}
            x = x if t == "b" else EMIT["int_ne" if t == "i" else "float_ne"](self, [x, zero[t]])
            return self.op(f"zext {_TYPE['b']} {x} to {to}")
        if char in INTEGERS:
            return x if t == "i" else self.op(f"zext {_TYPE['b']} {x} to {to}")
        if t == "f":
            return x
        return self.op(f"{'uitofp' if t == 'b' else 'sitofp'} {_TYPE[t]} {x} to {to}")

    def leave(self, k: int) -> None:
        end, mask = self.f.blocks[k].end, self.masks[k]
        if isinstance(end, Return):
            self.returned.append((mask, end.values))
        elif isinstance(end, Jump):
            self.ways.setdefault(end.edge.block, []).append((mask, end.edge))
        elif isinstance(end, Branch):
            cond = self.names[end.cond]
            other = self.op(f"xor {_TYPE['b']} {cond}, {splat('b', 'true')}")
            for edge, c in ((end.true, cond), (end.false, other)):
                both = self.op(f"and {_TYPE['b']} {mask}, {c}")
                self.ways.setdefault(edge.block, []).append((both, edge))

    def store(self) -> None:
        for place, char in enumerate(self.f.outs):
            ways = [(mask, self.names[values[place]]) for mask, values in self.returned]
            row, k = PLAIN[char], len(self.inputs) + place
            to = f"<{LANES} x {row.llvm}>"
            (_, found), *others = ways
            for mask, value in others:
                found = self.op(f"select {_TYPE['b']} {mask}, {to} {value}, {to} {found}")
            at = self.op(f"mul i64 %i, {row.itemsize}")
            at = self.op(f"getelementptr i8, ptr %p{k}, i64 {at}")
            self.body.append(f"  store {to} {found}, ptr {at}, align {row.itemsize}")


def _order(f: Function) -> list[int] | None:
    """The blocks, each after all that lead to it; None where one leads back."""
    left = dict.fromkeys(range(len(f.blocks)), 0)
    for block in f.blocks:
        for edge in edges(block.end):
            left[edge.block] += 1
    todo, order = [0], []
    while todo:
        k = todo.pop()
        order.append(k)
        for edge in edges(f.blocks[k].end):
            left[edge.block] -= 1
            if not left[edge.block]:
                todo.append(edge.block)
    return order if len(order) == len(f.blocks) else None


OWN = ("const", "element")


def lanes(f: Function, inputs: str) -> tuple[str, list[str]] | None:
    """The loop @loop around @single, and its declarations."""
    order = _order(f)
    if order is None or not all(i.op in EMIT or i.op in OWN for b in f.blocks for i in b.body):
        return None
    w = Lanes(f, inputs)
    for k in order:
        w.block(k)
    w.store()
    return "\n".join([*_head(w), *w.body, *_tail(w)]), list(w.declarations)


def _head(w: Lanes) -> list[str]:
    """Operands, and whether each is contiguous, or an input that stays the same."""
    chars = w.inputs + w.f.outs
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind strictfp {", "entry:"]
    lines += ["  %saved = alloca i32, align 4", "  %status = alloca i32, align 4"]
    lines += [f"  %rest = alloca [{len(chars)} x ptr], align 8", "  %left = alloca i64, align 8"]
    lines += ["  %count = load i64, ptr %dims, align 8", f"  %end = and i64 %count, {-LANES}"]
    for k, char in enumerate(chars):
        row = PLAIN[char]
        if k < len(w.inputs):
            lines.append(f"  %same{k} = alloca <{LANES} x {row.llvm}>, align 64")
        lines += [
            f"  %a{k}.slot = getelementptr ptr, ptr %args, i64 {k}",
            f"  %a{k} = load ptr, ptr %a{k}.slot, align 8",
            f"  %t{k}.at = getelementptr i64, ptr %steps, i64 {k}",
            f"  %t{k} = load i64, ptr %t{k}.at, align 8",
            f"  %dense{k} = icmp eq i64 %t{k}, {row.itemsize}",
        ]
        if k < len(w.inputs):
            lines += [f"  %still{k} = icmp eq i64 %t{k}, 0", f"  %fit{k} = or i1 %dense{k}, %still{k}"]
        else:
            lines.append(f"  %fit{k} = or i1 %dense{k}, false")
    fit = "true"
    for k in range(len(chars)):
        lines.append(f"  %all{k} = and i1 {fit}, %fit{k}")
        fit = f"%all{k}"
    lines += ["  %some = icmp ugt i64 %end, 0", *_apart(w, fit)]
    lines += ["  br i1 %go, label %begin, label %single", "begin:"]
    for k, char in enumerate(chars):
        row = PLAIN[char]
        if k >= len(w.inputs):
            lines.append(f"  %p{k} = getelementptr i8, ptr %a{k}, i64 0")
            continue
        one, many = row.llvm, f"<{LANES} x {row.llvm}>"
        lines += [
            f"  %x{k} = load {one}, ptr %a{k}, align {row.itemsize}",
            f"  %y{k} = insertelement {many} undef, {one} %x{k}, i32 0",
            f"  %z{k} = shufflevector {many} %y{k}, {many} undef, <{LANES} x i32> zeroinitializer",
            f"  store {many} %z{k}, ptr %same{k}, align 64",
            f"  %p{k} = select i1 %still{k}, ptr %same{k}, ptr %a{k}",
            f"  %s{k} = select i1 %still{k}, i64 0, i64 {row.itemsize}",
        ]
    lines += [QUIET.strip("\n"), "  br label %look", "look:"]
    return [*lines, "  %i = phi i64 [ 0, %begin ], [ %i.next, %look ]"]


def _apart(w: Lanes, fit: str) -> list[str]:
    """%go: there are vectors, and no result takes an input's place: @single could not begin again."""
    lines, go = [f"  %go0 = and i1 {fit}, %some"], 0
    for out in range(len(w.inputs), len(w.inputs + w.f.outs)):
        for k in range(len(w.inputs)):
            lines.append(f"  %apart{out}.{k} = icmp ne ptr %a{out}, %a{k}")
            lines.append(f"  %go{go + 1} = and i1 %go{go}, %apart{out}.{k}")
            go += 1
    return [*lines, f"  %go = and i1 %go{go}, true"]


def _tail(w: Lanes) -> list[str]:
    lines = [
        f"  %i.next = add i64 %i, {LANES}", "  %more = icmp ult i64 %i.next, %end",
        "  br i1 %more, label %look, label %done", "done:",
        f"  call void @{mxcsr.READ}(ptr %status) strictfp",
        "  %raised = load i32, ptr %status, align 4",
        f"  call void @{mxcsr.WRITE}(ptr %saved) strictfp", f"  %bad = and i32 %raised, {mxcsr.TOLD}",
        "  %again = icmp ne i32 %bad, 0", "  br i1 %again, label %single, label %over", "single:",
        "  call void @single(ptr %args, ptr %dims, ptr %steps, ptr %data) strictfp", "  ret void", "over:",
        "  %few = sub i64 %count, %end", "  store i64 %few, ptr %left, align 8",
    ]  # fmt: skip
    for k in range(len(w.inputs + w.f.outs)):
        lines += [
            f"  %far{k} = mul i64 %end, %t{k}", f"  %b{k} = getelementptr i8, ptr %a{k}, i64 %far{k}",
            f"  %r{k} = getelementptr ptr, ptr %rest, i64 {k}", f"  store ptr %b{k}, ptr %r{k}, align 8",
        ]  # fmt: skip
    lines.append("  %nothing = icmp eq i64 %few, 0")
    lines += ["  br i1 %nothing, label %leave, label %last", "last:"]
    lines.append("  call void @single(ptr %rest, ptr %left, ptr %steps, ptr %data) strictfp")
    return [*lines, "  br label %leave", "leave:", "  ret void", "}"]
