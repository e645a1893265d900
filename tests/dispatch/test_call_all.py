"""All CPU levels of the host give the same bits; a difference is found and named."""

from __future__ import annotations

import numpy
import pytest
from level_programs import CASES, PROGRAMS, inputs

import lazyarr
import lazyarr.special
from lazyarr.codegen.mathlib.functions import FUNCTIONS
from lazyarr.counters import COUNT
from lazyarr.debug import LevelsDiffer, call_all
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import selection

pytestmark = pytest.mark.skipif(
    not jit.available() or len(selection().usable) < 2, reason="the host has no two levels"
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "char"), CASES)
def test_levels_give_the_same_bits(name, char):
    fn = PROGRAMS[name][0]
    before = COUNT.native_launches
    found = call_all(fn, *inputs(char))
    assert COUNT.native_launches - before >= len(selection().usable)
    with lazyarr.options(jit="never"):
        numpys = fn(*inputs(char))
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, numpys)), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name, rows in FUNCTIONS.items() if "e" in rows])
def test_our_own_functions_of_float16_give_the_same_bits(name):
    """All numbers, in kernels of every level: also of those that convert none themselves."""
    fn = getattr(lazyarr, name, None) or getattr(lazyarr.special, name)
    x = lazyarr.asarray(numpy.arange(1 << 16, dtype="u2").view("e"))
    others = [x[::-1]] * (FUNCTIONS[name]["e"].operands - 1)
    before = COUNT.native_launches
    with lazyarr.options(math="native"):
        found = numpy.asarray(call_all(fn, x, *others))
        assert COUNT.native_launches - before >= len(selection().usable)
        with lazyarr.options(jit="always"):
            here = numpy.asarray(fn(x, *others))
    numpy.testing.assert_array_equal(found, here)


def level() -> int:
    return selection().usable.index(lazyarr.get_options()["cpu_level"])


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (lambda x: x + (level() == 1), r"element \(0, 0\) is .* with .*, .* with"),
        (lambda x: [x, x[: 3 + level()]], r"result 1: float64 of shape \(3, 4\)"),
        (lambda x: [x] * (1 + level()), "1 results with .*, 2 with"),
        (lambda x: numpy.copysign(0.0 * x, -1.0 if level() else 1.0), r"result 0: element \(0, 0\)"),
    ],
)
def test_a_difference_is_named(fn, why):
    with pytest.raises(LevelsDiffer, match=why):
        call_all(fn, lazyarr.ones((9, 4)))


def test_nans_are_nans_and_arguments_are_copies():
    def fn(x):
        x += 1
        return numpy.copysign(numpy.asarray(x) * numpy.nan, -1.0 if level() else 1.0), x

    x = lazyarr.zeros(5)
    assert call_all(fn, x)[1].tolist() == [1.0] * 5 and x.tolist() == [0.0] * 5
    assert call_all(lambda x: x * 2, x, levels=selection().usable[:1]).tolist() == [0.0] * 5
