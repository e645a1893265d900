"""Calls of compiled functions on small arrays by machine code: what Python and NumPy would have done."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiling.short import Last, Way
from lazyarr.compiling.small import Small
from lazyarr.config import OBSERVED
from lazyarr.counters import COUNT
from tests.compiling.conftest import drawn, heard, met_by, same, same_and_warned

met = partial(met_by, Last)
pytestmark = pytest.mark.usefixtures("code", "planned")


@pytest.fixture
def planned() -> Iterator[None]:
    with np.options(plan="always"):
        yield


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    return heard(Last, monkeypatch)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "one kernel": lambda np, x, y: x * 2 + y - 1,
    "NumPy's loops": lambda np, x, y: np.exp(x) * np.arctan2(x, y),
    "scalar": lambda np, x, y: (x * y).sum(),
    "two": lambda np, x, y: (np.maximum(x, y), x.mean()),
    "one in a tuple": lambda np, x, y: (x - y,),
    "several kernels": lambda np, x, y: np.exp(x - x.max()) / np.exp(x - x.max()).sum() + y,
    "truth values": lambda np, x, y: (x > y) & (y > 0),
    "columns": lambda np, x, y: (x.T + y.T) * 2,
    "sums": lambda np, x, y: (x.sum(axis=0), x.max(axis=-1)),
}


OF_NOTHING = "one kernel", "truth values", "one in a tuple", "NumPy's loops"
"""Those without extrema."""

CASES = [(name, shape) for name in PROGRAMS for shape in [(), (1,), (7,), (10, 3), (2, 3, 4)]]
CASES += [(name, shape) for name in OF_NOTHING for shape in [(0,), (3, 0)]]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_bits_of_numpy(name: str, shape: tuple[int, ...], dtype: str) -> None:
    """Whatever arrays a call gives, for arrays of ours and of NumPy's."""
    program = PROGRAMS[name]
    for kind in (np.array, numpy.array):
        f = np.compile(lambda x, y: program(np, x, y))
        for seed in range(8):
            x, y = drawn(seed, shape, shape, dtype=dtype)
            same(f(kind(x), kind(y)), program(numpy, x, y))


@pytest.mark.parametrize("kind", [np.array, numpy.array])
def test_nothing_of_pythons_runs(kind: Any, by_python: list[Way], code: Any) -> None:
    """Kernels and calls are counted as Python counts them; results are of the types that it gives."""
    f = np.compile(lambda x, y, k: (x * y + k, np.sqrt(abs(x)).sum()))
    x, y = map(kind, drawn(1, 50, 50))
    way = met(f, x, y, 2.5)
    before = len(by_python), COUNT.traced_calls, COUNT.native_launches, COUNT.fused_ops
    found = [f(x, y, k) for k in (0.5, -1.0, 7.25)]
    after = len(by_python), COUNT.traced_calls, COUNT.native_launches, COUNT.fused_ops
    each = 0 if code is not None else 1, 1, way.replay.kernels, way.replay.ops
    assert after == tuple([b + 3 * e for b, e in zip(before, each, strict=True)])
    for k, (array, total) in zip((0.5, -1.0, 7.25), found, strict=True):
        assert type(array) is (np.ndarray if kind is np.array else numpy.ndarray)
        assert type(total) is numpy.float64
        real, other = numpy.asarray(x), numpy.asarray(y)
        same((array, total), (real * other + k, numpy.sqrt(abs(real)).sum()))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_numbers(dtype: str) -> None:
    """Numbers of the call: of the type before, at the limits of kernels' types, and of other types."""
    f, (x,) = np.compile(lambda x, k: x * k + 1), drawn(4, 20, dtype=dtype)
    a = np.array(x)
    floats = [2.0, -0.0, 0.1, numpy.inf, -numpy.inf, numpy.nan, 1e-46, 3.4028234e38, 1e300, -1e-320]
    ints = [2, 0, 1 << 40, -(1 << 53), (1 << 53) + 1, -1, 1 << 62, -7]
    others = [True, numpy.float32(0.1), 7.5, 1j, numpy.int8(3), 5]
    for given in (floats, ints, others, floats[::-1]):
        met(f, a, 3.0)
        for k in given:
            same_and_warned(lambda k=k: f(a, k), lambda k=k: x * k + 1)


def test_other_arguments() -> None:
    """Other shapes, strides, types, places and numbers of arguments, in turn with those known."""
    f = np.compile(lambda x, y: x + y * 2)
    x, y = drawn(2, (8, 6), (8, 6))
    packed = numpy.zeros(1, [("pad", "i1"), ("x", "f8", (8, 6))])
    packed["x"][0] = x
    others = [
        (x.T, y.T), (x[::2], y[::2]), (x[:, ::-1], y), (x, y[0]), (x.astype("f4"), y), (packed["x"][0], y),
        (numpy.asfortranarray(x), y), (x, 3.0), (x, numpy.float64(3)), (x.byteswap().view(">f8"), y),
        (x.astype(complex), y), (numpy.ma.array(x), y),
    ]  # fmt: skip
    for pair in others:
        met(f, np.array(x), np.array(y))
        for kind in (np.asarray, numpy.asarray):
            given = [kind(z) if type(z) is numpy.ndarray else z for z in pair]
            wanted = pair[0] + numpy.asarray(pair[1]) * 2
            same(f(*given), wanted if type(wanted) is numpy.ndarray else numpy.asarray(wanted))
    way = met(f, np.array(x), np.array(y))
    for wrong in ((x,), (x, y, x), ()):
        with pytest.raises(TypeError, match="argument"):
            f(*wrong)
    assert f._known.last is way


def test_defaults_and_names(by_python: list[Way], code: Any) -> None:
    """Arguments that are not given, or by name, are as known as others."""

    def f(x: Any, k: float = 2.0, *, shift: float = 0.5) -> Any:
        return x * k + shift

    g, (x,) = np.compile(f), drawn(3, 30)
    a = np.array(x)
    met(g, a)
    before = len(by_python)
    same(g(a), x * 2.0 + 0.5)
    same(g(a, 3.0), x * 3.0 + 0.5)
    same(g(a, k=4.0, shift=1.5), x * 4.0 + 1.5)
    same(g(shift=1.5, x=a), x * 2.0 + 1.5)
    assert (len(by_python) == before) == (code is not None)
    for wrong in ((), (a, 2.0, 0.5), (a, 2.0, 0.5, 1.0)):
        with pytest.raises(TypeError, match="positional argument"):
            g(*wrong)
    f.__defaults__ = (7.0,)
    same(g(a), x * 7.0 + 0.5)
    f.__kwdefaults__["shift"] = 2.5
    same(g(a), x * 7.0 + 2.5)
    f.__code__ = (lambda x, y: x - y).__code__
    with pytest.raises(TypeError):
        g(a, k=4.0)
    same(g(a), x - 7.0)


def test_what_counts_by_its_value(by_python: list[Way], code: Any) -> None:
    """An axis, a flag, a name: another one is another kind of calls."""
    f = np.compile(lambda x, axis, keepdims, dtype: x.sum(axis=axis, keepdims=keepdims, dtype=dtype))
    (x,) = drawn(3, (6, 5))
    a = np.array(x)
    kinds = [(0, True, None), (1, False, "f4"), (-1, False, None), (None, False, None), ((0, 1), True, None)]
    for kind in kinds * 2:
        way = met(f, a, *kind)
        before = len(by_python)
        same(f(a, *kind), x.sum(axis=kind[0], keepdims=kind[1], dtype=kind[2]))
        assert (len(by_python) == before) == (code is not None)
    assert f._known.last is way
    with pytest.raises(numpy.exceptions.AxisError):
        f(a, 7, False, None)


def test_flags() -> None:
    """NumPy's warnings, and what error states ask for."""
    f, (x,) = np.compile(lambda x: 1 / x), drawn(4, 20)
    met(f, np.array(x))
    zeros = x.copy()
    zeros[3] = 0
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            found = f(np.array(zeros))
        with numpy.errstate(divide="ignore"):
            same(found, 1 / zeros)
            same(f(np.array(zeros)), 1 / zeros)
        same(f(np.array(x)), 1 / x)
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        f(np.array(zeros))
    with numpy.errstate(under="warn"), pytest.warns(RuntimeWarning, match="underflow"):
        np.evaluate(np.compile(lambda x: x * 1e-300 * 1e-300)(np.array(x)))


def test_names_that_change() -> None:
    k = 2.0

    def inner(x: Any) -> Any:
        return x * k

    def outer(x: Any) -> Any:
        return inner(x) + 1

    f, (x,) = np.compile(outer), drawn(4, 20)
    met(f, np.array(x))
    for _ in range(3):
        k += 1
        for _ in range(6):
            same(f(np.array(x)), x * k + 1)
    inner.__code__ = (lambda x: x - 5).__code__ if not inner.__code__.co_freevars else inner.__code__
    same(f(np.array(x)), x * k + 1)


def test_who_looks_on() -> None:
    """A watcher sees what Python does."""
    f, (x,) = np.compile(lambda x: x * 2), drawn(4, 20)
    met(f, np.array(x))
    OBSERVED.append(lambda *_: None)
    before = COUNT.traced_calls
    same(f(np.array(x)), x * 2)
    assert COUNT.traced_calls == before
    OBSERVED.clear()
    same(f(np.array(x)), x * 2)
    assert COUNT.traced_calls == before + 1


def test_nothing_is_kept() -> None:
    """Thousands of calls leave as many objects as some; and arguments and results can go."""
    f = np.compile(lambda x, k: (x * k, x.max()))
    (x,) = drawn(5, 40)
    a, theirs = np.array(x), x
    ways = [met(f, a, 2.0, calls=20), met(f, theirs, 2.0, calls=20)]

    def counted() -> list[int]:
        gc.collect()
        watched = (None, True, False, 0, (), a.geo, a, theirs, x.dtype, ways[0].options, np.ndarray)
        return [len(gc.get_objects()), *map(sys.getrefcount, watched)]

    for given in (a, theirs):
        met(f, given, 2.0)
        counted()
        before = counted()
        for _ in range(3000):
            f(given, 2.5)
        assert max(y - x for x, y in zip(before, counted(), strict=True)) < 40
    results = [f(a, float(k)) for k in range(50)]
    for k, (array, largest) in enumerate(results):
        same((array, largest), (x * float(k), x.max()))
    assert len({numpy.asarray(array).ctypes.data for array, _ in results}) == len(results)


def test_kernels_hear_what_they_ran(monkeypatch: pytest.MonkeyPatch, code: Any) -> None:
    """Once in a thousand calls."""
    f, (x,) = np.compile(lambda x: x * 2), drawn(4, 20)
    way, heard = met(f, np.array(x)), list[Any]()
    monkeypatch.setattr(Small, "heard", lambda self: heard.append(self))
    for _ in range(4096):
        f(x := np.array(x))
    assert len(heard) == 4
    assert {*heard} == {way.replay}


def test_threads() -> None:
    """Calls of several threads at a time."""
    f = np.compile(lambda x, k: x * k + 1)
    met(f, np.array(numpy.ones(10)), 2.0)
    wrong = list[Any]()

    def run(seed: int) -> None:
        (x,) = drawn(seed, 10)
        a = np.array(x)
        for k in range(2000):
            if numpy.asarray(f(a, float(k))).tobytes() != (x * float(k) + 1).tobytes():
                wrong.append((seed, k))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_shapes_in_turn(by_python: list[Way], code: Any) -> None:
    """Some shapes that take turns are all known; of more, the last ones."""
    f = np.compile(lambda x, k: (x * k - 1, x.sum()))
    for count in (2, 8, 12):
        given = [(np.array(x), x) for x in drawn(7, *range(3, 3 + count))]
        for _ in range(12):
            for a, x in given:
                same(f(a, 2.0), (x * 2.0 - 1, x.sum()))
        before = len(by_python), COUNT.traced_calls
        for a, x in given:
            same(f(a, 3.0), (x * 3.0 - 1, x.sum()))
        assert COUNT.traced_calls == before[1] + count
        if count <= 8 and code is not None:
            assert len(by_python) == before[0]


def test_flags_beside_other_shapes() -> None:
    """Where flags were raised once, the next ways are not tried in vain."""
    f = np.compile(lambda x: 1 / x)
    for n in (4, 5, 6):
        met(f, np.array(drawn(1, n)[0]))
    zeros = numpy.zeros(5)
    for _ in range(10):
        with pytest.warns(RuntimeWarning, match="divide by zero") as said:
            same(f(np.array(zeros)), numpy.full(5, numpy.inf))
        assert len(said) == 1
        for n in (4, 6, 5):
            (x,) = drawn(2, n)
            same(f(np.array(x)), 1 / x)


@pytest.mark.parametrize("kind", [np.array, numpy.array])
def test_types_in_turn(kind: Any) -> None:
    f = np.compile(lambda x: x.sum() + x)
    for _ in range(8):
        for dtype in ("f8", "f4", "i8", "c16", "f8"):
            (x,) = drawn(3, (4, 3), dtype=dtype)
            same(f(kind(x)), x.sum() + x)
            same(f(kind(x).T), x.T.sum() + x.T)


def decay(x: Any, y: Any) -> None:
    y *= 0.5
    y += x


def inner(x: Any, y: Any) -> Any:
    y[1:-1] = (x[2:] + x[:-2]) * 0.5 - y[1:-1]
    return y.sum(), x - 1


def both(x: Any, y: Any) -> None:
    x[::2] = y[::2] + 1
    y[1::2] = x[1::2] * 2


@pytest.mark.parametrize("kind", [np.array, numpy.array])
@pytest.mark.parametrize("program", [decay, inner, both])
def test_writes(program: Callable[..., Any], kind: Any, by_python: list[Way], code: Any) -> None:
    """Arguments are written to as the function itself does, also parts of them, and of others' memory."""
    f = np.compile(program)
    for layout in (lambda z: z, lambda z: z[::-1], lambda z: z[:, 1:-2], lambda z: z.T):
        ours, theirs = ([layout(make(z)) for z in drawn(8, (9, 9), (9, 9))] for make in (kind, numpy.array))
        for _ in range(8):
            same(f(*ours) or (), program(*theirs) or ())
            for x, y in zip(ours, theirs, strict=True):
                assert numpy.asarray(x).tobytes() == y.tobytes()
        before = len(by_python), COUNT.traced_calls
        same(f(*ours) or (), program(*theirs) or ())
        assert (len(by_python) == before[0]) == (code is not None)
        assert COUNT.traced_calls == before[1] + 1
        for x, y in zip(ours, theirs, strict=True):
            assert numpy.asarray(x).tobytes() == y.tobytes()


def test_writes_that_are_refused() -> None:
    """Overlaps, arrays that are read-only, and flags: nothing is half-written."""
    f = np.compile(inner)
    make = lambda: numpy.linspace(1, 2, 12)  # noqa: E731
    for _ in range(8):
        f(np.array(make()), np.array(make()))
    for shift in (0, 1, 2, -1):
        ours, theirs = np.array(numpy.linspace(1, 2, 20)), numpy.linspace(1, 2, 20)
        for both in (ours, theirs):
            (f if both is ours else inner)(both[4:16], both[4 + shift : 16 + shift])
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()
    locked = np.array(make())
    locked.flags.writeable = False
    before = numpy.asarray(locked).tobytes()
    with pytest.raises(ValueError, match="read-only"):
        f(np.array(make()), locked)
    assert numpy.asarray(locked).tobytes() == before
    g = np.compile(divided)
    for _ in range(8):
        g(np.array(make()), np.array(make()))
    for _ in range(4):
        x, y = make(), make()
        x[3] = 0
        ours = np.array(y)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            g(np.array(x), ours)
        with numpy.errstate(divide="ignore"):
            divided(x, y)
        assert numpy.asarray(ours).tobytes() == y.tobytes()
    ours = np.array(make())
    before = numpy.asarray(ours).tobytes()
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        g(np.array(numpy.zeros(12)), ours)


def divided(x: Any, y: Any) -> None:
    y += 1
    y /= x


def test_a_row_stays(code: Any) -> None:
    """Calls take no lock, so another thread may be about to use it: nobody writes another one."""
    f, (x,) = np.compile(lambda x: x * 2), drawn(4, 20)
    way = met(f, np.array(x))
    row, refers = way.row, way._refers
    if code is not None:
        assert way._tell()
    assert way.row is row and way._refers is refers
