"""Launches: each chunk exactly once, whoever runs it, whatever happens around it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from launch_kernels import kernels, mxcsr_kernels

from lazyarr.config import options
from lazyarr.counters import COUNT
from lazyarr.threading import pool, run
from lazyarr.threading.run import parallel_for
from tests.crowd import at_once

HERE = str(Path(__file__).parent)
POSIX = hasattr(pool.os, "fork")


def python(code: str, *, timeout: float = 120) -> str:
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout,
                         env={"PYTHONPATH": ":".join([HERE, *sys.path])})
    assert out.returncode == 0, (out.returncode, out.stdout, out.stderr)
    return out.stdout


def hits(kernel: str, chunks: int, threads: int) -> numpy.ndarray:
    words = numpy.zeros(chunks + 1, numpy.int64)
    words[0] = 100
    parallel_for(kernels()[kernel], words.ctypes.data + 8, chunks, threads)
    return words[1:]


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 300])
@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 7, 1000])
def test_each_chunk_once(chunks, threads):
    for _ in range(20):
        assert (hits("hit", chunks, threads) == 1).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("nanoseconds", [-1, 0, 3000])
def test_each_chunk_once_in_slices(monkeypatch, threads, nanoseconds):
    monkeypatch.setattr(run, "SLICE", nanoseconds)
    for chunks in (1, 2, 17, 300):
        assert (hits("slow", chunks, threads) == 1).all()


def test_a_slice_ends_after_the_chunk_in_which_time_is_up():
    words = numpy.zeros(40, numpy.int64)
    serial = pool.serial_for()
    assert serial(kernels()["hit"], words.ctypes.data, 0, 40, -1) == 1
    assert serial(kernels()["hit"], words.ctypes.data, 0, 40, 10**10) == 40


def test_two_threads_really_run():
    words = numpy.zeros(1, numpy.int64)
    before = COUNT.parallel_launches
    for _ in range(50):
        words[0] = 0
        pool.trust()                    # (chunks that wait for each other; other launches' may not)
        parallel_for(kernels()["meet"], words.ctypes.data, 2, 2)
        assert words[0] == 2
    assert COUNT.parallel_launches == before + 50


FAKE = """
import ctypes
import numpy
from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_levels
from lazyarr.threading import loops_ir, pool, system_ir

clock = ctypes.c_int64(1000)
at = f"inttoptr (i64 {ctypes.addressof(clock)} to ptr)"
system_ir._CLOCK = f'''
define internal i64 @now() {{
  %t = load atomic i64, ptr {at} seq_cst, align 8
  ret i64 %t
}}
'''
"""
"""A clock that only the test and its kernels advance."""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts of Linux")
def test_helpers_stay_awake_for_who_comes_again_soon():
    """By a clock that only the test and its kernel advance: what a launch takes, and what is between two."""
    python(FAKE + """
import threading
import time
from pathlib import Path
from lazyarr.threading.run import parallel_for

meet = '''
  %o{0} = atomicrmw add ptr %{0}, i64 1 seq_cst
  br label %wait{0}
wait{0}:
  %n{0} = load atomic i64, ptr %{0} seq_cst, align 8
  %few{0} = icmp slt i64 %n{0}, 2
  br i1 %few{0}, label %wait{0}, label %met{0}
met{0}:'''
kernel = load(f'''
define void @work(ptr %a, i64 %chunk, i64 %thread) {{
  %b = getelementptr i64, ptr %a, i64 1
  %c = getelementptr i64, ptr %a, i64 2
  %each = load i64, ptr %c
  {meet.format("a")}
  %t = atomicrmw add ptr {at}, i64 %each seq_cst
  {meet.format("b")}
  ret void
}}
''', ("work",), host_levels()[0].target)["work"]

def told():
    # How often other threads went to sleep.
    tasks = [t for t in Path("/proc/self/task").iterdir() if int(t.name) != threading.get_native_id()]
    text = "".join((t / "status").read_text() for t in tasks)
    return sum(int(x.split()[1]) for x in text.splitlines() if x.startswith("voluntary"))

def sleeps(took, gap, expected):
    # The same in six launches that each take so long, and begin so long after the last one.
    for k in range(9):
        if k == 3:
            before = told()
        last, patience = told(), time.monotonic() + 20
        words = numpy.array([0, 0, took // 2])
        parallel_for(kernel, words.ctypes.data, 2, 2)
        time.sleep(0.05)                # longer than anybody waits who does not look at the clock
        while expected and k >= 3 and told() == last and time.monotonic() < patience:
            time.sleep(0.01)            # (others may have the cores)
        clock.value += gap
    return told() - before

awake, slower, longer, late = (
    sleeps(*each)
    for each in (
        (400000, 300000, False), (400000, 450000, True), (900000, 450000, False), (900000, 600000, True),
    )
)
assert awake == longer == 0, (awake, longer)
assert slower >= 6 and late >= 6, (slower, late)    # (later than a launch takes, or than pays)
""")


def test_callers_work_alone_where_helpers_cost_more_than_they_save():
    python(FAKE + """
text = loops_ir.pool(system_ir.this_system())
text = text.replace("lazyarr_pool", "weighed").replace("lazyarr_", "weighed_")
weighed = load(text + '''
define i64 @weigh(ptr %kernel, i64 %took, i64 %mine, i64 %done) {
  %kind = call ptr @kind_of(ptr %kernel, i64 2)
  %alone = call i1 @is_alone(ptr %kind)
  br i1 %alone, label %end, label %judge
judge:
  store i64 0, ptr @led
  call void @note_led(i64 %took, i64 %mine)
  call void @judge(ptr %kind, i64 %done, i64 0)
  br label %end
end:
  %is = zext i1 %alone to i64
  ret i64 %is
}
''', ("weigh", "weighed_trust"), host_levels()[0].target, kernel=False)
weigh = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)(weighed["weigh"])
trust = ctypes.CFUNCTYPE(None)(weighed["weighed_trust"])
KERNEL, OTHER = 1 << 20, 1 << 20 | 64

def jobs(count, lost, kernel=KERNEL, took=1000, mine=1, done=2):
    # How many of so many jobs were the caller's alone, where helpers would have cost it so much.
    clock.value = took + lost
    return sum(weigh(kernel, took, mine, done) for _ in range(count))

trust()
assert jobs(1000, 0) == jobs(1000, 999) == jobs(1000, 1000) == 0
assert jobs(6, 2_000_000) == 0              # (each counts as much as the job took, at most)
assert jobs(1000, 50_000, OTHER) == 64 + 128 + 256 + 512 + (1000 - 960 - 5 * 3)
assert jobs(67, 0) == 64, "the other kind is unknown to this one"
assert jobs(100, 0, OTHER) == 100 and jobs(1000, 0, OTHER) == 1024 - 100 - 25
assert jobs(6, 2000, OTHER) == 0 and jobs(67, 2000, OTHER) == 64, "what was good begins anew"
trust()
assert jobs(3, 1, took=0, mine=0) == 0 and jobs(1, 1) == 1, "the caller was kept from all chunks"
""")


def test_callers_who_work_alone_call_helpers_where_it_takes_long():
    python(FAKE + """
loops_ir._CALLER += '''
define void @lazyarr_doubt(ptr %kernel, i64 %chunks) {
  %kind = call ptr @kind_of(ptr %kernel, i64 %chunks)
  %left = getelementptr i32, ptr %kind, i64 1
  store i32 1000, ptr %left
  ret void
}
'''
pool._NAMES = *pool._NAMES, "doubt"
names = tuple(f"lazyarr_{name}" for name in pool._NAMES)
found = load(loops_ir.pool(system_ir.this_system()), names, host_levels()[0].target, kernel=False)
doubt = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(found["lazyarr_doubt"])
kernel = load(f'''
define void @work(ptr %who, i64 %chunk, i64 %thread) {{
  %mine = getelementptr i64, ptr %who, i64 %chunk
  %told = add i64 %thread, 1
  store atomic i64 %told, ptr %mine seq_cst, align 8
  %caller = icmp eq i64 %thread, 0
  br i1 %caller, label %works, label %done
works:
  %t = atomicrmw add ptr {at}, i64 100000 seq_cst
  %last = icmp eq i64 %chunk, 5
  br i1 %last, label %wait, label %done
wait:                           ; for somebody to run the next one
  %next = getelementptr i64, ptr %who, i64 6
  %other = load atomic i64, ptr %next seq_cst, align 8
  %nobody = icmp eq i64 %other, 0
  br i1 %nobody, label %wait, label %done
done:
  ret void
}}
''', ("work",), host_levels()[0].target)["work"]

def ran(chunks):
    who = numpy.zeros(chunks, numpy.int64)
    pool.parallel_for()(kernel, who.ctypes.data, 0, chunks, 2, 10**12)
    return [*who]

ran(2)
for chunks in (2, 7):
    doubt(kernel, chunks)
for _ in range(20):
    assert ran(2) == [1, 1]
    who = ran(7)
    assert who[:3] == [1, 1, 1] and 2 in who[3:], who
""")


@pytest.mark.parametrize("threads", [2, 3, 6])
def test_thread_numbers_are_small_and_nobody_elses(threads):
    """Scratch memory is by thread number.  More workers than a launch asks for are around."""
    hits("hit", 100, 8)
    words = numpy.zeros(192, numpy.int64)
    for _ in range(200):
        parallel_for(kernels()["alone"], words.ctypes.data, 64, threads)
    assert words[128] == 0
    assert words[64:128].sum() == 200 * 64
    assert not words[64 + threads : 128].any()


def test_serial_layer_and_one_thread_use_no_pool():
    before = COUNT.parallel_launches
    with options(threading_layer="serial"):
        assert (hits("hit", 100, 4) == 1).all()
    assert (hits("hit", 100, 1) == 1).all()
    assert COUNT.parallel_launches == before


def test_many_python_threads_at_once():
    wrong = []

    def work():
        for _ in range(300):
            if not (hits("hit", 50, 3) == 1).all():
                wrong.append(1)

    at_once(work, 6)
    assert not wrong


def test_nested_launches_run_serially():
    chunks = 20
    counts = numpy.zeros((chunks, 30), numpy.int64)
    parallel = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def outer(words, chunk, thread):
        before = COUNT.parallel_launches
        parallel_for(kernels()["hit"], counts[chunk].ctypes.data, 30, 2)
        parallel.append(COUNT.parallel_launches - before)

    parallel_for(ctypes.cast(outer, ctypes.c_void_p).value, 0, chunks, 2)
    assert (counts == 1).all()
    assert parallel == [0] * chunks


@pytest.mark.skipif(pool.this_system().machine != "x86", reason="reads MXCSR")
def test_chunks_have_the_callers_floating_point_environment_and_leave_it():
    """A helper inherits that of whoever made it, or what the chunk before left: both are wrong."""
    spoil, get, put = mxcsr_kernels()
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    usual, found, words = (numpy.zeros(4, numpy.int64) for _ in range(3))
    call(get)(usual.ctypes.data)
    upward = usual & 0xFFC0 | 0x4000
    try:
        for mine in (usual, upward, usual, upward):
            words[:] = 0
            call(put)(mine.ctypes.data)
            pool.trust()                # (chunks that wait for each other, as above)
            parallel_for(spoil, words.ctypes.data, 2, 2)
            call(get)(found.ctypes.data)
            clear = mine[0] & ~0x3F             # no flags: chunks tell what they raise themselves
            assert (words[1], words[2], found[0]) == (clear, clear, mine[0])
            words[:] = 1
            parallel_for(spoil, words.ctypes.data, 1, 1)
            call(get)(found.ctypes.data)
            assert found[0] == mine[0]
    finally:
        call(put)(usual.ctypes.data)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_block_signals():
    out = python("""
import os, numpy
from launch_kernels import kernels
from lazyarr.threading.run import parallel_for
words = numpy.zeros(100, numpy.int64)
parallel_for(kernels()["hit"], words.ctypes.data, 100, 4)
main = str(os.getpid())
for task in os.listdir("/proc/self/task"):
    if task != main:
        lines = open(f"/proc/self/task/{task}/status").read().splitlines()
        print([l.split()[1] for l in lines if l.startswith("SigBlk")][0])
""")
    masks = [int(line, 16) for line in out.split()]
    sigint = 1 << 1
    assert sum(1 for mask in masks if mask & sigint) >= 3


FORK = """
import os, threading, time, numpy
from launch_kernels import kernels
from lazyarr.threading.run import parallel_for
def launch(threads=2):
    words = numpy.zeros(201, numpy.int64)
    words[0] = 2000
    parallel_for(kernels()["slow"], words.ctypes.data + 8, 200, threads)
    assert (words[1:] == 1).all()
def fork():
    pid = os.fork()
    if pid == 0:
        for _ in range(20):
            launch()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.skipif(not POSIX, reason="fork")
@pytest.mark.parametrize(
    "story",
    [
        "fork(); launch(); fork()",
        "launch(); fork(); launch()",
        "launch(4); time.sleep(0.05); fork(); launch(4)",       # helpers asleep
        """
stop = False
def churn():
    while not stop: launch()
threads = [threading.Thread(target=churn) for _ in range(2)]
for t in threads: t.start()
for _ in range(15): fork()
stop = True
for t in threads: t.join()
""",
        """
launch()
pid = os.fork()
if pid == 0:
    launch(); fork(); launch()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
    ],
    ids=["before", "after", "asleep", "during", "grandchild"],
)
def test_fork(story):
    python(FORK + story)


@pytest.mark.skipif(not POSIX, reason="fork")
def test_multiprocessing_pool():
    python(FORK + """
import multiprocessing
launch()
def work(k):
    launch()
    return k
with multiprocessing.get_context("fork").Pool(3) as workers:
    assert workers.map(work, range(12)) == list(range(12))
""")


INTERRUPT = """
import os, signal, threading, time, numpy
from launch_kernels import kernels
from lazyarr.threading.run import parallel_for
words = numpy.zeros(20001, numpy.int64)
words[0] = 3_000_000                    # about a millisecond for each chunk
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    parallel_for(kernels()["slow"], words.ctypes.data + 8, 20000, THREADS)
except KeyboardInterrupt:
    ran = words[1:].copy()
    assert 0 < ran.sum() < 5000 and set(ran) == {0, 1}
    time.sleep(0.05)
    assert (words[1:] == ran).all()     # nothing runs any more
    words[0] = 1
    words[1:] = 0
    parallel_for(kernels()["slow"], words.ctypes.data + 8, 20000, THREADS)
    assert (words[1:] == 1).all()
    print("interrupted")
"""


@pytest.mark.skipif(not POSIX, reason="signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_long_launch(threads):
    assert python(INTERRUPT.replace("THREADS", str(threads))).strip() == "interrupted"


@pytest.mark.parametrize(
    "story", ["", "time.sleep(0.05)", "threading.Thread(target=churn, daemon=True).start()"]
)
def test_interpreter_exit(story):
    for _ in range(3):
        python(FORK + f"""
def churn():
    while True: launch()
launch(4)
{story}
""")


def test_parking_with_condition_variables():
    """The way of other POSIX systems, on this one."""
    if pool.this_system().parking == "none":
        pytest.skip("no POSIX")
    python("""
from lazyarr.threading import pool
from lazyarr.threading.system_ir import System, this_system
real = this_system()
pool.this_system = lambda: System(real.clock, "cond", real.machine)
""" + FORK + """
for pause in (0, 0.01):
    for _ in range(20):
        launch(4)
        time.sleep(pause)
fork()
launch(4)
""")


def test_a_system_without_a_pool_runs_serially():
    python("""
from lazyarr.threading import pool
from lazyarr.threading.system_ir import System, this_system
pool.this_system = lambda: System(None, "none", this_system().machine)
from lazyarr.counters import COUNT
""" + FORK + """
launch(4)
assert COUNT.parallel_launches == 0
""")
