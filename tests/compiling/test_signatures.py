"""`compile(signatures=...)`: compiled before the first call; other arguments are refused at the call."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.debug import counters
from lazyarr.signatures import described, matches, signatures

SEEN: list[str] = []


def axpy(a: Any, x: Any, y: Any) -> Any:
    return a * x + y


def effects(x: Any) -> Any:
    SEEN.append("ran")
    x[0] = 5.0
    return x


def ones(*shape: int, dtype: str = "f8") -> Any:
    return np.array(numpy.ones(shape, dtype))


def test_what_calls_need_is_compiled_at_once() -> None:
    before = counters()
    f = np.compile(axpy, signatures=[("float64", "float64[:]", "float64[:]"), "int64, int32[3], int32[3]"])
    between = counters()
    assert between["traces"] == before["traces"] + 2
    for n in (64, 7, 100, 3):
        got = f(2.0, ones(n), ones(n))
        assert numpy.asarray(got).tolist() == [3.0] * n
    got = f(2, ones(3, dtype="i4"), ones(3, dtype="i4"))
    assert got.dtype == "i4"
    after = counters()
    assert after["traced_calls"] == between["traced_calls"] + 5         # the very first ones, too
    assert after["compiles"] + after["disk_hits"] == between["compiles"] + between["disk_hits"]


def test_numpy_arrays_and_numpy_scalars_are_of_the_same_signature() -> None:
    f = np.compile(axpy, signatures="float64, float64[:], float64[:]")
    got = f(numpy.float64(2), numpy.ones(4), numpy.ones(4))
    assert type(got) is numpy.ndarray and got.tolist() == [3.0] * 4


@pytest.mark.parametrize(
    "args",
    [
        (2, ones(3), ones(3)), (2.0, ones(3, dtype="f4"), ones(3)), (2.0, ones(3, 3), ones(3)),
        (2.0, [1.0], ones(3)), (2.0, ones(3), 1.0), (True, ones(3), ones(3)), (2.0, ones(3), None),
    ],
)  # fmt: skip
def test_other_types_are_refused_at_the_call(args: tuple[Any, ...]) -> None:
    f = np.compile(axpy, signatures="float64, float64[:], float64[:]")
    with pytest.raises(TypeError, match=r"axpy\(.*its signatures are \(float64, float64\[:\], "):
        f(*args)


def test_nothing_is_done_for_a_call_that_is_refused() -> None:
    f = np.compile(effects, signatures="float64[:]")
    SEEN.clear()
    x = ones(3, dtype="f4")
    with pytest.raises(TypeError, match=r"float32\[3\]"):
        f(x)
    assert not SEEN and numpy.asarray(x).tolist() == [1.0] * 3
    assert numpy.asarray(f(ones(3))).tolist() == [5.0, 1.0, 1.0] and SEEN == ["ran"]


def test_a_wrong_number_of_arguments_is_pythons_to_refuse() -> None:
    f = np.compile(axpy, signatures="float64, float64[:], float64[:]")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f(2.0, ones(3))
    with pytest.raises(TypeError, match="does not take 2 arguments"):
        np.compile(axpy, signatures="float64, float64[:]")


def test_by_keyword_and_default() -> None:
    def scaled(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    f = np.compile(signatures=["float64[:], float64"])(scaled)
    assert numpy.asarray(f(ones(2))).tolist() == [2.0] * 2
    assert numpy.asarray(f(factor=3.0, x=ones(2))).tolist() == [3.0] * 2
    with pytest.raises(TypeError, match="its signatures"):
        f(ones(2), factor=3)


def test_notation() -> None:
    (one, two) = signatures(["float64[2, :], int64", ("bool", "complex128[:]", 0)])
    assert [str(item) for item in one] == ["float64[2, :]", "int64"]
    assert matches(one, (ones(2, 9), 3)) and matches(one, (ones(2, 0), numpy.int64(3)))
    assert not matches(one, (ones(3, 9), 3)) and not matches(one, (ones(2, 9), True))
    assert matches(two, (True, ones(1, dtype="c16"), 0))
    assert not matches(two, (True, ones(1, dtype="c16"), 0.0))
    assert described((ones(2, 9), 3, None)) == "float64[2, 9], int, NoneType"


@pytest.mark.parametrize("text", ["float64[x]", "floot64[:]", "float64[:", "object[:]", "float64[1.5]"])
def test_what_is_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match="signature"):
        np.compile(axpy, signatures=[(text, "float64[:]", "float64[:]")])


def test_loops_over_parameters_are_compiled_at_once() -> None:
    def doubled(a: Any, out: Any) -> Any:
        for i in np.prange(len(a)):
            out[i] = a[i] * 2
        return out

    f = np.compile(doubled, signatures="float64[:], float64[:]")
    before = counters()["loop_blocks"]
    with np.options(jit="always"):
        assert numpy.asarray(f(ones(30), ones(30))).tolist() == [2.0] * 30
    assert counters()["loop_blocks"] > before
    loop = f._lifted.loops[0]
    assert len(loop.variants) == 1          # of the signature
