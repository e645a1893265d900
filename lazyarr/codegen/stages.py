"""Stages: which instructions of a body run together, in which order, and where stores may happen.

In:  a parfor's body, and which of its ops are native.   Out: `Stages`.
A stage is one NumPy inner loop, one scan along the range, or one native loop over all native
instructions of its phase.  Phase after phase, the calls (and scans) run before the native loop:

    a native instruction is in the phase of its latest argument;
    a call is in the phase after its latest native argument, for that one must be in memory first.

What depends on memory alone is then moved as late as its uses allow: loading twice costs less
than keeping a value.  What does not vary along the range (scalars, operands with stride 0,
and what follows from them) is in no stage.

Stores may overwrite what a load of the same iteration reads (in-place programs), so none
happens before the last stage that reads an operand.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.natives import DENSE, GATHER, SCATTER
from lazyarr.fusion.parfor import EFFECTS, SCAN, Inst, Parfor
from lazyarr.records import dataclass

ONCE, LOAD, NATIVE, CALL, PART, EFFECT = "once", "load", "native", "call", "part", "effect"


@dataclass(frozen=True, slots=True)
class Stages:
    kinds: tuple[str, ...]
    """Per instruction: once (does not vary), load, native, call, effect, or part: another result
    of an op with several, which belongs to its leader."""
    leaders: tuple[int, ...]
    """Per instruction: the one that runs the op, itself if it has a single result."""
    at: tuple[int, ...]
    """Per instruction: its stage; -1 for what is in none (once, loads, effects)."""
    calls: tuple[int, ...]
    """Per stage: the instruction that calls NumPy's loop, or -1 for a native loop."""
    last_read: int
    """The last stage that reads an operand; -1 if none does."""


def stages_of(parfor: Parfor, native: Callable[[Inst], bool]) -> Stages:
    body = parfor.body
    leaders = _leaders(body)
    kinds = _kinds(parfor, native, leaders)
    phases = _phases(body, kinds, leaders)
    _postpone(body, kinds, phases)
    at, calls = _sequence(body, kinds, leaders, phases)
    reads = [
        at[leaders[v]]
        for v, inst in enumerate(body)
        if kinds[v] in (NATIVE, CALL)
        and (inst.op == GATHER or any(body[a].op == "load" for a in inst.args))
    ]
    last_read = max(reads, default=-1)
    if any(inst.op in ("store", SCATTER) and kinds[inst.args[0]] == LOAD for inst in body):
        if not calls or calls[-1] >= 0:
            calls.append(-1)
        last_read = len(calls) - 1      # a plain move reads where it stores
    return Stages(tuple(kinds), leaders, at, tuple(calls), last_read)


def _leaders(body: tuple[Inst, ...]) -> tuple[int, ...]:
    first: dict[tuple[str, str, tuple[int, ...]], int] = {}
    leaders = []
    for v, inst in enumerate(body):
        several = len(inst.sig.partition("->")[2]) > 1
        leaders.append(first.setdefault((inst.op, inst.sig, inst.args), v) if several else v)
    return tuple(leaders)


def _kinds(parfor: Parfor, native: Callable[[Inst], bool], leaders: tuple[int, ...]) -> list[str]:
    kinds: list[str] = []
    for v, inst in enumerate(parfor.body):
        if inst.op == "load":
            assert isinstance(inst.attr, int)
            kinds.append(ONCE if parfor.operands[inst.attr].access == "z" else LOAD)
        elif inst.op in EFFECTS:
            kinds.append(EFFECT)
        elif _stays(inst, parfor) and all(kinds[a] == ONCE for a in inst.args):
            kinds.append(ONCE)
        elif leaders[v] != v:
            kinds.append(PART)
        else:
            kinds.append(NATIVE if native(inst) else CALL)
    return kinds


def _stays(inst: Inst, parfor: Parfor) -> bool:
    """Is its value the same for all elements if its arguments are?"""
    if inst.op == GATHER:
        assert isinstance(inst.attr, int)
        return parfor.operands[inst.attr].access == "z"
    return inst.op not in (DENSE, SCAN)


def _phases(body: tuple[Inst, ...], kinds: list[str], leaders: tuple[int, ...]) -> list[int]:
    phases = [0] * len(body)
    for v, inst in enumerate(body):
        if kinds[v] in (NATIVE, CALL):
            wait = kinds[v] == CALL
            phases[v] = max(phases[a] + (wait and kinds[leaders[a]] == NATIVE) for a in inst.args)
        elif kinds[v] == PART:
            phases[v] = phases[leaders[v]]
    return phases


def _postpone(body: tuple[Inst, ...], kinds: list[str], phases: list[int]) -> None:
    """Move native instructions that depend on memory alone to the phase of their first use."""
    last = max((p for p, k in zip(phases, kinds, strict=True) if k == NATIVE), default=0)
    if not last:
        return
    free = [k in (LOAD, ONCE) for k in kinds]
    for v, inst in enumerate(body):
        free[v] = free[v] or (kinds[v] == NATIVE and all(free[a] for a in inst.args))
    until = [last] * len(body)
    for v in reversed(range(len(body))):
        if kinds[v] == NATIVE and free[v] and len(body[v].sig.partition("->")[2]) <= 1:
            phases[v] = max(phases[v], until[v])
        need = phases[v] - (kinds[v] == CALL)
        if kinds[v] in (NATIVE, CALL):
            for a in body[v].args:
                until[a] = min(until[a], need)


def _sequence(
    body: tuple[Inst, ...], kinds: list[str], leaders: tuple[int, ...], phases: list[int]
) -> tuple[tuple[int, ...], list[int]]:
    """Number the stages: (stage of each instruction, instruction of each call stage or -1)."""
    at = [-1] * len(body)
    calls: list[int] = []
    for phase in range(max(phases, default=0) + 1):
        members = [v for v in range(len(body)) if phases[v] == phase]
        for v in members:
            if kinds[v] == CALL:
                at[v] = len(calls)
                calls.append(v)
        natives = [v for v in members if kinds[v] == NATIVE]
        for v in natives:
            at[v] = len(calls)
        if natives:
            calls.append(-1)
    for v, leader in enumerate(leaders):
        if kinds[v] == PART:
            at[v] = at[leader]
    return tuple(at), calls
