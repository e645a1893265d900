"""Which folds prefetch what they read, and where to: as the table of numbers has it for each level."""

from __future__ import annotations

import pytest

from lazyarr.codegen.compress_keep import keep_kernels
from lazyarr.codegen.compress_sums import LINES
from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.codegen.sum_leaves import SUMMED
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.target import OWN, Key
from lazyarr.tuning import TABLE, row_of

NEAR, FAR = "i32 0, i32 3, i32 1", "i32 0, i32 2, i32 1"
"""How LLVM is asked for the first-level cache, and the second."""


@pytest.fixture(params=TABLE)
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each row of the table, as if this host were one that it is for."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: request.param)
    return str(request.param)


def text(dims: str, order: str, row: str, hot: bool = False) -> str:
    operands = (Operand("d", "u"), Operand("d", "u" if dims[-1] == "p" else "z", "out"))
    folded = Inst("reduce", "d", (0,), Reduction("add", order, out=1, start=1))
    parfor = Parfor(dims, operands, "d", (Inst("load", "d", (), 0), Inst("scalar", "d", (), 0), folded))
    return compile_parfor(parfor, BY_NAME[row.partition(" ")[0]].target, hot=hot).ir


def test_along_the_elements(row: str) -> None:
    found, ahead = text("r", "pairwise", row), TABLE[row].fold_ahead
    assert (NEAR in found) == (ahead > 0) and (not ahead or f"i64 {ahead}" in found)
    assert FAR not in found


def test_hot_folds_fetch_what_others_read(row: str) -> None:
    """Rows of the next block, if they are told where these are; else the same line again and again.  Not
    where the processor's prefetchers go on from row to row."""
    found = text("pr", "pairwise", row, hot=True)
    assert (FAR in found) == TABLE[row].next_rows
    assert ", ptr %words" in found or FAR not in found
    assert FAR not in text("pr", "pairwise", row)


def packed(row: str, streams: int = 1) -> str:
    """What keeps elements that are greater than a number, or than their neighbours in another array."""
    operands = (*[Operand("d", "u")] * streams, Operand("d", "z", "out"))
    other = Inst("load", "d", (), 1) if streams > 1 else Inst("scalar", "d", (), 0)
    kept = Inst("reduce", "d", (0,), Reduction("compress", "sequential", streams, -1, 2))
    body = (Inst("load", "d", (), 0), other, Inst("greater", "dd->?", (0, 1)), kept)
    parfor = Parfor("r", operands, "" if streams > 1 else "d", body)
    return compile_parfor(parfor, BY_NAME[row.partition(" ")[0]].target).ir


def test_what_is_packed(row: str) -> None:
    """By a number of its own: what computes between loads is not what adds them up."""
    found, ahead = packed(row), TABLE[row].pack_ahead
    assert (NEAR in found) == (ahead > 0) and (not ahead or f"i64 {ahead}" in found)
    assert FAR not in found
    assert packed(row, 2).count(NEAR) == 2 * found.count(NEAR)


def test_what_is_packed_next(row: str) -> None:
    """While sums are made of what was packed, for each type of these."""
    found, ahead = keep_kernels(BY_NAME[row.partition(" ")[0]].target), TABLE[row].sums_ahead
    assert found.count(NEAR) == (0 if ahead is None else LINES * len(SUMMED))


def test_across_rows(row: str) -> None:
    assert (FAR in text("rp", "sequential", row)) == (TABLE[row].rows_ahead > 0)


def test_accumulators_go_by_lines(row: str) -> None:
    """They are filled, and stored where results are neighbours, a line at a time: few rows are long."""
    assert text("rp", "sequential", row).count("store <8 x i64>") >= 2


def exponentials(char: str, equal: tuple[Key, ...], level: str) -> str:
    """Sums of rows of an exponential that is stored as well."""
    operands = (Operand(char, "u"), Operand(char, "u", "out"), Operand(char, "z", "out"))
    folded = Inst("reduce", char, (1,), Reduction("add", "pairwise", out=2, start=2))
    body = (
        Inst("load", char, (), 0), Inst("exp", f"{char}->{char}", (0,)), Inst("scalar", char, (), 0),
        folded, Inst("store", "", (1,), 1),
    )  # fmt: skip
    return compile_parfor(Parfor("pr", operands, char, body), BY_NAME[level].target._replace(equal=equal)).ir


@pytest.mark.parametrize("level", ["X86_V3", "AVX512_ICL"])
def test_what_another_launch_reads(level: str) -> None:
    """While functions of ours compute: where NumPy's loops do, nothing is computed beside them."""
    own = (("exp", "f->f", OWN),)
    assert FAR in exponentials("f", own, level)
    assert FAR not in exponentials("f", (), level) and FAR not in exponentials("d", own, level)


def calls(steps: int) -> str:
    """So many values that pass between calls of NumPy's loops, each in scratch memory of its own."""
    body, values = [Inst("load", "d", (), 0)], []
    for _ in range(steps):
        body.append(Inst("add", "dd->d", (len(body) - 1, 0)))
        body.append(Inst("exp", "d->d", (len(body) - 1,)))
        values.append(len(body) - 1)
    *others, total = values             # (so all of them are kept until there is the last one)
    for v in others:
        body.append(Inst("add", "dd->d", (total, v)))
        total = len(body) - 1
    body.append(Inst("store", "", (total,), 1))
    parfor = Parfor("p", (Operand("d", "u"), Operand("d", "u", "out")), "", tuple(body))
    return compile_parfor(parfor, BY_NAME["AVX512_ICL"].target).ir


def test_short_blocks() -> None:
    """Between blocks of few elements much is computed, and the processor's prefetchers lose track."""
    assert NEAR in calls(10) and NEAR not in calls(1)


def test_levels_differ() -> None:
    """What helps Xeons gets in the way of a Zen 4, and the other way about."""
    xeon, zen = TABLE["AVX512_SPR"], TABLE["AVX512_ICL"]
    assert xeon.fold_ahead and not xeon.rows_ahead
    assert zen.rows_ahead and not zen.fold_ahead
    third, fourth = TABLE["X86_V3 CLZERO VAES"], TABLE["X86_V3 CLZERO VAES L2_1M"]
    assert third.pack_ahead and third.next_rows and not third.fold_ahead
    assert not fourth.pack_ahead and not fourth.next_rows and not fourth.fold_ahead


def test_further_features_choose_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two CPUs of one level differ: a row names what one of them has besides."""
    for has, ahead in (("AVX512VP2INTERSECT", 0), ("AVX512VP2INTERSECT AVXVNNI", 8192)):
        monkeypatch.setattr("lazyarr.tuning.of_the_system", lambda has=has: frozenset(has.split()))
        row_of.cache_clear()
        assert TABLE[row_of("AVX512_ICL")].fold_ahead == ahead
        assert row_of("X86_V3") == "X86_V3"
    for has, least in (("CLZERO", False), ("CLZERO VAES", True), ("CLZERO VAES AVXVNNI", False)):
        monkeypatch.setattr("lazyarr.tuning.of_the_system", lambda has=has: frozenset(has.split()))
        row_of.cache_clear()
        assert (TABLE[row_of("X86_V3")].fold_ahead == 0) == least
    row_of.cache_clear()


def test_caches_choose_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a hypervisor hides what tells two CPUs apart, their second-level caches do."""
    monkeypatch.setattr("lazyarr.tuning.of_the_system", lambda: frozenset(["CLZERO", "VAES"]))
    for kilobytes, ahead in ((512, 4096), (1024, 0)):
        monkeypatch.setattr("lazyarr.tuning.cache_bytes", lambda kilobytes=kilobytes: kilobytes << 10)
        row_of.cache_clear()
        assert TABLE[row_of("X86_V3")].pack_ahead == ahead
    row_of.cache_clear()


def test_rows_of_a_level_have_one_layout() -> None:
    """A cache or a bundle may hold what another CPU of the level compiled, and tier 2 follows upon that."""
    for key, row in TABLE.items():
        assert row.step_bytes == TABLE[key.partition(" ")[0]].step_bytes
