"""Folds of rows onto rows go through what is joined, padded or rolled part by part, and store none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import explain

RNG = numpy.random.default_rng(11)
U, V, W = RNG.normal(size=(310, 220)), RNG.normal(size=(150, 220)), RNG.normal(size=(310, 90))
CUBE, SLAB = RNG.normal(size=(12, 60, 70)), RNG.normal(size=(12, 25, 70))

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always"):
        yield


PROGRAMS: dict[str, tuple[Program, tuple[numpy.ndarray, ...]]] = {
    "rows behind rows": (lambda np, u, v: np.concatenate([u * 2, v + 1]).sum(axis=0), (U, V)),
    "as they are": (lambda np, u, v: np.concatenate([u, v]).sum(axis=0), (U, V)),
    "with what follows": (lambda np, u, v: (np.concatenate([u * 2, v + 1]) ** 2 - 1).sum(axis=0), (U, V)),
    "columns beside columns": (lambda np, u, w: np.concatenate([u * 2, w + 1], axis=1).sum(axis=0), (U, W)),
    "products": (lambda np, u, v: np.concatenate([u + 1, v + 1]).prod(axis=0), (U, V)),
    "least": (lambda np, u, v: np.concatenate([u * 2, v + 1]).min(axis=0), (U, V)),
    "some": (lambda np, u, v: np.concatenate([u > 3, v > 4]).any(axis=0), (U, V)),
    "stacked": (lambda np, u: np.stack([u * 2, u + 1, u - 3]).sum(axis=1), (U,)),
    "border": (lambda np, u: np.pad(u * 2, 1).sum(axis=0), (U,)),
    "rolled": (lambda np, u: ((np.roll(u, 1, axis=0) - u) ** 2).sum(axis=0), (U,)),
    "keepdims": (lambda np, u, v: np.concatenate([u * 2, v]).sum(axis=0, keepdims=True), (U, V)),
    "from a number": (lambda np, u, v: np.concatenate([u * 2, v]).sum(axis=0, initial=3.5), (U, V)),
    "inner rows": (lambda np, c, s: np.concatenate([c * 2, s], axis=1).sum(axis=1), (CUBE, SLAB)),
    "outer axes": (lambda np, c: np.concatenate([c * 2, c + 1]).sum(axis=(0, 1)), (CUBE,)),
    "a row": (lambda np, u, v: np.concatenate([u * 2, v[:1] * 3]).sum(axis=0), (U, V)),
    "a column": (lambda np, u, w: np.concatenate([u * 2, w[:, :1] * 3], axis=1).sum(axis=0), (U, W)),
    "turned": (lambda np, u, v: np.concatenate([u.T * 2, v.T], axis=1).sum(axis=1), (U, V)),
}


def plain(y: Any) -> numpy.ndarray:
    found: numpy.ndarray = numpy.asarray(y)
    return found


def check(program: Program, *args: numpy.ndarray) -> None:
    """The same bits as NumPy's."""
    with numpy.errstate(all="ignore"):
        expected = program(numpy, *args)
        found = plain(program(lazyarr, *map(lazyarr.array, args)))
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_launch_that_stores_the_result_alone(name: str, threads: int) -> None:
    program, args = PROGRAMS[name]
    usual = lazyarr.get_num_threads()
    lazyarr.set_num_threads(threads)
    try:
        lazy = [lazyarr.array(a) for a in args]
        lazyarr.evaluate(*lazy)
        y = program(lazyarr, *lazy)
        told = explain(y)
        launches = COUNT.native_launches
        lazyarr.evaluate(y)
        assert COUNT.native_launches == launches + 1
        assert plain(y).tobytes() == program(numpy, *args).tobytes()
    finally:
        lazyarr.set_num_threads(usual)
    assert [g.kernel for g in told.groups] == [True]
    assert told.bytes_moved <= 1.1 * told.bytes_least


def test_a_mean_divides_afterwards() -> None:
    y = np_mean(lazyarr, lazyarr.array(U), lazyarr.array(V))
    told = explain(y)
    assert told.bytes_moved <= 1.1 * told.bytes_least
    check(np_mean, U, V)


def np_mean(np: Any, u: Any, v: Any) -> Any:
    return np.concatenate([u * 2, v + 1]).mean(axis=0)


FOLDS = ("add", "multiply", "maximum", "minimum", "fmax", "logical_or", "logical_and")


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D", "?", "b", "H", "i", "Q"])
@pytest.mark.parametrize("axis", [0, 1])
def test_types(fold: str, dtype: str, axis: int) -> None:
    parts = [(a * 5).astype(dtype) for a in (U[:80, :60], V[:80, :60])]

    def program(np: Any, a: Any, b: Any) -> Any:
        return getattr(np, fold).reduce(np.concatenate([np.add(a, a), b], axis=axis), axis=0)

    check(program, *parts)


@pytest.mark.parametrize("fold", ["sum", "prod", "max", "min"])
def test_special_values(fold: str) -> None:
    u, v = numpy.tile([1.0, -0.0, 0.0, 2.0], (90, 50)), -numpy.tile([0.0, 0.0, 3.0, 1.0], (40, 50))
    u[40, ::7], v[3, 1::7] = numpy.nan, numpy.inf
    v[5, 1::14], u[7, 2::9] = -numpy.inf, -numpy.nan
    check(lambda np, u, v: getattr(np.concatenate([abs(u), v * 1]), fold)(axis=0), u, v)


def test_zeros_keep_their_signs() -> None:
    u = numpy.full((50, 300), -0.0)
    check(lambda np, u: np.concatenate([u * 1, u * 2]).sum(axis=0, initial=-0.0), u)
    check(lambda np, u: np.concatenate([u * 1, u * 2]).sum(axis=0), u)
    check(lambda np, u: np.concatenate([u * 1, u * 2]).max(axis=0), u)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
@pytest.mark.parametrize("joined", [0, 1])
def test_layouts(order: str, axis: Any, joined: int) -> None:
    u, v = (numpy.asarray(a[:150], order=order) for a in (U, V))      # type: ignore[call-overload]
    check(lambda np, u, v: np.concatenate([u * 2, v[::-1]], axis=joined).sum(axis=axis), u, v)
    check(lambda np, u, v: np.concatenate([u * 2, v[:, ::-1]], axis=joined).max(axis=axis), u, v)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("joined", [0, 1, 2])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_axes(axis: Any, joined: int, order: tuple[int, ...]) -> None:
    def program(np: Any, c: Any) -> Any:
        c = c.transpose(order)
        return np.concatenate([c * 2, c + 1], axis=joined).sum(axis=axis)

    check(program, CUBE)


def test_empty_parts_and_shapes() -> None:
    for n in (0, 1, 2):
        check(lambda np, u, v: np.concatenate([u * 2, v * 3]).sum(axis=0), U, V[:n])
    check(lambda np, u: np.concatenate([u * 2, u * 3]).sum(axis=0), U[:0])
    check(lambda np, u: np.concatenate([u * 2, u * 3]).sum(axis=0), U[:, :0])


def test_many_columns() -> None:
    """More than a chunk's accumulators have room for."""
    u, v = RNG.normal(size=(21, 9001)), RNG.normal(size=(8, 9001))
    check(lambda np, u, v: np.concatenate([u * 2, v]).sum(axis=0), u, v)
    check(lambda np, u, v: np.pad(np.concatenate([u * 2, v]), 3, mode="edge").sum(axis=0), u, v)


def test_several_folds_of_one_value() -> None:
    def program(np: Any, u: Any, v: Any) -> Any:
        joined = np.concatenate([u * 2, v + 1])
        return np.stack([joined.sum(axis=0), joined.max(axis=0), (joined * joined).sum(axis=0)])

    check(program, U, V)


def test_what_is_held_is_stored_and_folded() -> None:
    u, v = lazyarr.array(U), lazyarr.array(V)
    joined = lazyarr.concatenate([u * 2, v + 1])
    total = joined.sum(axis=0)
    lazyarr.evaluate(joined, total)
    expected = numpy.concatenate([U * 2, V + 1])
    assert plain(joined).tobytes() == expected.tobytes()
    assert plain(total).tobytes() == expected.sum(axis=0).tobytes()


def test_what_was_joined_is_what_it_was_then() -> None:
    u, v = lazyarr.array(U), lazyarr.array(V)
    total = lazyarr.concatenate([u * 2, v + 1]).sum(axis=0)
    u[...] = 7
    v += 1
    assert plain(total).tobytes() == numpy.concatenate([U * 2, V + 1]).sum(axis=0).tobytes()


def test_into_what_it_reads() -> None:
    u, expected = lazyarr.array(U), U.copy()
    u[0] = lazyarr.concatenate([u * 2, lazyarr.array(V)]).sum(axis=0)
    expected[0] = numpy.concatenate([U * 2, V]).sum(axis=0)
    assert plain(u).tobytes() == expected.tobytes()


def test_warnings_are_numpys() -> None:
    def program(np: Any, u: Any, v: Any) -> Any:
        return np.concatenate([np.sqrt(u), v * 1e308]).sum(axis=0)

    def told(np: Any, *args: Any) -> list[str]:
        with shown() as found:
            plain(program(np, *args))
        return [str(w.message) for w in found]

    expected = told(numpy, U, V)
    assert len(expected) > 1
    assert told(lazyarr, lazyarr.array(U), lazyarr.array(V)) == expected


def test_searches_read_from_memory() -> None:
    check(lambda np, u, v: np.concatenate([u * 2, v]).argmax(axis=0), U, V)


@pytest.mark.parametrize("fold", ["sum", "prod", "max", "any"])
def test_masks(fold: str) -> None:
    start = {"initial": 0.0} if fold == "max" else {}

    def program(np: Any, u: Any, v: Any) -> Any:
        joined = np.concatenate([u * 2, v])
        return getattr(joined, fold)(axis=0, where=joined > 0.5, **start)

    check(program, U, V)
    told = explain(program(lazyarr, lazyarr.array(U), lazyarr.array(V)))
    assert told.bytes_moved <= 1.1 * told.bytes_least


def test_compiled_functions() -> None:
    def program(u: Any, v: Any) -> Any:
        return lazyarr.concatenate([u * 2, v + 1]).sum(axis=0)

    fast = lazyarr.compile(program)
    for _ in range(3):
        found = plain(fast(lazyarr.array(U), lazyarr.array(V)))
        assert found.tobytes() == numpy.concatenate([U * 2, V + 1]).sum(axis=0).tobytes()
