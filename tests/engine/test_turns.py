"""Sweeps in place that take turns with another buffer: which do, NumPy's bits, no copy of what is computed.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import engine, plan, planning, row_rings, row_room
from lazyarr.bufferize import Placement
from lazyarr.plan import RowBlocks, Step

INNER = "u[1:-1, 1:-1]"
AROUND = "(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])"
JACOBI = f"{INNER} = {AROUND} * q"
ADDED = f"{INNER} += {AROUND} - 4 * {INNER}"
BORDERS = "u[0, :] = u[1, :]\nu[-1, :] = u[-2, :]\nu[:, 0] = u[:, 1]\nu[:, -1] = u[:, -2]"
PERIODIC = "u[0] = u[-2]\nu[-1] = u[1]\nu[:, 0] = u[:, -2]\nu[:, -1] = u[:, 1]"

TAKE_TURNS = {
    "jacobi": JACOBI,
    "added": ADDED,
    "copied borders": f"{ADDED}\n{BORDERS}",
    "two borders": f"{ADDED}\nu[0] = u[1]\nu[-1] = u[-2]",
    "borders first": f"u[0] = u[1]\nu[-1] = u[-2]\n{ADDED}",
    "wide": "u[2:-2] += u[4:] - u[:-4] * q",
    "upwards": "u[1:] = u[:-1] * q + u[1:]",
    "constant borders": f"{ADDED}\nu[0] = 1\nu[:, -1] = 2\nu[3, 4] = q",
    "computed borders": f"{ADDED}\nu[0] = u[1] + u[2]\nu[-1] = 0.5 * u[-2]",
    "something held": f"{ADDED}\nkept.append(u[1:-1] * 2)",
    "lifted": "a = u[2:] + u[:-2]\nu[1:-1] = a * q - u[1:-1]\ndel a",
    "two arrays": f"a = {AROUND} * v[1:-1, 1:-1]\nb = v[2:, 1:-1] - v[:-2, 1:-1]\n"
                  f"{INNER} += a\nv[1:-1, 1:-1] -= b * {INNER}\ndel a, b",
}  # fmt: skip

STAY = {
    "read too early": f"{ADDED}\nv += u[::-1]\n{BORDERS}",          # its corners are those of the last sweep
    "computed too early": f"{ADDED}\nu[0] = u[1] + u[2]\nu[:, 0] = u[:, 1]",
    "held": f"{ADDED}\nkept.append(u)\nu = u.copy()",
    "periodic": f"{ADDED}\n{PERIODIC}",                             # rows from afar
    "columns": "u[:, 1:-1] = (u[:, 2:] + u[:, :-2]) * q",           # nothing lags
    "masked": f"np.copyto({INNER}, {AROUND}, where={INNER} > 0)",
    "every other": "u[1:-1:2] = u[2::2] + u[:-2:2]",
    "two stencils": f"{ADDED}\nu[1:-1] = u[2:] - u[:-2]",
    "middle": f"{ADDED}\nu[70] = u[71]",
    "same elements": "u[1:-1] *= v[2:] + v[:-2]",
}  # fmt: skip


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 18)
    monkeypatch.setattr(row_room, "STAYS", 1 << 10)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def run(np: Any, text: str, shape: tuple[int, ...], char: str, times: int) -> list[numpy.ndarray]:
    random = numpy.random.default_rng(5)
    scope = {name: np.array(random.uniform(1, 9, shape).astype(char)) for name in "uv"}
    scope |= {"np": np, "kept": [], "q": numpy.dtype(char).type(0.3)}
    if np is lazyarr:
        lazyarr.evaluate(scope["u"], scope["v"])
        planning._plans.clear()
    code = compile(text, "/somewhere/user.py", "exec")
    with numpy.errstate(all="ignore"):
        for _ in range(times):
            exec(code, scope)
        found = [scope["u"], scope["v"], *scope["kept"]]
        if np is lazyarr:
            lazyarr.evaluate(*found)
        return [numpy.asarray(x) for x in found]


def alike(text: str, shape: tuple[int, ...] = (150, 60), char: str = "d", times: int = 6) -> None:
    ours = run(lazyarr, text, shape, char, times)
    for a, b in zip(ours, run(numpy, text, shape, char, times), strict=True):
        nans = a != a
        assert a.dtype == b.dtype and a.shape == b.shape
        assert (nans == (b != b)).all() and a[~nans].tobytes() == b[~nans].tobytes()


def chained() -> list[tuple[Step, RowBlocks]]:
    return [(s, s.rows) for p in planning._plans.values() for s in p.steps if s.rows is not None]


@pytest.mark.parametrize("name", TAKE_TURNS)
def test_sweeps_take_turns(name: str) -> None:
    alike(TAKE_TURNS[name])
    turns = sum(len(step.turns) for step, _ in chained())
    assert turns == 12 if name == "two arrays" else turns >= 4
    assert not any(rows.own_bytes for _, rows in chained()) or turns == 4   # nothing is computed, then copied


@pytest.mark.parametrize("name", STAY)
def test_others_stay(name: str) -> None:
    alike(STAY[name])
    assert not any(step.turns for step, _ in chained())


@pytest.mark.covering
@pytest.mark.parametrize("name", [*TAKE_TURNS, *STAY])
@pytest.mark.parametrize("times", [2, 3, 7])
def test_bits(name: str, times: int) -> None:
    text = (TAKE_TURNS | STAY)[name]
    for shape in ((9, 60), (75, 9), (75, 24), (90, 31)):
        if "70" not in text:
            alike(text, shape, times=times)
    for char in "bHefF" if "every" not in name else "f":
        if char not in "bH" or "q" not in text:
            alike(text, (90, 31), char, times)


def test_sweeps_of_an_odd_number_end_in_place() -> None:
    alike(JACOBI, times=5)
    (step, _), = chained()
    assert len(step.turns) == 4


def test_runs_of_one_evaluation_share_the_other_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    new: list[bool] = []
    turn = Placement.turn

    def seen(self: Placement, node: Any, source: Any, margins: Any) -> None:
        new.append(source is None)
        turn(self, node, source, margins)

    monkeypatch.setattr(row_rings, "has_rings", lambda: False)         # (each run has its own)
    monkeypatch.setattr(Placement, "turn", seen)
    monkeypatch.setattr(planning, "sweeps", lambda *_: 4)
    with lazyarr.options(pending_nodes=1 << 20):        # (with all sweeps in one evaluation)
        alike(JACOBI, times=13)
    assert len(chained()) == 3 and len(new) == 12 and sum(new) == 1


def test_runs_of_arrays_that_read_one_another_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody asks for the last sweep of one."""
    monkeypatch.setattr(planning, "sweeps", lambda *_: 6)
    inner = "v[1:-1, 1:-1]"
    text = f"a = {AROUND} * {inner}\n{inner} += (v[2:, 1:-1] - v[:-2, 1:-1]) * {INNER}\n{INNER} += a\ndel a"
    found = []
    with lazyarr.options(pending_nodes=1 << 20), numpy.errstate(all="ignore"):
        for np in (numpy, lazyarr):
            random = numpy.random.default_rng(5)
            scope = {name: np.array(random.uniform(-0.1, 0.1, (150, 60))) for name in "uv"}
            for _ in range(10):
                exec(text, scope)
            del scope["u"]
            found.append(numpy.asarray(scope["v"]))
    assert found[0].tobytes() == found[1].tobytes()
    assert [len(step.turns) for step, _ in chained()] == [6 + 6, 4 + 2]


def test_sweeps_that_numpy_ran_leave_no_other_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the first run's kernels are not there yet."""
    by_rows, runs = engine._by_rows, 0

    def first_by_numpy(step: Step, rows: RowBlocks, w: Any) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            engine._by_numpy(step, w)
        else:
            by_rows(step, rows, w)

    monkeypatch.setattr(engine, "_by_rows", first_by_numpy)
    monkeypatch.setattr(planning, "sweeps", lambda *_: 4)
    with lazyarr.options(pending_nodes=1 << 20):
        alike(JACOBI, times=12)
    assert runs == 3


def test_what_others_read_stays() -> None:
    """Somebody holds what was computed of the array before."""
    x = numpy.random.default_rng(1).uniform(1, 2, (150, 60))
    u, want = lazyarr.array(x), x.copy()
    lazyarr.evaluate(u)
    before = u[::-1] * 2
    for _ in range(4):
        exec(ADDED, {"u": u})
        exec(ADDED, {"u": want})
    assert numpy.asarray(u).tobytes() == want.tobytes()
    assert numpy.asarray(before).tobytes() == (x[::-1] * 2).tobytes()


def test_three_axes_and_one() -> None:
    x = numpy.random.default_rng(1).uniform(1, 2, (30, 12, 17))
    line = "u[1:-1] = (u[2:] + u[:-2]) * 0.5"
    for text, start in (
        ("u[1:-1, 1:-1, 1:-1] = (u[2:, 1:-1, 1:-1] - u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:]) * 0.5", x),
        (line, x), (line, x.ravel()),
    ):  # fmt: skip
        u, want = lazyarr.array(start), start.copy()
        lazyarr.evaluate(u)
        planning._plans.clear()
        for _ in range(4):
            exec(text, {"u": u})
            exec(text, {"u": want})
        assert numpy.asarray(u).tobytes() == want.tobytes()
        # (Rows of one element are not rows.)
        assert [len(step.turns) for step, _ in chained()] == [4] * (start is x)
