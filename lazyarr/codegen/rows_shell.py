"""Row blocks: the kernels that run other kernels one after the other on the rows of one block.

In:  at run time, addresses of kernels with templates of their words, and how operands move from block to
     block.
Out: ``void rows(words, chunk, tid)``, the same for all programs, `bound` for blocks that are alike, and for
     chains whose kernels lag behind one another `strips` and `seams`.
Each thread has memory of its own: a copy of the words of the kernel that runs, in which the operands'
addresses are the block's; and scratch memory.  The values that pass from kernel to kernel lie in a slot.

`rows` runs some successive blocks as a chunk; each thread has one slot.  Blocks may be within one row of each
of several axes: then their number counts through these, the last one first.

Where kernels lag, blocks follow one another within a strip, and the strips are chunks.  At a time each
kernel runs on the block that is its lag behind the strip's, one kernel after the other.  What lags reads or
overwrites what others write or read one block further away for each block of its lag; so at an end where
another strip begins a kernel leaves out as many blocks as it lags, and strips need not wait for each other.
When all are done, `seams` runs what was left out, between each two strips, in the same manner.  Blocks of
one kernel may begin some rows before those of another, so that it follows that one more closely; then it
leaves out other numbers of blocks at the two ends.

A value in a slot may be read as many blocks later as DELAY says.  So blocks of a strip take turns with one
slot more, and so many blocks at either end, which somebody may read in a seam, have slots to themselves.

Who launches them may want to look at what a block was computed from before kernels that lag overwrite that,
if some kernel raised what it `CARE`s about there.  Then STOP is set, and strips and seams end before what
they would run next: DONE says how far each came, counting kernels at each time, and so where it goes on
when it is run again.

Kernels without calls of NumPy's loops leave what they raise in the CPU's status flags, which are clear when
a thread begins; the rest report it themselves.  What they are given: `rows_words`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit_status import take
from lazyarr.codegen.own_words import report
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.codegen.rows_words import (
    ALL,
    APART,
    AT,
    BASE,
    BEFORE,
    BEGIN,
    BEYOND,
    BODY,
    BOUND,
    BOUND_AT,
    BOUND_BYTES,
    BYTES,
    CARE,
    CHUNKS,
    COUNT,
    DELAY,
    DONE_AT,
    END,
    FIRST,
    FIRST_PIECE,
    FROM,
    FRONT,
    HEAD,
    HEIGHT,
    HIGH,
    JUMPS,
    KERNEL,
    LAG,
    LAST,
    LOW,
    MADE,
    MADE_FRONT,
    MARGINS,
    MEMORY,
    MEMORY_BYTES,
    MOST,
    MOVE_COUNT,
    MOVES,
    MOVING,
    OUTER,
    OUTER_AT,
    PARTS,
    PER_MOVE,
    PER_PART,
    PER_PIECE,
    PIECES,
    PLACE,
    RAISED,
    ROW,
    ROWS,
    ROWS_EACH,
    RUN,
    SCRATCH_AT,
    SEAM,
    SLOT_BYTES,
    SLOTS_AT,
    STEP,
    STOP,
    STRIP,
    STRIPS,
    TAIL,
    TEMPLATE,
    TIMES,
    TO,
    WORD,
    WORDS,
)
from lazyarr.records import NamedTuple
from lazyarr.target import Target

_COPY = "copy_margins"
_COPY_PARAMS = "ptr %words", "ptr %margins", "i64 %block", "i1 %first", "i1 %last"
_RUN = "run_part"
_RUN_PARAMS = (
    "ptr %words", "i64 %number", "i64 %block", "i64 %across", "ptr %own", "ptr %slots", "i1 %alone",
    "i1 %seam", "i64 %low", "i64 %low_step", "i64 %high", "i64 %high_step",
)  # fmt: skip


class Stretch(NamedTuple):
    """Blocks of a strip or a seam: those of a kernel begin at `low` and so many times what it leaves out
    there."""

    low: str
    low_step: str
    high: str
    high_step: str
    seam: str

    def bounds(self, b: Function, lag: str, front: str) -> tuple[str, str]:
        """The first block of a kernel, and the one after its last."""
        low = b.op(f"select i1 {self.seam}, i64 {lag}, i64 {front}")
        high = b.op(f"select i1 {self.seam}, i64 {front}, i64 {lag}")
        return b.add(self.low, b.mul(low, self.low_step)), b.add(self.high, b.mul(high, self.high_step))


ALONE = Stretch("0", "0", "0", "0", "false")
"""Of blocks that do not lag."""


def rows_kernels(target: Target) -> str:
    """The text of their module."""
    return "\n".join(f(target) for f in (_copy_margins, _run_part, _rows, _bound, _strips, _seams))


def _copy_margins(target: Target) -> str:
    """What one buffer's rows of a block have in common with another's."""
    b = Function(target, _COPY, _COPY_PARAMS)
    given, to = (b.word(b.at("%words", b.word("%margins", k)), 0, "ptr") for k in (FROM, TO))
    row, rows = b.word("%margins", ROW), b.word("%margins", ROWS_EACH)
    begin = b.add(b.word("%margins", BEFORE), b.mul("%block", rows))
    end = b.op(f"select i1 %last, i64 {b.word('%margins', HEIGHT)}, i64 {b.add(begin, rows)}")
    begin = b.op(f"select i1 %first, i64 0, i64 {begin}")
    with b.loop("0", b.word("%margins", PIECES)) as (k, _):
        piece = b.at(b.at("%margins", 8 * FIRST_PIECE), b.mul(k, str(8 * PER_PIECE)))
        low, apart, nbytes = b.word(piece, LOW), b.word(piece, APART), b.word(piece, BYTES)
        low = b.op(f"select i1 {b.op(f'icmp slt i64 {low}, {begin}')}, i64 {begin}, i64 {low}")
        whole = b.op(f"and i64 {nbytes}, -8")
        with b.loop(low, b.smaller(b.word(piece, HIGH), end)) as (r, _):
            at = b.add(b.word(piece, PLACE), b.mul(r, row))
            with b.loop("0", b.word(piece, TIMES)) as (time, _):
                here = b.add(at, b.mul(time, apart))
                source, target_ = b.at(given, here), b.at(to, here)
                for t, first, until, step in (("i64", "0", whole, "8"), ("i8", whole, nbytes, "1")):
                    with b.loop(first, until, step) as (byte, _):
                        value = b.op(f"load {t}, ptr {b.at(source, byte)}, align 1")
                        b.do(f"store {t} {value}, ptr {b.at(target_, byte)}, align 1")
    return b.text()


def _run_part(target: Target) -> str:
    """One kernel on one block."""
    b = Function(target, _RUN, _RUN_PARAMS)
    scratch = b.at("%own", b.word("%words", SCRATCH_AT))
    status = b.alloca("i32", 4)
    part = _part(b, "%number")
    is_last = b.op(f"icmp eq i64 %block, {b.add(b.word(part, END), '-1')}")
    is_first = b.op(f"icmp eq i64 %block, {b.word(part, BEGIN)}")
    place = b.op(f"select i1 {is_last}, i64 {b.word(part, TAIL)}, i64 {b.word(part, BODY)}")
    place = b.op(f"select i1 {is_first}, i64 {b.word(part, HEAD)}, i64 {place}")
    margins = b.word(part, MARGINS)
    with b.when(b.op(f"icmp ne i64 {margins}, 0")):
        tables, first = b.word(b.at("%words", margins), 0), b.add(margins, "8")
        with b.loop("0", tables, carried=[("i64", first)]) as (_, left):
            table = b.at("%words", left.now[0])
            b.do(f"call void @{_COPY}(ptr %words, ptr {table}, i64 %block, i1 {is_first}, i1 {is_last})")
            nbytes = b.add(b.mul(b.word(table, PIECES), str(8 * PER_PIECE)), str(8 * FIRST_PIECE))
            left.next = [b.add(left.now[0], nbytes)]
    variant = b.at("%words", place)
    _bind(b, variant, "%own", "%block", partial(_slot, b))
    _jumps(b, variant)
    b.put("%own", 8 * Layout.SCRATCH, "ptr", scratch)
    kernel = b.word(variant, KERNEL, "ptr")
    with b.loop("0", b.word(variant, CHUNKS)) as (chunk, _):
        b.do(f"call void {kernel}(ptr %own, i64 {chunk}, i64 0)")
    raised = b.at("%words", b.word(part, RAISED))
    take(b, status, raised)
    report(b, "%own", raised)
    _stop(b, b.op(f"and i64 {b.word(raised, 0)}, {b.word(part, CARE)}"))
    return "\n".join([b.text(), *b.declarations, ""])


def _part(b: Function, number: str) -> str:
    return b.at("%words", b.add(b.mul(number, str(8 * PER_PART)), str(8 * FIRST)))


def _rows(target: Target) -> str:
    b = _public(target, ROWS)
    own = _own(b)
    slot = b.at(own, b.word("%words", SLOTS_AT))
    blocks = b.add(b.word("%words", LAST), "1")
    run = b.word("%words", RUN)
    first = b.mul("%chunk", run)
    end = b.smaller(b.add(first, run), b.word("%words", ALL))
    with b.loop(first, end) as (each, _):
        across = b.op(f"udiv i64 {each}, {blocks}")
        block = b.op(f"sub i64 {each}, {b.mul(across, blocks)}")
        with (
            b.loop("0", b.word("%words", PARTS)) as (number, _),
            b.when(_all(b, _reached(b, _part(b, number), block))),
        ):
            _run(b, number, block, across, own, slot, "true", ALONE)
    return b.text()


def _bound(target: Target) -> str:
    """The same where all blocks but the last one are alike: each kernel's words are bound once for all blocks
    of a chunk, and move on from one to the next."""
    b = _public(target, BOUND)
    own, status = _own(b), b.alloca("i32", 4)
    slot, scratch, bound = (b.at(own, b.word("%words", k)) for k in (SLOTS_AT, SCRATCH_AT, BOUND_AT))
    apart, last = b.word("%words", BOUND_BYTES), b.word("%words", LAST)
    first = b.mul("%chunk", b.word("%words", RUN))
    end = b.smaller(b.add(first, b.word("%words", RUN)), b.word("%words", ALL))

    @contextmanager
    def parts() -> Iterator[tuple[str, str, str]]:
        """A loop over the parts: its words, the variant of most blocks, the words that are bound."""
        with b.loop("0", b.word("%words", PARTS)) as (number, _):
            part = _part(b, number)
            yield part, b.at("%words", b.word(part, BODY)), b.at(bound, b.mul(number, apart))

    with parts() as (_, variant, mine):
        _bind(b, variant, mine, first, lambda *_: slot)
        b.put(mine, 8 * Layout.SCRATCH, "ptr", scratch)
    with b.loop(first, b.smaller(end, last)), parts() as (part, variant, mine):
        b.do(f"call void {b.word(variant, KERNEL, 'ptr')}(ptr {mine}, i64 0, i64 0)")
        take(b, status, b.at("%words", b.word(part, RAISED)))
        with _moves(b, variant, mine, MOVING) as (move, place):
            b.put(place, 0, "i64", b.add(b.word(place, 0), b.word(move, STEP)))
    with parts() as (part, _, mine):
        report(b, mine, b.at("%words", b.word(part, RAISED)))
    is_there = b.op(f"icmp sgt i64 {end}, {last}")
    with b.when(is_there), b.loop("0", b.word("%words", PARTS)) as (number, _):
        _run(b, number, last, "0", own, slot, "true", ALONE)
    return b.text()


def _reached(b: Function, part: str, block: str) -> list[str]:
    """Has a kernel rows in a block?"""
    return [
        b.op(f"icmp sge i64 {block}, {b.word(part, BEGIN)}"),
        b.op(f"icmp slt i64 {block}, {b.word(part, END)}"),
    ]


def _all(b: Function, conditions: Sequence[str]) -> str:
    return reduce(lambda x, y: b.op(f"and i1 {x}, {y}"), conditions)


def _strips(target: Target) -> str:
    """One strip: all but what lags where another one begins."""
    b = _public(target, STRIP)
    low, high = _edge(b, "%chunk"), _edge(b, b.add("%chunk", "1"))
    head, tail = b.op("icmp eq i64 %chunk, 0"), b.op(f"icmp sgt i64 {high}, {b.word('%words', LAST)}")
    stretch = Stretch(
        low, b.op(f"select i1 {head}, i64 0, i64 1"), high, b.op(f"select i1 {tail}, i64 0, i64 -1"), "false"
    )
    beyond = b.op(f"select i1 {tail}, i64 {b.word('%words', MOST)}, i64 0")
    _turns(b, "%chunk", stretch, low, b.add(high, beyond))
    return b.text()


def _seams(target: Target) -> str:
    """What two strips left out where one ends and the other begins."""
    b = _public(target, SEAM)
    edge = _edge(b, b.add("%chunk", "1"))
    done = b.add("%chunk", b.word("%words", STRIPS))
    end = b.add(edge, b.word("%words", BEYOND))
    _turns(b, done, Stretch(edge, "-1", edge, "1", "true"), edge, end)
    return b.text()


def _turns(b: Function, which: str, stretch: Stretch, begin: str, end: str) -> None:
    """Each kernel in turn, on the block that is its lag behind, from where the last launch stopped."""
    own, parts = _own(b), b.word("%words", PARTS)
    each = b.mul(b.word("%words", SLOT_BYTES), b.add(b.mul(b.word("%words", DELAY), "3"), "1"))
    at = b.add(b.word("%words", SLOTS_AT), b.mul("%chunk", each))
    here = b.at(b.word("%words", MEMORY, "ptr"), at)
    done = b.at(b.at("%words", b.word("%words", DONE_AT)), b.mul(which, str(8 * WORDS)))
    with b.loop(begin, end) as (time, _), b.loop("0", parts) as (number, _):
        turn = b.add(b.mul(b.op(f"sub i64 {time}, {begin}"), parts), number)
        part = _part(b, number)
        lag = b.word(part, LAG)
        block = b.op(f"sub i64 {time}, {lag}")
        low, high = stretch.bounds(b, lag, b.word(part, FRONT))
        within = [
            b.op(f"icmp sge i64 {block}, {low}"), b.op(f"icmp slt i64 {block}, {high}"),
            *_reached(b, part, block),
            b.op(f"icmp sge i64 {turn}, {b.word(done, 0)}"), b.op(f"icmp eq i64 {_stopped(b)}, 0"),
        ]  # fmt: skip
        with b.when(_all(b, within)):
            _run(b, number, block, "0", own, here, "false", stretch)
            b.put(done, 0, "i64", b.add(turn, "1"))


def _stop(b: Function, raised: str) -> None:
    """Set STOP if something was raised."""
    with b.when(b.op(f"icmp ne i64 {raised}, 0")):
        b.do(f"store atomic i64 1, ptr {b.at('%words', str(8 * STOP))} monotonic, align 8")


def _stopped(b: Function) -> str:
    return b.op(f"load atomic i64, ptr {b.at('%words', str(8 * STOP))} monotonic, align 8")


def _public(target: Target, symbol: str) -> Function:
    b = Function(target, symbol, CHUNK_PARAMS)
    b.public = True
    return b


def _own(b: Function) -> str:
    """A thread's own memory."""
    return b.at(b.word("%words", MEMORY, "ptr"), b.mul("%tid", b.word("%words", MEMORY_BYTES)))


def _edge(b: Function, strip: str) -> str:
    """A strip's first block."""
    blocks = b.add(b.word("%words", LAST), "1")
    return b.op(f"udiv i64 {b.mul(strip, blocks)}, {b.word('%words', STRIPS)}")


def _run(
    b: Function, number: str, block: str, across: str, own: str, slots: str, alone: str, stretch: Stretch
) -> None:
    low, low_step, high, high_step, seam = stretch
    b.do(
        f"call void @{_RUN}(ptr %words, i64 {number}, i64 {block}, i64 {across}, ptr {own}, ptr {slots}, "
        f"i1 {alone}, i1 {seam}, i64 {low}, i64 {low_step}, i64 {high}, i64 {high_step})"
    )


def _bind(b: Function, variant: str, own: str, block: str, slot: Callable[[str, str], str]) -> None:
    """The words of a kernel for a block; `slot` says where values lie, by LAG and FRONT of what made them."""
    template = b.at("%words", b.word(variant, TEMPLATE))
    with b.loop("0", b.word(variant, COUNT)) as (k, _):
        at = b.mul(k, str(8 * WORDS))
        line = b.op(f"load <{WORDS} x i64>, ptr {b.at(template, at)}, align 8")
        b.do(f"store <{WORDS} x i64> {line}, ptr {b.at(own, at)}, align 8")
    with _moves(b, variant, own, MOVE_COUNT) as (move, place):
        at = b.add(b.word(move, AT), b.mul(block, b.word(move, STEP)))
        base = b.word(move, BASE)
        b.put(place, 0, "i64", b.add(at, b.word(b.at("%words", base), 0)))
        with b.when(b.op(f"icmp eq i64 {base}, 0")):
            here = b.op(f"ptrtoint ptr {slot(b.word(move, MADE), b.word(move, MADE_FRONT))} to i64")
            b.put(place, 0, "i64", b.add(at, here))


@contextmanager
def _moves(b: Function, variant: str, own: str, count: int) -> Iterator[tuple[str, str]]:
    """A loop over as many moves of a variant as word `count` says: each, and the operand's pointer."""
    moves = b.at("%words", b.word(variant, MOVES))
    with b.loop("0", b.word(variant, count)) as (k, _):
        move = b.at(moves, b.mul(k, str(8 * PER_MOVE)))
        yield move, b.at(own, b.word(move, WORD))


def _jumps(b: Function, variant: str) -> None:
    """To the rows along other axes in which the block is, if there are any."""
    outer = b.word("%words", OUTER)
    with b.when(b.op(f"icmp sgt i64 {outer}, 0")):
        _jump(b, outer, b.at("%words", b.word(variant, MOVES)), b.word(variant, MOVE_COUNT))


def _jump(b: Function, outer: str, moves: str, count: str) -> None:
    """To the rows along other axes in which the block is."""
    extents = b.at("%words", b.word("%words", OUTER_AT))
    with b.loop("0", outer, carried=[("i64", "%across")]) as (d, left):
        extent = b.word(b.at(extents, b.mul(d, "8")), 0)
        (now,) = left.now
        rest = b.op(f"udiv i64 {now}, {extent}")
        position = b.op(f"sub i64 {now}, {b.mul(rest, extent)}")
        left.next = [rest]
        with b.loop("0", count) as (k, _):
            move = b.at(moves, b.mul(k, str(8 * PER_MOVE)))
            jumps = b.at("%words", b.word(move, JUMPS))
            by = b.mul(position, b.word(b.at(jumps, b.mul(d, "8")), 0))
            place = b.at("%own", b.word(move, WORD))
            b.put(place, 0, "i64", b.add(b.word(place, 0), by))


def _slot(b: Function, lag: str, front: str) -> str:
    """Where the values lie that a kernel with these made of the block."""
    delay = b.word("%words", DELAY)
    low, high = Stretch("%low", "%low_step", "%high", "%high_step", "%seam").bounds(b, lag, front)
    turn = b.add(b.mul(delay, "2"), b.op(f"urem i64 %block, {b.add(delay, '1')}"))
    # In a strip: how far from its first block, and from its last.
    head, tail = b.op(f"sub i64 %block, {low}"), b.op(f"sub i64 {b.add(high, '-1')}, %block")
    near_tail = b.op(f"icmp slt i64 {tail}, {delay}")
    strip = b.op(f"select i1 {near_tail}, i64 {b.add(delay, tail)}, i64 {turn}")
    near_head = b.op(f"icmp slt i64 {head}, {delay}")
    strip = b.op(f"select i1 {near_head}, i64 {head}, i64 {strip}")
    # In a seam: how far before it, in the tail of the strip there, or behind it, in the head of the next.
    before, behind = b.op(f"sub i64 -1, {head}"), b.op(f"sub i64 -1, {tail}")
    after = b.add(b.add(b.mul(delay, "3"), "1"), behind)
    seam = b.op(f"select i1 {b.op(f'icmp sge i64 {behind}, 0')}, i64 {after}, i64 {turn}")
    seam = b.op(f"select i1 {b.op(f'icmp sge i64 {before}, 0')}, i64 {b.add(delay, before)}, i64 {seam}")
    number = b.op(f"select i1 %seam, i64 {seam}, i64 {strip}")
    number = b.op(f"select i1 %alone, i64 0, i64 {number}")
    return b.at("%slots", b.mul(number, b.word("%words", SLOT_BYTES)))
