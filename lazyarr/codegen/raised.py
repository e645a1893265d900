"""Floating-point status that some code raises, apart from what was raised before: seen, or forgotten.

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
def forgotten(b: Function) -> Iterator[None]:
    """What is raised meanwhile is not.  (To write the register takes longer than to read it.)"""
    if not b.target.x86:
        yield
        return
    place = b.alloca("i32", 8)
    before = _read(b, place)
    yield
    with b.when(b.op(f"icmp ne i32 {_read(b, place)}, {before}")):
        _write(b, place, before)


@contextmanager
def apart(b: Function) -> Iterator[Seen]:
    """What is raised meanwhile is seen, and forgotten then."""
    seen = Seen()
    if not b.target.x86:
        yield seen
        return
    place = b.alloca("i32", 8)
    before = _read(b, place)
    _write(b, place, b.op(f"and i32 {before}, {~mxcsr.STATUS}"))
    yield seen
    seen.raised = b.op(f"icmp ne i32 {b.op(f'and i32 {_read(b, place)}, {mxcsr.TOLD}')}, 0")
    _write(b, place, before)


def _read(b: Function, place: str) -> str:
    for text in mxcsr.DECLARATIONS:
        b.declare(text)
    b.do(f"call void @{mxcsr.READ}(ptr {place})")
    return b.word(place, 0, "i32")


def _write(b: Function, place: str, value: str) -> None:
    b.put(place, 0, "i32", value)
    b.do(f"call void @{mxcsr.WRITE}(ptr {place})")
