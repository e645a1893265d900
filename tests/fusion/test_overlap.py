"""Where in what was written a read lies: against positions enumerated one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from lazyarr.fusion.overlap import Cut, Unclear, layout_of, where
from lazyarr.geometry import fresh

RNG = numpy.random.default_rng(3)


def key(n: int) -> Any:
    first, stop, step = int(RNG.integers(n)), int(RNG.integers(1, n + 1)), int(RNG.choice([-2, -1, 1, 2, 3]))
    return (slice(first, None, step), slice(stop), first)[RNG.choice(3, p=[0.5, 0.4, 0.1])]


def part(whole: numpy.ndarray) -> numpy.ndarray:
    """Some view of an array that is not empty."""
    while True:
        found = whole[(*map(key, whole.shape), ...)]        # (an array: nobody reads ghost memory)
        if RNG.random() < 0.2:
            found = found.T
        if RNG.random() < 0.2:
            found = numpy.broadcast_to(found, (2, *found.shape))
        if found.size:
            return found


def places(geo: numpy.ndarray) -> numpy.ndarray:
    """Bytes from the first element, for each."""
    found = numpy.zeros(geo.shape, int)
    for axis, (n, stride) in enumerate(zip(geo.shape, geo.strides, strict=True)):
        found += (numpy.arange(n) * stride).reshape([-1 if d == axis else 1 for d in range(geo.ndim)])
    return found + geo.__array_interface__["data"][0]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 1, 4)])
def test_against_every_position(shape: tuple[int, ...], order: str) -> None:
    whole = fresh(shape, numpy.dtype(float), order)
    other = fresh((50,), numpy.dtype(float))
    met = set()
    for _ in range(400):
        read, region = part(whole), part(whole)
        if 0 in region.strides:
            continue
        mine, its = places(read), places(region)
        inside = numpy.isin(mine, its)
        try:
            found = where(layout_of(whole), read, region)
        except Unclear:
            met.add("unclear")
            continue
        except Cut as cut:
            met.add("cut")
            assert 0 < cut.at < read.shape[cut.axis]
            assert inside.any() and not inside.all()
            continue
        met.add("found" if found else "none")
        if found is None:
            assert not inside.any()
            continue
        numbers = numpy.ndarray(region.shape, float, other.base, 0, numpy.ndarray(region.shape).strides)
        assert (places(found.of(numbers)) == places(numbers).ravel()[_index(mine, its)]).all()
        assert found.shape == read.shape
        bounds = found.bounds()
        if bounds is not None:
            seen = numpy.isin(its, mine)
            assert seen[tuple(slice(*b) for b in bounds)].all() and seen.sum() == _size(bounds)
    assert met == {"unclear", "cut", "found", "none"}


def _index(mine: numpy.ndarray, its: numpy.ndarray) -> numpy.ndarray:
    at = {place: k for k, place in enumerate(its.ravel().tolist())}
    return numpy.array([at[place] for place in mine.ravel().tolist()]).reshape(mine.shape)


def _size(bounds: tuple[tuple[int, int], ...]) -> int:
    return int(numpy.prod([high - low for low, high in bounds]))


def test_steps_that_do_not_meet() -> None:
    whole = fresh((12,), numpy.dtype(float))
    for first, second in itertools.product(range(2), repeat=2):
        found = where(layout_of(whole), whole[first::4], whole[second::2])
        assert (found is None) is (first != second)
    with pytest.raises(Unclear):
        where(layout_of(whole), whole, whole[::2])


def test_other_types() -> None:
    whole = fresh((6,), numpy.dtype(complex))
    with pytest.raises(Unclear):
        where(layout_of(whole), whole.real, whole)


def test_axes_that_are_one() -> None:
    whole = fresh((4, 5), numpy.dtype(float))
    with pytest.raises(Unclear):
        where(layout_of(whole), whole.reshape(-1), whole)
