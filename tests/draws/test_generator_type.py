"""lazyarr's Generator is one of NumPy's, at one place of one stream, whoever draws."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy
import pytest

import lazyarr as np

LARGE = 300_000


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_c_code_takes_it_for_numpys(rng):
    assert numpy.random.default_rng(rng) is rng and np.random.default_rng(rng) is rng
    assert isinstance(rng, numpy.random.Generator) and issubclass(type(rng), numpy.random.Generator)
    assert type(rng) is rng.__class__ is np.random.Generator
    assert isinstance(numpy.random.default_rng(), np.random.Generator)
    assert issubclass(numpy.random.Generator, np.random.Generator)
    assert not isinstance(np.random.RandomState(0), np.random.Generator)


def test_one_stream(rng):
    theirs = numpy.random.default_rng(5)
    same_bits = numpy.random.Generator(rng.bit_generator)
    pending = rng.random(LARGE)
    assert not np.is_evaluated(pending)
    got = [same_bits.normal(), rng.normal(), numpy.random.default_rng(rng).random(LARGE)]
    got.append(same_bits.integers(9))
    got.append(numpy.random.Generator.normal(rng, size=3))          # NumPy's own method on ours
    want = [theirs.random(LARGE), theirs.normal(), theirs.normal(), theirs.random(LARGE)]
    want += [theirs.integers(9), theirs.normal(size=3)]
    for x, y in zip([pending, *got], want, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(x), y)
    assert rng.bit_generator.state == theirs.bit_generator.state


COPIES = {
    "pickle": lambda g: pickle.loads(pickle.dumps(g)), "deepcopy": copy.deepcopy, "copy": copy.copy,
    "spawn": lambda g: g.spawn(2)[1],
    "jumped": lambda g: type(g)(g.bit_generator.jumped(3)),
    "wrapped": lambda g: type(g)(g.bit_generator),
    "a method's pickle": lambda g: pickle.loads(pickle.dumps(g.normal)).__self__,
}  # fmt: skip


@pytest.mark.parametrize("how", COPIES)
def test_copies_are_numpys(rng, how):
    theirs = numpy.random.default_rng(5)
    for g in (rng, theirs):
        g.random(3)
    ours, other = COPIES[how](rng), COPIES[how](theirs)
    assert type(ours) is np.random.Generator and type(ours.random(3)) is np.ndarray
    other.random(3)
    assert ours.bit_generator.state == other.bit_generator.state
    assert rng.bit_generator.state == theirs.bit_generator.state       # a copy shares the bit generator


def test_programs_subclasses():
    class Mine(np.random.Generator):
        def twice(self):
            return self.normal(size=2) * 2

    mine = Mine(np.random.PCG64(1))
    assert mine.twice().tolist() == (numpy.random.default_rng(1).normal(size=2) * 2).tolist()
    assert type(mine.spawn(1)[0]) is Mine and isinstance(mine, np.random.Generator)
    assert not isinstance(np.random.default_rng(), Mine) and not issubclass(np.random.Generator, Mine)
    assert repr(mine).startswith("Mine(PCG64) at 0x")


def test_methods_are_numpys(rng):
    real = numpy.random.default_rng(5)
    for name in dir(numpy.random.Generator):
        assert hasattr(rng, name)
    methods = [name for name in dir(real) if not name.startswith("_") and callable(getattr(real, name))]
    for name in methods:
        ours, theirs = getattr(np.random.Generator, name), getattr(numpy.random.Generator, name)
        assert ours.__name__ == name and ours.__doc__ == theirs.__doc__
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert type(np.random.Generator.normal(rng, size=2)) is np.ndarray
    assert type(np.random.Generator.normal(real, size=2)) is np.ndarray
    with pytest.raises(AttributeError):
        rng.name = 1
