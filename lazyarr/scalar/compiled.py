"""What is known of scalar functions: their translations, and the loops made of these.

In:  a Python function, the types of its arguments, dtypes of results.   Out: `Known` with its `Loop`s, or a
`Refusal` with reason and place.  Both are remembered by the function's code, as long as what it captures is
what was found when it was translated; so a function or a helper that is defined again is known.
What was not asked for longest is forgotten first.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from lazyarr.config import current
from lazyarr.expr import LOCK
from lazyarr.records import NamedTuple
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.capture import Captured, Runs, runs
from lazyarr.scalar.ir import NOWHERE, Place
from lazyarr.scalar.loop import Loop, entered
from lazyarr.scalar.results import typed
from lazyarr.scalar.translate import Translation, translate
from lazyarr.scalar.verify import verify

MOST = 1024
"""Functions that are remembered."""
VARIANTS = 8
"""Translations of one of them for one choice of types, by what it captures."""


class Refusal(NamedTuple):
    """Why a function is not compiled."""

    why: str
    place: Place = NOWHERE

    @property
    def file(self) -> str:
        return self.place.file

    @property
    def line(self) -> int:
        return self.place.line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}" if self.line else self.why


class Compiled(NamedTuple):
    """A translation for some dtypes."""

    loop: Loop
    """Which equal functions share."""
    stops: tuple[tuple[str, Place], ...]
    """Why it may give up, and where in this function, for each number of a stop."""


class Known:
    """One translation, and what was made of it."""

    def __init__(self, translation: Translation) -> None:
        self.function, self.captured = translation
        self.loops: dict[tuple[str, str, str], Compiled] = {}
        self.waiting = 0.0
        """Nanoseconds that Python took for what it would have computed."""
        self.rate: float | None = None
        """Nanoseconds that Python takes for an element, as far as is known."""

    def loop(self, inputs: str, outs: str, told: str) -> Compiled | Refusal:
        key = inputs, outs, told
        found = self.loops.get(key)
        if found is None:
            function = typed(self.function, outs)
            if current.verify:
                verify(function)
            made = Loop(function, inputs, told)
            loop = entered(made)
            if loop is None:
                return Refusal("too many functions are compiled")
            found = self.loops[key] = Compiled(loop, made.text.stops)
        return found


class Refusing(NamedTuple):
    """A function that is not translated, as long as it captures what it did."""

    captured: Captured
    refusal: Refusal


_Key = tuple[Runs, tuple[tuple[str, str], ...]]
_known: dict[_Key, list[Known | Refusing]] = {}
"""Variants by code and types; keys and variants last used come last."""


def known(fn: types.FunctionType, given: Mapping[str, str]) -> tuple[Known, list[Any]] | Refusal:
    """The translation that holds now, and the numbers that it captures; or why there is none."""
    key = runs(fn), tuple(given.items())
    with LOCK:
        variants = _known.pop(key, [])
        while len(_known) >= MOST:
            del _known[next(iter(_known))]
        _known[key] = variants
        for at in reversed(range(len(variants))):
            values = variants[at].captured.values(fn)
            if values is not None:
                variants.append(variants.pop(at))
                break
        else:
            variants.append(_translated(fn, given))
            values = variants[-1].captured.values(fn)
            del variants[:-VARIANTS]
        found = variants[-1]
    if isinstance(found, Refusing):
        return found.refusal
    assert values is not None
    return found, values


def _translated(fn: types.FunctionType, given: Mapping[str, str]) -> Known | Refusing:
    try:
        return Known(translate(fn, given))
    except Refused as refusal:
        return Refusing(refusal.captured, Refusal(refusal.why, refusal.place))
