"""Scanning across rows: the innermost loop is parallel, and each row is taken onto accumulators.

In:  a parfor ``p* s p`` with scans.   Out: its chunk function.
A chunk's accumulators lie side by side in scratch memory, one for each column.  A row is a map: ``acc =
op(acc, value)``, and whatever uses a running result uses that, so the body is lowered as one.  The first row
moves its values to the accumulators as they are.
"""

from __future__ import annotations

from lazyarr.codegen import emit_calls
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.loopir import Kernel
from lazyarr.codegen.lower import Lowering
from lazyarr.codegen.natives import DENSE
from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce
from lazyarr.codegen.reduce_outer import call_frame, prefetch_rows
from lazyarr.codegen.reduce_outputs import Chunk, outputs, tiles
from lazyarr.codegen.scan_plan import COLUMNS
from lazyarr.codegen.tile import tile
from lazyarr.codegen.vectorize import vectorize
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import SCAN, Inst, Operand, Parfor


def scans_of(parfor: Parfor) -> list[Inst]:
    return [inst for inst in parfor.body if inst.op == SCAN]


def as_map(parfor: Parfor, first: bool) -> Parfor:
    """One row: accumulators are operands, behind those of the parfor."""
    operands = list(parfor.operands)
    body: list[Inst] = []
    place: dict[int, int] = {}
    stores: list[Inst] = []

    def emit(inst: Inst) -> int:
        body.append(inst)
        return len(body) - 1

    for v, inst in enumerate(parfor.body):
        args = tuple(place[a] for a in inst.args)
        if inst.op != SCAN:
            place[v] = emit(inst._replace(args=args))
            continue
        char, at = inst.sig[-1], len(operands)
        assert isinstance(inst.attr, str)
        operands.append(Operand(char, "u", "out" if first else "inout"))
        if first:                       # a value in memory at a stride is none for what uses the result
            place[v] = emit(Inst(DENSE, f"{char}->{char}", args))
        else:
            acc = emit(Inst("load", char, (), at))
            place[v] = emit(Inst(inst.attr, f"{char}{char}->{char}", (acc, args[0]), 0))
        stores.append(Inst("store", char, (place[v],), at))
    return parfor._replace(operands=tuple(operands), body=(*body, *stores))


def row_kernel(r: Reduce, first: bool) -> Kernel:
    kernel = Lowering(as_map(r.parfor, first), r.target).kernel()
    return vectorize(tile(kernel, not r.target.without("tile")), r.target)


def accumulator_bytes(parfor: Parfor) -> int:
    return COLUMNS * sum(PLAIN[inst.sig[-1]].itemsize for inst in scans_of(parfor))


def across_function(r: Reduce, kernels: tuple[Kernel, ...], name: str) -> Function:
    """`kernels`: of any row, and of the first one."""
    b = Function(r.target, name, CHUNK_PARAMS)
    status = r.status(b)
    status.begin()
    if r.loops:
        emit_calls.begin(b)
    _write(r, b, *(Body(kernel, r, b) for kernel in kernels))
    if r.loops:
        emit_calls.end(b)
    status.end()
    return b


def _write(r: Reduce, b: Function, body: Body, first: Body) -> None:
    parfor, scratch = r.parfor, b.mul("%tid", str(r.scratch_bytes))
    memory = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), scratch)
    accs, at = {}, 0
    for k, inst in enumerate(scans_of(parfor), len(parfor.operands)):
        accs[k] = b.at(memory, at)
        at += COLUMNS * PLAIN[inst.sig[-1]].itemsize
    call_frame(r, b)
    for each in (body, first):
        each.scratch = b.at(memory, accumulator_bytes(parfor))
        each.use_loops()
        for k in r.rows:
            each.inner_stride(k)
    chunk = Chunk(*tiles(r, b, "%chunk"), "0", "0")
    inner, along = r.outer[-1], parfor.dims.index("s")
    low, high = chunk.low.pop(inner), chunk.high.pop(inner)
    count = b.op(f"sub i64 {high}, {low}")
    strides = {k: r.stride(b, k, along) for k in r.rows}
    starts = {k: b.mul(low, r.stride(b, k, inner)) for k in r.rows}
    with outputs(r, b, chunk, r.outer[:-1], r.rows) as (_, outer):
        begin = {k: b.at(pointer, starts[k]) for k, pointer in outer.items()}
        first.run(first.kernel.body, Range({**begin, **accs}, count))
        with b.loop("1", r.extent(b, along)) as (i, _state):
            row = {k: b.at(pointer, b.mul(i, strides[k])) for k, pointer in begin.items()}
            prefetch_rows(r, b, row, strides, count)
            body.run(body.kernel.body, Range({**row, **accs}, count))
