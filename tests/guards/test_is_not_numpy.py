"""NumPy under lazyarr's name fails the tests of the engine, however well it poses.

Two impostors take the package's place in a subprocess that runs `tests/engine`: one whose counters show
nothing, and one that claims a launch for each evaluation.  The real package passes in the same harness.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "engine" / "test_programs.py"

PACKAGE = """
from contextlib import contextmanager, nullcontext
import numpy
from numpy import *
from lazyarr.counters import COUNT, counters, reset
def options(**_): return nullcontext()
def set_options(**_): pass
def is_evaluated(x): return True
def borrow(x): return x
def __getattr__(name): return getattr(numpy, name)
"""
COUNTERS = """
from collections import defaultdict
class Counters(defaultdict):
    __getattr__, __setattr__ = defaultdict.__getitem__, defaultdict.__setitem__
COUNT = Counters(int)
def counters(): return dict(COUNT)
def reset(): COUNT.clear()
"""
DEBUG = """
from lazyarr.counters import counters, reset
def explain(*arrays): return "nothing is pending"
"""
MODEST = "def evaluate(*_): pass\n"
BOASTING = "def evaluate(*_): COUNT.native_launches += 1\n"


def outcome(folder: Path | None) -> dict[str, int]:
    """How many tests passed, failed, ... where `folder` comes first on the path."""
    path = [str(p) for p in (folder, ROOT) if p]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", str(SUITE)]
    program = f"import sys; sys.path[:0] = {path!r}; import pytest; sys.exit(pytest.main({command[3:]!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    found = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?)", done.stdout)}
    assert found, f"no test ran:\n{done.stdout}{done.stderr}"
    return found


@pytest.mark.parametrize(("evaluate", "least"), [(MODEST, 15), (BOASTING, 1)], ids=["modest", "boasting"])
def test_numpy_in_disguise_fails(tmp_path, evaluate, least):
    package = tmp_path / "lazyarr"
    package.mkdir()
    files = {"__init__": PACKAGE + evaluate, "counters": COUNTERS, "debug": DEBUG}
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    found = outcome(tmp_path)
    assert "error" not in found and "errors" not in found, "the disguise is too poor to prove anything"
    assert found["failed"] >= least


def test_lazyarr_passes():
    found = outcome(None)
    assert found["passed"] > 20 and "failed" not in found
