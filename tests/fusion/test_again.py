"""Values that several groups use: stored once, or computed again by each of them, whichever moves less."""

import warnings

import numpy
import pytest

import lazyarr
from lazyarr import debug, engine
from lazyarr.counters import COUNT
from lazyarr.plan import walk

N = 1 << 16
ROWS = 1 << 8
RANDOM = numpy.random.default_rng(7)
A, B, C = (RANDOM.random((ROWS, N // ROWS)) - 0.5 for _ in range(3))
NBYTES = A.nbytes


@pytest.fixture(autouse=True)
def _always():
    with lazyarr.options(jit="always"):
        yield


def deviations(np, a, b, c):
    x = a * 2
    return x - x.mean(keepdims=True)


def centred(np, a, b, c):
    x = a * 2
    return x - x.mean(0) - x.mean(1, keepdims=True) + x.mean(keepdims=True)


def spread(np, a, b, c):
    x = a * 2 + 1
    return (x - x.min(keepdims=True)) / (x.max(keepdims=True) - x.min(keepdims=True))


def covariance(np, a, b, c):
    x, y = a * 2, b + 1
    return ((x - x.mean(keepdims=True)) * (y - y.mean(keepdims=True))).sum(keepdims=True)


def of_three(np, a, b, c):
    x = a * b + c
    return x - x.mean(keepdims=True)


def of_much(np, a, b, c):
    x = np.sqrt(a * a + 1) / (np.sqrt(a + 2) + 1) / 3
    return x - x.mean(keepdims=True)


def turned(np, a, b, c):
    x = a * 2
    return x.T - x.mean(keepdims=True)


def of_halves(np, a, b, c):
    x = np.abs(a) * 0.5
    return (x - x.mean(keepdims=True)) / (x.std(keepdims=True) + 1)


PROGRAMS = {
    deviations: 3,      # read twice, written once
    spread: 3,
    covariance: 4,
    centred: 5,         # read for each of three folds, and for the result
    of_halves: 4,
    turned: 3,
    of_three: 6,        # stored: three reads and a write, one read and a write; not two times three reads
    of_much: 4,         # stored: roots and quotients cost more than memory does
}
"""How many arrays are read and written."""


def arrays(np, *given):
    return [np.array(x) for x in given]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_bytes_and_bits(program):
    result = program(lazyarr, *arrays(lazyarr, A, B, C))
    moved = debug.explain(result).bytes_moved
    assert moved == pytest.approx(PROGRAMS[program] * NBYTES, rel=0.02)
    wanted = program(numpy, A, B, C)
    assert numpy.asarray(result).tobytes() == wanted.tobytes()
    again = program(lazyarr, *arrays(lazyarr, A, B, C))         # by the plan that is known now
    assert numpy.asarray(again).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_other_extents_find_the_places(program):
    for rows in (256, 300, 411):
        given = [RANDOM.random((rows, 300)) - 0.5 for _ in range(3)]
        found = numpy.asarray(program(lazyarr, *arrays(lazyarr, *given)))
        assert found.tobytes() == program(numpy, *given).tobytes()


def test_what_somebody_holds_is_stored():
    a = lazyarr.array(A)
    x = a * 2
    y = x - x.mean(keepdims=True)
    lazyarr.evaluate(y)
    assert lazyarr.is_evaluated(x)
    assert numpy.asarray(x).tobytes() == (A * 2).tobytes()


def test_what_is_overwritten_in_between_is_stored():
    def program(np, a, b, c):
        x = a * 2
        mean = x.mean(keepdims=True)
        a[...] = b
        return x - mean

    given = arrays(lazyarr, A, B, C)
    result = program(lazyarr, *given)
    wanted = program(numpy, *arrays(numpy, A, B, C))
    assert numpy.asarray(result).tobytes() == wanted.tobytes()
    assert numpy.asarray(given[0]).tobytes() == B.tobytes()


def test_what_a_thread_lets_go_of_meanwhile_stays(monkeypatch):
    """It was to be computed, since a write follows; when the plan is made nobody needs it any more."""
    a, b = arrays(lazyarr, A, B)
    held = [a * b]
    x = a * 2
    b[...] = x
    result = b - x.mean(keepdims=True)
    del x

    def late(*given):
        held.clear()
        return walk(*given)

    monkeypatch.setattr(engine, "walk", late)
    assert numpy.asarray(result).tobytes() == deviations(numpy, A, None, None).tobytes()
    assert not held


def test_inputs_that_end_stay_until_the_last_that_computes_of_them():
    def program(np):
        a = np.array(A)
        a += 1                                  # memory that the results may take
        return deviations(np, a, None, None), a.sum(keepdims=True)

    found = program(lazyarr)
    for mine, wanted in zip(found, program(numpy), strict=True):
        assert numpy.asarray(mine).tobytes() == wanted.tobytes()


def told(program, np, *given):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = numpy.asarray(program(np, *arrays(np, *given)))
    return result, sorted((str(w.message), w.category) for w in found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("bad", [1.5e308, numpy.inf, 5e-324])
def test_warnings_come_once(program, bad):
    given = [A.copy(), B, C]
    given[0][3, 5] = bad
    for _ in range(3):
        result, mine = told(program, lazyarr, *given)
        wanted, numpys = told(program, numpy, *given)
        assert numpy.array_equal(result, wanted, equal_nan=True)
        assert mine == numpys


def test_numpy_does_what_no_kernel_does_yet(monkeypatch):
    """A step that NumPy ran leaves what is computed again as a value that exists."""
    from lazyarr import engine

    by_kernel, runs = engine._by_kernel, []

    def first_by_numpy(step, w):
        runs.append(step)
        (engine._by_numpy if len(runs) == 1 else by_kernel)(step, w)

    monkeypatch.setattr(engine, "_by_kernel", first_by_numpy)
    before = COUNT.numpy_fallbacks
    for program in PROGRAMS:
        runs.clear()
        found = numpy.asarray(program(lazyarr, *arrays(lazyarr, A, B, C)))
        assert found.tobytes() == program(numpy, A, B, C).tobytes()
    assert COUNT.numpy_fallbacks > before


def test_switched_off():
    with lazyarr.options(parallel={"reduction", "setitem", "numpy"}):
        found = numpy.asarray(deviations(lazyarr, *arrays(lazyarr, A, B, C)))
    assert found.tobytes() == deviations(numpy, A, B, C).tobytes()


@pytest.mark.parametrize("shape", [(300, 280), (300,), (4, 3)])
@pytest.mark.parametrize("times", [2, 3, 4, 6, 8])
def test_a_value_that_is_read_in_two_ways(shape, times):
    """A group that computes it for one of these cannot compute it for the other, too."""

    def program(a):
        t = a + 1
        for _ in range(times):
            t[...] = 0.5 * (t + t) - t[::-1]
            t[0] = 3.0
        return t

    a = numpy.random.default_rng(1).uniform(size=shape)
    assert numpy.asarray(program(lazyarr.array(a))).tobytes() == program(a).tobytes()


def flipped(np, x):
    return np.tanh(x[::-1])


def flipped_twice(np, x):
    y = x[::-1].copy()
    return np.sin(y[::-1]) + y, np.tanh(y)


@pytest.mark.parametrize("read", [flipped, flipped_twice], ids=lambda p: p.__name__)
@pytest.mark.parametrize("made", [
    lambda np: np.full(N, 0.5), lambda np: np.arange(N) * 0.25, lambda np: np.array(A.ravel()) * 2,
], ids=["full", "arange", "product"])  # fmt: skip
def test_what_numpys_loop_is_to_see_as_it_lies(made, read):
    """A function's bits may depend on strides: what it reads backwards is not computed again."""
    found, wanted = read(lazyarr, made(lazyarr)), read(numpy, made(numpy))
    lazyarr.evaluate(*(found if isinstance(found, tuple) else (found,)))
    assert numpy.asarray(found).tobytes() == numpy.asarray(wanted).tobytes()
