"""NumPy's allocator under observation: every block of array data that NumPy takes passes here.

In:  nothing.   Out: `install()`, and from then on `TAKEN`: the bytes of each block, in order.
Only for a process of its own: the allocator is replaced for good, by NumPy's own C API (NEP 49).
"""

from __future__ import annotations

import ctypes

import numpy

TAKEN: list[int] = []

_P, _N = ctypes.c_void_p, ctypes.c_size_t
_Malloc = ctypes.CFUNCTYPE(_P, _P, _N)
_Calloc = ctypes.CFUNCTYPE(_P, _P, _N, _N)
_Realloc = ctypes.CFUNCTYPE(_P, _P, _P, _N)
_Free = ctypes.CFUNCTYPE(None, _P, _P, _N)

_SET_HANDLER = 304
"""Index of PyDataMem_SetHandler in NumPy's table of C functions (numpy_api.py)."""


class _Handler(ctypes.Structure):
    """PyDataMem_Handler (ndarraytypes.h)."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("ctx", _P),
        ("malloc", _Malloc),
        ("calloc", _Calloc),
        ("realloc", _Realloc),
        ("free", _Free),
    )


_libc = ctypes.CDLL(None)
_libc.malloc.restype = _libc.calloc.restype = _libc.realloc.restype = _P
_libc.malloc.argtypes, _libc.calloc.argtypes = [_N], [_N, _N]
_libc.realloc.argtypes, _libc.free.argtypes = [_P, _N], [_P]


@_Malloc
def _malloc(_ctx, size):
    TAKEN.append(size)
    return _libc.malloc(size)


@_Calloc
def _calloc(_ctx, count, size):
    TAKEN.append(count * size)
    return _libc.calloc(count, size)


@_Realloc
def _realloc(_ctx, pointer, size):
    TAKEN.append(size)
    return _libc.realloc(pointer, size)


@_Free
def _free(_ctx, pointer, _size):
    _libc.free(pointer)


_HANDLER = _Handler(b"counting", 1, None, _malloc, _calloc, _realloc, _free)


def install() -> None:
    """Count from now on."""
    new, pointer = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
    new.restype, new.argtypes = ctypes.py_object, [_P, ctypes.c_char_p, _P]
    pointer.restype, pointer.argtypes = _P, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(numpy._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(_P))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    set_handler(new(ctypes.addressof(_HANDLER), b"mem_handler", None))
    assert numpy._core.multiarray.get_handler_name() == "counting"
