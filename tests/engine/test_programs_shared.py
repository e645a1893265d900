"""Groups of one structure share one program: those that are alike do, those that differ in anything that
assembly looks at do not, and a program is safe in the hands of many steps, plans and threads.

Groups are made by a bound on their nodes: each program here fills one."""

from __future__ import annotations

import gc

import numpy
import pytest

import lazyarr
from lazyarr import kernels, launch_compress, planning, row_room
from lazyarr.counters import COUNT
from lazyarr.dispatch import image, jit
from lazyarr.engine import _refuse
from lazyarr.fusion import Keeps, Rule, partition, register_rewrite, rows, structure, unregister_rewrite
from lazyarr.materialize import closure
from lazyarr.plan import walk
from lazyarr.planning import plan_of
from tests.crowd import numbered_at_once

A, B = numpy.linspace(0.5, 1.5, 12), numpy.linspace(2, 3, 12)


@pytest.fixture(autouse=True)
def forced(monkeypatch):
    monkeypatch.setattr(planning, "_plans", {})
    monkeypatch.setattr(planning, "_patterns", {})
    with lazyarr.options(jit="always", pending_nodes=1 << 30):
        yield


def planned(arrays):
    """The steps that would compute some arrays."""
    roots = [x.storage.value for x in arrays]
    return plan_of(walk(closure(roots), roots), _refuse).steps


def programs(arrays):
    return len({id(step.program) for step in planned(arrays) if step.program is not None})


def fresh(*values):
    return [lazyarr.array(v) for v in values]


# ------------------------------------------------------------------------------------ alike


def chains(np, n):
    found = []
    for k in range(n):
        x, y = np.array(A + k), np.array(B)
        for _ in range(10):
            x = np.sqrt(x * 0.5 + y) - y
        found.append(x)
    return found


def folds(np, n):
    a, b = np.array(A.reshape(3, 4)), np.array(B.reshape(3, 4))
    return [(a * k + b).sum(1) for k in range(n)]


def softmaxes(np, n):
    found = []
    for k in range(n):
        x = np.array(A.reshape(3, 4) + k)
        e = np.exp(x - x.max(1, keepdims=True))
        found.append(e / e.sum(1, keepdims=True))
    return found


def views(np, n):
    x = np.array(A.reshape(3, 4))
    return [(x[:, 1:] + x[:, :-1]) * k for k in range(n)]


def writes(np, n):
    found = []
    for k in range(n):
        x, y = np.array(A) + 1, np.array(B)
        x[2:9] += k
        x[2:9] *= y[2:9]
        found.append(x)
    return found


@pytest.mark.parametrize("build", [chains, folds, softmaxes, views, writes])
def test_what_is_alike_is_assembled_once(build, monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", {chains: 40, folds: 3, views: 2, writes: 2}.get(build, 128))
    made = []
    for n in (16, 64):
        before = COUNT.assembled
        planned(build(lazyarr, n))
        made.append(COUNT.assembled - before)
    assert 0 < made[1] <= made[0] <= 6
    got, want = build(lazyarr, 16), build(numpy, 16)
    lazyarr.evaluate(*got)
    for g, w in zip(got, want, strict=True):
        assert numpy.asarray(g).tobytes() == w.tobytes()


def test_row_blocks_of_chains_that_are_alike_are_assembled_once(monkeypatch):
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 16)
    monkeypatch.setattr(partition, "MAX_NODES", 3)
    monkeypatch.setattr(rows, "MOST", 3)
    real, framed = structure.assemble, []
    monkeypatch.setattr(structure, "assemble", lambda *args: framed.append(1) or real(*args))

    def softmax(np, v):
        e = np.exp(v - v.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    many = []
    for n in (16, 48):
        given = [numpy.random.default_rng(k).random((100, 40)) for k in range(n)]
        found = [softmax(lazyarr, lazyarr.array(v)) for v in given]
        framed.clear()
        steps = planned(found)
        assert sum(step.rows is not None for step in steps) >= n // 4
        many.append(len(framed))
        lazyarr.evaluate(*found)
        for v, f in zip(given, found, strict=True):
            assert numpy.asarray(f).tobytes() == softmax(numpy, v).tobytes()
    assert 0 < many[0] <= 16 and many[1] <= many[0]


def test_another_shape_of_a_pattern_shares_as_the_first_did(monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", 4)
    found = []
    for shape in ((40,), (41,), (5, 7)):
        x, y = fresh(numpy.ones(shape), numpy.ones(shape))
        results = [((x + k) * y - x) / y for k in range(20)]
        before = COUNT.plans
        steps = planned(results)
        found.append((len(steps), len({id(s.program) for s in steps}), COUNT.plans - before))
        lazyarr.evaluate(*results)
    assert found == [(20, 1, 1), (20, 1, 0), (20, 1, 0)]


# ---------------------------------------------------------------------------------- different


def strange():
    """Doubles that begin 8 bytes from a multiple of 16, in memory that is not lazyarr's."""
    raw = numpy.empty(8 * 14, "u1")
    first = 8 if raw.ctypes.data % 16 == 0 else 16 - raw.ctypes.data % 16 + 8
    found = raw[first % 16 : first % 16 + 96].view("d")
    found[:] = A
    return lazyarr.borrow(found)


def in_place(x, y):
    x *= y
    x += 1
    return x


def where(x, y, **how):
    return lazyarr.add(x, y, out=x, **how) * 2


DIFFERENT = {
    "dtype": lambda: [(x + x) * x for x in fresh(A, A.astype("f"))],
    "signedness": lambda: [(x + x) // x for x in fresh(A.astype("i4") + 1, A.astype("u4") + 1)],
    "op": lambda: [f(*fresh(A, B)) for f in (lambda x, y: (x + y) * x, lambda x, y: (x - y) * x)],
    "operands the other way round": lambda: [
        f(*fresh(A, B)) for f in (lambda x, y: (x - y) - x, lambda x, y: (x - y) - y)
    ],
    "one value or two": lambda: [
        f(*fresh(A, B)) for f in (lambda x, y: (x + x) * 2, lambda x, y: (x + y) * 2)
    ],
    "constant or array": lambda: [
        f(*fresh(A, B)) for f in (lambda x, y: (x + 2.5) * x, lambda x, y: (x + y) * x)
    ],
    "strides": lambda: [(x + x) * x for x in (*fresh(A), fresh(numpy.repeat(A, 2))[0][::2])],
    "offset": lambda: [(x + x) * x for x in (*fresh(A), fresh(numpy.append(B, A))[0][12:])],
    "direction": lambda: [(x + x) * x for x in (*fresh(A), fresh(A)[0][::-1])],
    "in place": lambda: [in_place(*fresh(A, B)), fresh(A)[0] * fresh(B)[0] + 1],
    "mask": lambda: [where(*fresh(A, B), where=fresh(A > 1)[0]), where(*fresh(A, B))],
    "alignment": lambda: [(x + x) * x for x in (*fresh(A), strange())],
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_shares_nothing(name, monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", 2)
    arrays = DIFFERENT[name]()
    steps = [step for step in planned(arrays) if step.program is not None]
    assert len(steps) >= 2
    assert len({id(step.program) for step in steps}) == len(steps)
    lazyarr.evaluate(*arrays)


def test_a_constant_on_either_side():
    x, y = fresh(A, B)
    found = [x / 2 - y, 2 / x - y, y - x / 2, y - 2 / x]
    lazyarr.evaluate(*found)
    for got, want in zip(found, [A / 2 - B, 2 / A - B, B - A / 2, B - 2 / A], strict=True):
        assert numpy.asarray(got).tobytes() == want.tobytes()


def test_the_sign_of_a_zero_to_start_from(monkeypatch):
    """Not of groups in one evaluation, nor of one evaluation after the other."""
    monkeypatch.setattr(partition, "MAX_NODES", 2)
    x = numpy.full((3, 4), -0.0)

    def sums(np):
        return [(np.array(x) * 1).sum(1, initial=zero) for zero in (-0.0, 0.0, -0.0)]

    for together in (True, False):
        found = sums(lazyarr)
        if together:
            lazyarr.evaluate(*found)
        assert [numpy.asarray(y).tobytes() for y in found] == [y.tobytes() for y in sums(numpy)]


def test_what_is_stored_differs(monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", 2)
    first, second = ((x, x * 2) for x in (lazyarr.array(A) + 1, lazyarr.array(A) + 1))
    held = first
    del first
    arrays = [held[0], held[1], second[1]]
    kept = second[1]
    del second
    assert programs(arrays) == 2
    lazyarr.evaluate(*arrays)
    assert numpy.asarray(kept).tobytes() == ((A + 1) * 2).tobytes()


def test_a_constant_that_a_rule_goes_by_differs(monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", 2)

    def arrays():
        return [x * c + 1 for x, c in zip(fresh(A, A, A), (1.0, 2.5, 3.5), strict=True)]

    assert programs(arrays()) == 1
    rule = register_rewrite(Rule("one", ("multiply", "x", 1), "x", Keeps.BITWISE, True, "exact", "f"))
    try:
        assert programs(arrays()) == 2
        for x, c in zip(arrays(), (1.0, 2.5, 3.5), strict=True):
            assert numpy.asarray(x).tobytes() == (A * c + 1).tobytes()
    finally:
        unregister_rewrite(rule)


def test_the_error_state_differs_where_a_rule_goes_by_it(monkeypatch):
    monkeypatch.setattr(partition, "MAX_NODES", 2)

    def found():
        with numpy.errstate(all="ignore"):
            x, y = fresh(A, B)
            quiet = (x + y) - y
            with numpy.errstate(all="warn"):
                x, y = fresh(A, B)
                return programs([quiet, (x + y) - y])

    assert found() == 1
    rule = Rule("quietly", ("subtract", ("add", "x", "y"), "y"), "x", Keeps.BITWISE, False, "", "f")
    register_rewrite(rule)
    try:
        assert found() == 2
    finally:
        unregister_rewrite(rule)


# ---------------------------------------------------------------------------- in many hands


def many(np, seed):
    """Steps that share programs: maps, folds, rows, compressions; a structure that no other seed gives."""
    found = []
    for k in range(6):
        x, y = np.array(A + k), np.array(B)
        for bit in range(6):
            x = x * y if seed >> bit & 1 else x - y * 0.25
        table = x.reshape(3, 4)
        found += [x, (x + y).sum(), table - table.max(1, keepdims=True), x[y > 2.5] * 2]
    return found


@pytest.mark.skipif(not jit.available() or not image.here(), reason="frees images")
def test_programs_outlive_kernels_and_plans(monkeypatch):
    """Kernels and plans are forgotten all the time while threads run steps that share programs."""
    monkeypatch.setattr(kernels, "MOST", 4)
    monkeypatch.setattr(kernels, "_kernels", {})
    monkeypatch.setattr(planning, "MAX_PLANS", 2)
    monkeypatch.setattr(partition, "MAX_NODES", 4)
    expected = {seed: [numpy.asarray(x).tobytes() for x in many(numpy, seed)] for seed in range(8)}
    wrong = []

    def work(me):
        with lazyarr.options(jit="always", cache_bytes=0):
            for k in range(24):
                seed = (me * 3 + k * 5) % 8
                got = many(lazyarr, seed)
                if k % 3 == 0:
                    kernels._kernels.clear()
                lazyarr.evaluate(*[x for x in got if isinstance(x, lazyarr.ndarray)])
                if [numpy.asarray(x).tobytes() for x in got] != expected[seed]:
                    wrong.append(seed)

    numbered_at_once(work, 3)
    gc.collect()
    assert not wrong


def test_what_is_remembered_of_a_launch_is_never_changed(monkeypatch):
    """Whoever finds it, from a signal's handler or another step, runs what is there."""
    remembered = []
    real = launch_compress.Prepared

    def changed(self, name, value):
        assert not any(self is each for each in remembered), f"{name} is set after others may run it"
        object.__setattr__(self, name, value)

    class Launches(dict):
        def __setitem__(self, key, value):
            remembered.append(value[0] if isinstance(value, tuple) else value)
            super().__setitem__(key, value)

    monkeypatch.setattr(real, "__setattr__", changed, raising=False)
    arrays = many(lazyarr, 11)
    roots = [x for x in arrays if isinstance(x, lazyarr.ndarray)]
    for step in planned(roots):
        for each in (step, *(source for _, source in step.feeds)):
            if each.program is not None:
                each.program.launches = Launches()
    lazyarr.evaluate(*roots)
    assert remembered
    for got, want in zip(arrays, many(numpy, 11), strict=True):
        assert numpy.asarray(got).tobytes() == want.tobytes()


def test_programs_hold_nothing_of_an_evaluation():
    """So no plan keeps arrays alive, and steps of different arrays may have one program."""
    x, y = fresh(A, B)
    table = x.reshape(3, 4)
    steps = planned([(x * y).sum() * 2 + y, x[y > 2.5] * 2, table - table.max(1, keepdims=True)])
    held, seen = [s.program for s in steps], set()
    held += [part for s in steps if s.rows for each in s.rows.parts for part in (each.program, each.last)]
    while held:
        each = held.pop()
        if id(each) in seen or each is None or isinstance(each, type):
            continue
        seen.add(id(each))
        assert not isinstance(each, numpy.ndarray | lazyarr.expr.Expr)
        if type(each).__module__.startswith("lazyarr") or isinstance(each, tuple | list | dict):
            held += gc.get_referents(each)
