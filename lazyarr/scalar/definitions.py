"""Functions of `math` that CPython computes itself, written as Python functions of numbers.

In:  nothing.   Out: `DEFINED`: which function stands for which, and what its arguments are made into.
They are translated as a program's functions are.  Each takes the steps of CPython's own code in their order
(Modules/mathmodule.c), so that bits and the CPU's flags are the same; where that raises, so do they, which
stops the call.  That the running Python computes so is tried once, on samples (`is_proved`): a compiler may
have fused products and sums.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import (
    copysign,
    cos,
    exp,
    fmod,
    frexp,
    isfinite,
    isinf,
    isnan,
    ldexp,
    log,
    nextafter,
    pow,
    sin,
    sqrt,
)
from typing import Any

from lazyarr.records import NamedTuple

_INFINITE, _NAN = math.inf, math.nan

# Integers: where 64 bits do not hold a product on the way, it stops


def _gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def _lcm(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return abs(a // _gcd(a, b) * b)


def _isqrt(n: int) -> int:
    if n < 0:
        raise ValueError
    root = int(sqrt(n))            # off by one at most
    if root * root > n:
        return root - 1
    return root + 1 if n - root * root > 2 * root else root


def _factorial(n: int) -> int:
    if n < 0:
        raise ValueError
    found = 1
    for k in range(2, n + 1):
        found *= k
    return found


def _perm(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError
    if k > n:
        return 0
    found = 1
    for i in range(k):
        found *= n - i
    return found


def _comb(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError
    if k > n:
        return 0
    k = min(k, n - k)
    found = 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
    return found


# Floats


def _ulp(x: float) -> float:
    if isnan(x):
        return x
    x = abs(x)
    if isinf(x):
        return x
    after = nextafter(x, _INFINITE)
    if isinf(after):
        return x - nextafter(x, -_INFINITE)
    return after - x


def _remainder(x: float, y: float) -> float:
    if isfinite(x) and isfinite(y):
        if y == 0.0:
            raise ValueError
        size, by = abs(x), abs(y)
        rest = fmod(size, by)
        other = by - rest
        if rest < other:
            found = rest
        elif rest > other:
            found = -other
        else:
            found = rest - 2.0 * fmod(0.5 * (size - rest), by)
        return copysign(1.0, x) * found
    if isnan(x):
        return x
    if isnan(y):
        return y
    if isinf(x):
        raise ValueError
    return x


def _isclose(a: float, b: float, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError
    if a == b:
        return True
    if isinf(a) or isinf(b):
        return False
    apart = abs(b - a)
    return apart <= abs(rel_tol * b) or apart <= abs(rel_tol * a) or apart <= abs_tol


def _modf(x: float) -> tuple[float, float]:
    if isinf(x):
        return copysign(0.0, x), x
    if isnan(x):
        return x, x
    whole = truncated(x)
    return copysign(x - whole, x), whole


def truncated(x: float) -> float:
    """The integer next to a float on the way to zero, as a float."""
    return x if x == 0.0 or abs(x) >= 4503599627370496.0 else copysign(float(math.trunc(x)), x)


def floored(x: float) -> float:
    """The integer below a float, as a float."""
    return x if x == 0.0 or abs(x) >= 4503599627370496.0 else float(math.floor(x))


def _sin_of_pi(x: float) -> float:
    """sin(pi * x), of a finite number."""
    y = fmod(abs(x), 2.0)
    twice = 2.0 * y
    quarter = floored(twice)
    if twice - quarter >= 0.5:
        quarter += 1.0
    if quarter == 0.0:
        found = sin(3.141592653589793 * y)
    elif quarter == 1.0:
        found = cos(3.141592653589793 * (y - 0.5))
    elif quarter == 2.0:
        found = sin(3.141592653589793 * (1.0 - y))
    elif quarter == 3.0:
        found = -cos(3.141592653589793 * (y - 1.5))
    else:
        found = sin(3.141592653589793 * (y - 2.0))
    return copysign(1.0, x) * found


def _lanczos(x: float) -> float:
    """Lanczos' sum: a quotient of polynomials, of large numbers by their inverse."""
    if x < 5.0:
        a, b = 0.0 * x + 2.5066282746310002702, 0.0 * x + 1.0
        a, b = a * x + 210.82427775157934588, b * x + 66.0
        a, b = a * x + 8071.6720023658162106, b * x + 1925.0
        a, b = a * x + 186056.26539522349504, b * x + 32670.0
        a, b = a * x + 2876370.6289353724412, b * x + 357423.0
        a, b = a * x + 31426415.585400194381, b * x + 2637558.0
        a, b = a * x + 248874557.86205415651, b * x + 13339535.0
        a, b = a * x + 1439720407.3117216737, b * x + 45995730.0
        a, b = a * x + 6039542586.3520280051, b * x + 105258076.0
        a, b = a * x + 17921034426.037209700, b * x + 150917976.0
        a, b = a * x + 35711959237.355668049, b * x + 120543840.0
        a, b = a * x + 42919803642.649098769, b * x + 39916800.0
        a, b = a * x + 23531376880.410759689, b * x + 0.0
        return a / b
    a, b = 0.0 / x + 23531376880.410759689, 0.0 / x + 0.0
    a, b = a / x + 42919803642.649098769, b / x + 39916800.0
    a, b = a / x + 35711959237.355668049, b / x + 120543840.0
    a, b = a / x + 17921034426.037209700, b / x + 150917976.0
    a, b = a / x + 6039542586.3520280051, b / x + 105258076.0
    a, b = a / x + 1439720407.3117216737, b / x + 45995730.0
    a, b = a / x + 248874557.86205415651, b / x + 13339535.0
    a, b = a / x + 31426415.585400194381, b / x + 2637558.0
    a, b = a / x + 2876370.6289353724412, b / x + 357423.0
    a, b = a / x + 186056.26539522349504, b / x + 32670.0
    a, b = a / x + 8071.6720023658162106, b / x + 1925.0
    a, b = a / x + 210.82427775157934588, b / x + 66.0
    a, b = a / x + 2.5066282746310002702, b / x + 1.0
    return a / b


def _gamma(x: float) -> float:
    if not isfinite(x):
        if isnan(x) or x > 0.0:
            return x
        raise ValueError
    if x == 0.0:
        raise ValueError
    if x == floored(x):
        if x < 0.0:
            raise ValueError
        if x <= 23.0:
            return _before(x)
    size = abs(x)
    if size < 1e-20:
        found = 1.0 / x
    elif size > 200.0:
        if x > 0.0:
            raise OverflowError
        return 0.0 / _sin_of_pi(x)
    else:
        found = _by_lanczos(x, size)
    if isinf(found):
        raise OverflowError
    return found


def _before(x: float) -> float:
    """The product of all integers below, which are few: it is exact."""
    found, k = 1.0, 2.0
    while k < x:
        found *= k
        k += 1.0
    return found


def _by_lanczos(x: float, size: float) -> float:
    y = size + 5.524680040776729583740234375
    if size > 5.524680040776729583740234375:
        z = y - size - 5.524680040776729583740234375
    else:
        z = y - 5.524680040776729583740234375 - size
    z = z * 6.024680040776729583740234375 / y
    if x < 0.0:
        found = -3.141592653589793 / _sin_of_pi(size) / size * exp(y) / _lanczos(size)
        found -= z * found
        if size < 140.0:
            return found / pow(y, size - 0.5)
        root = pow(y, size / 2.0 - 0.25)
        return found / root / root
    found = _lanczos(size) / exp(y)
    found += z * found
    if size < 140.0:
        return found * pow(y, size - 0.5)
    root = pow(y, size / 2.0 - 0.25)
    return found * root * root


def _lgamma(x: float) -> float:
    if not isfinite(x):
        return x if isnan(x) else _INFINITE
    if x == floored(x) and x <= 2.0:
        if x <= 0.0:
            raise ValueError
        return 0.0
    size = abs(x)
    if size < 1e-20:
        return -log(size)
    found = log(_lanczos(size)) - 6.024680040776729583740234375
    found += (size - 0.5) * (log(size + 6.024680040776729583740234375 - 0.5) - 1.0)
    if x < 0.0:
        found = 1.144729885849400174 - log(abs(_sin_of_pi(size))) - log(size) - found
    if isinf(found):
        raise OverflowError
    return found


# Norms: squares are sums of two floats, their sum is compensated, the root corrected

Sum = tuple[float, float, float, float]


def _added(x: float, total: float, one: float, two: float, three: float) -> Sum:
    """A sum and what it lost, with the square of a number below 1."""
    split = x * 134217729.0
    high = split - (split - x)
    low = x - high
    x = high * high
    before = total
    total += x
    one += (before - total) + x
    x = 2.0 * high * low
    before = total
    total += x
    two += (before - total) + x
    return total, one, two, three + low * low


def _root(scale: float, total: float, one: float, two: float, three: float) -> float:
    root = sqrt(total - 1.0 + (one + two + three))
    split = root * 134217729.0
    high = split - (split - root)
    low = root - high
    x = -high * high
    before = total
    total += x
    one += (before - total) + x
    x = -2.0 * high * low
    before = total
    total += x
    two += (before - total) + x
    x = -low * low
    before = total
    total += x
    three += (before - total) + x
    x = total - 1.0 + (one + two + three)
    return (root + x / (2.0 * root)) / scale


def _added_small(x: float, most: float, total: float, lost: float) -> tuple[float, float]:
    x /= most
    x = x * x
    before = total
    total += x
    return total, lost + ((before - total) + x)


def _norm_1(x: float) -> float:
    most = 0.0
    if x > most:
        most = x
    return _NAN if isnan(x) else most


def _norm_2(x: float, y: float) -> float:
    most = 0.0
    if x > most:
        most = x
    if y > most:
        most = y
    if isinf(most):
        return most
    if isnan(x) or isnan(y):
        return _NAN
    if most == 0.0:
        return most
    exponent = frexp(most)[1]
    if exponent < -1023:
        total, lost = _added_small(x, most, 1.0, 0.0)
        total, lost = _added_small(y, most, total, lost)
        return most * sqrt(total - 1.0 + lost)
    scale = ldexp(1.0, -exponent)
    total, one, two, three = _added(x * scale, 1.0, 0.0, 0.0, 0.0)
    total, one, two, three = _added(y * scale, total, one, two, three)
    return _root(scale, total, one, two, three)


def _norm_3(x: float, y: float, z: float) -> float:
    most = 0.0
    if x > most:
        most = x
    if y > most:
        most = y
    if z > most:
        most = z
    if isinf(most):
        return most
    if isnan(x) or isnan(y) or isnan(z):
        return _NAN
    if most == 0.0:
        return most
    exponent = frexp(most)[1]
    if exponent < -1023:
        total, lost = _added_small(x, most, 1.0, 0.0)
        total, lost = _added_small(y, most, total, lost)
        total, lost = _added_small(z, most, total, lost)
        return most * sqrt(total - 1.0 + lost)
    scale = ldexp(1.0, -exponent)
    total, one, two, three = _added(x * scale, 1.0, 0.0, 0.0, 0.0)
    total, one, two, three = _added(y * scale, total, one, two, three)
    total, one, two, three = _added(z * scale, total, one, two, three)
    return _root(scale, total, one, two, three)


# ------------------------------------------------------------------------------------ the table


class Definition(NamedTuple):
    fn: Callable[..., Any]
    kind: str
    """What arguments are made into: "i" ints, which floats are not; "f" floats."""
    most: int
    """Arguments by position."""


DEFINED: dict[Any, Definition] = {
    math.gcd: Definition(_gcd, "i", 2), math.lcm: Definition(_lcm, "i", 2),
    math.isqrt: Definition(_isqrt, "i", 1), math.factorial: Definition(_factorial, "i", 1),
    math.perm: Definition(_perm, "i", 2), math.comb: Definition(_comb, "i", 2),
    math.ulp: Definition(_ulp, "f", 1), math.remainder: Definition(_remainder, "f", 2),
    math.isclose: Definition(_isclose, "f", 2), math.modf: Definition(_modf, "f", 1),
    math.gamma: Definition(_gamma, "f", 1), math.lgamma: Definition(_lgamma, "f", 1),
}  # fmt: skip
NORMS = Definition(_norm_1, "f", 1), Definition(_norm_2, "f", 2), Definition(_norm_3, "f", 3)
"""Of the sizes of 1, 2, ... coordinates: what `hypot` and `dist` are."""
BY_EUCLID = (math.gcd, math.lcm, math.isqrt)
"""Functions of ints of any size that take few steps."""
OWN: dict[str, Any] = {each.fn.__name__: each.fn for each in (*DEFINED.values(), *NORMS)}
"""By name."""


def _bits(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_bits, x))
    if not isinstance(x, float):
        return x
    return "nan" if isnan(x) else struct.pack("d", x)


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return _bits(fn(*args))
    except (ValueError, ArithmeticError):
        return None


def _samples(kind: str, most: int, size: int) -> Iterator[tuple[Any, ...]]:
    """Numbers of all sizes, spread by the golden ratio."""
    count = (256, 12, 4)[most - 1]
    parts = [k * 0.6180339887498949 % 1.0 for k in range(1, count + 1)]
    if kind == "i":
        some: list[Any] = [int(part * size ** (k % 10)) - 2 for k, part in enumerate(parts)]
    else:
        some = [(0.5 - part) * 10.0 ** (k * 7 % 11 - 5 if k % 4 else k * 37 % 600 - 300)
                for k, part in enumerate(parts)]  # fmt: skip
        some += [x * 340.0 - 170.0 for x in parts]
    return product(some, repeat=most)


@lru_cache(64)
def is_proved(of: Any, definition: Definition) -> bool:
    """Does the running Python compute a function so?"""
    if definition in NORMS and sys.version_info >= (3, 12):
        return False                        # (another algorithm, which few samples tell from this one)
    some = _samples(definition.kind, definition.most, 10 if of in BY_EUCLID else 2)
    if definition in NORMS:
        some = (tuple(map(abs, args)) for args in some)
    return all(_outcome(of, args) == _outcome(definition.fn, args) for args in some)
