"""Running sums and maxima along each axis, alone and with what comes before and after."""

from benchmarks.workloads import MODULES, SIZES, Running, group


class Scans:
    params = (MODULES, group("scans"), SIZES)
    param_names = ("module", "expression", "n")

    def setup(self, module: str, expression: str, n: int) -> None:
        self.run = Running(module, expression, n)
        self.run()

    def time_expression(self, module: str, expression: str, n: int) -> None:
        self.run()
