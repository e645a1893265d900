"""Statements of the op table: groups, policies, and which level's code is chosen."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
from lazyarr import kernels, op_targets
from lazyarr.codegen.emitters import emitter
from lazyarr.cpu_features import LEVEL, LEVELS, here
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_level, selection
from lazyarr.op_targets import baseline_of, built, chosen, has, read
from lazyarr.ops import NATIVE, OPS, SHARED, row

V2, V3, V4 = "X86_V2", "X86_V3", "X86_V4"
BASE = (V2,)


def test_statements_are_read():
    found = read("$maxopt $keep_sort X86_V4 baseline #widths $keep_baseline")
    assert found == ((V4, *[n for n in op_targets.GROUPS["widths"] if n != V4]), True, 2, True, True)
    assert read("X86_V3") == ((V3,), False, 0, False, False)


@pytest.mark.parametrize("word", ["X86_V9", "#nobody", "$faster", "maxopt", "widths"])
def test_unknown_words_are_refused(word):
    with pytest.raises(ValueError, match="there is no"):
        read(f"baseline {word}")


@pytest.mark.parametrize("group", op_targets.GROUPS)
def test_groups_name_levels(group):
    assert op_targets.GROUPS[group] and set(op_targets.GROUPS[group]) <= set(LEVEL)


def test_all_rows_can_be_read():
    for op in OPS.values():
        read(op.targets)
        assert op.targets == (NATIVE if op.native else SHARED)


@pytest.mark.parametrize(
    ("statement", "baseline", "expected"),
    [
        ("baseline X86_V3 X86_V4", BASE, (V4, V3, V2)),                 # the highest first
        ("$keep_sort baseline X86_V3 X86_V4", BASE, (V3, V4, V2)),      # as they are written
        ("X86_V4 X86_V3", BASE, (V4, V3)),                              # no fallback
        ("X86_V4 X86_V3", (V2, V3), (V4, V3)),                          # one is the baseline
        ("X86_V2 X86_V4", (V2, V3), (V4, V3)),                          # one is a part of it
        ("$keep_baseline X86_V2 X86_V4", (V2, V3), (V4, V2)),           # but if it is to stay
        ("$keep_baseline baseline X86_V2 X86_V4", (V2, V3), (V4, V2, V3)),
        ("baseline ASIMD", BASE, (V2,)),
        ("ASIMD", BASE, ()),
    ],
)
def test_what_is_built(statement, baseline, expected):
    assert built(statement, "x86_64", baseline) == expected


@pytest.mark.parametrize(
    ("statement", "level", "expected"),
    [
        ("baseline #widths", "AVX512_SPR", V4),
        ("baseline #widths", V3, V3),
        ("baseline X86_V4", V3, V2),                    # the baseline's, for want of another
        ("$keep_sort X86_V3 X86_V4", "AVX512_ICL", V3),
        ("#x86", V4, V4),
        ("#x86", "AVX512_SPR", "AVX512_SPR"),
        ("baseline #widths", "ASIMDHP", "ASIMD"),
        ("baseline #widths", "SVE", "SVE"),
        ("baseline #widths", "VSX4", "VSX2"),
    ],
)
def test_the_highest_that_fits_is_chosen(statement, level, expected):
    assert chosen(statement, level, baseline_of(LEVEL[level].machine)) == expected


@pytest.mark.parametrize(("statement", "level"), [(V4, V2), ("X86_V4", V3), ("#x86", "ASIMD")])
def test_what_has_no_code_is_not_chosen(statement, level):
    assert not has(statement, level)
    with pytest.raises(ValueError, match="nothing for"):
        chosen(statement, level, BASE)


@pytest.mark.parametrize("name", [level.name for level in LEVELS])
def test_emitters_follow_the_statements(name):
    target = BY_NAME[name].target
    assert emitter("add", "dd->d", target) is not None
    assert emitter("add", "ee->e", target) is not None and emitter("cast", "e->d", target) is not None


def test_an_op_without_code_for_a_level_runs_numpys_loop(monkeypatch):
    """A row's statement is all that decides it."""
    low, high = V2, V4
    monkeypatch.setitem(OPS, "sqrt", _with(OPS["sqrt"], "X86_V4"))
    emitter.cache_clear()
    try:
        assert emitter("sqrt", "d->d", BY_NAME[low].target) is None
        assert emitter("sqrt", "d->d", BY_NAME[high].target) is not None
    finally:
        emitter.cache_clear()


def _with(op, targets):
    return op._replace(targets=targets)


@pytest.mark.skipif(not jit.available() or here() != "x86_64", reason="compiles for x86 levels")
def test_functions_are_compiled_for_the_chosen_level(monkeypatch):
    """Levels share them where the statement says so, and the bits stay."""
    with lazyarr.options(math="native"):
        wanted = chosen(row("exp").targets, host_level().name, selection().baseline)
        code = kernels.code_of_ours("exp", "d->d")
        assert (code.target.name, code.opt) == (wanted, op_targets.OPTIMISED)
        assert code.symbol.endswith(f"_{wanted}")
        with kernels.compiling_for(BY_NAME["AVX512_SPR"].target):
            assert kernels.code_of_ours("exp", "d->d").target.name == V4
        with kernels.compiling_for(BY_NAME["ASIMDHP"].target):
            assert kernels.code_of_ours("exp", "d->d").target.name == "ASIMD"
        x = lazyarr.asarray(numpy.linspace(-5, 5, 501))
        found = lazyarr.debug.call_all(lambda x: lazyarr.exp(x) * 2, x)
        monkeypatch.setitem(OPS, "exp", _with(OPS["exp"], "$keep_sort $keep_baseline X86_V2 #widths"))
        assert kernels.code_of_ours("exp", "d->d").opt == 0
        monkeypatch.setitem(OPS, "exp", _with(OPS["exp"], "$maxopt $keep_sort $keep_baseline X86_V2 #widths"))
        assert kernels.code_of_ours("exp", "d->d").target.name == V2
        with lazyarr.options(jit="always"):
            again = lazyarr.exp(x) * 2.0 + 0.0
            assert numpy.asarray(again).tobytes() == numpy.asarray(found).tobytes()
