"""No kernel touches memory beyond its operands' elements: processes would die of it (`tests.guarded`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level, usable_levels
from tests.guarded import PROGRAMS, SHAPES

pytestmark = pytest.mark.skipif(
    not jit.available() or sys.platform != "linux", reason="emits code, protects pages"
)

LEVELS = dict.fromkeys(("X86_V2", "X86_V3", host_level().name))
SETTINGS = [(level, tier) for level in LEVELS for tier in "12"]


def child(turn: int, tmp_path: Path, level: str = "", tier: str = "1") -> subprocess.CompletedProcess[str]:
    given = {"JIT": "always", "PLAN": "always", "CPU_LEVEL": level, "TIER": tier, "CACHE_DIR": str(tmp_path)}
    env = {**os.environ, **{f"LAZYARR_{name}": value for name, value in given.items()}}
    run = [sys.executable, "-m", "tests.guarded", str(turn)]
    return subprocess.run(run, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("turn", range(len(SETTINGS)), ids=["-".join(each) for each in SETTINGS])
def test_nothing_beyond_the_elements_is_touched(turn: int, tmp_path: Path) -> None:
    level, tier = SETTINGS[turn]
    if level not in {each.target.name for each in usable_levels()}:
        pytest.skip("this CPU lacks that level")
    done = child(turn, tmp_path, level, tier)
    assert done.returncode == 0, done.stderr
    programs, launches = map(int, done.stdout.split())
    assert programs == len(PROGRAMS) * len(SHAPES) and launches >= 2 * programs


def test_what_must_not_be_touched_is_noticed(tmp_path: Path) -> None:
    assert child(-1, tmp_path).returncode == -signal.SIGSEGV
