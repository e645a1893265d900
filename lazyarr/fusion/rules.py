"""The table of rewrite rules.  Each row is one line of algebra that holds for NumPy's values.

Every row is tested against NumPy with NaN, signed zeros, infinities, subnormals and integer
extremes for each kind that it claims (tests/fusion/test_rules.py reads this table).
"""

from __future__ import annotations

from lazyarr.fusion.rewrite import Keeps, Rule, register_rewrite

RULES = (
    Rule("neg-neg", ("negative", ("negative", "x")), "x", Keeps.BITWISE, True,
         "the sign flips twice; integers wrap twice", "iufc"),
    Rule("invert-invert", ("invert", ("invert", "x")), "x", Keeps.BITWISE, True,
         "every bit flips twice", "biu"),
    Rule("not-not", ("logical_not", ("logical_not", "x")), "x", Keeps.BITWISE, True,
         "of a bool; of other dtypes the result is a bool and differs", "b"),
    Rule("conj-conj", ("conjugate", ("conjugate", "x")), "x", Keeps.BITWISE, True,
         "the imaginary sign flips twice; real numbers are their own conjugates", "iufc"),
    Rule("abs-abs", ("absolute", ("as", "y", ("absolute", "x"))), "y", Keeps.BITWISE, True,
         "an absolute value is its own absolute value", "iuf"),
    Rule("positive", ("positive", "x"), "x", Keeps.BITWISE, True,
         "unary plus copies", "iufc"),
    Rule("where-same", ("where", "c", "x", "x"), "x", Keeps.BITWISE, True,
         "both choices are x"),
    Rule("and-same", ("bitwise_and", "x", "x"), "x", Keeps.BITWISE, True,
         "idempotent", "biu"),
    Rule("or-same", ("bitwise_or", "x", "x"), "x", Keeps.BITWISE, True,
         "idempotent", "biu"),
    Rule("floor-floor", ("floor", ("as", "y", ("floor", "x"))), "y", Keeps.BITWISE, True,
         "already integral", "f"),
    Rule("ceil-ceil", ("ceil", ("as", "y", ("ceil", "x"))), "y", Keeps.BITWISE, True,
         "already integral", "f"),
    Rule("trunc-trunc", ("trunc", ("as", "y", ("trunc", "x"))), "y", Keeps.BITWISE, True,
         "already integral", "f"),
    Rule("rint-rint", ("rint", ("as", "y", ("rint", "x"))), "y", Keeps.BITWISE, True,
         "already integral", "f"),
)

for _rule in RULES:
    register_rewrite(_rule)
