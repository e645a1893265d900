"""array-api-compat, through which SciPy and scikit-learn ask: it takes lazyarr's arrays as they are."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp

compat = pytest.importorskip("array_api_compat")

ARRAYS = [xp.ones((2, 3)), lazyarr.ones((2, 3)), lazyarr.ones((200, 300)) + 1, xp.sum(xp.ones(100_000) + 1)]


@pytest.mark.parametrize("x", ARRAYS, ids=["array", "ndarray", "pending", "no axes"])
def test_it_recognises_arrays(x):
    assert compat.is_array_api_obj(x) and compat.is_writeable_array(x)
    assert not compat.is_numpy_array(x)
    assert compat.array_namespace(x) is xp
    assert compat.array_namespace(x, 1.0, None, api_version="2024.12") is xp
    assert compat.device(x) == "cpu" and compat.to_device(x, "cpu").shape == x.shape
    assert compat.size(x) == x.size
    # "bool(x) is guaranteed to succeed": values are there for whoever asks.
    assert not compat.is_lazy_array(x)


def test_it_takes_ours_with_ours_but_not_with_numpys():
    assert compat.array_namespace(xp.ones(2), lazyarr.ones(2)) is xp
    with pytest.raises(TypeError):
        compat.array_namespace(xp.ones(2), numpy.ones(2))


def test_the_namespace_is_none_that_it_wraps():
    assert not any(
        ask(xp) for ask in (compat.is_numpy_namespace, compat.is_torch_namespace, compat.is_jax_namespace)
    )


def standardized(x):
    """A program as those libraries write them."""
    space = compat.array_namespace(x)
    x = space.astype(x, space.float64, copy=False)
    z = (x - space.mean(x, axis=0)) / space.std(x, axis=0, correction=1)
    order = space.argsort(space.linalg.vector_norm(z, axis=1), descending=True, stable=True)
    return space.take(z, order[:5], axis=0), space.max(z) - space.min(z)


def test_a_program_gives_numpys_bits():
    a = numpy.random.default_rng(0).normal(size=(5000, 12)).astype("f")
    rows, spread = standardized(a)
    for x in (xp.asarray(a), lazyarr.array(a)):
        ours, width = standardized(x)
        assert compat.array_namespace(ours) is xp and width.shape == ()
        numpy.testing.assert_array_equal(numpy.asarray(ours), rows, strict=True)
        assert float(width) == spread
