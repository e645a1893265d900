"""A parfor, run by NumPy on whole arrays: the oracle for codegen, legible and slow.

In: a parfor and, per operand, an ndarray over the iteration space.   Out: the stores, done.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from lazyarr.fusion.parfor import EFFECTS, SCAN, Parfor
from lazyarr.ops import WITHIN, function, own_signature, within


def run_parfor(parfor: Parfor, arrays: Sequence[numpy.ndarray], scalars: Sequence[Any]) -> None:
    """Run a map parfor, or one with scans: all loads happen before all stores."""
    values: list[Any] = []
    stores: list[tuple[int, list[Any]]] = []
    for inst in parfor.body:
        args = [values[a] for a in inst.args]
        result: Any = None
        if inst.op == "load":
            assert isinstance(inst.attr, int)
            result = arrays[inst.attr].copy()
        elif inst.op == "scalar":
            assert isinstance(inst.attr, int)
            result = scalars[inst.attr]
        elif inst.op == "cast":
            result = numpy.asarray(args[0]).astype(inst.sig[-1], casting="unsafe")
        elif inst.op == "dense":
            result = numpy.broadcast_to(args[0], arrays[0].shape).copy()
        elif inst.op == "where":
            result = numpy.where(*args)
        elif inst.op == WITHIN:
            result = within(*args)
        elif inst.op == SCAN:
            assert isinstance(inst.attr, str)
            every = numpy.broadcast_to(args[0], arrays[0].shape)
            result = function(inst.attr).accumulate(every, parfor.dims.index("s"), inst.sig[-1])
        elif inst.op in EFFECTS:
            assert isinstance(inst.attr, int)
            stores.append((inst.attr, args))
        elif inst.op == "offset":
            steps = zip(args[::3], args[1::3], args[2::3], strict=True)
            result = sum(_held(v, n) * step for v, n, step in steps)
        elif inst.op == "gather":
            assert isinstance(inst.attr, int)
            table = arrays[inst.attr]
            result = numpy.array([_element(table, at, w) for at, w in _places(table, args[0])], inst.sig)
            result = result.reshape(table.shape)
        else:
            fn = function(inst.op)
            result = fn(*args, signature=own_signature(inst.op, inst.sig), casting="unsafe")
            if fn.nout > 1:
                result = result[inst.attr]
        values.append(result)
    for operand, (value, *offsets) in stores:
        table = arrays[operand]
        if not offsets:
            table[...] = value
            continue
        every = numpy.broadcast_to(value, table.shape)
        for at, w in _places(table, offsets[0]):
            _element(table, at, w)[...] = every[at]


def _held(position: Any, extent: Any) -> Any:
    """A position that counts from either end, within an axis: what lies outside is its last."""
    found = numpy.asarray(position + extent * (position < 0), "l")
    within = numpy.minimum(found.view("L"), numpy.asarray(extent - 1, "l").view("L"))
    return within.view("l")


def _places(table: numpy.ndarray, offsets: Any) -> Iterator[tuple[tuple[int, ...], int]]:
    """The points of the space in C order, and the offset at each."""
    return zip(numpy.ndindex(table.shape), numpy.broadcast_to(offsets, table.shape).flat, strict=True)


def _element(table: numpy.ndarray, at: tuple[int, ...], offset: int) -> numpy.ndarray:
    """The element so many bytes after the one at a point of the space."""
    first = table[at + (None,)]
    memory = (ctypes.c_char * first.itemsize).from_address(first.ctypes.data + int(offset))
    return numpy.ndarray((), table.dtype, memoryview(memory))
