"""X86_V4's functions have other levels' bits, also where no CPU with AVX-512 is at hand.

Their text is run as `avx512.portable` makes it: its instructions by definitions, its vectors in pieces.  On
hosts that have AVX-512 the definitions are tested so, too."""

from __future__ import annotations

import numpy
import pytest

pytest.importorskip("mpmath")
import ulp_functions
import ulp_samples
from avx512 import portable

from lazyarr.codegen.mathlib import exact, plane
from lazyarr.codegen.mathlib.functions import FUNCTIONS, module
from lazyarr.cpu_features import here
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_levels

LEVELS = {level.target.name: level.target for level in host_levels()}
pytestmark = [
    pytest.mark.skipif(here() != "x86_64" or "X86_V3" not in LEVELS, reason="X86_V3 runs it"),
    pytest.mark.usefixtures("quiet"),
]
ALL = [(name, char) for table in (FUNCTIONS, plane.FUNCTIONS) for name in table for char in table[name]]
V4 = BY_NAME["X86_V4"].target


def text(name: str, sig: str) -> tuple[str, str]:
    """Under a name of its own: other tests call this level's code where the CPU has it."""
    made, symbol = module(name, sig, V4), f"portable_{name}_{sig.replace('->', '_')}"
    return portable(made.ir).replace(made.symbol, symbol), symbol


def v4(name: str, sig: str):
    """The function on arrays of one dimension."""
    ir, symbol = text(name, sig)
    address = jit.load(ir, (symbol,), LEVELS["X86_V3"], 0, kernel=False)[symbol]
    loop = ulp_functions.LOOP(address)

    def run(*xs):
        ys = [numpy.empty(len(xs[0]), char) for char in sig.split("->")[1]]
        args, steps = (numpy.array([x(a) for a in (*xs, *ys)]) for x in (_address, _step))
        loop(args.ctypes.data, numpy.array([len(xs[0])]).ctypes.data, steps.ctypes.data, 0)
        return ys

    return run


def _address(a):
    return a.ctypes.data


def _step(a):
    return a.strides[0]


def bits(x):
    """NaNs are alike."""
    parts = x.view(x.real.dtype)
    return numpy.where(numpy.isnan(parts), numpy.nan, parts).tobytes()


@pytest.mark.parametrize("name, char", ALL, ids="-".join)
def test_its_text_gives_the_same_bits(name, char):
    sig = ulp_functions.signature(name, char)
    run, wanted = v4(name, sig), ulp_functions.call(name, char, LEVELS["X86_V3"])
    for xs in samples(name, char):
        assert bits(run(*xs)[0]) == bits(wanted(*xs))
        few = tuple(x[-21::2] for x in xs)
        assert bits(run(*few)[0]) == bits(wanted(*few))


def samples(name, char):
    """Of complex functions parts of all sizes, and special ones."""
    if char not in "DF":
        yield from ulp_samples.samples(name, char, seed=3, count=600)
        return
    rng, real = numpy.random.default_rng(3), char.lower()
    for width in (2, 40):
        parts = [rng.normal(0, 1, 600) * 2.0 ** rng.integers(-width, width, 600) for _ in range(4)]
        xs = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
        yield tuple(x.astype(char) for x in xs[: ulp_functions.function(name, char).operands])
    special = ulp_samples.special(real)
    x = (special[:, None] + numpy.zeros(len(special), char)).ravel()
    x.imag = numpy.tile(special, len(special))
    yield (x, x[::-1].copy())[: ulp_functions.function(name, char).operands]


@pytest.mark.parametrize("name", exact.FUNCTIONS)
@pytest.mark.parametrize("char", "dfe")
def test_divisions_too(name, char):
    sig = f"{char * 2}->{char * (2 if name == 'divmod' else 1)}"
    run = v4(name, sig)
    rng = numpy.random.default_rng(5)
    x, y = (rng.normal(0, 1, (2, 600)) * 2.0 ** rng.integers(-9, 15, (2, 600))).astype(char)
    with numpy.errstate(all="ignore"):
        wanted = getattr(numpy, name)(x, y)
    for found, true in zip(run(x, y), wanted if name == "divmod" else (wanted,), strict=True):
        assert bits(found) == bits(true)


def test_nothing_of_avx512_is_left_and_some_was_there():
    rows = [(name, ulp_functions.signature(name, char)) for name, char in ALL]
    used = [row for row in rows if "llvm.x86.avx512" in module(*row, V4).ir]
    assert len(used) > 60 and not any("llvm.x86.avx512" in text(*row)[0] for row in used)
