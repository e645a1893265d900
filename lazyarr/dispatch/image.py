"""Images into memory: machine code of this process, without LLVM.

In:  an `Image`, or the bytes that `packed` made of one.   Out: the address of each of its functions.

    image  = code | data | zeros        code begins a page, and so does data, on the next page

Memory is never written and executed at once: it is filled, then its code is made executable.  The pages of an
image that nobody refers to any more hold the next one of its size (`Loaded`); they are never unmapped.
Whoever calls `load` holds `llvm.loading`, which keeps other threads out, but not a finalizer or a signal's
handler of this one that loads an image, too: pages are taken from lists, each time by one `pop`.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import platform
import sys
from contextlib import suppress
from functools import cache, partial

from lazyarr.dispatch.endings import at_end
from lazyarr.numpy_loops import loop_at
from lazyarr.records import NamedTuple

PAGE = 4096
"""Bytes of a page: x86-64 has no smaller ones, and all larger ones are multiples."""

MAGIC = b"image\n"

MAPPED = 1 << 18
"""Bytes of address space that are mapped at once."""


class Image(NamedTuple):
    """Machine code that lacks only its address."""

    code: bytes
    data: bytes
    zeros: int
    """Bytes after `data` that begin as zeros."""
    symbols: dict[str, int]
    """Where each function of the object begins."""
    functions: tuple[tuple[int, str], ...]
    """Where the address of which function of the process belongs."""
    addresses: tuple[tuple[int, int], ...]
    """Where the address of which place of the image belongs."""

    @property
    def data_at(self) -> int:
        return -(-len(self.code) // PAGE) * PAGE


_ADDRESS = ctypes.c_void_p
_FAILED = ctypes.c_size_t(-1).value


@cache
def here() -> bool:
    """Does this process load images?"""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 1 << 32


def are_for(machine: str, triple: str) -> bool:
    """Do processes of such a machine load images?  Without a triple: this process."""
    return (machine == "x86_64" and "linux" in triple) if triple else here()


@cache
def _process() -> ctypes.CDLL:
    """The functions of the process."""
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = _ADDRESS
    found.mmap.argtypes = _ADDRESS, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
    found.mprotect.argtypes = _ADDRESS, ctypes.c_size_t, ctypes.c_int
    return found


@cache
def function(name: str) -> int | None:
    """The address of a C function of the process, or of a loop of NumPy's, or None."""
    found = loop_at(name)
    if found is not None:
        return found
    try:
        return ctypes.cast(_process()[name], _ADDRESS).value
    except AttributeError:
        return None


def packed(image: Image) -> bytes:
    """The image as bytes."""
    return MAGIC + marshal.dumps(tuple(image), 2)


def is_packed(body: bytes) -> bool:
    """Are these bytes an image, not an object file?"""
    return body.startswith(MAGIC)


def unpacked(body: bytes) -> Image:
    """The image that `packed` made bytes of; ValueError if it did not."""
    try:
        return Image(*marshal.loads(memoryview(body)[len(MAGIC) :]))
    except (EOFError, TypeError) as error:
        raise ValueError(f"a damaged image: {error}") from None


class Loaded(dict[str, int]):
    """Address by symbol: valid as long as this object lives.

    Whoever runs the code, or keeps an address of it, keeps this."""

    key: bytes = b""
    """Of the code, in the cache."""
    pages: tuple[int, int] = 0, 0
    """Where the image begins, and its bytes."""
    end: object = None
    """Frees them."""


def load(image: Image) -> Loaded:
    """Put an image into memory.

    Returns
    -------
    Loaded
        Address by symbol.

    Raises
    ------
    RuntimeError
        If the process lacks a function that the code calls, or may not make memory executable.
    """
    absent = [name for _, name in image.functions if function(name) is None]
    if absent:
        raise RuntimeError(f"code needs functions that this process lacks: {', '.join(absent)}")
    data_at = image.data_at
    size = -(-(data_at + len(image.data) + image.zeros) // PAGE) * PAGE
    base = _pages(size)
    found = Loaded({name: base + at for name, at in image.symbols.items()})
    found.pages, found.end = (base, size), at_end(partial(_give, base, size))
    ctypes.memmove(base, image.code, len(image.code))
    if image.data:
        ctypes.memmove(base + data_at, image.data, len(image.data))
    words = [(at, function(name) or 0) for at, name in image.functions]
    words += [(at, base + place) for at, place in image.addresses]
    for at, word in words:
        ctypes.c_uint64.from_address(base + at).value = word
    make_executable(base, data_at)
    return found


def make_executable(base: int, size: int) -> None:
    """Let pages be executed, and not be written; RuntimeError where that may not be."""
    if _process().mprotect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise RuntimeError(f"memory may not be made executable: {os.strerror(ctypes.get_errno())}")


_free: list[tuple[int, int]] = []
"""Pages that are mapped and not yet taken: where they begin, and their bytes."""


_spare: dict[int, list[int]] = {}
"""Pages of images that are gone, by their bytes."""


def _give(base: int, size: int) -> None:
    _spare.setdefault(size, []).append(base)        # from any thread: a list's append is whole


def _pages(size: int) -> int:
    """Zeroed pages, to be written: most kernels have one or two, and mapping some for each takes longer."""
    with suppress(KeyError, IndexError):
        base = _spare[size].pop()
        if _process().mprotect(base, size, mmap.PROT_READ | mmap.PROT_WRITE):
            raise RuntimeError(f"memory may not be written again: {os.strerror(ctypes.get_errno())}")
        ctypes.memset(base, 0, size)
        return base
    if size > MAPPED // 4:
        return map_pages(size)
    try:
        base, left = _free.pop()
    except IndexError:
        base, left = map_pages(MAPPED), MAPPED
    if size > left:
        _spare.setdefault(left, []).append(base)
        base, left = map_pages(MAPPED), MAPPED
    if left > size:
        _free.append((base + size, left - size))
    return base


def map_pages(size: int) -> int:
    """Fresh pages, to be written."""
    access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base: int | None = _process().mmap(None, size, access, kind, -1, 0)
    if base is None or base == _FAILED:
        raise RuntimeError(f"no memory for code: {os.strerror(ctypes.get_errno())}")
    return base
