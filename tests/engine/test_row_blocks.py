"""Folds along rows with what makes and uses them, block by block: NumPy's bits, one launch.

The cache is taken to be small, so that small arrays have several blocks, most with a longer last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from layouts import laid_out

import lazyarr
from lazyarr import plan, planning, row_room, switches
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.fusion.assemble import Inside
from lazyarr.threading.limits import available_threads

SHAPES = (
    (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (2, 3), (3, 700), (17, 33), (64, 100), (257, 65), (1000, 7),
)  # fmt: skip
CHARS = "?bBhiIlLefdFD"
RNG = numpy.random.default_rng(29)
SHARE = row_room.share_bytes


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 15)
    monkeypatch.setattr(plan, "RUNS_EACH", 3)           # (runs have several blocks, the last one fewer)
    monkeypatch.setattr(row_room, "share_bytes", lambda: 0)
    monkeypatch.setattr(row_room, "STRETCH", 64)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def softmax(np: Any, x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(np: Any, x: Any, axis: int) -> Any:
    scale, shift = x[:1], x[-1:]
    mean, var = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def standardised(np: Any, x: Any, axis: int) -> Any:
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)


def normalised(np: Any, x: Any, axis: int) -> Any:
    return x / np.sqrt((x * x).sum(axis, keepdims=True))


def variance(np: Any, x: Any, axis: int) -> Any:
    return np.var(x, axis=axis)


def in_place(np: Any, x: Any, axis: int) -> Any:
    y = x * 1.0
    y -= y.max(axis, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis, keepdims=True)
    return y


def held(np: Any, x: Any, axis: int) -> Any:
    low = x.min(axis, keepdims=True)
    y = x - low
    total = y.sum(axis, keepdims=True)
    z = y / (total + 1)
    return low, y, total, z, z.sum(axis)


def positions(np: Any, x: Any, axis: int) -> Any:
    best = x.argmax(axis)
    return best, x - np.expand_dims(best, axis), (x * 2 == np.expand_dims(best, axis)).any(axis)


def lengths(np: Any, x: Any, axis: int) -> Any:
    return np.sqrt((x * x).sum(axis)), (x * 2).sum(axis) > 1


PROGRAMS = (softmax, layer_norm, standardised, normalised, variance, in_place, held, positions, lengths)


def values(rng: numpy.random.Generator, char: str, shape: tuple[int, ...]) -> numpy.ndarray:
    dtype = numpy.dtype(char)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    found = rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2, shape)
    if dtype.kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.clip(-300, 300).astype(dtype) if dtype.kind == "f" else found.astype(dtype)


def outcome(program: Callable[..., Any], np: Any, x: Any, axis: int) -> Any:
    try:
        with numpy.errstate(all="ignore"):
            found = program(np, x, axis)
            found = found if isinstance(found, tuple) else (found,)
            if np is lazyarr:
                lazyarr.evaluate(*[a for a in found if isinstance(a, lazyarr.ndarray)])
            return [numpy.asarray(a) for a in found]
    except (TypeError, ValueError) as error:
        return type(error)


def alike(program: Callable[..., Any], x: numpy.ndarray, axis: int) -> None:
    mine, theirs = outcome(program, lazyarr, lazyarr.borrow(x), axis), outcome(program, numpy, x, axis)
    if isinstance(theirs, type):
        assert mine is theirs
        return
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        nans = numpy.isnan(a)
        assert (nans == numpy.isnan(b)).all() and a[~nans].tobytes() == b[~nans].tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_numpy(program: Callable[..., Any], shape: tuple[int, ...]) -> None:
    rng = numpy.random.default_rng(5)
    for char in "fd" if shape != (17, 33) else CHARS:
        for axis in (0, 1):
            alike(program, values(rng, char, shape), axis)
            alike(program, numpy.asfortranarray(values(rng, char, shape)), axis)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_any_layout(program: Callable[..., Any]) -> None:
    rng = numpy.random.default_rng(6)
    for _ in range(12):
        shape = tuple(int(n) for n in rng.integers(1, 30, rng.integers(1, 5)))
        axis = int(rng.integers(len(shape)))
        x = laid_out(rng, shape, lambda s: values(rng, "d", s))
        alike(program, x, axis)


CHAINS = {softmax: 3, layer_norm: 5, standardised: 7, normalised: 3, variance: 4}
"""Groups that run together."""


@pytest.mark.parametrize("program", CHAINS, ids=lambda p: p.__name__)
def test_one_launch_without_full_temporaries(program: Callable[..., Any]) -> None:
    x = lazyarr.array(values(numpy.random.default_rng(7), "d", (600, 300)))
    program(lazyarr, x, 1)[0, :1].tolist() if program is not variance else program(lazyarr, x, 1).tolist()
    y = program(lazyarr, x, 1)
    assert str(explain(y)).count("in row blocks") == CHAINS[program]
    reset()
    lazyarr.evaluate(y)
    assert COUNT.native_launches == 1
    # The result, and for each thread some rows and words.
    assert COUNT.bytes_allocated <= y.nbytes + 2 * (1 << 15)


@pytest.mark.parametrize("program", CHAINS, ids=lambda p: p.__name__)
def test_memory_is_passed_over_once(program: Callable[..., Any]) -> None:
    x = lazyarr.array(values(numpy.random.default_rng(15), "d", (600, 300)))
    told = explain(program(lazyarr, x, 1))
    assert told.bytes_moved <= 1.1 * told.bytes_least
    assert told.peak_bytes <= x.nbytes + program(lazyarr, x, 1).nbytes + 2 * (1 << 14)


@pytest.mark.parametrize("program", [softmax, normalised], ids=lambda p: p.__name__)
def test_columns_pass_on_no_more_than_numpy_holds(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What passes within blocks of columns is as wide as memory permits; the last block has fewer columns."""
    for name, number in (("cache_bytes", 1 << 20), ("share_bytes", 16 << 20)):
        monkeypatch.setattr(row_room, name, lambda number=number: number)
    monkeypatch.setattr(row_room, "STRETCH", 512)
    x = lazyarr.array(values(numpy.random.default_rng(17), "d", (1000, 3010)))
    lazyarr.evaluate(x)
    with lazyarr.options(num_threads=2):
        y = program(lazyarr, x, 0)
        told = explain(y)
        assert told.bytes_moved <= 1.1 * told.bytes_least
        assert told.peak_bytes <= 2 * x.nbytes + (5 << 18)
        assert numpy.asarray(y).tobytes() == program(numpy, numpy.asarray(x), 0).tobytes()


def test_a_switch_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lazyarr.array(values(numpy.random.default_rng(8), "d", (600, 300)))
    counts = []
    for off in ((), ("rows",)):
        monkeypatch.setattr(switches, "OFF", frozenset(off))
        planning._plans.clear()
        y = softmax(lazyarr, x, 1)
        reset()
        lazyarr.evaluate(y)
        counts.append(COUNT.native_launches)
    assert counts == [1, 3]


def test_in_place_form_needs_no_memory() -> None:
    x = values(numpy.random.default_rng(9), "d", (600, 300))
    y = lazyarr.array(x)
    y -= y.max(1, keepdims=True)
    lazyarr.exp(y, out=y)
    y /= y.sum(1, keepdims=True)
    reset()
    lazyarr.evaluate(y)
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated < 1 << 16
    e = numpy.exp(x - x.max(1, keepdims=True))
    assert numpy.asarray(y).tobytes() == (e / e.sum(1, keepdims=True)).tobytes()


def test_two_results_in_the_memory_of_two_that_end() -> None:
    """Each takes one: nothing waits for the chain's end, so it runs in row blocks."""
    rng = numpy.random.default_rng(16)
    big = [values(rng, "d", (6000, 100)) for _ in range(2)]
    x, y = (lazyarr.array(a) * 1.0 for a in big)
    lazyarr.evaluate(x, y)
    a, b = x + y, x - y
    c = lazyarr.sqrt(abs(a / (abs(b).sum(1, keepdims=True) + 1)))
    del x, y
    reset()
    lazyarr.evaluate(a, b, c)
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated <= c.nbytes + 2 * (1 << 15)
    u, v = big[0] + big[1], big[0] - big[1]
    for mine, theirs in ((a, u), (b, v), (c, numpy.sqrt(abs(u / (abs(v).sum(1, keepdims=True) + 1))))):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


def test_blocks_are_for_the_threads_that_launches_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache has room for more rows than each thread's share."""
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 24)
    x = lazyarr.array(values(numpy.random.default_rng(17), "d", (4000, 100)))
    told = {}
    for threads in (1, 2, 1):
        with lazyarr.options(num_threads=threads):
            told[threads] = str(explain(softmax(lazyarr, x, 1)))
            y = softmax(lazyarr, x, 1)
            reset()
            lazyarr.evaluate(y)
            assert COUNT.native_launches == 1
    assert "1000 of 4000 along axis 0" in told[1]
    if available_threads() > 1:
        assert "500 of 4000 along axis 0" in told[2]


def test_planning_changes_no_chain_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    real = planning.joined

    def joined(w: Any, parted: Any, steps: Any, bodies: Any, tight: bool) -> Any:
        chains, apart = list(parted.rows.chains), dict(parted.rows.apart)
        blocks = [chain.block for chain in chains]
        found = real(w, parted, steps, bodies, tight)
        given.append((chains, apart, blocks))
        assert (parted.rows.chains, parted.rows.apart) == (chains, apart)
        assert [chain.block for chain in chains] == blocks == [0] * len(blocks)
        return found

    monkeypatch.setattr(planning, "joined", joined)
    for shape in ((600, 300), (4, 5000)):
        x = lazyarr.array(values(numpy.random.default_rng(18), "d", shape))
        lazyarr.evaluate(softmax(lazyarr, x, 1))
    assert len(given) >= 2


def test_rows_that_need_others_stay_apart() -> None:
    x = lazyarr.array(values(numpy.random.default_rng(10), "d", (600, 300)))
    y = x * 2
    s = y.sum(1, keepdims=True)
    moved = (y[1:] - s[:-1]).sum(1)
    sliced = y[2:] / s[2:]
    turned = y[::-1] / s
    assert "it folds all axes of extent 600, or has none" in explain(moved)
    assert "it folds all axes of extent 600, or has none" in explain(sliced)
    assert "its rows need other rows" in explain(turned)
    a = numpy.asarray(x) * 2
    assert numpy.asarray(moved).tobytes() == (a[1:] - a.sum(1, keepdims=True)[:-1]).sum(1).tobytes()
    assert numpy.asarray(sliced).tobytes() == (a / a.sum(1, keepdims=True))[2:].tobytes()
    assert numpy.asarray(turned).tobytes() == (a[::-1] / a.sum(1, keepdims=True)).tobytes()


def test_a_part_that_changes_while_others_want_it_unchanged() -> None:
    x = values(numpy.random.default_rng(11), "d", (300, 200))
    a = lazyarr.array(x)
    y = a * 2
    m = y.max(1, keepdims=True)
    later = y + 1
    y[:, ::2] -= m
    s = y.sum(1)
    lazyarr.evaluate(s)
    b = x * 2
    n = b.max(1, keepdims=True)
    c = b + 1
    b[:, ::2] -= n
    for mine, theirs in ((s, b.sum(1)), (y, b), (later, c)):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


def test_a_row_that_is_too_long() -> None:
    x = lazyarr.array(values(numpy.random.default_rng(12), "d", (4, 5000)))
    text = explain(softmax(lazyarr, x, 1))
    assert "too few of them stay in the cache" in text and " along axis" not in text


def test_warnings_name_the_operation() -> None:
    x = values(numpy.random.default_rng(13), "d", (300, 200))
    x[7, 5] = numpy.inf
    x[9] = 1e200
    a = lazyarr.array(x)

    def messages(np: Any, x: Any) -> list[str]:
        with pytest.warns(RuntimeWarning) as found:
            y = (x - x.mean(1, keepdims=True)) ** 2
            z = y / np.sqrt(y.sum(1, keepdims=True))
            numpy.asarray(z)
        return sorted({str(w.message) for w in found})

    assert messages(lazyarr, a) == messages(numpy, x)


def test_verifier_sees_rows_that_leave_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inside, "within", lambda self, extent, strides, start: (strides, start + 8))
    x = lazyarr.array(values(numpy.random.default_rng(14), "d", (600, 300)))
    with pytest.raises(InvalidKernel, match="leaves its memory"):
        lazyarr.evaluate(softmax(lazyarr, x, 1))


def random_program(np: Any, inputs: list[numpy.ndarray], seed: int) -> list[Any]:
    """Folds, maps, views, writes of all and of parts, in random order."""
    rng = numpy.random.default_rng(seed)
    big = [np.array(x) for x in inputs]
    small: list[Any] = []

    def pick(values: list[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    for _ in range(int(rng.integers(4, 14))):
        x, kind = pick(big), int(rng.integers(9))
        axis = int(rng.integers(x.ndim))
        if kind <= 2 or not small:
            fold = ("sum", "max", "min", "mean", "prod")[int(rng.integers(5))]
            small.append(getattr(x, fold)(axis, keepdims=True))
        elif kind == 3:
            big.append(np.sqrt(np.abs(x)) + pick(small) * 0.5)
        elif kind == 4:
            s = pick(small)
            x -= s
        elif kind == 5:
            big.append(np.exp(-np.abs(x)) / (1 + np.abs(pick(small))))
        elif kind == 6:
            part = (slice(None),) * axis + (slice(None, None, 2),)
            x[part] *= 0.5
        elif kind == 7:
            big.append(pick([x[::-1], x[:, ::-1], x.copy(), x + pick(big)]) * 2)
        else:
            small.append(np.sqrt(np.abs(pick(small))) + 1)
        if rng.random() < 0.3:
            del big[int(rng.integers(len(big)))]
        if not big:
            break
    return [*big, *small]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 40, int(rng.integers(2, 4))))
    inputs = [values(rng, "d", shape), laid_out(rng, shape, lambda s: values(rng, "d", s)) + 0.0]
    with numpy.errstate(all="ignore"):
        mine, theirs = random_program(lazyarr, inputs, seed), random_program(numpy, inputs, seed)
        lazyarr.evaluate(*[a for a in mine if isinstance(a, lazyarr.ndarray)])
    for a, b in zip(mine, theirs, strict=True):
        a = numpy.asarray(a)
        nans = numpy.isnan(b)
        assert (nans == numpy.isnan(a)).all() and a[~nans].tobytes() == b[~nans].tobytes()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(5, 3), (64, 100), (900, 9)])
def test_what_a_masked_write_leaves_is_not_overwritten_before(shape: tuple[int, int], axis: int) -> None:
    """The mask is as large as what is written to, which ends in the chain: it must not lie there."""

    def program(np: Any) -> list[Any]:
        x = np.array(numpy.arange(shape[0] * shape[1]).reshape(shape) % 9, "B")
        y = np.array(numpy.arange(shape[0] * shape[1]).reshape(shape) % 7, "d")
        if np is lazyarr:
            np.evaluate(x, y)
        mask = y > 3
        most = x.max(axis=axis, keepdims=True)
        np.subtract(most, mask, out=x, where=mask)
        return [mask, most, x, x + 0]

    got, want = program(lazyarr), program(numpy)
    assert "in row blocks" in str(explain(got[-1]))
    for a, b in zip([numpy.asarray(a) for a in reversed(got)], reversed(want), strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("share", [0, 1 << 20])
def test_tall_columns_stay_in_the_next_cache(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few columns, where that has room for them, and memory is read once."""
    monkeypatch.setattr(row_room, "share_bytes", lambda: share)
    a = RNG.standard_normal((2000, 100))
    x = lazyarr.array(a)
    mean, std = x.mean(axis=0), x.std(axis=0)
    told = explain(mean, std)
    assert (told.bytes_moved <= 1.1 * told.bytes_least) == bool(share)
    reset()
    lazyarr.evaluate(mean, std)
    assert (COUNT.native_launches == 1) == bool(share)
    assert numpy.asarray(mean).tobytes() == a.mean(axis=0).tobytes()
    assert numpy.asarray(std).tobytes() == a.std(axis=0).tobytes()


def test_the_share_of_a_cache_is_a_number() -> None:
    """Whatever this system says of its caches."""
    assert SHARE() >= 0


@pytest.mark.parametrize("columns", [3, 8, 1000])
def test_what_short_rows_come_to_stays_in_the_cache(columns: int) -> None:
    """One element of each row is little, unless rows are short: then it passes on in the cache."""
    x = values(numpy.random.default_rng(3), "d", (40_000 // columns * 8, columns))
    made = explain(lengths(lazyarr, lazyarr.array(x), 1)[0])
    assert ("in row blocks" in str(made)) is (columns < 16)
    assert made.bytes_moved <= 1.1 * made.bytes_least


def left_by_a_mask(np: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """What the mask leaves of `a` is read when all of `d`, upside down, is stored: not into a's memory."""
    b[a > 2] = 1
    c -= e[..., ::-1] + d.sum(axis=0, keepdims=True).astype(d.dtype)
    d *= b & b
    d = (~d[::-1]) + e.sum(axis=0, keepdims=True).astype(d.dtype)
    np.add(c, c, out=a, where=c > 0)
    return a, b, c, d


@pytest.mark.parametrize("char", "Bil")
@pytest.mark.parametrize("shape", [(20, 785), (20, 100), (4, 1000), (3, 5)])
def test_what_a_mask_leaves(shape: tuple[int, ...], char: str) -> None:
    random = numpy.random.default_rng(0)
    given = [(random.standard_normal(shape) * 20).astype("i1").astype(char) for _ in range(5)]
    with lazyarr.options(jit="always"):
        found = left_by_a_mask(lazyarr, *map(lazyarr.array, given))
        lazyarr.evaluate(*found)
    wanted = left_by_a_mask(numpy, *[x.copy() for x in given])
    for mine, numpys in zip(found, wanted, strict=True):
        assert numpy.array_equal(numpy.asarray(mine), numpys)
