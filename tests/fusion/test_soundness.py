"""Soundness: `check_rule` finds what rules and rewrites do not keep."""

from __future__ import annotations

import pytest

import lazyarr
from lazyarr.fusion import (
    Keeps,
    Rewrite,
    Rule,
    Stage,
    Value,
    check_rule,
    soundness,
)
from lazyarr.fusion.soundness import Unsound

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always"):
        yield


ADD = ("add", "x", "y")


LIES = [
    (Rule("r", ("subtract", "x", "x"), 0, BITWISE, True, "", "f"), "does not keep BITWISE.*x="),
    (Rule("r", ("add", "x", 0), "x", BITWISE, True, "-0 + 0 is 0", "f"), "does not keep BITWISE.*-0.0"),
    (Rule("r", ("sqrt", ("square", "x")), ("absolute", "x"), VALUE, False, "", "f"), "does not keep VALUE"),
    (Rule("r", ("multiply", "x", "x"), ("add", "x", "x"), APPROX, False, "", "f"), "does not keep APPROX"),
    (Rule("r", ("not_equal", "x", "x"), ("isnan", "x"), BITWISE, True, ""), None),
    (Rule("r", ("logical_not", ("less", "x", "y")), ("less_equal", "y", "x"), BITWISE, True, "", "b"),
     "BITWISE"),
    (Rule("r", ("square", "x"), ("multiply", "x", "x"), BITWISE, True, "", "f"), None),
    (Rule("r", ("multiply", 0, ("sqrt", "x")), ("multiply", 0, ("fabs", "x")), APPROX, True, "", "f"),
     "does not keep flags"),
    (Rule("r", ("add", "x", 0), "x", VALUE, True, "", "fc"), None),
    (Rule("r", ("divide", "x", ("constant", "c")), ("multiply", "x", ("reciprocal", "c")), BITWISE, False,
          "", "f"), "constant"),
    (Rule("r", ("add", ("multiply", "x", "y"), ("multiply", "x", "z")), ("multiply", "x", ("add", "y", "z")),
          APPROX, False, "", "f"), None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "words"), LIES)
def test_lies_are_found(rule, words):
    if words is None:
        assert check_rule(rule)
        return
    with pytest.raises(Unsound, match=words):
        check_rule(rule)


def test_a_check_tries_so_many_types_and_no_more(monkeypatch):
    """Four casts have half a million choices; lies are found all the same."""
    tried = []
    real = soundness._try
    monkeypatch.setattr(soundness, "_try", lambda *args: tried.append(args[-1]) or real(*args))
    monkeypatch.setattr(soundness, "LOOKED", 300)
    deep = "x"
    for _ in range(4):
        deep = ("cast", deep)
    rule = Rule("r", deep, ("cast", "x"), BITWISE, False, "", "f")
    with pytest.raises(Unsound):
        check_rule(rule)
    assert 0 < len(tried) <= 300
    tried.clear()
    monkeypatch.setattr(soundness, "TRIED", 20)
    twice = Rule("s", ("fabs", ("absolute", "x")), ("absolute", "x"), VALUE, True, "", "f")
    everything = check_rule(twice)
    monkeypatch.setattr(soundness, "TRIED", 2)
    assert check_rule(twice) == check_rule(twice)
    assert len(check_rule(twice)) == 2 < len(everything) and set(check_rule(twice)) < set(everything)


def test_what_goes_on_for_ever_is_not_tried():
    with pytest.raises(ValueError, match="circle"):
        check_rule(Rule("r", ("sqrt", "x"), ("sqrt", ("absolute", "x")), VALUE, True, "", "f"))


def test_what_never_applies_is_not_sound():
    with pytest.raises(ValueError, match="there is nothing to test"):
        check_rule(Rule("r", ADD, "x", BITWISE, True, "", "f", when=lambda types: False))


def test_rewrites_are_tried_on_their_examples():
    rewrite = Rewrite(
        "r", lambda inst, body: inst.args[0], Value, BITWISE, True, "", (), (("sqrt", "x"),), ("sqrt",),
        Stage.TYPED,
    )  # fmt: skip
    with pytest.raises(Unsound, match="does not keep BITWISE"):
        check_rule(rewrite)
