"""Assigning through a mask: functions that move values to the elements where a bool array is True.

In:  element sizes.   Out: ``void spread(ptr mask, ptr from, ptr end, i64 step, ptr to, i64 n)`` for each.
Masks and elements lie side by side; values are `step` bytes apart: an element's size, or 0 for one value.
Nothing is read from `end` on, even if the mask is not the one that was counted, and nothing is written but
where it is True: other threads may write to what lies between.
"""

from __future__ import annotations

from lazyarr.codegen.pack_bytes import ROUND, SIZES, kept, next_kept, type_of
from lazyarr.codegen.pack_bytes import functions as packing_functions
from lazyarr.codegen.reduce_flow import Function
from lazyarr.target import Target

PARAMS = "ptr %mask", "ptr %from", "ptr %end", "i64 %step", "ptr %to", "i64 %n"


def symbol_of(target: Target, size: int) -> str:
    return f"lazyarr_spread_bytes_{size}_{target.name}"


def text(target: Target) -> str:
    """The module of all functions, with those that pack."""
    written = [*packing_functions(target), *(_function(target, size) for size in SIZES)]
    declarations = {line: None for b in written for line in b.declarations}
    return "\n".join([*(b.text() for b in written), *declarations, ""])


def _function(target: Target, size: int) -> Function:
    b = Function(target, symbol_of(target, size), PARAMS)
    b.public = True
    aside, t = b.alloca(f"[{ROUND * size} x i8]"), type_of(size)
    one = b.op("icmp eq i64 %step, 0")
    with b.when(one), b.loop("0", str(ROUND)) as (k, _):
        value = b.op(f"load {t}, ptr %from, align 1")
        b.do(f"store {t} {value}, ptr {b.at(aside, b.mul(k, str(size)))}, align 1")
    whole = b.op(f"and i64 %n, {-ROUND}")
    place = b.alloca("ptr", 8)
    b.put(place, 0, "ptr", _rounds(b, size, whole, one, aside))
    with b.loop(whole, "%n") as (k, _):
        flag = b.op(f"load i8, ptr {b.at('%mask', k)}, align 1")
        source = b.word(place, 0, "ptr")
        with b.when(b.op(f"icmp ne i8 {flag}, 0")), b.when(b.op(f"icmp ult ptr {source}, %end")):
            b.put(place, 0, "ptr", _moved(b, size, source, k))
    return b


def _rounds(b: Function, size: int, whole: str, one: str, aside: str) -> str:
    """Whole rounds; where the next value is."""
    length = b.mul("%step", str(ROUND))
    with b.loop("0", whole, str(ROUND), [("ptr", "%from")]) as (first, state):
        bits = kept(b, b.at("%mask", first))
        none, usual = b.op(f"icmp eq i64 {bits}, 0"), b.add(first, str(ROUND))
        (following,) = b.rarely(none, "i64", [usual], lambda: [next_kept(b, usual, whole)])
        state.step = b.op(f"sub i64 {following}, {first}")
        source = state.now[0]
        after = b.at(source, length)
        every = b.op(f"icmp eq i64 {bits}, {(1 << ROUND) - 1}")
        every = b.op(f"and i1 {every}, {b.op(f'icmp ule ptr {after}, %end')}")
        with b.when(every):
            values = b.op(f"select i1 {one}, ptr {aside}, ptr {source}")
            t = type_of(size, ROUND)
            row = b.op(f"load {t}, ptr {values}, align 1")
            b.do(f"store {t} {row}, ptr {b.at('%to', b.mul(first, str(size)))}, align 1")
        left = b.op(f"select i1 {every}, i64 0, i64 {bits}")
        source = b.op(f"select i1 {every}, ptr {after}, ptr {source}")
        state.next = [_each(b, size, first, left, source)]
    return state.after[0]


def _each(b: Function, size: int, first: str, bits: str, source: str) -> str:
    """The values for a round's elements, bit by bit; where the next one is."""
    body, tested, done = b.place(), b.place(), b.place()
    before = b.block
    b.branch(b.op(f"icmp ne i64 {bits}, 0"), body, done)
    b.label(body)
    left, now = b.fresh("b"), b.fresh("c")
    at = len(b.lines)
    b.lines += ["", ""]
    b.branch(b.op(f"icmp ult ptr {now}, %end"), tested, done)
    b.label(tested)
    b.declare("declare i64 @llvm.cttz.i64(i64, i1)")
    lowest = b.op(f"call i64 @llvm.cttz.i64(i64 {left}, i1 true)")
    after = _moved(b, size, now, b.add(first, lowest))
    fewer = b.op(f"and i64 {left}, {b.add(left, '-1')}")
    b.lines[at] = f"  {left} = phi i64 [{bits}, %{before}], [{fewer}, %{tested}]"
    b.lines[at + 1] = f"  {now} = phi ptr [{source}, %{before}], [{after}, %{tested}]"
    b.branch(b.op(f"icmp ne i64 {fewer}, 0"), body, done)
    b.label(done)
    return b.op(f"phi ptr [{source}, %{before}], [{now}, %{body}], [{after}, %{tested}]")


def _moved(b: Function, size: int, source: str, k: str) -> str:
    """A value to element k; where the next one is."""
    t = type_of(size)
    value = b.op(f"load {t}, ptr {source}, align 1")
    b.do(f"store {t} {value}, ptr {b.at('%to', b.mul(k, str(size)))}, align 1")
    return b.at(source, "%step")
