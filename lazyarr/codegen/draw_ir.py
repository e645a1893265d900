"""LLVM IR of draws: the numbers at given positions of a bit generator's stream.

In:  the name of a draw (`draws.DRAWS`), a `Target`.   Out: `Module`: one function, called by kernels as
they call NumPy's inner loops: ``void f(char **args, intp *dims, intp *steps, void *data)``.
These functions are compiled once for all programs, optimised (`ops.SHARED`): without that they would
take three times as long.
"""

from __future__ import annotations

from functools import cache

from lazyarr.codegen.draw_congruential import Congruential
from lazyarr.codegen.draw_philox import Philox
from lazyarr.codegen.pipeline import Module
from lazyarr.codegen.symbols import symbol_of
from lazyarr.draws import DRAWS
from lazyarr.target import Target


@cache
def draw_module(name: str, target: Target) -> Module:
    """The text of a draw."""
    draw = DRAWS[name]
    writer = Philox if draw.stream.name == "Philox" else Congruential
    text = "\n".join(writer(draw, target).text())
    symbol = symbol_of("draw_", text, target)
    return Module(text.replace("@draw(", f"@{symbol}("), symbol)
