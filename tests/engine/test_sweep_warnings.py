"""Warnings of sweeps in place, in which several operations may be the culprit: NumPy's words and lines.

What an operation read is overwritten within its launch, so blocks are looked at just before that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr import plan, planning, replay_blocks, row_room
from lazyarr.counters import COUNT

USER = "/somewhere/user.py"

SWEEPS = {
    "jacobi": "u[1:-1, 1:-1] = (\n u[2:, 1:-1] + u[:-2, 1:-1]\n + u[1:-1, 2:] + u[1:-1, :-2]) * 2.0",
    "added": "u[1:-1, 1:-1] += (u[2:, 1:-1] * u[:-2, 1:-1]\n - u[1:-1, 1:-1])",
    "quotient": "a = np.sqrt(u[2:, 1:-1])\nu[1:-1, 1:-1] = a / u[:-2, 1:-1] + u[1:-1, 2:]\ndel a",
    "rows above": "a = np.log(u[:-1])\nu[1:] = a - u[1:]\ndel a",
    "cast": "u[1:-1] = (u[2:] * u[:-2]).astype('f4')",
    "folded": "a = np.add.reduce(u[:-1] * 2, axis=1, keepdims=True)\nu[1:] = u[:-1] - a * a\ndel a",
    "two arrays": "v = u * 2\ndu = v[2:, 1:-1] * v[:-2, 1:-1]\ndv = u[1:-1, 2:] / u[1:-1, :-2]\n"
                  "u[1:-1, 1:-1] += du * dv\nv[1:-1, 1:-1] -= du + dv\ndel du, dv",
    "held": "a = u[2:, 1:-1] * u[:-2, 1:-1]\nu[1:-1, 1:-1] = a - u[1:-1, 2:]",
    "columns": "t = u.T\na = t[2:] * t[:-2]\nt[1:-1] = a + t[1:-1]\ndel a, t",
    "upside down": "r = u[::-1]\na = r[:-1] * 2\nr[1:] = a - r[1:]\ndel a, r",
}  # fmt: skip

SPECIAL: dict[str, list[tuple[Any, Any, float]]] = {
    "none": [],
    "one large": [(60, 16, 1.0)],
    "all large": [(..., ..., 0.5)],
    "infinities": [(60, 16, numpy.inf), (62, 16, -numpy.inf)],
    "late": [(-2, 20, 1.0)],
    "early": [(0, 3, 1.0)],
    "many": [(10, 4, 0.0), (60, 16, 1.0), (90, ..., -1e-9), (100, 3, numpy.inf), (101, 4, -numpy.inf)],
}
"""Row, column, and what stands there, as a part of the largest number."""

OVERFLOW = ("overflow encountered in multiply", USER, 1)


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 14)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def data(special: str, char: str = "d") -> numpy.ndarray:
    u = numpy.random.default_rng(3).uniform(1, 2, (120, 33)).astype(char)
    for row, column, part in SPECIAL[special]:
        where = u[slice(None) if row is ... else row]
        where[... if column is ... else (..., column)] = part * numpy.finfo(char).max
    return u


def outcome(text: str, np: Any, u: numpy.ndarray, times: int = 2) -> tuple[list[tuple[str, str, int]], bytes]:
    """What is shown, and where, of some sweeps; and the result."""
    scope = {"u": np.array(u), "np": np}
    code = compile(text, USER, "exec")
    with shown() as caught:
        for _ in range(times):
            exec(code, scope)
            if np is lazyarr:
                np.evaluate(*[v for v in scope.values() if isinstance(v, np.ndarray)])
    return [(str(w.message), w.filename, w.lineno) for w in caught], numpy.asarray(scope["u"]).tobytes()


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", SWEEPS)
def test_warnings_are_numpys(name: str, special: str) -> None:
    for char in "df":
        outcome(SWEEPS[name], lazyarr, numpy.ones((120, 33), char))         # the plan is there
        want = outcome(SWEEPS[name], numpy, data(special, char))
        got = outcome(SWEEPS[name], lazyarr, data(special, char))
        planning._plans.clear()
        assert got == want, char


def test_what_is_left_out_between_strips_is_not_looked_at_too_late() -> None:
    """There a part that has left out more blocks than what it reads begins with comes after others that have
    overwritten what that was made of: what is found in strips counts."""
    text = """t = v[:-2] * 1.5
p[1:-1, 1:] += v[1:-1, 1:]
q[1:-1, 1:] += p[:-2, 1:]
r[1:-1, 1:] += q[:-2, 1:]
a = t - r[:-2]
a = a * 20
b = a * 2
s[1:-1] = b * 1.5
v[1:-1, 2:] *= 10
del a, b, t"""
    for row in (100, 104, 107):
        told = []
        for np in (numpy, lazyarr):
            scope = {name: np.array(numpy.ones((400, 40))) for name in "vpqrs"}
            scope["v"][[50, row], 5] = 4e306
            if np is lazyarr:
                np.evaluate(*scope.values())
            with shown() as caught:
                exec(compile(text, USER, "exec"), scope)
                if np is lazyarr:
                    np.evaluate(*(scope[name] for name in "vpqrs"))
            told.append([(str(w.message), w.lineno) for w in caught])
        assert told[0] == told[1] == [("overflow encountered in multiply", line) for line in (7, 8)]


def test_a_launch_is_stopped_and_goes_on() -> None:
    text, launches = SWEEPS["jacobi"], []
    outcome(text, lazyarr, data("none"))
    for special in ("none", "one large"):
        lazyarr.debug.reset()
        assert outcome(text, lazyarr, data(special), 1)[0] == ([OVERFLOW] if special != "none" else [])
        launches.append(COUNT.native_launches)
        assert (COUNT.replays > 0) == (special != "none")
    assert launches[0] == launches[1]


def test_looks_are_bounded() -> None:
    text, u = SWEEPS["jacobi"], data("one large")
    outcome(text, lazyarr, data("none"))
    replays = []
    for _ in range(2 * plan.WATCHES):
        lazyarr.debug.reset()
        assert outcome(text, lazyarr, u, 1)[0] == [OVERFLOW]
        replays.append(COUNT.replays)
    assert all(replays[: plan.WATCHES]) and not any(replays[plan.WATCHES :])


def test_nobody_asks() -> None:
    outcome(SWEEPS["jacobi"], lazyarr, data("none"))
    with numpy.errstate(all="ignore"):
        assert outcome(SWEEPS["jacobi"], lazyarr, data("many"))[0] == []


@pytest.mark.parametrize("told", [False, True])
def test_what_nobody_is_told_of_stops_no_launch(told: bool) -> None:
    """Values that fade away underflow in all blocks, which is nobody's business, as a rule."""
    u = numpy.full((120, 33), 1e-308)
    u[:, ::2] = 4e-320
    text = "u[1:-1, 1:-1] = (u[2:, 1:-1] * 0.1\n + u[:-2, 1:-1] * 0.3)"
    outcome(text, lazyarr, u)
    with numpy.errstate(under="warn" if told else "ignore"):
        want = outcome(text, numpy, u)
        lazyarr.debug.reset()
        assert outcome(text, lazyarr, u) == want
    assert bool(want[0]) == bool(COUNT.replays) == told


def test_who_is_in_question_is_found_once_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    suspects = replay_blocks.BlockWatch._suspects
    monkeypatch.setattr(
        replay_blocks.BlockWatch, "_suspects",
        lambda watch, part, keys: asked.append(part) or suspects(watch, part, keys),
    )
    outcome(SWEEPS["jacobi"], lazyarr, data("none"))
    asked.clear()
    lazyarr.debug.reset()
    outcome(SWEEPS["jacobi"], lazyarr, data("all large"), 1)
    assert 1 <= len(asked) == len({*asked})
    assert COUNT.replays > len(asked)


def test_small_blocks_are_looked_at_as_often_as_large_ones() -> None:
    """Of sweeps that follow by rows some raise flags in hundreds of blocks, others in a few later ones."""
    real = numpy.random.default_rng(1).random((928, 49))
    real[696, 29], real[464, 19] = -1.0, 1e-38

    def swept(np: Any) -> Any:
        u = np.array(real)
        for _ in range(10):
            u[1:-1] = np.log(u[:-2] + u[2:] + 0.25)
        return u

    with lazyarr.options(jit="always"):
        u = swept(lazyarr)
        found = [shown_by(lambda: lazyarr.evaluate(u)), shown_by(lambda: swept(numpy))]
    assert found[0] == found[1] > 3


def shown_by(run: Callable[[], Any]) -> int:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return len(found)
