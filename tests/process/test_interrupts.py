"""A signal handler that raises while an evaluation runs: no update is lost, none is applied twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import signal
import numpy
import lazyarr as np

signal.signal(signal.SIGALRM, signal.default_int_handler)
np.ones(1_000_000).sum()
came = 0
for step in range(14):
    a = np.ones(3_000_000)
    a[0]
    for _ in range(5):
        a += 1
    signal.setitimer(signal.ITIMER_REAL, 0.0003 * (step + 1))
    try:
        a[0]
    except KeyboardInterrupt:
        came += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert numpy.array_equal(numpy.unique(numpy.asarray(a)), [6.0]), (step, numpy.unique(numpy.asarray(a)))
print("interrupted" if came else "never")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs interval timers")
@pytest.mark.parametrize("jit", ["auto", "always", "never"])
def test_updates_in_place_happen_once(jit):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_JIT": jit}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("interrupted", "never")
