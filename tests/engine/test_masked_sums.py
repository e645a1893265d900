"""Float sums with `where` along the innermost axes: NumPy's bits, threads, no temporaries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import debug, reduce_order
from lazyarr.counters import COUNT
from lazyarr.reduce_proof import cut_by_masks, cut_by_nothing_else

RNG = numpy.random.default_rng(11)
SHAPES = [(3, 5), (40, 700), (3, reduce_order.MASKED), (3, reduce_order.MASKED + 1), (90, 7), (4, 5, 60)]
KEPT = [0.0, 0.03, 0.5, 0.97, 1.0]
CHARS = "efdFD"


@pytest.fixture(autouse=True, params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield


def given(shape: tuple[int, ...], char: str) -> numpy.ndarray:
    reach = 3 if char == "e" else 8
    x = (RNG.random(shape) - 0.5) * 10.0 ** RNG.integers(-reach, reach, shape)
    return (x + 1j * x[::-1] if char in "FD" else x).astype(char)


def plain(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, axis=-1, where=m)


def of_products(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x * 2, axis=-1, where=m & (x.real > -1))


def mean(np: Any, x: Any, m: Any) -> Any:
    return np.mean(x + 1, axis=-1, where=m, keepdims=True)


def from_a_start(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, axis=-1, where=m, initial=3)


def by_rows(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, axis=-1, where=m[..., :1])


def of_all(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, where=m, keepdims=True)


def around(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, axis=(0, -1), where=m)


def turned(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x.T, axis=0, where=m.T)


def gaps(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x[..., ::2], axis=-1, where=m[..., ::2])


def backwards(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x[..., ::-1], axis=-1, where=m)


def cast(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, axis=-1, where=m, dtype="D")


PROGRAMS = [
    plain, of_products, mean, from_a_start, by_rows, of_all, around, turned, gaps, backwards, cast,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_bits_of_numpy(program: Callable[..., Any], char: str) -> None:
    for shape in SHAPES:
        x = given(shape, char)
        for kept in KEPT:
            m = RNG.random(shape) < kept
            wanted = program(numpy, x, m)
            found = numpy.asarray(program(lazyarr, lazyarr.array(x), lazyarr.array(m)))
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes(), (shape, kept)


def stretched(n: int, taken: int, apart: int, first: int) -> numpy.ndarray:
    """A mask of stretches that long, so far apart."""
    return (numpy.arange(n) - first) % (taken + apart) < taken


@pytest.mark.parametrize("char", "fdD")
def test_stretches_of_all_lengths(char: str) -> None:
    """Around what is added up without a call, what a word of the mask holds, and what NumPy's tree cuts."""
    for n in (1, 7, 63, 64, 65, 500, 4097):
        x = given((40, n), char)
        for taken in (1, 2, 7, 8, 9, 56, 57, 63, 64, 65, 130, 300):
            for apart in (1, 2, 8, 64):
                firsts = range(0, 40 * 3, 3)
                m = numpy.array([stretched(n, taken, apart, first) for first in firsts])
                found = numpy.asarray(plain(lazyarr, lazyarr.array(x), lazyarr.array(m)))
                assert found.tobytes() == plain(numpy, x, m).tobytes(), (n, taken, apart)


def test_what_is_left_out_raises_no_flag() -> None:
    x = given((30, 200), "d")
    m = RNG.random(x.shape) < 0.5
    for bad in (numpy.inf, -numpy.inf, numpy.nan, 1.7e308):
        x[~m] = bad
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = numpy.asarray(plain(lazyarr, lazyarr.array(x), lazyarr.array(m)))
        assert found.tobytes() == plain(numpy, x, m).tobytes()


def test_one_launch_reads_what_there_is_once() -> None:
    x = given((300, 1000), "d")
    y = lazyarr.asarray(x)
    seen = debug.explain(np_sum(y))
    assert len(seen.groups) == 1
    assert seen.bytes_moved == seen.bytes_least
    before = COUNT.numpy_fallbacks
    found = numpy.asarray(np_sum(y))
    assert COUNT.numpy_fallbacks == before
    assert found.tobytes() == numpy.sum(x * 2, axis=1, where=x > 0).tobytes()


def np_sum(y: Any) -> Any:
    return lazyarr.sum(y * 2, axis=1, where=y > 0)


LONG = [reduce_order.MASKED + 1, 2 * reduce_order.MASKED, 5 * reduce_order.MASKED + 77]
"""Lengths of runs that kernels go through block by block."""


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("n", LONG)
def test_long_runs(n: int, char: str) -> None:
    x = given((n,), char)
    for kept in (*KEPT, 0.999, 0.9999, 0.99997):
        m = RNG.random(n) < kept
        y, k = lazyarr.array(x), lazyarr.array(m)
        lazyarr.evaluate(y, k)
        before = COUNT.numpy_fallbacks
        for program in (all_taken, all_computed, all_from_a_start, *([all_of_mean] if m.any() else [])):
            found = numpy.asarray(program(lazyarr, y, k))
            assert found.tobytes() == program(numpy, x, m).tobytes(), (program.__name__, kept)
        assert COUNT.numpy_fallbacks == before


def all_taken(np: Any, x: Any, m: Any) -> Any:
    return np.sum(x, where=m)


def all_computed(np: Any, x: Any, m: Any) -> Any:
    return (x * 2 + 1).sum(where=m)


def all_from_a_start(np: Any, x: Any, m: Any) -> Any:
    return (x * 2).sum(where=m & (x.real > -1), initial=3)


def all_of_mean(np: Any, x: Any, m: Any) -> Any:
    return (x * 2).mean(where=m)


def given_blocks(n: int, edges: tuple[int, ...]) -> numpy.ndarray:
    """A mask that leaves out only these elements."""
    m = numpy.ones(n, bool)
    m[list(edges)] = False
    return m


@pytest.mark.parametrize("char", "dF")
def test_stretches_around_the_ends_of_blocks(char: str) -> None:
    b = reduce_order.MASKED
    n = 4 * b + 3
    x = given((n,), char)
    y = lazyarr.array(x)
    few = [(), (0,), (b - 1,), (b,), (b - 1, b), (b + 1, 3 * b), (n - 1,), (0, n - 1), (3, 4 * b - 1, 4 * b)]
    for edges in (*few, (2 * b - 7, 2 * b + 9), tuple(range(b - 70, b + 70, 2)), tuple(range(b, 2 * b))):
        m = given_blocks(n, edges)
        found = (y * 2).sum(where=lazyarr.array(m))
        assert numpy.asarray(found).tobytes() == (x * 2).sum(where=m).tobytes(), edges


def test_all_of_a_matrix_without_a_temporary() -> None:
    x, m = given((500, 700), "d"), RNG.random((500, 700)) < 0.9
    y, k = lazyarr.array(x), lazyarr.array(m)
    lazyarr.evaluate(y, k)
    launches, fallbacks, nbytes = COUNT.native_launches, COUNT.numpy_fallbacks, COUNT.bytes_allocated
    found = (y * 2 + 1).sum(where=k)
    assert COUNT.native_launches == launches + 1 and COUNT.numpy_fallbacks == fallbacks
    assert COUNT.bytes_allocated - nbytes < x.nbytes // 4
    assert found == (x * 2 + 1).sum(where=m)
    assert (y.T * 2).sum(where=k.T) == (x.T * 2).sum(where=m.T)
    found = lazyarr.sum(y * 2, where=k, keepdims=True)
    assert found.explain().bytes_moved == found.explain().bytes_least
    assert numpy.asarray(found).tobytes() == numpy.sum(x * 2, where=m, keepdims=True).tobytes()


def test_what_is_held_is_stored_by_another_kernel() -> None:
    x, m = given((300, 300), "d"), RNG.random((300, 300)) < 0.9
    y = lazyarr.array(x) * 2
    before = COUNT.numpy_fallbacks
    assert y.sum(where=lazyarr.array(m)) == (x * 2).sum(where=m)
    assert COUNT.numpy_fallbacks == before
    assert numpy.asarray(y).tobytes() == (x * 2).tobytes()


def test_long_runs_of_what_exists_are_numpys() -> None:
    x, m = given((300, 700), "d"), RNG.random((300, 700)) < 0.9
    with lazyarr.options(jit="auto"):
        y, k = lazyarr.array(x), lazyarr.array(m)
        lazyarr.evaluate(y, k)
        before = COUNT.native_launches
        assert lazyarr.sum(y, where=k) == numpy.sum(x, where=m)
        assert COUNT.native_launches == before


def test_long_runs_warn_as_numpys() -> None:
    x = given((3 * reduce_order.MASKED,), "d")
    x[50_000:60_000] = 1.7e308
    for m in (numpy.ones(x.size, bool), RNG.random(x.size) < 0.9, abs(x) < 1e300):
        def told(np: Any, x: Any, m: Any) -> list[str]:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                numpy.asarray((np.array(x) * 1).sum(where=np.array(m)))
            return [str(w.message) for w in found]

        assert told(lazyarr, x, m) == told(numpy, x, m)


def test_bodies_know_long_runs() -> None:
    """A program over few elements leaves a body that is not one for more."""
    for n in (reduce_order.MASKED, reduce_order.MASKED + 1, 3 * reduce_order.MASKED, 500):
        x = given((n,), "d")
        m = RNG.random(n) < 0.9995
        found = (lazyarr.array(x) * 2).sum(where=lazyarr.array(m))
        assert numpy.asarray(found).tobytes() == (x * 2).sum(where=m).tobytes()


def test_zeros_have_their_signs() -> None:
    x = numpy.full((64, 40), -0.0)
    for kept in KEPT:
        m = RNG.random(x.shape) < kept
        found = numpy.asarray(plain(lazyarr, lazyarr.array(x), lazyarr.array(m)))
        assert found.tobytes() == plain(numpy, x, m).tobytes()


@pytest.mark.parametrize("bad", [numpy.inf, 1.7e308])
def test_warnings_are_numpys(bad: float) -> None:
    def told(np: Any, x: Any, m: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            numpy.asarray(plain(np, np.array(x), np.array(m)))
        return [str(w.message) for w in found]

    x = given((64, 400), "d")
    x[3, 5:300] = bad
    x[3, 60:90] = -bad
    m = RNG.random(x.shape) < 0.5
    m[3, 5:40] = True
    for mask in (m, m & (numpy.arange(64) != 3)[:, None]):
        assert told(lazyarr, x, mask) == told(numpy, x, mask)


def test_this_numpy_is_looked_at() -> None:
    assert all(cut_by_masks(char) and cut_by_nothing_else(char) for char in "fdFD")
