"""Nodes as public calls: NumPy's name for what an operation of the graph does.

In:  a node, and words for its inputs.   Out: `Call`: its text, and how NumPy would lay out a new result.
Operands are cast where NumPy would choose another loop for them than the node's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.draws import DRAWS
from lazyarr.dtypes import CANONICAL, char_of
from lazyarr.expr import Compress, Expr, Gather, Keep, Map, Opaque, Read, Reduce, Scan, Scatter, Tally
from lazyarr.fusion.group import region_of
from lazyarr.geometry import fresh, layout, reduced_layout
from lazyarr.ops import SEARCHES, function
from lazyarr.own_ufuncs import OWN
from lazyarr.ranges import RANGES
from lazyarr.records import NamedTuple

TARGET = "TARGET"


class Call(NamedTuple):
    text: str
    geo: numpy.ndarray | None
    """Of the new array that it returns; None where nobody knows."""
    takes_out: bool = False
    """A ufunc of one result, which can write into an array."""
    write: str = ""
    """A statement of its own that writes into `TARGET`; there is no other call then."""

    def into(self, target: str, mask: str, cast: bool) -> str:
        """The statement that writes the result into a part of an array, where the mask is True."""
        if self.write:
            return self.write.replace(TARGET, target)
        if self.takes_out:
            options = f", where={mask}" if mask else ""
            options += ", casting='unsafe'" if cast else ""
            return f"{self.text[:-1]}, out={target}{options})"
        if mask:
            return f"np.copyto({target}, {self.text}, where={mask}, casting='unsafe')"
        return f"{target}[...] = {self.text}"


def constant(value: numpy.generic) -> str:
    """A NumPy scalar, exactly."""
    kind, name = value.dtype.kind, value.dtype.name
    if kind == "c":
        parts = ", ".join(_float(x) for x in (value.real, value.imag))
        return f"np.{name}(complex({parts}))"
    return f"np.{name}({_float(value) if kind == 'f' else repr(value.item())})"


def _float(x: Any) -> str:
    return repr(float(x)) if numpy.isfinite(x) else f"float('{x}')"


def call_of(node: Expr, words: Sequence[str]) -> Call | None:
    """The call for a node; None where public calls cannot say it."""
    op = node.op
    if isinstance(op, Map):
        return None if op.name in DRAWS or op.name in RANGES else _map(node, op, words)
    if isinstance(op, Reduce):
        return _reduce(node, op, words)
    if isinstance(op, Gather):
        return _gather(node, op, words)
    if isinstance(op, Scan):
        dtype = region_of(node).dtype.str
        return Call(f"np.{op.name}.accumulate({words[0]}, axis={op.axis}, dtype={dtype!r})", region_of(node))
    if isinstance(op, Scatter):
        return _scatter(node, op, words)
    if isinstance(op, Compress):
        return Call(f"{words[0]}[{words[1]}]", region_of(node))
    if isinstance(op, Keep):
        return Call(f"{words[1]}[{words[1]}]", None)
    if isinstance(op, Tally):           # what counts elements, in public: to keep some
        return Call(f"{words[0]}[{words[0]}]", None)
    assert isinstance(op, Opaque)
    return _opaque(node, op, words)


def _geos(node: Expr, n: int) -> list[numpy.ndarray]:
    return [i.geo for i in node.inputs[:n] if isinstance(i, Read)]


def _map(node: Expr, op: Map, words: Sequence[str]) -> Call:
    ins, _, outs = op.sig.partition("->")
    geos = _geos(node, len(ins))
    if op.name == "copy":
        dtype = region_of(node).dtype
        if not geos:
            shape = region_of(node).shape
            return Call(f"np.full({shape}, {words[0]})", fresh(shape, dtype))
        cast = char_of(geos[0].dtype) != char_of(dtype)
        text = f"{words[0]}.astype({dtype.str!r})" if cast else f"{words[0]}.copy(order='K')"
        return Call(text, layout(dtype, geos[0].shape, geos))
    args = _cast(node, ins, words, op)
    shape = numpy.broadcast_shapes(*(g.shape for g in geos)) if geos else ()
    given = [(i.geo.dtype, c) for i, c in zip(node.inputs, ins, strict=False) if isinstance(i, Read)]
    at_once = all(char_of(d) == c for d, c in given) and len(outs) == 1 and op.name != "where"
    geo = layout(numpy.dtype(outs[op.part]), shape, geos, at_once) if geos else None
    if op.name == "where":
        return Call(f"np.where({', '.join(args)})", geo)
    several = len(outs) > 1
    text = f"np.{_public(op.name)}({', '.join(args)})" + (f"[{op.part}]" if several else "")
    return Call(text, geo, not several)


def _public(name: str) -> str:
    """Where the face has an op."""
    return f"special.{name}" if name in OWN else name


def _cast(node: Expr, ins: str, words: Sequence[str], op: Map) -> list[str]:
    """The operands, cast where NumPy would not take this loop for them as they are."""
    given = [i.geo.dtype if isinstance(i, Read) else i.dtype for i in node.inputs[: len(ins)]]
    if [char_of(d) for d in given] == list(ins) or _chosen(op, given) == op.sig:
        return list(words[: len(ins)])
    found = []
    for word, dtype, char in zip(words, given, ins, strict=False):
        found.append(word if char_of(dtype) == char else f"{word}.astype({numpy.dtype(char).str!r})")
    return found


def _chosen(op: Map, given: Sequence[numpy.dtype]) -> str:
    """The loop that NumPy takes."""
    if op.name == "where":
        c = char_of(numpy.result_type(*given[1:])) or "-"
        return f"?{c}{c}->{c}"
    fn = function(op.name)
    try:
        dtypes = fn.resolve_dtypes((*given, *[None] * fn.nout))
    except TypeError:
        return ""
    chars = "".join(CANONICAL.get(d.char, "-") for d in dtypes)
    return f"{chars[: fn.nin]}->{chars[fn.nin :]}"


def _reduce(node: Expr, op: Reduce, words: Sequence[str]) -> Call:
    (geo, *mask), result = _geos(node, 1 + op.masked), region_of(node).dtype
    if op.name in SEARCHES:
        return Call(f"np.{op.name}({words[0]}, axis={op.axes[0]})", region_of(node))
    keepdims = op.keepdims or len(op.axes) == geo.ndim      # a result without axes would be computed at once
    options = f"axis={op.axes}, dtype={result.str!r}"
    options += ", keepdims=True" if keepdims else ""
    options += f", where={words[1]}" if op.masked else ""
    options += "" if op.initial is None else f", initial={constant(op.initial)}"
    return Call(
        f"np.{op.name}.reduce({words[0]}, {options})",
        reduced_layout(result, geo, op.axes, keepdims, *mask),
    )  # fmt: skip


def _gather(node: Expr, op: Gather, words: Sequence[str]) -> Call:
    if op.along:
        return Call(f"np.take_along_axis({words[0]}, {words[1]}, {op.axes[0]})", region_of(node))
    return Call(f"{words[0]}[{_key(node, op, _geos(node, 1)[0].ndim, words)}]", region_of(node))


def _scatter(node: Expr, op: Scatter, words: Sequence[str]) -> Call:
    if op.along:
        return Call("", None, write=f"np.put_along_axis({TARGET}, {words[1]}, {words[0]}, {op.axes[0]})")
    key = _key(node, op, region_of(node).ndim, words)
    return Call("", None, write=f"{TARGET}[{key}] = {words[0]}")


def _key(node: Expr, op: Gather | Scatter, ndim: int, words: Sequence[str]) -> str:
    """The index of a table of `ndim` axes."""
    still = [d for d, axis in enumerate(op.dims) if axis < 0]
    behind = len(op.dims) - still[-1] - 1       # there positions have axes of length 1
    key = [":"] * ndim
    for axis, word, i in zip(op.axes, words[1:], node.inputs[1:], strict=True):
        axes = i.geo.ndim if isinstance(i, Read) else 0
        shape = i.geo.shape[: axes - behind] if isinstance(i, Read) else ()
        key[axis] = f"{word}.reshape({shape})" if axes and behind else word
    return ", ".join(key)


def _opaque(node: Expr, op: Opaque, words: Sequence[str]) -> Call | None:
    """What only NumPy does: running sums and products, products, ranges (`deferred`, `creation`)."""
    geo = region_of(node)
    if op.name == "accumulate":
        fn, axis, dtype = op.options
        kind = "" if dtype is None else f", dtype={numpy.dtype(dtype).str!r}"
        return Call(f"np.{fn.__name__}.accumulate({words[0]}, axis={axis}{kind})", geo)
    if op.name == "arange":
        *numbers, dtype = op.options
        return Call(f"np.arange({', '.join(map(repr, numbers))}, dtype={dtype.str!r})", geo)
    fn = getattr(numpy, op.name, None)
    if fn is None or len(words) != 2:
        return None
    return Call(f"np.{op.name}({words[0]}, {words[1]})", geo)
