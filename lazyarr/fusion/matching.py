"""Matching: does an instruction, with those that made its operands, have the form of a pattern?

In:  an instruction, the body so far, the constants that its scalars are.   Out: `Match`, or None.
Rules are compared with an instruction only if they have its op at the root (`registry`); of these most are
rejected by the op of one operand, or because two that are to be one are not (`may_match`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy

from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Inst
from lazyarr.fusion.rewrite import AS, CONSTANT, AnyRewrite, Number, Pattern, is_number, named_parts, names
from lazyarr.records import NamedTuple


class Match(NamedTuple):
    """What a pattern bound."""

    values: dict[str, int]
    """Value numbers by name."""
    inner: tuple[int, ...]
    """Values of the pattern's own instructions below the root."""


class Entry(NamedTuple):
    """A rewrite of the TYPED stage as it is looked for: ops have the names that they have in bodies."""

    rule: AnyRewrite
    pattern: Any
    first: tuple[tuple[int, str], ...]
    """Operands of the root that must be made by an op."""
    same: tuple[tuple[int, int], ...]
    """Operands of the root that must be one."""
    chars: frozenset[str]
    """Types of the result for which it holds."""
    dropped: tuple[str, ...]
    """Names that do not occur in the replacement: what makes them may be needed no more."""
    flat: tuple[str, ...] | None
    """The operands of the root, where all of them are names."""


ConstantOf = Callable[[Inst], numpy.generic | None]
"""The value of a 'scalar', if plans may go by it."""


def entry_of(rule: AnyRewrite, pattern: Any, replacement: Any, kinds: str) -> Entry:
    """How to look for a pattern; of a `Rewrite`, which looks for itself, it is None."""
    parts = () if pattern is None else pattern[1:]
    first = tuple(
        (k, str(part[0])) for k, part in enumerate(map(_bare, parts))
        if isinstance(part, tuple) and part[0] != CONSTANT
    )
    same = tuple(
        (parts.index(part), k) for k, part in enumerate(parts)
        if isinstance(part, str) and parts.index(part) < k
    )
    chars = frozenset(c for c, row in PLAIN.items() if row.kind in kinds)
    flat = parts if parts and all(isinstance(part, str) for part in parts) else None
    return Entry(
        rule, pattern, first, same, chars, () if pattern is None else _dropped(pattern, replacement), flat
    )


def _bare(part: Pattern) -> Pattern:
    """What "as" names."""
    while isinstance(part, tuple) and part[0] == AS:
        part = part[2]
    return part


def _dropped(pattern: Pattern, replacement: Any) -> tuple[str, ...]:
    parts, kept = named_parts(pattern), set(names(replacement))
    for name in [n for n in kept if n in parts]:
        kept.update(names(parts[name]))
    return tuple(n for n in dict.fromkeys(names(pattern)) if n not in kept)


def may_match(entry: Entry, args: Sequence[int], body: Sequence[Inst]) -> bool:
    """Are an instruction's operands, as far as can be seen at once, what a rule asks for?"""
    for j, k in entry.same:                     # (no comprehension: that is a function, for each instruction)
        if k >= len(args) or args[j] != args[k]:
            return False
    found = True
    for k, op in entry.first:
        found = found and k < len(args) and body[args[k]].op == op
    return found


def match(entry: Entry, inst: Inst, body: Sequence[Inst], constant: ConstantOf) -> Match | None:
    """Bind the names of a pattern to value numbers, or None.  Iterative: patterns may be deep."""
    if entry.flat is not None:
        args = inst.args
        if len(args) != len(entry.flat) or inst.attr not in (None, 0) or not may_match(entry, args, body):
            return None
        return Match(dict(zip(entry.flat, args, strict=True)), ())
    bound: dict[str, int] = {}
    inner: list[int] = []
    todo: list[tuple[Any, int]] = []
    if not _descend(entry.pattern, -1, inst, bound, todo):
        return None
    while todo:
        wanted, number = todo.pop()
        if isinstance(wanted, str):
            if bound.setdefault(wanted, number) != number:
                return None
            continue
        found = body[number]
        if is_number(wanted):
            if found.op != "scalar" or not is_literal(constant(found), wanted):
                return None
        elif wanted[0] == CONSTANT:
            if found.op != "scalar" or bound.setdefault(wanted[1], number) != number:
                return None
        else:
            if wanted[0] != AS:
                inner.append(number)
            if not _descend(wanted, number, found, bound, todo):
                return None
    return Match(bound, tuple(inner))


def _descend(
    wanted: Any, number: int, found: Inst, bound: dict[str, int], todo: list[tuple[Any, int]]
) -> bool:
    """Compare one instruction with the root of a pattern; what remains is to do."""
    if wanted[0] == AS:
        todo.append((wanted[2], number))
        return bound.setdefault(wanted[1], number) == number
    if found.op != wanted[0] or len(found.args) != len(wanted) - 1 or found.attr not in (None, 0):
        return False
    todo.extend(zip(wanted[1:], found.args, strict=True))
    return True


def is_literal(value: numpy.generic | None, literal: Number) -> bool:
    """Is a constant the number of a pattern, bit for bit?"""
    return value is not None and value.tobytes() == bits(literal, value.dtype.char)


@cache
def _bits(kind: Any, literal: Number, signs: tuple[bool, bool], char: str) -> bytes | None:
    dtype = numpy.dtype(char)
    if isinstance(literal, numpy.generic) and literal.dtype != dtype:
        return None
    try:
        with numpy.errstate(all="ignore"):
            found = numpy.array(literal).astype(dtype)
    except (OverflowError, TypeError):
        return None
    exact = found == literal or (found != found and literal != literal)
    return found.tobytes() if exact else None


def bits(literal: Number, char: str) -> bytes | None:
    """A number of a pattern as an element of a type; None if it is not one exactly."""
    signs = bool(numpy.signbit(literal.real)), bool(numpy.signbit(literal.imag))
    kind: Any = type(literal)
    return _bits(kind, literal, signs, char)
