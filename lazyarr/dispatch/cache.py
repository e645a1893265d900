"""Compiled objects on disk, by content.

In:  a key (a digest of everything that determines the object), the object's bytes, and what it is.
Out: the bytes, or None.

    entry = MAGIC, key, digest of the rest, bytes of `about`, about, object
    about = {name: text}*        what the key is a digest of, for those who ask (`cache_entries`)

What is loaded was written whole, by this user or root, under this key: files appear by renaming, others'
files and damaged ones count as absent.  The option ``kernel_path`` names more places, which are only read.
No error of the file system ever reaches the caller: without a usable directory nothing is cached.
"""

from __future__ import annotations

import atexit
import marshal
import os
import stat
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache

from lazyarr.config import current
from lazyarr.interrupts import holding
from lazyarr.records import NamedTuple

try:
    from _blake2 import blake2b  # hashlib's own, without OpenSSL, which takes 2 ms to load
except ImportError:
    from hashlib import blake2b

MAGIC = b"lazyarr object 3\n"
"""Also the version of the format: it is part of every key."""
_SUMMED = len(MAGIC) + 32 + 32
_LENGTH = struct.Struct("<I")
_HEAD = _SUMMED + _LENGTH.size
SUFFIX = ".lzo"
About = Mapping[str, str]
_OPTIONS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _OPTIONS      # (a pipe would wait for its writer)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPTIONS
_SWEEP_AFTER = 8            # the part of the bound that a process stores between two sweeps
_TOUCH_AFTER = 3600.0       # seconds: how exact "not used for longest" is
_stored: int | None = None
"""Bytes since the last sweep; None before the first."""


class Missed(NamedTuple):
    """A lookup that found nothing."""

    key: bytes
    about: Callable[[], About]
    """What was looked for."""
    why: str


MISSED: deque[Missed] = deque(maxlen=64)
"""The latest of them, for `cache_entries.explain`."""


def digest(*parts: str, more: bytes = b"") -> bytes:
    """The key of an object that these strings, and bytes, determine."""
    return sum_of(b"".join((MAGIC, "\0".join(parts).encode(), b"\0", more)))


def sum_of(data: bytes) -> bytes:
    """The sum by which damage is known."""
    return bytes(blake2b(data, digest_size=32).digest())


def _default_root() -> str:
    if sys.platform == "darwin":
        base = "~/Library/Caches"
    elif os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.join(os.path.expanduser(base), "lazyarr")


def directory() -> str | None:
    """The cache directory in force, made if need be; None if there is none that may be trusted."""
    if current.cache_bytes == 0:
        return None
    return _usable(current.cache_dir or _default_root())


@cache
def _usable(root: str) -> str | None:
    if not os.path.isabs(root):
        root = os.path.abspath(root)
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        return root if is_ours(os.stat(root)) else None
    except OSError:
        return None


def is_ours(found: os.stat_result) -> bool:
    """Is it a file or folder of this user's or of root's, and can nobody else write it?"""
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return False
    if os.name == "nt":
        return True
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def path_of(root: str, key: bytes) -> str:
    return f"{root}/{key.hex()}{SUFFIX}"


def packed(key: bytes, about: About, body: bytes) -> bytes:
    """An entry as bytes."""
    told = marshal.dumps(dict(about), 2)
    rest = _LENGTH.pack(len(told)) + told + body
    return MAGIC + key + sum_of(rest) + rest


def body_of(key: bytes, data: bytes) -> bytes | None:
    """The object in an entry, if that is whole and of this key."""
    if data[:_SUMMED] != MAGIC + key + sum_of(data[_SUMMED:]):
        return None
    return data[_HEAD + _LENGTH.unpack_from(data, _SUMMED)[0] :]


def about_of(data: bytes) -> tuple[bytes, dict[str, str], bytes] | None:
    """Key, what it is, and object of an entry, if that is whole."""
    key = data[len(MAGIC) : len(MAGIC) + 32]
    body = body_of(key, data)
    if body is None:
        return None
    return key, marshal.loads(data[_HEAD : len(data) - len(body)]), body


def read(path: str) -> tuple[bytes, os.stat_result] | None:
    """A file's bytes, if it is ours."""
    try:
        handle = os.open(path, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        return (os.read(handle, found.st_size + 1), found) if is_ours(found) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def fetch(key: bytes, about: Callable[[], About] | None = None) -> bytes | None:
    """The object stored under `key`, or None.

    `about` tells what it is, should somebody ask why it was not there."""
    root, why = directory(), "there is no such entry"
    if root is not None:
        path = path_of(root, key)
        file = read(path)
        if file is not None:
            body = body_of(key, file[0])
            if body is not None:
                if time.time() - file[1].st_mtime > _TOUCH_AFTER:
                    with suppress(OSError):
                        os.utime(path)
                return body
            remove(path)
            why = "the entry was damaged"
    if current.kernel_path:
        body = _fetch_elsewhere(key)
        if body is not None:
            return body
    if about is not None:
        MISSED.append(Missed(key, about, why if root else "there is no cache directory"))
    return None


def _fetch_elsewhere(key: bytes) -> bytes | None:
    """The same from the places that are only read."""
    with holding():
        from lazyarr.dispatch.bundle import opened

    for place in current.kernel_path.split(os.pathsep):
        bundle = opened(place)
        body = body_of(key, bundle.entry(key)) if bundle else None
        if body is not None:
            return body
    return None


def store(key: bytes, body: bytes, about: About) -> None:
    """Keep an object under `key`, if that is possible."""
    keep(key, packed(key, about, body))


def keep(key: bytes, entry: bytes) -> None:
    """Keep an entry under its key, if that is possible."""
    global _stored
    root = directory()
    if root is None:
        return
    temporary = f"{root}/{os.urandom(8).hex()}.tmp"
    try:
        handle = os.open(temporary, _CREATE, 0o600)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(temporary, path_of(root, key))
    except OSError:
        remove(temporary)
        return
    if _stored is None:
        atexit.register(sweep)
    _stored = (_stored or 0) + len(entry)
    if _stored > current.cache_bytes // _SWEEP_AFTER:
        sweep()


def forget(key: bytes) -> None:
    """Keep the object under `key` no longer."""
    root = directory()
    if root is not None:
        remove(path_of(root, key))


def sweep() -> None:
    """Remove the files not used for longest until the directory is within ``cache_bytes``."""
    global _stored
    _stored, root = 0, directory()
    if root is None:
        return
    try:
        total = sum(size for _, size, _ in _files(root))
        if total <= current.cache_bytes:
            return
        found = sorted(_files(root))
    except OSError:
        return
    for _, size, path in found:
        if total <= current.cache_bytes:
            break
        remove(path)
        total -= size


def _files(root: str) -> Iterator[tuple[float, int, str]]:
    """When each file of ours was last used, its bytes and path: one at a time, since there may be many."""
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.endswith((SUFFIX, ".tmp")):
                with suppress(FileNotFoundError):       # somebody else may have been quicker
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, entry.path


def remove(path: str) -> None:
    """Remove a file; somebody else may have been quicker."""
    with suppress(OSError):
        os.unlink(path)
