"""THE op table: one row per elementwise operation, what it is and what may be done with it.

In:  an op's name, NumPy's own (`add`, `clip`, ...), or the pseudo-ops `copy` (a cast) and `where`.
Out: its `Op` row.  The API, emitters, fusion costs, test and coverage matrices derive from it.
Holds: what NumPy can answer (arity, loops, identity) is asked of the running NumPy; a row whose
function the running NumPy does not have is left out.  Generalised ufuncs (matmul) are not here.

Loops are named by signatures in canonical characters (dtypes.canonical).  Kinds, in the columns
that depend on the element type, are one letter each:

    b bool    i signed    u unsigned    e float16    f float32, float64    c complex
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

from lazyarr.draws import DRAWS
from lazyarr.dtypes import CANONICAL, PLAIN, canonical
from lazyarr.own_ufuncs import OWN
from lazyarr.ranges import COST as RANGE_COST
from lazyarr.ranges import RANGES
from lazyarr.records import NamedTuple


class Op(NamedTuple):
    """One row.  `native`, `commutative` and `order_free` are strings of kind letters."""

    name: str
    fn: Any
    """The NumPy function that defines the op."""
    nin: int
    nout: int
    emitter: str
    """Key of the native emitter (codegen.emitters); equal keys share code."""
    native: str
    """Kinds of the loop's last input that have a native emitter; others run NumPy's inner loop."""
    traits: frozenset[str]
    """predicate: the result is bool.
    raises: loops of signed integers raise a Python error on some data.
    neighbours: from one array with gaps into another, some NumPys (2.4) read elements in between."""
    commutative: str
    """Kinds for which swapping the operands keeps the bits (the sign of a zero aside)."""
    order_free: str
    """Kinds whose fold gives the same bits in any order (the sign of a zero aside)."""
    flags: str
    """errstate categories that real float loops can set: d o u i (divide, over, under, invalid)."""
    complex_flags: str
    int_flags: str
    """The same for integer loops."""
    cost: float
    """Cycles per float64 element in cache on AVX2, roughly; add is 1."""
    domain: str
    """Where tests draw operands from: a key of DOMAINS."""
    targets: str
    """For which CPU levels there is code of ours (`op_targets`): of the emitter, or of a function that
    kernels call."""

    @property
    def identity(self) -> Any:
        """NumPy's identity of the fold, or None."""
        return self.fn.identity if self.is_ufunc else None

    @property
    def is_ufunc(self) -> bool:
        return isinstance(self.fn, numpy.ufunc)


DOMAINS: dict[str, tuple[float, float] | None] = {
    "any": None,
    "unit": (-1.0, 1.0),
    "positive": (0.0, 1e4),
    "above_one": (1.0, 1e4),
    "moderate": (-50.0, 50.0),
    "count": (0, 80),
}
"""Intervals that operands are drawn from; None: every bit pattern."""

CATEGORIES = {"d": "divide", "o": "over", "u": "under", "i": "invalid"}

# For which CPU levels there is code of ours, in the words of `op_targets`.
NATIVE = "baseline #each"
"""Of ops that kernels write themselves."""
SHARED = "$maxopt baseline #widths"
"""Of elementary functions and draws."""
PYTHONS = "$maxopt #x86"
"""Of scalar functions, which tell of x86's status flags as Python does."""

_KIND = {char: row.kind for char, row in PLAIN.items()} | {"e": "e"}
_ALL, _REAL, _INT = "biuefc", "biuef", "iu"


def kind(char: str) -> str:
    """Kind letter of a canonical dtype character."""
    return _KIND[char]


_CALLED: dict[str, Op] = {}
"""Functions that are no ufuncs of NumPy's, by the names that nodes have for them: see `enter`."""

_GIVEN: dict[str, Op] = {}
"""Ops that a program added, by the names that bodies have for them: see `enter_given`."""


def function(name: str) -> Any:
    """The NumPy ufunc (or function, for argmax and the like) of a name, one of ours, or what else kernels
    call; None if there is none."""
    entered = _CALLED.get(name) or _GIVEN.get(name)
    if entered is not None:
        return entered.fn
    if name in OWN:
        return OWN[name]
    core: Any = numpy._core.umath  # type: ignore[attr-defined]  # private: the ufunc clip is only there
    return getattr(core if name == "clip" else numpy, name, None)


# name, emitter (if not the name), native kinds, cost, domain, commutative and order-free kinds, flags of
# real, complex and integer loops, traits
_Row = tuple[str, str, str, float, str, str, str, str, str, str, str]
_ROWS: list[_Row] = [
    # arithmetic
    ("add", "", _ALL, 1, "any", _ALL, "biu", "oi", "oi", "", ""),
    ("subtract", "", "iuefc", 1, "any", "", "", "oi", "oi", "", ""),
    ("multiply", "", _REAL, 1, "any", _REAL, "biu", "oui", "oui", "", ""),
    ("divide", "", "ef", 5, "any", "", "", "doui", "doui", "", ""),
    ("negative", "", "iuefc", 1, "any", "", "", "", "", "", "neighbours"),
    ("positive", "same", "iuefc", 0, "any", "", "", "", "", "", ""),
    ("conjugate", "", "iuefc", 1, "any", "", "", "", "", "", ""),
    ("absolute", "", _REAL, 1, "any", "", "", "", "oui", "", ""),
    ("fabs", "absolute", "ef", 1, "any", "", "", "", "", "", ""),
    ("square", "", "iuef", 1, "any", "", "", "oui", "oui", "", ""),
    ("reciprocal", "", "ef", 5, "any", "", "", "doui", "doui", "di", ""),
    ("sqrt", "", "ef", 6, "any", "", "", "i", "oui", "", ""),
    ("cbrt", "", "", 20, "any", "", "", "oui", "oui", "", ""),
    ("sign", "", "iuef", 2, "any", "", "", "", "oui", "", ""),
    ("heaviside", "", "ef", 3, "any", "", "", "", "", "", ""),
    ("deg2rad", "to_radians", "ef", 1, "any", "", "", "ou", "ou", "", ""),
    ("radians", "to_radians", "ef", 1, "any", "", "", "ou", "ou", "", ""),
    ("rad2deg", "to_degrees", "ef", 1, "any", "", "", "ou", "ou", "", ""),
    ("degrees", "to_degrees", "ef", 1, "any", "", "", "ou", "ou", "", ""),
    # integer division and its float relatives
    ("floor_divide", "", _INT, 12, "any", "", "", "doui", "doui", "do", ""),
    ("remainder", "", _INT, 14, "any", "", "", "doui", "doui", "d", ""),
    ("fmod", "", _INT, 13, "any", "", "", "doui", "doui", "d", ""),
    ("divmod", "", _INT, 15, "any", "", "", "doui", "doui", "do", ""),
    ("gcd", "", "", 60, "any", _ALL, "iu", "", "", "", ""),
    ("lcm", "", "", 80, "any", _ALL, "", "", "", "", ""),
    # comparison and logic
    ("equal", "", _ALL, 1, "any", _ALL, "", "", "", "", "predicate"),
    ("not_equal", "", _ALL, 1, "any", _ALL, "", "", "", "", "predicate"),
    ("less", "", _ALL, 1, "any", "", "", "", "i", "", "predicate"),
    ("less_equal", "", _ALL, 1, "any", "", "", "", "i", "", "predicate"),
    ("greater", "", _ALL, 1, "any", "", "", "", "i", "", "predicate"),
    ("greater_equal", "", _ALL, 1, "any", "", "", "", "i", "", "predicate"),
    ("logical_and", "", _ALL, 1, "any", _ALL, _ALL, "", "", "", "predicate"),
    ("logical_or", "", _ALL, 1, "any", _ALL, _ALL, "", "", "", "predicate"),
    ("logical_xor", "", _ALL, 1, "any", _ALL, _ALL, "", "", "", "predicate"),
    ("logical_not", "", _ALL, 1, "any", "", "", "", "", "", "predicate"),
    ("isnan", "", _ALL, 1, "any", "", "", "", "", "", "predicate"),
    ("isinf", "", _ALL, 1, "any", "", "", "", "", "", "predicate"),
    ("isfinite", "", _ALL, 1, "any", "", "", "", "", "", "predicate"),
    ("isnat", "", "", 1, "any", "", "", "", "", "", "predicate"),
    ("signbit", "", "ef", 1, "any", "", "", "", "", "", "predicate"),
    # bits
    ("bitwise_and", "", "biu", 1, "any", _ALL, "biu", "", "", "", ""),
    ("bitwise_or", "", "biu", 1, "any", _ALL, "biu", "", "", "", ""),
    ("bitwise_xor", "", "biu", 1, "any", _ALL, "biu", "", "", "", ""),
    ("invert", "", "biu", 1, "any", "", "", "", "", "", ""),
    ("left_shift", "", _INT, 2, "count", "", "", "", "", "", ""),
    ("right_shift", "", _INT, 2, "count", "", "", "", "", "", ""),
    ("bitwise_count", "", _INT, 4, "any", "", "", "", "", "", ""),
    ("copysign", "", "ef", 1, "any", "", "", "", "", "", ""),
    # extrema
    ("maximum", "", _REAL, 2, "any", _ALL, _REAL, "", "i", "", ""),
    ("minimum", "", _REAL, 2, "any", _ALL, _REAL, "", "i", "", ""),
    ("fmax", "", _REAL, 2, "any", _ALL, _REAL, "", "i", "", ""),
    ("fmin", "", _REAL, 2, "any", _ALL, _REAL, "", "i", "", ""),
    ("clip", "", _REAL, 3, "any", "", "", "", "i", "", ""),
    # rounding
    ("floor", "", _REAL, 1, "any", "", "", "", "", "", ""),
    ("ceil", "", _REAL, 1, "any", "", "", "", "", "", ""),
    ("trunc", "", _REAL, 1, "any", "", "", "", "", "", ""),
    ("rint", "", "ef", 1, "any", "", "", "", "", "", ""),
    # anatomy of floats
    ("frexp", "", "ef", 10, "any", "", "", "", "", "", ""),
    ("ldexp", "", "i", 10, "moderate", "", "", "oui", "oui", "", ""),
    ("modf", "", "ef", 8, "any", "", "", "", "", "", ""),
    ("nextafter", "", "ef", 8, "any", "", "", "oui", "oui", "", ""),
    ("spacing", "", "ef", 8, "any", "", "", "oui", "oui", "", ""),
    # powers, exponentials, logarithms
    ("power", "", "", 30, "moderate", "", "", "doui", "doui", "", "raises"),
    ("float_power", "", "", 30, "moderate", "", "", "doui", "doui", "", ""),
    ("exp", "", "", 8, "moderate", "", "", "oui", "oui", "", ""),
    ("exp2", "", "", 8, "moderate", "", "", "oui", "oui", "", ""),
    ("expm1", "", "", 15, "moderate", "", "", "oui", "oui", "", ""),
    ("log", "", "", 9, "positive", "", "", "doui", "doui", "", ""),
    ("log2", "", "", 10, "positive", "", "", "doui", "doui", "", ""),
    ("log10", "", "", 10, "positive", "", "", "doui", "doui", "", ""),
    ("log1p", "", "", 12, "positive", "", "", "doui", "doui", "", ""),
    ("logaddexp", "", "", 40, "moderate", _ALL, "", "oui", "oui", "", ""),
    ("logaddexp2", "", "", 40, "moderate", _ALL, "", "oui", "oui", "", ""),
    ("hypot", "", "", 15, "any", _ALL, "", "oui", "oui", "", ""),
    # NumPy has none of these (`own_ufuncs`)
    ("erf", "", "", 20, "moderate", "", "", "", "", "", ""),
    ("erfc", "", "", 20, "moderate", "", "", "u", "", "", ""),
    ("sinc", "", "", 20, "moderate", "", "", "i", "", "", ""),
    ("i0", "", "", 20, "moderate", "", "", "oi", "", "", ""),
    # trigonometry
    ("sin", "", "", 25, "moderate", "", "", "oui", "oui", "", ""),
    ("cos", "", "", 25, "moderate", "", "", "oui", "oui", "", ""),
    ("tan", "", "", 20, "moderate", "", "", "oui", "oui", "", ""),
    ("arcsin", "", "", 15, "unit", "", "", "oui", "oui", "", ""),
    ("arccos", "", "", 15, "unit", "", "", "oui", "oui", "", ""),
    ("arctan", "", "", 15, "any", "", "", "oui", "doui", "", ""),
    ("arctan2", "", "", 25, "any", "", "", "oui", "oui", "", ""),
    ("sinh", "", "", 15, "moderate", "", "", "oui", "oui", "", ""),
    ("cosh", "", "", 15, "moderate", "", "", "oui", "oui", "", ""),
    ("tanh", "", "", 12, "any", "", "", "oui", "oui", "", ""),
    ("arcsinh", "", "", 20, "any", "", "", "oui", "oui", "", ""),
    ("arccosh", "", "", 20, "above_one", "", "", "oui", "oui", "", ""),
    ("arctanh", "", "", 20, "unit", "", "", "doui", "doui", "", ""),
    # pseudo-ops
    ("copy", "", _ALL, 1, "any", "", "", "", "", "", ""),
    ("where", "", _ALL, 1, "any", "", "", "", "", "", ""),
]  # fmt: skip

_ARITY = {"copy": (1, 1), "where": (3, 1)}


def _op(cells: _Row) -> Op | None:
    name, emitter, native, cost, domain, commutative, order_free, real, complex_, integer, traits = cells
    fn: Any = numpy.copyto if name == "copy" else function(name)
    if fn is None:
        return None
    nin, nout = _ARITY.get(name) or (fn.nin, fn.nout)
    return Op._make((
        name, fn, nin, nout, emitter or name, native, frozenset(traits.split()), commutative, order_free,
        real, complex_, integer, cost, domain, NATIVE if native else SHARED,
    ))  # fmt: skip


OPS: dict[str, Op] = {op.name: op for op in map(_op, _ROWS) if op}

def enter(name: str, fn: Any, nin: int, nout: int, flags: str, cost: float, targets: str) -> None:
    """A function of ours that kernels call as they call NumPy's inner loops: a row of a table of its own."""
    _CALLED[name] = Op._make((
        name, fn, nin, nout, "", "", frozenset(), "", "", flags, flags, flags, cost, "any", targets,
    ))  # fmt: skip


def enter_given(name: str, fn: Any, nin: int, flags: str, cost: float) -> None:
    """An op that a program added, with code of its own (`codegen.native`): `fn` is what it means."""
    _GIVEN[name] = Op(
        name, fn, nin, 1, "", "", frozenset(), "", "", flags, flags, flags, cost, "any", NATIVE,
    )  # fmt: skip


for _name, _draw in DRAWS.items():
    enter(_name, _draw, _draw.nin, 1, "", _draw.cost, SHARED)
for _name, _range in RANGES.items():
    enter_given(_name, _range, _range.nin, "", RANGE_COST)


def called(name: str) -> bool:
    """Is it a draw (`draws`) or a scalar function (`scalar.loop`)?"""
    return name in _CALLED


def given(name: str) -> bool:
    """Is it an op that a program added?"""
    return name in _GIVEN


def told(name: str) -> str:
    """What NumPy's warnings call an op."""
    found = _CALLED.get(name)
    return getattr(found.fn, "told", name) if found else name


def row(name: str) -> Op:
    """The row of an op, of what else kernels call, or of what a program added; KeyError for all others."""
    return OPS.get(name) or _CALLED.get(name) or _GIVEN[name]


@cache
def loop_types(name: str) -> tuple[str, ...]:
    """Signatures of the op's loops over plain dtypes, canonical, each once, in NumPy's order."""
    if name == "copy":
        return tuple(f"{a}->{b}" for a in PLAIN for b in PLAIN)
    if name == "where":
        return tuple(f"?{c}{c}->{c}" for c in PLAIN)
    types = (canonical(t) for t in OPS[name].fn.types)
    return tuple(dict.fromkeys(t for t in types if set(t) <= _LOOP_CHARS))


_LOOP_CHARS = set(PLAIN) | set("->")


@cache
def own_signature(name: str, sig: str) -> str:
    """The loop's signature in NumPy's own characters: it writes some 64-bit loops with q and Q."""
    return next((str(t) for t in function(name).types if canonical(t) == sig), sig)


SEARCHES = frozenset({"argmax", "argmin"})
"""Folds that tell where an element is."""

WITHIN = "within"
"""In bodies: `clip` of float32 and float64 between bounds that stay still in NumPy's inner loop."""


def within(x: Any, low: Any, high: Any) -> Any:
    """What `WITHIN` means: where x equals a bound it stays itself, and with it the sign of a zero."""
    found = numpy.where(x < low, low, x)
    found = numpy.where(found > high, high, found)
    nan = numpy.isnan(low) | numpy.isnan(high)
    return numpy.where(nan, found.dtype.type(numpy.nan), found)


def native(name: str, sig: str) -> bool:
    """Does codegen emit this loop itself, at the levels that its targets say?"""
    op = OPS.get(name)
    return op is not None and kind(sig[op.nin - 1]) in op.native


@cache
def flags(name: str, sig: str) -> tuple[str, ...]:
    """errstate categories that this loop can set, such as ``('divide', 'invalid')``; searches set none."""
    op = OPS.get(name) or _CALLED.get(name) or _GIVEN.get(name)
    if op is None:
        return ()
    inputs, outputs = sig.split("->")
    if name == "copy":
        letters = _cast_flags(inputs, outputs)
    else:
        first = kind(inputs[0])
        letters = op.complex_flags if first == "c" else op.flags if first in "ef" else op.int_flags
    return tuple(CATEGORIES[c] for c in letters)


def may_raise(op: Any, target: str = "") -> bool:
    """Can an op of `expr` set a flag, where its results go to elements of type `target`?"""
    sig = getattr(op, "sig", "")
    if not sig:
        return hasattr(op, "run")       # NumPy's own code may do anything
    return bool(flags(op.name, sig)) or bool(target and flags("copy", f"{sig[-1]}->{CANONICAL[target]}"))


_COMPONENT = {"e": 2, "f": 4, "F": 4, "d": 8, "D": 8}


def _cast_flags(source: str, target: str) -> str:
    if kind(target) == "b":
        return ""
    if source not in _COMPONENT:
        return "o" if target == "e" else ""
    if target not in _COMPONENT:
        return "i"
    return "ou" if _COMPONENT[target] < _COMPONENT[source] else ""
