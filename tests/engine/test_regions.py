"""What is joined, padded, rolled or written in parts is not stored where one group alone reads it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import Explanation, explain

RNG = numpy.random.default_rng(5)
X, Y, Z = (RNG.random(60_000) + 0.5 for _ in range(3))
U, V = (RNG.random((220, 250)) for _ in range(2))
CELLS = (RNG.random((400, 500)) < 0.4).astype(numpy.int8)


@pytest.fixture(autouse=True)
def forced() -> Iterator[None]:
    with lazyarr.options(jit="always"):
        yield


def laplacian(np: Any, u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def wave(np: Any, u: Any, before: Any) -> Any:
    return 2 * u - before + 0.1 * laplacian(np, u)


def life(np: Any, u: Any) -> Any:
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    n = sum(np.roll(np.roll(u, i, 0), j, 1) for i, j in steps)
    return ((n == 3) | ((u == 1) & (n == 2))).astype(np.int8)


def heat(mode: str) -> Callable[[Any, Any], Any]:
    def step(np: Any, u: Any) -> Any:
        p = np.pad(u, 1, mode=mode)
        around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        return u + 0.1 * (around - 4 * u)

    return step


def bordered(np: Any, u: Any) -> Any:
    change = np.zeros_like(u)
    change[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1]
    return u + 0.1 * change


def steepness(np: Any, u: Any) -> Any:
    along, across = np.gradient(u)
    return np.sqrt(along**2 + across**2)


def second(np: Any, x: Any, y: Any) -> Any:
    f = x * y
    return f[2:] - 2 * f[1:-1] + f[:-2]


def cube(np: Any, u: Any) -> Any:
    u = u.reshape(22, 50, 50)
    return np.roll(u, 1, 0) + np.roll(u, 1, 1) + np.roll(u, 1, 2)


def spiral(np: Any, x: Any) -> Any:
    return np.roll(np.flip(x), 3)[::2] * 2


Program = Callable[..., Any]

PROGRAMS: dict[str, tuple[Program, tuple[numpy.ndarray, ...]]] = {
    "joined": (lambda np, x, y: np.concatenate([x, y]) * 2 + 1, (X, Y)),
    "joined expressions": (lambda np, x, y: np.concatenate([x * 3, y + 1]) * 2, (X, Y)),
    "of other types": (lambda np, x, c: np.concatenate([x, c.ravel()]) * 2, (X, CELLS)),
    "differences": (lambda np, x: np.diff(np.concatenate([[0], x])), (X,)),
    "differences from zero": (lambda np, x: np.diff(x, prepend=0.0), (X,)),
    "rolled": (lambda np, x: np.roll(x, 1) + np.roll(x, -1) - 2 * x, (X,)),
    "backwards": (spiral, (X,)),
    "laplacian": (laplacian, (U,)),
    "by columns": (laplacian, (numpy.asfortranarray(U),)),
    "cube": (cube, (U,)),
    "wave": (wave, (U, V)),
    "life": (life, (CELLS,)),
    "heat": (heat("constant"), (U,)),
    "heat at an edge": (heat("edge"), (U,)),
    "heat on a torus": (heat("wrap"), (U,)),
    "heat reflected": (heat("reflect"), (U,)),
    "padded, a part": (lambda np, u, v: np.pad(u, 2)[3:-1, 1:-3] * v, (U, V)),
    "below each other": (lambda np, u, v: np.vstack([u, v]) * 2, (U, V)),
    "side by side": (lambda np, u, v: np.hstack([u, v * 2]) - 1, (U, V)),
    "stacked": (lambda np, x, y: np.stack([x * 2, y + 1]) * 3, (X, Y)),
    "stacked and added": (lambda np, x, y: np.stack([x * 2, y + 1]).sum(0), (X, Y)),
    "means": (lambda np, x, y, z: np.stack([x, y, z]).mean(0), (X, Y, Z)),
    "greatest": (lambda np, u, v: np.stack([u, v * 2]).max(axis=0, keepdims=True) + 1, (U, V)),
    "from a start": (lambda np, x, y: (np.stack([x, y]) * 3).prod(0, initial=2.5), (X, Y)),
    "appended": (lambda np, x: np.sqrt(np.append(x, 1.0)), (X,)),
    "gradient": (lambda np, x: np.gradient(x) * 2, (X,)),
    "steepness": (steepness, (U,)),
    "bordered": (bordered, (U,)),
    "second differences": (second, (X, Y)),
    "differences twice": (lambda np, x, y: np.diff(np.diff(x * y)), (X, Y)),
    "a NumPy loop": (lambda np, x, y: np.exp(np.concatenate([x, y[::-1]])), (X, Y)),
}


def plan(name: str, *held: Any) -> tuple[Any, Explanation]:
    program, arrays = PROGRAMS[name]
    given = [lazyarr.array(a) for a in arrays]
    lazyarr.evaluate(*given)
    found = program(lazyarr, *given)
    return found, explain(found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_read_once_and_written_once(name: str) -> None:
    program, arrays = PROGRAMS[name]
    found, told = plan(name)
    assert len(told.groups) == 1 and told.groups[0].kernel
    assert told.bytes_moved <= 1.02 * told.bytes_least
    assert told.peak_bytes <= told.eager_peak_bytes
    want = program(numpy, *arrays)
    assert found.strides == want.strides
    assert numpy.asarray(found).tobytes() == want.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_switched_off_is_stored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above would fail without; and the bits are the same."""
    monkeypatch.setattr("lazyarr.planning.is_off", lambda name: name == "regions")
    program, arrays = PROGRAMS[name]
    found, told = plan(name)
    assert told.bytes_moved > 1.2 * told.bytes_least
    assert numpy.asarray(found).tobytes() == program(numpy, *arrays).tobytes()


def test_one_launch_for_each_part() -> None:
    x = lazyarr.array(U)
    found = laplacian(lazyarr, x)
    before = COUNT.native_launches
    lazyarr.evaluate(x)
    copied = COUNT.native_launches
    lazyarr.evaluate(found)
    assert copied - before <= 1 and COUNT.native_launches - copied == 1
    assert "in 9 loop nests" in explain(laplacian(lazyarr, x))


def test_the_next_evaluation_has_its_plan() -> None:
    x = lazyarr.array(U)
    lazyarr.evaluate(laplacian(lazyarr, x))
    plans = COUNT.plans
    found = laplacian(lazyarr, x * 2)
    lazyarr.evaluate(found)
    assert COUNT.plans > plans
    plans = COUNT.plans
    again = laplacian(lazyarr, lazyarr.array(V) * 2)
    lazyarr.evaluate(again)
    assert COUNT.plans == plans
    assert numpy.asarray(again).tobytes() == laplacian(numpy, V * 2).tobytes()


def test_what_is_held_is_stored() -> None:
    x = lazyarr.array(X)
    rolled = lazyarr.roll(x, 1)
    found = rolled * 2 + x
    told = explain(found)
    assert len(told.groups) > 1
    assert numpy.asarray(found).tobytes() == (numpy.roll(X, 1) * 2 + X).tobytes()
    assert numpy.asarray(rolled).tobytes() == numpy.roll(X, 1).tobytes()


def dear(np: Any, x: Any) -> Any:
    f = np.exp(x)
    return f[2:] - 2 * f[1:-1] + f[:-2]


def many(np: Any, x: Any) -> Any:
    a = x[:57_600].reshape(15, 16, 15, 16)
    return sum(np.roll(a, shift, axis) for axis in range(4) for shift in (1, -1))


def interleaved(np: Any, x: Any, y: Any) -> Any:
    both = np.empty(120_000)
    both[::2], both[1::2] = x, y
    return both * 2


def unread(np: Any, x: Any) -> Any:
    """The first elements may overflow, and nobody reads what becomes of them."""
    return np.pad(x * 1e300, 1)[30_000:] * 2


def turned(np: Any, x: Any) -> Any:
    a = x.reshape(200, 300)
    return np.roll(a + 1, 1, 0).ravel() * 2


def folded(np: Any, x: Any) -> Any:
    return np.concatenate([x * 2, x]).prod(keepdims=True) * 2


def long(np: Any, x: Any) -> Any:
    f = x
    for _ in range(50):
        f = -f
    return f[1:] + f[:-1]


REFUSED: dict[Program, str] = {
    long: "it is made by too many operations, one after the other",
    folded: "a fold goes through all of it, in an order of its own",
    dear: "to compute it for each of its readers takes more time than to store it",
    many: "that would take more than 27 loop nests",
    interleaved: "its parts are not read along its axes",
    unread: "elements that nobody reads may raise floating-point flags",
    turned: "its parts are not read along its axes",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_why_not(program: Program) -> None:
    arrays = (X, Y)[: program.__code__.co_argcount - 1]
    found = program(lazyarr, *map(lazyarr.array, arrays))
    told = explain(found)
    assert f"is stored for it: {REFUSED[program]}" in told
    assert numpy.asarray(found).tobytes() == program(numpy, *arrays).tobytes()


def test_small_arrays_are_not_worth_it() -> None:
    x = lazyarr.array(X[:500])
    rolled = explain(lazyarr.roll(x, 1) * 2)
    assert "the loop nests take more time than memory saves" in rolled


def noisy(np: Any, x: Any, y: Any) -> Any:
    """Warns of a division, in the middle and at the border; and of a product that two readers need."""
    p = np.pad(1 / x, 1)
    f = x * y
    return p[1:-1] + np.divide(y, p[:-2]) + np.roll(f, 1) + np.roll(f, -1)


@pytest.mark.parametrize("place", [0, 30_000, 59_999])
def test_each_warning_once(place: int) -> None:
    x, y = X.copy(), Y.copy()
    x[place], y[place] = 0, numpy.inf
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        want = noisy(numpy, x, y)
    with shown() as found:
        given = lazyarr.array(x), lazyarr.array(y)
        got = noisy(lazyarr, *given)
        assert len(explain(got).groups) == 1
        lazyarr.evaluate(got)
    assert sorted(str(w.message) for w in found) == sorted(str(w.message) for w in wanted)
    assert {w.lineno for w in found} == {w.lineno for w in wanted}
    assert numpy.array_equal(numpy.asarray(got), want, equal_nan=True)


def test_what_was_there_at_the_call() -> None:
    """A write between the joining and its use."""
    x, y = lazyarr.array(X), lazyarr.array(Y)
    lazyarr.evaluate(x, y)
    joined = lazyarr.concatenate([x, y * 2])
    x[:30_000] = 5
    found = joined + 1
    del joined
    lazyarr.evaluate(found, x)
    assert numpy.asarray(found).tobytes() == (numpy.concatenate([X, Y * 2]) + 1).tobytes()
    assert (numpy.asarray(x)[:30_000] == 5).all()


def test_in_place() -> None:
    """What is overwritten is what is read, at other elements."""
    x = lazyarr.array(X)
    x += lazyarr.roll(x, 1) * 2
    x[1:] = lazyarr.diff(x)
    want = X + numpy.roll(X, 1) * 2
    want[1:] = numpy.diff(want)
    assert numpy.asarray(x).tobytes() == want.tobytes()


def test_part_of_what_is_there() -> None:
    """Elements that no piece covers come from what was there before."""
    x = lazyarr.array(X)
    y = x.copy()
    y[5:100] = 3
    found = y[1:] - y[:-1]
    del y
    want = X.copy()
    want[5:100] = 3
    assert len(explain(found).groups) == 1
    assert numpy.asarray(found).tobytes() == numpy.diff(want).tobytes()


def test_without_axes() -> None:
    x = lazyarr.array(X)
    both = lazyarr.stack([x[:1] * 2, x[1:2] + 1])
    total = both.reshape(2).sum(keepdims=True) * 2
    small = numpy.arange(48.0).reshape(4, 3, 4) - 7
    norm = lazyarr.linalg.norm(lazyarr.array(small), 1, (0, 1))
    assert numpy.asarray(norm).tobytes() == numpy.linalg.norm(small, 1, (0, 1)).tobytes()
    assert float(total[0]) == (X[0] * 2 + (X[1] + 1)) * 2


def test_two_results_of_one_space() -> None:
    x = lazyarr.array(U)
    rolled = lazyarr.roll(x, 1, 0)
    first, other = rolled * 2, rolled + x
    del rolled
    before = COUNT.native_launches
    lazyarr.evaluate(first, other)
    assert COUNT.native_launches - before <= 3
    assert numpy.asarray(first).tobytes() == (numpy.roll(U, 1, 0) * 2).tobytes()
    assert numpy.asarray(other).tobytes() == (numpy.roll(U, 1, 0) + U).tobytes()


@pytest.mark.parametrize("jit", ["auto", "never"])
def test_many_sweeps(jit: str) -> None:
    want, u = CELLS, lazyarr.array(CELLS)
    with lazyarr.options(jit=jit):
        for _ in range(12):
            want, u = life(numpy, want), life(lazyarr, u)
        assert numpy.asarray(u).tobytes() == want.tobytes()


def test_compiled_functions_store_it() -> None:
    """Their replays know one program for each step."""
    fn = lazyarr.compile(lambda x: lazyarr.roll(x, 1) * 2)
    x = lazyarr.array(X)
    for _ in range(3):
        assert numpy.asarray(fn(x)).tobytes() == (numpy.roll(X, 1) * 2).tobytes()


ROLLS: tuple[tuple[Any, ...], ...] = (
    (3,), (-700,), (0,), (numpy.int8(5),), (True,), ((1, 2),), (1.5,), ("x",), (1, 0), (-1, -1), (10**30, 1),
    (1, 2), ((1, -2), (0, 1)), ((1, 2), (0, 0)), ((1, 2), 1), (1, (0, 1)), ((), ()), ((1, 2, 3), (0, 1)),
    (1, 0.5),
    (numpy.array([1, 2]), (0, 1)), ([1], [1]), (numpy.array(4), numpy.int64(-2)), (None, 0),
)  # fmt: skip


@pytest.mark.parametrize("args", ROLLS, ids=str)
@pytest.mark.parametrize("order", "CFT")
def test_roll_takes_what_numpy_takes(args: tuple[Any, ...], order: str) -> None:
    given = {"C": U, "F": numpy.asfortranarray(U), "T": U[::2].T}[order]

    def outcome(np: Any) -> Any:
        try:
            found = np.roll(np.array(given, order="K"), *args)
        except Exception as error:
            return type(error), str(error)
        return found.strides, found.shape, numpy.asarray(found).tobytes()

    assert outcome(lazyarr) == outcome(numpy)


def test_short_folds_go_by_the_option_for_functions() -> None:
    """`logaddexp` is a call of NumPy's loop, or vectors."""
    a = lazyarr.array(numpy.random.default_rng(5).random((3, 3000)))
    found = []
    for math in ("native", "numpy", "native", "numpy"):
        with lazyarr.options(jit="always", math=math):
            rows = lazyarr.stack([a[0] * 2, a[1] + 1, a[2]])
            found.append(numpy.asarray(lazyarr.logaddexp.reduce(rows, axis=0)))
    real = numpy.asarray(a)
    expected = numpy.logaddexp.reduce(numpy.stack([real[0] * 2, real[1] + 1, real[2]]), axis=0)
    for each in found[1::2]:
        numpy.testing.assert_array_equal(each, expected)
    numpy.testing.assert_allclose(found[0], expected)
