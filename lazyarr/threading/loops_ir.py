"""LLVM IR of the loops that run a launch: serial, and on a pool of native threads.

In:  the system (`System`).   Out: text of two modules, `serial` and `pool`.

    i64 lazyarr_serial_for(kernel, words, first, chunks, nanoseconds)
    i64 lazyarr_parallel_for(kernel, words, first, chunks, threads, nanoseconds)
    void lazyarr_pool_stir(threads)

run chunks first, first+1, ... and return the first one not run: `chunks`, unless the time was up
before (some chunk always runs, and all that were begun are finished).  The pool returns -1 and runs
nothing when another thread is using it.  A kernel is ``void (ptr words, i64 chunk, i64 thread)``;
the caller is thread 0, helpers are 1 to threads - 1, each number at most once at any time.

Protocol of the pool ("open door").  `state` = bit 31: open; bits 16..30: places left; bits 0..15:
helpers inside.  The caller describes the job, opens the door, counts `sequence` up and wakes
sleepers; then it claims chunks itself, closes the door, and waits until nobody is inside.  A
helper enters only through an open door, so the caller never waits for one that has not started.
Helpers spin a little for the next job before they sleep.  To wake them takes as long as a job on some
hundred thousand elements; so where a job came soon, sooner after the last one than that one took, they expect
as much of the next one and spin longer.  They block all signals, which are Python's business, and compute in
the caller's floating-point environment, which both loops leave to the caller as they found it.  What the
chunks raise goes into the first of the words (atomic or).

Where others need the CPUs, or where to wake a thread takes long (a hypervisor's business), helpers cost more
than they save: the caller waits in the system, and for a helper that has begun a chunk and does not run.  So
of each kind of job (a kernel, a number of chunks) it is known what helpers have saved: the time of their
chunks, by the caller's, without what the caller spent on calling them and waiting.  Where that is a loss a
few times, some jobs of the kind are the caller's alone, more each time it is found again; where chunks of one
have taken long, helpers are called for the others.
"""

from __future__ import annotations

from lazyarr.interrupts import signal
from lazyarr.threading.system_ir import System, basics, filled, parking

MAX_HELPERS = 255
_SPIN_FOR_JOB = 2000        # pauses, about 0.1 ms: how long a helper stays hot
_SOON = 500_000             # nanoseconds: the same where the job before came soon, and what is soon
_SPIN_FOR_END = 4000        # pauses before the caller sleeps for its last helpers
_KINDS = 64                 # kinds of jobs, by hash, of which something is known
_WHOLE = 16                 # units of credit of one job at most: the time that the caller took for its chunks
_CREDIT = 3 * _WHOLE        # so much is lost before the caller works alone; and the most that is remembered
_ALONE = 64                 # jobs that are the caller's alone, the first time
_MOST_ALONE = 1024          # and at most
_PATIENCE = 250_000         # nanoseconds that the caller works alone before it calls helpers, then

_SERIAL = """
define i64 @lazyarr_serial_for(ptr %kernel, ptr %words, i64 %first, i64 %chunks, i64 %nanoseconds) {
entry:
  %environment = alloca [64 x i8], align 16
  call void @save_environment(ptr %environment)
  call void @clear_flags()
  %begin = call i64 @now()
  %deadline = add i64 %begin, %nanoseconds
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %i1, %ran ]
  %more = icmp slt i64 %i, %chunks
  br i1 %more, label %run, label %done
run:
  call void %kernel(ptr %words, i64 %i, i64 0)
  %i1 = add i64 %i, 1
  %t = call i64 @now()
  %late = icmp sgt i64 %t, %deadline
  br i1 %late, label %done, label %ran
ran:
  br label %loop
done:
  %next = phi i64 [ %i, %loop ], [ %i1, %run ]
  call void @tell_flags(ptr %words)
  call void @load_environment(ptr %environment)
  ret i64 %next
}
"""

_POOL_STATE = f"""
%Job = type {{ ptr, ptr, i64, [64 x i8] }}  ; kernel, words, chunks, floating-point environment
@job = internal global %Job zeroinitializer, align 128
@next = internal global i64 0, align 128
@state = internal global i32 0, align 128
@sequence = internal global i32 0, align 128
@sleepers = internal global i32 0, align 128
@caller_sleeps = internal global i32 0, align 128
@busy = internal global i32 0, align 128
@helpers = internal global i32 0, align 128
; what follows is the business of whoever has `busy`, but that `stir` looks at it without
@kinds = internal global [{_KINDS} x [3 x i32]] zeroinitializer, align 128    ; see `judge`
@stays_alone = internal global i32 0        ; was the last job the caller's alone?
@calling = internal global i64 0            ; nanoseconds spent on waking helpers for the next job
@led = internal global [3 x i64] zeroinitializer    ; when `lead` began and ended, and how many chunks it ran

define void @lazyarr_pool_reset() {{
  store i32 0, ptr @state
  store i32 0, ptr @sequence
  store i32 0, ptr @sleepers
  store i32 0, ptr @caller_sleeps
  store i32 0, ptr @busy
  store i32 0, ptr @helpers
  call void @forget_helpers()
  call void @init_parking()
  call void @lazyarr_pool_trust()
  ret void
}}

; nothing is known of helpers
define void @lazyarr_pool_trust() {{
  store [{_KINDS} x [3 x i32]] zeroinitializer, ptr @kinds
  store i32 0, ptr @stays_alone
  store i64 0, ptr @calling
  ret void
}}
@max_helpers = internal constant i64 {MAX_HELPERS}
"""

_HELPER = """
define internal void @help(i64 %thread) {
entry:
  call void @load_environment(ptr getelementptr (%Job, ptr @job, i32 0, i32 3))
  call void @clear_flags()
  %kernel = load ptr, ptr @job
  %words = load ptr, ptr getelementptr (%Job, ptr @job, i32 0, i32 1)
  %chunks = load i64, ptr getelementptr (%Job, ptr @job, i32 0, i32 2)
  br label %loop
loop:
  %i = atomicrmw add ptr @next, i64 1 monotonic
  %more = icmp slt i64 %i, %chunks
  br i1 %more, label %run, label %done
run:
  call void %kernel(ptr %words, i64 %i, i64 %thread)
  br label %loop
done:
  call void @tell_flags(ptr %words)
  ret void
}

define internal ptr @helper(ptr %argument) {
entry:
  %number = ptrtoint ptr %argument to i64
  call void @introduce(i64 %number)
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %s, %missed ], [ %s, %left ]
  %soon = phi i1 [ false, %entry ], [ %soon, %missed ], [ %came_soon, %left ]
  %since = phi i64 [ 0, %entry ], [ %since, %missed ], [ %end, %left ]
  %worked = phi i64 [ 0, %entry ], [ %worked, %missed ], [ %took, %left ]
  br label %spin
spin:
  %k = phi i32 [ 0, %idle ], [ %k1, %again ], [ 0, %sleep ]
  %s = load atomic i32, ptr @sequence seq_cst, align 4
  %new = icmp ne i32 %s, %seen
  br i1 %new, label %look, label %wait
wait:
  %enough = icmp uge i32 %k, $spin_for_job
  br i1 %enough, label %expect, label %again
expect:
  br i1 %soon, label %clock, label %sleep
clock:
  %t = call i64 @now()
  %waited = sub i64 %t, %since
  %late = icmp sge i64 %waited, $soon
  br i1 %late, label %sleep, label %again
again:
  call void @pause()
  %k1 = add i32 %k, 1
  br label %spin
sleep:
  %up = atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @park(ptr @sequence, i32 %seen)
  %down = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %spin
look:
  %now = load atomic i32, ptr @state acquire, align 4
  br label %door
door:
  %st = phi i32 [ %now, %look ], [ %seen_state, %enter ]
  %open = icmp slt i32 %st, 0
  %high = lshr i32 %st, 16
  %places = and i32 %high, 32767
  %room = icmp ne i32 %places, 0
  %may = and i1 %open, %room
  br i1 %may, label %enter, label %missed
enter:                                  ; one place fewer, one helper more
  %inside = sub i32 %st, 65535
  %swap = cmpxchg ptr @state, i32 %st, i32 %inside seq_cst seq_cst
  %seen_state = extractvalue { i32, i1 } %swap, 0
  %entered = extractvalue { i32, i1 } %swap, 1
  br i1 %entered, label %work, label %door
missed:
  br label %idle
work:                                   ; places left count down, so the number is nobody else's
  %thread = zext i32 %places to i64
  %begin = call i64 @now()
  call void @help(i64 %thread)
  %end = call i64 @now()
  %took = sub i64 %end, %begin
  %gap = sub i64 %begin, %since
  %limit = call i64 @llvm.smin.i64(i64 %worked, i64 $soon)
  %came_soon = icmp slt i64 %gap, %limit
  %old = atomicrmw sub ptr @state, i32 1 seq_cst
  %last = icmp eq i32 %old, 1           ; the door is closed and nobody is left inside
  br i1 %last, label %tell, label %left
tell:
  %waits = load atomic i32, ptr @caller_sleeps seq_cst, align 4
  %asleep = icmp ne i32 %waits, 0
  br i1 %asleep, label %wake, label %left
wake:
  call void @unpark(ptr @state, i32 1)
  br label %left
left:
  br label %idle
}
"""

_GROW = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
define internal void @grow(i32 %wanted) {
entry:
  %mask = alloca [128 x i8], align 16
  %every = alloca [128 x i8], align 16
  %id = alloca i64, align 8
  %have = load i32, ptr @helpers
  %few = icmp slt i32 %have, %wanted
  br i1 %few, label %block, label %done
block:
  %f = call i32 @sigfillset(ptr %every)
  %b = call i32 @pthread_sigmask(i32 $set_mask, ptr %every, ptr %mask)
  br label %loop
loop:
  %n = phi i32 [ %have, %block ], [ %n1, %made ]
  %n1 = add i32 %n, 1
  %number = zext i32 %n1 to i64
  %argument = inttoptr i64 %number to ptr
  %error = call i32 @pthread_create(ptr %id, ptr null, ptr @helper, ptr %argument)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %unblock, label %made
made:
  %handle = load i64, ptr %id
  %d = call i32 @pthread_detach(i64 %handle)
  store i32 %n1, ptr @helpers
  %more = icmp slt i32 %n1, %wanted
  br i1 %more, label %loop, label %unblock
unblock:
  %u = call i32 @pthread_sigmask(i32 $set_mask, ptr %mask, ptr null)
  br label %done
done:
  ret void
}
"""

_CALLER = """
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)

; claim chunks until none are left or the time is up; the first chunk that nobody has claimed.  With patience,
; the door is opened when that is exhausted.
define internal i64 @lead(ptr %kernel, ptr %words, i64 %chunks, i64 %nanoseconds,
                          i64 %patience, i64 %places) {
entry:
  %begin = call i64 @now()
  store i64 %begin, ptr @led
  %deadline = add i64 %begin, %nanoseconds
  %calls_at = add i64 %begin, %patience
  %begins_alone = icmp ne i64 %patience, 0
  br label %loop
loop:
  %mine = phi i64 [ 0, %entry ], [ %ran, %go_on ]
  %now = phi i64 [ %begin, %entry ], [ %t, %go_on ]
  %alone = phi i1 [ %begins_alone, %entry ], [ %still, %go_on ]
  %i = atomicrmw add ptr @next, i64 1 monotonic
  %more = icmp slt i64 %i, %chunks
  br i1 %more, label %run, label %all
run:
  call void %kernel(ptr %words, i64 %i, i64 0)
  %ran = add i64 %mine, 1
  %t = call i64 @now()
  %late = icmp sgt i64 %t, %deadline
  br i1 %late, label %stop, label %look
look:
  %enough = icmp sge i64 %t, %calls_at
  %calls = and i1 %alone, %enough
  br i1 %calls, label %open, label %go_on
open:
  call void @open_door(i64 %places)
  br label %go_on
go_on:
  %still = phi i1 [ %alone, %look ], [ false, %open ]
  br label %loop
stop:
  %unclaimed = atomicrmw xchg ptr @next, i64 %chunks seq_cst
  %rest = call i64 @llvm.smin.i64(i64 %unclaimed, i64 %chunks)
  call void @note_led(i64 %t, i64 %ran)
  ret i64 %rest
all:
  call void @note_led(i64 %now, i64 %mine)
  ret i64 %chunks
}
define internal void @note_led(i64 %end, i64 %mine) {
  store i64 %end, ptr getelementptr (i64, ptr @led, i64 1)
  store i64 %mine, ptr getelementptr (i64, ptr @led, i64 2)
  ret void
}

; wait until no helper is inside
define internal void @gather() {
entry:
  br label %look
look:
  %k = phi i32 [ 0, %entry ], [ %k1, %again ], [ 0, %sleep ]
  %st = load atomic i32, ptr @state seq_cst, align 4
  %empty = icmp eq i32 %st, 0
  br i1 %empty, label %done, label %patience
patience:
  %enough = icmp uge i32 %k, $spin_for_end
  br i1 %enough, label %sleep, label %again
again:
  call void @pause()
  %k1 = add i32 %k, 1
  br label %look
sleep:
  store atomic i32 1, ptr @caller_sleeps seq_cst, align 4
  %inside = load atomic i32, ptr @state seq_cst, align 4
  call void @park_unless_empty(i32 %inside)
  store atomic i32 0, ptr @caller_sleeps seq_cst, align 4
  br label %look
done:
  ret void
}
define internal void @park_unless_empty(i32 %inside) {
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %done, label %sleep
sleep:
  call void @park(ptr @state, i32 %inside)
  br label %done
done:
  ret void
}

define internal void @open_door(i64 %places) {
  %p = trunc i64 %places to i32
  call void @grow(i32 %p)
  %high = shl i32 %p, 16
  %open = or i32 %high, -2147483648
  store atomic i32 %open, ptr @state seq_cst, align 4
  %s = atomicrmw add ptr @sequence, i32 1 seq_cst
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %sleeping, 0
  br i1 %any, label %wake, label %done
wake:
  call void @make_way()
  call void @unpark(ptr @sequence, i32 %p)
  br label %done
done:
  ret void
}

; a job for so many threads will come in a moment: who sleeps may look out for it
define void @lazyarr_pool_stir(i64 %threads) {
entry:
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ne i32 %sleeping, 0
  %alone = load atomic i32, ptr @stays_alone monotonic, align 4
  %wanted = icmp eq i32 %alone, 0
  %wakes = and i1 %any, %wanted
  br i1 %wakes, label %wake, label %done
wake:
  %others = sub i64 %threads, 1
  %p = trunc i64 %others to i32
  %begin = call i64 @now()
  call void @make_way()
  call void @unpark(ptr @sequence, i32 %p)
  %end = call i64 @now()
  %took = sub i64 %end, %begin
  store atomic i64 %took, ptr @calling monotonic, align 8
  br label %done
done:
  ret void
}

define internal ptr @kind_of(ptr %kernel, i64 %chunks) {
  %address = ptrtoint ptr %kernel to i64
  %low = lshr i64 %address, 6
  %high = lshr i64 %address, 12
  %both = xor i64 %low, %high
  %hash = add i64 %both, %chunks
  %place = and i64 %hash, $kinds_mask
  %kind = getelementptr [3 x i32], ptr @kinds, i64 %place
  ret ptr %kind
}

; does the caller work alone?  Of a kind: credit, jobs yet that are the caller's alone, how many the next time
define internal i1 @is_alone(ptr %kind) {
  %at = getelementptr i32, ptr %kind, i64 1
  %left = load i32, ptr %at
  %is = icmp sgt i32 %left, 0
  %one = zext i1 %is to i32
  %fewer = sub i32 %left, %one
  store i32 %fewer, ptr %at
  store atomic i32 %one, ptr @stays_alone monotonic, align 4
  ret i1 %is
}

; so many chunks of a job are done, for which the caller began to call helpers at that time: did that pay?
define internal void @judge(ptr %kind, i64 %done_chunks, i64 %called_at) {
entry:
  %gathered = call i64 @now()
  %begin = load i64, ptr @led
  %end = load i64, ptr getelementptr (i64, ptr @led, i64 1)
  %mine = load i64, ptr getelementptr (i64, ptr @led, i64 2)
  %woke = load atomic i64, ptr @calling monotonic, align 8
  %opening = sub i64 %begin, %called_at
  %calling = add i64 %woke, %opening
  %waited = sub i64 %gathered, %end
  %lost = add i64 %calling, %waited
  %helped = sub i64 %done_chunks, %mine
  %took = sub i64 %end, %begin
  %own = call i64 @llvm.smax.i64(i64 %mine, i64 1)
  %all = mul i64 %took, %helped
  %saved = sdiv i64 %all, %own
  %gain = sub i64 %saved, %lost
  %scaled = mul i64 %gain, $whole
  %length = call i64 @llvm.smax.i64(i64 %took, i64 1)
  %units = sdiv i64 %scaled, %length
  %upper = call i64 @llvm.smin.i64(i64 %units, i64 $whole)
  %bounded = call i64 @llvm.smax.i64(i64 %upper, i64 -$whole)
  %change = trunc i64 %bounded to i32
  %old = load i32, ptr %kind
  %sum = add i32 %old, %change
  %new = call i32 @llvm.smin.i32(i32 %sum, i32 $credit)
  store i32 %new, ptr %kind
  %term_at = getelementptr i32, ptr %kind, i64 2
  %good = icmp eq i32 %new, $credit
  br i1 %good, label %trusted, label %doubt
trusted:
  store i32 0, ptr %term_at
  ret void
doubt:
  %bad = icmp sle i32 %new, -$credit
  br i1 %bad, label %part, label %done
part:
  %last = load i32, ptr %term_at
  %first = icmp eq i32 %last, 0
  %twice = shl i32 %last, 1
  %most = call i32 @llvm.smin.i32(i32 %twice, i32 $most_alone)
  %term = select i1 %first, i32 $alone, i32 %most
  store i32 %term, ptr %term_at
  %left_at = getelementptr i32, ptr %kind, i64 1
  store i32 %term, ptr %left_at
  store i32 0, ptr %kind
  br label %done
done:
  ret void
}

define i64 @lazyarr_parallel_for(ptr %kernel, ptr %words, i64 %first, i64 %chunks, i64 %threads,
                                 i64 %nanoseconds) {
entry:
  %swap = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %swap, 1
  br i1 %mine, label %launch, label %refuse
refuse:
  ret i64 -1
launch:
  store ptr %kernel, ptr @job
  store ptr %words, ptr getelementptr (%Job, ptr @job, i32 0, i32 1)
  store i64 %chunks, ptr getelementptr (%Job, ptr @job, i32 0, i32 2)
  call void @save_environment(ptr getelementptr (%Job, ptr @job, i32 0, i32 3))
  store atomic i64 %first, ptr @next seq_cst, align 8
  %left = sub i64 %chunks, %first
  %all = call i64 @llvm.smin.i64(i64 %left, i64 %threads)
  %others = sub i64 %all, 1
  %limit = load i64, ptr @max_helpers
  %places = call i64 @llvm.smin.i64(i64 %others, i64 %limit)
  %kind = call ptr @kind_of(ptr %kernel, i64 %chunks)
  %alone = call i1 @is_alone(ptr %kind)
  br i1 %alone, label %begin, label %call
call:
  %begun = call i64 @now()
  call void @open_door(i64 %places)
  br label %begin
begin:
  %patience = phi i64 [ $patience, %launch ], [ 0, %call ]
  %calls = phi i64 [ 0, %launch ], [ %begun, %call ]
  call void @clear_flags()
  %rest = call i64 @lead(ptr %kernel, ptr %words, i64 %chunks, i64 %nanoseconds, i64 %patience, i64 %places)
  call void @tell_flags(ptr %words)
  %closed = atomicrmw and ptr @state, i32 65535 seq_cst
  call void @gather()
  br i1 %alone, label %end, label %weigh
weigh:
  %done = sub i64 %rest, %first
  call void @judge(ptr %kind, i64 %done, i64 %calls)
  br label %end
end:
  store atomic i64 0, ptr @calling monotonic, align 8
  call void @load_environment(ptr getelementptr (%Job, ptr @job, i32 0, i32 3))
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i64 %rest
}
"""


def serial(system: System) -> str:
    """The module of ``lazyarr_serial_for``."""
    return basics(system) + _SERIAL


def pool(system: System) -> str:
    """The module of ``lazyarr_parallel_for`` and ``lazyarr_pool_reset``."""
    helper = filled(_HELPER, spin_for_job=_SPIN_FOR_JOB, soon=_SOON)
    grow = filled(_GROW, set_mask=int(signal.SIG_SETMASK))
    caller = filled(
        _CALLER, spin_for_end=_SPIN_FOR_END, kinds_mask=_KINDS - 1, whole=_WHOLE, credit=_CREDIT,
        most_alone=_MOST_ALONE, alone=_ALONE, patience=_PATIENCE,
    )  # fmt: skip
    return basics(system) + parking(system) + _POOL_STATE + helper + grow + caller
