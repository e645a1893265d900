"""A reindexed geometry visits the same elements, each in the iteration that its partner is visited in."""

import numpy
from hypothesis import given
from hypothesis import strategies as st

from lazyarr.fusion.reindex import crossed, reindex, spread
from lazyarr.geometry import fresh, geometry, offset_of, same

DOUBLE = numpy.dtype("d")


@st.composite
def views(draw, geo):
    """A bijective view: axes turned round, permuted, split, merged, of length 1 added and dropped."""
    for _ in range(draw(st.integers(0, 4))):
        move = draw(st.sampled_from(["turn", "permute", "reshape", "add", "drop"]))
        if move == "turn" and geo.ndim:
            axis = draw(st.integers(0, geo.ndim - 1))
            geo = geo[(slice(None),) * axis + (slice(None, None, -1),)]
        elif move == "permute":
            geo = geo.transpose(draw(st.permutations(range(geo.ndim))))
        elif move == "reshape" and geo.flags.c_contiguous:
            geo = geo.reshape(draw(st.sampled_from(SHAPES)))
        elif move == "add":
            geo = numpy.expand_dims(geo, draw(st.integers(0, geo.ndim)))
        elif move == "drop":
            geo = geo.squeeze()
    return geo


SHAPES = [(24,), (4, 6), (6, 4), (2, 3, 4), (12, 1, 2), (2, 2, 6)]
WHOLE = fresh((4, 6), DOUBLE)
SPACED = geometry((4, 6), DOUBLE, (200, 24), 40, 2000)


def elements(geo):
    """Byte offsets in the order of the space."""
    steps = [numpy.arange(n) * s for n, s in zip(geo.shape, geo.strides, strict=True)]
    total = numpy.full(geo.shape, offset_of(geo))
    for axis, step in enumerate(steps):
        total = total + step.reshape([-1 if d == axis else 1 for d in range(geo.ndim)])
    return total


@given(st.data())
def test_every_pair_of_contiguous_views_has_one(data):
    seen, made = data.draw(views(WHOLE)), data.draw(views(WHOLE))
    view = reindex(seen, made)
    assert view is not None
    found = view(seen)
    assert same(found, made)
    assert (elements(found) == elements(made)).all()


@given(st.data())
def test_others_follow_element_by_element(data):
    seen, made = data.draw(views(WHOLE)), data.draw(views(WHOLE))
    other = geometry(seen.shape, DOUBLE, [8 * data.draw(st.integers(0, 40)) for _ in seen.shape], 8, 1 << 16)
    found = reindex(seen, made)(other)
    if found is not None:
        assert found.shape == made.shape
        pairs = dict(zip(elements(seen).ravel().tolist(), elements(other).ravel().tolist(), strict=True))
        visited = zip(elements(made).ravel().tolist(), elements(found).ravel().tolist(), strict=True)
        assert all(pairs[mine] == theirs for mine, theirs in visited)


def test_what_cannot_follow_is_refused():
    row, matrix = fresh((24,), DOUBLE), WHOLE
    view = reindex(row, matrix)
    assert view(geometry((24,), DOUBLE, (16,), 0, 1000)).strides == (96, 16)
    back = reindex(matrix, row)
    assert back(SPACED) is None                                 # rows apart from each other are no one axis
    assert back(fresh((6,), DOUBLE)) is None                    # nor is a row that is repeated
    assert back(fresh((), DOUBLE)).strides == (0,)


def test_other_elements_are_refused():
    assert reindex(WHOLE, SPACED) is None
    assert reindex(WHOLE[1:], WHOLE[:-1]) is None
    assert reindex(WHOLE[:2], WHOLE) is None
    assert reindex(spread(fresh((6,), DOUBLE), (4, 6)), WHOLE) is None
    assert reindex(WHOLE, WHOLE.view("i8")) is None
    assert reindex(WHOLE[:0], WHOLE[:0]) is None


def test_a_single_element():
    one = fresh((), DOUBLE)
    assert same(reindex(one[None, None], one)(one[None, None]), one)
    assert same(reindex(one, one[None])(one), one[None])


def test_accesses_that_no_order_of_loops_follows():
    c, f = geometry((50, 60), DOUBLE), geometry((60, 50), DOUBLE).T
    assert crossed([c, c]) == crossed([f, f[::-1]]) == 0
    assert crossed([c, c, f]) == 1
    assert crossed([c, spread(fresh((), DOUBLE), (50, 60))]) == 0
    assert crossed([c[:3], f[:3]]) == 0                         # a few rows
