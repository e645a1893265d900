"""Large draws wait, run inside the kernels that read them, and cost nothing where nobody does."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.generators import WORTH
from lazyarr.values import LEDGER

N = 1 << 20
SQUARE = np.array(numpy.arange(1e6).reshape(1000, 1000))


@pytest.fixture(autouse=True)
def kernels():
    with np.options(jit="always"):
        yield


def test_one_launch_for_all():
    rng = np.random.default_rng(1)
    reset()
    total = (rng.random(N) * 2 - 1).sum()
    assert (COUNT.native_launches, COUNT.numpy_fallbacks, COUNT.numpy_eager) == (1, 0, 0)
    assert total == (numpy.random.default_rng(1).random(N) * 2 - 1).sum()


def test_the_quarter_of_a_circle_is_one_launch_without_arrays():
    rng = np.random.default_rng(1)
    reset()
    inside = (rng.random(N) ** 2 + rng.uniform(0, 1, N) ** 2 < 1).sum()
    assert COUNT.native_launches == 1
    assert COUNT.bytes_allocated < N
    rng = numpy.random.default_rng(1)
    assert inside == (rng.random(N) ** 2 + rng.uniform(0, 1, N) ** 2 < 1).sum()


def test_nothing_is_computed_at_the_call_nor_for_what_is_dropped():
    rng = np.random.default_rng(1)
    reset()
    x, y = rng.random(N), rng.random(N, dtype="f")
    assert not np.is_evaluated(x) and not np.is_evaluated(y)
    unallocated = LEDGER.unallocated
    del x, y
    assert LEDGER.unallocated == unallocated - 12 * N
    assert (COUNT.nodes_run, COUNT.native_launches, COUNT.bytes_allocated) == (0, 0, 0)
    other = numpy.random.default_rng(1)
    other.random(N)
    other.random(N, dtype="f")
    assert rng.random() == other.random()


def test_equal_programs_share_a_plan_and_kernels():
    rng = np.random.default_rng(1)
    (rng.random(N) * 3).sum()
    reset()
    (rng.random(N) * 4).sum()
    assert (COUNT.plans, COUNT.compiles, COUNT.native_launches) == (0, 0, 1)


@pytest.mark.parametrize(("small", "lazy"), [(WORTH, False), (WORTH + 1, True)])
def test_small_draws_are_numpys_at_the_call(small, lazy):
    with np.options(jit="auto"):
        assert np.is_evaluated(np.random.default_rng(1).random(small)) is not lazy


@pytest.mark.parametrize("program", [lambda x: x.T + SQUARE, lambda x: x.reshape(-1, 20) * SQUARE[0, :20]])
def test_draws_stand_alone_where_the_loops_do_not_follow_the_stream(program):
    rng = np.random.default_rng(1)
    reset()
    found = program(rng.random((1000, 1000)))
    np.evaluate(found)
    assert COUNT.native_launches == 2
    assert found.tolist() == np.asarray(program(numpy.random.default_rng(1).random((1000, 1000)))).tolist()


def test_why_they_stand_alone():
    y = np.random.default_rng(1).random((1000, 1000)).T + SQUARE
    assert "in the order of their stream" in str(explain(y))
