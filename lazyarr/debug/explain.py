"""What an evaluation would do: groups, kernels, stores, and the reason for every boundary.

In: lazy arrays (nothing is evaluated).   Out: text.
"""

from __future__ import annotations

from typing import Any

from lazyarr.engine import groups_for
from lazyarr.expr import Compress, Expr, Gather, Map, Opaque, Read, Reduce, Scatter, Tally
from lazyarr.fusion.group import Group, region_of
from lazyarr.fusion.shape_equiv import RESULT, Dims, equivalence
from lazyarr.srcloc import words_of


def explain(*arrays: Any) -> str:
    """Describe how the given lazy arrays would be computed.

    Parameters
    ----------
    *arrays : lazyarr.ndarray
        Arrays, evaluated or not.

    Returns
    -------
    str
        One paragraph for each fusion group: its iteration space, its operations, what it stores, the
        dims of operands and results (equal letters where the program makes them equal), the lines
        that created operations which can raise floating-point flags, and why its operations were not
        fused into an earlier group.
    """
    roots = [a.storage.value for a in arrays if getattr(a, "storage", None) is not None]
    roots = [r for r in roots if r.op is not None]
    if not roots:
        return "nothing is pending"
    parted = groups_for(roots)
    dims = equivalence(sorted((n for g in parted.groups for n in g.nodes), key=lambda n: n.serial))
    lines = [_group(g, parted.stored, dims) for g in parted.groups]
    return "\n".join([*lines, f"where {dims.legend()}"] if dims.legend() else lines)


def _group(group: Group, stored: set[int], dims: Dims) -> str:
    how = "NumPy" if group.opaque else "one kernel"
    lines = [f"group {group.number}: {how} over {group.shape}"]
    lines += [f"  not fused with its inputs: {r.why}" for r in group.refusals]
    for node in group.nodes:
        kept = "stored" if node.serial in stored else _fate(node)
        view = ", through a view" if node.serial in group.bridged else ""
        lines.append(f"  #{node.serial} {_label(node)}: {kept}{view}; {_dims(node, dims)}{_created(node)}")
    return "\n".join(lines)


def _dims(node: Expr, dims: Dims) -> str:
    """The dims of operands and result, equal letters for those that the program makes equal."""
    reads = [(k, i.geo.ndim) for k, i in enumerate(node.inputs) if isinstance(i, Read)]
    result = dims.names(node.serial, RESULT, region_of(node).ndim)
    return " ".join([", ".join(dims.names(node.serial, k, ndim) for k, ndim in reads), "->", result]).strip()


def _created(node: Expr) -> str:
    return "" if node.loc is None else f"; created at {words_of(node.loc)}"


def _fate(node: Expr) -> str:
    """Where a value that is not stored goes."""
    return "packed into the group that reads it" if isinstance(node.op, Compress) else "in registers"


def _label(node: Expr) -> str:
    op = node.op
    if isinstance(op, Map):
        return f"{op.name} {op.sig}"
    if isinstance(op, Gather):
        return f"gather along axes {op.axes}"
    if isinstance(op, Scatter):
        return f"scatter along axes {op.axes}"
    if isinstance(op, Reduce):
        return f"reduce {op.name} {op.sig} over axes {op.axes}"
    if isinstance(op, Tally):
        return "tally"
    if isinstance(op, Compress):
        return "compress"
    assert isinstance(op, Opaque)
    return op.name
