"""Long loops of hot kernels take several vectors at once: which, how many, and what is left."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
from lazyarr.codegen import vectorize
from lazyarr.codegen.loopir import Loop
from lazyarr.codegen.pipeline import results
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.target import Target
from lazyarr.tuning import TABLE


@pytest.fixture(params=TABLE)
def row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each row of the table, as if this host were one that it is for."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: request.param)
    return str(request.param)


def chain(ops: int, access: str = "u", dims: str = "p", name: str = "add") -> Parfor:
    """So many operations, each on the result of the one before."""
    operands = Operand("d", access), Operand("d", "u", "out")
    body = [Inst("load", "d", (), 0)]
    sig = "d->d" if name in ("exp", "log") else "dd->d"
    body += [Inst(name, sig, (k,) * (len(sig) - 3)) for k in range(ops)]
    return Parfor(dims, operands, "", (*body, Inst("store", "", (ops,), 1)))


def parts(parfor: Parfor, target: Target, *, hot: bool = True) -> list[tuple[str, int]]:
    """Its loops, proved within bounds: parts and lanes."""
    kernel = results(parfor, target, hot=hot, verify=True)["vectorize"]
    return [(stmt.part, stmt.lanes) for stmt in kernel.body if isinstance(stmt, Loop)]


def test_long_loops(row: str) -> None:
    target, tuning = BY_NAME[row.partition(" ")[0]].target, TABLE[row]
    lanes = tuning.step_bytes // 8
    single = [("main", lanes), ("rest", 0)]
    several = [("main", lanes * tuning.abreast), ("more", lanes), ("rest", 0)]
    several = several if tuning.abreast > 1 else single
    assert parts(chain(vectorize.LONG), target) == several
    assert parts(chain(vectorize.LONG), target, hot=False) == single
    assert parts(chain(vectorize.LONG - 1), target) == single


def test_other_loops_take_single_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where elements do not lie side by side, or where the last vector of a row overlaps the one before."""
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: "AVX512_ICL AVX512VP2INTERSECT AVXVNNI")
    target = BY_NAME["AVX512_ICL"].target
    for parfor in (chain(40, "s"), chain(40, dims="pp")):
        assert parts(parfor, target) == [("main", 8), ("rest", 0)]
    assert len(parts(chain(40), target)) == 3


def test_functions_count_for_several_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazyarr.tuning.row_of", lambda level: "AVX512_ICL AVX512VP2INTERSECT AVXVNNI")
    target = BY_NAME["AVX512_ICL"].target._replace(equal=(("exp", "d->d", "SVML"),))
    enough = vectorize.LONG // vectorize.FUNCTION
    assert len(parts(chain(enough, name="exp"), target)) == 3
    assert len(parts(chain(enough - 1, name="exp"), target)) == 2


@pytest.mark.parametrize("char", "fdiDb")
def test_same_results(char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left of several vectors, and of one."""
    for key, tuning in TABLE.items():
        monkeypatch.setitem(TABLE, key, tuning._replace(abreast=4))

    def program(np, x, y):                                   # type: ignore[no-untyped-def]
        for _ in range(20):
            x = x * y + x
        return x, x == y

    for n in (1, 7, 31, 32, 33, 63, 64, 71, 129, 1000):
        x, y = numpy.random.default_rng(n).integers(-3, 4, (2, n)).astype(char)
        with numpy.errstate(all="ignore"), lazyarr.options(jit="always", plan="always", tier="2"):
            ours = program(lazyarr, lazyarr.array(x), lazyarr.array(y))
            for found, wanted in zip(ours, program(numpy, x, y), strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(found), wanted)
