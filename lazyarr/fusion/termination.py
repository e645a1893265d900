"""Termination: why rewriting by a set of rules ends.

In:  rewrites.   Out: nothing, or ValueError, which names those that go round in a circle.

An instruction that a rule makes may be rewritten in turn.  Its op is one of the replacement's, so an endless
sequence follows a circle of ops for ever.  Where there is no circle there is none: ops are ordered.  Around a
circle a measure must fall: each rule that stays in it makes fewer instructions than its pattern has, or each
makes cheaper ones; those by which operands in their replacements may be rewritten make no more; and none of
them names a value more often than its pattern does.  Then each round makes the expression that it rewrites
smaller, whatever the values are, and that ends.  (Some rules that end are refused, too: the test is simple,
and says which rules it is about.)

Rewrites of whole bodies run once each, in the order of their registration, so they end; what they make is
rewritten by the other rules as anything is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lazyarr.fusion.replacement import Ops, expanded
from lazyarr.fusion.rewrite import CAST, AnyRewrite, Rule, Stage, names, ops
from lazyarr.ops import OPS, row

Edges = Mapping[str, Sequence[tuple[str, AnyRewrite]]]


def check(rewrites: Sequence[AnyRewrite], made: Ops) -> None:
    """ValueError, with the names of the rules, where rewriting may go on for ever."""
    edges = _edges(rewrites, made)
    for op in edges:
        met = _reachable(op, edges)
        if op not in met:
            continue
        around = {name for name in met if op in _reachable(name, edges)}
        circle = _rules_from(around, edges, around)
        inner = {name for rule in circle for name in _inner(rule, made)}
        others = _rules_from(inner.union(*(_reachable(name, edges) for name in inner)), edges)
        if not any(
            all(_change(rule, made, weight) < 0 for rule in circle)
            and all(_change(rule, made, weight) <= 0 for rule in others)
            for weight in MEASURES
        ):
            stay = [rule for rule in circle if _change(rule, made, _one) >= 0]
            way = ", ".join(sorted(around))
            raise ValueError(
                f"{_words(stay or circle)} could rewrite in a circle, by way of {way}: where "
                "ops come back, replacements must have fewer instructions than patterns, or all cheaper "
                "ones, and repeat no value"
            )


def _edges(rewrites: Sequence[AnyRewrite], made: Ops) -> Edges:
    edges: dict[str, list[tuple[str, AnyRewrite]]] = {}
    for rule in rewrites:
        if isinstance(rule, Rule):
            roots: Iterable[str] = (rule.root,)
            results = ops(expanded(rule.replacement, made))
        else:
            roots = () if rule.stage is Stage.PARFOR else rule.roots
            results = list(rule.makes)
        # (Operands of a replacement's ops may have to be cast.)
        implied = [CAST] if results else []
        for root in roots:
            edges.setdefault(root, []).extend((op, rule) for op in dict.fromkeys([*results, *implied]))
    return edges


def _inner(rule: AnyRewrite, made: Ops) -> list[str]:
    """Ops of operands in a rule's replacement."""
    if not isinstance(rule, Rule):
        return list(rule.makes)
    tree: Any = expanded(rule.replacement, made)
    parts = tree[1:] if isinstance(tree, tuple) else ()
    found = [op for part in parts for op in ops(part)]
    return [*found, CAST] if parts else []


def _reachable(op: str, edges: Edges) -> set[str]:
    """Ops to which rewriting an op may lead."""
    met: set[str] = set()
    todo = [op]
    while todo:
        new = {target for target, _ in edges.get(todo.pop(), ())} - met
        met |= new
        todo += new
    return met


def _rules_from(roots: Iterable[str], edges: Edges, to: Iterable[str] | None = None) -> list[AnyRewrite]:
    targets = None if to is None else set(to)
    found = {
        rule.name: rule for root in sorted(roots) for target, rule in edges.get(root, ())
        if targets is None or target in targets
    }
    return list(found.values())


def _one(op: str) -> float:
    return 1.0


def _cost(op: str) -> float:
    return row(op).cost if op in OPS else 1.0


MEASURES = (_one, _cost)
"""What an instruction weighs."""

def _change(rule: AnyRewrite, made: Ops, weight: Callable[[str], float]) -> float:
    """Negative if the rule makes every expression lighter, 0 if none heavier."""
    if not isinstance(rule, Rule):
        return 1.0                      # it says what it makes, not what it takes away
    tree: Any = expanded(rule.replacement, made)
    if Counter(names(tree)) - Counter(names(rule.pattern)):
        return 1.0
    before, after = (sum(weight(op) for op in ops(part) if op != CAST) for part in (rule.pattern, tree))
    # (Casts count last: so those that types make necessary do no harm.)
    return after - before or float(ops(tree).count(CAST) - ops(rule.pattern).count(CAST))


def _words(rules: Sequence[AnyRewrite]) -> str:
    told = ", ".join(repr(rule.name) for rule in rules)
    return f"rules {told}" if len(rules) > 1 else f"rule {told}"
