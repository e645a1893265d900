"""What equals a bound of clip keeps its sign where NumPy's inner loop sees both bounds stand still."""

from __future__ import annotations

import random

import numpy
import pytest

import lazyarr
from lazyarr.fusion.loop_strides import TIES_BY_STRIDES

pytestmark = pytest.mark.skipif(not TIES_BY_STRIDES, reason="this NumPy's clip has another rule for ties")

CLIP = numpy._core.umath.clip
OURS = lazyarr.namespace.adapt(CLIP)


def laid_out(rnd, shape, dtype, value):
    """One value at every place, strided, reversed, transposed: what makes it with a given `np`."""
    order = list(range(len(shape)))
    if rnd.random() < 0.4:
        rnd.shuffle(order)
    steps = [rnd.choice([1, 1, 1, 2, -1]) for _ in shape]
    room = numpy.full([shape[k] * abs(steps[k]) for k in order], value, dtype)
    cut = tuple(slice(None, None, steps[k]) for k in order)
    return lambda np: np.array(room)[cut].transpose([order.index(k) for k in range(len(shape))])


def part_of(rnd, shape):
    if rnd.random() < 0.3:
        return ()
    kept = tuple(1 if rnd.random() < 0.4 else n for n in shape)
    return kept[rnd.choice([0, 0, 0, 1]) :]


@pytest.mark.parametrize("seed", range(6))
def test_signs_of_zeros_between_bounds_of_any_layout(seed, jit, same):
    rnd = random.Random(seed)
    for _ in range(40):
        rank = rnd.choice([1, 1, 2, 2, 3])
        shape = tuple(rnd.choice([1, 2, 3, 7, 33, 200, *([9000] * (rank < 3))]) for _ in range(rank))
        if numpy.prod(shape) > 60_000:
            continue
        dtype = rnd.choice("efdd")
        first = shape if rnd.random() < 0.8 else part_of(rnd, shape)
        shapes = first, part_of(rnd, shape), part_of(rnd, shape)
        dtypes = dtype, dtype, rnd.choice([dtype, dtype, "i1"])
        made = [
            laid_out(rnd, s, d, v) if s else lambda np, d=d, v=v: np.array(v, d)
            for s, d, v in zip(shapes, dtypes, (-0.0, 0.0, 2.0), strict=True)
        ]
        into = laid_out(rnd, numpy.broadcast_shapes(*shapes), rnd.choice([dtype, "d"]), 5)

        def run(np, clip, made=made, into=into):
            given, out = [make(np) for make in made], into(np)
            return clip(*given), clip(*given, out=out), out

        if any(shapes):
            same(run(lazyarr, OURS), run(numpy, CLIP))


PROGRAMS = {
    "scalars": lambda np, x, low, high: np.clip(x, 0, 2),
    "method": lambda np, x, low, high: x.clip(-0.0, 2),
    "from above": lambda np, x, low, high: np.clip(-x, -2, -0.0),
    "arrays": lambda np, x, low, high: np.clip(x, low, high),
    "one of them": lambda np, x, low, high: np.clip(x, 0, high) + np.clip(x, low, 2),
    "one bound": lambda np, x, low, high: (np.clip(x, 0, None), np.clip(x, None, 0), np.clip(x, low, None)),
    "of what is computed": lambda np, x, low, high: np.clip(x * 2, 0, 2) * low + np.clip(x * 2, low + 0, 2),
    "twice": lambda np, x, low, high: np.clip(np.clip(x, 0, 2), 0, 2),
    "not a number": lambda np, x, low, high: (np.clip(x, np.nan, 2), np.clip(x, 0, np.nan)),
    "one value each": lambda np, x, low, high: np.clip(x, np.array(0.0), np.array([2.0])),
    "long rows": lambda np, x, low, high: np.clip(x.reshape(2, -1), low[:2, None], high[:2, None]),
    "short rows": lambda np, x, low, high: np.clip(x.reshape(-1, 2), low[::2, None], high[::2, None]),
    "masked": lambda np, x, low, high: masked(np, x),
}


def masked(np, x):
    out = np.ones(x.shape, x.dtype)
    np.clip(x, 0, 2, out=out, where=x < 1)
    return out


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, dtype, jit, same):
    x = numpy.full(40_000, -0.0, dtype)
    x[::7], x[1::9], x[3::50] = 5, -3, numpy.nan
    low, high = numpy.zeros(40_000, dtype), numpy.full(40_000, 2, dtype)
    want = PROGRAMS[name](numpy, x, low, high)
    same(PROGRAMS[name](lazyarr, *map(lazyarr.array, (x, low, high))), want)


def test_both_kinds_in_one_kernel(jit, same):
    """Clips of the same values into other strides: NumPy's loops see the bounds differently."""
    x = numpy.full((200, 300), -0.0)
    low, high = numpy.zeros((200, 1)), numpy.ones((200, 1))

    def run(np):
        a, b, c = np.array(x), np.array(low), np.array(high)
        first, second = np.ones((200, 300)), np.ones((300, 200)).T
        np.clip(a, b, c, out=first)
        np.clip(a, b, c, out=second)
        return first, second, np.clip(a, 0, 1)

    same(run(lazyarr), run(numpy))
