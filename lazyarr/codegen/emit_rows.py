"""Rows in whole vectors: a loop over a row's elements whose vectors lie at multiples of their size, and whose
first and last ones overlap others instead of leaving elements to do one by one.

In:  the 'main' loop of a kernel of several loops, a row.   Out: code, in the place of the usual loop's.
A vector that crosses a cache line costs the processor two loads, or stores, and where rows begin anywhere
most vectors do.  What two vectors share is computed twice, which gives the same again where no result lies
where something is read; the launch knows that, so the kernel compares addresses (`apart`), and else goes on
from the row's first element in steps of whole vectors, as the usual loop.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.loopir import Apply, Kernel, Load, Loop, Once, Ref, Store
from lazyarr.dtypes import PLAIN
from lazyarr.records import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive elements of the innermost loop: what statements run on."""

    pointers: dict[int, str]
    """Operand -> address of the range's first element."""
    count: str


def overlapping(kernel: Kernel) -> bool:
    """May vectors of a row overlap, if results lie apart from what is read?"""
    main = [s for s in kernel.body if not isinstance(s, Once)]
    return (
        kernel.rank > 1 and not kernel.nontemporal and len(main) == 2
        and not any(operand.role == "inout" for operand in kernel.operands)
        and isinstance(main[0], Loop) and main[0].part == "main" and main[0].lanes > 1
        and all(
            isinstance(lane, Apply) or (isinstance(lane, Load | Store) and lane.ref.space == "operand")
            for lane in main[0].body
        )
        and leader(main[0]) is not None
    )  # fmt: skip


def leader(loop: Loop) -> Ref | None:
    """Where vectors should lie at multiples of their size: a store of the widest elements, or a load."""
    refs = [
        lane.ref for kind in (Store, Load) for lane in loop.body
        if isinstance(lane, kind) and lane.ref.access == "u"
    ]  # fmt: skip
    return max(refs, key=lambda ref: PLAIN[ref.char].itemsize, default=None)


def apart(b: Builder, kernel: Kernel, pointers: Mapping[int, str]) -> str:
    """Do results lie where nothing is read?  (Where they do not, it is the same element that is read.)"""
    found = "true"
    for k, out in enumerate(kernel.operands):
        for j, given in enumerate(kernel.operands):
            if out.role == "out" and given.role == "in" and given.access != "z":
                other = b.op(f"icmp ne ptr {pointers[k]}, {pointers[j]}")
                found = other if found == "true" else b.op(f"and i1 {found}, {other}")
    return found


class Walk:
    """The vectors of one row: where the last one begins, and the next one."""

    def __init__(self, b: Builder, apart: str, count: str, whole: str, lanes: int) -> None:
        self.b, self.apart, self.lanes = b, apart, lanes
        self.last = b.op(f"sub i64 {b.op(f'select i1 {apart}, i64 {count}, i64 {whole}')}, {lanes}")

    def second(self, first: str, itemsize: int) -> str:
        """Where the second vector begins, if the row's first element lies at this address: at a multiple."""
        b = self.b
        number = b.op(f"lshr i64 {b.op(f'ptrtoint ptr {first} to i64')}, {itemsize.bit_length() - 1}")
        before = b.op(f"and i64 {number}, {self.lanes - 1}")
        before = b.op(f"select i1 {self.apart}, i64 {before}, i64 0")
        return self.within(b.op(f"sub i64 {self.lanes}, {before}"))

    def after(self, at: str) -> str:
        """Where the vector begins that follows one at a multiple."""
        return self.within(self.b.op(f"add i64 {at}, {self.lanes}"))

    def within(self, at: str) -> str:
        behind = self.b.op(f"icmp ult i64 {self.last}, {at}")
        return self.b.op(f"select i1 {behind}, i64 {self.last}, i64 {at}")
