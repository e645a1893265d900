"""`lazyarr.stencil`: kernels that are written for one element and its neighbours, as arithmetic on slices.

In:  a kernel that takes relative indices (``a[-1, 0] + a[1, 0]``).   Out: a function of whole arrays.
A relative index stands for a slice of the array: all elements of the inside at once.  So the kernel runs once
for all elements, on lazy arrays, and what it does is fused like any slice arithmetic, with the same bits.
How far the kernel reaches is seen at its first run, which is on a few ones.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy

import lazyarr
from lazyarr.compiler import COMPILER
from lazyarr.config import current

Reach = tuple[tuple[int, int], ...]
"""For each axis the least and the greatest relative index; neither excludes the element itself."""

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
LOOKS = ("shape", "ndim", "dtype")
"""Attributes of arrays that a kernel may ask for."""
CALLS = 1000
"""From so many on, LLVM is loaded for the next ones: they have taken as long."""
AT_CALL = 1 << 20
"""Most bytes of lazy arrays that exist, of which a stencil is computed at the call."""
FEW = 16
"""Runs of a kernel for one call, each of which has looked elsewhere than the last."""


class Relative:
    """An array as a kernel has it: its indices are relative."""

    __slots__ = ("_array", "_seen")

    def __init__(self, array: Any, sight: Sight) -> None:
        self._array, self._seen = array, sight

    def __getitem__(self, key: Any) -> Any:
        return self._array[self._seen.slices(key)]

    def __getattr__(self, name: str) -> Any:
        if name in LOOKS:
            return getattr(self._array, name)
        raise AttributeError(f"a relative array has no attribute {name!r}: index it first")


class _Farther(Exception):
    """A kernel looks where it did not look before."""


class Sight:
    """Where a kernel looks, in one run: its reach is "fixed" by the program, "known" or "unknown"."""

    def __init__(self, shape: tuple[int, ...], reach: Reach, state: str) -> None:
        self.shape, self.reach, self.state = shape, reach, state
        self.low, self.high = [0] * len(shape), [0] * len(shape)

    def inside(self, key: Sequence[int]) -> tuple[slice, ...]:
        """The elements that lie `key` away from those of the inside."""
        found = []
        for n, (low, high), k in zip(self.shape, self.reach, key, strict=True):
            start, stop = k - low, n - high + k
            found.append(slice(start, stop) if stop > start >= 0 else slice(0, 0))
        return tuple(found)

    def edges(self) -> list[tuple[slice, ...]]:
        """What lies around the inside."""
        found = []
        for d, (low, high) in enumerate(self.reach):
            for edge in (slice(0, -low), slice(max(self.shape[d] - high, 0), None)):
                found.append((*(slice(None),) * d, edge))
        return found

    def slices(self, key: Any) -> tuple[slice, ...]:
        index = key if isinstance(key, tuple) else (key,)
        if len(index) != len(self.shape):
            raise IndexError(f"{len(index)} relative indices for an array of {len(self.shape)} axes")
        try:
            index = tuple(map(operator.index, index))
        except TypeError:
            raise TypeError("relative indices are integers") from None
        for d, k in enumerate(index):
            self.low[d], self.high[d] = min(self.low[d], k), max(self.high[d], k)
        if self.state == "unknown":
            return (slice(None),) * len(index)
        for k, (low, high) in zip(index, self.reach, strict=True):
            if not low <= k <= high:
                raise IndexError(OUTSIDE.format(k, low, high)) if self.state == "fixed" else _Farther
        return self.inside(index)

    def seen(self) -> Reach:
        return self.reach if self.state == "fixed" else tuple(zip(self.low, self.high, strict=True))


OUTSIDE = "relative index {} is outside of the neighborhood, from {} to {}"


class Stencil:
    """A function of arrays that a kernel computes element by element.

    Attributes
    ----------
    neighborhood : tuple of pairs of int, or None
        For each axis the least and the greatest relative index of the last call; None before the first.
        (Calls within a compiled function do not count.)
    """

    __wrapped__: Any

    def __init__(
        self, kernel: Callable[..., Any], cval: Any, neighborhood: Any, standard_indexing: Sequence[str]
    ) -> None:
        functools.update_wrapper(self, kernel)
        self.signature = inspect.signature(kernel)
        self._names = tuple(self.signature.parameters)
        if any(p.kind not in BY_NAME for p in self.signature.parameters.values()):
            raise ValueError("a stencil's kernel has parameters that have names")
        self._cval = cval
        self.has_border = cval is not None
        self.fixed = neighborhood is not None
        self.standard = frozenset(standard_indexing)
        self.neighborhood: Reach | None = _checked(neighborhood) if self.fixed else None
        names = self._names
        if not names or names[0] in self.standard or not self.standard <= set(names):
            raise ValueError("standard_indexing names parameters, of which the first cannot be one")
        self._calls = 0
        self._compiled: Any = None

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None and not kwargs:
            result = self._replayed(args)
            if result is not None:
                return result
        if kwargs or len(args) != len(self._names):
            given = self.signature.bind(*args, **kwargs).arguments
        else:
            given = dict(zip(self._names, args, strict=True))
        arrays = {
            name: lazyarr.asarray(x) for name, x in given.items()
            if name not in self.standard and isinstance(x, lazyarr.ndarray)
        }  # fmt: skip
        first = arrays.get(self._names[0])
        if first is None or not first.ndim:
            raise TypeError("the first argument of a stencil is an array with axes")
        shape = first.shape
        self.check_shapes(shape, list(arrays.values()))
        if out is not None and out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, not the first array's {shape}")
        if all(x.storage is None for x in arrays.values()):     # they are small, and NumPy's at the call
            arrays = {name: x.geo for name, x in arrays.items()}
        values, sight = self._run(given, arrays, shape)
        return self._placed(values, sight, shape, out)

    def _replayed(self, args: tuple[Any, ...]) -> Any:
        """What a call gives of arrays that exist, by kernels alone; None where there is more to it."""
        self._calls += 1
        if "stencil" not in current.parallel:
            return None
        if self._compiled is None:
            if not (COMPILER.usable or self._calls > CALLS) or type(self.__wrapped__) is not FunctionType:
                return None
            from lazyarr.compiling.face import Compiled
            from lazyarr.compiling.stenciled import stenciled

            root: Any = lambda t, given: stenciled(t, self, tuple(given.values()), {})  # noqa: E731
            self._compiled = Compiled(self.__wrapped__, root)
        if any(x.__class__ is lazyarr.ndarray and _waits(x) for x in args):
            return None
        from lazyarr.compiling.calling import MISFIT

        result = self._compiled.replayed(args, {})
        if result is MISFIT:
            return None
        self.neighborhood = self._compiled.reach
        return result

    def sight(self, shape: tuple[int, ...], reach: Reach, state: str) -> Sight:
        return Sight(shape, reach, state)

    def _run(
        self, given: dict[str, Any], arrays: dict[str, Any], shape: tuple[int, ...]
    ) -> tuple[Any, Sight]:
        """What the kernel gives for the inside, and what it has looked at."""
        if self.fixed and len(self.neighborhood or ()) != len(shape):
            raise ValueError(f"the neighborhood is not one of {len(shape)} axes")
        for _ in range(FEW):
            reach = self.neighborhood
            if reach is None or len(reach) != len(shape):
                reach = self._reach(given, arrays, len(shape))
            sight = Sight(shape, reach, "fixed" if self.fixed else "known")
            try:
                relative = {name: Relative(x, sight) for name, x in arrays.items()}
                values = self.__wrapped__(**given | relative)
            except _Farther:
                self.neighborhood = None
                continue
            self.neighborhood = sight.seen()
            if self.fixed or self.neighborhood == reach:
                return values, sight
        raise RuntimeError("the kernel looks elsewhere at each run")

    def _reach(self, given: dict[str, Any], arrays: dict[str, Any], ndim: int) -> Reach:
        """How far the kernel looks, by a run on a few ones."""
        sight = Sight((2,) * ndim, ((0, 0),) * ndim, "unknown")
        ones = {name: lazyarr.ones((2,) * ndim, x.dtype) for name, x in arrays.items()}
        with lazyarr.errstate(all="ignore"):
            self.__wrapped__(**given | {name: Relative(x, sight) for name, x in ones.items()})
        return sight.seen()

    def _placed(self, values: Any, sight: Sight, shape: tuple[int, ...], out: Any) -> Any:
        """The inside, within its border."""
        dtype = lazyarr.result_type(values)
        cval = self.border(dtype)
        inside = sight.inside((0,) * len(shape))
        if out is None and not isinstance(values, numpy.ndarray | numpy.generic):
            out = lazyarr.full(shape, cval, dtype)
        elif out is None:
            real = numpy.full(shape, cval, dtype)
            if all(part.stop > part.start for part in inside):
                real[inside] = values
            return lazyarr.asarray(real)
        elif self.has_border:
            for edge in sight.edges():
                out[edge] = cval
        if all(part.stop > part.start for part in inside):
            out[inside] = values
        return out


    def border(self, dtype: numpy.dtype) -> Any:
        """The elements of the border of such a result."""
        if self._cval is None:
            return 0
        if not numpy.can_cast(numpy.min_scalar_type(self._cval), dtype, "same_kind"):
            raise ValueError(f"cval={self._cval!r} is no value of the dtype {dtype} that the kernel gives")
        return self._cval

    @staticmethod
    def check_shapes(shape: tuple[int, ...], arrays: list[Any]) -> None:
        for x in arrays:
            if x.ndim != len(shape):
                raise ValueError(
                    f"the arrays of a stencil have {len(shape)} axes as the first one, not {x.ndim}"
                )
            if any(n < m for n, m in zip(x.shape, shape, strict=True)):
                raise ValueError("an array of a stencil is smaller than the first one")


def _waits(x: Any) -> bool:
    """Is it pending, or so large that what is computed of it should be?"""
    return x.storage is not None and (x.storage.value.op is not None or x.nbytes > AT_CALL)


def _checked(neighborhood: Any) -> Reach:
    found = tuple([tuple(map(operator.index, pair)) for pair in neighborhood])
    if not found or any(len(pair) != 2 or pair[0] > 0 or pair[1] < 0 for pair in found):
        raise ValueError("neighborhood has a pair for each axis, of an index up to 0 and one from 0 on")
    return found        # type: ignore[return-value]


def stencil(
    kernel: Callable[..., Any] | None = None, *, cval: Any = None, neighborhood: Any = None,
    standard_indexing: Sequence[str] = (),
) -> Any:
    """Make a function of arrays from a kernel that computes one element of its neighbours.

    Within the kernel, indices of arrays are relative to the element that is computed: ``a[0, 0]`` is that
    element, ``a[-1, 0]`` the one before it along the first axis.  Where the kernel would look beyond the
    first array, whose shape the result has, the result is `cval`.

    The kernel runs on slices of lazy arrays, for all elements at once: it may use ufuncs and `where`, and
    loops and branches that do not depend on elements.  The bits are those of the same arithmetic on slices.

    Parameters
    ----------
    kernel : callable
        A function of one array or more, and of anything else.  Without it, a decorator is returned.
    cval : scalar, optional
        Elements of the border; 0 if it is not given.
    neighborhood : sequence of pairs of int, optional
        For each axis the least and the greatest relative index.  Without it the kernel's own are found.
    standard_indexing : sequence of str, optional
        Parameters whose arrays are indexed as usual.

    Returns
    -------
    Stencil
        Called with the kernel's arguments.  Other arrays than the first have as many axes, and are not
        smaller.  `out`, an array of the first one's shape, takes the result; its border stays as it is,
        unless `cval` is given.

    Examples
    --------
    >>> import lazyarr as np
    >>> @np.stencil
    ... def mean(a):
    ...     return (a[-1] + a[0] + a[1]) / 3
    >>> mean(np.array([0.0, 3.0, 6.0, 0.0]))
    array([0., 3., 3., 0.])
    """

    def make(fn: Callable[..., Any]) -> Stencil:
        return Stencil(fn, cval, neighborhood, standard_indexing)

    return make if kernel is None else make(kernel)
