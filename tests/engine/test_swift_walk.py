"""Walks in machine code: they find what Python's find, or decline, and hold on to nothing."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy
import pytest

import lazyarr as np
from lazyarr import engine, materialize, swift_walk
from lazyarr import object_fields as fields
from lazyarr.compiler import COMPILER
from lazyarr.engine import _refuse
from lazyarr.expr import Expr
from lazyarr.materialize import closure
from lazyarr.plan import walk
from lazyarr.planning import forget, plan_of
from lazyarr.sinking import sunk
from lazyarr.swift_walk import LEAST, SWIFT, look, note, pending
from lazyarr.values import LEDGER
from lazyarr.walk_words import LAST, Answer, Head
from tests.engine.test_keys import BUILDS, lent
from tests.engine.test_planning_grows import MOST, calls, mixed, unbounded

assert unbounded                        # (a fixture: no evaluation because much is pending)

A = numpy.arange(1.0, 13.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def swift(monkeypatch):
    """The code, which is there at once."""
    with np.options(jit="always", pending_nodes=1 << 30):
        if SWIFT.code is None:
            COMPILER.ready(1e12)
            monkeypatch.setattr(SWIFT, "code", swift_walk._load(True))
            if SWIFT.code is None:
                pytest.skip("objects lie otherwise here")
        monkeypatch.setattr(swift_walk, "FEW", 0)
        SWIFT.met.clear()
        yield


def values(arrays):
    return [x.storage.value for x in arrays]


def compared(arrays):
    """The nodes of pending arrays, the same either way, and both keys, if there are two."""
    roots = values(arrays)
    mine, theirs = pending(roots), closure(roots)
    if mine is not None and mine != theirs:             # (equal by identity: some have sunk)
        theirs = mine
    nodes = theirs if mine is None else mine
    w, looked = walk(nodes, roots), look(nodes, roots)
    if looked is not None:
        assert looked.stored == bytes(w.stored) and looked.leaves == w.leaves
    return mine, w.key, None if looked is None else looked.key


@pytest.mark.parametrize("turned", [1, -1])
def test_where_most_nodes_are_asked_for_these_are_in_order_too(turned):
    with numpy.errstate(all="ignore"):
        roots = values(mixed(1000))[::turned]
    for _ in range(2):                                  # (then it is known how many there are)
        assert pending(roots) == closure(roots)


def program(chosen, arrays):
    """Some operations by chance: elementwise, of parts, in place, folds, constants, casts, copies."""
    live = [*arrays]
    for _ in range(chosen.randrange(1, 30)):
        x, y = chosen.choice(live), chosen.choice(live)
        what = chosen.randrange(12)
        if what < 4:
            live.append((x + y, x * 2.0, np.sqrt(x), x - y.T.T)[what])
        elif what == 4:
            x[1:] += y[:-1]
        elif what == 5:
            x[:, ::2] = y[:, 1::2] * 3
        elif what == 6:
            live.append(x - x.max(axis=1, keepdims=True))
        elif what == 7:
            np.multiply(x, y, out=x, where=y > 3)
        elif what == 8:
            live.append(x.astype("f4") * y)
        elif what == 9:
            live.append(np.concatenate([x[:1], y[1:]]))
        elif what == 10:
            x[...] = y
        else:
            del live[chosen.randrange(len(live))]
            live.append(x.mean(axis=0) + y)
    return chosen.sample(live, chosen.randrange(1, min(4, len(live)) + 1)), live


def test_programs_by_chance_are_walked_alike():
    """Equal keys go with equal keys."""
    one_way, other_way, known, declined = {}, {}, 0, 0
    for seed in range(300):
        chosen = random.Random(seed % 200)              # (a third of them twice)
        roots, live = program(chosen, [np.array(A), np.array(A * 2)])
        _, theirs, mine = compared([x for x in roots if x.storage.value.op is not None] or [np.array(A) * 2])
        del roots, live
        if mine is None:
            declined += 1
            continue
        known += mine in one_way
        assert one_way.setdefault(mine, theirs) == theirs and other_way.setdefault(theirs, mine) == mine
    assert known > 90 and declined < 30


@pytest.mark.parametrize("build", MOST)
def test_large_graphs_are_walked_alike(build):
    with numpy.errstate(all="ignore"):
        arrays = build(2000)
        again = build(2000)
    nodes, theirs, mine = compared(arrays)
    assert mine is not None and (nodes is None or len(nodes) > 600)
    assert compared(again)[1:] == (theirs, mine)


def test_programs_that_differ_in_anything_have_keys_of_their_own():
    found = {}
    for name, build in BUILDS.items():
        for _ in range(2):
            roots, held = build(np.array(A), np.array(A * 2))
            key = compared(roots)[2]
            del held
            assert key is None or found.setdefault(name, key) == key
    assert len({*found.values()}) == len(found) == len(BUILDS) - 3
    assert not {"fold from 1", "fold from 0", "fold from -0"} & found.keys()


def test_where_memory_of_others_begins_makes_a_difference_up_to_16_bytes():
    keys = [look([node], [node]).key for node in map(lent, (0, 0, 8, 16))]
    assert keys[0] == keys[1] == keys[3] != keys[2]


def test_calls_are_written_out_first():
    x = np.array(numpy.ones((300, 400)))
    with np.options(eager_elements=0):
        for _ in range(3):
            r = x.std(axis=1) + 1.0
            found = pending(values([r]))
            assert found is not None and len(found) == 8 and closure(values([r])) == found


def test_who_reads_an_old_value_and_is_asked_for_elsewhere_is_pythons():
    x = np.array(A) * 2.0
    np.evaluate(x)
    y = x + 1.0                         # is to read the old value, and nobody asks for it now
    x += 3.0
    assert pending(values([x])) is None and closure(values([x])) == values([y, x])
    z = x * y
    assert pending(values([x, z])) is not None


def test_what_sinks_is_sunk():
    x = np.array(numpy.arange(100))
    (found,) = (pending(values([np.abs(x)[10:20] + 1])),)
    assert found is not None and [n.region.size for n in found] == [10, 10]


@pytest.mark.parametrize("attribute", ["op", "inputs", "region", "old", "covers", "readers", "home"])
def test_half_made_nodes_are_declined(attribute):
    node = ((np.array(A) + 1.0) * 2.0).storage.value
    below = node.inputs[0].expr
    delattr(below, attribute)
    there = SWIFT.code
    answers = [
        swift_walk._run(there[0], LEAST, [node], [], []),
        swift_walk._run(there[1], LEAST, [below, node], [node], [], []),
    ]  # fmt: skip
    assert Answer.DECLINED in answers and answers[1] == Answer.DECLINED
    weakref.WeakSet([below])


@pytest.mark.parametrize("wrong", [None, 3, "x", object(), numpy.ones(3)])
def test_what_is_no_node_is_declined(wrong):
    for function in SWIFT.code[:2]:
        lists = [[wrong], [wrong], [], []] if function is SWIFT.code.key else [[wrong], [], []]
        assert swift_walk._run(function, LEAST, *lists) == Answer.DECLINED
    node = (np.array(A) + 1.0).storage.value
    inputs, node.inputs = node.inputs, (wrong,)
    swift_walk._run(SWIFT.code.key, LEAST, [node], [node], [], [])
    node.inputs = wrong
    assert swift_walk._run(SWIFT.code.key, LEAST, [node], [node], [], []) == Answer.DECLINED
    node.inputs = inputs


def test_tables_grow(monkeypatch):
    x = np.array(A)
    arrays = [x * 2.0 + k for k in range(3000)]
    roots = values(arrays)
    found, leaves = [], [[], [], []]
    assert swift_walk._run(SWIFT.code.closure, 3, roots, found, []) == 0
    assert sorted(found, key=lambda n: n.serial) == closure(roots)
    nodes = closure(roots)
    sizes = zip((0, 15, 3), leaves, strict=True)
    said = [swift_walk._run(SWIFT.code.key, bits, nodes, roots, each, []) for bits, each in sizes]
    assert len({*said}) == 1 and leaves == 3 * [values([x])]
    monkeypatch.setattr(swift_walk, "MOST", LEAST + 1)
    assert swift_walk._run(SWIFT.code.key, 0, nodes, roots, [], []) == Answer.SMALL
    assert look(nodes, roots) is None and pending(roots) is None


def test_memory_is_made_anew_before_generations_come_again():
    x = np.array(A)
    arrays = [x * 2.0 + k for k in range(30)]
    roots = values(arrays)
    pending(roots)
    SWIFT.idle[0][2][Head.GENERATION] = LAST - 1
    nodes = closure(roots)
    assert pending(roots) == nodes and look(nodes, roots) is None and not SWIFT.idle
    assert pending(roots) == nodes and look(nodes, roots) is not None
    assert SWIFT.idle[0][2][Head.GENERATION] < 10


@pytest.mark.parametrize("attribute", ["covers", "masked", "spared"])
@pytest.mark.parametrize("said", [numpy.True_, 1, None])
def test_what_is_no_bool_is_declined(attribute, said):
    x = np.array(A) * 2.0
    x[1:] += 1.0
    node = x.storage.value
    found = compared([x])
    assert found[2] is not None
    x.storage.dying = True
    was = getattr(node, attribute)
    setattr(node, attribute, said)
    assert look(closure([node]), []) is None
    setattr(node, attribute, was)
    x.storage.dying = False


def test_nothing_is_held():
    x = np.array(A)
    arrays = [np.sqrt(x[1:] * k) + x[:-1] for k in range(50)]
    roots = values(arrays)
    nodes = pending(roots)
    watched = [*nodes, x.storage.value, *{id(n.op): n.op for n in nodes}.values(), x.storage, float, A.dtype]
    watched += [n.region for n in nodes] + [n.home for n in nodes] + [*SWIFT.code[:2]]

    def counts():
        gc.collect()
        return [sys.getrefcount(each) for each in watched]

    before = counts()
    for _ in range(20):
        pending(roots)
        look(nodes, roots)
    assert counts() == before
    for _ in range(3):                                  # (a key holds ops and types, once)
        w = walk(nodes, roots)
        note(look(nodes, roots), w, plan_of(w, _refuse))
        del w
    assert look(nodes, roots).plan is not None
    forget()
    assert not SWIFT.met or look(nodes, roots).plan is None
    SWIFT.met.clear()
    gone = [weakref.ref(n) for n in nodes]
    del nodes, roots, arrays
    watched.clear()
    gc.collect()
    assert not any(ref() for ref in gone)


def test_many_nodes_are_looked_up_in_fewer_calls_than_there_are():
    def build():
        x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 4.0])
        return [((x + k) * y - x) / y for k in range(500)]

    counted = []
    for _ in range(3):
        arrays = build()
        roots, found = values(arrays), []
        counted.append(calls(lambda r=roots, f=found: f.append(engine.walked(pending(r), r))))
        assert found[0][1] is not None
    assert counted[2] < 100 and len(pending(roots)) == 2000


def test_time_steps_are_numpys(monkeypatch):
    """A program whose evaluations are met before, with everything that walks care for."""
    looked = []
    original = engine.swift_walk.look

    def looking(*given):
        looked.append(original(*given))
        return looked[-1]

    monkeypatch.setattr(engine.swift_walk, "look", looking)

    def run(np):
        u, v = np.array(A), np.array(A[::-1])
        seen = []
        for step in range(12):
            for _ in range(3):
                u[1:-1] = (u[2:] + u[:-2]) * 0.5 + v[1:-1]
                v[:, 0] = u[:, 1]
                v *= 0.9
            w = np.where(u > 3, u, v)
            if step == 7:
                seen.append(w.T + 1)
            v -= w.mean() * 0.01
            seen.append(float(v.sum()))
        return [*map(numpy.asarray, (u, v, *seen))]

    monkeypatch.setattr(materialize, "_pending", pending)
    with np.options(eager_elements=0):
        found = run(np)
    assert all(numpy.array_equal(x, y) for x, y in zip(found, run(numpy), strict=True))
    assert sum(each is not None and each.plan is not None for each in looked) > 5


def test_threads_walk_at_the_same_time(monkeypatch):
    """Each through its own graphs, and all through one array that they only read."""
    monkeypatch.setattr(materialize, "_pending", pending)
    shared, wrong = np.array(A) * 2.0, []
    expected = A * 2

    def run(number):
        try:
            for step in range(30):
                u, v = np.array(A), A.copy()
                for _ in range(number + step % 5 + 1):
                    u[1:] += u[:-1] * 0.5 + shared[1:]
                    v[1:] += v[:-1] * 0.5 + expected[1:]
                many = [(u + k) * shared for k in range(10 * number)]
                np.evaluate(u, *many)
                assert (numpy.asarray(u) == v).all()
                assert all((numpy.asarray(x) == (v + k) * expected).all() for k, x in enumerate(many))
        except BaseException as error:          # (which a thread would only print)
            wrong.append(error)

    with np.options(eager_elements=0):
        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(100)
    assert not wrong and not any(each.is_alive() for each in threads)


PROGRAM = """
import sys, lazyarr as np
from lazyarr.swift_walk import SWIFT
np.set_options(jit="always", eager_elements=0)
for _ in range(5):
    u = np.array([1.5, 2.5] * 4)
    for _ in range(100):
        u[:4] *= 2
        u[4:] += 1
    float(u[0])
    x = np.array([1.5] * 8)
    many = [((x + k) * u - x) / u for k in range(500)]
    np.evaluate(*many)
print(SWIFT.code is not None, "llvmlite.binding" in sys.modules, SWIFT.left < 0)
"""


@pytest.mark.filterwarnings("ignore:invalid value")
def test_nodes_are_marked_as_python_marks_them(monkeypatch):
    """With what they let go of, and what is not allocated yet."""
    done = []
    finished = swift_walk.finished
    for seed in range(60):
        said = []
        for way in (finished, lambda *_: False):
            def counted(*given, way=way):
                done.append(way(*given))
                return done[-1]

            monkeypatch.setattr(swift_walk, "finished", counted)
            gc.collect()
            before = LEDGER.unallocated
            roots, live = program(random.Random(seed), [np.array(A), np.array(A * 2)])
            roots = [x for x in roots if x.storage.value.op is not None]
            nodes = closure(values(roots))
            ends = [weakref.ref(node) for node in nodes]
            np.evaluate(*roots)
            fields = [(n.op, n.region, n.old, n.inputs, n.depth, n.weight, n.buf is None) for n in nodes]
            del nodes
            said.append((fields, [ref() is None for ref in ends], LEDGER.unallocated - before))
            del roots, live
        assert said[0] == said[1]
    assert done.count(True) > 30


def test_it_is_loaded_when_many_nodes_went_by_and_needs_no_llvm_then(tmp_path: Path) -> None:
    env = {**os.environ, "LAZYARR_CACHE_DIR": str(tmp_path)}

    def said(program=PROGRAM):
        run = [sys.executable, "-c", program]
        done = subprocess.run(run, env=env, check=True, timeout=100, capture_output=True, text=True)
        return done.stdout.split()

    assert said() == ["False", "True", "False"]
    assert said() == ["False", "False", "False"]        # (LLVM is not loaded for it)
    soon = f"import lazyarr.swift_walk as s\ns.SWIFT.writing_pays = 1\n{PROGRAM}"
    soon = soon.replace("/ u", "% u")                   # (kernels that the cache does not have)
    assert said(soon) == ["True", "True", "True"]
    assert said() == ["True", "False", "True"]


def test_where_objects_lie_otherwise_it_is_pythons(monkeypatch):
    monkeypatch.setattr(fields, "are_known", lambda: False)
    assert swift_walk._load(True) is None
    monkeypatch.setattr(SWIFT, "code", None)
    roots = values([np.array(A) + 1.0])
    assert pending(roots) is None and look(closure(roots), roots) is None
    w, plan = engine.walked(closure(roots), roots)
    assert plan is not None and w.stored == [True] and sunk(closure(roots), roots) == closure(roots)
    assert isinstance(roots[0], Expr)
