"""What is known of scalar functions: their translations, and the loops made of these.

In:  a Python function, the types of its arguments, dtypes of results.   Out: `Known` with its `Loop`s, or a
`Refusal` with reason and line.  Both are remembered by the function's code, as long as what it captures is
what was found when it was translated.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, NamedTuple

from lazyarr.config import current
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.capture import Captured
from lazyarr.scalar.loop import Loop, entered
from lazyarr.scalar.results import typed
from lazyarr.scalar.translate import Translation, translate
from lazyarr.scalar.verify import verify

MOST = 1024
"""Functions that are remembered: machine code is never unloaded."""
VARIANTS = 8
"""Translations of one of them for one choice of types."""


class Refusal(NamedTuple):
    """Why a function is not compiled."""

    why: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}" if self.line else self.why


class Known:
    """One translation, and what was made of it."""

    def __init__(self, translation: Translation) -> None:
        self.function, self.captured = translation
        self.loops: dict[tuple[str, str, str], Loop] = {}
        self.waiting = 0.0
        """Nanoseconds that Python took for what it would have computed."""
        self.rate: float | None = None
        """Nanoseconds that Python takes for an element, as far as is known."""

    def loop(self, inputs: str, outs: str, told: str) -> Loop:
        key = inputs, outs, told
        found = self.loops.get(key)
        if found is None:
            function = typed(self.function, outs)
            if current.verify:
                verify(function)
            found = self.loops[key] = entered(function, inputs, told)
        return found


_Key = tuple[types.CodeType, tuple[tuple[str, str], ...]]
_known: dict[_Key, list[Known]] = {}
_refused: dict[_Key, tuple[Captured, Refusal]] = {}


def known(fn: types.FunctionType, given: Mapping[str, str]) -> tuple[Known, list[Any]] | Refusal:
    """The translation that holds now, and the numbers that it captures; or why there is none."""
    key = fn.__code__, tuple(given.items())
    for variant in _known.get(key, ()):
        values = variant.captured.values(fn)
        if values is not None:
            return variant, values
    refused = _refused.get(key)
    if refused is not None and refused[0].values(fn) is not None:
        return refused[1]
    return _translated(fn, key, given)


def _translated(
    fn: types.FunctionType, key: _Key, given: Mapping[str, str]
) -> tuple[Known, list[Any]] | Refusal:
    variants = _known.get(key, [])
    if len(_known) >= MOST or len(variants) >= VARIANTS:
        return Refusal("too many functions are compiled, or what it refers to changes too often", "", 0)
    try:
        made = Known(translate(fn, given))
    except Refused as refusal:
        found = Refusal(refusal.why, fn.__code__.co_filename, refusal.line)
        if len(_refused) < MOST:
            _refused[key] = refusal.captured, found
        return found
    _known[key] = [*variants, made]
    values = made.captured.values(fn)
    assert values is not None
    return made, values
