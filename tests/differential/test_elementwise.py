"""Every op of the op table, over its loops and over memory layouts: NumPy's bits."""

from __future__ import annotations

import numpy
import pytest

import lazyarr
from lazyarr.ops import DOMAINS, OPS, loop_types

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]

LOOPS = [
    (name, sig)
    for name, op in OPS.items()
    if op.is_ufunc
    for sig in loop_types(name)
    if not ("raises" in op.traits and sig[0] in "bhilBHIL")
]
ZERO_SIGN_IS_FREE = {"maximum", "minimum", "fmax", "fmin"}

LAYOUTS = {
    "contiguous": lambda x: x,
    "strided": lambda x: x[::3],
    "reversed": lambda x: x[::-1],
    "columns": lambda x: x[:60].reshape(6, 10).T,
    "rows of a block": lambda x: x[:60].reshape(6, 10)[1:5, 2:9],
}
"""Small, so that a test of all of them stays short; sizes are fuzzed elsewhere."""


def apply(np, fn, arrays, layout):
    given = [LAYOUTS[layout](np.array(a)) for a in arrays]
    return fn(*given)


def operands(op, sig, values):
    domain = DOMAINS[op.domain]
    if op.name == "ldexp":
        return [values(sig[0], 97, 0), values(sig[1], 97, 1, (-8, 8))]
    return [values(c, 97, k, domain) for k, c in enumerate(sig[: op.nin])]


@pytest.mark.parametrize(("name", "sig"), LOOPS, ids=lambda x: x.replace("->", "_"))
def test_loop(name, sig, jit, values, same):
    op = OPS[name]
    ours = lazyarr.namespace.adapt(op.fn)
    arrays = operands(op, sig, values)
    for layout in LAYOUTS:
        want = apply(numpy, op.fn, arrays, layout)
        same(apply(lazyarr, ours, arrays, layout), want, name not in ZERO_SIGN_IS_FREE)


BINARY = [name for name, op in OPS.items() if op.is_ufunc and (op.nin, op.nout) == (2, 1)]
SCALARS = [2, -1, True, 0.5, 2.0, 1j, numpy.float32(3), numpy.int8(2), 300]


@pytest.mark.parametrize("char", list("?bBhlefdD"))
@pytest.mark.parametrize("name", BINARY)
def test_scalars_promote_as_numpys(name, char, jit, values, same):
    fn, ours = getattr(numpy, name), getattr(lazyarr, name)
    x = values(char, 41, domain=(0, 20))
    for scalar in SCALARS:
        for order in ((x, scalar), (scalar, x)):
            try:
                want = fn(*order)
            except (TypeError, ValueError, OverflowError) as error:
                with pytest.raises(type(error)) as caught:
                    numpy.asarray(ours(*[lazyarr.array(a) if a is x else a for a in order]))
                assert str(caught.value) == str(error)
                continue
            got = ours(*[lazyarr.array(a) if a is x else a for a in order])
            same(got, want, name not in ZERO_SIGN_IS_FREE)


EXPONENTS = [0, 1, 2, 3, -1, 0.0, 0.5, 1.0, 2.0, -0.5, -1.0, 1j, True, numpy.int64(2)]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("char", list("?bBlefdFD"))
def test_power_operator_takes_numpys_shortcuts(char, exponent, jit, values, same):
    x = values(char, 33, domain=(1, 9))
    try:
        want = x**exponent
    except (ValueError, OverflowError) as error:
        with pytest.raises(type(error), match=str(error)):
            lazyarr.array(x) ** exponent
        return
    same(lazyarr.array(x) ** exponent, want)
    if want.dtype == x.dtype:
        y, z = lazyarr.array(x), x.copy()
        y **= exponent
        z **= exponent
        same(y, z)


PLAIN = "?bhilBHILefdFD"


@pytest.mark.parametrize("source", list(PLAIN))
@pytest.mark.parametrize("target", list(PLAIN))
def test_casts_in_range(source, target, jit, values, same):
    x = values(source, 53, domain=(0, 100))
    same(lazyarr.array(x).astype(target), x.astype(target))
    y, z = lazyarr.zeros(53, target), numpy.zeros(53, target)
    y[::-1] = lazyarr.array(x)
    z[::-1] = x
    same(y, z)


@pytest.mark.parametrize("char", list(PLAIN))
def test_where_and_clip(char, jit, values, same):
    x, y = values(char, 64, 1), values(char, 64, 2)
    for np in (lazyarr,):
        a, b = np.array(x), np.array(y)
        same(np.where(a > b, a, b) if char not in "FD" else np.where(a == b, a, b),
             numpy.where(x > y, x, y) if char not in "FD" else numpy.where(x == y, x, y))  # fmt: skip
        same(np.where(a, a, 1), numpy.where(x, x, 1))
    if char not in "?FD":
        same(lazyarr.clip(lazyarr.array(x), 1, 5), numpy.clip(x, 1, 5))


@pytest.mark.parametrize("order", ["C", "F"])
def test_outputs_and_masks(order, jit, values, same):
    x, y = values("d", 60, 1).reshape(6, 10), values("d", 60, 2).reshape(6, 10)
    mask = values("?", 60, 3).reshape(6, 10)

    def run(np):
        out = np.array(np.zeros((6, 10), "f4"), order=order)
        np.add(np.array(x), np.array(y), out=out, where=np.array(mask), casting="same_kind")
        np.multiply(out[::2], out[1::2], out=out[1::2])
        np.sqrt(np.array(x)[0], out=out[0], casting="same_kind")
        np.copyto(out[:, ::-1], np.array(y), where=np.array(mask), casting="same_kind")
        return out

    same(run(lazyarr), run(numpy))


@pytest.mark.parametrize("size", [0, 1, 7, 1000, 40_000])
def test_sizes(size, jit, values, same):
    x, y = values("d", size, 1, (1, 9)), values("f", size, 2, (1, 9))

    def run(np):
        a, b = np.array(x), np.array(y)
        return (a - b) * 2 / (a + 0.5), np.exp(-a) > b, a[::2].sum(), a // b

    same(run(lazyarr), run(numpy))
