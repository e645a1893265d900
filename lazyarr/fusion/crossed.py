"""Crossed: folds whose outputs are all pairs of a row and a column, as distances between points are.

In:  operands of a fold along its innermost loop, how they move.   Out: a letter for each (`Parfor.crossed`).
Where no operand moves along both loops over outputs, what belongs to a column serves all rows, so a kernel
may arrange it as it likes (`codegen.reduce_crossed`).
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarr.fusion.parfor import Operand

_LETTERS = {(False, False): "n", (True, False): "r", (False, True): "c"}


def crossed(dims: str, operands: Sequence[Operand], strides: Sequence[Sequence[int]]) -> str:
    """A letter for each operand; empty if rows and columns are not crossed, or not all of them folded."""
    if not dims.endswith("ppr") or dims.count("r") > 1:
        return ""
    found = ""
    for operand, mine in zip(operands, strides, strict=True):
        moves = mine[-3] != 0, mine[-2] != 0
        if operand.role == "in" and mine[-1] and moves in _LETTERS:
            found += _LETTERS[moves]
        elif operand.role == "out" and not mine[-1]:
            found += "o"
        else:
            return ""
    return found if {"r", "c"} <= set(found) else ""
