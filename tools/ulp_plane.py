"""Functions of complex numbers: operands, the truth, and how far results are from it.

Errors are in units in the last place of the result's modulus, as parts cancel; and of each part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
from ulp_functions import call, theirs

from lazyarr.dispatch.levels import host_levels

PART = {"D": "d", "F": "f"}
TRUTH: dict[str, Callable[..., Any]] = {
    "absolute": abs, "sqrt": mpmath.sqrt, "exp": mpmath.exp, "exp2": lambda z: mpmath.exp(z * mpmath.log(2)),
    "expm1": lambda z: mpmath.exp(z) - 1, "log": mpmath.log, "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10), "log1p": lambda z: mpmath.log(1 + z),
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh, "arctanh": mpmath.atanh,
    "power": lambda a, b: mpmath.exp(b * mpmath.log(a)),
    "float_power": lambda a, b: mpmath.exp(b * mpmath.log(a)),
}  # fmt: skip
_SCALED = {"absolute", "sqrt", "log", "log2", "log10"}
"""What takes all magnitudes without losing digits of mpmath's."""
_GROWING = {"exp", "exp2", "expm1", "sinh", "cosh", "sin", "cos"}


def pairs(rows: numpy.ndarray, char: str) -> numpy.ndarray:
    """Rows of two numbers as complex ones."""
    return numpy.ascontiguousarray(rows.astype(PART[char])).view(char).ravel()


def parts(z: numpy.ndarray) -> numpy.ndarray:
    """Rows of one or two numbers."""
    return z.view(PART.get(z.dtype.char, z.dtype.char)).reshape(len(z), -1)


def samples(name: str, char: str, count: int, seed: int = 4) -> tuple[numpy.ndarray, ...]:
    """Usual ones, next to the axes, to the circle and to branch points; all sizes; `count` of each."""
    rng = numpy.random.default_rng(seed)
    info = numpy.finfo(PART[char])
    usual = rng.normal(0, 2, (count, 2))
    large = rng.normal(0, 20, (count, 2))
    small = numpy.ldexp(rng.uniform(-2, 2, (count, 2)), rng.integers(-50, 3, (count, 2)))
    angles = rng.uniform(-4, 4, count)
    circle = numpy.stack([numpy.cos(angles), numpy.sin(angles)], 1)
    found = [usual, large, usual * [1, 1e-9], usual * [1e-9, 1], small, circle]
    found += [small + point for point in ([1, 0], [-1, 0], [0, 1], [0, -1])]
    if name in _SCALED:
        reach = int(info.maxexp) // 2 - 4
        found.append(numpy.ldexp(rng.uniform(-2, 2, (count, 2)), rng.integers(-reach, reach, (count, 2))))
        found.append(numpy.ldexp(rng.uniform(-2, 2, (count, 2)), int(info.maxexp) - 3))
    z = pairs(numpy.concatenate(found), char)
    if name in _GROWING:
        z = z[abs(z) < (700 if char == "D" else 80)]
    return (z, numpy.roll(z, count // 2)) if name in ("power", "float_power") else (z,)


def errors(name: str, zs: tuple[numpy.ndarray, ...], results: tuple[numpy.ndarray, ...]) -> numpy.ndarray:
    """For each of several results, its largest errors: of the modulus's bits, and of each part's."""
    info = numpy.finfo(results[0].dtype)
    found = numpy.zeros((len(results), 2))
    with mpmath.workdps(60):
        for k in range(len(zs[0])):
            exact = (mpmath.mpc(float(z[k].real), float(z[k].imag)) for z in zs)
            truth = mpmath.mpmathify(TRUTH[name](*exact))
            if not float(info.tiny) < abs(truth) < float(info.max):
                continue
            for r, result in enumerate(results):
                for got, true in zip(parts(result)[k], (truth.real, truth.imag), strict=False):
                    error = abs(mpmath.mpf(float(got)) - true)
                    units = [float(error / _unit(size, info)) for size in (abs(truth), true)]
                    found[r] = numpy.maximum(found[r], units)
    return found


def _unit(x: Any, info: Any) -> Any:
    exponent = max(mpmath.frexp(x)[1] - 1, int(info.minexp)) if x else int(info.minexp)
    return mpmath.ldexp(1, exponent - info.nmant)


def accuracy(name: str, char: str, count: int) -> list[float]:
    """Largest errors of the modulus and of parts, ours and NumPy's, and the part of results that differ."""
    zs = samples(name, char, count)
    with numpy.errstate(all="ignore"):
        results = call(name, char, host_levels()[-1].target)(*zs), theirs(name)(*zs)
    differ = float((results[0] != results[1]).mean())
    (ours, our_parts), (numpys, numpys_parts) = errors(name, zs, results).tolist()
    return [ours, numpys, our_parts, numpys_parts, differ]
