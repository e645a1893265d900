"""Kernels that are remembered are bounded; the code of forgotten ones goes, but never under a plan's feet."""

from __future__ import annotations

import gc
import random

import numpy
import pytest

import lazyarr as np
from lazyarr import kernels, planning
from lazyarr.config import get_options, set_options
from lazyarr.dispatch import image, jit

pytestmark = pytest.mark.skipif(not jit.available() or not image.here(), reason="counts images")

OPS = (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: y - x)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    before = get_options()
    set_options(jit="always", cache_bytes=0, pending_nodes=200)
    monkeypatch.setattr(kernels, "MOST", 8)
    monkeypatch.setattr(kernels, "_kernels", {})        # those of other tests are not counted
    monkeypatch.setattr(planning, "MAX_PLANS", 4)
    yield
    set_options(**before)


def result(m, seed: int):
    """A program that no other seed gives."""
    pick = random.Random(seed)
    x, y = m.asarray(numpy.linspace(0.5, 1.5, 500)), m.asarray(numpy.linspace(2, 3, 500))
    for _ in range(8):
        x = pick.choice(OPS)(x, y) * 0.5
    return x - x.max() + (x + y).sum()


def images() -> int:
    gc.collect()
    return len(jit._loaded) - len(jit._lasting)


def test_code_goes_with_the_last_plan_that_runs_it():
    """A program is run again when its plan was forgotten, and its kernels were, or neither."""
    held = []
    for seed in range(40):
        for back in (20, 3, 1, 0):
            if seed >= back:
                found = result(np, seed - back)
                assert numpy.asarray(found).tobytes() == result(numpy, seed - back).tobytes()
        held.append(images())
    assert len(kernels._kernels) <= 8
    assert max(held[10:]) <= max(held[:10]) + 8
