"""What may be what lies there already is blended and stored: masked stores take some CPUs far longer."""

from __future__ import annotations

import pytest

from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction

VOLATILE = "store volatile <"


def columns(ufunc: str, order: str, mask: int = -1) -> Parfor:
    operands = Operand("d", "u"), Operand("?", "u"), Operand("d", "u", "out")
    body = (
        Inst("load", "d", (), 0), Inst("load", "?", (), 1), Inst("scalar", "d", (), 0),
        Inst("reduce", "d", (0,), Reduction(ufunc, order, out=2, start=2, mask=mask)),
    )  # fmt: skip
    return Parfor("rp", operands, "d", body)


def overwritten(op: str) -> Parfor:
    """``x = op(x, y)``."""
    body = (
        Inst("load", "d", (), 0), Inst("load", "d", (), 1), Inst(op, "dd->d", (0, 1), 0),
        Inst("store", "d", (2,), 0),
    )  # fmt: skip
    return Parfor("p", (Operand("d", "u", "inout"), Operand("d", "u")), "", body)


@pytest.mark.parametrize("level", ["X86_V2", "X86_V3", "X86_V4", "AVX512_ICL"])
@pytest.mark.parametrize(
    ("parfor", "chosen"),
    [
        (columns("minimum", "any"), True),
        (columns("add", "sequential", mask=1), True),
        (columns("add", "sequential"), False),
        (overwritten("maximum"), True),
        (overwritten("add"), False),
    ],
)
def test_where_there_are_no_registers_of_masks(level: str, parfor: Parfor, chosen: bool) -> None:
    found = VOLATILE in compile_parfor(parfor, BY_NAME[level].target, verify=True).ir
    assert found == (chosen and level == "X86_V3")
