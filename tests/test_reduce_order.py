"""The table of reduction orders against NumPy: every layout, dtype and cut, bit for bit."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy
import pytest
from layouts import laid_out

from lazyarr import reduce_proof
from lazyarr.dtypes import canonical
from lazyarr.reduce_order import BUFFER, MASKED, Order, Unproved, order_of
from lazyarr.reduce_proof import ROWS, cut_by_nothing_else, fold, self_check

SMALL = 160     # a buffer this small shows every cut with few elements


@pytest.fixture
def small_buffer() -> Any:
    usual = numpy.setbufsize(SMALL)
    yield SMALL
    numpy.setbufsize(usual)


def numbers(rng: numpy.random.Generator, shape: tuple[int, ...], char: str, near_one: bool = False) -> Any:
    dtype = numpy.dtype(char)
    if dtype.kind in "biu":
        return rng.integers(0, 100, shape).astype(dtype)
    reach = {"e": 3, "f": 12, "F": 12}.get(char, 30)

    def draw() -> Any:
        x = rng.standard_normal(shape)
        return x * 1e-3 + 1 if near_one else numpy.ldexp(x, rng.integers(-reach, reach, shape))

    return (draw() + (1j * draw() if dtype.kind == "c" else 0)).astype(dtype)


def layouts(rng: numpy.random.Generator, shape: tuple[int, ...], char: str, near_one: bool) -> Any:
    return laid_out(rng, shape, lambda full: numbers(rng, full, char, near_one))


def random_case(rng: numpy.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    nd = int(rng.integers(1, 5))
    top = {1: 700, 2: 60, 3: 14, 4: 8}[nd]
    shape = tuple(int(rng.choice([1, 2, 3, *rng.integers(1, top, 4)])) for _ in range(nd))
    axes = tuple(k for k in range(nd) if rng.random() < 0.6) or (int(rng.integers(nd)),)
    return shape, axes


def check(
    ufunc: str, x: Any, char: str, axes: tuple[int, ...], out: Any = None, initial: Any = None
) -> Order:
    given = {} if initial is None else {"initial": initial}
    with numpy.errstate(all="ignore"):
        expected = getattr(numpy, ufunc).reduce(x, axis=axes, dtype=numpy.dtype(char), out=out, **given)
        out_strides = None
        if out is not None:
            kept = iter(out.strides)
            out_strides = [0 if k in axes else next(kept) for k in range(x.ndim)]
        order = order_of(
            ufunc, char * 2 + "->" + char, canonical(x.dtype.char), x.shape, x.strides, axes,
            initial_given=initial is not None, out_strides=out_strides, buffer=numpy.getbufsize(),
        )
        assert isinstance(order, Order), order
        found = fold(order, ufunc, x, char, initial)
    shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    numpy.testing.assert_array_equal(found.reshape(shape), expected, err_msg=f"{order}")
    return order


@pytest.mark.parametrize(
    ("ufunc", "char"),
    [("add", c) for c in "efdFD"] + [("multiply", c) for c in "efd"] + [("subtract", c) for c in "dF"],
)
def test_random_layouts(ufunc: str, char: str, small_buffer: int) -> None:
    rng = numpy.random.default_rng([ord(char), len(ufunc)])
    for _ in range(250):
        shape, axes = random_case(rng)
        axes = axes[:1] if ufunc == "subtract" else axes
        given = char if rng.random() < 0.6 else str(rng.choice(list("ilefd" if char in "efd" else "dFD")))
        check(ufunc, layouts(rng, shape, given, ufunc == "multiply"), char, axes)


@pytest.mark.parametrize("char", list("edF"))
def test_given_out_has_a_vote(char: str, small_buffer: int) -> None:
    rng = numpy.random.default_rng(3)
    for _ in range(150):
        shape, axes = random_case(rng)
        x = layouts(rng, shape, char, False)
        kept = tuple(n for k, n in enumerate(shape) if k not in axes)
        if not kept or any(s < 0 for s in x.strides):
            continue
        check("add", x, char, axes, out=numpy.empty(kept, char, order=str(rng.choice(["C", "F"]))))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 127, 128, 129, 136, 1000, BUFFER - 1, BUFFER, BUFFER + 1, 40_003])
@pytest.mark.parametrize("char", list("efdFD"))
def test_lengths(n: int, char: str) -> None:
    x = numbers(numpy.random.default_rng(n), (n,), char)
    check("add", x, char, (0,))
    check("add", x[::-1], char, (0,))
    check("add", numpy.stack([x, x], 1)[:, 0], char, (0,))
    check("add", x.astype({"e": "d", "f": "d", "d": "f", "F": "D", "D": "F"}[char]), char, (0,))
    check("add", x, char, (0,), initial=numpy.dtype(char).type(2.5))


@pytest.mark.parametrize("shape", [(9, 200), (40, 2100), (3, 4095), (3, 4096), (3, 4097), (2, 9000)])
def test_rows_that_do_not_merge(shape: tuple[int, int]) -> None:
    m, n = shape
    x = numbers(numpy.random.default_rng(n), (m, n + 5), "d")[:, :n]
    check("add", x, "d", (0, 1))
    check("add", x.T, "d", (0, 1))
    check("add", x.astype("f"), "d", (0, 1))


@pytest.mark.parametrize("ufunc", ["logaddexp", "hypot", "subtract", "divide", "logaddexp2"])
def test_other_ufuncs_in_sequence(ufunc: str) -> None:
    rng = numpy.random.default_rng(5)
    for char in "fd":
        for n in (2, 9, 200):
            check(ufunc, numbers(rng, (n, 3), char, True), char, (0,))
            check(ufunc, numbers(rng, (3, n), char, True), char, (1,))


@pytest.mark.parametrize(
    ("ufunc", "char"),
    [
        ("maximum", "d"), ("fmin", "f"), ("add", "l"),
        ("multiply", "B"), ("logical_or", "?"), ("bitwise_xor", "h"),
    ],
)
def test_free_orders(ufunc: str, char: str) -> None:
    rng = numpy.random.default_rng(6)
    for _ in range(20):
        shape, axes = random_case(rng)
        order = check(ufunc, layouts(rng, shape, char, False), char, axes)
        assert order.fold == "any"


def test_start() -> None:
    def start(ufunc: str, initial: bool = False) -> str:
        order = order_of(ufunc, "dd->d", "d", (9,), (8,), (0,), initial_given=initial)
        assert isinstance(order, Order)
        return order.start

    assert start("add") == "identity"
    assert start("maximum") == "first"
    assert start("subtract") == "first"
    assert start("add", initial=True) == "initial"
    zeros = numpy.full(20, -0.0)
    assert not numpy.signbit(numpy.add.reduce(zeros))


def test_argmax_counts_in_c_order() -> None:
    x = numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4) % 5)
    order = order_of("argmax", "dd->l", "d", x.shape, x.strides, (0, 1))
    assert isinstance(order, Order)
    assert [loop.axis for loop in order.loops] == [0, 1]
    assert (order.fold, order.tree, order.run) == ("any", 2, 12)


def test_unproved_says_why() -> None:
    cases = [
        order_of("add", "dd->d", "d", (9, 9), (80, 8), (0, 1), mask_strides=(9, 1)),
        order_of("add", "dd->d", "f", (9,), (4,), (0,), mask_strides=(1,)),
        order_of("add", "ee->e", "e", (9,), (2,), (0,), mask_strides=(1,)),
        order_of("arctan2", "dd->d", "d", (9,), (8,), (0,)),
        order_of("maximum", "gg->g", "g", (9,), (16,), (0,)),
        order_of("argmax", "DD->l", "D", (9,), (16,), (0,)),
        order_of("add", "dd->d", "d", (0,), (8,), (0,)),
        order_of("add", "dd->d", "d", (3, 3), (24, -8), (0,), out_strides=(0, 8)),
    ]
    assert all(isinstance(c, Unproved) and c.why for c in cases)


def test_long_runs_under_a_mask() -> None:
    """Older versions of NumPy cut them where their iterator's buffer ends, too."""
    for n, kind in ((MASKED, "cut"), (MASKED + 1, "long")):
        order = order_of("add", "dd->d", "d", (n,), (8,), (0,), mask_strides=(1,))
        if not cut_by_nothing_else("d"):
            assert isinstance(order, Unproved) and numpy.lib.NumpyVersion(numpy.__version__) < "2.3.0"
        else:
            assert isinstance(order, Order) and (order.fold, order.run) == (kind, n)


def test_every_row_is_proved_here() -> None:
    assert self_check() == dict.fromkeys(ROWS, True)


def test_a_wrong_rule_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NumPy that followed no rule of the table would get no row."""

    def halves(merged: Any, cast: bool, buffer: int) -> tuple[int, int]:
        return 1, max(1, merged[0].extent // 2)

    monkeypatch.setattr(reduce_proof, "RULES", (halves,))
    reduce_proof.rule_for.cache_clear()
    reduce_proof._followed.cache_clear()
    try:
        assert not any(self_check().values())
        assert isinstance(order_of("add", "dd->d", "d", (9,), (8,), (0,)), Unproved)
    finally:
        reduce_proof.rule_for.cache_clear()
        reduce_proof._followed.cache_clear()


def test_proof_is_cheap_and_leaves_the_buffer_size_alone() -> None:
    code = """
    import numpy, time
    from lazyarr.reduce_proof import self_check
    before = numpy.getbufsize()
    started = time.process_time()
    self_check()
    print(time.process_time() - started < 0.5, numpy.getbufsize() == before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["True", "True"]
