"""The standard's functions that make arrays, and the border to other libraries.

In: shapes, values, arrays of any library.   Out: `Array`s; over memory of others without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyarr
from lazyarr.array_api.array_type import Array, on_cpu, plain, standard
from lazyarr.array_api.elementwise import named
from lazyarr.arrays import ndarray

MAKERS = """
    arange empty empty_like eye full full_like linspace ones ones_like zeros zeros_like
"""
"""NumPy's, with `device`."""


def _maker(name: str) -> Callable[..., Any]:
    fn = getattr(lazyarr, name)

    def call(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        on_cpu(device)
        return standard(fn(*plain(args), **kwargs))

    named(call, name, fn)
    call.__wrapped__ = fn  # type: ignore[attr-defined]
    return call


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """The array of `obj`: an array of lazyarr's or NumPy's without a copy, unless it must be one.

    Parameters
    ----------
    obj : array, scalar, sequence or buffer
    dtype : dtype, optional
    device : {'cpu'}, optional
    copy : bool, optional
        Always (True), where needed (None), or never (False: ValueError where a copy is needed).
    """
    on_cpu(device)
    given = plain(obj)
    result = lazyarr.asarray(given, dtype=dtype, copy=copy)
    return obj if result is given and obj.__class__ is Array else standard(result)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of another library's array.

    Parameters
    ----------
    x : object
        Anything with ``__dlpack__`` and ``__dlpack_device__``, on the CPU.
    device : {'cpu'}, optional
    copy : bool, optional
        As for `asarray`.
    """
    on_cpu(device)
    if x.__class__ in (Array, ndarray):
        return asarray(x, copy=copy)
    result = lazyarr.from_dlpack(x)
    return standard(lazyarr.copy(result) if copy else result)


OWN = (asarray, from_dlpack)


def functions() -> dict[str, Callable[..., Any]]:
    found = {name: _maker(name) for name in MAKERS.split()}
    found.update((fn.__name__, fn) for fn in OWN)
    return found
