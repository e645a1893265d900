"""The body of a fusion group: what its nodes compute, in SSA form, and what they load and store.

In:  the nodes of a group, which of them are stored, and their epoch.   Out: `Assembler`, for `assemble`.
Equal loads and equal operations of a group are one instruction, and rules apply (`body`).
Constants are runtime scalars, one each, so that ``x * 0.1`` and ``x * 0.2`` share a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy

from lazyarr.dtypes import CHARS
from lazyarr.error_state import ignores
from lazyarr.expr import Compress, Expr, Gather, Keep, Map, Read, Reduce, Scan, Scatter, Tally
from lazyarr.fusion.body import Body, Lowerable
from lazyarr.fusion.fold import fold_order, signature
from lazyarr.fusion.group import Group, makes
from lazyarr.fusion.kinds import Kinds, once
from lazyarr.fusion.loop_strides import is_call, is_clip
from lazyarr.fusion.operands import REGION, Operands, element, stores, written_by
from lazyarr.fusion.parfor import SCAN, Inst, Reduction, inst_of
from lazyarr.fusion.pieces import resumes
from lazyarr.fusion.registry import Active
from lazyarr.fusion.rewrite import Rewrite
from lazyarr.geometry import fresh, offset_of, same
from lazyarr.ops import flags, function, kind
from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.reduce_order import DECIDED_EARLY, Order


class Unlike(Exception):
    """Nodes (serials) that cannot have NumPy's bits in this group, and why."""

    def __init__(self, serials: set[int], why: str = "NumPy's inner loop would see other strides") -> None:
        super().__init__(serials, why)
        self.serials = serials
        self.why = why


SAFE = {"arctanh": 0.0}
"""Arguments for which an op raises no flag, where 1 does."""

NOT_A_NUMBER = {"logaddexp", "logaddexp2"}
"""Ops of real floats that are called, and raise a flag for a NaN."""

NEUTRAL = {"add": -0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0}
"""What changes no bit of an accumulator, and raises no flag, folded onto it."""

PARTWISE = {"add", "subtract"}
"""Those for whose complex kind that goes for both parts; a product mixes them."""

MOVED = {1: "B", 2: "H", 4: "I", 8: "L", 16: "D"}
"""Elements that are only moved: their size is all that a kernel knows."""

_ERRORS, _SERIAL = map(attrgetter, ("errors", "serial"))


@dataclass(slots=True, eq=False)
class Assembler:
    """The body of one group as it grows; operands and scalars are numbered as they are met, but for the
    operands that are written: these come first."""

    group: Group
    epoch: int
    body: Body
    written: Operands
    quiet: bool = False
    """All nodes ignore all floating-point flags, at every run."""
    values: dict[int, int] = field(default_factory=dict)
    """Serial of a node -> the number of its value, in the dtype of its region."""
    read: Operands = field(default_factory=lambda: Operands([], [], [], []))
    at: dict[int, int] = field(default_factory=dict)
    """Serial of a node that stores what it makes itself -> the number of its operand."""
    resumed: set[int] = field(default_factory=set)
    """Numbers of operands that are written, and read before."""
    loads: dict[tuple[int, int, tuple[int, ...], tuple[int, ...], str], int] = field(default_factory=dict)
    calls: list[tuple[int, int]] = field(default_factory=list)
    """What NumPy's inner loops compute, and what depends on their strides: the value's number, and which of
    the group's nodes it is."""

    def bind(self, value: Expr, geo: numpy.ndarray, input: int) -> int:
        """The number of a new operand that is read: an access of the node being assembled."""
        read = self.read
        number = len(self.written.values) + len(read.values)
        read.values.append(value)
        read.geos.append(geo)
        read.members.append(self.body.at)
        read.inputs.append(input)
        return number

    def load(self, value: Expr, geo: numpy.ndarray | None, input: int) -> int:
        assert geo is not None
        key = _key(value, geo)
        operand = self.loads.get(key)
        if operand is None:
            operand = self.loads[key] = self.bind(value, geo, input)
        return self.body.emit(Inst("load", element(geo), (), operand))

    def input(self, node: Expr, k: int, char: str) -> int:
        """The value of input `k` of a node, cast to what the loop takes."""
        return self.inputs(node, char, k)[0]

    def inputs(self, node: Expr, chars: str, first: int = 0) -> tuple[int, ...]:
        """The values of successive inputs, cast to what the loop takes."""
        mine, epoch, body, found = self.group.number, self.epoch, self.body, list[int]()
        for k, (i, char) in enumerate(zip(node.inputs[first:], chars, strict=False), first):
            if i.__class__ is not Read:
                number, source = body.scalar((node, k)), element(i)     # type: ignore[arg-type]
            else:
                value, geo = i.expr, i.geo
                source = CHARS.get(id(geo.dtype)) or element(geo)
                if value.op is not None and value.index == mine and value.epoch == epoch:
                    number = self.values[value.serial]      # (`inside`, written out: it runs for every input)
                else:
                    number = self.load(value, self.group.placed[node.serial].reads[k], k)
            found.append(number if source == char else body.cast(number, source, char))
        return tuple(found)

    def inside(self, value: Expr) -> bool:
        """Does the group make it?"""
        return makes(value, self.group, self.epoch)

    def map(self, node: Expr) -> int:
        """The value that a Map node writes, in its region's dtype; a mask picks the old element."""
        op = node.op
        assert isinstance(op, Map) and node.region is not None
        ins, _, outs = op.sig.partition("->")
        args = self.inputs(node, ins)
        region, made = element(node.region), ins[0]
        if op.name == "copy":
            number = args[0]
        else:
            if node.masked and flags(op.name, op.sig):
                args = self.harmless(node, args)
            inst, made = inst_of((*self.body.one_for_one(op.name, op.sig, args), op.part)), outs[op.part]
            number = self.body.emit(inst)
            called = is_call(inst.op, inst.sig) or is_clip(inst)
            if called and self.body.insts[number] == inst:      # no rule found an equal
                self.calls.append((number, self.body.at))
        if not node.masked:
            return number if made == region else self.body.cast(number, made, region)
        mask, old = self.input(node, len(node.inputs) - 1, "?"), self.old(node)
        if flags("copy", f"{made}->{region}"):
            number = self.choose(mask, number, self.constant(made, 1), made)
        return self.choose(mask, self.body.cast(number, made, region), old, region)

    def operation(self, node: Expr, how: Usual) -> int:
        """The same of a node that computes a whole result of arrays: nothing is cast."""
        known, args = self.values.get, ()
        for i in node.inputs:                   # (no `map`: with few inputs that takes twice as long)
            args += (known(i.expr.serial),)     # type: ignore[union-attr, assignment]
        if None in args:
            args = self.loaded(node, args)
        name, sig, part, called = how
        inst = inst_of((name, sig, args, part))
        number = self.body.emit(inst)
        if called and self.body.insts[number] == inst:      # no rule found an equal
            self.calls.append((number, self.body.at))
        return number

    def loaded(self, node: Expr, args: tuple[int | None, ...]) -> Any:
        """Arguments of such a node, of which those are loaded that are not there."""
        reads, inputs = self.group.placed[node.serial].reads, node.inputs
        return tuple([
            self.load(inputs[k].expr, reads[k], k) if x is None else x          # type: ignore[union-attr]
            for k, x in enumerate(args)
        ])  # fmt: skip

    def choose(self, mask: int, yes: int, no: int, char: str) -> int:
        return self.body.emit(Inst("where", f"?{char}{char}->{char}", (mask, yes, no), 0))

    def constant(self, char: str, value: complex) -> int:
        return self.body.scalar(numpy.dtype(char).type(value))

    def gather(self, node: Expr) -> int:
        """Elements of a table: how far each lies from the table's first one, then the loads."""
        op, table, first = node.op, node.inputs[0], self.group.placed[node.serial].reads[0]
        assert isinstance(op, Gather) and isinstance(table, Read) and first is not None
        offset = self.offset(node, op.axes, table.geo)
        operand = self.bind(table.expr, first, 0)
        return self.body.emit(Inst("gather", element(first), (offset,), operand))

    def scan(self, node: Expr) -> int:
        """Running results; the input is cast first."""
        op = node.op
        assert isinstance(op, Scan)
        char = op.sig[-1]
        return self.body.emit(Inst(SCAN, f"{char}->{char}", (self.input(node, 0, char),), op.name))

    def offset(self, node: Expr, axes: tuple[int, ...], table: numpy.ndarray) -> int:
        """How far the positions, a node's inputs but the first, lead into a table."""
        steps: list[int] = []
        for k, axis in enumerate(axes, 1):
            steps.append(self.input(node, k, "l"))
            steps += [self.body.scalar(numpy.int64(n[axis])) for n in (table.shape, table.strides)]
        return self.body.emit(Inst("offset", "l" * len(steps) + "->l", tuple(steps)))

    def scatter(self, node: Expr) -> Inst:
        """A store to positions; it is to come after all loads."""
        assert isinstance(node.op, Scatter) and node.region is not None
        char = element(node.region)
        args = self.input(node, 0, char), self.offset(node, node.op.axes, node.region)
        return Inst("scatter", char, args, self.at[node.serial])

    def harmless(self, node: Expr, args: tuple[int, ...]) -> tuple[int, ...]:
        """Arguments that raise no floating-point flag where the mask, which picks results, is False:
        NumPy computes nothing there.

        NumPy's loops must see scalars as such, so these stay: there a NaN beside them is harmless."""
        op = node.op
        assert isinstance(op, Map)
        mask, safe = self.input(node, len(node.inputs) - 1, "?"), SAFE.get(op.name, 1.0)
        called = is_call(op.name, op.sig)
        stay = {a for a in args if called and self.body.insts[a].op == "scalar"}
        if stay:
            if stay.issuperset(args) or op.name in NOT_A_NUMBER or kind(op.sig[0]) not in "ef":
                raise Unlike({node.serial}, "a scalar may raise flags where the mask is False")
            safe = numpy.nan
        whole = 0 if stay else 1                # (an exponent of ldexp)
        return tuple(
            a if a in stay else self.choose(mask, a, self.constant(c, safe if kind(c) in "efc" else whole), c)
            for a, c in zip(args, op.sig, strict=False)
        )

    def old(self, node: Expr) -> int:
        """The elements that a masked write leaves: the old value's, at the region.

        Writes of this group in between changed the same elements, or none of them."""
        old, placed = node.old, self.group.placed
        region = placed[node.serial].region
        while old is not None and self.inside(old):
            if same(placed[old.serial].region, region):
                return self.values[old.serial]
            old = old.old
        assert old is not None
        return self.load(old, region, REGION)

    def reduce(self, node: Expr) -> None:
        """Fold a value into a result operand."""
        op, order = node.op, fold_order(node)
        assert isinstance(op, Reduce) and isinstance(order, Order)
        sig = signature(op)
        number = self.body.cast(self.input(node, 0, sig[1]), sig[1], sig[0])
        mask = self.input(node, 1, "?") if op.masked else -1
        if mask >= 0 and order.fold == "sequential" and flags(op.name, sig):
            # NumPy folds nothing where the mask is False, so it raises nothing there.
            found = NEUTRAL.get(op.name)
            if found is not None and (kind(sig[0]) != "c" or op.name in PARTWISE):
                other = self.constant(sig[0], complex(found, found) if kind(sig[0]) == "c" else found)
                number = self.choose(mask, number, other, sig[0])
                mask = -1
            elif found is not None or (order.loops and order.loops[-1].kind == "p"):
                raise Unlike({node.serial}, "no value is neutral where the mask is False")
        start, goes_on = -1, resumes(node)
        if goes_on:
            pass                                # (from what the boxes before have left)
        elif op.initial is not None:
            start = self.body.scalar(op.initial)
        elif order.start == "identity":
            identity: Any = numpy.array(function(op.name).identity).astype(sig[-1])
            start = self.body.scalar(identity[()])
        quiet = op.name in DECIDED_EARLY and self.quiet
        cut, long = order.fold in ("cut", "long"), order.fold == "long"
        fold = "sequential" if cut else order.fold
        how = Reduction(
            op.name, fold, self.at[node.serial], start, mask, quiet=quiet, cut=cut, long=long,
            resumes=goes_on,
        )  # fmt: skip
        if how.resumes:
            self.resumed.add(how.out)
        self.fold(number, how, sig[0])

    def fold(self, number: int, how: Reduction, char: str) -> None:
        self.body.effect(Inst("reduce", char, (number,), how))

    def tally(self, node: Expr) -> None:
        """Count True elements; the launch asks for each block's."""
        number = self.body.cast(self.input(node, 0, "?"), "?", "l")
        self.fold(number, Reduction("add", "any", self.at[node.serial]), "l")

    def compress(self, node: Expr) -> None:
        """Keep elements; what is read for nothing else is moved as so many bytes."""
        char = self.packed(node)
        assert node.region is not None
        self.written.geos[self.at[node.serial]] = node.region.view(char)

    def keep(self, node: Expr) -> None:
        """The same; the region has other things besides."""
        char = self.packed(node)
        assert node.region is not None
        self.written.geos[self.at[node.serial]] = fresh(node.region.shape, numpy.dtype(char))

    def packed(self, node: Expr) -> str:
        """What both fold, and as which type."""
        x = node.inputs[0]
        assert isinstance(x, Read)
        mask, char = self.input(node, 1, "?"), element(x.geo)
        if self.inside(x.expr) or _key(x.expr, x.geo) in self.loads:
            number = self.input(node, 0, char)
        else:
            char = MOVED[x.geo.itemsize]
            number = self.load(x.expr, x.geo.view(char), 0)
        self.fold(number, Reduction("compress", "sequential", self.at[node.serial], -1, mask), char)
        return char

    def rewrite(self, rule: Rewrite) -> None:
        """Have a rewrite of whole bodies look at this one."""
        found = self.body.whole(rule)
        if found is None:
            return
        before = self.body.insts
        self.body, place = found
        self.calls = [
            (place[value], member) for value, member in self.calls
            if self.body.insts[place[value]][:2] == before[value][:2]
        ]


def _key(value: Expr, geo: numpy.ndarray) -> tuple[int, int, tuple[int, ...], tuple[int, ...], str]:
    """Equal for loads of the same elements."""
    return id(value), offset_of(geo), geo.shape, geo.strides, element(geo)


class Terms(NamedTuple):
    """By what bodies are rewritten."""

    rules: Active
    lowerable: Lowerable
    literal: bool
    """Constants and error states are what they are at every run."""
    kinds: Kinds
    """Of the nodes of the evaluation."""


class Usual(NamedTuple):
    """What nodes of a kind say that compute whole results of arrays, where nothing is cast."""

    name: str
    sig: str
    part: int
    called: bool
    """Does it depend on strides (`Assembler.calls`)?"""


class _Usual(dict[int | None, Usual | None]):
    """By number of a form; None for what is assembled otherwise."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.of_kind: dict[int, Usual | None] = terms.kinds.usual
        self[None] = None

    def __missing__(self, form: int) -> Usual | None:
        kind = self.terms.kinds[form]
        if kind not in self.of_kind:
            self.of_kind[kind] = self._usual(kind)
        found = self[form] = self.of_kind[kind]
        return found

    def _usual(self, kind: int) -> Usual | None:
        found = self.terms.kinds.operation(kind)
        if found is None or found.name in self.terms.rules.untyped:
            return None
        return Usual(*found, is_call(*found[:2]) or is_clip(Inst(*found[:2])))


def body_of(group: Group, epoch: int, stored: Sequence[bool], terms: Terms) -> Assembler:
    """The body of a group, with all that it loads and stores."""
    ignored = once(lambda errors: terms.literal and ignores(errors), [*map(_ERRORS, group.nodes)])
    written, own = written_by(group, stored)
    body = Body(terms.rules, terms.lowerable, terms.literal)
    a = Assembler(group, epoch, body, written, all(ignored), at=own)
    usual = map(_Usual(terms).__getitem__, map(terms.kinds.forms.get, map(_SERIAL, group.nodes)))
    scattered: list[Inst] = []
    folds = {Reduce: a.reduce, Tally: a.tally, Keep: a.keep, Compress: a.compress}
    values = {Map: a.map, Gather: a.gather, Scan: a.scan}
    for body.at, (node, body.ignores, how) in enumerate(zip(group.nodes, ignored, usual, strict=True)):
        kind = node.op.__class__
        if how is not None:
            a.values[node.serial] = a.operation(node, how)
        elif kind in values:
            a.values[node.serial] = values[kind](node)
        elif kind is Scatter:
            scattered.append(a.scatter(node))
        else:
            folds[kind](node)
    a.body.effects(stores(written, a.values, own, scattered))
    for rule in terms.rules.parfor:
        a.rewrite(rule)
    return a
