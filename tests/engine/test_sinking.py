"""Sinking: of what is read in part no more is computed than that; NumPy's bits, warnings, program order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from indexed import RNG, Program, alike, positions

import lazyarr
from lazyarr import sinking
from lazyarr.counters import COUNT, reset

pytestmark = pytest.mark.usefixtures("each_way")

A, X = RNG.random((300, 90)) - 0.5, RNG.random(40_000) - 0.5
I300, J = positions(300, 2000), positions(2000, 500)
I90 = positions(90, 70)

PROGRAMS: dict[str, Program] = {
    "a step": lambda np, array: abs(array(X))[::4] * 2,
    "a step, folded": lambda np, array: abs(array(X))[::4].sum(keepdims=True),
    "backwards, folded": lambda np, array: abs(array(X))[::-3].sum(keepdims=True),
    "rows and columns": lambda np, array: abs(array(A))[10:200, ::3] + 1,
    "rows and columns, folded": lambda np, array: abs(array(A))[10:200, 5:70].sum(keepdims=True),
    "rows and columns, folded over rows": lambda np, array: abs(array(A))[10:200, 5:70].sum(0),
    "rows and columns, folded over columns": lambda np, array: abs(array(A))[10:200:2, 70:5:-1].sum(1),
    "in float16": lambda np, array: abs(array(A.astype("e")))[10:200, 5:70].sum(1),
    "complex parts": lambda np, array: (array(A + 1j * A)).conj()[3:50].imag.sum(0),
    "transposed": lambda np, array: (array(A) > 0).T[3:50, ::-2] & True,
    "a row": lambda np, array: (array(A) > 0)[7] ^ array(A[3] > 0),
    "a new axis": lambda np, array: (array(A) > 0)[7, None, :, None] ^ True,
    "broadcast inputs": lambda np, array: (array(A[:, None, :20]) > array(A[:90, :20]))[3:50, ::7, 2] ^ True,
    "a chain": lambda np, array: -abs(np.maximum(array(A), 0.1))[::5, 7],
    "where": lambda np, array: np.where(array(A) > 0, array(A), 7.0)[5:90].max(0),
    "a cast": lambda np, array: array(A > 0).astype(float)[5:90].sum(1),
    "integers": lambda np, array: (array(I300) * 3 + 1)[::7] // 2,
    "NumPy's loop reads it": lambda np, array: np.sin(abs(array(X))[::4]),
    "NumPy's loop reads rows": lambda np, array: np.sin(abs(array(A))[3:50]),
    "NumPy's loop folds": lambda np, array: np.logaddexp.reduce(abs(array(A))[3:50, ::4], 0),
    "a search": lambda np, array: abs(array(A))[3:50, ::4].argmax(1),
    "NumPy's loop reads a part": lambda np, array: np.sin(abs(array(A))[3:50, ::4]),
    "a part of a view of another shape": lambda np, array: abs(array(A)).ravel()[50:900] * 2,
    "a part of rows one after the other": lambda np, array: abs(array(A))[20:50].ravel().sum(keepdims=True),
    "a part of turned rows": lambda np, array: abs(array(A).T).ravel()[50:900] * 2,
    "two parts": lambda np, array: (lambda b: b[1:] ^ b[:-1])(array(A) > 0),
    "elements of another type": lambda np, array: abs(array(X)).view("i8")[5:90] + 1,
    "rows that are picked": lambda np, array: array(A)[array(I300)][20:500] * 2,
    "columns of picked rows": lambda np, array: array(A)[array(I300)][20:500:3, ::-4] * 2,
    "a column of picked rows": lambda np, array: array(A)[array(I300)][::2, 3].sum(keepdims=True),
    "picked columns in part": lambda np, array: array(A)[:, array(I90)][5:200, 4:60] * 2,
    "pairs in part": lambda np, array: array(A)[array(I300 % 90), array(I300 % 90)][::3] * 2,
    "picked and picked": lambda np, array: array(A)[array(I300)][array(J)] * 2,
    "picked along both axes": lambda np, array: array(A)[array(I300[:80])][:, array(I90)] * 2,
    "positions of two axes": lambda np, array: array(A)[array(I300.reshape(50, 40))][
        array(J[:90] % 50), array(J[:90] % 40)] * 2,
    "rows of such": lambda np, array: array(A)[array(I300.reshape(50, 40))][array(J[:90] % 50)] * 2,
    "rows of columns": lambda np, array: array(A)[:, array(I90)][array(J[:200] % 300)] * 2,
    "masked rows in part": lambda np, array: array(A)[array(A[:, 0] > 0)][3:50] * 2,
    "picked of computed": lambda np, array: abs(array(A))[array(I300[:200])] * 2,
    "picked and picked of computed": lambda np, array: abs(array(A))[array(I300)][array(J)] * 2,
    "picked three times": lambda np, array: abs(array(A))[array(I300)][array(J)][array(J[:90] % 500)] * 2,
    "picked three times of two": lambda np, array: -abs(array(X))[array(I300)][array(J)][array(J[:90] % 500)],
    "along both axes, of computed": lambda np, array: abs(array(A))[array(I300)][array(J)][:, array(I90)] * 2,
    "takes of computed": lambda np, array: np.take(abs(array(X)), array(I300 * 9))[array(J)] * 2,
    "positions that are computed": lambda np, array: abs(array(A))[array(I300) // 2][array(J) % 900] * 2,
    "picked of broadcast": lambda np, array: np.maximum(array(A[0]), 0.2)[array(I90)] * 2,
    "take": lambda np, array: np.take(abs(array(A)), array(I90), axis=1)[3:9] * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    alike(PROGRAMS[name])


MOVED = {
    "a step": 8 * 20_000, "a step, folded": 8 * 10_000, "transposed": 9 * 47 * 150, "a chain": 16 * 60,
    "rows and columns, folded over rows": 8 * 190 * 65 + 8 * 65, "a column of picked rows": 16 * 1000,
    "columns of picked rows": 2 * 8 * 160 * 23 + 8 * 160, "picked along both axes": 16 * 80 * 70 + 8 * 150,
    "a part of a view of another shape": 16 * 850, "a part of rows one after the other": 8 * 30 * 90,
    "picked of computed": 16 * 200 * 90 + 8 * 200,
    "picked three times of two": 8 * 90 * 5, "takes of computed": 32 * 500,
}  # fmt: skip
"""Bytes to and from memory that the parts take."""


@pytest.mark.parametrize("name", MOVED)
def test_what_is_not_read_is_not_computed(name: str, compiled: None) -> None:
    known: list[Any] = []

    def array(x: numpy.ndarray) -> Any:
        known.append(lazyarr.array(x))
        lazyarr.evaluate(known[-1])
        return known[-1]

    found = PROGRAMS[name](lazyarr, array).explain()
    assert len(found.groups) == 1 and found.bytes_moved <= MOVED[name] + 16, found


def test_flags_of_all_elements_are_told() -> None:
    x = numpy.full(5000, 1e308)
    x[:3000] = 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lazyarr.evaluate((lazyarr.array(x) * 10)[:50] - 1)
    assert [w.category for w in told] == [RuntimeWarning]


def test_flags_that_are_ignored(compiled: None) -> None:
    x = lazyarr.array(X)
    lazyarr.evaluate(x)
    with lazyarr.errstate(all="ignore"):
        found = (x * 10 + 1)[:50] - 1
    assert found.explain().bytes_moved == 800
    assert numpy.asarray(found).tobytes() == ((X * 10 + 1)[:50] - 1).tobytes()


ELEMENTS: dict[str, Any] = {
    "of a vector": lambda x: abs(x)[-7], "of a part": lambda x: abs(x)[::3][9],
    "of a matrix": lambda x: (x.reshape(400, 100) > 0)[3, 5],
    "of a row": lambda x: (x.reshape(400, 100) < 0)[3][5],
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name: str, compiled: None) -> None:
    x = lazyarr.array(X)
    lazyarr.evaluate(x)
    reset()
    found = ELEMENTS[name](x)
    assert found == ELEMENTS[name](X) and type(found) is type(ELEMENTS[name](X))
    assert COUNT.bytes_allocated < 100


def test_elements_of_what_is_held(compiled: None) -> None:
    """All are computed with the first one."""
    x = abs(lazyarr.array(X))
    reset()
    assert x[3] == abs(X)[3] and x[4] == abs(X)[4]
    assert COUNT.native_launches == 1 and lazyarr.is_evaluated(x)


def test_what_is_held_is_whole() -> None:
    x = lazyarr.array(X)
    y = abs(x)
    part = y[:100] * 2
    lazyarr.evaluate(part)
    assert numpy.asarray(y).tobytes() == abs(X).tobytes()
    part = abs(x)[:100]
    whole = part.base
    assert numpy.asarray(part * 2).tobytes() == (abs(X)[:100] * 2).tobytes()
    assert numpy.asarray(whole).tobytes() == abs(X).tobytes()


def test_values_are_those_of_the_call() -> None:
    def program(np: Any, array: Any) -> Any:
        x, a, i, j = array(X), array(A), array(I300), array(J)
        part, picked, both = abs(x)[10:500] + 0, abs(a)[i][5:300] + 0, a[i][j] + 0
        x[:] = 1
        a[::2] = 2
        i[:] = 0
        j[:] = 1
        return part.sum() + picked.sum(0) + both.sum(0)

    alike(program)


def test_writes_in_between() -> None:
    """A table is written to before what was picked from it is picked again."""

    def program(np: Any, array: Any) -> Any:
        a, i, j = array(A), array(I300), array(J)
        np.evaluate(a, i, j) if np is lazyarr else None
        picked = a[i]
        a[:] = 0
        again = picked[j]
        del picked
        return again + a[0]

    alike(program)


@pytest.mark.parametrize("late", [0, 1, 2])
def test_what_was_computed_of_is_written_to(late: int) -> None:
    """Positions of later places take the value's place only where what it reads is not replaced."""

    def program(np: Any, array: Any) -> Any:
        a, i, j = array(A), array(I300), array(J)
        np.evaluate(a, i, j) if np is lazyarr else None
        found = abs(a)
        if late == 0:
            a[::2] = 7
        found = found[i]
        if late == 1:
            a[::2] = 7
            i[:5] = 3
        found = found[j]
        if late == 2:
            a[::2] = 7
            i[:5] = 3
            j[:9] = 2
        return found + a[0] + i[0] + j[0]

    alike(program)


def test_a_reader_that_writes() -> None:
    def program(np: Any, array: Any) -> Any:
        a = array(A)
        a[5:50] = abs(a)[100:145]
        a[:, 3:9] *= (a > 0)[:, 13:19]
        a[::2] += np.where(a > 0, a, -1)[1::2]
        return a

    alike(program)


def test_long_chains_of_picks_take_time_that_grows_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few positions move for each pick, however many were picked before."""
    moved: list[int] = []
    move = sinking._Sinking._moved_up

    def seen(self: Any, k: int, later: list[Any], *rest: Any) -> Any:
        moved.append(len(later))
        return move(self, k, later, *rest)

    monkeypatch.setattr(sinking._Sinking, "_moved_up", seen)
    picks = [numpy.random.default_rng(k).permutation(500) for k in range(60)]
    x, expected = abs(lazyarr.array(X[:500])), abs(X[:500])
    with lazyarr.options(pending_nodes=1 << 20):
        for pick in picks:
            x, expected = x[lazyarr.array(pick)], expected[pick]
        assert numpy.asarray(x).tobytes() == expected.tobytes()
    assert all(number <= sinking.MOST_PLACES for number in moved)
