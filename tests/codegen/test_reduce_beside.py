"""Short runs are folded with the outputs next to them: NumPy's bits, one launch, no intermediate arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_tree import BESIDE
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction

RUNS = (1, 3, 8, 15, 32, 33, 127, 128, 129)
COLUMNS = (1, 8, 30)
"""Outputs side by side: none, one lot, several, some left over."""


@pytest.fixture(autouse=True, params=[1, 2])
def forced(request: pytest.FixtureRequest) -> Any:
    with lazyarr.options(jit="always", verify=True, num_threads=request.param):
        yield


def distances(np: Any, x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)


def products(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] * y[None, :, :]).sum(axis=-1)


def greatest(np: Any, x: Any, y: Any) -> Any:
    return np.maximum(x[:, None, :], y[None, :, :]).max(axis=-1)


def from_something(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] + y[None, :, :]).sum(axis=-1, initial=3)


def selected(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] * y[None, :, :]).max(axis=-1, initial=-5, where=y[None, :, :] > 0)


def transposed(np: Any, x: Any, y: Any) -> Any:
    out = np.zeros((y.shape[0], x.shape[0]), x.dtype).T
    out[...] = (x[:, None, :] - y[None, :, :]).sum(axis=-1)
    return out


def reversed_(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, ::-1] - y[None, ::-1, :]).sum(axis=-1)


def outer_too(np: Any, x: Any, y: Any) -> Any:
    """Rows in sequence, each pairwise: results are added to."""
    return (x[:, None, :] * y[None, :, :]).sum(axis=(0, 2))


def several(np: Any, x: Any, y: Any) -> Any:
    z = x[:, None, :] * y[None, :, :]
    return np.stack([z.sum(axis=-1), (z + 1).sum(axis=-1)])


PROGRAMS = (
    distances, products, greatest, from_something, selected, transposed, reversed_, outer_too, several,
)  # fmt: skip


def values(rng: numpy.random.Generator, char: str, shape: tuple[int, ...]) -> numpy.ndarray:
    found = rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2, shape)
    if char in "FD":
        found = found + 1j * rng.standard_normal(shape)
    return found.clip(-50, 50).astype(char) if char not in "FD" else found.astype(char)


@pytest.mark.covering
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("char", "efdFDbhil")
def test_bits_of_numpy(program: Callable[..., Any], char: str) -> None:
    if char in "FD" and program in (greatest, selected):
        pytest.skip("no order of complex numbers")
    rng = numpy.random.default_rng(3)
    with numpy.errstate(all="ignore"):
        for run in RUNS:
            for columns in COLUMNS:
                x, y = values(rng, char, (3, run)), values(rng, char, (columns, run))
                mine = program(lazyarr, lazyarr.array(x), lazyarr.array(y))
                theirs = program(numpy, x, y)
                assert numpy.asarray(mine).tobytes() == theirs.tobytes(), (run, columns)


@pytest.mark.parametrize("width", [0, 2, 3, 4])
def test_arrays_of_points(width: int) -> None:
    rng = numpy.random.default_rng(4)
    x = values(rng, "d", (100, width))
    mine = (lazyarr.array(x) * 2).sum(axis=1)
    assert numpy.asarray(mine).tobytes() == (x * 2).sum(axis=1).tobytes()


def test_flags_are_those_of_all_outputs() -> None:
    x = numpy.ones((4, 40))
    x[3, 39] = numpy.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in subtract"):
        numpy.asarray((lazyarr.array(x)[:, None, :] - lazyarr.array(x)[None, :, :]).sum(axis=-1))


def test_one_launch_that_moves_the_least() -> None:
    rng = numpy.random.default_rng(5)
    x, y = (lazyarr.array(values(rng, "f", (500, 32))) for _ in range(2))
    told = explain(distances(lazyarr, x, y))
    assert told.bytes_moved <= 1.1 * told.bytes_least
    z = distances(lazyarr, x, y)
    reset()
    lazyarr.evaluate(z)
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated <= 1.1 * z.nbytes


def fold(char: str, ufunc: str = "add", order: str = "pairwise", dims: str = "pr") -> Parfor:
    operands = (Operand(char, "u"), Operand(char, "z", "out"))
    start = Inst("scalar", char, (), 0)
    load = Inst("load", char, (), 0)
    folded = Inst("reduce", char, (0,), Reduction(ufunc, order, out=1, start=1))
    return Parfor(dims, operands, char, (load, start, folded))


@pytest.mark.parametrize(
    ("parfor", "has"),
    [
        (fold("d"), True),
        (fold("f"), True),
        (fold("D"), True),
        (fold("l", order="any"), True),
        (fold("d", ufunc="maximum", order="any"), True),
        (fold("d", dims="r"), False),
        (fold("d", ufunc="multiply", order="sequential"), False),
        (fold("?", ufunc="logical_or", order="any"), False),
    ],
)
def test_where_there_are_neighbours(parfor: Parfor, has: bool) -> None:
    source = compile_reduction(parfor, host_level(), verify=True)
    assert (BESIDE in source.ir) == has
