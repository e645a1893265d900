"""NumPy's error state and Python's warning filters, asked once per state instead of once per call.

In: nothing.   Out: is an op NumPy's at the call, for what its floating-point errors do (`loud`), and what a
node remembers of the state of its call (`remembered`; None for NumPy's default, which all but always holds).
Filters decide at the call, as in NumPy: what they ignore is ignored whenever it is computed; and where they
make errors of warnings, or a block (``catch_warnings(record=True)``) waits for them, nodes are `Prompt`.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, cast

import numpy

from lazyarr.ops import OPS

TEXTS = {"divide": "divide by zero", "over": "overflow", "under": "underflow", "invalid": "invalid value"}
"""Categories in the order in which NumPy reports them, and what it calls them."""

_QUIET = {"warn", "ignore"}
_DEFAULT = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}

UNSURE = "error"
"""What is assumed of filters that look at modules, lines or ops: at the call, they see the very warning."""


class Prompt(dict[str, str]):
    """An error state whose warnings are awaited: the node is evaluated at the call."""


class Shared(dict[str, str]):
    """The error state of several results of one call: what is told of one is not told of another later."""


_state = numpy._core.umath._extobj_contextvar.get

_Seen = tuple[Any, Any, int, Any, bool, dict[str, str] | None, int]
_seen: _Seen = (None, None, 0, None, False, None, 0)
"""The last state and filters looked at, and what they say.  NumPy replaces states, it never changes one;
``catch_warnings`` replaces the list of filters, and a new filter is put at its front or lengthens it."""


def look() -> _Seen:
    """What `loud`, `remembered` and `buffer_size` say, as the last three."""
    global _seen
    state, filters = _state(), warnings.filters
    seen = _seen
    if (
        state is not seen[0] or filters is not seen[1] or len(filters) != seen[2]
        or (filters and filters[0] is not seen[3])
    ):
        first = filters[0] if filters else None
        seen = _seen = state, filters, len(filters), first, *_found()
    return seen


def _found() -> tuple[bool, dict[str, str] | None, int]:
    errors = dict(cast("dict[str, str]", numpy.geterr()))
    actions = {key: _action(text) for key, text in TEXTS.items() if errors[key] == "warn"}
    errors |= {key: "ignore" for key, action in actions.items() if action == "ignore"}
    awaited = {"error", "always"} if _recording() else {"error"}
    if not awaited.isdisjoint(actions.values()):
        errors = Prompt(errors)
    loud = not set(errors.values()) <= _QUIET
    kept = None if errors == _DEFAULT and errors.__class__ is dict else errors
    return loud, kept, numpy.getbufsize()


def _action(text: str) -> str:
    """What the filters do with NumPy's warnings that begin with a text."""
    for action, message, category, module, line in warnings.filters:
        if not issubclass(RuntimeWarning, category):
            continue
        meant = True if message is None else _meant(message, text)
        if meant and module is None and not line:
            return action
        if meant is not False and action in ("ignore", "error"):
            return UNSURE
    return "default"


@cache
def _meant(message: Any, text: str) -> bool | None:
    """Does a filter's pattern match all warnings that begin with a text?  None: some of them."""
    match = message.match if hasattr(message, "match") else message.__eq__
    begin = f"{text} encountered in "
    if match(begin):
        return True
    names = ("cast", "reduce", *OPS, *(f"scalar {name}" for name in OPS))
    return None if any(match(begin + name) for name in names) else False


def _recording() -> bool:
    """Does somebody collect warnings instead of showing them?"""
    show = getattr(warnings, "_showwarnmsg_impl", None)
    own = getattr(warnings, "_showwarning_orig", None)
    if warnings.showwarning is not own:         # a block's own method? (`numpy.testing.suppress_warnings`)
        return hasattr(getattr(warnings.showwarning, "__self__", None), "__exit__")
    return show is not None and show.__name__ != "_showwarnmsg_impl"


def loud() -> bool:
    """Does any category raise, call, print or log?  Then an op runs at the call, through NumPy."""
    return look()[4]


def prompt() -> bool:
    """Are warnings awaited?"""
    return look()[5].__class__ is Prompt


def remembered() -> dict[str, str] | None:
    """The error state as a node keeps it."""
    return look()[5]


def buffer_size() -> int:
    """`numpy.getbufsize()`, part of the same state: the order of folds that cast depends on it."""
    return look()[6]


def shared() -> Shared:
    """The same for several results."""
    return Shared(remembered() or _DEFAULT)


_SILENT = frozenset({"ignore"})


def ignores(errors: dict[str, str] | None) -> bool:
    """Does a node with this error state ask for no flag?"""
    return errors is not None and _SILENT.issuperset(errors.values())


def raises_warnings() -> bool:
    """Do the filters of now make errors of NumPy's warnings?"""
    return any(_action(text) == "error" for text in TEXTS.values())
