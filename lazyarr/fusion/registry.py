"""The registry: which rewrites are in force, by stage, and by what plans know it.

In:  rules, rewrites and ops, of lazyarr and of programs.   Out: `Rules`, which never change: the last part of
     `config.plan_key`.
A plan is made by one `Rules`, which its key names (`config.plan_by`).  Equal sets are one object: so plans
of before a registration are not found after it, and are found again once it is taken back.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy

from lazyarr import config
from lazyarr.dtypes import PLAIN, char_of
from lazyarr.fusion import termination
from lazyarr.fusion.matching import Entry, bits, entry_of
from lazyarr.fusion.replacement import Lowering, Step, arity, expanded, is_known, typed
from lazyarr.fusion.rewrite import (
    AS,
    CAST,
    CONSTANT,
    KINDS,
    AnyRewrite,
    Keeps,
    Rewrite,
    Rule,
    Stage,
    Value,
    is_number,
    named_parts,
    names,
    nodes,
    ops,
)
from lazyarr.fusion.rules import RULES
from lazyarr.records import dataclass, field
from lazyarr.switches import is_off

NONE = -1
"""What a constant is that no pattern names."""


@dataclass(frozen=True, slots=True, eq=False)
class Active:
    """The rewrites that may be applied where that much is kept."""

    untyped: dict[str, Rule] = field(default_factory=dict)
    typed: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    parfor: tuple[Rewrite, ...] = ()
    numbers: dict[tuple[str, bytes], int] = field(default_factory=dict)
    """The numbers in patterns, as elements of each type: plans depend on which of them a constant is."""
    flagless: bool = False
    """Some do not keep flags: plans depend on which operations ignore them."""
    made: Mapping[str, Lowering] = field(default_factory=dict)
    known: dict[Any, tuple[Step, ...] | None] = field(default_factory=dict)
    """Replacements with types, by rule and types."""

    def seen(self, constant: numpy.generic) -> int:
        """Which number of the patterns a constant is."""
        return self.numbers.get((constant.dtype.char, constant.tobytes()), NONE)

    def steps(self, rule: AnyRewrite, tree: Any, leaves: Mapping[Any, str], result: str) -> Any:
        """`replacement.typed`; that of a rule is remembered by the types of its names."""
        if not isinstance(rule, Rule):
            return typed(tree, leaves, result, self.made)
        key = rule.name, result, tuple(leaves.items())
        if key not in self.known:
            self.known[key] = typed(tree, leaves, result, self.made)
        return self.known[key]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Rules:
    """A set of rewrites and the ops that they may use; equal sets are one object."""

    rewrites: tuple[AnyRewrite, ...] = ()
    made: tuple[Lowering, ...] = ()
    levels: dict[Keeps, Active] = field(default_factory=dict)

    def at(self, level: Keeps) -> Active:
        """Those that keep as much as `level` says."""
        found = self.levels.get(level)
        if found is None:
            found = self.levels[level] = _active(self, level)
        return found

    def op(self, name: str) -> Lowering | None:
        return next((op for op in self.made if op.name == name), None)


def _active(rules: Rules, level: Keeps) -> Active:
    made = {op.name: op for op in rules.made}
    mine = [r for r in rules.rewrites if r.keeps <= level and not is_off("rewrites", r.name)]
    typed_: dict[str, list[Entry]] = {}
    for rule in mine:
        if rule.stage is Stage.TYPED:
            for root, entry in _entries(rule, made):
                typed_.setdefault(root, []).append(entry)
    numbers: dict[tuple[str, bytes], int] = {}
    for literal in (n for r in mine if isinstance(r, Rule) for n in nodes(r.pattern) if is_number(n)):
        for char in PLAIN:
            found = bits(literal, char)             # type: ignore[arg-type]
            if found is not None:
                numbers.setdefault((char, found), len(numbers))
    return Active(
        {r.root: r for r in mine if isinstance(r, Rule) and r.stage is Stage.UNTYPED},
        {root: tuple(entries) for root, entries in typed_.items()},
        tuple(r for r in mine if isinstance(r, Rewrite) and r.stage is Stage.PARFOR),
        numbers, not all(r.keeps_flags for r in mine), made,
    )  # fmt: skip


def _entries(rule: AnyRewrite, made: Mapping[str, Lowering]) -> Iterator[tuple[str, Entry]]:
    if isinstance(rule, Rewrite):
        for root in rule.roots:
            yield root, entry_of(rule, None, None, KINDS)
        return
    pattern: Any = in_bodies(rule.pattern, made)
    yield pattern[0], entry_of(rule, pattern, expanded(rule.replacement, made), rule.kinds)


def in_bodies(tree: Any, made: Mapping[str, Lowering]) -> Any:
    """A pattern with the names that ops have in bodies."""
    if not isinstance(tree, tuple):
        return tree
    if tree[0] == AS:
        return (AS, tree[1], in_bodies(tree[2], made))
    if tree[0] == CONSTANT:
        return tree
    op = made.get(tree[0])
    return (tree[0] if op is None else op.entered, *(in_bodies(part, made) for part in tree[1:]))


_interned: WeakValueDictionary[tuple[int, ...], Rules] = WeakValueDictionary()
_lock = RLock()                 # (a handler may come while it is held)


_current = Rules()


def _put(rewrites: Sequence[AnyRewrite], made: Sequence[Lowering]) -> None:
    """Put rewrites in force; the lock is held."""
    global _current
    key = tuple(id(x) for x in (*rewrites, *made))
    found = _interned.get(key)              # (it holds what its key names)
    if found is None:
        found = _interned[key] = Rules(tuple(rewrites), tuple(made))
    _current = found
    config.plan_by(found)


def register_rewrite(rewrite: AnyRewrite, *, check: bool = False) -> AnyRewrite:
    """Have a rule or rewrite applied to what is planned from now on, by all threads.

    Parameters
    ----------
    rewrite : Rule or Rewrite
        What it promises (`keeps`, `keeps_flags`) is believed, unless `check` is True.
    check : bool, optional
        First test what it promises, as `check_rule` does, which takes up to a second.  A test of the program
        is the better place for that; without either, a rule that is wrong makes results wrong.

    Returns
    -------
    Rule or Rewrite
        The argument, for `unregister_rewrite`.

    Raises
    ------
    TypeError, ValueError
        If it is not well formed, its name is taken, it names ops that there are not, or if rewriting by it
        and the rules that there are may go on for ever.  Nothing is changed then.
    Unsound
        If it is checked, and does not keep what it promises.
    """
    if check:
        from lazyarr.fusion.soundness import check_rule

        check_rule(rewrite)
    with _lock:
        there = _current
        made = {op.name: op for op in there.made}
        check_form(rewrite, made)
        if any(r.name == rewrite.name for r in there.rewrites):
            raise ValueError(f"there is a rule {rewrite.name!r} already")
        if isinstance(rewrite, Rule) and rewrite.stage is Stage.UNTYPED:
            taken = [r.name for r in there.rewrites if _is_same_op(r, rewrite)]
            if taken:
                raise ValueError(f"rule {taken[0]!r} has another op for that of {rewrite.name!r} already")
        every = (*there.rewrites, rewrite)
        termination.check(every, made)
        _put(every, there.made)
    return rewrite


def unregister_rewrite(rewrite: AnyRewrite) -> None:
    """Take a rule or rewrite out again.

    Parameters
    ----------
    rewrite : Rule or Rewrite
        What `register_rewrite` gave.  Plans that were made without it are found again.

    Raises
    ------
    ValueError
        If it is not registered.
    """
    with _lock:
        there = _current
        kept = [r for r in there.rewrites if r is not rewrite]
        if len(kept) == len(there.rewrites):
            raise ValueError(f"rule {getattr(rewrite, 'name', rewrite)!r} is not registered")
        _put(kept, there.made)


def registered() -> dict[str, Lowering]:
    """The ops that the program added, by name."""
    return {op.name: op for op in _current.made}


def add_op(op: Lowering) -> None:
    """Let replacements have an op; ValueError if its name is taken."""
    with _lock:
        there = _current
        made = {known.name: known for known in there.made}
        if is_known(op.name, made) or op.name in (AS, CONSTANT, "copy"):
            raise ValueError(f"there is an op {op.name!r} already")
        if op.tree is not None:             # (what it uses may have gone since `replacement_form`)
            _known_ops(f"the composition of {op.name!r}", op.tree, made)
        _put(there.rewrites, (*there.made, op))


def remove_op(name: str) -> Lowering:
    """Take an op out again; ValueError if there is none, or something uses it."""
    with _lock:
        there = _current
        op = there.op(name)
        if op is None:
            raise ValueError(f"there is no op {name!r} that was registered")
        users = [r.name for r in there.rewrites if name in _ops_of(r)]
        users += [o.name for o in there.made if o.tree is not None and name in ops(o.tree)]
        if users:
            raise ValueError(f"{', '.join(map(repr, users))} use the op {name!r}")
        _put(there.rewrites, [o for o in there.made if o is not op])
    return op


def _ops_of(rewrite: AnyRewrite) -> list[str]:
    if isinstance(rewrite, Rule):
        return [*ops(rewrite.pattern), *ops(rewrite.replacement)]
    return [*rewrite.roots, *rewrite.makes]


def _is_same_op(there: AnyRewrite, new: Rule) -> bool:
    return isinstance(there, Rule) and there.stage is Stage.UNTYPED and there.root == new.root


# --------------------------------------------------------------------------- well-formedness


def check_form(rewrite: AnyRewrite, made: Mapping[str, Lowering]) -> None:
    """TypeError or ValueError if it is not well formed, or names ops that there are not."""
    if not isinstance(rewrite, Rule | Rewrite):
        raise TypeError(f"a Rule or a Rewrite is wanted, not {type(rewrite).__name__}")
    name = rewrite.name
    if not isinstance(name, str) or not isinstance(rewrite.keeps_flags, bool):
        raise TypeError(f"{name!r}: the name is a str, keeps_flags a bool")
    if not isinstance(rewrite.keeps, Keeps) or not isinstance(rewrite.stage, Stage):
        raise TypeError(f"{name!r}: keeps is a Keeps, stage a Stage")
    if isinstance(rewrite, Rewrite):
        _rewrite_form(rewrite, made)
    else:
        _rule_form(rewrite, made)


def _rewrite_form(rewrite: Rewrite, made: Mapping[str, Lowering]) -> None:
    name = repr(rewrite.name)
    if not callable(rewrite.match) or not callable(rewrite.apply):
        raise TypeError(f"{name}: match and apply are functions")
    if not all(isinstance(x, tuple) for x in (rewrite.makes, rewrite.roots, rewrite.examples)):
        raise TypeError(f"{name}: makes, examples and roots are tuples")
    whole = rewrite.stage is Stage.PARFOR
    if rewrite.stage is Stage.UNTYPED or whole is bool(rewrite.roots):
        raise ValueError(f"{name}: a Rewrite is TYPED, with roots, or PARFOR, without")
    unknown = [op for op in (*rewrite.roots, *rewrite.makes) if not is_known(op, made)]
    if unknown:
        raise ValueError(f"{name}: there is no op {unknown[0]!r}")
    for example in rewrite.examples:
        for pattern in example if whole else (example,):
            _pattern_form(name, pattern, made)


def _rule_form(rule: Rule, made: Mapping[str, Lowering]) -> None:
    name, pattern, tree = repr(rule.name), rule.pattern, rule.replacement
    if rule.stage is Stage.PARFOR:
        raise ValueError(f"{name}: a Rule is UNTYPED or TYPED; whole bodies are for a Rewrite")
    if not isinstance(rule.kinds, str) or not rule.kinds or set(rule.kinds) - set(KINDS):
        raise ValueError(f"{name}: kinds are some of {KINDS!r}, not {rule.kinds!r}")
    if rule.when is not None and not callable(rule.when):
        raise TypeError(f"{name}: when is a function of types, or None")
    _pattern_form(name, pattern, made)
    replacement_form(name, tree, made)
    bound = {*names(pattern), *named_parts(pattern)}
    unbound = [x for x in names(tree) if x not in bound]
    if unbound:
        raise ValueError(f"{name}: the pattern does not bind {', '.join(map(repr, unbound))}")
    if rule.stage is Stage.UNTYPED:
        _one_for_one(rule)


def replacement_form(name: str, tree: Any, made: Mapping[str, Lowering]) -> None:
    """TypeError or ValueError if it is no replacement."""
    for part in nodes(tree):
        _part(name, part, in_pattern=False)
    _known_ops(name, tree, made)
    inner = tree[1:] if isinstance(tree, tuple) else ()
    if any(CAST in ops(part) for part in inner):
        raise ValueError(f"{name}: in a replacement, 'cast' stands at the root only")


def _pattern_form(name: str, pattern: Any, made: Mapping[str, Lowering]) -> None:
    if not isinstance(pattern, tuple) or not pattern or pattern[0] in (AS, CONSTANT):
        raise ValueError(f"the pattern of {name} must start with an op")
    for part in nodes(pattern):
        _part(name, part, in_pattern=True)
    _known_ops(name, pattern, made)
    for op in ops(pattern):
        if op in made and made[op].tree is not None:
            raise ValueError(f"{name}: {op!r} is a composition, and no body has it")


def _part(name: str, part: Any, in_pattern: bool) -> None:
    if is_number(part):
        if not _is_element(part):
            raise ValueError(f"{name}: {part!r} is no element of a type that kernels have")
        return
    if isinstance(part, str):
        return
    if not isinstance(part, tuple) or isinstance(part, Value) or not part or not isinstance(part[0], str):
        raise TypeError(f"{name}: {part!r} is no name, number or (op, ...)")
    if part[0] in (AS, CONSTANT):
        size = 3 if part[0] == AS else 2
        if not in_pattern or len(part) != size or not isinstance(part[1], str):
            raise ValueError(f"{name}: {part!r} stands in patterns, with a name")


def _is_element(number: Any) -> bool:
    if isinstance(number, numpy.generic):
        return char_of(number.dtype) is not None
    return not isinstance(number, int) or -(2**63) <= number < 2**64


def _one_for_one(rule: Rule) -> None:
    pattern, tree = rule.pattern, rule.replacement
    assert isinstance(pattern, tuple)
    plain = isinstance(tree, tuple) and all(isinstance(x, str) for x in (*pattern, *tree))
    if not plain or len(set(pattern[1:])) < len(pattern) - 1 or sorted(pattern[1:]) != sorted(tree[1:]):   # type: ignore[index, type-var]
        raise ValueError(f"{rule.name!r}: an UNTYPED rule is one op for another of the same operands")
    if rule.when is not None or set(rule.kinds) != set(KINDS):
        raise ValueError(f"{rule.name!r}: an UNTYPED rule holds for all types")


def _known_ops(who: str, tree: Any, made: Mapping[str, Lowering]) -> None:
    for part in nodes(tree):
        if not isinstance(part, tuple) or part[0] in (AS, CONSTANT):
            continue
        op = str(part[0])
        if not is_known(op, made):
            raise ValueError(f"{who}: there is no op {op!r} (`register_lowering` makes one)")
        wanted = arity(op, made)
        if len(part) - 1 != wanted:
            raise ValueError(f"{who}: {op!r} takes {wanted} operands, not {len(part) - 1}")


_put(RULES, ())         # (a test holds them to what `register_rewrite` asks)
