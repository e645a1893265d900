"""Which files there are, and which edition of each, without reading them.

In:  paths.   Out: text that differs if any file may.
As Python knows its own compiled files, but by more than a time and a size: to read all sources and to sum
them up takes several times as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterable


def editions(files: Iterable[str]) -> str:
    """The files, and what the system says of each that changes when it does."""
    found = [(file, os.stat(file)) for file in files]
    return repr([(file, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for file, s in found])


def sources_in(folder: str) -> list[str]:
    """The Python files of a folder, in order."""
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".py")]
