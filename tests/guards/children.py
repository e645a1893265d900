"""Programs in subprocesses: what needs a process of its own, or may take it down.

In:  Python source and environment variables.   Out: the finished process, with its text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

GUARDS = Path(__file__).parent
ROOT = GUARDS.parents[1]
TIMEOUT = 120


def run(source: str, *, folder: Path | None = None, path: tuple[Path, ...] = (), **environment: str):
    """Run source as a program; `path` comes before everything else that is importable."""
    found = os.pathsep.join(map(str, (*path, ROOT, GUARDS)))
    env = {**os.environ, "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT,
    )  # fmt: skip


def output(source: str, **options) -> str:
    """What a program prints that ends well and says nothing on stderr."""
    done = run(source, **options)
    assert (done.returncode, done.stderr) == (0, ""), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
