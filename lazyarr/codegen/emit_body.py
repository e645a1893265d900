"""The body of one loop over elements (or of a Once): straight-line code at one width.

In:  lane instructions, a Builder at some width, where each Ref lies.   Out: code, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lazyarr.codegen.abi import SCALAR_BYTES
from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emit_lanes import (
    Place,
    addresses,
    from_raw,
    load_far,
    load_raw,
    splat,
    splat_value,
    store_far,
    store_raw,
    to_raw,
)
from lazyarr.codegen.emitters_types import Value
from lazyarr.codegen.loopir import PLACE, Apply, Gather, Lane, Load, Ref, Scatter, Store
from lazyarr.codegen.native import native
from lazyarr.dtypes import PLAIN
from lazyarr.records import replace

PlaceOf = Callable[[Ref], Place]


class Registers:
    """Values of one piece of straight-line code, each in one or both of its forms."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.chars: dict[int, str] = {}
        self.raws: dict[int, str] = {}
        self.values: dict[int, Value] = {}
        self.repeated: dict[int, str] = {}
        """Where a scalar lies in memory, repeated (`abi.SCALAR_BYTES`)."""
        self.scalars: Registers = self
        """The values that do not vary, as scalars."""

    def value(self, v: int) -> Value:
        """As emitters take it."""
        found = self.values.get(v)
        if found is None:
            found = self.values[v] = from_raw(self.b, self.chars[v], self.raws[v])
        return found

    def raw(self, v: int) -> str:
        """As it lies in memory."""
        found = self.raws.get(v)
        if found is None:
            found = self.raws[v] = to_raw(self.b, self.chars[v], self.values[v])
        return found

    def copy(self) -> Registers:
        """The same values, for code that defines more."""
        other = Registers(self.b)
        other.scalars = self.scalars if self.scalars is not self else other
        other.chars, other.raws, other.values = self.chars.copy(), self.raws.copy(), self.values.copy()
        return other

    def spread(self, needed: Iterable[int]) -> Registers:
        """Scalars of this, in all lanes of the builder's width.

        LLVM's fast instruction selection has no rule for splats: it is quicker done with a load."""
        if not self.b.width:
            return self.copy()
        wide = Registers(self.b)
        wide.scalars = self
        for v in needed:
            if v in self.chars:
                char = wide.chars[v] = self.chars[v]
                if v in self.repeated and self.b.width * PLAIN[char].itemsize <= SCALAR_BYTES:
                    wide.raws[v] = load_raw(self.b, Place(char, "u", self.repeated[v], "0", ""))
                elif char == "?" and v in self.raws:
                    wide.raws[v] = splat(self.b, "i8", self.raws[v])
                else:
                    wide.values[v] = splat_value(self.b, char, self.values[v])
        return wide


def emit_body(body: Iterable[Lane], registers: Registers, place: PlaceOf) -> None:
    """Append the code of lane instructions other than calls."""
    b, loaded, chosen = registers.b, set[Ref](), set[int]()
    for lane in body:
        if isinstance(lane, Load) and lane.ref.space == PLACE:
            registers.chars[lane.value] = lane.ref.char
            registers.values[lane.value] = addresses(b, place(lane.ref))
        elif isinstance(lane, Load):
            loaded.add(lane.ref)
            registers.chars[lane.value] = lane.ref.char
            registers.raws[lane.value] = load_raw(b, place(lane.ref))
        elif isinstance(lane, Gather):
            registers.chars[lane.value] = lane.ref.char
            registers.raws[lane.value] = gather(b, lane, registers, place(lane.ref))
        elif isinstance(lane, Scatter):
            scatter(b, lane, registers, place(lane.ref))
        elif isinstance(lane, Apply):
            apply(b, lane, registers)
            if " = select " in b.lines[-1]:
                chosen.update(lane.values)
        else:
            assert isinstance(lane, Store)
            choice = lane.value in chosen and lane.ref in loaded
            store_raw(b, place(lane.ref), registers.raw(lane.value), choice)


def gather(b: Builder, lane: Gather, registers: Registers, place: Place) -> str:
    """Where the offset does not vary, a load from another address."""
    still = registers.scalars
    if lane.offset in still.chars:
        offset = still.value(lane.offset)
        moved = b.op(f"getelementptr i8, ptr {place.pointer}, i64 {offset}")
        return load_raw(b, replace(place, pointer=moved, streams=False))
    offset = registers.value(lane.offset)
    assert isinstance(offset, str)
    return load_far(b, place, offset)


def scatter(b: Builder, lane: Scatter, registers: Registers, place: Place) -> None:
    """Where the offset does not vary but the table moves, a store to another address."""
    still, raw = registers.scalars, registers.raw(lane.value)
    if b.width and place.access != "z" and lane.offset in still.chars:
        moved = b.op(f"getelementptr i8, ptr {place.pointer}, i64 {still.value(lane.offset)}")
        store_raw(b, replace(place, pointer=moved, streams=False), raw)
        return
    offset = registers.value(lane.offset)
    assert isinstance(offset, str)
    store_far(b, place, offset, raw)


def apply(b: Builder, lane: Apply, registers: Registers) -> None:
    emit = native(lane.op, lane.sig, b.target)
    assert emit is not None, lane
    results = emit(b, [registers.value(a) for a in lane.args])
    chars = lane.sig.partition("->")[2]
    for v, char, result in zip(lane.values, chars, results, strict=True):
        if v >= 0:
            registers.chars[v] = char
            registers.values[v] = result
