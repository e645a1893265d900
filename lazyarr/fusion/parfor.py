"""The parfor: what fusion makes and codegen compiles.

A parfor is one loop nest over an iteration space with a straight-line body in SSA form.  It says
nothing of sizes: shapes, strides, pointers and scalar values are arguments of a launch.  So the
parfor itself (frozen, hashable) is the kernel's signature: equal parfors share one kernel.

    parfor   = Parfor(dims, operands, scalars, body, shifts, crossed)
    dims     = one letter a loop, outermost first: 'p' parallel, 'r' reduced, 's' in sequence
    operand  = Operand(dtype, access, role)      memory, addressed by base + sum(index * stride)
    access   = how it moves along the innermost loop: 'u' unit stride, 'z' stride 0, 's' any other
    role     = 'in' | 'out' | 'inout'
    scalars  = one dtype character per runtime scalar
    body     = Inst*     value number k is the result of body[k]
    shifts   = one Shift(leader, rows, elements) an operand, or none at all: it is operand `leader`, so many
               rows (of the last loop but one) and elements further on; what is no such operand leads itself
    crossed  = of a fold ``p* p p r`` over rows crossed with columns one letter an operand, else nothing:
               'r' it moves from row to row (along the last 'p' loop but one), 'c' from column to column
               (along the last), 'n' along neither; 'o' a result, which moves along both
    inst     = Inst(op, sig, args, attr)
      ('load',   'd',     (),        k)      element of operand k (role in or inout)
      ('gather', 'd',     (v,),      k)      element of operand k, v bytes further on; v is an 'offset'
      ('offset', 'lll->l', (v, n, s), None)  v * s, where v counts from the end (from n) if negative, and is
                                             held within the n positions; n and s are runtime scalars.
                                             Of several such triples: the sum
      ('scalar', 'd',     (),        k)      runtime scalar k
      ('cast',   'd->f',  (v,),      None)   NumPy's unsafe cast
      ('where',  '?dd->d',(c, x, y), None)   x where c else y
      ('dense',  'd->d',  (v,),      None)   v; a ufunc's loop that takes it sees contiguous memory, as
                                             where NumPy buffers an operand, not v's own stride
      (ufunc,    'dd->d', (v, w),    part)   result number `part` of a ufunc's inner loop
      ('scan',   'd->d',  (v,),      ufunc)  the ufunc of its own value in the iteration before along the
                                             's' loop, and v; in the first iteration v
      ('store',  'd',     (v,),      k)      element of operand k (role out or inout)
      ('scatter', 'd',    (v, w),    k)      v to the element of operand k that lies w bytes further on; w is
                                             an 'offset'
      ('reduce', 'd',     (v,),      Reduction)   fold over the 'r' loops into operand `out`

Within one iteration every load happens before every store, and no two stores go to the same memory, so
their order does not matter.  A 'store', 'scatter' or 'reduce' has no value.  Two iterations of a 'scatter'
store to one element only if they differ in 's' loops alone.  A parfor with scans has one 's' loop, which is
the innermost or the last but one.
The memory of two operands overlaps only where fusion has proved that any order of iterations
gives the same result (equal addressing in the same iteration, or reads only).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lazyarr.records import NamedTuple


class Operand(NamedTuple):
    dtype: str
    access: str
    role: str = "in"


class Reduction(NamedTuple):
    """How one value is folded.

    `ufunc` is the binary ufunc that folds ('add', 'maximum', ...), or 'argmax' / 'argmin', or 'compress':
    the elements where `mask` is True, side by side in C order (the only reduction of its parfor, which
    has no 'p' loops; see `codegen.reduce_compress`).
    `order` is the order that gives NumPy's bits:
      'pairwise'    the innermost `group` 'r' loops are one index space, cut into runs whose length
                    is given at launch; runs and outer 'r' loops go in sequence, each run adding the
                    sum of its pairwise tree to the accumulator
      'sequential'  strictly one after the other, in the order of the loops
                    (`cut`: each stretch of elements that take part, without one that does not, is a run;
                    the order is then 'sequential', and each run lies within `group` loops; a `long` one
                    is gone through block by block, and some elements of it several times)
      'any'         associative and commutative without rounding: any order
    `out` is the operand that receives the result (stride 0 along all 'r' loops); it may be written before
    the last element is read, so its memory overlaps no other operand's.  `start` is the
    number of the runtime scalar that the accumulator starts from, or -1: from the first element.
    `mask` is the value number of a bool that says which elements take part, or -1.
    `resumes`: the accumulators of a fold across rows start from what `out` holds.
    argmax and argmin count positions in the index space of the innermost `group` loops.
    `quiet`: nobody asks for the flags of elements that cannot change the result any more.

    A parfor with reductions has its loops in one of two forms: ``p* r+``, folded along the innermost
    loop, or ``p* r+ p``, folded across rows (never 'pairwise').  `codegen.reduce_plan` arranges them.
    """

    ufunc: str
    order: str
    out: int
    start: int = -1
    mask: int = -1
    group: int = 1
    quiet: bool = False
    cut: bool = False
    long: bool = False
    resumes: bool = False


class Inst(NamedTuple):
    op: str
    sig: str
    args: tuple[int, ...] = ()
    attr: int | str | Reduction | None = None


inst_of: Any = partial(tuple.__new__, Inst)
"""Of the four parts.  (The interpreter's own constructor: that of the class takes three times as long.)"""


class Shift(NamedTuple):
    leader: int
    rows: int
    elements: int


class Parfor(NamedTuple):
    dims: str
    operands: tuple[Operand, ...]
    scalars: str
    body: tuple[Inst, ...]
    shifts: tuple[Shift, ...] = ()
    crossed: str = ""

    def __str__(self) -> str:
        lines = [f"parfor {self.dims}"]
        lines += [f"  operand {k}: {o.dtype} {o.access} {o.role}" for k, o in enumerate(self.operands)]
        lines += [
            f"  operand {k} is {s.leader}, moved by {s.rows}, {s.elements}"
            for k, s in enumerate(self.shifts) if s.leader != k
        ]  # fmt: skip
        if self.crossed:
            lines.append(f"  crossed: {self.crossed}")
        if self.scalars:
            lines.append(f"  scalars: {self.scalars}")
        for k, i in enumerate(self.body):
            args = ", ".join(f"%{a}" for a in i.args)
            attr = "" if i.attr is None else f" {i.attr}"
            lines.append(f"  %{k} = {i.op}[{i.sig}]({args}){attr}")
        return "\n".join(lines)


SCAN = "scan"

def resumes(parfor: Parfor) -> bool:
    """Does it go on with the folds of another parfor?"""
    return any(isinstance(i.attr, Reduction) and i.attr.resumes for i in parfor.body)


EFFECTS = ("store", "scatter", "reduce")
"""Instructions without a value."""


def result_char(inst: Inst) -> str:
    """Dtype character of an instruction's value."""
    _, sig, _, attr = inst
    _, _, outs = sig.partition("->")
    if not outs:
        return sig
    return outs[attr] if isinstance(attr, int) else outs[0]
