"""The computing parts of the example programs, on smaller inputs, results kept until the end."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.workloads import MODULES, finisher

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str, module: str) -> ModuleType:
    """A program from `examples`, with the given array module as its ``np``."""
    np = importlib.import_module(module)
    found = {}
    for part in ("record", "enlarge", name):
        spec = importlib.util.spec_from_file_location(part, EXAMPLES / f"{part}.py")
        assert spec is not None and spec.loader is not None
        found[part] = importlib.util.module_from_spec(spec)
        before = sys.modules.get(part)
        sys.modules[part] = found[part]
        spec.loader.exec_module(found[part])
        if before is not None:
            sys.modules[part] = before
        vars(found[part])["np"] = np
    for part in ("record", "enlarge"):
        sys.modules.pop(part)
    return found[name]


def terrain(program: ModuleType) -> Callable[[], Any]:
    elevation, dy, dx = program.load()
    return lambda: program.analyse(elevation, dy, dx, 4)


def photo(program: ModuleType) -> Callable[[], Any]:
    image = program.load()
    return lambda: program.develop(image, 2)


def stocks(program: ModuleType) -> Callable[[], Any]:
    prices = program.load()
    return lambda: program.analyse(prices, 200)


def black_scholes(program: ModuleType) -> Callable[[], Any]:
    inputs = program.options(500_000)
    return lambda: program.price(*inputs)


PROGRAMS = {f.__name__: f for f in (terrain, photo, stocks, black_scholes)}


class Programs:
    params = (MODULES, list(PROGRAMS))
    param_names = ("module", "program")

    def setup(self, module: str, program: str) -> None:
        self.compute = PROGRAMS[program](load(program, module))
        self.finish = finisher(module)
        self.time_compute(module, program)

    def time_compute(self, module: str, program: str) -> None:
        results = self.compute()
        for result in results.values():
            self.finish(result)
