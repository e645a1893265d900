"""The verifier accepts what the passes make and refuses kernels with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy
import pytest

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.interp import run_chunk
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.loopir import Apply, Blocks, Call, Gather, Kernel, Load, Loop, Once, Stmt, Store
from lazyarr.codegen.pipeline import results
from lazyarr.codegen.verify import verify_kernel
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor


@pytest.fixture
def kernel(program: Any) -> Kernel:
    """once; blocks: main, rest, call, main, rest"""
    p = program((10,))
    x, y = p.load("d"), p.load("d")
    inner = p.op("exp", "d->d", p.op("multiply", "dd->d", x, p.op("exp", "d->d", p.load("d", "z"))))
    p.store(p.op("add", "dd->d", inner, y), "d")
    p.store(inner, "d", "s")
    kernel: Kernel = results(p.parfor, host_level())["vectorize"]
    return kernel


def in_blocks(kernel: Kernel, change: Callable[[list[Stmt]], list[Stmt]], size: int | None = None) -> Kernel:
    """The kernel with other statements in its blocks."""
    *before, blocks = kernel.body
    assert isinstance(blocks, Blocks)
    body = Blocks(size or blocks.size, tuple(change(list(blocks.body))))
    return replace(kernel, body=(*before, body))


def in_loops(kernel: Kernel, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Kernel:
    """The kernel with another body in every loop."""
    return in_blocks(
        kernel, lambda b: [replace(s, body=change(s.body)) if isinstance(s, Loop) else s for s in b]
    )


def stores_first(body: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(body, key=lambda lane: not isinstance(lane, Store)))


def other_dtype(body: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(replace(x, sig=x.sig.replace("d", "f")) if isinstance(x, Apply) else x for x in body)


def other_operand(body: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        replace(x, ref=replace(x.ref, index=9)) if isinstance(x, Load) and x.ref.space == "operand" else x
        for x in body
    )


def to_inputs(body: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        replace(x, ref=replace(x.ref, index=0, access="u"))
        if isinstance(x, Store) and x.ref.space == "operand" and x.ref.access == "u"
        else x
        for x in body
    )


def out_over_in(body: list[Stmt]) -> list[Stmt]:
    return [replace(s, outs=s.ins) if isinstance(s, Call) else s for s in body]


def one_place(kernel: Kernel) -> Kernel:
    return replace(kernel, slots=tuple(replace(slot, offset=0) for slot in kernel.slots))


DEFECTS: dict[str, tuple[str, Callable[[Kernel], Kernel]]] = {
    "scratch too small": ("outside of scratch", lambda k: replace(k, scratch_bytes=k.scratch_bytes - 64)),
    "misplaced slot": (
        "not aligned",
        lambda k: replace(k, slots=(replace(k.slots[0], offset=8), *k.slots[1:])),
    ),
    "blocks larger than slots": ("has room", lambda k: in_blocks(k, lambda b: b, k.block + 64)),
    "slots without blocks": (
        "has room",
        lambda k: replace(k, body=(k.body[0], *k.body[1].body)),
    ),
    "slots on one place": ("", one_place),
    "no rest": ("without 'rest'", lambda k: in_blocks(k, lambda b: b[:1] + b[2:])),
    "no main": ("without 'main'", lambda k: in_blocks(k, lambda b: b[1:])),
    "another rest": (
        "differs",
        lambda k: in_blocks(k, lambda b: [b[0], replace(b[1], body=b[1].body[:1]), *b[2:]]),
    ),
    "odd lanes": (
        "power of two",
        lambda k: in_blocks(k, lambda b: [replace(s, lanes=3) if getattr(s, "lanes", 0) else s for s in b]),
    ),
    "call left out": ("holds something else", lambda k: in_blocks(k, lambda b: b[:2] + b[3:])),
    "call twice": ("", lambda k: in_blocks(k, lambda b: [b[3], b[2], *b[3:]])),
    "stores before loads": ("", lambda k: in_loops(k, stores_first)),
    "wrong dtype": ("gets", lambda k: in_loops(k, other_dtype)),
    "no such operand": ("there is no", lambda k: in_loops(k, other_operand)),
    "store to an input": ("is an input", lambda k: in_loops(k, to_inputs)),
    "result over argument": ("lies in an argument", lambda k: in_blocks(k, out_over_in)),
    "no last loop": ("never stored", lambda k: in_blocks(k, lambda b: b[:3])),
    "stored twice": ("stored", lambda k: in_blocks(k, lambda b: b + b[3:])),
    "nothing fixed": ("gets", lambda k: replace(k, body=k.body[1:])),
    "fixed last": ("gets", lambda k: replace(k, body=k.body[::-1])),
    "fixed twice": ("not the first", lambda k: replace(k, body=(k.body[0], *k.body))),
    "empty once": ("gets", lambda k: replace(k, body=(Once(()), *k.body[1:]))),
    "no loops": ("no loop 0", lambda k: replace(k, loops=())),
}


def test_what_the_passes_make_is_accepted(kernel: Kernel) -> None:
    verify_kernel(kernel, "vectorize")


@pytest.mark.parametrize(("message", "break_it"), DEFECTS.values(), ids=DEFECTS)
def test_defects_are_found(kernel: Kernel, message: str, break_it: Callable[[Kernel], Kernel]) -> None:
    with pytest.raises(InvalidKernel, match=f"after vectorize.*{message}"):
        verify_kernel(break_it(kernel), "vectorize")


GATHER = Parfor(
    "p", (Operand("d", "u", "out"), Operand("l", "u"), Operand("d", "z")), "ll",
    (
        Inst("load", "l", (), 1), Inst("scalar", "l", (), 0), Inst("scalar", "l", (), 1),
        Inst("offset", "lll->l", (0, 1, 2)), Inst("gather", "d", (3,), 2), Inst("store", "d", (4,), 0),
    ),
)  # fmt: skip


def at_positions(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The offset is what memory holds."""
    loaded = next(x.value for x in body if isinstance(x, Load))
    return tuple(replace(x, offset=loaded) if isinstance(x, Gather) else x for x in body)


def extents_from_memory(body: tuple[Any, ...]) -> tuple[Any, ...]:
    loaded = next(x.value for x in body if isinstance(x, Load))
    return tuple(
        replace(x, args=(x.args[0], loaded, x.args[2])) if isinstance(x, Apply) and x.op == "offset" else x
        for x in body
    )


@pytest.mark.parametrize("change", [at_positions, extents_from_memory])
def test_a_gather_stays_inside_its_table(change: Callable[..., Any]) -> None:
    gathers: Kernel = results(GATHER, host_level())["vectorize"]
    verify_kernel(gathers, "nothing")
    body = tuple(replace(s, body=change(s.body)) if isinstance(s, Loop) else s for s in gathers.body)
    with pytest.raises(InvalidKernel, match=r"without bounds|no runtime scalars"):
        verify_kernel(replace(gathers, body=body), "a change")


def test_a_gather_means_what_its_interpreter_does() -> None:
    """Positions out of bounds end inside the table, too."""
    kernel: Kernel = results(GATHER, host_level())["vectorize"]
    table, places, out = numpy.arange(50.0), numpy.arange(-60, 61), numpy.zeros(121)
    layout = Layout(1, 3, 2, 0)
    words = numpy.zeros(layout.extra(0), numpy.int64)
    words[[layout.shape(0), layout.tile(0), layout.grid(0)]] = 121, 121, 1
    for k, x in enumerate((out, places, table)):
        words[layout.pointer(k)] = x.ctypes.data
    words[[layout.scalar(0), layout.scalar(1)]] = 50, 8
    run_chunk(kernel, words, 0, 0)
    inside = (places >= -50) & (places < 50)
    assert out[inside].tobytes() == table[places[inside]].tobytes() and set(out[~inside]) == {49.0}
