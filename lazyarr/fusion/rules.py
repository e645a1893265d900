"""The table of rewrite rules.  Each row is one line of algebra that holds for NumPy's values.

Every row is tested against NumPy with NaN, signed zeros, infinities, subnormals, integer extremes and
random bits, for each kind that it claims, and so is what it says of flags (`soundness`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import result_char
from lazyarr.fusion.rewrite import Body, Keeps, Replacement, Rewrite, Rule, Stage, Value

BITWISE, APPROX = Keeps.BITWISE, Keeps.APPROX


def _of_integers(types: Mapping[str, str]) -> bool:
    """They have no NaNs, which are neither less nor greater."""
    return PLAIN[types["x"]].kind in "iu"


def _exact(types: Mapping[str, str]) -> bool:
    """Does the inner cast lose nothing, and the outer one take all that it makes as it takes x?

    (From a float to an integer, values out of range are no rule's; to float16 NumPy goes through float32.)"""
    x, y, result = (PLAIN[types[name]] for name in ("x", "y", ""))
    if x.kind == "b":
        return True
    if y.kind in "iu":
        wider = y.itemsize > x.itemsize or (y.kind == x.kind and y.itemsize == x.itemsize)
        lossless = x.kind in "iu" and wider and (x.kind == "u" or y.kind == "i")
        return lossless and (result.kind in "iub" or y.itemsize <= 2)
    return x.kind == y.kind == "f" and y.itemsize >= x.itemsize and result.kind in "fc"


Divisions = dict[int, tuple[int, int]]
"""By the number of the quotient: dividend and divisor."""


def _shared_divisors(body: Body) -> Divisions | None:
    """Divisions of floats whose divisor divides something else, too."""
    found = {
        k: (inst.args[0], inst.args[1]) for k, inst in enumerate(body)
        if inst.op == "divide" and PLAIN[result_char(inst)].kind == "f"
    }
    by = Counter(divisor for _, divisor in found.values())
    return {k: parts for k, parts in found.items() if by[parts[1]] > 1} or None


def _reciprocals(found: Divisions) -> dict[int, Replacement]:
    return {k: ("multiply", Value(x), ("reciprocal", Value(y))) for k, (x, y) in found.items()}


RULES: tuple[Rule | Rewrite, ...] = (
    # one op for another
    Rule("deg2rad", ("deg2rad", "x"), ("radians", "x"), BITWISE, True,
         "two names of one function", stage=Stage.UNTYPED),
    Rule("rad2deg", ("rad2deg", "x"), ("degrees", "x"), BITWISE, True,
         "two names of one function", stage=Stage.UNTYPED),
    Rule("greater", ("greater", "x", "y"), ("less", "y", "x"), BITWISE, True,
         "the same question, asked from the other side: one kernel for both", stage=Stage.UNTYPED),
    Rule("greater-equal", ("greater_equal", "x", "y"), ("less_equal", "y", "x"), BITWISE, True,
         "the same question, asked from the other side: one kernel for both", stage=Stage.UNTYPED),
    # what is there already
    Rule("neg-neg", ("negative", ("negative", "x")), "x", BITWISE, True,
         "the sign flips twice; integers wrap twice", "iufc"),
    Rule("invert-invert", ("invert", ("invert", "x")), "x", BITWISE, True,
         "every bit flips twice", "biu"),
    Rule("not-not", ("logical_not", ("logical_not", "x")), "x", BITWISE, True,
         "of a bool; of other dtypes the result is a bool and differs", "b"),
    Rule("conj-conj", ("conjugate", ("conjugate", "x")), "x", BITWISE, True,
         "the imaginary sign flips twice; real numbers are their own conjugates", "iufc"),
    Rule("abs-abs", ("absolute", ("as", "y", ("absolute", "x"))), "y", BITWISE, True,
         "an absolute value is its own absolute value", "iuf"),
    Rule("positive", ("positive", "x"), "x", BITWISE, True,
         "unary plus copies", "iufc"),
    Rule("where-same", ("where", "c", "x", "x"), "x", BITWISE, True,
         "both choices are x"),
    Rule("and-same", ("bitwise_and", "x", "x"), "x", BITWISE, True,
         "idempotent", "biu"),
    Rule("or-same", ("bitwise_or", "x", "x"), "x", BITWISE, True,
         "idempotent", "biu"),
    Rule("logical-and-same", ("logical_and", "x", "x"), "x", BITWISE, True,
         "idempotent; of other dtypes the result is a bool", "b"),
    Rule("logical-or-same", ("logical_or", "x", "x"), "x", BITWISE, True,
         "idempotent; of other dtypes the result is a bool", "b"),
    Rule("maximum-same", ("maximum", "x", "x"), "x", BITWISE, True,
         "neither is greater; of a NaN it is that"),
    Rule("minimum-same", ("minimum", "x", "x"), "x", BITWISE, True,
         "neither is less; of a NaN it is that"),
    Rule("fmax-same", ("fmax", "x", "x"), "x", BITWISE, True,
         "neither is greater; of two NaNs it is one"),
    Rule("fmin-same", ("fmin", "x", "x"), "x", BITWISE, True,
         "neither is less; of two NaNs it is one"),
    Rule("clip-clip", ("clip", ("as", "y", ("clip", "x", "a", "b")), "a", "b"), "y", BITWISE, True,
         "what is between the bounds stays, a bound too, where they are the wrong way round; complex numbers "
         "have NaNs that order goes by", "iuf"),
    Rule("sign-sign", ("sign", ("as", "y", ("sign", "x"))), "y", BITWISE, True,
         "-1, 0, 1 and NaN are their own signs", "iuf"),
    Rule("floor-floor", ("floor", ("as", "y", ("floor", "x"))), "y", BITWISE, True,
         "already integral", "f"),
    Rule("ceil-ceil", ("ceil", ("as", "y", ("ceil", "x"))), "y", BITWISE, True,
         "already integral", "f"),
    Rule("trunc-trunc", ("trunc", ("as", "y", ("trunc", "x"))), "y", BITWISE, True,
         "already integral", "f"),
    Rule("rint-rint", ("rint", ("as", "y", ("rint", "x"))), "y", BITWISE, True,
         "already integral", "f"),
    # signs
    Rule("add-negative", ("add", "x", ("negative", "y")), ("subtract", "x", "y"), BITWISE, True,
         "IEEE 754 defines x - y as x + (-y)", "iufc"),
    Rule("negative-add", ("add", ("negative", "x"), "y"), ("subtract", "y", "x"), BITWISE, True,
         "the same, with operands swapped", "iufc"),
    Rule("subtract-negative", ("subtract", "x", ("negative", "y")), ("add", "x", "y"), BITWISE, True,
         "the sign flips twice", "iufc"),
    Rule("multiply-negatives", ("multiply", ("negative", "x"), ("negative", "y")), ("multiply", "x", "y"),
         BITWISE, True, "the sign of a product is that of its factors", "iuf"),
    Rule("abs-negative", ("absolute", ("negative", "x")), ("absolute", "x"), BITWISE, True,
         "the sign goes", "if"),
    Rule("square-negative", ("square", ("negative", "x")), ("square", "x"), BITWISE, True,
         "the sign goes", "iuf"),
    Rule("square-abs", ("square", ("absolute", "x")), ("square", "x"), BITWISE, True,
         "the sign goes", "iuf"),
    # truth
    Rule("not-equal", ("logical_not", ("equal", "x", "y")), ("not_equal", "x", "y"), BITWISE, True,
         "also of NaNs", "b"),
    Rule("not-unequal", ("logical_not", ("not_equal", "x", "y")), ("equal", "x", "y"), BITWISE, True,
         "also of NaNs", "b"),
    Rule("not-less", ("logical_not", ("less", "x", "y")), ("less_equal", "y", "x"), BITWISE, True,
         "integers are ordered", "b", _of_integers),
    Rule("not-less-equal", ("logical_not", ("less_equal", "x", "y")), ("less", "y", "x"), BITWISE, True,
         "integers are ordered", "b", _of_integers),
    Rule("invert-equal", ("invert", ("equal", "x", "y")), ("not_equal", "x", "y"), BITWISE, True,
         "to invert a bool is to negate it", "b"),
    Rule("invert-unequal", ("invert", ("not_equal", "x", "y")), ("equal", "x", "y"), BITWISE, True,
         "to invert a bool is to negate it", "b"),
    Rule("invert-less", ("invert", ("less", "x", "y")), ("less_equal", "y", "x"), BITWISE, True,
         "integers are ordered", "b", _of_integers),
    Rule("invert-less-equal", ("invert", ("less_equal", "x", "y")), ("less", "y", "x"), BITWISE, True,
         "integers are ordered", "b", _of_integers),
    Rule("where-not", ("where", ("logical_not", "c"), "x", "y"), ("where", "c", "y", "x"), BITWISE, True,
         "of a bool: the choices change places"),
    Rule("where-invert", ("where", ("invert", "c"), "x", "y"), ("where", "c", "y", "x"), BITWISE, True,
         "the choices change places"),
    # casts
    Rule("cast-back", ("cast", ("as", "y", ("cast", "x"))), "x", BITWISE, True,
         "there and back, and the way there loses nothing", when=_exact),
    Rule("cast-cast", ("cast", ("as", "y", ("cast", "x"))), ("cast", "x"), BITWISE, True,
         "the first cast loses nothing", when=_exact),
    # roundings
    Rule("divide-constant", ("divide", "x", ("constant", "c")), ("multiply", "x", ("reciprocal", "c")),
         APPROX, False, "one division for all elements", "f"),
    Rewrite("shared-divisor", _shared_divisors, _reciprocals, APPROX, False,
            "one division for all that is divided by a value", ("multiply", "reciprocal"),
            ((("divide", "x", "z"), ("divide", "y", "z")),)),
)  # fmt: skip
