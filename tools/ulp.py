"""How far our elementary functions are from the truth and from NumPy, and how fast: writes docs/ulp.md.

    python tools/ulp.py                 # all functions; takes ten minutes, of which most is mpmath's
    python tools/ulp.py --accuracy      # only that part, kept in build/ulp.json
    python tools/ulp.py --speed X86_V2  # only that of a level; what is missing follows without options
    python tools/ulp.py exp sin         # that of some functions, printed only

In:  the functions of `lazyarr.codegen.mathlib`, through `ulp_functions`; errors of `ulp_errors` and of
`ulp_plane` (complex numbers), times of `ulp_speed`; what kernels compute themselves, of `ulp_kernels`; the
page itself, whose columns of levels that this CPU lacks stay, marked as another CPU's.
Out: three tables.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import ulp_errors
import ulp_kernels
import ulp_plane
from ulp_functions import NAMES, ROWS, signature
from ulp_speed import LEVELS, speeds

from lazyarr.codegen.mathlib.functions import module
from lazyarr.dispatch.levels import host_levels

PAGE = Path(__file__).parents[1] / "docs" / "ulp.md"
STORE = Path(__file__).parents[1] / "build" / "ulp.json"
"""What was measured: by row, with a digest of the code that it was measured of."""
Row = dict[str, Any]


@cache
def code_of(name: str, char: str) -> str:
    """A digest of a function's code for all levels."""
    texts = (module(name, signature(name, char), level.target).ir for level in host_levels())
    return hashlib.blake2b("".join(texts).encode(), digest_size=12).hexdigest()


_NATIVE = ulp_kernels.EXACT
"""Rows of the last table."""
_BESIDE = {" ".join(row) for row in (*_NATIVE, *ulp_kernels.OTHERS)}
"""Whose speeds `ulp_kernels` measures."""


def stored() -> dict[str, Row]:
    """The rows of this state of the code."""
    found: dict[str, Row] = json.loads(STORE.read_text()) if STORE.exists() else {}
    current = {f"{name} {char}": code_of(name, char) for name, char in ROWS}
    current |= {f"{name} {char}": ulp_kernels.code_of(name, char) for name, char in _NATIVE}
    rows = {key: found.get(key, {}) for key in current}
    same = {key: row for key, row in rows.items() if row.get("code") == current[key]}
    return {key: same.get(key, {"code": code}) for key, code in current.items()}


def keep(found: dict[str, Row]) -> None:
    """Beside what is stored, also by others meanwhile."""
    rows = stored()
    for key, row in found.items():
        rows[key].update(row)
    STORE.parent.mkdir(exist_ok=True)
    STORE.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _timed(rows: dict[str, Row]) -> dict[str, Row]:
    """Those of functions that NumPy has, too, as ufuncs."""
    return {
        key: row
        for key, row in rows.items()
        if key not in _BESIDE and isinstance(getattr(numpy, key.split()[0], None), numpy.ufunc)
    }


def all_speeds(levels: list[str], again: bool) -> None:
    """Of what was not measured yet, or of everything."""
    rows = stored()
    for level in levels:
        names = [key.split() for key, row in _timed(rows).items() if again or level not in row]
        found = speeds(names, level) if names else {}
        keep({key: {level: ratio} for key, ratio in found.items()})
        names = [key.split() for key in _BESIDE if again or level not in rows[key]]
        beside = ulp_kernels.results(names, level) if names else {}
        keep({key: {level: ratio, "differ": differ} for key, (ratio, differ) in beside.items()})


def accuracy(name: str, char: str, count: int) -> Any:
    return (ulp_plane if char in "DF" else ulp_errors).accuracy(name, char, count)


def all_accuracies() -> None:
    """Of what was not measured yet."""
    rows = stored()
    for key in (f"{name} {char}" for name, char in ROWS):
        if "accuracy" not in rows[key]:
            found = accuracy(*key.split(), 150 if key[-1] in "DF" else 3000)
            print(key, *found, flush=True)
            keep({key: {"accuracy": found}})


def _levels() -> list[str]:
    """This CPU's, best first."""
    return [level.target.name for level in reversed(host_levels()) if level.target.name in LEVELS]


@cache
def _kept() -> dict[tuple[str, str, str], str]:
    """What the page has of levels that this CPU lacks, by function, dtype and level."""
    found, head = {}, [""]
    for line in PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "function":
            head = cells
        elif len(cells) == len(head):
            for column, cell in zip(head, cells, strict=True):
                level = column.removeprefix("speed, ").removesuffix(_ELSEWHERE)
                if level in LEVELS and level not in _levels():
                    found[cells[0], cells[1], level] = cell
    return found


_ELSEWHERE = ", another CPU"


def _columns() -> list[str]:
    """All levels, best first."""
    return [level for level in LEVELS if level in _levels() or level in {key[2] for key in _kept()}]


def _heads() -> list[str]:
    return [f"speed, {level}{'' if level in _levels() else _ELSEWHERE}" for level in _columns()]


def _speeds(key: str, row: Row) -> list[str]:
    """A row's cells."""
    name, char = key.split()
    here = {level: f"{row[level]:.2f}" for level in _levels() if level in row}
    return [here.get(level) or _kept().get((name, NAMES[char], level), "-") for level in _columns()]


def table(rows: dict[str, Row], errors: list[str], shown: str) -> str:
    """Of the dtypes that are shown."""
    head = ["function", "dtype", *errors, "differ from NumPy", *_heads()]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key, row in rows.items():
        name, char = key.split()
        if char not in shown or [name, char] in _NATIVE:
            continue
        *found, differ = row["accuracy"]
        cells = [name, NAMES[char], *map(_number, found), f"{100 * differ:.1f} %"]
        cells += _speeds(key, row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def native(rows: dict[str, Row]) -> str:
    """Of what kernels compute themselves."""
    head = ["function", "dtype", "ULP", "differ from NumPy", *_heads()]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, char in _NATIVE:
        row = rows[f"{name} {char}"]
        cells = [name, NAMES[char], "exact"]
        cells += [f"{100 * row['differ']:.1f} %", *_speeds(f"{name} {char}", row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(x: float) -> str:
    return f"{x:.3f}" if x < 1000 else f"{x:.1e}"


_HEAD = """# Elementary functions under `math="native"`

`python tools/ulp.py` writes this page.  Errors are the largest found against mpmath, in units in the
last place; every level gives the same bits.  Speed is NumPy's time over ours, one thread, 4,096
elements in cache, NumPy and the C library restricted to the same CPU level.  What is not listed runs
through NumPy's own loops.  What lies in memory that is not aligned (fields of packed records) has the
same bits; NumPy moves it.

All float64 functions are at least 1.2 times as fast as NumPy's on X86_V4, and all of float32 1.4 times.  A
function's operations mostly wait for each other, for 50 to 100 cycles, of which a CPU sees no more than two
or three vectors; so long rows are computed in stages that overlap (`flowing`), which takes 0.6 to 0.95 of
the time.  On X86_V2 NumPy is up to 1.1 times as fast at arcsin of float64 and float32.  A C library that
fuses products, which no CPU of that level can, makes it 1.25 times as fast there at power of float32, and at
log2 of float64.

X86_V2 has no fused multiply-add.  float64's functions and those of complex numbers round products and
sums apart on all CPUs, unless the product is exact, which shorter ways give (`arithmetic`); so do exp,
log, logaddexp and logaddexp2 of float32.  float32's others emulate it in float64 where rounding counts:
power does so more often than others, though mostly where the exponent of the result is known, which is
cheap. float16 has so few bits that its results do not show which it was; X86_V2 converts it in
integers. AVX512_ICL and AVX512_SPR run X86_V4's code.

The table's speeds are those of a Zen 5, whose data paths have 512 bits, and whose cores others hardly
used: medians of three to nine rounds in one process.  Ours differ by 1 to 3 % between processes, NumPy's
by up to 25 %, by where arrays and its code lie.  NumPy's errors, and which results differ from its, are
those on X86_V4 here.  NumPy has no loops of its own for most functions on CPUs without AVX-512, and calls
the C library, one number after the other.  On a CPU of 2017 without it, whose units have 128 bits, and
before float32's tan, arcsin, arccos and expm1 and what was written anew since, X86_V3 was 5.6 to 6.1 times
as fast as NumPy and its C library at that level at sin and cos of float64, 4.3 to 5.5 at tan, 1.36 at log,
1.48 at log2, 1.74 at arccosh, and more at all others; in float32 2.0 at least; of every other element 1.28
at log, 1.26 at log2 of float64; X86_V2 1.04 to 1.45 at power of float32, else 1.09 or more; rows of four
float32 0.6 to 1.3, of eight or more 0.97 at least.  By LLVM's models of Zen 4 and Ice Lake (`llvm-mca`)
arcsin, arccos and expm1 of float32 take 1.0 to 1.4 times as long there as when they were 1.35, 1.33 and
1.43 times as fast as NumPy's on X86_V4, and off by more than 1 ULP; tan takes 1.4 to 1.9 times (1.38).

tan of float64 cannot be 6 times as fast as NumPy's on X86_V4, which is SVML's: that would be 0.14 ns an
element, or less than five cycles at 4.2 GHz for a vector of eight, of which a division alone takes four
(sixteen on an Ice Lake).  Without one, four units, two of them for products, do nineteen operations in that
time: the number of quarters takes two, two parts of pi/2 two, a square, a cube, four terms and their sum
six, a reciprocal five.  The choice by quarters, signs, what rounding leaves off the remainder and the
quotient, and the test for huge angles are still to come.  SVML's takes 28 cycles, ours 17.  On X86_V4
rows of three to eight elements take 0.7 to 1.25 times as long as NumPy's (exp, log, sin, power, sinh),
sin of eight float64 0.23 (by another CPU).

On samples; of all float32 numbers of some octaves around 1 (tan: all from 1e-4 to 13,000; sinh:
to 78) the largest errors are 1.25 for tan, 1.14 for sinh, 1.02 for arccosh, 1.01 for tanh and log2, and 0.98
at most for all other functions of one operand that were tried (0.92 for expm1, 0.73 for arcsin and
arccos; log, log10, log1p, cosh, sin, cos, arctan, cbrt, arcsinh, arctanh); NumPy's are 3.5 for log10,
3.3 for tan, 3.1 for arcsin, 2.1 for arccos and log2, 1.5 for sinh, 1.4 for tanh, 1.01 for arcsinh, 1.16
for arccosh on X86_V4, and on X86_V3, where the C library has them, 1.4 for tan, 0.9 for arcsin and
arccos, 0.8 for expm1, 0.75 for log2, but 1.8 for sinh, 2.0 for arccosh, 1.4 for tanh.  arctan2's is
0.65 of ten million pairs (NumPy's: 3.2), power's 0.89 of some millions, with bases near 1 and large
results (NumPy's: 1.9); so float64's are off by 0.95 at most, but for bases from 1.0208 to 1.0235: 1.17
where results are beyond e**400 (NumPy's: 0.51).  float16's results are off by 0.55 at most: float32
with no more terms than 11 bits need.  logaddexp and logaddexp2 of float32 stay within 1 ULP whatever
the larger operand cancels of the logarithm, those of float64 up to 45 bits, but for logaddexp2 where it
cancels three or four: 2.2 (float32: 1.4); NumPy's are off by hundreds there, and by more the more is
cancelled.  Of float64, nearer to 0 than that they are off by more, too: 40 where 52 bits are.  Of
millions of float64 around multiples of pi/4 sin is off by 0.93 at most, cos by 0.96.

Operands at any steps become vectors in registers, and scalars do so once: of every other element
float64 and float32 functions are 1.5 to 4 times as fast as NumPy's on X86_V4 (X86_V2: power of float32
0.8, sin 0.93). What the fast paths cannot give (numbers below the normal ones, huge angles, sums that
cancel more than four bits) waits until it fills a vector for the slow one, so one such element among
twenty costs a tenth to the whole of the time of usual ones; NaNs do not wait, nor what is out of the
domain of logarithms and inverse functions, nor zeros and infinities of logarithms and of cbrt.  With 5
% NaNs, zeros or negative numbers log and log10 of float32, log, cbrt, arccos and power of float64 and
exp2, log2 of float16 are at least 1.7 times as fast as NumPy's on X86_V3, and 1.16 times on X86_V2;
power of float32 12 times on X86_V3, on X86_V2 0.8 to 1.1 times.  On X86_V3 log of float32 of which half
are negative is 1.7 times as fast, the inverse functions 1.7 times or more where half of all are out of
their domains.  Negative bases have powers of their sizes, 1.2 times as long on X86_V4; X86_V2's of
float32 are 0.5 (no whole exponents) to 0.8 times as fast as NumPy's.

erf, erfc, sinc and i0 are `lazyarr.special`'s, whatever the option is; in the place of NumPy's erf and
erfc are C's functions of float64, and their speed is that of a loop that calls these.  NumPy's sinc and
i0 are several steps, sinc 1.6 ULP up to 1/2 and far off next to its zeros, i0 infinite where the
exponential is; their speed is the whole call's.  Ours are `lazyarr.sinc` and `lazyarr.i0` under
`math="native"`; else i0 has NumPy's steps, and so its bits and errors (float64 6 times as fast on
X86_V4, 3.5 on X86_V3, 0.4 on X86_V2). On X86_V2 erf and erfc emulate fused products, and are much
slower than C's, which has fewer steps.

"""

_PLANE = """

## Complex numbers

Errors in units in the last place of the result's modulus, and of each part, which may be zero but for what
cancels: on usual numbers, next to the axes, to the circle of size 1 and to branch points.  complex128 is
computed with sums of two numbers, complex64 in float64.  Special values, signs on branch cuts and flags are
NumPy's, but for these:

| function | operands | NumPy | here |
|---|---|---|---|
| log1p | real part near 0, or both parts huge | 0, or an overflow | the logarithm |
| exp2 | imaginary part y from 1e4 on | the angle y log(2), rounded | up to 1e15 to the last place |
| expm1 | e**x overflows, y = 0 | nan as imaginary part, invalid | 0 |
| expm1 of complex64 | x = 0, y**2 below float32's numbers | 0.0 | -0.0 |
| power | an infinity or a NaN among the operands | invalid at comparisons and casts | fewer such flags |
| absolute | overflow of finite numbers | no flag | overflow |

absolute of complex64, square and reciprocal run through NumPy's loops, as ours were no faster on all levels;
angle is arctan2.
power's speed is that of arbitrary exponents; integers below 100 multiply as NumPy does (1.2 to 2 times as
fast on X86_V4).

"""


_KERNELS = """

## What kernels compute themselves

In every mode, with NumPy's bits: on usual operands and on any bits.  Speed is that of a kernel of this one
function on the same 4,096 elements in cache over NumPy's inner loop, where rounding is bound by loads and
stores; a kernel of several functions also saves these.  fmod, remainder, floor_divide and divmod are loops
that kernels call.  hypot and float_power are in the first table.  NumPy's floor, ceil, trunc and rint are as
fast whatever level NumPy is told, so that X86_V3's and X86_V2's kernels are compared with wider registers
there.  ldexp of float32 on X86_V4 is the median of ten processes, 0.77 to 1.26 by where arrays lie.

"""


def main() -> None:
    asked = sys.argv[1:]
    if asked[:1] == ["--speed"]:
        all_speeds(asked[1:] or _levels(), True)
    elif asked == ["--accuracy"]:
        all_accuracies()
    elif asked:
        for name, char in ROWS:
            if name in asked:
                print(name, NAMES[char], *accuracy(name, char, 100 if char in "DF" else 1000))
    else:
        all_speeds(_levels(), False)
        all_accuracies()
        rows = stored()
        real = table(rows, ["ULP", "ULP of NumPy"], "dfe")
        plane = table(rows, ["ULP", "ULP of NumPy", "of parts", "of NumPy's parts"], "DF")
        PAGE.write_text(_HEAD + real + _PLANE + plane + _KERNELS + native(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
