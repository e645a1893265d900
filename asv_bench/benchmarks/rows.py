"""Folds along an axis with what makes and uses them: softmax, layer norm, standardisation."""

from benchmarks.workloads import MODULES, Running, group


class Rows:
    """4096 x 1024 and 5000 x 2000, roughly, and arrays that stay in the cache."""

    params = (MODULES, group("rows"), (100_000, 4_000_000, 10_000_000))
    param_names = ("module", "expression", "n")

    def setup(self, module: str, expression: str, n: int) -> None:
        if expression == "attention scores":
            n //= 32                # its result is that many times as large
        self.run = Running(module, expression, n)
        self.run()

    def time_expression(self, module: str, expression: str, n: int) -> None:
        self.run()
