"""Dims are one where the program makes them so, whatever their extents; names are the same for one class."""

import sys

import numpy
import pytest

import lazyarr
from lazyarr.debug import explain
from lazyarr.expr import Read
from lazyarr.fusion import shape_equiv
from lazyarr.fusion.shape_equiv import RESULT, equivalence
from lazyarr.materialize import closure


@pytest.fixture(autouse=True)
def forced():
    with lazyarr.options(jit="always"):
        yield


def lazy(*shape):
    x = lazyarr.array(numpy.ones(shape))
    lazyarr.evaluate(x)
    return x


def named(result):
    """Names of the operands and the result of the last node."""
    nodes = closure([result.storage.value])
    dims, node = equivalence(nodes), nodes[-1]
    reads = [(k, i.geo.ndim) for k, i in enumerate(node.inputs) if isinstance(i, Read)]
    found = [dims.names(node.serial, k, ndim) for k, ndim in reads]
    return [*found, dims.names(node.serial, RESULT, node.region.ndim)]


CASES = {
    "equal": (lambda a, b, v: a + b, "[m, n] [m, n] [m, n]"),
    "broadcast": (lambda a, b, v: a + v, "[m, n] [n] [m, n]"),
    "stretched": (lambda a, b, v: a[:, :1] + v, "[m, 1] [n] [m, n]"),
    "kept axis": (lambda a, b, v: a.sum(axis=0) + v, "[m] [m] [m]"),
    "transposed": (lambda a, b, v: (a + b).T + b.T, "[m, n] [m, n] [m, n]"),
    "reversed": (lambda a, b, v: (a + b)[::-1] + a, "[m, n] [m, n] [m, n]"),
    "neighbours": (lambda a, b, v: (v + v)[1:] + v[:-1], "[m-1] [m-1] [m-1]"),
    "stencil": (lambda a, b, v: a[2:] + a[:-2], "[m, n] [m, n] [m, n]"),
    "flat": (lambda a, b, v: (a + b).reshape(-1) + b.reshape(-1), "[m*n] [m*n] [m*n]"),
    "new axis": (lambda a, b, v: (v + v)[:, None] + v, "[m, 1] [m] [m, m]"),
    "split": (lambda a, b, v: (v + v).reshape(5, 10) + 1, "[m, n] [m, n]"),
}


@pytest.mark.parametrize("name", CASES)
def test_names(name):
    program, want = CASES[name]
    a, b, v = lazy(40, 50), lazy(40, 50), lazy(50)
    assert " ".join(named(program(a, b, v))) == want


def test_reads_of_one_reshaped_value_have_the_same_dims():
    v = lazy(50)
    y = (v + v).reshape(5, 10)
    told = explain(y - y.mean(1, keepdims=True))
    assert [o.dims for o in told.operations] == [
        "[m*n], [m*n] -> [m*n]", "[m, n] -> [m, 1]", "[m, 1] -> [m, 1]", "[m, n], [m, 1] -> [m, n]"
    ]  # fmt: skip
    assert told.legend == "m = 5, n = 10"
    first, last = told.operations[1].serial, told.operations[3].serial
    assert f"m: axis 0 of operand 0 of #{first} is axis 0 of operand 0 of #{last} (reshape)" in told.links


def test_other_splits_of_an_axis_are_other_dims_with_the_same_product():
    v = lazy(50)
    w = v + v
    told = explain(w.reshape(5, 10).sum(0), w.reshape(25, 2).sum(0), w)
    assert told.legend.endswith(("m*n = p*q", "m*n = q*p", "p*q = m*n", "q*p = m*n")), told.legend


def test_an_axis_is_split_beside_others():
    a = lazy(40, 50)
    y = (a + a).reshape(40, 5, 10)
    assert named(y - y.max(2, keepdims=True)) == ["[m, n, p]", "[m, n, 1]", "[m, n, p]"]
    assert explain(y + 1).operations[0].dims == "[m, n*p], [m, n*p] -> [m, n*p]"


def test_equal_extents_that_nothing_relates_are_two_classes():
    assert named(lazy(50)[:, None] + lazy(50)) == ["[m, 1]", "[n]", "[m, n]"]


def test_every_link_joins_equal_extents_and_says_why():
    a, b = lazy(40, 50), lazy(40, 50)
    a += b.T.copy().T
    dims = equivalence(closure([((a - b)[1:] * 2).sum(axis=1, keepdims=True).storage.value]))
    assert {link.why for link in dims.links} <= {"elementwise", "kept", "view", "slice", "value", "reshape"}
    assert all(dims.extents[k.one] == dims.extents[k.other] and dims.same(k.one, k.other) for k in dims.links)


def test_explain_names_the_dims():
    a, v = lazy(40, 50), lazy(50)
    text = explain((a * v)[1:] + v)
    assert "multiply dd->d: stored; [m, n], [n] -> [m, n]" in text
    assert "add dd->d: stored; [m-1, n], [n] -> [m-1, n]" in text
    assert "m = 40, n = 50" in text


@pytest.mark.parametrize("shape", [(500,), (20, 25)])
def test_what_one_mask_keeps_is_equally_long(shape):
    """A mask has the axes of what it is for; another mask that keeps as many is another class."""
    a, b, c = (lazyarr.array(numpy.arange(500.0).reshape(shape) % n) for n in (7, 9, 7))
    lazyarr.evaluate(a, b, c)
    k, same = a > 3, c > 3
    lazyarr.evaluate(k, same)
    told = explain(a[k] * 2, b[k] + 1, c[same] - 1)
    kept = [o.dims for o in told.operations if o.op == "compress"]
    axes = "[n, p], [n, p]" if len(shape) > 1 else "[n], [n]"
    assert [dims.rpartition("-> ")[2] for dims in kept[:2]] == ["[m]", "[m]"] and kept[2][-3:] != "[m]"
    assert all(dims.startswith(axes) for dims in kept[:2])
    assert [link.rpartition("(")[2] for link in told.links if "mask" in link].count("same mask)") == 1


def steps(n):
    """How many lines run to find the classes of a chain of `n` operations, and of views of its parts."""
    with lazyarr.options(pending_nodes=10 * n):
        x, found = lazyarr.array(numpy.ones((6, 8))), []
        for _ in range(n // 4):
            x = (x.reshape(8, 6) * 2).reshape(6, 8) + 1
            found.append(x[1:] - x[:-1])
        nodes = closure([y.storage.value for y in (x, *found)])
    count = 0

    def tick(frame, event, arg):
        nonlocal count
        count += event == "line"
        return tick if frame.f_code.co_filename == shape_equiv.__file__ else None

    before = sys.gettrace()
    sys.settrace(tick)
    try:
        dims = equivalence(nodes)
        for node in nodes:
            dims.names(node.serial, RESULT, node.region.ndim)
    finally:
        sys.settrace(before)
    return count / len(nodes)


def test_steps_grow_as_the_operations_do():
    assert steps(400) < 1.3 * steps(100)
