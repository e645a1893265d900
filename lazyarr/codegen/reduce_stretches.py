"""Sums under a mask, as NumPy makes them: each stretch of elements that take part is a run of its own.

In:  a block's values and mask in memory, which are a whole run.
Out: the fold's carry slot, brought up to date.
A mask is looked at 64 elements at a time.  Up to where a long stretch begins, elements go through one loop
without branches, since nobody can guess where short stretches end: one that does not take part adds its
stretch's sum to the accumulator, and begins the next one.  What is added where there is nothing to add is
-0.0, which changes no number.  Long stretches are NumPy's loop's.
"""

from __future__ import annotations

from lazyarr.codegen.folds import Fold
from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.dtypes import PLAIN

WORD = 64
"""Elements of a mask whose bits are one integer."""

LONG = 8
"""Elements of the shortest stretch that NumPy's pairwise sum does not add up one by one."""

REGISTER = 16
"""Bytes of a vector whose first lane is the number: there its bits are masked without a branch."""


def stretches(r: Reduce, body: Body, fold: Fold, values: str, mask: str, count: str) -> None:
    """Fold all of a block."""
    b, size = body.f, str(PLAIN[fold.char].itemsize)
    acc, place, step = b.at("%ctx", r.context.carry(fold.number)), b.alloca("i64", 8), b.alloca("i64", 8)
    with b.loop("0", count) as (at, state):
        word = _word(b, mask, at, count, place)
        called = word
        if PLAIN[fold.char].kind == "f":
            for shift in (1, 2, 4):         # where as many as `LONG` begin
                called = b.op(f"and i64 {called}, {b.op(f'lshr i64 {called}, {shift}')}")
        calls = b.op(f"icmp ne i64 {called}, 0")
        # The last stretch of a word may go on in the next one.
        gap = b.op(f"sub i64 {WORD}, {_count(b, 'ctlz', b.op(f'xor i64 {word}, -1'))}")
        gap = b.smaller(gap, b.op(f"sub i64 {count}, {at}"))
        first = b.add(at, b.op(f"select i1 {calls}, i64 {_count(b, 'cttz', called)}, i64 {gap}"))
        b.put(step, 0, "i64", b.op(f"sub i64 {first}, {at}"))
        if PLAIN[fold.char].kind == "f":
            with b.when(b.op(f"icmp ne i64 {word}, 0")):
                low = b.add(at, _count(b, "cttz", word))
                end = b.add(at, b.op(f"sub i64 {WORD}, {_count(b, 'ctlz', word)}"))
                _short(b, fold, values, mask, low, b.smaller(first, end), acc)
        with b.when(calls):
            last = end_of(b, mask, first, count, place)
            here, n = b.at(values, b.mul(first, size)), b.op(f"sub i64 {last}, {first}")
            body.call_on(r.loops.index((fold.how.ufunc, fold.sig)), (acc, here, acc), ("0", size, "0"), n)
            b.put(step, 0, "i64", b.op(f"sub i64 {last}, {at}"))
        state.step = b.word(step, 0)


def _word(b: Function, mask: str, at: str, count: str, place: str) -> str:
    """Which of the next elements take part, by bits; none beyond the end."""
    left = b.op(f"sub i64 {count}, {at}")
    whole = b.op(f"icmp sge i64 {left}, {WORD}")
    with b.when(whole):
        taken = b.op(f"load <{WORD} x i8>, ptr {b.at(mask, at)}, align 1")
        taken = b.op(f"icmp ne <{WORD} x i8> {taken}, zeroinitializer")
        b.put(place, 0, "i64", b.op(f"bitcast <{WORD} x i1> {taken} to i{WORD}"))
    with b.otherwise(whole):
        with b.loop("0", left, "1", [("i64", "0")]) as (k, state):
            bit = b.op(f"zext i1 {_takes_part(b, mask, b.add(at, k))} to i64")
            state.next = [b.op(f"or i64 {state.now[0]}, {b.op(f'shl i64 {bit}, {k}')}")]
        b.put(place, 0, "i64", state.after[0])
    return b.word(place, 0)


def _takes_part(b: Function, mask: str, at: str) -> str:
    return b.op(f"icmp ne i8 {b.op(f'load i8, ptr {b.at(mask, at)}, align 1')}, 0")


def _count(b: Function, what: str, word: str) -> str:
    """Zeros at one end of a word."""
    b.declare(f"declare i64 @llvm.{what}.i64(i64, i1)")
    return b.op(f"call i64 @llvm.{what}.i64(i64 {word}, i1 false)")


def end_of(b: Function, mask: str, first: str, count: str, place: str) -> str:
    """Where a stretch ends."""

    def left_out(at: str) -> str:
        return b.op(f"xor i64 {_word(b, mask, at, count, place)}, -1")

    at = b.until(first, count, str(WORD), lambda at: b.op(f"icmp ne i64 {left_out(at)}, 0"))
    return b.add(at, _count(b, "cttz", left_out(at)))


def _short(b: Function, fold: Fold, values: str, mask: str, first: str, last: str, acc: str) -> None:
    """Stretches that NumPy's tree folds one by one."""
    size, t = PLAIN[fold.char].itemsize, PLAIN[fold.char].llvm
    lanes, bits = REGISTER // size, f"i{8 * size}"
    numbers, patterns = f"<{lanes} x {t}>", f"<{lanes} x {bits}>"
    ones, sign = (f"<{', '.join([f'{bits} {n}'] * lanes)}>" for n in (-1, -(1 << (8 * size - 1))))

    def lane(kind: str, scalar: str, value: str) -> str:
        return b.op(f"insertelement {kind} zeroinitializer, {scalar} {value}, i32 0")

    def cast(value: str, source: str, to: str) -> str:
        return b.op(f"bitcast {source} {value} to {to}")

    def where(chosen: str, value: str, other: str) -> str:
        """The value's bits, and -0.0 where there are none."""
        kept = b.op(f"and {patterns} {value}, {chosen}")
        return b.op(f"or {patterns} {kept}, {b.op(f'and {patterns} {other}, {sign}')}")

    def added(x: str, y: str) -> str:
        return b.op(f"fadd {numbers} {x}, {cast(y, patterns, numbers)}")

    start = lane(numbers, t, b.op(f"load {t}, ptr {acc}, align 1"))
    nothing = cast(sign, patterns, numbers)
    with b.loop(first, last, "1", [(numbers, start), (numbers, nothing)]) as (at, state):
        total, stretch = state.now
        x = b.op(f"load {t}, ptr {b.at(values, b.mul(at, str(size)))}, align 1")
        takes = lane(patterns, bits, b.op(f"sext i1 {_takes_part(b, mask, at)} to {bits}"))
        leaves = b.op(f"xor {patterns} {takes}, {ones}")
        own = where(takes, cast(lane(numbers, t, x), numbers, patterns), leaves)
        longer = cast(added(stretch, own), numbers, patterns)
        ended = where(leaves, cast(stretch, numbers, patterns), takes)
        state.next = [added(total, ended), cast(where(takes, longer, leaves), patterns, numbers)]
    total = b.op(f"fadd {numbers} {state.after[0]}, {state.after[1]}")
    b.do(f"store {t} {b.op(f'extractelement {numbers} {total}, i32 0')}, ptr {acc}, align 1")
