"""Running sums and products of matrices, which NumPy computes later: its values, its warnings, its order."""

from __future__ import annotations

import numpy
import pytest

import lazyarr

CALLS = {
    "cumsum": lambda np, a, b: (np.cumsum(a), np.cumsum(a, 0), a.cumsum(1), np.cumsum(a.T, axis=-1)),
    "cumprod": lambda np, a, b: (np.cumprod(a[:, :3]), a[:, :3].cumprod(0), np.cumprod(a.T[:3], axis=1)),
    "dtype": lambda np, a, b: (np.cumsum(a, dtype="f4"), np.add.accumulate(a, dtype="c8", axis=1)),
    "accumulate": lambda np, a, b: (np.maximum.accumulate(a), np.subtract.accumulate(a, 1)),
    "cumulative": lambda np, a, b: (np.cumulative_sum(a, axis=0), np.cumulative_prod(a[:3], axis=1),
                                    np.cumulative_sum(a[0], include_initial=True)),
    "nan": lambda np, a, b: (np.nancumsum(a, axis=1), np.nancumprod(a[:3], axis=0)),
    "strided": lambda np, a, b: (np.cumsum(a[::2, ::-1], axis=0), np.cumsum(a[:, 3])),
    "matmul": lambda np, a, b: (a @ b, np.matmul(b, a), a @ b[:, 0], b[:, 0] @ a.T, b.T @ a.T),
    "stacks": lambda np, a, b: (np.stack([a, a]) @ b, np.stack([a, a]) @ np.stack([b, b]),
                                b @ np.stack([a, a])),
    "dot": lambda np, a, b: (np.dot(a, b), a.dot(b), np.dot(np.stack([a, a]), b), np.dot(a, b[:, 0])),
    "inner": lambda np, a, b: (np.inner(a, a), np.inner(np.stack([a, a]), a), np.inner(a, b[:, 1])),
    "tensordot": lambda np, a, b: (np.tensordot(a, b, 1), np.tensordot(a, a, ((0,), (0,)))),
    "vecdot": lambda np, a, b: (np.vecdot(a, a), np.vecdot(a, b[:, 0]), np.linalg.vecdot(a, a, axis=0)),
    "matvec": lambda np, a, b: (np.matvec(a, b[:, 0]), np.vecmat(a[:, 0], a),
                                np.matvec(np.stack([a, a]), a[0])),
    "cov": lambda np, a, b: (np.cov(a), np.corrcoef(a), np.linalg.multi_dot([a, b, a])),
    "power": lambda np, a, b: np.linalg.matrix_power(a @ b, 3),
    "scalars": lambda np, a, b: (np.dot(a[0], b[:, 0]), a[0] @ b[:, 0], np.vdot(a[0], a[0]),
                                 np.inner(a[0], a[0])),
    "operators": lambda np, a, b: (a @ b.tolist(), a.tolist() @ b, (a @ b) + 1),
}  # fmt: skip


def given(np, dtype):
    a = np.array((numpy.arange(40) % 7 - 2).reshape(5, 8).astype(dtype))
    b = np.array((numpy.arange(40) % 5 - 1).reshape(8, 5).astype(dtype))
    return a + a[:1] * 0, b + b[:1] * 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u2", "?", "c16", "f2"])
@pytest.mark.parametrize("name", CALLS)
def test_call(name, dtype, jit, same):
    try:
        want = CALLS[name](numpy, *given(numpy, dtype))
    except Exception as error:
        with pytest.raises(type(error)):
            CALLS[name](lazyarr, *given(lazyarr, dtype))
        return
    a, b = given(lazyarr, dtype)
    got = CALLS[name](lazyarr, a, b)
    a[...] = 1
    b *= 0
    if name != "cov":
        same(list(got) if isinstance(want, tuple) else got, list(want) if isinstance(want, tuple) else want)
    else:
        for g, w in zip(got, want, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(g), w)


@pytest.mark.filterwarnings("error")
def test_warnings_name_the_loop(jit):
    x = lazyarr.array(numpy.full(300, 1e308)) + 0
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        lazyarr.evaluate(lazyarr.cumsum(x))


def test_errors_are_raised_at_the_call(jit):
    x = lazyarr.array(numpy.full(300, 1e308)) + 0
    with lazyarr.errstate(over="raise"), pytest.raises(FloatingPointError):
        lazyarr.cumsum(x)


def test_they_wait_and_plans_are_remembered():
    def program(seed):
        x = lazyarr.array(numpy.full((600, 600), float(seed)))
        y = (x + 1) @ x
        z = lazyarr.cumsum(y * 2, axis=1)
        waiting = not lazyarr.is_evaluated(y) and not lazyarr.is_evaluated(z)
        return waiting, float(z[0, -1])

    lazyarr.ones(3)
    with lazyarr.options(jit="always"):
        program(1)
        before = lazyarr.debug.counters()["plans"]
        assert program(2) == (True, 600 * 600 * 2 * 2 * 3)
        assert lazyarr.debug.counters()["plans"] == before


@pytest.mark.parametrize("types", ["qq", "ql", "lq", "QQ", "qd", "ii"])
def test_equal_types_of_two_names(types, jit):
    a, b = (lazyarr.array(numpy.arange(16).reshape(4, 4).astype(char)) for char in types)
    a, b = a + a, b + b
    want = numpy.dot(numpy.asarray(a), numpy.asarray(b))
    assert (numpy.asarray(lazyarr.dot(a, b + 0)) == want).all()
    assert (numpy.asarray(lazyarr.inner(a, b.T + 0)) == want).all()


def test_what_keeps_memory_is_computed():
    """A small product keeps its large operands no longer than NumPy would."""
    n = lazyarr.debug.counters()["memory_bound"]
    a = lazyarr.ones((20, 400_000))
    lazyarr.evaluate(a)
    p = (a + 1) @ (a + 1).T
    waits = not lazyarr.is_evaluated(p)
    del a
    q = lazyarr.ones(100_000) + 1
    assert waits and lazyarr.is_evaluated(p)
    q = q - 1 + p[0, 0]
    assert lazyarr.debug.counters()["memory_bound"] > n
    assert q[0] == 1 + 400_000 * 4
