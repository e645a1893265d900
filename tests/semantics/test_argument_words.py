"""Arguments that NumPy refuses, warns about, or reads in a way of its own: the same here, at every size."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarr
from tests.slots.operands import python_calls

CALLS = """
a.sum(axis=True)
np.add.reduce(a, axis=False)
a.sum(axis=(True, 0))
np.max(a, axis=True)
np.argmax(a, axis=True)
a.all(axis=True)
np.nansum(a, axis=True)
np.trapezoid(a, axis=True)
np.cumsum(a, axis=True)
np.concatenate([a, a], axis=True)
np.stack([a, a], axis=True)
np.append(a, a, axis=True)
np.count_nonzero(a, axis=True)
np.mean(a, axis=True)
np.logaddexp.reduce(a, axis=True)
np.vecdot(a, a, axis=True)
np.repeat(a, 2, axis=True)
np.flip(a, axis=True)
a.sum(keepdims=np.True_)
a.max(keepdims=np.False_)
a.mean(keepdims=np.True_)
a.sum(keepdims=1)
a.sum(keepdims=2)
np.argmax(a, keepdims=np.False_)
np.count_nonzero(a, keepdims=np.True_)
np.add.reduce(a, keepdims=np._NoValue)
a.sum(keepdims=np._NoValue)
np.sum(a, keepdims=np._NoValue)
a.argmax(keepdims=np._NoValue)
np.argmax(a, keepdims=np._NoValue)
np.choose(u, [b, b])
np.choose(u.astype('u4'), [b, b])
u.choose([b, b])
np.std(a, axis=0, out=(o,))
np.mean(a, axis=0, out=(o,))
a.sum(0, out=(o,))
np.add.reduce(a, 0, out=(o,))
np.add.reduce(a, 0, None, (o,))
np.max(a, axis=0, out=(o,))
np.cumsum(b, out=(b,))
np.add.accumulate(a, 0, None, (a,))
np.add.accumulate(a, 0, out=(a,))
np.take(b, u.astype(int), out=(b,))
np.dot(a, a.T[:, :3], out=(a,))
np.matmul(a, a.T[:, :3], out=(a * 1,))
np.clip(a, 0, 1, out=(a,))
np.round(a, 1, out=(a,))
np.concatenate([o, o], out=(b[:6],))
np.argmax(a, axis=0, out=np.zeros(3, 'f4'))
np.nanargmax(a, axis=0, out=np.zeros(3, 'f4'))
np.round(a, 1, out=a > 1)
np.argmax(a, axis=0, out=np.zeros(4, int))
np.argmax(a, axis='x')
np.compress([True], a, axis=0, out=np.zeros(3, 'i4'))
np.copysign(a, a, None, out=None)
np.sin(a, None, out=None)
np.add(a, a, None)
np.add(a, a, casting=None)
np.add(a, a, subok=np.True_)
a.astype(None)
u.astype(None)
np.astype(u, None)
u.astype(None, casting='safe')
np.asarray(u, None)
np.array(u, dtype=None)
np.maximum(a, a, a)
np.minimum(a, a, None)
np.maximum(a, a, out=a)
np.fmax(a, a, a)
a.fill()
a.fill(1, 2)
a.fill(value=3)
a.fill([])
a.fill('x')
np.copyto(a, 10**400)
np.copyto(u, -1)
a.copy(a)
a.flatten(a)
a.ravel(order=a)
np.reshape(a, 3, a)
a.view(b)
u.view(a)
a.copy(None)
a.copy('K')
np.subtract(a, a, ...)
np.subtract(a, a, out=...)
np.divide(b, b - 2, out=b * 0, where=b != 2)
np.divide(a, a, out=(a * 0,), where=a > 1)
np.divide(a, a, out=a, where=[True, False, True])
np.divide(a, a - a[0], out=a, where=a > -1, casting='unsafe')
np.add(a, a, dtype=int)
np.add(a, a, dtype=int, casting='unsafe')
np.add(a, 1, dtype='f4')
np.add(a, a, dtype=[('x', 'f8')])
np.multiply(a, a, a, casting='unsafe')
np.add(a, b[:3], u[:3], casting='unsafe')
np.add(b, u, u, casting='same_kind')
np.maximum(b, u, b, casting='unsafe')
np.add(a, a, a, out=a)
np.add(a, a, None, casting='safe')
np.add(u, u, out=u, casting='no')
np.add(a, a, out=o, dtype=float)
np.add(2, 3, dtype=float)
np.modf(a, out=None, casting='safe')
np.sqrt(a - 1, where=True, casting='safe')
np.max([a, a + 1], axis=0)
np.maximum.reduce([b, b * 2], axis=-1)
np.maximum.reduce([b, b * 2], 0, None, b)
np.sum([a, a], axis=5)
np.sum([a, b], axis=0)
np.mean([a, a], keepdims=True)
"""


def outcome(np: Any, call: str, n: int) -> Any:
    """What comes of a call: the exception, or the value and the messages of warnings."""
    scope = {
        "np": np, "a": np.arange(3.0 * n).reshape(n, 3) * 1, "b": np.arange(3.0 * n) + 1, "o": np.zeros(3),
        "u": (np.arange(3 * n) % 2).astype("u8"),
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = numpy.array(eval(call, scope))
        except Exception as e:
            return type(e), str(e)
    return value.dtype, value.shape, value.tobytes(), [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize(("jit", "n"), [("auto", 100_000), ("auto", 5), ("always", 5)])
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_same(call: str, jit: str, n: int) -> None:
    want = outcome(numpy, call, n)
    with lazyarr.options(jit=jit):
        assert outcome(lazyarr, call, n) == want


@pytest.mark.parametrize(
    "call",
    [
        "np.divide(a, a, out=o, where=m)", "np.add(a, a, dtype=float)", "np.add(a, a, o, casting='unsafe')",
        "np.maximum.reduce([a, a])", "np.max([a, a], axis=0)", "np.sum([a, a, o], axis=0)",
    ],
)  # fmt: skip
def test_small_calls_take_few_steps(call: str) -> None:
    """What is NumPy's in any case is NumPy's at once."""
    a = lazyarr.array(numpy.arange(12.0))
    scope = {"np": lazyarr, "a": a, "o": lazyarr.zeros(12), "m": a > 3}
    eval(call, scope)                                   # imports what it needs
    _, calls = python_calls(eval, call, scope)
    assert calls <= 9
