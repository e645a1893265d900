"""NumPy's time over ours: alternately, one thread, on 4,096 elements, NumPy and the C library restricted to
the same CPU level.

    python tools/ulp_speed.py X86_V3 '[["exp", "d"]]'       # by a NumPy that is told so when it starts
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from functools import cache
from typing import Any

import numpy
from ulp_functions import LOOP, function, signature, usual_range

from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_levels
from lazyarr.op_targets import OPTIMISED

N = 4096
LEVELS = {
    "X86_V4": "",
    "X86_V3": "X86_V4 AVX512_ICL AVX512_SPR",
    "X86_V2": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
"""Those that differ in the functions' code, and what NumPy is told to leave alone for them."""
TUNABLES = {"X86_V2": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL"}
"""The same for glibc, whose functions NumPy calls where it has none for a level: power, exp2 and others have
fused products there, which CPUs of that level lack."""

_RESTRICTIONS = "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES"


def speeds(names: list[list[str]], level: str) -> dict[str, float]:
    """NumPy's time over ours, in a process whose NumPy and C library have the same level."""
    found: dict[str, float] = asked(__file__, names, level, {})
    return found


def asked(program: str, names: list[list[str]], level: str, more: dict[str, str]) -> Any:
    """What a program of ours prints in such a process."""
    kept = {key: value for key, value in os.environ.items() if key not in _RESTRICTIONS}
    told = zip(_RESTRICTIONS, (LEVELS[level], TUNABLES.get(level, "")), strict=True)
    environment = kept | {key: value for key, value in told if value} | more
    command = [sys.executable, program, level, json.dumps(names)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _measure(level: str, names: list[list[str]]) -> dict[str, float]:
    found = {}
    for name, char in names:
        inputs = [_operands(name, char, seed) for seed in range(4)]
        ratios, began = [], time.perf_counter()
        while len(ratios) < 3 or (len(ratios) < 9 and time.perf_counter() - began < LONG):
            ratios.append(_round(name, char, level, inputs))
        found[f"{name} {char}"] = sorted(ratios)[len(ratios) // 2]
    return found


def _operands(name: str, char: str, seed: int) -> list[numpy.ndarray]:
    rng = numpy.random.default_rng(seed)
    nin = function(name, char).operands
    if char in "DF":
        return [(rng.normal(0, 2, N) + 1j * rng.normal(0, 2, N)).astype(char) for _ in range(nin)]
    low, high = usual_range(name, char)
    return [rng.uniform(low, high, N).astype(char) for _ in range(nin)]


def _round(name: str, char: str, level: str, inputs: list[list[numpy.ndarray]]) -> float:
    """NumPy's least time over ours; both are called by the same machine code, time after time."""
    loops, call = _loops(name, char, level), again()
    best = [float("inf")] * 2
    y = numpy.empty(N, signature(name, char)[-1])
    steps = numpy.array([a.itemsize for a in (*inputs[0], y)])
    dims = numpy.array([N])
    for xs in inputs:
        args = numpy.array([a.ctypes.data for a in (*xs, y)])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (args, dims, steps)]
        for which, (loop, data) in enumerate(loops):
            for _ in range(3):
                start = time.perf_counter()
                call(ctypes.cast(loop, ctypes.c_void_p), *pointers, data, REPEATS)
                best[which] = min(best[which], time.perf_counter() - start)
    return best[1] / best[0]


REPEATS = 100
"""So that the call from Python, a microsecond for both, does not hide differences."""
LONG = 0.3
"""Seconds after which three rounds are enough."""
_AGAIN = """define void @lazyarr_again(ptr %f, ptr %args, ptr %dims, ptr %steps, ptr %data, i64 %n) {
entry:
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %next, %again ]
  call void %f(ptr %args, ptr %dims, ptr %steps, ptr %data)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret void
}
"""


@cache
def again() -> Any:
    """Calls a loop so many times: a call from Python would take as long as the loop does."""
    target = host_levels()[0].target
    address = jit.load(_AGAIN, ("lazyarr_again",), target, 0, kernel=False)["lazyarr_again"]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)(address)


@cache
def _loops(name: str, char: str, level: str) -> list[tuple[Any, Any]]:
    from lazyarr.numpy_loops import inner_loop

    target, sig = BY_NAME[level].target, signature(name, char)
    made = module(name, sig, target)
    own = LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])
    theirs = inner_loop(getattr(numpy, name), sig)
    assert theirs is not None
    return [(own, None), (LOOP(theirs.address), ctypes.c_void_p(theirs.data))]


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], json.loads(sys.argv[2]))))
