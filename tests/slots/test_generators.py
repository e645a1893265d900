"""Methods of generators that draw few numbers: NumPy's, without Python, at the same place of the stream."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.slots.tables import GENERATORS
from tests.slots.operands import ONLY_HERE, python_calls, same

pytestmark = ONLY_HERE

GIVEN: dict[str, tuple[Any, ...]] = {
    "exponential": (1.5,), "poisson": (2.0,), "standard_gamma": (2.0,), "standard_t": (3,), "chisquare": (3,),
    "geometric": (0.3,), "power": (2.0,), "pareto": (2.0,), "rayleigh": (1.0,), "weibull": (2.0,),
    "zipf": (2.0,), "logseries": (0.5,), "choice": (10,), "normal": (0, 1), "uniform": (0, 2),
    "integers": (0, 1 << 40), "binomial": (10, 0.3), "gamma": (2.0, 1.0), "beta": (2.0, 3.0),
    "lognormal": (0, 1), "laplace": (0, 1), "logistic": (0, 1), "gumbel": (0, 1), "vonmises": (0, 1),
    "wald": (1, 1), "negative_binomial": (5, 0.5), "f": (2, 3), "noncentral_chisquare": (2, 3),
    "triangular": (0, 1, 2), "hypergeometric": (5, 6, 4), "noncentral_f": (2, 3, 4),
}  # fmt: skip
SIZES = [(), (3,), ((2, 2),), (0,), ((),), (None,), (100_000,)]
NAMES = [(name, position) for position, names in GENERATORS.items() for name in names.split()]


def pair() -> tuple[Any, numpy.random.Generator]:
    return np.random.default_rng(5), numpy.random.default_rng(5)


@pytest.mark.parametrize("name, position", NAMES)
def test_draws(name: str, position: int) -> None:
    ours, theirs = pair()
    given = GIVEN.get(name, ())
    sizes = [size for size in SIZES if name != "permutation" or (size and size[0].__class__ is int)]
    for size in sizes:
        found, calls = python_calls(getattr(ours, name), *given, *size)
        assert same(found, getattr(theirs, name)(*given, *size))
        assert not calls or size == (100_000,)
        if size and name != "permutation":
            found = getattr(ours, name)(*given, size=size[0])
            assert same(found, getattr(theirs, name)(*given, size=size[0]))
    assert same(ours.random(), theirs.random())


@pytest.mark.parametrize("name, position", NAMES)
def test_what_is_told_of_methods(name: str, position: int) -> None:
    ours, theirs = (getattr(cls, name) for cls in (np.random.Generator, numpy.random.Generator))
    parameters = [*inspect.signature(ours).parameters]
    assert parameters == [*inspect.signature(theirs).parameters] and ours.__doc__ == theirs.__doc__
    assert name == "permutation" or parameters[1 + position] == "size"


OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "arrays": lambda np, g: g.normal(np.array([1.0, 2.0]), 1.0),
    "lists": lambda np, g: g.choice([1, 2, 3], 2), "types": lambda np, g: g.random(3, np.float32),
    "names": lambda np, g: g.integers(1, high=5, size=(2,), dtype="i2"),
    "out": lambda np, g: g.standard_normal(out=np.empty(3)), "order": lambda np, g: g.permutation([3, 1, 2]),
    "bound": lambda np, g: [draw(size=2).sum() for draw in (g.normal, g.random)][1],
    "of the class": lambda np, g: np.random.Generator.normal(g, size=2),
    "subclass": lambda np, g: type("Own", (np.random.Generator,), {})(np.random.PCG64(3)).normal(size=3),
}  # fmt: skip


@pytest.mark.parametrize("draw", OTHERS.values(), ids=OTHERS)
def test_other_draws(draw: Any) -> None:
    ours, theirs = pair()
    assert same(draw(np, ours), draw(numpy, theirs)) and same(ours.random(), theirs.random())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g: g.normal(0, -1), lambda g: g.normal(1, 2, 3, 4), lambda g: g.random(-1),
        lambda g: g.random("x"), lambda g: g.integers(5, 2), lambda g: g.normal(seize=3),
        lambda g: g.poisson(-1.0), lambda g: g.choice(0), lambda g: g.random(10**20),
        lambda g: g.random(2.5), lambda g: type(g).normal(5),
    ],
)  # fmt: skip
def test_what_is_wrong(wrong: Any) -> None:
    ours, theirs = pair()
    with pytest.raises(Exception) as expected:
        wrong(theirs)
    with pytest.raises(type(expected.value)) as found:
        wrong(ours)
    assert str(found.value) == str(expected.value)
