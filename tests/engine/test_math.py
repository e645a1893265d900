"""The option ``math``: whose functions kernels call."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest

import lazyarr
from lazyarr import debug
from lazyarr.kernels import host
from lazyarr.ops import OPS
from lazyarr.own_loops import COMPLEX, DTYPES, EXACT

N = 50_000
ALL = [(name, char) for name, chars in DTYPES.items() for char in chars]
USUAL = {"arccosh": (1, 9), "arctanh": (-0.9, 0.9), "power": (0.1, 3), "arcsin": (-1, 1), "arccos": (-1, 1)}


@pytest.fixture
def jit_always():
    with lazyarr.options(jit="always"):
        yield


def operands(name, char):
    rng = numpy.random.default_rng(4)
    low, high = USUAL.get(name, (0.1, 9))
    return [rng.uniform(low, high, N).astype(char) for _ in range(OPS[name].nin)]


@pytest.mark.parametrize("name, char", ALL)
def test_native_functions_call_none_of_numpys_loops(name, char):
    xs = operands(name, char)
    ours = getattr(lazyarr.special if hasattr(lazyarr.special, name) else lazyarr, name)
    wanted = ours.fn(*xs)
    with lazyarr.options(math="native", jit="always"):
        debug.reset()
        y = numpy.asarray(ours(*map(lazyarr.array, xs)) * 1)
        assert debug.counters()["numpy_loop_blocks"] == 0
        assert debug.counters()["native_launches"] >= 1
    with lazyarr.options(math="numpy", jit="always"):
        debug.reset()
        z = numpy.asarray(ours(*map(lazyarr.array, xs)) * 1)
        inside = hasattr(lazyarr.special, name) or bool(host().whose(name, f"{char}->{char}"))
        assert (debug.counters()["numpy_loop_blocks"] > 0) is not inside
    assert z.tobytes() == wanted.tobytes()
    assert y.dtype == z.dtype and numpy.allclose(y, z, rtol=4 * numpy.finfo(char).eps)


def misaligned(x):
    """The same numbers, where no number of the kind may lie."""
    memory = numpy.zeros(x.nbytes + 1, "u1")[1:].view(x.dtype)
    memory[:] = x
    assert not memory.flags.aligned
    return memory


@pytest.mark.parametrize("name, char", [*ALL, *[(n, c) for n, chars in COMPLEX.items() for c in chars]])
def test_native_functions_have_the_same_bits_where_memory_is_not_aligned(name, char):
    """NumPy moves such operands and results, for our loop as for its own."""
    xs = operands(name, char)
    ours = getattr(lazyarr.special if hasattr(lazyarr.special, name) else lazyarr, name)
    packed = [misaligned(x) for x in xs]
    every = numpy.arange(N) % 3 > 0
    with lazyarr.options(math="native", jit="always"):
        wanted = numpy.asarray(ours(*map(lazyarr.array, xs)))
        debug.reset()
        found = numpy.asarray(ours(*map(lazyarr.asarray, packed)))
        assert debug.counters()["numpy_fallbacks"] == 1
        out, part = misaligned(numpy.zeros_like(wanted)), misaligned(numpy.zeros_like(wanted))
        ours(*map(lazyarr.array, xs), out=lazyarr.asarray(out))
        ours(*map(lazyarr.asarray, packed), out=lazyarr.asarray(part), where=every)
        lazyarr.evaluate()
    assert found.tobytes() == wanted.tobytes() == out.tobytes()
    assert part[every].tobytes() == wanted[every].tobytes() and not part[~every].any()


@pytest.mark.parametrize("char", "df")
def test_flags_and_numpys_bits_where_memory_is_not_aligned(char):
    x = misaligned(numpy.linspace(-1, 9, N).astype(char))
    with lazyarr.options(math="native", jit="always"), pytest.warns(RuntimeWarning, match="invalid"):
        numpy.asarray(lazyarr.log(lazyarr.asarray(x)))
    with lazyarr.options(math="numpy", jit="always"), numpy.errstate(invalid="ignore"):
        assert numpy.asarray(lazyarr.log(lazyarr.asarray(x))).tobytes() == numpy.log(x).tobytes()


def cases(table):
    return [(name, char) for name, chars in table.items() for char in chars]


@pytest.mark.parametrize("name, char", cases(EXACT))
def test_exact_functions_are_ours_in_every_mode(name, char, jit_always):
    x, y = operands(name, char)
    y[::3] *= -1
    fn, ours = getattr(numpy, name), getattr(lazyarr, name)
    debug.reset()
    got, want = numpy.array(ours(lazyarr.array(x), lazyarr.array(y))), numpy.array(fn(x, y))
    assert got.tobytes() == want.tobytes()
    assert debug.counters()["numpy_loop_blocks"] == 0 and debug.counters()["native_launches"] >= 1


ANATOMY = {
    "modf": "efd", "frexp": "efd", "spacing": "efd",
    "nextafter": ("ee", "ff", "dd"), "ldexp": ("ei", "fl", "dl"),
}  # fmt: skip


@pytest.mark.parametrize("name, chars", cases(ANATOMY))
def test_floats_are_taken_apart_without_numpys_loops(name, chars, jit_always):
    rng = numpy.random.default_rng(4)
    xs = [rng.normal(0, 9, N).astype(char) for char in chars]
    debug.reset()
    got = getattr(lazyarr, name)(*map(lazyarr.array, xs))
    want = getattr(numpy, name)(*xs)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    assert all(numpy.asarray(g).tobytes() == w.tobytes() and g.dtype == w.dtype for g, w in pairs)
    assert debug.counters()["numpy_loop_blocks"] == 0


@pytest.mark.parametrize("name, char", cases(COMPLEX))
def test_complex_functions_are_ours_if_asked_for(name, char):
    rng = numpy.random.default_rng(4)
    z = (rng.normal(0, 2, N) + 1j * rng.normal(0, 2, N)).astype(char)
    fn, ours = getattr(numpy, name), getattr(lazyarr, name)
    zs = [z, z[::-1].copy()][: OPS[name].nin]
    wanted = fn(*zs)
    for whose, calls in (("native", False), ("numpy", True)):
        with lazyarr.options(math=whose, jit="always"):
            debug.reset()
            y = numpy.asarray(ours(*map(lazyarr.array, zs)) + 1)
            assert (debug.counters()["numpy_loop_blocks"] > 0) is calls
        near = 200 if name.endswith("power") else 8
        assert (abs(y - (wanted + 1)) <= near * numpy.finfo(char).eps * (abs(wanted) + 1)).all()
    assert y.tobytes() == (wanted + 1).tobytes()


@pytest.mark.parametrize("char", "dfe")
def test_i0_is_hardly_more_than_a_loop_with_numpys_bits(char, jit_always):
    rng = numpy.random.default_rng(4)
    ends = [0.0, -0.0, 8.0, -8.0, numpy.nextafter(8, 9), 700.0, 720.0, numpy.inf, -numpy.inf, numpy.nan]
    x = numpy.concatenate([rng.uniform(-20, 20, N), rng.uniform(-800, 800, 999), ends]).astype(char)
    with numpy.errstate(all="ignore"), lazyarr.errstate(all="ignore"):
        want = numpy.i0(x)
        debug.reset()
        got = numpy.asarray(lazyarr.i0(lazyarr.array(x)))
    assert got.dtype == want.dtype and numpy.array_equal(got, want, equal_nan=True)
    assert (numpy.signbit(got) == numpy.signbit(want)).all()
    assert debug.counters()["native_launches"] <= 3 and debug.counters()["numpy_fallbacks"] == 0


def test_i0_warns_as_numpy_does(jit_always):
    x = numpy.linspace(-20, 20, N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numpy.asarray(lazyarr.i0(lazyarr.array(x)))         # at 0 nothing is divided by it
    x[7] = 800
    with pytest.warns(RuntimeWarning, match="overflow"):
        numpy.asarray(lazyarr.i0(lazyarr.array(x)))


@pytest.mark.parametrize("char", "dfe")
def test_i0_is_one_function_under_native(char):
    x = numpy.random.default_rng(4).uniform(-10, 10, N).astype(char)
    with lazyarr.options(math="native", jit="always"):
        a = lazyarr.array(x)
        debug.reset()
        y = lazyarr.i0(a)
        assert not lazyarr.is_evaluated(y)
        got = numpy.asarray(y)
        assert debug.counters()["native_launches"] == 1 and debug.counters()["numpy_fallbacks"] == 0
        assert (numpy.asarray(lazyarr.special.i0(a)) == got).all() and got.dtype == char
        assert lazyarr.i0(lazyarr.arange(3)).dtype == "d"
    numpys = numpy.i0(x)
    assert (got != numpys).any()
    assert numpy.allclose(got, numpys, rtol=8 * float(numpy.finfo(char).eps), atol=0)


def test_native_bits_are_not_numpys():
    x = numpy.random.default_rng(0).uniform(-5, 5, N)
    with lazyarr.options(math="native", jit="always"):
        y = numpy.asarray(lazyarr.sin(lazyarr.array(x)))
    assert (y != numpy.sin(x)).any()


def test_folds_and_broadcasts_use_them_too():
    x = numpy.random.default_rng(0).uniform(-5, 5, (100, 700))
    with lazyarr.options(math="native", jit="always"):
        debug.reset()
        a = lazyarr.array(x)
        sums, row = lazyarr.exp(a).sum(axis=1), lazyarr.exp(a[:1]) + a
        assert numpy.allclose(sums, numpy.exp(x).sum(axis=1), rtol=1e-13)
        assert numpy.allclose(row, numpy.exp(x[:1]) + x, rtol=1e-13)
        assert debug.counters()["numpy_loop_blocks"] == 0


def test_warnings_are_numpys():
    x = numpy.linspace(-1, 5, N)
    warned = pytest.warns(RuntimeWarning, match="invalid value.* in log")
    with lazyarr.options(math="native", jit="always"), warned:
        numpy.asarray(lazyarr.log(lazyarr.array(x)))


def test_i0_takes_what_numpy_takes():
    class Likeness:
        def __array__(self, dtype=None, copy=None):
            return numpy.asarray(4.0)

    for x in (0.5, 3, [0.5, 2.0], Likeness(), numpy.float64(2.0), numpy.array([1, 9])):
        assert numpy.asarray(lazyarr.i0(x)).tobytes() == numpy.asarray(numpy.i0(x)).tobytes()


IN = {
    "strided": lambda a: a[::2],
    "backwards": lambda a: a[::-2],
    "transposed": lambda a: a.reshape(-1, 100).T,
    "repeated": lambda a: lazyarr.broadcast_to(a[:100], (100, 100)),
}
OUT = {
    "strided": lambda a, shape: a[::2].reshape(shape),
    "backwards": lambda a, shape: a[::-2].reshape(shape),
    "transposed": lambda a, shape: a[: math.prod(shape)].reshape(shape[::-1]).T,
}


@pytest.mark.parametrize("name, char", [("sin", "d"), ("exp", "f"), ("cbrt", "e"), ("fmod", "d")])
@pytest.mark.parametrize("into", OUT)
@pytest.mark.parametrize("way", IN)
def test_bits_of_functions_of_our_own_depend_on_no_strides(name, char, way, into):
    fn = getattr(lazyarr, name)
    x = IN[way](lazyarr.array(operands("sin", char)[0] * 5))
    out = OUT[into](lazyarr.array(numpy.zeros(2 * x.size, char)), x.shape)
    others = [x.dtype.type(1.7)] * (OPS[name].nin - 1)
    with lazyarr.options(math="native", jit="always"):
        want = numpy.asarray(fn(x + 0, *others)).tobytes()
        debug.reset()
        fn(x, *others, out=out)
        assert lazyarr.array(out).tobytes() == want
        assert debug.counters()["numpy_loop_blocks"] == 0
        assert debug.counters()["native_launches"] >= 1


def test_masked_functions_of_our_own_raise_nothing_beside_the_mask():
    x = numpy.linspace(-1, 5, N)
    with lazyarr.options(math="native", jit="always"), warnings.catch_warnings():
        warnings.simplefilter("error")
        a = lazyarr.array(x)
        y = numpy.asarray(lazyarr.log(a, where=a > 0, out=lazyarr.zeros(N)))
        assert (y[x > 0] == numpy.asarray(lazyarr.log(lazyarr.array(x[x > 0])))).all()
