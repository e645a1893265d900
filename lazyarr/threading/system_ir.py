"""LLVM IR of what the loops ask of the system: the time, a pause, parking, pinning.

In:  the system (`System`).   Out: definitions of these functions, the same for every system:

    @now() -> nanoseconds of a monotonic clock, or always 0 where there is none
    @pause()                            tell the CPU that this is a spin loop
    @save_environment(ptr), @load_environment(ptr)      floating-point control and status, 64 bytes
    @clear_flags(), @tell_flags(ptr)    floating-point status; raised flags into a word, as NumPy's FPE bits
    @init_parking()
    @park(ptr, value)                   sleep unless *ptr differs from value; may wake early
    @unpark(ptr, count)                 wake sleepers on ptr, at least `count` if there are as many
    @introduce(number), @forget_helpers(), @make_way()  keep helpers off the caller's CPU
"""

from __future__ import annotations

import platform
import time

from lazyarr.records import NamedTuple


class System(NamedTuple):
    """What the loops need to know of the operating system and the machine."""

    clock: int | None
    """Number of the monotonic clock for ``clock_gettime``; None where that is absent."""
    parking: str
    """``futex`` (Linux), ``cond`` (other POSIX systems) or ``none``: no pool."""
    machine: str
    """``x86`` or ``arm``: how to pause and to keep the floating-point environment."""
    futex: int = 0
    gettid: int = 0


_LINUX_CALLS = {"x86": (202, 186), "arm": (98, 178)}    # futex, gettid


def this_system() -> System:
    machine = "x86" if platform.machine().lower() in ("x86_64", "amd64") else "arm"
    clock = getattr(time, "CLOCK_MONOTONIC", None)
    if platform.system() == "Linux":
        return linux(machine, clock)
    return System(clock, "cond" if clock is not None else "none", machine)


def linux(machine: str, clock: int | None = 1) -> System:
    """Linux on ``x86`` or ``arm``; its monotonic clock has the number 1 on all machines."""
    return System(clock, "futex", machine, *_LINUX_CALLS[machine])


_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now() {
  %t = alloca [2 x i64], align 8
  %r = call i32 @clock_gettime(i32 $clock, ptr %t)
  %s = load i64, ptr %t
  %np = getelementptr i64, ptr %t, i64 1
  %n = load i64, ptr %np
  %ns = mul i64 %s, 1000000000
  %sum = add i64 %ns, %n
  ret i64 %sum
}
"""

_NO_CLOCK = """
define internal i64 @now() {
  ret i64 0
}
"""

_MACHINE = {
    "x86": """
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal void @pause() {
  call void @llvm.x86.sse2.pause()
  ret void
}
define internal void @save_environment(ptr %to) {
  call void @llvm.x86.sse.stmxcsr(ptr %to)
  ret void
}
define internal void @load_environment(ptr %from) {
  call void @llvm.x86.sse.ldmxcsr(ptr %from)
  ret void
}
define internal void @clear_flags() {
  %at = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %old = load i32, ptr %at
  %new = and i32 %old, -64
  store i32 %new, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
; x86 has invalid at bit 0 and divide, overflow, underflow from bit 2
define internal void @tell_flags(ptr %word) {
  %at = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %status = load i32, ptr %at
  %low = lshr i32 %status, 2
  %others = and i32 %low, 7
  %high = shl i32 %status, 3
  %invalid = and i32 %high, 8
  %flags = or i32 %others, %invalid
  %none = icmp eq i32 %flags, 0
  br i1 %none, label %done, label %tell
tell:
  %wide = zext i32 %flags to i64
  %old = atomicrmw or ptr %word, i64 %wide monotonic
  br label %done
done:
  ret void
}
""",
    "arm": """
declare void @llvm.aarch64.hint(i32)
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
define internal void @pause() {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}
define internal void @save_environment(ptr %to) {
  %r = call i32 @fegetenv(ptr %to)
  ret void
}
define internal void @load_environment(ptr %from) {
  %r = call i32 @fesetenv(ptr %from)
  ret void
}
define internal void @clear_flags() {
  ret void
}
define internal void @tell_flags(ptr %word) {
  ret void
}
""",
}

_FUTEX = """
declare i64 @syscall(i64, ...)
define internal void @init_parking() {
  ret void
}
define internal void @park(ptr %address, i32 %value) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %address, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}
define internal void @unpark(ptr %address, i32 %count) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %address, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}
"""

# 128 bytes hold a pthread_mutex_t or pthread_cond_t everywhere (64 on macOS, 48 on Linux).
_COND = """
@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
define internal void @init_parking() {
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}
define internal void @park(ptr %address, i32 %value) {
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %check
check:
  %now = load atomic i32, ptr %address seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %sleep, label %done
sleep:
  %w = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %check
done:
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
define internal void @unpark(ptr %address, i32 %count) {
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @condition)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
"""

# A guest of a hypervisor finds a sleeping CPU "preempted", and the scheduler then queues a woken
# helper behind its running caller for milliseconds: so helpers may use all CPUs but the caller's.
_PINNING = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
@helper_ids = internal global [256 x i32] zeroinitializer, align 16
@caller_cpu = internal global i32 -1, align 4
define internal void @introduce(i64 %helper) {
  %id = call i64 (i64, ...) @syscall(i64 $gettid)
  %id32 = trunc i64 %id to i32
  %p = getelementptr i32, ptr @helper_ids, i64 %helper
  store atomic i32 %id32, ptr %p release, align 4
  ret void
}
define internal void @forget_helpers() {
  call void @llvm.memset.p0.i64(ptr @helper_ids, i8 0, i64 1024, i1 false)
  store i32 -1, ptr @caller_cpu
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @make_way() {
entry:
  %mask = alloca [128 x i8], align 16
  %cpu = call i32 @sched_getcpu()
  %last = load i32, ptr @caller_cpu
  %same = icmp eq i32 %cpu, %last
  br i1 %same, label %done, label %moved
moved:
  store i32 %cpu, ptr @caller_cpu
  %got = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %known = icmp ult i32 %cpu, 1024
  %fine = icmp sge i32 %got, 0
  %both = and i1 %known, %fine
  br i1 %both, label %clear, label %done
clear:
  %byte = lshr i32 %cpu, 3
  %byte64 = zext i32 %byte to i64
  %p = getelementptr i8, ptr %mask, i64 %byte64
  %bit = and i32 %cpu, 7
  %one = shl i32 1, %bit
  %one8 = trunc i32 %one to i8
  %others = xor i8 %one8, -1
  %old = load i8, ptr %p
  %new = and i8 %old, %others
  store i8 %new, ptr %p
  %count = load i32, ptr @helpers
  %count64 = zext i32 %count to i64
  br label %each
each:
  %k = phi i64 [ 1, %clear ], [ %k1, %next_helper ]
  %in = icmp ule i64 %k, %count64
  br i1 %in, label %one_helper, label %done
one_helper:
  %ip = getelementptr i32, ptr @helper_ids, i64 %k
  %id = load atomic i32, ptr %ip acquire, align 4
  %started = icmp ne i32 %id, 0
  br i1 %started, label %pin, label %next_helper
pin:
  %s = call i32 @sched_setaffinity(i32 %id, i64 128, ptr %mask)
  br label %next_helper
next_helper:
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}
"""

_NO_PINNING = """
define internal void @introduce(i64 %helper) {
  ret void
}
define internal void @forget_helpers() {
  ret void
}
define internal void @make_way() {
  ret void
}
"""


def filled(text: str, **values: object) -> str:
    """The text with a value for each ``$name``.  (`string.Template` takes a millisecond to import.)"""
    for name, value in values.items():
        text = text.replace(f"${name}", str(value))
    return text


def basics(system: System) -> str:
    """Definitions of ``@now``, ``@pause`` and those of the floating-point environment."""
    clock = _NO_CLOCK if system.clock is None else filled(_CLOCK, clock=system.clock)
    return clock + _MACHINE[system.machine]


def parking(system: System) -> str:
    """Definitions of all the others; ``@helpers`` is the number of helpers."""
    if system.parking == "futex":
        return filled(_FUTEX, futex=system.futex) + filled(_PINNING, gettid=system.gettid)
    return _COND + _NO_PINNING
