"""Termination: rules that could rewrite in a circle are refused, and what makes what it does not say ends."""

from __future__ import annotations

import pytest
from rewriting import array, registered, rules_of

import lazyarr
from lazyarr.fusion import (
    Keeps,
    Rewrite,
    Rule,
    Stage,
    Value,
    register_rewrite,
    registry,
)
from lazyarr.fusion.body import Body
from lazyarr.fusion.parfor import Inst

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always"):
        yield


ADD = ("add", "x", "y")


SQUARE = Rule("to-product", ("square", "x"), ("multiply", "x", "x"), BITWISE, True, "", "f")
PRODUCT = Rule("to-square", ("multiply", "x", "x"), ("square", "x"), BITWISE, True, "", "f")


def test_a_circle_is_refused_and_names_its_rules():
    with registered(SQUARE):
        with pytest.raises(ValueError, match=r"'to-square', 'to-product' could.*by way of multiply, square"):
            register_rewrite(PRODUCT)
        assert "to-product" in rules_of(lazyarr.square(array(10)))
    with registered(PRODUCT):
        x = array(10)
        assert "to-square" in rules_of(x * x)


@pytest.mark.parametrize(
    "tree",
    [
        ("add", "y", "x"),                          # as many
        ("add", "x", ("negative", "y")),            # as many, and add-negative brings it back
        ("subtract", "x", ("negative", "y")),       # subtract-negative brings it back
        ("negative", ("add", "x", "y")),
    ],
)
def test_rules_that_do_not_shrink_are_refused(tree):
    with pytest.raises(ValueError, match=r"'r'.* could rewrite in a circle"):
        register_rewrite(Rule("r", ADD, tree, BITWISE, True, ""))


def test_rules_that_repeat_a_value_are_refused_in_a_circle():
    """Smaller as it is written, not as it is: x may be large."""
    pattern = ("multiply", ("add", "x", "y"), ("add", "z", "z"))
    rule = Rule("r", pattern, ("multiply", "x", "x"), BITWISE, True, "")
    with pytest.raises(ValueError, match="repeat no value"):
        register_rewrite(rule)


def test_cheaper_and_lower_ops_are_accepted():
    cheaper = Rule("c", ("log", ("power", "x", "y")), ("multiply", "y", ("log", "x")), APPROX, False, "", "f")
    more = Rule("m", ("sinh", "x"), ("multiply", ("subtract", ("exp", "x"), ("exp", ("negative", "x"))), 0.5),
                APPROX, False, "", "f")
    with registered(cheaper, more):
        pass


def test_a_rewrite_that_makes_what_it_does_not_say_comes_to_an_end():
    def again(state):
        return ("negative", ("negative", Value(state)))

    def rule(makes):
        return Rewrite(
            "liar", lambda inst, body: inst.args[0], again, BITWISE, True, "", makes, (), ("sqrt",),
            Stage.TYPED,
        )  # fmt: skip

    with registered(rule(())), pytest.raises(ValueError, match="does not say that it makes 'negative'"):
        lazyarr.evaluate(lazyarr.sqrt(array(10)))

    with pytest.raises(ValueError, match="circle"):
        register_rewrite(Rewrite("r", len, len, BITWISE, True, "", ("sqrt",), (), ("sqrt",), Stage.TYPED))


def test_fuel():
    """Rules that nobody checked."""
    rules = registry.Rules((SQUARE, PRODUCT)).at(BITWISE)
    body = Body(rules, lambda op, sig: True, True)
    x = body.emit(Inst("load", "d", (), 0))
    with pytest.raises(ValueError, match="rewriting does not end"):
        body.emit(Inst("square", "d->d", (x,), 0))
