"""The functions that there are: NumPy's name -> dtype -> `Function`.

In:  an op and a loop signature.   Out: the module of its loop.   A test compares the table with `names`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from lazyarr.codegen.mathlib import (
    circular,
    exponential,
    hyperbolic,
    inverse,
    inverse_hyperbolic,
    logarithm,
    roots,
)
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE
from lazyarr.codegen.mathlib.loop import Function, write
from lazyarr.codegen.mathlib.payne_hanek import reduce_text
from lazyarr.codegen.pipeline import Module
from lazyarr.target import Target


def _same(operands: int, fast: Callable[..., Any], rare: Callable[..., Any]) -> dict[str, Function]:
    """One definition for both precisions."""
    return {
        "d": Function(operands, DOUBLE, fast, rare),
        "f": Function(operands, SINGLE, fast, rare),
    }


def _angle(*rows: tuple[Callable[..., Any], Callable[..., Any]]) -> dict[str, Function]:
    """In float64 for both."""
    return {char: Function(1, DOUBLE, *row, reduce_text) for char, row in zip("df", rows, strict=True)}


FUNCTIONS: dict[str, dict[str, Function]] = {
    "exp": _same(1, exponential.exp, exponential.exp_rare),
    "exp2": _same(1, exponential.exp2, exponential.exp2_rare),
    "log": _same(1, logarithm.log, logarithm.log_rare),
    "log2": _same(1, logarithm.log2, logarithm.log2_rare),
    "log10": _same(1, logarithm.log10, logarithm.log10_rare),
    "log1p": _same(1, logarithm.log1p, logarithm.log1p_rare),
    "expm1": _same(1, hyperbolic.expm1, hyperbolic.expm1_rare),
    "sinh": _same(1, hyperbolic.sinh, hyperbolic.sinh_rare),
    "cosh": _same(1, hyperbolic.cosh, hyperbolic.cosh_rare),
    "tanh": _same(1, hyperbolic.tanh, hyperbolic.tanh_rare),
    "arctan": _same(1, inverse.arctan, inverse.arctan_rare),
    "arcsin": _same(1, inverse.arcsin, inverse.arc_rare),
    "arccos": _same(1, inverse.arccos, inverse.arc_rare),
    "arcsinh": _same(1, inverse_hyperbolic.arcsinh, inverse_hyperbolic.arcsinh_rare),
    "arccosh": _same(1, inverse_hyperbolic.arccosh, inverse_hyperbolic.arccosh_rare),
    "arctanh": _same(1, inverse_hyperbolic.arctanh, inverse_hyperbolic.arctanh_rare),
    "hypot": {
        "d": Function(2, DOUBLE, roots.hypot, roots.hypot_rare),
        "f": Function(2, DOUBLE, roots.hypot_f, roots.hypot_f_rare),
    },
    "sin": _angle((circular.sin, circular.sin_rare), (circular.sin_f, circular.sin_rare)),
    "cos": _angle((circular.cos, circular.cos_rare), (circular.cos_f, circular.cos_rare)),
    "tan": _angle((circular.tan, circular.tan_rare), (circular.tan_f, circular.tan_rare)),
}


@cache
def module(name: str, sig: str, target: Target) -> Module:
    """The text of a function's loop."""
    return write(FUNCTIONS[name][sig[0]], sig[0], target)
