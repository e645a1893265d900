"""What an evaluation would do: the program before, its fusion groups after, and why every boundary is there.

In:  lazy arrays (nothing is evaluated), or what one evaluation is about to compute.   Out: `Explanation`.
Made of texts and numbers alone: it keeps no array alive.
"""

from __future__ import annotations

import os
from typing import Any

from lazyarr.debug.words import dims_of, input_word, label, links_of, size
from lazyarr.engine import groups_for
from lazyarr.expr import LOCK, Compress, Expr, Read
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.group import Group as Fused
from lazyarr.fusion.group import Refusal, region_of
from lazyarr.fusion.partition import Partition
from lazyarr.fusion.regions import Regions
from lazyarr.fusion.rows import Found
from lazyarr.fusion.shape_equiv import equivalence
from lazyarr.kernels import tier_of
from lazyarr.lifetimes import eager_peak, input_bytes, peak_bytes
from lazyarr.materialize import closure, compiles
from lazyarr.plan import Step, Walk
from lazyarr.records import NamedTuple, dataclass
from lazyarr.segments import is_much, segments
from lazyarr.sinking import sunk
from lazyarr.srcloc import line_of
from lazyarr.traffic import Traffic, least, moved


@dataclass(frozen=True, slots=True)
class Operation:
    """A node, as the program asked for it."""

    serial: int
    op: str
    inputs: tuple[str, ...]
    """Names of values (``#3`` is operation 3, ``x0`` an array that exists), and constants."""
    shape: tuple[int, ...]
    dtype: str
    changes: str
    """The value of which it changes a part, or all; empty for a new array."""
    file: str
    line: int
    """Where the program made it; an empty name and 0 where that is not known."""
    dims: str
    fate: str
    """Where its value goes."""
    through_view: bool

    @property
    def created(self) -> str:
        return f"created at {self.file}:{self.line}" if self.file else ""

    def __str__(self) -> str:
        writes = f" into {self.changes}" if self.changes else ""
        where = f"  ({os.path.basename(self.file)}:{self.line})" if self.file else ""
        call = f"{self.op}({', '.join(self.inputs)}){writes}"
        return f"#{self.serial} = {call}: {self.dtype} {self.shape}{where}"


class Rewrite(NamedTuple):
    """A rule that applied: this operation is not computed, since the kernel has its value already, or
    computes others."""

    serial: int
    op: str
    rule: str
    instead: str = ""
    """The others; empty if there are none."""

    def __str__(self) -> str:
        done = f"computed by {self.instead}" if self.instead else "not computed"
        return f"#{self.serial} {self.op}: {done}, by {self.rule}"


@dataclass(frozen=True, slots=True)
class Group:
    """Operations that run together."""

    number: int
    kernel: bool
    """One kernel, or NumPy node by node."""
    shape: tuple[int, ...]
    operations: tuple[Operation, ...]
    refusals: tuple[Refusal, ...]
    """Why its first operation joined no other group: never empty but for the first group."""
    rows: tuple[str, ...]
    """With which groups it runs together, block by block of rows, or why it does not follow the others; as
    how many loop nests it runs, or why what is written piece by piece is stored before it is read."""
    rewrites: tuple[Rewrite, ...]
    parfor: str
    bytes_read: int
    bytes_written: int
    tier: int = 0
    """How well the kernel is compiled by now (option `tier`); 0: it is not loaded."""

    def __str__(self) -> str:
        tier = f", loaded at tier {self.tier}" if self.tier else ""
        lines = [f"group {self.number}: {'one kernel' if self.kernel else 'NumPy'} over {self.shape}{tier}"]
        lines += [f"  not fused with {_others(r)}: {r.why}" for r in self.refusals]
        lines += [f"  {line}" for line in self.rows]
        for o in self.operations:
            view = ", through a view" if o.through_view else ""
            parts = (f"#{o.serial} {o.op}: {o.fate}{view}", o.dims, o.created)
            lines.append("  " + "; ".join(part for part in parts if part))
        lines += [f"  {rewrite}" for rewrite in self.rewrites]
        if self.bytes_read or self.bytes_written:
            lines.append(f"  reads {size(self.bytes_read)}, writes {size(self.bytes_written)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """How arrays would be computed; print it."""

    operations: tuple[Operation, ...] = ()
    """In program order: the graph before."""
    groups: tuple[Group, ...] = ()
    """In the order in which they run: the graph after."""
    inputs: tuple[str, ...] = ()
    """Arrays that exist already, by name."""
    legend: str = ""
    """Extents of the letters for dims."""
    links: tuple[str, ...] = ()
    """Where each equality of dims comes from."""
    bytes_moved: int = 0
    """To and from memory, by all groups together."""
    bytes_least: int = 0
    """Inputs read once, results written once."""
    bytes_eager: int = 0
    """If each operation read its operands and wrote its result."""
    input_bytes: int = 0
    """Of the arrays that exist already."""
    peak_bytes: int = 0
    """Of all values that exist at a time, the inputs' included."""
    eager_peak_bytes: int = 0
    """The same, if each operation were computed when it is called."""
    later: int = 0
    """Operations that are computed after these, in evaluations of their own, since they are too many for one
    plan."""

    def __str__(self) -> str:
        if not self.operations:
            return "nothing is pending"
        lines = ["expression", *(f"  {word}" for word in (*self.inputs, *self.operations)), "plan"]
        lines += map(str, self.groups)
        if self.legend:
            lines.append(f"where {self.legend}")
        kernels = sum(g.kernel for g in self.groups)
        lines.append(
            f"{_count(len(self.operations), 'operation')} in {_count(kernels, 'kernel')}; memory moved: "
            f"{size(self.bytes_moved)}, at least {size(self.bytes_least)}, eagerly {size(self.bytes_eager)}; "
            f"held at most: {size(self.peak_bytes)}, eagerly {size(self.eager_peak_bytes)}"
        )
        if self.later:
            lines.append(f"then {_count(self.later, 'operation')} more, in plans of their own")
        return "\n".join(lines)

    __repr__ = __str__

    def __contains__(self, text: str) -> bool:
        """Does the printed text say so?"""
        return text in str(self)


PORTIONS = "made for the group that reads it, portion by portion"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _others(refusal: Refusal) -> str:
    return f"group {refusal.group}" if refusal.group >= 0 else "others"


def explain(*arrays: Any) -> Explanation:
    """Describe how the given lazy arrays would be computed.

    Parameters
    ----------
    *arrays : lazyarr.ndarray
        Arrays, evaluated or not.

    Returns
    -------
    Explanation
        The operations as the program made them, with its lines (of all operations where one of the
        options `debug` and `dump` was on when they were made, else of those that can raise floating-point
        flags); the fusion groups, each with its iteration space, the reason why its first operation
        joined no other group, what becomes of each operation's value, the dims of operands and results
        (equal letters where the program makes them equal), the rules that saved work, and with which groups
        it runs together in blocks of rows; the bytes
        that are moved and held.  Printing it gives all that as text.  Of thousands of operations, which
        have several plans, it describes the first plan's.
    """
    from lazyarr.arrays import face_of

    with LOCK:
        found = [getattr(face_of(a), "storage", None) for a in arrays]
        roots = [s.value for s in found if s is not None and s.value.op is not None]
        if not roots:
            return Explanation()
        nodes = sunk(closure(roots), roots)
        native = compiles(nodes)
        first = next(segments(nodes.copy())) if native and is_much(nodes) else nodes
        return explanation(*groups_for(roots, first, native), len(nodes) - len(first))


def explanation(w: Walk, parted: Partition, steps: list[Step], later: int = 0) -> Explanation:
    """The same of a plan, after which so many operations come."""
    names = {id(v): f"x{k}" for k, v in enumerate(w.leaves)} | {id(n): f"#{n.serial}" for n in w.nodes}
    dims = equivalence(w.nodes)
    views = {serial for g in parted.groups for serial in g.bridged}
    members = [n for g in parted.groups for n in g.nodes]
    told = {n.serial: dims_of(n, dims) for n in members}         # letters in the order of the groups
    fates = dict.fromkeys(parted.stored, "stored")
    for step in steps:
        portions = [step.operands[k] for k, source in step.feeds if source.ranks is None]
        fates.update((w.nodes[k].serial, PORTIONS) for k in portions)
    made = {n.serial: _operation(n, names, told[n.serial], fates, n.serial in views) for n in members}
    by_node = {w.nodes[k].serial: step for step in reversed(steps) for k in step.members}     # the first one
    traffic = {id(step): moved(step, w) for step in steps}
    groups = []
    counted: set[int] = set()
    for g in parted.groups:
        step = by_node[g.nodes[-1].serial]
        mine = Traffic(0, 0) if id(step) in counted or _feeds(g, step, w) else traffic[id(step)]
        counted |= set() if mine == (0, 0) else {id(step)}
        groups.append(_group(g, step, made, mine, w, (*_rows(g, parted.rows), *_through(g, parted.regions))))
    total = sum(traffic.values(), Traffic(0, 0))
    eager = [moved(_alone(k), w) for k in range(len(w.nodes))]
    values = {v.serial: names[id(v)] for v in (*w.leaves, *w.nodes)}
    links = links_of(dims, values)      # (they may need letters, which the legend has)
    return Explanation(
        tuple(made[n.serial] for n in w.nodes), tuple(groups),
        tuple(f"x{k}: {size(v.nbytes)}" for k, v in enumerate(w.leaves)), dims.legend(), links,
        sum(total), sum(least(w)), sum(map(sum, eager)), input_bytes(w), peak_bytes(w, steps), eager_peak(w),
        later,
    )  # fmt: skip


def _alone(k: int) -> Step:
    """A node by itself, computed by NumPy."""
    return Step((k,), (k,), None, (), (), (), (), "")


def _feeds(group: Fused, step: Step, w: Walk) -> bool:
    """Is the group packed into the step of another one?"""
    return any(w.nodes[k].serial == group.nodes[-1].serial for _, s in step.feeds for k in s.members)


def _rows(group: Fused, rows: Found) -> tuple[str, ...]:
    """With which groups it runs together, or why it does not follow the group before."""
    why = rows.apart.get(group.number)
    lines = [f"not in row blocks with the group before: {why}"] if why and group.number else []
    for chain, buffers in zip(rows.chains, rows.buffers, strict=True):
        if group.number in chain.numbers:
            first, *_, last = chain.numbers
            block = f"{chain.block} of {chain.extent}"
            k = chain.numbers.index(group.number)
            along = _along(chain, k)
            within = "".join(f", in one of {c.extent} along {_along(c, k)}" for c in reversed(chain.outer))
            lines.append(f"in row blocks with groups {first} to {last}: {block} along {along}{within}")
            lines += buffers if group.number == first else ()
    return tuple(lines)


def _along(chain: Chain, k: int) -> str:
    """The axis of a group's space along which rows lie, or several."""
    axis = chain.axes[k]
    others = chain.span(k) - {axis, *(d for c in chain.outer for d in c.span(k))}
    return f"axes {min(others)} to {axis}" if others else f"axis {axis}"


def _through(group: Fused, regions: Regions) -> tuple[str, ...]:
    """What it reads through, or which of the values that it reads were stored for it, and why."""
    if group.unit is not None:
        parts = _count(len(group.unit.boxes), "loop nest")
        return (f"in {parts}: what is written piece by piece stays in registers",)
    whys = dict.fromkeys(why for n in group.nodes for why in regions.refused.get(n.serial, ()))
    return tuple(f"some of what it reads is stored for it: {why}" for why in whys)


def _group(
    group: Fused, step: Step, made: dict[int, Operation], traffic: Traffic, w: Walk, rows: tuple[str, ...]
) -> Group:
    inner = [s for _, s in step.feeds]
    inner += [part.step for part in step.rows.parts] if step.rows is not None else []
    source = next((s for s in inner if w.nodes[s.members[-1]] is group.nodes[-1]), step)
    program = (source.boxes[0] if source.boxes else source).program
    rewrites = () if program is None else tuple(
        Rewrite(group.nodes[r.member].serial, r.op, r.rule, r.instead) for r in program.rewrites
    )
    return Group(
        group.number, not group.opaque, group.shape, tuple(made[n.serial] for n in group.nodes),
        tuple(group.refusals), rows, rewrites, "" if program is None else str(program.parfor), *traffic,
        0 if program is None else tier_of(program.parfor),
    )  # fmt: skip


def _operation(
    node: Expr, names: dict[int, str], dims: str, fates: dict[int, str], view: bool
) -> Operation:
    region, old = region_of(node), node.old
    while old is not None and id(old) not in names:
        old = old.old
    file, line = ("", 0) if node.loc is None else line_of(node.loc)
    inputs = tuple(input_word(i, names) for i in node.inputs)
    changes = "" if old is None else input_word(Read(old, region), names)
    fate = fates.get(node.serial) or _fate(node)
    return Operation(
        node.serial, label(node.op), inputs, region.shape, region.dtype.name, changes, file, line, dims,
        fate, view,
    )  # fmt: skip


def _fate(node: Expr) -> str:
    """Where a value that is not stored goes."""
    return "packed into the group that reads it" if isinstance(node.op, Compress) else "in registers"
