"""Arrays that exist, packed at the call: NumPy's elements, and how much runs for them.

Lengths lie round those of rounds, and of the leaves of NumPy's tree.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import masks, packing, recipes
from lazyarr.codegen import pack_bytes, spread_bytes
from lazyarr.codegen.pack_bytes import ROUND, ROUNDS, SIZES
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.cpu_features import LEVELS
from lazyarr.direct import DIRECT
from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import BY_NAME, host_levels
from lazyarr.dtypes import PLAIN
from lazyarr.kernels import host
from lazyarr.pace import NOW, Pace
from lazyarr.packing import PACKING
from lazyarr.switches import is_off

RNG = numpy.random.default_rng(11)
MANY = ROUND * ROUNDS
LENGTHS = sorted({
    n + k for n in (0, 8, ROUND, 2 * ROUND, 128, MANY, 2 * MANY, 1000, 4096) for k in (-1, 0, 1) if n + k >= 0
})  # fmt: skip
DENSITIES = 0.0, 0.001, 0.1, 0.5, 0.9, 1.0
MEDIUM = 100_003
CHARS = [char for char, row in PLAIN.items() if row.itemsize in SIZES]

needs_code = pytest.mark.skipif(
    not pack_bytes.packs(host()) or is_off("packs"), reason="the target has no such instructions"
)


@pytest.fixture(autouse=True)
def by_measure() -> Iterator[None]:
    """As users have it, with the code."""
    with lazyarr.options(plan="auto", jit="auto"):
        COMPILER.ready(60e9)
        PACKING.load(True)
        yield


def values(char: str, shape: Any) -> numpy.ndarray:
    dtype = numpy.dtype(char)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    found = (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-3, 4, shape)).astype(dtype)
    odd = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1e-310]).astype(dtype)
    some = found.reshape(-1)[:: max(1, found.size // 50)]
    some[:] = RNG.choice(odd, some.size)
    return found


def ours(*arrays: numpy.ndarray) -> list[Any]:
    """Arrays of ours that exist."""
    found = [lazyarr.array(a) for a in arrays]
    lazyarr.evaluate(*found)
    return found


def same(found: Any, expected: Any) -> None:
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def bytes_of(size: int) -> numpy.dtype:
    """A type of so many bytes, any of which are a value."""
    return numpy.dtype(f"u{size}" if size <= 8 else f"V{size}")


def untouched(n: int, dtype: numpy.dtype) -> numpy.ndarray:
    return numpy.full(n * dtype.itemsize, 0xAB, numpy.uint8).view(dtype)


Packs = Callable[[numpy.ndarray, numpy.ndarray, numpy.ndarray, int], None]


def packer(level: str) -> Packs:
    """The functions of a level: (mask, from, to, elements for which there is room)."""
    target = host() if host().name == level else BY_NAME[level].target
    names = [pack_bytes.symbol_of(target, size) for size in SIZES]
    found = load(spread_bytes.text(target), names, target, packing.OPT, kernel=False)
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    functions = {size: signature(found[name]) for size, name in zip(SIZES, names, strict=True)}

    def run(mask: numpy.ndarray, x: numpy.ndarray, to: numpy.ndarray, room: int) -> None:
        at = to.ctypes.data
        functions[x.itemsize](mask.ctypes.data, x.ctypes.data, at, at + room * x.itemsize, x.size)

    return run


HERE = [level.target.name for level in host_levels() if pack_bytes.packs(level.target)]


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("size", SIZES)
def test_functions_write_what_is_kept_and_nothing_else(level: str, size: int) -> None:
    pack, dtype = packer(level), bytes_of(size)
    for n in LENGTHS:
        x = RNG.integers(0, 255, n * size, dtype=numpy.uint8).view(dtype)
        for density in DENSITIES:
            mask = RNG.random(n) < density
            expected = x[mask]
            for room in {len(expected), len(expected) // 2, 0}:
                to = untouched(len(expected) + 2 * ROUND, dtype)
                pack(mask, x, to, room)
                same(to[:room], expected[:room])
                same(to[room:], untouched(len(to) - room, dtype))


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("size", SIZES)
def test_functions_assign_where_a_mask_is_true(level: str, size: int) -> None:
    """Values one behind the other, or one for all; as many as there are."""
    target, dtype = host() if host().name == level else BY_NAME[level].target, bytes_of(size)
    name = spread_bytes.symbol_of(target, size)
    address = load(spread_bytes.text(target), [name], target, packing.OPT, kernel=False)[name]
    kinds = *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
    spread = ctypes.CFUNCTYPE(None, *kinds)(address)
    for n in LENGTHS:
        for density in DENSITIES:
            mask = RNG.random(n) < density
            every = RNG.integers(0, 255, (n + 1) * size, dtype=numpy.uint8).view(dtype)
            for step, there in {(size, int(mask.sum())), (size, int(mask.sum()) // 2), (0, 1)}:
                x = untouched(n + 2 * ROUND, dtype)
                expected, at = x.copy(), every.ctypes.data
                spread(mask.ctypes.data, at, at + there * size, step, x.ctypes.data, n)
                where = numpy.flatnonzero(mask)[: there if step else None]
                expected[where] = every[: len(where)] if step else every[0]
                same(x, expected)


def test_levels_that_have_a_shuffle_have_the_functions() -> None:
    has = {level.name for level in LEVELS if pack_bytes.packs(BY_NAME[level.name].target)}
    assert {"X86_V2", "X86_V3", "X86_V4"} <= has and "ASIMD" not in has


@needs_code
@pytest.mark.parametrize("char", CHARS)
def test_elements_and_folds(char: str) -> None:
    a = values(char, MEDIUM)
    (x,) = ours(a)
    for density in DENSITIES:
        mask = RNG.random(MEDIUM) < density
        (m,) = ours(mask)
        picked = x[m]
        assert lazyarr.is_evaluated(picked)
        same(picked, a[mask])
        with numpy.errstate(all="ignore"), lazyarr.errstate(all="ignore"):
            same(picked.sum(), a[mask].sum())
            if picked.size:
                same(x[m].max(), a[mask].max())


@needs_code
@pytest.mark.parametrize("shape", [(50_000, 2), (90_000, 3), (60_000, 2, 2), (400, 300, 3), (70_000, 7)])
@pytest.mark.parametrize("char", "?fdD")
def test_rows(char: str, shape: tuple[int, ...]) -> None:
    """Masks of the first axes, of arrays that exist, and of some that wait."""
    a = values(char, shape)
    for axes in range(1, len(shape)):
        mask = RNG.random(shape[:axes]) < 0.4
        x, m = ours(a, mask)
        same(x[m], a[mask])
        assert numpy.asarray(x[m]).strides == a[mask].strides
        if char != "?":
            with numpy.errstate(all="ignore"), lazyarr.errstate(all="ignore"):
                same((x + x)[m], (a + a)[mask])
                same(x[m] * 2, a[mask] * 2)


@needs_code
@pytest.mark.parametrize("kept", [7, 8, 9, 127, 128, 129, 1023, 1024, 1025, 65535, 65537])
@pytest.mark.parametrize("char", "df")
def test_sums_round_the_edges_of_leaves(char: str, kept: int) -> None:
    a = (RNG.standard_normal(MEDIUM) * 10.0 ** RNG.integers(-3, 4, MEDIUM)).astype(char)
    mask = numpy.zeros(MEDIUM, bool)
    mask[RNG.choice(MEDIUM, kept, replace=False)] = True
    x, m = ours(a, mask)
    picked, expected = x[m], a[mask]
    same(picked.sum(), expected.sum())
    same(picked.mean(), expected.mean())
    same(picked.std(), expected.std())
    same((x[m] ** 2).sum(), (a[mask] ** 2).sum())


@needs_code
def test_one_launch_and_no_node() -> None:
    x, m = ours(values("d", MEDIUM), RNG.random(MEDIUM) < 0.5)
    launches, built, eager = COUNT.native_launches, COUNT.nodes_built, COUNT.eager
    x[m]
    assert (COUNT.native_launches, COUNT.nodes_built, COUNT.eager) == (launches + 1, built, eager + 1)


@needs_code
def test_a_mask_that_waits_is_computed() -> None:
    a = values("d", MEDIUM)
    (x,) = ours(a)
    with numpy.errstate(invalid="ignore"), lazyarr.errstate(invalid="ignore"):
        picked = x[(x > -1) & (x < 1)]
        assert lazyarr.is_evaluated(picked)
        same(picked, a[(a > -1) & (a < 1)])


@needs_code
def test_what_is_to_be_computed_waits() -> None:
    a = values("d", 400_000)
    x, m = ours(a, RNG.random(a.size) < 0.5)
    with lazyarr.options(eager_elements=1 << 16, plan="always"):
        y = x * 2
        assert not lazyarr.is_evaluated(y[m])


@needs_code
@pytest.mark.parametrize("kept", [0, 1, 50, 1_500])
def test_few_of_a_large_array(kept: int) -> None:
    a, mask = values("d", 1_000_000), numpy.zeros(1_000_000, bool)
    mask[RNG.choice(a.size, kept, replace=False)] = True
    x, m = ours(a, mask)
    built = COUNT.nodes_built
    picked = x[m]
    assert lazyarr.is_evaluated(picked) and COUNT.nodes_built == built
    same(picked, a[mask])


@needs_code
def test_many_of_a_large_array_wait() -> None:
    a, mask = values("d", 1_000_000), RNG.random(1_000_000) < 0.3
    x, m = ours(a, mask)
    picked = x[m]
    assert not lazyarr.is_evaluated(picked)
    same(picked, a[mask])


@needs_code
def test_few_that_counting_keeps_are_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of which few are kept is counted by keeping them, before long."""
    monkeypatch.setattr(masks, "may_try", lambda: True)
    a = RNG.permutation(1_000_000.0 + numpy.arange(1_000_000))
    (x,), high = ours(a), 2_000_000.0 - 1_500
    at_once = set()
    with lazyarr.options(plan="always", num_threads=1):         # (several may have to wait, and give up)
        for _ in range(12):
            before = COUNT.nodes_built
            picked = x[x >= high]
            if lazyarr.is_evaluated(picked):
                at_once.add(COUNT.nodes_built - before)
            same(picked, a[a >= high])
    assert at_once == {2}                       # (the mask, and its count)


LAYS: dict[str, Callable[[numpy.ndarray], numpy.ndarray]] = {
    "every other one": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "part": lambda a: a[3:-5],
    "two axes": lambda a: a[: a.size // 7 * 7].reshape(7, -1),
    "columns first": lambda a: a[: a.size // 7 * 7].reshape(-1, 7).T,
    "spread": lambda a: numpy.broadcast_to(a[: a.size // 50], (50, a.size // 50)),
    "not aligned": lambda a: numpy.frombuffer(b"?" + a.tobytes(), a.dtype, a.size - 1, 1),
}


@pytest.mark.parametrize("of_mask", [False, True])
@pytest.mark.parametrize("lay", LAYS.values(), ids=LAYS)
def test_however_they_lie(lay: Any, of_mask: bool) -> None:
    a, mask = values("d", 2 * MEDIUM), RNG.random(2 * MEDIUM) < 0.4
    x, m = lay(a), lay(mask)
    if of_mask:
        x = numpy.ascontiguousarray(x)
    else:
        m = numpy.ascontiguousarray(m)
    y, w = lazyarr.asarray(x), lazyarr.asarray(m)
    same(y[w], x[m])
    with numpy.errstate(all="ignore"), lazyarr.errstate(all="ignore"):
        same(y[w].sum(), x[m].sum())


def test_bytes_that_are_no_bools() -> None:
    a = values("d", MEDIUM)
    mask = RNG.integers(0, 256, MEDIUM).astype(numpy.uint8)
    same(lazyarr.array(a)[lazyarr.asarray((mask != 0).view(bool))], a[mask != 0])


def test_results_are_memory_of_their_own() -> None:
    a, mask = values("d", MEDIUM), RNG.random(MEDIUM) < 0.5
    x, m = ours(a, mask)
    picked = x[m]
    x[:] = 7
    same(picked, a[mask])
    assert picked.flags.owndata and picked.flags.writeable
    every = x[lazyarr.ones(MEDIUM, bool)]
    every[0] = 8
    assert x[0] == 7


def test_without_machine_code() -> None:
    a, mask = values("d", MEDIUM), RNG.random(MEDIUM) < 0.5
    x, m = ours(a, mask)
    with lazyarr.options(jit="never"):
        same(x[m], a[mask])
        assert not packing.may_pack(a, mask)


def test_other_types() -> None:
    """Elements are moved as bytes, whatever they mean."""
    mask = RNG.random(MEDIUM) < 0.9
    for dtype in "S8", "U2", "M8[s]", ">f8", "i4,i4", "V4":
        a = RNG.integers(0, 100, 2 * MEDIUM, dtype=numpy.int64).view("i4")
        a = a.view(dtype)[:MEDIUM]
        same(lazyarr.extract(lazyarr.array(mask), lazyarr.asarray(a)), a[mask])
        same(lazyarr.asarray(a)[lazyarr.array(mask)], a[mask])


def test_records_and_objects_are_numpys() -> None:
    mask = RNG.random(2000) < 0.5
    for a in (numpy.array([*range(2000)], object), numpy.zeros(2000, "i4,f8"), numpy.zeros(2000, "U3")):
        same_objects = numpy.asarray(lazyarr.array(a)[lazyarr.array(mask)])
        assert (same_objects == a[mask]).all() and same_objects.dtype == a.dtype


def test_bools_of_a_large_array_wait_where_medium_results_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compute one mask at once takes what both could have in one pass."""

    class Hasty(Pace):
        def counts(self) -> bool:
            return True

    (x,) = ours(RNG.random(1_000_000))
    built = []
    for k in range(4):
        if k == 3:
            monkeypatch.setattr(DIRECT, "on", False)
            monkeypatch.setattr(DIRECT, "left", 100)
            monkeypatch.setattr(NOW, "quiet", 0)
            monkeypatch.setattr(recipes, "pace_of", lambda *_: Hasty())
            monkeypatch.setattr(recipes, "PACES", {})
        low, high = x > 0.1, x < 0.9
        both = low & high
        built.append([lazyarr.is_evaluated(each) for each in (low, high, both)])
        both.sum()
    assert built[-1] == [False] * 3
