"""Writes the code of all slots, methods and functions.

In:  where objects have their fields.   Out: a `Template`, in which these labels are of functions to be put in
place: `entry_of` a slot, `method_of` a name, routines of `tables.QUICK`, bodies of `tables.ATTRIBUTES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lazyarr.slots.asked import Asked
from lazyarr.slots.assembler import Assembler
from lazyarr.slots.attributes import Attributes
from lazyarr.slots.bodies import Bodies
from lazyarr.slots.calls import Calls
from lazyarr.slots.changes import Changes
from lazyarr.slots.containers import Containers
from lazyarr.slots.elements import Elements
from lazyarr.slots.elided import Elided
from lazyarr.slots.endings import Endings
from lazyarr.slots.firsts import Firsts
from lazyarr.slots.folds import Folds
from lazyarr.slots.fresh import Fresh
from lazyarr.slots.gathers import Gathers
from lazyarr.slots.items import Items
from lazyarr.slots.known import Known
from lazyarr.slots.listed import Listed
from lazyarr.slots.loop_tables import table_of, word_of
from lazyarr.slots.loops import Loops
from lazyarr.slots.mixed import Mixed
from lazyarr.slots.nests import Nests
from lazyarr.slots.part_calls import PartCalls, PartOperators
from lazyarr.slots.part_writes import PartWrites
from lazyarr.slots.parts import Parts
from lazyarr.slots.picks import Picks
from lazyarr.slots.placing import Placing
from lazyarr.slots.positions import Positions
from lazyarr.slots.products import Products
from lazyarr.slots.reshaping import Reshaping
from lazyarr.slots.routines import Routines
from lazyarr.slots.shapes import Shapes
from lazyarr.slots.short_rows import ShortRows
from lazyarr.slots.sizes import Sizes
from lazyarr.slots.spare_views import SpareViews
from lazyarr.slots.spares import Spares
from lazyarr.slots.tables import METHODS, OTHER_METHODS, SLOTS, UFUNC_METHODS, Slot
from lazyarr.slots.template import Template
from lazyarr.slots.views import Views
from lazyarr.slots.words import before, entry_of, method_of, record_of
from lazyarr.slots.x86 import R9, R10, R11

WRITERS = (
    Routines, Sizes, Parts, Loops, Mixed, Nests, ShortRows, Folds, Products, Bodies, Elided, PartOperators,
    Elements, Views, Items, Picks, Positions, Placing, PartWrites, Listed, Gathers, Calls, Asked, Containers,
    PartCalls, Changes, Shapes, Firsts, Attributes, Endings, Spares, SpareViews, Reshaping, Fresh,
)  # fmt: skip
"""Of bodies and routines."""
LOOPED = "binary", "unary", "product", "in_place", "comparison", "scalar first", "scalar compared"
"""Bodies that are given a table of loops."""


def written(places: Mapping[str, int]) -> Template:
    """The code, given the places and limits of `Known`."""
    asm = Assembler()
    named: dict[str, Any] = {name: name for name in Known._fields if name not in places}
    known = Known(**{**named, **places})
    for writer in WRITERS:
        writer(asm, known)
    for number, (_, slot) in enumerate(SLOTS):
        _entry(asm, slot, number)
    bodies = {
        **dict.fromkeys(METHODS.split(), "method"), **OTHER_METHODS,
        **dict.fromkeys(UFUNC_METHODS.split(), "ufunc method"),
    }  # fmt: skip
    for name, body in bodies.items():
        asm.label(method_of(name))
        asm.constant(R10, record_of(name))
        asm.jump(body)
    return Template(asm.finished(), asm.words, asm.labels)


def _entry(asm: Assembler, slot: Slot, number: int) -> None:
    """A slot's own function."""
    finds = f"methods of {number}"
    if slot.method:                                 # else the slot's own function would miss itself
        asm.label(finds)
        asm.constant(R10, f"__{slot.method}__")
        asm.constant(R11, f"__r{slot.method}__")
        asm.jump("power operator" if slot.method == "pow" else "operator")
    asm.label(entry_of(number))
    asm.constant(R10, slot.function or 0)
    if slot.method:
        asm.address(R11, finds)
    else:
        asm.constant(R11, before(number))
    if slot.body in LOOPED:
        table = table_of(slot.function)
        asm.constant(R9, word_of(table) if table else 0)
    asm.jump(slot.body)
