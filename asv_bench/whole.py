"""Whole programs, as processes of their own: NumPy against ``python -m lazyarr``, cold and warm caches.

    python asv_bench/whole.py [rounds [name...]]

Starting, importing, planning and compiling are part of the time.  The outputs are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"


def seconds(command: list[str], env: dict[str, str]) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, done.stdout


def main(rounds: int, names: list[str]) -> None:
    head = f"{'program':12} {'NumPy':>8} {'lazyarr':>8} {'first':>8}"
    print(head + "   NumPy's time over ours, and over the first run's")
    for script in sorted(SCRIPTS.glob("*.py")):
        if names and script.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            env = os.environ | {"LAZYARR_CACHE_DIR": folder}
            plain = [sys.executable, str(script)]
            ours = [sys.executable, "-m", "lazyarr", str(script)]
            first, said = seconds(ours, env)
            seconds(ours, env)
            pairs = []
            for _ in range(rounds):
                (theirs, expected), (mine, found) = seconds(plain, env), seconds(ours, env)
                assert said == expected == found, script.stem
                pairs.append((theirs, mine))
        theirs, mine = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(
            f"{script.stem:12} {theirs:8.3f} {mine:8.3f} {first:8.3f}   {ratio:.2f} {theirs / first:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2:])
