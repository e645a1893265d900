"""`import lazyarr` stays cheap: it is counted in modules, since times differ from machine to machine."""

from __future__ import annotations

import json

import pytest
from children import output

LOADED = "import sys, json; import {}; print(json.dumps(sorted(sys.modules)))"
MOST = 91
"""Modules over NumPy's: the face of lazyarr itself, and little else."""

LATE = (
    "llvmlite", "lazyarr.codegen", "lazyarr.dispatch", "lazyarr.threading", "lazyarr.fusion", "lazyarr.debug",
    "lazyarr.materialize", "asyncio", "multiprocessing", "concurrent", "unittest", "hashlib", "tempfile",
    "ssl", "socket", "inspect",
)  # fmt: skip
"""The engine is loaded when something is first computed, and some of these never."""


def modules(name):
    return set(json.loads(output(LOADED.format(name))))


@pytest.fixture(scope="module")
def added():
    return modules("lazyarr") - modules("numpy")


def test_few_modules(added):
    assert len(added) <= MOST, sorted(added)


def test_most_of_them_are_ours(added):
    others = {name for name in added if name.partition(".")[0] != "lazyarr"}
    assert len(others) <= 15, sorted(others)


@pytest.mark.parametrize("name", LATE)
def test_not_loaded(added, name):
    assert not {m for m in added if m == name or m.startswith(name + ".")}


def test_small_arrays_never_load_llvm():
    source = """
        import sys
        import lazyarr as np
        a = np.arange(1000.0)
        print(float((a * 2 + np.exp(-a)).sum()), 'llvmlite' in sys.modules)
    """
    assert output(source, LAZYARR_JIT="auto").split()[1] == "False"
