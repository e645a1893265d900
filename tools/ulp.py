"""How far our elementary functions are from the truth and from NumPy, and how fast: writes docs/ulp.md.

    python tools/ulp.py                 # all functions; takes minutes, of which most is mpmath's
    python tools/ulp.py --accuracy      # only that part, kept in build/ulp.json
    python tools/ulp.py --speed X86_V2  # only that of a level; all that is missing follows without options
    python tools/ulp.py exp sin         # that of some functions, printed only

In:  the functions of `lazyarr.codegen.mathlib`.   Out: a table.  The truth is mpmath's, at 50 digits.
Samples: every binade, random bit patterns, the neighbourhood of multiples of pi/2, of 1, and of where
tables and cases begin, and special values.  Speed is measured alternately with NumPy's, one thread, on
4,096 elements, against a NumPy that is restricted to the same CPU level (in a process of its own).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy

from lazyarr.codegen.mathlib.functions import FUNCTIONS, module
from lazyarr.codegen.mathlib.tables import LOG_FIRST
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, host_levels
from lazyarr.op_targets import OPTIMISED
from lazyarr.target import Target

PAGE = Path(__file__).parents[1] / "docs" / "ulp.md"
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
N = 4096
INTEGERS = {"d": "i8", "f": "i4", "e": "i2"}
NAMES = {"d": "float64", "f": "float32", "e": "float16"}

mpmath.mp.dps = 50


def _log_of_sum(base: Any) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        top, gap = max(x, y), abs(x - y)
        return top + mpmath.log1p(mpmath.power(base, -gap)) / mpmath.log(base)

    return function


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _arctan2(y: Any, x: Any) -> Any:
    """Not of 0, whose sign the truth does not know."""
    return mpmath.atan2(y, x) if y else None


TRUTH: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "expm1": mpmath.expm1, "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2), "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "sinh": mpmath.sinh,
    "cosh": mpmath.cosh, "tanh": mpmath.tanh, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh, "arctanh": mpmath.atanh,
    "cbrt": _cbrt, "arctan2": _arctan2, "hypot": mpmath.hypot, "power": mpmath.power,
    "float_power": mpmath.power,
    "logaddexp": _log_of_sum(mpmath.e), "logaddexp2": _log_of_sum(mpmath.mpf(2)),
    "erf": mpmath.erf, "erfc": mpmath.erfc,
}  # fmt: skip

RANGES = {
    "exp": (-50, 50), "exp2": (-50, 50), "log": (1e-3, 1e3), "log2": (1e-3, 1e3), "log10": (1e-3, 1e3),
    "log1p": (-0.9, 100), "cbrt": (-1e3, 1e3), "arcsin": (-1, 1), "arccos": (-1, 1), "arccosh": (1, 100),
    "arctanh": (-1, 1), "power": (0.01, 10), "float_power": (0.01, 10),
}  # fmt: skip
"""Where speed is measured; elsewhere from -10 to 10."""
RANGES_HALF = {"exp": (-9, 9), "exp2": (-12, 12), "power": (0.1, 3), "sinh": (-9, 9), "cosh": (-9, 9)}
"""The same for float16, where these would overflow."""




@cache
def theirs(name: str) -> Callable[..., Any]:
    """NumPy's function; C's, of float64, where NumPy has none."""
    found = getattr(numpy, name, None)
    if found is not None:
        return found  # type: ignore[no-any-return]
    by_number = numpy.vectorize(getattr(math, name), otypes=["d"])
    return lambda x: by_number(x).astype(x.dtype)


def usual_range(name: str, char: str) -> tuple[float, float]:
    ranges = RANGES | RANGES_HALF if char == "e" else RANGES
    return ranges.get(name, (-10, 10))


SPECIAL = (
    0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, 2.5, -2.5,
    709.0, 710.0, -745.0, -746.0, 88.0, 89.0, -103.0, -104.0, -150.0, 128.0, 1024.0, -1074.0, -1075.0,
    1e5, 1e15, 1e22,
)  # fmt: skip


def call(name: str, char: str, target: Target) -> Callable[..., numpy.ndarray]:
    """Our function on arrays of one dimension."""
    nin = FUNCTIONS[name][char].operands
    sig = f"{char * nin}->{char}"
    made = module(name, sig, target)
    loop = LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])

    def run(*xs: numpy.ndarray, out: numpy.ndarray | None = None) -> numpy.ndarray:
        y = numpy.empty(len(xs[0]), char) if out is None else out
        args = numpy.array([a.ctypes.data for a in (*xs, y)])
        steps = numpy.array([a.strides[0] for a in (*xs, y)])
        dims = numpy.array([len(y)])
        loop(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
        return y

    return run


def special(char: str) -> numpy.ndarray:
    info = numpy.finfo(char)
    least = float(info.smallest_subnormal)
    ends = [float(info.max), float(info.tiny), least, float(info.tiny) - least]
    with numpy.errstate(over="ignore"):
        return numpy.array([*SPECIAL, *ends, *(-x for x in ends)]).astype(char)


def samples(name: str, char: str, seed: int, count: int) -> Iterator[tuple[numpy.ndarray, ...]]:
    """Operands of all kinds, `count` of most."""
    rng = numpy.random.default_rng(seed)
    nin = FUNCTIONS[name][char].operands
    info, integer = numpy.finfo(char), numpy.dtype(INTEGERS[char])
    low, high = usual_range(name, char)

    def patterns() -> numpy.ndarray:
        limits = numpy.iinfo(integer)
        return rng.integers(limits.min, limits.max, count, integer, endpoint=True).view(char)

    def binades() -> numpy.ndarray:
        each = max(count // 1000, 1)
        exponents = numpy.repeat(numpy.arange(int(info.minexp) - info.nmant, int(info.maxexp)), each)
        sizes = numpy.ldexp(rng.uniform(1, 2, len(exponents)), exponents)
        return (sizes * rng.choice([-1.0, 1.0], len(sizes))).astype(char)

    def quarters() -> numpy.ndarray:
        k = rng.integers(-(10**6), 10**6, count)
        exact = k * numpy.longdouble(mpmath.nstr(mpmath.pi / 2, 40))
        return _near(exact.astype(char), rng)

    def ones() -> numpy.ndarray:
        return (1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-int(info.nmant), 1, count)).astype(char)

    def edges() -> numpy.ndarray:
        steps = (2 * rng.integers(-700, 700, count) + 1) / 2 * float(mpmath.log(2)) / 16
        mantissas = (LOG_FIRST + (rng.integers(0, 17, count) << 48)).view("f8")
        halves = (2 + rng.integers(0, 2, count)) * 2.0 ** rng.integers(-5, 4, count)
        return _near(numpy.concatenate([steps, mantissas, halves]).astype(char), rng)

    def usual() -> numpy.ndarray:
        return rng.uniform(low, high, count).astype(char)

    def wide() -> numpy.ndarray:
        return (rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-12, 11, count)).astype(char)

    for kind in (patterns, binades, quarters, ones, edges, usual, wide):
        yield tuple(kind() for _ in range(nin))
    values = special(char)
    yield tuple(a.ravel() for a in numpy.meshgrid(*[values] * nin)) if nin > 1 else (values,)


def _near(x: numpy.ndarray, rng: numpy.random.Generator) -> numpy.ndarray:
    """The same numbers, or some bits away."""
    moved = x.view(INTEGERS[x.dtype.char]) + rng.integers(-2, 3, len(x)).astype(INTEGERS[x.dtype.char])
    return moved.view(x.dtype)


def _exact(x: Any) -> Any:
    return mpmath.mpf(float(x))


Arrays = tuple[numpy.ndarray, ...]


def errors(name: str, xs: Arrays, results: Arrays) -> list[numpy.ndarray]:
    """Distance from the truth in ULPs of it, for each of several results; 0 where it is no finite number."""
    char = results[0].dtype.char
    info, truth = numpy.finfo(char), TRUTH[name]
    found = numpy.zeros((len(results), len(xs[0])))
    with numpy.errstate(all="ignore"):
        finite = numpy.isfinite(theirs(name)(*xs))
        for r in results:
            finite |= numpy.isfinite(r)
        for x in xs:
            finite &= numpy.isfinite(x)
        finite &= ~numpy.isnan(theirs(name)(*xs))
        for k in numpy.flatnonzero(finite):
            exact = _value(truth, [float(x[k]) for x in xs])
            if exact is None:
                continue
            exponent = max(mpmath.frexp(exact)[1] - 1, int(info.minexp)) if exact else int(info.minexp)
            unit = mpmath.ldexp(1, min(exponent, int(info.maxexp) - 1) - info.nmant)
            for r, result in enumerate(results):
                value = float(result[k])
                if numpy.isinf(value):          # as if exponents had no end
                    value = numpy.copysign(1.0, value)
                    found[r, k] = float((value * mpmath.ldexp(1, int(info.maxexp)) - exact) / unit)
                    if abs(exact) > mpmath.ldexp(1, int(info.maxexp)):
                        found[r, k] = 0.0
                else:
                    found[r, k] = numpy.inf if numpy.isnan(value) else float((_exact(value) - exact) / unit)
    return list(abs(found))


def _value(truth: Callable[..., Any], xs: list[float]) -> Any:
    """The truth where it is a real number."""
    try:
        y = truth(*(mpmath.mpf(x) for x in xs))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return y if isinstance(y, mpmath.mpf) and mpmath.isfinite(y) else None


def accuracy(name: str, char: str, count: int, seed: int = 1) -> tuple[float, float, float]:
    """Largest error of ours and of NumPy's, and the part of results that differ."""
    ours = call(name, char, host_levels()[-1].target)
    worst, differ, total = numpy.zeros(2), 0, 0
    for xs in samples(name, char, seed, count):
        with numpy.errstate(all="ignore"):
            results = ours(*xs), theirs(name)(*xs)
        for r, error in enumerate(errors(name, xs, results)):
            worst[r] = max(worst[r], error.max(initial=0.0))
        nans = numpy.isnan(results[0]) & numpy.isnan(results[1])
        differ += int(((results[0] != results[1]) & ~nans).sum())
        total += len(results[0])
    return float(worst[0]), float(worst[1]), differ / total


# Speed

_DISABLED = {
    "X86_V4": "",
    "X86_V3": "X86_V4 AVX512_ICL AVX512_SPR",
    "X86_V2": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
"""What NumPy is told to leave alone."""


def speeds(names: list[tuple[str, str]], level: str) -> dict[str, float]:
    """NumPy's time over ours, in a process whose NumPy has the same level."""
    environment = dict(os.environ, NPY_DISABLE_CPU_FEATURES=_DISABLED[level])
    if not _DISABLED[level]:
        del environment["NPY_DISABLE_CPU_FEATURES"]
    command = [sys.executable, __file__, "--time", level, json.dumps(names)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure(level: str, names: list[tuple[str, str]]) -> dict[str, float]:
    found = {}
    for name, char in names:
        rng = numpy.random.default_rng(0)
        nin = FUNCTIONS[name][char].operands
        low, high = usual_range(name, char)
        inputs = [[rng.uniform(low, high, N).astype(char) for _ in range(nin)] for _ in range(4)]
        ratios, began = [], time.perf_counter()
        while len(ratios) < 3 or (len(ratios) < 9 and time.perf_counter() - began < LONG):
            ratios.append(_round(name, char, level, inputs))
        found[f"{name} {char}"] = sorted(ratios)[len(ratios) // 2]
    return found


def _round(name: str, char: str, level: str, inputs: list[list[numpy.ndarray]]) -> float:
    """NumPy's least time over ours; both are called by the same machine code, time after time."""
    loops, again = _loops(name, char, level), _again()
    best = [float("inf")] * 2
    y = numpy.empty(N, char)
    steps = numpy.array([y.itemsize] * (len(inputs[0]) + 1))
    dims = numpy.array([N])
    for xs in inputs:
        args = numpy.array([a.ctypes.data for a in (*xs, y)])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (args, dims, steps)]
        for which, (loop, data) in enumerate(loops):
            for _ in range(3):
                start = time.perf_counter()
                again(ctypes.cast(loop, ctypes.c_void_p), *pointers, data, REPEATS)
                best[which] = min(best[which], time.perf_counter() - start)
    return best[1] / best[0]


REPEATS = 20
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
def _again() -> Any:
    """Calls a loop so many times: a call from Python would take as long as the loop does."""
    target = host_levels()[0].target
    address = jit.load(_AGAIN, ("lazyarr_again",), target, 0, kernel=False)["lazyarr_again"]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)(address)


@cache
def _loops(name: str, char: str, level: str) -> list[tuple[Any, Any]]:
    from lazyarr.numpy_loops import inner_loop

    target, nin = BY_NAME[level].target, FUNCTIONS[name][char].operands
    sig = f"{char * nin}->{char}"
    made = module(name, sig, target)
    own = LOOP(jit.load(made.ir, (made.symbol,), target, OPTIMISED, kernel=False)[made.symbol])
    theirs = inner_loop(getattr(numpy, name), sig)
    assert theirs is not None
    return [(own, None), (LOOP(theirs.address), ctypes.c_void_p(theirs.data))]


# The page

STORE = Path(__file__).parents[1] / "build" / "ulp.json"
"""What was measured: by row, with a digest of the code that it was measured of."""
Row = dict[str, Any]


def code_of(name: str, char: str) -> str:
    """A digest of a function's code for all levels."""
    sig = f"{char * FUNCTIONS[name][char].operands}->{char}"
    texts = (module(name, sig, level.target).ir for level in host_levels())
    return hashlib.blake2b("".join(texts).encode(), digest_size=12).hexdigest()


def stored() -> dict[str, Row]:
    """The rows of this state of the code."""
    found: dict[str, Row] = json.loads(STORE.read_text()) if STORE.exists() else {}
    current = {f"{name} {char}": code_of(name, char) for name in FUNCTIONS for char in FUNCTIONS[name]}
    rows = {key: found.get(key, {}) for key in current}
    same = {key: row for key, row in rows.items() if row.get("code") == current[key]}
    return {key: same.get(key, {"code": code}) for key, code in current.items()}


def keep(rows: dict[str, Row]) -> None:
    STORE.parent.mkdir(exist_ok=True)
    STORE.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _timed(rows: dict[str, Row]) -> list[Row]:
    """Those of functions that NumPy has, too."""
    return [row for key, row in rows.items() if hasattr(numpy, key.split()[0])]


def all_speeds(levels: list[str]) -> None:
    rows = stored()
    names = [(name, char) for name in FUNCTIONS for char in FUNCTIONS[name] if hasattr(numpy, name)]
    for level in levels:
        for key, ratio in speeds(names, level).items():
            rows[key][level] = ratio
    keep(rows)


def all_accuracies() -> None:
    """Of what was not measured yet."""
    rows = stored()
    for key, row in rows.items():
        if "accuracy" not in row:
            row["accuracy"] = accuracy(*key.split(), 3000)
            print(key, *row["accuracy"], flush=True)
            keep(rows)


def _levels() -> list[str]:
    """Those that differ in the functions' code."""
    return [level.target.name for level in reversed(host_levels()) if level.target.name in _DISABLED]


def table(rows: dict[str, Row]) -> str:
    levels = _levels()
    head = ["function", "dtype", "ULP", "ULP of NumPy", "differ from NumPy", *(f"speed, {x}" for x in levels)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key, row in rows.items():
        name, char = key.split()
        ours, theirs, differ = row["accuracy"]
        cells = [name, NAMES[char], f"{ours:.3f}", f"{theirs:.3f}", f"{100 * differ:.1f} %"]
        cells += [f"{row[level]:.2f}" if level in row else "-" for level in levels]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_HEAD = """# Elementary functions under `math="native"`

`python tools/ulp.py` writes this page.  Errors are the largest found against mpmath, in units in the last
place; every level gives the same bits.  Speed is NumPy's time over ours, one thread, 4,096 elements in cache,
NumPy restricted to the same CPU level (but for the C library's functions, which take the CPU's best).
What is not listed runs through NumPy's own loops.

X86_V2 has no fused multiply-add.  It is emulated there, for the same bits, and slow: on such CPUs the
option does not pay.

On samples; of all float32 numbers of some octaves around 1 (tan: from 1/64 to 16) the largest errors are 1.72
for tan, 1.14 for log, 1.09 for log10, 1.02 for log2, expm1, arcsinh (and logaddexp2), and 0.98 at
most for all other functions of one operand that were tried (sinh, cbrt, log1p, arccosh, arctanh).
float16's results are off by 0.55 at most: float32 with no more terms than 11 bits need.  logaddexp and
logaddexp2 of float64 stay within 1 ULP where the larger operand cancels up to 30 bits of the logarithm;
NumPy's are off by hundreds there.

erf and erfc are `lazyarr.special`'s, whatever the option is; in the place of NumPy's are C's functions of
float64, and no speed is compared.  sinc is NumPy's composition of `sin` and a division, here as there: within
1.6 ULP up to 1/2, far off next to its zeros (16.8 and 16.8 below 0.95, float64; 18.7 and 19.4, float32), and
one kernel.  i0 runs through NumPy.

"""


def main() -> None:
    asked = sys.argv[1:]
    if asked[:1] == ["--time"]:
        print(json.dumps(_measure(asked[1], [tuple(x) for x in json.loads(asked[2])])))
    elif asked[:1] == ["--speed"]:
        all_speeds(asked[1:] or _levels())
    elif asked == ["--accuracy"]:
        all_accuracies()
    elif asked:
        for name in asked:
            for char in FUNCTIONS[name]:
                print(name, NAMES[char], *accuracy(name, char, 1000))
    else:
        all_speeds([level for level in _levels() if any(level not in row for row in _timed(stored()))])
        all_accuracies()
        PAGE.write_text(_HEAD + table(stored()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
