"""Sums of kept elements before anybody knows how many there are: all that may be leaves of NumPy's tree.

In:  a sequence of floats, from a multiple of eight elements on.
Out: for each octet (eight elements) the leaf that begins there, of one length and of one octet more; and the
fold of a range out of these (`sum_leaves`).
A leaf is eight sums that run from octet to octet, then added by neighbours.  Eight leaves that begin side by
side are made together, in registers that share what they load, and the neighbours of all eight added at once.
Where units for products have nothing to do with sums they make every other leaf (`Tuning.fused_folds`).
"""

from __future__ import annotations

from lazyarr.codegen.builder import FIRST_LEVEL, LINE
from lazyarr.codegen.fused_sums import one, sum_as_product
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.sum_leaves import LEVELS, OCTET
from lazyarr.dtypes import PLAIN
from lazyarr.target import Target
from lazyarr.tuning import tuning

REGISTER = 64
"""Bytes of what is added at once."""

SUMS_PARAMS = "ptr %in", "i64 %count", "i64 %leaf", "ptr %short", "ptr %long", "ptr %source"

LINES = 8
"""Cache lines that are asked for while eight leaves are made (`Tuning.sums_ahead`): half of what they were
packed from, if a mask keeps half of that."""


def sums_function(target: Target, name: str, char: str) -> Function:
    """The function that makes the leaves."""
    b = Function(target, name, SUMS_PARAMS)
    Sums(b, char).write()
    return b


class Sums:
    """Writes it."""

    def __init__(self, b: Function, char: str) -> None:
        self.b, self.char, row = b, char, PLAIN[char]
        self.t, self.size = row.llvm, row.itemsize
        self.abreast = max(1, REGISTER // (OCTET * self.size))
        """Octets of a register: so many leaves begin in it."""
        self.chains = OCTET // self.abreast
        self.lanes = OCTET * self.abreast
        self.vector = f"<{self.lanes} x {self.t}>"

    def write(self) -> None:
        b, size = self.b, str(self.size)
        self.one = self.unknown_one()
        spare = b.alloca(f"[{2 * OCTET} x {self.t}]")
        with b.loop("0", "%count", str(OCTET)) as (first, _):
            there = b.at("%source", b.mul(first, str(LINES * LINE // OCTET)))
            for line in range(0 if tuning(b.target.name).sums_ahead is None else LINES):
                b.prefetch(b.at(there, LINE * line), FIRST_LEVEL)
            short, long = self.leaves(b.at("%in", b.mul(first, str(OCTET * self.size))))
            left = b.op(f"sub i64 %count, {first}")
            whole = b.op(f"icmp sge i64 {left}, {OCTET}")
            for k, (made, to) in enumerate(((short, "%short"), (long, "%long"))):
                place, aside = b.at(to, b.mul(first, size)), b.at(spare, k * OCTET * self.size)
                place = b.op(f"select i1 {whole}, ptr {place}, ptr {aside}")
                b.do(f"store <{OCTET} x {self.t}> {made}, ptr {place}, align {self.size}")
            with b.otherwise(whole), b.loop("0", left) as (number, _):
                for at, to in ((0, "%short"), (OCTET * self.size, "%long")):
                    here = b.at(b.at(spare, at), b.mul(number, size))
                    x = b.op(f"load {self.t}, ptr {here}, align {self.size}")
                    place = b.at(to, b.mul(b.add(first, number), size))
                    b.do(f"store {self.t} {x}, ptr {place}, align {self.size}")

    def octet(self, at: str, number: int) -> str:
        """A register of octets, from one on."""
        place = self.b.at(at, number * OCTET * self.size)
        return self.b.op(f"load {self.vector}, ptr {place}, align {self.size}")

    def unknown_one(self) -> str | None:
        """A one in all lanes, where some sums are to be products."""
        if not tuning(self.b.target.name).fused_folds:
            return None
        with self.b.lanes(self.lanes):
            return one(self.b, self.char, "%count")

    def plus(self, chain: int, acc: str, x: str) -> str:
        """A chain and the next octets."""
        b = self.b
        if self.one is None or chain % 2:
            return b.op(f"fadd {self.vector} {acc}, {x}")
        with b.lanes(self.lanes):
            return sum_as_product(b, self.char, x, self.one, acc)

    def leaves(self, at: str) -> tuple[str, str]:
        """Eight leaves that begin side by side, of either length."""
        b, each = self.b, self.abreast
        last = each * (self.chains - 1)         # the first octet that all chains have
        loaded = [self.octet(at, j) for j in range(last + 1)]
        chains = []
        for k in range(self.chains):
            acc = loaded[each * k]
            for x in loaded[each * k + 1 :]:
                acc = self.plus(k, acc, x)
            chains.append(acc)
        with b.loop(str(last + 1), "%leaf", "1", [(self.vector, acc) for acc in chains]) as (j, carried):
            x = self.octet(b.at(at, b.mul(j, str(OCTET * self.size))), 0)
            carried.next = [self.plus(k, acc, x) for k, acc in enumerate(carried.now)]
        behind = b.at(at, b.mul("%leaf", str(OCTET * self.size)))
        loaded = [self.octet(behind, j) for j in range(last + 1)]
        short, long = [], []
        for k, acc in enumerate(carried.after):
            for x in loaded[: each * k]:
                acc = self.plus(k, acc, x)
            short.append(acc)
            long.append(self.plus(k, acc, loaded[each * k]))
        return self.neighbours(short), self.neighbours(long)

    def neighbours(self, chains: list[str]) -> str:
        """Each leaf's eight sums added up, neighbours first."""
        n = OCTET
        leaves = [
            self.picked(acc, acc, [u * n + k for k in range(n)], n * self.abreast)
            for acc in chains for u in range(self.abreast)
        ]  # fmt: skip
        # Of two leaves: the first, second, ... pair of each in turn.
        pairs = [self.joined(x, y, _ALTERNATE) for x, y in zip(leaves[::2], leaves[1::2], strict=True)]
        fours = [self.joined(x, y, _HALVES) for x, y in zip(pairs[::2], pairs[1::2], strict=True)]
        first, others = fours
        return self.joined(first, others, _ENDS)

    def joined(self, x: str, y: str, order: tuple[list[int], list[int]]) -> str:
        """Lanes of two vectors, added to their neighbours."""
        left, right = (self.picked(x, y, lanes, OCTET) for lanes in order)
        return self.b.op(f"fadd <{OCTET} x {self.t}> {left}, {right}")

    def picked(self, x: str, y: str, lanes: list[int], of: int) -> str:
        if x == y and of == OCTET:
            return x
        t = f"<{of} x {self.t}>"
        mask = ", ".join(f"i32 {k}" for k in lanes)
        return self.b.op(f"shufflevector {t} {x}, {t} {y}, <{OCTET} x i32> <{mask}>")


_ALTERNATE = [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]
_HALVES = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
_ENDS = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]


def fold_of_leaves(
    b: Function, char: str, first: str, octets: str, leaf: str, short: str, room: str
) -> str:
    """The fold of a range of eight leaves that begins with the octet `first`; `short` is where the sums of
    the shorter leaves are, and `room` elements on those of the longer ones."""
    t, size = PLAIN[char].llvm, PLAIN[char].itemsize
    totals = []
    for k in range(1 << LEVELS):
        reverse = int(f"{k:0{LEVELS}b}"[::-1], 2)
        mine = b.op(f"lshr i64 {b.add(octets, str(reverse))}, {LEVELS}")
        longer = b.op(f"icmp ne i64 {mine}, {leaf}")
        at = b.add(first, b.op(f"select i1 {longer}, i64 {room}, i64 0"))
        totals.append(b.op(f"load {t}, ptr {b.at(short, b.mul(at, str(size)))}, align {size}"))
        first = b.add(first, mine)
    while len(totals) > 1:
        totals = [b.op(f"fadd {t} {x}, {y}") for x, y in zip(totals[::2], totals[1::2], strict=True)]
    return totals[0]
