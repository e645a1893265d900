"""`any` and `all` end early where no flag of an element that is left out can matter, and only there.

How far they went is told by what they computed: blocks of NumPy's loops (of exp2) that were called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.counters import COUNT
from lazyarr.fusion.parfor import Parfor
from lazyarr.kernels import host, kernel_for

N = 1_000_000
X = numpy.random.default_rng(1).random(N)

Program = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always", num_threads=1):
        yield


def has_large(np: Any, x: Any) -> Any:
    return (np.exp2(x) > 0.5).any()


def are_large(np: Any, x: Any) -> Any:
    return (np.exp2(x) < 0.5).all()


def blocks(program: Program, x: numpy.ndarray) -> int:
    given = lazyarr.array(x)
    before = COUNT.numpy_loop_blocks
    found = program(lazyarr, given)
    assert found == program(numpy, x)
    return COUNT.numpy_loop_blocks - before


@pytest.mark.parametrize("program", [has_large, are_large], ids=lambda program: program.__name__)
def test_where_flags_are_ignored(program: Program) -> None:
    every = blocks(program, X)
    assert every > 50                           # exp2 may overflow, and NumPy would say so
    with numpy.errstate(all="ignore"):
        assert blocks(program, X) <= every / 8
    assert blocks(program, X) == every          # a plan of its own, though all else is alike


def test_the_warning_of_an_element_that_decides_nothing() -> None:
    x = X.copy()
    x[-1] = 1e9
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        has_large(numpy, x)
    with shown() as found:
        assert has_large(lazyarr, lazyarr.array(x))
    assert [str(w.message) for w in found] == [str(w.message) for w in wanted] != []


def test_one_node_that_asks_for_flags() -> None:
    with numpy.errstate(all="ignore"):
        given = lazyarr.array(X)
        inner = lazyarr.exp2(given)
    before = COUNT.numpy_loop_blocks
    assert (inner * 2 > 0.5).any()
    assert COUNT.numpy_loop_blocks - before > 50


def test_what_raises_nothing_needs_no_error_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a kernel asks whether it is decided in any state."""
    seen: list[Parfor] = []
    monkeypatch.setattr(
        "lazyarr.launch.kernel_for", lambda p, *how: (seen.append(p), kernel_for(p, *how))[1]
    )

    def decidable(program: Program, x: Any) -> bool:
        lazyarr.planning.forget()
        seen.clear()
        assert program(lazyarr, x)
        return all(Reduce(p, host()).decidable for p in seen)

    x = lazyarr.array(X)
    lazyarr.evaluate(x)
    assert decidable(lambda np, x: (x > 0.5).any(), x)
    assert decidable(lambda np, x: (np.isnan(x) | (x < 2)).all(), x)
    assert not decidable(lambda np, x: (x * 2 > 0.5).any(), x)
    with numpy.errstate(all="ignore"):
        assert decidable(lambda np, x: (x * 2 > 0.5).any(), x)
