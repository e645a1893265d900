"""Folds past NaN, and choices written into values that wait: memory is read once, with NumPy's bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.debug import Explanation, explain

RNG = numpy.random.default_rng(5)
NAMES = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")
LAYOUTS = {
    "C": lambda x: x, "F": lambda x: x.T, "gaps": lambda x: x[:, ::2], "backwards": lambda x: x[::-1],
}  # fmt: skip


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with np.options(jit="always", verify=True):
        yield


def with_nan(char: str, kept: float = 0.9) -> numpy.ndarray:
    x = RNG.standard_normal((60, 70))
    x = (x + 1j * x[::-1] if char in "FD" else x).astype(char)
    x[RNG.random(x.shape) > kept] = numpy.nan
    return x


def outcome(np: Any, name: str, x: Any, options: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = getattr(np, name)(x, **options)
        real = numpy.asarray(result)
    return result, real, sorted(str(w.message) for w in found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_bits_types_and_words_of_numpy(name: str, layout: str) -> None:
    for char in "efdFD":
        for kept in (0.9, 0.02, 0.0):
            x = LAYOUTS[layout](with_nan(char, kept))
            for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}):
                wanted, bits, words = outcome(numpy, name, x, options)
                found, got, said = outcome(np, name, np.array(x, order="K"), options)
                numpy.testing.assert_array_equal(got, bits)
                assert (got.dtype, got.shape, said) == (bits.dtype, bits.shape, words)
                assert isinstance(wanted, numpy.ndarray) or type(found) is type(wanted)


@pytest.mark.parametrize("options", [{"ddof": 1}, {"ddof": 1.5}, {"ddof": 80, "axis": 0}, {"correction": 2}])
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_degrees_of_freedom(name: str, options: dict[str, Any]) -> None:
    x = with_nan("d")
    _, bits, words = outcome(numpy, name, x, options)
    _, got, said = outcome(np, name, np.array(x), options)
    numpy.testing.assert_array_equal(got, bits)
    assert said == words


def test_other_arguments_are_numpys_codes() -> None:
    x = with_nan("d")
    y = np.array(x)
    for options in ({"dtype": "f"}, {"where": x > 0}, {"axis": 0, "out": numpy.empty(70)}):
        numpy.testing.assert_array_equal(np.nanmean(y, **options), numpy.nanmean(x, **options))
    assert np.nansum(np.array(numpy.arange(9))) == 36
    with pytest.raises(TypeError):
        np.nansum(y, 0, None, None, False, 0, True, 1)
    for name, options in (("nansum", {"ddof": 1}), ("nanmean", {"ddof": 0}), ("nanmean", {"initial": 0})):
        with pytest.raises(TypeError, match="unexpected keyword"):
            getattr(np, name)(y, **options)
    with pytest.raises(numpy.exceptions.AxisError):
        np.nanmean(y, axis=2)


PASSES = {"nansum": 1, "nanprod": 1, "nanmean": 1, "nanvar": 2, "nanstd": 2}
"""Over an array as a whole; a row's or a column's second pass finds it in the cache."""


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_array_is_read_once(name: str, axis: int | None, told: list[Explanation]) -> None:
    x = np.array(RNG.standard_normal((400, 500)))
    np.evaluate(x)
    told.clear()
    np.evaluate(getattr(np, name)(x, axis=axis))
    passes = PASSES[name] if axis is None else 1
    assert passes * x.nbytes <= sum(t.bytes_moved for t in told) <= 1.1 * passes * x.nbytes


def test_elements_that_are_replaced_are_not_stored() -> None:
    """What is set under a mask in a value that waits is one of two for each element."""
    x = np.array(RNG.standard_normal(200_000))
    np.evaluate(x)
    y = x * 2
    y[x < 0] = 0.5
    np.copyto(y, 3.0, where=x > 1)
    z = y + 1
    del y
    found = explain(z)
    assert len(found.groups) == 1 and found.bytes_moved == found.bytes_least == 2 * x.nbytes
    wanted = numpy.asarray(x) * 2
    wanted[wanted < 0] = 0.5
    wanted[numpy.asarray(x) > 1] = 3.0
    assert numpy.asarray(z).tobytes() == (wanted + 1).tobytes()


def test_who_read_the_value_before_has_it_as_it_was() -> None:
    x = np.array(RNG.standard_normal(50_000))
    y = x * 2
    before, part = y + 0, y[10:20]
    y[y < 0] = 0
    half = y[::2] * 1
    y[::2] = 7
    real = numpy.asarray(x) * 2
    numpy.testing.assert_array_equal(before, real)
    real[real < 0] = 0
    numpy.testing.assert_array_equal(half, real[::2])
    real[::2] = 7
    numpy.testing.assert_array_equal(y, real)
    numpy.testing.assert_array_equal(part, real[10:20])


def test_in_what_exists_only_what_the_mask_lets_through_is_written() -> None:
    x = np.array(RNG.standard_normal(100_000))
    np.evaluate(x)
    mask = np.array(RNG.random(100_000) < 0.01)
    np.evaluate(mask)
    x[mask] = 0
    found = explain(x)
    assert len(found.operations) == 1 and "where" not in found.operations[0].op
