"""Integers that LLVM knows, as of ``n - n``, where floats are chosen by them: it must not end the process.

What would end runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAMS = (
    "np.maximum(n - n, x)", "np.minimum(x, n ^ n)", "np.maximum(n != n, x)", "np.maximum(n & ~n, x)",
    "np.maximum(np.where(n != n, x, n - n), x)", "np.maximum((n - n).astype('f'), (n != n) * np.float32(2))",
    "np.fmax(n - n, x)", "np.clip(x, n - n, n - n)", "np.maximum(x, (n - (n - (n - n))) * 0.5)",
    "np.maximum((n - n).astype('e'), x.astype('e'))", "np.maximum((n - n).astype('D'), x)",
    "np.maximum(n - n, x).max()", "(np.minimum(n % 1, x) + (n - n)).sum()",
)  # fmt: skip
RUN = """
import numpy, lazyarr
def program(np, text):
    n = np.array([5, -3, 0, 7] * 2500)
    x = np.array([2.5, -0.0, float("nan"), -1.0] * 2500)
    return eval(text)
for text in {programs}:
    print(text, flush=True)
    with lazyarr.options(jit="always", tier="{tier}", verify=True):
        found = numpy.asarray(program(lazyarr, text))
    numpy.testing.assert_array_equal(found, program(numpy, text), strict=True)
"""


@pytest.mark.parametrize("tier", "12")
def test_it_goes_on(tier: str) -> None:
    code = RUN.format(programs=PROGRAMS, tier=tier)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
