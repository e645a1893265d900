"""Calls on small arrays, where what a call costs over NumPy's is all that counts."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy

from benchmarks.workloads import MODULES

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "a + b": lambda np, a, b, m: a + b,
    "2 * a": lambda np, a, b, m: 2 * a,
    "float64 * a": lambda np, a, b, m: SCALAR * a,
    "a < b": lambda np, a, b, m: a < b,
    "-a": lambda np, a, b, m: -a,
    "a **= 1": lambda np, a, b, m: a.__ipow__(1),
    "np.sqrt(a)": lambda np, a, b, m: np.sqrt(a),
    "np.maximum(a, b)": lambda np, a, b, m: np.maximum(a, b),
    "a[3]": lambda np, a, b, m: a[3],
    "a[2:5]": lambda np, a, b, m: a[2:5],
    "a[a > b]": lambda np, a, b, m: a[a > b],
    "a[3] = 1": lambda np, a, b, m: a.__setitem__(3, 1.0),
    "m[:, 0]": lambda np, a, b, m: m[:, 0],
    "len(a)": lambda np, a, b, m: len(a),
    "list(a)": lambda np, a, b, m: list(a),
    "a.shape": lambda np, a, b, m: a.shape,
    "m.T": lambda np, a, b, m: m.T,
    "a.sum()": lambda np, a, b, m: a.sum(),
    "m.max(axis=0)": lambda np, a, b, m: m.max(axis=0),
    "a.mean()": lambda np, a, b, m: a.mean(),
    "a.reshape(2, -1)": lambda np, a, b, m: a.reshape(2, -1),
    "a.copy()": lambda np, a, b, m: a.copy(),
    "np.sum(a)": lambda np, a, b, m: np.sum(a),
    "np.dot(a, b)": lambda np, a, b, m: np.dot(a, b),
    "m @ m.T": lambda np, a, b, m: m @ m.T,
    "np.where(a > b, a, b)": lambda np, a, b, m: np.where(a > b, a, b),
    "np.concatenate((a, b))": lambda np, a, b, m: np.concatenate((a, b)),
    "np.zeros(10)": lambda np, a, b, m: np.zeros(10),
    "np.arange(10)": lambda np, a, b, m: np.arange(10),
    "np.array([1.0, 2.0])": lambda np, a, b, m: np.array([1.0, 2.0]),
    "np.linalg.norm(a)": lambda np, a, b, m: np.linalg.norm(a),
}
SCALAR = numpy.float64(0.5)


def arrays(np: Any, n: int) -> tuple[Any, Any, Any]:
    """Two of n elements, and a matrix of them."""
    a = numpy.random.default_rng(n).random(n)
    return np.array(a), np.array(a[::-1].copy()), np.array(a.reshape(2, -1))


class Small:
    params = (MODULES, list(CALLS), (10, 1_000))
    param_names = ("module", "call", "n")

    def setup(self, module: str, call: str, n: int) -> None:
        self.np, self.call = importlib.import_module(module), CALLS[call]
        self.arrays = arrays(self.np, n)

    def time_call(self, module: str, call: str, n: int) -> None:
        self.call(self.np, *self.arrays)
