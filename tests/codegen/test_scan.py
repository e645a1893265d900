"""Scans as loop IR: what the interpreter makes of it is what the oracle for parfors says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.interp import run_chunk
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.loopir import Blocks, Scan
from lazyarr.codegen.scan_pipeline import Scans, compile_scan, kernels_of
from lazyarr.codegen.scan_plan import COLUMNS, ROWS, tiles_along
from lazyarr.codegen.verify import verify_kernel
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.interpret import run_parfor
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import row


def running(dims: str, *before: tuple[str, str]) -> Parfor:
    """Running sums of what ops make of one operand, times two."""
    body = [Inst("load", "d", (), 1)]
    body += [Inst(op, sig, (k,) * (len(sig) - 3), 0) for k, (op, sig) in enumerate(before)]
    body.append(Inst("scan", "d->d", (len(body) - 1,), "add"))
    body.append(Inst("add", "dd->d", (len(body) - 1,) * 2, 0))
    body.append(Inst("store", "d", (len(body) - 1,), 0))
    return Parfor(dims, (Operand("d", "u", "out"), Operand("d", "u")), "", tuple(body))


CALLED = ("exp", "d->d")
NATIVE = ("multiply", "dd->d")


@pytest.mark.parametrize("before", [(), (NATIVE,), (CALLED,), (NATIVE, CALLED)])
@pytest.mark.parametrize("n", [1, 700, 3000])
def test_stages_are_what_the_parfor_says(n: int, before: Any) -> None:
    target = host_level()
    parfor = running("ps", *before)
    kernel = kernels_of(Scans(parfor, target))[0]
    verify_kernel(kernel, "scan")
    x = numpy.random.default_rng(n).normal(size=(3, n)) / 8
    mine, wanted = numpy.zeros_like(x), numpy.zeros_like(x)
    run_parfor(parfor, [wanted, x], [])
    layout = Layout(2, 2, 0, len(kernel.loops))
    words = numpy.zeros(layout.extra(0), numpy.int64)
    scratch = numpy.zeros(kernel.scratch_bytes + 64, "B")
    words[Layout.SCRATCH] = scratch.ctypes.data
    for d, extent in enumerate(x.shape):
        words[[layout.shape(d), layout.tile(d), layout.grid(d)]] = extent, extent, 1
    for k, array in enumerate((mine, x)):
        words[layout.pointer(k)] = array.ctypes.data
        words[[layout.stride(k, d) for d in (0, 1)]] = array.strides
    for k, (name, sig) in enumerate(kernel.loops):
        loop = inner_loop(row(name).fn, sig)
        assert loop is not None
        words[[layout.loop(k), layout.loop(k) + 1]] = loop.address, loop.data
    run_chunk(kernel, words, 0, 0)
    assert mine.tobytes() == wanted.tobytes()


def test_two_kernels_across_rows() -> None:
    """The first row reads no accumulators."""
    parfor = running("sp", NATIVE)
    rows, first = kernels_of(Scans(parfor, host_level()))
    assert [o.role for o in rows.operands] == ["out", "in", "inout"]
    assert [o.role for o in first.operands] == ["out", "in", "out"]


def test_verify_finds_results_of_another_type() -> None:
    kernel = kernels_of(Scans(running("s"), host_level()))[0]
    text = str(kernel)
    assert "scan add[dd->d]" in text
    blocks = next(stmt for stmt in kernel.body if isinstance(stmt, Blocks))
    wrong = tuple(replace(s, sig="ff->f") if isinstance(s, Scan) else s for s in blocks.body)
    with pytest.raises(InvalidKernel, match="running results"):
        verify_kernel(replace(kernel, body=(replace(blocks, body=wrong),)), "a test")


def test_equal_parfors_have_equal_text() -> None:
    for dims in ("s", "ps", "sp", "psp"):
        one, other = (compile_scan(running(dims, CALLED), host_level(), verify=True) for _ in range(2))
        assert one == other


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("dims, shape", [
    ("s", (10**7,)), ("ps", (10**6, 3)), ("ps", (7, 10**6)), ("pps", (100, 50, 1000)), ("sp", (1000, 1000)),
    ("sp", (3, 10**6)), ("psp", (5, 400, 1000)), ("psp", (300, 9, 40)),
    ("psp", (2, 2, 40_000)), ("ppsp", (3, 2, 5, 10**5)), ("psp", (15, 2, 3000)),
])  # fmt: skip
def test_chunks_have_whole_sequences(dims: str, shape: tuple[int, ...], threads: int) -> None:
    tile = tiles_along(dims, shape, threads)
    assert tile[dims.index("s")] == shape[dims.index("s")]
    assert all(1 <= t <= n for t, n in zip(tile, shape, strict=True))
    if dims[-1] == "p":
        assert tile[-1] <= COLUMNS
    elif len(dims) > 1:
        assert tile[-2] % ROWS == 0 or tile[-2] == shape[-2]
