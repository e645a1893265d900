"""Warnings of what NumPy computes at the call: at the program's line, once for each, as with NumPy.

Each program runs in a process of its own, with NumPy and with lazyarr, and what it shows is compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import late_warnings
import numpy
import pytest

import lazyarr

ROOT = Path(__file__).parents[2]

OTHER = """
import {np} as np

def divide(a, b):
    return a / b

def divide_again(a, b):
    return a / b
"""

PROGRAM = """
import warnings
import {np} as np
from other import divide, divide_again

a, z = np.ones(3), np.zeros(3)
for k in range(3): a / 0
a / 0; a / 0
a / z
for k in range(2):
    divide(a, z)
    divide(z, z)
    divide_again(a, z)
    np.log(z)
    z **= -1.0
    z[:] = 0
    abs(-a / z)
    np.sqrt(-a).sum()
    float(np.ones(1))
    np.array([1e300]).astype("f4")
    a[1] = 1
    np.nanmax(np.array([np.nan]))
    np.mean(np.array([]))
    np.ones(1).var(ddof=1)
    np.std(np.array([]))
    np.power(z, -1.0)
    1 // np.zeros(2, "i8")
    np.random.shuffle({{0: 1, 1: 0}})
exec("a / z")
eval("np.log(z - 1)")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    a / z
a / z
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    for k in range(2):
        a / z
    divide(a, z)
print([(w.filename, w.lineno, str(w.message)) for w in found])
try:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a / z
except RuntimeWarning as error:
    print(error)
"""

FILTERS = [
    "", "once", "module", "always", "ignore", "error", "ignore::RuntimeWarning:other", "default:divide",
    "error::RuntimeWarning:other", "ignore::RuntimeWarning:__main__:8", "ignore:overflow",
]  # fmt: skip


def shown(np, folder, filters):
    """What a program prints, and what it warns of, without tracebacks' frames in lazyarr."""
    folder.mkdir(exist_ok=True)
    (folder / "other.py").write_text(OTHER.format(np=np))
    (folder / "program.py").write_text(PROGRAM.format(np=np))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-W", filters] if filters else []
    done = subprocess.run(
        [sys.executable, *options, "program.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    warned = done.stderr.partition("Traceback")[0].splitlines()
    return done.stdout, warned, done.stderr.splitlines()[-1:], done.returncode


@pytest.mark.parametrize("filters", FILTERS)
def test_as_numpy(filters, tmp_path):
    folder = tmp_path / "program"
    want = shown("numpy", folder, filters)
    assert bool(want[1]) or filters in ("ignore", "error")
    assert shown("lazyarr", folder, filters) == want


def test_nothing_names_a_line_of_lazyarrs(tmp_path):
    _, warned, _, _ = shown("lazyarr", tmp_path, "always")
    assert warned and not [line for line in warned if "lazyarr" in line]


FEW = """
np.mean(a[:0])
np.mean(np.zeros((0, 3)), axis=0)
np.mean(a[:0], keepdims=True)
np.var(np.zeros((3, 0)), axis=1)
np.var(a, ddof=len(a))
np.std(a, 0, ddof=len(a) + 1)
np.var(a[:1], correction=1)
np.var(a.reshape(2, -1), axis=0, ddof=2)
np.var(a.reshape(2, -1), ddof=2)
np.mean(a)
"""


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("call", FEW.strip().splitlines())
def test_means_of_too_few_elements(call, jit):
    """They warn at the line of NumPy's that calls a method's code, not the one for other classes."""
    def warned(np):
        with late_warnings.shown() as found:
            numpy.asarray(eval(call, {"np": np, "a": np.arange(100_000.0)}))
        return [(str(w.message), w.filename, w.lineno) for w in found]

    with lazyarr.options(jit=jit):
        assert warned(lazyarr) == warned(numpy)
