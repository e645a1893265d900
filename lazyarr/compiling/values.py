"""What the interpreter of a compiled function has on its stack beside plain Python objects.

    Traced     an array that depends on the arguments: a lazy array whose leaves have no memory (`Slot`)
    Number     a Python or NumPy number that may be another one at the next call
    Near       an array in a stencil's kernel, whose indices are relative
    Method     a bound method, to be called
    all else   is the same at every call: it stands in the code, follows from shapes and types, or is guarded

In:  layouts of arguments.   Out: the values above; `NeedsValue` where somebody asks for elements.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import managed, ndarray
from lazyarr.expr import Expr
from lazyarr.geometry import geometry
from lazyarr.scalar.ir import NOWHERE, Place
from lazyarr.storage import Storage
from lazyarr.values import Buffer


class Refused(Exception):
    """The function cannot be replayed: why, and at which place."""

    def __init__(self, why: str, place: Place = NOWHERE) -> None:
        super().__init__(why)
        self.why, self.place = why, place


class Pinned(Exception):
    """A number decides what is computed: the trace holds for its value alone."""

    def __init__(self, inputs: frozenset[int]) -> None:
        super().__init__()
        self.inputs = inputs


class NeedsValue(BaseException):
    """Elements are asked for that are not known.  (No `except Exception` on the way may catch it.)"""


class Slot(Buffer):
    """The bytes of an argument, which every call has others of: there are none."""

    __slots__ = ()

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.bridge = None
        self.orphan = True              # the memory promise is the caller's: he holds the argument
        self.recycled = False

    def __getattr__(self, name: str) -> Any:
        raise NeedsValue(name)

    def shared(self) -> bool:
        return False

    def writeable(self) -> bool:
        return True                     # (a call that writes to read-only memory is none of a replay)

    def real(self, geo: numpy.ndarray) -> numpy.ndarray:
        raise NeedsValue

    def __del__(self, *_: Any) -> None:
        """There is nothing to give back."""


class Traced:
    """An array, or where `lone` a NumPy scalar: then `array` has one axis, of length 1.  (`Tracer.hold`)"""

    __slots__ = ("array", "foreign", "lone", "__weakref__")

    def __init__(self, array: ndarray, foreign: bool, lone: bool = False) -> None:
        self.array, self.foreign, self.lone = array, foreign, lone

    @property
    def dtype(self) -> numpy.dtype:
        return self.array.geo.dtype

    def current(self) -> Expr:
        """What its storage holds by now.  (Arrays of a trace are managed.)"""
        assert self.array.storage is not None
        return self.array.storage.value

    def like(self) -> Any:
        """An object of the class that the program has here."""
        if self.lone:
            return self.dtype.type()
        return numpy.empty(0) if self.foreign else self.array


class Near:
    """An array as a stencil's kernel has it, whose indices are relative."""

    __slots__ = ("array", "sight")

    def __init__(self, array: Traced, sight: Any) -> None:
        self.array, self.sight = array, sight


class Number:
    """A number: `value` in this trace, `ref` where the trace's list of numbers has it."""

    __slots__ = ("value", "ref")

    def __init__(self, value: Any, ref: int) -> None:
        self.value, self.ref = value, ref


class Method:
    """An attribute that is called: of an array, or of a list or tuple that the function made."""

    __slots__ = ("owner", "name")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


class Null:
    """What calls have beside the callable on the stack."""


def argument(shape: tuple[int, ...], strides: tuple[int, ...], dtype: numpy.dtype) -> ndarray:
    """An array of a layout, without memory."""
    low = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
    high = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s > 0) + dtype.itemsize
    nbytes = high - low
    return managed(Storage(Expr.leaf(Slot(nbytes))), geometry(shape, dtype, strides, -low, nbytes))


def constant(real: numpy.ndarray) -> ndarray:
    """An array that is the same at every call, in memory that nobody else holds."""
    memory = numpy.frombuffer(bytearray(real.tobytes()), numpy.uint8)
    return managed(Storage(Expr.leaf(Buffer(memory))), geometry(real.shape, real.dtype))
