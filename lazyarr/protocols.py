"""How arrays meet Python and other libraries: conversion, export, copying, attributes.

In: an array.   Out: real memory for those who ask by a protocol, counted, so that what they hold is
never read or written late.  `__array_interface__` is not answered to NumPy's C code, which would
prefer it to `__array__` and take memory that nobody counts.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import export, manage, ndarray, now, real_of, stays_plain, twins, wrap
from lazyarr.dtypes import char_of
from lazyarr.elementwise import SCALARS
from lazyarr.fallback import fallback, lend
from lazyarr.geometry import within
from lazyarr.indexing import setitem
from lazyarr.late import late
from lazyarr.namespace import LATE, rule_of
from lazyarr.overrides import defers, opened, operands, overrides
from lazyarr.resizing import CountedMethod, resize
from lazyarr.storage import Storage
from lazyarr.ufuncs import known

if TYPE_CHECKING:
    from lazyarr.array_flags import Flags, allow_writing
    from lazyarr.flat import FlatIter
    from lazyarr.movement import own_copy, seen
else:
    late(globals(), array_flags="Flags allow_writing", flat="FlatIter", movement="own_copy seen")

# ---------------------------------------------------------------------------------- exports


def __array__(self: Any, dtype: Any = None, *, copy: Any = None) -> numpy.ndarray:
    if self.__class__ is not ndarray:
        return numpy.ndarray.__array__(self, dtype, copy=copy)
    if copy:                                    # in the order of x's strides: so NumPy copies its own arrays,
        return numpy.array(now(self), dtype)    # and asks us by this (`numpy.float16(x)`, `numpy.array(x)`)
    if dtype is None:
        return export(self)
    return numpy.array(export(self), dtype, copy=copy)


def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if any(defers(type(x)) and not isinstance(x, numpy.ndarray) for x in operands(inputs, kwargs)):
        return NotImplemented                   # (a subclass of NumPy's array answers when it gets those)
    fn = getattr(ufunc, "fn", ufunc)
    if not isinstance(fn, numpy.ufunc):
        raise TypeError(f"__array_ufunc__() needs a ufunc, not {type(ufunc).__name__}")
    ours = known(fn)
    if ours is not None:
        result = getattr(ours, method)(*inputs, **kwargs)
    else:
        result = fallback(fn if method == "__call__" else getattr(fn, method), *inputs, **kwargs)
    return _given_back(result, inputs, kwargs)


def _given_back(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy returns the very array that it was given as `out`: so ``real += lazy`` stays what it was."""
    if result.__class__ is tuple:
        return tuple([_given_back(r, args, kwargs) for r in result])
    if result.__class__ is not ndarray:
        return result
    real = real_of(result)
    out = kwargs.get("out")
    for given in (*args, *(out if out.__class__ is tuple else (out,))):
        if given is real and type(given) is numpy.ndarray:
            return given
    return result


CONVERTERS = frozenset((numpy.atleast_1d, numpy.atleast_2d, numpy.atleast_3d, numpy.copy))
"""Functions that other libraries, which call NumPy's, make arrays with for code in C: as `numpy.asarray`,
which asks nobody, they give them NumPy's."""


PICKING = frozenset((numpy.delete, numpy.insert, numpy.repeat, numpy.take))
"""Of a real array that only positions are given to, as libraries do with memory of their own (pandas with
that of an index), these make a real one."""


def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if args.__class__ is not tuple:
        raise TypeError("args must be a tuple.")
    if kwargs.__class__ is not dict:
        raise TypeError("kwargs must be a dict.")
    overriding = [t for t in types if overrides(t, "__array_function__")]
    if not all(issubclass(t, numpy.ndarray) for t in overriding):
        return NotImplemented
    if overriding:
        return fallback(getattr(func, "_implementation", func), *args, **kwargs)
    if func in CONVERTERS or (func in PICKING and args and args[0].__class__ is numpy.ndarray):
        kwargs = {name: export(x) if x.__class__ is ndarray else x for name, x in kwargs.items()}
        return func(*[export(x) if x.__class__ is ndarray else x for x in args], **kwargs)
    args, kwargs, found = opened(args, kwargs, self)
    if not found:                               # (or NumPy would ask again)
        return fallback(getattr(func, "_implementation", func), *args, **kwargs)
    rule = rule_of(func)
    result = fallback(func, *args, **kwargs) if rule is None else rule(*args, **kwargs)
    return _given_back(result, args, kwargs)


def __dlpack__(
    self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    options = {k: v for k, v in asked.items() if v is not None}     # NumPy 2.0 knows `stream` only
    return export(self).__dlpack__(**options)       # the capsule holds the lent view, so it is counted


def __dlpack_device__(self: Any) -> tuple[int, int]:
    return 1, 0


_SAMPLE = numpy.empty(0)


def __array_namespace__(self: Any, /, *, api_version: str | None = None) -> Any:
    """The standard's namespace; to the code of a program that runs with lazyarr as its NumPy, that one, which
    NumPy's arrays answer."""
    runner = sys.modules.get("lazyarr.runner_imports")
    caller = sys._getframe().f_back             # (code in C may be the first of a thread)
    is_programs = runner is not None and self.__class__ is ndarray and runner.is_installed()
    if is_programs and caller is not None and runner.is_own(caller.f_globals):
        _SAMPLE.__array_namespace__(api_version=api_version)
        return sys.modules["lazyarr"]
    from lazyarr import array_api

    array_api.check_version(api_version)
    return array_api


PINNED: weakref.WeakKeyDictionary[Storage, numpy.ndarray] = weakref.WeakKeyDictionary()
"""Storages whose address somebody was told -> their memory, which so counts as shared while they live."""


def pinned(x: ndarray) -> numpy.ndarray:
    """The real array, of memory that stays where it is: who knows an address holds no reference."""
    real = export(x)
    if x.storage is not None or (not stays_plain(real) and manage(x)):
        PINNED[x.storage] = real
    return real


def _interface(name: str) -> property:
    """For Python code that asks by name, such as Pillow's."""

    def get(self: Any) -> Any:
        caller = sys._getframe().f_back
        code = None if caller is None else caller.f_code
        if code is None or (name not in code.co_names and name not in code.co_consts):
            raise AttributeError(name)
        return getattr(pinned(self), name)

    return property(get)


def to_numpy(self: Any) -> numpy.ndarray:
    """The array as a real one: Matplotlib asks for it, which tells arrays from lists by their class."""
    return self.__array__()


def __bytes__(self: Any) -> bytes:
    return now(self).tobytes()


# ---------------------------------------------------------------------------------- copying


def __reduce__(self: Any) -> Any:
    return wrap, (export(self),)                # not a copy: NumPy pickles its memory out of band, too


def __reduce_ex__(self: Any, protocol: int) -> Any:
    return self.__reduce__()


def __copy__(self: Any) -> Any:
    return own_copy(self)


def __deepcopy__(self: Any, memo: Any) -> Any:
    return wrap(numpy.ndarray.__deepcopy__(self.geo, memo)) if self.geo.dtype.hasobject else own_copy(self)


def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = lend(args, {}), lend(kwargs, {})
    if cls is ndarray:
        return wrap(numpy.ndarray(*args, **kwargs))
    return numpy.ndarray.__new__(cls, *args, **kwargs)


# --------------------------------------------------------------------------------- sequence


def __iter__(self: Any) -> Any:
    if not self.geo.ndim:
        raise TypeError("iteration over a 0-d array")
    if self.geo.ndim == 1:
        real = now(self)
        return map(wrap, real) if real.dtype.hasobject else iter(real)
    return map(operator.getitem, itertools.repeat(self), range(len(self.geo)))


def __contains__(self: Any, item: Any) -> bool:
    return fallback(numpy.ndarray.__contains__, self, item)


def __delitem__(self: Any, key: Any) -> None:
    raise ValueError("cannot delete array elements")


def __sizeof__(self: Any) -> int:
    owned = self.geo.nbytes if self.storage is not None and self.base is None else 0
    return object.__sizeof__(self) + self.geo.__sizeof__() + owned


# ------------------------------------------------------------------------------- attributes


def _changed(name: str) -> property:
    """shape, strides, dtype: setting one changes this array alone."""

    def get(self: Any) -> Any:
        return getattr(self.geo, name)

    def change(self: Any, value: Any) -> None:
        if self.storage is None:
            setattr(self.geo, name, value)
            return
        geo = self.geo.view()                       # pending readers hold the other one
        setattr(geo, name, value)
        if char_of(geo.dtype) is None:              # not the engine's business any more
            real = export(self)
            setattr(real, name, value)
            self.geo, self.storage = real, None
            twins(self, real)
            return
        if name == "strides" and not within(geo, self.storage.value.nbytes):
            raise ValueError("strides is not compatible with available memory")
        real = real_of(self)
        self.geo = geo
        if real is not None:
            setattr(real, name, value)

    return property(get, change)


def flags(self: Any) -> Any:
    return self.geo.flags if self.storage is None else Flags(self)


def setflags(self: Any, *args: Any, **kwargs: Any) -> None:
    numpy.empty(0).setflags(*args, **kwargs)    # NumPy checks the arguments
    real = real_of(self)
    if self.storage is not None:
        if args[0] if args else kwargs.get("write"):
            allow_writing(self)
        self.geo = self.geo.view()
        if real is not None:
            real.setflags(*args, **kwargs)
    self.geo.setflags(*args, **kwargs)


def _part(name: str) -> property:
    """real and imag: views of complex arrays."""
    of_numpy = getattr(numpy.ndarray, name)
    of = of_numpy.__get__

    def get(self: Any) -> Any:
        if self.__class__ is not ndarray:
            return of(self)
        geo = of(self.geo)
        return wrap(geo) if name == "imag" and self.geo.dtype.kind != "c" else seen(self, geo)

    def change(self: Any, value: Any) -> None:
        kind = self.geo.dtype.kind
        scalar = value.__class__ in (float, int) and kind in "fc" and self.geo.size   # (else it may refuse)
        if (scalar or value.__class__ is ndarray) and (name == "real" or kind == "c"):
            setitem(get(self), ..., value)
        else:                                   # it casts as it likes, or refuses
            fallback(of_numpy.__set__, self, value)

    return property(get, change)


def _view(name: str) -> property:
    of = getattr(numpy.ndarray, name).__get__
    return property(lambda self: seen(self, of(self.geo)))


class Holding(numpy.ndarray):
    """A real view that keeps the lazy array alive, as NumPy's pointers keep theirs."""

    array: ndarray


def ctypes(self: Any) -> Any:
    held = pinned(self).view(Holding)
    held.array = self
    return held.ctypes


def _pointer_types(module: str) -> None:
    from lazyarr.pointer_types import attach

    attach()


def _read_only(name: str, found: property) -> property:
    """NumPy's refusal to set or delete an attribute."""
    of = getattr(numpy.ndarray, name)
    if found.fset is None and name != "data":
        found = found.setter(lambda self, value: of.__set__(_ANY, value))
    return found.deleter(lambda self: of.__delete__(_ANY))


_ANY = numpy.empty(0)


def flat(self: Any) -> Any:
    return FlatIter(self)


def _set_flat(self: Any, value: Any) -> None:
    export(self).flat = lend(value, {})


def base(self: Any) -> Any:
    """The object that owns the memory; None for its owner."""
    if self.origin is not None:
        return self.origin
    if self.storage is None:
        return wrap(self.geo.base)
    buf = self.storage.value.buf
    if buf is None or buf.bridge is None:
        return None
    owner = buf.owner
    if type(owner) is numpy.ndarray and self.geo.nbytes == buf.nbytes:      # this array stands for it
        return owner.base
    return wrap(owner)


def fill(self: Any, *args: Any, **kwargs: Any) -> None:
    """NumPy has words of its own for arguments that are too many, too few or named."""
    if self.__class__ is not ndarray:               # NumPy's, or none of its business
        numpy.ndarray.fill(self, *args, **kwargs)
    elif self.storage is not None and len(args) == 1 and not kwargs and args[0].__class__ in SCALARS:
        self[...] = args[0]                     # (by the slots, where they are)
    else:
        fallback(numpy.ndarray.fill, self, *args, **kwargs)


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    if device.__class__ is str and device == "cpu" and stream is None:
        return self
    return fallback(numpy.ndarray.to_device, self, device, stream=stream)


PROTOCOLS = (
    __array__, to_numpy, to_device, __array_ufunc__, __array_function__, __array_namespace__, __dlpack__,
    __dlpack_device__, __reduce__, __reduce_ex__,
    __bytes__, __copy__, __deepcopy__, __iter__, __contains__, __delitem__, __sizeof__, setflags, fill,
)


def attach() -> None:
    for fn in PROTOCOLS:
        of_numpy = getattr(numpy.ndarray, fn.__name__, None)
        if of_numpy is not None:                # its documentation and signature
            functools.update_wrapper(fn, of_numpy, updated=())
        setattr(ndarray, fn.__name__, fn)
    ndarray.resize = CountedMethod(resize, numpy.ndarray.resize)
    ndarray.__new__ = __new__
    for name in ("__array_interface__", "__array_struct__"):
        setattr(ndarray, name, _interface(name))
    ndarray.__class_getitem__ = classmethod(lambda cls, item: numpy.ndarray.__class_getitem__(item))
    for name in ("shape", "strides", "dtype"):
        setattr(ndarray, name, _changed(name))
    for name in ("real", "imag"):
        setattr(ndarray, name, _part(name))
    for name in ("T", "mT"):
        setattr(ndarray, name, _view(name))
    ndarray.ctypes = property(ctypes)
    LATE["numpy.ctypeslib"] = _pointer_types
    ndarray.data = property(lambda self: export(self).data)
    ndarray.flat = property(flat, _set_flat)
    ndarray.flags = property(flags)
    ndarray.base = property(base)
    ndarray.device = property(lambda self: "cpu")
    for name, found in list(vars(ndarray).items()):
        if isinstance(found, property) and hasattr(numpy.ndarray, name):
            setattr(ndarray, name, _read_only(name, found))
    ndarray.__doc__ = numpy.ndarray.__doc__
