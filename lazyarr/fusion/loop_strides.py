"""Do a kernel's calls of NumPy's inner loops get the strides that NumPy would give them?

In:  a body, the calls in it with the strides that NumPy uses (`inner_strides`), and the strides of the
     operands along the innermost loop.
Out: the body in which `dense` stands wherever NumPy sees contiguous memory and the kernel has other
     strides; and the nodes for which that is not enough, so that NumPy must run them.

Strides are compared by what NumPy's loops distinguish: none, contiguous, any other forwards, backwards.
A `clip` that kernels write themselves is `within` where NumPy's loop sees both bounds standing still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy

from lazyarr.dtypes import PLAIN, char_of
from lazyarr.equal_loops import is_near, whatever_strides
from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion.body import moved
from lazyarr.fusion.parfor import Inst, result_char
from lazyarr.inner_strides import Seen, inner_strides
from lazyarr.ops import OPS, WITHIN, kind, row
from lazyarr.own_loops import own
from lazyarr.records import NamedTuple


class Call(NamedTuple):
    """A value that one of NumPy's inner loops computes, or that depends on the strides it would see."""

    value: int
    serial: int
    """Of the node."""
    strides: tuple[int, ...] | None
    """Of inputs and outputs, as NumPy's loop sees them; None: not the same in all its calls."""


def is_call(op: str, sig: str) -> bool:
    """Does NumPy's inner loop run it, and may the bits depend on strides?  (Those of our own do not.)"""
    if op not in OPS or kind(sig.partition("->")[0][-1]) in row(op).native or own(op, sig):
        return False
    return not whatever_strides(op, sig)


TIES_BY_STRIDES = bool(numpy.signbit(numpy.clip(numpy.full(8, -0.0), 0.0, 1.0)).all())
"""Does the running NumPy keep what equals a bound that stands still?  (2.0 has one rule for all strides.)"""


def is_clip(inst: Inst) -> bool:
    """A clip whose ties go by NumPy's strides?  (With float16 x stays itself at any.)"""
    return TIES_BY_STRIDES and inst.op == "clip" and kind(inst.sig[0]) == "f"


def strides_of(node: Expr) -> tuple[int, ...] | None:
    """The strides with which NumPy would call the inner loop of a node's ufunc."""
    op, region = node.op, node.region
    assert isinstance(op, Map) and region is not None
    chars, _, outs = op.sig.partition("->")
    ins = [_seen(i, c) for i, c in zip(node.inputs, chars, strict=False)]
    mask = _seen(node.inputs[-1], "?") if node.masked else None
    own = region.itemsize
    results = [
        Seen(
            region.shape,
            tuple(s // own * PLAIN[c].itemsize for s in region.strides) if len(outs) > 1 else region.strides,
            PLAIN[c].itemsize,
            len(outs) == 1 and char_of(region.dtype) != c,
        )
        for c in outs
    ]
    in_place = any(isinstance(i, Read) and i.expr is node.old for i in node.inputs)
    return inner_strides(region.shape, ins, results, mask, numpy.getbufsize(), in_place=in_place)


def alike(node: Expr) -> tuple[object, ...]:
    """Equal for nodes of a graph with the same `strides_of`."""
    old, told = node.old, list[object]()
    for i in node.inputs:
        if isinstance(i, Read):
            told += id(i.geo), i.expr is old
        else:
            told.append(i.dtype.char)
    return id(node.op), id(node.region), node.masked, *told


def _seen(x: Read | numpy.generic, char: str) -> Seen:
    itemsize = PLAIN[char].itemsize
    if isinstance(x, Read):
        return Seen(x.geo.shape, x.geo.strides, itemsize, char_of(x.geo.dtype) != char)
    return Seen((), (), itemsize, char_of(x.dtype) != char)


def fit(body: Sequence[Inst], calls: Sequence[Call], rows: Sequence[int]) -> tuple[list[Inst], set[int]]:
    """`body` with the `dense` and `within` that it needs, and the serials of nodes that NumPy must run.

    `rows` says for each operand its stride along the innermost loop."""
    if not calls:
        return list(body), set()
    still = _still(body, rows)
    seen = _seen_by_loops(body, rows, still)
    known: dict[tuple[Any, ...], list[bool] | None] = {}
    wanted: dict[int, list[bool]] = {}
    still_bounds: dict[int, bool] = {}
    unlike: set[int] = set()
    for call in calls:
        inst = body[call.value]
        if inst.op == "clip" and is_clip(inst):
            between = call.strides is not None and call.strides[1] == call.strides[2] == 0
            if still_bounds.setdefault(call.value, between) != between:
                unlike.add(call.serial)
            continue
        dense = None
        if call.strides is not None:
            got: tuple[int | None, ...] = ()
            for a in inst.args:                 # (no comprehension: that is a function, for each call)
                got += (seen[a],)
            if still and all(map(still.__getitem__, inst.args)):
                got = tuple([0 if not any(rows) or body[a].op == "scalar" else None for a in inst.args])
            key = inst.op, inst.sig, call.strides, got
            if key not in known:
                near = is_near(inst.op, inst.sig, call.strides)
                known[key] = _dense_arguments(inst, call.strides, got) if near else None
            dense = known[key]
        if dense is None or wanted.setdefault(call.value, dense) != dense:
            unlike.add(call.serial)
    if any(still_bounds.values()):
        body = [i._replace(op=WITHIN) if still_bounds.get(k) else i for k, i in enumerate(body)]
    return _with_dense(body, wanted), unlike


_OP = attrgetter("op")


def _still(body: Sequence[Inst], rows: Sequence[int]) -> list[bool]:
    """Which values do not vary along the innermost loop; empty if all operands move and there are no
    scalars."""
    still: list[bool] = []
    if all(rows) and "scalar" not in map(_OP, body):
        return still
    for inst in body:
        if inst.op in ("load", "gather"):
            assert isinstance(inst.attr, int)
            still.append(rows[inst.attr] == 0 and all(still[a] for a in inst.args))
        else:
            moves = inst.op == "dense"
            for a in inst.args:                 # (no comprehension: that is a function, for each instruction)
                moves = moves or not still[a]
            still.append(not moves)
    return still


def _seen_by_loops(body: Sequence[Inst], rows: Sequence[int], still: Sequence[bool]) -> list[int | None]:
    """The strides that a loop would see in values, if not all its arguments stand still; None where these are
    computed side by side."""
    found: list[Any] = [rows[attr] if op == "load" else None for op, _, _, attr in body]    # type: ignore[index]
    return [0 if s else stride for s, stride in zip(still, found, strict=True)] if still else found


def _dense_arguments(
    inst: Inst, strides: Sequence[int], seen: Sequence[int | None]
) -> list[bool] | None:  # fmt: skip
    """Which arguments must be made contiguous; None if that does not give NumPy's strides."""
    dense = []
    for char, stride, got in zip(inst.sig, strides, seen, strict=False):
        size = PLAIN[char].itemsize
        alike = _class(size if got is None else got, size) == _class(stride, size)
        if not alike and _class(stride, size) != "u":
            return None
        dense.append(not alike)
    sizes = [PLAIN[c].itemsize for c in inst.sig.partition("->")[2]]
    results = zip(strides[len(inst.args):], sizes, strict=True)
    return dense if all(_class(s, size) == "u" for s, size in results) else None


def _class(stride: int, itemsize: int) -> str:
    return "0" if stride == 0 else "u" if stride == itemsize else "s" if stride > 0 else "-"


def _with_dense(body: Sequence[Inst], wanted: Mapping[int, list[bool]]) -> list[Inst]:
    """The body with `dense` before arguments of calls; values are renumbered."""
    if not any(map(any, wanted.values())):
        return list(body)
    place: list[int] = []
    made: dict[int, int] = {}
    result: list[Inst] = []
    for k, inst in enumerate(body):
        args = [place[a] for a in inst.args]
        for j in (j for j, dense in enumerate(wanted.get(k, ())) if dense):
            a = inst.args[j]
            if a not in made:
                char = result_char(body[a])
                made[a] = len(result)
                result.append(Inst("dense", f"{char}->{char}", (place[a],)))
            args[j] = made[a]
        place.append(len(result))
        result.append(moved(inst, tuple(args), place))
    return result
