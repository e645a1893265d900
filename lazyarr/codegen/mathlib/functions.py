"""The functions that there are: NumPy's name -> dtype -> `Function`.

In:  an op and a loop signature.   Out: the module of its loop.   A test compares the table with `own_loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from lazyarr.codegen.mathlib import (
    bessel,
    circular,
    circular_single,
    direction,
    error_function,
    exact,
    exponential,
    for_halves,
    hyperbolic,
    hyperbolic_single,
    inverse,
    inverse_hyperbolic,
    inverse_hyperbolic_single,
    inverse_single,
    log_of_sums,
    logarithm,
    logarithm_single,
    plane,
    power,
    power_single,
    roots,
    roots_single,
    sinc,
)
from lazyarr.codegen.mathlib.exponential import INF
from lazyarr.codegen.mathlib.in_stages import Stages
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE, Lanes, Mask, Raised, Real
from lazyarr.codegen.mathlib.loop import Function, write
from lazyarr.codegen.mathlib.payne_hanek import reduce_text
from lazyarr.codegen.pipeline import Module
from lazyarr.records import replace
from lazyarr.target import Target


def _same(
    operands: int, fast: Callable[..., Any], rare: Callable[..., Any], known: Callable[..., Any] | None = None
) -> dict[str, Function]:
    """One definition for both precisions."""
    return {
        "d": Function(operands, DOUBLE, fast, rare, known),
        "f": Function(operands, SINGLE, fast, rare, known),
    }


def _angle(*rows: tuple[Callable[..., Any], Callable[..., Any]]) -> dict[str, Function]:
    """Huge angles are reduced in float64."""
    return {
        char: Function(1, precision, *row, needs=reduce_text)
        for char, precision, row in zip("df", (DOUBLE, SINGLE), rows, strict=True)
    }


FUNCTIONS: dict[str, dict[str, Function]] = {
    "exp": _same(1, exponential.exp, exponential.exp_rare),
    "exp2": _same(1, exponential.exp2, exponential.exp2_rare),
    "log": {
        "d": Function(1, DOUBLE, logarithm.log, logarithm.log_rare, logarithm.known),
        "f": Function(1, SINGLE, logarithm_single.log, logarithm_single.log_rare, logarithm.known),
    },
    "log2": {
        "d": Function(1, DOUBLE, logarithm.log2, logarithm.log2_rare, logarithm.known),
        "f": Function(1, SINGLE, logarithm_single.log2, logarithm_single.log2_rare, logarithm.known),
    },
    "log10": {
        "d": Function(1, DOUBLE, logarithm.log10, logarithm.log10_rare, logarithm.known),
        "f": Function(1, SINGLE, logarithm_single.log10, logarithm_single.log10_rare, logarithm.known),
    },
    "log1p": {
        "d": Function(1, DOUBLE, logarithm.log1p, logarithm.log1p_rare, logarithm.log1p_known),
        "f": Function(1, SINGLE, logarithm_single.log1p, logarithm_single.log1p_rare, logarithm.log1p_known),
    },
    "expm1": {
        "d": Function(1, DOUBLE, hyperbolic.expm1, hyperbolic.expm1_rare),
        "f": Function(1, SINGLE, hyperbolic_single.expm1, hyperbolic.expm1_rare),
    },
    "sinh": {
        "d": Function(1, DOUBLE, hyperbolic.sinh, hyperbolic.sinh_rare),
        "f": Function(1, SINGLE, hyperbolic_single.sinh, hyperbolic.sinh_rare),
    },
    "cosh": {
        "d": Function(1, DOUBLE, hyperbolic.cosh, hyperbolic.cosh_rare),
        "f": Function(1, SINGLE, hyperbolic_single.cosh, hyperbolic.cosh_rare),
    },
    "tanh": {
        "d": Function(1, DOUBLE, hyperbolic.tanh, hyperbolic.tanh_rare),
        "f": Function(1, SINGLE, hyperbolic_single.tanh, None),
    },
    "arctan": _same(1, inverse.arctan, inverse.arctan_rare),
    "arcsin": {
        "d": Function(1, DOUBLE, inverse.arcsin, inverse.arc_rare, inverse.arc_known),
        "f": Function(1, SINGLE, inverse_single.arcsin, inverse.arc_rare, inverse.arc_known),
    },
    "arccos": {
        "d": Function(1, DOUBLE, inverse.arccos, inverse.arc_rare, inverse.arc_known),
        "f": Function(1, SINGLE, inverse_single.arccos, inverse.arc_rare, inverse.arc_known),
    },
    "arcsinh": {
        "d": Function(1, DOUBLE, inverse_hyperbolic.arcsinh, inverse_hyperbolic.arcsinh_rare),
        "f": Function(1, SINGLE, inverse_hyperbolic_single.arcsinh, inverse_hyperbolic_single.arcsinh_rare),
    },
    "arccosh": {
        "d": Function(
            1, DOUBLE, inverse_hyperbolic.arccosh, inverse_hyperbolic.arccosh_rare,
            inverse_hyperbolic.arccosh_known,
        ),
        "f": Function(
            1, SINGLE, inverse_hyperbolic_single.arccosh, inverse_hyperbolic_single.arccosh_rare,
            inverse_hyperbolic.arccosh_known,
        ),
    },
    "arctanh": {
        "d": Function(
            1, DOUBLE, inverse_hyperbolic.arctanh, inverse_hyperbolic.arctanh_rare,
            inverse_hyperbolic.arctanh_known,
        ),
        "f": Function(
            1, SINGLE, inverse_hyperbolic_single.arctanh, inverse_hyperbolic_single.arctanh_rare,
            inverse_hyperbolic.arctanh_known,
        ),
    },
    "arctan2": _same(2, direction.arctan2, direction.arctan2_rare),
    "logaddexp": _same(2, log_of_sums.logaddexp, log_of_sums.logaddexp_rare, log_of_sums.known),
    "logaddexp2": _same(2, log_of_sums.logaddexp2, log_of_sums.logaddexp2_rare, log_of_sums.known),
    "cbrt": {
        "d": Function(1, DOUBLE, roots.cbrt, roots.cbrt_rare, roots.cbrt_known),
        "f": Function(1, SINGLE, roots_single.cbrt, roots_single.cbrt_rare, roots.cbrt_known),
    },
    "power": {
        "d": Function(2, DOUBLE, power.power, power.power_rare, power.power_known),
        "f": Function(2, SINGLE, power_single.power, power_single.power_rare, power_single.power_known),
    },
    "hypot": {
        "d": Function(2, DOUBLE, roots.hypot, roots.hypot_rare),
        "f": Function(2, DOUBLE, roots.hypot_f, roots.hypot_f_rare),
    },
    "erf": _same(1, error_function.erf, error_function.erf_rare),
    "erfc": _same(1, error_function.erfc, error_function.erfc_rare),
    "sinc": {
        "d": Function(1, DOUBLE, sinc.sinc, sinc.sinc_rare),
        "f": Function(1, DOUBLE, sinc.sinc_f, sinc.sinc_rare),
    },
    "i0": {
        "d": Function(1, DOUBLE, bessel.i0, bessel.i0_rare),
        "f": Function(1, DOUBLE, bessel.i0_f, bessel.i0_f_rare),
    },
    "sin": _angle((circular.sin, circular.sin_rare), (circular_single.sin, circular_single.sin_rare)),
    "cos": _angle((circular.cos, circular.cos_rare), (circular_single.cos, circular_single.cos_rare)),
    "tan": _angle((circular.tan, circular.tan_rare), (circular_single.tan, circular_single.tan_rare)),
}


FUNCTIONS["float_power"] = {"d": FUNCTIONS["power"]["d"]}

_LARGEST = 65520.0
"""What float16 rounds to infinity."""
_OVERFLOWING = {"exp", "exp2", "expm1", "sinh", "cosh", "power", "hypot", "i0"}
"""Whose finite results float16 may not hold."""


def _half(name: str, function: Function) -> Function:
    """float16 through float32's function: results that do not fit overflow.

    A definition of its own counts these as special itself."""
    own = for_halves.FAST.get(name)
    if function.rare is None or name not in _OVERFLOWING:
        return replace(function, fast=own) if own else function
    redo = function.rare

    def usual(on: Lanes, *xs: Real) -> tuple[Real, Mask]:
        y, special = function.fast(on, *xs)
        assert special is not None and isinstance(y, Real)
        return y, special

    def fast(on: Lanes, *xs: Real) -> tuple[Real, Mask]:
        y, special = usual(on, *xs)
        return y, special | abs(y).outside(_LARGEST)

    def rare(on: Lanes, *xs: Real) -> tuple[Real, Raised]:
        near, special = usual(on, *xs)
        y, raised = redo(on, *xs)
        assert isinstance(y, Real)
        raised = {key: where & special for key, where in raised.items()}
        y = special.real(y, near)
        over = abs(y) >= _LARGEST
        for x in xs:
            over = over & (abs(x) < INF)
        if "divide" in raised:
            over = over & ~raised["divide"]
        return y, {**raised, "over": over}

    def known(on: Lanes, found: Real, *xs: Real) -> tuple[Real, Mask, Raised]:
        assert function.known
        y, held, raised = function.known(on, found, *xs)
        return y, held & (abs(y).below(_LARGEST) | y.nan()), raised

    return replace(function, fast=own or fast, rare=rare, known=known if function.known else None)


_APART = {
    "d": (
        "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "tanh", "arctan",
        "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "arctan2", "logaddexp", "logaddexp2", "cbrt",
        "power", "hypot", "sin", "cos", "tan", "float_power", "sinc", "i0",
    ),
    "f": ("exp", "log", "logaddexp", "logaddexp2", "hypot", "sinc", "i0"),
}  # fmt: skip
"""Which functions round products and sums apart (`Function.fused`), by dtype: those that are no slower than
NumPy's for it on CPUs that fuse them.  Where others are not fused, their operations are emulated."""
_PAIRS = {
    "d": (
        "exp", "exp2", "log", "log2", "log10", "log1p", "cosh", "arctan", "arcsin", "arccos", "arccosh",
        "cbrt", "tan",
    ),
    "f": (
        "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "tanh", "arctan", "arcsin",
        "arccos", "arcsinh", "arctanh", "arctan2", "logaddexp", "logaddexp2", "cbrt", "sin", "cos",
    ),
    "e": ("log1p", "tanh", "arccosh", "logaddexp", "logaddexp2", "cbrt"),
}  # fmt: skip
"""What AVX-512 computes in two registers side by side, by dtype: where it is faster."""
_FOURS = {
    "d": (
        "power", "float_power", "expm1", "sinh", "tanh", "arcsinh", "arctanh", "logaddexp", "logaddexp2",
        "sin", "cos",
    ),
    "f": ("power", "arccosh", "tan"),
    "e": ("log2",),
}  # fmt: skip
"""What it computes in four: long chains of few constants.  A Zen 5 has few of them in flight at a time, and
takes 0.75 to 0.9 of the time so; LLVM's models of Zen 4 and Ice Lake (`llvm-mca`) have 4 % against it at
most, but 10 % for tan of float32 and 13 % for tanh on Zen 4."""
_ALONE_AVX = {"d": ("log", "log2", "hypot"), "f": ("arcsin", "arccos", "arctan2", "hypot"), "e": ()}
"""What AVX2 computes in one: in two, as all others, it is no faster."""
_FOURS_UNFUSED = {
    "d": ("arcsin", "arccos"), "f": ("power", "arccosh", "exp2", "log2", "sin", "cos"), "e": (),
}  # fmt: skip
"""What CPUs without fused products compute in four, which takes 0.8 to 0.95 of the time: what was next to no
faster than NumPy's in two, as all others are."""


_STAGES: dict[str, dict[int, tuple[str, ...]]] = {
    "d": {
        2: ("log1p", "sinh", "arccos", "cbrt", "erf", "erfc"),
        3: ("exp2", "tanh", "arccosh", "arctanh", "arctan2", "hypot", "sin", "cos"),
        4: ("arcsinh", "power", "float_power"),
    },
    "f": {
        2: ("exp2", "log10", "log1p", "cosh", "arctan2"),
        3: ("log2", "sinh", "arctan", "arcsinh"),
        4: ("exp", "tanh"),
    },
    "e": {},
}
"""In how many stages AVX-512 computes long rows, in two registers side by side, by dtype (`Function.flow`):
where a Zen 5 takes 0.6 to 0.95 of the time so.  What is not named gains less, or needs too many registers."""
_STAGES_FOUR: dict[str, dict[int, tuple[str, ...]]] = {
    "d": {35: ("tan",), 45: ("cosh",), 50: ("exp", "log", "log2", "log10", "arctan", "arcsin")},
    "f": {
        35: ("tan",),
        40: ("arcsin", "sin", "cos", "erf", "erfc"),
        45: ("arccos",),
        50: ("expm1", "arctanh", "cbrt", "power"),
    },
    "e": {},
}
"""What it computes in two stages, in four registers side by side, by how many percent the first one has: 0.65
to 0.97 of the time of the best number of stages in two registers."""
_STAGES_ALONE: dict[str, dict[str, int]] = {
    "d": {"logaddexp": 6, "logaddexp2": 6, "sinc": 3},
    "f": {"log": 4, "arccosh": 5, "logaddexp": 6, "logaddexp2": 6},
    "e": {},
}
"""The same of those that one register is better for."""


def _flow(name: str, char: str) -> Stages | None:
    found = [Stages(2, number) for number, names in _STAGES[char].items() if name in names]
    found += [Stages(4, 2, first) for first, names in _STAGES_FOUR[char].items() if name in names]
    found += [Stages(1, _STAGES_ALONE[char][name])] if name in _STAGES_ALONE[char] else []
    assert len(found) < 2
    return found[0] if found else None


def _registers(name: str, char: str) -> int:
    return 4 if name in _FOURS[char] else 2 if name in _PAIRS[char] else 1


for _name, _rows in FUNCTIONS.items():
    for _char, _row in _rows.items():
        _rows[_char] = replace(_row, fused=_name not in _APART[_char])
    if "f" in _rows:
        _rows["e"] = replace(_half(_name, _rows["f"]), fused=None if _rows["f"].operands == 1 else False)
    for _char, _row in _rows.items():
        _rows[_char] = replace(
            _row,
            registers=_registers(_name, _char),
            flow=_flow(_name, _char),
            registers_avx=1 if _name in _ALONE_AVX[_char] else 2,
            registers_unfused=4 if _name in _FOURS_UNFUSED[_char] else 2,
            nans=_row.operands == 1 and bool(_row.rare),
        )


@cache
def module(name: str, sig: str, target: Target) -> Module:
    """The text of a function's loop."""
    tables = (exact.FUNCTIONS, plane.FUNCTIONS, FUNCTIONS)
    return write(next(t[name][sig[0]] for t in tables if sig[0] in t.get(name, {})), sig, target)
