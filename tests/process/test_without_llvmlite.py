"""Without llvmlite, or where memory may not be executable, NumPy does all the work.

One warning says so, and the results are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BLOCKED = """
import sys
class NoLlvmlite:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")
sys.meta_path.insert(0, NoLlvmlite())
"""
REFUSED = """
import lazyarr.dispatch.jit
lazyarr.dispatch.jit._refusal = lambda: "mprotect: permission denied"
"""
NO_MEMORY = """
import llvmlite.binding
from lazyarr.dispatch import image
def refuse(*_): raise RuntimeError("cannot allocate executable memory")
llvmlite.binding.check_jit_execution = image.load = refuse
"""
IMPEDIMENTS = {"blocked": BLOCKED, "refused": REFUSED, "system refuses": NO_MEMORY}

PROGRAM = """
import warnings
import numpy
import lazyarr
import lazyarr.compiler
lazyarr.compiler.LOAD_NS = 0        # also a short program asks for LLVM

def results(np):
    a = np.asarray(numpy.random.default_rng(1).random((500, 400)))
    b = np.sqrt(a) * 2 + np.exp(-a)
    b[::2] -= 1
    c = np.where(b > 0, b, a.reshape(500, 400)[::-1])
    np.add(c, 1, out=c, where=c < 0.5)
    d = a[a > 0.5]
    yield from (b, c, d, b.T + a.T, c.sum(0), c.std(1), c.astype("f4"), np.cumsum(c), np.argmax(c, 1))
    yield c @ c.T
    yield from map(np.asarray, (c.sum(), c.mean(), d.max(), c[3, 4], bool((a < 2).all())))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for got, want in zip(results(lazyarr), results(numpy), strict=True):
        got = numpy.asarray(got)
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
    text = lazyarr.show_config("dicts") and lazyarr.coverage()
from lazyarr.counters import COUNT
assert COUNT.native_launches == 0
print(*[f"{w.category.__name__}: {w.message}" for w in caught], sep="\\n")
"""


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("impediment", IMPEDIMENTS)
def test_one_warning_and_the_same_results(impediment: str, jit: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_JIT": jit, "LAZYARR_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", IMPEDIMENTS[impediment] + PROGRAM]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith("RuntimeWarning: lazyarr cannot compile and leaves all work to NumPy: ")
