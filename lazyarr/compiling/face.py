"""`lazyarr.compile`: a function whose calls are replayed.

In:  a Python function.   Out: `Compiled`, called like it.
A call looks at its arguments' layouts and types, and at the names that the function goes by; where they are
those of a replay, that runs.  Everything else is the function itself: what is refused, arguments that overlap
what is written to, error states that ask for more than warnings, and calls in which a floating-point flag was
raised, since only NumPy knows its words and lines.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from lazyarr.arrays import ndarray, now
from lazyarr.compiler import COMPILER
from lazyarr.compiling.interpret import ABSENT, NUMBERS, Discovered, Guard, Outside
from lazyarr.compiling.large import Large
from lazyarr.compiling.replay import Misfit, Replay
from lazyarr.compiling.small import small
from lazyarr.compiling.telling import told
from lazyarr.compiling.trace import Kind, Trace, trace
from lazyarr.compiling.values import Pinned, Refused
from lazyarr.config import OBSERVED, current, plan_key
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.error_state import loud, remembered
from lazyarr.expr import LOCK
from lazyarr.flags import BITS
from lazyarr.geometry import FRESH
from lazyarr.interrupts import hold_signals, release_signals
from lazyarr.scalar.compiled import Refusal
from lazyarr.scalar.ir import NOWHERE, Place
from lazyarr.storage import evaluate
from lazyarr.values import results

REPLAYS = 256
"""Of one function: all are forgotten when there are more."""
CHANGES = 8
"""How often what it goes by may change, before it is left alone."""
ATTEMPTS = 64
"""Looks at one call, each of which may find that more must be known."""
MET = 4096
"""Kinds of calls that are remembered as met once."""
MISFITS = 8
"""Calls in a row that a replay began in vain."""
BACKUP = 1 << 20
"""Most bytes of arguments that are written to, of which a copy is kept for the time of a call."""

DEFAULT = BITS["divide"] | BITS["over"] | BITS["invalid"]
"""Flags that NumPy warns of unless it is told otherwise."""

_RUNTIME = frozenset(NUMBERS - {bool})
_PLAIN_TYPES = (type(None), str, bytes, bool, type(Ellipsis))


ONCE = Refusal("the first call of a new shape")
_ANOTHER: Any = object()


class _Last(NamedTuple):
    """The last replay, where the short way may lead to it."""

    replay: Replay
    classes: tuple[type, ...]
    guards: tuple[Guard, ...]
    options: tuple[Any, ...]


class Compiled:
    """A function whose calls are replayed.

    Attributes
    ----------
    refusal : Refusal or None
        Why the last call that was looked at runs as Python, with file and line; None if it is replayed.
    """

    __wrapped__: Any

    def __init__(self, fn: types.FunctionType) -> None:
        functools.update_wrapper(self, fn)
        self.refusal: Refusal | None = None
        self._lock = threading.Lock()
        self._changes = 0
        self._reset()

    def _reset(self) -> None:
        code = self.__wrapped__.__code__
        self._code = code
        self._count = code.co_argcount + code.co_kwonlyargcount
        self._simple = not code.co_kwonlyargcount
        self._outside = Outside()
        self._pinned: frozenset[int] = frozenset()
        self._replays: dict[tuple[Any, ...], Replay | Refusal] = {}
        self._structures: set[tuple[Any, ...]] = set()
        self._last: _Last | None = None

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last = self._last
        if last is not None and not kwargs:
            result = self._again(last, args)
            if result is not _ANOTHER:
                return result
        fn: Any = self.__wrapped__
        if fn.__code__ is not self._code or not self._as_before():
            self._forget()
        given = self._bound(args, kwargs)
        if given is None:
            return fn(*args, **kwargs)
        for _ in range(ATTEMPTS):           # each that fails has found that more must be known
            outside = self._outside
            inputs = (*given, *[get() for get, _ in outside.inputs])
            looked = self._looked(inputs)
            if looked is None:
                break
            replay = self._replay(looked[0], inputs)
            if isinstance(replay, Replay) and not (OBSERVED or sys.gettrace() is not None or loud()):
                return self._run(replay, *looked, inputs, args, kwargs)
            if replay is not None:
                break
        return fn(*args, **kwargs)

    def _again(self, last: _Last, args: tuple[Any, ...]) -> Any:
        """The result of a call like the last one: a short way, for NumPy's arrays and small lazy ones."""
        fn, classes = self.__wrapped__, last.classes
        if len(args) != len(classes) or fn.__code__ is not self._code:
            return _ANOTHER
        for names, name, found in last.guards:
            if names.get(name, ABSENT) is not found:
                return _ANOTHER
        memory = []
        for x, c in zip(args, classes, strict=True):
            if x.__class__ is not c:
                return _ANOTHER
            if c is ndarray:
                if x.storage is not None:       # type: ignore[attr-defined]
                    return _ANOTHER
                memory.append(x.geo)            # type: ignore[attr-defined]
            elif c is numpy.ndarray:
                memory.append(x)
        if plan_key() != last.options:
            return _ANOTHER
        if loud() or OBSERVED or sys.gettrace() is not None:
            return _ANOTHER
        state = remembered()
        try:
            result = last.replay(args, memory, DEFAULT if state is None else _mask(state), False)
        except Misfit:                      # also where a layout is another one
            return _ANOTHER
        COUNT.traced_calls += 1
        return result

    def _run(
        self, replay: Replay, key: tuple[Any, ...], memory: list[Any], inputs: tuple[Any, ...],
        args: tuple[Any, ...], kwargs: dict[str, Any],
    ) -> Any:
        """The result of a call that is looked at."""
        for k, x in enumerate(memory):
            if x.__class__ is ndarray:
                memory[k] = now(x)
        state = remembered()
        mask = DEFAULT if state is None else _mask(state)
        try:
            if replay.written:
                result = self._writing(replay, inputs, memory, mask)
            else:
                result = replay(inputs, memory, mask)
        except Misfit:
            self._misfit(key, replay)
            return self.__wrapped__(*args, **kwargs)
        replay.misfits = 0
        COUNT.traced_calls += 1
        if replay.again and not kwargs and len(args) == len(inputs):
            self._remember(replay, tuple([x.__class__ for x in args]))
        return result

    def _remember(self, replay: Replay, classes: tuple[type, ...]) -> None:
        """Let `_again` find a replay, if there is no more to be looked at than it does."""
        outside = self._outside
        simple = all(c in _RUNTIME or c is ndarray or c is numpy.ndarray for c in classes)
        if simple and not self._pinned and not outside.codes:
            self._last = _Last(replay, classes, tuple(outside.guards), plan_key())

    # Looking at a call

    def _as_before(self) -> bool:
        """Do the names that the function goes by mean what they meant?"""
        outside = self._outside
        for names, name, found in outside.guards:
            if names.get(name, ABSENT) is not found:
                return False
        for fn, code, defaults, named in outside.codes:
            if fn.__code__ is not code or fn.__defaults__ is not defaults or fn.__kwdefaults__ is not named:
                return False
        return True

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The values of all parameters; None where Python has something to say."""
        if not kwargs and self._simple and len(args) == self._count:
            return args
        fn: Any = self.__wrapped__
        code = fn.__code__
        names = code.co_varnames[: code.co_argcount]
        everything = code.co_varnames[: self._count]
        if len(args) > len(names):
            return None
        held = dict(zip(names, args, strict=False))
        for name, x in kwargs.items():
            if name in held or name not in everything[code.co_posonlyargcount :]:
                return None
            held[name] = x
        if len(held) < self._count:
            given = fn.__defaults__ or ()
            rest = dict(zip(names[len(names) - len(given) :], given, strict=True)) | (fn.__kwdefaults__ or {})
            held = rest | held
        if len(held) < self._count:
            return None
        return tuple([held[name] for name in everything])

    def _looked(self, given: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]] | None:
        """The key of these inputs, and where arrays' first elements lie; None for what is never replayed."""
        key: list[Any] = [plan_key()]
        memory: list[Any] = []
        pinned = self._pinned
        for k, x in enumerate(given):
            c = x.__class__
            if c is ndarray:
                g = x.geo
                storage = x.storage
                if storage is None:
                    memory.append(g)
                elif storage.value.op is None:
                    buf = storage.value.buf
                    memory.append(buf.memory if id(g) in FRESH else buf.real(g))
                else:
                    memory.append(x)        # computed when it is clear that there is a replay
                key += (c, g.shape, g.strides, g.dtype)
            elif c is numpy.ndarray:
                memory.append(x)
                key += (c, x.shape, x.strides, x.dtype)
            elif c in _RUNTIME and k not in pinned:
                key.append(c)
            elif c in NUMBERS:
                key += (c, repr(x))
            elif c in _PLAIN_TYPES or isinstance(x, type | numpy.dtype):
                key += (c, x)
            elif c is tuple and all(type(i) in NUMBERS or i is None for i in x):
                key += (c, repr([(type(i), i) for i in x]))
            else:
                self.refusal = self._refusal(f"an argument of type {c.__name__}")
                return None
        return tuple(key), memory

    def _refusal(self, why: str, place: Place = NOWHERE) -> Refusal:
        return Refusal(why, place if place.line else Place(self._code.co_filename, self._code.co_firstlineno))

    # New kinds of calls

    def _forget(self) -> None:
        """Something that the function goes by has changed."""
        with self._lock:
            self._changes += 1
            self._reset()

    def _replay(self, key: tuple[Any, ...], inputs: tuple[Any, ...]) -> Replay | Refusal | None:
        """What there is for such calls; None where they must be looked at again, with more known."""
        found = self._replays.get(key)
        if found is not None:
            return found
        if self._changes > CHANGES or current.jit == "never":
            self.refusal = self._refusal("what it refers to changes too often, or nothing is compiled here")
            return self.refusal
        if len(self._structures) > MET:
            self._structures.clear()
        structure = tuple([len(x) if type(x) is tuple else None if type(x) is str else x for x in key[1:]])
        if structure not in self._structures:
            self._structures.add(structure)
        elif key not in self._structures:       # a new shape may never come again
            self._structures.add(key)
            return ONCE
        with self._lock, LOCK:
            return self._traced(key, inputs)

    def _traced(self, key: tuple[Any, ...], inputs: tuple[Any, ...]) -> Replay | Refusal | None:
        if COMPILER.usable is None:
            COMPILER.load()
        if not COMPILER.usable:
            self.refusal = self._refusal("nothing can be compiled here")
            return self.refusal
        if len(self._replays) >= REPLAYS:
            self._replays.clear()
        found: Replay | Refusal
        try:
            found = replay_of(trace(self.__wrapped__, self._kinds(inputs), self._outside))
            self.refusal = None
            COUNT.traces += 1
        except (Pinned, Discovered) as more:
            if isinstance(more, Pinned):
                self._pinned |= more.inputs
            self._replays.clear()
            self._last = None
            return None
        except Refused as refused:
            found = self.refusal = self._refusal(refused.why, refused.place)
        self._replays[key] = found
        return found

    def _kinds(self, inputs: tuple[Any, ...]) -> list[Kind]:
        kinds = []
        for k, x in enumerate(inputs):
            c = x.__class__
            if c is ndarray or c is numpy.ndarray:
                geo = x.geo if c is ndarray else x
                if char_of(geo.dtype) is None or not geo.ndim or not geo.size or not geo.flags.aligned:
                    raise Refused(f"an array of dtype {geo.dtype}, without axes or elements, or not aligned")
                if any(s % geo.dtype.alignment for s in geo.strides):
                    raise Refused("an array that is not aligned")
                kinds.append(Kind("array", geo, c is numpy.ndarray))
            elif c in _RUNTIME and k not in self._pinned:
                kinds.append(Kind("number", x))
            else:
                kinds.append(Kind("static", x))
        return kinds

    # Calls that write to their arguments

    def _writing(self, replay: Replay, given: Sequence[Any], memory: list[Any], mask: int) -> Any:
        with LOCK:
            places = dict(zip(replay.arrays, memory, strict=True))
            backups = []
            for k in replay.written:
                x, at = given[k], places[k]
                self._make_free(x)
                real = now(x) if x.__class__ is ndarray else x
                if not real.flags.writeable or (x.__class__ is ndarray and not x.geo.flags.writeable):
                    raise Misfit
                if any(j != k and numpy.may_share_memory(at, other) for j, other in places.items()):
                    raise Misfit
                if replay.flagged and mask:
                    if real.nbytes > BACKUP:
                        raise Misfit
                    backups.append((real, real.copy()))
            held = hold_signals()
            try:
                return replay(given, memory, mask)
            except BaseException:
                for real, copy in backups:
                    real[...] = copy
                raise
            finally:
                release_signals(held)

    def _make_free(self, x: Any) -> None:
        """Let what is pending read x's values before they change."""
        if x.__class__ is ndarray and x.storage is not None:
            value = x.storage.value
            if value.readers:
                evaluate(results(value, None))

    def _misfit(self, key: tuple[Any, ...], replay: Replay) -> None:
        replay.misfits += 1
        COUNT.misfits += 1
        if replay.misfits > MISFITS:
            self._last = None
            self._replays[key] = self.refusal = self._refusal(
                "its calls raise floating-point flags, or their arguments overlap"
            )

    # Telling

    def explain(self) -> str:
        """Tell which kinds of calls are replayed, and why others are not.

        Returns
        -------
        str
            A line for each kind of arguments that was met.
        """
        return told(self.__wrapped__.__qualname__, self._replays, self.refusal)

    def __reduce__(self) -> str:
        return str(self.__wrapped__.__qualname__)

    def __repr__(self) -> str:
        return f"<compiled {self.__wrapped__!r}>"


def replay_of(found: Trace) -> Replay:
    """The way to replay a trace."""
    return small(found) or Large(found)


def _mask(state: dict[str, str]) -> int:
    """The flags that an error state warns of."""
    return sum(BITS[key] for key, what in state.items() if what == "warn")


def compile(fn: Callable[..., Any]) -> Any:
    """Compile a function of arrays: look at it once for each kind of arguments, then run its kernels only.

    The function is interpreted on arrays without values; its operations become fused kernels, as in lazy
    evaluation, and later calls with arguments of the same dtypes, layouts and types run these at once,
    without the function's Python code.  Results are those of the function, bit for bit, computed at the
    call; so are writes to arguments and ``out=``.  Python numbers may differ from call to call; where
    shapes, branches or powers depend on them, each value is a kind of its own.

    What cannot be replayed exactly runs as the Python function that it is: branches on values of arrays,
    effects such as printing or drawing random numbers, functions that are not known.  `refusal` of the result
    says why, and `explain` lists all kinds of calls.

    Parameters
    ----------
    fn : callable
        A Python function.  Its names outside may refer to modules, functions, arrays and numbers.

    Returns
    -------
    Compiled
        Called like `fn`; `fn` itself where it is no Python function.

    Examples
    --------
    >>> import lazyarr as np
    >>> @np.compile
    ... def gauss(x, mean, width):
    ...     return np.exp(-((x - mean) / width) ** 2 / 2)
    >>> gauss(np.zeros(3), 0.0, 1.0)
    array([1., 1., 1.])
    """
    return Compiled(fn) if type(fn) is types.FunctionType else fn
