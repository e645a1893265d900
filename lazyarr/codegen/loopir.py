"""Loop IR: what runs at one position of the outer loops, as loops over the innermost one.

In:  `lower` makes it from a parfor; `tile` and `vectorize` refine it.   Out: `emit` writes LLVM IR from it.

    kernel = Kernel(rank, operands, scalars, loops, slots, block, body, jam)
    body   = stmt*           run at every position of the outer loops, on the range [lo, hi) of the
                             innermost one; each statement's elements are counted from the range's start
    stmt   = Once(lane*)              once, before all elements: what does not vary along the range
           | Blocks(size, stmt*)      the range in blocks of at most `size` elements, in order
           | Loop(part, lanes, lane*)
                                      `lanes` elements at once (0: one, as scalars).  part 'main': as
                                      many as divide evenly; 'more': the same of what the 'main' loop
                                      before it left; 'rest': all that the loop before it left; 'all':
                                      every element
           | Call(loop, ins, outs)    NumPy's inner loop number `loop` over the elements
           | Scan(op, sig, source, target)
                                      running results over the elements; the last is kept for the next block
    lane   = Load(value, ref)
           | Gather(value, ref, offset)       a Load so many bytes further on; `offset` is an 'offset' op's
           | Apply(values, op, sig, args)     the results of one op; -1: nobody uses that one
           | Store(ref, value)
           | Scatter(ref, value, offset)      a Store so many bytes further on, lane after lane
           | Call(loop, ins, outs)            in a Once: over a single element
    ref    = Ref(space, index, char, access)  where elements lie
    space  = 'operand' | 'scalar' (runtime scalars) | 'slot' (scratch of the thread)
           | 'place'                  of an operand, not the elements but where they lie: their addresses
    access = 'u' next to each other | 'z' one for all | 's' at the operand's own stride
    slot   = Slot(char, single)       memory for one element, or for one block of elements
    jam    = Jam(rows, across, begin, end, pace)
                                      so many rows side by side, which share what they load

A value is a number, defined once before it is used, in the same Loop or in a Once.  In one Loop all
loads of an element happen before its stores.  Bool lies in memory as a byte, complex as two parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyarr.fusion.parfor import Operand, Shift
from lazyarr.records import dataclass

PLACE = "place"


@dataclass(frozen=True, slots=True)
class Ref:
    space: str
    index: int
    char: str
    access: str

    def __str__(self) -> str:
        return f"{self.space}{self.index}:{self.char}{self.access}"


@dataclass(frozen=True, slots=True)
class Load:
    value: int
    ref: Ref


@dataclass(frozen=True, slots=True)
class Gather:
    value: int
    ref: Ref
    offset: int


@dataclass(frozen=True, slots=True)
class Apply:
    values: tuple[int, ...]
    op: str
    sig: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Store:
    ref: Ref
    value: int


@dataclass(frozen=True, slots=True)
class Scatter:
    ref: Ref
    value: int
    offset: int


@dataclass(frozen=True, slots=True)
class Call:
    loop: int
    ins: tuple[Ref, ...]
    outs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    op: str
    sig: str
    source: Ref
    target: Ref


Lane = Load | Gather | Apply | Store | Scatter | Call


@dataclass(frozen=True, slots=True)
class Once:
    body: tuple[Lane, ...]


AFTER_MAIN = ("more", "rest")
"""Parts that begin where the loop before them ended."""


@dataclass(frozen=True, slots=True)
class Loop:
    part: str
    lanes: int
    body: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    size: int
    body: tuple[Stmt, ...]


Stmt = Once | Loop | Call | Scan | Blocks


@dataclass(frozen=True, slots=True)
class Slot:
    char: str
    single: bool
    offset: int = -1
    """From the start of the thread's scratch memory, in bytes; -1: not placed yet."""


@dataclass(frozen=True, slots=True)
class Jam:
    """How rows of the last loop but one run side by side."""

    rows: int
    across: tuple[tuple[int, int, int, int], ...]
    """Rows of arrays whose vectors are loaded whole, what lies between them being shuffled: leading operand,
    how many rows further on, and which vectors, as -1 to 1: those from `pace` before the results on."""
    begin: int
    end: int
    """At positions from `begin` on, up to the row's number of elements and (less than none) `end` more."""
    pace: int = 64
    """Bytes from one such vector to the next."""


@dataclass(frozen=True, slots=True)
class Kernel:
    rank: int
    operands: tuple[Operand, ...]
    scalars: str
    loops: tuple[tuple[str, str], ...]
    """Ufunc and signature of each of NumPy's inner loops."""
    slots: tuple[Slot, ...]
    block: int
    """Elements that a slot has room for; 0: none is needed, or not chosen yet."""
    scratch_bytes: int
    body: tuple[Stmt, ...]
    nontemporal: bool = False
    """Whole vectors of contiguous operands are stored past the caches."""
    shifts: tuple[Shift, ...] = ()
    """Which operands are others, further on (`fusion.parfor`), where that is of interest."""
    jams: tuple[Jam, ...] = ()
    """Each for the rows that those before have left."""
    hot: bool = False
    """It is worth more code."""

    def __str__(self) -> str:
        lines = [f"kernel rank {self.rank} block {self.block} scratch {self.scratch_bytes}"]
        lines += [f"  operand {k}: {o.dtype} {o.access} {o.role}" for k, o in enumerate(self.operands)]
        if self.scalars:
            lines.append(f"  scalars: {self.scalars}")
        lines += [f"  loop {k}: {name} {sig}" for k, (name, sig) in enumerate(self.loops)]
        for jam in self.jams:
            lines.append(f"  jam: {jam.rows} rows, whole from {jam.begin} to {jam.end}")
            lines += ["  whole: operand {} row {} vectors {} to {}".format(*each) for each in jam.across]
        for k, slot in enumerate(self.slots):
            lines.append(f"  slot {k}: {slot.char} {'single' if slot.single else 'block'} at {slot.offset}")
        return "\n".join(lines + [line for stmt in self.body for line in printed(stmt, "  ")])


def printed(stmt: Stmt | Lane, indent: str) -> Iterator[str]:
    """The lines of one statement."""
    match stmt:
        case Load(value, ref):
            yield f"{indent}%{value} = load {ref}"
        case Gather(value, ref, offset):
            yield f"{indent}%{value} = gather {ref}, %{offset}"
        case Scatter(ref, value, offset):
            yield f"{indent}scatter {ref}, %{value}, %{offset}"
        case Apply(values, op, sig, args):
            names = ", ".join(f"%{v}" if v >= 0 else "_" for v in values)
            yield f"{indent}{names} = {op}[{sig}]({', '.join(f'%{a}' for a in args)})"
        case Store(ref, value):
            yield f"{indent}store {ref}, %{value}"
        case Call(loop, ins, outs):
            yield f"{indent}call loop{loop}({', '.join(map(str, ins))}) -> {', '.join(map(str, outs))}"
        case Scan(op, sig, source, target):
            yield f"{indent}scan {op}[{sig}] {source} -> {target}"
        case Once(body):
            yield f"{indent}once"
            for inner in body:
                yield from printed(inner, indent + "  ")
        case Blocks(size, stmts):
            yield f"{indent}blocks of {size}"
            for part in stmts:
                yield from printed(part, indent + "  ")
        case Loop(part, lanes, body):
            yield f"{indent}loop {part} lanes {lanes}"
            for inner in body:
                yield from printed(inner, indent + "  ")


def arguments(lane: Lane) -> tuple[int, ...]:
    """The values that a lane instruction takes."""
    if isinstance(lane, Apply):
        return lane.args
    if isinstance(lane, Gather):
        return (lane.offset,)
    if isinstance(lane, Scatter):
        return lane.value, lane.offset
    return (lane.value,) if isinstance(lane, Store) else ()


def applies(stmts: tuple[Stmt, ...]) -> Iterator[Apply]:
    """Every native op of a kernel."""
    for stmt in stmts:
        if isinstance(stmt, Blocks):
            yield from applies(stmt.body)
        elif isinstance(stmt, Once | Loop):
            yield from (lane for lane in stmt.body if isinstance(lane, Apply))
