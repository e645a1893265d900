"""NumPy's error state, asked once per state instead of once per call.

In: nothing.   Out: must an op report its floating-point errors at the call (`loud`), and what a node
remembers of the state of its call (`remembered`; None for NumPy's default, which all but always holds).
"""

from __future__ import annotations

from typing import Any

import numpy

_QUIET = {"warn", "ignore"}
_DEFAULT = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


_state = numpy._core.umath._extobj_contextvar.get
_seen: tuple[Any, bool, dict[str, str] | None] = (None, False, None)
"""The last state looked at (NumPy replaces states, it never changes one), and what it says."""


def _look() -> tuple[Any, bool, dict[str, str] | None]:
    global _seen
    state = _state()
    seen = _seen
    if state is not seen[0]:
        errors = numpy.geterr()
        seen = _seen = state, not set(errors.values()) <= _QUIET, None if errors == _DEFAULT else errors
    return seen


def loud() -> bool:
    """Does any category raise, call, print or log?  Then an op runs at the call, through NumPy."""
    return _look()[1]


def remembered() -> dict[str, str] | None:
    """The error state as a node keeps it."""
    return _look()[2]
