"""What follows a matrix product writes over it: one buffer of its size, and no more.

The product itself is one call of the BLAS: its bits depend on how rows are put into panels (a last panel of
one row is another routine's), so the epilogue does not go into the call block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import explain

RNG = numpy.random.default_rng(3)
X, W, BIAS = RNG.standard_normal((700, 300)), RNG.standard_normal((300, 900)), RNG.standard_normal(900)
PRODUCT = 700 * 900 * 8
SLACK = 1 << 16

Program = Callable[..., Any]


def relu(np: Any, x: Any, w: Any, bias: Any) -> Any:
    return np.maximum(x @ w + bias, 0)


def scaled(np: Any, x: Any, w: Any, bias: Any) -> Any:
    return (x @ w * 0.5 - 1) / 3 + bias


def prologue(np: Any, x: Any, w: Any, bias: Any) -> Any:
    return np.maximum((x * 2) @ w + bias, 0)


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always"):
        yield


@pytest.mark.parametrize("program", [relu, scaled, prologue], ids=lambda program: program.__name__)
def test_in_place_of_the_product(program: Program) -> None:
    given = list(map(lazyarr.array, (X, W, BIAS)))
    lazyarr.evaluate(program(lazyarr, *given))
    found = program(lazyarr, *given)
    told, before = explain(found), COUNT.bytes_allocated
    inputs = X.nbytes + W.nbytes + BIAS.nbytes
    scaled_input = X.nbytes * (program is prologue)
    assert told.peak_bytes <= inputs + PRODUCT + scaled_input + SLACK
    lazyarr.evaluate(found)
    assert COUNT.bytes_allocated - before <= PRODUCT + scaled_input + SLACK
    assert numpy.asarray(found).tobytes() == program(numpy, X, W, BIAS).tobytes()
