"""Ufuncs that NumPy does not have: objects of NumPy's type, by its C API, whose loops are ours.

In:  names, and who has machine code of them (`MACHINE`, which the face fills).
Out: `OWN`: name -> ufunc.  All that NumPy does for its own, it does for these: types, casts, `out`, `where`,
memory that is not aligned; for the last one's sake `stand_in` makes others, of functions that NumPy has.
A loop begins as a call of Python's, which asks for the machine code and puts it into its place.  Where there
is no compiler, C's functions of single numbers take its place, which may differ by a last bit.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy

MACHINE: list[Callable[[str, str], int]] = []
"""Name and signature of a loop -> its address; raises where there is no compiler."""

_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
_NUMBERS = {"e": numpy.dtype("e").num, "f": numpy.dtype("f").num, "d": numpy.dtype("d").num}
_FROM_FUNCTIONS = 1
"""Place in NumPy's table of its ufuncs' API: PyUFunc_FromFuncAndData."""
_NO_IDENTITY = -1

_PARAMETERS = """Parameters
----------
x : array_like
    Real numbers; integers become floats as for `exp`.
out : ndarray, None, or tuple of ndarray and None, optional
    Where to store the result.
where : array_like, optional
    Where to compute it.

Returns
-------"""

_DOCS = {
    "erf": f"""Error function, element-wise.

The integral of the normal distribution: 2 / sqrt(pi) times that of exp(-t**2) for t from 0 to `x`.

{_PARAMETERS}
y : ndarray or scalar
    From -1 to 1, within 1 ULP, with the same bits on every CPU, whatever the option ``math`` is.

See Also
--------
erfc : 1 - erf(x), without loss for large `x`.
""",
    "erfc": f"""Complementary error function, element-wise: 1 - erf(x), without loss for large `x`.

{_PARAMETERS}
y : ndarray or scalar
    From 0 to 2, within 1 ULP, with the same bits on every CPU, whatever the option ``math`` is.

See Also
--------
erf : The error function.
""",
    "sinc": f"""Normalised sine ratio, element-wise: sin(pi x) / (pi x), and 1 at 0.

{_PARAMETERS}
y : ndarray or scalar
    Within 1 ULP, also next to its zeros; exactly zero at other integers.  NaN, and 'invalid', at infinities,
    as `numpy.sinc`.  The same bits on every CPU, whatever the option ``math`` is.
""",
    "i0": f"""Modified Bessel function of the first kind, order 0, element-wise.

{_PARAMETERS}
y : ndarray or scalar
    From 1, within 1 ULP.  NaN, and 'invalid', at infinities, as `numpy.i0`.  The same bits on every CPU,
    whatever the option ``math`` is.
""",
}


def _sinc(x: float) -> float:
    """Of a number, as C's functions are; exact remainders, so that zeros are where they are."""
    if not math.isfinite(x) or x == 0.0:
        return 1.0 if x == 0.0 else math.nan
    return math.sin(math.pi * math.remainder(x, 2.0)) / (math.pi * x) if x % 1.0 else 0.0


def _i0(x: float) -> float:
    return float(numpy.i0(x))


_OF_NUMBERS: dict[str, Callable[[float], float]] = {
    "erf": math.erf, "erfc": math.erfc, "sinc": _sinc, "i0": _i0,
}  # fmt: skip
"""What takes the place of the loops where there is no compiler."""


class _Made:
    """One ufunc, and what its C object points to."""

    def __init__(self, name: str) -> None:
        chars = "efd"
        self.name, text = name, name.encode()
        self.first = [_LOOP(self._beginning(k, char)) for k, char in enumerate(chars)]
        self.places = (ctypes.c_void_p * len(chars))(*[ctypes.cast(f, ctypes.c_void_p) for f in self.first])
        self.data = (ctypes.c_void_p * len(chars))()
        self.types = bytes(_NUMBERS[char] for char in chars for _ in range(2))
        self.words = text, _DOCS[name].encode()
        self.ufunc: numpy.ufunc = _from_functions()(
            self.places, self.data, self.types, len(chars), 1, 1, _NO_IDENTITY, *self.words, 0
        )

    def _beginning(self, k: int, char: str) -> Callable[..., None]:
        """What the loop of a dtype is until there is machine code."""

        def loop(args: int, dims: int, steps: int, data: int) -> None:
            from lazyarr.interrupts import hold_signals, release_after

            held = hold_signals()       # nobody hears of what is raised here: it would be lost
            try:
                address = MACHINE[0](self.name, f"{char}->{char}")
            except Exception:           # there is no compiler
                _by_numbers(_OF_NUMBERS[self.name], char, args, dims, steps)
            else:
                self.places[k] = address
                _LOOP(address)(args, dims, steps, data)
            finally:
                release_after(held, loop.__code__)

        return loop


class _StandIn:
    """One of one loop, whose machine code there is, and what its C object points to."""

    def __init__(self, name: str, sig: str, address: int) -> None:
        ins, outs = sig.split("->")
        self.place, self.data = ctypes.c_void_p(address), ctypes.c_void_p()
        self.types = bytes(numpy.dtype(char).num for char in ins + outs)
        self.words = name.encode(), b"The same by our own function."
        self.ufunc: numpy.ufunc = _from_functions()(
            ctypes.byref(self.place), ctypes.byref(self.data), self.types, 1, len(ins), len(outs),
            _NO_IDENTITY, *self.words, 0,
        )  # fmt: skip


_STAND_INS: dict[tuple[str, str, Any], _StandIn] = {}


def stand_in(name: str, sig: str, level: Any) -> numpy.ufunc | None:
    """Our function as a ufunc of NumPy's type; None where there is no compiler.  `level` is what its code
    depends on."""
    key = name, sig, level
    found = _STAND_INS.get(key)
    if found is None:
        try:
            address = MACHINE[0](name, sig)
        except Exception:               # there is no compiler
            return None
        # (It owns memory that NumPy uses: of two threads' the first one stays.)
        found = _STAND_INS.setdefault(key, _StandIn(name, sig, address))
    return found.ufunc


@functools.cache
def _from_functions() -> Any:
    """NumPy's function that makes a ufunc."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(numpy._core._multiarray_umath._UFUNC_API, None)  # type: ignore[attr-defined]
    address = (ctypes.c_void_p * (_FROM_FUNCTIONS + 1)).from_address(table)[_FROM_FUNCTIONS]
    words = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, *words, *[ctypes.c_int] * 4, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int
    )
    return kind(address or 0)


def _by_numbers(fn: Callable[[float], float], char: str, args: int, dims: int, steps: int) -> None:
    """A loop, one number after the other."""
    n = ctypes.c_ssize_t.from_address(dims).value
    places = (ctypes.c_void_p * 2).from_address(args)
    strides = (ctypes.c_ssize_t * 2).from_address(steps)
    x, y = (_strided(places[k] or 0, n, strides[k], char) for k in (0, 1))
    for k in range(n):
        y[k] = fn(x[k])


def _strided(address: int, n: int, step: int, char: str) -> numpy.ndarray:
    """Memory as an array of one dimension."""
    reach = step * (n - 1)
    low = address + min(0, reach)
    memory: Any = (ctypes.c_char * (abs(reach) + numpy.dtype(char).itemsize)).from_address(low)
    return numpy.ndarray((n,), char, memory, address - low, (step,))


_MADE = [_Made(name) for name in _DOCS]
OWN: dict[str, numpy.ufunc] = {made.name: made.ufunc for made in _MADE}
erf, erfc, sinc, i0 = OWN["erf"], OWN["erfc"], OWN["sinc"], OWN["i0"]
"""By their names, for `pickle`."""
