"""scikit-learn with `array_api_dispatch`: it computes with lazyarr's namespace, and gets NumPy's results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import MISSING, ways

pytest.importorskip("sklearn", reason=MISSING)

DISPATCH = Path(__file__).with_name("dispatch.py")
ROOT = DISPATCH.parents[2]


@ways
def test_programs(jit, n):
    environment = {
        "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1", "LAZYARR_JIT": jit, "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(DISPATCH), str(n // 10)], env={**os.environ, **environment},
        capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 1 and "programs" in lines[0], done.stdout + done.stderr
