"""Questions about shapes and types wait for nothing; those that look at values get the values."""

from __future__ import annotations

import numpy
import pytest

import lazyarr as np


def pending(values):
    """The same values, not computed yet."""
    return np.array(values) * 1 + 0


QUESTIONS = {
    "shape of a list": lambda m, x, zero_d: m.shape([x, x]),
    "ndim of a nested list": lambda m, x, zero_d: m.ndim([[x, x], [x, x]]),
    "size along an axis that is an array": lambda m, x, zero_d: m.size(x, zero_d - 300),
    "least type of a value": lambda m, x, zero_d: m.min_scalar_type(zero_d),
    "least type of an array": lambda m, x, zero_d: m.min_scalar_type(x),
    "flip without axes": lambda m, x, zero_d: m.flip(zero_d),
    "elements": lambda m, x, zero_d: m.unstack(x) if hasattr(m, "unstack") else (),
    "a type that is an array": lambda m, x, zero_d: m.can_cast(x, zero_d),
    "like a list": lambda m, x, zero_d: m.empty_like([x, x]).shape,
    "types": lambda m, x, zero_d: m.result_type(x, zero_d, numpy.int8),
    "types of a list": lambda m, x, zero_d: m.result_type([x, x]),
    "common type": lambda m, x, zero_d: m.common_type(x, zero_d),
}


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_answers(name, jit):
    def answer(m, x, zero_d):
        try:
            return repr(QUESTIONS[name](m, x, zero_d))
        except Exception as error:
            return repr(error)

    x, zero_d = numpy.arange(5) * 3, numpy.array(300)
    with np.options(jit=jit):
        found = answer(np, pending(x), pending(x + 288)[4:].reshape(()))
    assert found == answer(numpy, x, zero_d)


ONE = {
    "reshape(-1)": lambda x: x[::7][:1].reshape(-1),
    "reshape(1)": lambda x: x[::7][:1].reshape(1),
    "reshape((-1,))": lambda x: x[::7][:1].reshape((-1,)),
    "reshape(1, -1)": lambda x: x[::7][:1].reshape(1, -1),
    "ravel": lambda x: x[::7][:1].ravel(),
    "column": lambda x: x.reshape(-1, 5)[2:3, :1].reshape(-1),
}


if numpy.arange(35)[::7][:1].reshape(1).strides != (8,):
    del ONE["reshape(1)"]               # NumPy 2.0 keeps the view's stride


@pytest.mark.parametrize("n", [35, 100_000])
@pytest.mark.parametrize("name", ONE)
def test_strides_of_axes_of_one_element(name, n):
    """NumPy makes strides anew where a length is left to it, and keeps them where the shape is the same."""
    x = numpy.arange(float(n))
    with np.options(jit="always"):
        assert ONE[name](np.array(x)).strides == ONE[name](x).strides


NEW_AXES = {
    "first": lambda x: x[None], "middle": lambda x: x[:, None], "last": lambda x: x[..., None],
    "column": lambda x: x[:, :1], "row": lambda x: x[:1],
}  # fmt: skip
ONE_LOOP = {
    "same type": lambda np, x: x + 1,
    "cast": lambda np, x: np.sqrt(x),
    "one cast": lambda np, x: x * 1.0 + x,
    "two results": lambda np, x: divmod(x, 2),
    "where": lambda np, x: (np.where(x > 0, x, 1), np.where(x > 0, x, 1.5)),
    "clip": lambda np, x: np.clip(x, 0, 1.5),
    "scan": lambda np, x: np.add.accumulate(x, axis=1),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", NEW_AXES)
@pytest.mark.parametrize("name", ONE_LOOP)
def test_strides_of_results_along_axes_of_one_element(name, axis, order):
    """They tell whether NumPy went through its iterator."""
    def strides(np):
        found = ONE_LOOP[name](np, NEW_AXES[axis](np.asarray(np.array(numpy.ones((5, 4), int)), order=order)))
        return [x.strides for x in (found if isinstance(found, tuple) else (found,))]

    with np.options(jit="always"):
        assert strides(np) == strides(numpy)
