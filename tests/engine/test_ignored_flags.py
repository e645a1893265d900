"""Warnings that the program ignores do not come out under another operation's name: kernels in place, whose
inputs are overwritten, so that nothing can be computed again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr

USER = "/somewhere/user.py"
N = 200_003

BEGIN = "a = np.arange(4. * N).reshape(N, 4)"
PROGRAMS = {
    "errstate": f"{BEGIN} * 1e200\nwith np.errstate(over='ignore'): a *= a\na *= 2; a += 1",
    "filter": f"{BEGIN} * 0\nwith warnings.catch_warnings():\n warnings.simplefilter('ignore')\n"
              " a /= a.sum(1, keepdims=True)\na *= 2\nnp.sqrt(a, out=a)",
    "categories": f"{BEGIN} * 1e200\nwith np.errstate(all='ignore'):\n a *= a\n a -= a\na += 1",
    "divided": "a = np.arange(1. * N)\nwith np.errstate(divide='ignore'): a = 1 / a\n"
               "a = a * 2 - 1\na = np.sqrt(a * a)",
    "ignored last": f"{BEGIN} * 1e200\na *= 2; a += 1\nwith np.errstate(over='ignore'): a *= a",
    "two ignored": f"{BEGIN} * 1e200\nwith np.errstate(over='ignore'): a *= a; a *= 3\na *= 2",
    "logarithm": f"{BEGIN} * 1\nwith np.errstate(divide='ignore'): np.log(a, out=a)\na /= 2; a *= 3",
    "nanstd": "x = np.arange(4. * N).reshape(N, 4) % 7\nx[:, 1] = np.nan\n"
              "with np.errstate(invalid='ignore'): a = np.nanstd(x, axis=0)",
}  # fmt: skip


def outcome(text: str, np: Any) -> list[tuple[str, str, int]]:
    scope = {"np": np, "N": N, "warnings": warnings}
    with shown() as caught:
        exec(compile(text, USER, "exec"), scope)
        numpy.array(scope["a"])
    return sorted((str(w.message), w.filename, w.lineno) for w in caught)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_other_is_blamed(name: str) -> None:
    want = outcome(PROGRAMS[name], numpy)
    for _ in range(3):
        with lazyarr.options(jit="always"):
            found = outcome(PROGRAMS[name], lazyarr)
        assert found == want


CHAINS = {
    "one row": "a = np.std(np.ones((1, N)) * 2, axis=0, ddof=1)",
    "normalized": "a = np.arange(4. * N).reshape(N, 4) * 0\na /= a.sum(1, keepdims=True)\na = np.sqrt(a)",
    "roots": "a = np.arange(4. * N).reshape(N, 4) - 9\nnp.sqrt(a, out=a)\na /= 3",
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_guesses_follow_a_chain(name: str) -> None:
    """NaN goes into a square root unheard, so it was the division before."""
    want = outcome(CHAINS[name], numpy)
    with lazyarr.options(jit="always"):
        found = outcome(CHAINS[name], lazyarr)
    assert [w[0] for w in found] == [w[0] for w in want]


def test_some_operation_is_told_where_none_is_ignored() -> None:
    text = f"{BEGIN} * 1e200\na *= a\na *= 2"
    with lazyarr.options(jit="always"):
        found = outcome(text, lazyarr)
    assert [message for message, _, _ in found] == [message for message, _, _ in outcome(text, numpy)]
