"""Reads through a bool mask: NumPy's elements, in C order, and NumPy's bits when they are folded.

Lengths lie round the boundaries of vectors, leaves of the pairwise tree, counted blocks and chunks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import launch_compress, launch_feeds, outlook
from lazyarr.counters import COUNT, reset
from lazyarr.dispatch.levels import host_levels
from lazyarr.launch_compress import BLOCK, CHUNK, EACH, FED

RNG = numpy.random.default_rng(23)
LENGTHS = (
    1, 2, 7, 8, 9, 63, 65, 127, 128, 129, BLOCK - 1, BLOCK, BLOCK + 1, 8191, 8193, CHUNK - 1, CHUNK + 1,
    2 * CHUNK + 5, 300_001,
)  # fmt: skip
DENSITIES = (0.0, 0.001, 0.3, 0.97, 1.0)
CHARS = "?bhilBHILefdFD"


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest) -> Any:
    with lazyarr.options(jit="always", num_threads=request.param):
        yield


def values(char: str, shape: Any) -> numpy.ndarray:
    """Cancelling values, some of them special, so that another order gives other bits."""
    dtype = numpy.dtype(char)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
    scale = 4.0 if char == "e" else 1e6
    found = RNG.standard_normal(shape) * scale ** RNG.uniform(-1, 1, shape)
    if dtype.kind == "c":
        found = found + 1j * RNG.standard_normal(shape)
    return found.astype(dtype)


def equal(mine: Any, theirs: Any) -> None:
    mine, theirs = numpy.asarray(mine), numpy.asarray(theirs)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    assert mine.tobytes() == theirs.tobytes()


def same_sum(a: numpy.ndarray, m: numpy.ndarray) -> None:
    """Everything that is fed, against NumPy, for one array and mask."""
    x, k = lazyarr.array(a), lazyarr.array(m)
    equal(x[k], a[m])
    equal(x[k].sum(), a[m].sum())


@pytest.mark.parametrize("char", CHARS)
def test_lengths_and_densities(char: str) -> None:
    for n in LENGTHS:
        a = values(char, n)
        for density in DENSITIES if n < CHUNK else DENSITIES[1:3]:
            same_sum(a, RNG.random(n) < density)


@pytest.mark.parametrize("char", "?hIdD")
@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
def test_levels(level: str, char: str) -> None:
    with lazyarr.options(cpu_level=level):
        for n in (9, 129, BLOCK + 1, 100_003):
            a = values(char, n)
            for density in (0.01, 0.5, 1.0):
                same_sum(a, RNG.random(n) < density)


LAYOUTS = [
    ("rows", lambda a: a[:, :]),
    ("columns cut", lambda a: a[:, 3:-2]),
    ("steps", lambda a: a[::2, ::3]),
    ("reversed", lambda a: a[::-1, ::-1]),
    ("transposed", lambda a: a.T),
    ("three axes", lambda a: a.reshape(a.shape[0], -1, 5).transpose(2, 0, 1)),
    ("repeated", lambda a: numpy.broadcast_to(a[:1], a.shape)),
    ("new axis", lambda a: a[:, None, :]),
]


@pytest.mark.parametrize("view", [f for _, f in LAYOUTS], ids=[name for name, _ in LAYOUTS])
def test_layouts(view: Any) -> None:
    for shape in ((3, 10), (70, 95), (400, 605)):
        a = values("d", shape)
        m = RNG.random(shape) < 0.4
        x, k = lazyarr.array(a), lazyarr.array(m)
        viewed = view if "broadcast" not in view.__code__.co_names else None
        here = (lambda v: numpy.broadcast_to(v[:1], v.shape)) if viewed is None else view
        there = (lambda v: lazyarr.broadcast_to(v[:1], v.shape)) if viewed is None else view
        for mask_here, mask_there in ((here(m), there(k)), (here(m).copy(), lazyarr.array(here(m).copy()))):
            equal(there(x)[mask_there], here(a)[mask_here])
            equal(there(x)[mask_there].sum(), here(a)[mask_here].sum())


FOLDS = [
    ("sum", lambda np, x: x.sum()),
    ("sum as float32", lambda np, x: x.sum(dtype="f")),
    ("mean", lambda np, x: x.mean()),
    ("minimum", lambda np, x: x.min()),
    ("maximum", lambda np, x: x.max()),
    ("product", lambda np, x: (x * 1e-3).prod()),
    ("argmax", lambda np, x: x.argmax()),
    ("any", lambda np, x: (x > 1e5).any()),
    ("all", lambda np, x: (x > -1e9).all()),
    ("count", lambda np, x: np.count_nonzero(x > 0)),
    ("squares", lambda np, x: (x * x).sum()),
    ("distances", lambda np, x: ((x - 0.5) ** 2).sum()),
    ("exponentials", lambda np, x: np.exp(-x * x).sum()),
    ("keepdims", lambda np, x: x.sum(keepdims=True)),
    ("deviation", lambda np, x: x.std()),
    ("map", lambda np, x: x * 2 + 1),
    ("sum beside map", lambda np, x: (x * 2, (x * 2).sum())[1]),
    ("slice", lambda np, x: x[1:].sum()),
    ("reversed", lambda np, x: x[::-1].sum()),
    ("accumulated", lambda np, x: np.add.accumulate(x)),
]


@pytest.mark.parametrize("fold", [f for _, f in FOLDS], ids=[name for name, _ in FOLDS])
@pytest.mark.parametrize("char", "lfdD")
def test_consumers(char: str, fold: Any) -> None:
    for n in (5, 200, 9000, 250_007):
        a = values(char, n)
        m = RNG.random(n) < 0.6
        m[:2] = True
        with numpy.errstate(all="ignore"):
            try:
                expected = fold(numpy, a[m])
            except TypeError:
                pytest.skip("no order among complex numbers")
            equal(fold(lazyarr, lazyarr.array(a)[lazyarr.array(m)]), expected)


def test_special_values() -> None:
    a = values("d", 100_000)
    for special in (-0.0, numpy.inf, numpy.nan):
        a[::97] = special
        m = (numpy.arange(a.size) % 3) == 0
        same_sum(a, m)
        m = numpy.zeros(a.size, bool)
        m[::97] = True
        same_sum(a, m)
    payload = numpy.array([0x7FF8000000000123, 0x7FF0000000000001, 0xFFF8000000000000], "L").view("d")
    equal(lazyarr.array(numpy.tile(payload, 5000))[lazyarr.ones(15000, bool)], numpy.tile(payload, 5000))


def test_several_feeds() -> None:
    a, b = values("d", 200_000), values("f", 200_000)
    m = a > 0
    other = numpy.roll(m, 7)
    x, y, k, o = (lazyarr.array(v) for v in (a, b, m, other))
    equal((x[k] * y[k]).sum(), (a[m] * b[m]).sum())
    equal((x[k] - x[o]).sum(), (a[m] - a[other]).sum())
    equal(x[k] - y[o], a[m] - b[other])


def test_program_order() -> None:
    a = values("d", 50_000)
    x, theirs = lazyarr.array(a), a.copy()
    kept = x[x > 0]
    x *= 2
    x[:100] = 7
    total = (kept + 1).sum()
    equal(total, (theirs[theirs > 0] + 1).sum())
    equal(kept, theirs[theirs > 0])
    mask = x > 3
    kept, expected = x[mask] * 1, numpy.asarray(x)[numpy.asarray(mask)]
    mask[:] = False
    equal(kept, expected)


def test_held_elements_are_stored_once() -> None:
    a = values("d", 50_000)
    x = lazyarr.array(a)
    kept = x[x > 0]
    equal(kept.sum(), a[a > 0].sum())
    reset()
    equal(kept.sum(), a[a > 0].sum())
    assert COUNT.native_launches <= 2


def test_launches() -> None:
    a = values("d", 200_000)
    x = lazyarr.array(a)
    x[x > 0].sum()
    reset()
    x[x > 0].sum()
    # The mask is computed and counted in one; then computed again, packed and folded in one.
    assert COUNT.native_launches == 2
    assert COUNT.numpy_fallbacks == 0 and COUNT.compiles == 0
    reset()
    lazyarr.evaluate(x[x > 0])
    assert COUNT.native_launches == 2 and COUNT.numpy_fallbacks == 0


def test_explained() -> None:
    x = lazyarr.array(values("d", 200_000))
    doubled = x[x > 0] * 2
    told = lazyarr.debug.explain(doubled)
    assert "compress: packed into the group that reads it" in told and "NumPy" not in told
    kept = x[x > 0]
    assert "compress: stored" in lazyarr.debug.explain(kept + 1)


def test_no_copy_of_the_elements() -> None:
    a = numpy.ones(4_000_000)
    x, k = lazyarr.array(a), lazyarr.ones(a.size, bool)
    x[k].sum()
    reset()
    total = x[k].sum()                  # pytest holds what stands in an assert
    assert total == a.size
    # (Two sums for each eight of them, where sums were asked for before.)
    assert COUNT.bytes_allocated < a.nbytes // 3


def allocated(program: Any) -> int:
    program()
    reset()
    program()
    return COUNT.bytes_allocated


@pytest.fixture
def keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No elements, and no sums of them: `test_kept` has those."""
    monkeypatch.setattr(outlook, "is_off", lambda name: name == "keep")


@pytest.mark.usefixtures("keeps_nothing")
def test_a_temporary_mask_is_not_stored() -> None:
    n = 4_000_000
    a, b = values("d", n), values("f", n)
    x, y = lazyarr.array(a), lazyarr.array(b)
    held = lazyarr.array(a > 1)
    for program in (
        lambda: x[x > 0].sum(),
        lambda: x[(x > -5) & (x < 5)].sum(),
        lambda: x[~held].sum(),
        lambda: y[y != 0].sum(),
        lambda: lazyarr.compress(x > 0, x).sum(),
        lambda: lazyarr.extract(x > 0, x).sum(),
        lambda: lazyarr.count_nonzero(x > 0),
    ):
        assert allocated(program) < n // 2


@pytest.mark.usefixtures("keeps_nothing")
def test_a_mask_is_stored_where_computing_it_again_costs_more() -> None:
    n = 4_000_000
    a = values("d", n)
    x, y = lazyarr.array(a), lazyarr.array(a + 1)
    # Other memory to read; a flag to raise twice; a function that takes its time.
    for program in (lambda: x[y > 0].sum(), lambda: x[x * x > 2].sum(), lambda: x[lazyarr.sin(x) > 0].sum()):
        assert n <= allocated(program) < 2 * n


def test_a_held_mask_is_stored_once() -> None:
    a = values("d", 400_000)
    x = lazyarr.array(a)
    mask = x > 0
    equal(x[mask].sum(), a[a > 0].sum())
    reset()
    equal(mask, a > 0)
    assert COUNT.native_launches == 0
    mask = x > 1
    kept = x[mask]
    x *= 2
    mask[:1000] = True
    equal(kept, a[a > 1])
    assert numpy.asarray(mask)[:1000].all()


def test_writes_between_mask_and_sum() -> None:
    a = values("d", 300_000)
    x = lazyarr.array(a)
    kept = x[x > 0]
    x[x > 3] = -1
    x += 1
    theirs = a.copy()
    theirs[theirs > 3] = -1
    equal(kept.sum(), a[a > 0].sum())
    equal(x, theirs + 1)
    del kept
    kept = x[x > 0]
    expected = (theirs + 1)[theirs + 1 > 0]
    del x
    equal(kept * 2, expected * 2)


def test_flags_are_reported_once() -> None:
    a = values("d", 100_000)
    x = lazyarr.array(a)
    x[5] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero") as seen:
        (1 / x)[x > -1e9].sum()
    assert len([w for w in seen if "divide" in str(w.message)]) == 1
    with pytest.warns(RuntimeWarning, match="divide by zero") as seen:
        x[1 / x > 0].sum()
    assert len([w for w in seen if "divide" in str(w.message)]) == 1


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("kept", [True, False])
def test_what_is_fed_warns(kept: bool, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing kernels tell what they raise: who feeds others with them forgets the rest.

    (No list of warnings is recorded: for these all would be computed at once.)"""
    seen: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: seen.append(str(message)))
    a = RNG.uniform(1, 2, 3 * CHUNK)
    told = []
    with lazyarr.options(tier=tier), warnings.catch_warnings():
        warnings.simplefilter("always")
        for np in (numpy, lazyarr, lazyarr):
            x = np.array(a)
            y = x - a[CHUNK]
            total = float((x / y)[x > 0.0 if kept else y != 0.0].sum())
            told.append((total, *seen))
            seen.clear()
    assert told[0] == told[1] == told[2] and "divide by zero" in told[0][1]


READS = {"fold": lambda v: v.sum(), "map": lambda v: v * 2, "itself": lambda v: v}


@pytest.mark.parametrize("part", [slice(None), slice(0, 60_000), slice(50_000, None)])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_not_kept_warns_too(part: slice, read: Callable[[Any], Any]) -> None:
    """0 / 0 lies in a block of which nothing is kept, between, after or before those that are read."""
    a = numpy.linspace(-1, 1, 100_001)[part]
    for np in (numpy, lazyarr):
        x = np.array(a)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
            lazyarr.evaluate(read((x / np.zeros_like(x))[abs(x) > 0.5]))


@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
@pytest.mark.parametrize("char", CHARS)
def test_conditions_by_level(level: str, char: str) -> None:
    """The mask is computed from the elements that are kept, in every lane width."""
    with lazyarr.options(cpu_level=level):
        for n in (7, 513, 40_007):
            a = values(char, n)
            middle = numpy.sort(a)[n // 2]
            x = lazyarr.array(a)
            with numpy.errstate(all="ignore"):
                equal(x[x == middle], a[a == middle])
                equal(x[x != middle].sum(), a[a != middle].sum())
                equal(lazyarr.count_nonzero(x != middle), numpy.count_nonzero(a != middle))


@pytest.mark.parametrize("jit", ["auto", "never"])
def test_other_ways(jit: str) -> None:
    with lazyarr.options(jit=jit):
        for n in (10, 100_000):
            a = values("d", n)
            same_sum(a, a > 0)


@pytest.mark.parametrize("n", [2 * CHUNK, 64 * CHUNK, 32 * FED])
def test_chunks_that_are_fed(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones, but at least a few for each thread."""
    seen = []
    run = launch_compress.parallel_for
    for module in launch_compress, launch_feeds:
        monkeypatch.setattr(module, "parallel_for", lambda *how: (seen.append(how[2:]), run(*how)))
    x = lazyarr.array(numpy.arange(n) % 2 + 1.0)
    total = x[x > 1].sum()          # (An `assert` would hold the elements, and have them stored.)
    assert total == n
    chunks, threads = seen[-2]      # before partial results are combined
    assert chunks <= max(n // FED, EACH * threads) and chunks >= min(n // CHUNK, EACH * threads)


def test_steps_stay_in_the_first_level_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the array is: what is kept passes from kernel to kernel a few kB at a time."""
    asked = []
    memory = launch_compress.memory
    monkeypatch.setattr(launch_compress, "memory", lambda n: (asked.append(n), memory(n))[1])
    a = values("d", 2_000_000)
    x = lazyarr.array(a)
    total = x[x > 0].sum()
    equal(total, a[a > 0].sum())
    assert asked[-1] < lazyarr.get_num_threads() * (32 << 10)

