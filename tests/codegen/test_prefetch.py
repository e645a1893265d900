"""Which folds prefetch what they read, and where to: as the table of numbers has it for each level."""

from __future__ import annotations

import pytest

from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.tuning import TABLE

NEAR, FAR = "i32 0, i32 3, i32 1", "i32 0, i32 2, i32 1"
"""How LLVM is asked for the first-level cache, and the second."""


def text(dims: str, order: str, level: str) -> str:
    operands = (Operand("d", "u"), Operand("d", "u" if dims[-1] == "p" else "z", "out"))
    folded = Inst("reduce", "d", (0,), Reduction("add", order, out=1, start=1))
    parfor = Parfor(dims, operands, "d", (Inst("load", "d", (), 0), Inst("scalar", "d", (), 0), folded))
    return compile_parfor(parfor, BY_NAME[level].target).ir


@pytest.mark.parametrize("level", TABLE)
def test_along_the_elements(level: str) -> None:
    found, ahead = text("r", "pairwise", level), TABLE[level].fold_ahead
    assert (NEAR in found) == (ahead > 0) and (not ahead or f"i64 {ahead}" in found)
    assert FAR not in found


@pytest.mark.parametrize("level", TABLE)
def test_across_rows(level: str) -> None:
    assert (FAR in text("rp", "sequential", level)) == (TABLE[level].rows_ahead > 0)


@pytest.mark.parametrize("level", TABLE)
def test_accumulators_go_by_lines(level: str) -> None:
    """They are filled, and stored where results are neighbours, a line at a time: few rows are long."""
    assert text("rp", "sequential", level).count("store <8 x i64>") >= 2


def test_levels_differ() -> None:
    """What helps Xeons gets in the way of a Zen 4, and the other way about."""
    xeon, zen = TABLE["AVX512_SPR"], TABLE["AVX512_ICL"]
    assert xeon.fold_ahead and not xeon.rows_ahead
    assert zen.rows_ahead and not zen.fold_ahead
