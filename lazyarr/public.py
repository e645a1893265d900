"""What lazyarr adds to NumPy's names.

In: arrays.   Out: their state, their values, the configuration.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy

from lazyarr.arrays import is_pending, managed, ndarray, stays_plain, wrap
from lazyarr.dtypes import char_of
from lazyarr.expr import Expr
from lazyarr.storage import Storage, geometry_in
from lazyarr.storage import evaluate as _evaluate
from lazyarr.values import Bridge, Buffer, owner_of


def evaluate(*arrays: Any) -> None:
    """Compute arrays now, in one plan.

    Parameters
    ----------
    *arrays : array_like
        Lazy arrays; anything else is left as it is.
    """
    _evaluate([x.storage.value for x in arrays if x.__class__ is ndarray and is_pending(x)])


def is_evaluated(x: Any) -> bool:
    """Tell whether an array has been computed.

    Parameters
    ----------
    x : array_like
        An array; anything that is not lazy counts as computed.

    Returns
    -------
    bool
    """
    return not (x.__class__ is ndarray and is_pending(x))


def borrow(x: Any) -> Any:
    """Read an ndarray lazily without a copy; the caller promises not to write to it.

    Memory that others can write is otherwise read at the call, since they give no notice.

    Parameters
    ----------
    x : numpy.ndarray
        The array to read.  It must not be written to while results that depend on it are pending.

    Returns
    -------
    ndarray
        A read-only array over the same memory.
    """
    if type(x) is not numpy.ndarray or char_of(x.dtype) is None or stays_plain(x):
        return wrap(x)
    memory = numpy.asarray(Bridge(owner_of(x)))
    memory.flags.writeable = False
    storage = Storage(Expr.leaf(Buffer(memory)))        # no bridge: whoever else holds it is no matter
    geo = geometry_in(storage, x)
    geo.flags.writeable = False
    return managed(storage, geo)


def _late(module: str, name: str) -> Any:
    """A function of a module that is imported at the first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


set_num_threads = _late("lazyarr.threading.limits", "set_num_threads")
get_num_threads = _late("lazyarr.threading.limits", "get_num_threads")
coverage = _late("lazyarr.coverage_report", "coverage")
show_config = _late("lazyarr.coverage_report", "show_config")
