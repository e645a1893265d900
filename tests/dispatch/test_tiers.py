"""Two tiers of kernels: which code runs, when it is replaced, what the cache has of it; the bits stay."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from weakref import WeakValueDictionary

import numpy
import pytest

import lazyarr as np
from lazyarr import hot, kernel_index, kernels, launch_rows, planning
from lazyarr.compiling import short, small
from lazyarr.counters import COUNT
from lazyarr.dispatch import cache, image, jit
from lazyarr.dispatch.gates import Gate

pytestmark = pytest.mark.skipif(not image.here(), reason="code is replaced where images are loaded")
A, B = numpy.random.default_rng(3).standard_normal((2, 400, 100))
F = A.astype(numpy.float32)

LASTING: list[dict[bytes, image.Loaded]] = []
"""Code that is kept until the process ends, of each test: addresses are remembered in many places."""


@pytest.fixture
def fresh(cold, monkeypatch):
    """No kernel is remembered, every size is compiled, one thread runs it."""
    monkeypatch.setattr(kernels, "_kernels", {})
    monkeypatch.setattr(planning, "_plans", {})
    monkeypatch.setattr(planning, "_patterns", {})
    for table in ("_loaded", "_symbols"):
        monkeypatch.setattr(jit, table, WeakValueDictionary())
    monkeypatch.setattr(jit, "_lasting", {})        # else what is loaded again would end what others call
    LASTING.append(jit._lasting)
    with np.options(jit="always", num_threads=1):
        yield cold
    hot.wait()


@pytest.fixture
def soon(fresh, monkeypatch):
    """A kernel is hot when it runs for the second time."""
    monkeypatch.setattr(hot, "COST", 0.0)
    return fresh


@pytest.fixture
def levels(monkeypatch):
    """LLVM's code generation level of each kernel that is compiled, by its symbol."""
    found, compile_object = {}, jit.compile_object

    def watching(ir, target, opt=0):
        found[ir] = opt
        return compile_object(ir, target, opt)

    monkeypatch.setattr(jit, "compile_object", watching)
    return found


def chain(xp, a, b):
    return (a * b - a) * 0.5 + b


def softmax(xp, a, b):
    e = xp.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + b


PROGRAMS = {
    "map": chain,
    "fold": lambda xp, a, b: (a * b).sum(),
    "folds of rows": lambda xp, a, b: (a * b).sum(axis=1),
    "folds of columns": lambda xp, a, b: (a - b).sum(axis=0),
    "scan": lambda xp, a, b: xp.cumsum(a * b, axis=1),
    "row blocks": softmax,
    "mask": lambda xp, a, b: a[a > b],
    "fold of a mask's elements": lambda xp, a, b: a[a > b].sum(),
    "positions": lambda xp, a, b: a.reshape(-1)[xp.argsort(b.reshape(-1))] * 2,
}


def run(program, *arrays):
    return numpy.asarray(program(np, *map(np.borrow, arrays)))


def tiers() -> list[int]:
    return [kernel.heat.tier for _, kernel in kernels.loaded()]


@pytest.mark.parametrize(("tier", "expected"), [(1, 0), (2, 3), ("auto", 0)])
def test_the_tier_is_a_code_generation_level(fresh, levels, tier, expected):
    with np.options(tier=tier):
        assert run(chain, A, B).tobytes() == chain(numpy, A, B).tobytes()
        assert set(levels.values()) <= {0, expected} and expected in levels.values()
        assert tiers() == [1 + (tier == 2)]
        told = np.debug.opt_func_info("multiply")
        assert [row["tier"] for rows in told.values() for row in rows.values()] == [str(1 + (tier == 2))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_hot_kernels_are_replaced_once(soon, name):
    program, arrays = PROGRAMS[name], (A, B)
    want = program(numpy, *arrays).tobytes()
    assert run(program, *arrays).tobytes() == want
    made, swaps, recompiled, compiles = len(tiers()), COUNT.hot_swaps, COUNT.hot_compiles, COUNT.compiles
    assert made and set(tiers()) == {1} and COUNT.hot_swaps == swaps
    for _ in range(5):
        assert run(program, *arrays).tobytes() == want
        hot.wait()
    assert set(tiers()) == {2} and len(tiers()) == made
    assert COUNT.hot_swaps - swaps == made == COUNT.hot_compiles - recompiled
    assert COUNT.compiles == compiles


def test_explain_tells_the_tier(soon):
    told = []
    for _ in range(3):
        x = chain(np, np.borrow(A), np.borrow(B))
        told += [group.tier for group in np.debug.explain(x).groups]
        assert ("loaded at tier 2" in str(np.debug.explain(x))) == (told[-1] == 2)
        np.evaluate(x)
        hot.wait()
    assert told == [0, 1, 2]


def test_cold_kernels_are_not_replaced(fresh):
    swaps = COUNT.hot_swaps
    for _ in range(5):
        run(chain, A[:4], B[:4])
    hot.wait()
    assert tiers() == [1] and COUNT.hot_swaps == swaps


def test_a_kernel_is_hot_when_tier_2_would_have_paid(fresh):
    run(chain, A, B)
    (_, kernel), = kernels.loaded()
    need = hot.COST / hot.GAIN[False]
    hot.ran(kernel, 0.9 * need)
    hot.wait()
    assert kernel.heat.tier == 1
    hot.ran(kernel, 0.2 * need)
    hot.wait()
    assert kernel.heat.tier == 2


@pytest.mark.parametrize("tier", [1, 2])
def test_a_tier_that_is_asked_for_stays(soon, tier):
    with np.options(tier=tier):
        swaps = COUNT.hot_swaps
        for _ in range(4):
            run(chain, A, B)
        hot.wait()
        assert tiers() == [tier] and COUNT.hot_swaps == swaps


def test_replays_of_compiled_functions(soon, monkeypatch):
    monkeypatch.setattr(small, "COUNTED", 1)
    monkeypatch.setattr(short, "OBSERVED", [])          # what other tests have left: nothing is replayed then
    f = np.compile(lambda a, b: chain(np, a, b))
    a, b, traced = A[:4], B[:4], COUNT.traced_calls
    for _ in range(8):
        assert f(a, b).tobytes() == chain(numpy, a, b).tobytes()
        hot.wait()
    assert f.refusal is None and COUNT.traced_calls > traced and tiers() == [2]


def test_the_cache_has_tier_2_in_the_place_of_tier_1(soon):
    run(chain, A, B)
    before = {path.name for path in soon.iterdir()}
    for _ in range(3):
        run(chain, A, B)
        hot.wait()
    after = {path.name for path in soon.iterdir()}
    assert len(before - after) == len(after - before) == 1          # the code; the index has the same name
    (parfor, _), = kernels.loaded()
    entry = kernel_index.recall(parfor, kernels.host(), False)
    assert entry is not None and entry.tier == 2 and image.is_packed(entry.body)
    assert jit.recall(entry.main.key, (entry.main.symbol,), lasting=False) is not None


CHILD = """
import sys
import numpy
import lazyarr as np
from lazyarr import hot
from lazyarr.counters import COUNT
np.set_options(jit="always")
hot.COST = 0.0
a, b = numpy.random.default_rng(3).standard_normal((2, 400, 100))
x, y = np.borrow(a), np.borrow(b)
for _ in range(int(sys.argv[1])):
    assert numpy.asarray((x * y - x) * 0.5 + y).tobytes() == ((a * b - a) * 0.5 + b).tobytes()
hot.wait()
rows = [row for rows in np.debug.opt_func_info("multiply").values() for row in rows.values()]
print(COUNT.compiles, COUNT.hot_compiles, COUNT.hot_swaps, *[row["tier"] for row in rows],
    "llvmlite.binding" in sys.modules)
"""


def python(code: str, folder: Path, *args: str, **environment: str) -> str:
    """What a program prints that ends well and says nothing on stderr."""
    mine = {"PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120,
        env={**os.environ, **mine, **environment},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def child(folder: Path, times: int, **environment: str) -> str:
    return python(CHILD, folder, str(times), **environment)


def test_other_processes_load_what_was_hot(tmp_path):
    assert child(tmp_path, 4) == "1 1 1 2 True"
    assert child(tmp_path, 4) == "0 0 0 2 False"


def test_each_option_has_entries_of_its_own(tmp_path):
    """Who asks for tier 1 gets tier 1, whatever others have left in the cache."""
    assert child(tmp_path, 4) == "1 1 1 2 True"
    assert child(tmp_path, 4, LAZYARR_TIER="1") == "1 0 0 1 True"
    assert child(tmp_path, 4, LAZYARR_TIER="2").split()[3] == "2"


def test_a_damaged_entry_of_tier_2(tmp_path):
    assert child(tmp_path, 4) == "1 1 1 2 True"
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert child(tmp_path, 4) == "1 1 1 2 True"
    assert child(tmp_path, 4) == "0 0 0 2 False"


def test_the_index_is_lost_but_not_the_code(soon):
    for _ in range(3):
        run(chain, A, B)
        hot.wait()
    (parfor, _), = kernels.loaded()
    cache.forget(kernel_index.key(parfor, kernels.host(), False))
    kernels._kernels.clear()
    before = COUNT.compiles, COUNT.hot_compiles
    assert run(lambda xp, a, b: chain(xp, a, b), A, B).tobytes() == chain(numpy, A, B).tobytes()
    kernels.kernel_for(parfor)
    assert tiers() == [2] and (COUNT.compiles, COUNT.hot_compiles) == before


def test_tier_1_stays_where_tier_2_fails(soon, monkeypatch):
    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(jit, "load_behind", fails)
    swaps = COUNT.hot_swaps
    for _ in range(4):
        assert run(chain, A, B).tobytes() == chain(numpy, A, B).tobytes()
        hot.wait()
    assert tiers() == [1] and COUNT.hot_swaps == swaps
    (parfor, _), = kernels.loaded()
    entry = kernel_index.recall(parfor, kernels.host(), False)
    assert entry is not None and entry.tier == 1


def test_racing_threads(soon):
    """All run one kernel while it is replaced; it is replaced once."""
    swaps, want = COUNT.hot_swaps, chain(numpy, A, B).tobytes()
    wrong = []

    def work():
        with np.options(jit="always", num_threads=1):
            for _ in range(60):
                if run(chain, A, B).tobytes() != want:
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hot.wait()
    assert not wrong and tiers() == [2] and COUNT.hot_swaps == swaps + 1


def test_options_of_the_thread_that_ran_it(soon, levels):
    with np.options(cpu_level="X86_V2"):
        for _ in range(3):
            run(chain, A, B)
            hot.wait()
    assert tiers() == [2] and {kernel.level for _, kernel in kernels.loaded()} == {"X86_V2"}
    assert sorted(levels.values())[-1] == 3


FORK = """
import os, threading
import numpy
import lazyarr as np
from lazyarr import hot, kernels
from lazyarr.dispatch import jit
np.set_options(jit="always", num_threads=1)
hot.COST = 0.0
load, started, go = jit.load_behind, threading.Event(), threading.Event()
def slow(*args):
    started.set()
    go.wait()
    return load(*args)
jit.load_behind = slow
values = numpy.arange(40000.0)
x = np.borrow(values)
def run():
    assert numpy.asarray(x * 3 - 1).tobytes() == (numpy.arange(40000.0) * 3 - 1).tobytes()
run()
run()
started.wait()
pid = os.fork()
go.set()
for _ in range(3):
    run()
    hot.wait()
tiers = {kernel.heat.tier for _, kernel in kernels.loaded()}
if not pid:
    os._exit(0 if tiers == {2} else 1)
assert tiers == {2} and os.waitpid(pid, 0)[1] == 0
"""


def test_a_fork_in_the_middle(tmp_path):
    python(FORK, tmp_path)


def test_an_exit_in_the_middle(tmp_path):
    """LLVM ends what it is at, and begins nothing more."""
    code = CHILD.replace("hot.wait()\n", "sys.exit(0)\n")
    for times in (2, 3, 6):
        python(code, tmp_path / str(times), str(times))


def test_bundles_have_the_best_that_may_be_had(fresh, tmp_path):
    place = str(tmp_path / "chain.lzb")
    np.export_kernels(lambda a, b: chain(np, a, b), [("float64[400, 100]",) * 2], None, place)
    assert child(tmp_path / "empty", 4, LAZYARR_KERNEL_PATH=place) == "0 0 0 2 False"


def test_a_gate_leads_elsewhere():
    text = "define i64 @lazyarr_gate_{k}(i64 %x) {{\n  %r = add i64 %x, {k}\n  ret i64 %r\n}}\n"
    target = kernels.host()
    codes = [jit.load(text.format(k=k), (f"lazyarr_gate_{k}",), target, kernel=False) for k in (1, 2)]
    gate = Gate()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(gate.address)
    for k, code in enumerate(codes, 1):
        gate.lead(code[f"lazyarr_gate_{k}"])
        assert call(40) == 40 + k
    address = gate.address
    del gate
    again = Gate()                      # nobody uses the address any more
    assert again.address == address
    again.lead(codes[0]["lazyarr_gate_1"])
    assert call(1) == 2


def test_a_gate_stays_for_finalizers_of_garbage():
    """The collector runs them in any order; the gate goes after all of them."""
    said = []

    class Last:
        def __del__(self):
            said.append(Gate().address != self.gate.address)

    gc.collect()
    gc.disable()
    try:
        for early in True, False:
            last = None if early else Last()
            gate = Gate()
            last = last or Last()
            last.me, last.gate = last, gate
            del last, gate
            gc.collect()
    finally:
        gc.enable()
    assert said == [True, True]


@pytest.mark.parametrize("wrong", [0, 3, "3", True, "best", None, 1.0])
def test_what_the_option_takes(wrong):
    with pytest.raises((TypeError, ValueError), match="tier"), np.options(tier=wrong):
        pass


def test_a_stencil_gains_more_and_its_borders_take_little(soon, monkeypatch):
    """Rows run side by side at tier 2 only; and what a launch of many parts took is not shared evenly."""
    launched, prepare = [], launch_rows._prepare

    def noted(*given):
        launched.append(prepare(*given))
        return launched[-1]

    monkeypatch.setattr(launch_rows, "_prepare", noted)
    u = np.array(A)
    for _ in range(4):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u[0], u[-1] = u[1], u[-2]
    np.evaluate(u)
    (ready,) = launched
    parts = list(zip(ready.kernels, ready.shares, strict=False))
    assert len(parts) == 12 and abs(sum(ready.shares) - 1) < 1e-9
    stencils = [(kernel, share) for kernel, share in parts if kernel.heat.made_for[0].shifts]
    assert len(stencils) == 4 and sum(share for _, share in stencils) > 0.95
    kernel = stencils[0][0]
    kernel.heat.asked, kernel.heat.saving = False, -1.0
    hot.ran(kernel, 0.5)
    assert kernel.heat.saving == -1.0 + 0.5 * hot.STENCIL_GAIN
