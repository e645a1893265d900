"""`parallel=`: each optimisation on and off, for a function and for all: the same bits by another plan."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.config import from_environment
from lazyarr.debug import counters, explain
from lazyarr.parallel import ALL, PARTS, parts

RNG = numpy.random.default_rng(7)


@np.stencil
def smooth(a: Any) -> Any:
    return 0.25 * a[-1, 0] + 0.5 * a[0, 0] + 0.25 * a[1, 0]


def chained(x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y) - y


def folded(x: Any, y: Any) -> Any:
    return (x * y - 1.0).sum(axis=1) + 2.0


def written(x: Any, y: Any) -> Any:
    z = x * 2.0
    z[1:-1] = y[:-2] + y[2:]
    return z + 1.0


def smoothed(x: Any, y: Any) -> Any:
    return smooth(x * y) + 1.0


CASES: dict[str, Callable[..., Any]] = {
    "numpy": chained, "fusion": chained, "reduction": folded, "setitem": written, "stencil": smoothed,
}  # fmt: skip


def inputs(rows: int = 40) -> tuple[Any, Any]:
    return np.array(RNG.random((rows, 30))), np.array(RNG.random((rows, 30)) + 1)


def seen(f: Callable[..., Any], *args: Any) -> tuple[bytes, tuple[int, ...]]:
    """The bits of a call, and how it was computed."""
    names = ("traced_calls", "native_launches", "numpy_fallbacks", "numpy_eager")
    before = counters()
    bits = numpy.asarray(f(*args)).tobytes()
    after = counters()
    return bits, tuple(after[name] - before[name] for name in names)


def warm(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    for _ in range(3):
        f(*args)


@pytest.mark.parametrize("name", CASES)
def test_off_in_a_function(name: str) -> None:
    fn, args = CASES[name], inputs()
    on, off = np.compile(fn, parallel=True), np.compile(fn, parallel=ALL - {name})
    warm(on, args), warm(off, args)
    (bits, plan), (other, another) = seen(on, *args), seen(off, *args)
    assert bits == other == numpy.asarray(fn(*args)).tobytes()
    assert plan[0] == 1 and plan != another, (plan, another)
    if name in ("fusion", "reduction"):
        assert another[0] == 1 and another[1] > plan[1]         # more kernels
    else:
        assert another[0] == 0 and off.refusal is not None and "switched off" in off.refusal.why


@pytest.mark.parametrize("name", CASES)
def test_off_for_all(name: str) -> None:
    fn, args = CASES[name], inputs()
    f = np.compile(fn)
    warm(f, args)
    bits, plan = seen(f, *args)
    with np.options(parallel=ALL - {name}):
        warm(f, args)
        other, another = seen(f, *args)
    again, same = seen(f, *args)
    assert bits == other == again and plan != another and plan == same


@pytest.mark.parametrize("name", ["fusion", "reduction", "setitem"])
def test_off_in_lazy_evaluation(name: str) -> None:
    fn = CASES[name]
    with np.options(jit="always", eager_elements=0):
        args = inputs(400)
        x = fn(*args)
        fused = len(explain(x).groups)
        bits = numpy.asarray(x).tobytes()
        with np.options(parallel=ALL - {name}):
            x = fn(*args)
            groups = explain(x).groups
            assert numpy.asarray(x).tobytes() == bits
    assert len(groups) > fused
    assert any("switched off" in r.why for group in groups for r in group.refusals)


def test_off_numpy_means_no_kernels() -> None:
    with np.options(jit="always", eager_elements=0, parallel=ALL - {"numpy"}):
        x, y = inputs(400)
        bits, plan = seen(chained, x, y)
    assert plan[1] == 0 and plan[2] > 0
    assert bits == chained(numpy.asarray(x), numpy.asarray(y)).tobytes()


def test_a_functions_own_set_counts_more_than_the_option() -> None:
    args = inputs()
    f = np.compile(chained, parallel=True)
    with np.options(parallel=False):
        warm(f, args)
        assert seen(f, *args)[1][0] == 1


def test_results_of_a_function_with_a_set_are_computed_at_the_call() -> None:
    with np.options(eager_elements=0, jit="always"):
        x, y = inputs(400)
        assert np.is_evaluated(np.compile(chained, parallel=ALL - {"numpy"})(x, y))


@pytest.mark.parametrize("given", [{"fusion", "loops"}, "fusion, loops", ["loops"]])
def test_an_unknown_name_is_refused_with_those_that_there_are(given: Any) -> None:
    with pytest.raises(ValueError, match="'loops'; there are comprehension, prange, numpy, reduction"):
        np.compile(chained, parallel=given)
    with pytest.raises(ValueError, match="'loops'; there are"):
        np.set_options(parallel=given)
    with pytest.raises(TypeError, match="must be True, False or a set of names"):
        np.compile(chained, parallel=3)


def test_values() -> None:
    assert parts(True) == parts("all") == parts("1") == ALL == {part.name for part in PARTS}
    assert parts(False) == parts("none") == parts(()) == frozenset()
    assert parts("fusion numpy") == parts({"numpy", "fusion"}) == {"numpy", "fusion"}
    assert from_environment({"LAZYARR_PARALLEL": "fusion,prange"})["parallel"] == {"fusion", "prange"}
    with pytest.raises(ValueError, match="LAZYARR_PARALLEL"):
        from_environment({"LAZYARR_PARALLEL": "fission"})


def test_from_the_environment() -> None:
    code = "import lazyarr; assert lazyarr.get_options()['parallel'] == {'numpy'}"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "LAZYARR_PARALLEL": "numpy"})
    assert done.returncode == 0
