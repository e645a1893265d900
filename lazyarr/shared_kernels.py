"""Kernels that run other kernels: the same for all programs, written and compiled once for each target.

In:  a `Shared` (how its text is written, its symbols), a target.   Out: addresses by symbol.
A symbol's name in memory ends with the target's, as different targets' are there at once.  What the cache has
is found without the text (`own_code`), so what writes it is imported where that has to be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from lazyarr.codegen import boxes_words, feed_words, keep_words, portion_words, rows_words
from lazyarr.kernels import Code, host
from lazyarr.late import Late
from lazyarr.own_code import found
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
        names = self.names(target)
        return Code(self.text(target), names[0], target, self.level), names

    def names(self, target: Target) -> tuple[str, ...]:
        return tuple([f"{symbol}_{target.name}" for symbol in self.symbols])

    def text(self, target: Target) -> str:
        ir = self.write(target)
        for symbol, name in zip(self.symbols, self.names(target), strict=True):
            ir = ir.replace(f"@{symbol}(", f"@{name}(")
        return ir

    def addresses(self) -> dict[str, int]:
        """Where they are for the target that kernels are compiled for."""
        return _addresses(self, host())


ROWS = Shared(Late("lazyarr.codegen.rows_shell", "rows_kernels"), rows_words.SYMBOLS, 2)
COMPRESS = Shared(Late("lazyarr.codegen.compress_feed", "feed_kernels"), feed_words.SYMBOLS, 2)
KEEPING = Shared(Late("lazyarr.codegen.compress_keep", "keep_kernels"), keep_words.SYMBOLS, 2)
PORTIONS = Shared(Late("lazyarr.codegen.portion_feed", "feed_kernel"), (portion_words.SYMBOL,), 0)
BOXES = Shared(Late("lazyarr.codegen.boxes_shell", "boxes_kernel"), (boxes_words.SYMBOL,), 0)
ALL = ROWS, COMPRESS, KEEPING, PORTIONS, BOXES


@cache
def _addresses(shared: Shared, target: Target) -> dict[str, int]:
    names = shared.names(target)
    there = found(partial(shared.text, target), names, None, target, shared.level)
    return dict(zip(shared.symbols, map(there.__getitem__, names), strict=True))
