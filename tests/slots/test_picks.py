"""What masks keep is moved by compiled code that slots call: NumPy's elements, and no Python in between."""

from __future__ import annotations

import operator
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import packing, slot_words
from lazyarr.codegen import pack_bytes
from lazyarr.codegen.pack_bytes import ROUND, ROUNDS
from lazyarr.compiler import COMPILER
from lazyarr.dtypes import char_of
from lazyarr.kernels import host
from lazyarr.packing import PACKING
from lazyarr.slot_words import PACKED, PACKERS, SPREADERS, UNPACKED
from lazyarr.switches import is_off
from tests.crowd import numbered_at_once
from tests.slots.operands import ONLY_HERE, python_calls, same

pytestmark = [
    ONLY_HERE,
    pytest.mark.skipif(
        not pack_bytes.packs(host()) or is_off("packs"), reason="the target has no such instructions"
    ),
    pytest.mark.skipif(bool(slot_words.APART.value), reason="options ask for another target"),
]

RNG = numpy.random.default_rng(5)
MANY = ROUND * ROUNDS
LENGTHS = sorted({
    n + k for n in (1, 8, ROUND, 2 * ROUND, MANY, 2 * MANY, 1000, 8192, 65535) for k in (-1, 0, 1)
})  # fmt: skip
DENSITIES = 0.0, 0.001, 0.1, 0.5, 0.9, 1.0
PACKS = *"?bBhHiIlLqQefdFDgG", "M8[s]", "m8[ns]", ">f8", ">i2", ">c16"
OTHERS = "S8", "U2", "V4", "i4,i4", "i4,f8", "O"


@pytest.fixture(autouse=True)
def code() -> None:
    if not any(PACKERS):
        COMPILER.ready(60e9)
        PACKING.load(True)


def values(dtype: Any, shape: Any) -> numpy.ndarray:
    whole = numpy.dtype(dtype)
    if whole.hasobject:
        return RNG.integers(0, 100, shape).astype(whole)
    size = int(numpy.prod(shape)) * whole.itemsize
    if whole.kind == "?":
        return RNG.random(shape) < 0.5
    return RNG.integers(0, 100, size, dtype=numpy.uint8).view(whole).reshape(shape)


def is_small(a: numpy.ndarray) -> bool:
    """Is it one that slots keep as NumPy made it?"""
    return char_of(a.dtype) is not None or a.nbytes <= slot_words.MOST.value


@contextmanager
def packed(times: int | bool) -> Iterator[None]:
    before = PACKED.value
    yield
    assert PACKED.value == before + times


def alike(found: Any, expected: numpy.ndarray) -> None:
    """Bit for bit, and as arrays."""
    real = numpy.asarray(found)
    assert type(found) is np.ndarray and found.base is None and real.dtype == expected.dtype
    assert real.shape == expected.shape and real.tobytes() == expected.tobytes()
    for flag in "owndata", "writeable", "aligned", "c_contiguous", "f_contiguous":
        assert getattr(found.flags, flag) == getattr(expected.flags, flag)


@pytest.mark.parametrize("dtype", PACKS)
def test_elements(dtype: str) -> None:
    for n in LENGTHS:
        a = values(dtype, n)
        x = np.array(a)
        for density in DENSITIES:
            mask = RNG.random(n) < density
            m, here = np.array(mask), a.nbytes <= slot_words.MOST.value
            with packed(here):                          # (else Python is asked)
                found, calls = python_calls(operator.getitem, x, m)
            assert not calls or not here
            alike(found, a[mask])


@pytest.mark.parametrize("kept", [slice(1), slice(-1, None), slice(0), slice(3, 997), slice(None, None, 2)])
def test_masks_with_an_order(kept: slice) -> None:
    for n in 1000, 1024, 60_000:
        a, mask = values("d", n), numpy.zeros(n, bool)
        mask[kept] = True
        with packed(1):
            alike(np.array(a)[np.array(mask)], a[mask])


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_types_are_numpys(dtype: str) -> None:
    a, mask = values(dtype, 1000), RNG.random(1000) < 0.5
    with packed(0):
        found = np.asarray(a)[np.array(mask)]
    real = numpy.asarray(found)
    assert real.dtype == a.dtype
    numpy.testing.assert_array_equal(real, a[mask])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (30, 40), (10, 1, 100), (2, 3, 4, 50)])
def test_axes(shape: tuple[int, ...]) -> None:
    a, mask = values("f", shape), RNG.random(shape) < 0.5
    with packed(1):
        alike(np.array(a)[np.array(mask)], a[mask])


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 4, 5, 8, 33])
@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "f8", "c8", "c16", "g", "S3"])
def test_rows(dtype: str, columns: int) -> None:
    """A mask of the first axis: rows as long as one of the sizes are moved as one element is."""
    for n in 1, 31, 32, 1000, 3000:
        a = values(dtype, (n, columns)) if dtype != "S3" else numpy.full((n, columns), b"abc")
        x, length = np.asarray(a), a.itemsize * columns
        for density in DENSITIES:
            mask = RNG.random(n) < density
            m = np.array(mask)
            with packed(length in pack_bytes.SIZES and dtype != "S3"):
                found, calls = python_calls(operator.getitem, x, m)
            assert not calls or a.nbytes > slot_words.MOST.value
            expected = a[mask]
            real = numpy.asarray(found)
            assert real.dtype == expected.dtype and real.shape == expected.shape
            assert real.strides == expected.strides and real.tobytes() == expected.tobytes()
            assert found.flags.owndata == expected.flags.owndata
            assert (found.base is None) == (expected.base is None)


def test_rows_that_are_numpys() -> None:
    """Of more axes, of other layouts; masks that do not fit."""
    cube, mask = values("f4", (40, 3, 2)), RNG.random(40) < 0.5
    for a, m in (
        (cube, mask), (cube, RNG.random((40, 3)) < 0.5), (numpy.asfortranarray(cube[..., 0]), mask),
        (cube[:, ::2, 0], mask), (cube[:, 0], numpy.repeat(mask, 2)[::2]),
    ):  # fmt: skip
        found, expected = numpy.asarray(np.asarray(a)[np.asarray(m)]), a[m]
        assert found.strides == expected.strides and found.tobytes() == expected.tobytes()
    for a, m in (cube[..., 0], mask[:39]), (cube[..., 0], RNG.random((40, 2)) < 0.5):
        with pytest.raises(IndexError) as theirs:
            a[m]
        with pytest.raises(IndexError) as ours:
            np.array(a)[np.array(m)]
        assert str(ours.value) == str(theirs.value)


LAYS: dict[str, Callable[[numpy.ndarray], numpy.ndarray]] = {
    "every other one": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "columns first": lambda a: a.reshape(-1, 8).T,
    "spread": lambda a: numpy.broadcast_to(a[:50], (40, 50)),
}


@pytest.mark.parametrize("of_mask", [False, True])
@pytest.mark.parametrize("lay", LAYS.values(), ids=LAYS)
def test_what_does_not_lie_side_by_side_is_numpys(lay: Any, of_mask: bool) -> None:
    a, mask = lay(values("d", 4000)), lay(RNG.random(4000) < 0.4)
    a, mask = (a.copy(), mask) if of_mask else (a, mask.copy())
    x, m = np.asarray(a), np.asarray(mask)
    with packed(0):
        alike(x[m], a[mask])


def test_bytes_anywhere() -> None:
    raw = values("B", 8001)
    a, mask = numpy.frombuffer(raw, "d", 1000, 1), RNG.random(1000) < 0.4
    x, m = np.asarray(a), np.array(mask)
    assert not x.flags.aligned
    with packed(1):
        alike(x[m], a[mask])


def test_bytes_that_are_no_bools() -> None:
    """NumPy counts what nobody means, and gives as many elements."""
    a = values("d", 5000)
    for most in 2, 3, 256:
        mask = RNG.integers(0, most, 5000).astype(numpy.uint8).view(bool)
        assert len(np.array(a)[np.asarray(mask)]) == len(a[mask])


def test_numpys_masks() -> None:
    a, mask = values("d", 1000), RNG.random(1000) < 0.5
    x = np.array(a)
    with packed(1):
        found, calls = python_calls(operator.getitem, x, mask)
    assert not calls
    alike(found, a[mask])


def test_other_keys() -> None:
    """Masks of other shapes, of objects, arrays without axes; what is no mask."""
    a = values("d", (40, 50))
    x = np.array(a)
    for key in (
        RNG.random(40) < 0.5, numpy.array(True), numpy.array(False), RNG.integers(0, 40, (40, 50)),
        (RNG.random((40, 50)) < 0.5).astype(object).astype(bool)[:40], RNG.integers(0, 2, 40),
    ):  # fmt: skip
        alike(x[np.array(key)], a[key])
    zero, truth = np.array(5.0), np.array(True)
    with packed(0):
        alike(zero[truth], numpy.array(5.0)[numpy.array(True)])


UNLIKE = ((1000,), (999,)), ((40, 50), (50, 40)), ((40, 50), (2000,)), ((5,), (5, 1))


@pytest.mark.parametrize("shapes", UNLIKE)
def test_errors_are_numpys(shapes: Any) -> None:
    a, mask = numpy.zeros(shapes[0]), numpy.ones(shapes[1], bool)
    with pytest.raises(IndexError) as expected:
        a[mask]
    with packed(0), pytest.raises(IndexError) as found:
        np.array(a)[np.array(mask)]
    assert str(found.value) == str(expected.value)


def test_parts_of_large_arrays() -> None:
    real = RNG.random((600, 500))
    x = np.array(real) * 1
    m = x > 0.5
    np.evaluate(x, m)
    given, mask = real[3:9], real[3:9] > 0.5
    for part, key in (x[3:9], m[3:9]), (x[3:9], np.array(mask)), (np.array(given), m[3:9]):
        part[key]                                       # (finds the windows)
        with packed(1):
            found, calls = python_calls(operator.getitem, part, key)
        assert not calls
        alike(found, given[mask])
    with packed(0):
        alike(x[3:9, ::2][m[3:9, ::2]], given[:, ::2][mask[:, ::2]])


def test_results_are_memory_of_their_own() -> None:
    a = values("d", 1000)
    x = np.array(a)
    for mask in numpy.ones(1000, bool), RNG.random(1000) < 0.5:
        picked = x[np.array(mask)]
        x[:] = 7
        alike(picked, a[mask])
        picked[0] = 8
        assert (x == 7).all()
        x[:] = a


def test_larger_ones_while_the_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.random(300_000)
    x, m = np.array(a[:60_000]), np.array(a[:60_000] > 0.5)
    for word, number in (slot_words.LIMIT, 8 << 16), (slot_words.MOST, 8 << 20), (slot_words.UNTIL, 1 << 60):
        monkeypatch.setattr(word, "value", number)
    x = np.concatenate([x] * 5)
    m = np.concatenate([m] * 5)
    real, mask = numpy.asarray(x), numpy.asarray(m)
    assert x.storage is m.storage is None
    made = slot_words.MADE.value
    with packed(1):
        _, calls = python_calls(operator.getitem, x, m)
    assert not calls and slot_words.MADE.value == made + 1
    assert same(x[m], real[mask])


@pytest.mark.parametrize("changes", [{"jit": "never"}, {"cpu_level": "X86_V2"}], ids=str)
def test_settings_that_ask_for_other_code(changes: dict[str, Any]) -> None:
    a, mask = values("d", 1000), RNG.random(1000) < 0.5
    x, m = np.array(a), np.array(mask)
    with np.options(**changes), packed(0):
        alike(x[m], a[mask])
    with packed(1):
        alike(x[m], a[mask])


# ---------------------------------------------------------------------------------- positions


@pytest.mark.parametrize("dtype", [*"?bhilqfdgFDGeO", ">f8", "M8[s]", "V8", "U2"])
@pytest.mark.parametrize("of_key", ["i4", "u4", "i8", "u8", "i2", "u1", ">i4"])
def test_positions(dtype: str, of_key: str) -> None:
    """As NumPy has them, in its layouts: negative ones, of several axes, of parts."""
    real = values(dtype, 200) if numpy.dtype(dtype).kind not in "VU" else numpy.arange(200).astype(dtype)
    low = -50 if numpy.dtype(of_key).kind == "i" else 0
    for n in 0, 1, 2, 31, 1000:
        whole = RNG.integers(low, 50, 2 * n).astype(of_key)
        for key in whole[:n], whole[::2], whole.reshape(2, n), whole.reshape(2, n).T, whole.reshape(1, n, 2):
            for lay in LAYS["every other one"], LAYS["backwards"], lambda a: a[3:150], lambda a: a.copy():
                a, x = lay(real), lay(np.asarray(real))
                found, expected = numpy.asarray(x[np.asarray(key)]), a[key]
                assert found.dtype == expected.dtype and found.strides == expected.strides
                assert found.shape == expected.shape and found.flags.owndata == expected.flags.owndata
                if expected.dtype.char not in "gG":
                    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("of_key", ["i4", "u4"])
@pytest.mark.parametrize("position", [50, -51, 2**31 - 1, -(2**31), 2**32 - 1])
def test_positions_out_of_bounds(of_key: str, position: int) -> None:
    if not numpy.iinfo(of_key).min <= position <= numpy.iinfo(of_key).max:
        return
    real = values("d", 50)
    for key in numpy.array([position]), numpy.array([1, 2, position]), numpy.array([[0, 1], [position, 3]]):
        given = key.astype(of_key)
        with pytest.raises(IndexError) as expected:
            real[given]
        with pytest.raises(IndexError) as found:
            np.array(real)[np.array(given)]
        assert str(found.value) == str(expected.value)


def test_positions_of_half_a_word_run_no_python() -> None:
    for dtype in "ilfdFD":
        x = np.array(values(dtype, 100))
        for of_key in "iI":
            assert python_calls(operator.getitem, x, np.array(numpy.arange(40, dtype=of_key)))[1] == 0


# ------------------------------------------------------------------------------------- writes


def outcome(a: Any, key: Any, value: Any) -> tuple[Any, ...]:
    """What an assignment raises, and warns of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            a[key] = value
            raised = None
        except Exception as error:
            raised = type(error), str(error)
    return raised, [(w.category, str(w.message)) for w in heard]


@pytest.mark.parametrize("dtype", PACKS)
def test_arrays_assigned(dtype: str) -> None:
    for n in LENGTHS:
        for density in DENSITIES:
            a, mask = values(dtype, n), RNG.random(n) < density
            x, given = np.array(a), values(a.dtype, int(mask.sum()))
            with packed(is_small(a)):
                _, calls = python_calls(operator.setitem, x, np.array(mask), np.array(given))
            assert not calls or not is_small(a)
            a[mask] = given
            assert numpy.asarray(x).tobytes() == a.tobytes()


NUMBERS = (
    0, -1, 3, 255, 256, 2**31, 2**63, 2**64, True, 0.5, -2.7, 1e39, 1e300, float("nan"), float("inf"), -0.0,
    *[numpy.dtype(c).type(v) for c in "?bBhHiIlLqQefd" for v in (0, 100)],
    numpy.int64(-1), numpy.int64(300), numpy.float64("nan"), numpy.float64(1e300),
)  # fmt: skip
ODD = (
    1j, "5", "a", b"5", None, [1], [1, 2], (3,), numpy.datetime64(5, "s"), numpy.array(3.5),
    numpy.array([7.5]),
)  # fmt: skip


@pytest.mark.parametrize("dtype", PACKS)
def test_scalars_assigned(dtype: str) -> None:
    """Cast as NumPy casts them, with its errors and warnings, whether anything is kept or not."""
    for n, density in (100, 0.5), (40, 0.0), (64, 1.0), (1000, 0.9):
        for value in (*NUMBERS, *ODD):
            a, mask = values(dtype, n), RNG.random(n) < density
            x = np.array(a)
            assert outcome(x, np.array(mask), value) == outcome(a, mask, value), value
            with numpy.errstate(invalid="ignore"):      # (long doubles of any bytes)
                same_values, now = numpy.asarray(x) == a, numpy.asarray(x)
                assert (same_values | ((a != a) & (now != now))).all(), value


@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
def test_scalars_run_no_python(dtype: str) -> None:
    x, m = np.array(values(dtype, 1000)), np.array(RNG.random(1000) < 0.5)
    for value in (1, True, numpy.dtype(dtype).type(1), *([0.5, numpy.float64(2)] if dtype in "fd" else [])):
        with packed(1):
            _, calls = python_calls(operator.setitem, x, m, value)
        assert not calls and (x[m] == value).all()


def test_errors_of_casts_are_raised_once() -> None:
    x, m = np.array(numpy.zeros(100, "i4")), np.array(numpy.ones(100, bool))
    heard: list[Any] = []
    with numpy.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        x[m] = numpy.float64("nan")
    with numpy.errstate(invalid="call", call=lambda *args: heard.append(args)):
        x[m] = numpy.float64("inf")
    assert len(heard) == 1


def test_values_that_do_not_fit() -> None:
    for kept in 0, 1, 5, 100:
        mask = numpy.arange(100) < kept
        for size in 0, 1, 4, 5, 6, 100:
            for char in "df":
                a, given = values("d", 100), numpy.arange(size).astype(char)
                x = np.array(a)
                assert outcome(x, np.array(mask), np.array(given)) == outcome(a, mask, given)
                assert numpy.asarray(x).tobytes() == a.tobytes()


def test_memory_in_common() -> None:
    """Whatever NumPy makes of it."""
    for n in 10, 100, 1000:
        a = RNG.random(2 * n)
        x = np.array(a)
        mask = RNG.random(n) < 0.5
        kept = int(mask.sum())
        for at in 0, 1, n // 2, n - 1:
            a[:n][mask], x[:n][np.array(mask)] = a[at : at + kept], x[at : at + kept]
            assert same(x, a)
        flags = RNG.random(2 * n) < 0.5
        y = np.array(flags)
        for at in 0, 1, n // 2, n:
            with packed(at == n):
                y[:n][y[at : at + n]] = False
            flags[:n][flags[at : at + n]] = False
            assert same(y, flags)


def test_nothing_else_is_written() -> None:
    """Not even what was there: other threads may write between the elements."""
    a, mask = numpy.arange(4096.0), RNG.random(4096) < 0.5
    mask[:64], mask[64:128] = True, False
    x, m, stop, lost = np.array(a), np.array(mask), threading.Event(), []
    x[m] = 0
    real, others = numpy.asarray(x), numpy.flatnonzero(~mask)

    def run() -> None:
        k = 0.0
        while not stop.is_set():
            k += 1
            real[others] = k
            if not (real[others] == k).all():
                lost.append(k)

    thread = threading.Thread(target=run)
    thread.start()
    for k in range(2000):
        x[m] = float(-k)
    stop.set()
    thread.join()
    assert not lost and (real[mask] == -1999).all()


def test_arrays_that_must_not_be_written() -> None:
    x, m = np.array(numpy.zeros(100)), np.array(numpy.zeros(100, bool))
    x.flags.writeable = False
    with packed(0), pytest.raises(ValueError, match="read-only"):
        x[m] = 1


def test_parts_assigned() -> None:
    real = RNG.random((600, 500))
    x = np.array(real) * 1
    m = x > 0.5
    np.evaluate(x, m)
    mask, given = real > 0.5, RNG.random(500)
    for value in 2.5, 7, numpy.arange(3000.0)[: int(mask[3:9].sum())]:
        ours = np.array(value) if isinstance(value, numpy.ndarray) else value
        x[3:9][m[3:9]] = ours
        with packed(1):
            x[3:9][m[3:9]] = ours
        real[3:9][mask[3:9]] = value
        assert same(x[:10] * 1, real[:10])
    row, key = np.array(given), np.array(mask[0])
    with packed(1):
        row[m[0]] = 5.0
    given[mask[0]] = 5.0
    assert same(row, given)
    part = int(mask[0].sum())
    with packed(1):
        row[key] = x[5, :part]
    given[mask[0]] = real[5, :part]
    assert same(row, given)


# ------------------------------------------------------------------------- until there is code


@pytest.fixture
def without() -> Iterator[None]:
    """As long as it is not there."""
    tables, left, elements = (PACKERS, SPREADERS), PACKING.left, UNPACKED.value
    code = [list(table) for table in tables]
    for table in tables:
        table[:] = [0] * len(table)
    yield
    for table, addresses in zip(tables, code, strict=True):
        table[:] = addresses
    PACKING.left, UNPACKED.value = left, elements


def pick() -> None:
    a, mask = values("d", 1000), RNG.random(1000) < 0.5
    alike(np.array(a)[np.array(mask)], a[mask])


def put() -> None:
    x, mask = np.array(numpy.zeros(1000)), RNG.random(1000) < 0.5
    x[np.array(mask)] = 1
    assert same(x == 1, mask)


def test_code_is_looked_for_after_many_elements(without: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(compiles: bool) -> bool:
        asked.append(compiles)
        return compiles

    monkeypatch.setattr(PACKING, "load", load)
    monkeypatch.setattr(PACKING, "compiles", False)
    PACKING.left, UNPACKED.value = packing.PAYS, -5000
    for _ in range(3):
        pick()
    assert not asked and UNPACKED.value > -5000
    for _ in range(2):
        pick()
    assert asked == [False] and PACKING.left == packing.WRITING_PAYS
    assert UNPACKED.value <= -packing.OF_SLOTS * packing.WRITING_PAYS + 5000
    UNPACKED.value = -1
    pick()
    assert asked == [False, True] and PACKING.left < 0 and UNPACKED.value == packing.NEVER
    pick()
    assert asked == [False, True]


def test_loading_it_for_the_usual_target_gives_it_to_slots(without: None) -> None:
    with np.options(cpu_level="X86_V2"):
        PACKING.load(True)
    assert not any(PACKERS)
    PACKING.load(True)
    for table in PACKERS, SPREADERS:
        assert [size for size, address in enumerate(table) if address] == [*pack_bytes.SIZES]


@pytest.mark.parametrize("act", [pick, put])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RecursionError, IndexError])
def test_what_is_raised_meanwhile(
    without: None, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], act: Callable[[], None]
) -> None:
    def raises() -> None:
        UNPACKED.value = packing.NEVER
        raise error

    monkeypatch.setattr(PACKING, "hear_slots", raises)
    UNPACKED.value = -1
    if error is RecursionError or (error is IndexError and act is pick):    # (as if NumPy had not taken it)
        act()
    else:
        with pytest.raises(error):
            act()
    act()


def test_arrays_that_change_meanwhile(without: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a turn while the code is looked for may do anything to the array."""
    a, mask = values("d", 1000), RNG.random(1000) < 0.5
    x, m = np.array(a), np.array(mask)

    def turn() -> None:
        UNPACKED.value = packing.NEVER
        m.resize(3, refcheck=False)

    monkeypatch.setattr(PACKING, "hear_slots", turn)
    UNPACKED.value = -1
    with suppress(IndexError, ValueError):
        x[m]
    assert same(x[np.array(mask)], a[mask])


# ----------------------------------------------------------------------- threads and processes


def test_threads() -> None:
    a = values("l", 20_000)
    x, wrong = np.array(a), []

    def run(seed: int) -> None:
        rng = numpy.random.default_rng(seed)
        for _ in range(50):
            mask = rng.random(a.size) < rng.random()
            if not same(x[np.array(mask)], a[mask]):
                wrong.append(seed)

    numbered_at_once(run)
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children() -> None:
    a, mask = values("d", 5000), RNG.random(5000) < 0.5
    x, m = np.array(a), np.array(mask)
    child = os.fork()
    if not child:
        before = PACKED.value
        os._exit(0 if same(x[m], a[mask]) and PACKED.value == before + 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
