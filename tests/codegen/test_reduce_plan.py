"""Arranging and cutting reductions: forms, bounds of memory, and what programs share."""

from __future__ import annotations

import math

import numpy
import pytest

from lazyarr.codegen.folds import refusal
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_plan import CHUNK, CHUNKS_EACH, SLOT, arrange, cut, reductions
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.reduce_order import Order, order_of


def parfor_of(dims: str, order: str, ufunc: str = "add", op: str = "negative", group: int = 1) -> Parfor:
    body = (
        Inst("load", "d", (), 0),
        Inst(op, "d->d", (0,), 0),
        Inst("scalar", "d", (), 0),
        Inst("reduce", "d", (1,), Reduction(ufunc, order, 1, 0, group=group)),
    )
    return Parfor(dims, (Operand("d", "u"), Operand("d", "z" if dims[-1] == "r" else "u", "out")), "d", body)


def order(shape: tuple[int, ...], axes: tuple[int, ...], ufunc: str = "add") -> Order:
    strides = numpy.empty(shape).strides
    found = order_of(ufunc, "dd->d", "d", shape, strides, axes)
    assert isinstance(found, Order)
    return found


@pytest.mark.parametrize(
    ("shape", "axes", "dims", "group"),
    [
        ((6, 7), (0, 1), "r", 1),
        ((6, 7), (1,), "pr", 1),
        ((6, 7), (0,), "rp", 1),
        ((5, 6, 7), (0, 2), "prr", 1),
        ((5, 6, 7), (1,), "prp", 1),
        ((5, 6, 7), (0, 1), "rp", 1),
        ((6, 1), (1,), "rp", 1),
    ],
)
def test_forms(shape: tuple[int, ...], axes: tuple[int, ...], dims: str, group: int) -> None:
    x = numpy.empty(shape)
    found = arrange(order(shape, axes), [x.strides, [0 if d in axes else 8 for d in range(x.ndim)]])
    assert (found.dims, found.group) == (dims, group)
    assert math.prod(found.shape) == x.size


def test_an_operand_that_does_not_go_on_keeps_loops_apart() -> None:
    """A broadcast row: the sum's elements are one space all the same."""
    found = arrange(order((6, 7), (0, 1)), [(56, 8), (0, 8), (0, 0)])
    assert (found.dims, found.group, found.run) == ("rr", 2, 42)


@pytest.mark.parametrize("n", [1, 100, 65_535, 65_536, 1_000_003, 10_000_000, 1 << 31])
@pytest.mark.parametrize("kind", ["pairwise", "any"])
def test_partial_results_are_few(n: int, kind: str) -> None:
    ufunc = "add" if kind == "pairwise" else "maximum"
    for run in (n, 8192):
        p = parfor_of("r", kind, ufunc)
        cuts = cut(p, (n,), run)
        assert cuts.partial_bytes in (0, cuts.steps * SLOT * len(reductions(p)))
        assert (cuts.partial_bytes > 0) == (cuts.chunks > 1)
        assert cuts.partial_bytes <= max(16 * SLOT, n * 8 // 128)
        assert cuts.chunks == -(-cuts.steps // cuts.grain)


def test_strict_sequences_are_cut_between_outputs_only() -> None:
    cuts = cut(parfor_of("pr", "sequential", "hypot"), (1000, 100_000), 100_000)
    assert (cuts.partial_bytes, cuts.tile[1]) == (0, 100_000)
    assert CHUNKS_EACH <= cuts.chunks == -(-1000 // cuts.tile[0]) <= 1000


@pytest.mark.parametrize("threads", [1, 2, 64])
def test_chunks_are_as_large_as_sharing_permits(threads: int) -> None:
    p = parfor_of("r", "pairwise", "add")
    few, many = (cut(p, (n,), n, threads=threads) for n in (1_000_000, 100_000_000))
    assert few.depth == 4 and many.depth == 11          # what is folded apart does not depend on it
    assert few.chunks == 16 // few.grain and many.chunks >= CHUNKS_EACH * threads
    assert many.chunks <= max(2 * CHUNKS_EACH * threads, 100_000_000 // CHUNK)


def test_programs_share_what_does_not_depend_on_the_body() -> None:
    target = host_level()
    one = compile_reduction(parfor_of("pr", "pairwise"), target)
    other = compile_reduction(parfor_of("pr", "pairwise", op="absolute"), target)
    assert one.symbol != other.symbol
    assert one.shell == other.shell and one.combine == other.combine
    assert compile_reduction(parfor_of("rp", "sequential"), target).shell is None


def test_refusals_say_why() -> None:
    mixed = Parfor(
        "r", (Operand("D", "u"), Operand("d", "u"), Operand("D", "z", "out"), Operand("d", "z", "out")), "Dd",
        (
            Inst("load", "D", (), 0), Inst("load", "d", (), 1),
            Inst("reduce", "D", (0,), Reduction("add", "pairwise", 2, 0)),
            Inst("reduce", "d", (1,), Reduction("add", "pairwise", 3, 0)),
        ),
    )
    assert refusal(mixed, host_level())
    with pytest.raises(ValueError, match="complex and real"):
        compile_reduction(mixed, host_level())
