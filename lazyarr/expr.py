"""The expression DAG: immutable nodes, equal by identity, built on every call.

A node is the value of one storage (all its bytes) after one operation: the bytes of `old`, with
`region` replaced by what `op` computes from `inputs`.  A fresh result has no `old`.  Reading is
`Read(expr, geo)`: a value as it was at the call, seen through a geometry.  `serial` is program
order; inputs are always older than the node, so there are no cycles.

    expr     = Expr(op, inputs, region, old, masked)
    op       = Map | Reduce | Opaque           None once evaluated (then `buf` holds the bytes)
    input    = Read | numpy.generic            a constant is already of the loop's dtype
    geometry = ndarray over ghost memory (geometry.py): shape, strides, dtype, offset, flags

The classes of `op` are frozen descriptors, one per kind of computation, equal by value.
Nothing here recurses: walks iterate and a chain of a million nodes is freed iteratively.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True, slots=True)
class Map:
    """Elementwise: one inner loop over the broadcast inputs, result `part` cast into the region.

    `name` is a ufunc of NumPy ('add', 'clip', ...), or one of
      'copy'   sig 'd->f': the input cast (NumPy's unsafe cast) into the region
      'where'  sig '?dd->d'
    `sig` is the loop's signature in canonical characters (dtypes.canonical); inputs of other
    dtypes are cast to it, and the result is cast to the region's dtype, as the ufunc would.
    `reference(region, *inputs)` does it with NumPy: the oracle, and the way without a compiler.
    """

    name: str
    sig: str
    part: int = 0


@dataclass(frozen=True, slots=True)
class Reduce:
    """A fold of the first input over `axes`; an optional bool mask is the last input.

    `name` is 'add', 'multiply', 'maximum', 'minimum', 'fmax', 'fmin', 'logical_and',
    'logical_or', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'argmax', 'argmin' or any other
    reducible ufunc.  `sig` is the loop's signature ('dd->d'); the input is cast to its second
    character.  `initial` is None, or the value to start from as a NumPy scalar of the result dtype.
    """

    name: str
    sig: str
    axes: tuple[int, ...]
    keepdims: bool
    masked: bool = False
    initial: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """Anything that only NumPy does, still lazy: `run(region, *inputs)` writes into the region."""

    run: Callable[..., None]
    label: str


Op = Map | Reduce | Opaque


class Read:
    """A value, as it was at the call, seen through a geometry.  Shape () broadcasts like a scalar."""

    __slots__ = ("expr", "geo")

    def __init__(self, expr: Expr, geo: numpy.ndarray) -> None:
        self.expr = expr
        self.geo = geo


class Expr:
    """One value of one storage.  Immutable but for what evaluation fills in.

    Attributes
    ----------
    op : Op or None
        What computes it; None for a leaf and once evaluated.
    inputs : tuple of Read or numpy.generic
        Operands; with `masked` the last one is a bool mask over the region.
    region : geometry
        What is written.
    old : Expr or None
        The value that the bytes outside the region (and under a False mask) come from.
    covers : bool
        The region is every byte, once, and there is no mask: `old` is not needed, only its buffer.
    nbytes : int
        Size of the whole storage.
    buf : Buffer or None
        The bytes, once they exist.
    readers : int-like bookkeeping owned by `lazyarr.values`
    home : weakref to the Storage whose current value this is (or was)
    errors : the error state of the call, or None where no category raises, calls, prints or logs
    serial : int
    epoch, index : scratch slots for walks (`epoch` says which walk `index` belongs to)
    """

    __slots__ = (
        "op", "inputs", "region", "old", "covers", "masked", "nbytes", "buf", "readers", "home",
        "errors", "where", "serial", "epoch", "index", "__weakref__",
    )
