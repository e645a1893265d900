"""What a program's own array subclass derives from: NumPy's array, at home with lazy arrays.

In: ``class A(lazyarr.ndarray)``.   Out: a real subclass of `numpy.ndarray`, since hooks such as
``__array_finalize__`` need real memory; its methods accept lazy arrays and `lazyarr.ndarray` itself.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import ArrayType, ndarray, wrap
from lazyarr.fallback import lend, through


class Subclassable(numpy.ndarray):
    """Base of subclasses of `lazyarr.ndarray`."""

    def view(self, *args: Any, **kwargs: Any) -> Any:
        return through(numpy.ndarray.view, (self, *args), kwargs)

    def __array_ufunc__(self, fn: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return numpy.ndarray.__array_ufunc__(self, fn, method, *lend(args, {}), **lend(kwargs, {}))

    def __array_function__(self, fn: Any, types: Any, args: Any, kwargs: Any) -> Any:
        real = tuple(numpy.ndarray if t is ndarray else t for t in types)
        return wrap(numpy.ndarray.__array_function__(self, fn, real, lend(args, {}), lend(kwargs, {})))


def attach() -> None:
    ArrayType.base = Subclassable
