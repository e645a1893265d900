"""Cold: everyday expressions, each in a process of its own, evaluated once and again, against NumPy.

    python asv_bench/cold.py [rounds [name...]]

For each size: NumPy's time over ours, of the first evaluation and of the first fifty together.  Imports of
the engine and LLVM are paid before; kernels come from an empty cache.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

SIZES = (70_000, 300_000, 2_000_000)
TIMES = 50

EXPRESSIONS = {
    "scale": "x * 2 + 1",
    "polynomial": "((x * 3 + 2) * x - 1) * x + y",
    "distance": "((x - y) ** 2).sum()",
    "hypot": "np.sqrt(x * x + y * y)",
    "waves": "np.sin(x) ** 2 + np.cos(y) ** 2",
    "where": "np.where(x > y, x * 2, y + 1)",
    "standardised": "(x - x.mean()) / x.std()",
    "norm": "np.linalg.norm(x - y)",
    "slopes": "np.diff(x) / np.diff(y)",
    "laplacian": "np.roll(x, 1) + np.roll(x, -1) - 2 * x",
    "clipped": "np.clip(x, 0.2, 0.8) * y",
    "exponential": "np.exp(-x) * y",
    "softmax": "(lambda e: e / e.sum(1, keepdims=True))(np.exp(m - m.max(1, keepdims=True)))",
    "joined": "np.concatenate([x, y]) * 2",
    "running": "np.cumsum(x) / 2",
    "remainder": "(x * 100).astype(np.int64) % 7",
    "counted": "((x > 0.5) & (y < 0.5)).sum()",
    "means": "m - m.mean(0)",
    "masked": "x[x > 0.5].sum()",
    "complex": "np.abs(x + 1j * y)",
}


def child(name: str, size: int) -> None:
    """Print the seconds of each evaluation, of a module."""
    module, expression = os.environ["COLD_MODULE"], EXPRESSIONS[name]
    import numpy

    if module == "lazyarr":
        import lazyarr as np
        from lazyarr.compiler import COMPILER

        COMPILER.load()
        from lazyarr import engine as _
    else:
        np: Any = numpy                                         # type: ignore[no-redef]
    a, b = numpy.random.default_rng(1).random((2, size))
    names = {"np": np, "x": np.array(a), "y": np.array(b), "m": np.array(a.reshape(-1, 100))}
    code = compile(expression, name, "eval")
    spent = []
    for _ in range(TIMES):
        began = time.perf_counter()
        numpy.asarray(eval(code, names))
        spent.append(time.perf_counter() - began)
    print(*spent)


def seconds(module: str, name: str, size: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"LAZYARR_CACHE_DIR": folder, "COLD_MODULE": module}
        command = [sys.executable, __file__, "--child", name, str(size)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main(rounds: int, names: list[str]) -> None:
    print(f"{'expression':14}" + "".join(f"{size:>12,} first  all" for size in SIZES))
    for name in names or EXPRESSIONS:
        line = f"{name:14}"
        for size in SIZES:
            first, every = [], []
            for _ in range(rounds):
                theirs, mine = (seconds(module, name, size) for module in ("numpy", "lazyarr"))
                first.append(theirs[0] / mine[0])
                every.append(sum(theirs) / sum(mine))
            line += f"{statistics.median(first):18.2f} {statistics.median(every):4.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:])
