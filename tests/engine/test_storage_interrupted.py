"""Handlers of signals raise in the middle of a write, or of an array's making: each value is the old one or
the new one, whoever looks later, and the ledger is right."""

from __future__ import annotations

import gc

import numpy
import pytest

import lazyarr as np
from lazyarr.config import get_options, set_options
from lazyarr.storage import Storage
from lazyarr.values import LEDGER
from tests.interrupted import after_calls

REAL = numpy.linspace(0.0, 1.0, 20_000)


@pytest.fixture(autouse=True)
def lazy():
    before = get_options()
    set_options(jit="always")
    yield
    set_options(**before)


def balance() -> tuple[int, int]:
    gc.collect()
    return LEDGER.unallocated, LEDGER.kept


def test_writes():
    held = []

    def write():
        held[0][mask] = 2.0             # (no code does this without `Storage`)

    mask, written = REAL > 0.5, REAL + 1
    written[mask] = 2.0
    places, before = [], balance()
    held = [np.asarray(REAL.copy()) + 1]
    for place in after_calls(write, Storage.write, Storage.hold):
        places.append(place)
        np.evaluate(np.sin(held[0] * 3 + 1))            # (what nobody holds may lend its memory)
        found = numpy.asarray(held.pop())
        assert any(numpy.array_equal(found, x) for x in (REAL + 1, written))
        assert balance() == before
        held.append(np.asarray(REAL.copy()) + 1)
    assert len(places) > 3


def test_arrays_made():
    x, before, places = np.asarray(REAL.copy()), balance(), []

    def make():
        np.sin(x * 3 + 1)

    for place in after_calls(make, Storage.__init__):
        places.append(place)
        assert balance() == before
    assert places
