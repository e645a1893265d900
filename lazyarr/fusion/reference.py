"""The meaning of every op, by NumPy itself: the oracle, and the way to run without a compiler.

In: an op descriptor, the region as a real ndarray, evaluated inputs.   Out: the region, written.
NumPy's own overlap handling covers inputs that alias the region.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.config import cpu_key
from lazyarr.expr import BLOCK, HEAD, Compress, Gather, Keep, Map, Op, Opaque, Reduce, Scan, Scatter, Tally
from lazyarr.flags import discards
from lazyarr.ops import SEARCHES, function, own_signature
from lazyarr.own_loops import exact, own
from lazyarr.own_ufuncs import OWN, stand_in


def run(op: Op, region: numpy.ndarray, inputs: tuple[Any, ...], mask: Any = True, ours: bool = False) -> None:
    """Write what `op` computes from `inputs` into `region`, where `mask` is True; by our function, if kernels
    would call that and `ours` is True."""
    if isinstance(op, Map):
        _map(op, region, inputs, mask, ours)
    elif isinstance(op, Gather):
        _gather(op, region, inputs[0], inputs[1:])
    elif isinstance(op, Scan):
        function(op.name).accumulate(inputs[0], op.axis, numpy.dtype(op.sig[-1]), region)
    elif isinstance(op, Scatter):
        _scatter(op, region, inputs[0], inputs[1:])
    elif isinstance(op, Reduce):
        numpy.copyto(region, _reduce(op, inputs), casting="unsafe", where=mask)
    elif isinstance(op, Tally):
        _tally(region, inputs[0])
    elif isinstance(op, Keep):
        _tally(region, inputs[1])
    elif isinstance(op, Compress):
        region[...] = inputs[0][inputs[1]]
    else:
        assert isinstance(op, Opaque)
        op.run(region, *inputs, *op.options)


def _map(op: Map, region: numpy.ndarray, inputs: tuple[Any, ...], mask: Any, ours: bool) -> None:
    if op.name == "copy":
        given = inputs[0]
        if discards(given.dtype, region.dtype):     # the program was told at the call
            given = given.real
        numpy.copyto(region, given, casting="unsafe", where=mask)
    elif op.name == "where":
        numpy.copyto(region, numpy.where(*inputs), casting="unsafe", where=mask)
    else:
        fn, sig = function(op.name), own_signature(op.name, op.sig)
        if ours and own(op.name, op.sig) and not exact(op.name, op.sig) and op.name not in OWN:
            fn = stand_in(op.name, op.sig, cpu_key()) or fn
        if fn.nout == 1:
            fn(*inputs, out=region, signature=sig, casting="unsafe", where=mask)
        else:
            parts = fn(*inputs, signature=sig, casting="unsafe")
            numpy.copyto(region, parts[op.part], casting="unsafe", where=mask)


def _gather(op: Gather, region: numpy.ndarray, table: numpy.ndarray, positions: tuple[Any, ...]) -> None:
    if op.along:
        region[...] = numpy.take_along_axis(table, positions[0], op.axes[0])
    else:
        region[...] = table[_key(op, table.ndim, positions)]


def _scatter(op: Scatter, region: numpy.ndarray, value: Any, positions: tuple[Any, ...]) -> None:
    if op.along:
        numpy.put_along_axis(region, positions[0], value, op.axes[0])
    else:
        region[_key(op, region.ndim, positions)] = value


def _key(op: Gather | Scatter, ndim: int, positions: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index of a table of `ndim` axes."""
    still = [d for d, axis in enumerate(op.dims) if axis < 0]
    behind = len(op.dims) - still[-1] - 1       # there positions have axes of length 1
    key: list[Any] = [slice(None)] * ndim
    for axis, p in zip(op.axes, positions, strict=True):
        key[axis] = p.reshape(p.shape[: p.ndim - behind]) if p.ndim else p
    return tuple(key)


def _tally(region: numpy.ndarray, mask: numpy.ndarray) -> None:
    of_bytes = numpy.bitwise_count(numpy.packbits(mask))
    counts = numpy.add.reduceat(of_bytes, numpy.arange(0, of_bytes.size, BLOCK // 8), dtype=numpy.int64)
    region[0], end = 0, counts.size + 1
    numpy.cumsum(counts, out=region[1:end])
    region[end : end + HEAD] = 0


def _reduce(op: Reduce, inputs: tuple[Any, ...]) -> Any:
    options: dict[str, Any] = {"axis": op.axes, "keepdims": op.keepdims}
    if op.name in SEARCHES:
        options["axis"] = op.axes[0] if len(op.axes) == 1 else None
        return function(op.name)(inputs[0], **options)
    if op.masked:
        options["where"] = inputs[1]
    if op.initial is not None:
        options["initial"] = op.initial
    return function(op.name).reduce(inputs[0], dtype=numpy.dtype(op.sig[-1]), **options)
