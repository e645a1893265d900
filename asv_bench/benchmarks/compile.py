"""What a first call costs: new kernels, kernels from the disk cache, and how many a program needs."""

import importlib
import random
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import MODULES, finisher

OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: y - x,
    lambda x, y: x * 0.5,
)


def expression(np: Any, x: Any, y: Any, ops: int, seed: int) -> Any:
    """A chain of `ops` operations that no other seed gives."""
    pick = random.Random(seed)
    for _ in range(ops):
        x = pick.choice(OPERATIONS)(x, y)
    return x


class FirstCall:
    """A call whose expression is new to the process: built, planned, compiled, run on 10 elements."""

    params = (MODULES, (1, 20, 100))
    param_names = ("module", "ops")
    number = 1
    warmup_time = 0
    seed = 0

    def setup(self, module: str, ops: int) -> None:
        self.folder = tempfile.mkdtemp()
        self.np, self.finish = importlib.import_module(module), finisher(module)
        if module == "lazyarr":
            self.np.set_options(jit="always", cache_dir=self.folder, pending_nodes=200)
        self.x = self.np.array([1.0] * 10)
        self.y = self.np.array([0.5] * 10)
        self.first(module, ops)

    def teardown(self, module: str, ops: int) -> None:
        if module == "lazyarr":
            self.np.set_options(jit="auto", cache_dir="", pending_nodes=200)
        shutil.rmtree(self.folder, ignore_errors=True)

    def first(self, module: str, ops: int) -> None:
        FirstCall.seed += 1
        self.finish(expression(self.np, self.x, self.y, ops, FirstCall.seed))

    def time_first_call(self, module: str, ops: int) -> None:
        self.first(module, ops)


class Shapes:
    """One program on 1,000 random shapes: how many kernels lazyarr compiles for it."""

    params = (MODULES,)
    param_names = ("module",)
    unit = "kernels"

    def track_compiles(self, module: str) -> int:
        np, finish = importlib.import_module(module), finisher(module)
        pick = random.Random(1)
        counters = importlib.import_module("lazyarr.counters").counters
        before = self.loaded(counters())
        for _ in range(1000):
            x = np.ones((pick.randrange(100, 200), pick.randrange(200, 300)))
            finish((x + 1.5) * x - x[:, :1])
        return self.loaded(counters()) - before

    @staticmethod
    def loaded(count: dict[str, Any]) -> int:
        return int(count["compiles"] + count["disk_hits"])
