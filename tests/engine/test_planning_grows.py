"""Planning takes so many steps for each operation, however many there are: counted in calls, not in time."""

from __future__ import annotations

import gc
import math
import sys

import numpy
import pytest

import lazyarr
from lazyarr import cuts, lifetimes
from lazyarr.engine import _refuse
from lazyarr.materialize import closure
from lazyarr.plan import walk
from lazyarr.planning import _make, forget

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


def masked(n):
    """Elements that masks keep, each summed: compressions that feed folds."""
    x, mask = lazyarr.array(numpy.arange(64.0)), lazyarr.array(numpy.arange(64) % 3 == 0)
    return [(x * (k + 1.5))[mask].sum(keepdims=True) for k in range(n // 3)]


def scans(n):
    """Running results, each folded: fed portion by portion."""
    return [lazyarr.cumsum(lazyarr.array([k + 1.5] * 16) * 2).max(keepdims=True) for k in range(n // 3)]


def borders(n):
    """Sweeps of several writes, over many arrays."""
    found = []
    for k in range(n // 8):
        u = lazyarr.array([[k + 1.5] * 12] * 4) * 2.0
        for _ in range(2):
            u[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1]) * 0.5
            u[0] = u[1]
        found.append(u)
    return found


def patches(n):
    """Results written part by part, of what is made before."""
    x, found = lazyarr.array(numpy.arange(900.0).reshape(30, 30)), []
    for _ in range(10):
        x = abs(x) + 1
    for k in range(n // 10):
        y = lazyarr.empty((30, 30))
        y[1:-1] = x[2:] - x[:-2]
        y[0], y[-1] = x[1] - x[0], x[-1] * (k + 1)
        found.append(y)
    return found


def gradients(n):
    """Small ones, for which no boxes are looked for."""
    return [g for k in range(n // 20) for g in lazyarr.gradient(lazyarr.array([[k + 1.5] * 3] * 2) * 2)]


def read_often(n):
    """One temporary, and many that read it."""
    made = lazyarr.array(numpy.arange(1000.0)) + 1
    return [made * (k + 0.5) for k in range(n)]


def mixed(n):
    """Operations on any of the last results, all of which stay: no group is like another."""
    rng, known = numpy.random.default_rng(5), [lazyarr.array([k + 1.5] * 4) for k in range(8)]
    for first, second, op in rng.integers(1, [9, 9, 4], (n, 3)):
        of = (lazyarr.maximum, lazyarr.minimum, lazyarr.hypot)[op - 1]
        known.append(of(known[-first], known[-second]))
    return known[8:]


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
    chains: 17, wide: 23, folds: 130, norms: 106, writes: 118, sweeps: 113, slices: 36, halves: 155,
    outputs: 196, crossings: 125, masked: 102, scans: 94, borders: 310, read_often: 52,
    patches: 350, gradients: 250, mixed: 22,
}  # fmt: skip
"""Calls for each operation, when the structure is new."""


@pytest.mark.parametrize("build", MOST)
def test_calls_for_each_node(build):
    (cold, warm), (more_cold, more_warm) = counted(build, 2000), counted(build, 6000)
    assert more_cold < 1.15 * cold and more_warm < 1.15 * warm
    assert cold < MOST[build] and warm < 16


def test_a_plan_in_which_nothing_recurs_keeps_few_objects():
    """Python's garbage collector goes through all of them once: two instructions for each operation, and what
    they refer to."""
    with lazyarr.options(jit="always", pending_nodes=1 << 30), numpy.errstate(all="ignore"):
        roots = [x.storage.value for x in mixed(2000)]
        nodes = closure(roots)
        w = walk(nodes, roots)
        _make(w, _refuse)
        forget()
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            plan = _make(w, _refuse)
            kept = len(gc.get_objects()) - before
        finally:
            gc.enable()
    assert plan is not None and kept < 5.5 * len(nodes)


def planned(build, n):
    """A walk, and the steps of its plan."""
    roots = [x.storage.value for x in build(n)]
    w = walk(closure(roots), roots)
    return w, _make(w, _refuse).steps


def test_peaks_with_many_readers_of_one_value():
    with lazyarr.options(jit="always", pending_nodes=1 << 30):
        few, many = (planned(read_often, n) for n in (2000, 8000))
    least, most = (
        calls(lambda of=of: lifetimes.peak_bytes(*of)) / len(of[0].nodes) for of in (few, many)
    )  # fmt: skip
    assert most < 1.15 * least


@pytest.mark.parametrize("build", MOST)
def test_no_peak_is_beyond_what_is_held_besides(build):
    with lazyarr.options(jit="always", pending_nodes=1 << 30), numpy.errstate(all="ignore"):
        w, steps = planned(build, 500)
    assert lifetimes.peak_bytes(w, steps) - lifetimes.eager_peak(w) <= lifetimes._besides(w, steps)


def test_peaks_are_left_alone_where_nothing_is_held_besides(monkeypatch):
    def never(*_):
        raise AssertionError("gone through for nothing")

    monkeypatch.setattr(lifetimes, "peak_bytes", never)
    with lazyarr.options(jit="always"):
        x = lazyarr.array(numpy.ones((500, 600)))
        y = lazyarr.sqrt(x * 2 + 1)
        assert y.nbytes > lifetimes.SLACK
        roots = [y.storage.value]
        _make(walk(closure(roots), roots), _refuse)


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
