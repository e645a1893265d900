"""What the verifier of texts makes of names, and of loops that it cannot count."""

from __future__ import annotations

from typing import Any

import pytest

from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.linear import Facts, Poly, poly
from lazyarr.codegen.verify_text import Pointer, Text

BYTES = 64

LOOP = """define void @f(ptr %x, i64 %n) {{
entry:
  %some = icmp slt i64 0, %n
  br i1 %some, label %head, label %end
head:
  %i = phi i64 [0, %entry], [%next, %head]
  %at = getelementptr i8, ptr %x, i64 {at}
  %got = load i8, ptr %at, align 1
  %next = add i64 %i, {step}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %head, label %end
end:
  ret void
}}"""


def inside(text: Text, scope: Facts, pointer: Pointer, count: Poly | int, stores: bool) -> None:
    text.within(scope, pointer.at, count, BYTES)


def nothing(*_: Any) -> None: ...


def text(code: str, most: int = BYTES) -> Text:
    facts = Facts()
    found = Text(code, inside, nothing, nothing, facts)
    found.values.update({"%x": Pointer("%x", poly(0)), "%n": facts.symbol(0, most)})
    return found


def test_names_and_numbers() -> None:
    found = text("define void @f() {\nentry:\n  ret void\n}")
    assert found.value("7") == poly(7) and found.value("-7") == poly(-7)
    assert isinstance(found.value("%x"), Pointer)
    for name in ("", "%y", "@y", "true", "0x7FF8000000000000", "splat", "1.5"):
        assert found.value(name) is None


@pytest.mark.parametrize("step", [1, 3])
def test_a_loop(step: int) -> None:
    text(LOOP.format(at="%i", step=step)).run()
    with pytest.raises(InvalidKernel, match="behind"):
        text(LOOP.format(at="%i", step=step), BYTES + 1).run()


def test_a_loop_that_stays_where_it_is() -> None:
    """Its index is 0 at each iteration."""
    text(LOOP.format(at="%i", step=0), BYTES + 1).run()
    with pytest.raises(InvalidKernel):
        text(LOOP.format(at="%got", step=0)).run()


def test_a_loop_that_goes_back_is_not_counted() -> None:
    with pytest.raises(InvalidKernel):
        text(LOOP.format(at="%i", step=-1)).run()
