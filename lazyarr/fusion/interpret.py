"""A parfor, run by NumPy on whole arrays: the oracle for codegen, legible and slow.

In: a parfor and, per operand, an ndarray over the iteration space.   Out: the stores, done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.fusion.parfor import Parfor
from lazyarr.ops import function, own_signature


def run_parfor(parfor: Parfor, arrays: Sequence[numpy.ndarray], scalars: Sequence[Any]) -> None:
    """Run a map parfor: all loads happen before all stores."""
    values: list[Any] = []
    stores: list[tuple[int, Any]] = []
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
        elif inst.op == "store":
            assert isinstance(inst.attr, int)
            stores.append((inst.attr, args[0]))
        else:
            fn = function(inst.op)
            result = fn(*args, signature=own_signature(inst.op, inst.sig), casting="unsafe")
            if fn.nout > 1:
                result = result[inst.attr]
        values.append(result)
    for operand, value in stores:
        arrays[operand][...] = value
