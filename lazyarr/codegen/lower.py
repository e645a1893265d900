"""Lower: a parfor's body -> loop IR, one loop an element at a time for each native stage.

In:  a map `Parfor`, a `Target`.   Out: a `Kernel` whose slots have no place yet.
When all ops are native there is one loop straight from operands to operands.  Else values that pass
from stage to stage live in slots.  A call reads an operand directly, with the operand's own stride,
and writes a result straight to the operand that it is stored to, where the order of loads and
stores permits and the operand is contiguous: NumPy's loops may round otherwise when they write at a
stride, and a program's temporaries are contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable

from lazyarr.codegen.loopir import (
    PLACE,
    Apply,
    Call,
    Gather,
    Kernel,
    Lane,
    Load,
    Loop,
    Once,
    Ref,
    Scan,
    Scatter,
    Slot,
    Stmt,
    Store,
    arguments,
)
from lazyarr.codegen.native import native
from lazyarr.codegen.natives import GATHER, SCATTER
from lazyarr.codegen.stages import LOAD, NATIVE, ONCE, stages_of
from lazyarr.fusion.parfor import SCAN, Inst, Parfor, result_char
from lazyarr.ranges import RANGES
from lazyarr.records import replace
from lazyarr.target import Target

ALWAYS_NATIVE = ("cast", "where")
MEMORY = {"load": "operand", "scalar": "scalar"}
"""Instructions whose value lies in memory already, and in which space."""


def is_native(inst: Inst, target: Target) -> bool:
    """Has the op an emitter?  If not, NumPy's inner loop runs it; a scan is a loop of its own."""
    if inst.op == SCAN:
        return False
    if inst.op == GATHER or native(inst.op, inst.sig, target) is not None:
        return True
    if inst.op in ALWAYS_NATIVE:
        raise ValueError(f"{inst.op} {inst.sig} cannot be emitted for {target.name}")
    return False


def lower(parfor: Parfor, target: Target, nontemporal: bool = False, hot: bool = False) -> Kernel:
    """The kernel of a map, in its first form: no blocks, no vectors.

    One that is `hot` is worth more code."""
    kernel = Lowering(parfor, target, nontemporal).kernel()
    return replace(kernel, shifts=parfor.shifts, hot=True) if hot else kernel


class Lowering:
    """One run of `lower`: in which stage things happen and where values live, as far as decided."""

    def __init__(
        self, parfor: Parfor, target: Target, nontemporal: bool = False, keep: tuple[int, ...] = ()
    ) -> None:
        self.parfor, self.body, self.target, self.nontemporal = parfor, parfor.body, target, nontemporal
        self.keep = keep
        """Values that must lie in memory after the last stage: `homes` says where."""
        stages = stages_of(parfor, lambda inst: is_native(inst, target))
        self.kinds, self.leaders, self.at, self.last_read = (
            stages.kinds, stages.leaders, stages.at, stages.last_read,
        )  # fmt: skip
        self.calls = list(stages.calls)
        """Per stage: the instruction that calls NumPy's loop, or -1 for a native loop."""
        self.stores: list[list[Store | Scatter]] = [[] for _ in self.calls]
        """Per native stage: the stores at its end."""
        self.homes: dict[int, Ref] = {}
        """Where a value lies in memory."""
        self.slots: list[Slot] = []
        self.loops: dict[tuple[str, str], int] = {}
        self.places = {inst.args[0] for inst in self.body if inst.op in RANGES}
        """Loads of which the address is what matters."""
        self.results = self._results()
        """Leader -> the value of each of its op's results, -1 where nobody uses it."""

    def kernel(self) -> Kernel:
        self.place_stores()
        self.place_values()
        stmts: list[Stmt] = [self.stage(s) for s in range(len(self.calls))]
        once = self.once(stmts)
        if once:
            stmts.insert(0, Once(once))
        p = self.parfor
        return Kernel(
            rank=len(p.dims), operands=p.operands, scalars=p.scalars, loops=tuple(self.loops),
            slots=tuple(self.slots), block=0, scratch_bytes=0, body=tuple(stmts),
            nontemporal=self.nontemporal,
        )  # fmt: skip

    def _results(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for v, inst in enumerate(self.body):
            outs = inst.sig.partition("->")[2]
            if outs:
                results = found.setdefault(self.leaders[v], [-1] * len(outs))
                results[inst.attr if isinstance(inst.attr, int) else 0] = v
            elif inst.op == GATHER:
                found[v] = [v]
        return {leader: tuple(results) for leader, results in found.items()}

    # Where values live

    def operand(self, k: int) -> Ref:
        return Ref("operand", k, self.parfor.operands[k].dtype, self.parfor.operands[k].access)

    def slot(self, char: str, single: bool) -> Ref:
        self.slots.append(Slot(char, single))
        return Ref("slot", len(self.slots) - 1, char, "z" if single else "u")

    def settle(self, v: int) -> None:
        """Give a value a place in memory."""
        inst = self.body[v]
        if v not in self.homes:
            self.homes[v] = (
                self.source(v)
                if inst.op in MEMORY
                else self.slot(result_char(inst), single=self.kinds[v] == ONCE)
            )

    def settle_all(self, values: Iterable[int]) -> None:
        for v in values:
            if v >= 0:
                self.settle(v)

    def source(self, v: int) -> Ref:
        """What a 'load' or 'scalar' reads."""
        inst = self.body[v]
        assert isinstance(inst.attr, int)
        if inst.op != "load":
            return Ref("scalar", inst.attr, inst.sig, "z")
        return replace(self.operand(inst.attr), space=PLACE) if v in self.places else self.operand(inst.attr)

    def place_stores(self) -> None:
        """Decide where each store happens: no earlier than the last stage that reads an operand."""
        for inst in self.body:
            if inst.op == "store":
                assert isinstance(inst.attr, int)
                self.place_store(inst.args[0], self.operand(inst.attr))
            elif inst.op == SCATTER:
                assert isinstance(inst.attr, int)
                value, offset = inst.args
                stage = self.native_from(max(self.at[value], self.at[offset], self.last_read, 0))
                self.stores[stage].append(Scatter(self.operand(inst.attr), value, offset))

    def place_store(self, v: int, ref: Ref) -> None:
        made = self.at[v]
        in_time = made >= 0 and made >= self.last_read
        again = sum(inst.args.count(v) for inst in self.body) + self.keep.count(v) > 1
        direct = ref.access == "u" and not (again and self.parfor.operands[ref.index].role == "inout")
        direct = direct or (self.body[v].op == SCAN and ref.access == "s" and not again)
        if in_time and direct and self.calls[made] >= 0 and v not in self.homes:
            self.homes[v] = ref         # the call writes it: faster than streaming a copy
            return
        stage = made if in_time and self.calls[made] < 0 else self.native_from(max(made, self.last_read, 0))
        self.stores[stage].append(Store(ref, v))
        if stage == made and direct and not self.nontemporal:
            self.homes.setdefault(v, ref)

    def native_from(self, stage: int) -> int:
        """The first native stage at or after `stage`; a new one at the end if there is none."""
        for s in range(stage, len(self.calls)):
            if self.calls[s] < 0:
                return s
        self.calls.append(-1)
        self.stores.append([])
        return len(self.calls) - 1

    def place_values(self) -> None:
        """A place for every value that passes from stage to stage, or to or from a call."""
        for stage, call in enumerate(self.calls):
            for v in self.needs(stage):
                if call >= 0 or (self.kinds[v] not in (ONCE, LOAD) and self.at[v] != stage):
                    self.settle(v)
            if call >= 0:
                self.settle_all(self.results[call])
        for v, kind in enumerate(self.kinds):
            if kind == ONCE and self.leaders[v] == v and not self.once_native(v):
                self.settle_all((*self.body[v].args, *self.results[v]))
        self.settle_all(self.keep)

    def needs(self, stage: int) -> dict[int, None]:
        """Values that a stage takes as arguments or stores, in order."""
        found: dict[int, None] = {}
        for v, at in enumerate(self.at):
            if at == stage and self.leaders[v] == v:
                found.update(dict.fromkeys(self.body[v].args))
        found.update(dict.fromkeys(a for store in self.stores[stage] for a in arguments(store)))
        return found

    def once_native(self, v: int) -> bool:
        return self.body[v].op in MEMORY or is_native(self.body[v], self.target)

    # Statements

    def stage(self, stage: int) -> Stmt:
        call = self.calls[stage]
        return self.native(stage) if call < 0 else self.call(call)

    def call(self, leader: int) -> Call | Scan:
        inst, single = self.body[leader], self.kinds[leader] == ONCE
        chars = inst.sig.partition("->")[2]
        outs = [
            self.homes[v] if v >= 0 else self.slot(char, single)
            for v, char in zip(self.results[leader], chars, strict=True)
        ]
        if inst.op == SCAN:
            assert isinstance(inst.attr, str)
            sig = f"{inst.sig[-1]}{inst.sig}"
            if native(inst.attr, sig, self.target) is None:
                self.loops.setdefault((inst.attr, sig), len(self.loops))
            return Scan(inst.attr, sig, self.homes[inst.args[0]], outs[0])
        loop = self.loops.setdefault((inst.op, inst.sig), len(self.loops))
        return Call(loop, tuple(self.homes[a] for a in inst.args), tuple(outs))

    def native(self, stage: int) -> Loop:
        """One native loop: loads, the ops, the results that other stages need, the stores."""
        lanes: list[Lane] = []
        known: set[int] = set()
        made: list[int] = []
        for v, inst in enumerate(self.body):
            if self.at[v] == stage and self.kinds[v] == NATIVE:
                self.load(inst.args, known, lanes)
                known.update(self.results[v])
                made += self.results[v]
                lanes.append(self.native_lane(v))
        self.load((a for store in self.stores[stage] for a in arguments(store)), known, lanes)
        kept = ((v, self.homes[v]) for v in made if v in self.homes)
        lanes += [Store(ref, v) for v, ref in kept if ref.space == "slot"]
        lanes += self.stores[stage]
        return Loop("all", 0, tuple(lanes))

    def native_lane(self, v: int) -> Lane:
        inst = self.body[v]
        if inst.op == GATHER:
            assert isinstance(inst.attr, int)
            return Gather(v, self.operand(inst.attr), inst.args[0])
        return Apply(self.results[v], inst.op, inst.sig, inst.args)

    def load(self, values: Iterable[int], known: set[int], lanes: list[Lane]) -> None:
        """Loads of values that are not in registers yet."""
        for v in values:
            if v not in known and self.kinds[v] != ONCE:
                known.add(v)
                lanes.append(Load(v, self.source(v) if self.kinds[v] == LOAD else self.homes[v]))

    def once(self, stmts: list[Stmt]) -> tuple[Lane, ...]:
        """What does not vary: a straight line; NumPy's loops run on one element."""
        lanes: list[Lane] = []
        for v, kind in enumerate(self.kinds):
            if kind != ONCE or self.leaders[v] != v:
                continue
            inst = self.body[v]
            if inst.op in MEMORY:
                lanes.append(Load(v, self.source(v)))
            elif self.once_native(v):
                lanes.append(self.native_lane(v))
                lanes += [Store(self.homes[r], r) for r in self.results[v] if r in self.homes]
            else:
                call = self.call(v)
                assert isinstance(call, Call)           # a scan varies
                lanes.append(call)
                lanes += [Load(r, self.homes[r]) for r in self.results[v] if r >= 0]
        used = {a for lane in lanes for a in arguments(lane)}
        used |= {a for stmt in stmts if isinstance(stmt, Loop) for lane in stmt.body for a in arguments(lane)}
        return tuple(lane for lane in lanes if not isinstance(lane, Load) or lane.value in used)
