"""Samples: values that break careless algebra, for rules and lowerings to be tried on.

In:  types by name.   Out: an array for each; every run has the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy

SAMPLES = 2000
"""Elements that are tried for each choice of types."""


def samples(types: Mapping[str, str]) -> dict[str, numpy.ndarray]:
    """Special values in all combinations (or as many as fit), then these and random bits at random."""
    rng = numpy.random.default_rng(1)
    found = {}
    for k, (name, char) in enumerate(types.items()):
        hard = specials(char)
        mixed = numpy.where(rng.random(SAMPLES) < 0.5, rng.choice(hard, SAMPLES), random_bits(char, rng))
        period = len(hard) ** k
        if k < 2:
            n = min(len(hard) ** min(len(types), 2), SAMPLES // 2)
            mixed[:n] = hard[numpy.arange(n) // period % len(hard)]
        found[name] = mixed.astype(char)
    return found


def specials(char: str) -> numpy.ndarray:
    """Zeros, ones, halves, extremes, infinities, NaN, and the smallest numbers of a type."""
    dt = numpy.dtype(char)
    if dt.kind == "b":
        return numpy.array([False, True])
    if dt.kind in "iu":
        info = numpy.iinfo(dt)
        few = [info.min, info.max, 0, 1, info.max - 1, info.max // 2, info.min // 2, 3]
        return numpy.unique(numpy.array(few, dt))
    info_ = numpy.finfo(dt)
    real = numpy.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, 3.0, numpy.nan, numpy.inf, -numpy.inf, info_.tiny,
         -info_.smallest_subnormal, info_.max, -info_.max], info_.dtype,
    )  # fmt: skip
    if dt.kind == "f":
        return real
    parts = real[[0, 1, 2, 5, 8, 9, 11, 13]]
    pairs = numpy.empty((len(parts), len(parts)), dt)
    pairs.real, pairs.imag = parts[:, None], parts[None, :]
    return pairs.ravel()


def random_bits(char: str, rng: numpy.random.Generator) -> numpy.ndarray:
    """Elements of any bits; NaNs are quiet."""
    dt = numpy.dtype(char)
    if dt.kind == "b":
        return rng.random(SAMPLES) < 0.5
    found = numpy.frombuffer(rng.bytes(SAMPLES * dt.itemsize), dt).copy()
    if dt.kind in "fc":
        real = found.view(found.real.dtype)
        real[real != real] = numpy.nan
    return found
