"""Functions with one right answer, which kernels call in every mode: NumPy's name -> dtype -> `Function`."""

from __future__ import annotations

from lazyarr.codegen.mathlib import division
from lazyarr.codegen.mathlib.lanes import DOUBLE, SINGLE
from lazyarr.codegen.mathlib.loop import Function


def _rows(name: str) -> dict[str, Function]:
    """float16 goes through float32, as in NumPy."""
    return {
        char: Function(2, p, getattr(of, name), getattr(of, f"{name}_rare"))
        for char, p, of in (
            ("d", DOUBLE, division.WIDE), ("f", SINGLE, division.WIDE), ("e", SINGLE, division.HALF),
        )
    }  # fmt: skip


def _same(name: str) -> dict[str, Function]:
    fast, rare = getattr(division, name), getattr(division, f"{name}_rare")
    return {char: Function(2, p, fast, rare) for char, p in (("d", DOUBLE), ("f", SINGLE), ("e", SINGLE))}


FUNCTIONS: dict[str, dict[str, Function]] = {
    "fmod": _same("fmod"),
    "remainder": _same("remainder"),
    "floor_divide": _rows("floor_divide"),
    "divmod": _rows("divmod"),
}
