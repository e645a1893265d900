"""Bits of masks, and how many lanes are True: AVX2 has them in few instructions, and NumPy's counts."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import tuning
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction

AVX2 = BY_NAME["X86_V3"].target


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is that of the level's own row, which prefetches, on whatever CPU."""
    monkeypatch.setattr(tuning, "row_of", lambda level: level)


def assembly(char: str, *folded: Inst) -> str:
    """Of what folds where an element is greater than a number."""
    operands = Operand(char, "u"), Operand(char if folded[-1].sig == char else "l", "z", "out")
    body = Inst("load", char, (), 0), Inst("scalar", char, (), 0), Inst("greater", f"{char}{char}->?", (0, 1))
    return jit.assembly(compile_reduction(Parfor("r", operands, char, (*body, *folded)), AVX2).ir, AVX2, 2)


@pytest.mark.parametrize(("char", "bits"), [("f", "vmovmskps"), ("d", "vmovmskpd")])
def test_packing_has_bits_from_what_is_compared(char: str, bits: str) -> None:
    how = Reduction("compress", "sequential", 1, -1, 2)
    _, _, text = assembly(char, Inst("reduce", char, (0,), how)).partition("prefetch")
    text = text[: text.rindex("vpermd\t")]      # (the last vectors go one by one)
    assert text.count("vpermd\t") > 1
    assert text.count(f"{bits}\t") == text.count("vpmovzxbd\t") == text.count("vpermd\t") + 1
    assert "vshufps" not in text and "vpackss" not in text


@pytest.mark.parametrize(("char", "lanes"), [("f", "d"), ("d", "q")])
def test_counting_adds_up_lanes(char: str, lanes: str) -> None:
    counted = Inst("cast", "?->l", (2,)), Inst("reduce", "l", (3,), Reduction("add", "any", 1))
    text = assembly(char, *counted)
    assert text.count("popcnt") == 1            # (for a vector that is left)
    assert text.count(f"vpadd{lanes}\t") + text.count(f"vpsub{lanes}\t") > 4


@pytest.mark.parametrize("char", "?bhilefdFD")
@pytest.mark.parametrize("tier", ["1", "2"])
def test_counts(char: str, tier: str) -> None:
    rng = numpy.random.default_rng(3)
    with lazyarr.options(jit="always", tier=tier, verify=True):
        for n in (1, 31, 32, 33, 100, 4097, 70_001):
            x: Any = rng.integers(0, 2, n).astype(char)
            y = rng.integers(0, 2, n).astype("f")
            a, b = lazyarr.array(x), lazyarr.array(y)
            assert lazyarr.count_nonzero(a == 0) == numpy.count_nonzero(x == 0)
            assert lazyarr.count_nonzero((a == 0) & (b > 0.5)) == numpy.count_nonzero((x == 0) & (y > 0.5))
            assert numpy.asarray(a[a == b]).tobytes() == x[x == y].tobytes()
