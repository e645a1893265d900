"""A call with `out` returns that very object, also where a library's NumPy array receives lazy values."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np

CALLS = {
    "ufunc": lambda m, a, o: m.add(a, 1, out=o),
    "ufunc, positional": lambda m, a, o: m.add(a, 1, o),
    "ufunc, tuple": lambda m, a, o: m.negative(a, out=(o,)),
    "reduce": lambda m, a, o: m.sum(m.stack([a, a]), axis=0, out=o),
    "accumulate": lambda m, a, o: m.cumsum(a, out=o),
    "take": lambda m, a, o: m.take(a, m.arange(a.size), out=o),
    "clip": lambda m, a, o: m.clip(a, 0, 1, out=o),
    "matmul": lambda m, a, o: m.matmul(m.eye(a.size), a, out=o),
    "method": lambda m, a, o: a.round(out=o),
    "first of two": lambda m, a, o: m.divmod(a, 2, out=(o, None))[0],
    "second of two": lambda m, a, o: m.divmod(a, 2, out=(None, o))[1],
    "two, positional": lambda m, a, o: m.modf(a, numpy.zeros(a.shape), o)[1],
    "reduce, positional": lambda m, a, o: m.sum(m.stack([a, a]), 0, None, o),
    "ufunc.reduce, positional": lambda m, a, o: m.add.reduce(m.stack([a, a]), 0, None, o),
    "mean, positional": lambda m, a, o: m.mean(m.stack([a, a]), 0, None, o),
    "median, positional": lambda m, a, o: m.median(m.stack([a, a]), 0, o),
    "accumulate, positional": lambda m, a, o: m.cumsum(a, None, None, o),
    "take, positional": lambda m, a, o: m.take(a, m.arange(a.size), None, o),
    "compress, positional": lambda m, a, o: m.compress(a >= 0, a, None, o),
    "choose, positional": lambda m, a, o: m.choose([0] * a.size, [a], o),
    "concatenate, positional": lambda m, a, o: m.concatenate([a[:2], a[2:]], 0, o),
    "clip, positional": lambda m, a, o: m.clip(a, 0, 1, o),
    "dot, positional": lambda m, a, o: m.dot(m.eye(a.size), a, o),
    "method, positional": lambda m, a, o: a.clip(0, 1, o),
    "method that folds, positional": lambda m, a, o: m.stack([a, a]).max(0, o),
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("library", [np, numpy], ids=["lazyarr", "numpy"])
@pytest.mark.parametrize("name", CALLS)
def test_what_receives_is_what_returns(name, library, jit):
    with np.options(jit=jit):
        a = np.arange(100.0) * 0.25
        out = numpy.zeros(100)
        result = CALLS[name](library, a, out)
        assert result is out and type(out) is numpy.ndarray
        expected = numpy.zeros(100)
        CALLS[name](numpy, numpy.arange(100.0) * 0.25, expected)
        assert out.tobytes() == expected.tobytes()


def test_what_is_no_out_becomes_an_array_of_ours():
    real = numpy.arange(6.0)
    for found in (np.asarray(real), np.atleast_1d(real), np.ravel(real), np.require(real), np.positive(real)):
        assert type(found) is np.ndarray


@pytest.mark.parametrize("size", [10, 300_000])
def test_an_array_of_numpys_stays_one_under_in_place_operators(size):
    total = same = numpy.zeros(size)
    for k in range(3):
        total += np.arange(float(size)) * k
    total *= np.ones(size)
    assert total is same and type(total) is numpy.ndarray
    assert total.tobytes() == (numpy.arange(float(size)) * 3).tobytes()


@pytest.mark.parametrize("size", [10, 300_000])
def test_out_of_several_results_is_a_tuple_of_as_many(size):
    def outcome(m, **options):
        x = m.arange(float(size))
        try:
            return [m.asarray(found).dtype for found in m.divmod(x, 3, **options)]
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    def outcomes(m):
        given = m.zeros(size)
        outs = None, (None,), (given,), given, (None, None), (given, None), ()
        return [outcome(m, out=out) for out in outs]

    assert outcomes(np) == outcomes(numpy)
