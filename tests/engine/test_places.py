"""Where many elements are not zero: NumPy's positions, as NumPy's arrays, and who finds them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import places
from lazyarr.codegen import find_places
from lazyarr.codegen.pack_bytes import ROUND
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_levels
from lazyarr.places import FINDING
from lazyarr.slot_words import FINDS, LEAST, LEAST_TRUTHS
from lazyarr.switches import is_off

RNG = numpy.random.default_rng(3)
LENGTHS = sorted({n + k for n in (0, 8, ROUND, 2 * ROUND, 1000, 4096) for k in (-1, 0, 1) if n + k >= 0})
DENSITIES = 0.0, 0.001, 0.3, 0.97, 1.0
FUNCTIONS = "nonzero", "where", "flatnonzero", "argwhere"
CHARS = "?bBhHiIlLqQefdgFDG"

needs_code = pytest.mark.skipif(is_off("packs"), reason="it is switched off")


@pytest.fixture(autouse=True)
def by_measure() -> Iterator[None]:
    """As users have it, with the code."""
    with np.options(plan="auto", jit="auto"):
        COMPILER.ready(60e9)
        FINDING.load(True)
        yield


def values(char: str, shape: Any, density: float) -> numpy.ndarray:
    found = ((RNG.random(shape) < density) * RNG.integers(1, 100, shape)).astype(char)
    if found.dtype.kind in "fc" and found.size > 9:
        flat = found.reshape(-1)
        flat[flat == 0] *= -1
        flat[3], flat[5], flat[-1] = numpy.nan, -0.0, numpy.finfo(found.dtype).smallest_subnormal
    return found


def alike(found: Any, expected: Any) -> None:
    """As arrays, too."""
    assert type(found) is type(expected) or type(found) is np.ndarray
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            alike(one, other)
        return
    real = numpy.asarray(found)
    assert real.dtype == expected.dtype and real.shape == expected.shape and real.strides == expected.strides
    assert (real == expected).all()
    for flag in "writeable", "aligned", "c_contiguous", "f_contiguous":
        assert getattr(found.flags, flag) == getattr(expected.flags, flag)
    assert (found.base is None) == (expected.base is None)
    if expected.base is not None:
        assert found.base.shape == expected.base.shape


@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
@pytest.mark.parametrize("kind", find_places.KINDS)
def test_functions_count_and_write_no_more_than_there_is_room_for(level: str, kind: str) -> None:
    target = next(each.target for each in host_levels() if each.target.name == level)
    names = find_places.count_symbol(target, kind), find_places.find_symbol(target, kind)
    addresses = load(find_places.text(target), names, target, places.OPT, kernel=False)
    count = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int64)(addresses[names[0]])
    find = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(addresses[names[1]])
    size, told = find_places.KINDS[kind], ctypes.c_int64()
    for n in LENGTHS:
        for density in DENSITIES:
            x = values(f"{'f' if kind[0] == 'f' else 'u'}{size}", n, density)
            expected = x.nonzero()[0]
            count(x.ctypes.data, ctypes.addressof(told), n)
            assert told.value == len(expected)
            for room in {len(expected), len(expected) // 2, 0}:
                to = numpy.full(len(expected) + 2 * ROUND, -7)
                at = to.ctypes.data
                find(x.ctypes.data, at, at + 8 * room, ctypes.addressof(told), n)
                assert told.value == room
                assert (to[:room] == expected[:room]).all() and (to[room:] == -7).all()


LAYS: dict[str, Any] = {
    "as it is": lambda a: a, "every other one": lambda a: a[::2], "backwards": lambda a: a[..., ::-1],
    "turned": lambda a: a.T, "columns first": numpy.asfortranarray,
    "the other bytes first": lambda a: a.astype(a.dtype.newbyteorder()),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(9001,), (90, 101), (3, 1, 3001), (2, 5, 7, 130), (20_003,)], ids=str)
@pytest.mark.parametrize("char", CHARS)
def test_numpys_positions(char: str, shape: tuple[int, ...]) -> None:
    for density in DENSITIES:
        for lay in LAYS.values():
            a = lay(values(char, shape, density))
            alike(places.nonzero(a), a.nonzero())
            alike(places.argwhere(a), numpy.argwhere(a))
            alike(places.flatnonzero(a), numpy.flatnonzero(a))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(50,), (5000,), (70_000,), (300, 300), (900, 700), (2, 3, 20_000)])
def test_calls(name: str, shape: tuple[int, ...]) -> None:
    for char in "?ldF":
        a = values(char, shape, 0.3)
        expected = getattr(numpy, name)(a)
        for x in np.array(a), np.array(a) * 1:
            alike(getattr(np, name)(x), expected)
            if name == "nonzero":
                alike(x.nonzero(), expected)


def test_what_is_no_number_is_numpys() -> None:
    for a in numpy.array(["", "a"] * 5000), numpy.array([0, None, 3] * 3000), numpy.zeros(9000, "M8[s]"):
        alike(np.nonzero(np.asarray(a)), a.nonzero())
    assert [len(x) for x in np.where(numpy.ones((100, 100)))] == [10_000] * 2
    with pytest.raises(TypeError):
        np.nonzero()
    with pytest.raises(ValueError, match="either both or neither"):
        np.where(np.ones(9000), 1)


def test_signalling_nans_warn_nobody() -> None:
    a = numpy.full(9000, 0x7FF0_0000_0000_0001).view("d")
    with numpy.errstate(all="raise"):
        alike(places.nonzero(a), a.nonzero())


@needs_code
def test_who_finds_them() -> None:
    """The code, one launch a call; NumPy, what it does sooner."""
    for char, shape, by_code in (
        ("?", LEAST_TRUTHS - 1, False), ("?", LEAST_TRUTHS, True), ("?", (2, LEAST // 2), True),
        ("l", LEAST - 1, False), ("l", LEAST, True), ("D", LEAST, True), ("S1", 2 * LEAST, False),
    ):  # fmt: skip
        x = np.asarray(numpy.ones(shape, char))
        before = COUNT.native_launches
        x.nonzero(), np.nonzero(x), np.where(x), np.flatnonzero(x), np.argwhere(x)
        assert COUNT.native_launches - before == 5 * by_code, (char, shape)
    with np.options(jit="never"):
        before = COUNT.native_launches
        np.where(np.ones(20_000))
        assert COUNT.native_launches == before


@needs_code
def test_until_there_is_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def load(compiles: bool) -> bool:
        asked.append(compiles)
        return False

    monkeypatch.setattr(FINDING, "load", load)
    monkeypatch.setattr(FINDING, "by_kind", {})
    for field, number in ("left", places.PAYS), ("compiles", False):
        monkeypatch.setattr(FINDING, field, number)
    a = values("l", 9000, 0.5)
    x = np.array(a)
    for _ in range(places.PAYS + places.WRITING_PAYS + 5):
        alike(np.where(x), a.nonzero())
    assert asked == [False, True] and FINDING.left < 0 and not FINDS.value
    FINDS.value = 1


def test_new_arrays_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """One result for each, and plain, as long as medium ones are NumPy's."""
    x = np.array(numpy.ones((300, 300)))
    counted: list[float] = []
    counts = type(DIRECT).counts
    monkeypatch.setattr(type(DIRECT), "counts", lambda self, size: counted.append(size) or counts(self, size))
    rows, columns = np.where(x)
    assert counted == [90_000, 90_000] and rows.base is not None and columns.base is not None
    assert np.flatnonzero(x).size == 90_000
