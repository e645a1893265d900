"""The Generator that lazyarr offers: one of NumPy's, whose methods give lazy arrays.

In:  a bit generator.   Out: a Generator that C code of other libraries takes for NumPy's, since it is one.
Invariant: a Generator has no state but its bit generator, so this one and the one of NumPy's that it
holds are at the same place of one stream.  NumPy's methods call each other and look at the arrays that
come back, so they run on the one that is held.  Imported when a program asks for it, with `numpy.random`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from lazyarr.arrays import is_numpys, ndarray
from lazyarr.elementwise import SCALARS
from lazyarr.fallback import INERT, counted, fallback, on_plain, take_back
from lazyarr.generators import LAZY, given
from lazyarr.slot_words import WAITING
from lazyarr.stand_ins import GENERATOR, shuffled

OF_NUMPY = numpy.random.Generator


class GeneratorType(type):
    """Makes ``isinstance(x, lazyarr.random.Generator)`` true of NumPy's generators as well."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, OF_NUMPY) if cls is Generator else super().__instancecheck__(x)

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, OF_NUMPY) if cls is Generator else super().__subclasscheck__(c)


class Generator(OF_NUMPY, metaclass=GeneratorType):
    __slots__ = ("_real",)
    __doc__ = OF_NUMPY.__doc__

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._real = OF_NUMPY(bit_generator)

    def __reduce__(self) -> Any:
        return Generator, (self.bit_generator,)


def adopt(real: numpy.random.Generator) -> Generator:
    """A generator of NumPy's as ours."""
    return Generator(real.bit_generator)


def _through(name: str) -> Any:
    of_numpy = getattr(OF_NUMPY, name)
    through = shuffled if name == "shuffle" else fallback

    @functools.wraps(of_numpy, updated=())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        real = getattr(self, "_real", self)
        if INERT.issuperset(map(type, args)) and (not kwargs or INERT.issuperset(map(type, kwargs.values()))):
            result = of_numpy(real, *args, **kwargs)        # (a draw takes no longer than to look for arrays)
            return result if result.__class__ in SCALARS else _given(result)
        bound = of_numpy.__get__(real)
        if args and args[0].__class__ is ndarray and is_numpys(args[0]) and not args[0].geo.dtype.hasobject:
            return on_plain(bound, args[0], args[1:], kwargs)
        return through(bound, *args, **kwargs)

    return call


def _given(result: Any) -> Any:
    """What NumPy drew without any array."""
    for hear in WAITING:
        hear()
    if result.__class__ is not numpy.ndarray or result.base is not None:
        return take_back(result, {})
    counted(result)
    return given(result)


def _lazy(name: str, rule: Any) -> Any:
    of_numpy = getattr(OF_NUMPY, name)
    rule.__name__, rule.__doc__, rule.__qualname__ = name, of_numpy.__doc__, of_numpy.__qualname__
    rule.__annotations__ = {}
    return rule


AS_THEY_ARE = {"bit_generator", "spawn"}
"""Public names whose NumPy rule holds for ours: children are of the parent's class."""


Generator.__module__ = "lazyarr.random"
for _name in dir(OF_NUMPY):
    if not _name.startswith("_") and _name not in AS_THEY_ARE:
        setattr(Generator, _name, _lazy(_name, LAZY[_name]) if _name in LAZY else _through(_name))
for _hear in GENERATOR:
    _hear(Generator)
