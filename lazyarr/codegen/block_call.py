"""Packing a block by one call of the function that packs a range, without the kernel around it.

In:  a thread's copy of a packing kernel's words, the context of its function behind them; `call_words`.
Out: instructions that pack a block, and where what is packed ends.
The kernel divides to find its block, and keeps what the function raises from what is told: that is more than
a tenth of the time that a block takes.  So it is for functions with nothing to tell; whoever calls them puts
the floating-point status back in the end.
"""

from __future__ import annotations

from lazyarr.codegen.call_words import CARRY, CONTEXT, EACH, FOLD, LENGTH, THREAD
from lazyarr.codegen.reduce_context import LIMIT
from lazyarr.codegen.reduce_flow import Function


class BlockCall:
    def __init__(self, b: Function, given: str, own: str) -> None:
        """`given`: address of `call_words`'; `own`: of the copy."""
        self.b, self.given, self.own = b, given, own
        self.fold, self.each = b.word(given, FOLD), b.word(given, EACH)
        self.serves = b.op(f"icmp ne i64 {self.fold}, 0")

    def begin(self, tid: str) -> None:
        self.b.put(self.b.at(self.own, self.b.word(self.given, THREAD)), 0, "i64", tid)

    def pack(self, block: str, to: str, limit: str) -> str:
        """Pack a block to an address, before another one; where what was packed ends."""
        b, each = self.b, self.each
        context = b.at(self.own, b.word(self.given, CONTEXT))
        carry = b.at(context, b.word(self.given, CARRY))
        start = b.mul(block, each)
        count = b.smaller(each, b.op(f"sub i64 {b.word(self.given, LENGTH)}, {start}"))
        b.put(carry, 0, "ptr", to)
        b.put(carry, LIMIT, "ptr", limit)
        fold = b.op(f"inttoptr i64 {self.fold} to ptr")
        b.do(f"call void {fold}(ptr {self.own}, ptr {context}, i64 {start}, i64 {count}, ptr {context})")
        return b.word(carry, 0, "ptr")
