"""How far results of real functions are from the truth, in units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
from ulp_functions import TRUTH, call, theirs
from ulp_samples import samples

from lazyarr.dispatch.levels import host_levels


def _exact(x: Any) -> Any:
    return mpmath.mpf(float(x))


Arrays = tuple[numpy.ndarray, ...]


def errors(name: str, xs: Arrays, results: Arrays) -> list[numpy.ndarray]:
    """Distance from the truth in ULPs of it, for each of several results; 0 where it is no finite number."""
    char = results[0].dtype.char
    info, truth = numpy.finfo(char), TRUTH[name]
    found = numpy.zeros((len(results), len(xs[0])))
    with numpy.errstate(all="ignore"):
        finite = numpy.isfinite(theirs(name)(*xs))
        for r in results:
            finite |= numpy.isfinite(r)
        for x in xs:
            finite &= numpy.isfinite(x)
        finite &= ~numpy.isnan(theirs(name)(*xs))
        for k in numpy.flatnonzero(finite):
            exact = _value(truth, [float(x[k]) for x in xs])
            if exact is None:
                continue
            exponent = max(mpmath.frexp(exact)[1] - 1, int(info.minexp)) if exact else int(info.minexp)
            unit = mpmath.ldexp(1, min(exponent, int(info.maxexp) - 1) - info.nmant)
            for r, result in enumerate(results):
                value = float(result[k])
                if numpy.isinf(value):          # as if exponents had no end
                    value = numpy.copysign(1.0, value)
                    found[r, k] = float((value * mpmath.ldexp(1, int(info.maxexp)) - exact) / unit)
                    if abs(exact) > mpmath.ldexp(1, int(info.maxexp)):
                        found[r, k] = 0.0
                else:
                    found[r, k] = numpy.inf if numpy.isnan(value) else float((_exact(value) - exact) / unit)
    return list(abs(found))


def _value(truth: Callable[..., Any], xs: list[float]) -> Any:
    """The truth where it is a real number."""
    try:
        y = truth(*(mpmath.mpf(x) for x in xs))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return y if isinstance(y, mpmath.mpf) and mpmath.isfinite(y) else None


def accuracy(name: str, char: str, count: int, seed: int = 1) -> tuple[float, float, float]:
    """Largest error of ours and of NumPy's, and the part of results that differ."""
    ours = call(name, char, host_levels()[-1].target)
    worst, differ, total = numpy.zeros(2), 0, 0
    for xs in samples(name, char, seed, count):
        with numpy.errstate(all="ignore"):
            results = ours(*xs), theirs(name)(*xs)
        for r, error in enumerate(errors(name, xs, results)):
            worst[r] = max(worst[r], error.max(initial=0.0))
        nans = numpy.isnan(results[0]) & numpy.isnan(results[1])
        differ += int(((results[0] != results[1]) & ~nans).sum())
        total += len(results[0])
    return float(worst[0]), float(worst[1]), differ / total
