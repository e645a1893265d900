"""Floating-point errors of lazy operations, as the error state of the call asks.

warn: the evaluation warns once for each category, in NumPy's words and in the user's file; raise, call and
print: at the call; ignore: silence, wherever the evaluation happens.
"""

from __future__ import annotations

import warnings

import numpy
import pytest
from flagged import NAMES, USER, N

import lazyarr

ROWS = [
    "x / z", "1 / big / z", "np.log(z)", "np.log(x)", "np.sqrt(x)", "big * big", "big ** 2", "np.exp(big)",
    "x * 1e308 * 10", "i // (i - i)", "i % (i - i)", "i // 0", "x // z", "np.arcsin(x * 2)",
    "np.reciprocal(z)", "np.power(x, 0.5)", "big.astype('f4')", "(x * 1e300).astype('i4')",
    "np.divmod(x, z)", "f * f", "np.log1p(x - 1)", "np.arctanh(x)", "x.mean() / z", "np.sqrt(x) + 1 / z",
    "z / z", "big.sum() * z / z", "(x / z).sum()", "(x / z).std()", "np.sqrt(x).max(axis=0)",
    "(big * big).reshape(-1, 1).T.sum(0)", "np.where(x > 0, np.log(x), 0)", "np.sinh(big)",
    "np.float32(1e30) * f", "np.add(big / z, 1)", "np.expm1(big)",
]  # fmt: skip
"""Each category is raised by one operation only, so that its name is certain."""

SILENT = ["x + z", "np.sqrt(abs(x))", "np.exp(-big)", "i // 3", "x.astype('i8')", "x / 3", "np.maximum(x, z)"]


def names(np):
    found = {name: np.array(x) for name, x in NAMES.items()} | {"np": np}
    if np is lazyarr:
        np.evaluate(*found.values())
    return found


def call(row, np):
    """The row's result, as if a user's file held it."""
    return eval(compile(row, USER, "eval"), names(np))


def finish(result):
    """Evaluate, from the same file."""
    scope = {"lazyarr": lazyarr, "results": result if isinstance(result, tuple) else (result,)}
    eval(compile("lazyarr.evaluate(*results)", USER, "eval"), scope)


@pytest.fixture(params=["auto", "always"], autouse=True)
def jit(request):
    with lazyarr.options(jit=request.param):
        yield request.param


@pytest.fixture
def caught(monkeypatch):
    """What is shown.  (Where warnings are recorded, they are awaited: see test_warning_filters.)"""
    found = []
    monkeypatch.setattr(warnings, "showwarning", lambda *args: found.append(warnings.WarningMessage(*args)))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield found


@pytest.mark.parametrize("row", [*ROWS, *SILENT])
def test_warn(row, caught):
    call(row, numpy)
    want = {str(w.message) for w in caught}
    assert bool(want) == (row in ROWS)
    caught.clear()
    finish(call(row, lazyarr))
    assert {str(w.message) for w in caught} == want
    assert all(w.category is RuntimeWarning and w.filename == USER for w in caught)


@pytest.mark.parametrize("row", ["x / z", "np.log(z)", "big * big", "x // z", "i // 0"])
def test_one_warning_at_the_evaluation_and_none_later(row, caught):
    result = call(row, lazyarr)
    assert caught == []
    finish(result)
    assert len(caught) <= 2
    caught.clear()
    finish(result)
    assert float(result[3]) is not None and caught == []


@pytest.mark.parametrize("row", ROWS)
def test_raise_at_the_call(row):
    with numpy.errstate(all="raise", under="ignore"):
        with pytest.raises(FloatingPointError) as want:
            call(row, numpy)
        with pytest.raises(FloatingPointError) as found:
            call(row, lazyarr)
    assert str(found.value) == str(want.value)


@pytest.mark.parametrize("row", ROWS)
def test_ignore(row, caught):
    with lazyarr.errstate(all="ignore"):
        result = call(row, lazyarr)
    finish(result)                          # where the error state is another one
    assert caught == []


@pytest.mark.parametrize("row", ["x / z", "np.log(z)"])
def test_the_state_of_the_call_counts(row, caught):
    result = call(row, lazyarr)
    with lazyarr.errstate(all="ignore"):
        finish(result)
    assert caught and all("divide by zero" in str(w.message) or "invalid" in str(w.message) for w in caught)


@pytest.mark.parametrize("row", ["x / z", "big * big", "np.sqrt(x)"])
def test_call_at_the_call(row):
    def seen_by(np):
        seen = []
        with numpy.errstate(all="call", call=lambda text, flag: seen.append((text, flag))):
            call(row, np)
        return seen

    assert seen_by(lazyarr) == seen_by(numpy) != []


def test_print_at_the_call(capfd):
    with lazyarr.errstate(all="print"):
        call("x / z", lazyarr)
    assert "divide by zero encountered in divide" in capfd.readouterr().err


@pytest.mark.parametrize("row", ["x / z", "np.log(z)"])
def test_warnings_as_errors(row):
    """They are raised at the call."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=r"divide by zero|invalid"):
            call(row, lazyarr)


def test_copyto_raises_at_the_call():
    a = lazyarr.array(numpy.zeros(N, "f4"))
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
        lazyarr.copyto(a, lazyarr.array(NAMES["big"]), casting="unsafe")
