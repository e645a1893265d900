"""Programs that use other libraries print under ``python -m lazyarr`` what they print with NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import MISSING

ROOT = Path(__file__).parents[2]

SOLVE = """
import sys
{before}
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import factorized, spilu, splu

a = sparse.csc_matrix([[4.0, 1, 0], [1, 3.0, 1], [0, 1, 2.0]])
lu, b = splu(a), np.array([1.0, 2, 3]) * 1
assert sys.argv[1] in str(type(b))
print(lu.solve(b), lu.solve(rhs=np.ones((3, 2))), lu.solve(b, "T"), factorized(a)(b), spilu(a).solve(b))
x = np.zeros((3, 2))
x[:, 1] = lu.solve(x[:, 0] + 1.5)
print(x, lu.shape, type(lu).solve.__name__, type(lu).solve.__doc__)
for wrong in ([1.0, 2, 3], np.ones(4)):
    try:
        lu.solve(wrong)
    except (TypeError, ValueError) as error:
        print(error)
"""


def printed(program: str, *argv: str, **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        [sys.executable, *argv], cwd=os.path.dirname(program), env=env, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("before", ["", "import scipy.sparse.linalg"], ids=["", "loaded before"])
def test_methods_in_c_that_refuse_all_but_numpys_arrays(tmp_path, before, jit):
    pytest.importorskip("scipy", reason=MISSING)
    program = tmp_path / "program.py"
    program.write_text(SOLVE.format(before=before))
    want = printed(str(program), "program.py", "numpy.ndarray")
    assert printed(str(program), "-m", "lazyarr", "program.py", "lazyarr.ndarray", LAZYARR_JIT=jit) == want
