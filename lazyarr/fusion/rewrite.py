"""Rewrites of parfor bodies as data: what a rule says, and what it promises.

In:  nothing.   Out: `Rule`, `Rewrite`, and the words that they are written in.
`registry` keeps them, `matching` finds them, `body` applies them, `termination` proves that this ends, and
`soundness` tests what they promise.

    pattern     = name | number | (op, pattern...) | ("as", name, pattern) | ("constant", name)
                  a name binds a value; the same name twice, the same value.  A number is a runtime scalar of
                  that value, bit for bit.  "constant" binds any runtime scalar
    op          = a row of the op table, "cast", or an op that `register_lowering` made
    replacement = name | number | (op, replacement...)
                  a name is what the pattern bound; a number takes the type that NumPy gives it there, and so
                  do ops.  "cast" stands at the root only: to the type of what is replaced

A replacement has the dtype of what it replaces, or the rule does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from typing import Any

import numpy

from lazyarr.fusion.parfor import Inst
from lazyarr.records import NamedTuple

Number = bool | int | float | complex | numpy.generic
NUMBERS = (bool, int, float, complex, numpy.generic)
Pattern = str | Number | tuple["Pattern", ...]


class Value(NamedTuple):
    """In a replacement that a `Rewrite` makes: a value of the body, by its number."""

    number: int


Replacement = str | Number | Value | tuple["Replacement", ...]

AS, CONSTANT, CAST = "as", "constant", "cast"

KINDS = "biufc"
"""NumPy's kinds of the types that kernels have."""


class Keeps(IntEnum):
    """What a rewrite leaves equal, for every input.  NaNs count as one value: their payloads are nobody's."""

    BITWISE = 0
    """The same bits, signed zeros included."""
    VALUE = 1
    """Equal by ``==``, with NaN equal to NaN."""
    APPROX = 2
    """Equal up to rounding: by a few units in the last place of the largest value on the way, where all of
    them are zero or normal numbers."""


class Stage(Enum):
    """What a rewrite looks at."""

    UNTYPED = "untyped"
    """One operation of the program, whatever its types: another op of the same operands, perhaps in another
    order."""
    TYPED = "typed"
    """An instruction that is about to be computed, and those that made its operands."""
    PARFOR = "parfor"
    """A whole body, when it is complete."""


class Rule(NamedTuple):
    """One identity: where `pattern` stands, `replacement` may stand.

    Parameters
    ----------
    name : str
        What ``explain`` and the option ``disable`` call it; no two rules share one.
    pattern : tuple
        What is replaced: ``("add", "x", ("negative", "y"))``.
    replacement : str, number or tuple
        What takes its place: ``("subtract", "x", "y")``.
    keeps : Keeps
        What stays equal.  Only BITWISE rules run unless the option ``fast_math`` is on.
    keeps_flags : bool
        Does the replacement raise the same floating-point flags?  If not, it applies only to operations
        that were called under an error state which ignores all of them.
    why : str
        The argument, in one line.
    kinds : str, optional
        NumPy kinds of the result for which it holds.
    when : callable, optional
        A further condition on dtype characters: those of the bound names, and of the result as ``""``.
    stage : Stage, optional
        UNTYPED or TYPED.

    See Also
    --------
    lazyarr.fusion.check_rule : Tests what a rule promises.
    """

    name: str
    pattern: Pattern
    replacement: Replacement
    keeps: Keeps
    keeps_flags: bool
    why: str
    kinds: str = KINDS
    when: Callable[[Mapping[str, str]], bool] | None = None
    stage: Stage = Stage.TYPED

    @property
    def root(self) -> str:
        """The op whose results it replaces."""
        assert isinstance(self.pattern, tuple)
        return str(self.pattern[0])


class Rewrite(NamedTuple):
    """A rewrite that looks for itself; what it finds travels from `match` to `apply` in a state of its own.

    Parameters
    ----------
    name, keeps, keeps_flags, why
        As of a `Rule`.  With ``keeps_flags=False`` it applies where all operations of the body ignore flags.
    match : callable
        Of the TYPED stage ``match(inst, body)``, of the PARFOR stage ``match(body)``, with instructions as
        `lazyarr.fusion.parfor` has them: what it found, or None.
    apply : callable
        ``apply(state)``: a replacement, whose leaves are ``Value(number)`` and numbers; of the PARFOR stage a
        dict of such, by the number of the value that each replaces.
    makes : tuple of str
        Ops that replacements may have.
    examples : tuple
        Patterns that it rewrites; of the PARFOR stage tuples of these.  `check_rule` tests it on them.
    roots : tuple of str, optional
        Of the TYPED stage: ops for which it is asked.
    stage : Stage, optional
        TYPED or PARFOR.
    """

    name: str
    match: Callable[..., Any]
    apply: Callable[[Any], Any]
    keeps: Keeps
    keeps_flags: bool
    why: str
    makes: tuple[str, ...]
    examples: tuple[Any, ...]
    roots: tuple[str, ...] = ()
    stage: Stage = Stage.PARFOR


AnyRewrite = Rule | Rewrite
Body = Sequence[Inst]


def nodes(tree: Pattern | Replacement) -> Iterator[Pattern | Replacement]:
    """A pattern or replacement and all its parts; what binds a name is not a part of its own."""
    todo: list[Any] = [tree]
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, tuple) and not isinstance(part, Value):
            todo.extend(part[2:] if part[0] == AS else () if part[0] == CONSTANT else part[1:])


def ops(tree: Pattern | Replacement) -> list[str]:
    """The ops of a pattern or replacement, each as often as it is there."""
    tuples = (p for p in nodes(tree) if isinstance(p, tuple) and not isinstance(p, Value))
    return [str(p[0]) for p in tuples if p[0] not in (AS, CONSTANT)]


def names(tree: Pattern | Replacement) -> list[str]:
    """The names of values in it, each as often as it is there."""
    found = []
    for part in nodes(tree):
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, tuple) and not isinstance(part, Value) and part[0] == CONSTANT:
            found.append(str(part[1]))
    return found


def named_parts(pattern: Pattern) -> dict[str, Pattern]:
    """What the pattern names with "as"."""
    return {str(p[1]): p[2] for p in nodes(pattern) if isinstance(p, tuple) and p[0] == AS}


def is_number(part: Any) -> bool:
    return isinstance(part, NUMBERS)
