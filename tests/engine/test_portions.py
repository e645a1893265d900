"""Folds over what is joined, rolled or padded, and over running results, of which nothing is stored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr import launch_portions
from lazyarr.codegen.reduce_plan import Cuts
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.fusion.rows import Found
from lazyarr.launch_feeds import ranks

RNG = numpy.random.default_rng(11)
X, Y = (RNG.standard_normal(300_001) for _ in range(2))
U, V = (RNG.standard_normal((501, 703)) for _ in range(2))

Program = Callable[..., Any]


def joined(np: Any, x: Any, y: Any) -> Any:
    return (np.concatenate([x, y]) * 2).sum(keepdims=True)


def joined_as_it_is(np: Any, x: Any, y: Any) -> Any:
    return np.concatenate([x * 3, y, x]).sum(keepdims=True)


def rolled(np: Any, x: Any, y: Any) -> Any:
    return ((np.roll(x, 1) - x) ** 2).sum(keepdims=True)


def bordered(np: Any, u: Any, v: Any) -> Any:
    p = np.pad(u, 1)
    return (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * u).max(keepdims=True)


def turned(np: Any, u: Any, v: Any) -> Any:
    around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return ((around - 4 * u) ** 2).sum(keepdims=True)


def side_by_side(np: Any, u: Any, v: Any) -> Any:
    return (np.concatenate([u, v], 1) * 2).sum(1)


def one_above_the_other(np: Any, u: Any, v: Any) -> Any:
    return (np.concatenate([u, v]) * 2).sum(1)


def running(np: Any, x: Any, y: Any) -> Any:
    return np.cumsum(x * y).max(keepdims=True)


def counted(np: Any, x: Any, y: Any) -> Any:
    return (np.cumsum(x) > 3).sum(keepdims=True)


def drawdown(np: Any, x: Any, y: Any) -> Any:
    return (np.maximum.accumulate(x) - x).max(keepdims=True)


def total(np: Any, x: Any, y: Any) -> Any:
    return (np.cumsum(x) * y).sum(keepdims=True)


def running_rows(np: Any, u: Any, v: Any) -> Any:
    return np.cumsum(u, 1).sum(1)


def running_columns(np: Any, u: Any, v: Any) -> Any:
    """(In row blocks, of which the rows are columns.)"""
    return np.cumsum(u * v, 0).max(0)


def below_the_top(np: Any, u: Any, v: Any) -> Any:
    return (np.maximum.accumulate(u, 1) - u).max(1)


PROGRAMS: dict[Program, tuple[Any, Any]] = {
    joined: (X, Y), joined_as_it_is: (X, Y), rolled: (X, Y), running: (X, Y), counted: (X, Y),
    drawdown: (X, Y), total: (X, Y),
    bordered: (U, V), turned: (U, V), side_by_side: (U, V), one_above_the_other: (U, V), running_rows: (U, V),
    running_columns: (U, V), below_the_top: (U, V),
}  # fmt: skip


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always"):
        yield


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_bits_bytes_and_launches(program: Program, threads: int) -> None:
    given = PROGRAMS[program]
    with lazyarr.options(num_threads=threads, verify=True):
        found = program(lazyarr, *map(lazyarr.array, given))
        told = explain(found)
        assert told.bytes_moved <= 1.02 * told.bytes_least
        assert "portion by portion" in told or "in row blocks with groups" in told
        before = COUNT.native_launches
        lazyarr.evaluate(found)
        assert COUNT.native_launches - before == 1
    assert numpy.asarray(found).tobytes() == program(numpy, *given).tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_switched_off_is_stored(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above would fail without; and the bits are the same."""
    lazyarr.planning.forget()
    monkeypatch.setattr("lazyarr.fusion.portions.is_off", lambda name: name == "feeds")
    monkeypatch.setattr("lazyarr.planning.chains", lambda *args: Found())
    given = PROGRAMS[program]
    found = program(lazyarr, *map(lazyarr.array, given))
    told = explain(found)
    assert told.bytes_moved > 1.2 * told.bytes_least
    assert numpy.asarray(found).tobytes() == program(numpy, *given).tobytes()
    lazyarr.planning.forget()


@pytest.mark.parametrize("block", [64, 1000, 1 << 12])
@pytest.mark.parametrize("n", [40_007, 100_000, 131_072, 200_001])
def test_borders_anywhere(n: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where parts meet, and blocks end, no bit depends on."""
    monkeypatch.setattr(launch_portions, "BLOCK", block)
    lazyarr.planning.forget()
    for cut in (1, 7, 129, n // 3, n - 5):
        x, y = X[:cut].copy(), Y[: n - cut].copy()
        found = joined_as_it_is(lazyarr, lazyarr.array(x), lazyarr.array(y))
        assert numpy.asarray(found).tobytes() == joined_as_it_is(numpy, x, y).tobytes()


@pytest.mark.parametrize("place", [0, 150_000, 300_000])
def test_each_warning_once(place: int) -> None:
    """What makes the elements warns, though the fold does not."""

    def noisy(np: Any, x: Any, y: Any) -> Any:
        return np.concatenate([1 / x, y]).max(keepdims=True)

    x = X.copy()
    x[place] = 0
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        noisy(numpy, x, Y)
    with shown() as found:
        got = noisy(lazyarr, lazyarr.array(x), lazyarr.array(Y))
        assert explain(got).bytes_moved < 1.1 * explain(got).bytes_least
        lazyarr.evaluate(got)
    assert [str(w.message) for w in found] == [str(w.message) for w in wanted]
    assert {w.lineno for w in found} == {w.lineno for w in wanted}


def test_strict_sequences_read_from_memory() -> None:
    found = lazyarr.concatenate([lazyarr.array(X), lazyarr.array(Y)]).prod(keepdims=True)
    assert "is stored for it: a fold goes through all of it" in explain(found)


def test_a_value_that_is_held_is_stored() -> None:
    x = lazyarr.array(X)
    sums = lazyarr.cumsum(x)
    found = sums.max(keepdims=True)
    lazyarr.evaluate(found)
    assert sums.base is None
    assert numpy.asarray(sums).tobytes() == numpy.cumsum(X).tobytes()
    assert numpy.asarray(found).tobytes() == numpy.cumsum(X).max(keepdims=True).tobytes()


def test_ranks_are_the_nodes_of_the_tree() -> None:
    for n in (5000, 99_991):
        for depth in (0, 1, 3):
            for complex_ in (False, True):
                cuts = Cuts((n,), (1,), 1 << depth, n, 1, depth, 1 << depth, 1, 16, 1)
                assert ranks(cuts, n, complex_).tolist() == _tree(0, n, depth, complex_)


def _tree(low: int, n: int, depth: int, complex_: bool) -> list[int]:
    if not depth:
        return [low]
    reals = 2 * n if complex_ else n
    left = (reals // 2 - reals // 2 % 8) // (2 if complex_ else 1)
    return _tree(low, left, depth - 1, complex_) + _tree(low + left, n - left, depth - 1, complex_)


def deviations(np: Any, x: Any, y: Any) -> Any:
    return np.concatenate([x * 2, y]).std(keepdims=True)


def moments(np: Any, x: Any, y: Any) -> Any:
    joined = np.concatenate([x, y])
    return np.stack([joined.mean(keepdims=True), joined.std(keepdims=True)])


def shares(np: Any, x: Any, y: Any) -> Any:
    joined = np.concatenate([x, abs(y)])
    return joined / joined.sum(keepdims=True)


def from_the_mean(np: Any, x: Any, y: Any) -> Any:
    rolled = np.roll(x, 1) - x
    return (rolled - rolled.mean(keepdims=True)) * 2


SHARED = {deviations: 2, moments: 2, shares: 2, from_the_mean: 3}
"""Programs of which several groups read what is joined: how often memory of that size is passed over."""


@pytest.mark.parametrize("program", SHARED, ids=lambda p: p.__name__)
@pytest.mark.parametrize("threads", [1, 2])
def test_each_group_reads_through_by_itself(program: Program, threads: int) -> None:
    wanted = program(numpy, X, Y)
    with lazyarr.options(jit="always", num_threads=threads):
        x, y = lazyarr.array(X), lazyarr.array(Y)
        lazyarr.evaluate(x, y)
        for _ in range(2):
            found = program(lazyarr, x, y)
            asked = found.nbytes if found.nbytes > 1000 else 0
            assert explain(found).bytes_moved < 1.05 * (SHARED[program] * 2 * X.nbytes + asked)
            assert numpy.asarray(found).tobytes() == wanted.tobytes()


def test_what_was_joined_is_what_it_was_then() -> None:
    """An operand is overwritten before the second group reads it: the joined array is stored."""

    def program(np: Any, x: Any, y: Any) -> Any:
        joined = np.concatenate([x, y])
        mean = joined.mean(keepdims=True)
        x[...] = 7
        return joined - mean

    with lazyarr.options(jit="always"):
        found = program(lazyarr, lazyarr.array(X), lazyarr.array(Y))
        assert numpy.asarray(found).tobytes() == program(numpy, X.copy(), Y).tobytes()


@pytest.mark.parametrize("program", SHARED, ids=lambda p: p.__name__)
def test_what_several_groups_compute_warns_once(program: Program) -> None:
    x = X.copy()
    x[[3, 77]] = 1.2e308, numpy.inf
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        program(numpy, x, Y)
    with lazyarr.options(jit="always"), shown() as found:
        lazyarr.evaluate(program(lazyarr, lazyarr.array(x), lazyarr.array(Y)))
    assert sorted(str(w.message) for w in found) == sorted(str(w.message) for w in wanted)


def test_what_readers_raise_is_not_the_makers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search compares NaNs, which raises `invalid`; NumPy does not tell, and the running sums did not."""
    told: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: told.append(str(message)))
    x = RNG.uniform(0, 1, 320_000)
    x[3::7] = numpy.nan
    with lazyarr.options(jit="always", tier="2"), warnings.catch_warnings():
        warnings.simplefilter("always")
        for threads in (1, 2):
            with lazyarr.options(num_threads=threads):
                found = lazyarr.argmax(lazyarr.cumsum(lazyarr.array(x)))
                assert numpy.asarray(found) == 3
    assert not told
