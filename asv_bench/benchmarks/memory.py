"""Peak memory of the process, and the memory that building an expression takes."""

import importlib
import tracemalloc

from benchmarks.workloads import MODULES, Running, group


class Peak:
    """Inputs, workload and results on 1e7 elements."""

    params = (MODULES, group("elementwise") + group("reduce") + group("views"), (10_000_000,))
    param_names = ("module", "expression", "n")

    def setup(self, module: str, expression: str, n: int) -> None:
        self.run = Running(module, expression, n)

    def peakmem_expression(self, module: str, expression: str, n: int) -> None:
        for _ in range(3):
            self.run()


class Building:
    """Bytes that a 10-op expression takes before anybody asks for its value."""

    params = (MODULES, (1000, 10_000_000))
    param_names = ("module", "n")
    unit = "bytes"

    def track_build(self, module: str, n: int) -> int:
        x = importlib.import_module(module).ones(n)
        float(x[0])
        tracemalloc.start()
        result = x
        for _ in range(10):
            result = result * x + 1
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return taken
