"""How draws are computed: by kernels on one or two threads, by NumPy later, or by NumPy at the call."""

from __future__ import annotations

import pytest

import lazyarr
from lazyarr.compiler import COMPILER

MODES = {
    "kernels": {"jit": "always", "num_threads": 1, "verify": True},
    "threads": {"jit": "always", "num_threads": 2},
    "auto": {"jit": "auto"},
    "numpy": {"jit": "auto"},
    "never": {"jit": "never"},
}


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    """Each way; in 'numpy' nothing is compiled, so that NumPy computes pending draws."""
    if request.param == "numpy":
        monkeypatch.setattr(COMPILER, "usable", False)
    with lazyarr.options(**MODES[request.param]):
        yield request.param
