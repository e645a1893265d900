"""Planning takes so many steps for each operation, however many there are: counted in calls, not in time."""

from __future__ import annotations

import math
import sys

import numpy
import pytest

import lazyarr
from lazyarr import cuts, lifetimes
from lazyarr.engine import _refuse
from lazyarr.materialize import closure
from lazyarr.plan import walk
from lazyarr.planning import _make

LONG = 500


def chains(n):
    found = []
    for first in range(n // LONG):
        x = lazyarr.array([first + 1.0, 2.0, 3.0])
        for k in range(LONG):
            x = (x + 1.0, x * 0.5, -x, lazyarr.sqrt(x))[k % 4]
        found.append(x)
    return found


def wide(n):
    x, y = lazyarr.array([1.0, 2.0, 3.0]), lazyarr.array([2.0, 4.0, 4.0])
    return [((x + k) * y - x) / y for k in range(n // 4)]


def folds(n):
    """Groups with folds, in row blocks."""
    found = []
    for k in range(n // 5):
        x = lazyarr.array([[k + 1.0, 2.0, 3.0]] * 4)
        e = lazyarr.exp(x - x.max(axis=1, keepdims=True))
        found.append(e / e.sum(axis=1, keepdims=True))
    return found


def writes(n):
    """Each changes a part of what the last one made."""
    found = []
    for first in range(n // LONG):
        x = lazyarr.array([first + 1.0, 2.0, 3.0, 4.0]) * 2.0
        for k in range(LONG // 2):
            x[1:3] += 1.0 + k % 2
        found.append(x)
    return found


def sweeps(n):
    """Stencils in place: a group that computes, and one that writes."""
    found = []
    for first in range(n // LONG):
        u = lazyarr.array([[first + 1.0] * 5] * 6) * 2.0
        for _ in range(LONG // 3):
            u[1:-1] = (u[2:] + u[:-2]) * 0.5
        found.append(u)
    return found


def norms(n):
    """Groups of several folds, in row blocks."""
    found = []
    for k in range(n // 12):
        x = lazyarr.array([[k + 1.5] * 3] * 4)
        m = x.mean(axis=1, keepdims=True)
        v = ((x - m) ** 2).mean(axis=1, keepdims=True)
        found.append((x - m) / lazyarr.sqrt(v + 1e-5) * 2 + 1)
    return found


def slices(n):
    """Parts of one array, each of other elements."""
    x = lazyarr.array([[1.5] * 3] * n)
    return [(x[k : k + 4] - x[k + 1 : k + 5]) * 2 for k in range(n // 2)]


def halves(n):
    """One half of an array is changed, then the other: groups of one node, none of which joins another."""
    found = []
    for k in range(n // 20):
        u = lazyarr.array([k + 1.5] * 8)
        for _ in range(10):
            u[:4] *= 2
            u[4:] += 1
        found.append(u)
    return found


def outputs(n):
    """Ufuncs into views of arrays, at other elements than they read."""
    found = []
    for k in range(n // 40):
        u, v = (lazyarr.array([[k + c] * 5] * 6) * 2.0 for c in (1.0, 2.0))
        for _ in range(10):
            lazyarr.multiply(u[1:], 2.0, out=v[1:])
            lazyarr.add(v[:-1], u[:-1], out=u[:-1])
            lazyarr.subtract(u, v, out=v)
            v[2:4] = u[1:3]
        found += [u, v]
    return found


def crossings(n):
    """Each step reads all, a column and a row of the one before: shortest ways."""
    found = []
    for k in range(n // 60):
        u = lazyarr.array([[k + 1.0] * 30] * 30) * 2.0
        for i in range(20):
            u[:] = lazyarr.minimum(u[:], lazyarr.add.outer(u[:, i], u[i]))
        found.append(u)
    return found


def calls(what) -> int:
    """Function calls, those of C code included."""
    count = 0

    def listen(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(listen)
    try:
        what()
    finally:
        sys.setprofile(None)
    return count


def counted(build, n):
    with lazyarr.options(jit="always", pending_nodes=1 << 30), numpy.errstate(all="ignore"):
        arrays = build(n)
        roots = [x.storage.value for x in arrays]
        nodes = closure(roots)
        assert len(nodes) > n // 3
        w = walk(nodes, roots)
        _make(w, _refuse)
        cold = calls(lambda: _make(w, _refuse))
        warm = calls(lambda: walk(nodes, roots))
    return cold / len(nodes), warm / len(nodes)


@pytest.fixture(autouse=True)
def unbounded(monkeypatch):
    monkeypatch.setattr(cuts, "MAX_WEIGHT", math.inf)


MOST = {
    chains: 37, wide: 42, folds: 175, norms: 145, writes: 165, sweeps: 145, slices: 105, halves: 205,
    outputs: 240, crossings: 720,
}  # fmt: skip
"""Calls for each operation, when the structure is new."""


@pytest.mark.parametrize("build", MOST)
def test_calls_for_each_node(build):
    (cold, warm), (more_cold, more_warm) = counted(build, 2000), counted(build, 6000)
    assert more_cold < 1.15 * cold and more_warm < 1.15 * warm
    assert cold < MOST[build] and warm < 16


class Whole(set[int]):
    """A set of which no copy may be made."""

    def __or__(self, other):
        raise AssertionError("all that is done is copied")


def test_lifetimes_copy_nothing_for_each_value(monkeypatch):
    begin = lifetimes._Placement.__init__

    def watched(self, w):
        begin(self, w)
        self.done = Whole()

    monkeypatch.setattr(lifetimes._Placement, "__init__", watched)
    with lazyarr.options(jit="always", pending_nodes=1 << 30):
        roots = [x.storage.value for x in folds(500)]
        w = walk(closure(roots), roots)
        steps = _make(w, _refuse).steps
        assert lifetimes.peak_bytes(w, steps) > 0
