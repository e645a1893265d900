"""Rows in vectors that overlap: at any place and of any length, results in the place of operands or apart."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor

SUM = (
    Inst("load", "d", (), 0), Inst("load", "d", (), 1), Inst("add", "dd->d", (0, 1), 0),
    Inst("store", "d", (2,), 2),
)  # fmt: skip


def text(dims: str, accesses: str = "uuu", nontemporal: bool = False) -> str:
    roles = ("in", "in", "out")
    operands = tuple(Operand("d", a, role) for a, role in zip(accesses, roles, strict=True))
    return compile_parfor(
        Parfor(dims, operands, "", SUM), BY_NAME["X86_V4"].target, nontemporal=nontemporal, verify=True
    ).ir


def compares(ir: str) -> int:
    """Addresses of operands that are compared."""
    return ir.count("icmp ne ptr")


def test_where_vectors_overlap() -> None:
    assert compares(text("pp")) == 2 and "ptrtoint" in text("pp")
    assert compares(text("ppp", "uzu")) == 1            # (what stands still is no result)
    for other in (text("p"), text("p", nontemporal=True), text("pp", "sss")):
        assert not compares(other) and "ptrtoint" not in other


def shifted(np: Any, x: numpy.ndarray) -> list[Any]:
    """Results of their own, results over dying operands, and in place, at every place of a line."""
    found = []
    for k in range(1, 9):
        u = np.array(x)
        inner = u[:, k:-1]
        inner += u[:, k - 1 : -2] if k < 4 else 1
        u[1:, :-k] = u[:-1, :-k] + u[:-1, k:]
        u[:, 1:] *= 2
        found += [u, u[:, k:] + u[:, :-k], (u[:, k:] * 3 - u[:, :-k]) // 2, u[:, :-1] > u[:, 1:]]
    return found


@pytest.mark.parametrize("char", "bHidf")
def test_bits(char: str) -> None:
    for columns in (10, 11, 16, 17, 23, 24, 25, 40, 75, 130):
        x = numpy.random.default_rng(columns).integers(1, 9, (7, columns)).astype(char)
        with lazyarr.options(jit="always", verify=True):
            got = shifted(lazyarr, x)
            lazyarr.evaluate(*got)
        for a, b in zip(got, shifted(numpy, x), strict=True):
            assert a.dtype == b.dtype and numpy.asarray(a).tobytes() == b.tobytes()


def test_flags_are_raised_as_often_as_not() -> None:
    """No vector goes beyond its row, where other numbers are."""
    x = numpy.ones((6, 30))
    x[:, -1] = x[:, 0] = 0
    with lazyarr.options(jit="always"), numpy.errstate(all="raise"):
        u = lazyarr.array(x)
        got = 1 / u[:, 1:-1]
        assert (numpy.asarray(got) == 1).all()
