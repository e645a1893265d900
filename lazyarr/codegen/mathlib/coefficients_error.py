"""Tables of the error function, and of i0: part of what `coefficients` writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath as mp

from lazyarr.codegen.mathlib.fitting import DOUBLE, PI, Format, Number, fit, of_square
from lazyarr.records import NamedTuple


def _erfcx(x: Number) -> Number:
    """erfc(x) / exp(-x**2)."""
    return mp.exp(x * x) * mp.erfc(x)


def _erfcx_slope(center: Number) -> Number:
    return 2 * center * _erfcx(center) - 2 / mp.sqrt(PI)


def _i0e(x: Number) -> Number:
    """i0(x) / exp(x)."""
    return mp.exp(-x) * mp.besseli(0, x)


def _i0e_slope(center: Number) -> Number:
    return mp.exp(-center) * (mp.besseli(1, center) - mp.besseli(0, center))


class _Ratio(NamedTuple):
    """What a function is to an exponential, and how that changes."""

    value: Callable[[Number], Number]
    slope: Callable[[Number], Number]

    def mean_slope(self, center: Number, r: Number) -> Number:
        """From a number to the one r above it."""
        if abs(r) < mp.mpf("1e-25"):
            return self.slope(center)
        return (self.value(center + r) - self.value(center)) / r


_ERFCX, _I0E = _Ratio(_erfcx, _erfcx_slope), _Ratio(_i0e, _i0e_slope)


def near_a_number(f: Format, low: Number, high: Number, ratio: _Ratio = _ERFCX) -> tuple[float, float]:
    """A number around the middle where it is one, within a hundredth of its last place if any is."""
    found = []
    unit = mp.ldexp(1, -f.mantissa - 1)
    for k in range(300):
        x = f.round((low + high) / 2 + (high - low) / 4096 * ((k + 1) // 2) * (-1) ** k)
        exact = ratio.value(mp.mpf(x))
        value = f.round(exact)
        found.append((float(abs(exact / mp.mpf(value) - 1) / unit), x, value))
        if found[-1][0] < 0.01:
            break
    return min(found)[1:]


def _rows(f: Format, first: int, degree: int, ratio: _Ratio = _ERFCX, octaves: int = 4) -> list[list[float]]:
    """Columns: centers, values, and slopes, of octaves by quarters."""
    edges = [mp.ldexp(1 + mp.mpf(k % 4) / 4, first + k // 4) for k in range(4 * octaves + 1)]
    rows = []
    for a, b in pairwise(edges):
        center, value = near_a_number(f, a, b, ratio)
        slopes = fit(partial(ratio.mean_slope, mp.mpf(center)), a - center, b - center, degree)
        rows.append((center, value, *slopes))
    return [list(column) for column in zip(*rows, strict=True)]


def errors(f: Format) -> dict[str, Any]:
    series = of_square(lambda x: mp.erf(x) / x - 1, 2 / mp.sqrt(PI) - 1)
    return {
        "ERF_SERIES": fit(series, 0, mp.mpf("0.2501"), 5 if f.single else 10),
        "ERFC_ROWS": _rows(f, -1, 5 if f.single else 13),
        "ERFC_FAR_ROWS": _rows(f, 3, 5 if f.single else 13),
    }


def bessel() -> dict[str, Any]:
    """Of i0: to 1024, beyond which it is infinite; and for results of float32, to 128."""
    series = of_square(lambda x: (mp.besseli(0, x) - 1) / x**2, mp.mpf(1) / 4)
    rows = _rows(DOUBLE, -1, 12, _I0E, 11)
    return {
        "I0_SERIES": fit(series, 0, mp.mpf("0.2501"), 6),
        "I0_ROWS": [[*column, *[column[-1]] * (64 - len(column))] for column in rows],
        "I0_SHORT_ROWS": _rows(DOUBLE, -1, 5, _I0E, 8),
    }
