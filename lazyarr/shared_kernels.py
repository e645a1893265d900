"""Kernels that run other kernels: the same for all programs, written and compiled once for each target.

In:  a `Shared` (how its text is written, its symbols), a target.   Out: addresses by symbol.
A symbol's name in memory ends with the target's, as different targets' are there at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from lazyarr.codegen import boxes_shell, compress_feed, compress_keep, portion_feed, rows_shell
from lazyarr.kernels import Code, host
from lazyarr.records import dataclass
from lazyarr.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Some kernels of one module."""

    write: Callable[[Target], str]
    symbols: tuple[str, ...]
    level: int
    """Of code generation: above 0 where what they run is so short that their own time is a part of it."""

    def code(self, target: Target) -> tuple[Code, tuple[str, ...]]:
        """The module for a target, and what its symbols are called there."""
        ir, names = self.write(target), tuple([f"{symbol}_{target.name}" for symbol in self.symbols])
        for symbol, name in zip(self.symbols, names, strict=True):
            ir = ir.replace(f"@{symbol}(", f"@{name}(")
        return Code(ir, names[0], target, self.level), names

    def addresses(self) -> dict[str, int]:
        """Where they are for the target that kernels are compiled for."""
        return _addresses(self, host())


ROWS = Shared(rows_shell.rows_kernels, rows_shell.SYMBOLS, 2)
COMPRESS = Shared(compress_feed.feed_kernels, compress_feed.SYMBOLS, 2)
KEEPING = Shared(compress_keep.keep_kernels, compress_keep.SYMBOLS, 2)
PORTIONS = Shared(portion_feed.feed_kernel, (portion_feed.SYMBOL,), 0)
BOXES = Shared(boxes_shell.boxes_kernel, (boxes_shell.SYMBOL,), 0)
ALL = ROWS, COMPRESS, KEEPING, PORTIONS, BOXES


@cache
def _addresses(shared: Shared, target: Target) -> dict[str, int]:
    from lazyarr.dispatch.jit import load

    code, names = shared.code(target)
    found = load(code.ir, names, target, code.opt, kernel=False)
    return dict(zip(shared.symbols, map(found.__getitem__, names), strict=True))
