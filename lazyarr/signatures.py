"""Signatures: kinds of arguments in words, for functions that are compiled before they are called.

In:  text.   Out: `Item`s, which say whether an argument is of their kind, and make an example of one.

    signature = item ("," item)*            or a sequence of items
    item      = dtype                       a number: Python's own or NumPy's scalar of that dtype
              | dtype "[" length, ... "]"   an array; a length is a number, or ":" for any
              | an object that is no text   itself
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.dtypes import char_of
from lazyarr.records import NamedTuple

_ITEM = re.compile(r"\s*(?P<dtype>[^\[\],]+?)\s*(?:\[(?P<shape>[\d\s,:]*)\])?\s*")
_SEPARATOR = re.compile(r",(?![^\[]*\])")
PYTHONS = {numpy.dtype(t): t for t in (bool, int, float, complex)}
"""Python's own numbers, which may stand where these dtypes do."""


class Item(NamedTuple):
    """One argument."""

    dtype: numpy.dtype
    shape: tuple[int | None, ...] | None
    """Lengths, None for any; None as a whole for a number."""

    def takes(self, x: Any) -> bool:
        """Is it an argument of this kind?"""
        c = x.__class__
        if self.shape is None:
            return c is self.dtype.type or c is PYTHONS.get(self.dtype)
        if c is not ndarray and c is not numpy.ndarray:
            return False
        fits = x.dtype == self.dtype and len(x.shape) == len(self.shape)
        return fits and all(m is None or m == n for m, n in zip(self.shape, x.shape, strict=True))

    def example(self, length: int) -> Any:
        """An argument of this kind, of ones, `length` long where any length will do."""
        if self.shape is None:
            return PYTHONS.get(self.dtype, self.dtype.type)(1)
        shape = [length if n is None else n for n in self.shape]
        from lazyarr import array

        return array(numpy.ones(shape, self.dtype))

    def __str__(self) -> str:
        if self.shape is None:
            return str(self.dtype)
        return f"{self.dtype}[{', '.join(':' if n is None else str(n) for n in self.shape)}]"


class Itself(NamedTuple):
    """An argument that is the same object, or an equal one, at each call."""

    value: Any

    def takes(self, x: Any) -> bool:
        return type(x) is type(self.value) and bool(x == self.value)

    def example(self, length: int) -> Any:
        return self.value

    def __str__(self) -> str:
        return repr(self.value)


Signature = tuple[Item | Itself, ...]


def parsed(text: str) -> Item:
    """The item that a text stands for."""
    found = _ITEM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        dtype = numpy.dtype(found["dtype"])
        lengths = found["shape"]
        shape = None if lengths is None else tuple(
            [None if n.strip() == ":" else int(n) for n in lengths.split(",") if n.strip()]
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"signature {text!r}: must be a dtype and a shape, such as 'float64[100, :]', or a dtype alone"
        ) from None
    if char_of(dtype) is None:
        raise ValueError(f"signature {text!r}: nothing is compiled for the dtype {dtype}")
    return Item(dtype, shape)


def signature(given: str | Sequence[Any]) -> Signature:
    """One signature."""
    items = _SEPARATOR.split(given) if isinstance(given, str) else given
    return tuple([parsed(item) if isinstance(item, str) else Itself(item) for item in items])


def signatures(given: str | Sequence[Any]) -> tuple[Signature, ...]:
    """Several, or one text."""
    return tuple(map(signature, [given] if isinstance(given, str) else given))


def length_of(known: Signature, elements: int, least: int) -> int:
    """The length for all that any will do for, with which the largest argument has so many elements."""
    open_ = [item.shape for item in known if isinstance(item, Item) and item.shape and None in item.shape]
    found = (_root(elements / math.prod(n or 1 for n in shape), shape.count(None)) for shape in open_)
    return max(least, min(found, default=least))


def _root(n: float, k: int) -> int:
    """The least integer whose k-th power is `n` at least."""
    return math.ceil(round(math.pow(n, 1 / k), 6))


def matches(known: Signature, args: Sequence[Any]) -> bool:
    """Are these arguments of that signature?"""
    return len(known) == len(args) and all(item.takes(x) for item, x in zip(known, args, strict=True))


def described(args: Sequence[Any]) -> str:
    """Arguments as a signature would name them."""
    return ", ".join(map(_described, args))


def _described(x: Any) -> str:
    c: Any = x.__class__
    if c in (ndarray, numpy.ndarray):
        return str(Item(x.dtype, tuple(x.shape)))
    return type(x).__name__
