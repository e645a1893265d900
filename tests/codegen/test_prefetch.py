"""Which folds prefetch what they read, and where to: as the table of numbers has it for each level."""

from __future__ import annotations

import pytest

from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.tuning import TABLE, row_of

NEAR, FAR = "i32 0, i32 3, i32 1", "i32 0, i32 2, i32 1"
"""How LLVM is asked for the first-level cache, and the second."""


@pytest.fixture(params=TABLE)
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each row of the table, as if this host were one that it is for."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: request.param)
    return str(request.param)


def text(dims: str, order: str, row: str) -> str:
    operands = (Operand("d", "u"), Operand("d", "u" if dims[-1] == "p" else "z", "out"))
    folded = Inst("reduce", "d", (0,), Reduction("add", order, out=1, start=1))
    parfor = Parfor(dims, operands, "d", (Inst("load", "d", (), 0), Inst("scalar", "d", (), 0), folded))
    return compile_parfor(parfor, BY_NAME[row.partition(" ")[0]].target).ir


def test_along_the_elements(row: str) -> None:
    found, ahead = text("r", "pairwise", row), TABLE[row].fold_ahead
    assert (NEAR in found) == (ahead > 0) and (not ahead or f"i64 {ahead}" in found)
    assert FAR not in found


def test_across_rows(row: str) -> None:
    assert (FAR in text("rp", "sequential", row)) == (TABLE[row].rows_ahead > 0)


def test_accumulators_go_by_lines(row: str) -> None:
    """They are filled, and stored where results are neighbours, a line at a time: few rows are long."""
    assert text("rp", "sequential", row).count("store <8 x i64>") >= 2


def test_levels_differ() -> None:
    """What helps Xeons gets in the way of a Zen 4, and the other way about."""
    xeon, zen = TABLE["AVX512_SPR"], TABLE["AVX512_ICL"]
    assert xeon.fold_ahead and not xeon.rows_ahead
    assert zen.rows_ahead and not zen.fold_ahead


def test_further_features_choose_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two CPUs of one level differ: a row names what one of them has besides."""
    for has, ahead in (("AVX512VP2INTERSECT", 0), ("AVX512VP2INTERSECT AVXVNNI", 8192)):
        monkeypatch.setattr("lazyarr.tuning.of_the_system", lambda has=has: frozenset(has.split()))
        row_of.cache_clear()
        assert TABLE[row_of("AVX512_ICL")].fold_ahead == ahead
        assert row_of("X86_V3") == "X86_V3"
    row_of.cache_clear()
