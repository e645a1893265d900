"""However many shapes come by, the geometries of arrays that live are known, and few others are kept."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np
from lazyarr import geometry
from lazyarr.counters import COUNT


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "MAX_FRESH", 64)
    monkeypatch.setattr(geometry, "_most", 64)


def come_by(shapes: int) -> None:
    for n in range(shapes):
        geometry.fresh((n + 2, 3), numpy.dtype("f8"))


def test_those_in_use_stay_known() -> None:
    used = [geometry.fresh((n + 2, 5), numpy.dtype("f4")) for n in range(40)]
    come_by(1000)
    known = [*map(geometry.is_fresh, used)]     # (nobody shows geometries, whose memory is none)
    assert all(known)
    assert all(geometry.fresh(geo.shape, geo.dtype) is geo for geo in used)


def test_all_stay_known_where_all_are_in_use() -> None:
    others = [*geometry._fresh.values()]
    used = [geometry.fresh((n + 2, 7), numpy.dtype("f4")) for n in range(200)]
    known = [*map(geometry.is_fresh, used)]
    assert all(known) and others


def test_no_more_than_twice_as_many_as_are_used_are_kept() -> None:
    before = len(geometry._fresh)
    used = [geometry.fresh((n + 2, 5), numpy.dtype("f4")) for n in range(300)]
    come_by(3000)
    assert len(geometry._fresh) == len(geometry.FRESH) <= 2 * (before + len(used) + 64)
    del used
    come_by(3000)
    assert len(geometry._fresh) <= 2 * (before + 64)


def test_an_array_of_before_needs_no_new_plan() -> None:
    with np.options(jit="always"):
        x, y = np.ones(50), np.ones(50)
        np.evaluate(x, y)

        def step() -> None:
            np.evaluate((x + y) * 0.5 - x / y)

        step()
        come_by(1000)
        step()
        before = COUNT.plans, COUNT.compiles
        for n in range(51, 60):
            a, b = np.ones(n), np.ones(n)
            np.evaluate(a, b)
            np.evaluate((a + b) * 0.5 - a / b)
        step()
        assert (COUNT.plans, COUNT.compiles) == before
