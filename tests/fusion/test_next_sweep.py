"""What a sweep is computed from runs with it, not with the one before; evaluations end between pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import planning, row_room
from lazyarr.debug import explain
from lazyarr.fusion import whole_launches
from lazyarr.fusion.whole_launches import in_launches
from lazyarr.plan import RowBlocks

SHAPE = (150, 400)


def near(u: Any) -> Any:
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


def waves(u: Any, v: Any) -> None:
    for old, new in ((u, v), (v, u)):
        new[1:-1, 1:-1] = 2 * old[1:-1, 1:-1] - new[1:-1, 1:-1] + 0.1 * (near(old) - 4 * old[1:-1, 1:-1])


def bordered(u: Any, v: Any) -> None:
    for old, new in ((u, v), (v, u)):
        new[1:-1, 1:-1] = 2 * old[1:-1, 1:-1] - new[1:-1, 1:-1] + 0.1 * (near(old) - 4 * old[1:-1, 1:-1])
        new[0] = new[1]


def reacting(u: Any, v: Any) -> None:
    a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
    abb = a * b * b
    da = 0.16 * (near(u) - 4 * a) - abb + 0.06 * (1 - a)
    db = 0.08 * (near(v) - 4 * b) + abb - 0.122 * b
    a += da
    b += db


def varying(u: Any, v: Any) -> None:
    u[1:-1, 1:-1] += v[1:-1, 1:-1] * (near(u) - 4 * u[1:-1, 1:-1])


def scaled(u: Any, v: Any) -> None:
    """What is computed of the coefficient alone needs nothing of the sweep before."""
    u[1:-1, 1:-1] += 0.1 * v[1:-1, 1:-1] * (near(u) - 4 * u[1:-1, 1:-1])


def jacobi(u: Any, _: Any) -> None:
    u[1:-1, 1:-1] = 0.25 * near(u)


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 19)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def swept(np: Any, step: Callable[[Any, Any], None], times: int, char: str = "d") -> tuple[Any, Any]:
    random = numpy.random.default_rng(8)
    u, v = (np.array(random.uniform(0, 0.2, SHAPE).astype(char)) for _ in range(2))
    if np is lazyarr:
        lazyarr.evaluate(u, v)
    for _ in range(times):
        step(u, v)
    return u, v


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("times", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("step", [waves, bordered, reacting, varying, scaled, jacobi])
def test_numpys_bits(step: Any, times: int, char: str) -> None:
    for mine, theirs in zip(swept(lazyarr, step, times, char), swept(numpy, step, times, char), strict=True):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


@pytest.mark.parametrize(("step", "each"), [
    (waves, 2), (reacting, 1), (varying, 1), (scaled, 1), (jacobi, 1),
])  # fmt: skip
def test_a_sweep_is_a_kernel_and_stores_what_it_writes_alone(
    step: Any, each: int, launched: list[RowBlocks]
) -> None:
    lazyarr.evaluate(*swept(lazyarr, step, 4))
    assert [len(rows.parts) for rows in launched] == [4 * each]
    assert all(rows.own_bytes == 0 for rows in launched)
    stored = {len(part.step.written) for rows in launched for part in rows.parts}
    assert stored == {2 if step is reacting else 1}


def test_the_reason_is_told() -> None:
    assert "it is part of the next sweep" in str(explain(*swept(lazyarr, waves, 2)))


def test_what_others_read_as_well_runs_as_soon_as_it_can(launched: list[RowBlocks]) -> None:
    """A double of what was just written is asked for: it is made where that is in registers."""
    u, v = swept(lazyarr, waves, 1)
    double = 2 * u[1:-1, 1:-1]
    v[1:-1, 1:-1] = double - v[1:-1, 1:-1] + near(u)
    told = str(explain(double, u, v))
    assert told.count("one kernel") == 3 and "part of the next sweep" in told
    a, b = swept(numpy, waves, 1)
    both = 2 * a[1:-1, 1:-1]
    b[1:-1, 1:-1] = both - b[1:-1, 1:-1] + near(a)
    for mine, theirs in ((double, both), (u, a), (v, b)):
        assert numpy.asarray(mine).tobytes() == theirs.tobytes()


def written(step: Callable[[Any, Any], None], times: int) -> tuple[Any, list[Any]]:
    """An array of which so many sweeps are pending, and the values that they left, the last one first."""
    u, v = swept(lazyarr, step, times)
    return (u, v), chain(u.storage.value)


def chain(value: Any) -> list[Any]:
    """A pending value, and those before it."""
    values = [value]
    while values[-1].old is not None and values[-1].old.op is not None:
        values.append(values[-1].old)
    return values


@pytest.mark.parametrize("step", [jacobi, varying, reacting])
@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 6])
def test_an_even_number_of_sweeps_is_due(step: Any, times: int) -> None:
    """One more waits for those that come: alone it would go in place."""
    _held, values = written(step, times)
    assert in_launches(values[:1])[0] is values[times > 1 and times % 2]


@pytest.mark.parametrize(("times", "due"), [(3, 2), (4, 4), (7, 4), (8, 8), (11, 8)])
def test_as_many_sweeps_are_due_as_run_in_whole_launches(times: int, due: int) -> None:
    """Once a plan has told how many these are."""
    _held, values = written(jacobi, times)
    whole_launches.note(values[:1], 4)
    assert in_launches(values[:1]) == [values[times - due]]


@pytest.mark.parametrize("times", [3, 5])
def test_arrays_that_are_swept_in_turn_are_due_up_to_one_place(times: int) -> None:
    """Also where the first one alone is asked for, and where it is one sweep ahead."""
    (u, v), values = written(reacting, times)
    theirs = v.storage.value.old
    assert in_launches(values[:1]) == [values[1], theirs]
    assert in_launches([values[0], v.storage.value]) == [values[1], theirs]
    u[1:-1, 1:-1] += v[1:-1, 1:-1] * near(u)
    ahead = u.storage.value
    assert in_launches([ahead, v.storage.value]) == [values[1], theirs]


def test_sweeps_in_place_are_due_in_whole_launches_too() -> None:
    """Up to what the next one reads that was there before: its own step begins with a write to `v`."""
    (_u, v), values = written(waves, 5)
    theirs = chain(v.storage.value)
    whole_launches.note_chain([*reversed(theirs[-2:]), *reversed(values[-2:])])
    assert in_launches(values[:1]) == [values[1], theirs[1]]
    assert in_launches([values[0], theirs[0]]) == [values[1], theirs[1]]


def test_a_plan_tells_how_many_sweeps_have_room(
    launched: list[RowBlocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 16)
    with lazyarr.options(pending_nodes=1 << 30):
        arrays = swept(lazyarr, waves, 8)
        lazyarr.evaluate(*arrays)
    known = {*whole_launches._launches.values()}
    assert len(launched) > 2 and known == {len(launched[0].parts) // 2}     # (two arrays)


def test_what_is_known_of_launches_is_bounded() -> None:
    """The place that was entered, or entered again, first is forgotten."""
    most = whole_launches.MOST_LAUNCHES
    u, writes = lazyarr.array(numpy.arange(most * 2.0)), []
    for k in range(most + 3):
        u[: k + 2] *= 2
        writes.append(u.storage.value)
    whole_launches.note(writes[:most], 2)
    whole_launches.note(writes[:1], 4)
    whole_launches.note(writes[most:], 6)
    known = [whole_launches._launches.get(whole_launches._place(write)) for write in writes]
    assert known == [4, None, None, None, *[2] * (most - 4), 6, 6, 6]


@pytest.mark.parametrize("room", [1 << 16, 1 << 17])
def test_sweeps_with_borders_are_counted_as_sweeps(
    room: int, launched: list[RowBlocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And due up to a border, with which each ends."""
    monkeypatch.setattr(row_room, "cache_bytes", lambda: room)
    with lazyarr.options(pending_nodes=1 << 30):
        lazyarr.evaluate(*swept(lazyarr, bordered, 24))
    together = len(launched[0].parts) // 4                                  # (two arrays, two writes each)
    assert len(launched) > 1 and together > 1
    assert [*whole_launches._launches.values()] == [together, together]
    with lazyarr.options(pending_nodes=1 << 30):
        (_u, v), values = written(bordered, 2 * together + 1)
    theirs = chain(v.storage.value)
    assert len(values) == len(theirs) == 4 * together + 2
    assert in_launches(values[:1]) == [values[2], theirs[2]]
    assert in_launches([values[0], theirs[0]]) == [values[2], theirs[2]]


@pytest.mark.parametrize("times", [3, 5])
def test_sweeps_that_go_in_place_anyway_are_due_at_once(times: int) -> None:
    _held, values = written(waves, times)
    assert in_launches(values[:1]) == values[:1]


def seidel(u: Any, v: Any) -> None:
    u[1:-1, 1:-1] = 0.2 * near(u) + v[1:-1, 1:-1]
    v[1:-1, 1:-1] = 0.2 * near(v) + u[1:-1, 1:-1]


def between(u: Any, v: Any) -> None:
    """A sweep of two writes finds two values of another array."""
    u[1:-1, 1:-1] = 0.2 * near(u) + v[1:-1, 1:-1]
    v[5:7, 5:7] = u[5:7, 5:7]
    u[0] = v[0]


@pytest.mark.parametrize("step", [seidel, between, reacting, waves, bordered])
@pytest.mark.parametrize("times", [3, 5, 8])
@pytest.mark.parametrize("last", [None, numpy.s_[5:7, 5:7], numpy.s_[1:-1, 1:-1]])
@pytest.mark.parametrize("room", [0, 2, 3])
def test_of_each_array_one_value_is_due(step: Any, times: int, last: Any, room: int) -> None:
    """To compute a newer one would be to compute what comes then, too."""
    (u, v), values = written(step, times)
    if room:
        whole_launches.note(values[:1], room)
    if last is not None:
        v[last] = u[last] * 2
    for given in ([values[0], v.storage.value], [v.storage.value, values[0]], values[:1]):
        due = in_launches(given)
        assert due
        for value in due:
            assert value.op is not None and not {*chain(value)[1:]} & {*due}


def test_what_was_written_last_does_not_bring_in_all_that_is_pending() -> None:
    """A part of an array that is no sweep: it waits for those that come, with the sweep that it reads."""
    (_u, v), values = written(seidel, 3)
    v[5:7, 5:7] = values[0].old is None
    before = chain(v.storage.value)[2]
    assert in_launches([values[0], v.storage.value]) == [values[1], before.old]


def test_what_is_no_sweep_is_due_as_the_youngest_finds_it() -> None:
    """Not as one before does."""
    u, v = swept(lazyarr, jacobi, 0)
    w = lazyarr.array(numpy.ones(SHAPE))
    lazyarr.evaluate(w)
    for _ in range(3):
        varying(u, v)
        v[5:7, 5:7] *= 2
        varying(w, v)
    mine, between, theirs = (chain(x.storage.value) for x in (u, v, w))
    assert in_launches([mine[0], between[0], theirs[0]]) == [mine[1], between[0], theirs[1]]


def test_runs_are_of_about_one_length_and_have_room_for_all_arrays(
    launched: list[RowBlocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    with lazyarr.options(pending_nodes=1 << 30):
        for step, room in ((jacobi, 2), (varying, 3), (reacting, 4)):
            launched.clear()
            monkeypatch.setattr(row_room, "cache_bytes", lambda k=room: 2 * 24 * k * SHAPE[1] * 8)
            planning._plans.clear()
            lazyarr.evaluate(*swept(lazyarr, step, 30))
            assert [len(rows.parts) for rows in launched] == [16, 14]
            assert all(rows.own_bytes == 0 for rows in launched)
            stored = {len(part.step.written) for rows in launched for part in rows.parts}
            assert stored == {2 if step is reacting else 1}


@pytest.mark.parametrize("pending", [10, 11, 12, 14])
def test_cuts_end_with_whole_sweeps_where_borders_are_written(pending: int) -> None:
    """What borders are written of a sweep that has begun is left to the next evaluation."""
    u = lazyarr.array(numpy.zeros((30, 30)))
    lazyarr.evaluate(u)
    step = (
        lambda: u.__setitem__(numpy.s_[1:-1], v[1:-1] * 0.5), lambda: u.__setitem__(0, 1.0),
        lambda: u.__setitem__(-1, 2.0), lambda: u.__setitem__(numpy.s_[:, 0], 3.0),
    )  # fmt: skip
    v = lazyarr.array(numpy.ones((30, 30)))
    lazyarr.evaluate(v)
    values = []
    for k in range(pending):
        step[k % 4]()
        values.append(u.storage.value)
    assert in_launches([values[-1]]) == [values[pending // 4 * 4 - 1]]
