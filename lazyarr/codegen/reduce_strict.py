"""Folds of a block in memory that are no tree: NumPy's own loop with a resting accumulator, and the
search for the place of the best element.

In:  a block's slot, its length.   Out: the fold's carry slot in the context, brought up to date.
The carry of a search is the best element so far, and at byte 8 its position.
"""

from __future__ import annotations

from lazyarr.codegen.emit_lanes import splat
from lazyarr.codegen.emitters_types import convert
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import load_scalar, store_scalar
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.reduce_stretches import stretches
from lazyarr.dtypes import PLAIN

POSITION = 8
"""Offset of the position in a search's slot."""


def called_fold(
    r: Reduce, body: Body, fold: Fold, values: str, mask: str | None, count: str
) -> None:
    """NumPy's reduction: its binary loop, with the accumulator as first operand and as result."""
    b = body.f
    size = PLAIN[fold.char].itemsize
    acc = b.at("%ctx", r.context.carry(fold.number))
    if fold.how.cut:
        assert mask is not None
        stretches(r, body, fold, values, mask, count)
        return
    if mask is not None:
        count = _close_up(b, fold, values, mask, count)
    first, left = values, count
    if fold.how.start < 0:
        fresh = b.word("%ctx", r.context.fresh // 8)
        with b.when(b.op(f"icmp ne i64 {fresh}, 0")):
            store_scalar(b, fold.char, load_scalar(b, fold.char, values), acc)
        first = b.at(values, b.mul(fresh, str(size)))
        left = b.op(f"sub i64 {count}, {fresh}")
    body.call_on(r.loops.index((fold.how.ufunc, fold.sig)), (acc, first, acc), ("0", str(size), "0"), left)


def _close_up(b: Function, fold: Fold, values: str, mask: str, count: str) -> str:
    """Move the elements that take part together, and count them: the others are as if they were not."""
    size = str(PLAIN[fold.char].itemsize)
    with b.loop("0", count, "1", [("i64", "0")]) as (at, state):
        kept = state.now[0]
        x = load_scalar(b, fold.char, b.at(values, b.mul(at, size)))
        store_scalar(b, fold.char, x, b.at(values, b.mul(kept, size)))
        taken = b.op(f"zext i1 {load_scalar(b, '?', b.at(mask, at))} to i64")
        state.next = [b.add(kept, taken)]
    return state.after[0]


def search_block(
    r: Reduce, b: Function, fold: Fold, values: str, start: str, count: str, out: str
) -> None:
    """If the block's best beats the best so far, look where in the block it first stands."""
    carry = b.at("%ctx", r.context.carry(fold.number))
    best = load_scalar(b, fold.char, b.at(out, SLOT * fold.number))
    so_far = load_scalar(b, fold.char, carry)
    assert isinstance(best, str) and isinstance(so_far, str)
    fresh = b.op(f"icmp ne i64 {b.word('%ctx', r.context.fresh // 8)}, 0")
    with b.when(b.op(f"or i1 {fresh}, {better(b, fold, best, so_far)}")):
        found = _first(b, fold, values, best, count)
        store_scalar(b, fold.char, best, carry)
        b.put(carry, POSITION, "i64", b.add(start, found))


def better(b: Function, fold: Fold, x: str, y: str) -> str:
    """Does x replace y?  Any NaN is better than any number, and the first one stays."""
    most = fold.how.ufunc == "argmax"
    kind = PLAIN[fold.char].kind
    if kind == "b":
        x, y = (x, y) if most else (y, x)
        return b.op(f"and i1 {x}, {b.op(f'xor i1 {y}, true')}")
    t = PLAIN[fold.char].llvm
    if kind in "iu":
        return b.op(f"icmp {'s' if kind == 'i' else 'u'}{'gt' if most else 'lt'} {t} {x}, {y}")
    t, x, y = _comparable(b, t, x, y)
    beats = b.op(f"fcmp {'ugt' if most else 'ult'} {t} {x}, {y}")
    return b.op(f"and i1 {beats}, {b.op(f'fcmp ord {t} {y}, {y}')}")


def _comparable(b: Function, t: str, x: str, y: str) -> tuple[str, str, str]:
    """Two floats of a type as CPUs compare them: float16 in float32."""
    if t != "half":
        return b.ty(t), x, y
    return b.ty("float"), convert(b, "fpext", t, x, "float"), convert(b, "fpext", t, y, "float")


def _first(b: Function, fold: Fold, values: str, best: str, count: str) -> str:
    """Position in the block of the first element that equals `best`; NaN equals NaN here."""
    size = PLAIN[fold.char].itemsize
    with b.lanes(b.target.vector_bytes // size):
        vectors = b.op(f"and i64 {count}, {-b.width}")
        wanted = splat(b, PLAIN[fold.char].llvm, _byte(b, fold, best))
        start = b.until("0", vectors, str(b.width), lambda at: _equal(b, fold, values, at, wanted))
    return b.until(start, count, "1", lambda at: _equal(b, fold, values, at, _byte(b, fold, best)))


def _byte(b: Function, fold: Fold, value: str) -> str:
    """As in memory: bools are bytes there."""
    return b.op(f"zext i1 {value} to i8") if fold.char == "?" else value


def _equal(b: Function, fold: Fold, values: str, at: str, wanted: str) -> str:
    """Is any of the next elements equal (i1)?"""
    size, t = PLAIN[fold.char].itemsize, b.ty(PLAIN[fold.char].llvm)
    x = b.op(f"load {t}, ptr {b.at(values, b.mul(at, str(size)))}, align 1")
    if PLAIN[fold.char].kind == "f":
        t, x, wanted = _comparable(b, PLAIN[fold.char].llvm, x, wanted)
        found = b.op(f"fcmp oeq {t} {x}, {wanted}")
        found = b.op(f"or {b.ty('i1')} {found}, {b.op(f'fcmp uno {t} {x}, {x}')}")
    else:
        found = b.op(f"icmp eq {t} {x}, {wanted}")
    if fold.char == "?":                # any byte but 0 is True
        x, wanted = (b.op(f"icmp ne {t} {y}, {b.splat('i8', '0')}") for y in (x, wanted))
        found = b.op(f"icmp eq {b.ty('i1')} {x}, {wanted}")
    if not b.width:
        return found
    bits = b.op(f"bitcast {b.ty('i1')} {found} to i{b.width}")
    return b.op(f"icmp ne i{b.width} {bits}, 0")
