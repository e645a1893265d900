"""The cache of compiled kernels, for those who look after it: ``lazyarr.cache``, ``python -m lazyarr cache``.

In:  nothing, or the path of a bundle.   Out: entries, numbers, reasons.
"""

from __future__ import annotations

import os

from lazyarr.dispatch import bundle
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.cache_entries import Difference, Entry, Totals, clear, entries, explain, totals, verify

__all__ = [
    "Difference", "Entry", "Totals", "clear", "entries", "explain", "export_to", "import_from", "totals",
    "verify",
]  # fmt: skip


def export_to(path: str | os.PathLike[str]) -> int:
    """Write all sound entries of the cache into a bundle.

    Parameters
    ----------
    path : path-like
        The file to make; one that exists is replaced.

    Returns
    -------
    int
        How many entries.
    """
    kept = [(entry.key, entry.data) for entry in entries() if entry.sound]
    return bundle.write(os.fspath(path), kept, {"made": "from a cache"})


def import_from(path: str | os.PathLike[str]) -> int:
    """Put the entries of a bundle into the cache; entries that are there already stay.

    Parameters
    ----------
    path : path-like
        A bundle, made by `export_to` or `lazyarr.export_kernels`.

    Returns
    -------
    int
        How many were added.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, belongs to another user, is damaged, or there is no cache to put it in.
    """
    root = disk.directory()
    if root is None:
        raise ValueError("there is no cache directory (options cache_dir, cache_bytes)")
    found = bundle.load(os.fspath(path))
    return sum(_add(root, key, found.entry(key)) for key in found.all_keys())


def _add(root: str, key: bytes, data: bytes) -> bool:
    if disk.body_of(key, data) is None:
        raise ValueError(f"the bundle's entry {key.hex()} is damaged")
    there = disk.read(disk.path_of(root, key))
    if there is not None and disk.body_of(key, there[0]) is not None:
        return False
    disk.keep(key, data)
    return True

