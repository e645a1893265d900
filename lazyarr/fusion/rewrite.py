"""Rewrites of parfor bodies: rules as data, matched while the body is built.

In:  an instruction about to be appended.   Out: the number of an equal value, or None.
Rules are indexed by the op at the root of their pattern, so an instruction is compared only with
the few that could apply; every rule shrinks the body, so rewriting ends.

    pattern     = name | (op, pattern...) | ("as", name, pattern)
                  a name binds a value; the same name twice, the same value
    replacement = name                               one of the bound values
    keeps       = BITWISE | VALUE | APPROX           what stays equal; the default mode runs BITWISE only
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Inst, result_char
from lazyarr.switches import is_off

Pattern = str | tuple["Pattern", ...]


class Keeps(IntEnum):
    """What a rule leaves equal, for every input."""

    BITWISE = 0
    """The same bits, NaN payloads and signed zeros included."""
    VALUE = 1
    """Equal by ==, with NaN equal to NaN."""
    APPROX = 2
    """Equal up to rounding."""


class Rule(NamedTuple):
    """One identity: where `pattern` stands, `replacement` may stand."""

    name: str
    pattern: Pattern
    replacement: str
    keeps: Keeps
    keeps_flags: bool
    """Does the replacement raise the same floating-point status flags?"""
    why: str
    kinds: str = "biufc"
    """NumPy kinds of the result for which it holds."""
    when: Callable[[Sequence[str]], bool] | None = None
    """A further condition on the dtype characters of the instruction and of what it is replaced by."""


@dataclass(slots=True, eq=False)
class Registry:
    """Rules by the op at the root of their pattern."""

    rules: dict[str, list[Rule]]

    def register(self, rule: Rule) -> Rule:
        root = rule.pattern[0]
        if not isinstance(rule.pattern, tuple) or not isinstance(root, str):
            raise ValueError(f"the pattern of {rule.name!r} must start with an op")
        if is_off("rewrites", rule.name):
            return rule
        self.rules.setdefault(root, []).append(rule)
        return rule


REGISTRY = Registry({})


def register_rewrite(rule: Rule) -> Rule:
    """Add a rule for programs that are not planned yet; returns it, to be kept for `unregister_rewrite`."""
    return REGISTRY.register(rule)


def unregister_rewrite(rule: Rule) -> None:
    """Take a registered rule out again."""
    for rules in REGISTRY.rules.values():
        if rule in rules:
            rules.remove(rule)


def simplify(inst: Inst, body: Sequence[Inst], level: Keeps = Keeps.BITWISE) -> int | None:
    """The number of a value equal to what `inst` would compute, if some rule finds one."""
    found = found_by(inst, body, level)
    return None if found is None else found[1]


def found_by(
    inst: Inst, body: Sequence[Inst], level: Keeps = Keeps.BITWISE
) -> tuple[Rule, int] | None:
    """The rule that applies to `inst`, and the number of the value that takes its place."""
    for rule in REGISTRY.rules.get(inst.op, ()):
        if rule.keeps > level or not rule.keeps_flags:
            continue
        bound = match(rule.pattern, inst, body)
        if bound is None:
            continue
        found = bound[rule.replacement]
        result, replaced = result_char(inst), result_char(body[found])
        if result == replaced and PLAIN[result].kind in rule.kinds and (
            rule.when is None or rule.when((result, replaced))
        ):
            return rule, found
    return None


def match(pattern: Pattern, inst: Inst, body: Sequence[Inst]) -> dict[str, int] | None:
    """Bind the names of `pattern` to value numbers, or None.  Iterative: patterns may be deep."""
    bound: dict[str, int] = {}
    todo: list[tuple[Pattern, int, Inst | None]] = [(pattern, -1, inst)]
    while todo:
        wanted, number, root = todo.pop()
        if isinstance(wanted, str):
            if bound.setdefault(wanted, number) != number:
                return None
            continue
        if wanted[0] == "as":
            todo.extend(((wanted[1], number, root), (wanted[2], number, root)))
            continue
        found = body[number] if root is None else root
        if found.op != wanted[0] or len(found.args) != len(wanted) - 1 or found.attr not in (None, 0):
            return None
        todo.extend((w, a, None) for w, a in zip(wanted[1:], found.args, strict=True))
    return bound
