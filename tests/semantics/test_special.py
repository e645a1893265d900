"""`lazyarr.special`: ufuncs that NumPy does not have, as NumPy's own."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys

import numpy
import pytest

import lazyarr
from lazyarr import debug
from lazyarr.special import erf, erfc, sinc

N = 100_000


@pytest.fixture
def x() -> numpy.ndarray:
    return numpy.random.default_rng(3).uniform(-6, 6, N)


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_values_are_those_of_c(name, x):
    found = getattr(lazyarr.special, name)(lazyarr.array(x))
    assert not lazyarr.is_evaluated(found)
    wanted = [getattr(math, name)(v) for v in x.tolist()]
    assert numpy.allclose(found, wanted, rtol=1e-15, atol=0)


@pytest.mark.parametrize("options", [{}, {"math": "native"}, {"jit": "always"}, {"jit": "never"}])
def test_the_bits_are_the_same_however_they_are_computed(options, x):
    wanted = numpy.concatenate([numpy.asarray(erfc(lazyarr.array(part))) for part in numpy.split(x, 1000)])
    with lazyarr.options(**options):
        assert numpy.asarray(erfc(lazyarr.array(x))).tobytes() == wanted.tobytes()
        assert numpy.asarray(erfc(lazyarr.array(x)[::-1])).tobytes() == wanted[::-1].tobytes()


@pytest.mark.parametrize("char", "efd")
def test_sinc_is_numpys_function_by_our_vector_math(char, x):
    a = lazyarr.array(x.astype(char))
    ours = numpy.asarray(sinc(a))
    assert (sinc.fn(x.astype(char)) == ours).all() and ours.dtype == char
    with numpy.errstate(all="ignore"):
        numpys = numpy.sinc(x.astype(char))
    with lazyarr.options(jit="always"):
        assert (numpy.asarray(lazyarr.sinc(a)) == numpys).all()
        with lazyarr.options(math="native"):
            debug.reset()
            assert (numpy.asarray(lazyarr.sinc(a)) == ours).all()
            assert debug.counters()["native_launches"] == 1
            assert not lazyarr.is_evaluated(lazyarr.sinc(a))
            assert lazyarr.sinc(lazyarr.arange(3)).dtype == "d"
            assert lazyarr.sinc(lazyarr.array([1j])).dtype == "D"
    assert numpy.allclose(ours, numpys, rtol=0, atol=4 * numpy.finfo(char).eps)


def test_fused_with_what_is_around(x):
    with lazyarr.options(jit="always"):
        a = lazyarr.array(x)
        debug.reset()
        y = numpy.asarray(0.5 * (1.0 + erf(a / math.sqrt(2.0))))
        counted = debug.counters()
    assert counted["native_launches"] == 1 and counted["numpy_loop_blocks"] == 0
    assert numpy.allclose(y, 0.5 * erfc.fn(-x / math.sqrt(2.0)), rtol=1e-12, atol=1e-16)


TYPES = [*zip("?bBhilLefd", "eeefdddefd", strict=True)]


@pytest.mark.parametrize("given, made", TYPES)
def test_types_are_those_of_exp(given, made):
    one = numpy.ones(3, given)
    assert erf(lazyarr.array(one)).dtype == numpy.dtype(made) == numpy.exp(one).dtype
    assert type(erf(one.dtype.type(1))) is type(numpy.exp(one.dtype.type(1)))


@pytest.mark.parametrize("given", [1j, "a", numpy.longdouble(1), None, numpy.ones(2, "M8[s]")])
def test_other_types_are_refused(given):
    with pytest.raises(TypeError):
        erf(given)


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_arguments_of_ufuncs(jit, x):
    with lazyarr.options(jit=jit):
        a, mask, wanted = lazyarr.array(x), x > 0, erf.fn(x)
        out = lazyarr.zeros(N)
        assert erf(a, out=out) is out and (numpy.asarray(out) == wanted).all()
        out = lazyarr.full(N, 7.0)
        erf(a, out=out, where=lazyarr.array(mask))
        assert (numpy.asarray(out) == numpy.where(mask, wanted, 7)).all()
        assert erf(a, dtype="f").dtype == numpy.float32
        with pytest.raises(TypeError, match="Cannot cast ufunc 'erf'"):
            erf(a, dtype="f", casting="safe")
        single = lazyarr.zeros(N, "f")
        erf(a, out=single)
        assert (numpy.asarray(single) == wanted.astype("f")).all()
    assert erf([0.0, 0.5]).tolist() == erf.fn([0.0, 0.5]).tolist()
    assert erf(0) == 0.0 and erf(numpy.inf) == 1.0 and erfc(-numpy.inf) == 2.0


def test_numpys_warnings():
    x = lazyarr.array(numpy.full(N, 27.0))
    warned = pytest.warns(RuntimeWarning, match="underflow encountered in erfc")
    with lazyarr.options(jit="always"), numpy.errstate(under="warn"), warned:
        numpy.asarray(erfc(x))
    with numpy.errstate(under="raise"), pytest.raises(FloatingPointError):
        erfc(numpy.float64(27.0))
    with numpy.errstate(all="raise"):
        erf(numpy.array([numpy.nan, numpy.inf, 0.0, 1e300, 3.0]))


def test_they_are_ufuncs_and_pickle():
    assert isinstance(erf, lazyarr.ufunc) and isinstance(erf.fn, numpy.ufunc) and erf.nin == 1
    assert pickle.loads(pickle.dumps(erf)) is erf and pickle.loads(pickle.dumps(erfc.fn)) is erfc.fn
    assert "Error function" in erf.__doc__ and repr(erf) == "<ufunc 'erf'>"
    assert not hasattr(numpy, "erf") and not hasattr(lazyarr, "erf")


def test_without_a_compiler():
    """C's functions take the loops' place."""
    code = """if True:
        import sys
        sys.modules["llvmlite"] = None
        import math, numpy, lazyarr
        x = numpy.linspace(-3, 3, 7)
        for given in (x, x[::-1], x.astype("f"), x.astype("e"), x[:0]):
            wanted = numpy.array([math.erf(v) for v in given.tolist()]).astype(given.dtype)
            assert (numpy.asarray(lazyarr.special.erf(lazyarr.array(given))) == wanted).all()
        found = lazyarr.special.sinc(numpy.array([0.0, -0.5, 3.0, 1e300, 2.5, numpy.inf, numpy.nan]))
        wanted = [1, 2 / numpy.pi, 0, 0, 0.4 / numpy.pi, numpy.nan, numpy.nan]
        assert numpy.allclose(found, wanted, equal_nan=True)
    """
    environment = dict(os.environ, LAZYARR_CACHE_BYTES="0")
    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=120, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
