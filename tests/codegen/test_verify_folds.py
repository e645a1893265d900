"""Addresses of functions that fold are proved to lie in what they are given; one thing wrong is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy
import pytest

import lazyarr
from lazyarr.codegen import reduce_pipeline
from lazyarr.codegen.emitters_numpys import FUNCTIONS
from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.linear import Facts, Poly, poly
from lazyarr.codegen.reduce_crossed import RUN
from lazyarr.codegen.reduce_kernel import Reduce
from lazyarr.codegen.reduce_leaves import SIDE
from lazyarr.codegen.reduce_pipeline import PLACEHOLDER, compile_reduction
from lazyarr.codegen.reduce_tree import BESIDE, CROSSED
from lazyarr.codegen.verify_folds import Checker, promise
from lazyarr.codegen.verify_text import Text
from lazyarr.dispatch.levels import BY_NAME, host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.target import SVML, Key

TREE = ""


def pairs(char: str, access: str) -> Parfor:
    """A row minus a column, summed."""
    operands = Operand(char, "z", "out"), Operand(char, "u"), Operand(char, access)
    body = (
        Inst("scalar", char, (), 0), Inst("load", char, (), 1), Inst("load", char, (), 2),
        Inst("subtract", f"{char}{char}->{char}", (1, 2), 0),
        Inst("reduce", char, (3,), Reduction("add", "pairwise", 0, start=0)),
    )  # fmt: skip
    return Parfor("ppr", operands, char, body, crossed="orc")


def checks(
    level: str, char: str = "f", access: str = "s"
) -> tuple[Callable[[str, str], None], dict[str, str]]:
    """What checks a text in the place of a function, by the end of its name; all functions."""
    r = Reduce(pairs(char, access), BY_NAME[level].target, hot=True)
    kernel = reduce_pipeline.in_registers(r)
    assert kernel is not None
    r, functions = reduce_pipeline._straight(r, kernel)
    promises = {b.symbol: promise(r, kernel, b) for b in functions}

    def check(end: str, text: str) -> None:
        name = PLACEHOLDER + end
        for case in range(promises[name].cases):
            Checker(r, kernel, promises, name, case).run(text)

    return check, {b.symbol.removeprefix(PLACEHOLDER): b.text() for b in functions}


LEVELS = ("X86_V2", "X86_V3", "AVX512_ICL")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("char", "efDl")
def test_what_is_written_is_proved(level: str, char: str) -> None:
    check, functions = checks(level, char, "u" if char in "el" else "s")
    assert {TREE, BESIDE} <= functions.keys()
    for end, text in functions.items():
        check(end, text)


DEFECTS: dict[str, tuple[str, str, str]] = {
    "a vector more": (SIDE, r"(icmp slt i64 %\d+, )(%\d+)(?=\n  br i1 %\d+, label %L3)", r"\1%n"),
    "a vector further on": (SIDE, r"= mul i64 %c4, 8", "= mul i64 %c4, 16"),
    "another leaf's vectors": (SIDE, r"lshr i64 1934713408", "lshr i64 1934713423"),
    "more whole vectors": (SIDE, r"= lshr i64 %n, 3", "= lshr i64 %n, 2"),
    "a result further on": (SIDE, r"ptr %out, i64 0", "ptr %out, i64 16"),
    "one output more": (BESIDE, r"= add i64 %i4, 3", "= add i64 %i4, 4"),
    "outputs in larger steps": (BESIDE, r"= add i64 (%i\d+), 8(?=\n.*\n.*L1,)", r"= add i64 \1, 7"),
    "an element more": (BESIDE, r"= and i64 %n, -8", "= add i64 %n, 1"),
    "too little room": (BESIDE, r"alloca \[\d+ x i8\]", "alloca [16 x i8]"),
    "an input is stored": (BESIDE, r"%\d+ = load (<8 x float>), (ptr %\d+)", r"store \1 %c0, \2"),
    "a column behind the last one": (CROSSED, r"= sub i64 (%\d+), 4", r"= sub i64 \1, 3"),
    "a row behind the last one": (CROSSED, r"icmp slt i64 (%\d+), %33", r"icmp sle i64 \1, %33"),
    "more tiles in a panel": (CROSSED, r"= udiv i64 24576", "= udiv i64 24592"),
    "a tile that is too short": (CROSSED, r"= mul i64 %n, 16", "= mul i64 %n, 12"),
    "another thread's panel": (CROSSED, r"(%\d+) = mul i64 (%\d+), 24576", r"\1 = mul i64 \2, 24512"),
    "a tile of another row": (CROSSED, r"store ptr %\d+, ptr (%\d+)", r"store ptr %words, ptr \1"),
    "a longer part": (CROSSED + RUN, r"= sub i64 %n, (%\d+)", r"= add i64 %n, \1"),
    "an element of another tile": (CROSSED + RUN, r"= add i64 (%i\d+), 7", r"= add i64 \1, 8"),
    "a longer left half": (TREE, r"= lshr i64 %n, 1", "= shl i64 %n, 1"),
    "leaves of a short range": (TREE, r"icmp ugt i64 (%\d+), 16", r"icmp ugt i64 \1, 15"),
    "the rest from the beginning": (TREE, r"= add i64 %start, (%\d+)(?=\n  call)", r"= add i64 \1, \1"),
    "another context": (TREE, r"(call void @\S+\(ptr %words, ptr) %ctx", r"\1 %words"),
    "a call of something else": (TREE, r"@lazyarr_reduction_leaves", "@lazyarr_reduction_others"),
}  # fmt: skip
"""The end of a function's name, what in its text at X86_V2, becomes what."""


@pytest.mark.parametrize(("end", "what", "other"), DEFECTS.values(), ids=DEFECTS)
def test_one_thing_wrong_is_refused(end: str, what: str, other: str) -> None:
    check, functions = checks("X86_V2")
    text, found = re.subn(what, other, functions[end])
    assert found, "the text is another one"
    check(end, functions[end])
    with pytest.raises(InvalidKernel):
        check(end, text)


def test_a_constant_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the functions are written: what a change there would do."""
    parfor, target = pairs("f", "s"), host_level()
    compile_reduction(parfor, target, verify=True, hot=True)
    for module, name, value in (("reduce_leaves", "REVERSED", 0x77516240), ("reduce_beside", "OUTPUTS", 16)):
        with monkeypatch.context() as patch:
            patch.setattr(f"lazyarr.codegen.{module}.{name}", value)
            with pytest.raises(InvalidKernel):
                compile_reduction(parfor, target, verify=True, hot=True)


def test_elements_in_one_place_are_one_element() -> None:
    """What is stored for each element of a run, and does not move, is stored for runs of one element."""
    x = numpy.arange(5.0)
    with lazyarr.options(jit="always", verify=True):
        y = lazyarr.array(x)
        found = numpy.asarray(y.var(where=y > 0, keepdims=True))
    assert found.tobytes() == x.var(where=x > 0, keepdims=True).tobytes()


# Proofs


def test_proofs() -> None:
    facts = Facts()
    n = facts.symbol(1, 100)
    q = facts.quotient(n, poly(8))
    assert facts.never_negative(n - q * 8) and facts.never_negative(q * 8 + 7 - n)
    assert not facts.never_negative(n - q * 8 - 1) and not facts.never_negative(q - 1)
    assert facts.never_negative(poly(13) - q) and not facts.never_negative(poly(11) - q)
    low = facts.either(n, poly(8), smaller=True)
    assert facts.never_negative(n - low) and facts.never_negative(low - 1)
    assert not facts.never_negative(low - 2)


def test_proofs_of_products() -> None:
    """As many tiles as have room in a panel."""
    facts = Facts()
    n = facts.symbol(1)
    tiles = facts.quotient(poly(4096), n * 16)
    k = facts.symbol(0, tiles - 1)
    assert facts.never_negative(poly(4096) - (k + 1) * n * 16)
    assert not facts.never_negative(poly(4096) - (k + 2) * n * 16)


def test_what_holds_in_a_branch() -> None:
    facts = Facts()
    n = facts.symbol(0)
    half = facts.quotient(n, poly(2))
    inside = Facts(facts)
    inside.holds(half - 5)
    assert inside.never_negative(n - 10) and not facts.never_negative(n - 10)
    never = Facts(inside)
    never.holds(poly(-1))
    assert never.never_negative(poly(-7)) and not inside.never_negative(poly(-7))
    same = Facts(facts)
    same.is_zero(half - 4)
    assert same.zero(half * 3 - 12) and not facts.zero(half * 3 - 12)


def test_sums() -> None:
    x, y = Poly({(0,): 1}), Poly({(1,): 2})
    assert (x + y) * (x - y) == x * x - y * y and (x - x).number == 0 and x.number is None
    assert (x * y).split(0) == (y, Poly({})) and (x * x).split(0) is None
    assert (x * 6).over(x) == 6 and (x + 1).over(x) is None


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("key", FUNCTIONS, ids=" ".join)
def test_what_numpys_functions_call_is_given_no_memory(key: Key, hot: bool) -> None:
    name, sig, whose = key
    char, level = sig[0], "X86_V4" if whose == SVML else "X86_V3"
    body = (
        Inst("load", char, (), 1), Inst(name, sig, (0,), 0),
        Inst("reduce", char, (1,), Reduction("add", "pairwise", 0, start=0)),
    )  # fmt: skip
    parfor = Parfor("pr", (Operand(char, "z", "out"), Operand(char, "u")), "", body)
    compile_reduction(parfor, BY_NAME[level].target._replace(equal=(key,)), True, hot)


LOOKED_UP = """define void @f() {
entry:
  %0 = and <4 x i64> %x, <i64 2032, i64 2032, i64 2032, i64 2032>
  %1 = extractelement <4 x i64> %0, i64 1
  %2 = getelementptr i8, ptr @table, i64 %1
  %3 = load <2 x double>, ptr %2, align 16
  ret void
}"""
"""A lane reads a row of a table."""


@pytest.mark.parametrize(
    ("what", "other", "size"),
    [
        ("", "", 2047), ("@table", "@other", 2048), (r"i64 2032>", "i64 2048>", 2048), ("2032", "2040", 2048),
        ("= and", "= or", 2048), ("<2 x", "<4 x", 2048),
        (r"%3 = load (.+?), ptr", r"store \1 zeroinitializer, ptr", 2048),
    ],
)  # fmt: skip
def test_lanes_read_within_tables(what: str, other: str, size: int) -> None:
    def run(text: str, size: int) -> None:
        def nobody(*_: object) -> None:
            raise AssertionError

        function = Text(text, nobody, nobody, nobody, Facts())
        function.given([f'@table = internal constant [{size} x i8] c"", align 64'])
        function.run()

    run(LOOKED_UP, 2048)
    with pytest.raises(InvalidKernel):
        run(re.sub(what, other, LOOKED_UP), size)
