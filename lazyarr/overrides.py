"""NEP 13 and NEP 18 with lazyarr's names: classes of the program that override functions.

In: a call into NumPy that an argument's class may answer.   Out: that class's answer, asked with the
function that the program knows (`lazyarr.sum`, under which it is in the class's table), or NotImplemented.
NumPy itself asks first, with its own function; a class that knows that one keeps its answer.
Of ufuncs it asks a program's classes with lazyarr's from the start (`meet`): code that compares by ``is``
and finds none of those it knows may answer something else.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from lazyarr.arrays import ndarray

OFFERED: list[Callable[[Any], Any]] = []
"""One function: what lazyarr offers for an object of NumPy's (`namespace.adapt`)."""

UNANSWERED = "no implementation found for "
"""How NumPy's TypeError begins where every class returned NotImplemented."""


def asked(cls: type, protocol: str) -> Any:
    """A class's method, or that of NumPy's arrays where it has none.  What metaclasses raise, NumPy takes for
    that, too."""
    numpys = getattr(numpy.ndarray, protocol)
    try:
        return getattr(cls, protocol, numpys)
    except Exception:
        return numpys


def overrides(cls: type, protocol: str) -> bool:
    """Does a class answer for functions in its own way?"""
    found = asked(cls, protocol)
    return cls is not ndarray and found is not None and found is not getattr(numpy.ndarray, protocol)


def defers(cls: type) -> bool:
    """The same for ufuncs, which a class can also refuse, by None."""
    return cls is not ndarray and asked(cls, "__array_ufunc__") is not numpy.ndarray.__array_ufunc__


def taking_ours(method: Any, offered: Callable[[Any], Any]) -> Any:
    """A program's ``__array_ufunc__`` or ``__array_function__``, called with lazyarr's functions.

    The arrays stay NumPy's, which ``super().__array_ufunc__`` needs."""

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not args:                            # (its name for the function is the program's)
            return method(self, **kwargs)
        return method(self, offered(args[0]), *args[1:], **kwargs)

    return call


TAKING_OURS = taking_ours(ndarray, id).__code__
STRANGERS: weakref.WeakSet[Any] = weakref.WeakSet()
"""Methods of libraries, which know NumPy's functions."""
UFUNC: list[Callable[[Any], Any]] = []
"""One function: our ufunc for one of NumPy's."""
OUR_TYPES: list[type] = []
"""Of what lazyarr offers for NumPy's ufuncs and functions."""


def meet(cls: type) -> None:
    """A class, or one of its objects, is met: if it is a program's and answers for ufuncs, it gets lazyarr's
    from now on."""
    try:
        found = getattr(cls, "__array_ufunc__", None)
    except Exception:                           # (as `asked`, of most that NumPy is given, in less time)
        return
    if type(found) is not types.FunctionType or found.__code__ is TAKING_OURS or found in STRANGERS:
        return
    owner: Any = next((c for c in cls.__mro__ if vars(c).get("__array_ufunc__") is found), None)
    if owner is not None and _is_programs(found):
        type.__setattr__(owner, "__array_ufunc__", taking_ours(found, UFUNC[0]))
    else:
        STRANGERS.add(found)


def _is_programs(fn: Any) -> bool:
    """Was this function written for lazyarr's names, also beneath decorators?"""
    runner = sys.modules.get("lazyarr.runner_imports")
    for _ in range(DECORATORS):
        if type(fn) is not types.FunctionType:
            return False
        names = fn.__globals__
        if any(_is_ours(x) for x in list(names.values())):
            return True
        if runner is not None and runner.is_installed() and runner.is_own(names):
            return True
        fn = fn.__dict__.get("__wrapped__")
    return False


DECORATORS = 64
"""So many are looked beneath: what is wrapped may be the very function again."""


def _is_ours(x: Any) -> bool:
    """Is a global variable lazyarr, or from there?  (To ask some objects for their class has effects.)"""
    return type(x) in OUR_TYPES or (type(x) is types.ModuleType and vars(x).get("__name__") == "lazyarr")


def operands(inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """What a ufunc call asks for overrides."""
    yield from inputs
    out = kwargs.get("out")
    yield from out if out.__class__ is tuple else (out,)
    yield kwargs.get("where")


def opened(
    args: tuple[Any, ...], kwargs: dict[str, Any], x: Any
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Arguments of which NumPy has asked `x`, with lists in the place of what holds it and is no list or
    tuple: a deque, a named tuple, an array of objects.  And, is it among them now?"""
    if _is_within((*args, *kwargs.values()), x):
        return args, kwargs, True
    args = tuple([list(each) if _holds(each, x) else each for each in args])
    kwargs = {name: list(each) if _holds(each, x) else each for name, each in kwargs.items()}
    return args, kwargs, _is_within((*args, *kwargs.values()), x)


def _holds(container: Any, x: Any) -> bool:
    if isinstance(container, numpy.ndarray):
        return container.dtype == object and any(each is x for each in container.flat)
    if isinstance(container, (ndarray, dict, str, bytes)) or not hasattr(type(container), "__getitem__"):
        return False
    return hasattr(type(container), "__len__") and any(each is x for each in container)


def _is_within(container: Any, x: Any) -> bool:
    if container is x:
        return True
    return container.__class__ in (list, tuple) and any(_is_within(each, x) for each in container)


def _overriding(args: Any) -> Iterator[Any]:
    """The arguments whose classes override functions, also in lists, in order."""
    for x in args:
        if x.__class__ is list or x.__class__ is tuple:
            yield from _overriding(x)
        elif overrides(type(x), "__array_function__"):
            yield x


def implementing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """One argument of each overriding class in NEP 18's order: subclasses first, else as given."""
    found: list[Any] = []
    for x in _overriding((*args, *kwargs.values())):
        if any(type(x) is type(y) for y in found):
            continue
        at = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
        found.insert(at, x)
    return found


def answered(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the arguments' classes say to lazyarr's function in place of `fn`."""
    offered = OFFERED[0](fn)
    asked = implementing(args, kwargs)
    types = tuple(type(x) for x in asked)
    for x in asked:
        result = type(x).__array_function__(x, offered, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def created_like(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NEP 35: `like=` an object of a class that overrides functions; NotImplemented if it is none."""
    like = kwargs["like"]
    if not overrides(type(like), "__array_function__"):
        return NotImplemented
    rest = {k: v for k, v in kwargs.items() if k != "like"}
    result = type(like).__array_function__(like, OFFERED[0](fn), (type(like),), args, rest)
    if result is NotImplemented:
        where = "on types that implement __array_function__"
        raise TypeError(f"{UNANSWERED}'numpy.{fn.__name__}' {where}: {[type(like)]!r}")
    return result
