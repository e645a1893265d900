"""SymPy's expressions and arrays: the operators of both, substitution, functions made of expressions."""

from __future__ import annotations

import operator

import numpy
import pytest
from programs import MISSING

import lazyarr

sympy = pytest.importorskip("sympy", reason=MISSING)

x = sympy.Symbol("x")
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
VALUES = [[1.5, 2.0], [2.5], 3.0, [[1, 2], [3, 4]], [x, 2]]


def result(np, call, values):
    return numpy.asarray(call(np.array(values))).tolist()


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("scalar", [x, sympy.pi, sympy.Integer(2)], ids=str)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators(op, scalar, values, jit):
    for call in (lambda a: op(scalar, a), lambda a: op(a, scalar)):
        want = result(numpy, call, values)
        with lazyarr.options(jit=jit):
            assert result(lazyarr, call, values) == want


@pytest.mark.parametrize("np", [numpy, lazyarr])
def test_other_uses(np):
    assert (x**2).subs(x, np.array(3.0)) == 9.0
    assert sympy.Matrix(np.array([[1, 2], [3, 4]])).det() == -2
    assert sympy.lambdify(x, x**2 + 1, "numpy")(np.array([1, 2])).tolist() == [2, 5]
    assert sympy.sympify(np.array([1, 2])) == sympy.Array([1, 2])
    with pytest.raises(sympy.SympifyError):
        sympy.sympify(np.array([1, 2]), strict=True)
