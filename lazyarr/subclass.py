"""What a program's own array subclass derives from: NumPy's array, at home with lazy arrays.

In: ``class A(lazyarr.ndarray)``.   Out: a real subclass of `numpy.ndarray`, since hooks such as
``__array_finalize__`` need real memory.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from lazyarr.arrays import ArrayType
from lazyarr.fallback import lend
from lazyarr.overrides import OFFERED, UFUNC, meet, taking_ours
from lazyarr.ufuncs import known


def _ufunc(fn: Any) -> Any:
    return known(fn) or fn


class Subclassable(numpy.ndarray):
    """Base of subclasses of `lazyarr.ndarray`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        ArrayType.__getattribute__ = looked_up          # (programs that have no such classes pay nothing)
        for name, offered in (("__array_ufunc__", _ufunc), ("__array_function__", OFFERED[0])):
            method = vars(cls).get(name)
            if isinstance(method, types.FunctionType):
                setattr(cls, name, taking_ours(method, offered))

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """With `lazyarr.ndarray` as the type: NumPy's array, for ``super().__array_ufunc__``."""
        return numpy.ndarray.view(self, *lend(args, {}), **lend(kwargs, {}))


DESCRIPTORS = (types.GetSetDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType)
ATTRIBUTES = {
    name for name, found in vars(numpy.ndarray).items()
    if isinstance(found, DESCRIPTORS) and not name.startswith("__array_") and name != "resize"
}  # fmt: skip
"""Methods and properties of NumPy's arrays: but those that serve instances of subclasses anyway, for NumPy
looks these up on classes, and `resize` counts references."""


def looked_up(cls: type, name: str) -> Any:
    """Attributes of `lazyarr.ndarray` itself: ``ndarray.sum(self)`` takes instances of subclasses."""
    found = type.__getattribute__(cls, name)
    return _of_both(name, found) if name in ATTRIBUTES else found


@functools.cache
def _of_both(name: str, found: Any) -> Any:
    """A method or property that serves instances of subclasses, too; what a program put there as it is."""
    theirs = getattr(Subclassable, name)
    if hasattr(found, "__set__"):
        get, change = _either(theirs.__get__, found.__get__), _either(theirs.__set__, found.__set__)
        return property(get, change, doc=theirs.__doc__)
    ours = found.__class__ is types.MethodDescriptorType or (found.__module__ or "").startswith("lazyarr.")
    return _either(theirs, found) if ours else found


def _either(theirs: Any, found: Any) -> Any:
    @functools.wraps(found)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and issubclass(type(args[0]), Subclassable):
            return theirs(args[0], *lend(args[1:], {}), **lend(kwargs, {}))
        return found(*args, **kwargs)

    call.__module__ = "lazyarr"                 # where pickle finds it
    return call


def _init_subclass(cls: Any, **options: Any) -> None:
    super(NDArrayOperatorsMixin, cls).__init_subclass__(**options)
    meet(cls)


def attach() -> None:
    ArrayType.base = Subclassable
    UFUNC.append(_ufunc)
    NDArrayOperatorsMixin.__init_subclass__ = classmethod(_init_subclass)
