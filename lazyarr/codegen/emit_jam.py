"""Rows side by side: the code of a `Jam`.

In:  an emitter at the last loop but one.   Out: code of a loop over blocks of rows; rows that are left are
the next `Jam`'s, then the usual loop's.
Vectors lie as `emit_rows` has them: the first row's results at multiples of their size, and the first and
the last vector of a row overlap others.  Within a block of rows a vector of an array is loaded once, by its
row and how far beside the results it lies.  Where that is some elements, a row's vectors at steps of a whole
or half a register (`jam.PACES`) pass from one position to the next in registers, and what lies between two of
them is a shuffle; at the first two positions of a row, and at the last ones, it is a load.
Kernels depend on what operands are to each other, but not on whose they are: addresses and strides are
compared first, and where they are others than was said, all rows are the usual loop's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lazyarr.codegen import emit_rows, fused_sums
from lazyarr.codegen.emit_body import PlaceOf, Registers, emit_body
from lazyarr.codegen.emit_lanes import Place, load_raw, raw_type
from lazyarr.codegen.jam import Across, Row, main_of, once_of, rows_read
from lazyarr.codegen.loopir import Apply, Jam, Load, arguments
from lazyarr.dtypes import PLAIN
from lazyarr.tuning import tuning

if TYPE_CHECKING:
    from lazyarr.codegen.emit import Emitter

LONG = 12
"""Vectors of a row, at least: shorter rows are done before those around the loop at multiples pay."""

Vectors = dict[tuple[Row, int], str]
"""By row of an array, and how many elements (or vectors that are loaded whole) beside the results."""


def compared(e: Emitter, apart: str, pointers: dict[int, str]) -> str:
    """Are results apart, and operands to each other as was said?"""
    b, strides, found = e.b, e.strides, [apart]
    for k, (leader, rows, elements) in enumerate(e.kernel.shifts):
        if leader == k:
            continue
        at = moved(e, pointers[leader], leader, rows)
        size = PLAIN[e.kernel.operands[k].dtype].itemsize
        at = b.op(f"getelementptr i8, ptr {at}, i64 {elements * size}")
        found.append(b.op(f"icmp eq ptr {at}, {pointers[k]}"))
        found += [
            b.op(f"icmp eq i64 {strides[k, d]}, {strides[leader, d]}") for d in range(e.kernel.rank - 1)
        ]
    both = found[0]
    for other in found[1:]:
        both = b.op(f"and i1 {both}, {other}")
    return both


def moved(e: Emitter, pointer: str, k: int, rows: int) -> str:
    """An operand's address some rows further on."""
    if not rows:
        return pointer
    far = e.b.op(f"mul i64 {e.strides[k, e.kernel.rank - 2]}, {rows}")
    return e.b.op(f"getelementptr i8, ptr {pointer}, i64 {far}")


class Jammed:
    """Some rows of one kernel that run side by side, if operands are `as_said`."""

    def __init__(self, e: Emitter, how: Jam, as_said: str) -> None:
        kernel = e.kernel
        self.e, self.b, self.kernel, self.how, self.as_said = e, e.b, kernel, how, as_said
        self.loop = main_of(kernel)
        self.lanes, self.d = self.loop.lanes, kernel.rank - 2
        self.read = rows_read(kernel, self.how.rows)
        self.across = {(leader, row): self.steps(leader, c, d) for leader, row, c, d in self.how.across}
        once = once_of(kernel)
        self.varies = any(
            isinstance(x, Load) and x.ref.space == "operand" for x in (once.body if once is not None else ())
        )
        """Is there something that is the same along a row, but not in all rows?"""
        fuses = tuning(self.b.target.name).fused_sums
        self.fused = fused_sums.chosen(self.loop.body) if fuses else {}
        """By their places in the loop, sums that units for products compute."""
        self.ones = dict[str, str]()

    def steps(self, leader: int, first: int, last: int) -> Across:
        pace = self.how.pace // PLAIN[self.kernel.operands[leader].dtype].itemsize
        return Across(first, last, pace, self.lanes // pace)

    def char(self, row: Row) -> str:
        return self.kernel.operands[row[0]].dtype

    def nest(self, pointers: dict[int, str], rows: str, count: str) -> tuple[dict[int, str], str]:
        """The loop over blocks of rows; where the rows begin that are left, and how many these are."""
        e, b = self.e, self.b
        head, latch, after = (b.fresh(stem)[1:] for stem in ("block", "next", "left"))
        some = b.op(f"and i1 {self.as_said}, {b.op(f'icmp uge i64 {count}, {LONG * self.lanes}')}")
        blocks = b.op(f"select i1 {some}, i64 {b.op(f'udiv i64 {rows}, {self.how.rows}')}, i64 0")
        width, b.width = b.width, self.lanes
        self.ones = {c: fused_sums.one(b, c, count) for c in dict.fromkeys(self.fused.values())}
        b.width = width
        before = b.block
        b.do(f"br i1 {b.op(f'icmp ne i64 {blocks}, 0')}, label %{head}, label %{after}")
        e.label(head)
        b.do(f"%i.{head} = phi i64 [ 0, %{before} ], [ %i.{latch}, %{latch} ]")
        inside, left = {}, {}
        for k, pointer in pointers.items():
            inside[k] = f"%p{k}.{head}"
            b.do(f"{inside[k]} = phi ptr [ {pointer}, %{before} ], [ %p{k}.{latch}, %{latch} ]")
        self.block(inside, count)
        b.do(f"br label %{latch}")
        e.label(latch)
        b.do(f"%i.{latch} = add i64 %i.{head}, 1")
        for k, pointer in inside.items():
            far = b.op(f"mul i64 {e.strides[k, self.d]}, {self.how.rows}")
            b.do(f"%p{k}.{latch} = getelementptr i8, ptr {pointer}, i64 {far}")
        more = b.op(f"icmp ult i64 %i.{latch}, {blocks}")
        b.do(f"br i1 {more}, label %{head}, label %{after}")
        e.label(after)
        for k, pointer in pointers.items():
            left[k] = b.op(f"phi ptr [ {pointer}, %{before} ], [ %p{k}.{latch}, %{latch} ]")
        return left, b.op(f"sub i64 {rows}, {b.op(f'mul i64 {blocks}, {self.how.rows}')}")

    def block(self, pointers: dict[int, str], count: str) -> None:
        """One block of rows."""
        e, b, lanes = self.e, self.b, self.lanes
        rows = [{k: moved(e, p, k, r) for k, p in pointers.items()} for r in range(self.how.rows)]
        self.arrays = {row: moved(e, pointers[row[0]], *row) for row in self.read}
        self.wide = [self.entered(row, count) for row in (rows if self.varies else rows[:1])]
        self.wide *= 1 if self.varies else len(rows)
        b.width = 0
        walk, leader = emit_rows.Walk(b, "true", count, count, lanes), emit_rows.leader(self.loop)
        assert leader is not None
        second = walk.second(pointers[leader.index], PLAIN[leader.char].itemsize)
        limit = b.op(f"add i64 {count}, {self.how.end}")
        pre, plain, turn, lead, whole, done = (
            b.fresh(stem)[1:] for stem in ("pre", "plain", "turn", "lead", "whole", "done")
        )  # fmt: skip
        b.do(f"br label %{pre}")
        e.label(pre)
        b.do(f"br label %{plain}")
        e.label(plain)
        edges = [f"[ 0, %{pre} ]", f"[ %n.{plain}, %{turn} ]"]
        edges += [f"[ %n.{whole}, %{whole} ]"] if self.across else []
        at = f"%i.{plain}"
        b.do(f"{at} = phi i64 {', '.join(edges)}")
        self.vectors(rows, at, None)
        first = b.op(f"icmp eq i64 {at}, 0")
        following = b.op(f"select i1 {first}, i64 {second}, i64 {b.op(f'add i64 {at}, {lanes}')}")
        b.do(f"%n.{plain} = add i64 {walk.within(following)}, 0")
        b.do(f"br i1 {b.op(f'icmp ult i64 {at}, {walk.last}')}, label %{turn}, label %{done}")
        e.label(turn)
        if self.across:
            room = b.op(f"icmp sle i64 {following}, {limit}")
            room = b.op(f"and i1 {room}, {b.op(f'icmp sge i64 {following}, {self.how.begin}')}")
            b.do(f"br i1 {room}, label %{lead}, label %{plain}")
            self.between(rows, following, limit, walk, (turn, lead, whole, plain))
        else:
            b.do(f"br label %{plain}")
        e.label(done)

    def entered(self, row: dict[int, str], count: str) -> Registers:
        """What does not vary along a row, in all lanes."""
        e, once = self.e, once_of(self.kernel)
        if once is not None:
            e.once(once, emit_rows.Range(row, count))
        self.b.width = self.lanes
        return e.fixed.spread(dict.fromkeys(a for lane in self.loop.body for a in arguments(lane)))

    def between(
        self, rows: list[dict[int, str]], start: str, limit: str, walk: emit_rows.Walk,
        labels: tuple[str, str, str, str],
    ) -> None:  # fmt: skip
        """The loop in which vectors at multiples pass from position to position."""
        e, b = self.e, self.b
        _, lead, whole, plain = labels
        e.label(lead)
        held = [(row, c) for row, across in self.across.items() for c in across.held]
        b.width = self.lanes
        begun = [self.held(row, start, c) for row, c in held]
        b.do(f"br label %{whole}")
        e.label(whole)
        at = f"%i.{whole}"
        b.do(f"{at} = phi i64 [ {start}, %{lead} ], [ %m.{whole}, %{whole} ]")
        vectors: Vectors = {place: f"%v{k}.{whole}" for k, place in enumerate(held)}
        passing = len(b.lines)
        b.lines += [""] * len(held)         # (what comes next from where is known below)
        self.vectors(rows, at, vectors)
        for k, (row, c) in enumerate(held):
            ty, following = self.whole_numbers(row), self.whole(row, at, c + self.across[row].on, vectors)
            b.lines[passing + k] = (
                f"  {vectors[row, c]} = phi {ty} [ {begun[k]}, %{lead} ], [ {following}, %{whole} ]"
            )
        b.do(f"%m.{whole} = add i64 {at}, {self.lanes}")
        b.do(f"%n.{whole} = add i64 {walk.within(f'%m.{whole}')}, 0")
        b.do(f"br i1 {b.op(f'icmp sle i64 %m.{whole}, {limit}')}, label %{whole}, label %{plain}")

    def load(self, row: Row, at: str, elements: int) -> str:
        """A vector of a row, so many elements beside a position."""
        char = self.char(row)
        pointer = self.arrays[row]
        if elements:
            far = elements * PLAIN[char].itemsize
            pointer = self.b.op(f"getelementptr i8, ptr {pointer}, i64 {far}")
        return load_raw(self.b, Place(char, "u", pointer, at, ""))

    def vectors(self, rows: list[dict[int, str]], at: str, whole: Vectors | None) -> None:
        """One vector of each row; `whole` are those that the position before has loaded, None: nothing is
        shuffled."""
        b = self.b
        known: Vectors = {}
        b.width = self.lanes
        for r, pointers in enumerate(rows):
            registers = self.wide[r].copy()
            for k, lane in enumerate(self.loop.body):
                if isinstance(lane, Load) and self.row_of(lane.ref.index, r) in self.read:
                    row = self.row_of(lane.ref.index, r)
                    elements = self.kernel.shifts[lane.ref.index].elements
                    if (row, elements) not in known:
                        known[row, elements] = self.beside(row, at, elements, whole)
                    registers.chars[lane.value] = lane.ref.char
                    registers.raws[lane.value] = known[row, elements]
                elif isinstance(lane, Apply) and k in self.fused:
                    fused_sums.fused(b, lane, registers, self.ones[self.fused[k]])
                else:
                    emit_body((lane,), registers, self.places(pointers, at))
        b.width = 0

    def places(self, pointers: dict[int, str], at: str) -> PlaceOf:
        return lambda ref: self.e.place(ref, pointers[ref.index], at)

    def row_of(self, operand: int, r: int) -> Row:
        shift = self.kernel.shifts[operand]
        return shift.leader, shift.rows + r

    def beside(self, row: Row, at: str, elements: int, whole: Vectors | None) -> str:
        """The vector so many elements beside the results."""
        across = self.across.get(row)
        if whole is None or across is None or abs(elements) >= self.lanes:
            return self.load(row, at, elements)
        ty, parts = self.whole_numbers(row), across.between(elements)
        vectors = [self.whole(row, at, c, whole) for c in parts]
        moved = vectors[0]
        if len(vectors) > 1:
            mask = ", ".join(f"i32 {k}" for k in self.order(across, elements % across.pace))
            moved = self.b.op(
                f"shufflevector {ty} {vectors[0]}, {ty} {vectors[1]}, <{self.lanes} x i32> <{mask}>"
            )
        return self.b.op(f"bitcast {ty} {moved} to {raw_type(self.char(row), self.lanes)}")

    def order(self, across: Across, elements: int) -> Iterator[int]:
        """Which elements of two vectors lie so many further on than the first, in each part of a `pace`."""
        for k in range(self.lanes):
            part, at = divmod(k % across.pace + elements, across.pace)
            yield k // across.pace * across.pace + at + part * self.lanes

    def whole(self, row: Row, at: str, vector: int, known: Vectors) -> str:
        """A vector that is loaded once."""
        if (row, vector) not in known:
            known[row, vector] = self.held(row, at, vector)
        return known[row, vector]

    def whole_numbers(self, row: Row) -> str:
        """The type of vectors that are shuffled: LLVM has the one instruction for that, VALIGN, for integers
        alone."""
        return f"<{self.lanes} x i{8 * PLAIN[self.char(row)].itemsize}>"

    def held(self, row: Row, at: str, vector: int) -> str:
        """A vector of a row that is loaded whole, so many beside a position."""
        raw = self.load(row, at, vector * self.across[row].pace)
        return self.b.op(f"bitcast {raw_type(self.char(row), self.lanes)} {raw} to {self.whole_numbers(row)}")
