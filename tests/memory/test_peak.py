"""lazyarr's peak memory is never above NumPy's, by the allocators' accounts and by the system's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))
from peaks import PROGRAMS  # noqa: E402  (the path is needed first)

ELEMENTS = 5_000_000
"""40 MB in doubles: C libraries give blocks of this size back to the system at once."""

SLACK = {"accounted": 1 << 19, "resident": 6 << 20}
"""Scratch memory and whole pages; and what a process of Python grows by anyhow."""


@pytest.fixture(scope="module")
def peaks():
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "LAZYARR_JIT": "auto"}
    found = {}
    for name in ("numpy", "lazyarr"):
        command = [sys.executable, str(HERE / "peaks.py"), name, str(ELEMENTS)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's accounts")
@pytest.mark.parametrize("by", SLACK)
@pytest.mark.parametrize("program", PROGRAMS)
def test_peak(peaks, program, by):
    ours, numpys = (peaks[name][program][by] for name in ("lazyarr", "numpy"))
    assert ours <= numpys + SLACK[by], f"{ours / numpys:.2f} of NumPy's peak"
