"""What is lazy, when it evaluates, and what bounds it: asserted with counters, not with times."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np
from lazyarr.counters import COUNT

N = 30_000


@pytest.fixture(autouse=True)
def all_sizes_are_lazy():
    with np.options(eager_elements=0):
        yield


def run():
    return COUNT.nodes_run + COUNT.numpy_eager + COUNT.numpy_fallbacks


def test_lazy_calls_run_nothing():
    a, b = np.array(numpy.arange(12.0).reshape(3, 4)), np.array(numpy.ones((3, 4)))
    before, built = run(), COUNT.nodes_built
    kept = [
        np.sqrt(a * 2 + b) - a[::-1],
        np.where(a > b, a, 0).clip(0, 5).astype("float32").T.reshape(2, 6),
        *divmod(a, 3),
        a.sum(axis=0, keepdims=True),
        a.mean(axis=1),
        a.std(axis=0),
        np.full((40, 50), 2.5) + 1,
        np.roll(a, 1, axis=0),
        np.zeros_like(a) + np.ones(4),
    ]
    a[1:] = a[:-1]
    a[:, 0] += 1
    a += a[::-1]
    a.T[1] *= 2
    np.add(a, b, out=b, where=a > 3)
    np.copyto(a[0], b[1])
    b.fill(3)
    a[a > 2] = 0
    kept.append(a.view("int64")[::2].copy())
    assert run() == before
    assert COUNT.nodes_built > built + 30
    assert not any(np.is_evaluated(x) for x in kept)


def test_questions_of_shape_evaluate_nothing():
    a = np.ones((3, 4)) * 2
    before = run()
    answers = (
        a.shape, len(a), a.ndim, a.size, a.nbytes, a.strides, a.dtype, a.flags.writeable, a.T.shape,
        np.shape(a), np.result_type(a, 1), np.broadcast_shapes(a.shape, (1, 4)),
    )  # fmt: skip
    assert answers[0] == (3, 4)
    assert run() == before
    assert not np.is_evaluated(a)


def test_scalars_are_numpys():
    a = np.ones((3, 4)) * 2
    for value in (a.sum(), a.max(), a[1, 2], a.mean(), (a > 1).all(), a.argmax()):
        assert isinstance(value, numpy.generic)


def test_keepdims_stays_an_array():
    total = (np.ones((3, 4)) * 2).sum(keepdims=True)
    assert total.shape == (1, 1)
    assert not np.is_evaluated(total)
    assert np.where(np.ones(()) > 0, 1, 2).shape == ()


def test_dropped_results_never_run():
    a = np.array(numpy.ones(N))
    before = COUNT.nodes_run
    for _ in range(100):
        a * 2
    assert COUNT.nodes_run == before


def test_evaluate_computes_several_at_once():
    a = np.array(numpy.arange(float(N)))
    b, c = a + 1, a * 2
    np.evaluate(b, c, 3)
    assert np.is_evaluated(b) and np.is_evaluated(c) and np.is_evaluated(3)
    assert b[7] == 8 and c[7] == 14


def test_long_chains_need_no_stack():
    a = np.array(numpy.zeros(4))
    with np.options(pending_nodes=10**6):
        for _ in range(3_000):
            a = a + 1
        assert float(a[0]) == 3_000


def test_the_pending_graph_is_bounded():
    a = np.array(numpy.zeros(100))
    with np.options(pending_nodes=50):
        for i in range(500):
            a = a * 0.5 + i
            assert a.storage.value.depth <= 51


def test_what_is_due_in_an_expression_is_the_written_part_below_it():
    """A value in the middle of an expression would be stored, and read again, for nothing."""
    u = np.array(numpy.linspace(0.0, 1.0, 10_000).reshape(100, 100))
    v, expected = u.copy(), numpy.linspace(0.0, 1.0, 10_000).reshape(100, 100)
    other = expected.copy()
    np.evaluate(u, v)
    with np.options(jit="always", pending_nodes=7):
        before, bound = COUNT.native_launches, COUNT.node_bound
        for _ in range(10):
            v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
            u, v = v, u
            other[1:-1, 1:-1] = 0.25 * (
                expected[2:, 1:-1] + expected[:-2, 1:-1] + expected[1:-1, 2:] + expected[1:-1, :-2]
            )
            expected, other = other, expected
        np.evaluate(u, v)
        assert COUNT.native_launches - before == 10
        assert COUNT.node_bound - bound >= 5
    assert numpy.array_equal(numpy.asarray(u), expected)


def test_small_arrays_are_numpys_business():
    with np.options(eager_elements=16384):
        before = COUNT.nodes_built
        a = np.arange(10.0)
        b = np.sqrt(a + 1)[2:].sum()
        assert COUNT.nodes_built == before
        assert b == numpy.sqrt(numpy.arange(10.0) + 1)[2:].sum()


def test_small_operands_of_large_results_are_captured():
    with np.options(eager_elements=1000):
        x = np.arange(500.0)
        table = x[:, None] * x
        x += 1
        assert not np.is_evaluated(table)
        assert table[2, 3] == 6 and x[0] == 1


def test_never_means_never():
    with np.options(jit="never"):
        a = np.ones(N) + 1
        assert np.is_evaluated(a) and a.sum() == 2 * N


def test_borrowed_memory_is_read_late():
    e = numpy.ones(N)
    a = np.borrow(e)
    b = a + 1
    assert not np.is_evaluated(b)
    assert not a.flags.writeable
    assert b.sum() == 2 * N


@pytest.mark.parametrize("dtype", ["u4", "f8", "f2", "c16"])
@pytest.mark.parametrize("n", [3, 100_000])
def test_what_is_borrowed_is_read_only(n, dtype):
    """Whether it stays memory itself or is in a storage; the lender's array is as it was."""
    real = numpy.ones(n, dtype)
    x = np.borrow(real)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 2
    assert not x.flags.writeable and real.flags.writeable
    real[0] = 3
    assert x[0] == 3
