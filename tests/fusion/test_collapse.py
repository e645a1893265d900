"""Collapsed loops visit the same elements of every operand together, in some order."""

import itertools

import numpy
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.fusion.collapse import broadcast_strides, collapse

EIGHT = 8


def offsets(shape, strides):
    """Byte offset of every operand at every point of a space."""
    points = itertools.product(*(range(n) for n in shape))
    return [tuple(sum(i * s for i, s in zip(p, column, strict=True)) for column in strides) for p in points]


@given(
    st.lists(st.integers(1, 4), min_size=0, max_size=4),
    st.lists(
        st.lists(st.sampled_from([0, 8, -8, 16, 32, -32, 96, 24]), min_size=4, max_size=4),
        min_size=1, max_size=3,
    ),
)
def test_same_points(shape, columns):
    strides = [tuple(c[: len(shape)]) for c in columns]
    loops = collapse(shape, strides)
    got = offsets(loops.shape, loops.strides)
    got = [tuple(o + turned for o, turned in zip(point, loops.offsets, strict=True)) for point in got]
    assert sorted(got) == sorted(offsets(shape, strides))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.sampled_from([(8, 32, 96), (-8, 32, 0), (0, 0, 0), (-8, -32, -96)]), min_size=1, max_size=6),
)
def test_what_moves_in_one_way_decides_once(shape, rows):
    strides = [row[: len(shape)] for row in rows]
    each = [*dict.fromkeys(strides)]
    found, loops = collapse(shape, each), collapse(shape, strides)
    assert loops.shape == found.shape
    places = [each.index(row) for row in strides]
    assert loops.strides == tuple(found.strides[k] for k in places)
    assert loops.offsets == tuple(found.offsets[k] for k in places)


def test_contiguous_arrays_become_one_loop():
    for order in "CF":
        x = numpy.empty((3, 4, 5), order=order)
        assert collapse(x.shape, [x.strides, x.strides]).shape == (60,)


def test_reversed_array_is_turned_round():
    x = numpy.empty((3, 4))[::-1, ::-1]
    loops = collapse(x.shape, [x.strides])
    assert loops.shape == (12,) and loops.strides == ((EIGHT,),) and loops.offsets == (-11 * EIGHT,)


def test_broadcast_operand():
    assert broadcast_strides((5, 3, 4), (3, 1), (8, 8)) == (0, 8, 0)
