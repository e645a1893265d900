"""Every rewrite rule, from the table, against NumPy on values that break careless algebra."""

from __future__ import annotations

import pytest

from lazyarr.fusion import check_rule, termination
from lazyarr.fusion.registry import check_form
from lazyarr.fusion.rules import RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_keeps_what_it_says(rule):
    assert check_rule(rule)


def test_rules_are_as_registration_asks():
    termination.check(RULES, {})
    for rule in RULES:
        check_form(rule, {})
    assert len({rule.name for rule in RULES}) == len(RULES)
