"""Python's operators on arrays.

In: an operator's operands.   Out: what the NumPy operator gives, lazily.
`**` has shortcuts of its own in NumPy (x**2 is square, x**0.5 sqrt, which ones depends on the version):
a spy subclass is asked once per exponent which ufunc the running NumPy calls.
"""

from __future__ import annotations

import operator
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.arrays import Unsupported, is_numpys, ndarray, now, wrap, wrapped
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.elementwise import IN_PLACE as TWICE
from lazyarr.elementwise import SCALARS, elementwise, into, overwritten
from lazyarr.elision import ELIDED, IN_PLACE, REFLECTED_REFS, SECOND_REFS, matters, swaps, taken
from lazyarr.expr import LOCK
from lazyarr.fallback import fallback
from lazyarr.late import late
from lazyarr.overrides import asked
from lazyarr.pairs import plain_pair, small_pair
from lazyarr.recipes import NODES, again
from lazyarr.windows import existing_pair, is_free

if TYPE_CHECKING:
    from lazyarr.deferred import product as products
else:
    late(globals(), deferred="product=products")

BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "divmod": "divmod", "lshift": "left_shift", "rshift": "right_shift",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}
COMPARE = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
REFLECTED = {f"__r{name}__" for name in (*BINARY, "pow", "matmul")}
THEIRS = {
    **{f"__{name}__": f"__r{name}__" for name in (*BINARY, "pow", "matmul")},
    **{f"__r{name}__": f"__{name}__" for name in (*BINARY, "pow", "matmul")},
    **{f"__{name}__": f"__{mirrored}__" for name, mirrored in MIRRORED.items()},
}
"""An operator's method -> the one that Python asks the other operand for.  (In place there is none.)"""

MATMUL = {
    "__matmul__": operator.matmul, "__imatmul__": operator.imatmul, "__rmatmul__": operator.matmul,
}  # fmt: skip
UNARY = {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}


def _python(name: str) -> Any:
    return divmod if name == "divmod" else getattr(operator, name + "_" if name in ("and", "or") else name)


def handed(by_numpy: Any, by_python: Any, self: Any, other: Any) -> Any:
    """By NumPy's method.  Where it leaves the operation to `other`, so do we: its method gets the lazy array,
    then, if it knows nothing of those (SciPy's sparse arrays), NumPy's.

    Subclasses of NumPy's array come first in its operators; to Python they are none of ours."""
    name = by_numpy.__name__
    turned = name in REFLECTED
    if other.__class__ is not ndarray and isinstance(other, numpy.ndarray):
        pair = (other, self) if turned else (self, other)
        return fallback(by_python, *pair)
    if name not in THEIRS or asked(type(other), "__array_ufunc__") is None:
        return fallback(by_numpy, self, other)
    if turned:                                  # `other` has not answered, or has no such method
        return fallback(by_python, other, self)
    result = fallback(by_numpy, self, other)
    if result is NotImplemented:
        method = getattr(type(other), THEIRS[name], None)
        result = NotImplemented if method is None else method(other, self)
    return fallback(by_python, self, other) if result is NotImplemented else result


def binary(name: str, fn: numpy.ufunc) -> Any:
    by_python = _python(name)
    by_numpy = getattr(numpy.ndarray, f"__{name}__")
    elides = name in IN_PLACE

    def call(self: Any, other: Any) -> Any:
        made: Any = False
        if self.storage is None:
            y = plain_pair(self, other)
            if y is not None:
                return wrapped(by_python(self.geo, y))
        if NODES.make is not None:
            made = NODES.make(fn, 1, self, other)
            if made.__class__ is ndarray:
                return made
        pair = small_pair(self, other) if self.geo.size <= current.eager_elements else None
        if pair is not None:
            COUNT.eager += 1
            return wrapped(by_python(*pair))
        if elides and other.__class__ is ndarray and matters(self, other):
            first, second = getrefcount(self) == SECOND_REFS, getrefcount(other) == SECOND_REFS
            whose = taken(name, self, other, first, second)
            if whose is not None:
                return _over(whose, fn, (self, other))
        ends = elides and getrefcount(self) == SECOND_REFS
        made = again(fn, (self, other), 3, ends, made)      # (the way of most: one function less to call)
        if made is not None:
            return made
        try:
            return elementwise(fn, (self, other), asked=True, ends=ends)
        except Unsupported:
            pass
        return handed(by_numpy, by_python, self, other)

    return call


def _over(whose: ndarray, fn: numpy.ufunc, operands: tuple[Any, ...]) -> Any:
    """fn(*operands) in the memory order of one of them."""
    try:
        return elementwise(fn, operands, above=2, over=whose.geo)
    except Unsupported:
        return fallback(lambda *given: fn(*given, out=numpy.empty_like(whose.geo)), *operands)


def reflected(name: str, fn: numpy.ufunc) -> Any:
    by_python = _python(name)
    by_numpy = getattr(numpy.ndarray, f"__r{name}__")

    def call(self: Any, other: Any) -> Any:
        made: Any = False
        if self.storage is None:
            y = plain_pair(self, other)
            if y is not None:
                return wrapped(by_python(y, self.geo))
        if NODES.make is not None:
            made = NODES.make(fn, 1, other, self)
            if made.__class__ is ndarray:
                return made
        pair = small_pair(self, other) if self.geo.size <= current.eager_elements else None
        if pair is not None:
            COUNT.eager += 1
            return wrapped(by_python(pair[1], pair[0]))
        made = again(fn, (other, self), 3, False, made)
        if made is not None:
            return made
        try:
            return elementwise(fn, (other, self), asked=True)
        except Unsupported:
            pass
        return handed(by_numpy, by_python, self, other)

    return call


def product(self: Any, other: Any) -> Any:
    """``*``, which NumPy may compute as other *= self."""
    made: Any = False
    if self.storage is None:
        y = plain_pair(self, other)
        if y is not None:
            return wrapped(self.geo * y)
    if NODES.make is not None:
        made = NODES.make(numpy.multiply, 1, self, other)
        if made.__class__ is ndarray:
            return made
    pair = small_pair(self, other) if self.geo.size <= current.eager_elements else None
    if pair is not None:
        COUNT.eager += 1
        return wrapped(pair[0] * pair[1])
    first, second = getrefcount(self) == SECOND_REFS, getrefcount(other) == SECOND_REFS
    operands = self, other                      # (counted after that they would have more references)
    if other.__class__ is ndarray:
        if swaps(self, other, first, second):
            operands = other, self
        if matters(self, other):
            whose = taken("mul", self, other, first, second)
            if whose is not None:
                return _over(whose, numpy.multiply, operands)
    ends = first and operands[0] is self
    made = again(numpy.multiply, operands, 3, ends, made if operands[0] is self else False)
    if made is not None:
        return made
    try:
        return elementwise(numpy.multiply, operands, asked=True, ends=ends)
    except Unsupported:
        pass
    if operands[0] is not self:
        return fallback(numpy.multiply, *operands)
    return handed(numpy.ndarray.__mul__, operator.mul, self, other)


def reflected_product(self: Any, other: Any) -> Any:
    if self.storage is None and (other.__class__ is not complex or self.geo.nbytes < ELIDED):
        y = plain_pair(self, other)
        if y is not None:
            return wrapped(y * self.geo)
    made: Any = False
    if NODES.make is not None:
        made = NODES.make(numpy.multiply, 1, other, self)
        if made.__class__ is ndarray:
            return made
    ends = getrefcount(self) == REFLECTED_REFS
    swapped = self.geo.dtype.kind == "c" and other.__class__ in SCALARS and swaps(other, self, False, ends)
    operands = (self, other) if swapped else (other, self)
    made = again(numpy.multiply, operands, 3, False, False if swapped else made)
    if made is not None:
        return made
    try:
        return elementwise(numpy.multiply, operands, asked=True)
    except Unsupported:
        pass
    if swapped:
        return fallback(numpy.multiply, self, other)
    return handed(numpy.ndarray.__rmul__, operator.mul, self, other)


def inplace(name: str, fn: numpy.ufunc) -> Any:
    by_python = getattr(operator, "i" + name)
    by_numpy = getattr(numpy.ndarray, f"__i{name}__")

    def call(self: Any, other: Any) -> Any:
        if NODES.update is not None and NODES.update(1, self, fn, self, other):
            return self
        if (other.__class__ in SCALARS or other.__class__ is ndarray) and is_numpys(self):
            COUNT.eager += 1
            by_python(self.geo, now(other) if other.__class__ is ndarray else other)
            overwritten(self.geo.size, TWICE)
            return self
        if self.storage is not None and self.geo.size <= current.eager_elements:
            with LOCK:                          # (from here on its bytes stay where they are)
                pair = small_pair(self, other) if is_free(self) else None
                if pair is not None:
                    COUNT.eager += 1
                    by_python(*pair)
                    return self
        try:
            return into(fn, (self, other), self)
        except Unsupported:
            pass
        return handed(by_numpy, by_python, self, other)

    return call


def unary(name: str, fn: numpy.ufunc) -> Any:
    by_python = getattr(operator, name)

    def call(self: Any) -> Any:
        if is_numpys(self):
            COUNT.eager += 1
            return wrapped(by_python(self.geo))
        try:
            return elementwise(fn, (self,))
        except Unsupported:
            pass
        return fallback(by_python, self)

    return call


# ------------------------------------------------------------------------------------ power


class _Asked(Exception):
    """Carries a spy's answer out of NumPy."""


class _Spy(numpy.ndarray):
    def __array_ufunc__(self, fn, method, *inputs, **kwargs):
        raise _Asked(fn, len(inputs), inputs[0].dtype)


_shortcuts: dict[Any, tuple[numpy.ufunc, int] | None] = {}


def shortcut(dtype: numpy.dtype, exponent: Any) -> tuple[numpy.ufunc, int]:
    """Which ufunc, on how many operands, NumPy runs for an array ** scalar."""
    key = dtype, exponent.__class__, exponent
    try:
        found = _shortcuts[key]
    except KeyError:
        found = _ask(dtype, exponent)
        if len(_shortcuts) < 1024:
            _shortcuts[key] = found
    if found is None:
        raise Unsupported
    return found


def _ask(dtype: numpy.dtype, exponent: Any) -> tuple[numpy.ufunc, int] | None:
    try:
        operator.pow(numpy.ones(1, dtype).view(_Spy), exponent)
    except _Asked as answer:
        fn, n, cast = answer.args
        return (fn, n) if cast == dtype else None           # some versions square integers as floats
    except Exception:                       # NumPy refuses: let it say so on the real operands
        return None
    return numpy.power, 2


def power(self: Any, other: Any, modulo: Any = None) -> Any:
    if self.storage is None and modulo is None:
        y = plain_pair(self, other)
        if y is not None:
            return wrapped(operator.pow(self.geo, y))
    try:
        if modulo is not None:
            raise Unsupported
        if other.__class__ in SCALARS:
            fn, n = shortcut(self.geo.dtype, other)
            if NODES.make is not None:
                made = NODES.make(fn, 1, *(self, other)[:n])
                if made.__class__ is ndarray:
                    return made
            return elementwise(fn, (self, other)[:n])
        return elementwise(numpy.power, (self, other))
    except Unsupported:
        pass
    if modulo is not None:
        return NotImplemented
    return handed(numpy.ndarray.__pow__, pow, self, other)


def reflected_power(self: Any, other: Any) -> Any:
    if self.storage is None:
        y = plain_pair(self, other)
        if y is not None:
            return wrapped(operator.pow(y, self.geo))
    try:
        return elementwise(numpy.power, (other, self))
    except Unsupported:
        pass
    return handed(numpy.ndarray.__rpow__, operator.pow, self, other)


def inplace_power(self: Any, other: Any) -> Any:
    if self.storage is None and other.__class__ in SCALARS:
        COUNT.eager += 1
        self.geo **= other
        return self
    try:
        if other.__class__ in SCALARS:
            fn, n = shortcut(self.geo.dtype, other)
            return into(fn, (self, other)[:n], self)
        return into(numpy.power, (self, other), self)
    except Unsupported:
        pass
    return handed(numpy.ndarray.__ipow__, operator.ipow, self, other)


def _matmul(name: str, by_python: Any) -> Any:
    by_numpy = getattr(numpy.ndarray, name)
    turned, in_place = name in REFLECTED, name == "__imatmul__"

    def call(self: Any, other: Any) -> Any:
        if other.__class__ is ndarray and not in_place:
            pair = existing_pair(self, other)
            if pair is not None:
                COUNT.eager += 1
                return wrap(by_python(*pair[::-1]) if turned else by_python(*pair))
            try:
                return products(numpy.matmul, (other, self) if turned else (self, other))
            except Unsupported:
                pass
        return handed(by_numpy, by_python, self, other)

    return call


def attach() -> None:
    """Put the operators on the array type."""
    for name, ufunc in BINARY.items():
        fn = getattr(numpy, ufunc)
        setattr(ndarray, f"__{name}__", binary(name, fn))
        setattr(ndarray, f"__r{name}__", reflected(name, fn))
        if name != "divmod":
            setattr(ndarray, f"__i{name}__", inplace(name, fn))
    for name, ufunc in COMPARE.items():
        setattr(ndarray, f"__{name}__", binary(name, getattr(numpy, ufunc)))
    for name, ufunc in UNARY.items():
        setattr(ndarray, f"__{name}__", unary(name, getattr(numpy, ufunc)))
    ndarray.__mul__, ndarray.__rmul__ = product, reflected_product
    ndarray.__pow__ = power
    ndarray.__rpow__ = reflected_power
    ndarray.__ipow__ = inplace_power
    for name, by_python in MATMUL.items():
        setattr(ndarray, name, _matmul(name, by_python))
