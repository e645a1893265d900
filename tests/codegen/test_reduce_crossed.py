"""Rows crossed with columns, in the lanes of registers: NumPy's bits, whatever the lengths and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.codegen.reduce_crossed import LEAST_ROWS
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_plan import CROSSED_RUN, PAIRED, cut
from lazyarr.codegen.reduce_tree import CROSSED
from lazyarr.counters import COUNT, reset
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_level
from lazyarr.fusion.crossed import crossed
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from tests.codegen.test_reduce_beside import distances, forced, greatest, transposed  # noqa: F401

RUNS = (1, 3, 7, 8, 9, 31, 32, 50, 128, 129, 200, 255, CROSSED_RUN, CROSSED_RUN + 1)
SHAPES = ((LEAST_ROWS, 16), (LEAST_ROWS + 1, 70), (21, 17), (3, 40))
"""Rows and columns: whole tiles, some left over, too few of them."""


def manhattan(np: Any, x: Any, y: Any) -> Any:
    return abs(x[:, None, :] - y[None, :, :]).sum(axis=-1)


def of_columns_alone(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] * (y * 2 + 1)[None, :, :]).sum(axis=-1)


def weighted(np: Any, x: Any, y: Any) -> Any:
    """What moves along neither."""
    return ((x[:, None, :] - y[None, :, :]) * x[0]).sum(axis=-1, initial=3)


def selected(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] * y[None, :, :]).sum(axis=-1, where=y[None, :, :] > 0)


def several(np: Any, x: Any, y: Any) -> Any:
    z = x[:, None, :] * y[None, :, :]
    return np.stack([z.sum(axis=-1), (z + 1).sum(axis=-1)])


def batches(np: Any, x: Any, y: Any) -> Any:
    a, b = np.stack([x, x + 1]), np.stack([y, y - 1])
    return (a[:, :, None, :] - b[:, None, :, :]).sum(axis=-1)


def backwards(np: Any, x: Any, y: Any) -> Any:
    return (x[::-1, None, ::-1] - y[None, ::-1, :]).sum(axis=-1)


def everywhere(np: Any, x: Any, y: Any) -> Any:
    """Two arrays that are repeated, whose sum is not."""
    return ((x[:, None, :] + y[None, :, :]) * np.ones((x.shape[0], y.shape[0], 1), x.dtype)).sum(axis=-1)


PROGRAMS = (
    distances, manhattan, greatest, of_columns_alone, weighted, selected, several, batches, backwards,
    transposed, everywhere,
)  # fmt: skip


def values(rng: numpy.random.Generator, char: str, shape: tuple[int, ...]) -> numpy.ndarray:
    found = rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2, shape)
    if char in "FD":
        found = found + 1j * rng.standard_normal(shape)
    return found.clip(-50, 50).astype(char) if char not in "FD" else found.astype(char)


def same(program: Callable[..., Any], x: numpy.ndarray, y: numpy.ndarray) -> bool:
    """Are the bits the same, those of NaNs aside?"""
    mine, theirs = numpy.asarray(program(lazyarr, lazyarr.array(x), lazyarr.array(y))), program(numpy, x, y)
    nan = numpy.isnan(theirs)
    return bool((nan == numpy.isnan(mine)).all()) and mine[~nan].tobytes() == theirs[~nan].tobytes()


@pytest.mark.covering
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("char", "efdDbl")
def test_bits_of_numpy(program: Callable[..., Any], char: str) -> None:
    if char in "FD" and program in (greatest, selected):
        pytest.skip("no order of complex numbers")
    rng = numpy.random.default_rng(3)
    with numpy.errstate(all="ignore"):
        for run in RUNS:
            for rows, columns in SHAPES:
                x, y = values(rng, char, (rows, run)), values(rng, char, (columns, run))
                assert same(program, x, y), (run, rows, columns)


@pytest.mark.parametrize("char", "fd")
def test_special_numbers(char: str) -> None:
    rng = numpy.random.default_rng(4)
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0], char)
    with numpy.errstate(all="ignore"):
        for run in (1, 3, 8, 20, 140):
            x, y = rng.choice(special, (20, run)), rng.choice(special, (40, run))
            for program in (distances, greatest, of_columns_alone):
                assert same(program, x, y), (run, program)
        x, y = numpy.full((20, 9), -0.0, char), numpy.zeros((40, 9), char)
        assert same(of_columns_alone, x, y) and same(distances, x, y)


def test_nothing_to_fold_or_to_store() -> None:
    for rows, columns, run in ((20, 20, 0), (0, 20, 5), (20, 0, 5)):
        assert same(distances, numpy.ones((rows, run)), numpy.ones((columns, run)))


def test_flags_are_those_of_all_outputs() -> None:
    x = numpy.ones((40, 40))
    x[3, 39] = numpy.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in subtract"):
        numpy.asarray((lazyarr.array(x)[:, None, :] - lazyarr.array(x)[None, :, :]).sum(axis=-1))


OPERANDS = (Operand("f", "z", "out"), Operand("f", "u"), Operand("f", "u"))
STRIDES = ((800, 4, 0), (400, 0, 4), (0, 400, 4))
SUM = Reduction("add", "pairwise", 0, start=0)
BODY = (
    Inst("load", "f", (), 1), Inst("load", "f", (), 2), Inst("subtract", "ff->f", (0, 1), 0),
    Inst("reduce", "f", (2,), SUM),
)  # fmt: skip


def test_which_operand_moves_along_what() -> None:
    assert crossed("ppr", OPERANDS, STRIDES) == "orc"
    assert crossed("pppr", OPERANDS, [(0, *each) for each in STRIDES]) == "orc"
    assert not crossed("ppr", OPERANDS, [*STRIDES[:2], (4, 400, 4)]), "along both"
    assert not crossed("ppr", OPERANDS, [*STRIDES[:2], (0, 400, 0)]), "one for each column"
    assert not crossed("ppr", OPERANDS, [*STRIDES[:2], (400, 0, 4)]), "nothing belongs to columns"
    assert not crossed("prp", OPERANDS, STRIDES) and not crossed("prr", OPERANDS, STRIDES)


def test_kernels_of_their_own() -> None:
    start = (Inst("scalar", "f", (), 0),)
    body = tuple(i._replace(args=tuple(a + 1 for a in i.args)) for i in BODY)
    plain = Parfor("ppr", OPERANDS, "f", (*start, *body))
    assert CROSSED not in compile_reduction(plain, host_level()).ir
    found = compile_reduction(plain._replace(crossed="orc"), host_level())
    assert CROSSED in found.ir and found.scratch_bytes


IN_A_RUN = {
    "X86_V2": (9, 22, 18, 0), "X86_V3": (9, 22, 9, 9), "X86_V4": (18, 13, 18, 0),
    "AVX512_ICL CLZERO": (18, 13, 9, 9),
}  # fmt: skip
"""By row of the table: elements of rows that are spread, vectors of tiles, differences, and those by fused
products."""


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("row", IN_A_RUN)
def test_what_rows_and_tiles_share(row: str, char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a tile's vectors, or two tiles a row's elements; every other difference is a fused product."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: row)
    level = row.split()[0]
    operands = tuple(o._replace(dtype=char) for o in OPERANDS)
    body = tuple(i._replace(sig=i.sig.replace("f", char)) for i in BODY)
    parfor, target = Parfor("ppr", operands, "", body, crossed="orc"), BY_NAME[level].target
    cold, hot = (compile_reduction(parfor, target, verify=True, hot=hot).ir for hot in (False, True))
    run = next(f for f in hot.split("\ndefine ") if f"{CROSSED}_run(" in f.partition("\n")[0])
    t, lanes = {"f": "float", "d": "double"}[char], target.vector_bytes // numpy.dtype(char).itemsize
    found = (f"load {t},", f"load <{lanes} x {t}>,", "= fsub ", "@llvm.fma.")
    assert tuple(map(run.count, found)) == IN_A_RUN[row] and "@llvm.fma." not in cold
    if "@llvm.fma." in hot:
        assert jit.assembly(hot, target, 2).count("vfmsub") == hot.count(f"call <{lanes} x {t}> @llvm.fma")


def test_chunks_have_rows_enough() -> None:
    parfor = Parfor("ppr", OPERANDS, "f", BODY, crossed="orc")
    found = cut(parfor, (2000, 2000, 32), 32, STRIDES, 2)
    assert found.tile[0] >= 16 * LEAST_ROWS and found.tile[1] == PAIRED and found.chunks >= 16
    assert cut(parfor, (5, 3, 32), 32, STRIDES, 2).tile == (5, 3, 32)
    assert cut(parfor, (2000, 2000, CROSSED_RUN + 1), CROSSED_RUN + 1, STRIDES, 2).tile[1] == 2000


def test_one_launch() -> None:
    x, y = (lazyarr.array(numpy.ones((500, 32), "f")) for _ in range(2))
    z = distances(lazyarr, x, y)
    reset()
    lazyarr.evaluate(z)
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated <= 1.1 * z.nbytes
