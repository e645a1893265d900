"""Row blocks that are alike: words bound once for a run of them, and hot folds' kernels for one chunk.

The cache is taken to be small, so that small arrays have many blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import hot, kernels, launch_rows, plan, planning, row_room
from lazyarr.codegen import rows_words as shell
from lazyarr.codegen.abi import WHOLE
from lazyarr.counters import COUNT
from lazyarr.dispatch.gates import Gate
from lazyarr.launch_rows import Ready

Program = Callable[..., Any]
ROWS, ROW = 600, 50
RNG = numpy.random.default_rng(77)


@pytest.fixture(autouse=True, params=[("1", 1), ("2", 1), ("2", 2)], ids=["tier 1", "tier 2", "threads"])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 13)
    monkeypatch.setattr(row_room, "BLOCKS_EACH", 40)
    monkeypatch.setattr(plan, "RUNS_EACH", 4)
    planning.forget()
    tier, threads = request.param
    with lazyarr.options(jit="always", plan="always", tier=tier, verify=True, num_threads=threads):
        yield
    planning.forget()


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Ready]:
    """Launches in row blocks."""
    found: list[Ready] = []
    prepare = launch_rows._prepare

    def noted(*given: Any) -> Ready:
        found.append(prepare(*given))
        return found[-1]

    monkeypatch.setattr(launch_rows, "_prepare", noted)
    return found


def standardised(np: Any, x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def shifted(np: Any, x: Any) -> Any:
    """With a scalar that changes from call to call."""
    return (x * x[0, 0] - x.min(axis=1, keepdims=True)) * 3.0


def counted(np: Any, x: Any) -> Any:
    """By a loop of NumPy's."""
    y = np.cbrt(x)
    return y / np.abs(y).sum(axis=1, keepdims=True)


def anywhere(np: Any, x: Any) -> Any:
    return x * (x > 0.9).any(axis=1, keepdims=True)


PROGRAMS = standardised, softmax, shifted, counted, anywhere


def array(dtype: str, rows: int = ROWS, row: int = ROW) -> numpy.ndarray:
    return (RNG.uniform(-1, 1, (rows, row)) * 100).astype(dtype)


def same(program: Program, x: numpy.ndarray) -> None:
    numpy.testing.assert_array_equal(
        numpy.asarray(program(lazyarr, lazyarr.array(x))), program(numpy, x), strict=True
    )


@pytest.mark.parametrize("dtype", "fdil")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_bits(prepared: list[Ready], program: Program, dtype: str) -> None:
    for _ in range(3):                  # (the second and third are prepared already)
        same(program, array(dtype))
    assert prepared and all(ready.kernel == shell.BOUND for ready in prepared)


@pytest.mark.parametrize("rows", [1, 2, 3, 39, 40, 41, 83, 599, 601, 1009])
def test_last_blocks_of_other_lengths(rows: int) -> None:
    same(standardised, array("d", rows))
    same(softmax, array("f", rows, 7))


@pytest.mark.parametrize("row", [1, 2, 7, 8, 9, 127, 128, 129, 300])
def test_rows_of_all_lengths(row: int) -> None:
    same(standardised, array("d", 120, row) + numpy.arange(row))
    same(softmax, array("f", 120, row))


def test_few_blocks_are_not_bound(prepared: list[Ready]) -> None:
    same(standardised, array("d", 7))
    assert all(ready.kernel == shell.ROWS for ready in prepared)


def test_sweeps_are_not_bound(prepared: list[Ready]) -> None:
    x = array("d", 300, 40)
    mine = lazyarr.array(x)
    for u in (mine, x):
        for _ in range(4):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    numpy.testing.assert_array_equal(numpy.asarray(mine), x, strict=True)
    assert all(ready.kernel == shell.ROWS for ready in prepared)


@pytest.mark.parametrize("at", [0, 299, ROWS - 1])
def test_warnings_are_told_apart(at: int) -> None:
    """Whoever raises something in whichever block is named, once."""

    def program(np: Any, x: Any) -> Any:
        y = np.log(x)
        return y / x.sum(axis=1, keepdims=True)

    for value, row in ((-1.0, [1.0] * ROW), (0.0, [0.0] * ROW), (1.0, [1.0, -1.0] * (ROW // 2))):
        x = numpy.full((ROWS, ROW), 2.0)
        x[at], x[at, 0] = row, value
        told = []
        for np, given in ((lazyarr, lazyarr.array(x)), (numpy, x)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                numpy.asarray(program(np, given))
            told.append(sorted(str(w.message) for w in caught))
        assert told[0] == told[1]


def test_calls_of_numpys_loops_are_counted() -> None:
    x = lazyarr.array(array("d"))
    counts = []
    for _ in range(2):
        before = COUNT.numpy_loop_blocks
        lazyarr.evaluate(counted(lazyarr, x))
        counts.append(COUNT.numpy_loop_blocks - before)
    assert counts[0] == counts[1] > 0


def test_hot_folds_have_a_kernel_for_one_chunk(prepared: list[Ready]) -> None:
    same(standardised, array("d"))
    folds = [kernel for ready in prepared for kernel in ready.kernels if kernel.fold]
    assert folds
    hot_ones = lazyarr.get_options()["tier"] == "2"
    for kernel in folds:
        assert bool(kernel.whole) == hot_ones
        assert kernels.whole_of(kernel) == (kernel.whole or kernel.address)


def test_kernels_that_become_hot_are_called(
    prepared: list[Ready], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is prepared by then goes on, by other code."""
    monkeypatch.setattr(kernels, "_kernels", {})
    monkeypatch.setattr(kernels.jit, "recall", lambda *given, **named: None)
    with lazyarr.options(tier="auto"):
        x = array("d")
        y, mine = standardised(numpy, x), lazyarr.array(x)
        numpy.testing.assert_array_equal(numpy.asarray(standardised(lazyarr, mine)), y)
        folds = [kernel for kernel in prepared[0].kernels if kernel.fold]
        assert folds and all(kernel.heat.gate is not None for kernel in folds)
        for kernel in folds:
            before = kernels.whole_of(kernel)
            assert before not in (kernel.address, kernel.whole)
            kernels.improve(kernel)
            assert kernels.whole_of(kernel) == before
            assert any(symbol.endswith(WHOLE) for symbol in kernel.heat.better or ())
        hot.wait()
        numpy.testing.assert_array_equal(numpy.asarray(standardised(lazyarr, mine)), y)
        assert len(prepared) == 1


def test_who_asks_while_a_gate_is_made(prepared: list[Ready], monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal's handler, say: the addresses that either has got stay those of gates."""
    same(standardised, array("d"))
    kernel = next(k for k in prepared[0].kernels if k.fold)
    kernel = kernel._replace(heat=kernels.Heat(1, Gate(), kernel.heat.made_for))
    made: list[object] = []
    given: list[int] = []

    class Asking(Gate):
        def __init__(self) -> None:
            super().__init__()
            made.append(None)
            if len(made) == 1:
                given.append(kernels.whole_of(kernel))

    with monkeypatch.context() as m:
        m.setattr(kernels, "Gate", Asking)
        given.append(kernels.whole_of(kernel))
    others = [Gate() for _ in range(3)]
    assert len(made) == 2 and not {gate.address for gate in others} & {*given}
