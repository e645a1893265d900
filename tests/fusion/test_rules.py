"""Every rewrite rule, from the table, against NumPy on values that break careless algebra."""

from __future__ import annotations

import pytest

from lazyarr.fusion import check_rule, termination
from lazyarr.fusion.registry import check_form
from lazyarr.fusion.rewrite import Keeps, Rule, is_number, nodes
from lazyarr.fusion.rules import RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_keeps_what_it_says(rule):
    assert check_rule(rule)


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        (("multiply", "x", 1), "iuf"), (("divide", "x", 1), "f"), (("subtract", "x", 0), "iuf"),
        (("power", "x", 1), "f"),
    ],
)  # fmt: skip
def test_identities_with_numbers_are_for_programs_to_register(pattern, kinds):
    """They hold; but a number in a pattern has each evaluation look at its constants."""
    assert check_rule(Rule("mine", pattern, "x", Keeps.BITWISE, True, "an identity", kinds))
    ours = [rule.pattern for rule in RULES if isinstance(rule, Rule)]
    assert not any(is_number(part) for mine in ours for part in nodes(mine))


def test_rules_are_as_registration_asks():
    termination.check(RULES, {})
    for rule in RULES:
        check_form(rule, {})
    assert len({rule.name for rule in RULES}) == len(RULES)
