"""What a mask leaves out (`where=`) changes no bit and raises no warning, for each ufunc and its folds.

Where the mask is False there are operands on which most functions raise something, in the midst of elements
on which they do not; scalars among the operands are of either sort.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from late_warnings import shown

import lazyarr
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
from lazyarr.ops import OPS, flags, loop_types
from lazyarr.own_ufuncs import OWN
from lazyarr.reduce_order import IN_SEQUENCE, ROUNDING_FREE

pytestmark = pytest.mark.skipif(
    jit.available() and host_level().name == "ASIMD", reason="status is read on x86 only"
)

FLOATS = "efdFD"
NARROWER = {"d": "f", "f": "e", "D": "F"}
N = 1003
SCALARS = [0.0, -1.0, 1e30, 5000.0, numpy.inf, numpy.nan]
SPECIAL = [0.0, -0.0, -1.0, 1e-30, 1e30, -1e30, 710.0, numpy.inf, -numpy.inf, numpy.nan]
UFUNCS = [name for name, op in OPS.items() if op.is_ufunc and op.nin < 3 and name not in OWN]
FOLDS = sorted(IN_SEQUENCE | ROUNDING_FREE)


def special(char: str, mask: numpy.ndarray, seed: int) -> numpy.ndarray:
    """Harmless numbers where the mask is True (-0.0 among them), others elsewhere."""
    rng = numpy.random.default_rng(seed)
    x = rng.choice([0.5, 0.75, 0.25, -0.0], mask.shape)
    with numpy.errstate(all="ignore"):
        x[~mask] = rng.choice(SPECIAL, numpy.count_nonzero(~mask))
        found = numpy.nan_to_num(x, posinf=9, neginf=-9) if char in "?bhilBHIL" else x
        return (found + 1j * found[..., ::-1] if char in "FD" else found).astype(char)


def outcome(np: Any, run: Any) -> tuple[list[str], Any]:
    """Messages, and the bits (NaNs are alike)."""
    with shown() as caught, numpy.errstate(all="warn"):
        try:
            value = run(np)
        except (TypeError, ValueError) as e:
            return [type(e).__name__], None
        value = numpy.array(value)
    if value.dtype.kind in "fc":
        parts = value.reshape(-1).view(value.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
    return [str(w.message) for w in caught], (value.dtype, value.shape, value.strides, value.tobytes())


def scalars(char: str) -> list[Any]:
    if char not in FLOATS:
        return [numpy.dtype(char).type(x) for x in (0, 1, -1) if x >= 0 or char in "bhil"]
    with numpy.errstate(all="ignore"):
        return [numpy.dtype(char).type(x) for x in SCALARS]


@pytest.mark.parametrize("name", UFUNCS)
def test_elementwise(name: str) -> None:
    half, none = numpy.random.default_rng(1).random(N) < 0.5, numpy.zeros(N, bool)
    for sig in loop_types(name):
        ins, outs = sig.split("->")
        if not flags(name, sig) or len(outs) > 1:
            continue
        arrays = [special(c, half, k) for k, c in enumerate(ins)]
        choices: list[tuple[list[Any], numpy.ndarray, str]] = [
            (arrays, half, outs), (arrays, half, NARROWER.get(outs, outs)),
        ]  # fmt: skip
        for k, c in enumerate(ins):
            choices += [([*arrays[:k], x, *arrays[k + 1 :]], none, outs) for x in scalars(c)]
            choices.append(([*arrays[:k], numpy.dtype(c).type(1), *arrays[k + 1 :]], half, outs))
        for args, mask, into in choices:
            def run(np: Any, args: Any = args, mask: Any = mask, into: str = into) -> Any:
                given = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in args]
                out = np.ones(N, into)
                return getattr(np, name)(*given, out=out, where=np.array(mask), casting="unsafe")

            want = outcome(numpy, run)
            with lazyarr.options(jit="always"):
                assert outcome(lazyarr, run) == want, (sig, into, args)


@pytest.mark.parametrize("name", ["negative", "absolute", "floor", "positive", "copyto"])
def test_casts_of_results(name: str) -> None:
    mask = numpy.arange(N) % 3 == 0
    x = special("d", mask, 0)
    x[~mask] *= 1e200

    def run(np: Any) -> Any:
        out = np.ones(N, "f")
        if name == "copyto":
            np.copyto(out, np.array(x), where=np.array(mask))
        else:
            getattr(np, name)(np.array(x), out=out, where=np.array(mask))
        return out

    want = outcome(numpy, run)
    with lazyarr.options(jit="always"):
        assert outcome(lazyarr, run) == want
    assert not want[0]


@pytest.mark.parametrize("axis", [0, 2, None, (0, 2)])
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name: str, axis: Any) -> None:
    rng = numpy.random.default_rng(2)
    shape = (17, 3, 33)
    masks = {"half": rng.random(shape) < 0.5, "none": numpy.zeros(shape, bool), "row": rng.random(33) < 0.5}
    starts: list[dict[str, Any]] = [{}, {"initial": -0.0}, {"initial": numpy.nan}, {"initial": -3}]
    for char in FLOATS + "l":
        for which, mask in masks.items():
            x = special(char, numpy.broadcast_to(mask, shape), 4)
            for start in starts if char in FLOATS else [{}, {"initial": -3}]:
                def run(np: Any, x: Any = x, mask: Any = mask, start: Any = start) -> Any:
                    fn = getattr(np, name)
                    return fn.reduce(np.array(x), axis=axis, where=np.array(mask), **start)

                want = outcome(numpy, run)
                with lazyarr.options(jit="always"):
                    assert outcome(lazyarr, run) == want, (char, which, start)


@pytest.mark.parametrize("n", [100, 131_073, 300_000])
@pytest.mark.parametrize("types", ["dD", "fF", "dF", "dd", "df"])
@pytest.mark.parametrize("name", ["add", "fmax", "sqrt"])
def test_what_a_mask_leaves_of_complex_numbers(name: str, types: str, n: int) -> None:
    """NumPy casts the old elements to the loop's type and back, and says so where they lose something."""

    def run(np: Any) -> tuple[bytes, list[str]]:
        a = np.array(numpy.linspace(0.5, 9, n, dtype=types[0]))
        out = np.array(numpy.linspace(3, 4, n, dtype=types[1]))
        fn = getattr(np, name)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            fn(*(a, a)[: fn.nin], out=out, where=np.array(numpy.arange(n) % 3 > 0))
            found = numpy.asarray(out).tobytes()
        return found, [warning.category.__name__ for warning in met]

    expected = run(numpy)
    assert run(lazyarr) == expected
    with lazyarr.options(jit="always"):
        assert run(lazyarr) == expected
