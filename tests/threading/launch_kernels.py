"""Kernels for the tests of launches, compiled once: ``void (ptr words, i64 chunk, i64 thread)``."""

from __future__ import annotations

from functools import cache

from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_levels

_IR = """
; words[chunk] += 1
define void @test_hit(ptr %words, i64 %chunk, i64 %thread) {
  %p = getelementptr i64, ptr %words, i64 %chunk
  %o = atomicrmw add ptr %p, i64 1 monotonic
  ret void
}

; the same after words[-1] rounds of nothing
define void @test_slow(ptr %words, i64 %chunk, i64 %thread) {
entry:
  %rp = getelementptr i64, ptr %words, i64 -1
  %rounds = load i64, ptr %rp
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %rounds
  br i1 %more, label %loop, label %done
done:
  call void @test_hit(ptr %words, i64 %chunk, i64 %thread)
  ret void
}

; words[thread] counts who is inside: it must be 0 before; words[64 + thread] += 1;
; words[128] counts violations
define void @test_alone(ptr %words, i64 %chunk, i64 %thread) {
entry:
  %p = getelementptr i64, ptr %words, i64 %thread
  %before = atomicrmw add ptr %p, i64 1 seq_cst
  %wrong = icmp ne i64 %before, 0
  %one = zext i1 %wrong to i64
  %vp = getelementptr i64, ptr %words, i64 128
  %v = atomicrmw add ptr %vp, i64 %one seq_cst
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 300
  br i1 %more, label %loop, label %done
done:
  %after = atomicrmw sub ptr %p, i64 1 seq_cst
  %t = add i64 %thread, 64
  %cp = getelementptr i64, ptr %words, i64 %t
  %c = atomicrmw add ptr %cp, i64 1 seq_cst
  ret void
}

; two chunks that can only end together: waits until words[0] is 2
define void @test_meet(ptr %words, i64 %chunk, i64 %thread) {
  %o = atomicrmw add ptr %words, i64 1 seq_cst
  br label %loop
loop:
  %n = load atomic i64, ptr %words seq_cst, align 8
  %few = icmp slt i64 %n, 2
  br i1 %few, label %loop, label %done
done:
  ret void
}
"""
# MXCSR; words[1 + chunk] = control and status as each of two chunks finds it before it spoils it
_X86 = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @test_spoil(ptr %words, i64 %chunk, i64 %thread) {
  %p = getelementptr i64, ptr %words, i64 %chunk
  %q = getelementptr i64, ptr %p, i64 1
  call void @llvm.x86.sse.stmxcsr(ptr %q)
  %spoiled = alloca i32
  store i32 40896, ptr %spoiled             ; 0x9fc0: flush to zero, denormals are zero
  call void @llvm.x86.sse.ldmxcsr(ptr %spoiled)
  %o = atomicrmw add ptr %words, i64 1 seq_cst
  br label %loop
loop:
  %n = load atomic i64, ptr %words seq_cst, align 8
  %few = icmp slt i64 %n, 2
  br i1 %few, label %loop, label %done
done:
  ret void
}
define void @test_get(ptr %to) {
  call void @llvm.x86.sse.stmxcsr(ptr %to)
  ret void
}
define void @test_set(ptr %from) {
  call void @llvm.x86.sse.ldmxcsr(ptr %from)
  ret void
}
"""
_NAMES = ("hit", "slow", "alone", "meet")


@cache
def kernels() -> dict[str, int]:
    found = load(_IR, tuple(f"test_{name}" for name in _NAMES), host_levels()[0].target)
    return {name: found[f"test_{name}"] for name in _NAMES}


@cache
def mxcsr_kernels() -> tuple[int, int, int]:
    """spoil (a kernel), get(ptr), set(ptr)"""
    names = ("test_spoil", "test_get", "test_set")
    found = load(_X86, names, host_levels()[0].target)
    return found["test_spoil"], found["test_get"], found["test_set"]
