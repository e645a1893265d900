"""The standard's array: an array of the NumPy face, under the standard's rules.

In: arrays of the NumPy face, scalars.   Out: `Array`, and the two ways over the border: `plain` to the
face, `standard` from it.  What is computed, when and where is the face's business alone.

Always holds: an `Array` has no state of its own; all is in `face`, which others may hold as well.
The standard knows no scalars: a result without axes is an `Array`, as lazy as any other.  It is
computed as an array of one element, since the face would give a NumPy scalar, and that at the call.
Functions and methods of NumPy's give what NumPy gives, with `Array`s in place of arrays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.arrays import ArrayType, is_pending, ndarray, now, wrap
from lazyarr.indexing import getitem, is_basic
from lazyarr.namespace import OVERRIDES, adapt
from lazyarr.overrides import opened


class StandardType(ArrayType):
    """A real subclass of `lazyarr.ndarray`, and nothing else is an instance of it."""

    def __new__(
        meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> StandardType:
        made: StandardType = type.__new__(meta, name, bases, namespace, **options)
        return made

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, c: type) -> bool:
        return type.__subclasscheck__(cls, c)


class Array(ndarray, metaclass=StandardType):
    """An array of the array API standard (https://data-apis.org/array-api).

    Made by the functions of `lazyarr.array_api`, whose operators follow the standard.  It is also a
    `lazyarr.ndarray`, and has the methods of one; `lazyarr.asarray` gives that array."""

    __slots__ = ("face",)
    __hash__ = None
    face: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("lazyarr.array_api has functions that make arrays, such as asarray")

    # -------------------------------------------------------------------------- attributes

    @property
    def T(self) -> Array:
        if self.face.ndim != 2:
            raise ValueError("x.T requires x to have 2 dimensions; there are x.mT and permute_dims")
        return made(self.face.T)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """The array itself: there is one device."""
        on_cpu(device)
        if stream is not None:
            raise ValueError("the device 'cpu' has no streams")
        return self

    # ------------------------------------------------------------------------- conversions

    def __float__(self) -> float:
        if self.face.dtype.kind == "c":
            raise TypeError("float() argument must not be a complex array")
        return float(now(self.face))

    def __int__(self) -> int:
        if self.face.dtype.kind == "c":
            raise TypeError("int() argument must not be a complex array")
        return int(now(self.face))

    def __repr__(self) -> str:
        return repr(now(self.face)).replace("array(", "Array(", 1)

    def __reduce__(self) -> Any:
        return standard, (self.face,)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    # ---------------------------------------------------------------------------- elements

    def __getitem__(self, key: Any, /) -> Array:
        key = index_of(key)
        if is_basic(key):
            if key.__class__ is not tuple:
                key = (key,)
            if not any(k is Ellipsis for k in key):
                key = (*key, ...)               # an array, even without axes
        found: Array = standard(self.face[key])
        return found

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self.face[index_of(key)] = plain(value)

    def __iter__(self) -> Any:
        if not self.face.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self.face)))

    # --------------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, fn: numpy.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        by_face = adapt(fn)
        if method == "__call__" and not kwargs:
            return called(by_face, *args)
        return returned(getattr(by_face, method), args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs, _ = opened(args, kwargs, self)
        return returned(OVERRIDES.get(func) or adapt(func), args, kwargs)


_new = object.__new__


def made(face: Any) -> Array:
    x: Array = _new(Array)
    x.face = face
    return x


CONTAINERS = frozenset({tuple, list, dict})


def plain(x: Any) -> Any:
    """x for the NumPy face: without `Array`s, inside containers too."""
    c = x.__class__
    if c is Array:
        return x.face
    if c is tuple or c is list:
        return c([plain(y) for y in x])
    if c is dict:
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, tuple):                    # (a named one)
        return tuple([plain(y) for y in x])
    return [plain(y) for y in x] if isinstance(x, list) else x


def standard(x: Any) -> Any:
    """A result of the NumPy face's under the standard: arrays and scalars become `Array`s."""
    return _over(x, numpy.generic)


def with_arrays(x: Any) -> Any:
    """A result of the NumPy face's with `Array`s for arrays; scalars stay NumPy's."""
    return _over(x, ())


def _over(x: Any, scalars: Any) -> Any:
    if x.__class__ is ndarray:
        return made(x)
    if isinstance(x, tuple | list):
        items = [_over(y, scalars) for y in x]
        return x._make(items) if hasattr(x, "_make") else x.__class__(items)
    if isinstance(x, scalars):
        return made(wrap(numpy.asarray(x)))
    return x


def returned(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy's gives; `out`, or an array among the arguments, comes back as itself."""
    result = fn(*plain(args), **plain(kwargs))
    out = kwargs.get("out")
    if isinstance(out, ndarray):
        return out
    if isinstance(out, tuple) and all(isinstance(x, ndarray) for x in out):
        return out[0] if len(out) == 1 else out
    for x in args:
        if x.__class__ is Array and x.face is result:
            return x
    return with_arrays(result)


def called(fn: Callable[..., Any], *args: Any) -> Any:
    """fn(*args) for an elementwise function of the NumPy face: an array, even without axes."""
    given = []
    axes = False
    pending = False
    for arg in args:
        x: Any = arg.face if arg.__class__ is Array else arg
        if x.__class__ is ndarray:
            if x.geo.ndim:
                axes = True
            elif is_pending(x):
                pending = True
        elif getattr(x, "ndim", 0):
            axes = True
        given.append(x)
    if pending and not axes:
        return _one_element(fn, given)
    return standard(fn(*given))


def _lifted(x: Any) -> Any:
    return getitem(x, None) if x.__class__ is ndarray else x


def _one_element(fn: Callable[..., Any], args: list[Any]) -> Any:
    """fn on operands without axes that are not computed yet."""
    result = fn(*[_lifted(x) for x in args])
    if isinstance(result, tuple):
        return tuple([made(x[0, ...]) for x in result])
    return made(result[0, ...])


def index_of(key: Any) -> Any:
    """A key for the NumPy face.  An integer array without axes is an integer."""
    c = key.__class__
    if c is tuple:
        return tuple([index_of(k) for k in key])
    if c is not Array:
        return key
    x = key.face
    return int(now(x)) if not x.ndim and x.dtype.kind in "iu" else x


def on_cpu(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"Unsupported device {device!r}: there is 'cpu'")


# --------------------------------------------------------------- what the NumPy face's array has

LOOKS = ("__array_interface__", "__array_struct__", "__buffer__")
"""Inherited, since they look at who calls them."""

STATE = ("geo", "storage", "origin")
"""Passed on as they are, for the inherited ones."""


def _state(name: str) -> property:
    def get(self: Array) -> Any:
        return getattr(self.face, name)

    def change(self: Array, value: Any) -> None:
        setattr(self.face, name, value)

    return property(get, change)


def _attribute(name: str) -> property:
    def get(self: Array) -> Any:
        return with_arrays(getattr(self.face, name))

    def change(self: Array, value: Any) -> None:
        setattr(self.face, name, plain(value))

    return property(get, change)


def _method(name: str, fn: Any) -> Any:
    @functools.wraps(fn, updated=())
    def call(self: Array, *args: Any, **kwargs: Any) -> Any:
        return returned(getattr(self.face, name), args, kwargs)

    return call


def pass_on() -> None:
    """Give `Array` what `ndarray` has."""
    own = set(vars(Array))
    for name, found in vars(ndarray).items():
        if name in own or name in LOOKS:
            continue
        if name in STATE:
            setattr(Array, name, _state(name))
        elif isinstance(found, property | types.GetSetDescriptorType):
            setattr(Array, name, _attribute(name))
        elif isinstance(found, types.FunctionType | types.MethodDescriptorType):
            setattr(Array, name, _method(name, found))


pass_on()
