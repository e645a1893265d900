"""Classes of NumPy's whose methods make arrays: RandomState, vectorize, open npz files.

In:  such a class.   Out: the class that lazyarr offers in its place.
A RandomState calls its own methods and looks at the arrays that come back, so it is not
subclassed: the stand-in holds one and answers for it, also to ``isinstance``.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from lazyarr.array_likes import accepting
from lazyarr.arrays import ndarray
from lazyarr.fallback import STAND_INS, TAKE_NAMED, fallback, lend


class StandInType(type):
    """Makes ``isinstance(x, lazyarr.random.RandomState)`` true of NumPy's as well."""

    original: type

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is cls or isinstance(x, cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)


class _Answering:
    """The body of a stand-in: attributes of the held object, methods through `fallback`."""

    __slots__ = ("_real",)
    original: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._real = accepting(type(self).original)(*lend(args, {}), **lend(kwargs, {}))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found) or name.startswith("__"):
            return found
        return Method(found, shuffled if name == "shuffle" else fallback)

    def __dir__(self) -> list[str]:
        return dir(self._real)

    def __repr__(self) -> str:
        return repr(self._real).replace(f"0x{id(self._real):X}", f"0x{id(self):X}")

    def __str__(self) -> str:
        return str(self._real)

    def __getstate__(self) -> Any:
        return self._real.__getstate__()

    def __reduce__(self) -> Any:
        return adopt, (self._real,)


class Method:
    """A method of a held object.  As an attribute of a class it binds nothing, as NumPy's do not."""

    __slots__ = ("__wrapped__", "_through")

    def __init__(self, fn: Any, through: Any) -> None:
        self.__wrapped__ = fn
        self._through = through

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._through(self.__wrapped__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __eq__(self, other: Any) -> Any:
        return self.__wrapped__ == getattr(other, "__wrapped__", other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return getattr, (adopt(self.__wrapped__.__self__), self.__wrapped__.__name__)


def shuffled(fn: Any, x: Any, *args: Any, **kwargs: Any) -> None:
    """Shuffles in place; a list is shuffled as it is, arrays in it and all."""
    if x.__class__ is ndarray:
        fallback(fn, x, *args, **kwargs)
    else:
        fn(x, *args, **kwargs)


def adopt(real: Any) -> Any:
    """A stand-in for an object of NumPy's."""
    x: Any = object.__new__(offered(type(real)))
    x._real = real
    return x


def _stand_in(cls: type) -> type:
    body = {
        "__module__": "lazyarr.random", "__doc__": cls.__doc__, "__slots__": (), "original": cls,
        "__class__": property(lambda self: cls),
    }  # fmt: skip
    made = StandInType(cls.__name__, (_Answering,), body)
    STAND_INS.add(made)
    return made


def _subclass(cls: type, names: tuple[str, ...]) -> type:
    body: dict[str, Any] = {"__module__": "lazyarr" + cls.__module__[5:], "__doc__": cls.__doc__}
    body.update((name, _method(getattr(cls, name))) for name in names)
    return type(cls.__name__, (cls,), body)


class LendingType(type):
    """Classes whose C code takes real arrays only: a call lends them, and makes NumPy's own object."""

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.original if "original" in vars(cls) else super().__call__       # or a program's subclass
        return accepting(made)(*lend(args, {}), **lend(kwargs, {}))

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.original) if "original" in vars(cls) else super().__instancecheck__(x)

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, cls.original) if "original" in vars(cls) else super().__subclasscheck__(c)


def _lending(cls: type) -> type:
    body = {"__module__": "lazyarr.random", "__doc__": cls.__doc__, "original": cls}
    return LendingType(cls.__name__, (cls,), body)


def _method(method: Any) -> Any:
    @functools.wraps(method, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return fallback(method, self, *args, **kwargs)

    return call


def _vectorize() -> type:
    """Imported when a program asks for it."""
    from lazyarr.vectorizing import vectorize

    return vectorize


SEEDED = {
    "_mt19937": "MT19937", "_pcg64": "PCG64 PCG64DXSM", "_philox": "Philox", "_sfc64": "SFC64",
    "bit_generator": "SeedSequence",
}  # fmt: skip
"""Modules of numpy.random, and their classes that take arrays of entropy."""


GENERATOR: list[Callable[[type], None]] = []
"""What hears of the class of generators, once that is there."""


def generator_type() -> Any:
    """Loaded late, as NumPy does its own generators."""
    return importlib.import_module("lazyarr.generator_type")


MAKERS: dict[tuple[str, str], Callable[[type], type]] = {
    ("numpy.random._generator", "Generator"): lambda cls: generator_type().Generator,
    ("numpy.random.mtrand", "RandomState"): _stand_in,
    ("numpy", "vectorize"): lambda cls: _vectorize(),
    ("numpy.lib.npyio", "NpzFile"): lambda cls: _subclass(cls, ("__getitem__",)),
    **{(f"numpy.random.{home}", name): _lending for home, names in SEEDED.items() for name in names.split()},
}
"""(module, name) of NumPy's class -> how its replacement is made."""

_offered: dict[type, type] = {}


def offered(cls: type) -> type:
    """The class that lazyarr offers for NumPy's: mostly the same."""
    found = _offered.get(cls)
    if found is None:
        maker = MAKERS.get((cls.__module__, cls.__name__))
        found = cls if maker is None else maker(cls)
        _offered[cls] = _offered[found] = found
    return found


def _npz_file(x: Any) -> Any:
    x.__class__ = offered(type(x))
    return x


TAKE_NAMED[("numpy.random._generator", "Generator")] = lambda real: generator_type().adopt(real)
TAKE_NAMED[("numpy.random.mtrand", "RandomState")] = adopt
TAKE_NAMED[("numpy.lib.npyio", "NpzFile")] = _npz_file
