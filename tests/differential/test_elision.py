"""NumPy's operators reuse large temporaries, and swap the operands of a product for it: the same bits."""

from __future__ import annotations

import operator
import warnings
from types import SimpleNamespace

import numpy
import pytest

import lazyarr
from lazyarr.elision import numpy_swaps

C = 1.5 - 0.25j
PRODUCTS = {
    "temporary second": lambda np, a, b: a * (-b),
    "temporary first": lambda np, a, b: (-b) * a,
    "temporaries": lambda np, a, b: (-a) * (-b),
    "chain": lambda np, a, b: a * (b * (a * (b + 1))),
    "no operator": lambda np, a, b: np.multiply(a, -b),
    "operator's function": lambda np, a, b: operator.mul(a, -b),
    "variable": lambda np, a, b: (lambda t: a * t)(-b),
    "named on the way": lambda np, a, b: a * (_t := -b),
    "attribute": lambda np, a, b: (lambda x: a * x.t)(SimpleNamespace(t=-b)),
    "out of a list": lambda np, a, b: a * [-b].pop(),
    "Python scalar": lambda np, a, b: C * (-b),
    "NumPy scalar": lambda np, a, b: numpy.complex64(C) * (-b),
    "scalar second": lambda np, a, b: (-b) * C,
    "view of a temporary": lambda np, a, b: a * (-b)[:],
    "broadcast": lambda np, a, b: a[:1] * (-b),
    "without axes": lambda np, a, b: a[:1].reshape(()) * (-b),
    "real": lambda np, a, b: a.real * (-b),
    "other dtype": lambda np, a, b: a * b.astype("D"),
    "copy": lambda np, a, b: a * b.copy(),
    "NumPy's result": lambda np, a, b: a * np.fft.fft(b),
    "no copy": lambda np, a, b: a * np.asarray(b),
    "fold inside": lambda np, a, b: a * (b - b.mean()),
}


@pytest.mark.parametrize("options", [{}, {"jit": "always"}, {"jit": "never"}], ids=str)
@pytest.mark.parametrize("nbytes", [-1, 0, 1 << 18], ids=lambda more: f"256 KiB {more:+}")
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name, dtype, nbytes, options):
    if name == "NumPy scalar" and numpy_swaps(numpy.complex64):
        pytest.skip("the scalar's own operator runs, and cannot know")
    n = ((1 << 18) + nbytes) // numpy.dtype(dtype).itemsize
    random = numpy.random.default_rng(4)
    a, b = (random.normal(size=(2, n)) + 1j * random.normal(size=(2, n))).astype(dtype)
    want = PRODUCTS[name](numpy, a.copy(), b.copy())
    with lazyarr.options(**options):
        got = numpy.asarray(PRODUCTS[name](lazyarr, lazyarr.array(a), lazyarr.array(b)))
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", ["temporary second", "Python scalar", "temporary first", "chain"])
def test_product_where_errors_are_raised(name):
    random = numpy.random.default_rng(4)
    a, b = random.normal(size=(2, 80_000)) + 1j * random.normal(size=(2, 80_000))
    with numpy.errstate(all="raise"):
        want = PRODUCTS[name](numpy, a.copy(), b.copy())
        got = numpy.asarray(PRODUCTS[name](lazyarr, lazyarr.array(a), lazyarr.array(b)))
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("left", [numpy.linspace(1, 2, 80_000), 3, 0.5, True], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("jit", ["auto", "always"])
def test_real_numbers_are_swapped_for_the_flags(left, jit):
    b = numpy.full(80_000, 1 + 1j)
    b[77] = numpy.inf                           # b / 2. is inf + nan j there
    warned = []
    for np in (numpy, lazyarr):
        with lazyarr.options(jit=jit), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            a = np.array(left) if isinstance(left, numpy.ndarray) else left
            found = a * (np.array(b) / 2.0)
            numpy.asarray(found)
        warned.append([str(w.message) for w in caught])
    assert warned[1] == warned[0]
