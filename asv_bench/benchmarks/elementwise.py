"""Elementwise expressions, from 10 to 1e7 elements, results dropped and kept; every op of the op table."""

import importlib

import numpy

from benchmarks.workloads import KEEP, MODULES, SIZES, Running, finisher, group
from lazyarr.ops import DOMAINS, OPS, loop_types
from lazyarr.own_ufuncs import OWN

UFUNCS = [name for name, op in OPS.items() if op.is_ufunc and loop_types(name) and name not in OWN]
"""Those that NumPy has, too."""


class Elementwise:
    params = (MODULES, group("elementwise"), SIZES, KEEP)
    param_names = ("module", "expression", "n", "results")

    def setup(self, module: str, expression: str, n: int, results: str) -> None:
        self.run = Running(module, expression, n, results)
        self.run()

    def time_expression(self, module: str, expression: str, n: int, results: str) -> None:
        self.run()


class Ops:
    """One call of each ufunc: on float64 where it has such a loop, else on its last one."""

    params = (MODULES, UFUNCS, (1_000_000,))
    param_names = ("module", "op", "n")

    def setup(self, module: str, op: str, n: int) -> None:
        sig = next((s for s in loop_types(op) if s[0] == "d"), loop_types(op)[-1])
        low, high = DOMAINS[OPS[op].domain] or (0.5, 100.0)
        np, rng = importlib.import_module(module), numpy.random.default_rng(0)
        self.call, self.finish = getattr(np, op), finisher(module)
        drawn = (rng.uniform(max(low, 0), high, n).astype(c) for c in sig.partition("->")[0])
        self.operands = [np.array(x) for x in drawn]
        self.time_op(module, op, n)

    def time_op(self, module: str, op: str, n: int) -> None:
        result = self.call(*self.operands)
        for part in result if isinstance(result, tuple) else (result,):
            self.finish(part)
