"""Results that are written patch by patch: one launch makes them, which reads once what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import explain

RNG = numpy.random.default_rng(12)
U, V = RNG.normal(size=(310, 220)), RNG.normal(size=(310, 220))
CUBE = RNG.normal(size=(40, 50, 60))

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always"):
        yield


def bordered(np: Any, u: Any) -> Any:
    """The Laplacian inside, and zeros around it."""
    inside = np.zeros_like(u)
    inside[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return inside


def fluxes(np: Any, u: Any) -> Any:
    f = u * 0.5
    right, down = np.empty_like(u), np.empty_like(u)
    right[:, :-1], right[:, -1] = f[:, 1:] - f[:, :-1], 0
    down[:-1], down[-1] = f[1:] - f[:-1], 0
    return right, down


PROGRAMS: dict[str, tuple[Program, tuple[numpy.ndarray, ...]]] = {
    "gradient": (lambda np, u: np.gradient(u), (U,)),
    "of what is computed": (lambda np, u: np.gradient(u * 2), (U,)),
    "of two arrays": (lambda np, u, v: np.gradient(u - v), (U, V)),
    "along one axis": (lambda np, u: np.gradient(u * 2, axis=0), (U,)),
    "along rows": (lambda np, u: np.gradient(u * 2, axis=1), (U,)),
    "second order at the edges": (lambda np, u: np.gradient(u * 2, edge_order=2), (U,)),
    "spacing": (lambda np, u: np.gradient(u * 2, 0.1, 0.5), (U,)),
    "cube": (lambda np, c: np.gradient(c * 2), (CUBE,)),
    "turned": (lambda np, u: np.gradient(u.T * 2), (U,)),
    "single precision": (lambda np, u: np.gradient(u.astype("f") * 2), (U,)),
    "bordered": (bordered, (U,)),
    "fluxes": (fluxes, (U,)),
}


def results(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def bits(y: Any) -> list[bytes]:
    return [numpy.asarray(each).tobytes() for each in results(y)]


def check(program: Program, *args: numpy.ndarray) -> None:
    """The same bits as NumPy's."""
    with numpy.errstate(all="ignore"):
        assert bits(program(lazyarr, *map(lazyarr.array, args))) == bits(program(numpy, *args))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_launch_that_reads_once(name: str, threads: int) -> None:
    program, args = PROGRAMS[name]
    usual = lazyarr.get_num_threads()
    lazyarr.set_num_threads(threads)
    try:
        lazy = [lazyarr.array(a) for a in args]
        lazyarr.evaluate(*lazy)
        y = results(program(lazyarr, *lazy))
        told = explain(*y)
        launches = COUNT.native_launches
        lazyarr.evaluate(*y)
        assert COUNT.native_launches == launches + 1
        assert bits(y) == bits(program(numpy, *args))
    finally:
        lazyarr.set_num_threads(usual)
    assert [g.kernel for g in told.groups] == [True]
    assert told.bytes_moved <= 1.1 * told.bytes_least


def test_the_next_evaluation_has_its_plan() -> None:
    for _ in range(2):
        y = lazyarr.gradient(lazyarr.array(U) * 2)
        plans = COUNT.plans
        lazyarr.evaluate(*y)
    assert COUNT.plans == plans


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D", "b", "i", "q"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_types(dtype: str, axis: int | None) -> None:
    check(lambda np, u: np.gradient(u + u, axis=axis), (U * 9).astype(dtype))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", [numpy.s_[:], numpy.s_[::-1], numpy.s_[:, ::-2], numpy.s_[::3, 1:]])
def test_layouts(order: Any, view: Any) -> None:
    u = numpy.asarray(U, order=order)[view]
    for program in (lambda np, u: np.gradient(u * 2), bordered, fluxes):
        check(program, u)


@pytest.mark.parametrize("shape", [(2, 400), (400, 2), (3, 3), (2, 2), (90000,), (2, 2, 9000)])
def test_shapes(shape: tuple[int, ...]) -> None:
    check(lambda np, u: np.gradient(u * 2), RNG.normal(size=shape))


def test_special_values() -> None:
    u = U.copy()
    u[3:9, 5:50:3], u[-1, ::4], u[:, 0], u[::5, -1] = numpy.nan, numpy.inf, -0.0, -numpy.inf
    for program in (lambda np, u: np.gradient(u * 2), bordered, fluxes):
        check(program, u)


def test_uneven_steps() -> None:
    x, y = (numpy.cumsum(RNG.random(n) + 0.1) for n in U.shape)
    check(lambda np, u, x, y: np.gradient(u * 2, x, y), U, x, y)


def test_what_is_read_in_between_is_stored() -> None:
    def program(np: Any, u: Any) -> Any:
        z = np.zeros_like(u)
        z[1:-1] = u[2:] - u[:-2]
        before = z * 3
        z[0] = before[1] + u[0]
        return z, before

    check(program, U)


def test_what_it_was_is_held() -> None:
    def program(np: Any, u: Any) -> Any:
        z = np.zeros_like(u)
        z[1:-1] = u[2:] - u[:-2]
        held = z.copy()
        z[:, 0] = u[:, 1] * 2
        return z, held

    check(program, U)


def test_results_are_read_too() -> None:
    def program(np: Any, u: Any) -> Any:
        along, across = np.gradient(u * 2)
        return along, across, np.sqrt(along**2 + across**2), across.sum(axis=0), along.max()

    check(program, U)


def test_written_over_afterwards() -> None:
    def program(np: Any, u: Any) -> Any:
        along, across = np.gradient(u * 2)
        along[5:9] = across[2:6]
        across += along
        return along, across

    check(program, U)


def test_what_was_read_is_what_it_was_then() -> None:
    u, expected = lazyarr.array(U), numpy.gradient(U * 2)
    found = lazyarr.gradient(u * 2)
    u[...] = 5
    assert bits(found) == bits(expected)


def test_views_of_results() -> None:
    u = lazyarr.array(U)
    along, across = lazyarr.gradient(u * 2)
    view = along[1:5, ::2]
    view += 1
    expected = numpy.gradient(U * 2)
    expected[0][1:5, ::2] += 1
    assert bits((along, across)) == bits(expected)


def test_every_warning_once() -> None:
    def told(np: Any, u: Any) -> list[str]:
        with shown() as found:
            bits(np.gradient(u * 1e308))
        return [str(w.message) for w in found]

    assert told(numpy, U * 9) == told(lazyarr, lazyarr.array(U * 9)) != []


def test_dear_operations_are_stored() -> None:
    y = lazyarr.gradient(lazyarr.exp(lazyarr.array(U)))
    told = explain(*y)
    assert len(told.groups) == 2
    assert bits(y) == bits(numpy.gradient(numpy.exp(U)))


def test_compiled_functions() -> None:
    def program(u: Any) -> Any:
        along, across = lazyarr.gradient(u * 2)
        return along, across

    for u in (U, numpy.tile(U, (3, 2))):
        fast = lazyarr.compile(program)
        for _ in range(3):
            assert bits(fast(lazyarr.array(u))) == bits(numpy.gradient(u * 2))


def test_what_is_written_in_part_only() -> None:
    """The rest of new memory nobody wrote: there is nothing to read it from."""
    x = numpy.random.default_rng(5).uniform(-1, 1, (300, 300))
    with lazyarr.options(jit="always", eager_elements=0):
        for part in (slice(1, -1), (slice(1, -1), slice(2, -2))):
            ours = lazyarr.array(x)
            made, other = lazyarr.empty(x.shape), lazyarr.empty(x.shape)
            made[part] = abs(ours)[part] * 2
            other[part] = made[part] + ours[part]
            other[0] = 1
            lazyarr.evaluate(made, other)
            expected = numpy.abs(x)[part] * 2
            assert (numpy.asarray(made)[part] == expected).all()
            assert (numpy.asarray(other)[part] == expected + x[part]).all()
            ramps = lazyarr.pad(lazyarr.array(x), 2, "linear_ramp")
            assert numpy.asarray(ramps).tobytes() == numpy.pad(x, 2, "linear_ramp").tobytes()
