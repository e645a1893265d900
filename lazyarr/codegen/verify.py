"""Verify: proof, from the loop IR alone, that a kernel touches only memory that it may touch.

In:  a `Kernel` after any pass.   Out: nothing, or `InvalidKernel` with the first defect.
Given the ABI's promises (a chunk lies inside the shape, operands are as large as shape and strides
say, `scratch_bytes` per thread), it holds for a kernel that passes:

  * the elements that a statement touches are those of its range: a 'main' loop stops at a multiple of
    its lanes, or its last vector overlaps the one before (`emit_rows`), 'more' stops at a multiple of fewer,
    a 'rest' loop does what is left, and all have the same body;
  * block slots are used inside `Blocks` of no more elements than a slot has room for, and lie inside
    scratch memory; what a slot holds is not overwritten before its last use, and nothing is
    read that was not written; a call's results do not lie in its arguments;
  * within a loop operands are read before any is written; after a statement that writes operands only
    what was written is read again; every output is written by exactly one statement;
  * a gather's or scatter's offset is what an 'offset' made of positions, extents and strides, the latter two
    runtime scalars: whatever the positions are, it ends inside the table that the launch describes;
  * where rows run side by side, whole vectors are loaded only of elements that some operand visits in that
    row; what operands are to each other, the kernel compares with their addresses (`emit_jam`);
  * values are defined before use and have the dtypes that ops and memory expect.
"""

from __future__ import annotations

from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.jam import can_jam, main_of, rows_read
from lazyarr.codegen.loopir import (
    AFTER_MAIN,
    PLACE,
    Apply,
    Blocks,
    Call,
    Gather,
    Jam,
    Kernel,
    Lane,
    Load,
    Loop,
    Once,
    Ref,
    Scan,
    Scatter,
    Stmt,
    Store,
)
from lazyarr.codegen.natives import OFFSET
from lazyarr.dtypes import PLAIN


def verify_kernel(kernel: Kernel, after: str) -> None:
    """Check a kernel; `after` names the pass for the message."""
    try:
        Checker(kernel).run()
    except InvalidKernel as defect:
        raise InvalidKernel(f"after {after}: {defect}\n{kernel}") from None


def require(truth: bool, message: str) -> None:
    if not truth:
        raise InvalidKernel(message)


def _goes_on(stmt: Stmt | None) -> bool:
    """Does it leave elements to the next loop?"""
    return isinstance(stmt, Loop) and stmt.part in ("main", "more")


class Checker:
    """What is known while the statements are read in order."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.placed = all(slot.offset >= 0 for slot in kernel.slots)
        self.filled: set[int] = set()
        """Slots that hold what was last written to them."""
        self.fixed: dict[int, str] = {}
        """Values that Once defines, and their dtypes."""
        self.written: set[int] = set()
        """Operands that have been stored."""
        self.scalars: set[int] = set()
        """Values that are runtime scalars."""
        self.bounded: set[int] = set()
        """Values that are offsets inside a table."""
        self.bounded_slots: set[int] = set()
        self.block = 0
        """Elements of the enclosing Blocks; 0 outside."""

    def run(self) -> None:
        if self.placed:
            for k in range(len(self.kernel.slots)):
                self.slot_fits(k)
        self.statements(self.kernel.body)
        for how in self.kernel.jams:
            self.jam(how)
        outputs = {k for k, operand in enumerate(self.kernel.operands) if operand.role != "in"}
        require(self.written == outputs, f"operands {sorted(outputs - self.written)} are never stored")

    def slot_fits(self, k: int) -> None:
        slot = self.kernel.slots[k]
        require(slot.offset % 64 == 0, f"slot {k} is not aligned")
        end = slot.offset + self.extent(k)
        require(end <= self.kernel.scratch_bytes, f"slot {k} ends outside of scratch memory")

    def extent(self, k: int) -> int:
        """Bytes of a slot."""
        slot = self.kernel.slots[k]
        return PLAIN[slot.char].itemsize * (1 if slot.single else self.kernel.block)

    def jam(self, how: Jam) -> None:
        """Do whole vectors lie within what is visited?"""
        kernel = self.kernel
        require(how.rows > 1 and can_jam(kernel), "these rows cannot run side by side")
        for k, (operand, shift) in enumerate(zip(kernel.operands, kernel.shifts, strict=True)):
            same = operand == kernel.operands[shift.leader] and (operand.role, operand.access) == ("in", "u")
            leads = kernel.shifts[shift.leader] == (shift.leader, 0, 0)
            require(leads and (same or shift.leader == k), f"operand {k} is no other one, further on")
        lanes, read = main_of(kernel).lanes, rows_read(kernel, how.rows)
        for leader, row, first, last in how.across:
            require((leader, row) in read, f"row {row} of operand {leader} is not read")
            reads, pace = read[leader, row], how.pace // PLAIN[kernel.operands[leader].dtype].itemsize
            require(how.begin + first * pace >= reads.least, "a vector begins before its row")
            require(how.end + last * pace + lanes <= reads.most, "a vector ends behind its row")

    def overlap(self, j: int, k: int) -> bool:
        a, z = self.kernel.slots[j].offset, self.kernel.slots[k].offset
        return j == k or (self.placed and a < z + self.extent(k) and z < a + self.extent(j))

    # Statements

    def statements(self, stmts: tuple[Stmt, ...]) -> None:
        before: Stmt | None = None
        for stmt in stmts:
            if isinstance(stmt, Blocks):
                self.blocks(stmt)
            elif isinstance(stmt, Once):
                require(before is None and not self.block, "Once is not the first statement")
                for lane in stmt.body:
                    self.once(lane)
            elif isinstance(stmt, Call):
                self.call(stmt, single=False)
            elif isinstance(stmt, Scan):
                self.scan(stmt)
            elif stmt.part in AFTER_MAIN:
                require(_goes_on(before), f"'{stmt.part}' without 'main'")
                assert isinstance(before, Loop)
                fewer = 0 < stmt.lanes < before.lanes if stmt.part == "more" else stmt.lanes == 0
                require(fewer and stmt.body == before.body, f"'{stmt.part}' differs from 'main'")
            else:
                self.loop(stmt)
            following = isinstance(stmt, Loop) and stmt.part in AFTER_MAIN
            require(following or not _goes_on(before), "'main' without 'rest'")
            before = stmt
        require(not _goes_on(before), "'main' without 'rest'")

    def blocks(self, stmt: Blocks) -> None:
        require(not self.block, "nested Blocks")
        require(stmt.size > 0 and stmt.size % 64 == 0, f"blocks of {stmt.size} elements")
        once = set(self.filled)
        self.block = stmt.size
        self.statements(stmt.body)
        self.block = 0
        require(once <= self.filled, "a block overwrites what was computed once")

    def loop(self, loop: Loop) -> None:
        lanes = loop.lanes
        require(lanes >= 0 and lanes & (lanes - 1) == 0, f"{lanes} lanes are no power of two")
        require(loop.part in ("main", "more") or lanes == 0, "vectors in a loop that must do every element")
        values = dict(self.fixed)
        stored: set[int] = set()
        for lane in loop.body:
            require(not isinstance(lane, Call), "a call inside a loop")
            if isinstance(lane, Load | Gather):
                require(not (stored and lane.ref.space == "operand"), f"{lane.ref} is read after a store")
                require(lane.value not in values, f"%{lane.value} is defined twice")
            if isinstance(lane, Load):
                require(lane.ref.access != "z", f"{lane.ref} does not vary, but is loaded for each element")
            self.lane(lane, values)
            if isinstance(lane, Store | Scatter) and lane.ref.space == "operand":
                far = isinstance(lane, Scatter)
                require(far or lane.ref.access != "z" or lanes == 0, f"{lane.ref} is stored as a vector")
                require(lane.ref.index not in self.written | stored, f"{lane.ref} is stored twice")
                stored.add(lane.ref.index)
        self.written |= stored

    def once(self, lane: Lane) -> None:
        if isinstance(lane, Call):
            self.call(lane, single=True)
            return
        within = not isinstance(lane, Store) or lane.ref.space == "slot"
        require(within and not isinstance(lane, Scatter), "Once stores to an operand")
        still = not isinstance(lane, Load | Gather | Store) or lane.ref.access == "z"
        require(still, "Once touches what varies")
        self.lane(lane, self.fixed)

    def lane(self, lane: Lane, values: dict[int, str]) -> None:
        if isinstance(lane, Load):
            self.read(lane.ref)
            values[lane.value] = lane.ref.char
            if lane.ref.space == "scalar":
                self.scalars.add(lane.value)
            elif lane.ref.space == "slot" and lane.ref.index in self.bounded_slots:
                self.bounded.add(lane.value)
        elif isinstance(lane, Gather):
            self.read(lane.ref)
            self.far(lane, values)
            values[lane.value] = lane.ref.char
        elif isinstance(lane, Scatter):
            right = values.get(lane.value) == lane.ref.char
            require(right, f"{lane.ref} gets %{lane.value} of another dtype")
            self.far(lane, values)
            self.write(lane.ref)
        elif isinstance(lane, Store):
            right = values.get(lane.value) == lane.ref.char
            require(right, f"{lane.ref} gets %{lane.value} of another dtype")
            self.write(lane.ref)
            if lane.ref.space == "slot":
                (self.bounded_slots.add if lane.value in self.bounded else self.bounded_slots.discard)(
                    lane.ref.index
                )
        elif isinstance(lane, Apply):
            if lane.op == OFFSET:
                self.offset(lane)
            ins, _, outs = lane.sig.partition("->")
            have = "".join(values.get(a, "undefined") for a in lane.args)
            require(have == ins and len(outs) == len(lane.values), f"{lane.op}[{lane.sig}] gets {have}")
            values.update((v, c) for v, c in zip(lane.values, outs, strict=True) if v >= 0)

    def far(self, lane: Gather | Scatter, values: dict[int, str]) -> None:
        known = lane.offset in values and lane.offset in self.bounded and lane.ref.space == "operand"
        require(known, f"{lane.ref} is touched at an offset without bounds")

    def offset(self, lane: Apply) -> None:
        given = {*lane.args[1::3], *lane.args[2::3]}
        require(given <= self.scalars, "extents and strides of an offset are no runtime scalars")
        self.bounded.update(lane.values)

    def call(self, call: Call, single: bool) -> None:
        require(0 <= call.loop < len(self.kernel.loops), f"there is no loop {call.loop}")
        ins, _, outs = self.kernel.loops[call.loop][1].partition("->")
        require([r.char for r in call.ins] == list(ins), "a call's arguments are of other dtypes")
        require([r.char for r in call.outs] == list(outs), "a call's results are of other dtypes")
        for ref in call.ins:
            require(not single or ref.access == "z", f"{ref} varies")
            self.read(ref)
        for k, ref in enumerate(call.outs):
            require(ref.access == ("z" if single else "u"), f"{ref} cannot take a call's result")
            if ref.space == "slot":
                others = [r.index for r in (*call.ins, *call.outs[:k]) if r.space == "slot"]
                require(not any(self.overlap(ref.index, o) for o in others), f"{ref} lies in an argument")
            else:
                require(ref.index not in self.written, f"{ref} is stored twice")
        for ref in call.outs:
            self.write(ref)
        self.written |= {ref.index for ref in call.outs if ref.space == "operand"}

    def scan(self, scan: Scan) -> None:
        char = scan.sig[-1]
        require(scan.sig == f"{char}{char}->{char}", f"a scan by {scan.sig}")
        right = (scan.source.char, scan.target.char) == (char, char)
        require(right and scan.target.access != "z", f"{scan.target} cannot take running results")
        self.read(scan.source)
        self.write(scan.target)
        if scan.target.space == "operand":
            self.written.add(scan.target.index)

    # Memory

    def read(self, ref: Ref) -> None:
        if ref.space == "slot":
            self.at_slot(ref)
            require(ref.index in self.filled, f"{ref} is read, but holds something else")
        elif ref.space == "scalar":
            known = 0 <= ref.index < len(self.kernel.scalars)
            require(known and self.kernel.scalars[ref.index] == ref.char, f"there is no {ref}")
        elif ref.space == PLACE:
            self.at_operand(ref)
        else:
            self.at_operand(ref)
            role = self.kernel.operands[ref.index].role
            if self.written:
                again = ref.index in self.written and role == "out"
                require(again, f"{ref} is read after operands were stored")
            else:
                require(role != "out", f"{ref} is an output, but is read")

    def write(self, ref: Ref) -> None:
        if ref.space == "slot":
            self.at_slot(ref)
            self.filled = {k for k in self.filled if not self.overlap(k, ref.index)} | {ref.index}
        else:
            require(ref.space == "operand", f"{ref} cannot be stored")
            self.at_operand(ref)
            require(self.kernel.operands[ref.index].role != "in", f"{ref} is an input, but is stored")

    def at_operand(self, ref: Ref) -> None:
        require(0 <= ref.index < len(self.kernel.operands), f"there is no {ref}")
        operand = self.kernel.operands[ref.index]
        require((operand.dtype, operand.access) == (ref.char, ref.access), f"{ref} is not like its operand")

    def at_slot(self, ref: Ref) -> None:
        """A block slot has room for the whole range only inside Blocks."""
        require(0 <= ref.index < len(self.kernel.slots), f"there is no {ref}")
        slot = self.kernel.slots[ref.index]
        access = "z" if slot.single else "u"
        require((slot.char, access) == (ref.char, ref.access), f"{ref} is not like its slot")
        if self.placed and not slot.single:
            fits = 0 < self.block <= self.kernel.block
            require(fits, f"{ref} is used on more elements than it has room for")
