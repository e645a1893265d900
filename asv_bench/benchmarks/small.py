"""Calls on small arrays and small parts of large ones, where all that counts is what a call costs."""

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

PARTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "m[i]": lambda np, m, w: m[7],
    "m[i] * w": lambda np, m, w: m[7] * w,
    "w - m[i]": lambda np, m, w: w - m[7],
    "2 * m[i]": lambda np, m, w: 2 * m[7],
    "float64 * m[i]": lambda np, m, w: SCALAR * m[7],
    "m[i] + m[j]": lambda np, m, w: m[7] + m[9],
    "m[i] < m[j]": lambda np, m, w: m[7] < m[9],
    "m[i] @ w": lambda np, m, w: m[7] @ w,
    "m[i, :3] + 1": lambda np, m, w: m[7, :3] + 1,
    "m[:9, j] / 2": lambda np, m, w: m[:9, 7] / 2,
    "-m[i]": lambda np, m, w: -m[7],
    "abs(m[i])": lambda np, m, w: abs(m[7]),
    "m[i] ** 2": lambda np, m, w: m[7] ** 2,
    "np.sqrt(m[i])": lambda np, m, w: np.sqrt(m[7]),
    "np.maximum(m[i], w)": lambda np, m, w: np.maximum(m[7], w),
    "m[i].sum()": lambda np, m, w: m[7].sum(),
    "m[i].max()": lambda np, m, w: m[7].max(),
    "m[i].mean()": lambda np, m, w: m[7].mean(),
    "m[i].argmin()": lambda np, m, w: m[7].argmin(),
    "m[i].dot(w)": lambda np, m, w: m[7].dot(w),
    "m[i].copy()": lambda np, m, w: m[7].copy(),
    "(m[i] > w).any()": lambda np, m, w: (m[7] > w).any(),
    "np.sum(m[i])": lambda np, m, w: np.sum(m[7]),
    "np.dot(m[i], w)": lambda np, m, w: np.dot(m[7], w),
    "np.linalg.norm(m[i])": lambda np, m, w: np.linalg.norm(m[7]),
    "m[i, j]": lambda np, m, w: m[7, 3],
    "m[i][j]": lambda np, m, w: m[7][3],
    "m[i, j] = 1": lambda np, m, w: put(m, (7, 3), 1.0),
    "m[i, j] += 1": lambda np, m, w: add_to(m, (7, 3), 1.0),
    "m[i] = 1": lambda np, m, w: put(m, 7, 1.0),
    "m[i] = w": lambda np, m, w: put(m, 7, w),
    "m[i] = m[j]": lambda np, m, w: put(m, 7, m[9]),
    "m[i, :3] = 0": lambda np, m, w: put(m, (7, slice(3)), 0),
    "m[i] += w": lambda np, m, w: add_to(m, 7, w),
    "m[i] += 1": lambda np, m, w: add_to(m, 7, 1),
    "m[:9, j] += m[i, :9]": lambda np, m, w: add_to(m, (slice(9), 7), m[9, :9]),
}
"""Calls on rows, columns and elements of a large array that exists."""


def put(m: Any, key: Any, w: Any) -> None:
    m[key] = w


def add_to(m: Any, key: Any, w: Any) -> None:
    m[key] += w


def arrays(np: Any, n: int) -> tuple[Any, Any, Any]:
    """Two of n elements, and a matrix of them."""
    a = numpy.random.default_rng(n).random(n)
    return np.array(a), np.array(a[::-1].copy()), np.array(a.reshape(2, -1))


def large(np: Any, n: int) -> tuple[Any, Any]:
    """A matrix whose rows have n elements, computed and some MiB large, and a small array like a row."""
    rows = max(100, 400_000 // n)
    m = np.array(numpy.random.default_rng(n).random((rows, n))) * 1
    m[3, 3]
    return m, np.array(numpy.random.default_rng(n + 1).random(n))


class Small:
    params = (MODULES, list(CALLS), (10, 1_000))
    param_names = ("module", "call", "n")

    def setup(self, module: str, call: str, n: int) -> None:
        self.np, self.call = importlib.import_module(module), CALLS[call]
        self.arrays = arrays(self.np, n)

    def time_call(self, module: str, call: str, n: int) -> None:
        self.call(self.np, *self.arrays)


class Parts:
    params = (MODULES, list(PARTS), (10, 1_000))
    param_names = ("module", "call", "n")

    def setup(self, module: str, call: str, n: int) -> None:
        self.np, self.call = importlib.import_module(module), PARTS[call]
        self.arrays = large(self.np, n)

    def time_call(self, module: str, call: str, n: int) -> None:
        self.call(self.np, *self.arrays)
