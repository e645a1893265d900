"""Each operator and function on special values of all dtypes: results, warnings and errors are NumPy's."""

from __future__ import annotations

import math
import sys

import numpy
import pytest
from scalar.conftest import check, special

from lazyarr.scalar.ops import LIBRARY

TWO = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "//": lambda x, y: x // y, "%": lambda x, y: x % y, "divmod": lambda x, y: divmod(x, y),
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y, "max": lambda x, y: max(x, y),
    "min": lambda x, y: min(y, x),
    "and": lambda x, y: x and y, "or": lambda x, y: x or y, "&": lambda x, y: x & y, "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y, ">>": lambda x, y: x >> y, "atan2": lambda x, y: math.atan2(x, y),
    "fmod": lambda x, y: math.fmod(x, y), "copysign": lambda x, y: math.copysign(x, y),
    "log": lambda x, y: math.log(x, y), "chain": lambda x, y: 0 < x <= y,
    "if": lambda x, y: 0 if x < y else 1.5,
    "tuple": lambda x, y: (x, y, x < y), "pow": lambda x, y: math.pow(x, y),
}  # fmt: skip
ONE = {
    "-": lambda x: -x, "+": lambda x: +x, "~": lambda x: ~x, "not": lambda x: not x, "abs": lambda x: abs(x),
    "int": lambda x: int(x), "float": lambda x: float(x), "bool": lambda x: bool(x),
    "round": lambda x: round(x),
    "floor": lambda x: math.floor(x), "ceil": lambda x: math.ceil(x), "trunc": lambda x: math.trunc(x),
    "isnan": lambda x: math.isnan(x), "isinf": lambda x: math.isinf(x),
    "isfinite": lambda x: math.isfinite(x),
    "in": lambda x: x in (0, 1, 2.5), "not in": lambda x: x not in (0, 1, 2.5), "half": lambda x: x / 2,
    "square": lambda x: x**2, "cube": lambda x: x**3, "1/": lambda x: x**-1, "root": lambda x: x**0.5,
    "log": lambda x: math.log(x), "degrees": lambda x: math.degrees(x), "radians": lambda x: math.radians(x),
    "max": lambda x: max(0, x), "min": lambda x: min(x, 1, 2), "<<": lambda x: x << 3,
    "constant": lambda x: 3, "fabs": lambda x: math.fabs(x),
    "same": lambda x: x, "3.5 % x": lambda x: 3.5 % x,
    "2 ** x": lambda x: 2**x,
}  # fmt: skip
for _name in LIBRARY:
    if len(LIBRARY[_name][0]) == 1:
        ONE[f"math.{_name}"] = eval(f"lambda x: math.{_name}(x)")

PAIRS = ("dd", "ll", "dl", "ld", "??", "?d", "fd", "bb", "Lh")


def fine(fn, *columns):
    """The elements on which Python raises nothing, and gives numbers that NumPy's integers hold."""
    keep = []
    for args in zip(*[x.tolist() for x in columns], strict=True):
        try:
            found = fn(*args)
            several = found if isinstance(found, tuple) else (found,)
            keep.append(not any(type(x) is complex or (type(x) is int and abs(x) >= 2**63) for x in several))
        except (ArithmeticError, ValueError, TypeError):
            keep.append(False)
    return [x[keep] for x in columns]


@pytest.mark.parametrize("types", PAIRS)
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name, types):
    x, y = map(special, types)
    if name in ("==", "!=") and sys.version_info >= (3, 12):
        x, y = x[x == x], y[y == y]     # on NaN, "invalid" depends on how often CPython has run it
    columns = numpy.repeat(x, y.size), numpy.tile(y, x.size)
    check(TWO[name], *columns)
    some = fine(TWO[name], *columns)
    if some[0].size:
        v = check(TWO[name], *some)
        assert v.refusal is None or "at this call" in str(v.refusal)


@pytest.mark.parametrize("types", "dlf?bLhe")
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name, types):
    x = special(types)
    if not (name == "2 ** x" and types in "lL"):        # Python would take all memory
        check(ONE[name], x)
    some = fine(ONE[name], x[abs(x.astype(float)) < 1000])
    if some[0].size:
        check(ONE[name], *some)


@pytest.mark.parametrize("types", "dlL?")
@pytest.mark.parametrize("char", "?bhilqBHILQefdFO")
def test_results_as_elements(char, types):
    """A result that the dtype does not hold raises, or is rounded, as NumPy does it."""
    x = special(types)
    check(lambda x: x, x, options={"otypes": char})
    check(lambda x: x, x[abs(x.astype(float)) < 100], options={"otypes": [char]})
