"""The manifest: what was probed, validated and built; made once, kept in the cache, told without LLVM."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import lazyarr
from lazyarr import cpu_features
from lazyarr.dispatch import cache_entries, jit, levels, manifest
from lazyarr.dispatch.levels import host_levels, selection
from lazyarr.dispatch.llvm import binding
from lazyarr.ops import OPS

pytestmark = pytest.mark.skipif(not jit.available(), reason="asks LLVM")


@pytest.fixture
def anew(cold, monkeypatch):
    """Nothing is known yet."""
    monkeypatch.setattr(manifest, "_made", {})
    return cold


def test_what_it_says(anew):
    told = manifest.manifest()
    assert told.probed["LLVM"] == ".".join(map(str, binding().llvm_version_info))
    assert told.probed["machine"] == cpu_features.here()
    assert set(told.probed["system"]) >= set(cpu_features.features_of(host_levels()[-1].target.name))
    mine = [level.name for level in cpu_features.LEVELS if level.machine == cpu_features.here()]
    assert list(told.validated) == mine
    assert [name for name, verdict in told.validated.items() if verdict == "runs"] == list(selection().usable)
    named = [op for row in told.built.values() for op in row["ops"] if op in OPS]
    assert sorted(named) == sorted(OPS), "each op once"
    for row in told.built.values():
        assert set(row["levels"]) <= set(selection().usable)


def test_it_follows_the_options(anew):
    low, *_, high = selection().usable
    with lazyarr.options(disable_cpu_features=high):
        told = manifest.manifest()
    assert told.validated[low] == "runs" and told.validated[high] == "left out by the options"
    assert high not in {level for row in told.built.values() for level in row["levels"]}
    assert manifest.manifest().validated[high] == "runs"
    kinds = [entry.about.get("kind") for entry in cache_entries.entries()]
    assert kinds.count("manifest") == 2


def test_what_stands_against_a_level_is_said(anew, monkeypatch):
    high = selection().usable[-1]
    feature = cpu_features.LEVEL[high].adds.split()[-1]
    monkeypatch.setattr(manifest, "denied_by_llvm", lambda: frozenset({feature}))
    assert manifest._verdict(high, frozenset()) == f"LLVM does not see {feature}"
    known = frozenset(f.llvm for f in cpu_features.FEATURES if f.name != feature)
    assert manifest._verdict(high, known) == f"LLVM does not know {feature}"
    monkeypatch.setattr(levels, "host_features", lambda: frozenset())
    assert manifest._verdict(high, frozenset()).startswith("this host lacks ")
    monkeypatch.undo()
    monkeypatch.setattr(manifest, "_answer", lambda level: 41.0)
    assert manifest._verdict(high, frozenset()) == "its code gives wrong results"


def test_another_llvm_or_host_makes_another(anew, monkeypatch):
    keys = {manifest._key()}
    for name, other in (("version", "0"), ("_library", "/other"), ("here", "riscv64"),
                        ("of_the_system", frozenset({"SSE"})), ("cpu_key", ("x",)), ("_statements", {})):
        with monkeypatch.context() as patch:
            patch.setattr(manifest, name, lambda other=other: other)
            keys.add(manifest._key())
    assert len(keys) == 7


def run(cold, code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={
        **os.environ, "PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_DIR": str(cold)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_shown_and_later_without_llvm(cold):
    code = """
import sys, lazyarr
told = lazyarr.show_config("dicts")["lazyarr"]["manifest"]
print("llvmlite.binding" in sys.modules, sorted(told), told["validated"])
lazyarr.show_config()
"""
    first, second = run(cold, code), run(cold, code)
    assert first.startswith("True ['built', 'probed', 'validated']")
    assert second == first.replace("True", "False", 1)
    for level in selection().usable:
        assert f"validated: {level} runs" in first


def test_a_damaged_one_is_made_again(anew):
    told = manifest.manifest()
    manifest.disk.store(manifest._key(), b"{]", {"kind": "manifest"})
    manifest._made.clear()
    assert manifest.manifest() == told
