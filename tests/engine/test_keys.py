"""Keys of evaluations: what planning looks at makes them different, and nothing else does; no pass of the
garbage collector goes through those of many nodes."""

from __future__ import annotations

import gc

import numpy
import pytest

import lazyarr as np
from lazyarr import compiler, engine
from lazyarr.bufferize import Placement
from lazyarr.expr import Expr, Read, map_of
from lazyarr.fusion import Keeps, Rule, register_rewrite, unregister_rewrite
from lazyarr.fusion.structure import Numbers
from lazyarr.geometry import fresh
from lazyarr.materialize import closure
from lazyarr.plan import walk
from lazyarr.values import Buffer
from tests.engine.test_planning_grows import calls

A = numpy.arange(1.0, 13.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def pending():
    with np.options(jit="always", pending_nodes=1 << 30):
        yield


def walked(roots):
    values = [x.storage.value for x in roots]
    return walk(closure(values), values)


def key(build):
    """Of a program: given fresh arrays, what is asked for, and what else is held."""
    x, y = np.array(A), np.array(A * 2)
    roots, held = build(x, y)
    found = walked(roots).key
    del held
    return found


def held(keeps):
    def build(x, y):
        t = x + y
        r = t * 2.0
        return [r], t if keeps else None

    return build


def rows(first, last):
    return lambda x, y: ([x[first:last] * y[first:last]], None)


def written(how):
    def build(x, y):
        z = x * 1.0
        how(z, y)
        return [z], None

    return build


def assign(k):
    return written(lambda z, y: z.__setitem__(slice(k, k + 1), y[:1]))


def masked(z, y):
    np.add(z, y, out=z, where=np.array(A > 3))


BUILDS = {
    "sum": lambda x, y: ([x + y], None),
    "difference": lambda x, y: ([x - y], None),
    "the other way round": lambda x, y: ([y - x, x - y], None),
    "twice the first": lambda x, y: ([x + x], None),
    "two asked for": lambda x, y: ([x + y, y + x], None),
    "a constant": lambda x, y: ([x + 2.0], None),
    "a complex constant": lambda x, y: ([x + 2j], None),
    "integers": lambda x, y: ([x.astype("i8") + 2], None),
    "held": held(True),
    "not held": held(False),
    "first rows": rows(0, 2),
    "last rows": rows(1, 3),
    "all rows": rows(0, 3),
    "columns": lambda x, y: ([x[:, :2] * y[:, :2]], None),
    "every other column": lambda x, y: ([x[:, ::2] * y[:, ::2]], None),
    "turned": lambda x, y: ([x.T * y.T], None),
    "fold": lambda x, y: ([(x * y).sum(axis=0)], None),
    "fold along the other axis": lambda x, y: ([(x * y).sum(axis=1)], None),
    "fold from 1": lambda x, y: ([(x * y).sum(axis=1, initial=1.0)], None),
    "fold from 0": lambda x, y: ([(x * y).sum(axis=1, initial=0.0)], None),
    "fold from -0": lambda x, y: ([(x * y).sum(axis=1, initial=-0.0)], None),
    "first row set": assign(0),
    "second row set": assign(1),
    "all set": written(lambda z, y: z.__setitem__(..., y)),
    "added in place": written(lambda z, y: z.__iadd__(y)),
    "added under a mask": written(masked),
    "row set, then read": written(lambda z, y: z.__setitem__(slice(0, 1), z[1:2] + y[:1])),
}  # fmt: skip


def test_programs_that_differ_in_anything_have_keys_of_their_own():
    found = {name: key(build) for name, build in BUILDS.items()}
    assert len({*found.values()}) == len(BUILDS), sorted(found)


@pytest.mark.parametrize("name", BUILDS)
def test_the_same_program_on_other_arrays_has_the_same_key(name):
    assert key(BUILDS[name]) == key(BUILDS[name])


def lent(offset):
    """A node that reads memory of somebody else."""
    memory = bytearray(200)
    at = -numpy.frombuffer(memory, "u1").ctypes.data % 16 + offset
    geo = fresh((12,), numpy.dtype("f8"))
    value = Expr.leaf(Buffer.borrow(numpy.frombuffer(memory, "f8", 12, at)))
    return Expr(map_of("square", "d->d"), (Read(value, geo),), geo)


def test_where_memory_of_others_begins_makes_a_difference_up_to_16_bytes():
    keys = []
    for offset in (0, 0, 8, 16):
        node = lent(offset)
        w = walk([node], [node])
        keys.append(w.key)
        assert w.tokens.odd is (offset == 8)
    assert keys[0] == keys[1] == keys[3] != keys[2]


def test_memory_of_others_that_begins_as_ours_does_has_the_same_key():
    """So a loop over what a program has read, and over what was computed of it, has one plan."""
    theirs, geo = lent(0), fresh((12,), numpy.dtype("f8"))
    ours = Expr(map_of("square", "d->d"), (Read(Expr.leaf(Buffer.new(geo.nbytes)), geo),), geo)
    assert walk([theirs], [theirs]).key == walk([ours], [ours]).key


def test_constants_matter_as_far_as_rules_name_them():
    def keys():
        return [key(lambda x, y, c=c: ([x * c], None)) for c in (3.0, 5.0, 7.0)]

    assert len({*keys()}) == 1
    rule = Rule("mine", ("multiply", "x", 3), "x", Keeps.BITWISE, True, "a lie", "f")
    register_rewrite(rule)
    try:
        three, five, seven = keys()
        assert three != five == seven
    finally:
        unregister_rewrite(rule)


def test_who_was_let_go_of_is_another_key():
    x = np.array(A)
    t = x * 2.0
    roots = [(t + 1.0).storage.value]
    nodes = closure(roots)
    both = walk(nodes, roots)
    del t
    one = walk(nodes, roots)
    assert (both.stored, one.stored) == ([True, True], [False, True]) and both.key != one.key
    assert len(both.asked) == 2 and len(one.asked) == 1


def test_what_somebody_else_reads_is_stored():
    x = np.array(A)
    t = x * 2.0
    r, other = t + 1.0, t - 1.0
    del t
    assert walked([r]).stored == [True, True]
    assert walked([r, other]).stored == [False, True, True]


def test_numbers_of_other_values_are_those_of_leaves():
    x, y = np.array(A), np.array(A)
    w = walked([(x + y) * x - y])
    assert w.leaves == [x.storage.value, y.storage.value]
    assert [w.numbers[id(v)] for v in (*w.nodes, *w.leaves)] == [0, 1, 2, -1, -2]
    numbers = Numbers.of(w.nodes)
    assert numbers[y.storage.value] == -1 and numbers.leaves == [y.storage.value]


def test_no_collection_goes_through_the_key_and_the_plan_of_many_nodes():
    x = np.array(numpy.ones((2 * engine.MANY, 3)))
    arrays = [x[k : k + 4] * 2.0 for k in range(engine.MANY)]
    roots = [y.storage.value for y in arrays]
    nodes = closure(roots)
    seen = []

    def listen(phase, info):
        seen.append(info["generation"])

    found = []
    gc.collect()
    gc.callbacks.append(listen)
    try:
        found.append(engine.walked(nodes, roots, swiftly=False))
    finally:
        gc.callbacks.remove(listen)
    assert gc.get_threshold()[0] and len(seen) <= 1 and len(found[0][0].key) > 5 * engine.MANY


def test_what_an_evaluation_does_is_put_in_words_once(monkeypatch):
    """Its kernels are in the cache, and LLVM is not loaded: then a loop comes here each time."""
    x = np.array(A)
    nodes = closure([(x * 2.0 + 1.0).storage.value])
    estimated = []
    monkeypatch.setattr(compiler, "numpy_ns", lambda node: estimated.append(node) or 1e9)
    monkeypatch.setattr(compiler, "noted", lambda name: name == "multiply dd->d\nadd dd->d")
    compiler._name_of.cache_clear()
    mine = compiler._Compiler()
    with np.options(jit="auto"):
        for _ in range(3):
            assert mine.plans(nodes)
    assert len(estimated) == 2 and compiler._name_of.cache_info().misses == 1 and mine.usable is None


def test_writes_that_a_step_stores_are_placed_without_looking_at_each_other():
    """Calls for each write in a step that overwrites its operands."""

    def count(writes):
        with np.options(num_threads=1, eager_elements=0):
            arrays = [np.array(A + k) for k in range(writes)]
            for x in arrays:
                x += 1.0
            values = [x.storage.value for x in arrays]
            placement = Placement(values, {v.serial for v in values})
            return calls(lambda: [placement.place(v, ()) for v in values]), placement

    few, many = count(10), count(100)
    assert len(many[1].taken) == 100 and many[0] < 11 * few[0]
