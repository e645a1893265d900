"""Operators that NumPy computes in place: ``a * (b + c)`` becomes ``t = b + c; t *= a``.

From 256 KiB on NumPy's operators reuse a temporary operand's memory: the first one's, or else, where the
operator is commutative, the second one's.  So the result has that operand's memory order, whatever the
other's is, and where operands are swapped the product of complex numbers has other last bits, or other flags:
of one by a real number only these.

In: the operands of an operator, and whether only the interpreter's stack holds them.   Out: in which one's
memory NumPy would compute.
The criterion is NumPy's own, an object's reference count: a program's references to a lazy array are those
it would have to NumPy's.  Where the interpreter's counts do not tell temporaries from variables, nothing is
elided.  Nor where the running NumPy does not: it is asked once (products: for each type of first operand).
What C code keeps may have as few references.  So who really writes over it (`slots.elided`, `recipes`) asks
`stack_operands`, too.
Not covered: a NumPy scalar before a temporary, which NumPy 2.0 swaps (the scalar's own operator runs); arrays
of NumPy's among the operands; shifts of bools, which NumPy refuses in a temporary's memory.
"""

from __future__ import annotations

from functools import cache
from sys import getrefcount
from typing import Any

import numpy

from lazyarr.arrays import ndarray

ELIDED = 256 * 1024
"""Bytes from which NumPy looks for temporaries."""


class _Probe:
    def __mul__(self, other: Any) -> int:
        return getrefcount(other)

    def __rmul__(self, other: Any) -> int:
        return getrefcount(self)


def _counts() -> tuple[int, int]:
    """References to a temporary operand as the operator's method sees them; 0: a variable has as many."""
    variable: Any = _Probe()
    second, first = _Probe() * _Probe(), 1 * _Probe()
    held = _Probe() * variable, 1 * variable
    return (0 if held[0] <= second else second), (0 if held[1] <= first else first)


SECOND_REFS, REFLECTED_REFS = _counts()
"""For the second operand of ``__mul__``, and for the array whose ``__rmul__`` is called."""


IN_PLACE = {
    "add": True, "sub": False, "mul": True, "truediv": False, "floordiv": False, "lshift": False,
    "rshift": False, "and": True, "or": True, "xor": True,
}  # fmt: skip
"""Python's names of the operators that are elided -> may it be in the second operand's memory, too?"""


def matters(x: ndarray, y: ndarray) -> bool:
    """May the memory order of a result be another one for being computed in the memory of x or y?

    Where an operand lies in C order, so does every result of NumPy's."""
    return (x.origin is None and not x.geo.flags.c_contiguous) or (
        y.origin is None and not y.geo.flags.c_contiguous
    )


def taken(name: str, a: ndarray, b: ndarray, first: bool, second: bool) -> ndarray | None:
    """The operand in whose memory NumPy computes the operator `name`; None for memory of its own.

    `first`, `second`: which are temporaries.  Ask where it `matters`."""
    if name == "truediv" and a.geo.dtype.kind not in "fc":
        return None
    if first and _elides(a, b):
        found = a
    elif second and IN_PLACE[name] and _elides(b, a):
        found = b
    else:
        return None
    return found if _is_dense(found.geo) and numpy_elides() else None


def swaps(a: Any, b: Any, first: bool, second: bool) -> bool:
    """Does NumPy compute a * b as b *= a, with other bits?  `first`, `second`: which are temporaries."""
    if not second or b.geo.nbytes < ELIDED or b.geo.dtype.char not in "FD":
        return False
    if not _elides(b, a) or (first and a.__class__ is ndarray and _elides(a, b)):
        return False
    return numpy_swaps(numpy.ndarray if a.__class__ is ndarray else _complex_kind(type(a)))


@cache
def numpy_elides() -> bool:
    """Has the sum of a variable and a temporary in Fortran's order that order?"""
    n = int(ELIDED**0.5)
    a, b = numpy.zeros((n, n), "i1"), numpy.zeros((n, n), "i1", "F")
    return not (a + (-b)).flags.c_contiguous


@cache
def numpy_swaps(first: type) -> bool:
    """Has a product of complex numbers with a temporary second operand other bits than `numpy.multiply`?"""
    b = numpy.exp(1j * numpy.arange(ELIDED // 16))
    a: Any = b[::-1] * 0.7 if first is numpy.ndarray else first(0.1 + 0.7j)
    return bool((a * (-b) != numpy.multiply(a, -b)).any())


def _complex_kind(scalar: type) -> Any:
    """The type that is asked about for a scalar's: real ones cannot tell by bits."""
    return numpy.result_type(scalar, numpy.complex64).type if issubclass(scalar, numpy.generic) else complex


def _is_dense(geo: numpy.ndarray) -> bool:
    step = geo.itemsize
    for stride, n in sorted(zip(geo.strides, geo.shape, strict=True)):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


def _elides(x: ndarray, y: Any) -> bool:
    """May a temporary x receive the result with y?"""
    geo = x.geo
    if geo.nbytes < ELIDED or geo.dtype.kind not in "biufc" or not geo.flags.writeable or not _owns(x):
        return False
    if y.__class__ is ndarray:
        return y.geo.shape in (geo.shape, ()) and numpy.can_cast(y.geo.dtype, geo.dtype)
    return numpy.can_cast(numpy.result_type(type(y)), geo.dtype)


def _owns(x: ndarray) -> bool:
    """Is the memory its own, and reachable through it alone?"""
    if x.storage is None:
        return x.geo.base is None
    buf = x.storage.value.buf
    return x.origin is None and (buf is None or not buf.shared())
