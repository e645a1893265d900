"""Rewrites of programs: their errors name them, numbers have types, and what they compute and register."""

from __future__ import annotations

import numpy
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
    unregister_rewrite,
)
from lazyarr.fusion.matching import bits

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always"):
        yield


MINE = {"keeps": BITWISE, "keeps_flags": True, "why": "", "makes": ("add",), "examples": ()}


@pytest.mark.parametrize(
    ("apply", "words"),
    [
        (lambda k: Value(9999), "there is no value 9999"),
        (lambda k: Value(-1), "there is no value -1"),
        (lambda k: Value("x"), "there is no value 'x'"),
        (lambda k: [Value(k)], "is no Value, number"),
        (lambda k: "x", "'x' is no Value"),
        (lambda k: None, "None is no Value"),
        (lambda k: (), "is no Value"),
        (lambda k: ("exp", Value(k)), "does not say that it makes 'exp'"),
        (lambda k: 1 / 0, "division by zero"),
    ],
)
def test_errors_of_programs_rewrites_name_them(apply, words):
    """Also those of whole bodies; the values can be had once the rewrite is taken out."""
    typed = Rewrite("mine", lambda inst, _: inst.args[0], apply, roots=("sqrt",), stage=Stage.TYPED, **MINE)
    whole = Rewrite("mine", lambda body: [k for k, i in enumerate(body) if i.op == "sqrt"],
                    lambda found: {k: apply(0) for k in found}, **MINE)
    x = array(1000)
    for rewrite in (typed, whole):
        y = lazyarr.sqrt(x) * x
        with registered(rewrite):
            with pytest.raises((ValueError, ZeroDivisionError), match=words) as told:
                lazyarr.evaluate(y)
            assert any("'mine'" in note for note in told.value.__notes__)
        numpy.testing.assert_array_equal(numpy.asarray(y), numpy.sqrt(numpy.asarray(x)) * numpy.asarray(x))


@pytest.mark.parametrize(
    ("trees", "words"),
    [
        (lambda k: {k: Value(k)}, "before what is replaced"),
        (lambda k: {k: Value(k + 1)}, "before what is replaced"),
        (lambda k: {999: Value(0)}, "there is no value 999 to replace"),
        (lambda k: {"k": Value(0)}, "there is no value 'k' to replace"),
        (lambda k: {k + 2: Value(0)}, "to replace"),            # the store
        (lambda k: None, "not iterable"),
    ],
)
def test_whole_bodies_are_not_broken(trees, words):
    rewrite = Rewrite("mine", lambda body: [i.op for i in body].index("sqrt"), trees, **MINE)
    x = array(1000)
    y = lazyarr.sqrt(x) * x
    with registered(rewrite), pytest.raises((TypeError, ValueError), match=words):
        lazyarr.evaluate(y)
    numpy.testing.assert_array_equal(numpy.asarray(y), numpy.sqrt(numpy.asarray(x)) * numpy.asarray(x))


def test_conditions_that_raise_name_their_rule():
    rule = Rule("mine", ("sinh", "x"), "x", BITWISE, True, "", "f", when=lambda types: types["y"] == "d")
    x = array(1000)
    y = lazyarr.sinh(x) * x
    with registered(rule), pytest.raises(KeyError) as told:
        lazyarr.evaluate(y)
    assert any("'mine'" in note for note in told.value.__notes__)
    numpy.testing.assert_array_equal(numpy.asarray(y), numpy.sinh(numpy.asarray(x)) * numpy.asarray(x))


def test_numbers_alone_are_of_the_type():
    """2.5 is no integer, 1j no real number."""
    for number, applies in ((1, True), (2.5, True), (1j, False), (numpy.float64(2), True)):
        rule = Rule("mine", ("sinh", "x"), number, BITWISE, True, "a lie", "f")
        with registered(rule):
            x = array(1000)
            assert ("mine" in rules_of(lazyarr.sinh(x) * x)) is applies
    half = Rule("mine", ("bitwise_xor", "x", "x"), 0.5, BITWISE, True, "a lie", "i")
    with registered(half):
        n = array(1000, dtype="l")
        assert "mine" not in rules_of(n ^ n)


def test_signs_of_imaginary_zeros():
    plus, minus = (numpy.complex128(complex(1.0, zero)) for zero in (0.0, -0.0))
    for number in (complex(1.0, 0.0), complex(1.0, -0.0)):
        assert [bits(number, "D") == x.tobytes() for x in (plus, minus)] == [
            str(number) == str(complex(x)) for x in (plus, minus)
        ]


def test_values_that_others_hold_are_computed():
    """A pattern over what the program still holds: it is computed for them alone."""
    rule = Rule("mine", ("multiply", ("sinh", "x"), "y"), "y", BITWISE, True, "a lie", "f")
    x, z = array(1000), array(1000, seed=1)
    with registered(rule):
        held = lazyarr.sinh(x)
        part, product = held[::2] * 1, held * z
        x += 1                                              # (reads come first)
        lazyarr.evaluate(product)
    assert "mine" not in rules_of(held * z)
    before = numpy.random.default_rng(0).uniform(1, 2, 1000)
    numpy.testing.assert_array_equal(numpy.asarray(held), numpy.sinh(before))
    numpy.testing.assert_array_equal(numpy.asarray(part), numpy.sinh(before)[::2])
    numpy.testing.assert_array_equal(numpy.asarray(product), numpy.asarray(z))


def test_rules_may_compute_and_register():
    """From within a condition: the plan being made goes on by the rules that it has."""
    other = Rule("other", ("cosh", "x"), "x", BITWISE, True, "a lie", "f")
    ones = lazyarr.ones(10_000)

    def when(types):
        if other not in registry._current.rewrites:
            register_rewrite(other)
        return bool((ones * 2 + 1).sum() > 0)

    rule = Rule("mine", ("sinh", "x"), "x", BITWISE, True, "a lie", "f", when)
    x = array(1000)
    want = x.to_numpy().copy()
    try:
        with registered(rule):
            numpy.testing.assert_array_equal(
                numpy.asarray(lazyarr.sinh(x) + lazyarr.cosh(x)), want + numpy.cosh(want)
            )
            numpy.testing.assert_array_equal(numpy.asarray(lazyarr.sinh(x) + lazyarr.cosh(x)), want + want)
    finally:
        unregister_rewrite(other)
