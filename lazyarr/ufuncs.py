"""`lazyarr.ufunc`: NumPy's ufuncs on lazy arrays.

In: any call that NumPy's ufunc takes.   Out: lazy arrays, or what NumPy returns.
Calls on plain dtypes with `out`, `where`, `dtype`, `casting` are lazy, and reductions; all else
(objects, dates, strings, generalised ufuncs, `signature=`, subclasses) goes through NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import Unsupported, ndarray, wrap, wrapped
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dtypes import ELEMENTS
from lazyarr.elementwise import SCALARS, elementwise, into, is_listed
from lazyarr.fallback import fallback, lazily
from lazyarr.geometry import LEGACY_AXES
from lazyarr.indexing import setitem
from lazyarr.late import late
from lazyarr.ops import OPS
from lazyarr.own_ufuncs import MACHINE
from lazyarr.recipes import NODES
from lazyarr.slot_words import WAITING, with_room
from lazyarr.temporaries import ends_function
from lazyarr.type_names import named_as

if TYPE_CHECKING:
    from lazyarr.deferred import product, with_last
    from lazyarr.reductions import reduce
    from lazyarr.scans import accumulate
else:
    late(globals(), deferred="product with_last", reductions="reduce", scans="accumulate")

UFUNCS: dict[numpy.ufunc, ufunc] = {}
MADE: list[Callable[[ufunc], None]] = []
"""What hears of each of ours."""
CLASSES = {type(dtype) for dtype in ELEMENTS.values()}
"""Classes of plain dtypes, which NumPy's code gives as `dtype`, too."""
PLAIN_DTYPES = {bool, int, float, complex, *ELEMENTS.values(), *[dtype.type for dtype in ELEMENTS.values()]}
"""What says of a plain dtype which one it is, as most programs do."""
_DEFAULTS = {"order": "K"}
_ABSENT: Any = object()
"""For arguments where NumPy takes no None."""
MISSING = numpy._NoValue
"""What NumPy's code gives for arguments that nobody gave."""
MATRICES = ("nk", "km")
CORES: dict[Any, tuple[tuple[str, ...], str]] = {
    fn: cores
    for name, cores in {
        "matmul": (MATRICES, "nm"), "vecdot": (("n", "n"), ""), "matvec": (("mn", "n"), "m"),
        "vecmat": (("n", "nm"), "m"),
    }.items()
    if isinstance(fn := getattr(numpy, name, None), numpy.ufunc)
}  # fmt: skip
"""Generalised ufunc, if the running NumPy has it -> the core dims of its operands and of its result, a
letter each."""
ONE_AXIS = "(n),(n)->()"
"""The signature of those that take `axis`, of the ones with `CORES`."""
DEPRECATED = {numpy.maximum, numpy.minimum}
"""NumPy may warn where they get `out` by position."""


@functools.cache
def _takes_ellipsis() -> bool:
    """Does the running NumPy know ``out=...``?"""
    try:
        numpy.negative(1, out=...)
    except TypeError:
        return False
    return True


class UfuncType(type):
    """Makes ``isinstance(x, lazyarr.ufunc)`` true of NumPy's ufuncs as well."""

    def __instancecheck__(cls, x):
        return isinstance(x, numpy.ufunc) or type.__instancecheck__(cls, x)

    def __getattr__(cls, name):
        return getattr(numpy.ufunc, name)


@with_room
@named_as(numpy.ufunc)
class ufunc(metaclass=UfuncType):
    """Functions that operate element by element on whole arrays: NumPy's, on lazy arrays.

    Attributes and documentation are those of the NumPy ufunc ``fn``.  Libraries ask for `numpy.ufunc`, and
    call what they find: so that is what ``__class__`` says.  (Code in C looks at the type instead.)"""

    __module__ = "lazyarr"
    __slots__ = ("__dict__", "__weakref__", "fn")
    fn: numpy.ufunc
    nin: int
    __class__ = property(lambda self: numpy.ufunc)

    def __init__(self, fn: numpy.ufunc) -> None:
        object.__setattr__(self, "fn", fn)
        vars(self).update(
            nin=fn.nin, __name__=fn.__name__, __qualname__=getattr(fn, "__qualname__", fn.__name__),
            __doc__=fn.__doc__, __module__="lazyarr", __wrapped__=fn,
            _scan=lazily(fn.accumulate, self._accumulate),
            _by_rule=ends_function(lazily(fn.reduce, self._reduce), names=1),       # the args of `reduce`
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != self.nin:                   # `out` by position, or wrong
            one_more = len(args) == self.nin + self.nout == self.nin + 1
            if one_more and kwargs and "out" not in kwargs and self.fn not in DEPRECATED:
                result = by_names(self.fn, args[:-1], {**kwargs, "out": args[-1]})
                if result is not None:
                    return result
        elif not kwargs:
            if NODES.make is not None and len(args) < 3:        # (calls met before)
                result = NODES.make(self.fn, 1, *args)
                if result.__class__ is ndarray:
                    return result
            result = eager(self.fn, args)
            if result is not None:
                return result
        elif len(kwargs) == 1 and "out" in kwargs:
            out = kwargs["out"]
            if out.__class__ is tuple and len(out) == self.nout == 1:
                out = out[0]
            if out.__class__ is numpy.ndarray or (out.__class__ is ndarray and out.storage is None):
                result = eager(self.fn, args, out)
                if result is not None:
                    return result
        else:
            result = by_names(self.fn, args, kwargs)
            if result is not None:
                return result
        try:
            return self._lazy(args, **kwargs)
        except Unsupported:
            pass
        return fallback(self.fn, *args, **kwargs)

    def _lazy(
        self, args: tuple[Any, ...], out: Any = _ABSENT, where: Any = True, dtype: Any = None,
        casting: Any = _ABSENT, **options: Any,
    ) -> Any:
        fn = self.fn
        if casting is None:
            raise Unsupported
        if casting is _ABSENT:
            casting = None
        if options.pop("subok", True).__class__ is not bool:       # else it says nothing: no subclasses here
            raise Unsupported
        if fn.signature == ONE_AXIS and "axis" in options:
            args = with_last(args, options.pop("axis"))
        if options and options != _DEFAULTS:
            raise Unsupported
        if len(args) != fn.nin:
            if len(args) < fn.nin or out is not _ABSENT or fn in DEPRECATED or any(x is ... for x in args):
                raise Unsupported
            args, out = args[: fn.nin], args[fn.nin :]
        elif out is _ABSENT:
            out = None
        elif out is None and fn.nout > 1:           # for which NumPy has words
            raise Unsupported
        if out.__class__ is tuple:
            if len(out) != fn.nout:
                raise Unsupported
            unset = all(x is None for x in out)
            out = out[0] if fn.nout == 1 or unset else self
        if out is ... and fn.nout == 1 and _takes_ellipsis():    # an array, even without axes
            return arrayed(elementwise(fn, args, dtype, casting, 2))
        if out is not None:
            return into(fn, args, out, where, dtype, casting)
        if isinstance(dtype, type) and dtype in CLASSES:
            dtype = dtype()
        if where is not True:                   # leaves elements unset: nothing to compute lazily
            raise Unsupported
        if fn in CORES and dtype is None and casting is None:
            return product(fn, args)
        return elementwise(fn, args, dtype, casting, 2)

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) > 3 and args[3].__class__ is tuple:        # which NumPy takes by name only
            return fallback(self.fn.reduce, *args, **kwargs)
        return self._by_rule(*args, **kwargs)

    def _accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return accumulate(self.fn, array, axis, dtype, out)

    def _reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = MISSING, where: Any = True,
    ) -> Any:
        if out is None:
            return reduce(self.fn, array, axis, dtype, keepdims, initial, where)
        if out.__class__ is tuple and len(out) == 1:
            out = out[0]
        target = wrap(out)
        if target.__class__ is not ndarray or not target.geo.flags.writeable:   # (for which NumPy has words)
            raise Unsupported
        setitem(target, ..., reduce(self.fn, array, axis, dtype, keepdims, initial, where, target.geo))
        return out

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        lazy = len(args) == self.fn.nin == 2 and self.fn.signature is None
        if lazy and args[0].__class__ is ndarray and args[1].__class__ is ndarray:
            a, b = args
            if a.ndim + b.ndim <= LEGACY_AXES:
                return self(a[(..., *(None,) * b.ndim)], b, **kwargs)
        return fallback(self.fn.outer, *args, **kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) > 3 and args[3].__class__ is tuple:
            return fallback(self.fn.accumulate, *args, **kwargs)
        return self._scan(*args, **kwargs)

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        return fallback(self.fn.reduceat, *args, **kwargs)

    def at(self, *args: Any, **kwargs: Any) -> None:
        return fallback(self.fn.at, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.fn, name, value)           # NumPy refuses, or knows what it is for

    def __dir__(self) -> list[str]:
        return dir(self.fn)

    def __repr__(self) -> str:
        return repr(self.fn)

    def __eq__(self, other: Any) -> Any:
        return self is other or self.fn is other or NotImplemented

    def __hash__(self) -> int:
        return hash(self.fn)

    def __reduce__(self) -> Any:
        return adapt, (self.fn,)


for _name in ("reduce", "accumulate", "reduceat", "outer", "at"):
    functools.update_wrapper(vars(ufunc)[_name], getattr(numpy.ufunc, _name), updated=())


def eager(fn: Any, args: tuple[Any, ...], out: Any = None, names: dict[str, Any] | None = None) -> Any:
    """fn on plain arrays, NumPy's own and scalars, by NumPy at the call; None where that is not the way.

    `names`: other arguments."""
    names = names or {}
    size = 1
    shape = None
    given = []
    if out.__class__ is numpy.ndarray and (out.dtype.hasobject or out.size > current.eager_elements):
        return None
    for x in args:
        c = x.__class__
        if c is ndarray:
            if x.storage is not None:
                return None
            x = x.geo
        if x.__class__ is numpy.ndarray:
            if c is not ndarray and x.dtype.hasobject:          # (elements may be lazy arrays)
                return None
            if shape is None:
                shape = x.shape
                size = x.size
            elif x.shape != shape:
                size *= x.size
        elif c not in SCALARS:
            if not is_listed(x):
                return None
            size *= len(x)
            shape = shape or ()                 # (an array, of a shape that nobody asks for)
        given.append(x)
    if shape is None and out is None:
        for hear in WAITING:
            hear()
        return wrap(fn(*given, **names))        # scalars alone: there is nothing to plan
    if shape is None or current.jit == "always" or size > current.eager_elements:
        return None
    COUNT.eager += 1
    if out is None:
        return wrapped(fn(*given, **names))
    fn(*given, out=out.geo if out.__class__ is ndarray else out, **names)
    return out


NAMES = frozenset(("out", "where", "dtype", "casting"))
"""What arguments by name may be called where NumPy computes at the call."""


def by_names(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`eager`, of a call with more names than `out`."""
    if not NAMES.issuperset(kwargs) or fn.nout != 1 or fn.signature is not None:
        return None
    names = {name: x for name, x in kwargs.items() if name != "out"}
    out, where, dtype = kwargs.get("out"), names.get("where", True), names.get("dtype")
    if out.__class__ is tuple and len(out) == 1:
        out = out[0]
    if out is not None and out.__class__ is not numpy.ndarray and not _is_plain(out):
        return None
    if where is not True:
        if out is None or not _is_plain(where):     # (without `out` NumPy may warn, of the caller's line)
            return None
        names["where"] = where.geo
    if names.get("casting", "").__class__ is not str:
        return None
    if dtype is not None and not (isinstance(dtype, type | numpy.dtype) and dtype in PLAIN_DTYPES):
        return None
    return eager(fn, args, out, names)


def _is_plain(x: Any) -> bool:
    return x.__class__ is ndarray and x.storage is None


def arrayed(result: Any) -> Any:
    """A result, as an array where it is a scalar."""
    return result if result.__class__ is ndarray else wrap(numpy.asarray(result))


def _machine(name: str, sig: str) -> int:
    """The address of the machine code of a loop of ours."""
    from lazyarr.kernels import code_of_ours, shared

    return shared(code_of_ours(name, sig))


MACHINE.append(_machine)


def known(fn: numpy.ufunc) -> ufunc | None:
    """Our ufunc for one of NumPy's; None for others (`frompyfunc` makes some), to keep none for ever."""
    found = UFUNCS.get(fn)
    if found is None:
        row = OPS.get(fn.__name__)
        return adapt(fn) if row is not None and row.fn is fn else None
    return found


def adapt(fn: numpy.ufunc) -> ufunc:
    """Our ufunc for NumPy's; one object each."""
    found = UFUNCS.get(fn)
    if found is None:
        found = UFUNCS[fn] = ufunc(fn)
        for hear in MADE:
            hear(found)
    return found
