"""Functions that neither stop nor loop run on eight elements at a time, with the results and flags of one."""

from __future__ import annotations

import random

import numpy
import pytest
from scalar.conftest import check, special

import lazyarr
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.op_targets import OPTIMISED
from lazyarr.scalar.emit import emit
from lazyarr.scalar.emit_lanes import lanes
from lazyarr.scalar.results import typed
from lazyarr.scalar.translate import translate

FORMS = [
    "({} + {})", "({} - {})", "({} * {})", "({} / 4.0)", "(-{})", "abs({})", "max({}, {})", "min({}, {})",
    "({} if {} < {} else {})", "({} if {} == {} else {})", "({} and {})", "({} or {})", "float(not {})",
    "(1.0 if 0.5 <= {} <= 2 else {})", "float({} > {})",
    "(3.0 if math.isnan({}) else {})", "float(int({} != {}) & 1)",
]  # fmt: skip


def expression(r: random.Random, depth: int) -> str:
    if not depth or r.random() < 0.1:
        return r.choice(["x", "y", "x", "y", str(round(r.uniform(-3, 3), 2))])
    form = r.choice(FORMS)
    return form.format(*[expression(r, depth - 1) for _ in range(form.count("{}"))])


def program(seed: int):
    r = random.Random(seed)
    a, b, c = (expression(r, 3) for _ in range(3))
    names: dict = {}
    source = f"import math\ndef f(x, y):\n    z = {a}\n    if z > y:\n        x = {b}\n    return {c}\n"
    exec(source, names)
    return names["f"]


CALM = numpy.linspace(-2, 2, 21)
COLUMNS = {
    "calm": (CALM, CALM[::-1].copy()),
    "flags": (numpy.resize(special("d"), 83), special("d")[::-1].repeat(4)[:83]),
    "strided": (CALM[::2], numpy.linspace(0, 3, 11)[::-1]),
    "one for all": (CALM, 1.5),
    "few": (CALM[:5], CALM[5:10]),
    "bools": (CALM, CALM > 0.3),
    "a whole number of lanes": (CALM[:16], CALM[4:20]),
}


@pytest.mark.parametrize("data", COLUMNS)
@pytest.mark.parametrize("chunk", range(4))
def test_random_functions(chunk, data):
    for seed in range(chunk * 8, chunk * 8 + 8):
        assert check(program(seed), *COLUMNS[data]).refusal is None


def wide(f, given="ff", out="d") -> bool:
    function = typed(translate(f, dict(zip("xy", given, strict=False))).function, out)
    return lanes(function, "d" * len(given)) is not None


def test_which_functions_have_lanes():
    assert sum(wide(program(seed)) for seed in range(32)) > 25
    assert wide(lambda x: x * x if x < 1 else 2 - x, "f")
    assert not wide(lambda x: 1 / x, "f")
    assert not wide(lambda x: x + 1, "i", "l")


@pytest.mark.parametrize("level", host_levels(), ids=lambda level: level.target.name)
def test_every_level(level):
    x = numpy.resize(CALM, 1000)
    f = program(3)
    wanted = numpy.vectorize(f, otypes="d")(x, x + 1)
    with lazyarr.options(cpu_level=level.target.name):
        found = lazyarr.vectorize(f, otypes="d")(lazyarr.asarray(x) * 1.0, lazyarr.asarray(x) + 1)
        assert numpy.asarray(found).tobytes() == wanted.tobytes()
    text = emit(typed(translate(f, {"x": "f", "y": "f"}).function, "d"), "dd")
    assert jit.compile_object(text.ir, level.target, OPTIMISED)


def test_a_value_that_nobody_uses_still_raises_its_flag():
    def f(x, y):
        z = x * x
        if z > y:
            z = y
        return y

    check(f, numpy.full(20, 1e200), numpy.full(20, 1.0))
