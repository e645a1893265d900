"""The code that is shown is that which runs: what only tier 2 writes is there if, and only if, it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import kernels
from lazyarr.codegen.pipeline import compile_parfor, has_two_texts
from lazyarr.debug.code import source
from lazyarr.dispatch import jit


def fold(x: Any) -> Any:
    return (x * 2).sum()


def stencil(x: Any) -> Any:
    y = x.reshape(300, -1)
    return y[:-2, 1:] * 2 + y[1:-1, 1:] * 3 + y[2:, 1:]


def log(x: Any) -> Any:
    return lazyarr.log(abs(x) + 1)


def long(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = y * x + 1
    return y


def short(x: Any) -> Any:
    return x * 2 + 1


@pytest.mark.parametrize("tier", [1, 2])
@pytest.mark.parametrize("program", [fold, stencil, log, long, short])
def test_it_is_what_runs(monkeypatch: pytest.MonkeyPatch, program: Callable[[Any], Any], tier: int) -> None:
    monkeypatch.setattr(kernels, "_kernels", {})
    with lazyarr.options(jit="always", plan="always", tier=str(tier)):
        x = lazyarr.array(numpy.random.default_rng(3).random(90_000, "f"))
        lazyarr.evaluate(x)
        lazyarr.evaluate(program(x))
        parfor, kernel = next((p, k) for p, k in kernels.loaded() if len(p.body) > 2)
        shown = source(parfor, kernel.nontemporal)
        texts = [
            compile_parfor(parfor, kernels.host(), nontemporal=kernel.nontemporal, hot=hot).ir
            for hot in (False, True)
        ]
        assert shown.ir == texts[tier - 1]
        named = f"lazyarr_tier{tier}_" if tier > 1 else "lazyarr_"
        run = shown.ir.replace(shown.symbol, shown.symbol.replace("lazyarr_", named, 1))
        assert kernel.code.key == jit.key_of(run, kernels.host(), kernels.TIERS[tier])
        assert has_two_texts(parfor) == (program is not short)
        assert texts[0] == texts[1] if program is short else program is not fold or texts[0] != texts[1]
