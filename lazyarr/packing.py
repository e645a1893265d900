"""Packing what exists: a[mask] at the call, by machine code, where NumPy would go element by element.

In:  an array and a bool array, real ones that lie side by side.   Out: the elements where the mask is True.
NumPy asks of each element whether it is kept, which nobody can guess: up to 5 ns for one.  Registers packed
by a table take 0.15 to 0.3, however many are kept, so up to some hundred thousand elements no node, and no
plan for one, comes near; beyond, what is kept had better pass through the caches (`launch_compress`), on all
cores.
Results, errors and memory are those of NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.awaited import Awaited
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.config import ANY_CPU, cpu_key, current
from lazyarr.counters import COUNT
from lazyarr.geometry import address
from lazyarr.habits import MEDIUM
from lazyarr.slot_words import PACKERS, SPREADERS, UNPACKED
from lazyarr.switches import is_off

PAYS, WRITING_PAYS = 8, 100
"""Masks for which NumPy picks elements before the code is looked for in the cache, and after which it is
compiled."""

LEAST = 512
"""Elements of which NumPy picks some sooner."""

OF_SLOTS = 1 << 20
"""Elements among which slots let NumPy pick that count for a mask: that takes a few milliseconds.  (To load
the code takes 20, where nothing else is compiled, and many masks are of small arrays.)"""

NEVER = -1 << 62
"""So many of them there will not be."""

OPT = 2
"""LLVM's level of code generation."""

Pack = Callable[[int, int, int, int, int], None]
"""Function (mask, from, to, end, elements), without the GIL."""


class Packing(Awaited):
    """The code, for the target of kernels, once there were enough masks."""

    def __init__(self) -> None:
        super().__init__(PAYS, WRITING_PAYS)
        self.by_size: dict[int, Pack] = {}
        """Bytes of an element -> what packs such."""
        self._cpu: tuple[Any, ...] = ()
        """The options that its target follows from."""

    def load(self, compiles: bool) -> bool:
        self._cpu = cpu_key()
        packs, spreads = _load(compiles)
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
        self.by_size = {size: signature(address) for size, address in packs.items()}
        if self._cpu == ANY_CPU:
            for words, addresses in (PACKERS, packs), (SPREADERS, spreads):
                for size, address in addresses.items():
                    words[size] = address
        return bool(self.by_size)

    def hear_slots(self) -> None:
        """NumPy has picked among as many elements as was waited for (`UNPACKED`)."""
        UNPACKED.value = NEVER                  # (whatever happens meanwhile)
        try:
            self.hear(max(self.left, 0))
        finally:
            if self.left >= 0:
                UNPACKED.value = -OF_SLOTS * max(self.left, 1)

    def usual(self) -> bool:
        """Is there code, for the target that is asked for now?"""
        return bool(self.by_size) and self._cpu == cpu_key()


PACKING = Packing()


def fits(x: numpy.ndarray, mask: numpy.ndarray) -> bool:
    """Do they lie so that the code can pack them, as far as geometries tell?  (A mask of the first axes picks
    rows of some elements.)"""
    return (
        mask.size >= LEAST and x.flags.c_contiguous and mask.flags.c_contiguous
        and x.shape[: mask.ndim] == mask.shape and not x.dtype.hasobject
        and x.nbytes // mask.size in PACKING.by_size
    )  # fmt: skip


def is_medium(size: int) -> bool:
    """Is an array of so many elements packed at the call?"""
    return size <= MEDIUM * current.eager_elements


def packed(x: numpy.ndarray, mask: numpy.ndarray) -> numpy.ndarray:
    """x[mask], for a mask of bools."""
    if not may_pack(x, mask):
        if mask.size >= LEAST and not PACKING.by_size:
            PACKING.hear()
        result: numpy.ndarray = x[mask]
        return result
    found = numpy.empty((count_kept(mask), *x.shape[mask.ndim :]), x.dtype)
    pack(x, mask, found)
    return found


def may_pack(x: numpy.ndarray, mask: numpy.ndarray) -> bool:
    """Is there code for these?"""
    return PACKING.usual() and fits(x, mask) and type(x) is numpy.ndarray and current.jit != "never"


def count_kept(mask: numpy.ndarray) -> int:
    """How many elements a mask keeps."""
    return int(numpy.count_nonzero(mask))


def pack(x: numpy.ndarray, mask: numpy.ndarray, to: numpy.ndarray) -> None:
    """Write x[mask] to memory with room for so many elements."""
    if to.size == x.size:
        to.reshape(-1)[:] = x.reshape(-1)
    elif to.size:
        at = address(to)
        PACKING.by_size[x.nbytes // mask.size](address(mask), address(x), at, at + to.nbytes, mask.size)
        COUNT.native_launches += 1


def _load(compiles: bool) -> tuple[dict[int, int], dict[int, int]]:
    """The code, from the cache, or compiled: bytes of an element -> address of what packs, and of what
    assigns; nothing where it is not there, or the target has none."""
    if is_off("packs") or not (loads_cached() or COMPILER.usable):
        return {}, {}
    from lazyarr.codegen import pack_bytes, spread_bytes
    from lazyarr.kernels import host
    from lazyarr.own_code import load

    target = host()
    if not pack_bytes.packs(target):
        return {}, {}
    kinds = pack_bytes, spread_bytes
    names = [{size: kind.symbol_of(target, size) for size in pack_bytes.SIZES} for kind in kinds]
    symbols = tuple([name for of_kind in names for name in of_kind.values()])
    found: Any = load(lambda: spread_bytes.text(target), symbols, None, target, OPT, compiles)
    if found is None:
        return {}, {}
    packs, spreads = ({size: found[name] for size, name in of_kind.items()} for of_kind in names)
    return packs, spreads
