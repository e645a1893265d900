"""Leaves of a tree that are folded side by side: NumPy's bits, whichever leaves have a vector more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.codegen.reduce_leaves import LEAVES, REVERSED
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_tree import LEAF
from lazyarr.dispatch.levels import LEVELS, host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction

LENGTHS = (*range(536, 552), *range(600, 632, 3), *range(1008, 1040), 1500, 2000, 2047, 4096, 9_999)
"""Where eight leaves begin to be enough, in between, where they end to be; of which larger ones consist."""


@pytest.fixture(autouse=True)
def forced() -> Any:
    with lazyarr.options(jit="always", tier="2", verify=True):
        yield


def sums(np: Any, x: Any, y: Any) -> Any:
    return x.sum(axis=1)


def products(np: Any, x: Any, y: Any) -> Any:
    return (x * y + 1).sum(axis=1)


def several(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x * 2).sum(axis=1), (x + y).sum(axis=1), x.prod(axis=1)])


def backwards(np: Any, x: Any, y: Any) -> Any:
    return (x[:, ::-1] - y).sum(axis=1)


def spread(np: Any, x: Any, y: Any) -> Any:
    """Variances: what is folded is stored for nobody; rows' means differ from row to row."""
    return x.var(axis=1)


def stored(np: Any, x: Any, y: Any) -> Any:
    """In place: no element may be computed twice."""
    z = x.copy()
    z -= y
    z *= z
    return np.stack([z.sum(axis=1), z[:, -1], z[:, 127]])


def selected(np: Any, x: Any, y: Any) -> Any:
    return x.sum(axis=1, where=y.real > 0)


PROGRAMS = sums, products, several, backwards, spread, stored, selected


def values(rng: numpy.random.Generator, char: str, shape: tuple[int, ...]) -> numpy.ndarray:
    found = rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2, shape)
    if char in "FD":
        found = found + 1j * rng.standard_normal(shape)
    found = found if char in "FD" else found.clip(-50, 50)
    found[0, ::97] = -0.0
    found[1, 5] = numpy.nan
    found[1, 6] = numpy.inf
    found[2] = -0.0
    return found.astype(char)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("char", "efdFD")
def test_bits_of_numpy(program: Callable[..., Any], char: str) -> None:
    rng = numpy.random.default_rng(1)
    with numpy.errstate(all="ignore"):
        for n in LENGTHS[::7] if char in "eF" else LENGTHS:
            x, y = values(rng, char, (4, n)), values(rng, char, (4, n))
            mine = program(lazyarr, lazyarr.array(x), lazyarr.array(y))
            assert numpy.asarray(mine).tobytes() == program(numpy, x, y).tobytes(), n


def test_what_is_computed_twice_raises_nothing() -> None:
    x = numpy.ones((2, 610))
    with numpy.errstate(all="raise"):
        assert numpy.asarray((1 / lazyarr.array(x)).sum(axis=1)).tolist() == [610, 610]
    x[1, 609] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray((1 / lazyarr.array(x)).sum(axis=1))


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_added_twice_raises_nothing(char: str, length: int) -> None:
    """A leaf with no vector more than others has its last one added again, whose double overflows."""
    most = numpy.finfo(char).max
    for place in range(13 * 8, min(length, 40 * 8), 8):
        x = numpy.ones(length, char)
        x[place] = most
        with numpy.errstate(all="raise"):
            assert numpy.asarray(lazyarr.array(x).sum()) == most


def tree(vectors: int, leaves: int) -> list[int]:
    """Whole vectors of each leaf, as NumPy halves."""
    if leaves == 1:
        return [vectors]
    return tree(vectors // 2, leaves // 2) + tree(vectors - vectors // 2, leaves // 2)


@pytest.mark.parametrize("vectors", range(4 * (LEAF // 8), 8 * (LEAF // 8) + 1))
def test_lengths_of_leaves(vectors: int) -> None:
    found = [(vectors + (REVERSED >> 4 * k & 7)) // LEAVES for k in range(LEAVES)]
    assert found == tree(vectors, LEAVES)


def text(ufunc: str, order: str, hot: bool, level: str = "", char: str = "d") -> str:
    target = next((x.target for x in LEVELS if x.target.name == level), None) or host_level()
    operands = Operand(char, "u"), Operand(char, "z", "out")
    folded = Inst("reduce", char, (0,), Reduction(ufunc, order, out=1, start=1))
    body = Inst("load", char, (), 0), Inst("scalar", char, (), 0), folded
    return compile_reduction(Parfor("r", operands, char, body), target, hot=hot).ir


def test_code_for_tier_2_only() -> None:
    assert "_leaves" in text("add", "pairwise", hot=True, char="f")
    assert "_leaves" not in text("add", "pairwise", hot=False, char="f")
    assert "_leaves" not in text("maximum", "any", hot=True)


@pytest.mark.parametrize("level", [x.target.name for x in LEVELS])
def test_levels(level: str) -> None:
    """Eight doubles are four registers of 16 bytes, of which too few are left."""
    wide = next(x.target.vector_bytes for x in LEVELS if x.target.name == level) > 16
    assert "_leaves" in text("add", "pairwise", hot=True, level=level, char="f")
    assert ("_leaves" in text("add", "pairwise", hot=True, level=level)) == wide


def test_counts_beside_sums_of_floats() -> None:
    """`nanmean` counts in the loop nest that sums: what is True has no lanes to be cut."""
    x = numpy.linspace(-1, 3, 131071).astype("f4")
    x[::7] = numpy.nan
    for tier in "1", "2":
        with lazyarr.options(jit="always", tier=tier):
            got = lazyarr.nanmean(lazyarr.array(x))
        assert numpy.asarray(got).tobytes() == numpy.asarray(numpy.nanmean(x)).tobytes()
