"""Straight-line code in stages of about the same length, so that a loop computes each for another vector.

In:  instructions of one block, in order; which values are given; `Stages`.   Out: `Staged`: the same ones by
stage, and what each stage takes from those before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lazyarr.records import NamedTuple, dataclass

_NAME = re.compile(r"%[A-Za-z0-9._]+")
_LINE = re.compile(r"  (%\S+) = (.*)")

_CYCLES = {"fadd": 2, "fsub": 2, "fmul": 3, "fdiv": 10, "fcmp": 4, "icmp": 4, "load": 5, "bitcast": 0,
           "shufflevector": 0, "fneg": 0}  # fmt: skip
"""How long results take, by instruction; else one cycle."""
_CALLED = {"llvm.fma.": 4, "llvm.sqrt.": 12, "llvm.fabs.": 1}
"""The same of functions, else `_CALL`."""
_CALL = 4


class Stages(NamedTuple):
    """How a loop is divided."""

    registers: int
    """How many are computed side by side."""
    number: int
    first: int = 0
    """Percent of the longest chain that the first stage has; 0: as much as others."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction: its result, text, and what it takes."""

    name: str
    text: str
    operands: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Staged:
    steps: list[list[Step]]
    """By stage."""
    kept: list[list[Step]]
    """By stage but the last one: what later ones take of it and of those before it."""


def parsed(lines: Iterable[str]) -> list[Step]:
    found = []
    for line in lines:
        match = _LINE.fullmatch(line)
        assert match, line
        name, text = match.groups()
        found.append(Step(name, text, tuple(dict.fromkeys(_NAME.findall(text))), _type(text)))
    return found


def _type(text: str) -> str:
    """Of a result."""
    opcode, _, rest = text.partition(" ")
    if " to " in rest and opcode in _CASTS:
        return rest.rpartition(" to ")[2]
    first = _first_type(rest)
    if opcode in ("icmp", "fcmp"):
        return re.sub(r" x .*>", " x i1>", _first_type(rest.partition(" ")[2]))
    if opcode == "select":
        return _first_type(rest[len(first) + 1 :].partition(", ")[2])
    if opcode == "shufflevector":
        length = rest.rpartition(" x i32>")[0].rpartition("<")[2]
        return re.sub(r"<\d+", f"<{length}", first)
    if opcode == "extractelement":
        return first.rpartition(" ")[2].rstrip(">")
    if opcode == "getelementptr":
        return "ptr"
    if opcode == "load":
        return first.rstrip(",")
    return first


_CASTS = {"bitcast", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc", "trunc", "zext", "sext"}


def _first_type(rest: str) -> str:
    return rest[: rest.index(">") + 1] if rest.startswith("<") else rest.partition(" ")[0].rstrip(",")


def _cycles(step: Step) -> int:
    opcode = step.text.partition(" ")[0]
    if opcode == "call":
        return next((n for name, n in _CALLED.items() if name in step.text), _CALL)
    return _CYCLES.get(opcode, 1)


def staged(lines: Sequence[str], results: Sequence[str], plan: Stages) -> Staged:
    """All stages have what is given, which is no instruction's result."""
    steps, count = parsed(lines), plan.number
    ends: dict[str, int] = {}
    for step in steps:
        ends[step.name] = max((ends.get(x, 0) for x in step.operands), default=0) + _cycles(step)
    whole = max(ends.values())
    stage = {s.name: _stage(max(0, ends[s.name] - 1), whole, plan) for s in steps}
    users: dict[str, list[str]] = {s.name: [] for s in steps}
    for s in steps:
        for x in s.operands:
            if x in users:
                users[x].append(s.name)
    last = dict.fromkeys(results, count - 1)
    _later(steps, stage, users, last, -(-whole // count) + 1)
    by_stage = [[s for s in steps if stage[s.name] == k] for k in range(count)]
    until = {s.name: max([stage[u] for u in users[s.name]] + [last.get(s.name, 0)]) for s in steps}
    kept = [[s for s in steps if stage[s.name] <= k < until[s.name]] for k in range(count - 1)]
    return Staged(by_stage, kept)


def _stage(last: int, whole: int, plan: Stages) -> int:
    """Of an instruction, by the last one of its cycles among those of the longest chain."""
    if not plan.first:
        return last * plan.number // whole
    first = -(-whole * plan.first // 100)
    return 0 if last < first else 1 + (last - first) * (plan.number - 1) // (whole - first)


def _room(t: str) -> int:
    """What it takes to keep a value: masks, which are few, are slow to copy."""
    return 2 if t.endswith(" x i1>") else 1


def _length(steps: list[Step], stage: dict[str, int], k: int) -> int:
    """Of a stage: its longest chain."""
    ends: dict[str, int] = {}
    for s in steps:
        if stage[s.name] == k:
            ends[s.name] = max((ends.get(x, 0) for x in s.operands), default=0) + _cycles(s)
    return max(ends.values(), default=0)


def _later(
    steps: list[Step], stage: dict[str, int], users: dict[str, list[str]], last: dict[str, int], most: int
) -> None:
    """Move what only later stages take, if no more is kept so, and no stage becomes longer than `most`, or
    longer than it is."""
    types = {s.name: s.type for s in steps}
    changed = True
    while changed:
        changed = False
        for s in reversed(steps):
            now = stage[s.name]
            taken = [stage[u] for u in users[s.name]] + [last[x] for x in (s.name,) if x in last]
            if min(taken, default=now) <= now:
                continue
            new = [
                x for x in s.operands if x in stage and all(stage[u] <= now for u in users[x] if u != s.name)
            ]
            if sum(_room(types[x]) for x in new) > _room(s.type):
                continue
            longest = max(most, _length(steps, stage, now + 1))
            stage[s.name] = now + 1
            if _length(steps, stage, now + 1) > longest:
                stage[s.name] = now
            else:
                changed = True
