"""Leaves and short runs that are read one after the other, not side by side: which, by the table of numbers;
NumPy's bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import kernels, planning
from lazyarr.codegen.reduce_leaves import SIDE, VECTORS
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_tree import BESIDE
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.tuning import TABLE

LIMITS = 0, 128, 1 << 12


@pytest.fixture(params=LIMITS)
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Another number in all rows, and nothing that was compiled by those in force."""
    for key, tuning in TABLE.items():
        monkeypatch.setitem(TABLE, key, tuning._replace(beside_bytes=request.param))
    kernels._kernels.clear()
    planning.forget()
    with lazyarr.options(jit="always", verify=True, cache_bytes=0):
        yield int(request.param)
    kernels._kernels.clear()
    planning.forget()


def functions(dims: str, char: str, level: str = "X86_V3") -> dict[str, str]:
    """The texts of the functions that fold, by the end of their names."""
    operands = Operand(char, "u"), Operand(char, "z", "out")
    folded = Inst("reduce", char, (0,), Reduction("add", "pairwise", out=1, start=1))
    body = Inst("load", char, (), 0), Inst("scalar", char, (), 0), folded
    parfor = Parfor(dims, operands, char, body)
    source = compile_reduction(parfor, BY_NAME[level].target, hot=True, verify=True)
    texts = re.findall(r"^define [^@]*@(\w+)\(.*?^}", source.ir, re.M | re.S)
    bodies = re.split(r"^define [^@]*@\w+", source.ir, flags=re.M)[1:]
    return dict(zip(texts, bodies, strict=True))


def ending(found: dict[str, str], end: str) -> str:
    (text,) = (text for name, text in found.items() if name.endswith(end))
    return text


@pytest.mark.parametrize("char", "fd")
def test_leaves(limit: int, char: str) -> None:
    """Vectors that are loaded, those that only some leaves have included."""
    lane = {"f": "float", "d": "double"}[char]
    loads = ending(functions("r", char), SIDE).count(f"load <8 x {lane}>, ptr %")
    leaf = 128 * numpy.dtype(char).itemsize
    kept = 9        # the accumulators of all leaves, out of memory, and their sums
    assert loads == kept + (4 + 4 if leaf <= limit else VECTORS + 1 + 1)


def test_short_runs(limit: int) -> None:
    """How long a run may be is known when it is folded."""
    text = ending(functions("pr", "d"), BESIDE)
    assert (f"icmp ule i64 %n, {limit // 8}\n" in text) == (limit < 1024)


def test_accumulators_of_short_runs_stay_in_registers(limit: int) -> None:
    """Of eight outputs side by side none is stored before its lanes are one."""
    text = ending(functions("pr", "f"), BESIDE)
    one_by_one = 1 if limit < 512 else 0
    ways = 2 if limit < 512 else 1
    assert text.count("store <8 x float>") == one_by_one + ways + 3     # (3: what runs are added to, results)


def test_the_usual_text_is_unchanged() -> None:
    """Where all may be read side by side, nothing is asked."""
    for level in "X86_V2", "X86_V4", "AVX512_SPR":
        assert "icmp ule i64 %n" not in ending(functions("pr", "d", level), BESIDE)


def sums(np: Any, x: Any) -> Any:
    return x.sum(axis=1)


def squares(np: Any, x: Any) -> Any:
    return ((x - 1) ** 2).sum(axis=1)


def several(np: Any, x: Any) -> Any:
    return np.stack([(x * 2).sum(axis=1), (x + x).sum(axis=1)])


def stored(np: Any, x: Any) -> Any:
    y = x * 2
    return np.stack([y.sum(axis=1), y[:, -1]])


@pytest.mark.covering
@pytest.mark.parametrize("tier", ["1", "2"])
@pytest.mark.parametrize("program", [sums, squares, several, stored], ids=lambda p: p.__name__)
@pytest.mark.parametrize("char", "efD")
def test_bits_of_numpy(limit: int, char: str, program: Callable[..., Any], tier: str) -> None:
    rng = numpy.random.default_rng(7)
    with lazyarr.options(tier=tier), numpy.errstate(all="ignore"):
        for n in (1, 7, 16, 17, 33, 64, 100, 127, 128, 129, 541, 1000, 1021, 4096):
            x = (rng.standard_normal((19, n)) * 10 ** rng.uniform(-2, 2, (19, n))).clip(-50, 50)
            x = (x + 1j * x[::-1] if char == "D" else x).astype(char)
            x[0, n // 2] = -0.0
            x[1, n // 3] = numpy.nan
            mine = program(lazyarr, lazyarr.array(x))
            assert numpy.asarray(mine).tobytes() == program(numpy, x).tobytes(), n
