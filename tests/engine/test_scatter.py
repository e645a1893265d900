"""Writes to integer positions: NumPy's values, order, errors; the loops that compute the value store it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from indexed import CHARS, POSITIONS, RNG, Program, alike, positions, values

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.dispatch.levels import host_levels
from lazyarr.expr import Scatter

pytestmark = pytest.mark.usefixtures("each_way")


def waits(x: Any) -> bool:
    """Is the last write to an array a scatter that nobody computed yet?"""
    return isinstance(x.storage.value.op, Scatter)


@pytest.mark.parametrize("char", CHARS)
def test_dtypes(char: str) -> None:
    a, v, i = values(char, 999), values(char, 2003), positions(999, 2003)

    def program(np: Any, array: Any) -> Any:
        x, y = array(a), array(a).reshape(27, 37)
        x[array(i)] = array(v)
        y[array(i) % 27] = array(v[:37])
        return np.concatenate([x, y.ravel()])

    alike(program)


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("source", CHARS)
def test_casts(char: str, source: str) -> None:
    a, v, i = values(char, 99), values(source, 203), positions(99, 203)

    def program(np: Any, array: Any) -> Any:
        x = array(a)
        x[array(i)] = array(v)
        x[array(i[:5])] = v[7]
        return x

    alike(program)


@pytest.mark.parametrize("char", POSITIONS)
def test_dtypes_of_positions(char: str) -> None:
    a, i = values("d", 100), positions(100, 1001, char)

    def program(np: Any, array: Any) -> Any:
        x = array(a)
        x[array(i)] = array(numpy.arange(1001.0)) * 2
        return x

    alike(program)


@pytest.mark.parametrize("per_place", [3, 0.5])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 1000, 65_537, 200_001])
def test_lengths(n: int, per_place: float) -> None:
    m = max(1, int(n / per_place))
    i, v = positions(m, n), RNG.random(n)

    def program(np: Any, array: Any) -> Any:
        x, y = np.zeros(m), np.zeros(m, "f4")
        x[array(i)] = np.sqrt(array(v)) + 1
        y[array(i)] = array(v)
        return x + y

    alike(program)


C, B = values("d", (12, 13, 14)), values("d", (60, 50))
K12, K13, K14 = (positions(n, 300) for n in (12, 13, 14))
I60, I50 = positions(60, (40, 30)), positions(50, (40, 30))


def new(*shape: int) -> numpy.ndarray:
    return RNG.random(shape)


WRITES: dict[str, tuple[numpy.ndarray, Callable[[Any, Any, Any], Any], numpy.ndarray]] = {
    "first axis": (C, lambda np, x, v: x.__setitem__(np.array(K12), v), new(300, 13, 14)),
    "middle axis": (C, lambda np, x, v: x.__setitem__((slice(None), np.array(K13)), v), new(12, 300, 14)),
    "last axis": (C, lambda np, x, v: x.__setitem__((..., np.array(K14)), v), new(12, 13, 300)),
    "neighbours": (
        C, lambda np, x, v: x.__setitem__((slice(None), np.array(K13), np.array(K14)), v), new(12, 300),
    ),
    "apart": (
        C, lambda np, x, v: x.__setitem__((np.array(K12), slice(None), np.array(K14)), v), new(300, 13),
    ),
    "all": (C, lambda np, x, v: x.__setitem__((np.array(K12), np.array(K13), np.array(K14)), v), new(300)),
    "with a number": (C, lambda np, x, v: x.__setitem__((2, np.array(K13)), v), new(300, 14)),
    "with a number behind": (
        C, lambda np, x, v: x.__setitem__((slice(None), np.array(K13), -3), v), new(12, 300),
    ),
    "with a new axis": (C, lambda np, x, v: x.__setitem__((None, np.array(K12)), v), new(1, 300, 13, 14)),
    "of slices": (
        C, lambda np, x, v: x[::2, :, ::-1].__setitem__((slice(None), np.array(K13)), v), new(6, 300, 14),
    ),
    "a list": (C, lambda np, x, v: x.__setitem__(([1, -2, 1], np.array(K13[:3])), v), new(3, 14)),
    "two axes": (B, lambda np, x, v: x.__setitem__((np.array(I60), np.array(I50)), v), new(40, 30)),
    "turned positions": (
        B, lambda np, x, v: x.__setitem__((np.array(I60).T, np.array(I50).T), v), new(30, 40),
    ),
    "turned value": (B, lambda np, x, v: x.__setitem__((np.array(I60), np.array(I50)), v.T), new(30, 40)),
    "all turned": (B, lambda np, x, v: x.__setitem__((np.array(I60).T, np.array(I50).T), v.T), new(40, 30)),
    "reversed": (B, lambda np, x, v: x.__setitem__(np.array(K13)[::-1], v), new(300, 50)),
    "reversed value": (B, lambda np, x, v: x.__setitem__(np.array(K13), v[::-1]), new(300, 50)),
    "both reversed": (B.ravel(), lambda np, x, v: x.__setitem__(np.array(K13)[::-1], v[::-1]), new(300)),
    "both reversed, rows": (B, lambda np, x, v: x.__setitem__(np.array(K13)[::-1], v[::-1]), new(300, 50)),
    "reversed, cast": (
        B.ravel(), lambda np, x, v: x.__setitem__(np.array(K13)[::-1], v), new(300).astype("f"),
    ),
    "broadcast positions": (
        B, lambda np, x, v: x.__setitem__((np.array(I60[:, :1]), np.array(I50[:1])), v), new(40, 30),
    ),
    "ix_": (
        C,
        lambda np, x, v: x.__setitem__(np.ix_(np.array(K12[:50]), np.array(K13[:20]), np.array(K14[:10])), v),
        new(50, 20, 10),
    ),
    "one value for all": (B, lambda np, x, v: x.__setitem__((np.array(I60), np.array(I50)), 7), new(1)),
    "one row for all": (B, lambda np, x, v: x.__setitem__(np.array(K13), v), new(50)),
    "one column for all": (B, lambda np, x, v: x.__setitem__(np.array(K13), v), new(300, 1)),
    "without axes": (B, lambda np, x, v: x.__setitem__(np.array(K13), v[3]), new(5)),
    "more axes": (B, lambda np, x, v: x.__setitem__(np.array(K13), v), new(1, 1, 300, 50)),
    "a transposed table": (B, lambda np, x, v: x.T.__setitem__(np.array(K13), v), new(300, 60)),
    "a reversed table": (B, lambda np, x, v: x[::-1, ::-1].__setitem__(np.array(K13), v), new(300, 50)),
    "a column": (B, lambda np, x, v: x[:, 3].__setitem__(np.array(K13), v), new(300)),
    "every third": (B.ravel(), lambda np, x, v: x[1::3].__setitem__(np.array(K13), v), new(300)),
    "few columns": (B[:, :3].copy(), lambda np, x, v: x.__setitem__(np.array(K13), v), new(300, 3)),
    "nothing": (B, lambda np, x, v: x.__setitem__(np.array(K13[:0]), v), new(0, 50)),
    "rising": (B, lambda np, x, v: x.__setitem__(np.arange(5, 45), v), new(40, 50)),
    "rising round the end": (B.ravel(), lambda np, x, v: x.__setitem__(np.arange(-9, 2991), v), new(3000)),
    "of the value": (B.ravel(), lambda np, x, v: x.__setitem__(np.argsort(v), v), new(3000)),
    "computed": (B.ravel(), lambda np, x, v: x.__setitem__((np.array(K12) * 31 + np.array(K13)) % 2000, v),
                 new(300)),
    "put": (B, lambda np, x, v: np.put(x, np.array(I60), v), new(40, 30)),
    "put one": (B, lambda np, x, v: np.put(x, np.array(I60), 3), new(1)),
    "put few": (B, lambda np, x, v: np.put(x, np.array(I60), v), new(7)),
    "put wrapped": (B, lambda np, x, v: np.put(x, np.array(I60) * 91, v, mode="wrap"), new(40, 30)),
    "put clipped": (B, lambda np, x, v: x.put(np.array(I60) * 91, v, "clip"), new(40, 30)),
    "put turned": (B, lambda np, x, v: np.put(x, np.array(I60).T, v[::-1].T), new(40, 30)),
    "put into columns": (B, lambda np, x, v: np.put(x.T, np.array(I60), v), new(40, 30)),
    "along the last": (
        B, lambda np, x, v: np.put_along_axis(x, np.array(numpy.resize(I50, (60, 20))), v, 1), new(60, 20),
    ),
    "along the first": (
        B, lambda np, x, v: np.put_along_axis(x, np.array(numpy.resize(I60, (9, 50))), v, 0), new(9, 50),
    ),
    "along a middle one": (
        C, lambda np, x, v: np.put_along_axis(x, np.array(numpy.resize(K13, (12, 5, 14))), v, 1),
        new(12, 1, 14),
    ),
    "along, one value": (
        B, lambda np, x, v: np.put_along_axis(x, np.array(numpy.resize(I60, (9, 50))), 7, 0), new(1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, computed: bool) -> None:
    """Of a value that lies there, and of one that is to be computed."""
    given, write, v = WRITES[name]

    def program(np: Any, array: Any) -> Any:
        x = array(given)
        write(np, x, array(v) * 3 + 1 if computed else array(v))
        return x

    alike(program)


ALIASED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "picked from itself": lambda np, a, i: a.__setitem__(i, a[i[::-1].copy()]),
    "itself": lambda np, a, i: a.__setitem__(i, a),
    "itself reversed": lambda np, a, i: a.__setitem__(i, a[::-1]),
    "half of itself": lambda np, a, i: a[:2000].__setitem__(i[:2000] % 2000, a[2000:4000]),
    "overlapping halves": lambda np, a, i: a[:3000].__setitem__(i[:3000] % 3000, a[1000:4000]),
    "added": lambda np, a, i: a.__setitem__(i, a[i] + 1),
    "in place": lambda np, a, i: a.__setitem__(i, a[i].__iadd__(1)),
    "twice": lambda np, a, i: (a.__setitem__(i, 1), a.__setitem__(i[::2], a[i[::2]] * 7)),
    "after a write": lambda np, a, i: (a.__iadd__(5), a.__setitem__(i, a[::-1] * 2)),
    "before a write": lambda np, a, i: (a.__setitem__(i, a[::-1] * 2), a.__iadd__(a[i])),
    "of its positions": lambda np, a, i: (a.__setitem__(i, i * 2), i.__setitem__(i, i[::-1].copy())),
    "zeros where positions say": lambda np, a, i: i.__setitem__(i, 0),
    "positions from itself": lambda np, a, i: i.__setitem__(i[i], i),
    "positions that change": lambda np, a, i: (a.__setitem__(i, i), i.__setitem__(slice(None), 3)),
    "put from itself": lambda np, a, i: np.put(a, i, a),
    "put where itself says": lambda np, a, i: np.put(i, i.copy(), i),
}


@pytest.mark.parametrize("name", ALIASED)
def test_memory_in_common(name: str) -> None:
    start, places = RNG.random(5000), positions(5000, 5000)

    def program(np: Any, array: Any) -> Any:
        a, i = array(start), array(places)
        b = a + 1
        ALIASED[name](np, a, i)
        return np.concatenate([a, b, i])

    alike(program)


def test_positions_in_the_array_itself() -> None:
    start = RNG.permutation(5000)

    def program(np: Any, array: Any) -> Any:
        a, b = array(start), array(start)
        a[a] = a[::-1]
        b[b] = 0
        return a * 10000 + b

    alike(program)


def test_readers_of_before_see_the_old_value() -> None:
    start, places = RNG.random(5000), positions(5000, 3000)

    def program(np: Any, array: Any) -> Any:
        a = array(start)
        view, total = a[::2], a * 3
        picked = a[array(places)]
        a[array(places)] = picked * 2
        later = a + 1
        a[array(places[:7])] = -1
        return np.concatenate([a, view, total, picked, later])

    alike(program)


WRONG: dict[str, Program] = {
    "beyond the end": lambda np, array: array(B).__setitem__(array(numpy.full(2000, 60)), 1),
    "before the start": lambda np, array: array(B).__setitem__((0, array(numpy.full(2000, -51))), 1.5),
    "rising beyond": lambda np, array: array(B).__setitem__(array(numpy.arange(61)), 1),
    "rising from before": lambda np, array: array(B).__setitem__(array(numpy.arange(-61, 60)), 1),
    "shapes": lambda np, array: array(B).__setitem__((array(I60), array(K13)), 1),
    "value's shape": lambda np, array: array(B).__setitem__(array(K12), array(K12)),
    "value's axes": lambda np, array: array(B).__setitem__(array(K12), array(new(2, 300, 50))),
    "too large a number": lambda np, array: array(B.astype("B")).__setitem__(array(K12), 300),
    "no number": lambda np, array: array(B).__setitem__(array(K12), "x"),
    "put": lambda np, array: np.put(array(B), array(K12) * 1000, 1),
    "put_along_axis": lambda np, array: np.put_along_axis(array(B), array(I50) + 50, 1, 1),
    "put_along_axis's axes": lambda np, array: np.put_along_axis(array(B), array(K12), 1, 0),
    "read-only": lambda np, array: np.broadcast_to(array(B), (3, 60, 50)).__setitem__(array(K12 % 3), 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_come_at_the_call(name: str) -> None:
    said = []
    for np, array in ((numpy, numpy.copy), (lazyarr, lazyarr.array)):
        with pytest.raises((IndexError, ValueError, TypeError, OverflowError)) as found:
            WRONG[name](np, array)
        said.append((found.type, str(found.value)))
    assert said[0] == said[1]


def test_nothing_is_written_by_what_is_refused() -> None:
    a, places = lazyarr.array(B), numpy.append(K12, 60)
    with pytest.raises(IndexError):
        a[lazyarr.array(places)] = 7
    assert numpy.asarray(a).tobytes() == B.tobytes()


def test_warnings_of_casts() -> None:
    """One for a value, with NumPy's words."""
    v = numpy.full(3000, 1e30)
    for array in (numpy.copy, lazyarr.array):
        a = array(numpy.zeros(3000, "f4"))
        with pytest.warns(RuntimeWarning, match="overflow encountered in cast") as found:
            a[array(numpy.arange(3000))] = array(v) * 1e30
            numpy.asarray(a)
        assert len(found) == 1


def test_one_launch(compiled: None) -> None:
    """`a[i] = b[j] * 2 + 1`: passes look through positions, and one picks, computes and stores."""
    a, b = (lazyarr.array(RNG.random(5000)) for _ in range(2))
    i, j = (lazyarr.array(positions(5000, 7000)) for _ in range(2))
    lazyarr.evaluate(a, b, i, j)
    reset()
    a[i] = b[j] * 2 + 1
    assert COUNT.native_launches == 2 and waits(a)
    lazyarr.evaluate(a)
    assert COUNT.native_launches == 3 and COUNT.numpy_fallbacks == COUNT.numpy_eager == 0
    assert COUNT.bytes_allocated < 1000


def test_positions_that_rise_need_no_other_pass(compiled: None) -> None:
    a, v, i = lazyarr.array(RNG.random(5000)), lazyarr.array(RNG.random(1000)), lazyarr.arange(1000) * 5
    lazyarr.evaluate(a, v, i)
    reset()
    a[i] = v
    assert COUNT.native_launches == 1 and waits(a) and a.storage.value.op.free
    lazyarr.evaluate(a)
    assert COUNT.native_launches == 2


def test_one_evaluation_for_a_program(compiled: None) -> None:
    """Values that pass through nobody else's hands are not stored."""
    a, v = lazyarr.array(RNG.random(9000)), lazyarr.array(RNG.random(9000))
    i = lazyarr.array(positions(9000, 9000))
    lazyarr.evaluate(a, v, i)
    reset()
    a[i] = v * 2
    total = a.sum(keepdims=True) + 1
    assert not lazyarr.is_evaluated(total)
    lazyarr.evaluate(total)
    assert COUNT.numpy_fallbacks == COUNT.numpy_eager == 0 and COUNT.bytes_allocated < 1000


def test_only_rising_positions_may_go_in_any_order(compiled: None) -> None:
    a = lazyarr.array(B.ravel())
    for places, free in ((numpy.arange(300), True), (numpy.arange(-300, 0), True), (K13, False),
                         (numpy.arange(-150, 150), False), (numpy.arange(300) // 2, False)):  # fmt: skip
        a[lazyarr.array(places)] = lazyarr.array(new(300))
        assert waits(a) and a.storage.value.op.free is free


def test_the_last_one_stays() -> None:
    """Repeated positions on two threads, again and again."""
    for dtype in ("f8", "f4", "i2", "c16"):
        places, v = positions(70_000, 200_000), numpy.arange(200_000).astype(dtype)
        want = numpy.zeros(70_000, dtype)
        want[places] = v
        for _ in range(5):
            a = lazyarr.zeros(70_000, dtype)
            a[lazyarr.array(places)] = lazyarr.array(v)
            assert numpy.asarray(a).tobytes() == want.tobytes()


def test_a_value_that_is_kept_is_computed_once(compiled: None) -> None:
    """In the same loops, in place."""
    v, places = numpy.arange(200_000.0), positions(70_000, 200_000)
    want = numpy.zeros(70_000)
    want[places] = v + 1
    a, x = lazyarr.zeros(70_000), lazyarr.array(v)
    i = lazyarr.array(places)
    x += 1
    a[i] = x
    lazyarr.evaluate(a, x)
    assert numpy.asarray(a).tobytes() == want.tobytes()
    assert numpy.asarray(x).tobytes() == (v + 1).tobytes()


def test_memory_that_others_write() -> None:
    """It is written at the call."""
    table, places = RNG.random(50_000), positions(50_000, 60_000)
    want = table.copy()
    want[places] = 3
    lazyarr.asarray(table)[lazyarr.asarray(places)] = 3
    assert table.tobytes() == want.tobytes()


def test_memory_that_others_read_positions_from() -> None:
    table, places = RNG.random(50_000), positions(50_000, 60_000)
    want = table.copy()
    want[places] = numpy.arange(60_000)
    a = lazyarr.array(table)
    a[lazyarr.asarray(places)] = lazyarr.arange(60_000)
    places[:] = 1 << 60
    assert numpy.asarray(a).tobytes() == want.tobytes()


@pytest.mark.parametrize("char", "bhifdFD")
@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
def test_levels(level: str, char: str, compiled: None) -> None:
    a, v = values(char, (40, 50)), values(char, (600, 50))
    i, j = positions(40, 600), positions(50, 600)

    def program(np: Any, array: Any) -> Any:
        x, y, z = array(a), array(a), array(a)
        x[array(i)] = array(v)
        y[array(i), array(j)] = array(v)[:, 7]
        z[:, array(j)] = array(v)[:40, :1]
        np.put_along_axis(z, array(i[:50])[None], array(v)[:1], 0)
        return np.concatenate([x, y, z])

    with lazyarr.options(cpu_level=level):
        alike(program)


def test_what_is_told(compiled: None) -> None:
    a, v = lazyarr.array(RNG.random(5000)), lazyarr.array(RNG.random(3000))
    a[lazyarr.array(positions(5000, 3000))] = v * 2
    told = lazyarr.debug.explain(a)
    assert "group 0: one kernel over (3000,)" in told and "scatter along axes (0,): stored" in told
