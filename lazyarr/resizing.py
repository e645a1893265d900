"""x.resize(shape): the array itself gets another size, where nobody else sees its memory.

In: an array and NumPy's arguments.   Out: NumPy's results, refusals and words.
Invariant: memory that others see is never taken from them, also not with refcheck=False: the array
moves to memory of its own.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from lazyarr.arrays import is_twin, ndarray, now, wrap

Body = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class CountedMethod:
    """A method whose body can count the references to its object as NumPy's own methods do.

    The interpreter calls a Python method in one of two ways: `x.resize(*shape)` holds `x` once more than
    `x.resize(shape)`.  What this descriptor gives is called in one."""

    def __init__(self, body: Body, of_numpy: Any) -> None:
        self.body = body
        self.of_numpy = of_numpy

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            return _Bound(self, instance)
        body = self.body

        def method(*args: Any, **kwargs: Any) -> Any:
            return body(args[0], args[1:], kwargs) if args else self.of_numpy()

        return functools.update_wrapper(method, self.of_numpy, updated=())


class _Bound:
    __slots__ = ("__self__", "method")

    def __init__(self, method: CountedMethod, instance: Any) -> None:
        self.method = method
        self.__self__ = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method.of_numpy, name)

    @property
    def __doc__(self) -> Any:                   # type: ignore[override]  # NumPy's, for help()
        return self.method.of_numpy.__doc__

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Bound) and (self.__self__ is other.__self__) and self.method is other.method

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.method))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.method.body(self.__self__, args, kwargs)


def _references() -> int:
    """What a body counts where its object has one name."""

    class Probe:
        counted = CountedMethod(lambda self, args, kwargs: sys.getrefcount(self), None)

    x: Any = Probe()
    count: int = x.counted()
    return count


ONE_NAME = _references()


def _refuse(real: numpy.ndarray) -> NoReturn:
    """NumPy's refusal of an array like `real`, in the words of its release."""
    _other = real
    real.resize(real.size + 1)
    raise AssertionError("NumPy resizes arrays that others see")


def _seen(x: Any) -> bool:
    """Does anything refer to the array weakly, or to its memory?"""
    if any(not is_twin(ref) for ref in weakref.getweakrefs(x)):
        return True
    return sys.getrefcount(x.geo if x.storage is None else x.storage) > 2


def resize(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    lazy: bool = self.__class__ is ndarray
    if not lazy:                                # a subclass, or no array
        numpy.ndarray.resize(self, *args, **kwargs)
        return
    asked = numpy.empty(self.geo.shape, "V0")       # no bytes: NumPy reads and checks the arguments
    asked.resize(*args, **kwargs)
    if not args or (len(args) == 1 and args[0] is None):
        return
    refcheck = operator.index(kwargs.get("refcheck", True))
    if not (self.geo.flags.c_contiguous or self.geo.flags.f_contiguous):
        numpy.empty(4)[::2].resize(0)
    if asked.size == self.geo.size:
        _same_size(self, asked.shape)
        return
    if self.geo.itemsize and self.base is not None:
        _refuse(numpy.empty(2)[:1])
    if self.geo.itemsize and refcheck and (sys.getrefcount(self) > ONE_NAME or _seen(self)):
        _refuse(numpy.empty(1))
    if self.geo.itemsize:
        real = numpy.array(now(self), order="A")
        real.resize(asked.shape, refcheck=False)
    else:                                       # a copy would widen strings of no characters
        real = numpy.ndarray(asked.shape, self.geo.dtype)
    real.flags.writeable = self.geo.flags.writeable
    other = wrap(real)
    self.geo = other.geo
    self.storage = other.storage


def _same_size(x: Any, shape: tuple[int, ...]) -> None:
    """Another shape over the same memory, in the order of memory."""
    if x.storage is None:
        x.geo.resize(shape, refcheck=False)
        return
    view = x if x.geo.flags.c_contiguous else x.T
    view.shape = shape
    x.geo = view.geo
