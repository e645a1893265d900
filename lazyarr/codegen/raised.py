"""Floating-point status that some code raises, apart from what was raised before: seen, and forgotten.

In:  a function that is being written.   Out: the instructions around that code; nothing, where a CPU's status
is not looked at by kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyarr import mxcsr
from lazyarr.codegen.reduce_flow import Function
from lazyarr.records import dataclass


@dataclass(slots=True)
class Seen:
    raised: str = "false"
    """Was something raised that NumPy asks for (i1)?"""


@contextmanager
def apart(b: Function) -> Iterator[Seen]:
    seen = Seen()
    if not b.target.x86:
        yield seen
        return
    for text in mxcsr.DECLARATIONS:
        b.declare(text)
    place = b.alloca("i32", 8)
    b.do(f"call void @{mxcsr.READ}(ptr {place})")
    saved = b.op(f"load i32, ptr {place}, align 4")
    b.put(place, 0, "i32", b.op(f"and i32 {saved}, {~mxcsr.STATUS}"))
    b.do(f"call void @{mxcsr.WRITE}(ptr {place})")
    yield seen
    b.do(f"call void @{mxcsr.READ}(ptr {place})")
    raised = b.op(f"and i32 {b.op(f'load i32, ptr {place}, align 4')}, {mxcsr.TOLD}")
    seen.raised = b.op(f"icmp ne i32 {raised}, 0")
    b.put(place, 0, "i32", saved)
    b.do(f"call void @{mxcsr.WRITE}(ptr {place})")
