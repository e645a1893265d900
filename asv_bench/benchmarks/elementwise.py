"""Elementwise expressions, from 10 to 1e7 elements, results dropped and kept."""

from benchmarks.workloads import KEEP, MODULES, SIZES, Running, group


class Elementwise:
    params = (MODULES, group("elementwise"), SIZES, KEEP)
    param_names = ("module", "expression", "n", "results")

    def setup(self, module: str, expression: str, n: int, results: str) -> None:
        self.run = Running(module, expression, n, results)
        self.run()

    def time_expression(self, module: str, expression: str, n: int, results: str) -> None:
        self.run()
