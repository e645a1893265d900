"""What is imported when it is first called does then what it would have done all along."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import numpy
import pytest
from children import output

import lazyarr
from lazyarr import functions, methods, namespace
from lazyarr.late import Late, late, settled
from lazyarr.nan_folds import STEPS

PACKAGE = Path(lazyarr.__file__).parent


def calls_of_late():
    """Modules, and what they put into their globals by `late(globals(), module="names")`."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "late(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "late":
                for keyword in node.keywords:
                    if isinstance(keyword.value, ast.Constant):
                        yield path.name, keyword.arg, keyword.value.value


@pytest.mark.parametrize(("where", "module", "names"), sorted(calls_of_late()))
def test_names_exist(where, module, names):
    found = importlib.import_module(f"lazyarr.{module}")
    for name in names.split():
        assert callable(getattr(found, name.partition("=")[0])), where


@pytest.mark.parametrize("rules", [functions.RULES, methods.RULES])
def test_rules_exist(rules):
    assert all(callable(settled(rule)) for rule in rules.values())


def test_nan_folds_are_those_that_have_steps():
    assert {*functions.NAN_FOLDS.split()} == {*STEPS}


def test_every_function_has_its_rule():
    for names, _ in functions.ROWS:
        for name, fn in functions.named(names):
            rule = namespace.OVERRIDES[fn]
            assert callable(rule) and rule is namespace.rule_of(fn), name
            code = getattr(fn, "_implementation", fn)
            assert code is fn or namespace.rule_of(code) is rule, name


def test_a_function_takes_the_place_of_what_stood_for_it():
    space = {}
    late(space, geometry="fresh=made")
    assert space["made"].__class__ is Late
    assert space["made"]((2,), numpy.dtype("f8")).shape == (2,)
    assert space["made"] is importlib.import_module("lazyarr.geometry").fresh


def test_names_that_somebody_replaced_stay():
    space = {}
    late(space, geometry="fresh")
    first, space["fresh"] = space["fresh"], None
    assert callable(first.found()) and space["fresh"] is None


def test_few_functions_run_at_import():
    source = """
        import sys, numpy
        calls = 0
        def hear(frame, event, arg):
            global calls
            calls += event == "call" and frame.f_globals.get("__name__", "").startswith("lazyarr")
        sys.setprofile(hear)
        import lazyarr
        sys.setprofile(None)
        print(calls)
    """
    assert int(output(source)) < 2100


def test_slots_import_no_module_of_numpy():
    source = """
        import sys, lazyarr
        lazyarr.slots.attach()
        print("numpy.fft" in sys.modules)
        x = lazyarr.arange(8.0)
        assert abs(lazyarr.fft.fft(x)[0] - 28) < 1e-12
    """
    assert output(source, LAZYARR_JIT="auto").strip() == "False"
