"""Random numbers are NumPy's, bit for bit and in the program's order, whoever computes them and when."""

from __future__ import annotations

import copy
import pickle
import random as python_random
import threading

import numpy
import pytest

import lazyarr as np

STREAMS = ("PCG64", "PCG64DXSM", "Philox")
LARGE = 300_001


def pair(name="PCG64", seed=5):
    """A generator of NumPy's, and ours, in the same state."""
    theirs = numpy.random.Generator(getattr(numpy.random, name)(seed))
    return theirs, np.random.Generator(getattr(np.random, name)(seed))


def same(x, y):
    x, y = numpy.asarray(x), numpy.asarray(y)
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    assert x.tobytes() == y.tobytes()


def alike(theirs, ours):
    """The same state, and so the same numbers from now on."""
    assert repr(theirs.bit_generator.state) == repr(ours.bit_generator.state)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dtype", ["d", numpy.float32])
def test_every_size(mode, name, dtype):
    theirs, ours = pair(name)
    for size in (0, 1, 2, 7, (3, 5), (2, 0, 3), (), 1000, (33, 65), LARGE, (601, 501), (1 << 20) + 7):
        same(ours.random(size, dtype), theirs.random(size, dtype))
        alike(theirs, ours)


@pytest.mark.parametrize("name", [*STREAMS, "MT19937", "SFC64"])
def test_uniform(mode, name):
    theirs, ours = pair(name)
    for low, high in ((0, 1), (-1, 1), (0.1, 0.7), (2, 2), (-7, 1e300), (0, 5e-324)):
        same(ours.uniform(low, high, LARGE), theirs.uniform(low, high, LARGE))
        same(ours.uniform(low, numpy.float64(high), (3, 4)), theirs.uniform(low, high, (3, 4)))
        assert ours.uniform(low, high) == theirs.uniform(low, high)
    same(ours.uniform(size=LARGE), theirs.uniform(size=LARGE))
    same(ours.uniform(np.array([1, 2]), 3.0), theirs.uniform(numpy.array([1, 2]), 3.0))
    alike(theirs, ours)


CALLS = [
    lambda g: g.random(LARGE), lambda g: g.random(LARGE, "f"), lambda g: g.random(LARGE + 1, dtype="f"),
    lambda g: g.uniform(-2, 3, (LARGE // 2, 2)), lambda g: g.random(), lambda g: g.random(3, "f"),
    lambda g: g.random(dtype="f"), lambda g: g.integers(0, 7, 3, dtype="i4"), lambda g: g.normal(size=5),
    lambda g: g.choice(20, 5, replace=False), lambda g: g.permutation(8), lambda g: g.uniform(),
    lambda g: g.integers(0, 255, dtype="u1"), lambda g: g.bit_generator.random_raw(), lambda g: g.bytes(5),
    lambda g: g.spawn(1)[0].random(LARGE), lambda g: g.standard_normal(LARGE), lambda g: g.random(0),
]  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("seed", range(2))
def test_draws_of_all_kinds_one_after_the_other(mode, name, seed):
    theirs, ours = pair(name, seed)
    choice = python_random.Random(seed).choice
    made = []
    for _ in range(25):
        call = choice(CALLS)
        made.append((call(ours), call(theirs)))
        alike(theirs, ours)
    python_random.Random(seed).shuffle(made)
    for x, y in made:
        same(x, y)


@pytest.mark.parametrize("name", STREAMS)
def test_two_generators_on_one_bit_generator(mode, name):
    theirs, ours = pair(name)
    other, its = np.random.Generator(ours.bit_generator), numpy.random.Generator(theirs.bit_generator)
    real = numpy.random.Generator(ours.bit_generator)
    made = [f(g) for g in (ours, other, real, other, ours) for f in (CALLS[0], CALLS[2], CALLS[9])]
    wanted = [f(g) for g in (theirs, its, its, its, theirs) for f in (CALLS[0], CALLS[2], CALLS[9])]
    for x, y in zip(made, wanted, strict=True):
        same(x, y)
    alike(theirs, ours)


@pytest.mark.parametrize("name", STREAMS)
def test_copies_go_on_by_themselves(mode, name):
    theirs, ours = pair(name)
    ours.random(LARGE)
    theirs.random(LARGE)
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        expected = copy.deepcopy(theirs)
        same(twin.random(LARGE), expected.random(LARGE))
        alike(expected, twin)
    alike(theirs, ours)
    jumped = np.random.Generator(ours.bit_generator.jumped(2))
    same(jumped.random(LARGE), numpy.random.Generator(theirs.bit_generator.jumped(2)).random(LARGE))
    ours.bit_generator.state = state = theirs.bit_generator.state
    x = ours.random(LARGE)
    ours.bit_generator.state = state
    same(ours.random(LARGE), x)


def test_spawned_generators_are_ours():
    theirs, ours = pair()
    for child, other in zip(ours.spawn(3), theirs.spawn(3), strict=True):
        x = child.random(LARGE)
        assert not np.is_evaluated(x)
        same(x, other.random(LARGE))


@pytest.mark.parametrize("used", range(5))
def test_philox_wherever_its_buffer_is(mode, used):
    theirs, ours = pair("Philox")
    for g in (theirs, ours):
        g.bit_generator.random_raw(4 + used)
    same(ours.random(LARGE), theirs.random(LARGE))
    same(ours.random(LARGE, "f"), theirs.random(LARGE, "f"))
    alike(theirs, ours)


def test_philox_with_a_buffer_that_somebody_made(mode):
    theirs, ours = pair("Philox")
    for g in (theirs, ours):
        g.random(2)
        state = g.bit_generator.state
        state["buffer"][:] = 1, 2, 3, 4
        g.bit_generator.state = state
    same(ours.random(LARGE), theirs.random(LARGE))
    alike(theirs, ours)


def test_philox_where_its_counter_begins_anew(mode):
    theirs, ours = pair("Philox")
    for g in (theirs, ours):
        state = g.bit_generator.state
        state["state"]["counter"][:] = (1 << 64) - 100
        g.bit_generator.state = state
    same(ours.random(LARGE), theirs.random(LARGE))
    alike(theirs, ours)


VIEWS = [
    lambda x: x.T + 1, lambda x: x[::-1] * 2, lambda x: x.ravel()[3:] - x.ravel()[:-3], lambda x: x[:, -1],
    lambda x: x * x[0], lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x.T.sum(0), lambda x: x.max(),
    lambda x: x[x < 0.25].sum(), lambda x: (x - x.mean()).std(),
    lambda x: x.reshape(-1, 7 if x.size % 7 == 0 else 6).sum(1),
    lambda x: x.cumsum(), lambda x: x[::2, ::-3].T.copy(), lambda x: x.astype("i8") + x.astype("f"),
    lambda x: x.argmax(0), lambda x: x[..., None] + x[:, None, :2], lambda x: x.view("u4") % 7,
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), [("PCG64", "d"), ("PCG64", "f"), ("Philox", "d")])
@pytest.mark.parametrize("shape", [(21, 14), (601, 700), (100_000, 3)])
def test_views_and_folds_of_a_draw(mode, name, dtype, shape):
    theirs, ours = pair(name)
    for view in VIEWS:
        same(view(ours.random(shape, dtype)), view(theirs.random(shape, dtype)))
    kept, wanted = ours.random(shape, dtype), theirs.random(shape, dtype)
    for view in VIEWS:
        same(view(kept), view(wanted))


def test_a_change_of_a_pending_draw(mode):
    theirs, ours = pair()
    x, y = ours.random((600, 700)), theirs.random((600, 700))
    before = x + 1, y + 1
    for z in (x, y):
        z[2:5] = 7
        z[:, ::2] *= -1
        z += z.T[:1, :600].T
    same(*before)
    same(x, y)
    alike(theirs, ours)


def test_into_an_array(mode):
    theirs, ours = pair()
    for shape, dtype in (((600, 500), "d"), ((600, 500), "f"), ((3,), "d")):
        x, y = np.zeros(shape, dtype), numpy.zeros(shape, dtype)
        x += 1
        assert ours.random(dtype=dtype, out=x) is x
        same(x, theirs.random(dtype=dtype, out=y))
        assert ours.random(shape, dtype, x) is x
        same(x, theirs.random(shape, dtype, y))
    alike(theirs, ours)


WRONG = [
    (("random", -1), {}), (("random", (3, -LARGE)), {}), (("random", "x"), {}), (("random", LARGE, "i4"), {}),
    (("random", LARGE, ">f8"), {}), (("random", (2.5, LARGE)), {}), (("random", 10**13), {}),
    (("random", LARGE, "no dtype"), {}), (("uniform", 0, numpy.inf, LARGE), {}),
    (("uniform", -1e308, 1e308, LARGE), {}), (("uniform", 0, 10**400, LARGE), {}),
    (("uniform", 0, 1, -LARGE), {}), (("uniform", "a", 1, LARGE), {}), (("random",), {"shape": 3}),
    (("random", LARGE), {"out": numpy.zeros(3)}), (("uniform", numpy.nan, 1, LARGE), {}),
]  # fmt: skip


@pytest.mark.parametrize(("call", "options"), WRONG, ids=str)
def test_errors_are_numpys_at_the_call(mode, call, options):
    theirs, ours = pair()
    with pytest.raises(Exception) as wanted:
        getattr(theirs, call[0])(*call[1:], **options)
    with pytest.raises(type(wanted.value)) as found:
        getattr(ours, call[0])(*call[1:], **options)
    if not options:
        assert str(found.value) == str(wanted.value)
    alike(theirs, ours)


def test_sizes_of_other_types(mode):
    theirs, ours = pair()
    for size in (numpy.int64(LARGE), [600, 700], (numpy.int32(600), 700), numpy.array([30, 70])):
        same(ours.random(size), theirs.random(size))
        same(ours.random(size=size, dtype="f"), theirs.random(size=size, dtype="f"))
        same(ours.uniform(1, 2, size), theirs.uniform(1, 2, size))


def test_generators_that_cannot_jump_are_numpys(mode):
    for name in ("MT19937", "SFC64"):
        theirs, ours = pair(name)
        same(ours.random(LARGE), theirs.random(LARGE))
        alike(theirs, ours)
    np.random.seed(3)
    numpy.random.seed(3)
    state = numpy.random.get_state()
    x = np.random.rand(LARGE)
    numpy.random.set_state(state)
    same(x, numpy.random.rand(LARGE))
    ours, theirs = np.random.RandomState(np.random.PCG64(1)), numpy.random.RandomState(numpy.random.PCG64(1))
    same(ours.random_sample(LARGE), theirs.random_sample(LARGE))


def test_the_class_takes_any_generator(mode):
    theirs, ours = pair()
    real = pair()[0]
    same(np.random.Generator.random(ours, LARGE), theirs.random(LARGE))
    alike(theirs, ours)
    same(np.random.Generator.random(real, LARGE), pair()[0].random(LARGE))
    assert isinstance(ours, numpy.random.Generator)
    assert np.random.Generator.random.__doc__ == numpy.random.Generator.random.__doc__


@pytest.mark.parametrize("name", STREAMS)
def test_threads_that_share_a_generator_get_different_stretches(name):
    theirs, ours = pair(name)
    made = []

    def draw():
        for _ in range(4):
            made.append(ours.random(LARGE))
            made.append(numpy.array(ours.random(10)))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    whole = theirs.random(16 * (LARGE + 10))
    alike(theirs, ours)
    covered = 0
    for x in map(numpy.asarray, made):
        (at,) = numpy.flatnonzero(whole == x[0])
        same(x, whole[at : at + x.size])
        covered += x.size
    assert covered == whole.size


def test_errstate_sees_nothing_of_a_draw(mode):
    theirs, ours = pair()
    with numpy.errstate(all="raise"):
        same(ours.uniform(0, 5e-324, LARGE), theirs.uniform(0, 5e-324, LARGE))
