"""Where elements are not zero, in machine code: what counts them, and what writes their positions.

In:  kinds of elements, side by side in memory.   Out: for each ``void count(ptr from, ptr counted, i64 n)``
and ``void find(ptr from, ptr to, ptr end, ptr found, i64 n)``: positions, and how many there were.
A table has the positions of the bits that are set in a byte, so eight elements take one look, however many
of them count, and nothing is guessed.  Nothing is written beyond `end`, even if elements are not those that
were counted: as long as there is room for all of a round whole registers are stored, the last ones aside.
"""

from __future__ import annotations

from lazyarr.codegen.mask_bits import ones
from lazyarr.codegen.pack_bytes import ROUND
from lazyarr.codegen.reduce_flow import Function
from lazyarr.target import Target

KINDS = {"b1": 1, "b2": 2, "b4": 4, "b8": 8, "f2": 2, "f4": 4, "f8": 8}
"""Elements, by their bytes: all bits count, or all but a sign, since zero may have one."""

ROW = 8
"""Bits that one row of the table is for."""

WORD = 8
"""Bytes of a position."""

COUNT_PARAMS = "ptr %from", "ptr %counted", "i64 %n"
FIND_PARAMS = "ptr %from", "ptr %to", "ptr %end", "ptr %found", "i64 %n"


def count_symbol(target: Target, kind: str) -> str:
    return f"lazyarr_count_places_{kind}_{target.name}"


def find_symbol(target: Target, kind: str) -> str:
    return f"lazyarr_find_places_{kind}_{target.name}"


def symbols(target: Target) -> list[tuple[str, str]]:
    """Of the functions for each kind."""
    return [(count_symbol(target, kind), find_symbol(target, kind)) for kind in KINDS]


def text(target: Target) -> str:
    """The module of them all."""
    written = [made for kind in KINDS for made in (_count(target, kind), _find(target, kind))]
    declarations = {line: None for b in written for line in b.declarations}
    return "\n".join([*(b.text() for b in written), *declarations, ""])


def _count(target: Target, kind: str) -> Function:
    b = Function(target, count_symbol(target, kind), COUNT_PARAMS)
    b.public = True
    whole = b.op(f"and i64 %n, {-ROUND}")
    with b.loop("0", whole, str(ROUND), [("i64", "0")]) as (first, state):
        state.next = [b.add(state.now[0], ones(b, _bits(b, kind, first, ROUND)))]
    with b.loop(whole, "%n", "1", [("i64", state.after[0])]) as (k, rest):
        rest.next = [b.add(rest.now[0], _bits(b, kind, k, 1))]
    b.put("%counted", 0, "i64", rest.after[0])
    return b


def _find(target: Target, kind: str) -> Function:
    b = Function(target, find_symbol(target, kind), FIND_PARAMS)
    b.public = True
    aside = b.alloca(f"[{(ROUND + ROW) * WORD} x i8]")
    whole = b.op(f"and i64 %n, {-ROUND}")
    with b.loop("0", whole, str(ROUND), [("ptr", "%to")]) as (first, state):
        (to,), bits = state.now, _bits(b, kind, first, ROUND)
        some = b.op(f"icmp ne i64 {bits}, 0")
        roomy = b.op(f"icmp ule ptr {b.at(to, (ROUND + ROW) * WORD)}, %end")
        here = b.op(f"and i1 {some}, {roomy}")
        last = b.op(f"and i1 {some}, {b.op(f'xor i1 {roomy}, true')}")
        (after,) = b.rarely(here, "ptr", [to], lambda: [_stored(b, first, bits, to)])
        state.next = b.rarely(last, "ptr", [after], lambda: [_apart(b, first, bits, to, aside)])
    with b.loop(whole, "%n", "1", [("ptr", state.after[0])]) as (k, rest):
        to = rest.now[0]
        kept = b.op(f"icmp ne i64 {_bits(b, kind, k, 1)}, 0")
        kept = b.op(f"and i1 {kept}, {b.op(f'icmp ult ptr {to}, %end')}")
        with b.when(kept):
            b.put(to, 0, "i64", k)
        rest.next = [b.at(to, b.op(f"select i1 {kept}, i64 {WORD}, i64 0"))]
    ends = [b.op(f"ptrtoint ptr {at} to i64") for at in (rest.after[0], "%to")]
    b.put("%found", 0, "i64", b.op(f"lshr i64 {b.op(f'sub i64 {ends[0]}, {ends[1]}')}, 3"))
    return b


def _bits(b: Function, kind: str, first: str, count: int) -> str:
    """Which of some elements are not zero: a bit for each."""
    size = KINDS[kind]
    element = f"i{8 * size}"
    t, zero = (element, "0") if count == 1 else (f"<{count} x {element}>", "zeroinitializer")
    found = b.op(f"load {t}, ptr {b.at('%from', b.mul(first, str(size)))}, align 1")
    if kind.startswith("f"):
        found = b.op(f"add {t} {found}, {found}")       # (without the sign)
    flags = b.op(f"icmp ne {t} {found}, {zero}")
    if count > 1:
        flags = b.op(f"bitcast <{count} x i1> {flags} to i{count}")
    return b.op(f"zext i{count} {flags} to i64")


def _stored(b: Function, first: str, bits: str, to: str) -> str:
    """Store the positions of a round, from its first one on; where the next one goes."""
    t = f"<{ROW} x i64>"
    for k in range(0, ROUND, ROW):
        row = b.op(f"and i64 {b.op(f'lshr i64 {bits}, {k}')}, {(1 << ROW) - 1}")
        there = b.op(f"load <{ROW} x i8>, ptr {b.at(_table(b), b.mul(row, str(ROW)))}, align {ROW}")
        start = b.op(f"insertelement {t} poison, i64 {b.add(first, str(k))}, i64 0")
        every = b.op(f"shufflevector {t} {start}, {t} poison, <{ROW} x i32> zeroinitializer")
        places = b.op(f"add {t} {b.op(f'zext <{ROW} x i8> {there} to {t}')}, {every}")
        b.do(f"store {t} {places}, ptr {to}, align {WORD}")
        to = b.at(to, b.mul(ones(b, row), str(WORD)))
    return to


def _apart(b: Function, first: str, bits: str, to: str, aside: str) -> str:
    """The positions of a round, copied as far as there is room; where the next one goes."""
    _stored(b, first, bits, aside)
    left = b.op(f"sub i64 {b.op('ptrtoint ptr %end to i64')}, {b.op(f'ptrtoint ptr {to} to i64')}")
    length = b.smaller(b.mul(ones(b, bits), str(WORD)), left)
    with b.loop("0", length, str(WORD)) as (at, _):
        b.put(b.at(to, at), 0, "i64", b.op(f"load i64, ptr {b.at(aside, at)}, align {WORD}"))
    return b.at(to, length)


def _table(b: Function) -> str:
    """For each byte, which of its bits are set, the lowest first."""
    rows = [[k for k in range(ROW) if bits >> k & 1] for bits in range(1 << ROW)]
    text = ", ".join(f"i8 {k}" for row in rows for k in (*row, *[0] * (ROW - len(row))))
    b.declare(f"@places_of_bits = private constant [{ROW << ROW} x i8] [{text}], align 64")
    return "@places_of_bits"
