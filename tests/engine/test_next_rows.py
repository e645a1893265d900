"""While the rows of a block are folded, which of the next block's are fetched, and by whom."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import launch_rows, planning
from lazyarr.codegen import rows_words as shell
from lazyarr.codegen.reduce_plan import AHEAD, PASSES, lasting
from lazyarr.kernels import host
from lazyarr.plan import RowBlocks
from lazyarr.tuning import TABLE

Fetched = list[tuple[int, int, int]]
"""For each part that fetches: its number, bytes from where a block of the array begins, bytes of that."""

ROWS, ROW = 600, 500


@pytest.fixture(autouse=True)
def forced(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Any CPU is one whose prefetchers do not go on from row to row."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: level)
    planning._plans.clear()
    with lazyarr.options(jit="always", tier="2", verify=True, num_threads=2):
        yield


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RowBlocks, array[int]]]:
    """What is launched in row blocks, and its words."""
    found: list[tuple[RowBlocks, array[int]]] = []
    run = launch_rows._run

    def noted(rows: RowBlocks, ready: Any, words: array[int], *given: Any) -> list[int]:
        found.append((rows, words[:]))
        return run(rows, ready, words, *given)

    monkeypatch.setattr(launch_rows, "_run", noted)
    return found


def fetched(rows: RowBlocks, words: array[int], of: int) -> Fetched:
    """What is fetched of the operand that is so many bytes from row to row."""
    found: Fetched = []
    for number, part in enumerate(rows.parts):
        body = words[shell.FIRST + number * shell.PER_PART + shell.BODY] // 8
        moves, template = words[body + shell.MOVES] // 8, words[body + shell.TEMPLATE] // 8
        if "r" not in part.program.parfor.dims:
            continue
        layout = launch_rows._kernel(part.program, False).kernel.layout
        pointers = {8 * layout.pointer(k): k for k in range(len(part.program.parfor.operands))}
        for at in range(moves, moves + words[body + shell.MOVE_COUNT] * shell.PER_MOVE, shell.PER_MOVE):
            step = words[at + shell.STEP]
            ahead = words[template + layout.extra(AHEAD + pointers[words[at + shell.WORD]])]
            if ahead and abs(step) == of * rows.rows:
                found.append((number, ahead, step))
            else:
                assert not ahead
    return found


def both(program: Callable[..., Any], *arrays: numpy.ndarray) -> None:
    """The program's results are NumPy's."""
    found = program(lazyarr, *map(lazyarr.array, arrays))
    lazyarr.evaluate(*found)
    for mine, theirs in zip(found, program(numpy, *arrays), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(mine), theirs, strict=True)


def table(dtype: str = "d") -> numpy.ndarray:
    return numpy.random.default_rng(0).uniform(-1, 1, (ROWS, ROW)).astype(dtype)


@pytest.mark.parametrize("dtype", "fd")
def test_passes_share_it(launched: list[tuple[RowBlocks, array[int]]], dtype: str) -> None:
    """One after the other, from where the next block of the same thread begins to its end."""
    x = table(dtype)
    both(lambda np, x: (x.mean(axis=1), x.std(axis=1)), x)
    ((rows, words),) = launched
    parts = fetched(rows, words, ROW * x.itemsize)
    assert len(parts) == PASSES
    apart = parts[0][1] // parts[0][2]  # (blocks from a thread's to its next one)
    assert apart in (1, 2)
    assert [ahead for _, ahead, _ in parts] == [
        apart * block + share * (block // PASSES) for share, (_, _, block) in enumerate(parts)
    ]


def test_backwards(launched: list[tuple[RowBlocks, array[int]]]) -> None:
    both(lambda np, x: (x[::-1].mean(axis=1), x[::-1].std(axis=1)), table())
    parts = fetched(*launched[0], ROW * 8)
    assert len(parts) == PASSES and all(ahead < 0 and block < 0 for _, ahead, block in parts)


def test_a_row_for_all_is_not(launched: list[tuple[RowBlocks, array[int]]]) -> None:
    """It is in the cache, and behind it lies what nobody asked for."""
    x = table()
    both(lambda np, x, w: (x / (x * w).sum(axis=1, keepdims=True), x.std(axis=1)), x, x[0])
    assert launched
    for rows, words in launched:
        fetched(rows, words, ROW * 8)  # (asserts that nothing else is)


def test_parts_of_longer_rows_are_not(launched: list[tuple[RowBlocks, array[int]]]) -> None:
    """Halves of what lies between them would be asked for, too."""
    part = ROW - 100
    both(lambda np, x: (x[:, :part].mean(axis=1), x[:, :part].std(axis=1)), table())
    assert launched and fetched(*launched[0], ROW * 8) == []


def test_long_functions_fetch_all_of_it(launched: list[tuple[RowBlocks, array[int]]]) -> None:
    """Memory is waited for in no other pass then."""

    def softmax(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return (e / e.sum(axis=1, keepdims=True),)

    both(softmax, table("f"))
    ((rows, words),) = launched
    parts = fetched(rows, words, ROW * 4)
    long = [
        k for k, part in enumerate(rows.parts)
        if "r" in part.program.parfor.dims and lasting(part.program.parfor, host())
    ]  # fmt: skip
    assert [number for number, _, _ in parts] == (long or [0, 1])
    assert not long or parts[0][1] % parts[0][2] == 0


def test_prefetchers_that_go_on(
    launched: list[tuple[RowBlocks, array[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others' prefetching gets in their way."""
    monkeypatch.setattr(launch_rows, "tuning", lambda level: TABLE["X86_V3 CLZERO VAES L2_1M"])
    both(lambda np, x: (x.mean(axis=1), x.std(axis=1)), table())
    assert fetched(*launched[0], ROW * 8) == []


@pytest.mark.parametrize("dtype", ["?", "e", "f", "d", "F", "l"])
@pytest.mark.parametrize("row", [1, 129, 2000])
def test_values(dtype: str, row: int) -> None:
    """Of rows of all lengths, whole and in parts, as they lie and transposed."""
    x = (numpy.random.default_rng(row).integers(-9, 9, (300, row)) / 4).astype(dtype)

    def program(np: Any, x: Any) -> Any:
        wide = x * 2.5
        return (
            wide.mean(axis=1), wide.var(axis=1), x.sum(axis=1), x.max(axis=1),
            wide - wide.mean(axis=1, keepdims=True),
        )  # fmt: skip

    both(program, x)
    both(lambda np, x: program(np, x[::-2, : max(1, row // 2)]), x)
    both(lambda np, x: program(np, x.T), x)
