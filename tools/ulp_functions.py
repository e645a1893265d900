"""What is measured: our functions on arrays, NumPy's, and the truth of real numbers, which is mpmath's."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy

from lazyarr.codegen.mathlib import plane
from lazyarr.codegen.mathlib.functions import FUNCTIONS, module
from lazyarr.codegen.mathlib.loop import Function
from lazyarr.dispatch import jit
from lazyarr.op_targets import OPTIMISED
from lazyarr.target import Target

LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
INTEGERS = {"d": "i8", "f": "i4", "e": "i2"}
NAMES = {"d": "float64", "f": "float32", "e": "float16", "D": "complex128", "F": "complex64"}
ROWS = [(name, char) for table in (FUNCTIONS, plane.FUNCTIONS) for name in table for char in table[name]]
"""All functions: names and dtypes."""

mpmath.mp.dps = 50


def function(name: str, char: str) -> Function:
    return (plane.FUNCTIONS if char in "DF" else FUNCTIONS)[name][char]


def signature(name: str, char: str) -> str:
    """Of a function's loop."""
    out = char.lower() if name == "absolute" else char
    return f"{char * function(name, char).operands}->{out}"


def _log_of_sum(base: Any) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        top, gap = max(x, y), abs(x - y)
        return top + mpmath.log1p(mpmath.power(base, -gap)) / mpmath.log(base)

    return function


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _sinc(x: Any) -> Any:
    """Not of integers, whose result is exact, and NumPy's far off."""
    return mpmath.sincpi(x) if x == 0 or x != mpmath.floor(x) else None


def _arctan2(y: Any, x: Any) -> Any:
    """Not of 0, whose sign the truth does not know."""
    return mpmath.atan2(y, x) if y else None


TRUTH: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "expm1": mpmath.expm1, "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2), "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "sinh": mpmath.sinh,
    "cosh": mpmath.cosh, "tanh": mpmath.tanh, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh, "arctanh": mpmath.atanh,
    "cbrt": _cbrt, "arctan2": _arctan2, "hypot": mpmath.hypot, "power": mpmath.power,
    "float_power": mpmath.power,
    "logaddexp": _log_of_sum(mpmath.e), "logaddexp2": _log_of_sum(mpmath.mpf(2)),
    "erf": mpmath.erf, "erfc": mpmath.erfc, "sinc": _sinc, "i0": lambda x: mpmath.besseli(0, x),
}  # fmt: skip

RANGES = {
    "exp": (-50, 50), "exp2": (-50, 50), "log": (1e-3, 1e3), "log2": (1e-3, 1e3), "log10": (1e-3, 1e3),
    "log1p": (-0.9, 100), "cbrt": (-1e3, 1e3), "arcsin": (-1, 1), "arccos": (-1, 1), "arccosh": (1, 100),
    "arctanh": (-1, 1), "power": (0.01, 10), "float_power": (0.01, 10),
}  # fmt: skip
"""Where speed is measured; elsewhere from -10 to 10."""
RANGES_HALF = {"exp": (-9, 9), "exp2": (-12, 12), "power": (0.1, 3), "sinh": (-9, 9), "cosh": (-9, 9)}
"""The same for float16, where these would overflow."""


@cache
def theirs(name: str) -> Callable[..., Any]:
    """NumPy's function; C's, of float64, where NumPy has none."""
    found = getattr(numpy, name, None)
    if found is not None:
        return found  # type: ignore[no-any-return]
    by_number = numpy.vectorize(getattr(math, name), otypes=["d"])
    return lambda x: by_number(x).astype(x.dtype)


def usual_range(name: str, char: str) -> tuple[float, float]:
    ranges = RANGES | RANGES_HALF if char == "e" else RANGES
    return ranges.get(name, (-10, 10))


def call(name: str, char: str, target: Target) -> Callable[..., numpy.ndarray]:
    """Our function on arrays of one dimension."""
    sig = signature(name, char)
    made = module(name, sig, target)
    loop = LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])

    def run(*xs: numpy.ndarray, out: numpy.ndarray | None = None) -> numpy.ndarray:
        y = numpy.empty(len(xs[0]), sig[-1]) if out is None else out
        args = numpy.array([a.ctypes.data for a in (*xs, y)])
        steps = numpy.array([a.strides[0] for a in (*xs, y)])
        dims = numpy.array([len(y)])
        loop(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
        return y

    return run
