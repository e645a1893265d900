"""Elementwise and reduction programs, for each level and each machine: functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazyarr as np

Program = Callable[..., Any]

FLOATS, INTS = "efd", "bBhHiIlL"

PROGRAMS: dict[str, tuple[Program, str]] = {
    "arithmetic": (lambda x, y: (x + y) * x - y, FLOATS + INTS + "FD"),
    "divide": (lambda x, y: x / (y * y + 1), FLOATS + "FD"),
    "floor_divide": (lambda x, y: (x // y, x % y), FLOATS + INTS),
    "roots": (lambda x, y: np.sqrt(np.abs(x)) + np.exp(-np.abs(y)), FLOATS),
    "compare": (lambda x, y: (x < y) ^ (x == y), FLOATS + INTS),
    "where": (lambda x, y: np.where(x > y, x - y, np.maximum(x, y)), FLOATS + INTS),
    "bits": (lambda x, y: ((x & y) | (x ^ 3)) << 1, INTS),
    "bit_count": (lambda x, y: np.bitwise_count(x), INTS),
    "casts": (lambda x, y: (x.astype("d"), x.astype("f"), x.astype("i"), (x > 0).astype("e")), FLOATS + INTS),
    "half": (lambda x, y: (x + y).astype("e") * 2, "fd"),
    "rounding": (lambda x, y: (np.rint(x), np.floor(y), np.trunc(x), np.ceil(y)), FLOATS),
    "sum": (lambda x, y: (x + y).sum(keepdims=True), FLOATS + INTS + "FD"),
    "sums": (lambda x, y: ((x * y).sum(0), (x - y).sum(1)), FLOATS + INTS + "FD"),
    "extremes": (lambda x, y: (x.max(1), y.min(0), (x + 1).argmax(1)), FLOATS + INTS),
    "product": (lambda x, y: (x[:, :9] / 100 + 1).prod(1), FLOATS),
    "any": (lambda x, y: ((x > y).any(0), (x < y).all(1)), FLOATS + INTS),
    "compress": (lambda x, y: x[y > 0] + 1, FLOATS + INTS),
    "transposed": (lambda x, y: x.T[:37].copy() + y[:37], FLOATS + INTS),
}
CASES = [(name, char) for name, (_, chars) in PROGRAMS.items() for char in chars]


def inputs(char: str) -> tuple[Any, Any]:
    """Two arrays, 61 by 61, without zeros: among them extremes of the type."""
    rng = numpy.random.default_rng(5)
    made = []
    for _ in range(2):
        x = rng.integers(1, 100, (61, 61)) * rng.choice([-1, 1], (61, 61))
        if char in "fd":
            x = x * rng.random((61, 61))
        elif char in "FD":
            x = x + 1j * rng.random((61, 61))
        x = x.astype(char)
        if char in INTS:
            x[x == 0] = 1
            x[0, :2] = numpy.iinfo(char).max, numpy.iinfo(char).min or 1
        made.append(np.array(x))
    return made[0], made[1]
