"""A parfor's body while it grows: value numbering, and rewriting by rules.

In:  instructions, one by one.   Out: the number of each one's value, or of an equal one's.
Equal instructions are one.  An instruction that a rule replaces is never there; what only it used stays until
`dead_code.live` drops all that nobody uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from lazyarr import switches
from lazyarr.dtypes import char_of
from lazyarr.fusion.matching import Entry, match, may_match
from lazyarr.fusion.parfor import EFFECTS, Inst, Reduction, result_char
from lazyarr.fusion.program import NUMBERING, Constant, Rewritten
from lazyarr.fusion.registry import Active
from lazyarr.fusion.replacement import LEAF, NUMBER, Step, loop_for
from lazyarr.fusion.rewrite import CAST, AnyRewrite, Rewrite, Value, is_number
from lazyarr.ops import flags, native
from lazyarr.records import dataclass, field
from lazyarr.switches import is_off

UNSAID = frozenset({"load", "scalar", "cast"})
"""Equal instructions that are no operations of the program's."""

FUEL = 100
"""Rules applied one upon another.  `termination` has proved that they end; a rewrite that makes what it does
not say comes to its end here."""

Lowerable = Callable[[str, str], bool]
"""Can a kernel have this op with this signature?"""

_rewritten: Any = partial(tuple.__new__, Rewritten)
"""(The interpreter's own constructor: that of the class takes three times as long.)"""

Found = tuple[tuple[Step, ...], Mapping[str, int] | None]
"""What a rule puts in, and what its names bound; None where steps name values by their numbers."""


@dataclass(slots=True, eq=False)
class Body:
    rules: Active
    lowerable: Lowerable
    literal: bool
    """Plans may go by constants and error states: they are in the key."""
    insts: list[Inst] = field(default_factory=list)
    numbers: dict[Inst, int] = field(default_factory=dict)
    """Value numbering: an instruction -> where it, or an equal value, is."""
    constants: list[Constant] = field(default_factory=list)
    rewrites: list[Rewritten] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    """For each instruction: which node of the group asked for it first."""
    mute: int = 0
    """How many instructions have no value."""
    at: int = 0
    """Which node of the group is being assembled."""
    ignores: bool = False
    """It ignores floating-point flags."""
    heard: set[int] = field(default_factory=set)
    """Values whose flags somebody asks for; kept only where rules look at it."""
    loud: dict[int, bool] = field(default_factory=dict)
    """Whether a value, or what it is made of, may raise flags; as far as it was asked."""
    fuel: int = FUEL

    def emit(self, inst: Inst) -> int:
        """The number of an instruction's value."""
        rules, insts, numbers = self.rules, self.insts, self.numbers
        number = None if switches.OFF and is_off("numbering") else numbers.get(inst)
        if number is not None:
            if inst.op not in UNSAID:
                self.rewrites.append(_rewritten((NUMBERING, inst.op, self.at, "")))
            self.hear(number)
            return number
        for entry in rules.typed.get(inst.op, ()):
            if may_match(entry, inst.args, insts) and (number := self.rewritten(inst, entry)) is not None:
                break
        else:
            number = len(insts)
            insts.append(inst)
            self.members.append(self.at)
        if rules.flagless:
            self.hear(number)
        numbers[inst] = number
        return number

    def hear(self, number: int) -> None:
        if self.rules.flagless and not self.ignores:
            self.heard.add(number)

    def effect(self, inst: Inst) -> None:
        """An instruction without a value."""
        self.effects((inst,))

    def effects(self, insts: Sequence[Inst]) -> None:
        """The same of several."""
        self.mute += len(insts)
        self.insts += insts
        self.members += [self.at] * len(insts)

    def scalar(self, constant: Constant) -> int:
        self.constants.append(constant)
        return self.emit(Inst("scalar", constant_char(constant), (), len(self.constants) - 1))

    def cast(self, number: int, source: str, target: str) -> int:
        return number if source == target else self.emit(Inst(CAST, f"{source}->{target}", (number,)))

    # Rules

    def constant(self, scalar: Inst) -> numpy.generic | None:
        """The value of a scalar, where the plan may go by it."""
        assert isinstance(scalar.attr, int)
        found = self.constants[scalar.attr]
        if not isinstance(found, tuple):
            return found
        value = found[0].inputs[found[1]]
        return value if self.literal and isinstance(value, numpy.generic) else None

    def rewritten(self, inst: Inst, entry: Entry) -> int | None:
        """The value that a rule gives in the place of an instruction, if it applies."""
        try:
            found = self.found(entry, inst)
        except Exception as error:              # of the program's own functions
            _tell(error, entry.rule)
            raise
        if found is None or not all(map(self.can_be, found[0])):
            return None
        steps, leaves = found
        number = self.build(entry.rule.name, steps, leaves)
        self.rewrites.append(_rewritten((entry.rule.name, inst.op, self.at, _instead(steps))))
        return number

    def found(self, entry: Entry, inst: Inst) -> Found | None:
        """What a rule puts in the place of an instruction, if it applies."""
        rule = entry.rule
        if isinstance(rule, Rewrite):
            state = rule.match(inst, self.insts)
            if state is None or not self.may_drop_flags(rule, range(len(self.insts))):
                return None
            steps = self.steps_of(rule, rule.apply(state), result_char(inst))
            return None if steps is None else (steps, None)
        found = match(entry, inst, self.insts, self.constant)
        if found is None:
            return None
        result, leaves = result_char(inst), found.values
        if result not in entry.chars or not self.may_drop_flags(rule, found.inner):
            return None
        if any(self.is_loud(leaves[name]) for name in entry.dropped):
            return None
        types = {name: result_char(self.insts[k]) for name, k in leaves.items()}
        if rule.when is not None and not rule.when({**types, "": result}):
            return None
        steps = self.rules.steps(rule, rule.replacement, types, result)
        return None if steps is None else (steps, leaves)

    def steps_of(self, rule: Rewrite, tree: Any, result: str) -> tuple[Step, ...] | None:
        """What a rewrite made of its state, typed."""
        leaves: dict[Any, str] = {}
        todo = [tree]
        while todo:
            part = todo.pop()
            if isinstance(part, Value):
                k = part.number
                if not isinstance(k, int) or not 0 <= k < len(self.insts) or self.insts[k].op in EFFECTS:
                    raise ValueError(f"there is no value {k!r}")
                leaves[part] = result_char(self.insts[k])
            elif isinstance(part, tuple) and part:
                if part[0] not in rule.makes:
                    raise ValueError(f"it does not say that it makes {part[0]!r}")
                todo += part[1:]
            elif not is_number(part):
                raise ValueError(f"{part!r} is no Value, number or (op, ...)")
        found: tuple[Step, ...] | None = self.rules.steps(rule, tree, leaves, result)
        return found

    def can_be(self, step: Step) -> bool:
        """Can kernels compute it?"""
        return step.op in (LEAF, NUMBER) or self.lowerable("copy" if step.op == CAST else step.op, step.sig)

    def build(self, rule: str, steps: Sequence[Step], leaves: Mapping[str, int] | None) -> int:
        """Emit the steps; the number of the last one's value."""
        if not self.fuel:
            raise ValueError(f"rewriting does not end: {rule!r} was applied last")
        self.fuel -= 1
        numbers: list[int] = []
        for step in steps:
            if step.op == LEAF:
                number = step.what.number if leaves is None else leaves[step.what]
            elif step.op == NUMBER:
                number = self.scalar(step.what)
            else:
                args = tuple(numbers[k] for k in step.args)
                number = self.emit(Inst(step.op, step.sig, args, None if step.op == CAST else 0))
            numbers.append(number)
        self.fuel += 1
        return numbers[-1]

    def may_drop_flags(self, rule: AnyRewrite, inner: Iterable[int]) -> bool:
        """Does a rule keep flags, or is nobody there who asks for them?"""
        return rule.keeps_flags or (self.ignores and self.heard.isdisjoint(inner))

    def is_loud(self, number: int) -> bool:
        """May a value, or what it is made of, raise flags?  They would be lost with the last use of it."""
        todo = [number]
        while todo:
            k = todo[-1]
            inst = self.insts[k]
            unknown = [a for a in inst.args if a not in self.loud]
            if unknown and k not in self.loud:
                todo += unknown
                continue
            self.loud[k] = raises(inst) or any(self.loud[a] for a in inst.args)
            todo.pop()
        return self.loud[number]

    def whole(self, rule: Rewrite) -> tuple[Body, list[int]] | None:
        """This body, complete, as a rewrite of whole bodies has it, and where each value is in it now."""
        try:
            return self.replaced(rule)
        except Exception as error:              # of the program's own functions
            _tell(error, rule)
            raise

    def replaced(self, rule: Rewrite) -> tuple[Body, list[int]] | None:
        state = rule.match(self.insts)
        if state is None or not (rule.keeps_flags or not self.heard):
            return None
        trees = rule.apply(state)
        for k in trees:
            if k not in range(len(self.insts)) or self.insts[k].op in EFFECTS:
                raise ValueError(f"there is no value {k!r} to replace")
        made = Body(self.rules, self.lowerable, self.literal)
        made.constants, made.rewrites = self.constants, self.rewrites
        place: list[int] = []
        for k, inst in enumerate(self.insts):
            made.at = self.members[k]
            now = moved(inst, tuple(place[a] for a in inst.args), place)
            steps = None
            if k in trees:
                steps = made.steps_of(rule, _placed(trees[k], place), result_char(inst))
            if inst.op in EFFECTS:
                place.append(-1)
                made.effect(now)
            elif steps is None or not all(map(made.can_be, steps)):
                place.append(made.emit(now))
            else:
                place.append(made.build(rule.name, steps, None))
                made.rewrites.append(Rewritten(rule.name, inst.op, made.at, _instead(steps)))
        return made, place

    def one_for_one(self, op: str, sig: str, args: tuple[int, ...]) -> tuple[str, str, tuple[int, ...]]:
        """The op that stands for one of the program's, by the rules that ask for no types."""
        rule = self.rules.untyped.get(op)
        while rule is not None and (rule.keeps_flags or self.ignores):
            pattern, tree = rule.pattern, rule.replacement
            assert isinstance(pattern, tuple) and isinstance(tree, tuple)
            ins, _, outs = sig.partition("->")
            order = [pattern.index(name) - 1 for name in tree[1:]]
            other = str(tree[0])
            found = loop_for(other, tuple(ins[k] for k in order))
            if found is None or found.partition("->")[2] != outs or not native(other, found):
                break                   # (the strides of a call are those of the program's operands)
            self.rewrites.append(Rewritten(rule.name, op, self.at, other))
            op, sig, args = other, found, tuple(args[k] for k in order)
            rule = self.rules.untyped.get(op)
        return op, sig, args


def raises(inst: Inst) -> bool:
    """May an instruction raise a floating-point flag?"""
    if inst.op in EFFECTS:
        return True
    name = inst.attr if isinstance(inst.attr, str) else "copy" if inst.op == CAST else inst.op
    return "->" in inst.sig and bool(flags(name, inst.sig))


def _tell(error: Exception, rule: AnyRewrite) -> None:
    """Note which rewrite was to apply."""
    error.add_note(f"The rewrite {rule.name!r} was to apply (`unregister_rewrite` takes it out).")


def _placed(tree: Any, place: Sequence[int]) -> Any:
    """A replacement whose values, all from before what it replaces, are numbered anew."""
    if isinstance(tree, Value):
        if tree.number not in range(len(place)) or place[tree.number] < 0:
            raise ValueError(f"there is no value {tree.number!r} before what is replaced")
        return Value(place[tree.number])
    if not isinstance(tree, tuple) or not tree:
        return tree
    return (tree[0], *(_placed(part, place) for part in tree[1:]))


def moved(inst: Inst, args: tuple[int, ...], place: Sequence[int] | Mapping[int, int] | range) -> Inst:
    """The instruction with other arguments, and what its Reduction refers to renumbered."""
    how = inst.attr
    if isinstance(how, Reduction):
        how = how._replace(
            start=how.start if how.start < 0 else place[how.start],
            mask=how.mask if how.mask < 0 else place[how.mask],
        )
    return inst._replace(args=args, attr=how)


def _instead(steps: Sequence[Step]) -> str:
    """The ops of a replacement, for people."""
    return ", ".join(step.op for step in steps if step.op not in (LEAF, NUMBER))


def constant_char(constant: Constant) -> str:
    """The type of a runtime scalar."""
    value = constant[0].inputs[constant[1]] if isinstance(constant, tuple) else constant
    assert isinstance(value, numpy.generic)
    char = char_of(value.dtype)
    assert char is not None
    return char

