"""The text of one small kernel after each pass: what a change of the compiler changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lazyarr.codegen.pipeline import compile_parfor, results
from lazyarr.dispatch.levels import BY_NAME

V3 = BY_NAME["X86_V3"].target


def staged(program: Any) -> Any:
    """y = exp(a * x + b) where x is strided and b does not vary"""
    p = program((2, 8))
    x, b, a = p.load("d", "s"), p.load("d", "z"), p.scalar("d", 2)
    p.store(p.op("exp", "d->d", p.op("add", "dd->d", p.op("multiply", "dd->d", a, x), b)), "d")
    return p.parfor


def plain(program: Any) -> Any:
    """y = x if x > y else z; m = x > y"""
    p = program((8,))
    x, y, z = p.load("f"), p.load("f"), p.load("f")
    more = p.op("greater", "ff->?", x, y)
    p.store(p.op("where", "?ff->f", more, x, z), "f")
    p.store(more, "?")
    return p.parfor


@pytest.mark.parametrize("make", [staged, plain], ids=["staged", "plain"])
@pytest.mark.parametrize("after", ["lower", "tile", "vectorize"])
def test_loop_ir(
    program: Any, golden: Callable[[str, str], None], make: Callable[[Any], Any], after: str
) -> None:
    kernel = results(make(program), V3)[after]
    golden(f"{make.__name__}.{after}.txt", f"{kernel}\n")


@pytest.mark.parametrize("make", [staged, plain], ids=["staged", "plain"])
def test_llvm_ir(program: Any, golden: Callable[[str, str], None], make: Callable[[Any], Any]) -> None:
    source = compile_parfor(make(program), V3)
    golden(f"{make.__name__}.ll", source.ir.replace(source.symbol, "kernel"))


def test_symbols_name_the_text(program: Any) -> None:
    """Equal parfors give equal symbols; another level, kind of store or body gives another."""
    symbols = [
        compile_parfor(parfor, target, nontemporal=streams).symbol
        for parfor in (staged(program), plain(program))
        for target in (V3, BY_NAME["X86_V4"].target)
        for streams in (False, True)
    ]
    assert len(set(symbols)) == len(symbols)
    assert compile_parfor(staged(program), V3).symbol == symbols[0]
