"""`in_step`: where it says so, rows of two accesses share bytes only where they are the same row."""

from __future__ import annotations

import numpy
import pytest

from lazyarr.expr import Expr
from lazyarr.fusion.chain import Chain
from lazyarr.fusion.touches import Touch, in_step
from lazyarr.values import Buffer

VALUE = Expr.leaf(Buffer(numpy.empty(4096, numpy.uint8)))


def touch(x: numpy.ndarray, whole: numpy.ndarray) -> Touch:
    offset = x.ctypes.data - whole.ctypes.data
    return Touch(VALUE, VALUE, x.shape, x.strides, offset, x.itemsize, writes=True)


def rows(x: numpy.ndarray, whole: numpy.ndarray, axis: int) -> list[set[int]]:
    """The bytes of each row."""
    numbers = numpy.arange(whole.size).reshape(whole.shape)
    seen = numpy.lib.stride_tricks.as_strided(
        numbers.ravel()[(x.ctypes.data - whole.ctypes.data) // whole.itemsize :], x.shape, x.strides
    )
    return [set(row.ravel().tolist()) for row in numpy.moveaxis(seen, axis, 0)]


def some_view(rng: numpy.random.Generator, whole: numpy.ndarray) -> numpy.ndarray:
    index = [slice(None), slice(0, 1), slice(None, None, -1), slice(1, None), slice(None, None, 2)]
    chosen = (index[int(k)] for k in rng.choice(5, whole.ndim, p=[0.6, 0.1, 0.1, 0.1, 0.1]))
    x = whole[tuple(chosen)]
    if rng.random() < 0.3:
        x = x.transpose(rng.permutation(x.ndim))
    if rng.random() < 0.2:
        x = numpy.broadcast_to(x[:, :1], x.shape)
    return x


def test_against_the_bytes_themselves() -> None:
    rng, held = numpy.random.default_rng(4), 0
    for _ in range(3000):
        whole = numpy.zeros(tuple(rng.integers(1, 5, 3)), order=str(rng.choice(["C", "F"])))
        if whole.flags.f_contiguous and not whole.flags.c_contiguous:
            whole = whole.T
        a, b = some_view(rng, whole), some_view(rng, whole)
        x, y = (int(k) for k in rng.integers(3, size=2))
        if not a.size or a.shape[x] != b.shape[y] or not in_step(touch(a, whole), x, touch(b, whole), y):
            continue
        held += 1
        ours, theirs = rows(a, whole, x), rows(b, whole, y)
        for i, mine in enumerate(ours):
            assert not any(mine & other for j, other in enumerate(theirs) if i != j)
    assert held > 300


@pytest.mark.parametrize(
    ("a", "b", "axes", "answer"),
    [
        (numpy.s_[:], numpy.s_[:], (0, 0), True),
        (numpy.s_[:], numpy.s_[:], (1, 1), True),           # columns lie again in each period
        (numpy.s_[:], numpy.s_[:, ::-1], (0, 0), True),
        (numpy.s_[:], numpy.s_[::-1], (0, 0), False),
        (numpy.s_[:-1], numpy.s_[1:], (0, 0), False),
        (numpy.s_[:, :-1], numpy.s_[:, 1:], (0, 0), True),
        (numpy.s_[:], numpy.s_[:1], (0, 1), False),
    ],
)
def test_usual_views(a: object, b: object, axes: tuple[int, int], answer: bool) -> None:
    whole = numpy.zeros((6, 5))
    touches = [touch(whole[index], whole) for index in (a, b)]      # type: ignore[index]
    assert in_step(touches[0], axes[0], touches[1], axes[1]) is answer


def test_windows_are_those_of_each_number_of_groups() -> None:
    """A row of each buffer, for each block from the first of the groups that touches it to the last."""
    rng = numpy.random.default_rng(7)
    keys = [Expr.leaf(Buffer(numpy.empty(64, numpy.uint8))) for _ in range(5)]
    for first in range(4):
        lags, touches = rng.integers(0, 9, 12).tolist(), []
        for _ in lags:
            drawn = zip(rng.integers(0, 5, 3), rng.integers(1, 9, 3), strict=True)
            some = [(keys[int(k)], int(n)) for k, n in drawn]
            touches.append([Touch(VALUE, key, (4, n), (8 * n, 8), 0, 8, writes=False) for key, n in some])
        chain = Chain([], [0] * 12, touches, 4, lags=lags)
        for n, found in enumerate(chain.windows(first)):
            seen: dict[int, list[tuple[int, int]]] = {}
            for lag, each in list(zip(lags, touches, strict=True))[first:n]:
                for t in each:
                    seen.setdefault(id(t.key), []).append((lag, t.row_bytes(0)))
            spans = ((max(r for _, r in at), [lag for lag, _ in at]) for at in seen.values())
            assert found == sum(row * (max(of) - min(of) + 1) for row, of in spans)
        assert len(chain.windows(first)) == 13
