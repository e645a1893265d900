"""A function over lanes -> the text of a loop that kernels call as they call NumPy's inner loops.

In:  a `Function`, a loop signature, `Target`.
Out: `Module`: ``void f(char **args, intp *dims, intp *steps, void *data)``.
Holds: every element goes through the same operations, whichever of the loops it is in (`writer`, `flowing`).

A complex operand is two numbers for a function, one after the other, and so is a complex result.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.divided import Divided
from lazyarr.codegen.mathlib.flowing import Flow
from lazyarr.codegen.mathlib.in_stages import Stages
from lazyarr.codegen.mathlib.lanes import Mask, Precision, Raised, Real
from lazyarr.codegen.mathlib.writer import MOSTLY, SELDOM, Reals, Writer
from lazyarr.codegen.pipeline import Module
from lazyarr.codegen.symbols import symbol_of
from lazyarr.records import dataclass, replace
from lazyarr.target import Target


@dataclass(frozen=True, slots=True)
class Short:
    """A way that vectors take of which all elements allow it."""

    where: Callable[..., Mask]
    """Which elements do."""
    found: Callable[..., tuple[Real | Reals, Mask]]
    """The results, the same as those of `Function.rare`; and where they do not hold after all."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function for one precision of its lanes; dtypes are converted to that and back."""

    operands: int
    precision: Precision
    fast: Callable[..., tuple[Real | Reals, Mask | None]]
    """The results, and for which elements they do not hold."""
    rare: Callable[..., tuple[Real | Reals, Raised]] | None
    """The results for these, and the flags that they raise; None: there are no such elements."""
    known: Callable[..., tuple[Real, Mask, Raised]] | None = None
    """Of the result of the fast path and the operands, in lanes for which it does not hold: the result, for
    which lanes it holds after all, and the flags that these raise.  Such lanes do not wait."""
    nans: bool = False
    """Is a NaN's result this NaN, without a flag?  Such lanes do not wait either."""
    needs: Callable[[Target], str] | None = None
    """Scalar functions that `rare` calls."""
    shorts: tuple[Short, ...] = ()
    """The first one that applies is taken."""
    fused: bool | None = True
    """Does it take one rounding for a product and a sum (`arithmetic.fma`)?  None: as the CPU does, which no
    result shows, as float16 has few bits (a test tries all numbers)."""
    registers: int = 1
    """How many of AVX-512's are computed side by side: two or four where that hides latencies and needs few
    more.  What does not fill them is computed in one (`divided`)."""
    registers_avx: int = 1
    """The same of AVX2, which has half as many: one or two."""
    registers_unfused: int = 2
    """The same of CPUs without fused products: two or four, so that emulated operations, which are slow,
    overlap."""
    flow: Stages | None = None
    """Of long rows on AVX-512 (`flowing`)."""

    def side_by_side(self, target: Target) -> int:
        """How many registers are computed so."""
        if not target.fma:
            return self.registers_unfused
        return {64: self.registers, 32: self.registers_avx}.get(target.vector_bytes, 1)


def write(function: Function, sig: str, target: Target) -> Module:
    """The text of a function's loop for a signature, whose dtypes are of one precision.

    Elements that do not fill the registers side by side have a loop with one (two where products are not
    fused), as most of what those computed would be for nothing; long rows of elements side by side may have
    one whose vectors overlap."""
    alone = replace(function, registers=1, registers_avx=1, registers_unfused=2)
    several = function.side_by_side(target) > alone.side_by_side(target)
    ways = [Writer(alone, sig, target, "rest")]
    parts: list[Divided] = []
    if several:
        groups = Writer(function, sig, target, "groups", False)
        # Beginning two parts costs more than a few groups gain, but for AVX-512.
        least = groups.width if target.vector_bytes == 64 else 4 * groups.width
        ways.append(groups)
        parts.append(Divided("grouped", "groups", "rest", groups.width, least))
    if function.flow and target.x86 and target.vector_bytes == 64:
        flow = Flow(function, sig, target)
        ways.append(flow)
        others = parts[-1].name if parts else "rest"
        # Stages of the first vectors are computed alone, which costs what eight or sixteen vectors gain.
        least = 8 * min(flow.width, 2 * flow.one)
        parts.append(Divided("flowing", "flow", others, flow.width, least, flow.fixed))
    lines = list(dict.fromkeys(text for way in ways for text in way.functions()))
    lines += [line for part in parts for line in part.lines(target, ways[0].sizes)]
    needs = function.needs(target) if function.needs else ""
    declarations = dict.fromkeys(line for way in ways for line in way.b.declarations)
    text = "\n".join([*declarations, *lines, needs, SELDOM, MOSTLY, ""])
    symbol, outer = symbol_of("math_", text, target), parts[-1].name if parts else "rest"
    return Module(text.replace(f"define internal void @{outer}(", f"define void @{symbol}("), symbol)
