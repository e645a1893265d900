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
from lazyarr.target import LIBM, OWN, SVML

llvm = pytest.importorskip("llvmlite.binding")
LEVELS = [level.target.name for level in usable_levels()]
EQUAL = [key[:2] for key in FUNCTIONS if key in host().equal]
SIGNALING = {
    "f": numpy.array([0x7F800001], numpy.uint32).view(numpy.float32)[0],
    "d": numpy.array([0x7FF0000000000001], numpy.uint64).view(numpy.float64)[0],
}
STEP = 641
"""Every so many of all 2**32 numbers; all of them take ten seconds."""


def numbers(char: str) -> numpy.ndarray:
    """From everywhere, and those that equal_loops looks at; a number that leaves a rest in all registers."""
    every = numpy.arange(0, 1 << 32, STEP, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)
    chosen = [equal_loops._numbers(sig[0], known) for (_, sig, _), known in equal_loops.KNOWN.items()]
    if char == "d":
        rng = numpy.random.default_rng(3)
        bits = rng.integers(0, 1 << 64, 1 << 20, dtype=numpy.uint64).view(numpy.float64)
        near = numpy.ones(1 << 16).view(numpy.int64) + rng.integers(-1 << 20, 1 << 20, 1 << 16)
        every = numpy.concatenate([bits, abs(bits), near.view(numpy.float64), *map(rare, RARE)])
        chosen = [x for x in chosen if x.dtype == char]
    with numpy.errstate(all="ignore"):
        x = numpy.concatenate([x.astype(char) for x in (every, *chosen)])
    return x[: len(x) // 64 * 64 + 23]


RARE = (
    (-750.0, 715.0), (-746.0, -708.0), (707.0, 710.0), (-1e-307, 1e-307), (0.0, 4.0), (0.9, 1.1), (-1.0, 1.0),
)
"""Where exponentials of float64 leave the usual way, and other ranges that matter."""


def rare(limits: tuple[float, float]) -> numpy.ndarray:
    return numpy.random.default_rng(4).uniform(*limits, 1 << 16)


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_bits(name: str, sig: str, level: str, tier: str) -> None:
    x = numbers(sig[0])
    options = {"cpu_level": level, "tier": tier, "jit": "always", "plan": "always"}
    with numpy.errstate(all="ignore"), lazyarr.options(**options):
        wanted = getattr(numpy, name)(x)
        debug.reset()
        found = numpy.asarray(getattr(lazyarr, name)(lazyarr.array(x)))
        called = debug.counters()["numpy_loop_blocks"] > 0
        assert called is not bool(host().whose(name, sig))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [16, 17])
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_flags(name: str, sig: str, level: str, n: int, tier: str) -> None:
    """Of each number beside usual ones, in whole registers and in what they leave."""
    known = equal_loops.KNOWN[name, sig, host().whose(name, sig)]
    ufunc, ours = getattr(numpy, name), getattr(lazyarr, name)
    options = {"cpu_level": level, "tier": tier, "jit": "always", "plan": "always", "eager_elements": 0}
    others = SIGNALING[sig[0]], -87.4, -600.3, -708.5, 709.5, 1e-320, 1e-160, 1e-200, -1e-200, 511.9, -512.1
    others = *others, 70.0, 70.1, -104.1        # (bounds of what exponentials of float32 do usually)
    for number in [*known.edges, *(x for x, _ in known.flags), *others]:
        x = numpy.linspace(0.3, 3, n).astype(sig[0])
        with numpy.errstate(all="ignore"):
            x[-1] = number
        with numpy.errstate(all="warn"):
            with warnings.catch_warnings(record=True) as wanted:
                warnings.simplefilter("always")
                ufunc(x)
            with lazyarr.options(**options), warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                lazyarr.evaluate(ours(lazyarr.array(x)))
        assert [str(w.message) for w in found] == [str(w.message) for w in wanted], number


VIEWS = {
    "forwards": lambda x: x, "backwards": lambda x: x[::-1], "with gaps": lambda x: x[::3],
    "backwards with gaps": lambda x: x[::-3], "columns": lambda x: x.reshape(-1, 6)[:, 1],
    "transposed": lambda x: x.reshape(-1, 6).T, "rows backwards": lambda x: x.reshape(-1, 6)[::-1],
    "columns backwards": lambda x: x.reshape(-1, 6)[:, ::-1],
    "a row again": lambda x: x[:6] + x.reshape(-1, 6),
}  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seen", VIEWS)
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_any_memory(name: str, sig: str, seen: str, level: str) -> None:
    """Also where NumPy's bits depend on how numbers lie: what is read backwards (float64, NumPy 2.4)."""
    limits = (-40, 40) if name.startswith("exp") else (0, 3)
    x = numpy.random.default_rng(2).uniform(*limits, 18006).astype(sig[0])
    x[:100] = numpy.linspace(1, 40, 100)
    view = VIEWS[seen]
    wanted = getattr(numpy, name)(view(x)) * 1
    with lazyarr.options(jit="always", plan="always", cpu_level=level):
        assert numpy.asarray(getattr(lazyarr, name)(view(lazyarr.array(x))) * 1).tobytes() == wanted.tobytes()
        memory = numpy.zeros(x.nbytes + 1, "u1")[1:].view(sig[0])
        memory[:] = x
        found = getattr(lazyarr, name)(view(lazyarr.asarray(memory)))
        assert numpy.asarray(found * 1).tobytes() == (getattr(numpy, name)(view(memory)) * 1).tobytes()


@pytest.mark.parametrize("where", ["everywhere", "with gaps", "alone"])
@pytest.mark.parametrize(("name", "sig"), EQUAL)
def test_other_bits_are_seen(name: str, sig: str, where: str) -> None:
    """One number in the middle of its kind is enough, or in the way that few numbers or gaps take."""
    known = equal_loops.KNOWN[name, sig, host().whose(name, sig)]
    char, ufunc = sig[0], getattr(numpy, name)
    size = numpy.dtype(char).itemsize
    witness = numpy.array(known.witnesses[:1], f"u{size}").view(char)[0]

    def other(x: numpy.ndarray, out: numpy.ndarray | None = None) -> numpy.ndarray:
        found = ufunc(x, out=out)
        differs = {"everywhere": True, "with gaps": x.strides != (size,), "alone": x.size == 1}[where]
        odd = (x == witness) & differs
        found[odd] = numpy.nextafter(found[odd], numpy.zeros((), char)[()])
        return found

    assert equal_loops._agrees(ufunc, char, known)
    assert not equal_loops._agrees(ufunc, char, known._replace(flags=((1.0, "overflow"),)))
    assert not equal_loops._agrees(other, char, known)


def test_estimates_decide_nothing() -> None:
    """No number is looked at of which a CPU's inverse may be rounded up or down."""
    for (_, sig, _), known in equal_loops.KNOWN.items():
        if known.inverse:
            x = equal_loops._numbers(sig[0], known)
            with numpy.errstate(all="ignore"):
                between = abs(8 / numpy.frexp(x)[0]) % 1
            assert not (abs(between - 0.5) < equal_loops.NEAR).any()


def test_when() -> None:
    """Where products are fused, unless it is switched off or functions are ours."""
    assert FUNCTIONS.keys() == equal_loops.KNOWN.keys()
    # (What NumPy computes is of the CPU, whatever level is asked for.)
    seen = [each for each in equal_loops.KNOWN if equal_loops._whose(*each[:2]) == each[2]]
    for level in BY_NAME.values():
        target, wide = level.target, level.target.vector_bytes == 64
        wanted = [each for each in seen if wide or each[2] != SVML]
        assert completed(target).equal == (tuple(wanted) if target.x86 and target.fma else ())
    target = host()._replace(equal=(("exp", "f->f", OWN),))
    assert numpys("exp", "f->f", target) and not numpys("exp", "d->d", target)
    assert native("exp", "f->f", target) and not native("exp", "f->f", target._replace(off=("emitters:exp",)))
    with lazyarr.options(math="native"):
        assert not native("exp", "f->f", target)
    # (Whoever has the bits of a library for wide registers has no other code for narrow ones.)
    vector = host()._replace(equal=(("exp", "d->d", SVML),))
    scalar = host()._replace(equal=(("exp", "d->d", LIBM),))
    assert numpys("exp", "d->d", vector) is not numpys("exp", "d->d", scalar)


@pytest.mark.parametrize("code", ["tier 1", "tier 2"])
@pytest.mark.parametrize("n", [1, 7, 8, 31, 32, 41, 1000])
def test_some_numbers_are_numpys(n: int, code: str) -> None:
    """Few of them, anywhere in several registers, in a long loop; in place, too."""
    x = numpy.random.default_rng(n).uniform(0.5, 1.5, (3, n))
    x[0, n // 2], x[1, -1], x[2, n // 3] = -1.0, 0.0, 1e6

    def program(np, a, b, c):                                # type: ignore[no-untyped-def]
        y = np.log(a) * np.exp(700 * b) - np.exp(c) + np.log(c)
        for _ in range(20):
            y = y * a + b
        a *= y
        return y, a

    with numpy.errstate(all="ignore"), lazyarr.options(jit="always", plan="always", tier=code[-1]):
        ours = program(lazyarr, *map(lazyarr.array, x))
        for found, wanted in zip(ours, program(numpy, *x.copy()), strict=True):
            one, other = (numpy.where(numpy.isnan(y), numpy.nan, y) for y in (numpy.asarray(found), wanted))
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("shape", [(1,), (3000,), (300, 200)])
def test_once_before_blocks(shape: tuple[int, ...], char: str) -> None:
    """What is the same all along is computed once, in several basic blocks, before loops of any kind."""
    x = numpy.random.default_rng(5).uniform(0.5, 3, shape).astype(char)

    def program(np, x):                                      # type: ignore[no-untyped-def]
        one = np.broadcast_to((x * 2)[..., :1], shape)
        return np.log(one) + np.cos(x), np.exp(one) - x, np.log(np.log(one) + 9) - np.exp(x.astype("e"))

    with lazyarr.options(jit="always", plan="always", tier="2"):
        for found, wanted in zip(program(lazyarr, lazyarr.array(x)), program(numpy, x), strict=True):
            assert numpy.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 24, 100, 128, 129, 200, 1000, 1024, 1031])
@pytest.mark.parametrize("char", "fd")
def test_rows_that_are_summed(columns: int, char: str) -> None:
    """Registers of float32 are wider than NumPy's accumulators are many."""
    x = numpy.random.default_rng(columns).normal(0, 30, (300, columns)).astype(char)
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
    # (Whoever fetches all of that, or its beginning; from block to block all move on by one block's bytes.)
    assert (2 * rows.rows * x.strides[0] in ready.words) is in_turn


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
