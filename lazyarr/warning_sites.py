"""Warnings of what runs at the call, at the line of the program that made the call.

In:  Python shows a warning.
Out: the same; but one that names a line of this library is given again at the nearest caller outside of it.

NumPy's C code warns at the line of Python that runs it, which is ours where the program calls us.  Shown, it
would tell nothing; and given there once, it would be silent for all other lines of the program.  `warnings`
has a function for others to replace, which gets what the filters let through: so nothing is asked of a call
that does not warn.  What was given at a line of ours never counts as given; the caller's module decides.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

HERE = os.path.join(os.path.dirname(__file__), "")

Show = Callable[[warnings.WarningMessage], None]


def ours(filename: str) -> bool:
    return filename.startswith(HERE)


def showing(show: Show) -> Show:
    """What shows warnings: by `show`, but at the caller's line."""

    def _showwarnmsg(message: warnings.WarningMessage) -> None:
        if ours(message.filename):
            caller = _caller(message, sys._getframe(1))
            if caller is not None:
                _give(message, caller)
                return
        show(message)

    return _showwarnmsg


def _caller(message: warnings.WarningMessage, frame: FrameType | None) -> FrameType | None:
    """Who called us at the line that a warning names; Python code of NumPy's may run above it.

    What our modules have noted as given is forgotten on the way."""
    place = message.filename, message.lineno
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != place:
        frame = frame.f_back
    while frame is not None and ours(frame.f_code.co_filename):
        given = frame.f_globals.get("__warningregistry__")
        if given:
            given.clear()
        frame = frame.f_back
    return frame


def _give(message: warnings.WarningMessage, frame: FrameType) -> None:
    """As Python does for C code that a frame calls."""
    text, category = message.message, message.category
    _once().pop((str(text), category), None)
    space = frame.f_globals
    module = space.get("__name__")
    warnings.warn_explicit(
        text, category, frame.f_code.co_filename, frame.f_lineno,
        module=module if isinstance(module, str) else "<string>",
        registry=space.setdefault("__warningregistry__", {}),
        source=message.source,
    )  # fmt: skip


def _once() -> dict[Any, Any]:
    """What filters that say "once" have let through, of all modules."""
    found: dict[Any, Any] = vars(warnings)["onceregistry"]
    return found


def attach() -> None:
    """Take part in showing warnings.

    By default Python ignores deprecations outside of ``__main__``: those that name a line of ours get here,
    since the caller may be just that."""
    vars(warnings)["_showwarnmsg"] = showing(vars(warnings)["_showwarnmsg"])
    for category in (DeprecationWarning, PendingDeprecationWarning):
        warnings.filterwarnings("default", category=category, module=r"lazyarr\.")
