"""The cache for those who look: its entries, whether they are sound, why a lookup found nothing.

In:  the cache directory, the latest lookups that failed.   Out: `Entry`s; `Explanation`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from lazyarr.config import current
from lazyarr.dispatch import cache as disk
from lazyarr.records import NamedTuple


class Entry(NamedTuple):
    """One file of the cache."""

    path: str
    key: bytes
    """Empty if the entry is not sound."""
    about: dict[str, str]
    """What the key is a digest of."""
    nbytes: int
    used: float
    """When it was last used, to the hour, in seconds since 1970."""
    data: bytes

    @property
    def sound(self) -> bool:
        """Is it whole, ours, and under its own name?"""
        return bool(self.key)


def entries() -> Iterator[Entry]:
    """The files of the cache directory, the latest used first."""
    root = disk.directory()
    if root is None:
        return
    with os.scandir(root) as files:
        ours = [file for file in files if file.name.endswith(disk.SUFFIX)]
        found = [(file.stat(follow_symlinks=False), file.path) for file in ours]
    for status, path in sorted(found, key=lambda row: -row[0].st_mtime):
        file = disk.read(path)
        told = disk.about_of(file[0]) if file else None
        name = os.path.basename(path).removesuffix(disk.SUFFIX)
        if file is not None and told is not None and told[0].hex() == name:
            yield Entry(path, told[0], told[1], status.st_size, status.st_mtime, file[0])
        else:
            yield Entry(path, b"", {}, status.st_size, status.st_mtime, b"")


class Totals(NamedTuple):
    """Numbers of a cache."""

    files: int
    nbytes: int
    bound: int
    damaged: int
    kinds: Counter[str]
    levels: Counter[str]
    """Kernels by CPU level."""


def totals() -> Totals:
    """Count what the cache holds."""
    kinds: Counter[str] = Counter()
    levels: Counter[str] = Counter()
    files = nbytes = damaged = 0
    for entry in entries():
        files += 1
        nbytes += entry.nbytes
        damaged += not entry.sound
        if entry.sound:
            kinds[entry.about.get("kind", "")] += 1
        if entry.about.get("kind") == "kernel":
            levels[entry.about["level"]] += 1
    return Totals(files, nbytes, current.cache_bytes, damaged, kinds, levels)


class Difference(NamedTuple):
    """A lookup that found nothing, and the entry that is most like it."""

    wanted: dict[str, str]
    nearest: dict[str, str] | None
    why: str

    @property
    def fields(self) -> dict[str, tuple[str, str]]:
        """By name, what differs: what was looked for, and what the nearest entry has."""
        if self.nearest is None:
            return {}
        names = dict.fromkeys([*self.wanted, *self.nearest])
        both = {name: (self.wanted.get(name, ""), self.nearest.get(name, "")) for name in names}
        differ = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
        follow = {name for why, names in _FOLLOW.items() if why in differ for name in names}
        return {name: pair for name, pair in differ.items() if name not in follow}

    def __str__(self) -> str:
        said = _part(self.wanted.get("symbol") or self.wanted.get("body", ""), 0)
        what = f"{self.wanted['kind']} {said}".rstrip()
        if self.nearest is None:
            return f"{what}: {self.why}, nor any other of its kind"
        rows = [f"  {name}: {_apart(*pair)}" for name, pair in self.fields.items()]
        return "\n".join([f"{what}: {self.why}; the nearest differs by", *rows])

    def __repr__(self) -> str:
        return str(self)


class Differences(list[Difference]):
    """Several, printed one below the other."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no lookup has failed"

    __repr__ = __str__


SHOWN = 60
"""Characters of a field's value that are printed at most."""


def _apart(wanted: str, there: str) -> str:
    """Two values, from just before where they differ."""
    alike = next((k for k, (a, b) in enumerate(zip(wanted, there, strict=False)) if a != b), 0)
    start = max(alike - SHOWN // 6, 0) if max(len(wanted), len(there)) > SHOWN else 0
    return f"wanted {_part(wanted, start) or 'none'}, there is {_part(there, start) or 'none'}"


def _part(text: str, start: int) -> str:
    """A piece of a text, which begins at `start`."""
    piece = text[start : start + SHOWN]
    return ("…" if start else "") + piece + ("…" if len(text) > start + SHOWN else "")


_FOLLOW = {
    "level": ("features", "vector_bytes", "fma", "half", "machine", "equal", "symbol", "text"),
    "text": ("symbol",),
}  # fmt: skip
"""Fields that follow from others: they count for nothing, and are not named beside these."""
_WEIGHT = {"body": 8, "ops": 8, "symbol": 0, **dict.fromkeys(_FOLLOW["level"], 0)}
"""How much it says that two entries agree in a field, where if not 1: before all in what they compute."""


def explain(most: int = 10) -> Differences:
    """Why the latest lookups of this process found nothing.

    Parameters
    ----------
    most : int
        How many, the latest first.

    Returns
    -------
    Differences
        A list; each `Difference` has the entry of the cache that is nearest to what was looked for, and
        prints the fields in which they differ.
    """
    there = [entry for entry in entries() if entry.sound]
    found = Differences()
    for missed in list(disk.MISSED)[: -most - 1 : -1]:
        wanted = dict(missed.about())
        others = [e.about for e in there if e.key != missed.key and e.about.get("kind") == wanted["kind"]]
        nearest = max(others, key=lambda about: _alike(wanted, about), default=None)
        found.append(Difference(wanted, nearest, missed.why))
    return found


def _alike(wanted: dict[str, str], about: dict[str, str]) -> int:
    return sum(_WEIGHT.get(name, 1) for name, text in wanted.items() if about.get(name) == text)


def verify(remove: bool = False) -> list[str]:
    """The files of the cache that are not sound; removed, if asked."""
    bad = [entry.path for entry in entries() if not entry.sound]
    for path in bad if remove else ():
        disk.remove(path)
    return bad


def clear() -> int:
    """Remove all files of the cache; returns how many."""
    root = disk.directory()
    if root is None:
        return 0
    with os.scandir(root) as files:
        paths = [file.path for file in files if file.name.endswith((disk.SUFFIX, ".tmp"))]
    for path in paths:
        disk.remove(path)
    return len(paths)
