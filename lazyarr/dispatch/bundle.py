"""Bundles: many cache entries in one file, and other places that kernels are read from.

In:  entries, as they are in the cache.   Out: a file; `opened(place).entry(key)`.

    bundle = MAGIC, digest of the table, bytes of the table, table, entry*
    table  = JSON: {"about": what was said of it, "entries": {key: [offset, bytes]}}

Entries keep their own sums, which whoever takes one checks (`cache.body_of`).  A bundle that belongs to
somebody else, or that others can write, counts as absent, as does a damaged one.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from lazyarr.dispatch import cache as disk

MAGIC = b"lazyarr bundle 1\n"
_LENGTH = struct.Struct("<Q")
_SUMMED = len(MAGIC) + 32
_HEAD = _SUMMED + _LENGTH.size


class Place(Protocol):
    """Where entries are read from."""

    def entry(self, key: bytes) -> bytes:
        """An entry as bytes; empty if there is none."""

    def all_keys(self) -> list[bytes]: ...


class Folder:
    """A cache directory that is only read."""

    def __init__(self, root: str) -> None:
        self.root = root

    def entry(self, key: bytes) -> bytes:
        file = disk.read(disk.path_of(self.root, key))
        return file[0] if file else b""

    def all_keys(self) -> list[bytes]:
        with os.scandir(self.root) as files:
            names = sorted(file.name for file in files if file.name.endswith(disk.SUFFIX))
        return [bytes.fromhex(name.removesuffix(disk.SUFFIX)) for name in names]


class Bundle:
    """A bundle's file, mapped into memory.

    Raises
    ------
    ValueError
        If it is no bundle, or damaged.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        if data[: len(MAGIC)] != MAGIC or len(data) < _HEAD:
            raise ValueError("no bundle of kernels, or of another version")
        size = _LENGTH.unpack_from(data, _SUMMED)[0]
        table = bytes(data[_HEAD : _HEAD + size])
        if data[len(MAGIC) : _SUMMED] != disk.sum_of(table):
            raise ValueError("the bundle is damaged")
        told = json.loads(table)
        self.about: dict[str, Any] = told["about"]
        self._places: dict[str, list[int]] = told["entries"]
        self._data = data
        self._begin = _HEAD + size

    def entry(self, key: bytes) -> bytes:
        found = self._places.get(key.hex())
        if found is None:
            return b""
        at = self._begin + found[0]
        return bytes(self._data[at : at + found[1]])

    def all_keys(self) -> list[bytes]:
        return [bytes.fromhex(key) for key in self._places]


def load(path: str) -> Bundle:
    """Open a bundle.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, is another user's, can be written by others, or is no whole bundle.
    """
    with open(path, "rb") as file:
        if not disk.is_ours(os.fstat(file.fileno())):
            raise PermissionError(f"{path!r} belongs to another user, or others can write it")
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("an empty file is no bundle of kernels")
        return Bundle(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@cache
def opened(place: str) -> Place | None:
    """A bundle or a cache directory by its path; None if there is none to be trusted."""
    try:
        if not os.path.isdir(place):
            return load(place)
        return Folder(place) if disk.is_ours(os.stat(place)) else None
    except (OSError, ValueError):
        return None


def write(path: str, entries: Iterable[tuple[bytes, bytes]], about: Mapping[str, Any]) -> int:
    """Make a bundle of keys and entries; returns how many.  It appears whole, by renaming."""
    kept = dict(entries)
    places, at = {}, 0
    for key, data in kept.items():
        places[key.hex()] = [at, len(data)]
        at += len(data)
    table = json.dumps({"about": dict(about), "entries": places}, sort_keys=True).encode()
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(MAGIC + disk.sum_of(table) + _LENGTH.pack(len(table)) + table)
            file.writelines(kept.values())
        os.replace(temporary, path)
    except BaseException:
        disk.remove(temporary)
        raise
    return len(kept)
