"""The memory order of what NumPy computes in a temporary's memory: strides, and the bits of sums."""

from __future__ import annotations

import functools
import operator
import random

import numpy
import pytest

import lazyarr

ORDERS = {
    "temporary first": lambda np, c, f: 2 * f - c,
    "temporary second": lambda np, c, f: c + 2 * f,
    "not commutative": lambda np, c, f: c - 2 * f,
    "unary": lambda np, c, f: -f + c,
    "absolute": lambda np, c, f: c * abs(f),
    "chain": lambda np, c, f: f + f - c + c * f,
    "both temporaries": lambda np, c, f: (2 * c) + (2 * f),
    "both, the other way round": lambda np, c, f: (2 * f) + (2 * c),
    "divided": lambda np, c, f: (f + 1) / (c * c + 1),
    "remainder": lambda np, c, f: (f + 1) % (c * c + 1),
    "power": lambda np, c, f: (f * f) ** c,
    "square": lambda np, c, f: f**2 + c,
    "compared": lambda np, c, f: (2 * f < c) * 1.0,
    "no operator": lambda np, c, f: np.subtract(2 * f, c),
    "function's result": lambda np, c, f: np.exp(f) - c,
    "copy": lambda np, c, f: f.copy("K") - c,
    "in Fortran's order": lambda np, c, f: np.asfortranarray(c) - c,
    "view of a temporary": lambda np, c, f: (2 * f).T.T - c,
    "named on the way": lambda np, c, f: (_t := 2 * f) - c,
    "variable": lambda np, c, f: (lambda t: t - c)(2 * f),
    "operator's function": lambda np, c, f: operator.sub(2 * f, c),
    "reduced": lambda np, c, f: functools.reduce(operator.add, [f, f, c, c]),
    "summed": lambda np, c, f: sum([f, c, c]),
    "method called": lambda np, c, f: (f + f).__sub__(c),
    "reflected method called": lambda np, c, f: (f + f).__radd__(c),
    "out of a list": lambda np, c, f: [f + f].pop() - c,
    "given back": lambda np, c, f: (lambda: f + f)() - c,
    "mapped": lambda np, c, f: next(map(operator.sub, [f + f], [c])),
    "no copy": lambda np, c, f: np.asarray(2 * f) - c,
    "reshaped": lambda np, c, f: (2 * f).reshape(f.shape, order="F") - c,
    "real part": lambda np, c, f: (f * 1j).real - c,
    "filled": lambda np, c, f: np.full_like(f, 3) - c,
    "in an array": lambda np, c, f: np.add(f, f, out=np.zeros_like(f)) - c,
    "row": lambda np, c, f: 2 * f + c[0],
    "number": lambda np, c, f: (2 * f + 1.5) - c,
    "array without axes": lambda np, c, f: 2 * f - np.array(2.0),
    "narrower other": lambda np, c, f: 2 * f - c.astype("f"),
    "narrower temporary": lambda np, c, f: 2 * f.astype("f") - c,
    "parts": lambda np, c, f: f[::2] * 2 + c[::2],
    "in place": lambda np, c, f: operator.iadd(2 * f, c),
    "integers": lambda np, c, f: (f.astype(int) << 1) | c.astype(int),
    "bools": lambda np, c, f: (f > 0) & (c > 0),
    "shifted bools": lambda np, c, f: ((f > 0) | (f < -1)) + (c > 0),
}


def told(x):
    """All that tells memory orders apart."""
    sums = [numpy.asarray(x.sum(axis)).tobytes() for axis in range(x.ndim)]
    return x.dtype, x.strides, x.flags.c_contiguous, x.flags.f_contiguous, sums, numpy.asarray(x).tobytes()


@pytest.mark.parametrize("dtype", ["d", "D", "g", "m8[s]"])
@pytest.mark.parametrize("errors", ["warn", "raise"])
@pytest.mark.parametrize("name", ["difference", "product", "product of a temporary second"])
def test_what_numpy_computes_at_the_call(name, errors, dtype):
    """Where errors are raised, or there is no loop of ours, it is NumPy that elides, or we in its place."""
    programs = {
        "difference": lambda np, c, f: (f + f) - c,
        "product": lambda np, c, f: (f + f) * c,
        "product of a temporary second": lambda np, c, f: c * (-f),
    }
    if dtype == "m8[s]" and name != "difference":
        pytest.skip("NumPy does not multiply these")
    a, b = (x.astype("i8").astype(dtype) for x in numpy.random.default_rng(6).uniform(1, 99, (2, 300, 300)))
    if dtype == "D":
        a, b = a + 0.3j * b, b - 0.7j * a
    with numpy.errstate(all=errors):
        want = programs[name](numpy, a, numpy.asfortranarray(b))
        got = programs[name](lazyarr, lazyarr.array(a), lazyarr.array(b, order="F"))
    assert type(got) is type(lazyarr.array(a)) and got.strides == want.strides
    assert numpy.asarray(got).tobytes() == want.tobytes() or dtype == "g"


OPTIONS = [{}, {"jit": "always"}, {"jit": "never"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [(400, 400), (128, 256), (128, 255)], ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_order(name, shape, options):
    random = numpy.random.default_rng(5)
    a, b = random.normal(size=(2, *shape))
    want = ORDERS[name](numpy, a, numpy.asfortranarray(b))
    with lazyarr.options(**options):
        got = ORDERS[name](lazyarr, lazyarr.array(a), lazyarr.array(b, order="F"))
        assert told(got) == told(want)


OPERATORS = {"f": ["+", "-", "*", "/"], "i": ["+", "-", "*", "&", "|", "^", "//", "%"]}
AROUND = {
    "f": [
        "-{}", "abs({})", "+{}", "np.sqrt(abs({}))", "{}.copy()", "{}**2", "{}.T.T", "{}[:]", "2*{}",
        "{}-0.5", "np.float32(3)*{}", "{}.astype(dtype)", "np.asfortranarray({})", "np.ascontiguousarray({})",
        "row+{}",
    ],
    "i": ["-{}", "abs({})", "~{}", "{}.copy()", "{}.T.T", "{}*2", "{}|row", "np.asfortranarray({})"],
}  # fmt: skip


def drawn(rnd, kind, depth):
    """An expression over some of a, b, c, d, e."""
    if not depth or rnd.random() < 0.15:
        return rnd.choice("abcde")
    x = f"({drawn(rnd, kind, depth - 1)})"
    if rnd.random() < 0.35:
        return rnd.choice(AROUND[kind]).format(x)
    return f"{x} {rnd.choice(OPERATORS[kind])} ({drawn(rnd, kind, depth - 1)})"


def evaluated(np, text, dtype, given, rank):
    a, b, c, d, e, row = [np.array(x) for x in given]
    if rank == 2:
        names = {"a": a, "b": b.T, "c": c[::2], "d": d.T[:, ::2], "e": np.asfortranarray(e)}
    else:
        names = {
            "a": a, "b": b.transpose(2, 0, 1), "c": c[:, :, ::-1], "d": d.T, "e": e.transpose(1, 0, 2),
        }  # fmt: skip
    del a, b, c, d, e
    return told(eval(text, {"np": np, "dtype": dtype, "row": row, **names}))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_expressions_of_arrays_in_several_orders(seed, jit):
    rnd, rng = random.Random(seed), numpy.random.default_rng(seed)
    dtype, rank = rnd.choice("ddfDil"), rnd.choice([2, 2, 3])
    kind = "i" if dtype in "il" else "f"
    n, m, k = (34, 33, 37) if rank == 3 else (*rnd.choice([(182, 183), (182, 180), (300, 250)]), 0)
    shapes = (
        [(n, m), (m, n), (2 * n, m), (2 * m, n), (n, m), (m,)] if rank == 2
        else [(n, m, k), (m, k, n), (n, m, k), (k, m, n), (m, n, k), (k,)]
    )  # fmt: skip
    given = [rng.normal(size=s) * 9 for s in shapes]
    if kind == "i":
        given = [rng.integers(1, 40, s) for s in shapes]
    given = [(x + 1j * rng.normal(size=x.shape) if dtype == "D" else x).astype(dtype) for x in given]
    for _ in range(3):
        text = drawn(rnd, kind, rnd.choice([2, 3, 4]))
        want = evaluated(numpy, text, dtype, given, rank)
        got = evaluated(lazyarr, text, dtype, given, rank)
        if not (dtype in "dfD" and numpy.isnan(numpy.frombuffer(want[-1], want[0])).any()):
            assert got == want, text
        else:
            assert got[:4] == want[:4], text


@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_functions(order):
    """A function that is captured whole has no temporaries of the interpreter's."""

    def both(f, c):
        return 2 * f - c

    a, b = (numpy.array(x, order=o) for x, o in zip(numpy.ones((2, 400, 400)), ("F", order), strict=True))
    compiled = lazyarr.compile(both)
    for _ in range(3):
        assert told(compiled(lazyarr.array(a), lazyarr.array(b))) == told(both(a, b))
