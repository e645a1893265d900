"""numpy.i0 in one loop; NumPy's code takes elements up to 8 and others apart, and has a series for each.
Under ``math="native"`` it is `lazyarr.special.i0`, as these steps are off by up to 4 ULP.

In:  a lazy array of floats.   Out: a lazy array with NumPy's bits: the series are of one form, and each
element goes through the steps that it goes through in NumPy, with its own series' coefficients.  The shorter
one begins with zeros, which change nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from lazyarr.config import current
from lazyarr.namespace import adapt
from lazyarr.rebind import rebound

_SPACE = getattr(numpy.i0, "_implementation", numpy.i0).__globals__
_NEAR, _FAR = _SPACE.get("_i0A"), _SPACE.get("_i0B")
"""The coefficients in the running NumPy."""


@functools.cache
def _numpys() -> Any:
    return rebound(numpy.i0)


def i0(x: Any) -> Any:
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.kind != "f" or _NEAR is None or _FAR is None or len(_FAR) > len(_NEAR):
        return _numpys()(x)
    if current.math == "native" and dtype.char in "efd" and x.ndim:
        from lazyarr.special import i0 as ours

        return ours(x)
    where, type_ = adapt(numpy.where), dtype.type
    x = adapt(numpy.abs)(x)
    near = x <= 8.0
    far = where(near, type_(8.0), x)        # what the other series divides by; no flags of what is not used
    t = where(near, x / 2.0 - 2, 32.0 / far - 2.0)
    gap = [0.0] * (len(_NEAR) - len(_FAR))
    one, two, three = where(near, type_(_NEAR[0]), type_([*gap, *_FAR][0])), 0.0, 0.0
    for a, b in zip(_NEAR[1:], [*gap, *_FAR][1:], strict=True):
        two, three = one, two
        one = t * two - three + where(near, type_(a), type_(b))
    size = adapt(numpy.exp)(x) * (0.5 * (one - three))
    return size / where(near, type_(1.0), adapt(numpy.sqrt)(far))
