"""NumPy's loops as tables of words that machine code reads (`loops`).

In:  NumPy's ufuncs.   Out: for each a table, with one row of words for each type number.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy

from lazyarr.numpy_loops import loops_of

OPERATORS = {
    "Add": "add", "Subtract": "subtract", "Multiply": "multiply", "Remainder": "remainder",
    "FloorDivide": "floor_divide", "TrueDivide": "divide", "And": "bitwise_and", "Or": "bitwise_or",
    "Xor": "bitwise_xor",
}  # fmt: skip
"""What CPython calls an operator -> the ufunc.  (Not powers: NumPy has ways around their loops.  Nor complex
products, whose bits depend on how elements lie: see `_COMPLEX`.)"""

DOTS = "_MatrixMultiply"
"""The operator whose loop `products` calls, for floating types alone."""

UFUNCS = "add", "subtract", "multiply", "divide", "maximum", "minimum"
"""Called by name, they go the same way.  (Each one more costs all others a comparison.)"""

UNARY = {"Negative": "negative", "Absolute": "absolute"}
"""Operators of one operand -> the ufunc."""

LONE = "absolute", "negative"
"""Ufuncs of one operand that go the same way by name.  (Of `sqrt` and `exp` NumPy runs other loops than those
that are found here: slower ones, and with other bits.)"""

COMPARISONS = "less", "less_equal", "equal", "not_equal", "greater", "greater_equal"
"""In CPython's order."""

ASIDE = 512
"""Elements up to which operators in place compute aside."""
ROOM = 16 * ASIDE
"""Bytes that they take for it."""

_CHARS = "?bBhHiIlLqQfd FD"
DOUBLES = _CHARS.index("d")
"""The type number of double precision."""
TYPES = len(_CHARS)
"""Type numbers that have rows: bool, integers, single and double precision, complex numbers of both.  (That
of the long double in between is empty.)"""

ENTRY = 48
"""Bytes of a row."""

TABLE = TYPES * ENTRY

DOUBLE, SINGLE, INTEGER, FLAGGED = 1, 2, 3, 4
"""Kinds of rows: which numbers of Python's are operands of theirs, and whether the CPU's status counts."""

_COMPLEX = "add", "subtract", "absolute"
"""All for complex arrays."""

_REAL = {"F": "f", "D": "d"}
"""What their absolute values are."""

ALONE = {*UNARY.values(), *LONE}
"""All of one operand."""

_KIND = {"d": DOUBLE, "f": SINGLE, "l": INTEGER}
"""(With one of Python's, NumPy makes some results of the second type of a word one of the first.)"""
_QUIET = {
    "maximum", "minimum", "add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor",
    *UNARY.values(), *COMPARISONS,
}  # fmt: skip
"""What reports no errors of integers."""


def words(loops: Mapping[str, tuple[int, int]], name: str, kept: list[Any]) -> list[int]:
    """A table: rows of a type's descriptor, the loop, its last argument, the result's descriptor, the class
    of scalars, and kinds; zeros where there is no loop that takes two of one type, or the only one."""
    found = [0] * (TABLE // 8)
    for number, char in enumerate(_CHARS):
        floats, pairs = char in "fdFD", char in "FD"
        for out in char, "?", _REAL.get(char, char):
            loop = loops.get(f"{char if name in ALONE else 2 * char}->{out}")
            taken = name in _COMPLEX if pairs else floats or name != "matmul"
            if loop is not None and taken:
                dtype, result = numpy.dtype(char), numpy.dtype(out)
                kind = _KIND.get(char, 0) | (0 if name in _QUIET and not floats else FLAGGED)
                found[6 * number : 6 * number + 6] = id(dtype), *loop, id(result), id(dtype.type), kind
                kept.extend((dtype, result, dtype.type))
                break
    return found


def tables(kept: list[Any]) -> dict[str, int]:
    """The words for addresses of tables, by `word_of`; "comparisons" are one after the other."""
    named = {name: (name,) for name in (*OPERATORS.values(), *UFUNCS, *LONE, *UNARY.values(), "matmul")}
    found = {}
    for table, names in {**named, "comparisons": COMPARISONS}.items():
        numbers: list[int] = []
        for name in names:
            numbers += words(loops_of(getattr(numpy, name)), name, kept)
        made = (ctypes.c_ssize_t * len(numbers))(*numbers)
        kept.append(made)
        found[word_of(table)] = ctypes.addressof(made)
    return found


def word_of(table: str) -> str:
    return f"loops of {table}"


def table_of(function: str) -> str:
    """The table for an operator, by its function in CPython's C interface; or nothing."""
    if function == "PyObject_RichCompare":
        return "comparisons"
    if function.endswith(DOTS):
        return "matmul"
    name = function.removeprefix("PyNumber_").removeprefix("InPlace")
    return OPERATORS.get(name) or UNARY.get(name, "")
