"""Results wait, also those without axes: asserted with counters."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp
from lazyarr.array_api.array_type import Array
from lazyarr.counters import COUNT


@pytest.fixture(autouse=True)
def all_sizes_are_lazy():
    with lazyarr.options(eager_elements=0):
        yield


def run():
    return COUNT.nodes_run + COUNT.numpy_eager + COUNT.numpy_fallbacks


def lazy(shape=(30, 40), seed=0):
    return xp.asarray(lazyarr.array(numpy.random.default_rng(seed).random(shape)))


def test_lazy_calls_run_nothing():
    x, y = lazy(), lazy(seed=1)
    before, built = run(), COUNT.nodes_built
    m = xp.mean(x)
    kept = [
        x + y, xp.exp(x) - m, m, m + 1, xp.sqrt(m) / m, -m, m > 0.5, xp.sum(x * y), xp.prod(x), xp.max(x),
        xp.std(x), xp.var(x, correction=1), xp.any(x > 2), xp.all(x > 2), xp.argmax(x), xp.argmin(x, axis=0),
        xp.count_nonzero(x > y), xp.linalg.vector_norm(x), x // y, xp.clip(x, 0.1, m), xp.where(x > m, x, m),
        xp.reshape(x * 2, (-1,))[7], xp.astype(x, xp.float32), xp.zeros((300, 20)) + 1, abs(x - m), 2**m,
        numpy.float64(2) * m, xp.sort,
    ][:-1]  # fmt: skip
    x[0, :] = y[1, :]
    x -= m
    y //= x
    assert run() == before
    assert COUNT.nodes_built > built + 40
    assert all(type(k) is Array and not lazyarr.is_evaluated(k) for k in kept)
    lazyarr.evaluate(*kept)
    assert all(lazyarr.is_evaluated(k) for k in kept)


def test_results_without_axes_are_arrays_of_numpys_bits():
    a = numpy.random.default_rng(5).random(100_000)
    x = xp.asarray(lazyarr.array(a))
    got = (xp.sum((x - xp.mean(x)) ** 2) / xp.std(x) + 1) ** 0.5
    assert type(got) is Array and (got.shape, got.dtype) == ((), xp.float64)
    assert not lazyarr.is_evaluated(got)
    assert float(got) == (numpy.sum((a - a.mean()) ** 2) / a.std() + 1) ** 0.5


def test_one_evaluation_computes_all_of_a_program():
    x = lazy((500, 60))
    with lazyarr.options(jit="always"):
        z = (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)
        total = xp.sum(z * z)
        before = COUNT.native_launches, COUNT.numpy_fallbacks
        float(total)
        assert COUNT.native_launches > before[0] and COUNT.numpy_fallbacks == before[1]


def test_a_read_sees_the_value_of_its_call():
    x = lazy((50,))
    total, first = xp.sum(x), x[0] + 0
    want = float(numpy.asarray(x).sum()), float(numpy.asarray(x)[0])
    x[:] = 0
    assert (float(total), float(first)) == want
    view = x[3]                             # basic indices are views
    x[3] = 5
    assert float(view) == 5


def test_conversion_evaluates():
    m = xp.mean(lazy()) * 10
    assert bool(m) and int(m) == int(float(m)) and complex(m) == float(m) and f"{float(m):.3f}"
    assert repr(m).startswith("Array(") and len(list(range(xp.argmax(lazy((9,))) + 1))) > 0
