"""What a first call costs: new kernels, kernels from the disk cache, and how many a program needs."""

import atexit
import importlib
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
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


def planned(ops: int, seed: int) -> Any:
    """The parfor of a chain; imports what builds it."""
    np, engine = importlib.import_module("lazyarr"), importlib.import_module("lazyarr.engine")
    plan, planning = importlib.import_module("lazyarr.plan"), importlib.import_module("lazyarr.planning")
    with np.options(jit="always"):
        x, y = np.array([1.0] * 10), np.array([0.5] * 10)
        root = expression(np, x, y, ops, seed).storage.value
        walk = plan.walk(importlib.import_module("lazyarr.materialize").closure([root]), [root])
        return planning.plan_of(walk, engine._refuse).steps[0].program.parfor


class Kernels:
    """A kernel that is new to the process: from its text by LLVM, and from the disk, without.

    NumPy has nothing like it."""

    params = (("lazyarr",), (1, 20, 100))
    param_names = ("module", "ops")
    number = 1
    warmup_time = 0
    seed = 0
    stored = 100
    folder = ""

    @classmethod
    def store(cls, folder: str) -> None:
        """Compile kernels into a cache, for other processes."""
        importlib.import_module("lazyarr").set_options(cache_dir=folder)
        kernels = importlib.import_module("lazyarr.kernels")
        for ops in cls.params[1]:
            for seed in range(cls.stored):
                kernels.kernel_for(planned(ops, seed))

    def setup(self, module: str, ops: int) -> None:
        if not Kernels.folder:
            Kernels.folder = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
            program = f"from benchmarks.compile import Kernels; Kernels.store({self.folder!r})"
            subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent.parent, check=True)
        self.np = importlib.import_module(module)
        self.kernels = importlib.import_module(f"{module}.kernels")
        self.jit = importlib.import_module(f"{module}.dispatch.jit")
        self.np.set_options(cache_dir=self.folder)
        self.jit.available()
        Kernels.seed += 1
        self.target = self.kernels.host()
        self.known = planned(ops, Kernels.seed % self.stored)
        fresh = planned(ops, self.stored + Kernels.seed)
        self.source = importlib.import_module(f"{module}.codegen.pipeline").compile_parfor(fresh, self.target)

    def teardown(self, module: str, ops: int) -> None:
        self.np.set_options(cache_dir="")

    def time_text_to_pointer(self, module: str, ops: int) -> None:
        self.jit.load(self.source.ir, (self.source.symbol,), self.target)

    def time_from_disk(self, module: str, ops: int) -> None:
        self.kernels.kernel_for(self.known)


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
