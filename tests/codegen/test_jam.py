"""Rows of stencils side by side: what they share is loaded once, and the bits are those of one row alone."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

import lazyarr as np
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.jam import Reads, across
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.pipeline import compile_parfor, results
from lazyarr.codegen.verify import verify_kernel
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Shift
from lazyarr.fusion.program import Program
from lazyarr.kernels import kernel_for
from lazyarr.launch import prepare, run_prepared
from lazyarr.tuning import tuning

V4 = BY_NAME["X86_V4"].target
LEVELS = ["X86_V2", "X86_V3", "X86_V4", "AVX512_ICL"]


def five_points(char: str = "d") -> Parfor:
    """The sum of the four neighbours."""
    loads = [Inst("load", char, (), k) for k in (1, 2, 3, 4)]
    sums = [Inst("add", f"{char}{char}->{char}", args, 0) for args in ((0, 1), (4, 2), (5, 3))]
    operands = (Operand(char, "u", "out"), *[Operand(char, "u")] * 4)
    shifts = (Shift(0, 0, 0), Shift(1, 0, 0), Shift(1, 2, 0), Shift(1, 1, -1), Shift(1, 1, 1))
    return Parfor("pp", operands, "", (*loads, *sums, Inst("store", char, (6,), 0)), shifts)


def jammed(parfor: Parfor, level: str = "X86_V4") -> Kernel:
    kernel: Kernel = results(parfor, BY_NAME[level].target, hot=True, verify=True)["jam"]
    return kernel


def around(np, x):
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


def corners(np, x):
    return (x[:-2, :-2] - x[2:, 2:]) * x[1:-1, 1:-1] + x[:-2, 2:] - x[2:, :-2]


def far(np, x):
    return x[:-3, 6:] + x[3:, :-6] - x[1:-2, 3:-3]


def one_side(np, x):
    return x[1:, 1:] + x[:-1, :-1] * x[1:, :-1]


def of_rows(np, x):
    """Each row has a factor of its own."""
    return (x[2:, 1:] - x[:-2, :-1]) * x[1:-1, :1]


def two_arrays(np, x):
    y = x[::-1]
    return x[:-2] + x[2:] - y[:-2] + y[1:-1]


def deep(np, x):
    x = x.reshape(-1, 5, x.shape[1])
    return x[:, :-2, 1:-1] + x[:, 2:, 1:-1] + x[:, 1:-1, :-2] - x[:, 1:-1, 2:]


PROGRAMS = {f.__name__: f for f in (around, corners, far, one_side, of_rows, two_arrays, deep)}


def data(shape: tuple[int, int], dtype: str) -> numpy.ndarray:
    rng = numpy.random.default_rng(shape[1])
    return (rng.random(shape) * 200 - 100).astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "c16", "c8"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shape", [(20, 130), (25, 515), (10, 1000), (45, 1001), (5, 97)])
def test_bits(program, dtype, shape):
    x = data(shape, dtype)
    with np.options(jit="always", tier="2", verify=True), np.errstate(all="ignore"):
        got = numpy.asarray(PROGRAMS[program](np, np.array(x)))
    with numpy.errstate(all="ignore"):
        expected = PROGRAMS[program](numpy, x)
    assert got.dtype == expected.dtype
    assert got.tobytes() == numpy.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sweeps(threads):
    x = data((203, 301), "f8")

    def sweep(np, u):
        for _ in range(5):
            u[1:-1, 1:-1] = 0.25 * around(np, u)
            u[0] = u[1]
        return u

    with np.options(jit="always", tier="2", verify=True, num_threads=threads):
        got = numpy.asarray(sweep(np, np.array(x)))
    assert got.tobytes() == sweep(numpy, x.copy()).tobytes()


LOADED = {
    "X86_V2": (4, 0, 0, ""),
    "X86_V3": (2, 2, 2, "vshufpd"),
    "X86_V4": (1, 2, 2, "valignq"),
    "AVX512_ICL": (1, 2, 2, "valignq"),
}
"""By level: vectors that are loaded for each of the rows side by side, and besides; shuffles for each row, by
which instruction."""


@pytest.mark.parametrize("level", LEVELS)
def test_a_row_is_loaded_once(level):
    """Four rows for two, or six for four; beside the results by shuffles, of registers or of their halves."""
    target = BY_NAME[level].target
    jams = jammed(five_points(), level).jams
    each, more, shuffles, instruction = LOADED[level]
    assert [jam.rows for jam in jams] == [rows for rows in (4, 2) if rows <= tuning(level).beside]
    text = compile_parfor(five_points(), target, hot=True).ir
    loops = text.split("\nwhole" if shuffles else "\nplain")[1:]
    lanes = target.vector_bytes // 8
    for jam, loop in zip(jams, loops, strict=True):
        assert len(jam.across) == (jam.rows if shuffles else 0)
        loop = loop[: loop.index("\n  br ")]
        assert loop.count(f"load <{lanes} x double>") == each * jam.rows + more
        assert loop.count(f"shufflevector <{lanes} x i64>") == shuffles * jam.rows
    if shuffles:
        assembly = jit.assembly(text, target, 2)
        assert assembly.count(instruction) == sum(shuffles * jam.rows for jam in jams)
        assert not set(BETTER_NOT).intersection(assembly.split())


BETTER_NOT = "vpermt2pd", "vpermt2q", "vperm2f128", "vperm2i128"


def test_vectors_that_are_loaded_whole():
    """By what is read of a row: which vectors, and how many pass on; none where that saves no load."""

    def whole(elements, char, lanes, pace):
        found = across(Reads(frozenset(elements), min(elements), max(elements)), char, lanes, pace)
        return found and (found.first, found.last, len(found.held))

    assert whole({-1, 0, 1}, "d", 8, 64) == (-1, 1, 2) and whole({0, 1}, "d", 8, 64) == (0, 1, 1)
    assert whole({-1, 0, 1}, "d", 4, 16) == (-1, 1, 1) and whole({-1, 0, 1}, "f", 8, 16) == (-1, 1, 1)
    assert whole({-2, -1, 0, 1, 2}, "d", 4, 16) == (-1, 1, 1) and whole({-5, 0, 5}, "d", 4, 16) is None
    assert whole({0, 1}, "d", 4, 16) is None and whole({0}, "d", 8, 64) is None
    assert whole({-1, 0, 1}, "h", 16, 16) is None and whole({-1, 0, 1}, "f", 4, 16) is None


def test_only_hot_kernels_have_more_code():
    parfor = five_points()
    cold, hot = compile_parfor(parfor, V4), compile_parfor(parfor, V4, hot=True)
    assert cold.ir == compile_parfor(parfor._replace(shifts=()), V4).ir
    assert len(hot.ir) > 2 * len(cold.ir)
    off = V4._replace(off=("jam",))
    assert results(parfor, off, hot=True)["jam"].jams == ()


def test_registers_are_not_exceeded():
    rows = {level: jammed(five_points(), level).jams for level in LEVELS}
    assert all(jams[0].rows == tuning(level).beside for level, jams in rows.items())
    operands = (Operand("d", "u", "out"), *[Operand("d", "u")] * 25)
    shifts = (Shift(0, 0, 0), *[Shift(1, row, element) for row in range(5) for element in range(5)])
    loads = [Inst("load", "d", (), k) for k in range(1, 26)]
    sums = [Inst("add", "dd->d", (23 + k if k > 1 else 0, k), 0) for k in range(1, 25)]
    square = Parfor("pp", operands, "", (*loads, *sums, Inst("store", "d", (48,), 0)), shifts)
    few, many = jammed(square, "X86_V3").jams, jammed(square, "X86_V4").jams
    assert few == () and many[0].rows == tuning("X86_V4").beside


def test_operands_that_are_others_than_was_said():
    """Equal parfors share a kernel, whatever their addresses are: these are compared."""
    rng = numpy.random.default_rng(0)
    arrays = [rng.random((20, 200)) for _ in range(4)]
    out = numpy.zeros((20, 200))
    strides = ((1600, 8),) * 5
    program = Program(five_points(), Loops((20, 200), strides, (0,) * 5), (0,) * 5, 0, ((),) * 5)
    with np.options(jit="always", tier="2"):
        assert kernel_for(program.parfor).heat.tier == 2
        prepared = prepare(program, False, 1)
        run_prepared(prepared, [x.ctypes.data for x in (out, *arrays)], [])
    assert out.tobytes() == (((arrays[0] + arrays[1]) + arrays[2]) + arrays[3]).tobytes()


BREAKS = {
    "before": lambda jam: replace(jam, begin=jam.begin - 1),
    "behind": lambda jam: replace(jam, end=jam.end + 1),
    "another row": lambda jam: replace(jam, across=((1, 9, 0, 1),)),
    "one row": lambda jam: replace(jam, rows=1),
}


@pytest.mark.parametrize("how", BREAKS)
def test_the_verifier_finds(how):
    kernel = jammed(five_points())
    verify_kernel(kernel, "jam")
    with pytest.raises(InvalidKernel):
        verify_kernel(replace(kernel, jams=(*kernel.jams, BREAKS[how](kernel.jams[0]))), "jam")


def test_the_verifier_finds_operands_that_are_no_others():
    kernel = jammed(five_points())
    shifts = (Shift(0, 0, 0), Shift(0, 0, 0), *kernel.shifts[2:])
    with pytest.raises(InvalidKernel):
        verify_kernel(replace(kernel, shifts=shifts), "jam")
