"""What a program's own array subclass derives from: NumPy's array, at home with lazy arrays.

In: ``class A(lazyarr.ndarray)``.   Out: a real subclass of `numpy.ndarray`, since hooks such as
``__array_finalize__`` need real memory.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy

from lazyarr.arrays import ArrayType
from lazyarr.fallback import lend
from lazyarr.overrides import OFFERED
from lazyarr.ufuncs import known


def _ufunc(fn: Any) -> Any:
    return known(fn) or fn


def _taking_ours(method: Any, offered: Any) -> Any:
    """A program's ``__array_ufunc__`` or ``__array_function__``, called with lazyarr's functions.

    The arrays stay NumPy's, which ``super().__array_ufunc__`` needs."""

    @functools.wraps(method)
    def call(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, offered(fn), *args, **kwargs)

    return call


class Subclassable(numpy.ndarray):
    """Base of subclasses of `lazyarr.ndarray`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, offered in (("__array_ufunc__", _ufunc), ("__array_function__", OFFERED[0])):
            method = vars(cls).get(name)
            if isinstance(method, types.FunctionType):
                setattr(cls, name, _taking_ours(method, offered))

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """With `lazyarr.ndarray` as the type: NumPy's array, for ``super().__array_ufunc__``."""
        return numpy.ndarray.view(self, *lend(args, {}), **lend(kwargs, {}))


def attach() -> None:
    ArrayType.base = Subclassable
