"""Strided, reversed, transposed and broadcast operands, slice assignment, overlapping updates."""

import importlib
from typing import Any

from benchmarks.workloads import KEEP, MODULES, SIZES, Running, group


class Views:
    params = (MODULES, group("views"), SIZES, KEEP)
    param_names = ("module", "expression", "n", "results")

    def setup(self, module: str, expression: str, n: int, results: str) -> None:
        self.run = Running(module, expression, n, results)
        self.run()

    def time_expression(self, module: str, expression: str, n: int, results: str) -> None:
        self.run()


class MakeView:
    """Only the view: nothing is computed."""

    params = (MODULES, ("slice", "transpose", "reshape", "newaxis"))
    param_names = ("module", "view")

    def setup(self, module: str, view: str) -> None:
        self.x: Any = importlib.import_module(module).ones((1000, 1000))
        self.view = {
            "slice": lambda x: x[1:-1, ::2],
            "transpose": lambda x: x.T,
            "reshape": lambda x: x.reshape(-1),
            "newaxis": lambda x: x[:, None],
        }[view]

    def time_view(self, module: str, view: str) -> None:
        self.view(self.x)
