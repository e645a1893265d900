"""Row blocks: the kernels that run other kernels one after the other on the rows of one block.

In:  at run time, addresses of kernels with templates of their words, and how operands move from block to
     block.
Out: ``void rows(words, chunk, tid)``, the same for all programs, and for chains whose last kernels run one
     block behind the others `edges` and `strips`.
Each thread has memory of its own: a copy of the words of the kernel that runs, in which the operands'
addresses are the block's; and scratch memory.  The values that pass from kernel to kernel lie in a slot.

`rows` runs a block as a chunk; each thread has one slot.  Where kernels run behind, blocks follow one another
within a strip, and the strips are chunks.  What a kernel behind overwrites, the others may read in the blocks
next to its own: the one before has had them by then, and in the strips next to its own `edges` has run them
before, on the first and the last block of each strip; so each of these has a slot to itself, and the other
blocks of a strip take turns with two.

Who launches them may want to look at what a block was computed from before kernels behind overwrite that,
if some kernel ahead raised what it `CARE`s about there.  Then STOP is set, and strips end before what they
would run next: a strip's DONE says how far it came, counting twice each block (the kernels ahead on it, those
behind on the block before), and so where it goes on when `strips` is run again.

Kernels without calls of NumPy's loops leave what they raise in the CPU's status flags, which are clear when
a thread begins; the rest report it themselves.

Words: FLAGS (unused), MEMORY and CALLS as `abi` has them, then MEMORY_BYTES (of one thread), SCRATCH_AT (in
it), LAST (number of the last block), PARTS (number of kernels), AHEAD (how many of them do not run behind),
STRIPS, SLOTS_AT (in the memory), SLOT_BYTES, STOP, DONE_AT (a word for each strip); then for each kernel a
part, and the same once more for the last block, which has more rows.
A part: KERNEL (function), CHUNKS (of a block), TEMPLATE and COUNT (its words), MOVES and MOVE_COUNT,
RAISED (the word that collects floating-point status), CARE (what of that stops the strips).  A move: WORD
(of the operand's pointer), AT (address in block 0, or offset in the slot), STEP (bytes from block to block),
OWN (1 for the slot, else 0).  Places of words are in bytes from the words that hold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit_status import take
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.target import Target

MEMORY = Layout.SCRATCH
MEMORY_BYTES, SCRATCH_AT, LAST, PARTS, AHEAD, STRIPS, SLOTS_AT, SLOT_BYTES, STOP, DONE_AT, FIRST = range(
    Layout.FIRST, Layout.FIRST + 11
)
KERNEL, CHUNKS, TEMPLATE, COUNT, MOVES, MOVE_COUNT, RAISED, CARE = range(8)
PER_PART = 8
WORD, AT, STEP, OWN = range(4)
PER_MOVE = 4

SYMBOLS = ROWS, EDGES, STRIP = "lazyarr_rows", "lazyarr_rows_edges", "lazyarr_rows_strips"
SLOTS = 4
"""Of a strip: two that blocks take turns with, the first block's, the last one's."""

_RUN = "run_parts"
_RUN_PARAMS = ("ptr %words", "i64 %block", "i64 %begin", "i64 %end", "ptr %own", "ptr %slot")


def rows_kernels(target: Target) -> str:
    """The text of their module."""
    return "\n".join(f(target) for f in (_run_parts, _rows, _edges, _strips))


def _run_parts(target: Target) -> str:
    """Some of the kernels, one after the other, on one block."""
    b = Function(target, _RUN, _RUN_PARAMS)
    scratch = b.at("%own", b.word("%words", SCRATCH_AT))
    status = b.alloca("i32", 4)
    last = b.op(f"icmp eq i64 %block, {b.word('%words', LAST)}")
    first = b.op(f"select i1 {last}, i64 {b.word('%words', PARTS)}, i64 0")
    with b.loop(b.add(first, "%begin"), b.add(first, "%end")) as (number, _):
        part = b.at("%words", b.add(b.mul(number, str(8 * PER_PART)), str(8 * FIRST)))
        _bind(b, part)
        b.put("%own", 8 * Layout.SCRATCH, "ptr", scratch)
        kernel = b.word(part, KERNEL, "ptr")
        with b.loop("0", b.word(part, CHUNKS)) as (chunk, _):
            b.do(f"call void {kernel}(ptr %own, i64 {chunk}, i64 0)")
        raised = b.at("%words", b.word(part, RAISED))
        take(b, status, raised)
        _report(b, "%own", raised)
        _stop(b, b.op(f"and i64 {b.word(raised, 0)}, {b.word(part, CARE)}"))
    return "\n".join([b.text(), *b.declarations, ""])


def _rows(target: Target) -> str:
    b = _public(target, ROWS)
    own = _own(b)
    _run(b, "%chunk", "0", b.word("%words", PARTS), own, b.at(own, b.word("%words", SLOTS_AT)))
    return b.text()


def _edges(target: Target) -> str:
    """The kernels ahead, on the first or the last block of a strip."""
    b = _public(target, EDGES)
    strip, second = b.op("lshr i64 %chunk, 1"), b.op("and i64 %chunk, 1")
    block, end = _blocks(b, strip)
    block = b.op(f"select i1 {b.op(f'icmp eq i64 {second}, 0')}, i64 {block}, i64 {b.add(end, '-1')}")
    slot = _slot(b, strip, b.add(second, "2"))
    _run(b, block, "0", b.word("%words", AHEAD), _own(b), slot)
    return b.text()


def _strips(target: Target) -> str:
    """One strip: the kernels ahead on each block, where `edges` has not run them; then those behind on the
    block before."""
    b = _public(target, STRIP)
    own, ahead, parts = _own(b), b.word("%words", AHEAD), b.word("%words", PARTS)
    first, end = _blocks(b, "%chunk")
    last = b.add(end, "-1")
    alone = b.op(f"icmp eq i64 {b.word('%words', STRIPS)}, 1")

    def slot_of(block: str) -> tuple[str, str]:
        """The slot of a block, and whether `edges` had it."""
        begins, ends = b.op(f"icmp eq i64 {block}, {first}"), b.op(f"icmp eq i64 {block}, {last}")
        outer = b.op(f"or i1 {begins}, {ends}")
        edge = b.op(f"select i1 {alone}, i1 false, i1 {outer}")
        turn = b.op(f"select i1 {ends}, i64 3, i64 2")
        turn = b.op(f"select i1 {edge}, i64 {turn}, i64 {b.op(f'and i64 {block}, 1')}")
        return _slot(b, "%chunk", turn), edge

    done = b.at(b.at("%words", b.word("%words", DONE_AT)), b.mul("%chunk", "8"))

    @contextmanager
    def turn(number: str) -> Iterator[None]:
        """What is done if the strip came so far, and did not stop."""
        here = b.op(f"icmp eq i64 {b.word(done, 0)}, {number}")
        goes = b.op(f"icmp eq i64 {_stopped(b)}, 0")
        with b.when(b.op(f"and i1 {here}, {goes}")):
            yield
            b.put(done, 0, "i64", b.add(number, "1"))

    with b.loop(first, end) as (block, _):
        slot, edge = slot_of(block)
        number = b.mul(b.op(f"sub i64 {block}, {first}"), "2")
        with turn(number), b.when(b.op(f"xor i1 {edge}, true")):
            _run(b, block, "0", ahead, own, slot)
        with turn(b.add(number, "1")), b.when(b.op(f"icmp sgt i64 {block}, {first}")):
            before = b.add(block, "-1")
            _run(b, before, ahead, parts, own, slot_of(before)[0])
    with turn(b.mul(b.op(f"sub i64 {end}, {first}"), "2")):
        _run(b, last, ahead, parts, own, slot_of(last)[0])
    return b.text()


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


def _blocks(b: Function, strip: str) -> tuple[str, str]:
    """A strip's first block, and the one after its last."""
    blocks, strips = b.add(b.word("%words", LAST), "1"), b.word("%words", STRIPS)
    first, end = (b.op(f"udiv i64 {b.mul(k, blocks)}, {strips}") for k in (strip, b.add(strip, "1")))
    return first, end


def _slot(b: Function, strip: str, which: str) -> str:
    number = b.add(b.mul(strip, str(SLOTS)), which)
    at = b.add(b.word("%words", SLOTS_AT), b.mul(number, b.word("%words", SLOT_BYTES)))
    return b.at(b.word("%words", MEMORY, "ptr"), at)


def _run(b: Function, block: str, begin: str, end: str, own: str, slot: str) -> None:
    b.do(f"call void @{_RUN}(ptr %words, i64 {block}, i64 {begin}, i64 {end}, ptr {own}, ptr {slot})")


def _bind(b: Function, part: str) -> None:
    """The words of a kernel for this block."""
    template = b.at("%words", b.word(part, TEMPLATE))
    with b.loop("0", b.word(part, COUNT)) as (k, _):
        at = b.mul(k, "8")
        b.put(b.at("%own", at), 0, "i64", b.word(b.at(template, at), 0))
    slot = b.op("ptrtoint ptr %slot to i64")
    moves = b.at("%words", b.word(part, MOVES))
    with b.loop("0", b.word(part, MOVE_COUNT)) as (k, _):
        move = b.at(moves, b.mul(k, str(8 * PER_MOVE)))
        at = b.add(b.word(move, AT), b.mul("%block", b.word(move, STEP)))
        at = b.add(at, b.mul(slot, b.word(move, OWN)))
        b.put(b.at("%own", b.word(move, WORD)), 0, "i64", at)


def _report(b: Function, own: str, raised: str) -> None:
    """What the copy of a kernel's words tells: floating-point status, calls of NumPy's loops."""
    flags = b.word(own, Layout.FLAGS)
    with b.when(b.op(f"icmp ne i64 {flags}, 0")):
        b.op(f"atomicrmw or ptr {raised}, i64 {flags} monotonic")
    calls = b.word(own, Layout.CALLS)
    with b.when(b.op(f"icmp ne i64 {calls}, 0")):
        b.op(f"atomicrmw add ptr {b.at('%words', 8 * Layout.CALLS)}, i64 {calls} monotonic")
