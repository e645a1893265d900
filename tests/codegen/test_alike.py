"""Folds of the same elements have one accumulator, and all of them have the result."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction


def text(*ufuncs: str) -> str:
    """Sums, or what `ufuncs` say, of rows."""
    operands = (Operand("d", "u"), *[Operand("d", "z", "out") for _ in ufuncs])
    folds = [
        Inst("reduce", "d", (0,), Reduction(u, "pairwise" if u == "add" else "any", out=k, start=1))
        for k, u in enumerate(ufuncs, 1)
    ]
    parfor = Parfor("pr", operands, "d", (Inst("load", "d", (), 0), Inst("scalar", "d", (), 0), *folds))
    return compile_parfor(parfor, BY_NAME["X86_V3"].target, hot=True, verify=True).ir


def additions(text: str) -> int:
    """Of vectors, in the function that folds eight leaves."""
    (leaves,) = re.findall(r"define[^@]*@\w*_leaves\(.*?^}", text, re.MULTILINE | re.DOTALL)
    return len(re.findall(r"fadd <8 x double>", leaves))


def test_one_accumulator() -> None:
    assert additions(text("add", "add")) == additions(text("add"))
    assert additions(text("add", "add", "maximum")) == additions(text("add", "maximum"))


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
@pytest.mark.parametrize("shape", [(3, 2000), (2000, 3), (1, 100_000), (5, 8), (40, 1024)])
def test_all_have_it(dtype: str, shape: tuple[int, ...]) -> None:
    x = numpy.random.default_rng(1).uniform(-1, 1, shape).astype(dtype)

    def program(np: Any, x: Any) -> tuple[Any, ...]:
        sums = x.sum(axis=1), x.sum(axis=1, keepdims=True), x.sum(axis=1, initial=3)
        return *sums, abs(x).max(axis=1)

    with lazyarr.options(jit="always", tier="2", verify=True):
        found = program(lazyarr, lazyarr.array(x))
        lazyarr.evaluate(*found)
    for mine, theirs in zip(found, program(numpy, x), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(mine), theirs, strict=True)
