"""Arguments that are not the data (shifts, sections, axes, counts) may be arrays, computed yet or not."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np

CALLS = {
    "split": lambda np, x, i: np.split(x, i([1, 3])),
    "split at one": lambda np, x, i: np.split(x, i(2)),
    "array_split": lambda np, x, i: np.array_split(x, i([1, 3])),
    "hsplit": lambda np, x, i: np.hsplit(x, i([1, 2])),
    "vsplit": lambda np, x, i: np.vsplit(x, i([1, 2])),
    "roll": lambda np, x, i: np.roll(x, i([1, 2]), axis=(0, 1)),
    "roll by one": lambda np, x, i: np.roll(x, i(3)),
    "roll of all": lambda np, x, i: np.roll(x, i([2, 3])),
    "roll axes": lambda np, x, i: np.roll(x, 1, axis=i([0, 1])),
    "pad": lambda np, x, i: np.pad(x, i([1, 2])),
    "tile": lambda np, x, i: np.tile(x, i([1, 2])),
    "repeat": lambda np, x, i: np.repeat(x, i([1, 0, 2, 1]), axis=0),
    "insert": lambda np, x, i: np.insert(x, i([1, 3]), 7, axis=0),
    "delete": lambda np, x, i: np.delete(x, i([0, 2]), axis=0),
    "reshape": lambda np, x, i: x.reshape(i([6, 4])),
    "transpose": lambda np, x, i: np.transpose(x, i([1, 0])),
    "moveaxis": lambda np, x, i: np.moveaxis(x, i([0]), i([1])),
    "flip": lambda np, x, i: np.flip(x, tuple(i([1]))),
    "broadcast_to": lambda np, x, i: np.broadcast_to(x, i([2, 4, 6])),
    "expand_dims": lambda np, x, i: np.expand_dims(x, tuple(i([0, 2]))),
    "take": lambda np, x, i: np.take(x, i([1, 5, 2])),
    "diff": lambda np, x, i: np.diff(x, n=int(i(1))),
    "gradient": lambda np, x, i: np.gradient(x[0], i([0, 1, 3, 4, 7, 9])),
    "resize": lambda np, x, i: np.resize(x, i([2, 3])),
    "zeros": lambda np, x, i: np.zeros(i([2, 3])),
    "unravel_index": lambda np, x, i: np.unravel_index(i([3, 7]), x.shape),
    "broadcast": lambda np, x, i: list(np.broadcast(i([1, 2]), i(3))),
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_in_arrays(name, jit):
    def told(module):
        x = module.arange(24.0).reshape(4, 6) * 2

        def numbers(values):
            large = module.zeros(300_000, int)          # pending also where small arrays are computed at once
            large[: numpy.size(values)] = values
            found = (large + 1)[: numpy.size(values)] - 1
            return found.reshape(numpy.shape(values))

        try:
            found = CALLS[name](module, x, numbers)
        except Exception as error:
            return type(error), str(error)
        parts = found if isinstance(found, list | tuple) else [found]
        return [numpy.asarray(p).tolist() for p in parts]

    with np.options(jit=jit):
        assert told(np) == told(numpy)
