"""Where what exists is not zero: `nonzero` and its like at the call, by machine code.

In:  real arrays.   Out: what NumPy gives for them.
NumPy looks at each element of several axes, or of a type that is not bool, by itself, and guesses whether it
counts: 2 to 15 ns.  Positions that are looked up byte of bits by byte take 0.3 to 0.5, and those of several
axes are divided by their extents afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy

from lazyarr.awaited import Awaited
from lazyarr.compiler import COMPILER, loads_cached
from lazyarr.config import cpu_key, current
from lazyarr.counters import COUNT
from lazyarr.geometry import address
from lazyarr.slot_words import FINDS, LEAST, LEAST_TRUTHS
from lazyarr.switches import is_off

PAYS, WRITING_PAYS = 8, 100
"""Arrays that NumPy looks through before the code is looked for in the cache, and after which it is
compiled."""

OPT = 2
"""LLVM's level of code generation."""

Finder = tuple[Callable[[int, int, int], None], Callable[[int, int, int, int, int], None]]
"""Functions (from, counted, elements) and (from, to, end, found, elements), without the GIL."""

KINDS = {
    **dict.fromkeys("?bB", "b1"), **dict.fromkeys("hH", "b2"), **dict.fromkeys("iI", "b4"),
    **dict.fromkeys("lLqQ", "b8"), "e": "f2", "f": "f4", "d": "f8",
}  # fmt: skip
"""Type characters -> what the code calls them; what else is a number is made truths first."""

FOUND = "biufc"
"""The kinds of what is a number."""


class Finding(Awaited):
    """The code, for the target of kernels, once there were enough arrays."""

    def __init__(self) -> None:
        super().__init__(PAYS, WRITING_PAYS)
        self.by_kind: dict[str, Finder] = {}
        self._cpu: tuple[Any, ...] = ()
        """The options that its target follows from."""

    def load(self, compiles: bool) -> bool:
        self._cpu = cpu_key()
        self.by_kind = _load(compiles)
        return bool(self.by_kind)

    def hear(self, count: int = 1, nbytes: int = 0) -> None:
        super().hear(count, nbytes)
        if self.left < 0 and not self.by_kind:
            FINDS.value = 0                         # (there will be none: slots need not ask)

    def usual(self) -> bool:
        """Is there code, for the target that is asked for now?"""
        return bool(self.by_kind) and self._cpu == cpu_key()


FINDING = Finding()


def _load(compiles: bool) -> dict[str, Finder]:
    """The code, from the cache, or compiled; nothing where it is not there."""
    if is_off("packs") or not (loads_cached() or COMPILER.usable):
        return {}
    from lazyarr.codegen import find_places
    from lazyarr.kernels import host
    from lazyarr.own_code import load

    target = host()
    names = find_places.symbols(target)
    symbols = tuple([name for both in names for name in both])
    found: Any = load(lambda: find_places.text(target), symbols, None, target, OPT, compiles)
    if found is None:
        return {}
    counts = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int64)
    finds = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    pairs = [(counts(found[count]), finds(found[find])) for count, find in names]
    return dict(zip(find_places.KINDS, pairs, strict=True))


def nonzero(x: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
    """x.nonzero()"""
    flat = places(x)
    if flat is None or not flat.size:
        return _asked(x, flat).nonzero()
    if x.ndim == 1:
        return (flat[:, 0],)
    found = numpy.empty((flat.size, x.ndim), numpy.intp)
    _divide(flat[:, 0], x.shape, found.T)
    return tuple(found.T)


def flatnonzero(x: Any) -> Any:
    """numpy.flatnonzero"""
    flat = places(x)
    if flat is None or not flat.size:
        return numpy.flatnonzero(_asked(x, flat))
    return flat[:, 0]


def argwhere(x: numpy.ndarray) -> Any:
    """numpy.argwhere"""
    flat = places(x)
    if flat is None or not flat.size:
        return numpy.argwhere(_asked(x, flat))
    found = numpy.empty((x.ndim, flat.size), numpy.intp)
    _divide(flat[:, 0], x.shape, found)
    return found.T


def are_many(x: numpy.ndarray) -> bool:
    """Are there so many elements that the code is sooner than NumPy?"""
    return x.size >= (LEAST_TRUTHS if x.ndim == 1 and x.dtype.char == "?" else LEAST)


def places(x: numpy.ndarray) -> numpy.ndarray | None:
    """A column of where elements are not zero, counted in C order; None: that is for NumPy to say."""
    if not are_many(x) or x.dtype.kind not in FOUND or type(x) is not numpy.ndarray or not x.ndim:
        return None
    if not FINDING.usual() or current.jit == "never":
        if not FINDING.by_kind:
            FINDING.hear(nbytes=x.nbytes)
        return None
    kind = KINDS.get(x.dtype.char) if x.dtype.isnative and x.flags.c_contiguous else None
    if kind is None:
        x, kind = x.astype(bool, order="C"), "b1"
    count, find = FINDING.by_kind[kind]
    many = ctypes.c_int64()
    start, told = address(x), ctypes.addressof(many)
    if x.dtype.char == "?":
        many.value = int(numpy.count_nonzero(x))
    else:
        count(start, told, x.size)
    n = many.value
    found = numpy.empty((n, 1), numpy.intp)
    at = address(found)
    find(start, at, at + found.nbytes, told, x.size)
    COUNT.native_launches += 1
    return found if many.value == n else None       # (another thread has written to it)


def _asked(x: numpy.ndarray, flat: numpy.ndarray | None) -> numpy.ndarray:
    """What NumPy is asked: the array, or, if nothing was found, one of as many axes with nothing in it."""
    return x if flat is None else numpy.zeros((1,) * x.ndim, bool)


def _divide(flat: numpy.ndarray, shape: tuple[int, ...], found: numpy.ndarray) -> None:
    """Positions along each axis, from those in C order: rows of `found`.  (Two axes take no other
    memory.)"""
    last = len(shape) - 1
    if not last:
        found[0] = flat
    for d in range(last, 0, -1):
        now, above = (flat if d == last else found[d]), found[d - 1]
        numpy.floor_divide(now, shape[d], out=above)
        if d == last:
            numpy.multiply(above, -shape[d], out=found[d])
            found[d] += flat
        else:
            found[d] -= above * shape[d]
