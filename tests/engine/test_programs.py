"""Whole programs: NumPy's bits, and as few kernels as fusion promises.

A launch count is what tells a fused engine from NumPy under another name: these tests fail for any
module that computes op by op.
"""

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset

RNG = numpy.random.default_rng(5)
A, B, C = (RNG.uniform(0.5, 2, (40, 50)) for _ in range(3))
V = RNG.uniform(0.5, 2, 50)
I = RNG.integers(-50, 50, (40, 50))


def in_place(np, a, b):
    a *= 2
    a += b
    a[::2] -= 1
    return a


def jacobi(np, a):
    for _ in range(3):
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
    return a


def masked(np, a, b):
    np.add(a, 1, out=a, where=a > b)
    return a


def outputs(np, a, b):
    t = a * b
    return t + 1, t - 1, t


def written_flat(np, a, b):
    t = a + b
    t.reshape(-1)[:] *= 2
    t.T[...] -= 1
    return t


def masked_and_reversed(np, a, b):
    t = a * b
    np.add(t[::-1], 1, out=t[::-1], where=(a > b)[::-1])
    return t


def written_where_read_reversed(np, a, b):
    t = a + b
    u = t[::-1] * 3
    t *= b
    t += u[:, ::-1]
    return t, u


def swap(np, a, b):
    for _ in range(3):
        a, b = b, a * 0.5 + b
    return a, b


PROGRAMS = [     # name, function of (np, *arrays), arrays, most launches
    ("triad", lambda np, a, b, c: a + b * c, (A, B, C), 1),
    ("scalars", lambda np, a: (a * 0.1 + 2) / 3 - 1, (A,), 1),
    ("broadcast", lambda np, a, v: (a - v) * v + a[:, :1], (A, V), 1),
    ("comparison", lambda np, a, b: (a > b) & (a < 1.5) | ~(b > 1), (A, B), 1),
    ("where", lambda np, a, b: np.where(a > b, np.sqrt(a), -b), (A, B), 1),
    ("clip", lambda np, a: np.clip(a * 3, 1, 4).astype("float32"), (A,), 1),
    ("integers", lambda np, i: (i // 7 + i % 5) ^ (i << 2), (I,), 1),
    ("mixed", lambda np, a, i: a * i + i, (A, I), 1),
    ("transcendental", lambda np, a, b: np.exp(-a) * np.sin(b) + np.log(a) ** 1.5, (A, B), 1),
    ("transposed", lambda np, a, b: a.T + b.T * 2, (A, B), 1),
    ("mixed layouts", lambda np, a: a[:40, :40] + a[:40, :40].T, (A,), 1),
    ("reversed", lambda np, a, b: a[::-1, ::-1] * b, (A, B), 1),
    ("several outputs", outputs, (A, B), 1),
    ("divmod", lambda np, i: np.divmod(i, 7), (I,), 1),
    ("modf", lambda np, a: np.modf(a * 3), (A,), 1),
    ("in place", in_place, (A, B), 2),
    ("masked", masked, (A, B), 1),
    ("swap", swap, (A, B), 1),
    ("complex", lambda np, a, b: (a + 1j * b) * (a - 2j), (A, B), 1),
    ("half", lambda np, a: a.astype("float16") * 3 + 1, (A,), 1),
    ("jacobi", jacobi, (A,), 6),
    ("reshaped and folded", lambda np, a, b: ((a + b).reshape(-1) * 2).sum(keepdims=True), (A, B), 1),
    ("raveled and folded", lambda np, a: np.ravel(a * 0.5 + 1).max(keepdims=True), (A,), 1),
    ("unraveled", lambda np, w, a: (w * 2).reshape(40, 50) * a[:, ::-1], (B.ravel(), A), 1),
    ("result transposed", lambda np, a, b, c: (a - b).T * c.T, (A, B, C), 1),
    ("crossing", lambda np, a, b, c: (a - b)[:, :40].T * c[:, :40], (A, B, C), 2),
    ("square transposed", lambda np, a, c: (a * 2).T * c, (A[:, :40], C[:, :40]), 1),
    ("new axis", lambda np, v: (v * 2)[:, None] * 3 + 1, (V,), 1),
    ("unit axes", lambda np, v: (v * 2)[None, :, None][..., 0] + v, (V,), 1),
    ("result reversed", lambda np, a, b, c: (a + b)[::-1] * c, (A, B, C), 1),
    ("result turned", lambda np, a, b: np.exp(a + b)[::-1, ::-1] - 1, (A, B), 1),
    ("column sums of a transpose", lambda np, a, b: ((a + b).T * 2).sum(axis=0), (A, B), 1),
    ("rolled axes", lambda np, a, b: np.moveaxis((a + b).reshape(4, 10, 50), 0, 2) * 2, (A, B), 1),
    ("parts of one", lambda np, a, b: (lambda t: t + t[::-1])(a + b), (A, B), 2),
    ("written flat", written_flat, (A, B), 1),
    ("masked and reversed", masked_and_reversed, (A, B), 1),
    ("written where read reversed", written_where_read_reversed, (A, B), 2),
]


@pytest.fixture(autouse=True)
def forced():
    with lazyarr.options(jit="always"):
        yield


def results(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(("name", "fn", "arrays", "most"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_bits_and_launches(name, fn, arrays, most):
    want = results(fn(numpy, *[x.copy() for x in arrays]))
    lazy = [lazyarr.array(x) for x in arrays]
    lazyarr.evaluate(*lazy)
    reset()
    got = results(fn(lazyarr, *lazy))
    assert COUNT.native_launches == 0, "building the expression ran something"
    lazyarr.evaluate(*got)
    assert 1 <= COUNT.native_launches <= most
    assert COUNT.numpy_fallbacks == 0 and COUNT.numpy_eager == 0
    for g, w in zip(got, want, strict=True):
        g = numpy.asarray(g)
        assert g.dtype == w.dtype and g.shape == w.shape and g.strides == w.strides
        assert g.tobytes() == w.tobytes()


FOLDED = {      # folds of values that nobody can ask for again
    "reshaped": lambda np, a, b: ((a + b).reshape(-1) * 2).sum(),
    "raveled": lambda np, a, b: np.ravel(a * 0.5 + b).max(),
    "transposed": lambda np, a, b: (a - b).T.sum(),
    "turned": lambda np, a, b: (a - b)[::-1].min(),
    "transposed twice": lambda np, a, b: (a - b).T.T.sum(),
}


@pytest.mark.parametrize("name", FOLDED)
def test_views_of_temporaries_are_not_stored(name):
    a, b = numpy.tile(A, (4, 4)), numpy.tile(B, (4, 4))
    x, y = lazyarr.array(a), lazyarr.array(b)
    lazyarr.evaluate(x, y)
    reset()
    assert FOLDED[name](lazyarr, x, y).tobytes() == FOLDED[name](numpy, a, b).tobytes()
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated < a.nbytes // 8


FOLDS = ["sum", "prod", "max", "min", "amax", "any", "all", "mean", "argmax", "argmin"]


@pytest.mark.parametrize("name", FOLDS)
def test_temporaries_that_functions_fold_are_not_stored(name):
    """As those that methods fold: `np.sum(a - b)` is `(a - b).sum()`."""
    a, b = numpy.tile(A, (4, 4)), numpy.tile(B, (4, 4))
    x, y = lazyarr.array(a), lazyarr.array(b)
    lazyarr.evaluate(x, y)
    fold = getattr(lazyarr, name)
    reset()
    got = fold(x - y)
    assert got.tobytes() == getattr(numpy, name)(a - b).tobytes()
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated < a.nbytes // 8
    held = x - y
    assert fold(held) == got and lazyarr.is_evaluated(held)
    assert numpy.asarray(held).tobytes() == (a - b).tobytes()


def test_a_view_of_what_somebody_holds_is_stored():
    x = lazyarr.array(A)
    t = x * 2
    v = t[::-1]
    assert t.T.max() == v.max() == (A * 2).max() and lazyarr.is_evaluated(t)


def test_one_compile_for_a_thousand_shapes():
    rng = numpy.random.default_rng(1)
    compiled = set()
    for _ in range(1000):
        n = int(rng.integers(2, 300))
        a, b = rng.random(n), rng.random(n)
        x, y = lazyarr.array(a), lazyarr.array(b)
        lazyarr.evaluate(x, y)
        before = COUNT.compiles + COUNT.disk_hits
        got = (x + y) * float(rng.random()) - x
        lazyarr.evaluate(got)
        compiled.add(COUNT.compiles + COUNT.disk_hits - before)
    assert compiled <= {0, 1} and sum(compiled) <= 1


def test_a_dropped_result_is_never_computed():
    x = lazyarr.array(A)
    lazyarr.evaluate(x)
    reset()
    for _ in range(20):
        x * 2 + 1
    assert COUNT.native_launches == 0
    lazyarr.evaluate(x + 1)
    assert COUNT.native_launches == 1


def test_a_long_chain_needs_no_stack():
    x = lazyarr.zeros(8)
    for _ in range(100_000):
        x = x + 1
    assert float(x[3]) == 100_000


def test_constants_share_a_kernel():
    x = lazyarr.array(A)
    lazyarr.evaluate(x * 0.1)
    reset()
    lazyarr.evaluate(x * 0.2)
    assert COUNT.compiles == COUNT.disk_hits == 0


def test_explain_names_the_reason():
    from lazyarr.debug import explain

    x = lazyarr.array(A)
    lazyarr.evaluate(x)
    y = x * 2
    text = explain(y[1:] + y[:-1])
    assert "reads a value of the group at other elements" in text or "iteration space" in text
    assert "multiply dd->d: stored" in text


def test_a_value_that_a_rule_finds_elsewhere_is_no_call_of_its_own():
    x = A[:4, :5] + 1j
    v = lazyarr.array(x)
    got = +np_divide(lazyarr, v)
    assert numpy.asarray(got).tobytes() == np_divide(numpy, x).tobytes()


def np_divide(np, x):
    return np.true_divide(x, x[..., :1])
