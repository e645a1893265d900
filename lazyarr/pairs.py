"""Two operands that are NumPy's at the call: both are small, or parts of large arrays, and so is the result.

In:  an operator's operands.   Out: what NumPy is to compute with, or None.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import PLAIN, is_numpys, ndarray
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.elementwise import SCALARS, is_listed
from lazyarr.elision import ELIDED
from lazyarr.windows import small_part

CROSS = 4096
"""Elements: products of operand sizes up to this need no look at shapes."""


def _apart(x: numpy.ndarray, y: numpy.ndarray) -> bool:
    """Is each small, but not the result?  Or may NumPy compute in one of them?"""
    if x.nbytes >= ELIDED or y.nbytes >= ELIDED:
        return True                             # (also with what has no axes: `elision.swaps`)
    if x.shape == y.shape:
        return False
    try:
        return numpy.broadcast(x, y).size > current.eager_elements
    except ValueError:
        return False                            # NumPy says so


def plain_pair(self: Any, other: Any) -> Any:
    """The other operand for NumPy, if both are its business; None if not (no operand is None).

    The shortest path there is: it decides what a small operation costs over NumPy."""
    if self.geo.nbytes > PLAIN and not is_numpys(self):
        return None
    c = other.__class__
    if c is ndarray:
        if other.storage is not None:
            return None
        y = other.geo
        x = self.geo
        if x.size * y.size > CROSS and _apart(x, y):
            return None
    elif c in SCALARS or (is_listed(other) and self.geo.size * len(other) <= CROSS):
        y = other
    else:
        return None
    if current.jit == "always":
        return None
    COUNT.eager += 1
    return y


def small_pair(self: Any, other: Any) -> tuple[Any, Any] | None:
    """Both operands for NumPy, where they are small, or parts of large arrays, and exist."""
    if current.jit == "always":
        return None
    x = small_part(self)
    if x is None:
        return None
    c = other.__class__
    if c is ndarray:
        y = small_part(other)
        if y is None or (x.size * y.size > CROSS and _apart(x, y)):
            return None
    elif c in SCALARS:
        y = other
    else:
        return None
    return x, y
