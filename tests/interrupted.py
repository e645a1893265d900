"""Functions that are interrupted at one place after the other, as by handlers of signals that raise.

Python runs handlers where functions begin, where C functions have returned, and where loops jump back.  A
profiler hears of the first two, so what it raises comes from there: the same places each time, and no timers.
It hears of no calls of types, after which handlers run, too: a tracer does, which sees each instruction.
"""

from __future__ import annotations

import itertools
import opcode
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

MOST = 10_000
"""Places that no function has."""


class Tick(Exception):
    """What the handler raises."""


def interrupted(fn: Callable[[], Any], *within: Any, then: Callable[[], Any] | None = None) -> Iterator[int]:
    """Call a function as often as there are places in it, and raise at another one each time.

    Parameters
    ----------
    fn : callable
        Without arguments.
    within : functions
        The places are in these and in what they call directly; of one that is wrapped, in what it wraps.
    then : callable, optional
        What happens at the place instead.

    Yields
    ------
    int
        The number of the place, after each interruption."""
    codes = {_code(each) for each in within}
    for nth in range(MOST):
        if not _at(nth, fn, codes, then):
            return
        yield nth
    raise AssertionError("it never ends")


CALLS = {number for name, number in opcode.opmap.items() if name.startswith("CALL")}
"""Instructions after which handlers run."""


def after_calls(fn: Callable[[], Any], *within: Any) -> Iterator[int]:
    """The same, in these functions alone, after calls of whatever kind, and by a tracer: code that runs only
    where there is none does not run."""
    codes = {_code(each) for each in within}
    for nth in range(MOST):
        if not _after(nth, fn, codes):
            return
        yield nth
    raise AssertionError("it never ends")


def _after(nth: int, fn: Callable[[], Any], codes: set[CodeType]) -> bool:
    """Call it, interrupted after a call; was there one?"""
    places, came = itertools.count(), []

    def traced(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, before = frame.f_code.co_code, [0]

        def see(frame: Any, event: str, arg: Any) -> Any:
            if event != "opcode" or came:
                return see
            called, before[0] = before[0] in CALLS, code[frame.f_lasti]
            if called and next(places) == nth:
                came.append(nth)
                sys.settrace(None)
                raise Tick
            return see

        return see

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        fn()
    except Tick:
        pass
    finally:
        sys.settrace(before)
    return bool(came)


def _code(fn: Any) -> CodeType:
    code: CodeType = getattr(fn, "__func__", fn).__code__
    return code


def _at(nth: int, fn: Callable[[], Any], codes: set[CodeType], then: Callable[[], Any] | None) -> bool:
    """Call it, interrupted at a place; was there one?"""
    places, came = itertools.count(), []

    def hear(frame: Any, event: str, arg: Any) -> None:
        if event not in ("call", "c_return") or came:
            return
        caller = frame.f_back
        inside = frame.f_code in codes or (caller is not None and caller.f_code in codes)
        if inside and next(places) == nth:
            came.append(nth)
            sys.setprofile(None)
            if then is None:
                raise Tick
            then()

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        fn()
    except Tick:
        pass
    finally:
        sys.setprofile(before)
    return bool(came)
