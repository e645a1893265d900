"""Finalizers of garbage compute, whatever Python is at: setting a variable of a context, for one."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc
from contextvars import ContextVar
import numpy
import lazyarr as np

np.set_options(jit="always")
base, given = np.asarray(numpy.linspace(0, 1, 5000)), numpy.ones(5)

def evaluates(x):
    np.evaluate(x)

def compiles(_):
    np.compile(lambda x: x * 2 + 1)(given)

class Last:
    def __init__(self):
        self.me, self.x = self, base * 2 + 1

    def __del__(self):
        {what}(self.x)
        ended.append([[] for _ in range(50)])       # so many objects that the next one begins a collection
        if len(ended) % 5:
            Last()

variable, ended = ContextVar("variable"), []
gc.set_threshold(0)
{what}(base * 2)
for k in range(20):
    Last()
    many = [[] for _ in range(20)]
    gc.set_threshold(1, 1000, 1000)
    variable.set(k)
    gc.set_threshold(0)
    assert variable.get() == k
    gc.collect()
assert len(ended) > 20
"""


@pytest.mark.parametrize("what", ["evaluates", "compiles"])
def test_contexts_stay(what: str, tmp_path) -> None:
    """Memory that is freed holds nothing that could be taken for what was there."""
    env = {"PYTHONMALLOC": "debug", "LAZYARR_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    program = PROGRAM.format(what=what)
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=120)
