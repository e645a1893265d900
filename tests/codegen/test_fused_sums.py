"""Sums that units for products compute: which, where, and with the bits of sums."""

from __future__ import annotations

import re

import numpy
import pytest

import lazyarr as np
from lazyarr.codegen.compress_keep import keep_kernels
from lazyarr.codegen.fused_sums import chosen
from lazyarr.codegen.loopir import Apply
from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.codegen.sum_leaves import OCTET
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Shift
from lazyarr.kernels import TIERS
from lazyarr.tuning import TABLE


def body(*ops: str, char: str = "d") -> list[Apply]:
    return [Apply((k + 2,), op, f"{char}{char}->{char}", (0, 1)) for k, op in enumerate(ops)]


@pytest.mark.parametrize("char", "df")
@pytest.mark.parametrize(
    ("ops", "places"),
    [
        (["add"] * 3 + ["multiply"], {0}),                                              # Jacobi
        (["multiply", "add", "add", "add", "subtract", "multiply", "add"], {1, 3}),     # heat
        (["add"], {0}),
        (["add"] * 8 + ["multiply"], {0, 2, 4, 6}),
        (["add", "multiply"], set()),
        (["multiply"] * 3, set()),
        ([], set()),
    ],
)  # fmt: skip
def test_as_many_as_leave_the_units_the_same_work(ops, places, char):
    found = chosen(body(*ops, char=char))
    assert {*found} == places
    assert {*found.values()} <= {char}


@pytest.mark.parametrize("char", ["q", "e", "D"])
def test_only_real_numbers_of_whole_units(char):
    assert not chosen(body("add", "add", "add", char=char))


def stencil(op: str) -> Parfor:
    """Three sums of four neighbours."""
    loads = [Inst("load", "d", (), k) for k in (1, 2, 3, 4)]
    sums = [Inst(op, "dd->d", args, 0) for args in ((0, 1), (4, 2), (5, 3))]
    operands = (Operand("d", "u", "out"), *[Operand("d", "u")] * 4)
    shifts = (Shift(0, 0, 0), Shift(1, 0, 0), Shift(1, 2, 0), Shift(1, 1, -1), Shift(1, 1, 1))
    return Parfor("pp", operands, "", (*loads, *sums, Inst("store", "d", (6,), 0)), shifts)


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("op", ["add", "subtract"])
@pytest.mark.parametrize("level", ["X86_V2", "X86_V3", "X86_V4"])
def test_in_rows_side_by_side_of_one_level(level, op, hot):
    target = BY_NAME[level].target
    text = jit.assembly(compile_parfor(stencil(op), target, hot=hot).ir, target, TIERS[1 + hot])
    assert (("vfmadd" if op == "add" else "vfmsub") in text) == (hot and level == "X86_V3")
    assert "vxorp" not in text or op == "add"       # (no change of a sign by itself)


@pytest.mark.parametrize("row", TABLE)
def test_in_sums_that_may_be_leaves(row, monkeypatch):
    """Half of the chains, where units for products have nothing to do with sums."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: row)
    found = keep_kernels(BY_NAME[row.partition(" ")[0]].target)
    products, sums = (len(re.findall(rf"= {op} <\d+ x double> ", found)) for op in ("call", "fadd"))
    neighbours = OCTET - 1                      # (sums of them, for leaves of either length)
    assert products == (sums - 2 * neighbours if TABLE[row].fused_folds else 0)


SPECIAL = numpy.array([0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, 1.7e308, -1.7e308, 5e-324, 2.3e-308, 0.1])


def nans(count: int) -> numpy.ndarray:
    """Not numbers, each another one, of both signs, quiet ones and others."""
    bits = numpy.arange(1, count + 1, dtype="u8") | numpy.uint64(0x7FF0 << 48)
    bits[::2] |= numpy.uint64(0x8008 << 48)
    return bits.view("f8")


def data(shape: tuple[int, int], dtype: str) -> numpy.ndarray:
    rng = numpy.random.default_rng(shape[1])
    found = rng.choice(SPECIAL, shape)
    some = rng.random(shape) < 0.1
    found[some] = nans(some.sum())
    with numpy.errstate(all="ignore"):
        return found.astype(dtype)


def five(np, u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def heat(np, u):
    return u[1:-1, 1:-1] + 0.1 * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    )


def differences(np, u):
    return u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("program", [five, heat, differences])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_bits_of_all_numbers(dtype, program, tier):
    x = data((37, 517), dtype)
    with np.options(jit="always", tier=tier, verify=True), np.errstate(all="ignore"):
        got = numpy.asarray(program(np, np.array(x)))
    with numpy.errstate(all="ignore"):
        expected = program(numpy, x)
    assert numpy.isnan(got).tobytes() == numpy.isnan(expected).tobytes()    # (which NaN it is, nobody says)
    got, expected = (numpy.where(numpy.isnan(x), x.dtype.type(0), x) for x in (got, expected))
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("flag", ["over", "invalid", "under"])
def test_flags_of_sums(flag, tier):
    """A sum is exact where it is subnormal: `under` is what no sum raises."""
    x = numpy.ones((20, 200))
    value = {"over": 1.7e308, "invalid": numpy.inf, "under": 5e-324}[flag]
    x[9, 100], x[11, 100] = value, -value if flag == "invalid" else value

    def sums(np):
        with np.errstate(**{flag: "raise"}):
            u = np.array(x)
            return numpy.asarray(u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2])

    with np.options(jit="always", tier=tier):
        if flag == "under":
            assert sums(np).tobytes() == sums(numpy).tobytes()
            return
        for module in (numpy, np):
            with pytest.raises(FloatingPointError):
                sums(module)
