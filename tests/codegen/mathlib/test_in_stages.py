"""Instructions in stages: each after what it takes, none longer than its part of the whole; loops of them."""

from __future__ import annotations

import numpy
import pytest

pytest.importorskip("mpmath")
import ulp_functions

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.mathlib.functions import FUNCTIONS
from lazyarr.codegen.mathlib.in_stages import Stages, parsed, staged
from lazyarr.codegen.mathlib.lanes import Lanes, Real
from lazyarr.dispatch.levels import BY_NAME, host_levels

V4 = BY_NAME["X86_V4"].target
FLOWING = [(name, char) for name, rows in FUNCTIONS.items() for char, row in rows.items() if row.flow]
BEST = host_levels()[-1].target
pytestmark = pytest.mark.usefixtures("quiet")


def written(name, char):
    """The instructions of a function, and its results."""
    function = FUNCTIONS[name][char]
    b = Builder(V4, 64 // function.precision.size)
    on = Lanes(b, function.precision, function.fused)
    y, special = function.fast(on, *(Real(on, f"%x{k}") for k in range(function.operands)))
    return b.lines, [y.name, *([special.name] if special else [])]


@pytest.mark.parametrize("name, char", FLOWING, ids="-".join)
def test_every_instruction_is_in_one_stage_behind_what_it_takes(name, char):
    lines, results = written(name, char)
    plan = FUNCTIONS[name][char].flow
    made, count = staged(lines, results, plan), plan.number
    stage = {step.name: k for k, steps in enumerate(made.steps) for step in steps}
    found = [step.text for steps in made.steps for step in steps]
    assert sorted(found) == sorted(step.text for step in parsed(lines))
    for k, steps in enumerate(made.steps):
        seen = set()
        for step in steps:
            here = [x for x in step.operands if stage.get(x) == k]
            assert set(here) <= seen and all(stage.get(x, 0) <= k for x in step.operands)
            seen.add(step.name)
            for x in step.operands:
                kept = range(stage.get(x, k), k)
                assert all(any(x == other.name for other in made.kept[before]) for before in kept)
    assert all(made.steps)
    kept = [{step.name for step in steps} for steps in made.kept]
    assert all(name in kept[k] for name in results for k in range(stage[name], count - 1))


@pytest.mark.parametrize("first, before", [(20, 2), (30, 3), (40, 4)])
def test_the_first_stage_has_so_much_of_the_longest_chain(first, before):
    chain = [f"  %{k} = and <16 x i32> %{k - 1}, %{k - 1}" for k in range(1, 10)]
    lines = ["  %0 = and <16 x i32> %x0, %x0", *chain]
    assert len(staged(lines, ["%9"], Stages(4, 2, first)).steps[0]) == before


def test_what_is_taken_late_is_computed_late_beside_a_long_chain():
    """The last stage is longer than its share; a mask is not kept from before, all the same."""
    lines = [
        "  %0 = fmul <16 x float> %x0, %x0",
        "  %1 = fadd <16 x float> %0, %x0",
        "  %2 = fmul <16 x float> %1, %x0",
        "  %3 = fdiv <16 x float> %2, %1",
        "  %4 = fdiv <16 x float> %3, %0",
        "  %5 = fcmp olt <16 x float> %x0, %x0",
    ]
    made = staged(lines, ["%4", "%5"], Stages(2, 4))
    assert any(step.name == "%5" for step in made.steps[-1])


def test_types_of_results():
    lines = [
        "  %0 = fcmp olt <8 x double> %x0, %x1",
        "  %1 = select <8 x i1> %0, <8 x double> %x0, <8 x double> %x1",
        "  %2 = bitcast <8 x double> %1 to <8 x i64>",
        "  %3 = call <8 x double> @llvm.fma.v8f64(<8 x double> %1, <8 x double> %1, <8 x double> %1)",
        "  %4 = shufflevector <8 x double> %3, <8 x double> poison, <2 x i32> <i32 0, i32 1>",
        "  %5 = extractelement <8 x i64> %2, i64 3",
        "  %6 = getelementptr double, ptr @table, i64 %5",
        "  %7 = load <2 x double>, ptr %6, align 16",
        "  %8 = load double, ptr %6, align 8",
        "  %9 = trunc <8 x i64> %2 to <8 x i32>",
    ]
    eight, two = "<8 x double>", "<2 x double>"
    wanted = ["<8 x i1>", eight, "<8 x i64>", eight, two, "i64", "ptr", two, "double", "<8 x i32>"]
    assert [step.type for step in parsed(lines)] == wanted


@pytest.mark.skipif(BEST.vector_bytes < 64, reason="no AVX-512")
@pytest.mark.parametrize("name, char", FLOWING, ids="-".join)
def test_rows_of_all_lengths_have_the_bits_of_single_elements(name, char):
    """In place as well, and with scalars: what overlaps does not meet."""
    ours, nin = ulp_functions.call(name, char, BEST), FUNCTIONS[name][char].operands
    low, high = ulp_functions.usual_range(name, char)
    rng = numpy.random.default_rng(5)
    xs = [rng.uniform(low, high, 900).astype(char) for _ in range(nin)]
    xs[0][::53] = rng.choice(numpy.array([numpy.nan, numpy.inf, -0.0, 1e-40, 3e38], char), len(xs[0][::53]))
    alone = numpy.concatenate([ours(*(x[k : k + 1] for x in xs)) for k in range(900)])
    for n in (63, 64, 127, 128, 129, 255, 256, 257, 511, 900):
        assert ours(*(x[:n] for x in xs)).tobytes() == alone[:n].tobytes()
        again = [x[:n].copy() for x in xs]
        assert ours(*again, out=again[-1]).tobytes() == alone[:n].tobytes()
    if nin == 2:
        for k in (0, 1):
            few = [numpy.broadcast_to(x[7:8], x.shape) if k == side else x for side, x in enumerate(xs)]
            alone = numpy.concatenate([ours(*(numpy.array(x[j : j + 1]) for x in few)) for j in range(900)])
            assert ours(*few).tobytes() == alone.tobytes()
