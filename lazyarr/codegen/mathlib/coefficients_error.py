"""Tables of the error function: part of what `coefficients` writes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import mpmath as mp

from lazyarr.codegen.mathlib.fitting import PI, Format, Number, fit, of_square


def _erfcx(x: Number) -> Number:
    """erfc(x) / exp(-x**2)."""
    return mp.exp(x * x) * mp.erfc(x)


def _slope(center: Number, r: Number) -> Number:
    """Of erfcx, from a number to the one r above it."""
    if abs(r) < mp.mpf("1e-25"):
        return 2 * center * _erfcx(center) - 2 / mp.sqrt(PI)
    return (_erfcx(center + r) - _erfcx(center)) / r


def near_a_number(f: Format, low: Number, high: Number) -> tuple[float, float]:
    """A number around the middle where erfcx is one, within a hundredth of its last place if any is."""
    found = []
    unit = mp.ldexp(1, -f.mantissa - 1)
    for k in range(300):
        x = f.round((low + high) / 2 + (high - low) / 4096 * ((k + 1) // 2) * (-1) ** k)
        exact = _erfcx(mp.mpf(x))
        value = f.round(exact)
        found.append((float(abs(exact / mp.mpf(value) - 1) / unit), x, value))
        if found[-1][0] < 0.01:
            break
    return min(found)[1:]


def _rows(f: Format, first: int, degree: int) -> list[list[float]]:
    """Columns: centers, values, and slopes, for four octaves by quarters."""
    edges = [mp.ldexp(1 + mp.mpf(k % 4) / 4, first + k // 4) for k in range(17)]
    rows = []
    for a, b in pairwise(edges):
        center, value = near_a_number(f, a, b)
        rows.append((center, value, *fit(partial(_slope, mp.mpf(center)), a - center, b - center, degree)))
    return [list(column) for column in zip(*rows, strict=True)]


def errors(f: Format) -> dict[str, Any]:
    series = of_square(lambda x: mp.erf(x) / x - 1, 2 / mp.sqrt(PI) - 1)
    return {
        "ERF_SERIES": fit(series, 0, mp.mpf("0.2501"), 5 if f.single else 10),
        "ERFC_ROWS": _rows(f, -1, 5 if f.single else 13),
        "ERFC_FAR_ROWS": _rows(f, 3, 5 if f.single else 13),
    }
