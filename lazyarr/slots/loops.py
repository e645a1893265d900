"""Operators on small arrays by NumPy's inner loops alone, in machine code.

In:  operands of which one is a plain array that lies in one run, the other a plain array of the same type and
shape, or a scalar that is one of that type, or windows on parts; a table of loops (`loop_tables`).
Out: what NumPy gives for them, from the loop that it would choose; what has to be broadcast or cast goes on
to `nests` and `mixed`, all else to the whole of NumPy.
What NumPy does around a loop takes ten times as long as the loop on a hundred elements.  What that settles is
settled here by looks at fields: nothing is cast, nothing broadcast but a scalar, the result lies in C order.
Only loops are called of which each element has the same bits whatever its neighbours and strides.

A loop reports errors by the CPU's status.  Where it leaves some, what was computed is thrown away, and NumPy
does it again, with its warnings.  So operators in place compute aside; they may then read what they write,
too, as in NumPy.
Always holds: no Python runs before the result is made, and nobody else gets a turn.
"""

from __future__ import annotations

from lazyarr.object_fields import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    ITEMSIZE,
    NDIM,
    STRIDES,
    TYPE,
    VALUE,
    WRITEABLE,
)  # fmt: skip
from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.framed import LOOPS
from lazyarr.slots.known import Known
from lazyarr.slots.loop_calls import (
    ARGS,
    CAST,
    EXACT,
    KINDS,
    LOOP,
    MOST,
    NUMPYS,
    OF,
    OTHER,
    RESULT,
    SCALAR,
    SECOND,
    STEPS,
    TURNED,
    WORDS,
    LoopCalls,
    N,
)
from lazyarr.slots.loop_tables import ASIDE, DOUBLE, INTEGER, LONE, SINGLE, TABLE, UFUNCS, word_of
from lazyarr.slots.x86 import R8, R9, R10, R11, R13, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP


class Loops(LoopCalls):
    """Writes the bodies; those of `bodies` go on where these do not answer."""

    def __init__(self, asm: Assembler, known: Known) -> None:
        super().__init__(asm, known)
        for write in (
            self.comparison, self.scalar_first, self.binary, self.ufunc, self.loop, self.unary, self.of_one,
            self.lone, self.in_place, self.over, self.reals, self.named, self.plain, self.step,
        ):  # fmt: skip
            write()

    # ------------------------------------------------------------------------------- bodies

    def comparison(self) -> None:
        """(a, b, what): r9 are the tables of all six."""
        a = self.asm
        a.label("scalar compared")
        self.compare(At(RSI, TYPE), self.known.lazy, RAX)
        a.jump_if("other", "scalar alone")
        a.label("comparison")
        a.constant(RAX, TABLE)
        a.multiply(RAX, RDX)
        a.increase(R9, RAX)
        a.jump("binary")

    def scalar_first(self) -> None:
        """(scalar of NumPy's, b, c): NumPy would ask the array in a long way (`calls`)."""
        a = self.asm
        a.label("scalar first")
        self.compare(At(RSI, TYPE), self.known.lazy, RAX)
        a.jump_if("equal", "binary")
        a.label("scalar alone")
        a.jump_to(R11)

    def binary(self) -> None:
        """(a, b, c), into a new array."""
        a = self.asm
        a.label("binary")
        self.enter()
        a.store(LOOPS, R9)
        a.test(R9)
        a.jump_if("equal", "binary by NumPy")
        self.call_or("loop", "binary by NumPy")
        a.copy(R13, RAX)
        a.jump("answer")

    def ufunc(self) -> None:
        """rbp: operands of a ufunc, two, by position; rax: NumPy's ufunc."""
        a = self.asm
        a.label("ufunc named so")
        a.call("loops of two")
        a.test(R9)
        a.jump_if("equal", "ufunc whole")
        a.push(RBX, RBP)
        a.load(RBX, At(RBP))
        a.load(RBP, At(RBP, 8))
        a.call("loop")
        a.pop(RBP, RBX)
        a.test(RAX)
        a.jump_if("equal", "ufunc whole")
        a.copy(R13, RAX)
        a.jump("answer")

    def loop(self) -> None:
        """rbx, rbp: operands.   r9: the table.   rax: a new real array, or zero, if it is not made here."""
        a = self.asm
        a.label("loop")
        a.push(R15)
        self._begin("binary")
        self._second("binary")
        self._new("binary")
        a.load(RCX, At(R15, DTYPE))
        a.load(RCX, At(RCX, ITEMSIZE))
        a.load(RDX, At(R15, DATA))
        self._run()
        self.checked("binary loop raised")
        self._end("binary")

    def unary(self) -> None:
        """(a), into a new array."""
        a = self.asm
        a.label("unary")
        self.enter()
        a.store(LOOPS, R9)
        a.test(R9)
        a.jump_if("equal", "unary by NumPy")
        self.call_or("lone loop", "unary by NumPy")
        a.copy(R13, RAX)
        a.jump("answer")

    def of_one(self) -> None:
        """rbp: operands of a ufunc, one, by position; on the stack NumPy's ufunc."""
        a = self.asm
        a.label("ufunc of one")
        a.load(RAX, At(RSP, 16))
        a.call("loops of one")
        a.test(R9)
        a.jump_if("equal", "ufunc one")
        a.push(RBX, RBP)
        a.load(RBX, At(RBP))
        a.call("lone loop")
        a.pop(RBP, RBX)
        a.test(RAX)
        a.jump_if("equal", "ufunc one")
        a.copy(R13, RAX)
        a.jump("answer")

    def lone(self) -> None:
        """rbx: an operand.   r9: the table.   rax: a new real array, or zero, if it is not made here."""
        a = self.asm
        a.label("lone loop")
        self.reserve(WORDS, R15)
        a.copy(RDI, RBX)
        a.call("plain")
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("equal", "lone loop not")
        a.zero(RAX)
        a.store(TURNED, RAX)
        self._row("lone")
        self.quiet("lone")
        self._new("lone")
        a.load(RCX, At(R15, DTYPE))
        a.load(RCX, At(RCX, ITEMSIZE))
        a.load(RDX, At(R15, DATA))
        self._run(8)
        self.checked("lone loop raised")
        self._end("lone")

    def in_place(self) -> None:
        """(a, b, c), into a."""
        a = self.asm
        a.label("in_place")
        self.enter()
        a.store(LOOPS, R9)
        a.test(R9)
        a.jump_if("equal", "in_place by NumPy")
        self.call_or("loop over", "in_place by NumPy")
        self.count()
        a.jump("in_place counts")

    def over(self) -> None:
        """rbx, rbp: operands, the first of them an array to write to.   r9: the table.   rax: zero, if it is
        not done here."""
        a, k = self.asm, self.known
        a.label("loop over")
        a.push(R15)
        self._begin("in_place")
        a.load_int(RAX, At(R15, FLAGS))
        a.test_int(RAX)                             # NumPy has something to say first
        a.jump_if("negative", "in_place loop not")
        a.keep(RAX, WRITEABLE)
        a.jump_if("equal", "in_place loop not")
        a.load(RAX, LOOP)
        a.load(RCX, At(RAX, RESULT))
        a.compare(At(RAX, NUMPYS), RCX)
        a.jump_if("other", "in_place loop not")
        self._second("in_place")
        a.load(RCX, At(R15, DTYPE))
        a.load(RCX, At(RCX, ITEMSIZE))
        a.constant(RDX, k.room)
        self._run()
        self.checked("in_place loop not")
        a.constant(RSI, k.room)
        a.load(RDI, At(R15, DATA))
        a.load(RDX, At(RSP, N))
        a.load(RCX, At(RSP, STEPS))
        a.load(RAX, At(RSP, STEPS + 16))
        a.compare(RAX, RCX)
        a.jump_if("other", "in_place loop apart")
        a.multiply(RDX, RAX)
        self.call("memcpy")
        a.label("in_place loop done")
        a.constant(RAX, 1)
        a.jump("in_place loop leave")
        a.label("in_place loop apart")              # elements with others in between
        a.compare_number(RAX, 8)
        a.jump_if("other", "in_place loop not")
        a.label("in_place loop next")
        a.load(RAX, At(RSI))
        a.store(At(RDI), RAX)
        a.add(RSI, 8)
        a.increase(RDI, RCX)
        a.count_down(RDX)
        a.jump_if("other", "in_place loop next")
        a.jump("in_place loop done")
        a.label("in_place loop not")
        a.zero(RAX)
        a.label("in_place loop leave")
        self.release(WORDS, R15)
        a.leave()

    def reals(self) -> None:
        """r15, rax: operands that are real arrays (windows on parts, say) or scalars.   r9: the table, or
        zero.   rax: as of the routine for plain ones."""
        a = self.asm
        for label, routine in (
            ("loop of reals", "loop"), ("loop over reals", "loop over"), ("lone loop of real", "lone loop"),
        ):  # fmt: skip
            a.label(label)
            a.test(R9)
            a.jump_if("equal", "reals not")
            self.reserve(8, RBX, RBP)
            a.copy(RBX, R15)
            a.copy(RBP, RAX)
            a.call(routine)
            self.release(8, RBX, RBP)
            a.leave()
        a.label("reals not")
        a.zero(RAX)
        a.leave()

    # -------------------------------------------------------------------------------- parts

    def _new(self, body: str) -> None:
        """r15: a new array of the shape of the one in r15, of the result's type."""
        a = self.asm
        self.begin_result()
        a.load_int(RDX, At(R15, NDIM))
        a.load(RCX, At(R15, DIMS))
        self.make_array()
        a.copy(R15, RAX)
        a.test(RAX)
        a.jump_if("equal", f"{body} loop no memory")

    def _end(self, body: str) -> None:
        """rax: the array in r15; or zero."""
        a = self.asm
        a.copy(RAX, R15)
        a.jump(f"{body} loop leave")
        a.label(f"{body} loop no memory")           # NumPy says so
        self.call("PyErr_Clear")
        a.jump(f"{body} loop not")
        a.label(f"{body} loop raised")
        self.on("Py_DecRef", R15)
        a.label(f"{body} loop not")
        a.zero(RAX)
        a.label(f"{body} loop leave")
        if body == "binary":
            a.load(RDI, CAST)
            a.test(RDI)
            a.jump_if("equal", "binary loop done")
            a.store(LOOP, RAX)
            self.on("Py_DecRef", RDI)
            a.load(RAX, LOOP)
            a.label("binary loop done")
        self.release(WORDS, R15)
        a.leave()

    def _begin(self, body: str) -> None:
        """r15: the first array, which has a loop; its step and elements, and the other operand, are noted."""
        a = self.asm
        leave = f"{body} loop not"
        a.add(RSP, -WORDS)
        a.zero(RDX)                                 # where the array is
        if body == "binary":
            a.store(CAST, RDX)
        a.copy(RDI, RBP)
        a.call("plain")
        a.copy(R8, RAX)
        a.copy(RDI, RBX)
        a.call("plain")
        a.copy(R15, RAX)
        a.copy(R10, RBP)                            # what may be no array
        a.test(RAX)
        a.jump_if("other", f"{body} loop array")
        if body == "in_place":
            a.jump(leave)
        else:
            a.test(R8)
            a.jump_if("equal", leave)
            a.copy(R15, R8)
            a.copy(R10, RBX)
            a.zero(R8)
            a.add(RDX, 8)
        a.label(f"{body} loop array")
        a.store(SECOND, R8)
        a.store(OTHER, R10)
        a.store(TURNED, RDX)
        self._row(body)

    def _row(self, body: str) -> None:
        """The row for the array in r15; its step and elements are noted."""
        a, leave = self.asm, f"{body} loop not"
        self.find_loop(leave, NUMPYS)
        a.copy(RDI, R15)
        a.call("step")
        if body != "binary":
            a.test(RAX)
            a.jump_if("equal", leave)
        a.load(RCX, TURNED)
        a.increase(RCX, RSP)
        a.store(At(RCX, STEPS), RAX)
        a.load(RAX, At(R15, DATA))
        a.store(At(RCX, ARGS), RAX)
        a.call("size")
        a.store(At(RSP, N), RAX)
        if body != "binary":
            self._few(ASIDE if body == "in_place" else MOST, leave)

    def _few(self, most: int, leave: str) -> None:
        """rax: elements.   On to a label if there are none, or more than so many."""
        a = self.asm
        a.add(RAX, -1)
        a.compare_number(RAX, min(most, max(self.known.eager, 1)) - 1)
        a.jump_if("above", leave)

    def _second(self, body: str) -> None:
        """The other operand, an array or a scalar, is noted."""
        a, k = self.asm, self.known
        leave, scalar, placed = (f"{body} loop {name}" for name in ("not", "scalar", "placed"))
        apart = f"{body} loop nest" if body == "binary" else leave
        self.quiet(body)
        a.load(RDI, SECOND)
        a.test(RDI)
        a.jump_if("equal", scalar)
        a.load(RAX, At(R15, DTYPE))
        a.compare(At(RDI, DTYPE), RAX)
        a.jump_if("other", f"{body} loop types" if body == "binary" else leave)
        a.label(f"{body} loop typed")
        a.load_int(RCX, At(R15, NDIM))
        a.load_int(RAX, At(RDI, NDIM))
        a.compare(RAX, RCX)
        a.jump_if("other", apart)
        a.test(RCX)
        a.jump_if("equal", leave)
        a.load(R8, At(R15, DIMS))
        a.load(RDX, At(RDI, DIMS))
        a.label(f"{body} loop axis")
        a.load(RAX, At(R8))
        a.compare(At(RDX), RAX)
        a.jump_if("other", apart)
        a.add(R8, 8)
        a.add(RDX, 8)
        a.count_down(RCX)
        a.jump_if("other", f"{body} loop axis")
        self.call_or("step", apart)
        a.store(At(RSP, STEPS + 8), RAX)
        a.load(RAX, At(RDI, DATA))
        a.store(At(RSP, ARGS + 8), RAX)
        a.jump(placed)

        a.label(scalar)
        a.load(R8, OTHER)
        a.load(RCX, At(R8, TYPE))
        a.load(RDX, LOOP)
        a.compare(At(RDX, OF), RCX)
        a.jump_if("equal", f"{scalar} typed")
        a.load(RDX, At(RDX, KINDS))
        a.keep(RDX, DOUBLE | SINGLE | INTEGER)
        a.jump_if("equal", leave)
        self.compare(RCX, k.integers, RAX)
        a.jump_if("equal", f"{scalar} integer")
        self.compare(RCX, k.floats, RAX)
        a.jump_if("other", leave)
        a.compare_number(RDX, INTEGER)
        a.jump_if("equal", leave)
        a.load(RAX, At(R8, VALUE))                  # (an object of another type may end before)
        a.store(SCALAR, RAX)
        a.jump(f"{scalar} rounded")

        a.label(f"{scalar} integer")
        a.copy(RDI, R8)
        a.call("integer")
        a.store(SCALAR, RAX)
        a.test(RDX)
        a.jump_if("equal", leave)
        a.load(RDX, LOOP)
        a.load(RDX, At(RDX, KINDS))
        a.keep(RDX, DOUBLE | SINGLE | INTEGER)
        a.compare_number(RDX, INTEGER)
        a.jump_if("equal", f"{scalar} placed")
        a.load(RAX, SCALAR)
        a.place(RCX, At(RAX, EXACT))
        a.compare_number(RCX, 2 * EXACT)
        a.jump_if("above", leave)
        a.to_double(SCALAR)
        a.label(f"{scalar} rounded")
        a.compare_number(RDX, SINGLE)
        a.jump_if("other", f"{scalar} placed")
        a.to_single(SCALAR)                         # some loops take back what they find
        self.unless_errors(leave)
        a.jump(f"{scalar} placed")
        a.label(f"{scalar} typed")
        a.place(RAX, At(R8, VALUE))                 # (where it stays, since somebody holds it)
        a.jump(f"{scalar} found")
        a.label(f"{scalar} placed")
        a.place(RAX, SCALAR)
        a.label(f"{scalar} found")
        a.constant(RCX, 8)
        a.decrease(RCX, TURNED)
        a.increase(RCX, RSP)
        a.store(At(RCX, ARGS), RAX)
        a.zero(RAX)
        a.store(At(RCX, STEPS), RAX)
        a.label(placed)
        if body == "binary":
            a.load(RCX, TURNED)
            a.increase(RCX, RSP)
            a.compare_number(At(RCX, STEPS), 0)
            a.jump_if("equal", apart)
            a.load(RAX, At(RSP, N))
            self._few(MOST, leave)

    def _run(self, behind: int = 16) -> None:
        """The loop; rcx, rdx: the result's step and its address, whose place is behind the operands'."""
        a = self.asm
        a.store(At(RSP, STEPS + behind), RCX)
        a.store(At(RSP, ARGS + behind), RDX)
        self.call_loop()

    # ----------------------------------------------------------------------------- routines

    def named(self) -> None:
        """rax: NumPy's ufunc.   r9: its table, or zero; rcx is lost, nothing else."""
        a = self.asm
        for label, names in (("loops of two", UFUNCS), ("loops of one", LONE)):
            a.label(label)
            for name in names:
                a.constant(R9, word_of(name))
                self.compare(RAX, f"ufunc {name}", RCX)
                a.jump_if("equal", "loops found")
            a.zero(R9)
            a.leave()
        a.label("loops found")
        a.leave()

    def plain(self) -> None:
        """rdi: an operand.   rax: the real array of a plain one, a real one itself (a window, or NumPy's
        own), else zero; rcx is lost, nothing else."""
        a, k = self.asm, self.known
        a.label("plain")
        a.copy(RAX, RDI)
        self.compare(At(RDI, TYPE), k.real, RCX)
        a.jump_if("equal", "plain leave")
        self.compare(At(RDI, TYPE), k.lazy, RCX)
        a.jump_if("other", "plain not")
        self.compare(At(RDI, k.storage), k.none, RCX)
        a.jump_if("other", "plain not")
        a.load(RAX, At(RDI, k.geo))
        a.test(RAX)
        a.jump_if("equal", "plain leave")
        self.compare(At(RAX, TYPE), k.real, RCX)
        a.jump_if("equal", "plain leave")
        a.label("plain not")
        a.zero(RAX)
        a.label("plain leave")
        a.leave()

    def step(self) -> None:
        """rdi: an array.   rax: bytes from each of its elements to the next, in C order, if that is the same
        everywhere; else zero, also if it has no axes, or is not aligned; rcx is lost, nothing else."""
        a = self.asm
        a.label("step")
        self.unless_flagged(RDI, ALIGNED, "step leave")
        a.load_int(RCX, At(RDI, NDIM))
        a.compare_number(RCX, 1)
        a.jump_if("equal", "step along")
        a.jump_if("below", "step none")
        self.unless_flagged(RDI, C_CONTIGUOUS, "step leave")
        a.load(RAX, At(RDI, DTYPE))
        a.load(RAX, At(RAX, ITEMSIZE))
        a.leave()
        a.label("step along")
        a.load(RAX, At(RDI, STRIDES))
        a.load(RAX, At(RAX))
        a.leave()
        a.label("step none")
        a.zero(RAX)
        a.label("step leave")
        a.leave()
