"""Python's operators on the standard's arrays.

In: an operator's operands.   Out: what the standard's function of the same meaning gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import lazyarr
from lazyarr.array_api.array_type import Array, called, plain, standard
from lazyarr.array_api.elementwise import floor_divide
from lazyarr.operators import BINARY, COMPARE, UNARY

ARITHMETIC = {name: getattr(operator, name, None) or getattr(operator, f"{name}_") for name in BINARY
              if name not in ("divmod", "floordiv")} | {"pow": operator.pow}
COMPARISONS = {name: getattr(operator, name) for name in COMPARE}
UNARIES = {name: getattr(operator, name) for name in UNARY}


def _binary(fn: Callable[..., Any]) -> Any:
    def call(self: Array, other: Any, /) -> Any:
        x = self.face
        if not x.geo.ndim:
            return called(fn, self, other)
        return standard(fn(x, other.face if other.__class__ is Array else other))

    return call


def _reflected(fn: Callable[..., Any]) -> Any:
    return lambda self, other, /: called(fn, other, self)


def _unary(fn: Callable[..., Any]) -> Any:
    return lambda self, /: called(fn, self)


def _inplace(fn: Callable[..., Any]) -> Any:
    def call(self: Array, other: Any, /) -> Any:
        result = fn(self.face, plain(other))
        return self if result is self.face else standard(result)

    return call


def _matmul(self: Array, other: Any, /) -> Any:
    return standard(operator.matmul(self.face, plain(other)))


def _rmatmul(self: Array, other: Any, /) -> Any:
    return standard(operator.matmul(plain(other), self.face))


def _floordiv(self: Array, other: Any, /) -> Any:
    return floor_divide(self, other)


def _rfloordiv(self: Array, other: Any, /) -> Any:
    return floor_divide(other, self)


_ifloordiv_of_integers = _inplace(operator.ifloordiv)


def _ifloordiv(self: Array, other: Any, /) -> Any:
    if self.face.dtype.kind in "iu":
        return _ifloordiv_of_integers(self, other)
    lazyarr.copyto(self.face, plain(floor_divide(self, other)), casting="same_kind")
    return self


def attach() -> None:
    for name, fn in ARITHMETIC.items():
        setattr(Array, f"__{name}__", _binary(fn))
        setattr(Array, f"__r{name}__", _reflected(fn))
    for name in (*ARITHMETIC, "matmul"):
        setattr(Array, f"__i{name}__", _inplace(getattr(operator, f"i{name}")))
    for name, fn in COMPARISONS.items():
        setattr(Array, f"__{name}__", _binary(fn))
    for name, fn in UNARIES.items():
        setattr(Array, f"__{name}__", _unary(fn))
    for fn in (_matmul, _rmatmul, _floordiv, _rfloordiv, _ifloordiv):
        setattr(Array, f"_{fn.__name__}__", fn)


