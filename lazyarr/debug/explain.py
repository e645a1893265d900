"""What an evaluation would do: groups, kernels, stores, and the reason for every boundary.

In: lazy arrays (nothing is evaluated).   Out: text.
"""

from __future__ import annotations

from typing import Any

from lazyarr.engine import groups_for
from lazyarr.expr import Compress, Expr, Map, Opaque, Reduce, Tally
from lazyarr.fusion.group import Group


def explain(*arrays: Any) -> str:
    """Describe how the given lazy arrays would be computed.

    Parameters
    ----------
    *arrays : lazyarr.ndarray
        Arrays, evaluated or not.

    Returns
    -------
    str
        One paragraph for each fusion group: its iteration space, its operations, what it stores,
        and why its operations were not fused into an earlier group.
    """
    roots = [a.storage.value for a in arrays if getattr(a, "storage", None) is not None]
    roots = [r for r in roots if r.op is not None]
    if not roots:
        return "nothing is pending"
    parted = groups_for(roots)
    return "\n".join(_group(g, parted.stored) for g in parted.groups)


def _group(group: Group, stored: set[int]) -> str:
    how = "NumPy" if group.opaque else "one kernel"
    lines = [f"group {group.number}: {how} over {group.shape}"]
    lines += [f"  not fused with its inputs: {r.why}" for r in group.refusals]
    for node in group.nodes:
        kept = "stored" if node.serial in stored else _fate(node)
        lines.append(f"  #{node.serial} {_label(node)}: {kept}")
    return "\n".join(lines)


def _fate(node: Expr) -> str:
    """Where a value that is not stored goes."""
    return "packed into the group that reads it" if isinstance(node.op, Compress) else "in registers"


def _label(node: Expr) -> str:
    op = node.op
    if isinstance(op, Map):
        return f"{op.name} {op.sig}"
    if isinstance(op, Reduce):
        return f"reduce {op.name} {op.sig} over axes {op.axes}"
    if isinstance(op, Tally):
        return "tally"
    if isinstance(op, Compress):
        return "compress"
    assert isinstance(op, Opaque)
    return op.label
