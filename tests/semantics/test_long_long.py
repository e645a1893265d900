"""C's two integers of 64 bits are equal as dtypes; NumPy's results tell them apart, and so do ours."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np

SIZES = (12, 300_000)



def _renamed(i):
    x = i + 1
    x.dtype = "q"
    return x


CALLS = [
    lambda np, q, i: q[3], lambda np, q, i: q + 1, lambda np, q, i: (q + 1)[0], lambda np, q, i: q.max(),
    lambda np, q, i: q.sum(), lambda np, q, i: q.argmax(), lambda np, q, i: abs(q), lambda np, q, i: q * 2.0,
    lambda np, q, i: np.where(i > 1, q, 0), lambda np, q, i: np.concatenate([q, i]),
    lambda np, q, i: q.cumsum(),
    lambda np, q, i: i + q, lambda np, q, i: i + np.longlong(3), lambda np, q, i: i[q % 3],
    lambda np, q, i: np.zeros(q.size, "q"), lambda np, q, i: i.view("q"), lambda np, q, i: q.astype("l") + 1,
    lambda np, q, i: (i + 1).astype("q"), lambda np, q, i: np.add(i, 1, dtype="q"),
    lambda np, q, i: np.add(q, i, out=i), lambda np, q, i: _renamed(i) + 1,
    lambda np, q, i: _renamed(i).copy(),
]  # fmt: skip


@pytest.mark.parametrize("first", ["l", "q"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("call", CALLS)
def test_results_name_the_same_type(call, size, first):
    def told(module):
        i = module.arange(size)
        q = module.arange(size, dtype="q")
        if first == "l":                        # no cache may answer for the other
            call(module, i, i.copy())
        x = call(module, q, i)
        return x.dtype.char, type(x[0] if x.ndim else x), numpy.asarray(x).tolist()

    assert told(np) == told(numpy)
