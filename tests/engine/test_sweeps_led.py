"""What makes an array runs with the first sweeps over it: NumPy's bits, bytes moved and held, refusals.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import buffers, planning, row_rings
from lazyarr.config import options
from lazyarr.debug import Explanation, explain
from lazyarr.fusion import leading
from lazyarr.fusion.chain import Chain
from lazyarr.plan import Step
from tests import ringed
from tests.ringed import AROUND, HEAT, INNER, JACOBI

sys.path.append(str(Path(__file__).parents[2] / "asv_bench"))
from benchmarks import targets

pytestmark = pytest.mark.skipif(not buffers.has_rings(), reason="no memory that can be mapped several times")

SWEEPS = {
    **ringed.SWEEPS,
    "wide": "u[2:-2] += u[4:] - u[:-4] * q",
    "another field": f"{INNER} += ({AROUND}) * v[1:-1, 1:-1]",
    "lifted": "a = u[2:] + u[:-2]\nu[1:-1] = a * q - u[1:-1]\ndel a",
}  # fmt: skip

MAKERS = {
    "copied": "u = v.copy()",
    "computed": "u = v * q + w",
    "of another type": "u = w.astype('f8')",
    "turned": "u = v[::-1, ::-1].copy()",
    "a part": "u = big[3:-5, 2:-7].copy()",
    "transposed": "u = big.T[3:-5, 2:-7].copy()",
    "broadcast": "u = v[:1] + w[:, :1]",
    "filled": "u = np.full(v.shape, 3.5) * v[0]",
    "in two steps": "kept = v - w\nu = kept * 2",
    "into an array": "u = np.empty(v.shape)\nu[...] = v - 1",
    "over an array": "u = big[:v.shape[0], :v.shape[1]].copy()\nkept = u[::-1] + 1\nu[...] = v - 1",
    "overwritten later": "u = v.copy()",
}  # fmt: skip


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(leading, "LEAST", 1)
    with ringed.small_blocks(request.param, monkeypatch):
        yield


def given(shape: tuple[int, int]) -> dict[str, Any]:
    random, (m, n) = numpy.random.default_rng(shape[0]), shape
    extents = {"v": shape, "w": shape, "big": (max(m, n) + 9, max(m, n) + 9)}
    found = {name: random.uniform(1, 9, each) for name, each in extents.items()}
    return found | {"w": found["w"].astype("f4")}


def start(np: Any, maker: str, shape: tuple[int, int]) -> dict[str, Any]:
    scope = {name: np.array(x) for name, x in given(shape).items()}
    m, n = shape
    rows, columns = (n + 9, m + 8) if maker == "transposed" else (m + 8, n + 9)
    scope["big"] = scope["big"][:rows, :columns] if maker in ("a part", "transposed") else scope["big"]
    if np is lazyarr:
        lazyarr.evaluate(*scope.values())
        planning.forget()
    return scope | {"np": np, "q": 0.3}


def swept(np: Any, maker: str, sweep: str, shape: tuple[int, int], times: int = 6) -> list[numpy.ndarray]:
    scope = start(np, maker, shape)
    with numpy.errstate(all="ignore"):
        exec(MAKERS[maker], scope)
        for _ in range(times):
            exec(SWEEPS[sweep], scope)
        if maker == "overwritten later":
            scope["v"][:] = scope["u"] * 2
            scope["v"][1:-1] = scope["v"][2:] + scope["v"][:-2]
        made = [scope[name] for name in ("u", "v", "kept") if name in scope]
        if np is lazyarr:
            lazyarr.evaluate(*made)
        return [numpy.asarray(x) for x in made]


def alike(maker: str, sweep: str, shape: tuple[int, int], times: int = 6) -> None:
    ours, want = (swept(np, maker, sweep, shape, times) for np in (lazyarr, numpy))
    ringed.alike(ours, want)


def steps() -> list[Step]:
    return [s for p in planning._plans.values() for s in p.steps]


def rings() -> int:
    return sum(len(s.rows.rings) for s in steps() if s.rows is not None)


def pending(text: str, times: int = 6, maker: str = "copied", shape: tuple[int, int] = (700, 61)) -> Any:
    scope = start(lazyarr, maker, shape)
    exec(MAKERS[maker], scope)
    for _ in range(times):
        exec(text, scope)
    return scope["u"]


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> list[Chain]:
    """All that were made."""
    found: list[Chain] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        joint, kept = made(*args, **kwargs)
        found[:] = kept.chains
        return joint, kept

    made = planning.joined
    monkeypatch.setattr(planning, "joined", noted)
    return found


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_copy_is_no_pass_of_its_own(sweep: str, chains: list[Chain]) -> None:
    alike("copied", sweep, (700, 61))
    assert len(steps()) == 1 and rings() == 1
    assert [chain.leading for chain in chains] == [1]
    for shape, times in (((901, 130), 7), ((512, 512), 3), ((1000, 17), 2), ((333, 64), 13), ((40, 61), 6)):
        alike("copied", sweep, shape, times)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("sweep", ["jacobi", "heat", "wide"])
def test_other_makers(maker: str, sweep: str, chains: list[Chain]) -> None:
    alike(maker, sweep, (700, 61))
    if maker != "overwritten later":
        assert [chain.leading for chain in chains] == [1 + (maker == "in two steps" and len(steps()) > 1)]
    alike(maker, sweep, (901, 130), 5)


def test_bytes() -> None:
    """The copy is read once, and what is swept written once; nothing else moves, and no more is held."""
    u = pending(JACOBI, 8, shape=(2000, 130))
    told = explain(u)
    assert told.bytes_moved == told.bytes_least == 2 * u.nbytes
    (line,) = {line.strip() for line in str(told).splitlines() if "second buffer" in line}
    assert "which come round" in line
    own = int(line.split(" has ")[1].split()[0])
    assert told.peak_bytes <= 2 * u.nbytes + own and own < u.nbytes / 2


@pytest.mark.parametrize("name", ["Jacobi", "heat"])
@pytest.mark.parametrize("way", ["lazily", "compiled"])
def test_targets(name: str, way: str, told: list[Explanation], monkeypatch: pytest.MonkeyPatch) -> None:
    """As the programs are run by that lazyarr is measured by: at most 1.1 of the least."""
    monkeypatch.undo()
    x = lazyarr.array(numpy.random.default_rng(1).uniform(0, 1, (1000, 1000)))
    lazyarr.evaluate(x)

    def call(x: Any) -> Any:
        return targets.TARGETS[name].call(lazyarr, x)

    with options(jit="always"):
        f = call if way == "lazily" else lazyarr.compile(call)
        told.clear()
        lazyarr.evaluate(f(x))
    moved, least = (sum(getattr(each, what) for each in told) for what in ("bytes_moved", "bytes_least"))
    assert 0.9 * least <= moved <= 1.1 * least if way == "lazily" else moved <= 14 * x.nbytes


def test_what_is_over_is_taken() -> None:
    """A source that nobody holds any more is what is swept: no second array is there."""
    scope = start(lazyarr, "copied", (700, 61))
    want = scope["v"].copy()
    lazyarr.evaluate(want)
    want = numpy.array(numpy.asarray(want))
    u = scope.pop("v").copy()
    scope |= {"u": u}
    for _ in range(6):
        exec(JACOBI, scope)
        exec(JACOBI, {"u": want, "q": 0.3})
    before = buffers.usage().live
    lazyarr.evaluate(u)
    assert buffers.usage().live <= before
    assert numpy.asarray(u).tobytes() == want.tobytes()


def test_the_source_stays() -> None:
    for maker in ("copied", "turned", "a part"):
        scope = start(lazyarr, maker, (700, 61))
        before = {k: numpy.array(numpy.asarray(scope[k])) for k in ("v", "w", "big")}
        exec(MAKERS[maker], scope)
        for _ in range(6):
            exec(HEAT, scope)
        lazyarr.evaluate(scope["u"])
        assert all(numpy.asarray(scope[k]).tobytes() == x.tobytes() for k, x in before.items())


def test_sources_of_others(tmp_path: Path) -> None:
    """Plain arrays, read-only ones, files."""
    x = numpy.random.default_rng(2).uniform(1, 2, (700, 61))
    numpy.save(tmp_path / "x.npy", x)
    still = x.copy()
    still.flags.writeable = False
    for source in (x, still, numpy.load(tmp_path / "x.npy", mmap_mode="r"), x[::-1], x[:, ::-1]):
        u, want = lazyarr.array(source, copy=True), numpy.array(source)
        v = lazyarr.asarray(source).copy()
        for _ in range(6):
            for each in (u, want, v):
                exec(JACOBI, {"u": each, "q": 0.3})
        assert numpy.asarray(u).tobytes() == numpy.asarray(v).tobytes() == want.tobytes()


def test_what_is_swept_may_be_written_to_its_source() -> None:
    x = numpy.random.default_rng(2).uniform(1, 2, (701, 61))
    for part in (slice(0, 700), slice(1, 701)):
        found = []
        for np in (lazyarr, numpy):
            v = np.array(x)
            u = v[:700].copy()
            for _ in range(4):
                exec(JACOBI, {"u": u, "q": 0.3})
            v[part] = u
            found.append(numpy.asarray(v).tobytes())
        assert found[0] == found[1]


def test_warnings() -> None:
    """Of what makes the array, and of sweeps; by block."""
    x = numpy.random.default_rng(2).uniform(1, 2, (700, 61))
    x[500, 7], x[20, 3] = 0, numpy.inf
    said = []
    for np in (lazyarr, numpy):
        v = np.array(x)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            u = 1 / v * 0.5 - v
            for _ in range(4):
                u[1:-1] = (u[2:] - u[:-2]) * u[1:-1]
            made = numpy.asarray(u)
        said.append((made.tobytes(), {str(w.message) for w in found}))
    (ours, mine), (want, theirs) = said
    assert mine == theirs
    a, b = numpy.frombuffer(ours), numpy.frombuffer(want)
    assert (numpy.isnan(a) == numpy.isnan(b)).all() and (a[~numpy.isnan(a)] == b[~numpy.isnan(b)]).all()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "folds of rows": lambda scope: scope["v"] - scope["v"].max(axis=1, keepdims=True),
    "a scan": lambda scope: scope["v"].cumsum(axis=0),
    "draws": lambda scope: lazyarr.random.default_rng(3).random((700, 61)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_do_not_lead(name: str, chains: list[Chain]) -> None:
    scope = start(lazyarr, "copied", (700, 61))
    scope["u"] = REFUSED[name](scope)
    for _ in range(6):
        exec(JACOBI, scope)
    lazyarr.evaluate(scope["u"])
    assert not any(chain.leading for chain in chains)
    assert rings() == 1


def test_what_others_hold_does_not_lead(chains: list[Chain]) -> None:
    scope = start(lazyarr, "copied", (700, 61))
    u = scope["u"] = scope["v"].copy()
    held = u[::-1] * 2
    for _ in range(6):
        exec(JACOBI, scope)
    lazyarr.evaluate(u)
    assert numpy.asarray(held).tobytes() == (numpy.asarray(scope["v"])[::-1] * 2).tobytes()
    assert not any(chain.leading for chain in chains)


def test_small_arrays_and_whole_buffers(monkeypatch: pytest.MonkeyPatch, chains: list[Chain]) -> None:
    """Where the second buffer is whole, what no sweep writes is copied before its rows could be there."""
    alike("copied", "jacobi", (60, 61))
    assert rings() == 0 and not any(chain.leading for chain in chains) and any(s.turns for s in steps())
    assert "second buffer is whole" in explain(pending(JACOBI, shape=(60, 61)))
    with monkeypatch.context() as patch:
        patch.setattr(leading, "LEAST", 700 * 61 * 8 + 1)
        alike("copied", "jacobi", (700, 61))
        assert rings() == 1 and not any(chain.leading for chain in chains)
    monkeypatch.setattr(planning, "has_rings", lambda: False)
    monkeypatch.setattr(row_rings, "has_rings", lambda: False)
    alike("copied", "jacobi", (700, 61))
    assert rings() == 0 and not any(chain.leading for chain in chains) and any(s.turns for s in steps())


@pytest.mark.parametrize("sweep", SWEEPS)
def test_compiled(sweep: str) -> None:
    def program(v: Any, w: Any, q: Any) -> Any:
        scope = {"u": v * q + w, "v": v, "q": q}
        for _ in range(9):
            exec(code, scope)
        return scope["u"]

    code, f = compile(SWEEPS[sweep], "/somewhere/user.py", "exec"), lazyarr.compile(program)
    for shape in ((700, 61), (512, 512)):
        mine = start(numpy, "copied", shape)
        with numpy.errstate(all="ignore"):
            want = program(mine["v"], mine["w"], 0.3).tobytes()
            for _ in range(3):
                found = f(lazyarr.array(mine["v"]), lazyarr.array(mine["w"]), 0.3)
                assert numpy.asarray(found).tobytes() == want


def test_runs_of_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is led: nothing runs by itself."""
    monkeypatch.setattr(planning, "sweeps", lambda *_: 4)
    with options(pending_nodes=1 << 20):
        for sweep in ("jacobi", "heat"):
            alike("copied", sweep, (900, 61), 13)
            assert rings() >= 3 and all(s.rows is not None for s in steps())


def test_what_leads_may_have_unequal_rows() -> None:
    """A field has rows that the array of the sweeps has not: each is in the block of those at its height."""

    def program(a: Any) -> list[Any]:
        u, w = a[8:] * 2, a * 3
        for _ in range(6):
            u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1]) + w[9:-1, 1:-1]
        return [u, w]

    shown = numpy.random.default_rng(1).uniform(-1, 1, (401, 200))
    made = program(lazyarr.array(shown))
    lazyarr.evaluate(*made)
    assert rings()
    ringed.alike([numpy.asarray(x) for x in made], program(shown.copy()))
