"""Where an array lies in its storage, described by an ndarray over *ghost* memory.

Ghost memory is reserved address space that is never touched, so a geometry costs no bytes.  NumPy
itself answers every question about slices, transposes, reshapes, flags and strides, at C speed and
with its own errors.  Geometries are immutable by contract and shared; anything that sets `.shape`
or `.flags` works on `geo.view()`.

Nothing here reads ghost memory either, but a debugger may, and finds zeros.  Where address space is
limited (`ulimit -v`), it is for arrays: large ghosts then lie where nobody has memory.

In: shapes, dtypes, indices.   Out: ndarrays over ghost memory, never read or written.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import mmap
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy

MAX_FRESH = 4096
"""Shared geometries that are kept, or twice as many as were in use when there were too many."""
_most = MAX_FRESH

_fresh: dict[tuple[tuple[int, ...], numpy.dtype, str], numpy.ndarray] = {}
FRESH: dict[int, numpy.ndarray] = {}
"""The shared geometries that `fresh` keeps, by identity: they live as long as they are listed here."""

DATA_FIELD = 16                     # PyArrayObject: head (16 bytes), then char *data


def _slow_address(x: numpy.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


_words: Any = (ctypes.c_ssize_t * (1 << 58)).from_address(0)
"""All of memory: reading a word of it makes no object but the number."""


def _fast_address(x: numpy.ndarray) -> int:
    """The data pointer, read from the object: `__array_interface__` takes nine times as long."""
    return _words[id(x) + DATA_FIELD >> 3]      # type: ignore[no-any-return]


_probe = numpy.empty(3)[1:]
address = _fast_address if _fast_address(_probe) == _slow_address(_probe) else _slow_address


_KNOWN = sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64")
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if _KNOWN else 0)       # Python has it from 3.13 on
_RESERVE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
_SMALL = 1 << 24                    # bytes of address space that nobody misses
_ADDRESSES = 1 << 46                # more than a process can have
_NOWHERE = 1 << 62                  # in no process's memory on any machine, aligned for all types


def _reserved(nbytes: int) -> mmap.mmap | None:
    if nbytes > _SMALL and _is_limited():
        return None
    try:
        return mmap.mmap(-1, nbytes, flags=_RESERVE)
    except (OSError, ValueError, OverflowError):
        return None


def _is_limited() -> bool:
    try:
        import resource
    except ImportError:                         # a system without such limits
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


_no_memory: Any = (ctypes.c_ubyte * _ADDRESSES).from_address(_NOWHERE)
_nowhere = numpy.frombuffer(_no_memory, numpy.uint8)
GHOSTS = {id(_nowhere): _NOWHERE}
"""Ghosts by identity: their addresses.  They are kept for ever."""
_ghosts: list[numpy.ndarray] = []


def _ghost(nbytes: int) -> numpy.ndarray:
    """The ghost made last, if it is large enough, or a larger one."""
    if not _ghosts or _ghosts[-1].nbytes < nbytes:
        memory = _reserved(max(_SMALL, 1 << (nbytes - 1).bit_length()))
        if memory is None:
            return _nowhere
        ghost = numpy.frombuffer(memory, numpy.uint8)
        GHOSTS[id(ghost)] = address(ghost)
        _ghosts.append(ghost)
    return _ghosts[-1]


def geometry(
    shape: Sequence[int],
    dtype: numpy.dtype,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    nbytes: int | None = None,
) -> numpy.ndarray:
    """A geometry inside a storage of `nbytes` (default: exactly its own)."""
    need = max(1, math.prod(shape) * dtype.itemsize if nbytes is None else nbytes)
    if need > _ADDRESSES:
        numpy.empty(shape, dtype)               # NumPy says in its words that there is no such memory
        raise MemoryError(f"Unable to allocate {need} bytes")
    if nbytes is None and _ghost(need) is _nowhere:
        numpy.empty(shape, dtype)           # refused before a frame has a geometry that a debugger may show
    return numpy.ndarray(shape, dtype, _ghost(need), offset, strides)


def together(g: numpy.ndarray, h: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Two geometries of one storage in one ghost: storages are described in the ghosts of their time."""
    if g.base is h.base:
        return g, h
    need = max(extent(g)[1], extent(h)[1])
    on_one = [geometry(x.shape, x.dtype, x.strides, offset_of(x), need) for x in (g, h)]
    return on_one[0], on_one[1]


LEGACY_AXES = 32
"""Some of NumPy's C code takes no arrays of more axes, and says so."""


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """numpy.broadcast_shapes, which is such code."""
    try:
        return numpy.broadcast_shapes(*shapes)
    except RuntimeError:
        columns = itertools.zip_longest(*[shape[::-1] for shape in shapes], fillvalue=1)
        sizes = [set(column) - {1} or {1} for column in columns]
        if any(len(size) > 1 for size in sizes):
            raise ValueError("shape mismatch") from None
        return tuple([size.pop() for size in reversed(sizes)])


PROBED = 1 << 26
"""Bytes from which the system is asked for a result's memory at the call."""

_granted = 0
"""Bytes that the system has not refused; it would not refuse fewer."""


def probe(geo: numpy.ndarray) -> None:
    """Raise NumPy's MemoryError, at the call as NumPy does, for what the system would refuse.

    To take memory and give it back takes 0.1 ms where other threads run.  Linux, as it is usually set,
    refuses what is more than the machine has, whatever is in use: so a size is asked for once."""
    global _granted
    if geo.nbytes > _granted or _is_limited():
        numpy.empty(geo.shape, geo.dtype)
        if _refuses_by_size():
            _granted = max(_granted, geo.nbytes)


@functools.cache
def _refuses_by_size() -> bool:
    try:
        with open("/proc/sys/vm/overcommit_memory", encoding="ascii") as file:
            return file.read(1) in ("0", "1")
    except OSError:
        return False


def fresh(shape: tuple[int, ...], dtype: numpy.dtype, order: str = "C") -> numpy.ndarray:
    """The geometry of a new contiguous array ('C' or 'F'); cached, since geometries are shared."""
    key = shape, dtype, order
    found = _fresh.get(key)
    if found is None:
        strides = None if order == "C" else _columns(shape, dtype.itemsize)
        found = geometry(shape, dtype, strides)
        if len(_fresh) >= _most:
            _let_go()
        _fresh[key] = found
        FRESH[id(found)] = found
    return found


def _let_go() -> None:
    """Forget the shared geometries that nobody has; those in use stay known for what they are."""
    global _most
    nobodys = (), numpy.dtype("?"), "nobody's"
    made = geometry((), nobodys[1], None)
    _fresh[nobodys] = FRESH[id(made)] = made
    del made                                    # (else, where all are used, those used least are forgotten)
    listed = [*_fresh.items()]
    counts = [sys.getrefcount(geo) for _, geo in listed]
    unused = min(counts)
    for (key, geo), count in zip(listed, counts, strict=True):
        if count == unused:
            _fresh.pop(key, None)               # (another thread may be at it)
            FRESH.pop(id(geo), None)
    _most = max(MAX_FRESH, 2 * len(_fresh))


def is_fresh(geo: numpy.ndarray) -> bool:
    """Is this one of the shared geometries that `fresh` keeps?"""
    return id(geo) in FRESH


def _columns(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    step = itemsize
    for n in shape:
        strides.append(step)
        step *= max(n, 1)
    return tuple(strides)


def like(x: numpy.ndarray) -> numpy.ndarray:
    """A fresh storage's geometry with the shape, dtype and strides of a stand-in."""
    if x.flags.c_contiguous:
        usual = fresh(x.shape, x.dtype)
        if usual.strides == x.strides:          # axes of length 1 may have any
            return usual
    if any(s < 0 for s in x.strides):
        raise ValueError("a fresh layout has no negative strides")
    return geometry(x.shape, x.dtype, x.strides)


def offset_of(geo: numpy.ndarray) -> int:
    """Bytes from the start of the storage to the first element."""
    if id(geo) in FRESH or geo.size == 0:
        return 0
    return address(geo) - GHOSTS[id(geo.base)]


def extent(geo: numpy.ndarray) -> tuple[int, int]:
    """First byte and end of the bytes that a geometry visits, from the start of the storage."""
    low = high = offset_of(geo)
    for stride, n in zip(geo.strides, geo.shape, strict=True):
        if stride < 0:
            low += stride * (n - 1)
        else:
            high += stride * (n - 1)
    return low, high + geo.itemsize


def within(geo: numpy.ndarray, nbytes: int) -> bool:
    """Does a geometry stay inside a storage of `nbytes`?  (NumPy sees the ghost, which is larger.)"""
    low, high = numpy.lib.array_utils.byte_bounds(geo)
    start = GHOSTS[id(geo.base)]
    return not geo.size or (start <= low and high <= start + nbytes)


def view_geometry(result: object) -> numpy.ndarray | None:
    """The geometry that NumPy answered with, if it is a view of a geometry; None for a copy or a scalar.

    Some functions (as_strided, sliding windows) interpose an object between view and ghost."""
    if type(result) is not numpy.ndarray:
        return None
    base = result.base
    while base is not None:
        if id(base) in GHOSTS:
            if base is result.base:
                return result
            offset = address(result) - GHOSTS[id(base)] if result.size else 0
            return numpy.ndarray(result.shape, result.dtype, base, offset, result.strides)
        base = getattr(base, "base", None)
    return None


def in_order(g: numpy.ndarray) -> bool:
    """Do elements in C order lie one after the other, however far apart?"""
    strides = [s for s, n in zip(g.strides, g.shape, strict=True) if n > 1]
    return all(x >= y for x, y in itertools.pairwise(map(abs, strides)))


try:
    numpy.reshape(numpy.empty(1), (1,), copy=False)
except TypeError:                               # NumPy 2.0: setting `.shape` copies first, and asks then

    def reshaped(geo: numpy.ndarray, shape: Any, order: Any = "C") -> numpy.ndarray | None:
        """A view in another shape; None where NumPy would copy."""
        full = numpy.broadcast_to(numpy.zeros((), geo.dtype), geo.shape).reshape(shape).shape
        from_last = order == "F"
        strides = _split(geo.T if from_last else geo, full[::-1] if from_last else full)
        if strides is None:
            return None
        base = geo if geo.base is None else geo.base
        offset = address(geo) - (GHOSTS[id(base)] if id(base) in GHOSTS else address(base)) if geo.size else 0
        result = numpy.ndarray(full, geo.dtype, base, offset, strides[::-1] if from_last else strides)
        if not geo.flags.writeable:
            result.flags.writeable = False
        return result

    def _split(geo: numpy.ndarray, shape: tuple[int, ...]) -> list[int] | None:
        """The strides with which axes of these extents, in C order, visit the same elements."""
        if not geo.size:
            return [*_columns(shape[::-1], geo.itemsize)][::-1]
        runs: list[tuple[int, int]] = []        # axes that are one, by (extent, stride)
        for n, step in zip(geo.shape, geo.strides, strict=True):
            if n == 1:
                continue
            if runs and runs[-1][1] == n * step:
                n *= runs.pop()[0]
            runs.append((n, step))
        strides, left, step = [], 1, geo.itemsize
        for n in reversed(shape):
            if left == 1 and n > 1:
                left, step = runs.pop()
            if left % n:
                return None
            strides.append(step)
            step, left = step * n, left // n
        return strides[::-1]
else:

    def reshaped(geo: numpy.ndarray, shape: Any, order: Any = "C") -> numpy.ndarray | None:
        """A view in another shape; None where NumPy would copy."""
        try:
            return numpy.reshape(geo, shape, order=order, copy=False)
        except ValueError:
            return None


def same(g: numpy.ndarray, h: numpy.ndarray) -> bool:
    """The same elements of one storage, in the same order."""
    if g is h:
        return True
    one = g.base is h.base
    if one and g.size and address(g) != address(h):    # (most that differ do in that)
        return False
    return (
        g.shape == h.shape
        and (g.strides == h.strides or _steps(g) == _steps(h))
        and g.dtype == h.dtype
        and (one or offset_of(g) == offset_of(h))
    )


def elements(geo: numpy.ndarray) -> tuple[Any, ...]:
    """Equal for geometries that are the `same`."""
    shape, strides = geo.shape, geo.strides
    if 1 in shape:
        strides = tuple(_steps(geo))
    return shape, strides, geo.dtype, offset_of(geo)


def _steps(geo: numpy.ndarray) -> list[int]:
    """Strides of the axes along which there is something to step over."""
    return [s for s, n in zip(geo.strides, geo.shape, strict=True) if n > 1]


_nditer: Any = numpy.nditer
"""Untyped: NumPy's stubs know no lists of flags, and other overloads in each version."""


def layout(
    dtype: numpy.dtype, shape: tuple[int, ...], geos: Sequence[numpy.ndarray], at_once: bool = True
) -> numpy.ndarray:
    """The geometry that a ufunc gives a fresh result: the memory order of its operands (nditer's K).

    `at_once`: NumPy calls its loop without an iterator, if all are contiguous in one order (which shows in
    the strides of axes of length 1): nothing is cast, and there is one result."""
    if all(g.flags.c_contiguous for g in geos if g.ndim):
        return fresh(shape, dtype)
    full = [g for g in geos if g.ndim]
    columns = at_once and full and all(g.shape == shape and g.flags.fnc for g in full)
    operands: Any = [None, *geos]
    it = _nditer(
        operands,
        ["zerosize_ok"],
        [["writeonly", "allocate"]] + [["readonly"]] * len(geos),
        op_dtypes=[dtype] + [None] * len(geos),
        order="F" if columns else "K",
        itershape=shape,
    )
    return like(it.operands[0])


def descends(geo: numpy.ndarray, shape: tuple[int, ...]) -> bool:
    """Is it of this shape, and lie its axes in C order, however far apart (a part of an array, say)?  nditer
    leaves axes as they are then; asking it takes longer than all else of an operation."""
    if geo.shape != shape:
        return False
    last = sys.maxsize
    for stride, n in zip(geo.strides, shape, strict=True):
        if n < 2 or not 0 < stride <= last:
            return False
        last = stride
    return True


def reduced_layout(
    dtype: numpy.dtype, geo: numpy.ndarray, axes: Sequence[int], keepdims: bool,
    mask: numpy.ndarray | None = None,
) -> numpy.ndarray:
    """The geometry that a reduction gives its result: the memory order of the input, and of the `mask` that
    says where, without `axes`."""
    if geo.flags.c_contiguous and (mask is None or mask.flags.c_contiguous):
        ones = (1,) if keepdims else ()
        shape: tuple[int, ...] = ()
        for i, n in enumerate(geo.shape):
            shape += ones if i in axes else (n,)
        return fresh(shape, dtype)
    kept = iter(range(geo.ndim))
    if keepdims:                                # nditer gives axes of length 1 their strides, too
        to = [i + _REDUCED if i in axes else i for i in range(geo.ndim)]
    else:
        to = [-1 if i in axes else next(kept) for i in range(geo.ndim)]
    read = [geo] if mask is None else [geo, mask]
    operands: Any = [None, *read]
    it = _nditer(
        operands,
        ["reduce_ok"],
        [["readwrite", "allocate"], *[["readonly"]] * len(read)],
        op_dtypes=[dtype] + [None] * len(read),
        op_axes=[to, *([-1] * (geo.ndim - g.ndim) + list(range(g.ndim)) for g in read)],
    )
    return like(it.operands[0])


_REDUCED = 1 << 30
"""NPY_ITER_REDUCTION_AXIS: what NumPy's C code adds to an axis of the output that is reduced over."""
