"""Calls met before are built again by their recipe, and still are what NumPy says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import lazyarr as np
from lazyarr import elementwise, recipes
from lazyarr.awaited import COLD, LARGE

N = 100_000


@pytest.fixture(autouse=True)
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[numpy.ufunc]]:
    """The ufuncs of the calls that NumPy's type resolution was needed for; no recipes at first."""
    recipes._recipes.clear()
    calls: list[numpy.ufunc] = []
    loop_of = elementwise.loop_of

    def counted(fn, *args):
        calls.append(fn)
        return loop_of(fn, *args)

    monkeypatch.setattr(elementwise, "loop_of", counted)
    yield calls
    recipes._recipes.clear()


def pair(dtype="f8", n=N):
    x = numpy.arange(1, n + 1).astype(dtype)
    a, b = np.array(x), np.array(x[::-1])
    np.evaluate(a, b)
    return a, b, x, x[::-1].copy()


def same(lazy, real):
    found = numpy.asarray(lazy)
    return found.dtype == real.dtype and found.tobytes() == real.tobytes()


def test_a_call_is_looked_at_once(looked_at):
    a, b, x, y = pair()
    for _ in range(3):
        assert same(np.add(a, b), x + y)
        assert same(a * 2.5, x * 2.5)
        assert same(-a, -x)
        assert same(1 / a, 1 / x)
    assert looked_at.count(numpy.add) == looked_at.count(numpy.multiply) == 1
    assert looked_at.count(numpy.negative) == looked_at.count(numpy.true_divide) == 1


def test_operators_without_a_recipe_ask_for_it_once(monkeypatch):
    a, b, x, y = pair()
    asked = []

    def counted(fn, args):
        asked.append(fn)
        return key_of_call(fn, args)

    key_of_call = recipes._key
    monkeypatch.setattr(recipes, "_key", counted)
    assert same(a + b, x + y) and same(a * b, x * y) and same(1 / a, 1 / x)
    assert asked == [fn for fn in (numpy.add, numpy.multiply, numpy.true_divide) for _ in ("ask", "remember")]
    asked.clear()
    assert same(a + b, x + y)
    assert asked == [numpy.add]


def test_operands_in_the_other_order_are_another_call(looked_at):
    a, _, x, _ = pair()
    small, s = a.astype("f4"), x.astype("f4")
    np.evaluate(small)
    for _ in range(2):
        assert same(a - small, x - s) and same(small - a, s - x)
        assert same(2 - a, 2 - x) and same(a - 2, x - 2)
    assert looked_at.count(numpy.subtract) == 4


def test_scalars_of_every_type_are_cast_as_numpy_does():
    with np.options(eager_elements=0):
        a, _, x, _ = pair("i1", 100)
        for _ in range(2):
            for scalar in (1, True, 2.0, 3j, numpy.float32(2), numpy.int64(2), numpy.uint8(2)):
                assert same(a + scalar, x + scalar), scalar
            with pytest.raises(OverflowError):
                a + 300


def test_options_decide_anew():
    a, b, _, _ = pair()
    np.evaluate(a + b)
    before = np.debug.counters()["numpy_eager"]
    with np.options(eager_elements=N):
        assert np.is_evaluated(a + b)
    assert np.debug.counters()["numpy_eager"] == before + 1
    assert not np.is_evaluated(a + b)
    with np.options(jit="never"):
        assert np.is_evaluated(a + b)


def test_small_results_of_pending_operands_are_lazy():
    with np.options(eager_elements=0):
        a, b, x, y = pair(n=50)
        np.evaluate(a + b)
        c = a + b
    assert not np.is_evaluated(c) and not np.is_evaluated(c + b) and not np.is_evaluated(b - c)
    assert same(c + b, x + y + y)
    np.evaluate(c)
    assert np.is_evaluated(c + b) and np.is_evaluated(a + b)


def test_error_states_are_those_of_the_call():
    a, b, _, _ = pair()
    z = a - a
    np.evaluate(z, a / b)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        a / z
    with np.errstate(all="ignore"):
        quiet = a / z
    np.evaluate(quiet)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.evaluate(a / z)


def test_integer_powers_still_raise():
    a, _, _, _ = pair("i8")
    np.evaluate(np.power(a, 2))
    with pytest.raises(ValueError, match="negative integer powers"):
        np.power(a, -1)


def test_recipes_and_shared_geometries_are_forgotten_together(monkeypatch, forget_geometries):
    monkeypatch.setattr(recipes, "MAX_RECIPES", 4)
    for n in range(N, N + 20):
        a, b, x, y = pair(n=n)
        assert same(a + b, x + y) and same(a + b, x + y)
    assert len(recipes._recipes) <= 4
    forget_geometries()
    a, b, x, y = pair(n=N + 3)
    assert same(a + b, x + y)


def test_parts_of_arrays_are_known_by_their_layout(looked_at):
    x = numpy.arange(400.0 * 500).reshape(400, 500)
    a = np.array(x)
    np.evaluate(a)
    for k in range(4):
        rows, below = slice(k, 300 + k), slice(k + 1, 301 + k)
        assert same(a[rows, 1:-1] + a[below, 2:], x[rows, 1:-1] + x[below, 2:])
    assert looked_at.count(numpy.add) == 1
    assert same(a[:300, ::2] + a[1:301, ::2], x[:300, ::2] + x[1:301, ::2])
    assert same(a.T[:300, 1:399] + a.T[1:301, 2:], x.T[:300, 1:399] + x.T[1:301, 2:])
    real = x[:300, 1:-1]
    assert same(a[:300, 1:-1] + real, real + real)      # as large as a part that was met, but NumPy's
    assert looked_at.count(numpy.add) >= 3


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_small_parts_with_a_large_result_are_known_by_their_layout(dtype, looked_at):
    """A row and a column, others each time, of which all pairs are taken."""
    real = numpy.random.default_rng(7).uniform(-9, 9, (400, 400)).astype(dtype)
    if dtype != "i4":
        real[3] = real[:, 5] = numpy.array([0.0, -0.0, numpy.inf, numpy.nan]).repeat(100)
    x = np.array(real)
    np.evaluate(x)
    for k in range(8):
        assert same(np.add.outer(x[:, k], x[k, :]), numpy.add.outer(real[:, k], real[k, :]))
        with numpy.errstate(invalid="ignore"):
            assert same(x[:, k, None] * x[k], real[:, k, None] * real[k])
        assert same(x[k] + x[:, k + 1 : k + 2], real[k] + real[:, k + 1 : k + 2])
    assert looked_at.count(numpy.add) == 2 and looked_at.count(numpy.multiply) == 1
    assert same(x[3] + x[4], real[3] + real[4])


def test_results_of_parts_lie_as_numpys():
    rng, shape = numpy.random.default_rng(5), (4, 3, 5)
    whole = np.array(rng.random((9, 9, 11)))
    views = [whole[:4, :3, :5], whole[1:5, 2:8:2, ::2][:, :, :5], whole[8:4:-1, :3, :5], whole.T[:4, :3, :5],
             whole[:4, :1, :5], whole[:4, :3, :1].swapaxes(0, 2)[:, :, :4].T]  # fmt: skip
    for v in views:
        for w in views:
            if v.shape == w.shape == shape:
                real = numpy.asarray(v) + numpy.asarray(w)
                found = elementwise.result_layout(real.dtype, shape, [v.geo, w.geo])
                assert found.strides == real.strides


@pytest.mark.parametrize("change", ["shape", "resize", "dtype"])
@pytest.mark.parametrize("managed", [False, True])
def test_operands_may_change_while_a_call_is_looked_up(change, managed, monkeypatch):
    """A finalizer or another thread may set a shape between what finds a recipe and what makes its node."""
    n = 1_000_000
    x, y = (np.array(numpy.arange(float(n))) for _ in range(2))
    if managed:
        np.evaluate(x * 1, y * 1)
    for _ in range(3):
        np.evaluate(x + y)
    look = recipes.look

    def turned():
        monkeypatch.setattr(recipes, "look", look)
        if change == "shape":
            y.shape = 2, n // 2
        elif change == "dtype":
            y.dtype = "f4"
        else:
            y.resize(8, refcheck=False)
        return look()

    monkeypatch.setattr(recipes, "look", turned)
    monkeypatch.setattr(recipes.NODES, "make", None)
    try:
        found = x + y
    except ValueError as error:                 # shapes that do not go together any more
        assert "broadcast" in str(error)
    else:
        assert numpy.asarray(found).shape in ((n,), (2, n))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nodes_beside_large_data_count_for_several(monkeypatch, dtype):
    """Python takes longer for them: machine code pays sooner."""
    for name in ("make", "view", "assign", "update", "recall", "table"):
        monkeypatch.setattr(recipes.NODES, name, None)
    monkeypatch.setattr(recipes.NODES, "left", 1000)
    a, b, x, y = pair(dtype, 600_000)                   # (more than is of medium size)
    with np.options(jit="always"):
        waiting = [a + b for _ in range(5)]             # (the first one has no recipe)
        assert recipes.NODES.left == 1000 - 4 * (COLD if x.nbytes >= LARGE else 1)
    assert all(same(each, x + y) for each in waiting)
