"""What is told of levels, in NumPy's words."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
from lazyarr import kernels, planning
from lazyarr.dispatch import introspect, jit
from lazyarr.dispatch.levels import host_level, selection
from lazyarr.op_targets import chosen
from lazyarr.ops import OPS

pytestmark = pytest.mark.skipif(not jit.available(), reason="tells of compiled kernels")


def test_attributes_follow_the_options():
    assert lazyarr.__cpu_baseline__ == list(selection().baseline)
    assert lazyarr.__cpu_dispatch__ == list(selection().dispatch)
    features = lazyarr.__cpu_features__
    assert all(features[name] for name in selection().usable)
    with lazyarr.options(disable_optimization=True):
        assert lazyarr.__cpu_dispatch__ == []
    with pytest.raises(AttributeError, match="module 'lazyarr' has no attribute '__cpu_nonsense__'"):
        _ = lazyarr.__cpu_nonsense__
    assert not {name for name in dir(lazyarr) if name.startswith("__cpu")}


def test_features_are_those_that_numpy_finds():
    from numpy._core._multiarray_umath import __cpu_features__ as known

    mine = introspect.cpu_features()
    both = set(mine) & set(known)
    assert len(both) > 20
    assert {name for name in both if mine[name]} == {name for name in both if known[name]}


def test_disabled_features_count_as_absent():
    low, *_, high = selection().usable
    with lazyarr.options(disable_cpu_features=high):
        assert not introspect.cpu_features()[high] and introspect.cpu_features()[low]
        assert high in introspect.simd_extensions()["not found"]
    assert introspect.cpu_features()[high]


def test_show_config_has_numpys_entries_and_ours():
    theirs, mine = numpy.show_config("dicts"), lazyarr.show_config("dicts")
    assert {name: mine[name] for name in theirs} == theirs
    assert mine["lazyarr"]["SIMD Extensions"] == introspect.simd_extensions()
    assert list(mine["lazyarr"]["SIMD Extensions"])[:2] == ["baseline", "found"]


def test_opt_func_info_tells_the_level_of_each_kernel(monkeypatch):
    monkeypatch.setattr(kernels, "_kernels", {})        # those of other tests are not told
    for table in ("_plans", "_patterns"):
        monkeypatch.setattr(planning, table, {})
    low = selection().usable[0]
    with lazyarr.options(jit="always"):
        x = lazyarr.arange(10.0)
        lazyarr.evaluate(x)
        lazyarr.evaluate(lazyarr.hypot(x * 2.5, x))
        with lazyarr.options(cpu_level=low):
            lazyarr.evaluate(lazyarr.logaddexp(x, x))
    info = lazyarr.debug.opt_func_info("hypot")
    ((ops, rows),) = [item for item in info.items() if item[0] == "multiply+hypot"]
    assert "hypot" in ops
    ((types, row),) = rows.items()
    assert types.endswith("d->d")
    levels = {"current": host_level().name, "available": introspect.available()}
    assert row == {**levels, "tier": "1", "calls": "hypot:numpy"}
    assert introspect.available().endswith(f"baseline({' '.join(selection().baseline)})")
    assert lazyarr.debug.opt_func_info("logaddexp", "^d->d$")["logaddexp"]["d->d"]["current"] == low
    assert lazyarr.debug.opt_func_info("hypot", "ff->f") == {}
    with lazyarr.options(jit="always", math="native"):
        lazyarr.evaluate(lazyarr.cbrt(x * 1.25))
    (rows,) = lazyarr.debug.opt_func_info("cbrt").values()
    level = chosen(OPS["cbrt"].targets, host_level().name, selection().baseline)
    assert [row["calls"] for row in rows.values()] == [f"cbrt:{level}"]
