"""Source locations: the user's line that a node was created at.

In:  the stack of a call.   Out: a code object and the place in it; file and line when somebody asks.
All that a call pays for is one frame and two attributes (0.2 us): no line is looked up, and no frame,
namespace or array is kept alive.  The user's frame is the nearest one of neither this library nor NumPy,
whose Python code runs over ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from types import CodeType, FrameType
from typing import Any

import numpy

Loc = tuple[CodeType, int]
Registry = dict[str | tuple[str, type[Warning], int], int]

MAX_CODES = 4096
"""All are forgotten when there are more."""

MOST_LINES = 3
"""Lines that a note on an error names."""

THEIRS: dict[int, CodeType] = {}
"""Code objects of users, by identity: looking at a file's name costs what all the rest does."""

OURS: dict[int, CodeType] = {}
_OUR_FILES = tuple(os.path.join(os.path.dirname(p), "") for p in (__file__, numpy.__file__))


def here(depth: int, getframe: Any = sys._getframe) -> Loc | None:
    """The user's place, in the nearest of the frames from `depth` callers above this function on.

    Frames made visible cost most of it: the caller says how many are surely ours."""
    try:
        return nearest(getframe(depth))
    except ValueError:                  # called by C code: no Python code of the user's runs
        return None


def nearest(frame: FrameType | None) -> Loc | None:
    """The user's place, in this frame or the nearest that called it."""
    while frame is not None:
        code = frame.f_code
        if id(code) not in OURS and (id(code) in THEIRS or _is_theirs(code)):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def _is_theirs(code: CodeType) -> bool:
    codes = OURS if code.co_filename.startswith(_OUR_FILES) else THEIRS
    if len(codes) >= MAX_CODES:
        codes.clear()
    codes[id(code)] = code
    return codes is THEIRS


def line_of(loc: Loc) -> tuple[str, int]:
    """File and line."""
    code, at = loc
    line = next((line for start, end, line in code.co_lines() if start <= at < end), None)
    return code.co_filename, line or code.co_firstlineno


def words_of(loc: Loc) -> str:
    """``file:line``."""
    return "{}:{}".format(*line_of(loc))


def note_lines(error: BaseException, locs: Iterable[Loc | None]) -> None:
    """Tell an error that surfaces late where what failed was created."""
    lines = list(dict.fromkeys(words_of(loc) for loc in locs if loc is not None))
    if lines:
        more = ", ..." if len(lines) > MOST_LINES else ""
        error.add_note(f"created at {', '.join(lines[:MOST_LINES])}{more}")


def module_of(filename: str) -> tuple[str | None, Registry]:
    """The module whose code a file holds, and its registry of warnings given: name and dict.

    Code of no module's file, typed in or executed from a string, has a registry by its file's name."""
    name = _name_of(filename)
    module = None if name is None else sys.modules.get(name)
    if module is None:
        return None, _registries.setdefault(filename, {})
    return name, vars(module).setdefault("__warningregistry__", {})


_registries: dict[str, Registry] = {}


@cache
def _name_of(filename: str) -> str | None:
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == filename:
            return name
    main = sys.modules.get("__main__")
    return "__main__" if main is not None and not hasattr(main, "__file__") else None
