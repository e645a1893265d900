"""What the translation of a function has on its stack and in its locals.

A value is known when the function runs (`Val`), or when it is translated: numbers that stand in the code
(`Const`), and objects that only calls, attributes and loops are made of.  What two ways into a piece of code
bring of different kinds makes two translations of the piece; so no value is ever of two types.
"""

from __future__ import annotations

from typing import Any

from lazyarr.records import NamedTuple

TYPES = {bool: "b", int: "i", float: "f"}
"""Python's types of numbers, exactly, and what they are called here."""


class Val(NamedTuple):
    """A value of the IR."""

    type: str
    number: int


class Const(NamedTuple):
    """A number that stands in the code."""

    type: str
    value: Any


class Elem(NamedTuple):
    """A NumPy scalar, of the plain dtype with that character."""

    char: str
    value: Any
    """A `Val` or `Const`: ints of all lengths are 'i', floats 'f'."""


class Array(NamedTuple):
    """An array, or what an index of its first axes leaves of it."""

    char: str
    base: Any
    lengths: tuple[Any, ...]
    strides: tuple[Any, ...]


class Static(NamedTuple):
    """An object that was found by name: a function, a module, None; None as its path if it stands in the
    code."""

    value: Any
    path: Any = None


class Pack(NamedTuple):
    """A tuple."""

    items: tuple[Any, ...]


class Count(NamedTuple):
    """An iterator over a range: how many are left (none, if negative), the next one, the step."""

    left: Any
    next: Any
    step: Any


class Null(NamedTuple):
    """What calls have beside the callable on the stack."""


class Span(NamedTuple):
    """A range."""

    start: Any
    stop: Any
    step: Any


Value = Val | Const | Elem | Array | Static | Pack | Count | Null | Span


def kind(x: Any) -> Any:
    """What of a value tells one translation of code from another."""
    if isinstance(x, Val | Const):
        return x.type
    if isinstance(x, Static):
        return id(x.value), x.path      # what a function captures is found by way of it
    if isinstance(x, Null):
        return "null"
    if isinstance(x, Elem | Array):
        return "array" if isinstance(x, Array) else "scalar", x.char, *map(kind, leaves(x))
    items = x.items if isinstance(x, Pack) else x
    return (type(x).__name__, *map(kind, items))


def leaves(x: Any) -> list[Any]:
    """The numbers within a value, in order."""
    if isinstance(x, Val | Const):
        return [x]
    if isinstance(x, Static | Null):
        return []
    if isinstance(x, Elem):
        return [x.value]
    if isinstance(x, Array):
        return [x.base, *x.lengths, *x.strides]
    items = x.items if isinstance(x, Pack) else x
    return [leaf for item in items for leaf in leaves(item)]


def rebuilt(x: Any, fresh: Any) -> Any:
    """The same value, of numbers that `fresh` gives for each of its own."""
    if isinstance(x, Val | Const):
        return fresh(x)
    if isinstance(x, Static | Null):
        return x
    if isinstance(x, Elem):
        return Elem(x.char, fresh(x.value))
    if isinstance(x, Array):
        return Array(x.char, fresh(x.base), tuple(map(fresh, x.lengths)), tuple(map(fresh, x.strides)))
    if isinstance(x, Pack):
        return Pack(tuple([rebuilt(item, fresh) for item in x.items]))
    return type(x)(*[rebuilt(item, fresh) for item in x])
