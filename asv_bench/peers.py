"""The target workloads as users of other engines would write them: numexpr and Numba.

In:  a workload's name.   Out: its versions, one per engine that is installed.
They may reassociate and contract, as their users would allow; their results are not compared.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

NUMEXPR = {
    "a+b*c": ("a+b*c", "abc"),
    "10-op chain": ("((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0", "ab"),
    "((x-y)**2).sum()": ("sum((a-b)**2)", "ab"),
    "a[a>0].sum()": ("sum(where(a>0, a, 0))", "a"),
}


def _numexpr(name: str) -> Callable[..., Any] | None:
    import numexpr

    if name not in NUMEXPR:
        return None
    text, names = NUMEXPR[name]
    return lambda *arrays: numexpr.evaluate(text, dict(zip(names, arrays, strict=True)))


def _numba(name: str) -> Callable[..., Any] | None:
    import numba
    import numpy as np

    compiled = numba.njit(parallel=True, fastmath=True)

    def chain(a: Any, b: Any) -> Any:
        return ((((a + b) * a - b) * 0.5 + 1.5) * b - a) * (a + 2.0) - 3.0

    @numba.njit(fastmath=True)
    def cdf(x: float) -> float:
        z = abs(x)
        t = 1 / (1 + 0.2316419 * z)
        series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
        tail = np.exp(-0.5 * z * z) * 0.3989422804 * t * (0.319381530 + t * (-0.356563782 + t * series))
        return 1 - tail if x > 0 else tail

    def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
        call = np.empty_like(spot)
        for i in numba.prange(spot.size):
            spread = 0.25 * np.sqrt(years[i])
            d1 = (np.log(spot[i] / strike[i]) + (0.03 + 0.5 * 0.25**2) * years[i]) / spread
            call[i] = spot[i] * cdf(d1) - strike[i] * np.exp(-0.03 * years[i]) * cdf(d1 - spread)
        return call

    def masked_sum(a: Any) -> Any:
        total = 0.0
        for i in numba.prange(a.size):
            if a[i] > 0:
                total += a[i]
        return total

    functions: dict[str, Callable[..., Any]] = {
        "a+b*c": lambda a, b, c: a + b * c,
        "10-op chain": chain,
        "Black-Scholes": black_scholes,
        "((x-y)**2).sum()": lambda x, y: ((x - y) ** 2).sum(),
        "a[a>0].sum()": masked_sum,
    }
    return compiled(functions[name]) if name in functions else None


def peers(name: str) -> dict[str, Callable[..., Any]]:
    """The workload in each engine, to be called with its inputs."""
    found = {}
    for engine, make in {"numexpr": _numexpr, "numba": _numba}.items():
        call = make(name) if importlib.util.find_spec(engine) else None
        if call is not None:
            found[engine] = call
    return found
