"""Variances in one pass over memory, where `fast_math` lets sums be taken in another order.

In:  NumPy's code for `var`, over lazy arrays.   Out: the same function, which may take blocks of the array.

    blocks that stay in caches: mean, far = block - mean, sum(far), sum(far**2)
    var = sum over blocks of the squares within, and of the squared distances of their means

NumPy's steps need the mean of all elements before the first square, so that large data is read twice.  Here
each block's mean is that of its own elements, and what rounding it lost is `sum(far)`: so nothing cancels
where means are large (Chan, Golub & LeVeque, "Algorithms for computing the sample variance", 1983).
Float32 is summed in float64.  Where squares overflow the result may be NaN in the place of infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, is_pending, ndarray, now
from lazyarr.config import current
from lazyarr.dtypes import char_of
from lazyarr.movement import copy_as, reshape
from lazyarr.records import NamedTuple
from lazyarr.reductions import axes_of
from lazyarr.ufuncs import adapt

LEAST_BYTES = 1 << 21
"""Of an array that is read again from memory."""
BLOCK_BYTES = 1 << 16
"""Of a block, at most."""
LONG = 4
"""Blocks, at least, of what is folded into one result: shorter rows are read once in any case."""
FEW = 16
"""A block is no shorter than one part in so many of the longest one."""


class Cut(NamedTuple):
    """How an array is seen as blocks, which follow one another in memory."""

    apart: int
    """Results."""
    many: int
    """Blocks of each."""
    size: int


def in_one_pass(code: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's code for a variance, or the steps above."""

    @wraps(code, updated=())
    def var(
        x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
        **rest: Any,
    ) -> Any:
        if current.fast_math and out is None and _is_plain(rest) and x.__class__ is ndarray:
            found = _by_blocks(x, axis, dtype, ddof, keepdims)
            if found is not None:
                return found
        return code(x, axis, dtype, out, ddof, keepdims, **rest)

    return var


def _is_plain(rest: dict[str, Any]) -> bool:
    """No mask, and no mean that is given?"""
    return rest.get("where", True) is True and rest.get("mean") is None


def _by_blocks(x: ndarray, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    """The variance; None where it is NumPy's."""
    geo = x.geo
    if char_of(geo.dtype) not in ("f", "d") or (dtype is not None and numpy.dtype(dtype) != geo.dtype):
        return None
    if geo.nbytes < LEAST_BYTES or not geo.flags.c_contiguous or type(ddof) is not int or is_pending(x):
        return None                         # (what is computed on the way is not read from memory twice)
    try:
        axes = axes_of(axis, geo.ndim)
    except Unsupported:
        return None
    cut = _cut(geo.shape, axes, BLOCK_BYTES // geo.itemsize)
    count = math.prod([geo.shape[k] for k in axes])
    if cut is None or count <= ddof:
        return None
    found = _variance(reshape(x, (cut.apart * cut.many, cut.size)), cut, count - ddof)
    if geo.dtype.char == "f":
        found = copy_as(found, geo.dtype)
    kept = tuple([1 if k in axes else n for k, n in enumerate(geo.shape)])
    if keepdims:
        return reshape(found, kept)
    if len(axes) == geo.ndim:
        return now(found).reshape(())[()]
    return reshape(found, tuple([n for k, n in enumerate(geo.shape) if k not in axes]))


@lru_cache(1024)
def _cut(shape: tuple[int, ...], axes: tuple[int, ...], most: int) -> Cut | None:
    """Blocks along the last axes, if these are folded, and so long that rows do not stay in caches."""
    count = math.prod([shape[k] for k in axes])
    if axes != tuple(range(len(shape) - len(axes), len(shape))) or count <= LONG * most:
        return None
    size = next((n for n in range(most, most // FEW, -1) if count % n == 0), 0)
    return Cut(math.prod(shape) // count, count // size, size) if size else None


def _variance(x: ndarray, cut: Cut, freedom: int) -> Any:
    """Of blocks that are rows; the results are one column."""
    add, multiply, maximum = map(adapt, (numpy.add, numpy.multiply, numpy.maximum))
    size = cut.size

    def total(values: Any) -> Any:
        return add.reduce(values, axis=1, dtype=numpy.float64, keepdims=True)

    mean = total(x) / size
    far = x - mean
    lost, squares = total(far), total(multiply(far, far))
    del far
    mean, lost, squares = (reshape(each, (cut.apart, cut.many)) for each in (mean, lost, squares))
    # (Any number near the mean does for `middle`.  This one is known when all blocks are done.)
    middle = total(mean + lost / size) / cut.many
    apart = (mean - middle) + lost / size
    within = maximum(squares - lost * lost / size, 0.0)
    shift = total(apart)
    all_squares = total(within) + total(apart * apart) * size
    return maximum(all_squares - shift * shift * (size / cut.many), 0.0) / freedom
