"""Which files there are, and which edition of each, without reading them.

In:  paths.   Out: text that differs if any file may.
As Python knows its own compiled files, but by more than a time and a size: to read all sources and to sum
them up takes several times as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain

from lazyarr.config import IMPORTED


def editions(files: Iterable[str]) -> str:
    """The files, and what the system says of each that changes when it does."""
    return _said([(file, os.stat(file)) for file in files])


def imported(folders: Sequence[str], files: Sequence[str] = ()) -> str:
    """The editions of the sources in some folders, and of files, as this process has imported them.

    Nothing where nobody can tell: in archives, without sources, while files change, or where one has changed
    since (this process may have it as it was before)."""
    try:
        sources = [sources_in(folder) for folder in folders]
        found = [(file, os.stat(file)) for file in chain(*sources, files)]
    except OSError:
        return ""
    if not all(sources) or any(max(s.st_mtime_ns, s.st_ctime_ns) > IMPORTED for _, s in found):
        return ""
    return _said(found)


def _said(found: Sequence[tuple[str, os.stat_result]]) -> str:
    return repr([(file, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for file, s in found])


def sources_in(folder: str) -> list[str]:
    """The Python files of a folder, in order."""
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".py")]
