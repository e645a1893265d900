"""Replays: calls of a traced function by its kernels alone.

In:  a `Trace`.   Out: `Replay`: inputs -> what the function returns; `Misfit` where it must run itself.
`small` and `large` are the two ways; here is what they share: numbers, and what results are made of.
Nothing of a trace but its programs is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from lazyarr.arrays import plain
from lazyarr.compiling.casts import is_beyond
from lazyarr.compiling.interpret import Derived, Ref
from lazyarr.compiling.trace import Result, Trace
from lazyarr.compiling.values import Refused
from lazyarr.geometry import fresh, offset_of


class Misfit(Exception):
    """This call is not one that the replay is for: the function itself does it."""


class Flagged(Misfit):
    """It was run, and raised floating-point flags: nobody need look at the call again."""


class Numbers:
    """The numbers of a call.

    NumPy's scalars warn where they compute, which is for the function itself to do: an error here."""

    def __init__(self, numbers: Sequence[int | Derived]) -> None:
        self.inputs = [made for made in numbers if not isinstance(made, Derived)]
        self.constants: list[Any] = []
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...], type]] = []
        self.places: list[int] = []
        """Where `__call__` has each of them."""
        first = len(self.inputs)
        derived = [made for made in numbers if isinstance(made, Derived)]
        self.constants = [a for made in derived for a in made.args if not isinstance(a, Ref)]
        first += len(self.constants)
        self.warns = not all(made.pure for made in derived)
        places, inputs, constant = self.places, 0, len(self.inputs)
        for made in numbers:
            if isinstance(made, Derived):
                args = []
                for a in made.args:
                    args.append(places[a.place] if isinstance(a, Ref) else constant)
                    constant += not isinstance(a, Ref)
                self.steps.append((made.fn, tuple(args), made.type))
                places.append(first + len(self.steps) - 1)
            else:
                places.append(inputs)
                inputs += 1

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The numbers, and what they are computed of."""
        found = [given[k] for k in self.inputs]
        if self.steps:
            found += self.constants
            try:
                if self.warns:
                    with numpy.errstate(all="raise"):
                        self._compute(found)
                else:
                    self._compute(found)
            except Exception:           # Python's own: the function will raise it
                raise Misfit from None
        return found

    def _compute(self, found: list[Any]) -> None:
        for fn, places, type_ in self.steps:
            value = fn(*[found[k] for k in places])
            if value.__class__ is not type_:
                raise Misfit
            found.append(value)


def converted(type_: type, value: Any) -> Any:
    """A number as a kernel takes it."""
    if value.__class__ is type_:
        return value
    try:
        if is_beyond(value, type_):     # NumPy warns of that
            raise Misfit
        return type_(value)
    except (OverflowError, TypeError, ValueError):
        raise Misfit from None


COUNTED = 1024
"""Calls of small replays after which kernels hear what they have run: nobody looks at the clock for each."""


class Replay:
    """One kind of calls."""

    def __init__(self, trace: Trace) -> None:
        self.written = tuple(trace.recorded.last)
        self.flagged = trace.flagged
        self.reach = trace.recorded.reach
        self.numbers = Numbers(trace.recorded.numbers) if trace.recorded.numbers else None
        self.places = self.numbers.places if self.numbers is not None else []
        self.offsets = trace.recorded.offsets
        self.result = trace.recorded.result
        self.short: Any = None
        """The short way here (`compiling.short`)."""
        self.sizes: list[int] = []
        """Bytes of results' memory."""
        self.arrays = [k for k, value in enumerate(trace.recorded.inputs) if value is not None]
        self.misfits = 0
        """Calls in a row in which the function had to run as well."""
        self.kernels = self.ops = 0

    def load(self) -> None:
        """Compile now what calls need."""

    def __call__(self, given: Sequence[Any], memory: list[Any], mask: int, looked: bool = True) -> Any:
        """What the function returns for the inputs `given`.

        `memory` has for each array one that begins where its first element lies.  `mask` says which
        floating-point flags NumPy would warn of; where one is raised, the call is a Misfit.  If nobody has
        `looked` at the arrays' layouts, another one is a Misfit, too."""
        raise NotImplementedError


Build = Callable[[list[Any], Sequence[Any], list[Any]], Any]
"""Results' memory, inputs, numbers -> what the function returns."""


def builder(r: Result, array: Callable[[Result], Build], places: Sequence[int]) -> Build:
    """What makes a result; `array` says it for arrays, and `places` where numbers are."""
    at = r.at
    if r.kind == "array":
        return array(r)
    if r.kind == "scalar":
        return lambda results, given, numbers: results[at][0]
    if r.kind == "input":
        return lambda results, given, numbers: given[at]
    if r.kind == "number":
        place = places[at]
        return lambda results, given, numbers: numbers[place]
    if r.kind == "constant":
        return lambda results, given, numbers: at
    parts = [builder(item, array, places) for item in at]
    if r.kind == "list":
        return lambda results, given, numbers: [make(results, given, numbers) for make in parts]
    return lambda results, given, numbers: tuple([make(results, given, numbers) for make in parts])


def pieces(r: Result) -> list[Result]:
    """The parts of what a function returns, side by side."""
    return [x for item in r.at for x in pieces(item)] if r.kind in ("tuple", "list") else [r]


Make = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of NumPy's and its arguments."""


def maker(nbytes: int, k: int, result: Result) -> Make:
    """How to make the memory of result `k`: as the array itself, or as what it is a view of."""
    r = next(r for r in pieces(result) if r.kind in ("array", "scalar") and r.at == k)
    geo = r.geo if r.origin is None else r.origin
    assert geo is not None
    shape, dtype, strides = geo.shape, geo.dtype, geo.strides
    # (Strides along axes of one element are NumPy's, too, unless nobody sees them.)
    if geo.nbytes == nbytes and (r.origin is not None or strides == fresh(shape, dtype).strides):
        if geo.flags.c_contiguous:
            return numpy.empty, (shape, dtype)
    elif geo.nbytes == nbytes:
        if strides == fresh(shape, dtype, "F").strides:
            return numpy.empty, (shape, dtype, "F")
        if geo.flags.forc:
            return numpy.ndarray, (shape, dtype, None, 0, strides)
        if strides == numpy.empty_like(geo).strides:
            return numpy.empty_like, (geo,)
    raise Refused("it returns an array of an unusual layout")


def over(r: Result, make: Make) -> Build:
    """An array over memory of NumPy's that `make` makes: NumPy's own, or a lazy one."""
    at, geo = r.at, r.geo
    assert geo is not None
    if r.origin is None:
        return (lambda results, *_: results[at]) if r.foreign else lambda results, *_: plain(results[at])
    assert not r.foreign
    shape, dtype, offset, strides = geo.shape, geo.dtype, offset_of(geo), geo.strides
    writeable = geo.flags.writeable

    def view(results: list[Any], *_: Any) -> Any:
        x = numpy.ndarray(shape, dtype, results[at], offset, strides)
        if not writeable:
            x.flags.writeable = False
        return plain(x)

    return view
