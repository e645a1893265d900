"""What earlier runs of this program have found: were nodes of medium arrays the sooner way?

In:  what was measured (`direct`).   Out: the same in later processes, by the file that a program begins with.
It is no more than a hint: who measures anyway begins with it.  A program without a file (a shell) has none.
"""

from __future__ import annotations

import os
import sys

KIND = "program"


class Runs:
    """Of one process."""

    def __init__(self) -> None:
        self.told = False
        """Has this run said what it found?"""
        self._paid: bool | None = None

    def paid(self) -> bool:
        """Did nodes pay in the last run that could tell?"""
        if self._paid is None:
            from lazyarr.dispatch import cache  # here: a process of small arrays asks nobody

            program = _program()
            self._paid = program is not None and cache.fetch(cache.digest(KIND, program)) is not None
        return self._paid

    def note(self, pays: bool) -> None:
        """Let later runs know; what is found first counts, since that is where they will ask."""
        program = _program()
        if self.told or program is None:
            return
        self.told = True
        from lazyarr.dispatch import cache

        key = cache.digest(KIND, program)
        if pays and cache.fetch(key) is None:
            cache.store(key, b"", {"kind": KIND, "file": program})
        elif not pays:
            cache.forget(key)


def _program() -> str | None:
    """The file that the program begins with."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.realpath(file) if isinstance(file, str) else None


RUNS = Runs()
