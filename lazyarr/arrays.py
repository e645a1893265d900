"""The array type: a geometry in a storage, or a thin wrapper of a real ndarray.

    managed   storage is a Storage, `geo` lies in ghost memory: lazy, plain dtypes only
    plain     storage is None, `geo` is the real ndarray itself: small, or of any other dtype;
              NumPy computes at the call

Either way `geo` answers every question about shape, strides, dtype and flags, and a view is
(the same storage, a view of `geo`), so most code need not know which kind it has.

In: storages and geometries.   Out: `ndarray`, whose operators and methods `methods` attaches.
Always holds: a managed array's dtype has a character in `dtypes`; nobody writes into `geo` of
a managed array, and it is shared between arrays.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.config import DEFAULTS, OBSERVED, current
from lazyarr.dtypes import char_of
from lazyarr.error_state import remembered
from lazyarr.expr import Expr, Op, Read
from lazyarr.geometry import address, fresh, geometry
from lazyarr.ops import may_raise
from lazyarr.slot_words import LIMIT
from lazyarr.srcloc import THEIRS, nearest
from lazyarr.storage import DUE, Storage, catch_up, geometry_in, launch, storage_of
from lazyarr.type_names import named_as
from lazyarr.values import Buffer, Unwritten, owner_of


class ArrayType(type):
    """Makes ``isinstance(x, lazyarr.ndarray)`` true of NumPy's arrays as well.

    A program's own subclass is a subclass of NumPy's array: its hooks need real memory."""

    base: type = numpy.ndarray
    """What stands in for the lazy array among a subclass's bases."""

    def __new__(meta, name, bases, namespace, **options):
        if bases == (OfNumPy,):
            return super().__new__(meta, name, bases, namespace)
        bases = tuple(meta.base if type(b) is ArrayType else b for b in bases)
        return type(name, bases, namespace, **options)

    def __instancecheck__(cls, x):
        return isinstance(x, numpy.ndarray) or type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, c):
        return issubclass(c, numpy.ndarray) or type.__subclasscheck__(cls, c)


class OfNumPy:
    """A base without anything, of NumPy's module: who looks for that among an array's classes finds it.

    SymPy does, to know arrays from numbers."""

    __module__ = "numpy"
    __slots__ = ()


@named_as(numpy.ndarray)
class ndarray(OfNumPy, metaclass=ArrayType):
    __module__ = "lazyarr"
    __slots__ = ("__weakref__", "geo", "origin", "storage", "twin", "window")
    __array_priority__ = 0.0
    __hash__ = None

    storage: Storage | None
    geo: numpy.ndarray
    origin: ndarray | None
    """Views: the array that NumPy would call the base."""
    twin: weakref.ref
    """Managed arrays that were exported: the real ndarray that stands for this one."""
    window: tuple[int, numpy.ndarray, numpy.ndarray]
    """Managed arrays of which elements were taken: address, geometry, and the elements (`windows`)."""

    @property
    def ndim(self) -> int:
        return self.geo.ndim

    @property
    def size(self) -> int:
        return self.geo.size

    @property
    def nbytes(self) -> int:
        return self.geo.nbytes

    @property
    def itemsize(self) -> int:
        return self.geo.itemsize

    @property
    def _sympy_(self) -> Callable[[], Any]:
        """What SymPy asks for, of arrays without axes: it takes the element of NumPy's."""
        if self.geo.ndim:
            raise AttributeError("_sympy_")
        return lambda: sys.modules["sympy"].sympify(self.item(), strict=True)

    def __len__(self) -> int:
        return len(self.geo)


_new = object.__new__


def face_of(x: Any) -> Any:
    """An array of the array-API namespace as the array that it is here; anything else as it is."""
    return x.face if x.__class__ is not ndarray and type.__instancecheck__(ndarray, x) else x


class Unsupported(Exception):
    """No lazy rule for this call: NumPy does it, on evaluated arrays."""


def plain(real: numpy.ndarray) -> ndarray:
    """A wrapper of a real ndarray."""
    x = _new(ndarray)
    x.storage = None
    x.geo = real
    x.origin = None
    return x


def wrapped(result: Any) -> Any:
    """What NumPy answered to an operation on plain arrays."""
    if result.__class__ is numpy.ndarray:
        x = _new(ndarray)
        x.storage = None
        x.geo = result
        x.origin = None
        return x
    if result.__class__ is tuple:
        return tuple([wrapped(r) for r in result])
    return result


def managed(storage: Storage, geo: numpy.ndarray) -> ndarray:
    """An array somewhere in a storage."""
    x = _new(ndarray)
    x.storage = storage
    x.geo = geo
    x.origin = None
    return x


def part(x: ndarray, geo: numpy.ndarray) -> ndarray:
    """A view of x."""
    y = _new(ndarray)
    y.storage = x.storage
    y.geo = geo
    origin = x.origin
    y.origin = x if origin is None else origin
    return y


def fresh_array(
    op: Op, inputs: tuple[Any, ...], geo: numpy.ndarray, region: numpy.ndarray | None = None,
    depth: int | None = None, getframe: Any = sys._getframe,
) -> ndarray:
    """A new array: what `op` computes from captured inputs.  `region` sees it in another shape.

    `depth`: callers above this function that are surely ours, so that the next may be the user's; 0 where
    `op` raises no flags, and None where nobody knows better."""
    if DUE:
        catch_up()
    loc = None
    if depth is None:
        depth = 2 if may_raise(op) else 0
    if depth:
        try:                            # (`srcloc.here`, written out: a call would cost a fifth of it)
            frame = getframe(depth)
            code = frame.f_code
            loc = (code, frame.f_lasti) if id(code) in THEIRS else nearest(frame)
        except ValueError:
            pass
    elif OBSERVED:
        loc = nearest(getframe(1))
    node = Expr(op, inputs, geo if region is None else region, None, False, remembered(), loc)
    x = managed(Storage(node), geo)
    launch(node)
    return x


# ---------------------------------------------------------------- between real and managed


TWINS: weakref.WeakValueDictionary[int, ndarray] = weakref.WeakValueDictionary()
"""id(real ndarray) -> the one array that stands for it, so that asarray(x) is x."""

_known_twins = TWINS.data


def is_twin(ref: weakref.ref[ndarray]) -> bool:
    """Is this weak reference one of our own, in `TWINS`?"""
    return _known_twins.get(getattr(ref, "key", None)) is ref


def real_of(x: ndarray) -> numpy.ndarray | None:
    """The real ndarray that x was exported as, if it lives."""
    if x.storage is None:
        return x.geo
    try:
        return x.twin()
    except AttributeError:
        return None


def twins(x: ndarray, real: numpy.ndarray) -> ndarray:
    """In NumPy, asarray(x) is x.  Here they are two objects; a change of shape must reach both."""
    if x.storage is not None:
        x.twin = weakref.ref(real)
    TWINS[id(real)] = x
    return x


def stays_plain(x: numpy.ndarray) -> bool:
    """Is this memory NumPy's business: small, or no dtype of the engine's?"""
    jit = current.jit
    if jit == "auto":
        limit = 8 * current.eager_elements
        owner = x if x.base is None else owner_of(x)
        return owner.nbytes <= limit or char_of(x.dtype) is None
    return jit == "never" or char_of(x.dtype) is None


def wrap(x: Any) -> Any:
    """The array over a real ndarray, without a copy; anything else as it is.

    There is one storage per owner of memory, so what comes back from NumPy as a view of lent
    memory is a view of the storage that lent it."""
    if type(x) is not numpy.ndarray:
        return x
    if id(x) in _known_twins:
        twin = TWINS.get(id(x))
        if twin is not None and real_of(twin) is x:
            return twin
    if stays_plain(x):
        return plain(x)
    storage = storage_of(x)
    return twins(managed(storage, geometry_in(storage, x)), x)


def manage(x: ndarray) -> bool:
    """Turn a plain array into a managed one; False where its dtype does not allow that."""
    if x.storage is not None:
        return True
    real = x.geo
    if char_of(real.dtype) is None:
        return False
    storage = storage_of(real)
    x.geo = geometry_in(storage, real)
    x.storage = storage
    twins(x, real)
    if x.origin is None and type(real.base) is numpy.ndarray:   # new memory in another shape (`slots`)
        x.origin = wrap(real.base)
    if x.origin is not None:            # (as long as it refers to the memory by itself, nothing waits)
        manage(x.origin)
    return True


PLAIN: int = 8 * DEFAULTS["eager_elements"]
"""Bytes up to which arrays are plain, but for those that NumPy makes directly for a time (`direct`)."""


def is_numpys(x: ndarray) -> bool:
    """Is a call on this array NumPy's at once, since it is plain?

    One that is larger than others is managed from here on, unless such are NumPy's still; so are all where
    everything is to be compiled.  (The caller has it in hand: no other thread is about to use its memory.)"""
    if x.storage is not None:
        return False
    large = x.geo.nbytes > PLAIN and LIMIT.value <= DEFAULTS["eager_elements"] and not stays_plain(x.geo)
    return not ((large or current.jit == "always") and manage(x))


def export(x: ndarray) -> numpy.ndarray:
    """A real ndarray that the caller may keep and write to; the same one while it lives."""
    if x.storage is None:
        TWINS.setdefault(id(x.geo), x)
        return x.geo
    real = x.storage.lend(x.geo)
    twin = real_of(x)
    if twin is None or owner_of(twin) is not owner_of(real):    # the value may have moved
        twins(x, real)
        return real
    return twin


def given_memory(x: Any) -> Any:
    """What a library's function gets for an argument: arrays, also those in a list or a dict (or a list of
    dicts), as real ndarrays."""
    c = x.__class__
    if c is list and not {ndarray, dict}.isdisjoint(map(type, x)):
        return [y if y.__class__ is list else given_memory(y) for y in x]
    if c is dict and ndarray in map(type, x.values()):
        return {key: export(y) if y.__class__ is ndarray else y for key, y in x.items()}
    return export(x) if c is ndarray else x


def now(x: ndarray) -> numpy.ndarray:
    """The values, as a real ndarray: only to look at, never to keep or to write."""
    return x.geo if x.storage is None else x.storage.real(x.geo)


def is_pending(x: ndarray) -> bool:
    return x.storage is not None and x.storage.value.op is not None


def capture(x: ndarray) -> Any:
    """x as an input of a node: a read of its value now.  0-d plain arrays are constants."""
    if x.storage is None:
        real = x.geo
        if real.ndim == 0:
            return real[()]
        if stays_plain(real):
            return _snapshot(real)
        manage(x)
    return Read(x.storage.value, x.geo)


def _snapshot(real: numpy.ndarray) -> Read:
    """A private copy as an input, of the same strides: NumPy's bits can depend on them."""
    low = at = address(real)
    nbytes = real.nbytes
    if real.flags.c_contiguous:
        usual = fresh(real.shape, real.dtype)
        if usual.strides == real.strides:       # axes of length 1 may have any
            return Read(Expr.leaf(Buffer(numpy.frombuffer(ctypes.string_at(at, nbytes), numpy.uint8))), usual)
    else:
        low, high = numpy.lib.array_utils.byte_bounds(real)
        nbytes = high - low
    memory = numpy.frombuffer(ctypes.string_at(low, nbytes), numpy.uint8)
    geo = geometry(real.shape, real.dtype, real.strides, at - low, nbytes)
    return Read(Expr.leaf(Buffer(memory)), geo)


def is_quiet(x: ndarray) -> bool:
    """May NumPy write into x's memory at once?  (There is some, and nothing pending reads it.)"""
    value = x.storage.value
    if value.op is not None or value.buf.__class__ is Unwritten:
        return False
    return not (value.readers and value.waiting())
