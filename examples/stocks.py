"""Rolling volatility of stocks and their rolling correlation with the market, with bootstrap bands.

    python stocks.py [out_dir]

Reads the monthly prices that ship with matplotlib (six stocks and an index, from 1990 on).  The bands show
what the same returns in another order would have given: years are drawn at random, 1,000 times.
"""

import sys
from pathlib import Path

import numpy as np
from record import Results, record

STOCKS = ("IBM", "AAPL", "MSFT", "XRX", "ADBE")
MARKET = "^GSPC"
WINDOW = 24                             # months
YEAR = 12


def load() -> np.ndarray:
    """Prices, shape (months, stocks + 1), the market last; months without a price are left out."""
    from matplotlib.cbook import get_sample_data

    with get_sample_data("Stocks.csv") as file:
        lines = file.read().splitlines()
    header = lines[1].split(",")
    columns = [header.index(name) for name in (*STOCKS, MARKET)]
    table = np.genfromtxt(lines[2:], delimiter=",", usecols=columns)
    return table[~np.isnan(table).any(axis=1)]


def rolling_mean(x: np.ndarray) -> np.ndarray:
    """Means over `WINDOW` months, along the first axis."""
    total = np.cumsum(x, axis=0)
    total[WINDOW:] -= total[:-WINDOW].copy()
    return total[WINDOW - 1 :] / WINDOW


def rolling(returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Volatility over a year, and correlation with the market (last column), of each column."""
    market = returns[..., -1:]
    mean, mean_market = rolling_mean(returns), rolling_mean(market)
    variance = np.maximum(rolling_mean(returns**2) - mean**2, 1e-12)
    covariance = rolling_mean(returns * market) - mean * mean_market
    correlation = covariance / np.sqrt(variance * variance[..., -1:])
    return np.sqrt(variance * YEAR), np.clip(correlation, -1, 1)


def analyse(prices: np.ndarray, scenarios: int, seed: int = 1) -> Results:
    returns = np.diff(np.log(prices), axis=0)
    volatility, correlation = rolling(returns)
    years = len(returns) // YEAR
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, years, size=(years, 1, scenarios)) * YEAR + np.arange(YEAR)[:, np.newaxis]
    paths = returns[drawn.reshape(-1, scenarios)]           # (months, scenarios, columns)
    spread, link = rolling(paths)
    return {
        "volatility": volatility,
        "correlation": correlation,
        "volatility_band": spread.mean(axis=1) + 2 * spread.std(axis=1),
        "correlation_band": link.mean(axis=1) - 2 * link.std(axis=1),
    }


def draw(results: Results, out_dir: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    out_dir.mkdir(parents=True, exist_ok=True)
    figure, axes = pyplot.subplots(2, 1, figsize=(9, 7), sharex=True)
    for axis, name in zip(axes, ("volatility", "correlation"), strict=True):
        for column, stock in enumerate(STOCKS):
            axis.plot(np.array(results[name][:, column]), label=stock)
        axis.plot(np.array(results[name + "_band"][:, 0]), "k:", label=f"{STOCKS[0]}, band")
        axis.set_title(f"{name} over {WINDOW} months")
    axes[0].legend(ncols=3)
    figure.savefig(out_dir / "stocks.png")


def main(out_dir: str = "out", scenarios: int = 1000) -> Results:
    prices = load()
    results = record(lambda: analyse(prices, scenarios))
    draw(results, Path(out_dir))
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2])
