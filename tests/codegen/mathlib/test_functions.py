"""Each function: within 1 ULP, the same bits everywhere, NumPy's special values and flags."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy
import pytest

pytest.importorskip("mpmath")
import mpmath
import ulp_errors
import ulp_functions
import ulp_samples

from lazyarr.codegen.mathlib import arithmetic, circular, log_of_sums
from lazyarr.codegen.mathlib.arithmetic import fma
from lazyarr.codegen.mathlib.functions import FUNCTIONS
from lazyarr.codegen.mathlib.lanes import SINGLE
from lazyarr.codegen.mathlib.loop import Function, write
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_levels
from lazyarr.ops import OPS
from lazyarr.own_loops import DTYPES

LEVELS = [level.target for level in host_levels()]
BEST = LEVELS[-1]
ALL_PAIRS = [(name, char) for name, chars in DTYPES.items() for char in chars]
ALL = [pytest.param(name, char, id=f"{name}-{char}") for name, char in ALL_PAIRS]
LOOSE = {"log": 1.6, "log2": 1.6, "tan": 1.15, "arccosh": 1.6, "sinh": 1.6, "tanh": 1.6,
         "logaddexp2": 1.6}
"""float32's that are above 1 ULP in places (docs/ulp.md)."""
pytestmark = pytest.mark.usefixtures("quiet")


def test_what_names_promises_there_is():
    assert {name: "".join(rows) for name, rows in FUNCTIONS.items()} == DTYPES


@pytest.mark.parametrize("name, char", ALL)
def test_within_one_ulp(name, char):
    ours = ulp_functions.call(name, char, BEST)
    for xs in ulp_samples.samples(name, char, seed=7, count=100):
        with numpy.errstate(all="ignore"):
            y = ours(*xs)
        error = ulp_errors.errors(name, xs, (y,))[0]
        k = error.argmax()
        limit = LOOSE.get(name, 1) if char == "f" else 1
        assert error[k] <= limit, (error[k], [x[k] for x in xs], y[k])


@pytest.mark.parametrize("name, limit", [("log10", 0.92), ("log2", 1.01)])
def test_logarithms_of_every_float32_next_to_one(name, limit):
    """Where terms cancel, and samples seldom lie; against NumPy's of float64, which is exact enough."""
    x = numpy.arange(0x3F400000, 0x3FC00000, dtype="u4").view("f")
    truth = getattr(numpy, name)(x.astype("d"))
    unit = numpy.exp2(numpy.floor(numpy.log2(abs(truth))) - 23)
    error = abs(ulp_functions.call(name, "f", BEST)(x) - truth) / unit
    assert error[truth != 0].max() <= limit


WORST = [("tan", 0.6, 3.2, 1.26), ("arcsin", 0.45, 1.0, 0.75), ("arccos", 0.45, 1.0, 0.75),
         ("arccos", -1.0, -0.45, 0.7), ("expm1", 0.03, 0.2, 0.95), ("expm1", 15.0, 19.0, 0.95),
         ("expm1", -18.0, -0.5, 0.95)]  # fmt: skip


@pytest.mark.parametrize("name, low, high, limit", WORST)
def test_float32_where_its_errors_are_the_largest(name, low, high, limit):
    """Every fifth number, or more of them; against NumPy's of float64, which is exact enough."""
    ends = sorted(int(numpy.float32(abs(x)).view("i4")) for x in (low, high))
    x = numpy.copysign(numpy.arange(*ends, max(1, (ends[1] - ends[0]) // 2**21), dtype="i4").view("f"), low)
    truth = getattr(numpy, name)(x.astype("d"))
    unit = numpy.exp2(numpy.floor(numpy.log2(abs(truth))) - 23)
    assert (abs(ulp_functions.call(name, "f", BEST)(x) - truth) / unit).max() <= limit


@pytest.mark.parametrize("name, limit", [("sin", 1.0), ("cos", 1.0), ("tan", 1.25)])
def test_float32_next_to_every_quarter_of_a_circle_that_the_fast_path_takes(name, limit):
    """Where most of the remainder's bits cancel."""
    near = (numpy.arange(1, 7640) * (numpy.pi / 2)).astype("f")
    x = numpy.concatenate([near, *(numpy.nextafter(near, numpy.float32(side)) for side in (0, 1e9))])
    truth = getattr(numpy, name)(x.astype("d"))
    unit = numpy.exp2(numpy.floor(numpy.log2(abs(truth))) - 23)
    assert (abs(ulp_functions.call(name, "f", BEST)(x) - truth) / unit).max() <= limit


@pytest.mark.parametrize("name", [name for name, char in ALL_PAIRS if char == "e" and OPS[name].nin == 1])
def test_every_number_of_float16(name):
    """Against float64's function, whose own error does not matter."""
    x = numpy.arange(1 << 16, dtype="u2").view("e")
    y, wide = ulp_functions.call(name, "e", BEST)(x), ulp_functions.call(name, "d", BEST)(x.astype("d"))
    exact = numpy.isfinite(y) & (abs(wide) < 65504)
    unit = numpy.maximum(numpy.exp2(numpy.floor(numpy.log2(abs(wide[exact]))) - 10), 2.0**-24)
    assert (abs(y[exact] - wide[exact]) <= 0.55 * unit).all()
    rounded = wide.astype("e")[~exact]
    assert same(y[~exact], rounded)


@pytest.mark.parametrize("name", [name for name, char in ALL_PAIRS if char == "e" and OPS[name].nin == 1])
def test_every_number_of_float16_on_every_level(name):
    """Products and sums are fused where the CPU does that, which no result shows."""
    x = numpy.arange(1 << 16, dtype="u2").view("e")
    assert FUNCTIONS[name]["e"].fused is None
    wanted = ulp_functions.call(name, "e", BEST)(x)
    for target in LEVELS[:-1]:
        assert same(ulp_functions.call(name, "e", target)(x), wanted), target.name


@pytest.mark.parametrize("target", LEVELS, ids=lambda target: target.name)
def test_products_and_sums_next_to_the_middle_are_computed_again(target):
    """Where float64's sum of float32's product lies between two float32, beside the true one, or is it."""
    beside = [2.0**-60, -(2.0**-60), 0.0, 2.0**-30]
    c = numpy.array([*beside, 1.0, 2.0**-24 + 2.0**-47] * 3, "f")
    a = numpy.full(len(c), 1.0 + 2.0**-12, "f")
    b = a.copy()            # 1 + 2**-11 + 2**-24
    a[-2:], b[-2:] = 2.0**-60, 2.0**-20
    made = write(Function(3, SINGLE, lambda on, x, y, z: (fma(x, y, z), None), None), "fff->f", target)
    loop = ulp_functions.LOOP(jit.load(made.ir, (made.symbol,), target, 2, kernel=False)[made.symbol])
    y = numpy.empty_like(c)
    args, steps = (numpy.array(x) for x in ([v.ctypes.data for v in (a, b, c, y)], [4] * 4))
    loop(args.ctypes.data, numpy.array([len(c)]).ctypes.data, steps.ctypes.data, 0)
    for k in range(len(c)):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        near = sorted((numpy.nextafter(y[k], numpy.float32(s)) for s in (-9, 9)), key=float)
        assert all(abs(Fraction(float(y[k])) - exact) <= abs(Fraction(float(v)) - exact) for v in near)


def _cancelling(name, char, bits, most, count=300):
    """x is near the number whose result is 0, so that up to so many bits of the logarithm are lost."""
    rng = numpy.random.default_rng(3)
    base = mpmath.e if name == "logaddexp" else mpmath.mpf(2)
    y = -rng.uniform(0.1, most, count).astype(char)
    with mpmath.workprec(1000):
        roots = [mpmath.log(1 - base ** mpmath.mpf(float(v))) / mpmath.log(base) for v in y]
    x = numpy.array(roots, "d") * (1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-bits, 0, count))
    return x.astype(char), y


@pytest.mark.parametrize("name, least", [("logaddexp", 1.0), ("logaddexp2", 1.6)])
@pytest.mark.parametrize("char, bits, most", [("d", 44, 30), ("d", 20, 500), ("f", 20, 3), ("f", 22, 80)])
def test_sums_that_cancel_their_logarithm(name, least, char, bits, most):
    """Where four bits are lost, logaddexp2 is off by 2.2 at most."""
    x, y = _cancelling(name, char, bits, most)
    with mpmath.workprec(1000):
        errors = ulp_errors.errors(name, (x, y), (ulp_functions.call(name, char, BEST)(x, y),))
    assert errors[0].max() < least


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("most", [1.0, 20.0])
def test_float32_sums_that_cancel_all_but_their_last_bits(name, most):
    """Of a million pairs those whose logarithm leaves least of the larger one: 2**-45 of it and less."""
    rng = numpy.random.default_rng(2)
    y = -(2.0 ** rng.uniform(-12, numpy.log2(most), 1 << 20)).astype("f")
    raised, scale = (numpy.exp, 1.0) if name == "logaddexp" else (numpy.exp2, numpy.log(numpy.longdouble(2)))
    root = numpy.log1p(-raised(y.astype(numpy.longdouble))) / scale
    x = root.astype("f")
    k = numpy.argsort(abs((x - root) / root))[:40]
    x, y = x[k], y[k]
    found = ulp_functions.call(name, "f", BEST)(x, y)
    assert (abs(found) < abs(x) * 2.0**-43).any()
    with mpmath.workprec(1000):
        assert ulp_errors.errors(name, (x, y), (found,))[0].max() < 0.51


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_usual_operands_around_0_rarely_take_sums_throughout(name):
    """One in forty at most: the rare path takes ten times as long."""
    rng = numpy.random.default_rng(4)
    x, y = rng.normal(0, 1, (2, 10**5))
    found = getattr(numpy, name)(x, y)
    assert (abs(found) < (found - numpy.maximum(x, y)) * log_of_sums._LITTLE).mean() < 1 / 40


@pytest.mark.parametrize("where", [0.5, 1.0], ids=["between", "at"])
def test_tangents_of_sixteenths_of_a_quarter(where):
    """At the table's angles, of which every sixteenth is a zero or a pole, and where it goes from one to the
    next, up to the largest numbers that are not reduced in another way."""
    rng = numpy.random.default_rng(6)
    k = numpy.concatenate([numpy.arange(-40, 40), rng.integers(-(10**7), 10**7, 200)])
    angles = [mpmath.pi / 32 * (int(j) + where) for j in k]
    x = numpy.array(angles, "d")
    x = numpy.concatenate([x, numpy.nextafter(x, 9e9), x * (1 + 2.0**-40)])
    assert abs(x).max() < circular.LIMIT
    assert ulp_errors.errors("tan", (x,), (ulp_functions.call("tan", "d", BEST)(x),))[0].max() < 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_powers_where_the_logarithms_second_number_is_large(sign):
    """Next to the first number that the table's second inverse is for, and to the ends of the exponents: it
    moves the exponent by half a sixteenth there."""
    rng = numpy.random.default_rng(9)
    x = rng.uniform(1.029, 1.0312, 500).astype("f")
    y = (sign * rng.uniform(115, 124, 500) / numpy.log2(x.astype("d"))).astype("f")
    assert ulp_errors.errors("power", (x, y), (ulp_functions.call("power", "f", BEST)(x, y),))[0].max() < 1


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("char", "fd")
def test_powers_of_numbers_near_one_up_to_the_largest(sign, char):
    """What the logarithm has below its first number grows with the exponent, beyond what the exponential's
    series hold for; and so do its errors.  The largest lie above 1.0208, where the table's next row begins:
    its number has another sign than what is left, and is not much larger."""
    rng = numpy.random.default_rng(10)
    x = numpy.concatenate([rng.uniform(0.9, 1.1, 600), rng.uniform(1.0208, 1.023, 100)]).astype(char)
    most = 640 if char == "d" else 85
    y = (sign * rng.uniform(0.5 * most, most, len(x)) / numpy.log(x.astype("d"))).astype(char)
    assert ulp_errors.errors("power", (x, y), (ulp_functions.call("power", char, BEST)(x, y),))[0].max() < 1.2


@pytest.mark.parametrize("name", ["arcsin", "arccos"])
@pytest.mark.parametrize("char", "efd")
def test_the_least_number_without_an_arcsine_is_invalid(name, char, raised):
    x = numpy.nextafter(numpy.array([1.0, -1.0], char), numpy.array([2.0, -2.0], char))
    run = ulp_functions.call(name, char, BEST)
    assert numpy.isnan(run(x)).all()
    assert raised(lambda: run(x)) == {"invalid"}


@pytest.mark.parametrize("name, count", [("arctanh", 3), ("cbrt", 4), ("power", 2)])
def test_products_whose_sums_float64_has_are_not_emulated(name, count, monkeypatch):
    """Emulated ones would often be in doubt, as numbers of few bits lie in the middle between others.  (Power
    has two loops.)"""
    emulated, emulate = [], arithmetic._fma_by_double
    monkeypatch.setattr(
        arithmetic, "_fma_by_double", lambda a, b, c: emulated.append(a.on.doubts) or emulate(a, b, c)
    )
    write(FUNCTIONS[name]["f"], ulp_functions.signature(name, "f"), next(t for t in LEVELS if not t.fma))
    assert sum(doubts is not None for doubts in emulated) == count


@pytest.mark.parametrize("char", "df")
def test_sines_where_their_series_ends(char):
    rng = numpy.random.default_rng(7)
    x = (0.75 + rng.uniform(-1, 1, 400) * 2.0 ** rng.integers(-20, -4, 400)).astype(char)
    x = numpy.concatenate([x, -x])
    assert ulp_errors.errors("sinh", (x,), (ulp_functions.call("sinh", char, BEST)(x),))[0].max() < 1


@pytest.mark.parametrize("name", [name for name, char in ALL_PAIRS if char == "d" and name[:3] != "erf"])
def test_no_function_of_float64_emulates_fused_products(name, monkeypatch):
    """On a CPU without them that takes forty operations each."""
    fused = []
    monkeypatch.setattr(arithmetic, "_fma_by_sums", lambda a, b, c: fused.append(name) or a * b + c)
    function = FUNCTIONS[name]["d"]
    write(function, f"{'d' * function.operands}->d", next(t for t in LEVELS if not t.fma))
    assert not fused


@pytest.mark.parametrize("name, char", ALL)
def test_every_level_gives_the_same_bits(name, char):
    for xs in ulp_samples.samples(name, char, seed=3, count=3000):
        wanted = ulp_functions.call(name, char, BEST)(*xs)
        for target in LEVELS[:-1]:
            assert same(ulp_functions.call(name, char, target)(*xs), wanted), target.name


@pytest.mark.parametrize("name, char", ALL)
def test_strides_and_ends_change_no_bit(name, char):
    ours = ulp_functions.call(name, char, BEST)
    *_, usual, wide, special = ulp_samples.samples(name, char, seed=5, count=100)
    xs = tuple(numpy.concatenate(parts)[:150] for parts in zip(special, usual, wide, strict=True))
    whole = ours(*xs)
    for n in (1, 2, 3, 7, 8, 9, 17, 31):
        for start in (0, 1, 5, 40):
            assert same(ours(*(x[start : start + n] for x in xs)), whole[start : start + n])
    assert same(ours(*(x[::-3] for x in xs)), whole[::-3])
    out = numpy.full(2 * len(whole), 7, char)
    ours(*xs, out=out[::2])
    assert same(out[::2], whole) and (out[1::2] == 7).all()
    if len(xs) > 1:
        alone = numpy.broadcast_to(xs[1][3:4], xs[1].shape)
        assert same(ours(xs[0], alone), ours(xs[0], alone.copy()))


WITH_NUMPY = [pytest.param(*pair, id="-".join(pair)) for pair in ALL_PAIRS if pair[0] not in ("sinc", "i0")]
"""NumPy's sinc and i0 are no ufuncs: they take several steps, which round integers, and overflow."""


@pytest.mark.parametrize("char", "dfe")
def test_sinc_of_special_values(char, raised):
    """Zero at integers, but at 0; no number at infinities, where that is invalid."""
    ours = ulp_functions.call("sinc", char, BEST)
    largest = float(numpy.finfo(char).max)
    integers = numpy.array([1, -1, 2, -7, 1000, largest, -largest], char)
    assert (ours(integers) == 0).all() and not raised(lambda: ours(integers))
    ones = numpy.array([0.0, -0.0, numpy.finfo(char).smallest_subnormal], char)
    assert (ours(ones) == 1).all() and numpy.isnan(ours(numpy.array([numpy.nan], char))).all()
    endless = numpy.array([numpy.inf, -numpy.inf], char)
    assert raised(lambda: ours(endless)) == {"invalid"} and numpy.isnan(ours(endless)).all()
    x = numpy.arange(0.5, 1000, 1.0)        # sin is 1 or -1
    wanted = numpy.where(x % 2 < 1, 1, -1) / (numpy.pi * x)
    assert numpy.allclose(ours(-x.astype(char)), wanted, rtol=1.1 * numpy.finfo(char).eps, atol=0)


@pytest.mark.parametrize("char", "df")
def test_sinc_next_to_its_zeros(char):
    rng = numpy.random.default_rng(8)
    x = rng.integers(-50, 50, 1500) + rng.uniform(-1, 1, 1500) * 2.0 ** rng.integers(-40, -1, 1500)
    x = x.astype(char)[x.astype(char) % 1 != 0]
    assert ulp_errors.errors("sinc", (x,), (ulp_functions.call("sinc", char, BEST)(x),))[0].max() < 0.75


@pytest.mark.parametrize("char, last, beyond", [("d", 713.98, 714), ("f", 91.9, 92), ("e", 13.27, 13.3)])
def test_i0_to_the_largest_results(char, last, beyond, raised):
    """Where the exponential does not fit, but the result does; no number at infinities, as NumPy has it."""
    ours = ulp_functions.call("i0", char, BEST)
    x = numpy.random.default_rng(11).uniform(0.9 * last, last, 200)
    x = numpy.concatenate([x, -x, [last]]).astype(char)
    y = ours(x)
    assert numpy.isfinite(y).all() and not raised(lambda: ours(x)) & {"over", "invalid"}
    assert ulp_errors.errors("i0", (x,), (y,))[0].max() < 0.85
    large = numpy.array([beyond, -beyond, numpy.finfo(char).max], char)
    assert numpy.isposinf(ours(large)).all() and raised(lambda: ours(large)) == {"over"}
    endless = numpy.array([numpy.inf, -numpy.inf], char)
    assert raised(lambda: ours(endless)) == {"invalid"} and numpy.isnan(ours(endless)).all()
    plain = numpy.array([0.0, -0.0, numpy.finfo(char).smallest_subnormal, numpy.nan], char)
    assert (ours(plain)[:3] == 1).all() and numpy.isnan(ours(plain)[3]) and not raised(lambda: ours(plain))


@pytest.mark.parametrize("name, char", WITH_NUMPY)
def test_special_values_are_numpys(name, char):
    *_, xs = ulp_samples.samples(name, char, seed=5, count=10)
    y, theirs = ulp_functions.call(name, char, BEST)(*xs), ulp_functions.theirs(name)(*xs)
    odd = ~numpy.isfinite(theirs) | ~numpy.isfinite(y) | (theirs == 0) | (y == 0)
    assert ((numpy.isnan(y) & numpy.isnan(theirs)) | (y == theirs))[odd].all()
    assert (numpy.signbit(y) == numpy.signbit(theirs))[odd & ~numpy.isnan(theirs)].all()


@pytest.mark.parametrize("name, char", WITH_NUMPY)
def test_flags_are_numpys(name, char, raised):
    """Each value alone: NumPy's own loops, for one element, do what C's functions do."""
    ours, theirs = ulp_functions.call(name, char, BEST), ulp_functions.theirs(name)
    *_, xs = ulp_samples.samples(name, char, seed=5, count=10)
    wrong = []
    for k in range(len(xs[0])):
        one = tuple(x[k : k + 1].copy() for x in xs)
        mine, numpys = raised(partial(ours, *one)), numpy_flags(theirs, one)
        if name in ("power", "float_power") and numpy.isinf(one[1][0]):
            continue        # NumPy's differ between its own CPU levels
        if mine - {"under"} != numpys - {"under"}:
            wrong.append((one, mine, numpys))
    assert not wrong


def numpy_flags(theirs, xs):
    seen = set()
    names = {"divide": "divide", "overflow": "over", "underflow": "under", "invalid": "invalid"}
    with numpy.errstate(all="call", call=lambda text, flag: seen.add(text)):
        theirs(*xs)
    return {key for text in seen for word, key in names.items() if word in text}


@pytest.mark.parametrize("name, char", ALL)
def test_usual_operands_raise_nothing_and_flags_of_before_stay(name, char, raised):
    ours = ulp_functions.call(name, char, BEST)
    *_, xs, _, _ = ulp_samples.samples(name, char, seed=5, count=1000)
    assert not raised(lambda: ours(*xs)) & {"divide", "over", "invalid"}
    log, zero = ulp_functions.call("log", "d", BEST), numpy.zeros(1)
    assert raised(lambda: (log(zero), ours(*xs))) >= {"divide"}


def same(x, y):
    unsigned = f"u{x.itemsize}"
    bits = numpy.ascontiguousarray(x).view(unsigned) == numpy.ascontiguousarray(y).view(unsigned)
    return bool((bits | (numpy.isnan(x) & numpy.isnan(y))).all())


OPERATIONS = {("logaddexp", "d"): 97, ("logaddexp2", "d"): 104, ("logaddexp", "f"): 82}
"""Arithmetic, at most, of the usual way without fused products, for all lanes."""


@pytest.mark.parametrize("name, char", OPERATIONS)
def test_the_usual_way_is_short_without_fused_products(name, char):
    """Where NumPy's functions, of single numbers, are hard to beat."""
    low = next((t for t in LEVELS if not t.fma), None)
    if low is None:
        pytest.skip("all levels fuse products and sums")
    text = write(FUNCTIONS[name][char], ulp_functions.signature(name, char), low).ir
    usual = text.split("\ncompute:")[1].split("\nrare:")[0].splitlines()
    found = sum(line.split()[2] in ("fadd", "fsub", "fmul", "fdiv") for line in usual if " = f" in line)
    assert found <= OPERATIONS[name, char]


@pytest.mark.parametrize("name", [name for name, char in ALL_PAIRS if char == "f" and OPS[name].nin == 1])
def test_every_level_gives_the_same_bits_of_float32_of_all_sizes(name):
    """One number in ten thousand."""
    x = numpy.arange(0, 1 << 32, 9973, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)
    wanted = ulp_functions.call(name, "f", BEST)(x)
    for target in LEVELS[:-1]:
        assert same(ulp_functions.call(name, "f", target)(x), wanted), target.name
