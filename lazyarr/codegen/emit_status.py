"""Floating-point status in kernels that call NumPy's loops, since some of these clear the flags.

In:  a Builder in the entry block, which errstate categories the kernel's ops can set.
Out: code around the chunk that clears the CPU's status flags, collects them into word 0, and puts the
caller's back; `collect` goes before each call.  For other kernels the loops that run chunks do this
(`threading.loops_ir`): in each kernel it would be a tenth of the time that compiling takes.

x86 has two sets of flags.  Vector instructions set those of MXCSR; where NumPy's code in C *says* that a
result overflows (float32 `exp`, every rounding to float16), the C library raises the flag in the x87 unit.
So kernels with calls ask the C library, as NumPy does, which knows both; that takes 50 ns more for a chunk.
On CPUs other than x86 flags are neither read nor changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from lazyarr import mxcsr
from lazyarr.codegen.abi import Layout
from lazyarr.codegen.builder import Builder

_NUMPY_FLAG = {"divide": 1, "over": 2, "under": 4, "invalid": 8}

def fpe_bits(categories: Iterable[str]) -> int:
    return sum(_NUMPY_FLAG[c] for c in categories)


def numpys(b: Builder, raised: str) -> str:
    """x86's flags as NumPy's FPE bits."""
    others = b.op(f"and i32 {b.op(f'lshr i32 {raised}, 2')}, 7")
    invalid = b.op(f"and i32 {b.op(f'shl i32 {raised}, 3')}, 8")
    return b.op(f"or i32 {others}, {invalid}")


def take(b: Builder, at: str, where: str) -> None:
    """Move what MXCSR has raised to a word (atomic or): the code of a kernel that other kernels run in.

    `at` is stack memory of four bytes.  Flags are seldom raised, and clearing them takes long."""
    if not b.target.x86:
        return
    for text in mxcsr.DECLARATIONS:
        b.declare(text)
    b.do(f"call void @{mxcsr.READ}(ptr {at})")
    status = b.op(f"load i32, ptr {at}, align 4")
    some, none = b.fresh("raised")[1:], b.fresh("quiet")[1:]
    quiet = b.op(f"icmp eq i32 {b.op(f'and i32 {status}, {mxcsr.TOLD}')}, 0")
    b.do(f"br i1 {quiet}, label %{none}, label %{some}")
    b.label(some)
    wide = b.op(f"zext i32 {numpys(b, status)} to i64")
    b.op(f"atomicrmw or ptr {where}, i64 {wide} monotonic")
    b.do(f"store i32 {b.op(f'and i32 {status}, {~mxcsr.STATUS}')}, ptr {at}, align 4")
    b.do(f"call void @{mxcsr.WRITE}(ptr {at})")
    b.do(f"br label %{none}")
    b.label(none)


class Status:
    """The code of one kernel.  `calls`: it calls functions, which may use the x87 unit's flags."""

    def __init__(self, b: Builder, categories: frozenset[str], active: bool, calls: bool) -> None:
        self.b = b
        self.mask = fpe_bits(categories)
        self.active = active and b.target.x86
        self.calls = calls

    def begin(self) -> None:
        b = self.b
        if not self.active:
            return
        b.do("%raised = alloca i32, align 4")
        b.do("store i32 0, ptr %raised, align 4")
        if self.calls:
            for name in ("feholdexcept", "fesetenv"):
                b.declare(f"declare i32 @{name}(ptr)")
            b.do("%saved = alloca [64 x i8], align 16")
            b.op("call i32 @feholdexcept(ptr %saved)")
            return
        for text in mxcsr.DECLARATIONS:
            b.declare(text)
        for name in ("%saved", "%status"):
            b.do(f"{name} = alloca i32, align 4")
        b.do(f"call void @{mxcsr.READ}(ptr %saved)")
        mode = b.op("load i32, ptr %saved, align 4")
        b.do(f"store i32 {b.op(f'and i32 {mode}, {~mxcsr.STATUS}')}, ptr %status, align 4")
        b.do(f"call void @{mxcsr.WRITE}(ptr %status)")

    def collect(self) -> None:
        """Remember what was raised so far."""
        b = self.b
        if not self.active or not self.mask:
            return
        now, before = self._now(), b.op("load i32, ptr %raised, align 4")
        b.do(f"store i32 {b.op(f'or i32 {now}, {before}')}, ptr %raised, align 4")

    def _now(self) -> str:
        b = self.b
        if self.calls:
            b.declare("declare i32 @fetestexcept(i32)")
            return b.op(f"call i32 @fetestexcept(i32 {mxcsr.TOLD})")
        b.do(f"call void @{mxcsr.READ}(ptr %status)")
        return b.op("load i32, ptr %status, align 4")

    def end(self) -> None:
        b = self.b
        if not self.active:
            return
        self.collect()
        if self.mask:
            raised = b.op("load i32, ptr %raised, align 4")
            flags = b.op(f"and i32 {numpys(b, raised)}, {self.mask}")
            b.do(f"br i1 {b.op(f'icmp eq i32 {flags}, 0')}, label %quiet, label %report")
            b.label("report")
            wide = b.op(f"zext i32 {flags} to i64")
            word = b.op(f"getelementptr i64, ptr %words, i64 {Layout.FLAGS}")
            b.op(f"atomicrmw or ptr {word}, i64 {wide} monotonic")
            b.do("br label %quiet")
            b.label("quiet")
        if self.calls:
            b.op("call i32 @fesetenv(ptr %saved)")
        else:
            b.do(f"call void @{mxcsr.WRITE}(ptr %saved)")
