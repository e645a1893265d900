"""Floating-point flags as NumPy's RuntimeWarnings, given late: in NumPy's words, at the line of the call.

In:  what was raised and by which nodes (`replay` finds out, or NumPy said so).   Out: warnings.
Each node goes by the error state of its call.  An error state that raises, calls, prints or logs never
gets here: such operations are evaluated by NumPy at the call.
"""

from __future__ import annotations

import sys
import warnings
from _thread import _local
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, cast

import numpy

from lazyarr.error_state import TEXTS, Prompt, Shared, raises_warnings
from lazyarr.expr import Expr, Map, Op
from lazyarr.records import NamedTuple
from lazyarr.srcloc import Loc, line_of, module_of

BITS = dict(zip(TEXTS, (1, 2, 4, 8), strict=True))
"""NumPy's flags (NPY_FPE_*)."""

TOLD = dict.fromkeys(TEXTS, "ignore")
"""The error state of a node whose warnings were given, should it be computed again."""


class Told(dict[str, str]):
    """The same, where it is known which flags were raised when the node was computed."""

    __slots__ = ("raised",)

    def __init__(self, raised: int) -> None:
        super().__init__(TOLD)
        self.raised = raised


UNRAISED = Told(0)
_told = {0: UNRAISED}
"""By the flags, for all nodes: nobody changes these."""


def told_again(errors: dict[str, str] | None, raised: int) -> Told:
    """The error state of a node that was computed, and stays pending: its kernel raised these flags."""
    raised = raised & errors.raised if isinstance(errors, Told) else raised
    return _told.get(raised) or _told.setdefault(raised, Told(raised))


def may_have_raised(errors: dict[str, str] | None, key: str) -> bool:
    """Can a node raise a category, as far as is known of what it raised before?"""
    return not isinstance(errors, Told) or bool(errors.raised & BITS[key])


_INTERNAL = ("lazyarr", "numpy")


class Raised(NamedTuple):
    """One category that one operation raised, as NumPy words it."""

    key: str
    message: str


class Late(NamedTuple):
    """A warning to be given when the evaluation is done."""

    call: int
    """Program order; results of one call have one number."""
    message: str
    loc: Loc | None
    prompt: bool
    """The filters of the call are those of now."""


_call = attrgetter("call")


class Listener:
    """The log of NumPy's error state ``log``, which has NumPy's exact messages."""

    def __init__(self) -> None:
        self.raised: list[Raised] = []

    def write(self, line: str) -> None:
        message = line.removeprefix("Warning: ").rstrip("\n")
        self.raised += [Raised(key, message) for key, text in TEXTS.items() if message.startswith(text)]


def warns(errors: dict[str, str] | None, key: str) -> bool:
    """Does the error state of a call ask to warn about a category?  (None: NumPy's default.)"""
    return key != "under" if errors is None else errors[key] == "warn"


def call_of(node: Expr, op: Op) -> int:
    """One number for all results of a call, in program order."""
    return node.serial - op.part if isinstance(op, Map) else node.serial


def late(node: Expr, raised: Iterable[Raised], op: Op | None = None) -> Iterator[Late]:
    """The warnings that a node's call asks for.  `op`: of a node that is evaluated by now."""
    op = op or node.op
    assert op is not None
    call = call_of(node, op)
    for key, message in raised:
        if warns(node.errors, key):
            if isinstance(node.errors, Shared):
                node.errors[key] = "ignore"
            yield Late(call, message, node.loc, isinstance(node.errors, Prompt))


def give(found: list[Late]) -> None:
    """Warn, in program order; once for all results of a call.

    Calls under filters that raise are computed at once: others do not raise, whatever the filters of now."""
    once = {(each.call, each.message): each for each in found}
    raising = bool(once) and raises_warnings()
    for each in sorted(once.values(), key=_call):
        if each.prompt or not raising:
            _warn(each.message, RuntimeWarning, each.loc)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("default", RuntimeWarning)
            _warn(each.message, RuntimeWarning, each.loc)


def discards(source: numpy.dtype, target: numpy.dtype) -> bool:
    """Does a cast discard imaginary parts?"""
    return source.kind == "c" and target.kind not in "cb"


class WouldWarn(Exception):
    """A call that warns, where it must not."""


_silent = _local()


@contextmanager
def warning_of_no_cast() -> Iterator[None]:
    """Calls of this thread that would warn of a cast raise `WouldWarn` instead."""
    _silent.on = True
    try:
        yield
    finally:
        _silent.on = False


def warn_of_cast(source: numpy.dtype, target: numpy.dtype) -> None:
    """NumPy's ComplexWarning for a lazy cast, at the call."""
    if discards(source, target):
        message = "Casting complex values to real discards the imaginary part"
        if getattr(_silent, "on", False):
            raise WouldWarn(message)
        _warn(message, numpy.exceptions.ComplexWarning, None)


def warn_at_call(keys: Iterable[str], name: str) -> None:
    """NumPy's warnings of an operation that runs at the call."""
    errors = cast("dict[str, str]", numpy.geterr())
    for key in keys:
        if errors[key] == "warn":
            _warn(f"{TEXTS[key]} encountered in {name}", RuntimeWarning, None)


def _warn(message: str, category: type[Warning], loc: Loc | None) -> None:
    """At a place in the user's program, else at the line that is running: NumPy's would be the same."""
    if loc is None:
        warnings.warn(message, category, stacklevel=_user_level())
        return
    filename, line = line_of(loc)
    module, registry = module_of(filename)
    options: dict[str, Any] = {} if module is None else {"module": module}
    warnings.warn_explicit(message, category, filename, line, registry=registry, **options)


def _user_level() -> int:
    """`stacklevel` of the nearest caller outside this library and NumPy, whose Python code runs over ours."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL:
        frame = frame.f_back
        level += 1
    return level
