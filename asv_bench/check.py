"""Run each asv benchmark once with each combination of its parameters, but on few elements.

    python check.py

Finds what asv would find (classes of `benchmarks` with methods named ``time_``, ``timeraw_``, ``track_`` and
``peakmem_``), so that a benchmark that no longer runs fails here and not in somebody's long run.
"""

import importlib
import inspect
import itertools
import json
import pkgutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SUITES = (
    "elementwise", "elementary", "reduce", "rows", "scans", "views", "compile", "memory", "import_time",
    "programs", "vectorize", "planning", "loops", "small",
    "targets",
)  # fmt: skip
PREFIXES = ("time_", "timeraw_", "track_", "peakmem_")
SMALL = {"n": (40_000,), "nodes": (1_000,)}
"""Parameters whose values are replaced: quick, yet not so few elements that NumPy computes them."""


def benchmarks() -> Iterator[tuple[str, type, str]]:
    import benchmarks

    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    assert found == {*SUITES, "workloads"}, f"suites are {found}"
    for suite in SUITES:
        module = importlib.import_module(f"benchmarks.{suite}")
        for _, cls in inspect.getmembers(module, inspect.isclass):
            for name in dir(cls):
                if cls.__module__ == module.__name__ and name.startswith(PREFIXES):
                    yield suite, cls, name


def run(cls: type, name: str, values: tuple[Any, ...]) -> None:
    instance = cls()
    getattr(instance, "setup", lambda *_: None)(*values)
    try:
        result = getattr(instance, name)(*values)
        if name.startswith("timeraw_"):
            subprocess.run([sys.executable, "-c", result], check=True)
    finally:
        getattr(instance, "teardown", lambda *_: None)(*values)


def configured() -> None:
    """The configuration is JSON with comments, and names folders that exist."""
    lines = (HERE / "asv.conf.json").read_text().splitlines()
    conf = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    assert (HERE / conf["benchmark_dir"]).is_dir() and (HERE / conf["repo"] / "pyproject.toml").exists()


def main() -> None:
    sys.path.insert(0, str(HERE))
    configured()
    for suite, cls, name in benchmarks():
        start, count = time.perf_counter(), 0
        assert "module" in cls.param_names, f"{cls.__name__} lacks the array module as a parameter"
        choices = [
            SMALL.get(parameter, values)
            for parameter, values in zip(cls.param_names, cls.params, strict=True)
        ]
        for values in itertools.product(*choices):
            run(cls, name, values)
            count += 1
        print(f"{suite}.{cls.__name__}.{name}: {count} runs, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
