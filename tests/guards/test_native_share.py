"""Forced to compile, at least 95 % of elementwise calls and of reductions on plain dtypes run natively.

Every loop of the op table, every reduction over every plain dtype and axis.  Native: a kernel was
launched, and NumPy was asked for nothing.  What is not native is printed with its reason.
"""

from __future__ import annotations

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.debug import explain
from lazyarr.dtypes import PLAIN
from lazyarr.ops import DOMAINS, OPS, kind, loop_types

SHARE = 0.95
REDUCTIONS = [
    "sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "count_nonzero",
]  # fmt: skip
N = 2000


def operand(char, domain, shape):
    """Evaluated numbers of an op's domain."""
    rng = numpy.random.default_rng(7)
    low, high = DOMAINS[domain] or (-100, 100)
    if kind(char) in "bu":
        low = max(low, 0)
    x = rng.uniform(low, min(high, 100), shape).astype(char)
    found = lazyarr.array(x)
    lazyarr.evaluate(found)
    return found


def elementwise_calls():
    for name, op in OPS.items():
        fn = getattr(lazyarr, name, None) or getattr(lazyarr.special, name, None)
        for sig in loop_types(name):
            operands = [operand(c, op.domain, N) for c in sig.split("->")[0]]
            if name == "copy":
                yield f"astype {sig}", lambda x=operands[0], c=sig[-1]: x.astype(c)
            elif name == "power" and kind(sig[0]) in "iu":
                yield f"power {sig}", lambda x=operands[0]: x**3
            else:
                yield f"{name} {sig}", lambda fn=fn, operands=operands: fn(*operands)


def reduction_calls():
    for name in REDUCTIONS:
        for char in PLAIN:
            x = operand(char, "any", (40, N // 40))
            for axis in (None, 0, 1):
                yield f"{name} {char} axis={axis}", lambda x=x, n=name, a=axis: getattr(lazyarr, n)(x, axis=a)


def run(call):
    """Call and evaluate; why it did not run natively, or None."""
    reset()
    result = call()
    results = result if isinstance(result, tuple) else (result,)
    plan = explain(*results)
    lazyarr.evaluate(*results)
    if COUNT.native_launches and not COUNT.numpy_fallbacks and not COUNT.numpy_eager:
        return None
    return plan if "group" in plan else "NumPy at the call"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("calls", [elementwise_calls, reduction_calls])
def test_share(calls):
    with lazyarr.options(jit="always"):
        found = {name: run(call) for name, call in calls()}
    through_numpy = {name: why for name, why in found.items() if why is not None}
    text = "\n".join(f"{name}: {why}" for name, why in through_numpy.items())
    print(f"{len(found) - len(through_numpy)} of {len(found)} run natively\n{text}")
    assert len(found) > 400
    assert len(through_numpy) <= (1 - SHARE) * len(found), text
