"""X86_V4's kernels have other levels' bits, also where no CPU with AVX-512 is at hand (`v4_text`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from level_programs import CASES

from lazyarr.cpu_features import here
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels

V3 = "X86_V3" in [level.target.name for level in host_levels()]
pytestmark = pytest.mark.skipif(
    not jit.available() or here() != "x86_64" or not V3, reason="X86_V3 runs it"
)


def lines(how: str) -> list[str]:
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    program = str(Path(__file__).with_name("v4_text.py"))
    command = [sys.executable, program, how]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.split("\n")


def test_its_text_gives_the_same_bits() -> None:
    (used, *found), (none, *wanted) = lines("text"), lines("plain")
    assert int(used.split()[0]) >= 5 and used.endswith("X86_V4") and none.startswith("0 ")
    assert len(found) > len(CASES)          # the last one is empty
    assert found == wanted
