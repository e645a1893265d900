"""LLVM IR of what machine code does with the operands of a node that it makes.

In:  a function that is being written, its operands.   Out: reads and constants of them, the node's fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lazyarr.nodes_ir import HEAVY, Making
from lazyarr.nodes_words import Word
from lazyarr.object_fields import BASE, ITEMS, TYPE


class Inputs:
    """The operands of a node that is being made, of which the second may be none (0).

    They are `seen` through a geometry, or through their own; copies of plain ones lie as `copied` says, where
    that is not zero."""

    def __init__(
        self, f: Making, operands: Sequence[str], makers: Sequence[str], seen: str | None = None,
        copied: Sequence[str] = ("0", "0"),
    ) -> None:  # fmt: skip
        self.f, self.operands, self.makers, self.seen, self.copied = f, operands, makers, seen, copied
        self.outlines = [f.within("@outline", x) for x in operands]
        self.lists = [f.variable(0) for _ in operands]
        self.tuple = f.variable(0)
        self.depth, self.weight = f.variable(0), f.variable(1)

    def each(self) -> Iterator[tuple[int, str, int]]:
        """For those that there are: number, object, place in the tuple."""
        for k, x in enumerate(self.operands):
            with self.f.when("ne", x, 0):
                yield k, x, ITEMS + 8 * k

    def reads(self) -> Iterator[tuple[int, str, str]]:
        """For those that are arrays: number, array, its read."""
        f = self.f
        for k, x, item in self.each():
            read = f.load(f.get(self.tuple), item)
            with f.when("eq", f.load(read, TYPE), f.known(Word.READ)):
                yield k, x, read

    def make(self, count: str, give_up: Callable[[], None], let_go: Callable[[], None]) -> None:
        """Objects for them, without values, but those of plain arrays, which are copied.

        To copy may raise, by a signal's handler, say; then this function does, after `let_go`."""
        f, of = self.f, self.f.of
        f.set(self.tuple, f.made(Word.NEW_TUPLE, count))
        for k, x, item in self.each():
            maker, found = f.variable(self.makers[k]), f.variable(0)
            with f.is_lazy(x):
                f.set(self.lists[k], f.made(Word.LIST, 0))
                with f.when("eq", f.load(x, of.array_storage), f.known(Word.NONE)):
                    f.set(maker, f.known(Word.CAPTURE))
                    odd = f.by("or", f.load(f.load(x, of.array_geo), BASE), f.load(f.known(Word.UNUSUAL)))
                    with f.when("ne", self.copied[k], 0), f.when("eq", odd, 0):
                        f.set(maker, 0)
                        f.set(found, f.within("@snapshot", x, self.copied[k]))
                        with f.when("eq", f.get(found), 0):
                            f.give(0)
                with f.when("eq", f.get(maker), 0), f.when("eq", f.get(found), 0):
                    f.set(found, f.made(Word.ALLOC, f.known(Word.READ), 0))
            with f.when("ne", f.get(maker), 0):
                f.set(found, f.within("@called", f.get(maker), x))
                with f.when("eq", f.get(found), 0):
                    self.drop()
                    with f.when("eq", f.get(maker), f.known(Word.CAPTURE)):
                        let_go()
                        f.give(0)
                    f.on(Word.CLEAR, None)              # (Python tries again, and knows what to do)
                    give_up()
            with f.when("eq", f.get(found), 0):
                f.set(found, f.held(x))
            f.store(f.get(found), f.get(self.tuple), item)

    def drop(self) -> None:
        for mine in (self.tuple, *self.lists):
            self.f.on(Word.DECREF, self.f.get(mine))

    def changed(self) -> str:
        """Are some of them other arrays than they were, as Python has run meanwhile?  (Zero if not.)"""
        f, of, found = self.f, self.f.of, self.f.variable(0)
        for before, x in zip(self.outlines, self.operands, strict=True):
            with f.when("ne", before, f.within("@outline", x)):
                f.set(found, 1)
        for _, x, read in self.reads():
            to_read, storage = f.load(read, of.read_expr), f.load(x, of.array_storage)
            with f.when("eq", to_read, 0), f.when("eq", storage, f.known(Word.NONE)):
                f.set(found, 1)
        return f.get(found)

    def capture(self) -> None:
        """The values of now; what is below is counted."""
        f, of = self.f, self.f.of
        for _, x, read in self.reads():
            with f.when("eq", f.load(read, of.read_expr), 0):
                value = f.load(f.load(x, of.array_storage), of.storage_value)
                f.store(f.held(value), read, of.read_expr)
                geo = f.load(x, of.array_geo) if self.seen is None else self.seen
                f.store(f.held(geo), read, of.read_geo)
            self.count(f.load(read, of.read_expr))

    def count(self, value: str) -> None:
        """One more value, which may be pending, is below the node."""
        f, of = self.f, self.f.of
        with f.when("ne", f.load(value, of.op), f.known(Word.NONE)):
            below = f.of_c(Word.NUMBER, f.load(value, of.depth))
            with f.when("sgt", below, f.get(self.depth)):
                f.set(self.depth, below)
            heavy = f.variable(f.of_c(Word.NUMBER, f.load(value, of.weight)))
            with f.when("ugt", f.get(heavy), HEAVY):    # (or too large for a word, which is an error)
                f.on(Word.CLEAR, None)
                f.set(heavy, HEAVY)
            f.set(self.weight, f.add(f.get(self.weight), f.get(heavy)))

    def enlist(self, me: str, crowded: str, looks: str, old: Any = 0) -> None:
        """Let the values know their reader; which may be cause to look at their readers, or at the node."""
        f, of = self.f, self.f.of
        for k, _, read in self.reads():
            value = f.load(read, of.read_expr)
            found = f.within("@enlisted", value, me, f.get(self.lists[k]))
            f.set(crowded, f.by("or", f.get(crowded), found))
            with f.when("ne", value, old), f.when("ne", f.load(value, of.replaced), f.known(Word.FALSE)):
                f.set(crowded, 1)
            f.set(looks, f.by("or", f.get(looks), f.within("@exposed", value)))
            f.on(Word.DECREF, f.get(self.lists[k]))


def fill(f: Making, node: str, inputs: Inputs, fields: dict[str, str], owners: dict[str, str]) -> None:
    """Set all fields of a node, and some of other objects, whose references are the caller's."""
    none, false = f.known(Word.NONE), f.known(Word.FALSE)
    f.set(inputs.depth, f.add(f.get(inputs.depth), 1))
    usual = {
        "inputs": f.get(inputs.tuple), "masked": f.held(false), "buf": f.held(none),
        "readers": f.held(none), "replaced": f.held(false), "spared": f.held(false),
        "serial": f.of_c(Word.NEXT, f.known(Word.SERIALS)),
        "depth": f.of_c(Word.INT, f.get(inputs.depth)), "weight": f.of_c(Word.INT, f.get(inputs.weight)),
        "epoch": f.held(f.known(Word.LESS)), "node_index": f.held(f.known(Word.ZERO)),
    }  # fmt: skip
    for name, x in {**usual, **fields}.items():
        f.store(x, owners.get(name.split("_")[0], node), getattr(f.of, name))
    f.add_to(Word.COUNT, f.of.count_nodes_built, 1)
