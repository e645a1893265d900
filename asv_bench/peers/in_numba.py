"""The target programs in Numba: loops over `prange`, or whole arrays where Numba fuses those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from benchmarks.targets import SWEEPS
from numba import prange

compiled = numba.njit(parallel=True, fastmath=True)


def array(x: np.ndarray) -> np.ndarray:
    return x


def finish(result: Any) -> Any:
    return result


@compiled
def triad(a: Any, b: Any, c: Any) -> Any:
    return a + b * c


@compiled
def chain(a: Any, b: Any) -> Any:
    return ((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0


@numba.njit(fastmath=True)
def cdf(x: Any) -> Any:
    z = abs(x)
    t = 1 / (1 + 0.2316419 * z)
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    tail = np.exp(-0.5 * z * z) * 0.3989422804 * t * (0.319381530 + t * (-0.356563782 + t * series))
    return 1 - tail if x > 0 else tail


@compiled
def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    call = np.empty_like(spot)
    for i in prange(spot.size):
        spread = 0.25 * np.sqrt(years[i])
        d1 = (np.log(spot[i] / strike[i]) + (0.03 + 0.5 * 0.25**2) * years[i]) / spread
        call[i] = spot[i] * cdf(d1) - strike[i] * np.exp(-0.03 * years[i]) * cdf(d1 - spread)
    return call


@compiled
def rosenbrock(x: Any) -> Any:
    total = 0.0
    for i in prange(x.size - 1):
        total += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


@compiled
def softmax(x: Any) -> Any:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        high = x[i, 0]
        for j in range(x.shape[1]):
            high = max(high, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - high)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@compiled
def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        mean, var = np.float32(0), np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= n
        for j in range(x.shape[1]):
            var += (x[i, j] - mean) ** 2
        inverse = np.float32(1) / np.sqrt(var / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * inverse * scale[0, j] + shift[0, j]
    return out


@compiled
def mean_std_columns(x: Any) -> Any:
    rows, columns = x.shape
    mean, std = np.empty(columns), np.empty(columns)
    blocks = (columns + 63) // 64
    for block in prange(blocks):
        low, high = block * 64, min(columns, block * 64 + 64)
        total, squares = np.zeros(high - low), np.zeros(high - low)
        for i in range(rows):
            for j in range(high - low):
                total[j] += x[i, low + j]
        total /= rows
        for i in range(rows):
            for j in range(high - low):
                squares[j] += (x[i, low + j] - total[j]) ** 2
        mean[low:high] = total
        std[low:high] = np.sqrt(squares / rows)
    return mean, std


@compiled
def mean_std_rows(x: Any) -> Any:
    rows, columns = x.shape
    mean, std = np.empty(rows), np.empty(rows)
    for i in prange(rows):
        total, squares = 0.0, 0.0
        for j in range(columns):
            total += x[i, j]
        total /= columns
        for j in range(columns):
            squares += (x[i, j] - total) ** 2
        mean[i] = total
        std[i] = np.sqrt(squares / columns)
    return mean, std


@compiled
def row_sums(x: Any) -> Any:
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


@compiled
def column_sums(x: Any) -> Any:
    rows, columns = x.shape
    out = np.empty(columns, x.dtype)
    for block in prange((columns + 255) // 256):
        low, high = block * 256, min(columns, block * 256 + 256)
        total = np.zeros(high - low, x.dtype)
        for i in range(rows):
            for j in range(high - low):
                total[j] += x[i, low + j]
        out[low:high] = total
    return out


@compiled
def squared_distances(x: Any, y: Any) -> Any:
    out = np.empty((x.shape[0], y.shape[0]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = x.dtype.type(0)
            for k in range(x.shape[1]):
                total += (x[i, k] - y[j, k]) ** 2
            out[i, j] = total
    return out


@compiled
def jacobi(start: Any) -> Any:
    u, v = start.copy(), start.copy()
    for _ in range(SWEEPS):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    return u


@compiled
def heat(start: Any) -> Any:
    u, v = start.copy(), start.copy()
    for _ in range(SWEEPS):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + 0.1 * (around - 4 * u[i, j])
            v[i, 0] = v[i, 1]
            v[i, -1] = v[i, -2]
        v[0, :] = v[1, :]
        v[-1, :] = v[-2, :]
        u, v = v, u
    return u


@compiled
def masked_sum(a: Any) -> Any:
    total = 0.0
    for i in prange(a.size):
        if a[i] > 0:
            total += a[i]
    return total


PROGRAMS: dict[str, Callable[..., Any]] = {
    "triad": triad,
    "10-op chain": chain,
    "Black-Scholes": black_scholes,
    "Rosenbrock sum": rosenbrock,
    "softmax of rows": softmax,
    "layer norm of rows": layer_norm,
    "mean, std, axis 0": mean_std_columns,
    "mean, std, axis 1": mean_std_rows,
    "row sums": row_sums,
    "column sums": column_sums,
    "distances float32": squared_distances,
    "distances float64": squared_distances,
    "Jacobi": jacobi,
    "heat": heat,
    "masked sum": masked_sum,
}
