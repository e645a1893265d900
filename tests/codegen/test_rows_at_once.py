"""Hot kernels fold several rows onto the next ones' accumulators at a time: which, and NumPy's bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import kernels, planning
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_outer import NARROW, rows_at_once
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.tuning import TABLE


@pytest.fixture(params=[1, 4, 8])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Another number in all rows of the table, and nothing that was compiled by those in force."""
    for key, tuning in TABLE.items():
        monkeypatch.setitem(TABLE, key, tuning._replace(rows_at_once=request.param, fold_lanes=24))
    kernels._kernels.clear()
    planning.forget()
    with lazyarr.options(jit="always", verify=True, cache_bytes=0, tier="2"):
        yield int(request.param)
    kernels._kernels.clear()
    planning.forget()


def fold(access: str = "u", squares: int = 0, start: int = 1, order: str = "sequential") -> Parfor:
    """Sums of columns, of elements that are squared so many times."""
    operands = Operand("d", access), Operand("d", "u", "out")
    body = [Inst("load", "d", (), 0), Inst("scalar", "d", (), 0)]
    value = 0
    for _ in range(squares):
        body.append(Inst("multiply", "dd->d", (value, value), 0))
        value = len(body) - 1
    body.append(Inst("reduce", "d", (value,), Reduction("add", order, out=1, start=start)))
    return Parfor("rp", operands, "d", tuple(body))


def loads(parfor: Parfor, hot: bool) -> int:
    """Loads of vectors, accumulators and what is moved to results left aside."""
    source = compile_reduction(parfor, host_level(), hot=hot, verify=True)
    width = host_level().vector_bytes // 8
    return source.ir.count(f"load <{width} x double>, ptr %")


def test_more_code_for_tier_2_only(rows: int) -> None:
    """A row and its accumulators; besides, so many rows and the accumulators once."""
    usual = loads(fold(), hot=False)
    assert loads(fold(), hot=True) - usual == (rows + 1 if rows > 1 else 0)


@pytest.mark.parametrize("ahead", [0, 4])
def test_the_next_rows_are_fetched(rows: int, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where several rows go at a time as many of the next ones, of short stretches, else the row so many
    further on."""
    for key, tuning in TABLE.items():
        monkeypatch.setitem(TABLE, key, tuning._replace(rows_ahead=ahead))
    text = compile_reduction(fold(), host_level(), hot=True, verify=True).ir
    assert text.count("call void @llvm.prefetch") == (rows if rows > 1 else bool(ahead))
    asked = re.search(rf"icmp sle i64 \S+, {NARROW // 8}\n", text)
    assert bool(asked) == (rows > 1)


@pytest.mark.parametrize(
    ("parfor", "most"),
    [(fold(), 8), (fold(squares=3), 4), (fold(squares=10), 1), (fold("s"), 1), (fold(start=-1), 1)],
)
def test_which(parfor: Parfor, most: int, rows: int) -> None:
    """Neither long bodies, nor elements apart, nor where the first row is moved as it is."""
    assert rows_at_once(Reduce(parfor, host_level(), hot=True)) == min(rows, most)
    assert rows_at_once(Reduce(parfor, host_level())) == 1


def sums(np: Any, x: Any, y: Any) -> Any:
    return x.sum(axis=0)


def part(np: Any, x: Any, y: Any) -> Any:
    return x[:, 1:-1].sum(axis=0)


def products(np: Any, x: Any, y: Any) -> Any:
    return (x * y).sum(axis=0)


def spread(np: Any, x: Any, y: Any) -> Any:
    return x.mean(axis=0), x.std(axis=0)


def greatest(np: Any, x: Any, y: Any) -> Any:
    return x.max(axis=0), x.sum(axis=0), (x[:, ::2] > y[:, ::2]).sum(axis=0)


def selected(np: Any, x: Any, y: Any) -> Any:
    return x.sum(axis=0, where=y > 0), (x * y[0]).sum(axis=0)


def two_axes(np: Any, x: Any, y: Any) -> Any:
    z = np.stack([x, y, x, y, y])
    return z.sum(axis=(0, 1)), z[:, :, 2:].sum(axis=0), z.sum(axis=1)


def alike(np: Any, x: Any, y: Any) -> Any:
    """No row is read: all elements are one number."""
    return (np.full(x.shape, 1.1, x.dtype) * x.dtype.type(3)).sum(axis=0)


def reversed_(np: Any, x: Any, y: Any) -> Any:
    return (x[::-1] + y).sum(axis=0), x[::3].sum(axis=0)


@pytest.mark.covering
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "program", [sums, part, products, spread, greatest, selected, two_axes, alike, reversed_],
    ids=lambda p: p.__name__,
)  # fmt: skip
@pytest.mark.parametrize("char", "efdi")
def test_bits_of_numpy(rows: int, char: str, program: Callable[..., Any], threads: int) -> None:
    rng = numpy.random.default_rng(7)
    with lazyarr.options(num_threads=threads), numpy.errstate(all="ignore"):
        for shape in ((1, 5), (4, 9), (7, 33), (8, 64), (9, 65), (17, 130), (100, 3), (30, 3000)):
            x, y = (rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2, shape) for _ in range(2))
            x, y = (z.clip(-50, 50).astype(char) for z in (x, y))
            x[0, :2] = -0.0
            if char != "i":
                x[-1, 2] = numpy.nan
            mine = program(lazyarr, lazyarr.array(x), lazyarr.array(y))
            theirs = program(numpy, x, y)
            mine, theirs = (z if isinstance(z, tuple) else (z,) for z in (mine, theirs))
            for found, wanted in zip(mine, theirs, strict=True):
                assert numpy.asarray(found).tobytes() == numpy.asarray(wanted).tobytes(), shape


def test_flags_are_those_of_all_rows(rows: int) -> None:
    x = numpy.ones((19, 40))
    x[5, 7] = numpy.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in subtract"):
        numpy.asarray((lazyarr.array(x) - lazyarr.array(x)).sum(axis=0))
