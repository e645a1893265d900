"""Registration: what is in force when, what is refused, and threads that register."""

from __future__ import annotations

import threading

import numpy
import pytest
from rewriting import array, ops_of, registered

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.fusion import (
    Keeps,
    Rewrite,
    Rule,
    Stage,
    Unsound,
    check_rule,
    register_rewrite,
    registry,
    unregister_rewrite,
)

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always"):
        yield


def test_a_rule_that_lies_is_refused_where_registration_is_to_check():
    lie = Rule("lie", ("add", "x", "x"), ("multiply", "x", 3), BITWISE, True, "wrong", "f")
    with pytest.raises(Unsound, match="'lie' does not keep BITWISE"):
        register_rewrite(lie, check=True)
    with pytest.raises(ValueError, match="not registered"):
        unregister_rewrite(lie)
    with pytest.raises(ValueError, match="'lie' is not registered"):
        unregister_rewrite(lie.name)
    twice = Rule("twice", ("add", "x", "x"), ("multiply", "x", 2), BITWISE, True, "exact", "f")
    unregister_rewrite(register_rewrite(twice, check=True))


def test_plans_of_before_do_not_hide_a_rule_and_come_back():
    rule = Rule("twice", ("add", "x", "x"), ("multiply", "x", 2), BITWISE, True, "exact", "f")
    x = array(1000)
    lazyarr.evaluate(x + x)
    plans = COUNT.plans
    with registered(rule):
        assert "multiply" in ops_of(x + x)
        lazyarr.evaluate(x + x)
        assert COUNT.plans == plans + 1
    lazyarr.evaluate(x + x)
    assert COUNT.plans == plans + 1 and "add" in ops_of(x + x)
    with registered(rule):
        lazyarr.evaluate(x + x)
        assert COUNT.plans == plans + 1


def test_compiled_functions_go_by_the_rules_of_the_call():
    """A wrong rule shows that a replay is another one."""
    rule = Rule("wrong", ("multiply", "x", "y"), ("add", "x", "y"), BITWISE, True, "a lie", "f")
    f = lazyarr.compile(lambda x, y: x * y - y)
    x, y = array(1000), array(1000, seed=1)
    product, other = (numpy.asarray(x) * numpy.asarray(y), numpy.asarray(x) + numpy.asarray(y))
    for _ in range(3):
        numpy.testing.assert_array_equal(numpy.asarray(f(x, y)), product - numpy.asarray(y))
    with registered(rule):
        for _ in range(3):
            numpy.testing.assert_array_equal(numpy.asarray(f(x, y)), other - numpy.asarray(y))
    numpy.testing.assert_array_equal(numpy.asarray(f(x, y)), product - numpy.asarray(y))


ADD = ("add", "x", "y")
NOTHING = {"keeps": BITWISE, "keeps_flags": True, "why": ""}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("r", "x", "x", **NOTHING), "must start with an op"),
        (Rule("r", ("as", "x", ADD), "x", **NOTHING), "must start with an op"),
        (Rule("r", ADD, "z", **NOTHING), "does not bind 'z'"),
        (Rule("r", ("adds", "x"), "x", **NOTHING), "there is no op 'adds'"),
        (Rule("r", ADD, ("adds", "x"), **NOTHING), "there is no op 'adds'"),
        (Rule("r", ("add", "x"), "x", **NOTHING), "takes 2 operands, not 1"),
        (Rule("r", ADD, ("multiply", "x"), **NOTHING), "takes 2 operands, not 1"),
        (Rule("r", ADD, ("multiply", "x", ("cast", "y")), **NOTHING), "at the root only"),
        (Rule("r", ADD, ("constant", "x"), **NOTHING), "stands in patterns"),
        (Rule("r", ADD, ["x"], **NOTHING), "is no name, number"),
        (Rule("neg-neg", ADD, "x", **NOTHING), "there is a rule 'neg-neg' already"),
        (Rule("r", ADD, "x", **NOTHING, stage=Stage.UNTYPED), "one op for another"),
        (Rule("r", ADD, ("multiply", "x", "x"), **NOTHING, stage=Stage.UNTYPED), "one op for another"),
        (Rule("r", ("greater", "x", "y"), ("less", "x", "y"), **NOTHING, stage=Stage.UNTYPED), "already"),
        (Rule("r", ADD, "x", **NOTHING, stage=Stage.PARFOR), "whole bodies are for a Rewrite"),
        (Rule("r", ADD, "x", 0, True, ""), "keeps is a Keeps"),
        (Rewrite("r", len, len, BITWISE, True, "", (), (), ("add",)), "TYPED, with roots"),
        (Rewrite("r", len, len, BITWISE, True, "", ("adds",), ()), "there is no op 'adds'"),
        (Rewrite("r", None, len, BITWISE, True, "", (), ()), "match and apply are functions"),
        (Rewrite("r", len, len, BITWISE, True, "", "add", ()), "are tuples"),
        (Rewrite("r", len, len, BITWISE, True, "", ("add",), (), None), "are tuples"),
        (Rewrite("r", len, len, BITWISE, True, "", ("add",), (("adds", "x"),), ("add",), Stage.TYPED),
         "there is no op 'adds'"),
        (Rule(3, ADD, "x", **NOTHING), "the name is a str"),
        (Rule("r", ADD, "x", BITWISE, "no", ""), "keeps_flags a bool"),
        (Rule("r", ADD, "x", **NOTHING, kinds="fz"), "kinds are some of"),
        (Rule("r", ADD, "x", **NOTHING, when=3), "when is a function"),
        (Rule("r", ("add", "x", 10**400), "x", **NOTHING), "is no element"),
        (Rule("r", ("add", "x", numpy.datetime64("2020")), "x", **NOTHING), "is no element"),
        (Rule("r", ("add", "x", numpy.longdouble(1)), "x", **NOTHING), "is no element"),
        (Rule("r", ("add", "x", ()), "x", **NOTHING), "is no name, number"),
        (object(), "a Rule or a Rewrite is wanted"),
    ],
)
def test_what_is_not_well_formed_is_refused(rule, words):
    before = registry._current
    with pytest.raises((TypeError, ValueError)):
        check_rule(rule)
    with pytest.raises((TypeError, ValueError), match=words):
        register_rewrite(rule)
    assert registry._current is before


def test_what_is_not_registered_is_not_taken_out():
    with pytest.raises(ValueError, match="is not registered"):
        unregister_rewrite(Rule("r", ADD, "x", **NOTHING))




def test_registering_while_others_plan():
    rule = Rule("r", ("add", "x", "x"), ("multiply", "x", 2), BITWISE, True, "exact", "f")
    x = array(64)
    want = numpy.asarray(x) + numpy.asarray(x)
    stop, wrong = threading.Event(), []

    def plan():
        with lazyarr.options(jit="always"):
            while not stop.is_set():
                if not (numpy.asarray(x + x) == want).all():
                    wrong.append(1)

    threads = [threading.Thread(target=plan) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        with registered(rule):
            pass
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not wrong and registry._current.rewrites[-1] is not rule


def test_registering_from_many_threads_loses_nothing():
    rules = [Rule(f"r{k}", ("sqrt", ("sinh", "x")), "x", BITWISE, True, "", "f") for k in range(40)]
    threads = [threading.Thread(target=register_rewrite, args=(rule,)) for rule in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    try:
        assert set(rules) <= set(registry._current.rewrites)
    finally:
        for rule in rules:
            unregister_rewrite(rule)
