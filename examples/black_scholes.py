"""Prices and sensitivities of five million European options, after Black and Scholes.

    python black_scholes.py [out_dir]

The normal distribution function is written in NumPy: the rational approximation of Abramowitz and
Stegun, 26.2.17, good to 7.5e-8.
"""

import sys
from pathlib import Path

import numpy as np
from record import Results, record


def options(n: int, seed: int = 7) -> tuple[np.ndarray, ...]:
    """Spot, strike, years to expiry, rate and volatility of `n` options."""
    rng = np.random.default_rng(seed)
    spot = rng.uniform(20, 180, n)
    strike = spot * rng.uniform(0.6, 1.6, n)
    years = rng.uniform(0.05, 3, n)
    rate = rng.uniform(0.0, 0.06, n)
    volatility = rng.uniform(0.08, 0.7, n)
    return spot, strike, years, rate, volatility


def normal_cdf(x: np.ndarray) -> np.ndarray:
    z = np.abs(x)
    t = 1 / (1 + 0.2316419 * z)
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    series = t * (0.319381530 + t * (-0.356563782 + t * series))
    tail = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * series
    return np.where(x > 0, 1 - tail, tail)


def price(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: np.ndarray, volatility: np.ndarray
) -> Results:
    """Prices of call and put, and the call's delta."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    delta = normal_cdf(d1)
    call = spot * delta - discounted * normal_cdf(d2)
    put = call - spot + discounted
    return {"call": call, "put": put, "delta": delta}


def draw(inputs: tuple[np.ndarray, ...], results: Results, out_dir: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    out_dir.mkdir(parents=True, exist_ok=True)
    spot, strike = np.array(inputs[0][::1000]), np.array(inputs[1][::1000])
    figure, axis = pyplot.subplots(figsize=(8, 5))
    axis.scatter(spot / strike, np.array(results["call"][::1000]) / strike, s=2, label="call")
    axis.scatter(spot / strike, np.array(results["put"][::1000]) / strike, s=2, label="put")
    axis.set_xlabel("spot / strike")
    axis.set_ylabel("price / strike")
    axis.legend()
    figure.savefig(out_dir / "black_scholes.png")


def main(out_dir: str = "out", n: int = 5_000_000) -> Results:
    inputs = options(n)
    results = record(lambda: price(*inputs))
    draw(inputs, results, Path(out_dir))
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2])
