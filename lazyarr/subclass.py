"""What a program's own array subclass derives from: NumPy's array, at home with lazy arrays.

In: ``class A(lazyarr.ndarray)``.   Out: a real subclass of `numpy.ndarray`, since hooks such as
``__array_finalize__`` need real memory.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import ArrayType
from lazyarr.fallback import lend


class Subclassable(numpy.ndarray):
    """Base of subclasses of `lazyarr.ndarray`."""

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """With `lazyarr.ndarray` as the type: NumPy's array, for ``super().__array_ufunc__``."""
        return numpy.ndarray.view(self, *lend(args, {}), **lend(kwargs, {}))


def attach() -> None:
    ArrayType.base = Subclassable
