"""Functions with one right answer, which kernels compute themselves, and those that are no ufuncs of NumPy's:
how fast, and how many results are not NumPy's.

    python tools/ulp_kernels.py X86_V3 '[["rint", "d"]]'     # by a NumPy that is told so when it starts

A kernel of one function goes over the same 4,096 elements time after time; NumPy's loop is called as often,
by machine code.  erf and erfc are compared with a loop over C's functions, sinc and i0 with whole calls.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy
from ulp_functions import INTEGERS, usual_range
from ulp_speed import REPEATS, N, again, asked

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.mathlib import exact
from lazyarr.codegen.mathlib.functions import module
from lazyarr.codegen.pipeline import compile_parfor
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_levels
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.op_targets import OPTIMISED
from lazyarr.target import Target

SIGNATURES = {
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "spacing"), "x->x"),
    "modf": "x->xx", "frexp": "x->xi", "ldexp": "xi->x",
    **dict.fromkeys(("nextafter", "copysign", "heaviside"), "xx->x"),
    **dict.fromkeys(("fmod", "remainder", "floor_divide"), "xx->x"),
    "divmod": "xx->xx",
}  # fmt: skip
"""x: the dtype.  What is no ufunc has no signature here."""
EXACT = [[name, char] for name in SIGNATURES for char in "dfe"]
OTHERS = [[name, char] for name in ("erf", "erfc", "sinc", "i0") for char in "dfe"]
STEPS = ("sinc", "i0")
"""What are several steps in NumPy, to be called as a whole."""
ROUNDS = 5
"""The median of their ratios counts."""

Call = Callable[[], Any]


def results(names: list[list[str]], level: str) -> dict[str, tuple[float, float]]:
    """NumPy's time over ours, and the part of results that differ, where NumPy has the same level."""
    found = asked(__file__, names, level, {"LAZYARR_CPU_LEVEL": level, "LAZYARR_NUM_THREADS": "1"})
    return {key: (ratio, differ) for key, (ratio, differ) in found.items()}


def code_of(name: str, char: str) -> str:
    """A digest of what computes it, on all levels."""
    texts = [_source(name, char, level.target)[0] for level in host_levels()]
    return hashlib.blake2b("".join(texts).encode(), digest_size=12).hexdigest()


def _signature(name: str, char: str) -> str:
    return SIGNATURES.get(name, "x->x").replace("x", char)


def _parfor(name: str, sig: str) -> Parfor:
    """Over the same elements time after time."""
    ins, outs = sig.split("->")
    operands = [Operand(c, "u", role) for chars, role in ((ins, "in"), (outs, "out")) for c in chars]
    body = [Inst("load", c, (), k) for k, c in enumerate(ins)]
    body += [Inst(name, sig, tuple(range(len(ins))), k) for k in range(len(outs))]
    body += [Inst("store", c, (k,), k) for k, c in enumerate(outs, len(ins))]
    return Parfor("pp", tuple(operands), "", tuple(body))


@cache
def _source(name: str, char: str, target: Target) -> tuple[str, str, Any]:
    """Text, symbol, and the kernel's source; None in its place if it is a loop of ours that kernels call."""
    sig = _signature(name, char)
    if name not in SIGNATURES or name in exact.FUNCTIONS:
        made = module(name, sig, target)
        return made.ir, made.symbol, None
    source = compile_parfor(_parfor(name, sig), target)
    assert not source.loops, f"{name} {char} is NumPy's"
    return source.ir, source.symbol, source


def _arrays(name: str, char: str, usual: bool) -> tuple[list[numpy.ndarray], list[numpy.ndarray]]:
    """Operands, usual ones or any bits, and room for results."""
    rng = numpy.random.default_rng(1)
    ins, outs = _signature(name, char).split("->")
    low, high = usual_range(name, char)
    xs = []
    for c in ins:
        if c == "i":
            xs.append(rng.integers(-8, 9, N).astype("i"))
        elif usual:
            xs.append(rng.uniform(low, high, N).astype(c))
        else:
            limits = numpy.iinfo(INTEGERS[c])
            xs.append(rng.integers(limits.min, limits.max, N, INTEGERS[c], endpoint=True).view(c))
    return xs, [numpy.empty(N, c) for c in outs]


def _own(name: str, char: str, target: Target, xs: list[Any], ys: list[Any]) -> Call:
    """Ours, over all elements as many times."""
    ir, symbol, source = _source(name, char, target)
    address = jit.load(ir, (symbol,), target, OPTIMISED, kernel=source is not None)[symbol]
    if source is None:
        return _repeated(address, None, xs, ys)
    layout = source.layout
    words = numpy.zeros(layout.extra(0), "i8")
    for d, n in enumerate((REPEATS, N)):
        words[layout.shape(d)], words[layout.tile(d)], words[layout.grid(d)] = n, n, 1
    for k, a in enumerate((*xs, *ys)):
        words[layout.pointer(k)], words[layout.stride(k, 1)] = a.ctypes.data, a.itemsize
    scratch = numpy.zeros(source.scratch_bytes + 64, "u1")
    words[Layout.SCRATCH] = -(-scratch.ctypes.data // 64) * 64
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)

    def run(keep: Any = scratch) -> None:
        kernel(words.ctypes.data, 0, 0)

    return run


def _repeated(address: int, data: int | None, xs: list[Any], ys: list[Any]) -> Call:
    """An inner loop, over all elements as many times."""
    args = numpy.array([a.ctypes.data for a in (*xs, *ys)])
    steps = numpy.array([a.itemsize for a in (*xs, *ys)])
    dims = numpy.array([N])

    def run() -> None:
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (args, dims, steps))
        again()(ctypes.c_void_p(address), *pointers, ctypes.c_void_p(data), REPEATS)

    return run


_OVER_C = """define void @{symbol}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{
entry:
  %n = load i64, ptr %dims
  %from = load ptr, ptr %args
  %second = getelementptr ptr, ptr %args, i64 1
  %to = load ptr, ptr %second
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr {t}, ptr %from, i64 %i
  %x = load {t}, ptr %at
  %wide = {widened}
  %f = inttoptr i64 {address} to ptr
  %found = call double %f(double %wide)
  %short = fptrunc double %found to float
  %y = {rounded}
  %place = getelementptr {t}, ptr %to, i64 %i
  store {t} %y, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


@cache
def _over_c(name: str, char: str) -> int:
    """The address of a loop over C's function of float64."""
    t = {"d": "double", "f": "float", "e": "half"}[char]
    address = ctypes.cast(getattr(ctypes.CDLL("libm.so.6"), name), ctypes.c_void_p).value
    same = "bitcast double {} to double"
    widened = same.format("%x") if char == "d" else f"fpext {t} %x to double"
    rounded = same.format("%found") if char == "d" else f"fptrunc double %found to {t}"
    if char == "e":         # twice, as CPUs round from float32 only
        rounded = "fptrunc float %short to half"
    symbol = f"lazyarr_over_{name}_{char}"
    names = {"symbol": symbol, "t": t, "address": address}
    text = _OVER_C.format(**names, widened=widened, rounded=rounded)
    return jit.load(text, (symbol,), host_levels()[-1].target, OPTIMISED, kernel=False)[symbol]


def _theirs(name: str, char: str, xs: list[Any], ys: list[Any]) -> Call:
    """NumPy's, or C's, over all elements as many times."""
    if name in SIGNATURES:
        loop = inner_loop(getattr(numpy, name), _signature(name, char))
        assert loop is not None
        return _repeated(loop.address, loop.data, xs, ys)
    if name in STEPS:
        steps = getattr(numpy, name)

        def run() -> None:
            for _ in range(REPEATS):
                steps(xs[0])

        return run
    return _repeated(_over_c(name, char), None, xs, ys)


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _ratio(ours: Call, theirs: Call) -> float:
    ratios = []
    for _ in range(ROUNDS):
        pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(5)]
        ratios.append(min(t for _, t in pairs) / min(o for o, _ in pairs))
    return sorted(ratios)[len(ratios) // 2]


def _differ(found: list[numpy.ndarray], wanted: list[numpy.ndarray]) -> float:
    """The part of elements whose bits differ, but for NaNs."""
    wrong = numpy.zeros(len(found[0]), bool)
    for x, y in zip(found, wanted, strict=True):
        bits = f"u{x.itemsize}"
        wrong |= (x.view(bits) != y.view(bits)) & ((x == x) | (y == y))
    return float(wrong.mean())


def _measured(name: str, char: str, level: str) -> tuple[float, float]:
    target, counts = BY_NAME[level].target, []
    for usual in (False, True):
        (xs, ys), wanted = _arrays(name, char, usual), _arrays(name, char, usual)[1]
        ours, theirs = _own(name, char, target, xs, ys), _theirs(name, char, xs, wanted)
        ours()
        theirs()
        if name in STEPS:
            wanted = [getattr(numpy, name)(xs[0])]
        counts.append(_differ(ys, wanted))
    return _ratio(ours, theirs), sum(counts) / len(counts)


def _all(level: str, names: list[list[str]]) -> dict[str, tuple[float, float]]:
    found = {}
    with numpy.errstate(all="ignore"):
        for name, char in names:
            found[f"{name} {char}"] = _measured(name, char, level)
    return found


if __name__ == "__main__":
    print(json.dumps(_all(sys.argv[1], json.loads(sys.argv[2]))))
