"""Reductions, alone and with the expression that they consume, from 10 to 1e7 elements."""

from benchmarks.workloads import MODULES, SIZES, Running, group


class Reduce:
    params = (MODULES, group("reduce"), SIZES)
    param_names = ("module", "expression", "n")

    def setup(self, module: str, expression: str, n: int) -> None:
        self.run = Running(module, expression, n)
        self.run()

    def time_expression(self, module: str, expression: str, n: int) -> None:
        self.run()
