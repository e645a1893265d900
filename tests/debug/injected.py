"""Faults for the tests of dumps and bisecting: a ``sitecustomize`` puts one into a process as it begins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

RULE = """
from lazyarr.fusion import Keeps, Rule, register_rewrite
register_rewrite(Rule("abs-is-nothing", ("absolute", "x"), "x", Keeps.BITWISE, True, "wrong"))
"""
PASS = """
from dataclasses import replace
from lazyarr.codegen import pipeline
def without_rest(kernel):
    return replace(kernel, body=tuple(s for s in kernel.body if getattr(s, "part", "") != "rest"))
pipeline.PASSES = tuple(
    p._replace(run=lambda kernel, target, good=p.run: without_rest(good(kernel, target)))
    if p.name == "vectorize" else p for p in pipeline.PASSES
)
"""
CONFLICT = """
from lazyarr.fusion import conflict
conflict._clashes = lambda geo, places, loads=True: False
"""


DUMPING = {"LAZYARR_JIT": "always"}
"""So that all sizes go through kernels."""


def environment(folder: Path, fault: str = "", **changes: str) -> dict[str, str]:
    """A process's environment with a fault, a cache of its own, and no verifier that finds it."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(fault)
    return {
        **os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "LAZYARR_CACHE_DIR": str(folder / "cache"),
        "LAZYARR_VERIFY": "0", **changes,
    }  # fmt: skip


def run(command: list[str], env: dict[str, str], timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], env=env, capture_output=True, text=True, timeout=timeout
    )
