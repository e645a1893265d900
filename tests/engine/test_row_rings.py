"""Second buffers of sweeps of which only the rows in use are there: NumPy's bits, bytes held and moved.

The cache is taken to be small, so that small arrays have many blocks, in several strips.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import buffers, planning, row_rings, values
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.config import options
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.pages import PAGE
from lazyarr.ring_pages import pattern
from lazyarr.row_rings import Piece, Ring, pieces_of
from tests import ringed
from tests.ringed import AROUND, HEAT, INNER, JACOBI

pytestmark = pytest.mark.skipif(not buffers.has_rings(), reason="no memory that can be mapped several times")

SWEEPS = {
    **ringed.SWEEPS,
    "two fields": f"a = ({AROUND}) * v[1:-1, 1:-1]\nb = v[2:, 1:-1] - v[:-2, 1:-1]\n"
                  f"{INNER} += a\nv[1:-1, 1:-1] -= b * {INNER}\ndel a, b",
}  # fmt: skip


@pytest.fixture(autouse=True, params=[1, 2, 3])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ringed.small_blocks(request.param, monkeypatch):
        yield


def start(shape: tuple[int, ...], char: str) -> dict[str, Any]:
    random = numpy.random.default_rng(len(shape) + shape[0])
    given = {name: random.uniform(1, 9, shape).astype(char) for name in "uv"}
    return given | {"q": numpy.dtype(char).type(0.3 if char in "fdFD" else 1)}


def swept(np: Any, text: str, shape: tuple[int, ...], char: str = "d", times: int = 6) -> list[numpy.ndarray]:
    scope = {k: np.array(x) if k != "q" else x for k, x in start(shape, char).items()}
    if np is lazyarr:
        lazyarr.evaluate(scope["u"], scope["v"])
        planning.forget()
    with numpy.errstate(all="ignore"):
        for _ in range(times):
            exec(text, scope)
        return [numpy.asarray(scope[name]) for name in "uv"]


def alike(text: str, shape: tuple[int, ...], char: str = "d", times: int = 6) -> None:
    ours, want = (swept(np, text, shape, char, times) for np in (lazyarr, numpy))
    ringed.alike(ours, want)


def rings() -> list[Ring]:
    steps = [s for p in planning._plans.values() for s in p.steps if s.rows is not None]
    return [placed.ring for s in steps for placed in s.rows.rings]      # type: ignore[union-attr]


def pending(text: str, shape: tuple[int, ...], times: int = 6) -> Any:
    scope = {k: lazyarr.array(x) if k != "q" else x for k, x in start(shape, "d").items()}
    lazyarr.evaluate(scope["u"], scope["v"])
    planning.forget()
    for _ in range(times):
        exec(text, scope)
    return scope["u"]


@pytest.mark.parametrize("name", SWEEPS)
def test_bits(name: str) -> None:
    """Rows of no whole number of pages, and of which a ring is no whole number, in any number of blocks."""
    for shape in ((700, 61), (901, 130), (512, 512), (1000, 17), (333, 64)):
        alike(SWEEPS[name], shape)
        assert rings() or shape not in ((700, 61), (901, 130))
    for times in (2, 3, 7, 13):
        alike(SWEEPS[name], (600, 70), times=times)


@pytest.mark.parametrize("char", "flDFBh")
def test_types(char: str) -> None:
    for name in ("jacobi", "heat", "lopsided"):
        text = SWEEPS[name]
        alike(text, (1500, 130), char)
        assert rings()


def test_three_axes() -> None:
    inner = "u[1:-1, 1:-1, 1:-1]"
    around = "u[2:, 1:-1, 1:-1] - u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2]"
    for shape in ((900, 12, 17), (1200, 33, 9)):
        alike(f"{inner} = ({around}) * q", shape)
        assert rings()
        alike(f"{inner} = ({around}) * q\nu[:, 0] = u[:, 1]", shape)


def test_bytes_moved_and_held() -> None:
    u = pending(JACOBI, (2000, 130), 8)
    told = explain(u)
    assert told.bytes_moved <= 1.02 * told.bytes_least
    (line,) = {line.strip() for line in str(told).splitlines() if "second buffer" in line}
    assert "which come round" in line
    before = COUNT.bytes_allocated
    lazyarr.evaluate(u)
    (ring,) = rings()
    kind = ring.pattern(ring_strips())
    assert kind is not None and f"{kind.own} of {kind.nbytes} bytes" in line
    assert COUNT.bytes_allocated - before >= kind.own
    assert COUNT.bytes_allocated - before < kind.own + u.nbytes // 2
    assert told.peak_bytes <= u.nbytes + kind.own + (1 << 14) and kind.own < u.nbytes / 2


def ring_strips() -> int:
    (rows,) = [s.rows for p in planning._plans.values() for s in p.steps if s.rows is not None]
    return rows.strips(lazyarr.get_num_threads())


def test_rings_are_mapped_once() -> None:
    buffers.trim()
    made = []
    fresh = buffers._allocator.rings.fresh                  # type: ignore[union-attr]

    def noted(kind: Any) -> int | None:
        made.append(kind)
        return fresh(kind)

    allocator: Any = buffers._allocator
    allocator.rings.fresh = noted
    try:
        for _ in range(4):
            lazyarr.evaluate(pending(JACOBI, (700, 61)))
            assert allocator.live >= 0
        assert len(made) == 1
        for rows in range(800, 800 + 20 * (buffers.MOST_RINGS + 4), 20):
            lazyarr.evaluate(pending(JACOBI, (rows, 61)))
        assert len(allocator._rings) <= buffers.MOST_RINGS
        buffers.trim()
        assert not allocator._rings and not buffers.usage().cached
    finally:
        del allocator.rings.fresh


def test_a_ring_serves_launches_of_fewer_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop's last launch has fewer of them, and so another pattern."""
    asked, places, of = list[Any](), set[int](), values.Ring.of

    def noted(kind: Any, nbytes: int) -> Any:
        found = of(kind, nbytes)
        asked.append(kind)
        places.add(found.address)
        return found

    monkeypatch.setattr(values.Ring, "of", noted)
    for text in (JACOBI, HEAT):
        buffers.trim()
        asked.clear()
        places.clear()
        for times in (8, 6, 4, 6, 8):
            alike(text, (1400, 61), times=times)
        assert len({*asked}) > 1 and len(places) == 1
        assert all(asked[0].serves(kind) for kind in asked)


def test_which_rings_serve_others() -> None:
    def of(*rings: tuple[int, int], length: int = 2, nbytes: int = 50 * PAGE) -> Any:
        return pattern(nbytes, [(a * PAGE, b * PAGE) for a, b in rings], length * PAGE)

    asked = of((5, 20), (25, 45))
    for same in (asked, of((6, 20), (25, 44)), of((30, 40)), of((5, 12), (14, 20)), of((5, 20), length=3)):
        assert same.serves(asked)
    for other in (of((4, 20)), of((5, 20), (25, 46)), of((15, 30)), of((5, 20), length=1), of(length=5)):
        assert not other.serves(asked)
    assert not of((5, 20), (25, 45), nbytes=51 * PAGE).serves(asked)
    assert not pattern(50 * PAGE, [(5 * PAGE, 20 * PAGE)], 2 * PAGE, PAGE // 2).serves(asked)


def test_what_serves_two_patterns() -> None:
    def of(*rings: tuple[int, int], length: int = 2, nbytes: int = 50 * PAGE) -> Any:
        return pattern(nbytes - PAGE // 2, [(a * PAGE, b * PAGE) for a, b in rings], length * PAGE, PAGE // 2)

    one, other = of((5, 22), (26, 45)), of((4, 20), (25, 48), length=3)
    both = one.both(other)
    assert both == other.both(one) == of((5, 20), (26, 45), length=3)
    assert both.serves(one) and both.serves(other) and both.own >= max(one.own, other.own)
    assert one.both(of((5, 45), length=5)) is None                  # too long
    assert one.both(of((5, 25))) is None                            # half of it and more would be there
    assert one.both(of((5, 45), nbytes=51 * PAGE)) is None


def test_launches_of_one_loop_come_to_one_ring() -> None:
    """Of different patterns, neither of which serves the other."""
    buffers.trim()
    one, other = (
        pattern(99 * PAGE, [(a * PAGE, b * PAGE)], length * PAGE) for a, b, length in ((5, 90, 3), (7, 95, 4))
    )
    assert not one.serves(other) and not other.serves(one)
    places, before = list[int](), COUNT.bytes_fresh
    for kind in (one, other, one, other):
        found = buffers.ring(kind, 99 * PAGE)
        assert found is not None
        numpy.asarray(found)[:] = 1
        places.append(found.address)
        del found
    both = one.both(other)
    assert both is not None and COUNT.bytes_fresh - before == one.own + both.own
    assert len({*places[1:]}) == 1
    buffers.usage()                                         # (they settle)
    assert [kind for kind, _ in buffers._allocator._rings] == [both]     # type: ignore[union-attr]


def test_rings_lie_half_a_page_from_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written to one then falls in other sets of the first-level cache than what is read there."""
    made, of = [], values.Ring.of
    monkeypatch.setattr(values.Ring, "of", lambda *args: made.append(of(*args)) or made[-1])
    lazyarr.evaluate(pending(JACOBI, (700, 61)))
    assert made and all(isinstance(ring, values.Ring) for ring in made)
    assert {ring.address % PAGE for ring in made} == {PAGE // 2}
    assert {ring.memory.ctypes.data for ring in made} == {ring.address for ring in made}
    for ring in rings():
        for strips in range(1, 4):
            kind = ring.pattern(strips)
            if kind is not None:
                assert kind.begin == PAGE // 2 and kind.begin + ring.nbytes <= kind.nbytes
                assert not any(low % PAGE or high % PAGE or at % PAGE for low, high, at in kind.spans)


def test_rings_that_nobody_uses_have_no_more_than_one_has_saved() -> None:
    buffers.trim()
    allocator: Any = buffers._allocator
    for shape in ((700, 61), (1400, 61), (700, 130)):
        for times in (4, 6, 8):
            lazyarr.evaluate(pending(JACOBI, shape, times))
            use = buffers.usage()
            rings = sum(kind.own for kind, _ in allocator._rings)
            assert use.live + use.cached - rings <= use.peak_live and rings <= allocator._saved
    with options(buffer_cache_bytes=0):
        lazyarr.evaluate(pending(JACOBI, (700, 61)))
        assert not buffers.usage().cached and not allocator._rings


@pytest.mark.parametrize("refused", ["nobody", "now"])
def test_without_rings(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are none the buffer is whole; where the system has none left, too, with the same plan."""
    if refused == "nobody":
        monkeypatch.setattr(row_rings, "has_rings", lambda: False)
    else:
        monkeypatch.setattr(values, "ring", lambda kind, nbytes: None)
    for text in SWEEPS.values():
        alike(text, (700, 61))
        assert bool(rings()) == (refused == "now")


def test_no_mapping_is_left_where_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator: Any = buffers._allocator
    monkeypatch.setattr(allocator.rings, "_advise", lambda *_: -1)
    buffers.trim()
    files = len(os.listdir("/proc/self/fd"))
    with open("/proc/self/maps") as maps:
        before = maps.read().count("memfd:lazyarr")
    alike(JACOBI, (700, 61))
    with open("/proc/self/maps") as maps:
        assert maps.read().count("memfd:lazyarr") == before
    assert len(os.listdir("/proc/self/fd")) == files


def test_a_child_has_rings_of_its_own() -> None:
    alike(JACOBI, (700, 61))
    with options(num_threads=1):
        want = swept(numpy, JACOBI, (700, 61), times=10)[0]
        alike(JACOBI, (700, 61))
        child = os.fork()
        if not child:
            code = 1
            try:
                allocator: Any = buffers._allocator
                fine = not allocator._rings
                for _ in range(3):
                    fine = fine and swept(lazyarr, JACOBI, (700, 61), times=10)[0].tobytes() == want.tobytes()
                code = not (fine and rings())
            finally:
                os._exit(code)
        for _ in range(3):
            assert swept(lazyarr, JACOBI, (700, 61), times=10)[0].tobytes() == want.tobytes()
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("way", ["evaluated", "compiled"])
def test_a_handler_that_forks_waits_for_the_launch(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its child has no rings, and goes on with what was under way."""
    shape, children, ring = (700, 61), list[int](), values.ring

    def interrupted(kind: Any, nbytes: int) -> Any:
        found = ring(kind, nbytes)
        if not children:
            signal.raise_signal(signal.SIGUSR1)
        return found

    def program(u: Any, q: Any) -> Any:
        scope = {"u": u.copy(), "q": q}
        for _ in range(9):
            exec(code, scope)
        return scope["u"]

    code, given = compile(JACOBI, "/somewhere/user.py", "exec"), start(shape, "d")
    want = program(given["u"], given["q"]).tobytes()
    f = lazyarr.compile(program) if way == "compiled" else program
    with options(num_threads=1):
        for _ in range(3):
            assert numpy.asarray(f(lazyarr.array(given["u"]), given["q"])).tobytes() == want
        before = signal.signal(signal.SIGUSR1, lambda *_: children.append(os.fork()))
        monkeypatch.setattr(values, "ring", interrupted)
        same = False
        try:
            same = numpy.asarray(f(lazyarr.array(given["u"]), given["q"])).tobytes() == want
        finally:
            if children == [0]:
                os._exit(not same)
            signal.signal(signal.SIGUSR1, before)
    assert same and len(children) == 1 and os.waitpid(children[0], 0)[1] == 0


def test_threads_of_the_program() -> None:
    want, found = swept(numpy, HEAT, (700, 61), times=8)[0].tobytes(), list[bool]()

    def run(threads: int) -> None:
        with options(jit="always", plan="always", verify=True, num_threads=threads):
            for _ in range(4):
                scope = {k: lazyarr.array(x) if k != "q" else x for k, x in start((700, 61), "d").items()}
                for _ in range(8):
                    exec(HEAT, scope)
                found.append(numpy.asarray(scope["u"]).tobytes() == want)

    threads = [threading.Thread(target=run, args=(1 + k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16 and all(found)


def test_runs_of_one_evaluation_have_each_a_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "sweeps", lambda *_: 4)
    with options(pending_nodes=1 << 20):
        for text in (JACOBI, HEAT):
            alike(text, (900, 61), times=13)
            assert len(rings()) >= 3


@pytest.mark.parametrize("name", SWEEPS)
def test_compiled(name: str) -> None:
    text = SWEEPS[name]

    def program(u: Any, v: Any, q: Any) -> Any:
        u, v = u.copy(), v.copy()
        scope = {"u": u, "v": v, "q": q}
        for _ in range(9):
            exec(code, scope)
        return scope["u"], scope["v"]

    code = compile(text, "/somewhere/user.py", "exec")
    for shape in ((700, 61), (512, 512)):
        given = start(shape, "d")
        f = lazyarr.compile(program)
        with numpy.errstate(all="ignore"):
            want = program(**given)
            for _ in range(3):
                found = f(*(lazyarr.array(given[k]) for k in "uv"), given["q"])
                assert all(
                    numpy.asarray(a).tobytes() == b.tobytes() for a, b in zip(found, want, strict=True)
                )


def test_why_a_buffer_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "second buffer is whole: the rows in use are most of it" in explain(pending(JACOBI, (60, 61)))
    monkeypatch.setattr(row_rings, "ring_of", lambda *_: "it is not")
    assert "second buffer is whole: it is not" in explain(pending(JACOBI, (700, 61)))


def test_too_many_pieces() -> None:
    strides = (8000, 400, 20, 4)
    assert pieces_of([((10, 2, 3, 1), "<f4", 0, strides)], 8000) == (
        Piece(0, 10, 0, 4, 3, 20), Piece(0, 10, 400, 4, 3, 20),
    )  # fmt: skip
    assert pieces_of([((10, 20, 3, 1), "<f4", 0, strides)], 8000) is None
    assert pieces_of([((2, 20, 20, 5), "<f4", 8000, strides)], 8000) == (Piece(1, 3, 0, 8000, 1, 0),)


def test_the_proof_finds_rings_that_are_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Ring.window.fget                                           # type: ignore[attr-defined]
    monkeypatch.setattr(Ring, "window", property(lambda ring: window(ring) - 2 * PAGE - 2 * ring.step))
    with pytest.raises(InvalidKernel, match="second buffer"):
        lazyarr.evaluate(pending(JACOBI, (2000, 130), 8))


def test_the_proof_finds_ends_and_seams_that_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(ring: Ring, strips: int) -> Iterator[tuple[int, int]]:
        return (bounds for bounds in kept(ring, strips) if bounds[0] in (0, ring.nbytes))

    kept = Ring.kept
    lazyarr.evaluate(pending(JACOBI, (2000, 130), 8))
    (ring,), strips = rings(), ring_strips()
    assert ring.prove(strips) is None
    monkeypatch.setattr(Ring, "kept", ends)
    ring.patterns.clear()
    assert ring.prove(strips)


def test_who_asks_for_other_rings_all_the_time_gets_whole_buffers() -> None:
    """Mapping a ring takes longer than to use pages again; but what is asked for twice is mapped."""
    allocator: Any = buffers._allocator
    buffers.trim()
    allocator._asked.clear()

    def found(rows: int) -> bool:
        before = allocator._saved, allocator._credit
        kept = len(allocator._rings)
        alike(JACOBI, (rows, 61))
        assert rings()
        return len(allocator._rings) > kept or allocator._credit > before[1]

    assert [found(rows) for rows in range(800, 920, 20)] == [True] * 3 + [False] * 3
    assert [found(rows) for rows in (900, 900, 1000, 1020)] == [True, True, True, False]


def test_addresses_of_rings_that_nobody_uses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator: Any = buffers._allocator
    buffers.trim()
    monkeypatch.setattr(buffers, "RING_ADDRESSES", 1 << 20)
    monkeypatch.setattr(allocator, "_widest", 0)
    monkeypatch.setattr(buffers, "IN_VAIN", 1 << 10)
    monkeypatch.setattr(allocator, "_credit", 1 << 10)
    for rows in range(800, 1200, 20):
        alike(JACOBI, (rows, 61))
        reach = sum(kind.nbytes for kind, _ in allocator._rings)
        assert allocator._rings and reach <= max(1 << 20, buffers.TEMPORARIES * allocator._widest)
    assert allocator._reach == 0


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
@pytest.mark.parametrize("compiled", [False, True])
def test_handlers_wait_while_there_is_a_ring(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that one of them makes would have none of the ring's pages."""

    def mapped(kind: Any, nbytes: int) -> Any:
        found = given(kind, nbytes)
        mapped_at.append(COUNT.native_launches)
        signal.raise_signal(signal.SIGUSR1)
        return found

    def handler(*_: Any) -> None:
        launches.append(COUNT.native_launches)

    def program(u: Any, v: Any, q: Any) -> Any:
        u = u.copy()
        for _ in range(8):
            exec(code, {"u": u, "q": q})
        return u

    given, code = values.ring, compile(JACOBI, "/somewhere/user.py", "exec")
    launches, mapped_at = list[int](), list[int]()
    usual = signal.signal(signal.SIGUSR1, handler)
    call, scope = lazyarr.compile(program) if compiled else program, start((700, 61), "d")
    try:
        args = [lazyarr.array(scope[k]) for k in "uv"]
        lazyarr.evaluate(call(*args, scope["q"]))
        monkeypatch.setattr(values, "ring", mapped)
        for _ in range(3):
            lazyarr.evaluate(call(*args, scope["q"]))
        assert len(launches) == len(mapped_at) >= 3
        assert all(at < launched for at, launched in zip(mapped_at, launches, strict=True))
    finally:
        signal.signal(signal.SIGUSR1, usual)
