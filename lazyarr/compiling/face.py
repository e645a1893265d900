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
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from lazyarr.compiler import COMPILER
from lazyarr.compiling.calling import MISFIT, NOTHING, replayed
from lazyarr.compiling.chunks import kind_of
from lazyarr.compiling.finding import replay_for
from lazyarr.compiling.known import Key, Known
from lazyarr.compiling.lifting import Lifted, lifted
from lazyarr.compiling.replay import Flagged, Misfit, Replay
from lazyarr.compiling.short import SWIFT, Way, is_watched, short_way
from lazyarr.compiling.telling import told
from lazyarr.compiling.trace import Root
from lazyarr.config import current, options, plan_key
from lazyarr.counters import COUNT
from lazyarr.expr import LOCK
from lazyarr.parallel import parts
from lazyarr.public import evaluate
from lazyarr.resting import COLLECTING
from lazyarr.scalar.bytecode import Refused as NotLifted
from lazyarr.scalar.bytecode import parameters
from lazyarr.scalar.compiled import Refusal
from lazyarr.signatures import Signature, described, matches
from lazyarr.signatures import signatures as read

LENGTH = 64
"""Of arrays for which a function is compiled before it is called, along axes of any length.  (Kernels go
by the pattern of lengths.)"""
ATTEMPTS = 64
"""Looks at one call, each of which may find that more must be known."""
MISFITS = 8
"""Calls in a row that a replay began in vain."""


class Compiled:
    """A function whose calls are replayed.

    Attributes
    ----------
    refusal : Refusal or None
        Why the last call that was looked at runs as Python, with file and line; None if it is replayed.
    """

    __wrapped__: Any

    def __init__(
        self, fn: types.FunctionType, root: Root | None = None, signatures: tuple[Signature, ...] = (),
        parallel: frozenset[str] | None = None,
    ) -> None:
        functools.update_wrapper(self, fn)
        self._known = Known(fn, root)
        self.signatures, self._parallel = signatures, parallel
        self.reach: Any = None
        """Of the stencil in the last replay."""
        self._lifted: Lifted | Refusal | None = None
        self._lifted_of: types.CodeType | None = None
        for each in signatures:
            self._compile(each)

    @property
    def refusal(self) -> Refusal | None:
        return self._known.refusal

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.signatures:
            self._check(args, kwargs)
        last = self._known.last
        if last is not None and last.row is not None and sys.gettrace() is None:
            given = args if not kwargs and len(args) == last.count else self._known.inputs(args, kwargs)
            if last.is_small:
                row = last.row
                found = None if row is None or given is None else SWIFT.code.call(row, given, plan_key())
            else:
                with LOCK:  # (as `Way.swift` has it: large data drives what is called out of the caches)
                    row = last.row
                    found = None if row is None or given is None else SWIFT.code.call(row, given, plan_key())
            if found is not None and found is not False:
                last.replay.misfits = 0
                COUNT.traced_calls += 1
                return None if found is NOTHING else found
            if found is False:
                _misfit(self._known, last.key, last.replay)
                return self._by_itself(args, kwargs)
            try:
                found = MISFIT if given is None else self._by_ways(self._known.others, given, swift=True)
            except Flagged:
                return self._by_itself(args, kwargs)
            if found is not MISFIT:
                return found
        result = COLLECTING.apart(self.replayed, args, kwargs)
        return self._by_itself(args, kwargs) if result is MISFIT else result

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse arguments of no signature, before anything is done."""
        given = self._known.bound(args, kwargs)
        if given is None:
            return                          # Python has the words for it
        if not any(matches(each, given) for each in self.signatures):
            known = "; ".join(f"({', '.join(map(str, each))})" for each in self.signatures)
            name = self.__wrapped__.__qualname__
            raise TypeError(f"{name}({described(given)}): its signatures are {known}")

    def _compile(self, wanted: Signature) -> None:
        """Compile what calls of a signature need."""
        given = [item.example(LENGTH) for item in wanted]
        if len(given) != self._known.count:
            raise TypeError(f"{self.__wrapped__.__qualname__} does not take {len(given)} arguments")
        with self._options():
            for _ in range(ATTEMPTS):
                known = self._known
                known.eager = True
                inputs = (*given, *[get() for get, _ in known.outside.inputs])
                key = known.key(inputs)
                replay = None if key is None else replay_for(known, key, inputs)
                if key is None or replay is not None:
                    break
            if isinstance(replay, Replay):
                replay.load()
            elif current.jit != "never" and COMPILER.usable:
                self._with_loops()
                kinds = dict(zip(parameters(known.code), map(kind_of, given), strict=True))
                for loop in self._lifted.loops if isinstance(self._lifted, Lifted) else ():
                    loop.prepare(kinds)

    def _options(self) -> AbstractContextManager[None]:
        """The optimisations that are on in this function, if it has its own."""
        return nullcontext() if self._parallel is None else options(parallel=self._parallel)

    def _by_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, where its calls are not replayed."""
        fn = self._with_loops()
        if self._parallel is None:
            return fn(*args, **kwargs)
        with self._options():
            result = fn(*args, **kwargs)
            results = result if isinstance(result, tuple | list) else (result,)
            evaluate(*results, *args, *kwargs.values())
        return result

    def replayed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives, if it is replayed; else `MISFIT`."""
        known = self._known
        ways = known.others if known.last is None else (known.last, *known.others)
        given = known.inputs(args, kwargs) if ways else None
        try:
            result = MISFIT if given is None else self._by_ways(ways, given)
        except Flagged:                     # (nobody need look at the call again)
            return MISFIT
        return self._looked(args, kwargs) if result is MISFIT else result

    def _by_ways(self, ways: Sequence[Way], given: tuple[Any, ...], swift: bool = False) -> Any:
        """What a call gives by one of these short ways, perhaps by machine code only; else `MISFIT`."""
        known = self._known
        for way in ways:
            if swift and way.row is None:
                continue
            try:
                result = way.swift(given) if swift else way(given)
            except Flagged:
                _misfit(known, way.key, way.replay)
                raise
            except Misfit:                  # also where a layout is another one
                continue
            if result is not MISFIT and not (swift and result is None):
                known.goes(way)
                way.replay.misfits, self.reach = 0, way.replay.reach
                COUNT.traced_calls += 1
                return None if result is NOTHING else result
        return MISFIT

    def _looked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call that is looked at."""
        known = self._known
        if not known.holds():
            known = self._known = known.anew()
        for _ in range(ATTEMPTS):           # each that fails has found that more must be known
            inputs = known.inputs(args, kwargs)
            if inputs is None:
                return MISFIT
            key = known.key(inputs)
            if key is None:
                return MISFIT
            with self._options():
                replay = replay_for(known, key, inputs)
            if isinstance(replay, Replay):
                return MISFIT if is_watched() else self._run(known, key, replay, inputs)
            if replay is not None:
                return MISFIT
        return MISFIT

    def _run(self, known: Known, key: Key, replay: Replay, inputs: tuple[Any, ...]) -> Any:
        result = replayed(replay, inputs)
        if result is MISFIT:
            _misfit(known, key, replay)
            return MISFIT
        replay.misfits, self.reach = 0, replay.reach
        COUNT.traced_calls += 1
        known.goes(short_way(known, key, replay, inputs))
        return result

    def _with_loops(self) -> Callable[..., Any]:
        """The function, with its loops lifted if it has some."""
        fn = self._known.fn
        if self._lifted is None or self._lifted_of is not fn.__code__:
            self._lifted_of = fn.__code__
            try:
                self._lifted = lifted(fn)
            except NotLifted as refused:
                self._lifted = Refusal(refused.why, refused.place)
        if isinstance(self._lifted, Refusal):
            return fn
        made: Any = self._lifted.fn
        made.__defaults__, made.__kwdefaults__ = fn.__defaults__, fn.__kwdefaults__
        return made     # type: ignore[no-any-return]

    def explain(self) -> str:
        """Tell which kinds of calls are replayed, and why others are not.

        Returns
        -------
        str
            A line for each kind of arguments that was met, and for each kind of arrays whose lengths vary:
            which lengths are one (by letters), and what they must be for one trace to be theirs.
        """
        loops = self._lifted.loops if isinstance(self._lifted, Lifted) else ()
        others = self._lifted.refusals if isinstance(self._lifted, Lifted) else (self._lifted,)
        known = self._known
        return told(self.__wrapped__.__qualname__, known.replays, self.refusal, loops, others, known.general)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__wrapped__.__module__)
        name = self.__wrapped__.__qualname__
        for part in name.split("."):
            found = getattr(found, part, None)
        made = (self.__wrapped__, None, self.signatures, self._parallel)
        return name if found is self else (Compiled, made)

    def __copy__(self) -> Compiled:
        return self

    def __deepcopy__(self, memo: Any) -> Compiled:
        return self

    def __repr__(self) -> str:
        return f"<compiled {self.__wrapped__!r}>"


def _misfit(known: Known, key: Key, replay: Replay) -> None:
    replay.misfits += 1
    COUNT.misfits += 1
    if replay.misfits > MISFITS:
        known.forget(replay)
        known.replays[key] = known.refuse("its calls raise floating-point flags, or their arguments overlap")


def compile(
    fn: Callable[..., Any] | None = None, *, signatures: str | Sequence[Any] = (),
    parallel: bool | Iterable[str] | None = None,
) -> Any:
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
        A Python function.  Its names outside may refer to modules, functions, arrays and numbers.  Without
        it, a decorator is returned.
    signatures : str or sequence, optional
        What it is called with, and nothing else, as for `export_kernels`: ``"float64[:], int64"``, or several
        such texts or sequences of items.  An item is a dtype (a number), a dtype with lengths (an array;
        ``:`` is any length), or an object that stands for itself.  What these calls need is compiled at once.
    parallel : bool or set of str, optional
        Optimisations that are on in this function, of "comprehension", "prange", "numpy", "reduction",
        "setitem", "stencil" and "fusion"; True: all.  Without it, those of the option `parallel`.

    Returns
    -------
    Compiled
        Called like `fn`; `fn` itself where it is no Python function.

    Raises
    ------
    ValueError
        For a signature that cannot be read, and names of optimisations that there are not.
    TypeError
        By calls with arguments of no signature.

    Examples
    --------
    >>> import lazyarr as np
    >>> @np.compile
    ... def gauss(x, mean, width):
    ...     return np.exp(-((x - mean) / width) ** 2 / 2)
    >>> gauss(np.zeros(3), 0.0, 1.0)
    array([1., 1., 1.])
    """
    known, on = read(signatures), None if parallel is None else parts(parallel)

    def make(fn: Callable[..., Any]) -> Any:
        return Compiled(fn, None, known, on) if type(fn) is types.FunctionType else fn

    return make if fn is None else make(fn)
