"""Borders that are filled or computed between sweeps run with these, in one launch.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr import launch_rows, plan, planning, row_room
from lazyarr.counters import COUNT
from lazyarr.fusion import partition

INNER = "u[1:-1, 1:-1]"
AROUND = "(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])"
JACOBI = f"{INNER} = 0.25 * {AROUND}"
WAVE = f"v[1:-1, 1:-1] = 2 * {INNER} - v[1:-1, 1:-1] + 0.1 * ({AROUND} - 4 * {INNER})"
FIELDS = "u[1:] -= 0.5 * (v[1:] - v[:-1])\nv[:-1] -= 0.5 * (u[1:] - u[:-1])"

PROGRAMS = {
    "constants": f"{JACOBI}\nu[0] = 0\nu[-1] = 1.5\nu[:, 0] = 0\nu[:, -1] = -0.0",
    "one constant": f"{JACOBI}\nu[0] = 1",
    "a number of the step": f"{JACOBI}\nu[0] = k * 0.5\nu[:, -1] = k",
    "a row of another array": f"{JACOBI}\nu[0] = w\nu[-1] = w * 2",
    "pressure": f"{JACOBI}\nu[:, -1] = u[:, -2]\nu[0] = u[1]\nu[-1] = 0",
    "computed": f"{JACOBI}\nu[0] = 2 * u[1] - u[2]\nu[-1] = 0.5 * u[-2]\nu[:, 0] = u[:, 1] - u[:, 2]",
    "absorbing": f"{WAVE}\nv[0] = u[1] + 0.3 * (v[1] - u[0])\nv[-1] = u[-2] + 0.3 * (v[-2] - u[-1])\n"
                 "v[:, 0] = u[:, 1] + 0.3 * (v[:, 1] - u[:, 0])\nu, v = v, u",
    "waves": f"{WAVE}\nv[0] = 0\nv[-1] = 0\nv[:, 0] = 0\nv[:, -1] = 0\nu, v = v, u",
    "a point": f"{JACOBI}\nu[40, 7] = k",
    "a part of a border": f"{JACOBI}\nu[0, 3:-3] = 1\nu[5:-9, -1] = 2",
    "two fields": f"{FIELDS}\nu[0] = 0\nv[-1] = 1\nv[:, 0] = k",
    "a field's source": f"u[0] = k\n{FIELDS}\nv[30, 9] = k * 0.1",
    "a copy of it all": "a = u.copy()\nu[1:-1] = a[2:] * 0.5 - a[:-2] * v[1:-1]\nu[0] = 0\nu[-1] = 1\ndel a",
}  # fmt: skip


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 18)
    monkeypatch.setattr(row_room, "STAYS", 1 << 10)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    with lazyarr.options(jit="always", plan="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


launches: list[int] = []
"""Of each run."""


def run(np: Any, text: str, shape: tuple[int, int], times: int, char: str = "d") -> list[numpy.ndarray]:
    random = numpy.random.default_rng(5)
    scope = {name: np.array(random.uniform(1, 9, shape).astype(char)) for name in "uv"}
    scope |= {"np": np, "w": np.array(random.uniform(1, 9, shape[1]).astype(char)), "kept": []}
    if np is lazyarr:
        lazyarr.evaluate(*(scope[name] for name in "uvw"))
    scope["before"] = COUNT.native_launches
    code = compile(text, "/somewhere/user.py", "exec")
    for k in range(times):
        scope["k"] = float(k)
        exec(code, scope)
    found = [scope["u"], scope["v"], *scope["kept"]]
    if np is lazyarr:
        lazyarr.evaluate(*(x for x in found if isinstance(x, lazyarr.ndarray)))
        launches.append(COUNT.native_launches - int(scope["before"]))
    return [numpy.asarray(x) for x in found]


def alike(text: str, shape: tuple[int, int] = (300, 60), times: int = 4, char: str = "d") -> int:
    """How many launches there were."""
    ours = run(lazyarr, text, shape, times, char)
    for a, b in zip(ours, run(numpy, text, shape, times, char), strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return launches[-1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sweeps_and_their_borders_share_a_launch(name: str) -> None:
    first = PROGRAMS[name].startswith("u[0]")           # (what comes before all sweeps has its own)
    assert alike(PROGRAMS[name]) == 1 + first


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("times", [1, 2, 13])
def test_bits(name: str, times: int) -> None:
    for shape in ((300, 60), (64, 64), (61, 40)):
        alike(PROGRAMS[name], shape, times)
    with numpy.errstate(over="ignore"):
        alike(PROGRAMS[name], (90, 31), times, "f")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("between", [
    "kept.append(float(u[0, 5]))", "kept.append(u[1] * 2)", "kept.append(u.sum(0))", "kept.append(u.copy())",
    "u = u * 1.0", "t = u[::-1]\nt[1:] = t[:-1] + t[1:]\ndel t", "u[0] = 3\nu[0, 2] = u[3, 1]",
])  # fmt: skip
def test_somebody_looks_in_between(name: str, between: str) -> None:
    lines = PROGRAMS[name].splitlines()
    for at in (1, len(lines)):
        alike("\n".join([*lines[:at], between, *lines[at:]]), (150, 40), 5)


def test_borders_that_no_chain_takes_in_are_like_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows from afar, and none that is swept beside: launches are no more than if nothing were an edge."""
    for text in (
        "u[1:-1] = u[2:] + u[:-2]\nu[0] = u[-2] + 1\nu[-1] = u[1] + 1\nu[:, 0] = 1\nu[:, -1] = 2",
        "u[1:-1] = v[1:-1] * 0.5\nu[0] = 1\nu[-1] = 2",
        "u *= 0.5\nu[0] = 1\nu[5] = 2\nu[-1] = 3",
    ):
        found = alike(text)
        with monkeypatch.context() as patch:
            patch.setattr(partition, "edges", lambda *_: {})
            planning._plans.clear()
            assert found <= alike(text)
        planning._plans.clear()


def test_warnings_of_what_is_next_to_a_border() -> None:
    text = "u[1:-1] = (u[2:] + u[:-2]) * 0.5\nu[0] = 1.7e308\nu[:, 3] = 1e308\nu[-1] = u[-2] * 4"
    told = []
    for np in (numpy, lazyarr):
        with shown() as caught:
            found = run(np, text, (120, 33), 4)
        told.append(([(str(w.message), w.lineno) for w in caught], found[0].tobytes()))
    assert told[0] == told[1] and told[0][0]


def test_what_fails_before_it_runs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text, want = PROGRAMS["constants"], run(numpy, PROGRAMS["constants"], (300, 60), 3)[0]
    random = numpy.random.default_rng(5)
    u = lazyarr.array(random.uniform(1, 9, (300, 60)))
    lazyarr.evaluate(u)
    for _ in range(3):
        exec(text, {"u": u})

    def failing(*args: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(launch_rows, "memory", failing)
        lazyarr.evaluate(u)
    assert numpy.asarray(u).tobytes() == want.tobytes()


def test_loops_are_cut_between_steps() -> None:
    """Each launch begins with a sweep: borders that come first would have launches of their own."""
    before = COUNT.node_bound
    found = alike(PROGRAMS["absorbing"], (300, 60), 40)
    assert 4 <= COUNT.node_bound - before <= found <= COUNT.node_bound - before + 2


def test_rows_before_are_no_reason_to_lag() -> None:
    """Each step of a staggered grid follows the one before by a row, not two."""
    h, u, v = (lazyarr.array(numpy.ones(s)) for s in ((300, 60), (300, 61), (301, 60)))
    lazyarr.evaluate(h, u, v)
    for _ in range(4):
        u[:, 1:-1] -= 0.01 * (h[:, 1:] - h[:, :-1])
        v[1:-1] -= 0.01 * (h[1:] - h[:-1])
        h -= 0.01 * (u[:, 1:] - u[:, :-1] + v[1:] - v[:-1])
    lazyarr.evaluate(h, u, v)
    (rows,) = (s.rows for p in planning._plans.values() for s in p.steps if s.rows is not None)
    lags = [part.lag for part in rows.parts]
    assert len(lags) == 12 and max(lags) == 3
    assert all(lag <= later for lag, later in itertools.pairwise(lags))
    assert max(part.place.front for part in rows.parts) > max(part.place.late for part in rows.parts)


def test_what_only_reads_rows_before_goes_in_order() -> None:
    """Nothing lags, but where a strip begins others have not been."""
    text = "u[1:] += 0.5 * v[:-1]\nv[1:] -= 0.5 * u[:-1]\nkept.append(v * 2)"
    assert alike(text, (400, 50), 3) <= 3
    for shape in ((64, 64), (9, 40), (257, 31)):
        alike(text, shape, 5)


def test_a_border_is_in_one_block_with_the_rows_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing lags, so blocks go in any order; where rows are not contiguous, too, none has too few rows."""
    monkeypatch.setattr(row_room, "program_worth_threads", lambda _: True)
    u, v = (lazyarr.array(numpy.random.default_rng(5).uniform(1, 9, s)) for s in ((131, 20), (20, 129)))
    lazyarr.evaluate(u, v)
    want = numpy.array(u)
    for each, other in ((want, numpy.array(v)), (u, v)):
        for _ in range(2):
            each[1:-1] -= other.max(0)[:, None]
            each[-1] = 2 * each[-2] - each[-4]
    assert numpy.asarray(u).tobytes() == want.tobytes()
    (rows,) = (s.rows for p in planning._plans.values() for s in p.steps if s.rows is not None)
    assert rows.delay == 0 and 129 in [part.start for part in rows.parts]
    assert 129 - (rows.blocks - 1) * rows.rows >= 3
