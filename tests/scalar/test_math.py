"""Every function of `math` in compiled functions: CPython's bits, errors and flags, or a refusal by name."""

from __future__ import annotations

import math
import sys

import numpy
import pytest
from scalar.conftest import check, special

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.scalar import definitions
from lazyarr.scalar.calls import RULES
from lazyarr.scalar.definitions import DEFINED, NORMS, is_proved

ONE = {
    "gamma": lambda x: math.gamma(x), "lgamma": lambda x: math.lgamma(x), "ulp": lambda x: math.ulp(x),
    "frexp": lambda x: math.frexp(x), "modf": lambda x: math.modf(x), "hypot": lambda x: math.hypot(x),
    "isqrt": lambda x: math.isqrt(x), "factorial": lambda x: math.factorial(x),
    "perm": lambda x: math.perm(x),
    "perm of none": lambda x: math.perm(x, None), "gcd": lambda x: math.gcd(x), "lcm": lambda x: math.lcm(x),
    "none": lambda x: math.gcd() + math.lcm() + math.hypot() + x, "prod": lambda x: math.prod((x, 3, x)),
    "ldexp": lambda x: math.ldexp(1.5, x), "-3": lambda x: math.ldexp(x, -3),
    "dist": lambda x: math.dist((x,), (2,)),
    "close to 1": lambda x: math.isclose(x, 1.0, rel_tol=0.5),
    "to 0": lambda x: math.isclose(x, 0, abs_tol=1e-9),
    "negative": lambda x: math.isclose(x, 1.0, rel_tol=-0.5), "pair": lambda x: math.frexp(x)[1] * 2,
}  # fmt: skip
TWO = {
    "hypot": lambda x, y: math.hypot(x, y), "three": lambda x, y: math.hypot(x, y, x * 0.5),
    "dist": lambda x, y: math.dist((x, 1.5), (y, 2)), "of three": lambda x, y: math.dist((x, y, 1),
    (y, 2, 3)),
    "remainder": lambda x, y: math.remainder(x, y), "nextafter": lambda x, y: math.nextafter(x, y),
    "isclose": lambda x, y: math.isclose(x, y), "ldexp": lambda x, y: math.ldexp(x, y),
    "tolerances": lambda x, y: math.isclose(x, y, rel_tol=y, abs_tol=0.25),
    "gcd": lambda x, y: math.gcd(x, y),
    "lcm": lambda x, y: math.lcm(x, y), "comb": lambda x, y: math.comb(x, y),
    "perm": lambda x, y: math.perm(x, y),
    "prod": lambda x, y: math.prod((x, y)), "dimensions": lambda x, y: math.dist((x, y), (x, y, 1)),
}  # fmt: skip
FEW = {"factorial": 30, "perm": 30, "comb": 100, "perm of none": 30}
"""What takes long of large numbers: those of less."""
REST = {"fsum": lambda x: math.fsum((x, 1.0)), "gcd": lambda x: math.gcd(x, 2, 3),
"hypot": lambda x: math.hypot(x, x, x, x)}


def dense(seed: int, n: int = 40_000) -> numpy.ndarray:
    """Floats of all sizes and bit patterns, and many of the sizes at which functions have values."""
    r = numpy.random.default_rng(seed)
    bits = r.integers(0, 1 << 64, n // 4, dtype="u8").view("f8")
    bits = bits[numpy.isfinite(bits)]
    sizes = r.normal(size=n // 4) * 10.0 ** r.integers(-8, 8, n // 4)
    near = numpy.round(r.uniform(-175, 175, n // 4) * 4) / 4
    return r.permutation(numpy.concatenate([bits, sizes, r.uniform(-175, 175, n // 4), near]))


def computes(fn, *columns):
    """The elements for which Python raises nothing."""
    keep = []
    for args in zip(*[x.tolist() for x in columns], strict=True):
        try:
            found = fn(*args)
            keep.append(type(found) is not int or abs(found) < 2**63)
        except (ArithmeticError, ValueError, TypeError):
            keep.append(False)
    return [x[keep] for x in columns]


def shortened(name, *columns):
    most = FEW.get(name, numpy.inf)
    keep = numpy.logical_and.reduce([abs(x.astype(float)) < most for x in columns])
    return [x[keep] for x in columns] if name in FEW else list(columns)


def runs_natively(name, v):
    """Was it compiled?  (From Python 3.12 on norms are refused.)"""
    if name in OF_NORMS and sys.version_info >= (3, 12):
        return v.refusal is not None
    return v.refusal is None


OF_NORMS = "hypot", "three", "dist", "of three"
"""The functions above that are norms."""


@pytest.mark.parametrize("types", "dlf?bLh")
@pytest.mark.parametrize("name", ONE)
def test_special_values(name, types):
    x = shortened(name, special(types))
    check(ONE[name], *x)
    some = computes(ONE[name], *x)
    if some[0].size:
        v = check(ONE[name], *some)
        assert runs_natively(name, v) or "at this call" in str(v.refusal)


@pytest.mark.parametrize("types", ["dd", "ll", "dl", "ld", "??", "fd", "bL"])
@pytest.mark.parametrize("name", TWO)
def test_special_values_of_two(name, types):
    x, y = map(special, types)
    columns = shortened(name, numpy.repeat(x, y.size), numpy.tile(y, x.size))
    check(TWO[name], *columns)
    some = computes(TWO[name], *columns)
    if some[0].size:
        v = check(TWO[name], *some)
        assert runs_natively(name, v) or "at this call" in str(v.refusal)


@pytest.mark.parametrize("name", ["gamma", "lgamma", "ulp", "frexp", "modf", "-3", "close to 1"])
def test_dense_samples(name):
    v = check(ONE[name], *computes(ONE[name], dense(1)))
    assert v.refusal is None or (name == "frexp" and "several results" in str(v.refusal))


@pytest.mark.parametrize("name", [*OF_NORMS, "remainder", "nextafter", "isclose"])
def test_dense_samples_of_two(name):
    x, y = dense(2), dense(3)
    n = min(x.size, y.size)
    with numpy.errstate(all="ignore"):
        close = x * numpy.random.default_rng(4).uniform(0.1, 10, x.size)
        for other in (y[:n], close[:n]):
            v = check(TWO[name], *computes(TWO[name], x[:n], other))
            assert runs_natively(name, v)


@pytest.mark.parametrize("name", ["gcd", "lcm", "comb", "perm"])
def test_dense_ints(name):
    r = numpy.random.default_rng(5)
    most = 2**62 if name == "gcd" else 2**30 if name == "lcm" else 28
    x, y = r.integers(0, most, (2, 5000))
    signs = r.choice([-1, 1], x.shape) if most > 100 else 1
    v = check(TWO[name], *computes(TWO[name], x * signs, y))
    assert v.refusal is None


def test_roots_of_ints():
    r = numpy.random.default_rng(6)
    roots = r.integers(0, 3037000499, 5000)
    x = numpy.concatenate([roots**2, roots**2 - 1, roots**2 + 1, r.integers(0, 2**63 - 1, 5000),
    [3037000499**2, 2**63 - 1]])
    assert check(ONE["isqrt"], x[x >= 0]).refusal is None
    assert check(ONE["factorial"], numpy.arange(21)).refusal is None


def test_one_kernel_in_the_place_of_python():
    x = lazyarr.asarray(numpy.linspace(0.1, 20, 50_000))
    for fn in (ONE["gamma"], ONE["lgamma"], lambda x: math.copysign(x, 1.0)):
        v = lazyarr.vectorize(fn, otypes="d")
        before, fallbacks = COUNT.native_launches, COUNT.numpy_fallbacks
        v(x * 0.5)
        assert v.refusal is None
        assert COUNT.native_launches == before + 1 and COUNT.numpy_fallbacks == fallbacks


def test_stops_are_at_the_programs_line():
    v = lazyarr.vectorize(ONE["gamma"], otypes="d")
    with pytest.raises(ValueError, match="math domain error"):
        v(lazyarr.asarray(-numpy.arange(100.0)))
    assert v.refusal.file == __file__ and "exception" in v.refusal.why
    with pytest.raises(OverflowError):
        v(lazyarr.asarray(numpy.full(100, 180.0)))


@pytest.mark.parametrize("name", REST)
def test_what_is_refused_is_named(name):
    v = check(REST[name], numpy.arange(1, 100))
    assert f"math.{name}" in str(v.refusal)


def test_all_of_math():
    """Each function of `math` is compiled, or known here as one that is not."""
    known = {"fsum", *["sumprod"] * (sys.version_info >= (3, 12)), *["fma"] * (sys.version_info >= (3, 13))}
    missing = {name for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"}
    assert {name for name in missing if getattr(math, name) not in RULES} == known


def test_definitions_are_tried():
    for of, each in DEFINED.items():
        assert is_proved(of, each), of
    for each in NORMS:
        assert is_proved(math.hypot, each) == (sys.version_info < (3, 12))


def test_a_python_that_computes_otherwise(monkeypatch):
    wrong = definitions.Definition(lambda x: math.lgamma(x) * (1 + 2e-16), "f", 1)
    assert not is_proved(math.lgamma, wrong)
    monkeypatch.setitem(DEFINED, math.lgamma, wrong)
    v = check(ONE["lgamma"], numpy.linspace(1, 5, 100))
    assert "`math.lgamma`, which this Python computes in another way" in str(v.refusal)


def test_in_loops_over_elements():
    """NumPy's scalars become floats, or ints where Python takes their index."""

    @lazyarr.compile
    def f(a, b, out):
        for i in range(len(a)):
            out[i] = math.copysign(a[i], 2.0) + math.gcd(b[i], 12) + math.lgamma(a[i]) + math.frexp(a[i])[1]
        return out

    a, b = numpy.linspace(0.5, 20, 300), numpy.arange(300)
    for x, y in ((a, b), (a.astype("f4"), b.astype("u2")), (a, a), (b + 1, b > 5), (b + 1, b)):
        try:
            want = f.__wrapped__(x, y, numpy.zeros(300)).tobytes()
        except TypeError as error:
            with pytest.raises(TypeError, match=str(error)[:20]):
                f(x, y, numpy.zeros(300))
            continue
        before = COUNT.loop_blocks
        assert f(x, y, numpy.zeros(300)).tobytes() == want
        assert COUNT.loop_blocks > before


