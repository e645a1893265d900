"""NumPy's inner loops under observation: every element that NumPy computes passes here.

In:  nothing.   Out: `install()`, and from then on `CALLS`: (ufunc, signature, elements) of each call of
a loop, whoever makes it: NumPy itself, or compiled code that was given the loop's address.
Only for a process of its own: the loops are replaced in NumPy's ufunc objects, for good.
"""

from __future__ import annotations

import ctypes

import numpy

CALLS: list[tuple[str, str, int]] = []

_P = ctypes.c_void_p
Loop = ctypes.CFUNCTYPE(None, _P, ctypes.POINTER(ctypes.c_ssize_t), _P, _P)


class _UFunc(ctypes.Structure):
    """PyUFuncObject after the object header (NumPy's ufuncobject.h)."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
    )


_watched: list[object] = []         # compiled code may call them as long as the process lives


def _watch(name: str, types: str, address: int) -> int:
    original = Loop(address)

    def loop(args, dims, steps, data):
        CALLS.append((name, types, dims[0]))
        original(args, dims, steps, data)

    _watched.append(Loop(loop))
    return ctypes.cast(_watched[-1], ctypes.c_void_p).value


def install() -> None:
    """Watch all loops of all public ufuncs over plain dtypes."""
    ufuncs = {id(f): f for f in vars(numpy).values() if isinstance(f, numpy.ufunc) and not f.signature}
    for fn in (*ufuncs.values(), numpy._core.umath.clip):
        fields = _UFunc.from_address(id(fn) + object.__basicsize__)
        assert (fields.nin, fields.nout, fields.ntypes) == (fn.nin, fn.nout, fn.ntypes)
        for k, types in enumerate(fn.types):
            if fields.functions[k] and not set(types) & set("OMmgG"):
                fields.functions[k] = _watch(fn.__name__, types, fields.functions[k])
