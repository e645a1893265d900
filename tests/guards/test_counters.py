"""`lazyarr.debug.counters()` tells the truth: each count against a hook of the tests' own.

The programs and the hooks are in `battery.py`; they run twice in processes of their own, the second time with
the object cache that the first one filled.
"""

from __future__ import annotations

import json
import sys

import pytest
from battery import INVISIBLE, PROGRAMS, ROUNDS
from children import GUARDS, output

from lazyarr.counters import COUNT, STAGES, reset

EXACT = [
    "native_launches", "parallel_launches", "numpy_loop_blocks", "compiles", "disk_hits", "nodes_built",
    "bytes_allocated",
]  # fmt: skip
CASES = [(r, p) for r, _ in ROUNDS for p in PROGRAMS]
HIDDEN = {(r, p) for r, jit in ROUNDS for p in PROGRAMS if (jit, p) in INVISIBLE}
FUSED = {"triad": 2, "chain": 10, "kept": 2, "dropped": 1, "two loops": 3, "sum of a map": 3, "where": 3}
"""Operations of NumPy that one kernel does."""


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """{process: {(round, program): {"counted": ..., "seen": ...}}}"""
    cache = str(tmp_path_factory.mktemp("cache"))
    found = {}
    for process in ("first", "second"):
        text = output((GUARDS / "battery.py").read_text(), LAZYARR_CACHE_DIR=cache, LAZYARR_JIT="auto")
        rows = map(json.loads, text.splitlines())
        found[process] = {(row["round"], row["program"]): row for row in rows}
    return found


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_counts_are_exact(observed, case):
    for process in observed.values():
        counted, seen = process[case]["counted"], process[case]["seen"]
        assert {k: counted[k] for k in EXACT} == {k: seen.get(k, 0) for k in EXACT}


@pytest.mark.parametrize("case", [c for c in CASES if c[0] != "cold" and c not in HIDDEN], ids=" ".join)
def test_calls_of_numpy(observed, case):
    """Not in the cold round: there NumPy is also asked for its order of summation."""
    counted, seen = (observed["first"][case][k] for k in ("counted", "seen"))
    assert counted["numpy_eager"] + counted["numpy_fallbacks"] == seen["numpy_calls"]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_sums(observed, case):
    counted, seen = (observed["first"][case][k] for k in ("counted", "seen"))
    found = counted["compiles"] + counted["disk_hits"] + counted["memory_hits"]
    if "fed" in case[1] or case[1] == "masked":     # kernels that pack run inside the launch that they feed
        assert found == counted["native_launches"] + (case[0] != "never")
    else:
        assert found == counted["native_launches"]
    assert counted["bytes_fresh"] + counted["bytes_recycled"] <= counted["bytes_allocated"]
    assert 0 <= seen.get("bytes_fresh", 0) - counted["bytes_fresh"] <= 4096 * seen.get("pages_fresh", 0)


@pytest.mark.parametrize("program", FUSED)
def test_fused_ops(observed, program):
    for name in ("cold", "warm", "auto"):
        counted = observed["first"][name, program]["counted"]
        assert (counted["fused_ops"], counted["native_launches"]) == (FUSED[program], 1)


def test_the_battery_sees_every_kind_of_event(observed):
    first, second = ([row["seen"] for row in observed[p].values()] for p in ("first", "second"))
    for event in {*EXACT, "numpy_calls", "bytes_fresh"} - {"disk_hits"}:
        assert any(seen.get(event) for seen in first), event
    assert not any(seen.get("compiles") for seen in second)
    compiled, loaded = (
        [row["seen"].get(event, 0) for (name, _), row in observed[process].items() if name == "cold"]
        for process, event in (("first", "compiles"), ("second", "disk_hits"))
    )
    assert loaded == compiled           # where the way is not left open (jit="auto" may leave work to NumPy)


def test_never_runs_no_kernel(observed):
    for (name, _), row in observed["first"].items():
        assert name != "never" or not row["seen"].get("native_launches")


def test_the_table_of_programs_is_the_one_that_ran(observed):
    assert set(observed["first"]) == set(observed["second"]) == set(CASES)


SCALARS = 64
"""Bytes that NumPy takes for constants of a call, such as the 1 of ``a + 1``; here they are no arrays."""


@pytest.mark.skipif(sys.platform != "linux", reason="knows how to replace malloc there")
def test_bytes_numpy_are_what_numpy_takes():
    for line in output((GUARDS / "allocations.py").read_text(), LAZYARR_JIT="auto").splitlines():
        row = json.loads(line)
        assert 0 <= row["taken"] - row["counted"] <= SCALARS, row


def test_stages_are_there_while_counters_are_set_to_zero():
    """Another thread's launch may end at any line."""
    seen = []

    def look(frame, event, arg):
        if frame.f_code.co_name == "reset":
            seen.append(COUNT.seconds.keys() == {*STAGES})
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        reset()
    finally:
        sys.settrace(before)
    assert len(seen) > 3 and all(seen)
