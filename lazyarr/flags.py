"""Floating-point status flags of a finished kernel -> NumPy's RuntimeWarnings; casts of complex numbers.

In:  the flags that any chunk raised, and the nodes that ran.   Out: warnings, at the user's line.
A fused kernel reports one set of flags for all its operations; the warning names the operation
that most plausibly raised each (the table below, in order of likelihood).  An error state that
raises, calls, prints or logs never gets here: such operations are evaluated by NumPy at the call.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy

from lazyarr.expr import Map, Op, Opaque, Reduce

DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8

CATEGORIES = (
    (DIVIDE, "divide", "divide by zero"),
    (OVERFLOW, "over", "overflow"),
    (UNDERFLOW, "under", "underflow"),
    (INVALID, "invalid", "invalid value"),
)

_SUSPECTS = {
    DIVIDE: ("divide", "floor_divide", "remainder", "divmod", "fmod", "reciprocal", "log", "log2", "log10",
             "log1p", "power", "float_power", "arctanh"),
    OVERFLOW: ("exp", "exp2", "expm1", "sinh", "cosh", "power", "float_power", "square", "multiply",
               "copy", "divide", "add", "subtract", "hypot", "ldexp", "logaddexp", "logaddexp2"),
    UNDERFLOW: ("exp", "exp2", "power", "float_power", "square", "multiply", "divide", "copy"),
    INVALID: ("sqrt", "log", "log2", "log10", "log1p", "arcsin", "arccos", "arccosh", "arctanh", "power",
              "float_power", "divide", "floor_divide", "remainder", "divmod", "fmod", "copy", "multiply",
              "subtract", "add"),
}

_NAMES = {"copy": "cast"}
_INTERNAL = ("lazyarr", "numpy")


def report(raised: int, suspects: Sequence[tuple[Op | None, dict[str, str] | None]]) -> None:
    """Warn for each raised category that the error state of some operation asks to warn about.

    `suspects`: the operations of the kernel, each with its call's error state (None: NumPy's default)."""
    for bit, key, text in CATEGORIES:
        if not raised & bit:
            continue
        names = [
            op.name
            for op, errors in suspects
            if isinstance(op, (Map, Reduce, Opaque))
            and (key != "under" if errors is None else errors[key] == "warn")
        ]
        if names:
            alone = suspects[0][0]
            culprit = alone.name if isinstance(alone, Opaque) else _culprit(bit, names)
            message = f"{text} encountered in {culprit}"
            warnings.warn(message, RuntimeWarning, stacklevel=_user_level())


def discards(source: numpy.dtype, target: numpy.dtype) -> bool:
    """Does a cast discard imaginary parts?"""
    return source.kind == "c" and target.kind not in "cb"


def warn_of_cast(source: numpy.dtype, target: numpy.dtype) -> None:
    """NumPy's ComplexWarning for a lazy cast, at the call."""
    if discards(source, target):
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, numpy.exceptions.ComplexWarning, stacklevel=_user_level())


def _culprit(bit: int, names: Sequence[str]) -> str:
    for suspect in _SUSPECTS[bit]:
        if suspect in names:
            return _NAMES.get(suspect, suspect)
    return "reduce"


def _user_level() -> int:
    """`stacklevel` of the nearest caller outside this library and NumPy, whose Python code runs over ours."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL:
        frame = frame.f_back
        level += 1
    return level
