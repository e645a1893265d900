"""What is left of a product still holds each pair."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable

import covering
import pytest

SIZES = [(2, 3), (1, 4), (2, 3, 4), (4, 4, 4), (2, 2, 2, 2, 2), (3, 4, 8, 2), (1, 1, 5), (7,)]


def pairs(rows: Iterable[Iterable[Hashable]]) -> set[tuple[tuple[int, Hashable], ...]]:
    return {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}


@pytest.fixture(autouse=True)
def _some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "ALL", False)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_pair_is_there(sizes: tuple[int, ...]) -> None:
    axes = [[f"{axis}{value}" for value in range(n)] for axis, n in enumerate(sizes)]
    found = covering.pairs_of(*axes)
    whole = [*itertools.product(*axes)]
    assert pairs(found) == pairs(whole) and {*itertools.chain(*found)} == {*itertools.chain(*whole)}
    assert found == [row for row in whole if row in found]      # in order, none twice
    largest = sorted(sizes)[-2:]
    assert len(found) == len(whole) if len(sizes) < 3 else len(found) <= 2 * largest[0] * largest[1]


def test_rows_that_are_not_there_are_not_asked_for() -> None:
    rows = [row for row in itertools.product(range(3), range(4), range(2)) if sum(row) != 4]
    found = [rows[k] for k in covering.covering(rows)]
    assert pairs(found) == pairs(rows) and len(found) < len(rows)


def test_values_need_no_order_and_may_be_alike() -> None:
    assert len(covering.pairs_of([1, True, 1.0], [None, {}], ["x"])) == 6


def test_nothing_is_left_out_if_so_wished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "ALL", True)
    assert len(covering.pairs_of(range(5), range(4), range(3))) == 60


def test_a_row_without_columns_is_not_left_out_silently() -> None:
    with pytest.raises(ValueError):
        covering.covering([()])
    with pytest.raises(ValueError):
        covering.pairs_of()
