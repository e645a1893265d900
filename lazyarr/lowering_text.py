"""Code that a program gives for an op: tried, before any kernel has it.

In:  a function that writes instructions by a Builder, a signature.   Out: an emitter and a digest of all that
it writes; or ValueError, which says what is wrong with it.
The function is called at registration, at every width, for every CPU level, and what it writes is kept: that
is what kernels get, with names of their own for its values, whatever the function would write later.
LLVM parses it, twice in one function.  It may compute on numbers, and do nothing else: no memory, no jumps,
no calls but of LLVM's arithmetic, nothing that traps or needs a library's functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit
from lazyarr.codegen.emitters_types import lane
from lazyarr.cpu_features import here
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import LEVELS
from lazyarr.dispatch.llvm import binding, within
from lazyarr.records import NamedTuple
from lazyarr.target import Target

Lower = Callable[..., str]
"""``lower(b, t, *operands)``: write an op on lanes of LLVM type `t`, that of the first operand."""

WIDTHS = (0, 2, 4, 8, 16, 32, 64)
"""Lanes of the vectors that kernels have; 0 is a scalar."""

ARITHMETIC = (
    "fneg fadd fsub fmul fdiv add sub mul shl lshr ashr and or xor icmp fcmp select trunc zext sext fptrunc "
    "fpext uitofp sitofp fptosi fptoui bitcast freeze extractelement insertelement shufflevector call ret"
)
"""Instructions that compute from operands alone and never trap.  (Integers of floats out of range, and shifts
that are too wide, are any value.)"""
OPCODES = frozenset(ARITHMETIC.split())

INTRINSICS = (
    "fma", "fmuladd", "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven",
    "copysign", "minnum", "maxnum", "minimum", "maximum", "smin", "smax", "umin", "umax", "abs", "ctpop",
    "ctlz", "cttz", "bswap", "bitreverse", "fshl", "fshr", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat",
    "fptosi.sat", "fptoui.sat",
)  # fmt: skip
"""LLVM's arithmetic, by what comes after ``llvm.``."""
CONSTRAINED = (
    "fadd", "fsub", "fmul", "fdiv", "fma", "fmuladd", "sqrt", "fcmp", "fcmps", "sitofp", "uitofp", "fptosi",
    "fptoui", "fpext", "fptrunc", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven",
    "minnum", "maxnum", "minimum", "maximum",
)  # fmt: skip
"""Of these there are forms that say which flags they raise."""
CALLEES = (
    *(f"llvm.{name}." for name in INTRINSICS),
    *(f"llvm.experimental.constrained.{name}." for name in CONSTRAINED),
)

NUMBERS = re.compile(r"(<\d+ x )?(i1|i8|i16|i32|i64|i128|float|double)>?")
"""Types that processors compute with, without a library's functions."""
CONVERSIONS = ("uitofp", "sitofp", "fptoui", "fptosi", "call")
"""Not of integers of 128 bits."""

NAME = re.compile(r'%[\w.$-]+|%"[^"]*"')
DEFINITION = re.compile(rf"\s*({NAME.pattern}) = (.*)", re.DOTALL)


class Written(NamedTuple):
    """What an op consists of, on operands ``%x0``, ``%x1``, ..."""

    lines: tuple[str, ...]
    result: str
    declarations: tuple[str, ...]

    def put(self, b: Builder, operands: Sequence[str]) -> str:
        """Write it on operands of other names; the name of the result."""
        names = {f"%x{k}": operand for k, operand in enumerate(operands)}
        for line in self.lines:
            defined = DEFINITION.fullmatch(line)
            if defined is None:
                b.do(_renamed(line.strip(), names))
            else:
                names[defined[1]] = b.op(_renamed(defined[2], names))
        for text in self.declarations:
            b.declare(text)
        return _renamed(self.result, names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return NAME.sub(lambda found: names.get(found[0], found[0]), text)


def emitter_of(name: str, lower: Lower, sig: str) -> tuple[Emit, bytes]:
    """How to emit an op of one signature, and a digest of what it writes."""
    written: dict[tuple[str, int], Written | str] = {}
    tried: set[str] = set()
    for target in (level.target for level in LEVELS):
        for width in WIDTHS:
            try:
                found = _write(name, lower, sig, target, width)
                text = _function(sig, found, target, width)
                if text not in tried:
                    _parse(name, sig, text)
                    tried.add(text)
                written[target.name, width] = found
            except ValueError as error:
                if target.machine == here():
                    raise
                written[target.name, width] = str(error)        # (no kernel of this process is for it)

    def emit(b: Builder, args: list[Any]) -> list[Any]:
        found = written[b.target.name, b.width]
        if isinstance(found, str):
            raise ValueError(found)
        return [found.put(b, args)]

    return emit, disk.digest(*map(repr, written.values()))


def _write(name: str, lower: Lower, sig: str, target: Target, width: int) -> Written:
    b = Builder(target, width)
    operands = [f"%x{k}" for k in range(len(sig.partition("->")[0]))]
    try:
        result = lower(b, lane(sig[0]), *operands)
    except Exception as error:
        raise ValueError(
            f"the lowering of {name!r} for {sig} ({target.name}, {width} lanes) raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(result, str):
        raise ValueError(f"the lowering of {name!r} for {sig} gave {result!r}, not the name of a value")
    return Written(tuple(b.lines), result, tuple(b.declarations))


def _function(sig: str, written: Written, target: Target, width: int) -> str:
    """A function in which the op is there twice, as kernels have it."""
    b = Builder(target, width)
    ins, _, out = sig.partition("->")
    first, second = ([f"%{side}{k}" for k in range(len(ins))] for side in "ab")
    written.put(b, first)
    result = written.put(b, second)
    made = b.ty(lane(out))
    given = ", ".join(f"{b.ty(lane(c))} {x}" for c, x in zip(ins * 2, first + second, strict=True))
    head, tail = [f"define {made} @op({given}) {{", "entry:"], [f"  ret {made} {result}", "}"]
    return "\n".join([*head, *b.lines, *tail, *b.declarations, ""])


def _parse(name: str, sig: str, text: str) -> None:
    try:
        binding()
    except ImportError:                 # then nothing is compiled: the reference is all there is
        return
    with within():
        llvm = binding()
        try:
            module = llvm.parse_assembly(text)
            module.verify()
            wrong = next(_wrong(module), None)
        except RuntimeError as error:
            wrong = str(error).strip()
    if wrong is not None:
        raise ValueError(f"the lowering of {name!r} for {sig} is not valid: {wrong}\n{text}")


def _wrong(module: Any) -> Iterator[str]:
    """What it does besides computing."""
    if next(iter(module.global_variables), None) is not None:
        yield "it has global variables"
    functions = [f for f in module.functions if not f.is_declaration]
    if len(functions) != 1:
        yield "it defines functions"
    blocks = list(functions[0].blocks)
    if len(blocks) != 1:
        yield "it jumps"
    for inst in blocks[0].instructions:
        yield from _unwanted(inst)
    if any(f.is_declaration and not f.name.startswith("llvm.") for f in module.functions):
        yield "it declares functions"


def _unwanted(inst: Any) -> Iterator[str]:
    """Why an instruction must not be there."""
    opcode, operands = inst.opcode, list(inst.operands)
    if opcode not in OPCODES:
        yield f"{opcode!r} is not arithmetic"
    if opcode == "call":
        callee = operands.pop().name
        if not callee.startswith(CALLEES):
            yield f"it calls {callee or 'what has no name'!r}"
    types = [str(x.type) for x in operands] + ([] if opcode == "ret" else [str(inst.type)])
    for t in types:
        found = NUMBERS.fullmatch(t)
        if (found is None and t != "metadata") or (opcode in CONVERSIONS and "i128" in t):
            yield f"{opcode!r} of {t!r} is no arithmetic of processors"
