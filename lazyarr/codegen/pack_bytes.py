"""Packing what exists: functions that move the elements where a bool array is True side by side.

In:  element sizes.   Out: ``void pack(ptr mask, ptr from, ptr to, ptr end, i64 n)`` for each of them.
Masks and elements lie side by side.  Nothing is written beyond `end`, even if the mask is not the one that
was counted: while there is room for all elements of a round, whole registers are stored, of which the next
ones overwrite what was not kept; the last rounds are packed aside, and what they keep is copied.  Where
nothing is kept no elements are read, and masks many at a time.  Elements as long as the shortest registers,
and longer ones, need no table: each is stored where the next one kept goes.
"""

from __future__ import annotations

from lazyarr.codegen.builder import FIRST_LEVEL, LINE
from lazyarr.codegen.mask_bits import ones
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_shuffle import Shuffle, shuffle_for, shuffled
from lazyarr.target import Target
from lazyarr.tuning import tuning

ROUND = 32
"""Elements: their masks fill a register."""

ROUNDS = 4
"""Rounds that are passed over together, where nothing is kept."""

MANY = 2
"""Kept ones of a round, at least, where elements are asked for ahead: else most would not be needed."""

SIZES = 1, 2, 4, 8, 16, 24, 32
"""Bytes of elements, or of rows of some."""

LANE = 8
"""Of these, as many as one lane of a register holds."""

PARAMS = "ptr %mask", "ptr %from", "ptr %to", "ptr %end", "i64 %n"


def packs(target: Target) -> bool:
    """Has the target instructions for it?"""
    return all(_shuffle(target, size) for size in SIZES if size <= LANE)


def symbol_of(target: Target, size: int) -> str:
    return f"lazyarr_pack_bytes_{size}_{target.name}"


def functions(target: Target) -> list[Function]:
    """One for each size."""
    return [_function(target, size) for size in SIZES]


def _shuffle(target: Target, size: int) -> Shuffle | None:
    return shuffle_for(target, size, ROUND)


def _function(target: Target, size: int) -> Function:
    b = Function(target, symbol_of(target, size), PARAMS)
    b.public = True
    aside = b.alloca(f"[{ROUND * size} x i8]")
    whole = b.op(f"and i64 %n, {-ROUND}")
    place = b.alloca("ptr", 8)
    b.put(place, 0, "ptr", _rounds(b, size, whole, aside))
    with b.loop(whole, "%n") as (k, _):
        flag = b.op(f"load i8, ptr {b.at('%mask', k)}, align 1")
        to = b.word(place, 0, "ptr")
        with b.when(b.op(f"icmp ne i8 {flag}, 0")), b.when(b.op(f"icmp ult ptr {to}, %end")):
            _copy(b, size, b.at("%from", b.mul(k, str(size))), to)
            b.put(place, 0, "ptr", b.at(to, size))
    return b


def _rounds(b: Function, size: int, whole: str, aside: str) -> str:
    """Whole rounds; where the next element goes."""
    with b.loop("0", whole, str(ROUND), [("ptr", "%to")]) as (first, state):
        bits = kept(b, b.at("%mask", first))
        none = b.op(f"icmp eq i64 {bits}, 0")
        (to,), usual = state.now, b.add(first, str(ROUND))
        (following,) = b.rarely(none, "i64", [usual], lambda: [next_kept(b, usual, whole)])
        state.step = b.op(f"sub i64 {following}, {first}")
        source = b.at("%from", b.mul(first, str(size)))
        some = b.op(f"xor i1 {none}, true")
        roomy = b.op(f"icmp ule ptr {b.at(to, ROUND * size)}, %end")
        here = b.op(f"and i1 {some}, {roomy}")
        last = b.op(f"and i1 {some}, {b.op(f'xor i1 {roomy}, true')}")
        (after,) = b.rarely(here, "ptr", [to], lambda: [_packed(b, size, source, to, bits)])
        state.next = b.rarely(last, "ptr", [after], lambda: [_apart(b, size, source, to, bits, aside)])
    return state.after[0]


def kept(b: Function, mask: str) -> str:
    """The bits of a round's masks."""
    flags = b.op(f"load <{ROUND} x i8>, ptr {mask}, align 1")
    flags = b.op(f"icmp ne <{ROUND} x i8> {flags}, zeroinitializer")
    return b.op(f"zext i{ROUND} {b.op(f'bitcast <{ROUND} x i1> {flags} to i{ROUND}')} to i64")


def next_kept(b: Function, first: str, whole: str) -> str:
    """The first round from one on after which anything is kept soon."""
    t, many = f"<{ROUND} x i8>", ROUNDS * ROUND

    def any_of(at: str) -> str:
        found = "zeroinitializer"
        for k in range(ROUNDS):
            flags = b.op(f"load {t}, ptr {b.at(b.at('%mask', at), k * ROUND)}, align 1")
            found = b.op(f"or {t} {found}, {flags}")
        return b.op(f"icmp ne i{8 * ROUND} {b.op(f'bitcast {t} {found} to i{8 * ROUND}')}, 0")

    return b.until(first, b.add(whole, str(1 - many)), str(many), any_of)


def _apart(b: Function, size: int, source: str, to: str, bits: str, aside: str) -> str:
    """The kept ones of a round, copied as far as there is room; where the next element goes."""
    _packed(b, size, source, aside, bits)
    kept = b.mul(ones(b, bits), str(size))
    left = b.op(f"sub i64 {b.op('ptrtoint ptr %end to i64')}, {b.op(f'ptrtoint ptr {to} to i64')}")
    with b.loop("0", b.smaller(kept, left), str(size)) as (at, _):
        _copy(b, size, b.at(aside, at), b.at(to, at))
    return b.at(to, kept)


def _copy(b: Function, size: int, source: str, to: str) -> None:
    t = type_of(size)
    b.do(f"store {t} {b.op(f'load {t}, ptr {source}, align 1')}, ptr {to}, align 1")


def type_of(size: int, count: int = 1) -> str:
    """That of some elements side by side, which is no integer where no lane holds one."""
    lanes = count * -(-size // LANE)
    lane = f"i{8 * min(size, LANE)}"
    return lane if lanes == 1 else f"<{lanes} x {lane}>"


def _packed(b: Function, size: int, source: str, to: str, bits: str) -> str:
    """Store the kept ones of a round side by side; where the next element goes."""
    if ahead := tuning(b.target.name).pack_ahead:
        many = b.op(f"icmp uge i64 {ones(b, bits)}, {MANY}")
        there = b.at(source, b.op(f"select i1 {many}, i64 {ahead}, i64 0"))
        for line in range(0, ROUND * size, LINE):
            b.prefetch(b.at(there, line), FIRST_LEVEL)
    if size > LANE:
        for k in range(ROUND):
            _copy(b, size, b.at(source, k * size), to)
            is_kept = b.op(f"and i64 {b.op(f'lshr i64 {bits}, {k}')}, 1")
            to = b.at(to, b.mul(is_kept, str(size)))
        return to
    shuffle = _shuffle(b.target, size)
    assert shuffle is not None
    n, t = shuffle.lanes, type_of(size, shuffle.lanes)
    for first in range(0, ROUND, n):
        row = b.op(f"and i64 {b.op(f'lshr i64 {bits}, {first}')}, {(1 << n) - 1}")
        piece = b.op(f"load {t}, ptr {b.at(source, first * size)}, align 1")
        b.do(f"store {t} {shuffled(b, shuffle, size, piece, row)}, ptr {to}, align 1")
        to = b.at(to, b.mul(ones(b, row), str(size)))
    return to
