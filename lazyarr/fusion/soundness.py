"""Soundness: does a rewrite keep what it says it keeps?

In:  a rule or rewrite.   Out: the types for which it was tried, or `Unsound`, which names a counterexample.
The patterns become bodies, with the rewrite and without it; NumPy runs both (`interpret`) on values that
break careless algebra, of all types that its loops take; results and floating-point flags are compared.
(Signalling NaNs are not among them: NumPy's own results for them vary.)
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy

from lazyarr.dtypes import PLAIN
from lazyarr.flags import Listener
from lazyarr.fusion import termination
from lazyarr.fusion.body import Body, raises
from lazyarr.fusion.dead_code import live
from lazyarr.fusion.interpret import run_parfor
from lazyarr.fusion.matching import bits
from lazyarr.fusion.parfor import Inst, Operand, Parfor, result_char
from lazyarr.fusion.registry import Active, Rules, check_form, in_bodies, registered
from lazyarr.fusion.replacement import Lowering, loop_for
from lazyarr.fusion.rewrite import (
    AS,
    CAST,
    CONSTANT,
    AnyRewrite,
    Keeps,
    Pattern,
    Rule,
    Stage,
    is_number,
    names,
    nodes,
    ops,
)
from lazyarr.fusion.samples import samples
from lazyarr.records import NamedTuple

ALONE = 150
"""Of the elements that are tried, those that are tried one by one for their flags."""

CONSTANTS = 6
"""Values that a pattern's constants are given, one after the other."""

LOOKED, TRIED = 4000, 400
"""Choices of types that are looked at for a pattern, and of those that NumPy has loops for, tried: patterns
with many casts have millions.  What is left out is left out at random, the same each time."""

PLACES = 8
"""Units in the last place by which APPROX may differ."""


class Unsound(ValueError):
    """A rewrite does not keep what it says it keeps."""


class Choice(NamedTuple):
    """Types of the names and casts of the patterns."""

    names: Mapping[str, str]
    casts: tuple[str, ...]


class Untypable(Exception):
    """NumPy has no such loop."""


def check_rule(rewrite: AnyRewrite) -> tuple[str, ...]:
    """Test what a rewrite promises, registered or not, by itself.

    Parameters
    ----------
    rewrite : Rule or Rewrite
        A `Rewrite` is tried on its examples.

    Returns
    -------
    tuple of str
        The types for which it was tried, such as ``"x:d y:d -> d"``.

    Raises
    ------
    Unsound
        If results or flags differ by more than it says; the message has the values.
    ValueError
        If it never applies, so that there is nothing to test; or if rewriting by it may go on for ever.
    """
    made = registered()
    check_form(rewrite, made)
    termination.check((rewrite,), made)
    rules = Rules((rewrite,), tuple(made.values())).at(Keeps.APPROX)
    examples = [(rewrite.pattern,)] if isinstance(rewrite, Rule) else [
        example if rewrite.stage is Stage.PARFOR else (example,) for example in rewrite.examples
    ]
    tried: list[str] = []
    for example in examples:
        patterns = [in_bodies(pattern, made) for pattern in example]
        found = (_try(rewrite, rules, patterns, choice) for choice in _choices(patterns))
        tried += itertools.islice(filter(None, found), TRIED)
    if not tried:
        raise ValueError(f"{rewrite.name!r} applies to none of its patterns: there is nothing to test")
    return tuple(tried)


# ------------------------------------------------------------------------------------ types


def _choices(patterns: Sequence[Pattern]) -> Iterator[Choice]:
    """Types for the names of patterns, and for their casts, the outermost first."""
    masks = {
        name for pattern in patterns for p in nodes(pattern)
        if isinstance(p, tuple) and p[0] == "where" for name in names(p[1])
    }
    free = [n for n in dict.fromkeys(n for p in patterns for n in names(p)) if n not in masks]
    casts = sum(ops(p).count(CAST) for p in patterns)
    apart = casts == 0 and len(free) == 2           # else all names have one type
    kinds, digits = list(PLAIN), 1 + apart + casts
    total = len(kinds) ** digits
    few = range(total) if total <= TRIED else Random(1).sample(range(total), min(total, LOOKED))
    for number in few:
        chars = [kinds[number // len(kinds) ** k % len(kinds)] for k in reversed(range(digits))]
        types = chars[:2] if apart else chars[:1] * len(free)
        yield Choice(
            {**dict.fromkeys(masks, "?"), **dict(zip(free, types, strict=True))}, tuple(chars[1 + apart :])
        )


class _Leaves:
    """The loads and scalars of a body, by name."""

    def __init__(self, choice: Choice, values: Mapping[str, Any]) -> None:
        self.choice, self.values = choice, values
        self.casts = list(choice.casts)
        self.operands: list[str] = []
        self.known: dict[str, int] = {}

    def put(self, body: Body, name: str, scalar: bool) -> int:
        if name not in self.known:
            char = self.choice.names[name]
            if scalar:
                self.known[name] = body.scalar(self.values[name][0])
            else:
                self.known[name] = body.emit(Inst("load", char, (), len(self.operands)))
                self.operands.append(name)
        return self.known[name]


def _emit(pattern: Any, body: Body, leaves: _Leaves, made: Mapping[str, Lowering]) -> int:
    """Append the instructions of a pattern, exactly typed; the number of its value."""
    if isinstance(pattern, str):
        return leaves.put(body, pattern, scalar=False)
    if pattern[0] == CONSTANT:
        return leaves.put(body, pattern[1], scalar=True)
    if pattern[0] == AS:
        number = leaves.known[pattern[1]] = _emit(pattern[2], body, leaves, made)
        return number
    if pattern[0] == CAST:
        target = leaves.casts.pop(0)
        number = _emit(pattern[1], body, leaves, made)
        return body.emit(Inst(CAST, f"{result_char(body.insts[number])}->{target}", (number,)))
    parts = [None if is_number(part) else _emit(part, body, leaves, made) for part in pattern[1:]]
    chars = [result_char(body.insts[k]) for k in parts if k is not None]
    if not chars:
        raise Untypable
    typed = tuple(chars[-1] if k is None else result_char(body.insts[k]) for k in parts)
    entered = {op.entered: op for op in made.values() if op.tree is None}
    op = entered.get(pattern[0])
    if op is None:
        sig = loop_for(pattern[0], typed)
    else:
        sig = next((s for s in op.sigs if s.partition("->")[0] == "".join(typed)), None)
    if sig is None or sig.partition("->")[0] != "".join(typed):
        raise Untypable
    args = tuple(
        body.scalar(_literal(part, char)) if k is None else k
        for part, k, char in zip(pattern[1:], parts, typed, strict=True)
    )
    return body.emit(Inst(pattern[0], sig, args, 0))


def _literal(number: Any, char: str) -> numpy.generic:
    found = bits(number, char)
    if found is None:
        raise Untypable
    value: numpy.generic = numpy.frombuffer(found, char)[0]
    return value


# ----------------------------------------------------------------------------------- bodies


class _Program(NamedTuple):
    """What one side computes."""

    body: Body
    results: tuple[int, ...]
    operands: tuple[str, ...]

    def run(self, values: Mapping[str, numpy.ndarray], way: bool = False) -> tuple[list[Any], set[str]]:
        """The results, or all values on the way; and the flags that were raised."""
        insts = [i for i in self.body.insts if "->" in i.sig or i.op in ("load", "scalar")]
        wanted = range(len(insts)) if way else self.results
        size = len(next(iter(values.values())))
        arrays = [values[name] for name in self.operands]
        chars = [result_char(insts[k]) for k in wanted]
        outs = [numpy.empty(size, c) for c in chars]
        if not arrays:
            arrays, loads = [numpy.zeros(size)], 1
        else:
            loads = len(arrays)
        results = enumerate(zip(wanted, chars, strict=True), loads)
        stores = [Inst("store", c, (k,), at) for at, (k, c) in results]
        body, _ = live([*insts, *stores])
        operands = tuple(Operand(a.dtype.char, "u") for a in arrays) + tuple(
            Operand(c, "u", "out") for c in chars
        )
        listener = Listener()
        with numpy.errstate(all="log", call=listener), warnings.catch_warnings():
            warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
            run_parfor(Parfor("p", operands, "", tuple(body)), [*arrays, *outs], self.body.constants)
        return outs, {raised.key for raised in listener.raised}


def _made(
    patterns: Sequence[Any], choice: Choice, values: Mapping[str, Any], rules: Active, active: bool
) -> _Program:
    body = Body(rules if active else Active(made=rules.made), lambda op, sig: True, True, ignores=True)
    leaves = _Leaves(choice, values)
    results: tuple[int, ...] = tuple(_emit(pattern, body, leaves, rules.made) for pattern in patterns)
    if active:
        for rewrite in rules.parfor:
            found = body.whole(rewrite)
            if found is not None:
                body, place = found
                results = tuple(place[k] for k in results)
    return _Program(body, results, tuple(leaves.operands))


def _one_for_one(rule: Rule, rules: Active, choice: Choice) -> tuple[_Program, _Program]:
    """The two sides of an UNTYPED rule."""
    plain = _made([rule.pattern], choice, {}, rules, False)
    body = Body(rules, lambda op, sig: True, True, ignores=True)
    leaves = _Leaves(choice, {})
    root = plain.body.insts[plain.results[0]]
    args = tuple(leaves.put(body, str(name), False) for name in rule.pattern[1:])       # type: ignore[index]
    number = body.emit(Inst(*body.one_for_one(root.op, root.sig, args), 0))
    return plain, _Program(body, (number,), tuple(leaves.operands))


def _try(rewrite: AnyRewrite, rules: Active, patterns: Sequence[Any], choice: Choice) -> str:
    """Compare both sides for one choice of types; empty where the rewrite does not apply."""
    values = samples(choice.names)
    try:
        if rewrite.stage is Stage.UNTYPED:
            assert isinstance(rewrite, Rule)
            plain, changed = _one_for_one(rewrite, rules, choice)
        else:
            plain, changed = (_made(patterns, choice, values, rules, on) for on in (False, True))
    except Untypable:
        return ""
    if not any(r.rule == rewrite.name for r in changed.body.rewrites):
        return ""
    told = " ".join(f"{name}:{char}" for name, char in choice.names.items())
    outs = "".join(result_char(plain.body.insts[k]) for k in plain.results)
    told = f"{told} -> {outs}"
    scalars = set(choice.names) - set(plain.operands)
    rounds = CONSTANTS if scalars else 1
    for k in range(rounds):
        if scalars and k:
            given = {n: v[k:] for n, v in values.items()}
            plain, changed = (_made(patterns, choice, given, rules, on) for on in (False, True))
        _compare(rewrite, plain, changed, values, told)
        _compare_flags(rewrite, plain, changed, values, told, range(k, ALONE, rounds))
    return told


def _compare(
    rewrite: AnyRewrite, plain: _Program, changed: _Program, values: Mapping[str, numpy.ndarray], told: str
) -> None:
    def way(program: _Program) -> list[numpy.ndarray]:
        return program.run(values, way=True)[0]

    wanted, _ = plain.run(values)
    found, _ = changed.run(values)
    for want, got in zip(wanted, found, strict=True):
        if want.dtype != got.dtype:
            raise Unsound(f"{rewrite.name!r}, {told}: the result is {got.dtype}, not {want.dtype}")
        k = differs(rewrite.keeps, want, got, lambda: way(plain) + way(changed))
        if k is not None:
            raise Unsound(
                f"{rewrite.name!r} does not keep {rewrite.keeps.name}, {told}: for {_at(values, plain, k)} "
                f"the pattern gives {want[k]!r}, the replacement {got[k]!r}"
            )


def _compare_flags(
    rewrite: AnyRewrite, plain: _Program, changed: _Program, values: Mapping[str, numpy.ndarray], told: str,
    elements: Iterable[int],
) -> None:
    if not rewrite.keeps_flags or not any(map(raises, (*plain.body.insts, *changed.body.insts))):
        return
    for k in elements:
        one = {name: v[k : k + 1] for name, v in values.items()}
        want, got = plain.run(one)[1], changed.run(one)[1]
        if want != got:
            raise Unsound(
                f"{rewrite.name!r} does not keep flags, {told}: for {_at(values, plain, k)} "
                f"the pattern raises {sorted(want) or 'none'}, the replacement {sorted(got) or 'none'}"
            )


def _at(values: Mapping[str, numpy.ndarray], plain: _Program, k: int) -> str:
    constants = [f"constant {c!r}" for c in plain.body.constants if isinstance(c, numpy.generic)]
    return ", ".join([*(f"{name}={values[name][k]!r}" for name in plain.operands), *constants])


# ---------------------------------------------------------------------------------- equality


def _parts(x: numpy.ndarray) -> numpy.ndarray:
    """Real and imaginary parts side by side, one row for an element."""
    real = x.view(x.real.dtype) if x.dtype.kind == "c" else x
    return real.reshape(len(x), -1)


def _bitwise(want: numpy.ndarray, got: numpy.ndarray) -> numpy.ndarray:
    w, g = _parts(want), _parts(got)
    same = w.view(f"u{w.itemsize}") == g.view(f"u{w.itemsize}")
    found: numpy.ndarray = (same | ((w != w) & (g != g))).all(1)
    return found


def _by_value(want: numpy.ndarray, got: numpy.ndarray) -> numpy.ndarray:
    w, g = _parts(want), _parts(got)
    found: numpy.ndarray = ((w == g) | ((w != w) & (g != g))).all(1)
    return found


EQUAL = {Keeps.BITWISE: _bitwise, Keeps.VALUE: _by_value, Keeps.APPROX: _by_value}


def differs(
    keeps: Keeps, want: numpy.ndarray, got: numpy.ndarray, way: Callable[[], Sequence[numpy.ndarray]]
) -> int | None:
    """The first element where two results differ by more than is allowed; `way`: all values on the way."""
    wrong = ~EQUAL[keeps](want, got)
    if keeps is Keeps.APPROX and wrong.any():
        wrong &= ~_close(want, got, way())
    return int(numpy.flatnonzero(wrong)[0]) if wrong.any() else None


def _close(want: numpy.ndarray, got: numpy.ndarray, way: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """Do they differ by roundings only?  True where some value on the way is no zero or normal number."""
    if want.dtype.kind not in "fc":
        return numpy.zeros(len(want), bool)
    least = numpy.finfo(want.dtype).tiny
    largest, usual = numpy.zeros(len(want)), numpy.ones(len(want), bool)
    with numpy.errstate(all="ignore"):
        for x in (x for x in way if x.dtype.kind in "fc"):
            size = numpy.abs(_parts(x)).astype("d")
            usual &= (numpy.isfinite(size) & ((size == 0) | (size >= float(least)))).all(1)
            largest = numpy.maximum(largest, size.max(1))
        apart = numpy.abs(_parts(want).astype("d") - _parts(got).astype("d")).max(1)
        near = apart <= PLACES * float(numpy.finfo(want.dtype).eps) * largest
    found: numpy.ndarray = near | ~usual
    return found
