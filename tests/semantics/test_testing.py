"""NumPy's assertions on lazy arrays: `numpy.testing`; `lazyarr.testing` with an `assert_equal` for ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing
import pytest

import lazyarr as np


def arrays() -> dict[str, Any]:
    return {
        "a": np.array([1.0, 2.0, numpy.nan]) + 0, "i": np.arange(3) + 0, "z": np.array(0.5) * 1,
        "c": np.array([1 + 1j, 2]) + 0, "s": np.array(["a", "b"]), "n": np.array(numpy.nan),
    }  # fmt: skip


BOTH: dict[str, Callable[..., Any]] = {
    "equal to NumPy's": lambda t, a, i, **_: t.assert_equal(i, numpy.arange(3)),
    "array_equal": lambda t, a, **_: t.assert_array_equal(a, a + 0),
    "array_equal, list": lambda t, i, **_: t.assert_array_equal(i, [0, 1, 2]),
    "array_equal, strict": lambda t, i, **_: t.assert_array_equal(i, numpy.arange(3), strict=True),
    "array_equal, text": lambda t, s, **_: t.assert_array_equal(s, ["a", "b"]),
    "almost_equal": lambda t, c, z, i, **_: (
        t.assert_almost_equal(z, 0.5), t.assert_almost_equal(c, [1 + 1j, 2]),
        t.assert_almost_equal(i, [0, 1, 2]),
    ),
    "approx_equal": lambda t, z, **_: t.assert_approx_equal(z, 0.5),
    "array_almost_equal": lambda t, a, **_: t.assert_array_almost_equal(a, [1, 2, numpy.nan]),
    "array_less": lambda t, i, **_: t.assert_array_less(i, i + 1),
    "allclose": lambda t, a, **_: t.assert_allclose(a, a * 1),
    "max_ulp": lambda t, i, **_: t.assert_array_max_ulp(i * 1.0, i * 1.0),
    "nulp": lambda t, i, z, **_: (
        t.assert_array_almost_equal_nulp(i * 1.0, i * 1.0), t.assert_array_almost_equal_nulp(z, z)
    ),
}  # fmt: skip

OURS: dict[str, Callable[..., Any]] = {
    "scalar": lambda t, z, **_: (t.assert_equal(z, 0.5), t.assert_equal(0.5, z)),
    "list": lambda t, i, **_: (t.assert_equal(i, [0, 1, 2]), t.assert_equal([0, 1, 2], i)),
    "both lazy": lambda t, a, **_: t.assert_equal(a, a + 0),
    "NaN": lambda t, a, n, **_: (t.assert_equal(a, [1, 2, numpy.nan]), t.assert_equal(n, numpy.nan)),
    "within lists": lambda t, a, i, **_: t.assert_equal([i, {"a": a}], [i + 0, {"a": a + 0}]),
    "text": lambda t, s, **_: t.assert_equal(s, ["a", "b"]),
    "complex": lambda t, c, **_: t.assert_equal(c, [1 + 1j, 2]),
    "strict": lambda t, i, **_: t.assert_equal(i, np.arange(3), strict=True),
}

WRONG: dict[str, Callable[..., Any]] = {
    "array_equal": lambda t, i, **_: t.assert_array_equal(i, [0, 1, 3]),
    "allclose": lambda t, i, **_: t.assert_allclose(i, [0, 1, 3]),
    "array_less": lambda t, i, **_: t.assert_array_less(i, [0, 1, 3]),
    "equal": lambda t, i, **_: t.assert_equal(i, numpy.array([0, 1, 3])),
    "almost_equal": lambda t, z, **_: t.assert_almost_equal(z, 0.6),
}


@pytest.mark.parametrize("testing", [numpy.testing, np.testing], ids=["numpy", "lazyarr"])
@pytest.mark.parametrize("name", BOTH)
def test_what_holds(name: str, testing: Any) -> None:
    BOTH[name](testing, **arrays())


@pytest.mark.parametrize("name", OURS)
def test_what_holds_for_ours(name: str) -> None:
    OURS[name](np.testing, **arrays())


@pytest.mark.parametrize("testing", [numpy.testing, np.testing], ids=["numpy", "lazyarr"])
@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_hold(name: str, testing: Any) -> None:
    with pytest.raises(AssertionError):
        WRONG[name](testing, **arrays())


@pytest.mark.filterwarnings("ignore:NumPy warning suppression:DeprecationWarning")
@pytest.mark.parametrize("n", [3, 70_000])
@pytest.mark.parametrize("testing", [numpy.testing, np.testing], ids=["NumPy's", "ours"])
def test_warnings_that_are_awaited(n: int, testing: Any) -> None:
    with testing.assert_warns(RuntimeWarning):
        np.log(np.zeros(n))
    testing.assert_warns(RuntimeWarning, lambda: np.log(np.zeros(n) - 1))
    with testing.suppress_warnings() as block:
        found = block.record(RuntimeWarning)
        np.sqrt(np.zeros(n) - 1)
    assert len(found) == 1
    testing.assert_no_warnings(np.sqrt, np.ones(n))
