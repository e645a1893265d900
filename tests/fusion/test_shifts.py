"""Shifts: which operands are one array, so many rows and elements further on."""

from __future__ import annotations

import pytest

from lazyarr.fusion.parfor import Operand, Shift
from lazyarr.fusion.shifts import NEAR, shifts

ROW, SIZE = 8000, 8
LEADER, BELOW = (0, 0), (1, 0)


def found(places: list[tuple[int, int]], row: int = ROW, odd: int = 0) -> tuple[Shift, ...]:
    """Of reads at so many rows and elements beside another; `odd` bytes more in the last one."""
    offsets = [r * row + e * SIZE for r, e in places]
    offsets[-1] += odd
    count = len(places)
    return shifts([Operand("d", "u")] * count, [7] * count, [(row, SIZE)] * count, offsets, [SIZE] * count)


@pytest.mark.parametrize("row", [ROW, -ROW])
@pytest.mark.parametrize("place", [(0, 1), (1, -1), (-2, 3), (NEAR, 0), (0, -NEAR), (1, NEAR), (-1, -NEAR)])
def test_rows_and_elements(place, row):
    assert found([LEADER, BELOW, place], row) == (Shift(0, 0, 0), Shift(0, *BELOW), Shift(0, *place))


@pytest.mark.parametrize("place", [(NEAR + 1, 0), (0, NEAR + 1), (0, 300)])
def test_what_is_far_leads(place):
    assert found([LEADER, BELOW, (1, 1), place])[-1] == Shift(3, 0, 0)


def test_what_lies_between_elements_leads():
    assert found([LEADER, BELOW, (1, 1), (0, 1)], odd=4)[-1] == Shift(3, 0, 0)


@pytest.mark.parametrize("places", [[LEADER], [LEADER, BELOW], [LEADER, BELOW, (50, 0)]])
def test_two_reads_are_no_stencil(places):
    """Each distance would be a kernel of its own."""
    assert found(places) == ()


def test_other_arrays_types_and_outputs_are_not_beside_it():
    operands = [Operand("d", "u", "out"), Operand("d", "u"), Operand("f", "u"), *[Operand("d", "u")] * 3]
    strides, sizes = [(ROW, SIZE)] * 6, [8, 8, 4, 8, 8, 8]
    got = shifts(operands, [1, 1, 1, 2, 1, 1], strides, [0, 0, 8, 8, 8, 16], sizes)
    assert [shift.leader for shift in got] == [0, 1, 2, 3, 1, 1]


def test_short_rows_are_not_told_apart():
    assert found([LEADER, BELOW, (0, 1)], 3 * NEAR * SIZE) == ()
