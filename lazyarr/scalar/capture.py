"""What a function takes from outside itself, found by name: globals, what its closure holds, defaults.

In:  a path, such as "attribute `pi` of global `math` of this function".   Out: the object of now.
Numbers found so are arguments of the compiled function, of the value that they have at each call.  Other
objects are part of the translation, which holds as long as the same ones are found; of Python functions,
ones that run the same code: what they take from outside in their turn is found by way of them.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from lazyarr.records import NamedTuple
from lazyarr.scalar.bytecode import parameters
from lazyarr.scalar.definitions import OWN
from lazyarr.scalar.ops import HIGH, LOW
from lazyarr.scalar.values import TYPES


class Path(NamedTuple):
    """Where an object is found; `owner` is the path of a function (None: the one that is translated), or for
    attributes that of a module.  (A "definition" is one of ours.)"""

    how: str
    owner: Any
    name: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}" if self.how == "attribute" else str(self.name)


ABSENT = object()
"""What is found where there is nothing."""


def found(path: Path, fn: types.FunctionType) -> Any:
    """The object of now, for the function `fn`, or ABSENT."""
    how, name = path.how, path.name
    if how == "definition":
        return OWN[name]
    owner: Any = fn if path.owner is None else found(path.owner, fn)
    try:
        if how == "global":
            names = owner.__globals__
            return names[name] if name in names else owner.__builtins__[name]
        if how == "cell":
            return owner.__closure__[owner.__code__.co_freevars.index(name)].cell_contents
        if how == "default":
            return default(owner, name)
        return getattr(owner, name)
    except (KeyError, ValueError, AttributeError, IndexError, TypeError):
        return ABSENT


def is_own(path: Path | None) -> bool:
    """Is it found by way of a definition of ours, which nobody changes?"""
    while path is not None and path.how != "definition":
        path = path.owner
    return path is not None


def default(fn: types.FunctionType, name: str) -> Any:
    """The default of a parameter; KeyError where it has none."""
    code = fn.__code__
    positional = code.co_varnames[: code.co_argcount]
    if name in positional:
        given = fn.__defaults__ or ()
        place = positional.index(name) - len(positional) + len(given)
        if place < 0:
            raise KeyError(name)
        return given[place]
    return (fn.__kwdefaults__ or {})[name]


def defaults(fn: types.FunctionType, held: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of parameters that are not among those held; KeyError where one has none."""
    return {name: default(fn, name) for name in parameters(fn.__code__) if name not in held}


def number_type(x: Any) -> str | None:
    """The type of a number, None for anything else: Python's own types exactly, and 64 bits."""
    found = TYPES.get(type(x))
    return None if found == "i" and not LOW <= x <= HIGH else found


class OfType(NamedTuple):
    """What stands for an object that no translation can use, such as a table, and is not to be kept alive."""

    type: type


class Runs(NamedTuple):
    """What stands for a Python function.  A program that defines it again makes another object of the same
    code (equal codes may be of different files)."""

    code: types.CodeType
    file: str


def runs(fn: types.FunctionType) -> Runs:
    return Runs(fn.__code__, fn.__code__.co_filename)


def known_as(x: Any) -> Any:
    """What a translation remembers of an object."""
    if isinstance(x, types.FunctionType):
        return runs(x)
    if x is ABSENT or x is None or isinstance(x, types.ModuleType) or callable(x):
        return x
    return OfType(type(x))


def unchanged(x: Any, before: Any) -> bool:
    """Is this what was remembered?"""
    now = known_as(x)
    described = isinstance(before, OfType | Runs) and type(now) is type(before)
    return now is before or (described and now == before)


class Captured(NamedTuple):
    """All that a translation goes by besides its arguments."""

    numbers: tuple[tuple[Path, str], ...]
    """Arguments after the function's own, and their types."""
    objects: tuple[tuple[Path, Any], ...]
    """What else it finds, `known_as`: an owner before what is found by way of it."""

    def values(self, fn: types.FunctionType) -> list[Any] | None:
        """The numbers of now; None if the translation does not hold for `fn`, or not any more."""
        if not all(unchanged(found(path, fn), x) for path, x in self.objects):
            return None
        values = [found(path, fn) for path, _ in self.numbers]
        right = all(number_type(x) == t for x, (_, t) in zip(values, self.numbers, strict=True))
        return values if right else None
