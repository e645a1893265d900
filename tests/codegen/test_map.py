"""Kernels of maps against NumPy: dtypes, access classes, ranks, sizes, tiles, aliasing, levels."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from lazyarr.dispatch.levels import host_levels
from lazyarr.dtypes import PLAIN

SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 200, 5000]
ACCESSES = ["u", "z", "s", "reversed", "backwards"]
CHARS = "".join(PLAIN)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("access", ACCESSES)
def test_sums_of_every_dtype_and_access(program: Any, check: Any, char: str, access: str) -> None:
    for n in SIZES:
        p = program((n,), seed=n)
        x = p.load(char, access)
        p.store(p.op("add", f"{char}{char}->{char}", x, p.load(char)), char)
        p.store(x, char, "backwards")
        check(p, tile=(max(1, n // 2),))


@pytest.mark.parametrize("n", range(1, 70))
def test_every_small_size(program: Any, check: Any, n: int) -> None:
    p = program((n,), seed=n)
    x, y, z = p.load("d"), p.load("f", "s"), p.load("b")
    wide = p.op("cast", "f->d", y, part=None)
    less = p.op("less", "dd->?", x, wide)
    p.store(less, "?")
    p.store(p.op("where", "?dd->d", less, wide, x), "d", "reversed")
    p.store(p.op("multiply", "bb->b", z, z), "b")
    check(p)


@pytest.mark.parametrize("shape", [(3, 5), (4, 17), (2, 3, 9), (5, 1, 33), (2, 3, 2, 10), (1, 1, 1, 1)])
@pytest.mark.parametrize("accesses", ["uuu", "uzs", "szu", "zzu", "uus"])
def test_ranks_and_tiles(program: Any, check: Any, shape: tuple[int, ...], accesses: str) -> None:
    for part in (1, 2, 3):
        p = program(shape, seed=part)
        a, b = p.load("d", accesses[0]), p.load("f", accesses[1])
        v = p.op("subtract", "dd->d", a, p.op("cast", "f->d", b, part=None))
        p.store(p.op("multiply", "dd->d", v, p.scalar("d", 0.3)), "d", accesses[2])
        check(p, tile=tuple(-(-n // part) for n in shape))


@pytest.mark.parametrize("char", "fd")
def test_between_bounds_that_stand_still(program: Any, check: Any, char: str) -> None:
    for n in (1, 7, 300):
        p = program((n,), seed=n)
        x = p.load(char, "u", numpy.resize([-0.0, 0.0, 3, -3, numpy.nan], n).astype(char))
        bounds = p.scalar(char, 0.0), p.load(char, "z")
        p.store(p.op("within", f"{char * 3}->{char}", x, *bounds), char)
        p.store(p.op("within", f"{char * 3}->{char}", x, p.scalar(char, numpy.nan), bounds[1]), char)
        check(p, tile=(max(1, n // 2),))


def test_transposed_operand(program: Any, check: Any) -> None:
    p = program((20, 30))
    v = p.op("add", "dd->d", p.load("d"), p.load("d", "s", numpy.arange(600.0).reshape(30, 20).T))
    p.store(v, "d")
    check(p, tile=(7, 11))


@pytest.mark.parametrize("level", host_levels(), ids=lambda level: level.target.name)
def test_mixed_dtypes_at_every_level(program: Any, check: Any, level: Any) -> None:
    for n in (5, 64, 1000):
        p = program((n,), seed=n)
        small, wide, real, z = p.load("B"), p.load("l", "s"), p.load("f"), p.load("D", "reversed")
        total = p.op("add", "ll->l", p.op("cast", "B->l", small, part=None), wide)
        p.store(total, "l")
        p.store(p.op("add", "DD->D", z, p.op("cast", "f->D", real, part=None)), "D", "s")
        p.store(p.op("greater", "ll->?", total, p.scalar("l", 50)), "?")
        p.store(p.op("negative", "F->F", p.op("cast", "D->F", z, part=None)), "F")
        check(p, target=level.target)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("access", ["u", "z", "s"])
def test_moves_keep_every_byte(program: Any, native: Any, char: str, access: str) -> None:
    """NaN payloads, signalling NaNs, bool bytes other than 0 and 1."""
    size = PLAIN[char].itemsize
    raw = numpy.random.default_rng(1).integers(0, 256, (201, size), "u1")
    raw[:, -2:] |= raw[:, -1:] & 0x7F
    x = raw.reshape(-1).view(char)
    x = {"u": x[:67], "s": x[::3], "z": numpy.broadcast_to(x[:1], (67,))}[access]
    p = program((67,))
    p.store(p.load(char, access, x), char, array=numpy.zeros(67, char))
    arrays = p.fresh()
    native(p, arrays)
    assert arrays[1].tobytes() == numpy.ascontiguousarray(x).tobytes()


def test_results_of_several_outputs_and_repeated_stores(program: Any, check: Any) -> None:
    p = program((100,))
    x, y = p.load("i"), p.load("i")
    quotient, rest = (p.op("divmod", "ii->ii", x, y, part=k) for k in (0, 1))
    p.store(rest, "i")
    p.store(quotient, "i", "s")
    p.store(rest, "i", "reversed")
    check(p)


@pytest.mark.parametrize("native_ops", [True, False])
def test_in_place(program: Any, check: Any, native_ops: bool) -> None:
    """x = f(x); y = x (old)"""
    p = program((500,))
    x = p.load("d")
    v = p.op("square", "d->d", x) if native_ops else p.op("tanh", "d->d", x)
    p.store_in_place(v, 0)
    p.store(p.op("add", "dd->d", x, v), "d")
    p.store(x, "d")
    check(p)


@pytest.mark.parametrize("op", ["negative", "exp"])
def test_two_operands_of_one_memory(program: Any, check: Any, op: str) -> None:
    """a, b = f(b), f(a), where outputs are other operands of the inputs' memory"""
    a, b = numpy.arange(300.0) / 100, numpy.arange(300.0, 0, -1) / 100
    p = program((300,))
    x, y = p.load("d", array=a), p.load("d", array=b)
    p.store(p.op(op, "d->d", y), "d", array=a)
    p.store(p.op(op, "d->d", x), "d", array=b)
    check(p)


def test_constants_and_single_elements(program: Any, check: Any) -> None:
    p = program((1,))
    half = p.scalar("e", 0.5)
    p.store(half, "e")
    p.store(p.op("add", "ee->e", half, p.load("e", "z")), "e", array=numpy.zeros(1, "e"))
    p.operands[-1] = p.operands[-1]._replace(access="z")
    check(p)


@pytest.mark.parametrize("shape", [(3, 40), (100,)])
def test_what_does_not_vary_is_stored_everywhere(program: Any, check: Any, shape: tuple[int, ...]) -> None:
    p = program(shape)
    flag, c = p.load("?", "z"), p.load("F", "z")
    p.store(p.op("logical_not", "?->?", flag), "?")
    p.store(p.op("add", "FF->F", c, p.scalar("F", 1 + 2j)), "F", "s")
    p.store(p.op("exp", "F->F", c), "F")
    check(p)


@pytest.mark.parametrize("char", "BfdD?")
def test_nontemporal_stores(program: Any, check: Any, char: str) -> None:
    for n in (64, 1000, 4096 + 3):
        p = program((n,))
        room = numpy.zeros(n * PLAIN[char].itemsize + 64, "u1")
        start = -room.__array_interface__["data"][0] % 64
        out = room[start : start + n * PLAIN[char].itemsize].view(char)
        v = p.op("add", f"{char}{char}->{char}", p.load(char), p.load(char, "s"))
        p.store(v, char, array=out)
        p.store(p.op("logical_not", f"{char}->?", v), "?", "s")
        check(p, tile=(64 if n < 1000 else 640,), nontemporal=True)


def test_nontemporal_results_of_calls(program: Any, check: Any) -> None:
    p = program((3000,))
    room = numpy.zeros(3000 * 8 + 64, "u1")
    start = -room.__array_interface__["data"][0] % 64
    p.store(p.op("exp", "d->d", p.load("d")), "d", array=room[start : start + 24000].view("d"))
    check(p, tile=(1280,), nontemporal=True)
