"""The IR's printed form, its verifier, and the table of operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lazyarr.scalar.emit import EMIT
from lazyarr.scalar.ir import Block, Edge, Inst, Jump, Return
from lazyarr.scalar.loop import Loop
from lazyarr.scalar.ops import OPS
from lazyarr.scalar.results import typed
from lazyarr.scalar.translate import translate
from lazyarr.scalar.verify import verify


def clipped(x, limit=2):
    total = 0
    while x > limit:
        x = x / 2.0
        total += 1
    return total, x


def test_printed_form():
    text = str(translate(lambda x, y: -y < x * 2.0, {"x": "f", "y": "i"}).function)
    assert text == """function (fi) -> ()
  0(%0:n, %1:f, %2:i):
    %3:i = int_neg(%2)
    %5:f = const() 2.0
    %4:f = float_mul(%1, %5)
    %6:f = int_exact(%3)
    %7:b = float_lt(%6, %4)
    return %7 with %0"""
    assert "branch" in (looped := str(translate(clipped, {"x": "f"}).function)) and "tick(" in looped


WRONG = {
    "another type": lambda b: Block(b.params, (Inst(9, "float_neg", (2,)), *b.body[1:]), b.end),
    "not defined": lambda b: Block(b.params, b.body[1:], b.end),
    "defined twice": lambda b: Block(b.params, (*b.body, b.body[0]), b.end),
    "too few arguments": lambda b: Block(b.params, b.body, Jump(Edge(1, (0,)))),
    "returns what is not there": lambda b: Block(b.params, b.body, Return((11,), 0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_verifier_refuses(name):
    f = translate(clipped, {"x": "f"}).function
    verify(f)
    blocks = (WRONG[name](f.blocks[0]), *f.blocks[1:])
    with pytest.raises(AssertionError):
        verify(replace(f, blocks=blocks))


def test_kernels_know_a_loop_by_the_flags_that_it_raises(monkeypatch):
    """They look for these after it: its name is their key."""
    f = typed(translate(lambda x: x * 2.0, {"x": "f"}).function, "d")
    before = Loop(f, "d", "f")
    assert before.flags == "iou"
    monkeypatch.setitem(OPS, "float_mul", replace(OPS["float_mul"], flags="oi"))
    after = Loop(f, "d", "f")
    assert after.flags == "io"
    assert before.text == after.text and before.name != after.name


def test_every_operation_has_machine_code():
    assert OPS.keys() - {"const", "element"} == EMIT.keys()
