"""What `explain` says, against what then happens: launches, fates, lines, boundaries, rules, bytes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.debug import Explanation, explain

sys.path.append(str(Path(__file__).parents[1] / "fusion"))
from test_conflict import PROGRAMS as APART

N = 400_000
"""Elements: arrays are the engine's, and large to its allocator."""


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with lazyarr.options(jit="always"):
        yield


def array(*shape: int) -> Any:
    values = numpy.random.default_rng(len(shape)).standard_normal(shape)
    x = lazyarr.array(values)
    lazyarr.evaluate(x)
    return x


def chain(a: Any, b: Any) -> tuple[Any, ...]:
    return ((a * 2 + b) * a - 1,)


def shared(a: Any, b: Any) -> tuple[Any, ...]:
    c = a * b
    return c + 1, c


def folds(a: Any, b: Any) -> tuple[Any, ...]:
    c = a.reshape(400, -1) - 1
    return c.sum(axis=0), (b.reshape(400, -1) * 2).max(axis=1)


def stencil(a: Any, b: Any) -> tuple[Any, ...]:
    c = a + b
    return (c[1:] - c[:-1],)


def scan(a: Any, b: Any) -> tuple[Any, ...]:
    return (lazyarr.cumsum(a * b) + 1,)


def written(a: Any, b: Any) -> tuple[Any, ...]:
    a[::2] *= 3
    b += a
    return a, b


PROGRAMS = (chain, shared, folds, stencil, scan, written)


@pytest.mark.parametrize("program", PROGRAMS)
def test_kernels_are_those_that_run(program: Callable[..., Any]) -> None:
    results = program(array(N), array(N))
    reset()
    told = explain(*results)
    assert COUNT.nodes_run == COUNT.native_launches == COUNT.plans == 0
    assert not any(map(lazyarr.is_evaluated, results))
    lazyarr.evaluate(*results)
    assert sum(g.kernel for g in told.groups) == COUNT.native_launches
    assert sum(len(g.operations) for g in told.groups if not g.kernel) == COUNT.numpy_fallbacks
    assert len(told.operations) == COUNT.nodes_run
    assert sorted(o.serial for g in told.groups for o in g.operations) == [o.serial for o in told.operations]


@pytest.mark.parametrize("program", [*PROGRAMS, *APART], ids=lambda program: program.__name__)
def test_every_boundary_has_its_reason(program: Callable[..., Any]) -> None:
    if program in APART:
        a = numpy.arange(3000.0).reshape(60, 50) % 37 - 11
        results = program(lazyarr, lazyarr.array(a), lazyarr.array(a % 3 == 0))
    else:
        results = program(array(N), array(N))
    told = explain(*results)
    for group in told.groups[1:]:
        assert group.refusals
        for refusal in group.refusals:
            assert refusal.serial == group.operations[0].serial and refusal.why in str(told)
            assert refusal.group < group.number


def test_groups_that_have_nothing_in_common_say_why() -> None:
    told = explain(array(N) + 1, array(600, 500) + 1)
    assert told.groups[1].refusals[0].why == "iteration space (600, 500) is not (400000,)"


def test_a_program_that_would_hold_more_is_left_as_it_was_written() -> None:
    a = array(N)
    pieces = [(a * k)[:: N // 10] + 0 for k in range(8)]
    whys = {r.why for g in explain(*pieces).groups for r in g.refusals}
    assert "together they would hold more arrays at a time than NumPy" in whys


def test_rules_and_equal_instructions() -> None:
    a = array(N)
    turned = -lazyarr.sqrt(a)
    told = explain(-turned + lazyarr.sqrt(a))
    assert [(r.op, r.rule) for r in told.groups[0].rewrites] == [
        ("negative", "neg-neg"), ("sqrt", "value numbering")
    ]  # fmt: skip
    assert "negative: not computed, by neg-neg" in told


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_lines_of_all_operations_while_somebody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    a, b = array(N), array(N)
    with lazyarr.options(debug=1):
        x = -a; first = here()  # noqa: E702
        b[...] = abs(x); second = here()  # noqa: E702
    told = explain(b)
    assert {o.file for o in told.operations} == {__file__}
    assert [o.line for o in told.operations] == [first, second, second]
    assert f"created at {__file__}:{first}" in told


def test_inputs_and_parts() -> None:
    a = array(600, 500)
    b = a * 2.5
    told = explain(b[1:] + 1)
    assert told.inputs == ("x0: 2.4 MB",)
    assert told.operations[0].inputs == ("x0", "2.5") and told.operations[0].dtype == "float64"
    first = told.operations[0].serial
    assert told.operations[1].inputs[0] == f"#{first}[599, 500 by strides 4000, 8 from byte 4000]"
    a[2:] = 0
    (write,) = explain(a).operations[-1:]
    assert write.changes == "x0[598, 500 by strides 4000, 8 from byte 8000]"


def test_bytes() -> None:
    a, b = array(N), array(N)
    told = explain((a * 2 + b) * a)
    assert told.bytes_moved == told.bytes_least == 3 * a.nbytes
    assert told.bytes_eager == (2 + 3 + 3) * a.nbytes
    c = a + b
    told = explain(c[1:] - c[:-1], c)
    assert told.bytes_least == 4 * a.nbytes - 8
    assert told.bytes_moved == 5 * a.nbytes - 8       # c and its neighbours are read once
    assert explain(lazyarr.broadcast_to(array(500), (800, 500)) + 1).bytes_least == 500 * 8 + 800 * 500 * 8


def test_bytes_of_picks() -> None:
    a, i = array(N), lazyarr.array(numpy.arange(0, N, 100))
    lazyarr.evaluate(i)
    told = explain(a[i] + 1)
    assert told.bytes_moved == told.bytes_least == 3 * 8 * i.size
    a[i] = a[i] * 2 + i
    told = explain(a)
    assert told.bytes_least == 3 * 8 * i.size


def test_methods_that_clash_with_nothing() -> None:
    for name in ("explain", "visualize"):
        assert not hasattr(numpy.ndarray, name)
    x = array(N) + 1
    assert isinstance(x.explain(), Explanation)
    assert str(x.explain()) == repr(explain(x))
    assert str(explain(array(N))) == "nothing is pending" == str(explain(3, numpy.ones(3), numpy.float64(2)))


def test_an_explanation_keeps_nothing_alive() -> None:
    before = lazyarr.debug.counters()["bytes_allocated"]
    told = explain(array(N) + 1)
    assert lazyarr.debug.counters()["bytes_allocated"] - before <= 2 * N * 8     # the array alone
    assert all(isinstance(x, (str, int, tuple)) for o in told.operations for x in vars_of(o))


def vars_of(x: Any) -> list[Any]:
    return [getattr(x, name) for name in x.__slots__]
