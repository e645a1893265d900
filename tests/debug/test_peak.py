"""Peak bytes, predicted before an evaluation, and what allocators then say; programs of `memory/peaks`."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import buffers, config, engine
from lazyarr.debug import Explanation, watch

sys.path.append(str(Path(__file__).parents[1] / "memory"))
from peaks import PROGRAMS

N = 1_000_000
SLACK = 1 << 20
"""Scratch memory, that of packing included, and whole pages."""


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """For each evaluation by kernels: bytes that it held more than before, predicted and measured."""
    found: list[tuple[int, int, Explanation]] = []
    told: list[Explanation] = []
    monkeypatch.setattr(watch, "LISTENERS", [told.append])
    monkeypatch.setattr(config, "OBSERVED", config.OBSERVED)
    config.OBSERVED.append("test")
    run = engine.run
    allocator: Any = buffers._allocator
    monkeypatch.setattr(allocator, "_credit", buffers.IN_VAIN)       # (other tests may have used it up)

    def measured(*args: Any) -> None:
        before = buffers.usage().live
        allocator.peak = before
        try:
            run(*args)
        finally:
            last = told[-1]
            found.append((last.peak_bytes - last.input_bytes, allocator.peak - before, last))

    monkeypatch.setattr(engine, "run", measured)
    yield found
    config.OBSERVED.remove("test")


def eager_peak(program: Callable[..., Any]) -> int:
    """NumPy's, by tracemalloc."""
    program(numpy, N)
    gc.collect()
    tracemalloc.start()
    try:
        program(numpy, N)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(buffers._allocator is None, reason="no allocator of its own")
@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted_is_measured_and_not_above_numpys(
    name: str, compared: list[tuple[int, int, Explanation]]
) -> None:
    program = PROGRAMS[name]
    with lazyarr.options(jit="always"):
        result = program(lazyarr, N)
        lazyarr.evaluate(*(result if isinstance(result, (list, tuple)) else [result]))
    assert compared
    most = eager_peak(program)
    for predicted, measured, told in compared:
        made = sum(8 * o.shape[0] for o in told.operations if o.op == "arange")     # by NumPy's allocator
        assert predicted - made - SLACK <= measured <= predicted + SLACK, told
        assert told.peak_bytes <= most + SLACK, told
