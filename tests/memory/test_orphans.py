"""What is noted of values that lost their arrays while something pending read them does not pile up."""

from __future__ import annotations

import gc

import pytest

import lazyarr as np
from lazyarr.values import LEDGER, ORPHANS, Ledger


def test_those_that_are_gone_are_left_out() -> None:
    before = len(LEDGER.orphans)
    alive = []
    with np.options(jit="always"):
        for k in range(3 * ORPHANS):
            x = np.ones(10) * k
            np.evaluate(x)
            y = x + 1.0
            del x                               # which the pending sum alone keeps
            if k % 64 == 0:
                alive.append(y)
            del y
    gc.collect()
    assert len(LEDGER.orphans) <= before + ORPHANS
    assert sum(ref() is not None for ref in LEDGER.orphans) >= len(alive)
    assert [float(y[0]) for y in alive] == [k + 1.0 for k in range(0, 3 * ORPHANS, 64)]


def test_a_handler_that_raises_meanwhile_loses_none() -> None:
    def raises() -> None:
        raise KeyboardInterrupt

    ledger = Ledger()
    ledger.orphans = listed = [raises, lambda: None]        # type: ignore[list-item]
    with pytest.raises(KeyboardInterrupt):
        ledger._thin_out()
    assert ledger.orphans == listed


def test_a_storage_that_was_interrupted_while_it_was_made_is_freed_in_silence(monkeypatch) -> None:
    import sys

    from lazyarr.storage import Storage

    heard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    Storage.__new__(Storage).__del__()
    half = Storage.__new__(Storage)
    del half
    gc.collect()
    assert not heard
