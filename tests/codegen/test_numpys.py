"""NumPy's functions in kernels' own code: NumPy's bits and flags, on every level, and when they are used."""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr
from lazyarr import debug, equal_loops, launch_rows, plan, planning
from lazyarr.codegen.emitters_numpys import FUNCTIONS, numpys
from lazyarr.codegen.native import native
from lazyarr.codegen.reduce_blocks import staged
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.dispatch.levels import BY_NAME, usable_levels
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.kernels import completed, host
from lazyarr.plan import RowBlocks

llvm = pytest.importorskip("llvmlite.binding")
LEVELS = [level.target.name for level in usable_levels()]
EQUAL = [(name, sig) for name, sig in FUNCTIONS if f"{name} {sig}" in host().equal]
STEP = 641
"""Every so many of all 2**32 numbers; all of them take ten seconds."""


def numbers() -> numpy.ndarray:
    """From everywhere, and those that equal_loops looks at; a number that leaves a rest in all registers."""
    every = numpy.arange(0, 1 << 32, STEP, dtype=numpy.uint64).astype(numpy.uint32)
    chosen = [equal_loops._numbers(known).view(numpy.uint32) for known in equal_loops.KNOWN.values()]
    bits = numpy.concatenate([every, *chosen])
    return bits[: len(bits) // 64 * 64 + 23].view(numpy.float32)


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_bits(name: str, sig: str, level: str, tier: str) -> None:
    x = numbers()
    options = {"cpu_level": level, "tier": tier, "jit": "always", "plan": "always"}
    with numpy.errstate(all="ignore"), lazyarr.options(**options):
        wanted = getattr(numpy, name)(x)
        debug.reset()
        found = numpy.asarray(getattr(lazyarr, name)(lazyarr.array(x)))
        called = debug.counters()["numpy_loop_blocks"] > 0
        assert called is (f"{name} {sig}" not in host().equal)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [16, 17])
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_flags(name: str, sig: str, level: str, n: int) -> None:
    """Of each number alone, in whole registers and in what they leave."""
    known = equal_loops.KNOWN[name, sig]
    signaling = numpy.array([0x7F800001], numpy.uint32).view(numpy.float32)[0]
    ufunc, ours = getattr(numpy, name), getattr(lazyarr, name)
    options = {"cpu_level": level, "jit": "always", "plan": "always", "eager_elements": 0}
    for number in [*known.edges, *(x for x, _ in known.flags), signaling, numpy.float32(-87.4)]:
        x = numpy.zeros(n, numpy.float32)
        x[-1] = number
        with numpy.errstate(all="warn"):
            with warnings.catch_warnings(record=True) as wanted:
                warnings.simplefilter("always")
                ufunc(x)
            with lazyarr.options(**options), warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                lazyarr.evaluate(ours(lazyarr.array(x)))
        assert [str(w.message) for w in found] == [str(w.message) for w in wanted], number


@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_any_memory(name: str, sig: str) -> None:
    """NumPy's bits do not depend on how numbers lie, so ours need not."""
    x = numpy.random.default_rng(2).uniform(-87, 88, 6007).astype(numpy.float32)
    wide = numpy.repeat(x, 3)
    memory = numpy.zeros(x.nbytes + 1, "u1")[1:].view(numpy.float32)
    memory[:] = x
    x[:100] = numpy.linspace(-87, 88, 100)
    for y in (x[::-1], wide[::3], wide[::-3], memory, numpy.broadcast_to(x[:, None], (6007, 5))):
        wanted = getattr(numpy, name)(y)
        with lazyarr.options(jit="always", plan="always"):
            assert numpy.asarray(getattr(lazyarr, name)(lazyarr.array(y)) * 1).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("where", ["everywhere", "with gaps", "alone"])
def test_other_bits_are_seen(where: str) -> None:
    """One number in the middle of its kind is enough, or in the way that few numbers or gaps take."""
    known = equal_loops.KNOWN["exp", "f->f"]
    witness = numpy.array(known.witnesses[:1], numpy.uint32).view(numpy.float32)[0]

    def other(x: numpy.ndarray, out: numpy.ndarray | None = None) -> numpy.ndarray:
        found = numpy.exp(x, out=out)
        differs = {"everywhere": True, "with gaps": x.strides != (4,), "alone": x.size == 1}[where]
        odd = (x == witness) & differs
        found[odd] = numpy.nextafter(found[odd], numpy.float32(0))
        return found

    if not EQUAL:
        pytest.skip("the running NumPy has other bits")
    assert equal_loops._agrees(numpy.exp, known)
    assert not equal_loops._agrees(numpy.exp, known._replace(flags=((1.0, "overflow"),)))
    assert not equal_loops._agrees(other, known)


def test_when() -> None:
    """Where products are fused, unless it is switched off or functions are ours."""
    assert FUNCTIONS.keys() == equal_loops.KNOWN.keys()
    seen = equal_loops._seen()          # (which is of the CPU, whatever level is asked for)
    for level in BY_NAME.values():
        assert completed(level.target).equal == (seen if level.target.x86 and level.target.fma else ())
    target = host()._replace(equal=("exp f->f",))
    assert numpys("exp", "f->f", target) and not numpys("exp", "d->d", target)
    assert native("exp", "f->f", target) and not native("exp", "f->f", target._replace(off=("emitters:exp",)))
    with lazyarr.options(math="native"):
        assert not native("exp", "f->f", target)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 24, 100, 128, 129, 200, 1000, 1024, 1031])
def test_rows_that_are_summed(columns: int) -> None:
    """Registers are wider than NumPy's accumulators are many."""
    x = numpy.random.default_rng(columns).normal(0, 30, (300, columns)).astype(numpy.float32)
    x[3, columns // 2], x[4, 0], x[5] = numpy.inf, numpy.nan, -numpy.inf

    def program(np, x):                                      # type: ignore[no-untyped-def]
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True), ((x - e) ** 2).sum(axis=1), (e * 2).sum()

    with numpy.errstate(all="ignore"), lazyarr.options(jit="always", plan="always"):
        for found, wanted in zip(program(lazyarr, lazyarr.array(x)), program(numpy, x), strict=True):
            # (Which NaN a sum of several is nobody promises.)
            one, other = (numpy.where(numpy.isnan(y), numpy.nan, y) for y in (numpy.asarray(found), wanted))
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("each", [1, 1 << 20])
def test_rows_to_come_are_fetched(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds are told how far away the block is that their thread takes next: the one behind, in runs of
    several; else threads take them in turn."""
    prepared, prepare = [], launch_rows._prepare
    monkeypatch.setattr(plan, "RUNS_EACH", each)
    planning._plans.clear()

    def seen(rows: RowBlocks, threads: int, streams: bool) -> launch_rows.Ready:
        prepared.append((rows, prepare(rows, threads, streams)))
        return prepared[-1][1]

    monkeypatch.setattr(launch_rows, "_prepare", seen)
    x, threads = lazyarr.array(numpy.ones((5000, 1024), numpy.float32)), lazyarr.get_num_threads()
    lazyarr.set_num_threads(2)
    try:
        with lazyarr.options(jit="always", plan="always"):
            e = lazyarr.exp(x - x.max(axis=1, keepdims=True))
            lazyarr.evaluate(e / e.sum(axis=1, keepdims=True))
    finally:
        lazyarr.set_num_threads(threads)
    ((rows, ready),) = prepared
    assert ready.threads == 2
    in_turn = rows.run(2) == 1
    assert in_turn is (each > 1)
    # (Maxima and sums; from block to block all move on by one block's bytes.)
    assert (ready.words.count(2 * rows.rows * x.strides[0]) >= 2) is in_turn


def test_what_is_stored_is_folded_where_it_lies() -> None:
    """Not copied for the fold, unless something else is stored as well."""
    def text(stores: int) -> str:
        operands = (Operand("d", "u"), *[Operand("d", "u", "out")] * 2, Operand("d", "z", "out"))
        body = (
            Inst("load", "d", (), 0), Inst("exp", "d->d", (0,)), Inst("scalar", "d", (), 0),
            Inst("reduce", "d", (1,), Reduction("add", "pairwise", out=3, start=2)),
            *(Inst("store", "", (k,), k + 1) for k in (1, 0)[:stores]),
        )  # fmt: skip
        return str(staged(Reduce(Parfor("pr", operands, "d", body), host())).kernel)

    assert "slot" not in text(1) and "slot" in text(2)
