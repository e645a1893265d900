"""The function in a type's buffer slot: machine code, since exceptions must pass.

In:  a Python function that finds whose memory to lend, or raises.
Out: the address of a C function, `getbufferproc`.

    int slot(self, view, flags):
        real = PyObject_CallFunction(find, "Oi", self, flags)
        if real:  found = PyObject_GetBuffer(real, view, flags); Py_DecRef(real); return found
        view->obj = NULL;  return -1                    the exception is set

ctypes cannot write it in Python: where a callback raises, its result is whatever memory held, and an
exception that it leaves is none of the slot's caller.
Invariants: the GIL is held throughout; nothing is freed, since the type keeps the address for ever; memory
is never written and executed at once.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections.abc import Callable
from typing import Any

_KEPT: list[Any] = []
"""The function calls these."""
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_KEPT))             # also when modules are gone

_RDI, _RSI, _R11 = b"\x48\xbf", b"\x48\xbe", b"\x49\xbb"
"""mov register, imm64"""


def _load(register: bytes, word: int) -> bytes:
    return register + word.to_bytes(8, "little")


def _call(address: int) -> bytes:
    return _load(_R11, address) + b"\x31\xc0" b"\x41\xff\xd3"       # xor eax, eax; call r11


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _code(find: int, arguments: int) -> bytes:
    """For x86-64 and the System V ABI: self, view, flags in rdi, rsi, edx; rbx, r12, r13 are the caller's."""
    lend = (
        b"\x48\x89\xc3"                                             # mov rbx, rax
        b"\x48\x89\xdf" b"\x4c\x89\xe6" b"\x44\x89\xea"             # mov rdi, rbx; rsi, r12; edx, r13d
        + _call(_address("PyObject_GetBuffer"))
        + b"\x41\x89\xc4" b"\x48\x89\xdf"                           # mov r12d, eax; rdi, rbx
        + _call(_address("Py_DecRef"))
        + b"\x44\x89\xe0"                                           # mov eax, r12d
    )
    refuse = (
        b"\x49\xc7\x44\x24\x08\x00\x00\x00\x00"                     # mov qword [r12 + 8], 0
        b"\xb8\xff\xff\xff\xff"                                     # mov eax, -1
    )
    lend += b"\xeb" + bytes([len(refuse)])                          # jmp over refuse
    return (
        b"\x53" b"\x41\x54" b"\x41\x55"                             # push rbx, r12, r13: the stack is aligned
        b"\x49\x89\xf4" b"\x41\x89\xd5"                             # mov r12, rsi; r13d, edx
        b"\x48\x89\xfa" b"\x44\x89\xe9"                             # mov rdx, rdi; ecx, r13d
        + _load(_RDI, find) + _load(_RSI, arguments) + _call(_address("PyObject_CallFunction"))
        + b"\x48\x85\xc0" b"\x74" + bytes([len(lend)])              # test rax, rax; jz refuse
        + lend + refuse
        + b"\x41\x5d" b"\x41\x5c" b"\x5b" b"\xc3"                   # pop r13, r12, rbx; ret
    )


def _executable(code: bytes) -> int | None:
    """The address of code in memory of its own; None where memory may not be made executable."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(at, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    _KEPT.append(page)
    return at


def slot(find: Callable[[Any, int], Any]) -> int | None:
    """The function's address; None on other machines."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    arguments = ctypes.create_string_buffer(b"Oi")
    at = _executable(_code(id(find), ctypes.addressof(arguments)))
    if at is not None:
        _KEPT.extend((find, arguments))
    return at
