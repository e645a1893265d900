"""Words of a thread's own: what kernels that run other kernels do with copies of these kernels' words.

In:  addresses of words, as `abi` has them.   Out: copies in the thread's memory; what they tell, told to all.
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_flow import Function


def copy_words(b: Function, source: str, to: str, count: str) -> None:
    with b.loop("0", count) as (k, _):
        at = b.mul(k, "8")
        b.put(b.at(to, at), 0, "i64", b.word(b.at(source, at), 0))


def report(b: Function, own: str, raised: str) -> None:
    """What the copy of a kernel's words tells: floating-point status, which goes to the word `raised`, and
    calls of NumPy's loops."""
    flags = b.word(own, Layout.FLAGS)
    with b.when(b.op(f"icmp ne i64 {flags}, 0")):
        b.op(f"atomicrmw or ptr {raised}, i64 {flags} monotonic")
    calls = b.word(own, Layout.CALLS)
    with b.when(b.op(f"icmp ne i64 {calls}, 0")):
        b.op(f"atomicrmw add ptr {b.at('%words', 8 * Layout.CALLS)}, i64 {calls} monotonic")
