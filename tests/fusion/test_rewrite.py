"""Rewriting: when a rule applies, what it makes, and what goes away."""

from __future__ import annotations

import numpy
import pytest
from rewriting import array, ops_of, registered, rules_of

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.fusion import (
    Keeps,
    Rewrite,
    Rule,
    Stage,
    Value,
    check_rule,
)
from lazyarr.fusion.matching import entry_of, match
from lazyarr.fusion.parfor import Inst

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always"):
        yield


# ------------------------------------------------------------------------------- replacements


def test_a_tree_takes_the_place_of_a_tree():
    x, y = array(1000), array(1000, seed=1)
    found = x + -y
    assert ops_of(found) == ["load", "load", "subtract", "store"]
    want = numpy.asarray(x) + -numpy.asarray(y)
    numpy.testing.assert_array_equal(numpy.asarray(found), want)


def test_what_explain_says():
    x, y = array(1000), array(1000, seed=1)
    text = str(explain(x + -y))
    assert "add: computed by subtract, by add-negative" in text


def test_replacements_are_numbered_like_what_the_program_computes():
    x, y = array(1000), array(1000, seed=1)
    assert ops_of((x - y) * (x + -y)).count("subtract") == 1


def test_replacements_are_rewritten():
    x, y = array(1000), array(1000, seed=1)
    found = x + lazyarr.negative(lazyarr.negative(lazyarr.negative(y)))
    assert "negative" not in ops_of(found)
    found = -x + -y                     # which becomes -y - x
    assert ops_of(found).count("negative") == 1


def test_inner_operations_have_numpys_types():
    """float32 * 2 is float32, and so is the whole; an int64 beside it makes float64."""
    rule = Rule("twice", ("add", "x", "x"), ("multiply", "x", 2), BITWISE, True, "exact", "f")
    wide = Rule("wide", ("sqrt", "x"), ("add", "x", numpy.float64(1)), APPROX, False, "a lie")
    with registered(rule, wide):
        x = array(100, dtype="f")
        found = x + x
        assert "multiply[ff->f]" in explain(found).groups[0].parfor
        numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(x) * 2)
        with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
            assert "wide" in rules_of(lazyarr.sqrt(array(100)))
            assert "wide" not in rules_of(lazyarr.sqrt(array(100, dtype="f")))


def test_a_number_that_the_type_does_not_hold_is_no_replacement():
    rule = Rule("large", ("add", "x", "x"), ("multiply", "x", 1000), BITWISE, True, "a lie", "i")
    with registered(rule):
        assert "large" not in rules_of(array(100, dtype="b") + array(100, dtype="b"))
        x = array(100, dtype="b")
        assert "large" not in rules_of(x + x)
        x = array(100, dtype="h")
        assert "large" in rules_of(x + x)


def test_a_number_alone():
    rule = Rule("no-difference", ("bitwise_xor", "x", "x"), 0, BITWISE, True, "every bit is its own", "iu")
    assert check_rule(rule)
    with registered(rule):
        x = array(100, dtype="i")
        found = x ^ x
        assert "bitwise_xor" not in ops_of(found)
        assert numpy.asarray(found).dtype == "i" and not numpy.asarray(found).any()


def test_casts():
    x = array(1000, dtype="f")
    back, once = x.astype("d").astype("f"), x.astype("d").astype("D")
    assert "cast" not in ops_of(back) and ops_of(once)[1:-1] == ["cast"]
    out_of_range = array(10, dtype="i").astype("d").astype("B")
    assert ops_of(out_of_range).count("cast") == 2


@pytest.mark.parametrize(
    ("build", "op"),
    [
        (lambda x, y: ~(x == y), "not_equal"),
        (lambda x, y: lazyarr.logical_not(x != y), "equal"),
        (lambda x, y: ~(x < y), "less_equal"),
        (lambda x, y: lazyarr.where(~(x == y), x, y), "not_equal"),
        (lambda x, y: lazyarr.square(-x), "square"),
    ],
)
def test_rules_of_integers(build, op):
    x, y = array(500, dtype="l"), array(500, seed=3, dtype="l")
    found = build(x, y)
    assert op in ops_of(found)
    assert not {"invert", "logical_not", "negative"} & set(ops_of(found))
    numpy.testing.assert_array_equal(numpy.asarray(found), build(*map(numpy.asarray, (x, y))))


def test_floats_have_nans():
    x, y = array(500), array(500, seed=3)
    x[3] = numpy.nan
    found = ~(x < y)
    assert "invert" in ops_of(found)
    numpy.testing.assert_array_equal(numpy.asarray(found), ~(numpy.asarray(x) < numpy.asarray(y)))


# ------------------------------------------------------------------------------------ stages


def test_untyped_rules_make_one_of_two():
    x, y = array(100), array(100, seed=1)
    assert ops_of((x > y) & (y < x)).count("less") == 1
    assert "radians" in ops_of(lazyarr.deg2rad(x))


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
@pytest.mark.filterwarnings("ignore")
def test_untyped_rules_of_all_types(dtype):
    x, y = array(100, dtype=dtype), array(100, seed=1, dtype="f")
    for compare in (numpy.greater, numpy.greater_equal):
        found = getattr(lazyarr, compare.__name__)(x, y)
        numpy.testing.assert_array_equal(numpy.asarray(found), compare(numpy.asarray(x), numpy.asarray(y)))


def test_whole_bodies():
    x, y, z = (array(1000, seed=k) for k in range(3))
    with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
        found = x / z + y / z
        assert ops_of(found) == ["load", "load", "reciprocal", "multiply", "load", "multiply", "add", "store"]
        want = numpy.asarray(x) / numpy.asarray(z) + numpy.asarray(y) / numpy.asarray(z)
        numpy.testing.assert_allclose(numpy.asarray(found), want, rtol=1e-15)
        assert "shared-divisor" not in rules_of(x / z)


def test_whole_bodies_with_folds():
    x, y, z = (array(30, 40, seed=k) for k in range(3))
    with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
        found = (x / z + y / z).sum(axis=1)
        assert "shared-divisor" in rules_of(found)
        want = (numpy.asarray(x) / numpy.asarray(z) + numpy.asarray(y) / numpy.asarray(z)).sum(axis=1)
        numpy.testing.assert_allclose(numpy.asarray(found), want, rtol=1e-14)


# ---------------------------------------------------------------------- matching, by its words


def test_same_name_binds_one_value():
    body = [Inst("load", "d", (), 0), Inst("load", "d", (), 1)]
    entry = entry_of(None, ("where", "c", "x", "x"), "x", "f")
    found = match(entry, Inst("where", "?dd->d", (0, 1, 1), 0), body, lambda inst: None)
    assert found is not None and found.values == {"c": 0, "x": 1}
    assert match(entry, Inst("where", "?dd->d", (0, 1, 0), 0), body, lambda inst: None) is None


def test_state_in_the_match():
    """What `match` finds is what `apply` gets; the rewrite itself keeps nothing."""
    seen = []

    def find(inst, body):
        inner = body[inst.args[0]]
        return (inner.args[0], object()) if inner.op == "exp" else None

    def apply(state):
        seen.append(state)
        return Value(state[0])

    rewrite = Rewrite("log-exp", find, apply, APPROX, False, "", (), (("log", ("exp", "x")),), ("log",),
                      Stage.TYPED)
    with registered(rewrite), lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
        x, y = array(100), array(100, seed=1)
        found = lazyarr.log(lazyarr.exp(x)) + lazyarr.log(lazyarr.exp(y))
        lazyarr.evaluate(found)
        assert len(seen) == 2 and seen[0][1] is not seen[1][1]
        numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(x) + numpy.asarray(y))


def test_constants():
    """Numbers in patterns: plans depend on which of them a constant is, and on nothing else of it."""
    rule = Rule("times-one", ("multiply", "x", 1), "x", BITWISE, True, "exact", "iuf")
    half = Rule("halves", ("divide", "x", 2.0), ("multiply", "x", 0.5), BITWISE, True, "exact", "f")
    assert check_rule(rule) and check_rule(half)
    with registered(rule, half):
        x = array(1000)
        assert "multiply" not in ops_of(x * 1) and "multiply" in ops_of(x * 3)
        assert "times-one" not in rules_of(x * -1.0)
        made = COUNT.plans
        for factor in (1.0, 3.0, 1, 5.0, 0.1):
            numpy.testing.assert_array_equal(numpy.asarray(x * factor), numpy.asarray(x) * factor)
        assert COUNT.plans == made + 2
        numpy.testing.assert_array_equal(numpy.asarray(x / 2), numpy.asarray(x) / 2)
        assert "divide" in ops_of(x / 3)


def test_constants_are_compared_bit_for_bit():
    rule = Rule("less-zero", ("subtract", "x", 0.0), "x", BITWISE, True, "x - 0 is x, also for x = -0", "f")
    assert check_rule(rule)
    with registered(rule):
        assert "subtract" not in ops_of(array(10) - 0.0)
        assert "subtract" in ops_of(array(10) - -0.0)


def test_constants_of_compiled_functions_stand_for_others():
    rule = Rule("times-one", ("multiply", "x", 1), "x", BITWISE, True, "exact", "iuf")
    with registered(rule):
        f = lazyarr.compile(lambda x, k: x * k + x)
        x = array(1000)
        for k in (1.0, 1.0, 3.0, 2.0):
            numpy.testing.assert_array_equal(numpy.asarray(f(x, k)), numpy.asarray(x) * k + numpy.asarray(x))
        assert f.refusal is None


def test_deferred_deletes():
    """What a rewrite leaves without a use is not computed, and what it loaded is not read."""
    rule = Rule("first", ("where", ("less", "x", "y"), "x", "x"), "x", BITWISE, True, "both are x", "f")
    x, y, z = (array(1000, seed=k) for k in range(3))
    with registered(rule):
        found = lazyarr.where(x < y, z, z) * 2
        told = explain(found)
    assert ops_of(found) == ["load", "scalar", "multiply", "store"]
    assert told.bytes_moved == 2 * 8000


def test_what_is_left_is_kept_where_it_is_used():
    x, y = array(1000), array(1000, seed=1)
    n = -y
    a, b = x + n, n * 2
    assert set(ops_of(lazyarr.stack([a, b]))) >= {"subtract", "negative"}
    lazyarr.evaluate(a, b)
    numpy.testing.assert_array_equal(numpy.asarray(b), numpy.asarray(y) * -2)


# ----------------------------------------------------------------------------- what is allowed


def test_weaker_rules_run_where_the_mode_allows():
    x = array(1000)
    with numpy.errstate(all="ignore"):
        assert "divide" in ops_of(x / 3)
        with lazyarr.options(fast_math=True):
            assert ops_of(x / 3) == ["load", "scalar", "reciprocal", "multiply", "store"]
            numpy.testing.assert_allclose(numpy.asarray(x / 3), numpy.asarray(x) / 3, rtol=1e-15)
        assert "divide" in ops_of(x / 3)


def test_rules_that_lose_flags_run_where_flags_are_ignored():
    x = array(1000)
    with lazyarr.options(fast_math=True):
        assert "divide" in ops_of(x / 3)
        with numpy.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            quiet = x / 3
        assert "divide" not in ops_of(quiet)
        numpy.testing.assert_allclose(numpy.asarray(quiet), numpy.asarray(x) / 3, rtol=1e-15)
        loud = x / 3
        numpy.testing.assert_array_equal(numpy.asarray(loud), numpy.asarray(x) / 3)


def test_flags_of_a_shared_operation_are_heard():
    """Two calls that are one instruction: the one that asks for flags keeps it."""
    rule = Rule("root", ("sqrt", ("multiply", "x", "x")), "x", APPROX, False, "of positive numbers", "f")
    with registered(rule), lazyarr.options(fast_math=True):
        x = array(1000)
        with numpy.errstate(all="ignore"):
            quiet = lazyarr.sqrt(x * x)
        assert "multiply" not in ops_of(quiet)
        asked = x * x
        with numpy.errstate(all="ignore"):
            again = lazyarr.sqrt(asked)
        assert "multiply" in ops_of(again)


def test_flags_of_what_is_dropped_are_kept():
    """The condition of a `where` whose choices are one value may warn."""
    x = lazyarr.array(numpy.full(1000, -1.0))
    lazyarr.evaluate(x)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        lazyarr.evaluate(lazyarr.where(lazyarr.sqrt(x) < 1, x, x))


def test_compiled_functions_ask_for_flags():
    f = lazyarr.compile(lambda x, y: x / 3 + y)
    x, y = array(1000), array(1000, seed=1)
    with lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
        for _ in range(3):
            want = numpy.asarray(x) / 3 + numpy.asarray(y)
            numpy.testing.assert_array_equal(numpy.asarray(f(x, y)), want)
