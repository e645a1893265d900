"""Code that a program gives for an op: tried, before any kernel has it.

In:  a function that writes instructions by a Builder, a signature.   Out: an emitter and a digest of all that
it writes; or ValueError, which says what is wrong with it.
The text is parsed by LLVM in a function of its own, at every width, for every CPU level of this machine.  It
may compute, and do nothing else: no memory, no jumps, no calls but of LLVM's arithmetic, nothing that traps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import Emit
from lazyarr.codegen.emitters_types import lane
from lazyarr.cpu_features import here
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import LEVELS
from lazyarr.dispatch.llvm import binding, lock
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
    "ctlz", "cttz", "bswap", "bitreverse", "fshl", "fshr", "sadd", "uadd", "ssub", "usub", "fptosi", "fptoui",
    "experimental.constrained",
)  # fmt: skip
"""LLVM's arithmetic, by what comes after ``llvm.``."""
CALLEES = tuple(f"llvm.{name}." for name in INTRINSICS)


def emitter_of(name: str, lower: Lower, sig: str) -> tuple[Emit, bytes]:
    """How to emit an op of one signature, and a digest of what it writes."""
    emit = _emit(name, lower, sig)
    texts = []
    for target in (level.target for level in LEVELS):
        for width in WIDTHS:
            try:
                texts.append(_function(name, emit, sig, target, width))
            except ValueError as error:
                if target.machine == here():
                    raise
                texts.append(str(error))        # (no kernel of this process is for that machine)
    for text in dict.fromkeys(texts):
        _parse(name, sig, text)
    return emit, disk.digest(*texts)


def _emit(name: str, lower: Lower, sig: str) -> Emit:
    t = lane(sig[0])

    def emit(b: Builder, args: list[Any]) -> list[Any]:
        return [lower(b, t, *args)]

    return emit


def _function(name: str, emit: Emit, sig: str, target: Target, width: int) -> str:
    """A function that consists of the op."""
    b = Builder(target, width)
    ins, _, out = sig.partition("->")
    operands = [f"%x{k}" for k in range(len(ins))]
    try:
        (result,) = emit(b, list(operands))
    except Exception as error:
        raise ValueError(
            f"the lowering of {name!r} for {sig} ({target.name}, {width} lanes) raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(result, str):
        raise ValueError(f"the lowering of {name!r} for {sig} gave {result!r}, not the name of a value")
    given = ", ".join(f"{b.ty(lane(c))} {x}" for c, x in zip(ins, operands, strict=True))
    made = b.ty(lane(out))
    head, tail = [f"define {made} @op({given}) {{", "entry:"], [f"  ret {made} {result}", "}"]
    return "\n".join([*head, *b.lines, *tail, *b.declarations, ""])


def _parse(name: str, sig: str, text: str) -> None:
    if not text.startswith("define"):
        return
    try:
        binding()
    except ImportError:                 # then nothing is compiled: the reference is all there is
        return
    with lock:
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
        if inst.opcode not in OPCODES:
            yield f"{inst.opcode!r} is not arithmetic"
        if inst.opcode == "call":
            callee = list(inst.operands)[-1].name
            if not callee.startswith(CALLEES):
                yield f"it calls {callee or 'what has no name'!r}"
