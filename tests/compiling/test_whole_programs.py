"""Whole programs in one compiled function: loops of sweeps and of steps, whatever their number and size.

NumPy's bits, few calls of Python, and no more memory than NumPy has."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import planning
from lazyarr.buffers import has_rings
from lazyarr.compiling import finding, large, small
from lazyarr.compiling.trace import MOST_NODES
from lazyarr.debug import counters
from lazyarr.lifetimes import excess
from lazyarr.threading.limits import get_num_threads

# (Each is run by NumPy on NumPy's arrays as well: methods and operators alone.)


def jacobi(start: Any, n: int) -> Any:
    u = start.copy()
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def heat(start: Any, n: int) -> Any:
    u = start.copy()
    for _ in range(n):
        inner = u[1:-1, 1:-1]
        inner += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
    return u


def shallow(start: Any, n: int) -> Any:
    h, u, v = start.copy(), 0.1 * start, start * start
    for _ in range(n):
        u[1:-1, :] -= 0.1 * (h[2:, :] - h[:-2, :])
        v[:, 1:-1] -= 0.1 * (h[:, 2:] - h[:, :-2])
        h[1:-1, 1:-1] -= 0.05 * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])
    return h, u, v


def wave(start: Any, n: int) -> Any:
    u, before = start.copy(), 0.9 * start
    for _ in range(n):
        after = 2 * u - before
        inner = after[1:-1, 1:-1]
        inner += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        before, u = u, after
    return u


def reacts(start: Any, n: int) -> Any:
    u, v = start.copy(), 0.5 * start
    for _ in range(n):
        a = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        b = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        c = u[1:-1, 1:-1] * v[1:-1, 1:-1] * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.16 * a - c + 0.06 * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * b + c - 0.12 * v[1:-1, 1:-1]
    return [u, v]


def in_place(u: Any, n: int) -> None:
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def in_one_row(start: Any, n: int) -> Any:
    u = start[0].copy()
    for _ in range(n):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u


def in_two_writes(start: Any, n: int) -> Any:
    """The second write overwrites all of the first, in one loop nest with it."""
    u, v = start.copy(), 0.5 * start
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (1.5 * u[:-2, 1:-1] * v[1:-1, 2:] * (u[2:, 2:] + v[2:, 1:-1]))
        u[1:-1, 1:-1] *= 0.1 * (v[:-2, 2:] + start[1:-1, 1:-1])
    return u


def newton(start: Any, n: int) -> Any:
    y = start + 1
    for _ in range(n):
        y = 0.5 * (y + start / y)
    return y, y.sum(), y.max(axis=0)


def scaled(start: Any, n: int) -> Any:
    m = start
    for _ in range(n):
        m = (m - m.mean()) / (m.std() + 1)
    return m


PROGRAMS = (jacobi, heat, shallow, wave, reacts, in_place, in_one_row, in_two_writes, newton, scaled)


def fresh(f: Callable[..., Any]) -> Any:
    """A function compiled anew."""
    return np.compile(types.FunctionType(f.__code__, globals(), f.__name__, f.__defaults__))


def parts(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple | list) else [x]


def check(f: Callable[..., Any], start: numpy.ndarray, n: int, order: str = "C", calls: int = 3) -> Any:
    """A compiled function does what NumPy does, to its argument, too."""
    compiled = fresh(f)
    before = counters()["traced_calls"]
    for _ in range(calls):
        theirs = start.copy()
        ours = np.array(start, order=order)
        want, got = f(theirs, n), compiled(ours, n)
        assert compiled.refusal is None
        assert type(want) is type(got) or isinstance(want, numpy.ndarray)
        for x, y in zip([*parts(want), theirs], [*parts(got), ours], strict=True):
            if x is None:
                assert y is None
                continue
            x, y = numpy.asarray(x), numpy.asarray(y)
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            assert x.tobytes() == y.tobytes()
    assert counters()["traced_calls"] > before
    return compiled


def values(shape: tuple[int, ...], dtype: str = "d") -> numpy.ndarray:
    return numpy.random.default_rng(7).uniform(size=shape).astype(dtype)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(8, 8), (24, 31), (130, 70), (300, 260)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_as_numpy(f: Callable[..., Any], shape: tuple[int, ...], n: int) -> None:
    check(f, values(shape), n)


@pytest.mark.parametrize("f", [jacobi, heat, shallow, in_one_row], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f", "d", "D", "e"])
@pytest.mark.parametrize("large_only", [False, True])
def test_types(f: Callable[..., Any], dtype: str, large_only: bool, monkeypatch: Any) -> None:
    if large_only:
        monkeypatch.setattr(small, "KEPT", -1)
    check(f, values((40, 50), dtype), 9)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("threads", [1, 2])
def test_launch_by_launch(f: Callable[..., Any], n: int, threads: int, monkeypatch: Any) -> None:
    """By row blocks, on threads, however small."""
    monkeypatch.setattr(small, "KEPT", -1)
    with np.options(num_threads=threads):
        check(f, values((120, 40)), n)


def test_numbers_of_calls(monkeypatch: Any) -> None:
    """Of launches whose numbers the calls give, those of the call; of others always the same."""
    monkeypatch.setattr(small, "KEPT", -1)

    def damped(start: Any, q: float) -> Any:
        u = start.copy()
        for _ in range(6):
            u[1:-1] = 0.5 * (u[2:] + u[:-2]) * q + 0.25
            u[0] = u[1]
        return u

    compiled, start = np.compile(damped), values((160, 50))
    for q in (0.5, 0.5, 0.75, 0.5, 2.0, 0.75, 0.75):
        assert numpy.asarray(compiled(np.array(start), q)).tobytes() == damped(start, q).tobytes()
    assert compiled.refusal is None


def test_a_launch_looks_for_each_buffer_once(monkeypatch: Any) -> None:
    """However many values of sweeps lie there."""
    monkeypatch.setattr(small, "KEPT", -1)
    looked, at = [], large.Large._at

    def noted(self: Any, cell: Any, *args: Any, **kwargs: Any) -> int:
        looked.append(cell)
        return at(self, cell, *args, **kwargs)

    monkeypatch.setattr(large.Large, "_at", noted)
    compiled, start = fresh(heat), np.array(values((400, 90)))
    for _ in range(3):
        looked.clear()
        compiled(start, 12)
    assert compiled.refusal is None
    assert 0 < len(looked) <= 8


@pytest.mark.parametrize("f", [jacobi, heat, in_place], ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["F", "rows", "columns", "gaps"])
def test_layouts(f: Callable[..., Any], layout: str) -> None:
    whole = values((90, 120))
    view: dict[str, Callable[[Any], Any]] = {
        "F": lambda x: x.T, "rows": lambda x: x[::-1], "columns": lambda x: x[:, 3:80],
        "gaps": lambda x: x[::2, 1:],
    }  # fmt: skip
    compiled = fresh(f)
    for _ in range(3):
        theirs, ours = whole.copy(), np.array(whole)
        want, got = f(view[layout](theirs), 6), compiled(view[layout](ours), 6)
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()
        if want is not None:
            assert numpy.asarray(got).tobytes() == want.tobytes()


@pytest.mark.parametrize("f", [jacobi, heat, reacts], ids=lambda f: f.__name__)
def test_special_values(f: Callable[..., Any]) -> None:
    start = values((64, 64))
    start[5, 5], start[20, 9], start[40, 60], start[63, 0] = numpy.nan, numpy.inf, -0.0, -numpy.inf
    with numpy.errstate(all="ignore"):
        compiled = fresh(f)
        for _ in range(3):
            want, got = f(start.copy(), 6), compiled(np.array(start), 6)
            for x, y in zip(parts(want), parts(got), strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(y), x, strict=True)


def test_warnings_are_numpys() -> None:
    """A replay that raises a flag is the function's own call, on arguments as they were."""
    start = values((40, 40))
    start[10, 10] = 1.7e308
    start[11, 11] = start[9, 11] = 1.7e308
    compiled = fresh(in_place)
    for _ in range(3):
        theirs, ours = start.copy(), np.array(start)
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            in_place(theirs, 5)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            compiled(ours, 5)
            np.evaluate(ours)
        assert {str(w.message) for w in found} == {str(w.message) for w in expected}
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()


def test_counts_are_guarded() -> None:
    """Another number of sweeps is another trace."""
    compiled, start = fresh(jacobi), values((50, 50))
    for n in (4, 9, 4, 0, 9, 1):
        for _ in range(2):
            got = compiled(np.array(start), n)
            assert numpy.asarray(got).tobytes() == jacobi(start, n).tobytes()


def test_a_hundred_sweeps_are_few_launches() -> None:
    """As lazy evaluation has them, but with no Python for each operation."""
    start, compiled = np.array(values((400, 400))), fresh(heat)
    for _ in range(3):
        got = compiled(start, 100)
    want = heat(numpy.asarray(start), 100)
    before = counters()
    got = compiled(start, 100)
    after = counters()
    assert numpy.asarray(got).tobytes() == want.tobytes()
    assert after["nodes_built"] == before["nodes_built"]
    assert after["native_launches"] - before["native_launches"] < 40
    assert after["compiles"] == before["compiles"]


def test_small_ones_are_one_call() -> None:
    found: list[Any] = []
    made = finding._replay_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "_replay_of", lambda trace: found.append(made(trace)) or found[-1])
        check(heat, values((100, 100)), 50)
        check(heat, values((800, 800)), 3)
    assert [type(each) for each in found] == [small.Small, large.Large]
    first = found[0]
    assert first.own_bytes < 4 * 80_000             # (buffers of sweeps that are over are taken again)


def test_no_more_memory_than_numpy() -> None:
    """A new buffer for each run of sweeps ends with it."""
    plans: list[Any] = []
    made = planning.groups_of

    def groups_of(w: Any, refuse: Any) -> Any:
        parted, steps = made(w, refuse)
        plans.append((excess(w, steps), steps))
        return parted, steps

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "groups_of", groups_of)
        planning.forget()
        check(heat, values((700, 700)), 60)
    over, steps = plans[-1]
    assert not over
    assert sum(len(step.turns) for step in steps) == 60
    apart = not has_rings()             # (the first copy, which else runs with the first sweeps)
    assert 2 < sum(bool(step.turns) for step in steps) == len(steps) - apart


def test_threads_have_strips() -> None:
    """Where as many sweeps as have room would leave a thread without work, there are fewer."""
    from lazyarr.row_room import sweeps

    with np.options(num_threads=1):
        alone = sweeps(4000, 500, 8000)
    with np.options(num_threads=2):
        assert get_num_threads() == 2
        shared = sweeps(4000, 500, 8000)
        assert sweeps(800, 100, 1600) == sweeps(800, 100, 0)
        assert sweeps(800, 100, 3200) == sweeps(800, 100, 1600) // 2
    assert 2 <= shared < alone
    assert sweeps(1 << 30, 10, 0) <= 2


@pytest.mark.parametrize("shape", [(1000, 1000), (1000, 300), (2000, 120), (700, 700), (3000, 500)], ids=str)
@pytest.mark.parametrize("f", [jacobi, heat], ids=lambda f: f.__name__)
def test_all_threads_have_strips(f: Any, shape: tuple[int, int], monkeypatch: Any) -> None:
    """However many sweeps run together."""
    from lazyarr import launch_rows

    found, prepare = [], launch_rows._prepare
    monkeypatch.setattr(launch_rows, "_prepare", lambda rows, *a: found.append(rows) or prepare(rows, *a))
    with np.options(num_threads=2):
        threads, compiled, start = get_num_threads(), fresh(f), np.array(values(shape))
        compiled(start, 30)
    large = [rows for rows in found if rows.delay and len(rows.parts) > 3]
    assert large and all(rows.strips(threads) == threads for rows in large)


def test_too_many_operations_are_refused() -> None:
    def adds(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + 1
        return x

    compiled = np.compile(adds)
    x = np.array([1.0, 2.0])
    for _ in range(3):
        got = compiled(x, MOST_NODES + 1)
    assert numpy.asarray(got).tolist() == [MOST_NODES + 2.0, MOST_NODES + 3.0]
    assert compiled.refusal is not None
    assert "too many operations" in compiled.refusal.why


def test_plans_of_plain_code_are_others() -> None:
    """What is rolled is read piece by piece where that pays, by either; neither finds the other's plan."""

    def step(x: Any) -> Any:
        return np.roll(x, 1, 0) * 0.5 + np.roll(x, -1, 1) + x

    start = values((400, 400))
    want = numpy.roll(start, 1, 0) * 0.5 + numpy.roll(start, -1, 1) + start
    x = np.array(start)
    compiled = np.compile(step)
    with np.options(jit="always"):
        for _ in range(3):
            assert numpy.asarray(step(x)).tobytes() == want.tobytes()
            assert numpy.asarray(compiled(x)).tobytes() == want.tobytes()
    assert compiled.refusal is None


def test_results_do_not_share_memory() -> None:
    """A temporary that ends gives its memory to one result only."""

    def both(x: Any) -> Any:
        t = x * 2
        s = t.sum(axis=1)
        a = t + 1
        b = t - s[:, None]
        return a, b

    start = values((300, 301))
    compiled = np.compile(both)
    kept = []
    for k in range(4):
        got = compiled(np.array(start + k))
        kept.append((got, both(start + k)))
    for got, want in kept:
        for x, y in zip(got, want, strict=True):
            assert numpy.asarray(x).tobytes() == y.tobytes()
