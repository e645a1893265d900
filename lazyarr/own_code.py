"""Machine code of the library's own, found in the cache without the text that it is compiled from.

In:  what writes a text, and all that this goes by besides sources.   Out: addresses by symbol.
To write such a text takes five times as long as to load the code: so the cache remembers what it was for
these editions of the sources.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

from lazyarr.compiler import COMPILER
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch import jit
from lazyarr.dispatch.llvm import version
from lazyarr.editions import imported
from lazyarr.target import Target


def load(
    write: Callable[[], str], symbols: tuple[str, ...], of: Any, target: Target, opt: int, compiles: bool
) -> Any:  # fmt: skip
    """The code, from the cache, or compiled, if it may be; None if it is not there.

    The text that is written follows from the library's sources, the symbols, what `of` says, and the
    target."""
    with suppress(jit.NotCompiled, RuntimeError), (
        nullcontext() if compiles and COMPILER.usable else jit.cached_only()
    ):
        return found(write, symbols, of, target, opt)
    return None


def found(write: Callable[[], str], symbols: tuple[str, ...], of: Any, target: Target, opt: int) -> Any:
    """The same, compiled if need be; raises what `jit.load` does."""
    name = _name(symbols, repr(of), target, opt)
    key = None if name is None else disk.fetch(name)
    if key is not None:
        there = jit.recall(key, symbols, kernel=False)
        if there is not None:
            return there
        if not jit.may_compile():
            raise jit.NotCompiled(symbols[0])
    text = write()
    now = jit.key_of(text, target, opt)
    if name is not None and now != key:     # (also of what nobody compiles yet: others need not write it)
        disk.store(name, now, {"kind": "text", "symbol": symbols[0], "level": target.name})
    return jit.load(text, symbols, target, opt, kernel=False)


def _name(symbols: tuple[str, ...], of: str, target: Target, opt: int) -> bytes | None:
    """Where the cache has the key of the code; None where nobody can tell what its text is."""
    sources = _sources()
    if not sources:
        return None
    return disk.digest("text", *symbols, of, repr(tuple(target)), str(opt), version(), sources)


@cache
def _sources() -> str:
    """The editions of all that texts may follow from; nothing where nobody can tell."""
    here = os.path.dirname(__file__)
    return imported([here, *(f"{here}/{name}" for name in ("codegen", "compiling", "threading"))])
