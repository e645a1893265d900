"""nansum, nanprod, nanmean, nanvar (and so nanstd): NumPy's steps, evaluated together.

In:  a lazy array of floats, axes.   Out: what NumPy's code gives, with its bits and warnings.
That code asks whether slices are empty before it has summed what is there, and its variables hold the copy in
which NaN is replaced: so that would be stored, and the array read several times.  Here nobody holds the copy,
and what is counted is evaluated with what is folded.  All other arguments are NumPy's code's to look at.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, ndarray, now
from lazyarr.namespace import adapt
from lazyarr.rebind import rebound
from lazyarr.records import NamedTuple
from lazyarr.reductions import axes_of
from lazyarr.ufuncs import MISSING

_NUMPYS = sys.modules[getattr(numpy.nansum, "_implementation", numpy.nansum).__module__]


class Asked(NamedTuple):
    """The arguments of a call, but for the array."""

    axis: Any = None
    keepdims: bool = False
    ddof: float = 0
    whole: bool = False
    """All axes are folded."""

    @property
    def kept(self) -> bool:
        """Are the folds to keep their axes?  Where none is left, they would be evaluated one by one."""
        return self.keepdims or self.whole


UNUSED = {
    **dict.fromkeys(["dtype", "out"]),
    **dict.fromkeys(["where", "mean", "correction", "initial"], MISSING),
}
"""Arguments that are NumPy's code's to look at, unless they are what they are if they are not given."""


def _asked(a: Any, axis: Any = None, *, keepdims: Any = False, ddof: Any = 0, **others: Any) -> Asked | None:
    """The arguments, if the steps below are NumPy's for them."""
    if any(name not in UNUSED or UNUSED[name] is not value for name, value in others.items()):
        return None
    keepdims = False if keepdims is MISSING else keepdims
    if a.__class__ is not ndarray or a.geo.dtype.kind not in "fc" or not a.geo.ndim or not a.geo.size:
        return None
    if keepdims.__class__ is not bool or ddof.__class__ not in (int, float):
        return None
    try:
        return Asked(axis, keepdims, ddof, len(axes_of(axis, a.geo.ndim)) == a.geo.ndim)
    except Unsupported:
        return None


def rule(fn: Any) -> Any:
    """The function: by the steps below, where they are NumPy's; else by NumPy's code."""
    numpys, steps = rebound(fn), STEPS[fn.__name__]
    code = getattr(fn, "_implementation", fn).__code__
    names = frozenset(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        asked = _asked(a, *args, **kwargs) if len(args) < 2 and kwargs.keys() <= names else None
        return numpys(a, *args, **kwargs) if asked is None else steps(a, asked)

    return call


def _without_nan(a: Any, value: Any) -> Any:
    """A copy in which a value stands for NaN."""
    return rebound(_NUMPYS._replace_nan)(a, value)[0]


def _count(a: Any, asked: Asked, keepdims: bool) -> Any:
    """How many elements of each slice are numbers."""
    return adapt(numpy.sum)(~adapt(numpy.isnan)(a), axis=asked.axis, dtype=numpy.intp, keepdims=keepdims)


def _divided(total: Any, count: Any) -> Any:
    return rebound(_NUMPYS._divide_by_count)(total, count)


def _as_asked(folded: Any, asked: Asked) -> Any:
    """A scalar, if no axis is to be left."""
    return folded if asked.keepdims or not asked.whole else now(folded).reshape(())[()]


def _together(*arrays: Any) -> None:
    from lazyarr.materialize import evaluate  # (what only evaluations need is imported with the first)

    evaluate([x.storage.value for x in arrays if x.__class__ is ndarray and x.storage is not None])


def _folding(fold: Any, value: int) -> Callable[[Any, Asked], Any]:
    def folded(a: Any, asked: Asked) -> Any:
        return _as_asked(adapt(fold)(_without_nan(a, value), axis=asked.axis, keepdims=asked.kept), asked)

    return folded


def _mean(a: Any, asked: Asked) -> Any:
    count = _count(a, asked, asked.kept)
    total = adapt(numpy.sum)(_without_nan(a, 0), axis=asked.axis, keepdims=asked.kept)
    _together(count, total)
    count = _as_asked(count, asked)
    mean = _divided(_as_asked(total, asked), count)
    if adapt(numpy.any)(count == 0):
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    return mean


def _squares(a: Any, asked: Asked, count: Any) -> Any:
    """The sum of the squared distances from the mean."""
    mean = _divided(adapt(numpy.sum)(_without_nan(a, 0), axis=asked.axis, keepdims=True), count)
    far = _without_nan(a, 0) - mean
    adapt(numpy.copyto)(far, 0, where=adapt(numpy.isnan)(a), casting="unsafe")
    squares = (far * far.conj()).real if far.dtype.kind == "c" else far * far
    del far
    return adapt(numpy.sum)(squares, axis=asked.axis, keepdims=asked.kept)


def _var(a: Any, asked: Asked) -> Any:
    count = _count(a, asked, True)
    squares = _squares(a, asked, count)
    _together(count, squares)
    freedom = _as_asked(count if asked.kept else count.squeeze(asked.axis), asked) - asked.ddof
    var = _divided(_as_asked(squares, asked), freedom)
    bad = freedom <= 0
    if adapt(numpy.any)(bad):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=2)
        var = rebound(_NUMPYS._copyto)(var, numpy.nan, bad)
    return var


STEPS: dict[str, Callable[[Any, Asked], Any]] = {
    "nansum": _folding(numpy.sum, 0),
    "nanprod": _folding(numpy.prod, 1),
    "nanmean": _mean,
    "nanvar": _var,
}
