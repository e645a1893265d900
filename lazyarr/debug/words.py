"""Words for pending values: names of operations and operands, for people and for tests.

In:  nodes of `expr`.   Out: short texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from lazyarr.expr import Compress, Expr, Gather, Keep, Map, Op, Opaque, Read, Reduce, Scan, Scatter, Tally
from lazyarr.fusion.group import region_of
from lazyarr.fusion.shape_equiv import MEMORY, RESULT, Dim, Dims
from lazyarr.geometry import offset_of


def label(op: Op | None) -> str:
    """An operation with its loop."""
    if isinstance(op, Map):
        return f"{op.name} {op.sig}"
    if isinstance(op, Gather):
        return f"gather along axes {op.axes}"
    if isinstance(op, Scan):
        return f"scan {op.name} {op.sig} along axis {op.axis}"
    if isinstance(op, Scatter):
        return f"scatter along axes {op.axes}"
    if isinstance(op, Reduce):
        return f"reduce {op.name} {op.sig} over axes {op.axes}"
    if isinstance(op, Tally):
        return "tally"
    if isinstance(op, Keep):
        return "tally, and sums of what is kept" if op.leaf else "tally, and what is kept"
    if isinstance(op, Compress):
        return "compress"
    assert isinstance(op, Opaque)
    return op.name


def input_word(i: Read | numpy.generic, names: Mapping[int, str]) -> str:
    """What a node reads: a value by its name, with the part that is seen where that is not all of it."""
    if not isinstance(i, Read):
        return str(i)
    name = names[id(i.expr)]
    geo = i.geo
    if geo.nbytes == i.expr.nbytes and geo.flags.c_contiguous:
        return name
    at = f" from byte {offset}" if (offset := offset_of(geo)) else ""
    return f"{name}[{words(geo.shape)} by strides {words(geo.strides)}{at}]"


def words(numbers: Any) -> str:
    return ", ".join(map(str, numbers)) or "-"


def dims_of(node: Expr, dims: Dims) -> str:
    """The dims of operands and result, equal letters for those that the program makes equal."""
    reads = [(k, i.geo.ndim) for k, i in enumerate(node.inputs) if isinstance(i, Read)]
    result = dims.names(node.serial, RESULT, region_of(node).ndim)
    return " ".join([", ".join(dims.names(node.serial, k, ndim) for k, ndim in reads), "->", result]).strip()


def links_of(dims: Dims, values: Mapping[int, str]) -> tuple[str, ...]:
    """Which dims are one, and why; but for those of length 1, and those of a value and its own memory."""
    told = (link for link in dims.links if dims.extents[link.one] > 1 and link.why != "value")
    return tuple([
        f"{dims.name(link.one)}: {_dim(link.one, values)} is {_dim(link.other, values)} ({link.why})"
        for link in told
    ])


def _dim(dim: Dim, values: Mapping[int, str]) -> str:
    serial, slot, axis = dim
    of = values.get(serial, f"#{serial}")
    if slot == MEMORY:
        return f"{of} along {axis} bytes"
    return f"axis {axis} of {of}" if slot == RESULT else f"axis {axis} of operand {slot} of {of}"


def size(nbytes: float) -> str:
    """Bytes for people."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= step:
            return f"{nbytes / step:.3g} {unit}"
    return f"{nbytes:.0f} bytes"
