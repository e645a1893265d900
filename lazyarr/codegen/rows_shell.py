"""Row blocks: the kernel that runs other kernels one after the other on the rows of one block.

In:  at run time, addresses of kernels with templates of their words, and how operands move from block to
     block.
Out: ``void rows(words, chunk, tid)``, the same for all programs.
Each thread has memory of its own: a copy of the words of the kernel that runs, in which the operands'
addresses are the block's; scratch memory; and the values that pass from kernel to kernel.

Kernels without calls of NumPy's loops leave what they raise in the CPU's status flags, which are clear when
a thread begins; the rest report it themselves.

Words: FLAGS (unused), MEMORY and CALLS as `abi` has them, then MEMORY_BYTES (of one thread), SCRATCH_AT (in
it), LAST (number of the last block), PARTS (number of kernels); then for each kernel a part, and the same
once more for the last block, which has more rows.
A part: KERNEL (function), CHUNKS (of a block), TEMPLATE and COUNT (its words), MOVES and MOVE_COUNT,
RAISED (the word that collects floating-point status).  A move: WORD (of the operand's pointer), AT (address
in block 0, or offset in the thread's memory), STEP (bytes from block to block), OWN (1 for the thread's
memory, else 0).  Places of words are in bytes from the words that hold them.
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.emit_status import take
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.target import Target

MEMORY = Layout.SCRATCH
MEMORY_BYTES, SCRATCH_AT, LAST, PARTS, FIRST = range(Layout.FIRST, Layout.FIRST + 5)
KERNEL, CHUNKS, TEMPLATE, COUNT, MOVES, MOVE_COUNT, RAISED = range(7)
PER_PART = 7
WORD, AT, STEP, OWN = range(4)
PER_MOVE = 4

SYMBOL = "lazyarr_rows"


def rows_kernel(target: Target) -> str:
    """The text of its module."""
    b = Function(target, SYMBOL, CHUNK_PARAMS)
    b.public = True
    own = b.at(b.word("%words", MEMORY, "ptr"), b.mul("%tid", b.word("%words", MEMORY_BYTES)))
    scratch = b.at(own, b.word("%words", SCRATCH_AT))
    parts = b.word("%words", PARTS)
    status = b.alloca("i32", 4)
    last = b.op(f"icmp eq i64 %chunk, {b.word('%words', LAST)}")
    first = b.op(f"select i1 {last}, i64 {parts}, i64 0")
    with b.loop(first, b.add(first, parts)) as (number, _):
        part = b.at("%words", b.add(b.mul(number, str(8 * PER_PART)), str(8 * FIRST)))
        _bind(b, part, own)
        b.put(own, 8 * Layout.SCRATCH, "ptr", scratch)
        kernel = b.word(part, KERNEL, "ptr")
        with b.loop("0", b.word(part, CHUNKS)) as (chunk, _):
            b.do(f"call void {kernel}(ptr {own}, i64 {chunk}, i64 0)")
        raised = b.at("%words", b.word(part, RAISED))
        take(b, status, raised)
        _report(b, own, raised)
    return "\n".join([b.text(), *b.declarations, ""])


def _bind(b: Function, part: str, own: str) -> None:
    """The words of a kernel for this block."""
    template = b.at("%words", b.word(part, TEMPLATE))
    with b.loop("0", b.word(part, COUNT)) as (k, _):
        at = b.mul(k, "8")
        b.put(b.at(own, at), 0, "i64", b.word(b.at(template, at), 0))
    memory = b.op(f"ptrtoint ptr {own} to i64")
    moves = b.at("%words", b.word(part, MOVES))
    with b.loop("0", b.word(part, MOVE_COUNT)) as (k, _):
        move = b.at(moves, b.mul(k, str(8 * PER_MOVE)))
        at = b.add(b.word(move, AT), b.mul("%chunk", b.word(move, STEP)))
        at = b.add(at, b.mul(memory, b.word(move, OWN)))
        b.put(b.at(own, b.word(move, WORD)), 0, "i64", at)


def _report(b: Function, own: str, raised: str) -> None:
    """What the copy of a kernel's words tells: floating-point status, calls of NumPy's loops."""
    flags = b.word(own, Layout.FLAGS)
    with b.when(b.op(f"icmp ne i64 {flags}, 0")):
        b.op(f"atomicrmw or ptr {raised}, i64 {flags} monotonic")
    calls = b.word(own, Layout.CALLS)
    with b.when(b.op(f"icmp ne i64 {calls}, 0")):
        b.op(f"atomicrmw add ptr {b.at('%words', 8 * Layout.CALLS)}, i64 {calls} monotonic")
