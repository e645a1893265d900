"""Reduction kernels against NumPy, bit for bit: orders, dtypes, layouts, cuts, threads, fused producers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
import pytest
from layouts import laid_out

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.reduce_pipeline import compile_reduction
from lazyarr.codegen.reduce_plan import Cuts, arrange, cut, extras, fill
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level, host_levels
from lazyarr.dtypes import canonical
from lazyarr.fusion.assemble import access_class
from lazyarr.fusion.dead_code import live
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction
from lazyarr.geometry import address
from lazyarr.numpy_loops import inner_loop
from lazyarr.reduce_order import Order, in_c_order, order_of
from lazyarr.target import Target
from lazyarr.threading.run import parallel_for

if not jit.available():
    pytest.skip("no compiler here", allow_module_level=True)

Body = list[tuple[str, str, tuple[int, ...]]]
"""Operations on values; the operands are values 0, 1, ..."""


class Fold(NamedTuple):
    ufunc: str
    value: int
    char: str
    initial: Any = None
    mask: int = -1


def order_for(fold: Fold, made: Any, axes: tuple[int, ...]) -> Order:
    """NumPy's order for reducing `made`, the array that NumPy would reduce."""
    sig = f"{fold.char}{fold.char}->{fold.char}"
    order = order_of(
        fold.ufunc, sig, canonical(made.dtype.char), made.shape, made.strides, axes,
        initial_given=fold.initial is not None, buffer=numpy.getbufsize(),
        mask_strides=None,
    )
    assert isinstance(order, Order), order
    return order


class Program(NamedTuple):
    parfor: Parfor
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    run: int
    scalars: list[Any]
    order: Order


def program(
    inputs: Sequence[Any], body: Body, folds: Sequence[Fold], axes: tuple[int, ...], results: Sequence[Any],
    made: Any, order: Order | None = None,
) -> Program:
    """What fusion would make of a reduction."""
    nd = made.ndim
    order = order or order_for(folds[0], made, axes)
    space = arrange(order, [*columns_of(inputs, nd), *(results_of(out, axes, nd) for out in results)])
    insts = [Inst("load", canonical(x.dtype.char), (), k) for k, x in enumerate(inputs)]
    insts += [
        Inst(op, sig, args, None if op in ("cast", "where") else 0) for op, sig, args in body
    ]
    scalars: list[Any] = []
    for k, fold in enumerate(folds):
        start = -1
        identity = None if fold.ufunc.startswith("arg") else getattr(numpy, fold.ufunc).identity
        if fold.initial is not None or identity is not None:
            start = len(scalars)
            first = identity if fold.initial is None else fold.initial
            scalars.append(numpy.asarray(first).astype(fold.char)[()])
        own = order_of(fold.ufunc, f"{fold.char}{fold.char}->{fold.char}", fold.char, (9,), (8,), (0,))
        free = isinstance(own, Order) and own.fold == "any"
        kind = "any" if free else order.fold
        how = Reduction(fold.ufunc, kind, len(inputs) + k, start, fold.mask, space.group)
        insts.append(Inst("reduce", fold.char, (fold.value,), how))
    operands = [
        Operand(canonical(x.dtype.char), access_class(s[-1], x.itemsize), role)
        for x, s, role in zip(
            [*inputs, *results], space.strides, ["in"] * len(inputs) + ["out"] * len(results), strict=True
        )
    ]
    chars = "".join(canonical(s.dtype.char) for s in scalars)
    parfor = Parfor(space.dims, tuple(operands), chars, tuple(insts))
    return Program(parfor, space.shape, space.strides, space.run, scalars, order)


def launch(
    p: Program, arrays: Sequence[Any], target: Target, threads: int = 1, cuts: Cuts | None = None,
    table: Any = None,
) -> int:
    """Run a program; the flags that it raised."""
    source = compile_reduction(p.parfor, target, verify=True)
    kernel, combine, fold = (
        jit.load(m.ir, (m.symbol,), target)[m.symbol] if m is not None else 0
        for m in (source.shell or source, source.combine, source if source.shell else None)
    )
    layout = source.layout
    cuts = cuts or cut(p.parfor, p.shape, p.run)
    words = array("q", bytes(8 * layout.extra(extras(layout))))
    for d, n in enumerate(p.shape):
        words[layout.shape(d)] = n
    for k, (x, s) in enumerate(zip(arrays, p.strides, strict=True)):
        words[layout.pointer(k)] = address(x)
        for d, stride in enumerate(s):
            words[layout.stride(k, d)] = stride
    for k, scalar in enumerate(p.scalars):
        raw = scalar.tobytes().ljust(16, b"\0")
        words[layout.scalar(k)] = int.from_bytes(raw[:8], "little", signed=True)
        words[layout.scalar(k) + 1] = int.from_bytes(raw[8:], "little", signed=True)
    for k, (name, sig) in enumerate(source.loops):
        loop = inner_loop(getattr(numpy, name), sig)
        assert loop is not None
        words[layout.loop(k)], words[layout.loop(k) + 1] = loop.address, loop.data
    scratch = numpy.full(source.scratch_bytes * threads + 128, 0xA5, numpy.uint8)
    words[Layout.SCRATCH] = -(-address(scratch) // 64) * 64
    partials = numpy.full(cuts.partial_bytes + 16, 0xA5, numpy.uint8)
    fill(words, layout, cuts, address(partials if table is None else table), fold)
    parallel_for(kernel, words.buffer_info()[0], cuts.chunks, threads)
    if cuts.partial_bytes and table is None:
        parallel_for(combine, words.buffer_info()[0], cuts.combine_chunks, threads)
    assert (scratch[-64:] == 0xA5).all() and (partials[cuts.partial_bytes :] == 0xA5).all()
    return words[Layout.FLAGS]


def same(found: Any, expected: Any, note: str = "") -> None:
    numpy.testing.assert_array_equal(found, expected, err_msg=note)
    if expected.dtype.kind in "fc" and not numpy.isnan(expected).any():
        size = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1)
        bits = numpy.ascontiguousarray(expected).reshape(-1).view(f"u{size}")
        mine = numpy.ascontiguousarray(found).reshape(-1).view(f"u{size}")
        if "max" not in note and "min" not in note:
            numpy.testing.assert_array_equal(mine, bits, err_msg=note)


def check(
    inputs: Sequence[Any], folds: Sequence[Fold], axes: tuple[int, ...], body: Body = [],  # noqa: B006
    make: Callable[..., list[Any]] | None = None, target: Target | None = None,
    threads: Sequence[int] = (1, 2),
) -> Program:
    """`make` computes the arrays that NumPy reduces, one for each fold, from the inputs."""
    with numpy.errstate(all="ignore"):
        made = make(*inputs) if make else [inputs[f.value] for f in folds]
        shape = made[0].shape
        expected = []
        for fold, x in zip(folds, made, strict=True):
            options: dict[str, Any] = {"axis": axes, "dtype": numpy.dtype(fold.char)}
            if fold.initial is not None:
                options["initial"] = fold.initial
            if fold.mask >= 0:
                options["where"] = inputs[fold.mask]
            if fold.ufunc.startswith("arg"):
                options = {"axis": axes[0] if len(axes) == 1 else None}
                expected.append(numpy.asarray(getattr(numpy, fold.ufunc)(x, **options)))
            else:
                expected.append(numpy.asarray(getattr(numpy, fold.ufunc).reduce(x, **options)))
    extra: Body = []
    base = len(inputs) + len(body)
    cast: list[Fold] = []
    for fold, x in zip(folds, made, strict=True):
        have = canonical(x.dtype.char)
        if have != fold.char:
            extra.append(("cast", f"{have}->{fold.char}", (fold.value,)))
            fold = fold._replace(value=base + len(extra) - 1)
        cast.append(fold)
    out_shape = tuple(n for k, n in enumerate(shape) if k not in axes)
    p = None
    for n in threads:
        results = [numpy.zeros(out_shape, e.dtype) for e in expected]
        p = program(inputs, [*body, *extra], cast, axes, results, made[0])
        launch(p, [*inputs, *results], target or host_level(), n)
        for fold, result, e in zip(folds, results, expected, strict=True):
            same(result, e, f"{fold} {made[0].shape} {made[0].strides} {axes}\n{p.parfor}\n{p.shape}")
    assert p is not None
    return p


def numbers(rng: numpy.random.Generator, shape: tuple[int, ...], char: str) -> Any:
    """Cancelling values of many magnitudes."""
    dtype = numpy.dtype(char)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    reach = {"e": 3, "f": 12, "F": 12}.get(char, 30)

    def draw() -> Any:
        return numpy.ldexp(rng.standard_normal(shape), rng.integers(-reach, reach, shape))

    return (draw() + (1j * draw() if dtype.kind == "c" else 0)).astype(dtype)


LENGTHS = [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 135, 1000, 8191, 8192, 8193, 20_001, 100_000]


@pytest.mark.parametrize("char", list("efdFD"))
def test_sum_lengths(char: str) -> None:
    rng = numpy.random.default_rng(1)
    for n in LENGTHS:
        x = numbers(rng, (n,), char)
        check([x], [Fold("add", 0, char)], (0,))
        check([x[::-1]], [Fold("add", 0, char)], (0,))
        check([numpy.repeat(x, 2)[::2]], [Fold("add", 0, char)], (0,), threads=(1,))


@pytest.mark.parametrize("char", list("fdD"))
def test_long_sum_in_parallel(char: str) -> None:
    x = numbers(numpy.random.default_rng(2), (700_001,), char)
    p = check([x], [Fold("add", 0, char)], (0,), threads=(1, 2, 3))
    assert cut(p.parfor, p.shape, p.run).partial_bytes > 0


def test_fused_producer() -> None:
    rng = numpy.random.default_rng(3)
    for n in (5, 128, 1000, 300_000):
        x, y = numbers(rng, (n,), "d"), numbers(rng, (n,), "d")
        body: Body = [("subtract", "dd->d", (0, 1)), ("multiply", "dd->d", (2, 2))]
        check([x, y], [Fold("add", 3, "d")], (0,), body, lambda x, y: [(x - y) * (x - y)])


def test_rows_that_do_not_merge() -> None:
    rng = numpy.random.default_rng(4)
    for rows, columns, take in ((9, 210, 200), (100, 300, 256), (40, 2100, 2050), (3, 9005, 9000), (9, 9, 2)):
        shape = rows, columns
        x = numbers(rng, shape, "d")[:, :take]
        check([x], [Fold("add", 0, "d")], (0, 1))
        check([x.T], [Fold("add", 0, "d")], (0, 1))
        check([x], [Fold("maximum", 0, "d")], (0, 1))
        check([x.astype("f").astype("d"), x[0]], [Fold("add", 2, "d")], (0, 1), [("add", "dd->d", (0, 1))],
              lambda x, y: [x + y])


def test_numpy_stage_in_the_producer() -> None:
    rng = numpy.random.default_rng(5)
    for n in (3, 128, 1500, 30_000, 200_000):
        x = rng.standard_normal(n)
        check([x], [Fold("add", 1, "d")], (0,), [("exp", "d->d", (0,))], lambda x: [numpy.exp(x)])
        check([x], [Fold("add", 1, "d"), Fold("maximum", 0, "d")], (0,), [("exp", "d->d", (0,))],
              lambda x: [numpy.exp(x), x])


@pytest.mark.parametrize("char", list("?bhilBHILefd"))
def test_argmax(char: str) -> None:
    rng = numpy.random.default_rng(6)
    for name in ("argmax", "argmin"):
        for n in (1, 5, 200, 5000, 300_000):
            x = (numbers(rng, (n,), char) if char in "?efd" else rng.integers(0, 100, n).astype(char))
            check([x], [Fold(name, 0, char)], (0,))
            if char in "efd":
                y = x.copy()
                y[n // 2] = numpy.nan
                check([y], [Fold(name, 0, char)], (0,))
        x = rng.integers(0, 9, (7, 130)).astype(char)
        check([x], [Fold(name, 0, char)], (1,))
        check([x], [Fold(name, 0, char)], (0,))
        check([x[:, :9].T], [Fold(name, 0, char)], (0, 1))


@pytest.mark.parametrize("ufunc", ["logaddexp", "hypot", "subtract", "divide", "multiply", "gcd"])
def test_in_sequence(ufunc: str) -> None:
    rng = numpy.random.default_rng(7)
    for char in "l" if ufunc == "gcd" else "fd":
        for n in (1, 2, 9, 500, 5000):
            x = numpy.abs(rng.standard_normal((3, n)) * 0.01 + 1).astype(char) * (6 if char == "l" else 1)
            check([x], [Fold(ufunc, 0, char)], (1,))
            check([x.astype("d")], [Fold(ufunc, 1, char)], (1,), [("absolute", "dd"[:1] + "->d", (0,))],
                  lambda x: [numpy.absolute(x)]) if char == "d" else None


def test_half_product_in_runs() -> None:
    rng = numpy.random.default_rng(8)
    for n in (5, 300, 9000):
        x = (rng.standard_normal(n) * 1e-2 + 1).astype("e")
        check([x], [Fold("multiply", 0, "e")], (0,))
        check([x.astype("d")], [Fold("multiply", 0, "e")], (0,))


@pytest.mark.parametrize("char", list("efdFDl?"))
def test_columns(char: str) -> None:
    rng = numpy.random.default_rng(9)
    acc = "l" if char in "?l" else char
    for shape in ((3, 5), (50, 513), (2, 2000), (700, 8), (40, 1)):
        x = numbers(rng, shape, char)
        check([x], [Fold("add", 0, acc)], (0,))
        check([x.T], [Fold("add", 0, acc)], (1,))
        check([x[::-1, ::-1]], [Fold("add", 0, acc)], (0,))
        if char in "fd":
            check([x.astype("d")], [Fold("add", 1, "d")], (0,), [("exp", "d->d", (0,))],
                  lambda x: [numpy.exp(x)])
    for axes in ((0, 2), (1,), (0,), (0, 1), (1, 2), (2,)):
        check([numbers(rng, (7, 11, 30), char)], [Fold("add", 0, acc)], axes)
        check([numbers(rng, (30, 11, 7), char).transpose(2, 1, 0)[:, :, :20]], [Fold("add", 0, acc)], axes)


@pytest.mark.parametrize("ufunc", ["subtract", "hypot", "multiply", "maximum", "logaddexp"])
def test_columns_of_other_folds(ufunc: str) -> None:
    rng = numpy.random.default_rng(10)
    for shape in ((3, 5), (2, 700), (40, 9)):
        check([rng.standard_normal(shape)], [Fold(ufunc, 0, "d")], (0,))


def test_columns_in_steps() -> None:
    rng = numpy.random.default_rng(11)
    for char, ufunc in (("l", "add"), ("d", "maximum"), ("?", "logical_or"), ("B", "bitwise_xor")):
        p = check([numbers(rng, (200_003, 3), char)], [Fold(ufunc, 0, char)], (0,))
        assert cut(p.parfor, p.shape, p.run).partial_bytes > 0


@pytest.mark.parametrize("ufunc", ["maximum", "minimum", "fmax", "fmin", "add", "multiply", "logical_and",
                                   "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("char", list("?bhilBHILefd"))
def test_any_order(ufunc: str, char: str) -> None:
    fn = getattr(numpy, ufunc)
    kind = numpy.dtype(char).kind
    if (kind == "f" and ufunc in ("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor")) or (
        ufunc.startswith("logical") and char != "?"
    ):
        return
    rng = numpy.random.default_rng(12)
    for n in (1, 3, 64, 65, 1000, 150_000):
        x = numbers(rng, (n,), char)
        check([x], [Fold(ufunc, 0, char)], (0,), threads=(1,))
    x = numbers(rng, (9, 70), char)
    check([x], [Fold(ufunc, 0, char)], (1,))
    check([x], [Fold(ufunc, 0, char)], (0,))
    check([x, x > 0], [Fold(ufunc, 0, char, numpy.dtype(char).type(1), 1)], (1,), threads=(1,))
    check([x, x > 0], [Fold(ufunc, 0, char, numpy.dtype(char).type(1), 1)], (0,), threads=(1,))
    assert fn is not None
    if kind == "f":
        x[3, 5], x[4] = numpy.nan, numpy.nan
        x[5, 3], x[6, 4] = numpy.inf, -numpy.inf
        check([x], [Fold(ufunc, 0, char)], (1,))


def layouts(rng: numpy.random.Generator, shape: tuple[int, ...], char: str) -> Any:
    return laid_out(rng, shape, lambda full: numbers(rng, full, char))


@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int) -> None:
    """Any layout, producer and axes; several reductions in one pass where their runs agree."""
    rng = numpy.random.default_rng([13, seed])
    usual = numpy.setbufsize(int(rng.choice([160, 8192])))
    try:
        for _ in range(10):
            one_random(rng)
    finally:
        numpy.setbufsize(usual)


def one_random(rng: numpy.random.Generator) -> None:
    nd = int(rng.integers(1, 5))
    top = {1: 3000, 2: 90, 3: 20, 4: 9}[nd]
    shape = tuple(int(rng.choice([1, 2, 3, *rng.integers(1, top, 4)])) for _ in range(nd))
    axes = tuple(k for k in range(nd) if rng.random() < 0.6) or (int(rng.integers(nd)),)
    char = str(rng.choice(list("fdFDe")))
    x, y = layouts(rng, shape, char), layouts(rng, shape, char)
    add = ("add", f"{char}{char}->{char}", (0, 1))
    exp = ("exp", f"{char}->{char}", (2,))
    kind = int(rng.integers(4))
    if kind == 0:
        check([x], [Fold("add", 0, char)], axes)
    elif kind == 1:
        check([x, y], [Fold("add", 2, char)], axes, [add], lambda x, y: [x + y])
    elif kind == 2 and char in "fd":
        check([x, y], [Fold("add", 3, char)], axes, [add, exp], lambda x, y: [numpy.exp(x + y)])
    else:
        wide = {"e": "f", "f": "d", "d": "f", "F": "D", "D": "F"}[char]
        check([x, y], [Fold("add", 2, wide)], axes, [add], lambda x, y: [x + y])


@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
def test_levels(level: str) -> None:
    target = next(x.target for x in host_levels() if x.target.name == level)
    rng = numpy.random.default_rng(14)
    for char in "efdFDbl?":
        acc = "l" if char in "bl?" else char
        x = numbers(rng, (37, 301), char)
        for axes in ((0, 1), (0,), (1,)):
            check([x], [Fold("add", 0, acc)], axes, target=target, threads=(1,))
            if char not in "FD":
                check([x], [Fold("maximum", 0, char)], axes, target=target, threads=(1,))
        if char not in "FD":
            check([x], [Fold("argmax", 0, char)], (1,), target=target, threads=(1,))


def test_several_in_one_pass() -> None:
    rng = numpy.random.default_rng(15)
    for shape, axes in (((300_000,), (0,)), ((40, 501), (1,)), ((40, 501), (0,)), ((40, 300), (0, 1))):
        x, y = numbers(rng, shape, "d"), numbers(rng, shape, "d")
        body: Body = [("multiply", "dd->d", (0, 1)), ("greater", "dd->?", (0, 1))]
        folds = [
            Fold("add", 0, "d"), Fold("add", 2, "d"), Fold("maximum", 0, "d"), Fold("logical_or", 3, "?"),
            Fold("add", 3, "l"),
        ]
        check([x, y], folds, axes, body, lambda x, y: [x, x * y, x, x > y, x > y])


def test_odd_bools() -> None:
    """Any byte but 0 is True."""
    x = numpy.array([0, 0, 2, 1, 0, 255] * 50, numpy.uint8).view(bool)
    for name in ("argmax", "argmin"):
        check([x], [Fold(name, 0, "?")], (0,))
        check([x[2:]], [Fold(name, 0, "?")], (0,))
    check([x], [Fold("add", 0, "l")], (0,))
    check([x], [Fold("logical_and", 0, "?")], (0,))


def test_known_early() -> None:
    """any and all stop where the rest cannot matter: what follows may even be unreadable."""
    rng = numpy.random.default_rng(16)
    for n in (10, 5000, 300_000):
        for k in {0, 1, n // 2, n - 1}:
            x = numpy.zeros(n)
            x[k] = 1.0
            body: Body = [("greater", "dd->?", (0, 0)), ("not_equal", "dd->?", (0, 1))]
            check([x, x[0:1] * 0], [Fold("logical_or", 3, "?")], (0,), body, lambda x, z: [x != z])
            check([x == 0], [Fold("logical_and", 0, "?")], (0,))
            check([x == 0], [Fold("argmin", 0, "?")], (0,))
    x = rng.random((40, 5000)) < 0.001
    check([x], [Fold("logical_or", 0, "?")], (1,))
    check([x], [Fold("logical_or", 0, "?")], (0,))
    lone = order_of("logical_or", "??->?", "?", (1 << 32,), (1,), (0,))
    assert isinstance(lone, Order)
    out = numpy.zeros((), bool)
    ones = numpy.ones(4096, bool)
    p = program([ones], [], [Fold("logical_or", 0, "?")], (0,), [out], ones, lone)
    launch(p, [ones, out], host_level())        # 2**32 elements, of which 4096 exist
    assert out


def kept(
    inputs: Sequence[Any], body: Body, value: int, mask: int, shape: tuple[int, ...], char: str, threads: int,
    target: Target | None = None,
) -> Any:
    """The elements of a value where a mask is True, by two launches."""
    nd = len(shape)
    space = arrange(in_c_order(shape, [0] * nd), [*columns_of(inputs, nd), [0] * nd])
    insts = [Inst("load", canonical(x.dtype.char), (), k) for k, x in enumerate(inputs)]
    insts += [Inst(op, sig, args, None if op in ("cast", "where") else 0) for op, sig, args in body]
    how = Reduction("compress", "sequential", len(inputs), -1, mask, space.group)
    insts.append(Inst("reduce", char, (value,), how))
    operands = [
        Operand(canonical(x.dtype.char), access_class(s[-1], x.itemsize), "in")
        for x, s in zip(inputs, space.strides, strict=False)
    ]
    parfor = Parfor(space.dims, (*operands, Operand(char, "z", "out")), "", tuple(insts))
    p = Program(parfor, space.shape, space.strides, space.run, [], in_c_order(shape, [0] * nd))
    cuts = cut(parfor, space.shape, 0)
    counts = Reduction("add", "any", len(inputs), group=space.group)
    insts[-1:] = [Inst("cast", "?->l", (mask,)), Inst("reduce", "l", (len(insts) - 1,), counts)]
    operands.append(Operand("l", "z", "out"))
    counter = p._replace(parfor=parfor._replace(operands=tuple(operands), body=tuple(live(insts)[0])))
    nowhere = numpy.zeros(1, "l")
    partials = numpy.zeros(2 * cuts.steps, "l")
    launch(counter, [*inputs, nowhere], target or host_level(), threads, cuts, partials)
    offsets = numpy.concatenate([[0], numpy.cumsum(partials[::2])]).astype("l")
    out = numpy.full(int(offsets[-1]) + 8, 7, char)
    launch(p, [*inputs, out], target or host_level(), threads, cuts, offsets)
    assert (out[int(offsets[-1]) :] == numpy.dtype(char).type(7)).all()
    return out[: int(offsets[-1])]


@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
@pytest.mark.parametrize("char", list("?bhilBHILefdFD"))
def test_compress(char: str, level: str) -> None:
    target = next(x.target for x in host_levels() if x.target.name == level)
    rng = numpy.random.default_rng(17)
    for n in (1, 7, 65, 5000, 200_000):
        x = numbers(rng, (n,), char)
        for share in (0.0, 0.02, 0.5, 1.0) if n < 200_000 else (0.02, 0.5):
            m = rng.random(n) < share
            for threads in (1, 2) if n >= 5000 else (1,):
                same(kept([x, m], [], 0, 1, (n,), char, threads, target), x[m], "max")
    x = numbers(rng, (40, 300), char)
    m = rng.random((40, 300)) < 0.5
    same(kept([x.T, m.T], [], 0, 1, (300, 40), char, 2, target), x.T[m.T], "max")
    x, m = x[:, 7:200], m[:, 7:200]
    same(kept([x, m], [], 0, 1, (40, 193), char, 2, target), x[m], "max")


def test_compress_fused() -> None:
    rng = numpy.random.default_rng(18)
    for n in (9, 3000, 300_000):
        x = rng.standard_normal(n)
        zero = numpy.zeros(1)
        got = kept([x, zero], [("greater", "dd->?", (0, 1)), ("exp", "d->d", (0,))], 3, 2, (n,), "d", 2)
        same(got, numpy.exp(x)[x > 0])


@pytest.mark.parametrize("op", ["multiply", "exp"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_stores_in_the_same_pass(op: str, axes: tuple[int, ...]) -> None:
    """What the user still holds is written while it is folded."""
    rng = numpy.random.default_rng(19)
    for shape in ((5, 7), (40, 700), (3, 9000)):
        for cut_off in (0, 3):
            x = rng.standard_normal((shape[0], shape[1] + cut_off))[:, : shape[1]]
            y = numpy.exp(x) if op == "exp" else x * x
            kept_ = numpy.zeros_like(y)
            out = numpy.zeros(tuple(n for k, n in enumerate(shape) if k not in axes))
            sig, args = ("d->d", (0,)) if op == "exp" else ("dd->d", (0, 0))
            fold = Fold("add", 1, "d")
            p = program([x], [(op, sig, args)], [fold], axes, [out], y)
            space = arrange(p.order, [*columns_of([x], 2), *columns_of([kept_], 2), results_of(out, axes, 2)])
            *body, reduce_ = p.parfor.body
            assert isinstance(reduce_.attr, Reduction)
            how = reduce_.attr._replace(out=2, group=space.group)
            operands = tuple(
                Operand("d", access_class(s[-1], 8), role)
                for s, role in zip(space.strides, ("in", "out", "out"), strict=True)
            )
            body += [Inst("store", "d", (1,), 1), reduce_._replace(attr=how)]
            parfor = Parfor(space.dims, operands, p.parfor.scalars, tuple(body))
            p = Program(parfor, space.shape, space.strides, space.run, p.scalars, p.order)
            launch(p, [x, kept_, out], host_level(), 2)
            same(kept_, y)
            same(out, y.sum(axis=axes))


def columns_of(inputs: Sequence[Any], nd: int) -> list[list[int]]:
    return [
        [0] * (nd - x.ndim) + [0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)]
        for x in inputs
    ]


def results_of(out: Any, axes: tuple[int, ...], nd: int) -> list[int]:
    strides = iter(out.strides)
    return [0 if k in axes else next(strides) for k in range(nd)]


@pytest.mark.parametrize("ufunc", ["logaddexp", "hypot", "add", "multiply"])
def test_masked_sequences(ufunc: str) -> None:
    rng = numpy.random.default_rng(20)
    for shape in ((3, 5), (2, 900), (3000, 3)):
        x = rng.standard_normal(shape)
        m = rng.random(shape) < 0.5
        for axes in ((0,), (1,)):
            if ufunc == "add" and axes == (1,):
                continue
            check([x, m], [Fold(ufunc, 0, "d", numpy.float64(1), 1)], axes)
