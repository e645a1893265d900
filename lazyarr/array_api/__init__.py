"""The Python array API standard, version 2025.12, in full (https://data-apis.org/array-api).

In: arrays of this namespace, of lazyarr or of NumPy.   Out: lazy arrays, always.
What ``x.__array_namespace__()`` gives: lazyarr's computation under the standard's rules, where NumPy's
differ.  Names come from tables, most of them out of the NumPy face.
"""

from __future__ import annotations

import numpy

from lazyarr.array_api import creation, data_types, elementwise, manipulation, operators, reductions
from lazyarr.array_api import fft as fft
from lazyarr.array_api import linalg as linalg
from lazyarr.array_api.info import VERSION, Info
from lazyarr.array_api.info import check_version as check_version

operators.attach()

__array_api_version__ = VERSION

CONSTANTS = {name: getattr(numpy, name) for name in ("e", "inf", "nan", "newaxis", "pi")}

_NAMES = {
    **CONSTANTS,
    **data_types.DTYPES,
    **{
        name: fn
        for part in (creation, data_types, elementwise, manipulation, reductions)
        for name, fn in part.functions().items()
    },
}

__all__ = sorted([*_NAMES, "fft", "linalg", "__array_api_version__", "__array_namespace_info__"])


def __array_namespace_info__() -> Info:
    """Inspect the namespace: capabilities, devices, data types."""
    return Info()


def __dir__() -> list[str]:
    return __all__


globals().update(_NAMES)
