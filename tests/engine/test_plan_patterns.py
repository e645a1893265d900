"""One plan for all shapes of a pattern: as many plans as structures, and the bits of each shape."""

import numpy
import pytest

import lazyarr
from lazyarr import planning
from lazyarr.counters import COUNT, reset

RNG = numpy.random.default_rng(11)


@pytest.fixture(autouse=True)
def forced():
    planning.forget()                   # else plans of before may fill the cache half way
    with lazyarr.options(jit="always"):
        yield


def chain(np, a, b):
    return (a + b) * 0.5 - a / b


def in_place(np, a, b):
    a *= 2
    a += b
    np.add(a, 1, out=a, where=a > b)
    return a


def several(np, a, b):
    t = np.sqrt(a) * b
    return t + t.astype("f"), -t, t


def loops(np, a, b):
    return np.exp(-a) * np.sin(b)


def zero_d(np, a, b):
    return a * np.array(0.25) + b


PROGRAMS = [chain, in_place, several, loops, zero_d]


def check(program, shape):
    a, b = RNG.uniform(0.5, 2, shape), RNG.uniform(0.5, 2, shape)
    x, y = lazyarr.array(a), lazyarr.array(b)
    lazyarr.evaluate(x, y)
    before = COUNT.plans, COUNT.compiles + COUNT.disk_hits
    got = program(lazyarr, x, y)
    lazyarr.evaluate(*(got if isinstance(got, tuple) else (got,)))
    made = COUNT.plans - before[0], COUNT.compiles + COUNT.disk_hits - before[1]
    want = program(numpy, a, b)
    for g, w in zip(
        got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True
    ):
        g = numpy.asarray(g)
        assert g.shape == w.shape and g.strides == w.strides and g.dtype == w.dtype
        assert g.tobytes() == w.tobytes()
    return made


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_plan_and_one_compile_for_many_shapes(program):
    reset()
    made = [check(program, tuple(RNG.integers(2, 40, RNG.integers(1, 4)))) for _ in range(200)]
    plans, compiles = zip(*made, strict=True)
    assert sum(plans) <= 1 and sum(compiles) <= 1


def test_a_thousand_shapes():
    reset()
    made = [check(chain, (int(n),)) for n in RNG.permutation(numpy.arange(2, 1002))]
    plans, compiles = zip(*made, strict=True)
    assert sum(plans) <= 1 and sum(compiles) <= 1


OTHERS = {
    "broadcast": (lambda np, a, b: a + b[0], (5, 7)),
    "transposed": (lambda np, a, b: a + b.T, (6, 6)),
    "reversed": (lambda np, a, b: a + b[::-1], (9,)),
    "part": (lambda np, a, b: a[1:] + b[1:], (9,)),
    "one element": (lambda np, a, b: a + b, (1, 1)),
    "no element": (lambda np, a, b: a + b, (3, 0)),
    "columns": (lambda np, a, b: a.T + b.T, (3, 5)),
    "folded": (lambda np, a, b: (a + b).sum(axis=0), (3, 5)),
    "cast for a loop": (lambda np, a, b: np.exp((a * 9).astype("i4")), (3, 5)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_extents_may_decide_is_planned_by_them(name):
    program, shape = OTHERS[name]
    check(program, shape)
    check(program, tuple(2 * n for n in shape))
    check(program, tuple(n + 1 if n else 0 for n in shape))


def test_small_arrays_are_still_left_to_numpy():
    with lazyarr.options(jit="auto"):
        lazyarr.evaluate(lazyarr.array(RNG.random(10_000_000)) * 2 + 1)    # enough work for a compiler
        for n in (5000, 50, 6000, 60):
            check(chain, (n,))


def test_numpys_buffer_size_is_part_of_the_pattern():
    """Folds that cast go buffer by buffer."""
    usual = numpy.getbufsize()
    x = RNG.random((7, 40_001)).astype("f4")
    try:
        for size in (usual, 16 * usual, 512, usual):
            lazyarr.setbufsize(size)
            assert (lazyarr.array(x) * 1).sum(dtype="d") == x.sum(dtype="d")
            rows = (lazyarr.array(x) * 1).sum(1, dtype="d")
            assert numpy.asarray(rows).tobytes() == x.sum(1, dtype="d").tobytes()
    finally:
        numpy.setbufsize(usual)


KEPT = {
    "sum": lambda np, x, m: x[x > m].sum(),
    "mean": lambda np, x, m: x[x > m].mean(keepdims=True),
    "chain": lambda np, x, m: x[x > m] * 2 + 1,
    "product": lambda np, x, m: (x[x > m] * 1e-3).prod(),
    "cast by the fold": lambda np, x, m: x[x > m].sum(dtype="f4"),
    "integers": lambda np, x, m: (x[x > m] * 100).astype("i4").sum(),
    "largest": lambda np, x, m: x[x > m].max(),
    "table": lambda np, x, m: x.reshape(300, -1)[x.reshape(300, -1) > m].sum(),
    "part": lambda np, x, m: x[x > m][1:].sum(),
    "twice": lambda np, x, m: x[x > m].sum() + x[x < m].sum(),
    "both": lambda np, x, m: (x[x > m] * x[x > m]).sum(),
}


@pytest.mark.parametrize("n", [3000, 150_000, 300_000])
@pytest.mark.parametrize("name", KEPT)
def test_masks_that_keep_other_numbers(name, n):
    for m in (0.1, 0.2, 0.3, -0.1, -0.3, 0.45, -0.6, 0.49, 0.0, 0.01, 0.02):
        a = RNG.uniform(-0.5, 0.5, n)
        found = numpy.asarray(KEPT[name](lazyarr, lazyarr.array(a), m))
        expected = numpy.asarray(KEPT[name](numpy, a, m))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["sum", "chain", "largest", "integers"])
def test_one_plan_for_all_numbers_that_masks_keep(name):
    def planned(k):
        x = lazyarr.array(RNG.uniform(-0.5, 0.5, 400_000))
        lazyarr.evaluate(x)
        before = COUNT.plans + COUNT.reshaped
        found = KEPT[name](lazyarr, x, 0.01 * k)
        lazyarr.evaluate(*[found] if isinstance(found, lazyarr.ndarray) else [])
        return COUNT.plans + COUNT.reshaped - before

    planning.forget()                   # (as it happens when there are many: not in the middle of this)
    planned(0)
    assert not any(planned(k) for k in range(8))
