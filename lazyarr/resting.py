"""Python's garbage collector, which rests while modules are imported and plans are made.

Both are many objects that live, none of them garbage: the collector would go through all that the program
has, again and again, for half of the time that planning takes, and a fifth of that of importing.
"""

from __future__ import annotations

import gc
from types import TracebackType


class Resting:
    """Within it nothing is collected; where the program has switched the collector off, nothing changes."""

    __slots__ = ("_was",)

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        if self._was:
            gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._was:
            gc.enable()


class Lasting(Resting):
    """The same around what stays for good, which counts as old from then on: else the first collection would
    go through all of it."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._was and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()                       # into the oldest generation
        super().__exit__(kind, error, at)
