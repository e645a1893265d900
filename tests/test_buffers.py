"""The allocator: alignment, life of blocks, the footprint rule, threads, forks, memory errors."""

from __future__ import annotations

import gc
import linecache
import platform
import random
import subprocess
import sys
import threading

import numpy
import pytest

from lazyarr import buffers, values
from lazyarr.buffers import LARGE, SMALL, empty, trim, usage, zeros
from lazyarr.config import options
from lazyarr.counters import COUNT
from lazyarr.geometry import geometry
from lazyarr.pages import HUGE
from tests.crowd import numbered_at_once

MIB = 1 << 20
pytestmark = pytest.mark.skipif(buffers._allocator is None, reason="no anonymous mappings here")


@pytest.fixture
def fresh(monkeypatch):
    """A new allocator, with its own peak."""
    buffers.let_go()
    made = buffers._Allocator(buffers.Pages())
    monkeypatch.setattr(buffers, "_allocator", made)
    monkeypatch.setattr(buffers.Block.__del__, "__defaults__", (made, sys.is_finalizing))
    yield made
    gc.collect()
    made.trim()


def run(code: str) -> str:
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                         env={"PYTHONPATH": ":".join(sys.path)})
    assert out.returncode == 0, out.stderr
    return out.stdout


@pytest.mark.parametrize("nbytes", [0, 1, 63, SMALL - 1, SMALL, SMALL + 1, LARGE - 1, LARGE, 5 * MIB + 3])
def test_size_alignment_and_writing(nbytes):
    block = empty(nbytes)
    memory = block.ndarray()
    assert block.nbytes == memory.nbytes == nbytes
    assert memory.dtype == numpy.uint8 and memory.flags.writeable
    assert block.address % 64 == 0
    assert nbytes == 0 or memory.ctypes.data == block.address
    if nbytes >= LARGE and not block.recycled:
        assert block.address % HUGE == 0
    memory[:] = 7
    assert (memory == 7).all()


@pytest.mark.parametrize("nbytes", [100, MIB])
def test_views_keep_the_memory(fresh, nbytes):
    memory = empty(nbytes).ndarray()
    memory[:] = numpy.arange(nbytes).astype(numpy.uint8)
    view = memory[7:][::3].view()
    expected = view.copy()
    del memory
    others = [empty(nbytes).ndarray() for _ in range(5)]
    for other in others:
        other[:] = 0
    assert (view == expected).all()


def test_only_the_last_view_gives_back(fresh):
    memory = empty(MIB).ndarray()
    address = memory.ctypes.data
    export = memoryview(memory[5:])
    del memory
    assert usage() == (MIB, 0, MIB)
    export.release()
    del export
    assert usage() == (0, MIB, MIB)
    again = empty(MIB)
    assert (again.address, again.recycled) == (address, True)


def test_zeros_of_fresh_and_recycled_memory(fresh):
    for nbytes in (100, SMALL, 3 * MIB):
        for _ in range(2):
            memory = zeros(nbytes).ndarray()
            assert not memory.any()
            memory[:] = 255
            del memory


def test_a_smaller_block_comes_from_a_larger_one_and_they_merge_again(fresh):
    base = empty(8 * MIB).address
    parts = [empty(2 * MIB) for _ in range(4)]
    assert sorted(b.address - base for b in parts) == [0, 2 * MIB, 4 * MIB, 6 * MIB]
    assert usage() == (8 * MIB, 0, 8 * MIB)
    order = [2, 0, 3, 1]
    for k in order:
        parts[k] = None
    whole = empty(8 * MIB)
    assert (whole.address, whole.recycled) == (base, True)


def whole_pages(nbytes: int) -> int:
    """Of a block, which has room to begin at different places, if it is not large."""
    spare = -nbytes % 4096
    return nbytes + spare + (4096 if nbytes < MIB and spare < 256 else 0)


@pytest.mark.parametrize("nbytes", [300 * 300 * 8, 256 * 256 * 8, 33000, 128 * 4096 - 64])
def test_blocks_begin_at_different_places_of_their_pages(fresh, nbytes):
    """A load waits for a store before it whose address is the same but for the page."""
    blocks = [empty(nbytes) for _ in range(4)]
    places = {block.address % 4096 for block in blocks}
    assert len(places) == 4
    assert all(place % 64 == 0 for place in places)
    del blocks
    assert usage().live == 0
    assert usage().cached == usage().peak_live


def test_footprint_never_above_the_highest_live_bytes(fresh):
    """Against a plain model of what NumPy would have had live; many random programs of sizes."""
    chance = random.Random(5)
    live: dict[int, object] = {}
    total = peak = 0
    for step in range(3000):
        if live and chance.random() < 0.5:
            block = live.pop(chance.choice(list(live)))
            total -= whole_pages(block.nbytes)
            del block
        else:
            nbytes = int(2 ** chance.uniform(15.1, 23))
            live[step] = empty(nbytes)
            total += whole_pages(nbytes)
            peak = max(peak, total)
        found = usage()
        assert found.live == total
        assert found.peak_live == peak
        assert found.live + found.cached <= peak


def test_live_blocks_never_overlap(fresh):
    chance = random.Random(6)
    live: list[tuple[numpy.ndarray, int]] = []
    for step in range(2000):
        if len(live) > 12 or (live and chance.random() < 0.45):
            memory, mark = live.pop(chance.randrange(len(live)))
            assert memory[0] == memory[-1] == mark
            assert (memory[::4096] == mark).all()
        else:
            memory = empty(int(2 ** chance.uniform(15.1, 20))).ndarray()
            mark = step % 251
            memory[::4096] = mark
            memory[-1] = mark
            live.append((memory, mark))


def test_the_cache_is_bounded_by_the_option(fresh):
    blocks = [empty(MIB) for _ in range(8)]
    with options(buffer_cache_bytes=3 * MIB):
        blocks.clear()
        assert usage() == (0, 3 * MIB, 8 * MIB)
    with options(buffer_cache_bytes=0):
        empty(MIB)
        assert usage().cached == 0


def test_a_system_without_anonymous_pages(monkeypatch):
    monkeypatch.setattr(buffers, "_allocator", None)
    for nbytes in (10, MIB):
        memory = zeros(nbytes).ndarray()
        assert memory.ctypes.data % 64 == 0
        assert memory.nbytes == nbytes and not memory.any()
    trim()
    assert usage() == (0, 0, 0)


def test_trim(fresh):
    empty(MIB)
    assert usage().cached == MIB
    trim()
    assert usage() == (0, 0, MIB)


def test_counters(fresh):
    COUNT.reset()
    empty(3 * MIB)
    empty(3 * MIB)
    empty(10)
    assert COUNT.bytes_allocated == 6 * MIB + 10
    assert (COUNT.bytes_fresh, COUNT.bytes_recycled) == (3 * MIB, 3 * MIB)


def test_memory_error_is_numpys(fresh):
    with pytest.raises(MemoryError, match="Unable to allocate") as caught:
        empty(1 << 60)
    with pytest.raises(MemoryError) as numpys:
        numpy.empty(1 << 60, numpy.uint8)
    assert type(caught.value) is type(numpys.value)
    assert str(caught.value) == str(numpys.value)
    assert usage() == (0, 0, 0)


def test_the_cache_is_dropped_before_memory_runs_out():
    out = run("""
import resource
from lazyarr import buffers, values
from lazyarr.config import set_options
size = 64 << 20
set_options(buffer_cache_bytes=4 * size)
held = [buffers.empty(size // 4) for _ in range(12)]
del held[::2]                           # six spans that do not touch, each too small for the next
before = buffers.usage()
used = int(open('/proc/self/statm').read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used - size // 4,) * 2)
found = buffers.empty(size)             # the peak would allow two of them to stay
print(before.cached // size, found.recycled, buffers.usage().cached)
""")
    assert out.split() == ["1", "False", "0"]


def test_blocks_freed_during_a_collection_inside_the_allocator(fresh):
    """Finalizers may run at any allocation, also within the allocator's own critical section."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            cycle = [empty(SMALL)]
            cycle.append(cycle)
            del cycle
            empty(2 * SMALL)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert usage().live == 0


def test_threads(fresh):
    def work(seed):
        chance = random.Random(seed)
        held = []
        for k in range(300):
            memory = empty(int(2 ** chance.uniform(15.1, 19))).ndarray()
            memory[::512] = seed
            held.append(memory)
            if len(held) > 5:
                old = held.pop(chance.randrange(5))
                if not (old[::512] == seed).all():
                    wrong.append((seed, k))

    wrong: list[tuple[int, int]] = []
    numbered_at_once(work, 6)
    assert not wrong
    assert usage().live == 0


def test_fork_while_other_threads_allocate():
    run("""
import os, threading
from lazyarr import buffers, values
stop = False
def churn():
    while not stop:
        buffers.empty(1 << 20)
threads = [threading.Thread(target=churn) for _ in range(2)]
for t in threads: t.start()
mine = buffers.empty(1 << 20).ndarray()
mine[:] = 1
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        mine[:] = 2
        held = [buffers.empty(1 << 20).ndarray() for _ in range(4)]
        for h in held: h[:] = 3
        os._exit(0 if (mine == 2).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
assert (mine == 1).all()
""")


def test_blocks_alive_at_exit():
    run("""
import sys
from lazyarr import buffers, values
kept = [buffers.empty(1 << 20).ndarray() for _ in range(3)]
class Late:
    def __init__(self): self.block = buffers.empty(1 << 20)
sys.late = Late()
cycle = [buffers.empty(1 << 20)]; cycle.append(cycle)
""")


def test_a_buffer_of_the_same_size_serves_the_next_request(fresh):
    first = values.Buffer.new(MIB)
    at, memory = first.address, id(first.memory)
    del first
    again = values.Buffer.new(MIB)
    assert (again.address, id(again.memory), again.recycled) == (at, memory, True)
    assert fresh.live == fresh.peak == MIB


def test_a_buffer_that_somebody_holds_serves_nobody_else(fresh):
    first = values.Buffer.new(MIB)
    view = first.real(geometry((8,), numpy.dtype(float)))
    view[:] = 7
    del first
    assert values.Buffer.new(MIB).memory is not view.base
    assert view.tolist() == [7.0] * 8


def test_warm_arrays_are_let_go_before_more_memory_is_asked_for(fresh):
    held = [values.Buffer.new(MIB) for _ in range(3)]
    del held
    other = values.Buffer.new(3 * MIB)
    assert fresh.live == fresh.peak == 3 * MIB and usage().cached == 0
    del other


def test_small_blocks_leave_warm_arrays_where_they_are(fresh):
    kept = values.Buffer.new(MIB)
    at = kept.address
    del kept
    small = values.Buffer.new(buffers.SPARING // 2)
    again = values.Buffer.new(MIB)
    assert again.address == at and usage().peak_live < 2 * MIB
    del small, again


def test_small_blocks_have_warm_arrays_let_go_before_memory_runs_out(fresh, monkeypatch):
    kept = values.Buffer.new(MIB)
    del kept
    monkeypatch.setattr(fresh._pages, "fresh", lambda nbytes: None)
    small = values.Buffer.new(buffers.SPARING // 2)
    assert not any(buffers.WARM.values())
    del small


def test_evaluations_in_turns_find_their_memory_warm(fresh):
    """Of sizes that have nothing in common, as a mask's are that is counted and then read."""
    turns = (40_000, 130_000), (8 * MIB, MIB, 300_000, 80_000)
    for _ in range(3):
        for sizes in turns:
            held = [values.Buffer.new(n) for n in sizes]
            del held
    found = [len(buffers.WARM[n]) for sizes in turns for n in sizes]
    assert found == [1] * len(found)


def test_warm_arrays_count_as_cached(fresh):
    kept = values.Buffer.new(MIB)
    del kept
    assert usage() == (0, MIB, MIB)
    with options(buffer_cache_bytes=0):
        kept = values.Buffer.new(MIB)
        del kept
        assert usage() == (0, 0, MIB)


def test_foreign_memory_is_never_warm(fresh):
    values.Buffer.new(MIB)
    foreign = numpy.zeros(MIB, numpy.uint8)
    buf = values.Buffer(foreign)
    del foreign, buf
    assert values.Buffer.new(MIB).memory.base.__class__ is buffers.Block


def test_few_sizes_stay_warm(fresh):
    for k in range(100):
        values.Buffer.new((k + 1) << 16)
    assert len(buffers.WARM) <= buffers.WARM_SIZES
    kept = sum(n * len(arrays) for n, arrays in buffers.WARM.items())
    assert kept <= buffers.WARM_SIZES * buffers.WARM_EACH * buffers.WARM_MOST


def test_threads_share_warm_arrays(fresh):
    def work():
        for k in range(300):
            buf = values.Buffer.new(MIB)
            buf.memory[:8] = k % 256
            assert (buf.memory[:8] == k % 256).all()
            del buf

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert usage().live == 0 and usage().cached <= fresh.peak


INTERRUPTED = [
    "before = self", "self._starts[start] = nbytes", "insort(", "del self._ends", "self.total -= nbytes",
    "size = self._remove", "with _Inside", "self.live -= nbytes", "self._settle()",
]


@pytest.mark.parametrize("line", INTERRUPTED)
def test_an_interrupt_at_any_line_leaves_an_allocator_that_works(fresh, line):
    """As a signal handler that raises would: at each place once, then nothing is lost but a span."""

    def interrupt(frame, event, _):
        if not frame.f_code.co_filename.endswith("buffers.py"):
            return None
        if event == "line" and line in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            raise KeyboardInterrupt
        return interrupt

    sizes = [MIB * k for k in (1, 3, 2, 5, 1, 4)]
    for round_ in range(6):
        held = [empty(n) for n in sizes[round_:]]
        del held[::2]
        sys.settrace(interrupt)
        try:
            held.append(empty(sizes[round_]))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        del held
    assert not fresh._lock.locked()
    free = fresh._free
    free._begin()
    assert sorted(free._sizes) == sorted((n, start) for start, n in free._starts.items())
    ends = 0
    for start, n in sorted(free._starts.items()):
        assert start >= ends
        ends = start + n
    blocks = [empty(n).ndarray() for n in sizes]
    for value, block in enumerate(blocks):
        block[:] = value
    assert all((block == value).all() for value, block in enumerate(blocks))


@pytest.mark.parametrize("line", INTERRUPTED)
def test_memory_is_taken_at_any_line(fresh, line):
    """As a signal handler that computes would, or a finalizer: it cannot wait for the lock."""
    inner = []

    def compute(frame, event, _):
        if not frame.f_code.co_filename.endswith("buffers.py"):
            return None
        if event == "line" and line in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            inner.append(empty(MIB).ndarray())
            buffers.trim()
            inner[-1][:] = len(inner)
        return compute

    held = [empty(MIB * k) for k in (1, 3, 2)]
    del held[::2]
    sys.settrace(compute)
    try:
        held.append(empty(MIB))
        held.clear()
    finally:
        sys.settrace(None)
    assert all((x == k).all() for k, x in enumerate(inner, 1))
    inner.clear()
    assert not fresh._lock.locked() and not fresh._inside
    assert usage().live == 0


def test_memory_is_taken_while_a_fork_waits(fresh):
    """Signals are handled between what is done before a fork and after it."""
    fresh.before_fork()
    blocks = [empty(MIB), empty(MIB)]
    del blocks
    fresh.after_fork()
    assert not fresh._lock.locked() and not fresh._inside
    assert usage().live == 0 and empty(MIB)._root is None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc's own rules")
def test_what_numpy_frees_is_used_again():
    """NumPy's own temporaries of half a megabyte: each call would touch the pages of two of them anew."""
    faults = run("""
import resource, numpy, lazyarr
a = numpy.ones(60_000)
def calls(n):
    for _ in range(n):
        (a + 1) * (a - 2)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print(-calls(10) + calls(50))
""")
    assert int(faults) < 500
