"""Python functions of numbers under `vectorize`: one call an element with NumPy, a kernel with lazyarr."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy

from benchmarks.workloads import MODULES, SETS, finisher

SIZES = (1_000, 100_000)
RADIUS, RATE, VOLATILITY = 6371.0, 0.03, 0.25


def escape(x: float, y: float) -> int:
    """Mandelbrot: rounds until a point leaves the disc of radius 2."""
    zx = zy = 0.0
    for k in range(100):
        xx, yy = zx * zx, zy * zy
        if xx + yy > 4.0:
            return k
        zy = 2.0 * zx * zy + y
        zx = xx - yy + x
    return 100


def piecewise(x: float) -> float:
    if x < 0:
        return -x
    return x * x if x < 1 else 2 * x - 1


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    a, b = math.radians(lat1), math.radians(lat2)
    across = math.sin(math.radians(lon2 - lon1) / 2) ** 2
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * across
    return 2 * RADIUS * math.asin(math.sqrt(h))


def normal_cdf(x: float) -> float:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def call_option(spot: float, strike: float, years: float) -> float:
    """Black-Scholes."""
    spread = VOLATILITY * math.sqrt(years)
    d1 = (math.log(spot / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
    return spot * normal_cdf(d1) - strike * math.exp(-RATE * years) * normal_cdf(d1 - spread)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any, int], list[Any]]]] = {
    "Mandelbrot": (escape, lambda rng, n: [rng.uniform(-2, 1, n), rng.uniform(-1, 1, n)]),
    "piecewise": (piecewise, lambda rng, n: [rng.normal(size=n)]),
    "Collatz": (collatz, lambda rng, n: [rng.integers(1, 10_000, n)]),
    "haversine": (haversine, lambda rng, n: [rng.uniform(-80, 80, n) for _ in range(4)]),
    "Black-Scholes": (
        call_option,
        lambda rng, n: [rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n)],
    ),
}
"""Function and inputs of n elements."""


class Vectorize:
    params = (MODULES, list(FUNCTIONS), SIZES)
    param_names = ("module", "function", "n")

    def setup(self, module: str, function: str, n: int) -> None:
        np = importlib.import_module(module)
        fn, inputs = FUNCTIONS[function]
        self.call, self.finish, self.turn = np.vectorize(fn), finisher(module), 0
        self.sets = [list(map(np.array, inputs(numpy.random.default_rng(seed), n))) for seed in range(SETS)]
        for _ in range(SETS):
            self.time_call(module, function, n)

    def time_call(self, module: str, function: str, n: int) -> None:
        self.turn = (self.turn + 1) % SETS
        self.finish(self.call(*self.sets[self.turn]))
