"""The overlap tests may say "perhaps", never a wrong "no"; that of being the same is exact."""

import itertools

import numpy
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.fusion.alias import disjoint, extent, injective
from lazyarr.geometry import fresh, geometry, offset_of, same

SIZE = 4096


@st.composite
def geometries(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    strides = [8 * draw(st.integers(-4, 6)) for _ in shape]
    low = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
    offset = 8 * draw(st.integers(0, 12)) - low
    return geometry(shape, numpy.dtype("d"), strides, offset, SIZE)


def cells(geo):
    flat = numpy.arange(SIZE // 8)
    low, _ = extent(geo)
    base = -min(0, sum(s * (n - 1) for s, n in zip(geo.strides, geo.shape, strict=True) if s < 0))
    view = numpy.ndarray(geo.shape, flat.dtype, flat, low + base, geo.strides)
    return view.ravel().tolist()


@given(geometries(), geometries())
def test_disjoint_is_proved(g, h):
    if disjoint(g, h):
        assert not set(cells(g)) & set(cells(h))


@given(geometries())
def test_injective_is_proved(g):
    if injective(g):
        assert len(set(cells(g))) == len(cells(g))


def test_the_same_are_the_same_elements_in_the_same_order(monkeypatch):
    x = fresh((6, 8), numpy.dtype("d"))
    views = [
        x, x[:], x[1:], x[:-1], x[1:2], x[1:2, :], x[0:1], x[:, ::-1], x[::-1], x.T, x.T.T, x.view("i8"),
        x[:, 1:3], x.reshape(48), x[:, None], x[:0], x[2:2], x[3:3, 1:], fresh((6, 8), numpy.dtype("d"), "F"),
        geometry((3, 3), numpy.dtype("d"), (64, 8), 64, 400), x[1:4, :3], fresh((0, 8), numpy.dtype("d")),
    ]  # fmt: skip
    monkeypatch.setattr("lazyarr.geometry._reserved", lambda nbytes: bytearray(nbytes))
    monkeypatch.setattr("lazyarr.geometry._ghosts", [])
    views += [geometry((6, 8), numpy.dtype("d")), geometry((5, 8), numpy.dtype("d"), None, 64, 400)]

    def look(geo):
        return geo.shape, geo.dtype, offsets(geo)

    for g, h in itertools.product(views, views):
        assert same(g, h) is (look(g) == look(h)), (g.shape, g.strides, h.shape, h.strides)


def offsets(geo):
    """Of each element, in C order."""
    found = numpy.full(geo.shape, offset_of(geo))
    for d, step in enumerate(geo.strides):
        found += numpy.arange(geo.shape[d]).reshape([-1 if k == d else 1 for k in range(geo.ndim)]) * step
    return found.ravel().tolist()


def test_even_and_odd_elements_are_disjoint():
    x = geometry((100,), numpy.dtype("d"))
    assert disjoint(x[::2], x[1::2])
    assert not disjoint(x[1:], x[:-1])


def test_ghosts_of_different_sizes(monkeypatch):
    monkeypatch.setattr("lazyarr.geometry._reserved", lambda nbytes: bytearray(nbytes))
    monkeypatch.setattr("lazyarr.geometry._ghosts", [])
    small = geometry((10,), numpy.dtype("d"))
    big = geometry((10,), numpy.dtype("d"), nbytes=1 << 25)
    assert small.base is not big.base
    assert not disjoint(small, big)
    assert not disjoint(small[::2], big[2:])
    assert disjoint(small[::2], big[1::2])
