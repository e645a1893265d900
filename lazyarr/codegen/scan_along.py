"""Scanning along the innermost loop: each element waits for the one before, so rows go side by side.

In:  a parfor ``p* s`` with scans.   Out: its chunk function.
The stages before a scan leave its values in memory, block by block, unless they lie there already; a scan
is a loop over a block, one element after the other, of `ROWS` rows at a time: each has a running result in a
register; where the op has no emitter, NumPy's loop is called for each of them.  Then come the stages that use
the results.  What is left of the rows goes together, too.
A single sequence may be cut into pieces, one chunk each, which one thread runs one after the other: each
leaves its last running results, behind the scratch memory, for the next one.
"""

from __future__ import annotations

from lazyarr.codegen import emit_calls
from lazyarr.codegen.emit_lanes import element
from lazyarr.codegen.emit_rows import Range
from lazyarr.codegen.emitters_types import Value, lane
from lazyarr.codegen.loopir import Blocks, Kernel, Once, Ref, Scan, Stmt
from lazyarr.codegen.lower import Lowering
from lazyarr.codegen.native import native
from lazyarr.codegen.reduce_body import Body
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_fold import load_scalar, parts, store_scalar, whole
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS, Reduce
from lazyarr.codegen.reduce_outer import call_frame
from lazyarr.codegen.reduce_outputs import Chunk, outputs, tiles
from lazyarr.codegen.scan_plan import BOUNDS, CARRY, ROWS
from lazyarr.codegen.tile import LEAST, tile
from lazyarr.codegen.vectorize import vectorize
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor

AT_ONCE = 16
"""Elements between two branches: there the code generator's lowest level keeps values in registers."""


def staged(r: Reduce) -> Kernel:
    """The body as stages, some of which are scans."""
    kernel = Lowering(r.parfor, r.target).kernel()
    return vectorize(tile(kernel, not r.target.without("tile")), r.target)


def rows_of(parfor: Parfor) -> int:
    """Rows that are scanned side by side."""
    return 1 if parfor.dims == "s" else ROWS


def row_bytes(parfor: Parfor, scratch_bytes: int) -> int:
    """Scratch memory of a thread: each row has its own."""
    return -(-scratch_bytes // 64) * 64 * rows_of(parfor)


def along_function(r: Reduce, kernels: tuple[Kernel, ...], name: str) -> Function:
    (kernel,) = kernels
    b = Function(r.target, name, CHUNK_PARAMS)
    status = r.status(b)
    status.begin()
    if r.loops:
        emit_calls.begin(b)
    call_frame(r, b)
    _Along(r, b, kernel).write()
    if r.loops:
        emit_calls.end(b)
    status.end()
    return b


class _Along:
    """Writes the chunk function."""

    def __init__(self, r: Reduce, b: Function, kernel: Kernel) -> None:
        self.r, self.b, self.kernel = r, b, kernel
        self.body = Body(kernel, r, b)
        self.body.use_loops()
        for k in r.rows:
            self.body.inner_stride(k)
        self.scratch = "null"
        if kernel.scratch_bytes:
            own = b.mul("%tid", str(r.scratch_bytes))
            self.scratch = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), own)
        self.each = kernel.scratch_bytes and r.scratch_bytes // rows_of(r.parfor)
        self.once = tuple(stmt for stmt in kernel.body if isinstance(stmt, Once) and stmt.body)
        stmts: tuple[Stmt, ...] = tuple(stmt for stmt in kernel.body if not isinstance(stmt, Once))
        self.block = 0
        if isinstance(stmts[0], Blocks):
            self.block, stmts = stmts[0].size, stmts[0].body
        self.segments = _segments(stmts, self.once)
        self.carries = {
            id(stmt): b.alloca(f"[{CARRY * rows_of(r.parfor)} x i8]")
            for stmt in self.segments if isinstance(stmt, Scan)
        }  # fmt: skip
        self.chars = {id(stmt): stmt.sig[-1] for stmt in self.segments if isinstance(stmt, Scan)}

    def write(self) -> None:
        r, b = self.r, self.b
        chunk = Chunk(*tiles(r, b, "%chunk"), "0", "0")
        count = r.extent(b, len(r.parfor.dims) - 1)
        if not r.outer:
            with outputs(r, b, chunk, [], r.rows) as (_, at):
                self.sequence(at, count)
            return
        near = r.outer[-1]
        low, high = chunk.low.pop(near), chunk.high.pop(near)
        apart = {k: r.stride(b, k, near) for k in r.rows}
        with outputs(r, b, chunk, r.outer[:-1], r.rows) as (_, outer):
            first = low
            for n in range(ROWS, 0, -1):
                left = b.op(f"sub i64 {high}, {first}")
                last = b.add(first, b.mul(b.op(f"udiv i64 {left}, {n}"), str(n)))
                with b.loop(first, last, str(n)) as (i, _state):
                    at = {k: b.at(p, b.mul(i, apart[k])) for k, p in outer.items()}
                    self.rows(at, apart, count, n)
                first = last

    def sequence(self, at: dict[int, str], extent: str) -> None:
        """A chunk of a single sequence: all of it, or the next piece, which goes on where the one before has
        ended."""
        b, r = self.b, self.r
        bounds = b.word("%words", r.layout.extra(BOUNDS), "ptr")
        span = b.alloca("[2 x i64]")
        b.put(span, 0, "i64", "0")
        b.put(span, 8, "i64", extent)
        with b.when(b.op(f"icmp ne ptr {bounds}, null")):
            mine = b.at(bounds, b.mul("%chunk", "8"))
            b.put(span, 0, "i64", b.word(mine, 0))
            b.put(span, 8, "i64", b.word(mine, 1))
        low, high = b.word(span, 0), b.word(span, 1)
        left = b.at(b.word("%words", r.layout.SCRATCH, "ptr"), r.scratch_bytes)
        with b.when(b.op(f"icmp ne i64 {low}, 0")):
            self.hand_over(left, back=True)
        self.rows(self.body.advance(at, low), {}, b.op(f"sub i64 {high}, {low}"), 1, low)
        with b.when(b.op(f"icmp ne i64 {high}, {extent}")):
            self.hand_over(left, back=False)

    def hand_over(self, left: str, back: bool) -> None:
        """Copy the last running results to memory, or `back`."""
        for k, (scan, carry) in enumerate(self.carries.items()):
            char, place = self.chars[scan], self.b.at(left, CARRY * k)
            source, to = (place, carry) if back else (carry, place)
            store_scalar(self.b, char, load_scalar(self.b, char, source), to)

    def rows(
        self, at: dict[int, str], apart: dict[int, str], count: str, n: int, origin: str = "0"
    ) -> None:
        """`n` rows in blocks, from their beginning, or from the element `origin`, to the end."""
        b = self.b
        if not self.block:
            self.blocks(at, apart, origin, count, n)
            return
        size = max(LEAST, self.block // n)
        with b.loop("0", count, str(size)) as (start, _):
            left = b.smaller(b.op(f"sub i64 {count}, {start}"), str(size))
            number = start if origin == "0" else b.add(origin, start)
            self.blocks(self.body.advance(at, start), apart, number, left, n)

    def blocks(self, at: dict[int, str], apart: dict[int, str], start: str, count: str, n: int) -> None:
        """One block of `n` rows: `at` are the addresses of the first row's elements."""
        for segment in self.segments:
            if isinstance(segment, Scan):
                pointers = [_further(self.b, at, apart, str(k)) for k in range(n)]
                self.scan(segment, pointers, start, count)
            elif n == 1:
                self.stages(segment, at, "0", count)
            else:
                with self.b.loop("0", str(n)) as (k, _):
                    self.stages(segment, _further(self.b, at, apart, k), k, count)

    def stages(self, stmts: tuple[Stmt, ...], at: dict[int, str], row: str, count: str) -> None:
        self.body.scratch = self.own(row)
        self.body.run((*self.once, *stmts), Range(at, count))

    def own(self, row: str) -> str:
        """The scratch memory of a row."""
        return self.scratch if row == "0" else self.b.at(self.scratch, self.b.mul(row, str(self.each)))

    def scan(self, scan: Scan, rows: list[dict[int, str]], start: str, count: str) -> None:
        """One element after the other, of all rows at a time."""
        b, char, carry = self.b, scan.sig[-1], self.carries[id(scan)]
        emit = native(scan.op, scan.sig, b.target)
        sources = [self.first(scan.source, row, k) for k, row in enumerate(rows)]
        targets = [self.first(scan.target, row, k) for k, row in enumerate(rows)]
        carries = [b.at(carry, CARRY * k) for k in range(len(rows))]
        fresh = b.op(f"icmp eq i64 {start}, 0")
        if emit is None:
            for source, target, kept in zip(sources, targets, carries, strict=True):
                self.called(scan, source, target, kept, fresh, count)
            return
        with b.when(fresh):
            for source, target, kept in zip(sources, targets, carries, strict=True):
                value = load_scalar(b, char, source)
                store_scalar(b, char, value, target)
                store_scalar(b, char, value, kept)
        begin = b.op(f"zext i1 {fresh} to i64")
        running = [part for kept in carries for part in parts(load_scalar(b, char, kept))]
        many = 1 << (AT_ONCE // len(rows)).bit_length() - 1
        end = b.add(begin, b.op(f"and i64 {b.op(f'sub i64 {count}, {begin}')}, {-many}"))
        for low, high, n in ((begin, end, many), (end, count, 1)):
            with b.loop(low, high, str(n), [(lane(char), part) for part in running]) as (i, state):
                accs = _paired(state.now, len(rows))
                for k in range(n):
                    at = b.add(i, str(k)) if k else i
                    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
                        value = load_scalar(b, char, self.element(scan.source, source, at))
                        accs[row] = emit(b, [accs[row], value])[0]
                        store_scalar(b, char, accs[row], self.element(scan.target, target, at))
                state.next = [part for acc in accs for part in parts(acc)]
            running = state.after
        for kept, acc in zip(carries, _paired(running, len(rows)), strict=True):
            store_scalar(b, char, acc, kept)

    def called(self, scan: Scan, source: str, target: str, kept: str, fresh: str, count: str) -> None:
        """One row by NumPy's loop, as NumPy does it: each result is the next one's operand."""
        b, char = self.b, scan.sig[-1]
        loop = self.kernel.loops.index((scan.op, scan.sig))
        with b.when(fresh):
            store_scalar(b, char, load_scalar(b, char, source), target)
        with b.when(b.op(f"xor i1 {fresh}, true")):
            self.body.call_on(loop, (kept, source, target), ("0", "0", "0"), "1")
        by, to = self.step(scan.source), self.step(scan.target)
        rest = b.op(f"sub i64 {count}, 1")
        self.body.call_on(loop, (target, b.at(source, by), b.at(target, to)), (to, by, to), rest)
        last = self.element(scan.target, target, b.op(f"sub i64 {count}, 1"))
        store_scalar(b, char, load_scalar(b, char, last), kept)

    def first(self, ref: Ref, row: dict[int, str], k: int) -> str:
        """Where the first element of a block lies, in one of the rows."""
        self.body.scratch = self.own(str(k))
        return self.body.base(ref, row)

    def step(self, ref: Ref) -> str:
        """Bytes from an element to the next one."""
        if ref.access == "u":
            return str(PLAIN[ref.char].itemsize)
        return "0" if ref.access == "z" else self.body.inner_stride(ref.index)

    def element(self, ref: Ref, first: str, index: str) -> str:
        b = self.b
        if ref.access == "u":
            return b.op(f"getelementptr {element(ref.char)}, ptr {first}, i64 {index}")
        return first if ref.access == "z" else b.at(first, b.mul(index, self.body.inner_stride(ref.index)))


def _segments(stmts: tuple[Stmt, ...], once: tuple[Once, ...]) -> list[Scan | tuple[Stmt, ...]]:
    """Scans, and the stages between; what is computed once comes before all of them."""
    found: list[Scan | tuple[Stmt, ...]] = [()] if once else []
    for stmt in stmts:
        if isinstance(stmt, Scan):
            found.append(stmt)
        elif found and isinstance(found[-1], tuple):
            found[-1] = (*found[-1], stmt)
        else:
            found.append((stmt,))
    return found


def _further(b: Function, at: dict[int, str], apart: dict[int, str], rows: str) -> dict[int, str]:
    """Addresses some rows further on."""
    if rows == "0":
        return at
    return {k: b.at(pointer, b.mul(rows, apart[k])) for k, pointer in at.items()}


def _paired(names: list[str], rows: int) -> list[Value]:
    """One running result for each row."""
    each = len(names) // rows
    return [whole(names[k : k + each]) for k in range(0, len(names), each)]
