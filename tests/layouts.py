"""Random memory layouts, for differential tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def laid_out(
    rng: numpy.random.Generator, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Any]
) -> Any:
    """An array of this shape: axes permuted in memory, some sliced, reversed or broadcast.

    `make` gives an array of the shape asked for, in C order."""
    nd = len(shape)
    order = rng.permutation(nd)
    step = [int(rng.choice([1, 1, 1, 2])) for _ in range(nd)]
    more = [int(rng.choice([0, 0, 0, 3])) for _ in range(nd)]
    thin = [bool(rng.random() < 0.1) for _ in range(nd)]
    full = [1 if thin[k] else shape[k] * step[k] + more[k] for k in range(nd)]
    x = make(tuple(full[k] for k in order)).transpose(numpy.argsort(order))
    index = []
    for k in range(nd):
        if thin[k]:
            index.append(slice(None))
        elif rng.random() < 0.25:
            index.append(slice(shape[k] * step[k] - 1, None, -step[k]))
        else:
            index.append(slice(0, shape[k] * step[k], step[k]))
    return numpy.broadcast_to(x[tuple(index)], shape)
