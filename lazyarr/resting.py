"""Python's garbage collector, which rests while modules are imported and plans are made.

Both are many objects that live, none of them garbage: the collector would go through all that the program
has, again and again, for half of the time that planning takes, and a fifth of that of importing.
It rests by its threshold, not by its switch, which is the program's: other threads may use that meanwhile.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from _contextvars import copy_context
from _thread import get_ident
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Resting:
    """Within it nothing is collected."""

    __slots__ = ("_was",)
    _was: tuple[int, ...] | None

    def __enter__(self) -> None:
        self._was = gc.get_threshold()
        gc.set_threshold(0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ends()

    def _ends(self) -> None:
        was, self._was = self._was, None
        if was is not None and not gc.get_threshold()[0]:       # (else somebody has set another one)
            gc.set_threshold(*was)


class Lasting(Resting):
    """The same around what stays for good, which counts as old from then on (with all that the program has by
    then): else the first collection would go through all of it."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        if hasattr(os, "register_at_fork"):     # (what else rests holds a lock, for which forks wait)
            os.register_at_fork(after_in_child=self._ends)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if gc.isenabled() and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()                       # into the oldest generation
        super().__exit__(kind, error, at)


class Collecting:
    """Is garbage being collected?

    The collector clears all weak references to garbage before it runs the garbage's finalizers (`__del__`,
    what is in `finally` of a generator), in any order.  These may still use all that they refer to: so
    meanwhile, and when the interpreter ends, values may be held, or waited for, though nobody seems to."""

    __slots__ = ("ended", "now", "revive")

    def __init__(self) -> None:
        self.now = 0
        """The thread that collects."""
        self.ended: list[weakref.ref[Any]] = []
        """What was finalized meanwhile.  A finalizer of the program's may have let some of it live on."""
        self.revive: Callable[[Any], None]
        """What is to be done with that (`storage`)."""

    def hear(self, phase: str, _: dict[str, Any]) -> None:
        """The collector begins, or has ended.  (`slots.endings` is as good, and loses no interrupts.)"""
        self.now = get_ident() if phase == "start" else 0
        if not self.now:
            self.bring_back()

    def bring_back(self) -> None:
        """Nothing is being collected: see to what was finalized."""
        while self.ended:
            self.revive(self.ended.pop())

    def is_unsure(self) -> bool:
        """May somebody need values that seem to be needed by nobody?"""
        return bool(self.now and self.now == get_ident()) or sys.is_finalizing()

    def apart(self, fn: Callable[..., Any], *args: Any) -> Any:
        """The result of a call; if it is a finalizer's, in a context of its own, which error states change.

        Setting a variable of a context asks for memory (up to Python 3.11 garbage is collected there) while
        it goes through the variables that there are: a finalizer that sets one frees these meanwhile."""
        return copy_context().run(fn, *args) if self.is_unsure() else fn(*args)


COLLECTING = Collecting()
gc.callbacks.append(COLLECTING.hear)
