"""Kernels that call NumPy's inner loops: what runs where, with which strides, and with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from lazyarr.codegen.loopir import Blocks, Call, Kernel, Loop, Once, Stmt
from lazyarr.codegen.pipeline import compile_parfor, results
from lazyarr.dispatch.levels import host_level, host_levels
from lazyarr.fusion.parfor import Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import OPS, loop_types, native


def lowered(parfor: Parfor) -> Kernel:
    kernel: Kernel = results(parfor, host_level())["lower"]
    return kernel


def shape_of(kernel: Kernel) -> str:
    """The order of statements: o(nce), l(oop), c(all)."""
    letters: dict[type[Stmt], str] = {Once: "o", Loop: "l", Call: "c"}
    return "".join(letters[type(s)] for s in kernel.body)


def test_native_ops_are_one_loop_without_scratch(program: Any) -> None:
    p = program((10,))
    v = p.op("add", "dd->d", p.load("d"), p.op("multiply", "dd->d", p.load("d"), p.load("d")))
    p.store(v, "d")
    source = compile_parfor(p.parfor, host_level())
    assert shape_of(lowered(p.parfor)) == "l"
    assert (source.scratch_bytes, source.block, source.loops) == (0, 0, ())


def test_a_lone_call_goes_from_operand_to_operand(program: Any, check: Any) -> None:
    p = program((2500,))
    p.store(p.op("exp", "d->d", p.load("d", "s")), "d")
    kernel = lowered(p.parfor)
    assert shape_of(kernel) == "c" and not kernel.slots
    check(p, tile=(1024,))


def test_a_result_at_a_stride_goes_through_contiguous_memory(program: Any, check: Any) -> None:
    """NumPy's float32 loops round otherwise when they write at a stride."""
    p = program((500,))
    p.store(p.op("arctan2", "ff->f", p.load("f"), p.load("f")), "f", "s")
    assert shape_of(lowered(p.parfor)) == "cl"
    check(p)


def test_calls_on_inputs_run_before_one_native_loop(program: Any, check: Any) -> None:
    p = program((3000,))
    x, y = p.load("d"), p.load("d")
    v = p.op("multiply", "dd->d", p.op("exp", "d->d", x), p.op("cosh", "d->d", y))
    p.store(p.op("add", "dd->d", v, x), "d")
    assert shape_of(lowered(p.parfor)) == "ccl"
    check(p, tile=(1300,))


def test_native_work_is_done_as_late_as_it_may(program: Any) -> None:
    """`c * d` is computed in the last loop, not kept in scratch from the first one on."""
    p = program((10,))
    a, b, c, d = (p.load("d") for _ in range(4))
    inner = p.op("exp", "d->d", p.op("multiply", "dd->d", a, b))
    p.store(p.op("add", "dd->d", inner, p.op("multiply", "dd->d", c, d)), "d")
    kernel = lowered(p.parfor)
    assert shape_of(kernel) == "lcl" and len(kernel.slots) == 2


def test_blocks_and_shared_slots(program: Any) -> None:
    """A chain of calls needs two slots at a time, however long it is."""
    p = program((10,))
    v = p.load("d")
    for _ in range(6):
        v = p.op("exp", "d->d", p.op("multiply", "dd->d", v, p.scalar("d", 0.1)))
    p.store(p.op("negative", "d->d", v), "d")
    kernel = results(p.parfor, host_level())["vectorize"]
    (blocks,) = (s for s in kernel.body if isinstance(s, Blocks))
    assert blocks.size == kernel.block and kernel.block % 64 == 0
    assert kernel.scratch_bytes == 2 * 8 * kernel.block


def test_stores_wait_for_all_reads(program: Any, check: Any) -> None:
    """The first result may lie in the second input's memory."""
    a, b = numpy.linspace(0, 1, 400), numpy.linspace(1, 2, 400)
    p = program((400,))
    x, y = p.load("d", array=a), p.load("d", array=b)
    p.store(p.op("exp", "d->d", x), "d", array=b)
    p.store(p.op("sinh", "d->d", y), "d", array=a)
    assert shape_of(lowered(p.parfor)) == "ccl"
    check(p)


def test_results_are_read_back_from_outputs(program: Any, check: Any) -> None:
    p = program((3000,))
    e = p.op("exp", "d->d", p.load("d"))
    p.store(e, "d")
    p.store(p.op("add", "dd->d", e, p.scalar("d", 1)), "d")
    assert shape_of(lowered(p.parfor)) == "ocl" and not lowered(p.parfor).slots
    check(p)


@pytest.mark.parametrize("value", [2.0, 0.5, -1.0, 3.7])
@pytest.mark.parametrize("kind", ["scalar", "row", "cast", "dense"])
def test_power_sees_numpys_strides(program: Any, check: Any, value: float, kind: str) -> None:
    """A scalar exponent has stride 0, for which `power` takes other paths; a dense one has not."""
    p = program((2, 777))
    x = p.op("absolute", "d->d", p.load("d"))
    if kind in ("scalar", "cast"):
        y = p.scalar("d" if kind == "scalar" else "f", value)
        y = p.op("cast", "f->d", y, part=None) if kind == "cast" else y
    else:
        y = p.load("d", "z", numpy.broadcast_to(numpy.full((2, 1), value), (2, 777)))
        y = p.op("dense", "d->d", y, part=None) if kind == "dense" else y
    p.store(p.op("power", "dd->d", x, y), "d")
    check_rows(p, check)


def check_rows(p: Any, check: Any) -> None:
    """NumPy buffers two-dimensional operands of short rows; one row at a time it does not."""
    found = p.expected

    def expected() -> list[numpy.ndarray]:
        rows = []
        for i in range(p.shape[0]):
            row = type(p)(p.shape[1:], 0, p.body, p.operands, [a[i] for a in p.arrays], p.scalars)
            rows.append(row.expected())
        whole = found()
        for k, array in enumerate(whole):
            if p.operands[k].role != "in":
                for i, row in enumerate(rows):
                    array[i] = row[k]
        return whole

    p.expected = expected
    check(p, tile=(1, 300))


def test_calls_on_what_does_not_vary(program: Any, check: Any) -> None:
    p = program((5, 90))
    a, b = p.load("F", "z"), p.load("f", "z")
    whole, fraction = (p.op("modf", "f->ff", b, part=k) for k in (1, 0))
    product = p.op("multiply", "FF->F", a, p.scalar("F", 1.5 - 0.25j))
    p.store(p.op("multiply", "FF->F", product, p.load("F")), "F")
    p.store(p.op("add", "ff->f", whole, p.op("exp", "f->f", fraction)), "f")
    p.store(fraction, "f", "s")
    check(p, tile=(2, 50))


def test_results_that_nobody_uses(program: Any, check: Any) -> None:
    p = program((1500,))
    p.store(p.op("frexp", "d->di", p.load("d"), part=1), "i")
    check(p, tile=(700,))


@pytest.mark.parametrize("level", host_levels(), ids=lambda level: level.target.name)
def test_mixed_stages_at_every_level(program: Any, check: Any, level: Any) -> None:
    p = program((2000,))
    x, y = p.load("d"), p.load("F", "s")
    power = p.op("power", "dd->d", p.op("absolute", "d->d", x), p.scalar("d", 1.5))
    angle = p.op("arctan2", "dd->d", power, x)
    small = p.op("greater", "dd->?", angle, p.scalar("d", 1))
    p.store(p.op("where", "?dd->d", small, angle, power), "d")
    p.store(p.op("multiply", "FF->F", p.op("add", "FF->F", y, y), y), "F", "s")
    p.store(p.op("logical_not", "?->?", small), "?")
    check(p, tile=(900,), target=level.target)


CALLED = [
    (name, sig)
    for name, op in OPS.items()
    if op.is_ufunc and "raises" not in op.traits
    for sig in loop_types(name)
    if not native(name, sig) and inner_loop(op.fn, sig) is not None
]


@pytest.mark.parametrize(("name", "sig"), CALLED, ids=lambda x: x if isinstance(x, str) else None)
def test_every_loop_of_numpy_between_native_ops(program: Any, check: Any, name: str, sig: str) -> None:
    """In and out through scratch memory, next to a native op of the input's dtype."""
    ins, outs = sig.split("->")
    p = program((1100,), seed=len(name))
    loads = [p.load(c) for c in ins]
    args = [p.op("where", f"?{c}{c}->{c}", p.load("?"), v, v) for c, v in zip(ins, loads, strict=True)]
    for k, char in enumerate(outs):
        p.store(p.op(name, sig, *args, part=k), char, "s")
    check(p)
