"""`lazyarr.vectorize`: NumPy's, where Python functions of numbers are compiled if that changes nothing.

In:  a Python function and arrays.   Out: what `numpy.vectorize` returns; large results are lazy arrays.
The contract is NumPy's.  A function takes part as a ufunc would if it is translated (`scalar.translate`), so
that it has no effects, and is called on real numbers.  The types of results are found as NumPy does, by a
call on the first elements, unless `otypes` says them.  A loop that may stop runs at the call: if it stops,
NumPy does the whole call, with Python's exception or result.  What cannot stop is lazy.
"""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
import types
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, fresh_array, is_pending, ndarray, now, wrap
from lazyarr.compiler import COMPILER, LARGE_NS, LOOK_NS
from lazyarr.config import current, options
from lazyarr.dispatch import image
from lazyarr.dtypes import char_of
from lazyarr.elementwise import broadcast, inputs_for
from lazyarr.error_state import loud, prompt
from lazyarr.expr import LOCK, Map
from lazyarr.fallback import fallback
from lazyarr.flags import warn_at_call
from lazyarr.geometry import layout
from lazyarr.interrupts import Held, deliver, hold_signals, release_signals
from lazyarr.records import NamedTuple
from lazyarr.scalar.capture import number_type
from lazyarr.scalar.compiled import Compiled, Known, Refusal, known
from lazyarr.scalar.emit import FUEL, Words
from lazyarr.scalar.ir import NOWHERE
from lazyarr.scalar.loop import Loop
from lazyarr.scalar.results import CHARS
from lazyarr.storage import evaluate

WORTH_NS = 10e6
"""After so much time in Python a function is compiled."""
LAUNCH_NS = 200e3
"""Work below which Python takes less than a launch."""
SAMPLES, SAMPLING_NS = 16, 1e6
"""Elements by which a function is timed, and when that has taken long enough."""
PYTHON_NS = 250.0
"""What an element takes in Python, as long as nobody has looked."""
FEW = 64
"""Elements up to which nothing is looked at."""

KINDS = {"b": "b", "i": "i", "u": "i", "f": "f"}
"""NumPy's kind of an array -> type of its elements as Python has them."""
INPUT = {"b": "?", "i": "l", "f": "d"}
"""What a loop takes for each type."""
SCALAR = {c: numpy.dtype(c).type for c in "?lLd"}




def _watched() -> bool:
    """Does a tool of `sys.monitoring` (Python 3.12) run, such as a profiler or one that measures coverage?"""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, TOOLS))


TOOLS = range(6)
"""Numbers of tools that Python has room for."""

REFUSALS: tuple[tuple[Callable[[], bool], str], ...] = (
    (loud, "floating-point errors are to be raised, called, printed or logged"),
    (lambda: current.jit == "never", "the option `jit` is 'never'"),
    (lambda: not image.here(), "nothing is compiled on this system"),
    (lambda: sys.gettrace() is not None, "a debugger sees each call (`sys.settrace`)"),
    (lambda: sys.getprofile() is not None, "a profiler sees each call (`sys.setprofile`)"),
    (_watched, "a tool sees each call (`sys.monitoring`)"),
)
"""When no function is compiled, and what is said of it."""


def why_not() -> str:
    """Why no function is compiled now; "" where nothing keeps it from that."""
    for applies, why in REFUSALS:
        if applies():
            return why
    return ""


class Arguments(NamedTuple):
    """A call of the function, as far as it is vectorized."""

    varied: dict[str, Any]
    """Arrays and numbers by parameter, in NumPy's order of operands."""
    fixed: dict[str, Any]
    """Numbers of excluded parameters."""
    direct: bool
    """NumPy would call the function itself, not by a function of its own."""


class vectorize(numpy.vectorize):
    __module__ = "lazyarr"  # type: ignore[assignment]
    __doc__ = numpy.vectorize.__doc__

    refusal: Any = None
    """Why the last call was not compiled, with file and line; None if it was, or for want of elements."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._compiled(args, kwargs)
        except Unsupported:
            return fallback(numpy.vectorize.__call__, self, *args, **kwargs)

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.refusal = None
        given = self._arguments(args, kwargs)
        arrays = [x for x in given.varied.values() if x.__class__ is ndarray]
        shape = broadcast([x.geo for x in arrays]) if arrays else ()
        size = math.prod(shape)
        if not shape or size <= (FEW if current.jit == "auto" else 0):
            raise Unsupported
        function, captured = self._known(given)
        outs = self._outs(given, args, kwargs)
        if function.rate is None and not any(map(is_pending, arrays)):
            function.rate = self._rate(given, shape)
        numbers = (*given.varied.values(), *given.fixed.values(), *captured)
        if not _worth(function, size, lambda: self._loop(function, numbers, outs, given.direct)):
            return self._timed(function, size, outs, args, kwargs)
        found = self._loop(function, numbers, outs, given.direct)
        if found is None:
            return self._by_numpy(outs, args, kwargs)
        loop, stops = found
        call = Call(loop, numbers, [_result_layout(numpy.dtype(c), shape, arrays) for c in outs])
        if not loop.stops:
            return call.returned(call.made())
        results, stop = call.at_once()
        if stop:
            why, place = stops[stop - 1] if stop > 0 else ("the same loop is running", NOWHERE)
            self.refusal = Refusal(f"at this call: {why}", place)
            return self._by_numpy(outs, args, kwargs)
        return call.returned(results)

    def _loop(self, function: Known, numbers: tuple[Any, ...], outs: Any, direct: bool) -> Compiled | None:
        """The loop for such operands and results; None where only NumPy makes these."""
        chars = [char_of(numpy.dtype(c)) or "" for c in outs]
        if not CHARS.issuperset(chars):
            self.refusal = Refusal(f"results of dtype {', '.join(str(numpy.dtype(c)) for c in outs)}")
            return None
        told = f"{self.pyfunc.__name__ if direct else 'func'} (vectorized)"
        found = function.loop("".join(map(_input, numbers)), "".join(chars), told)
        if isinstance(found, Refusal):
            self.refusal = found
            return None
        if prompt() and found.loop.nout > 1 and not found.stops:
            self.refusal = Refusal("at this call: several results, and each would warn")
            return None
        return found

    def _of_numpys_alone(self) -> bool:
        return self.signature is not None or self.cache

    def _refuse(self, why: str) -> Unsupported:
        self.refusal = Refusal(why)
        return Unsupported()

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments by parameter, if all that is needed is known of them."""
        fn: Any = self.pyfunc
        if fn is numpy._NoValue or not (args or kwargs):
            raise Unsupported           # the decorator's second step, or a call without operands
        if type(fn) is not types.FunctionType:
            raise self._refuse("it is no Python function")
        for applies, why in (*REFUSALS, (self._of_numpys_alone, "`signature` and `cache` are NumPy's")):
            if applies():
                raise self._refuse(why)
        code = fn.__code__
        names = code.co_varnames[: code.co_argcount]
        keywords = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        free = set(keywords) - set(names[: len(args)])
        if len(args) > len(names) or not set(kwargs) <= free:
            raise Unsupported           # Python has the words for it
        bound = {names[k]: (x, k in self.excluded) for k, x in enumerate(args)}
        bound |= {name: (x, name in self.excluded) for name, x in kwargs.items()}
        varied = {name: self._operand(x) for name, (x, fixed) in bound.items() if not fixed}
        fixed = {name: self._number(x) for name, (x, fixed) in bound.items() if fixed}
        return Arguments(varied, fixed, not kwargs and not self.excluded)

    def _operand(self, x: Any) -> Any:
        """An array of numbers, or a number of Python's: as an object it stays what it is."""
        if x.__class__ is numpy.ndarray:
            x = wrap(x)
        if x.__class__ is not ndarray:
            return self._number(x)
        if char_of(x.geo.dtype) is None or x.geo.dtype.kind not in KINDS:
            raise self._refuse(f"an argument of dtype {x.geo.dtype}")
        return x

    def _number(self, x: Any) -> Any:
        if number_type(x) is None:
            raise self._refuse(f"an argument of type {type(x).__name__}")
        return x

    def _known(self, given: Arguments) -> tuple[Known, list[Any]]:
        fn: Any = self.pyfunc
        found = known(fn, {name: _type(x) for name, x in (given.varied | given.fixed).items()})
        if isinstance(found, Refusal):
            self.refusal = found
            raise Unsupported
        return found

    def _outs(self, given: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Dtypes of the results as NumPy finds them: if none are given, by a call on the first elements."""
        if self.otypes is not None:
            return self.otypes
        first = {name: numpy.asarray(_real(x)).flat[0] for name, x in given.varied.items()} | given.fixed
        names = self.pyfunc.__code__.co_varnames
        results = self.pyfunc(*[first[name] for name in names[: len(args)]], **{n: first[n] for n in kwargs})
        results = results if isinstance(results, tuple) else (results,)
        return "".join([numpy.asarray(x).dtype.char for x in results])

    def _rate(self, given: Arguments, shape: tuple[int, ...]) -> float | None:
        """What Python takes for an element, by a few of them: the function has no effects."""
        fn: Any = self.pyfunc
        columns = {name: numpy.broadcast_to(_real(x), shape).flat for name, x in given.varied.items()}
        began, done = time.perf_counter_ns(), 0
        with suppress(Exception):       # it will come again, in its place
            for k in range(0, math.prod(shape), -(-math.prod(shape) // SAMPLES)):
                fn(**{name: column[k].item() for name, column in columns.items()}, **given.fixed)
                done += 1
                if time.perf_counter_ns() - began > SAMPLING_NS:
                    break
        return (time.perf_counter_ns() - began) / done if done else None

    def _by_numpy(self, outs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The whole call, but for that on the first elements."""
        return fallback(numpy.vectorize(self.pyfunc, otypes=outs, excluded=self.excluded), *args, **kwargs)

    def _timed(
        self, function: Known, size: int, outs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The same, as work that might have been compiled."""
        began = time.perf_counter_ns()
        found = self._by_numpy(outs, args, kwargs)
        spent = time.perf_counter_ns() - began
        function.rate = spent / size
        function.waiting += spent
        COMPILER.ready(spent)
        return found


def _type(x: Any) -> str:
    return KINDS[x.geo.dtype.kind] if x.__class__ is ndarray else str(number_type(x))


def _input(x: Any) -> str:
    """The dtype of an operand as the loop takes it."""
    return "L" if x.__class__ is ndarray and char_of(x.geo.dtype) == "L" else INPUT[_type(x)]


def _real(x: Any) -> Any:
    return now(x) if x.__class__ is ndarray else x


def _result_layout(dtype: numpy.dtype, shape: tuple[int, ...], arrays: list[ndarray]) -> numpy.ndarray:
    """The geometry of a result: NumPy computes on arrays of objects, dense copies in K order."""
    dense = [x.geo if x.geo.flags.c_contiguous else layout(x.geo.dtype, x.geo.shape, [x.geo]) for x in arrays]
    return layout(dtype, shape, dense)


def _worth(function: Known, size: int, loop: Callable[[], Compiled | None]) -> bool:
    """Does compiling pay, by what Python has taken for the function so far?"""
    if current.jit == "always":
        return COMPILER.usable is not None or _is_cached(loop) or COMPILER.ready(0.0)
    ns = (function.rate or PYTHON_NS) * size
    if ns < LAUNCH_NS:
        return False
    if COMPILER.usable is None and ns > LOOK_NS and _is_cached(loop):
        return True
    if not (COMPILER.usable or (ns > LARGE_NS and COMPILER.ready(ns))):
        return False
    return bool(function.loops) or function.waiting + ns > WORTH_NS


def _is_cached(loop: Callable[[], Compiled | None]) -> bool:
    """Is its code there, so that LLVM is not needed?"""
    found = loop()
    return found is not None and found.loop.cached()


# -------------------------------------------------------------------------------------- calls


class Call:
    """One call of a loop."""

    def __init__(self, loop: Loop, numbers: tuple[Any, ...], geos: list[numpy.ndarray]) -> None:
        self.loop, self.geos = loop, geos
        self.inputs = inputs_for(tuple(SCALAR[c] for c in loop.inputs), numbers)

    def made(self) -> list[ndarray]:
        """The results, pending."""
        loop = self.loop
        maps = [Map(loop.name, loop.sig, part) for part in range(loop.nout)]
        return [fresh_array(op, self.inputs, geo) for op, geo in zip(maps, self.geos, strict=True)]

    def returned(self, results: list[ndarray]) -> Any:
        return results[0] if self.loop.nout == 1 else tuple(results)

    def at_once(self) -> tuple[list[ndarray], int]:
        """The results, computed, and 0; or the number of the stop, negative where it cannot begin."""
        words = self.loop.words
        with LOCK:
            if words[Words.THREAD]:     # a signal's handler came here while the same loop runs
                return [], -1
            try:
                results, stop = self._at_once()
                raised = list(self.loop.raised())
            finally:
                words[Words.THREAD] = 0         # (first: a signal's handler may raise)
                words[:] = array("q", bytes(8 * len(words)))
        if not stop:
            warn_at_call(raised, self.loop.told)
        return results, stop

    def _at_once(self) -> tuple[list[ndarray], int]:
        if not self.loop.loops:
            return self._evaluated(None)
        results, stop = self._interruptible()
        if stop and self.loop.is_tick(stop):
            with options(num_threads=1):        # other threads cannot see to signals
                return self._interruptible()
        return results, stop

    def _interruptible(self) -> tuple[list[ndarray], int]:
        """Signals are handled whenever a loop asks for more fuel."""
        poll = Poll(hold_signals())
        try:
            return self._evaluated(poll)
        finally:
            poll.end()

    def _evaluated(self, poll: Poll | None) -> tuple[list[ndarray], int]:
        words = self.loop.words
        words[:] = array("q", bytes(8 * len(words)))
        words[Words.THREAD], words[Words.POLL] = threading.get_ident(), POLL_ADDRESS
        polls.append(poll)
        try:
            results = self.made()
            evaluate([x.storage.value for x in results if x.storage is not None])
        finally:
            polls.pop()
        return results, words[Words.STATUS]


class Poll:
    """What a loop asks from time to time, in the thread that launched it."""

    def __init__(self, held: Held | None) -> None:
        self.held = held
        self.raised: BaseException | None = None

    def __call__(self) -> int:
        """More fuel, or none: a signal's handler has raised."""
        try:
            deliver(self.held)
        except BaseException as error:
            self.raised = error
            return 0
        return FUEL

    def end(self) -> None:
        """Put the handlers back; raise what one of them has raised."""
        try:
            release_signals(self.held)
        finally:
            if self.raised is not None:
                raise self.raised


polls: list[Poll | None] = []
"""Of the loops that run, innermost call last."""


def _poll() -> int:
    poll = polls[-1]
    return FUEL if poll is None else poll()


POLL = ctypes.CFUNCTYPE(ctypes.c_int64)(_poll)
POLL_ADDRESS = ctypes.cast(POLL, ctypes.c_void_p).value or 0
