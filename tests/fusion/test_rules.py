"""Every rewrite rule, from the table, against NumPy on values that break careless algebra."""

import numpy
import pytest

from lazyarr.fusion.interpret import run_parfor
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.fusion.rewrite import Keeps, Rule, match, register_rewrite, simplify, unregister_rewrite
from lazyarr.fusion.rules import RULES
from lazyarr.ops import function

KINDS = {"b": "?", "i": "bhil", "u": "BHIL", "f": "efd", "c": "FD"}


def hard_values(char):
    dt = numpy.dtype(char)
    if dt.kind == "b":
        return numpy.array([False, True])
    if dt.kind in "iu":
        info = numpy.iinfo(dt)
        return numpy.array([info.min, info.max, 0, 1, info.max // 2, info.min // 2], dt)
    tiny = numpy.finfo(dt).smallest_subnormal
    real = numpy.array(
        [0.0, -0.0, 1.5, -1.5, 2.5, numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, tiny, -tiny,
         numpy.finfo(dt).max], dt
    )
    if dt.kind == "f":
        return real
    return numpy.add.outer(real, 1j * real).ravel().astype(dt)


def expression(pattern, char, body, names):
    """Append the pattern's instructions to `body`; return the value number, or None if NumPy has
    no such loop for the dtype."""
    if isinstance(pattern, str):
        return names[pattern]
    if pattern[0] == "as":
        names[pattern[1]] = number = expression(pattern[2], char, body, names)
        return number
    args = tuple(expression(p, char, body, names) for p in pattern[1:])
    if None in args:
        return None
    if pattern[0] == "where":
        sig = f"?{char}{char}->{char}"
    else:
        sig = f"{char * len(args)}->{char}"
        try:
            if function(pattern[0]).resolve_dtypes((*[numpy.dtype(char)] * len(args), None))[-1].char != char:
                return None
        except TypeError:
            return None
    body.append(Inst(pattern[0], sig, args, 0))
    return len(body) - 1


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_keeps_bits(rule):
    checked = 0
    for kind in rule.kinds:
        for char in KINDS[kind]:
            x = hard_values(char)
            c = numpy.arange(x.size) % 2 == 0
            names = {"x": 0, "c": 1}
            body = [Inst("load", char, (), 0), Inst("load", "?", (), 1)]
            number = expression(rule.pattern, char, body, names)
            if number is None:
                continue
            want, got = numpy.empty_like(x), numpy.empty_like(x)
            root = body[-1]
            found = simplify(root, body[:-1])
            assert found is not None, "the rule does not match its own pattern"
            for result, out in ((number, want), (found, got)):
                program = (*body, Inst("store", char, (result,), 2))
                operands = (Operand(char, "u"), Operand("?", "u"), Operand(char, "u", "out"))
                with numpy.errstate(all="ignore"):
                    run_parfor(Parfor("p", operands, "", program), [x, c, out], [])
            ok = want.tobytes() == got.tobytes() if rule.keeps == Keeps.BITWISE else numpy.array_equal(
                want, got, equal_nan=kind in "fc")
            assert ok, (rule.name, char, want, got)
            checked += 1
    assert checked


def test_same_name_binds_one_value():
    body = [Inst("load", "d", (), 0), Inst("load", "d", (), 1)]
    pattern = ("where", "c", "x", "x")
    assert match(pattern, Inst("where", "?dd->d", (0, 1, 1), 0), body) == {"c": 0, "x": 1}
    assert match(pattern, Inst("where", "?dd->d", (0, 1, 0), 0), body) is None


def test_weaker_rules_do_not_run_by_default():
    rule = register_rewrite(Rule("self-difference", ("subtract", "x", "x"), "x", Keeps.APPROX, True, "a lie"))
    try:
        inst = Inst("subtract", "dd->d", (0, 0), 0)
        assert simplify(inst, [Inst("load", "d", (), 0)]) is None
        assert simplify(inst, [Inst("load", "d", (), 0)], Keeps.APPROX) == 0
    finally:
        unregister_rewrite(rule)
