"""Compiled objects on disk, by content.

In:  a key (a digest of everything that determines the object) and the object's bytes.
Out: the bytes, or None.
A file is ``MAGIC, key, digest of the object, object``.  What is loaded was written whole by this
user under this key: files appear by renaming, others' files and damaged ones count as absent.
No error of the file system ever reaches the caller: without a usable directory nothing is cached.
"""

from __future__ import annotations

import atexit
import os
import stat
import sys
import time
from contextlib import suppress
from functools import cache

from lazyarr.config import current

try:
    from _blake2 import blake2b  # hashlib's own, without OpenSSL, which takes 2 ms to load
except ImportError:
    from hashlib import blake2b

MAGIC = b"lazyarr object 2\n"
"""Also the version of the format: it is part of every key."""
_HEAD = len(MAGIC) + 32 + 32
_SUFFIX = ".lzo"
_OPTIONS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _OPTIONS
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPTIONS
_SWEEP_EVERY = 256          # stores between two sweeps of a long-lived process
_TOUCH_AFTER = 3600.0       # seconds: how exact "not used for longest" is
_stores = 0


def digest(*parts: str, more: bytes = b"") -> bytes:
    """The key of an object that these strings, and bytes, determine."""
    return _digest(b"".join((MAGIC, "\0".join(parts).encode(), b"\0", more)))


def _digest(data: bytes) -> bytes:
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
        return root if _is_ours(os.stat(root)) else None
    except OSError:
        return None


def _is_ours(found: os.stat_result) -> bool:
    """Does it belong to this user, and can nobody else write it?"""
    if os.name == "nt":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _path(root: str, key: bytes) -> str:
    return f"{root}/{key.hex()}{_SUFFIX}"


def fetch(key: bytes) -> bytes | None:
    """The object stored under `key`, or None."""
    root = directory()
    if root is None:
        return None
    path = _path(root, key)
    try:
        handle = os.open(path, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not _is_ours(found):
            return None
        data = os.read(handle, found.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    body = data[_HEAD:]
    if data[:_HEAD] != MAGIC + key + _digest(body):
        remove(path)
        return None
    if time.time() - found.st_mtime > _TOUCH_AFTER:
        with suppress(OSError):
            os.utime(path)
    return body


def store(key: bytes, body: bytes) -> None:
    """Keep an object under `key`, if that is possible."""
    global _stores
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
            file.write(MAGIC + key + _digest(body) + body)
        os.replace(temporary, _path(root, key))
    except OSError:
        remove(temporary)
        return
    if _stores == 0:
        atexit.register(sweep)
    _stores += 1
    if _stores % _SWEEP_EVERY == 0:
        sweep()


def sweep() -> None:
    """Remove the files not used for longest until the directory is within ``cache_bytes``."""
    root = directory()
    if root is None:
        return
    try:
        with os.scandir(root) as entries:
            ours = [entry for entry in entries if entry.name.endswith((_SUFFIX, ".tmp"))]
        about = [(entry.stat(follow_symlinks=False), entry.path) for entry in ours]
    except OSError:
        return
    found = [(status.st_mtime, status.st_size, path) for status, path in about]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= current.cache_bytes:
            break
        remove(path)
        total -= size


def remove(path: str) -> None:
    """Remove a file; somebody else may have been quicker."""
    with suppress(OSError):
        os.unlink(path)
