"""Blocks of rows within one row along other axes: folds along a middle axis, masks that some axes repeat.

The cache is taken to be small: positions along the outer axes would not stay in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from layouts import laid_out

import lazyarr
from lazyarr import planning, row_room
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.fusion.assemble import Inside

RNG = numpy.random.default_rng(53)
Made = Callable[..., Any]


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 16)
    monkeypatch.setattr(row_room, "share_bytes", lambda: 0)
    monkeypatch.setattr(row_room, "STRETCH", 64)
    planning._plans.clear()
    with lazyarr.options(jit="always", plan="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def standardised(np: Any, x: Any, axis: Any = 1) -> Any:
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)


def softmax(np: Any, x: Any, axis: Any = 1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def without_axes(np: Any, x: Any) -> Any:
    return (x - x.min(1)[:, None]) / np.sqrt((x * x).sum(1))[:, None]


def in_place(np: Any, x: Any) -> Any:
    y = x * 1.0
    y -= y.max(1, keepdims=True)
    y *= np.abs(y)
    y /= y.sum(1, keepdims=True)
    return y


def masked(np: Any, x: Any, mask: Any) -> Any:
    return softmax(np, x + mask, -1)


def arrays(*shapes: tuple[int, ...], char: str = "d") -> list[numpy.ndarray]:
    return [RNG.standard_normal(shape).astype(char) for shape in shapes]


MIDDLE = arrays((6, 40, 90))
PROGRAMS: dict[str, tuple[Made, list[numpy.ndarray]]] = {
    "standardised": (standardised, MIDDLE),
    "softmax": (softmax, MIDDLE),
    "single": (softmax, arrays((6, 40, 90), char="f")),
    "without axes": (without_axes, MIDDLE),
    "in place": (in_place, MIDDLE),
    "equal extents": (standardised, arrays((60, 60, 60))),
    "pictures": (softmax, arrays((5, 30, 11, 13))),
    "turned round": (standardised, [MIDDLE[0][::-1, :, ::-1]]),
    "in another order": (softmax, [arrays((40, 6, 90))[0].swapaxes(0, 1)]),
    "a mask of batches": (masked, arrays((5, 4, 60, 50), (5, 1, 60, 50))),
    "one mask": (masked, arrays((5, 4, 60, 50), (1, 1, 60, 50))),
    "a mask of two axes": (masked, arrays((5, 4, 60, 50), (60, 50))),
}


def told(program: Made, given: list[numpy.ndarray]) -> Any:
    """What is said of the plan, after its one launch gave NumPy's bits."""
    lazy = [lazyarr.borrow(x) for x in given]
    lazyarr.evaluate(*lazy)
    found = program(lazyarr, *lazy)
    said = explain(found)
    reset()
    lazyarr.evaluate(found)
    assert COUNT.native_launches == 1 and COUNT.numpy_fallbacks == 0
    want = program(numpy, *given)
    assert numpy.asarray(found).tobytes() == want.tobytes() and found.strides == want.strides
    return said


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_read_once(name: str) -> None:
    said = told(*PROGRAMS[name])
    assert said.bytes_moved < 1.1 * said.bytes_least
    assert "in one of" in str(said)


def test_words() -> None:
    said = str(told(softmax, PROGRAMS["pictures"][1]))
    assert "of 143 along axes 2 to 3, in one of 5 along axis 0" in said
    said = str(told(masked, PROGRAMS["a mask of batches"][1]))
    assert "of 60 along axis 2, in one of 4 along axis 1, in one of 5 along axis 0" in said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("char", "?BilefdFD")
def test_types_and_special_values(char: str) -> None:
    x = (RNG.standard_normal((4, 40, 70)) * 9).astype(char)
    if x.dtype.kind in "fc":
        x[0, 3, 5], x[1, 7, 60], x[2, :, 9], x[3, :, 4] = numpy.nan, numpy.inf, -0.0, 0.0
    for program in (standardised, softmax, without_axes):
        try:
            want = program(numpy, x)
        except TypeError:
            continue
        found = numpy.asarray(program(lazyarr, lazyarr.array(x)))
        nans = numpy.isnan(want)
        assert found.dtype == want.dtype and (numpy.isnan(found) == nans).all()
        assert found[~nans].tobytes() == want[~nans].tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_any_layout(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(0, [9, 40, 60, 9][: int(rng.integers(1, 5))]))
    x = laid_out(rng, shape, rng.standard_normal)
    axis = int(rng.integers(len(shape)))
    for program in (standardised, softmax):
        try:
            want = program(numpy, x, axis)
        except ValueError:
            with pytest.raises(ValueError, match="zero-size"):
                lazyarr.evaluate(program(lazyarr, lazyarr.borrow(x), axis))
            continue
        found = numpy.asarray(program(lazyarr, lazyarr.borrow(x), axis))
        assert numpy.nan_to_num(found).tobytes() == numpy.nan_to_num(want).tobytes()


def test_what_is_read_is_written_over() -> None:
    """The result lies where the input was, which ends in the chain."""
    (x,) = arrays((6, 40, 90))
    y = lazyarr.array(x) * 1.0
    lazyarr.evaluate(y)
    y = standardised(lazyarr, y)
    assert numpy.asarray(y).tobytes() == standardised(numpy, x).tobytes()
    z = lazyarr.array(x)
    z -= z.mean(1, keepdims=True)
    z[:, ::2] /= z.max(1, keepdims=True)
    w = x - x.mean(1, keepdims=True)
    w[:, ::2] /= w.max(1, keepdims=True)
    assert numpy.asarray(z).tobytes() == w.tobytes()


def test_verifier_sees_rows_that_leave_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inside, "within", lambda self, extent, strides, start: (strides, start + 8))
    with pytest.raises(InvalidKernel, match="leaves its memory"):
        lazyarr.evaluate(softmax(lazyarr, lazyarr.array(MIDDLE[0])))


def normed(np: Any, x: Any) -> Any:
    axes = (0, 2, 3)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_channels_hold_no_more_than_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel stays in the third-level cache; what would pass within it is computed again."""
    monkeypatch.setattr(row_room, "share_bytes", lambda: 16 << 20)
    monkeypatch.setattr(row_room, "STRETCH", 512)
    with lazyarr.options(verify=False):
        said = told(normed, arrays((32, 8, 70, 70)))
    assert said.bytes_moved < 1.1 * said.bytes_least and "in row blocks" in str(said)
    assert said.peak_bytes <= said.eager_peak_bytes + (1 << 20)


@pytest.mark.parametrize("program", [softmax, standardised], ids=lambda p: p.__name__)
def test_long_rows_stay_in_the_next_cache(program: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    (x,) = arrays((20, 9000))
    assert "too few of them stay in the cache" in str(explain(program(lazyarr, lazyarr.array(x), -1)))
    monkeypatch.setattr(row_room, "share_bytes", lambda: 1 << 20)
    planning._plans.clear()
    said = told(lambda np, x: program(np, x, -1), [x])
    assert said.bytes_moved < 1.1 * said.bytes_least


@pytest.mark.parametrize("shape", [(100, 100), (60, 60, 60)], ids=str)
def test_rows_of_different_axes_save_nothing(shape: tuple[int, ...]) -> None:
    """Extents that are equal by chance make no rows in common: both folds read all of it, and are told to."""
    (x,) = arrays(shape)
    a = lazyarr.array(x)
    lazyarr.evaluate(a)
    r, c = a.sum(0), a.sum(-1)
    if len(shape) == 2:
        assert "in row blocks" not in str(explain(r, c))
    lazyarr.evaluate(r, c)
    assert numpy.asarray(r).tobytes() == x.sum(0).tobytes()
    assert numpy.asarray(c).tobytes() == x.sum(-1).tobytes()


@pytest.mark.parametrize("shape", [(31, 100, 31), (7, 500, 7), (100, 3, 100)])
@pytest.mark.parametrize("made", [
    lambda np, x: x.copy("F"),
    lambda np, x: np.asfortranarray(x),
    lambda np, x: x.T.copy().T,
])  # fmt: skip
def test_nothing_lies_over_what_other_outer_rows_have_yet_to_read(shape: tuple[int, ...], made: Made) -> None:
    """What is turned round dies, and its rows along the middle axis are those of the result, but not within
    one row along the first axis."""
    given = RNG.standard_normal(shape)

    def program(np: Any) -> Any:
        y = made(np, np.array(given))
        return y - y.max(-1, keepdims=True)

    numpy.testing.assert_array_equal(numpy.asarray(program(lazyarr)), program(numpy))
