"""Sweeps that wait together run in one launch: NumPy's bits, order, warnings and peak.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr import launch_rows, plan, planning, row_rings, row_room
from lazyarr.codegen import rows_words
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.fusion import rows

INNER = "u[1:-1, 1:-1]"
AROUND = "(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])"
JACOBI = f"{INNER} = 0.25 * {AROUND}"
HEAT = f"{INNER} += 0.1 * ({AROUND} - 4 * {INNER})\nu[0, :] = u[1, :]\nu[-1, :] = u[-2, :]\n" \
       "u[:, 0] = u[:, 1]\nu[:, -1] = u[:, -2]"  # fmt: skip
WAVE = f"v[1:-1, 1:-1] = 2 * {INNER} - v[1:-1, 1:-1] + 0.1 * ({AROUND} - 4 * {INNER})\nu, v = v, u"


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    sized(monkeypatch, 1 << 18, 1 << 10)
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield
    planning._plans.clear()


def sized(monkeypatch: pytest.MonkeyPatch, cache: int, stays: int) -> None:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: cache)
    monkeypatch.setattr(row_room, "STAYS", stays)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()


def values(shape: tuple[int, ...], char: str = "d", seed: int = 7) -> numpy.ndarray:
    return numpy.random.default_rng(seed).uniform(-4, 4, shape).astype(char)


def run(np: Any, text: str, arrays: dict[str, numpy.ndarray], times: int) -> dict[str, Any]:
    scope = {name: np.array(x) for name, x in arrays.items()} | {"np": np, "kept": []}
    if np is lazyarr:
        lazyarr.evaluate(*(scope[name] for name in arrays))
    scope["before"] = COUNT.native_launches
    code = compile(text, "/somewhere/user.py", "exec")
    for _ in range(times):
        exec(code, scope)
    return scope


def found(np: Any, text: str, arrays: dict[str, numpy.ndarray], times: int) -> list[numpy.ndarray]:
    scope = run(np, text, arrays, times)
    results = [*(scope[name] for name in arrays), *scope["kept"]]
    if np is lazyarr:
        lazyarr.evaluate(*(x for x in results if isinstance(x, lazyarr.ndarray)))
    return [numpy.asarray(x) for x in results]


def alike(text: str, arrays: dict[str, numpy.ndarray], times: int) -> None:
    got = found(lazyarr, text, arrays, times)
    for a, b in zip(got, found(numpy, text, arrays, times), strict=True):
        nans = a != a
        assert a.dtype == b.dtype and a.shape == b.shape, text
        assert (nans == (b != b)).all() and a[~nans].tobytes() == b[~nans].tobytes(), text


def launches(text: str, times: int) -> int:
    arrays = {"u": values((300, 60)), "v": values((300, 60), seed=8)}
    alike(text, arrays, times)
    scope = run(lazyarr, text, arrays, times)
    lazyarr.evaluate(scope["u"], scope["v"])
    return COUNT.native_launches - int(scope["before"])


@pytest.mark.parametrize("text", [JACOBI, HEAT, WAVE], ids=["jacobi", "heat", "wave"])
def test_sweeps_are_one_launch(text: str) -> None:
    assert launches(text, 4) == 1


def test_sweeps_with_borders_are_one_launch_however_many_wait() -> None:
    assert launches(HEAT, 6) == 1


def test_a_sweep_with_borders_lags_no_more_than_one_without() -> None:
    """Each sweep one block: columns lie in the rows that were written just before, and a row before the
    first one, or behind the last, is in one block with those that it copies."""
    for text in (JACOBI, HEAT):
        planning._plans.clear()
        assert launches(text, 4) == 1
        found = (s.rows.parts for p in planning._plans.values() for s in p.steps if s.rows)
        assert max(part.lag for parts in found for part in parts) == 3


def test_strips_write_to_cache_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, prepare = [], launch_rows._prepare

    def noted(*given: Any) -> launch_rows.Ready:
        prepared.append(prepare(*given))
        return prepared[-1]

    monkeypatch.setattr(launch_rows, "_prepare", noted)
    launches(JACOBI, 2)
    assert prepared
    for ready in prepared:
        words, line = ready.words, rows_words.WORDS
        first = words[rows_words.DONE_AT] // words.itemsize
        assert len(words) - first == 2 * line * words[rows_words.STRIPS]
        assert not any(words[first - line :])           # nothing else is there, or just before


def test_sweeps_need_no_arrays_in_between_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_rings, "has_rings", lambda: False)         # (see test_row_rings)
    u = lazyarr.array(values((600, 60)))
    lazyarr.evaluate(u)
    with lazyarr.options(pending_nodes=1 << 30):
        for _ in range(20):
            exec(JACOBI, {"u": u})
        told = explain(u)
        assert "in row blocks with groups 0 to 19" in str(told)
        temporary = u[1:-1, 1:-1].nbytes                                # (NumPy's)
        assert told.peak_bytes - told.eager_peak_bytes == u.nbytes - temporary
        lazyarr.evaluate(u)


def test_a_chain_ends_where_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not between what computes new rows and what writes them, nor between sweeps that take turns with
    another buffer."""
    masked = f"np.copyto({INNER}, {AROUND}, where={INNER} > 0)"
    monkeypatch.setattr(rows, "MOST", 5)
    assert launches(masked, 4) == launches(JACOBI, 6) == 2
    sized(monkeypatch, 1 << 14, 1 << 9)
    assert launches(masked, 4) > 1
    assert launches(JACOBI, 20) > 1


def test_borders_alone_are_numpys() -> None:
    COMPILER.load()                             # (where kernels are in the cache, nobody has yet)
    u = lazyarr.array(values((300, 60)))
    lazyarr.evaluate(u)
    with lazyarr.options(jit="auto", eager_elements=100):
        u += 1
        u[0, :] = u[1, :]
        before = COUNT.native_launches
        lazyarr.evaluate(u)
        assert COUNT.native_launches - before == 1
    want = values((300, 60)) + 1
    want[0] = want[1]
    assert numpy.asarray(u).tobytes() == want.tobytes()


@pytest.mark.parametrize("between", [
    "kept.append(u.copy())", "kept.append(u[1:-1] * 2)", "kept.append(u.sum(axis=0))",
    "kept.append(float(u[5, 5]))", "u = u * 1.0", "t = u[::-1]\nt[1:] = t[:-1] + t[1:]",
    "u[40, 3:9] = u[41, 3:9]", "u[150, :] = 1.0",
    "u[:, 7] = u[:, 8] * 2", "np.copyto(u[1:-1], u[2:], where=u[1:-1] > 0)", "u[5:9] = v[5:9]", "v += u",
    "v[1:-1] = u[2:] - u[:-2]", "v = u[2:, 1:-1] * 1.0\nu[1:-1, 1:-1] = v", "u[...] = u[::-1] * 0.5",
    "u = u.T.copy().T",
])  # fmt: skip
def test_program_order(between: str) -> None:
    arrays = {"u": values((300, 60)), "v": values((300, 60), seed=8)}
    for text in (f"{JACOBI}\n{between}", f"{HEAT}\n{between}", f"{between}\n{WAVE}"):
        if "v = u[2:" in between and text.endswith(WAVE):
            continue
        alike(text, arrays, 5)


def test_what_lies_in_two_arrays() -> None:
    """Views of one array, some of them in another order, written in turn."""
    text = "a, b = u[:-1], u[1:]\na[1:-1] = (b[2:] + b[:-2]) * 0.5\nb.T[1:-1] = (a.T[2:] - a.T[:-2]) * 0.5"
    for shape in ((300, 60), (61, 40)):
        alike(text, {"u": values(shape)}, 4)


SPECIAL = [[], [(60, 16, 1.0)], [(0, 3, 1.0), (-2, 9, -1.0)], [(60, 16, numpy.inf)]]
"""Row, column, and what stands there, as a part of the largest number."""


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("text", [
    "u[1:-1, 1:-1] = (\n u[2:, 1:-1] + u[:-2, 1:-1]\n + u[1:-1, 2:] + u[1:-1, :-2]) * 2.0",
    "a = np.sqrt(u[2:, 1:-1])\nu[1:-1, 1:-1] = a / u[:-2, 1:-1] + u[1:-1, 2:]\ndel a",
    "u[1:-1, 1:-1] += (u[2:, 1:-1] * u[:-2, 1:-1]\n - u[1:-1, 1:-1])",
], ids=["jacobi", "quotient", "added"])  # fmt: skip
def test_each_sweep_warns(text: str, special: list[tuple[int, int, float]]) -> None:
    u = numpy.random.default_rng(3).uniform(1, 2, (120, 33))
    for row, column, part in special:
        u[row, column] = part * numpy.finfo("d").max
    told = []
    found(lazyarr, text, {"u": numpy.ones_like(u)}, 3)
    for np in (numpy, lazyarr):
        with shown() as caught:
            found(np, text, {"u": u}, 3)
        told.append([(str(w.message), w.lineno) for w in caught])
    assert told[0] == told[1]


def test_an_interrupt_finds_a_whole_number_of_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    x, run_chunks = values((300, 60)), launch_rows.parallel_for
    u = run(lazyarr, JACOBI, {"u": x}, 4)["u"]

    def interrupted(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        run_chunks(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(launch_rows, "parallel_for", interrupted)
        lazyarr.evaluate(u)
    assert numpy.asarray(u).tobytes() == found(numpy, JACOBI, {"u": x}, 4)[0].tobytes()


def test_what_fails_before_it_runs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = values((300, 60))
    u = run(lazyarr, HEAT, {"u": x}, 3)["u"]

    def failing(*args: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(launch_rows, "memory", failing)
        lazyarr.evaluate(u)
    assert numpy.asarray(u).tobytes() == found(numpy, HEAT, {"u": x}, 3)[0].tobytes()


def written(r: random.Random, ndim: int, names: str) -> str:
    """A program's sweep."""
    margin = [r.choice([0, 1, 1, 1, 2])] * ndim

    def part(most: int) -> str:
        shifts = [r.choice([0, 0, *range(-min(m, most), min(m, most) + 1)]) for m in margin]
        ends = [(m + s, s - m) for m, s in zip(margin, shifts, strict=True)]
        return "[" + ", ".join(f"{low}:{high or ''}" for low, high in ends) + "]"

    def read() -> str:
        return r.choice(names) + part(2)

    def value() -> str:
        return f"({read()} {r.choice('+-*')} {read()} + {r.choice([read(), '0.5'])}) * 0.25"

    forms = (
        lambda: f"{r.choice(names)}{part(0)} = {value()}",
        lambda: f"{r.choice(names)}{part(0)} += {value()}",
        lambda: f"t = {value()}\n{r.choice(names)}{part(0)} = t * 0.5 + {read()}",
        lambda: f"t = {value()}\nnp.copyto({r.choice(names)}{part(0)}, t, where=t > {read()})",
        lambda: "{0}[{1}] = {0}[{2}]".format(r.choice(names), *r.choice([(0, 1), (-1, -2), (3, 2)])),
        lambda: "{0}[..., {1}] = {0}[..., {2}]".format(r.choice(names), *r.choice([(0, 1), (-1, -2)])),
        lambda: f"kept.append({r.choice(names)}{part(0)} * 2)",
        lambda: f"kept.append({r.choice(names)}.sum())",
        lambda: f"{names[0]}, {names[-1]} = {names[-1]}, {names[0]}",
    )
    return "\n".join(r.choice((*forms[:2], *forms))() for _ in range(r.randint(1, 4)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(0, 120, 20))
def test_random_sweeps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in range(seed, seed + 20):
        r = random.Random(each)
        shape = r.choice([(900,), (300, 33), (70, 20), (60, 6, 9), (7, 9)])
        names = "uvw"[: r.randint(1, 3)]
        sized(monkeypatch, 1 << r.choice([12, 14, 16, 18]), 1 << r.choice([6, 8, 10]))
        arrays = {name: values(shape, r.choice("ddf"), each + k) for k, name in enumerate(names)}
        alike(written(r, len(shape), names), arrays, r.randint(1, 8))
