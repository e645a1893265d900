"""Whoever changes a file makes another edition of it, whatever its size and times."""

from __future__ import annotations

import os
from pathlib import Path

from lazyarr import kernel_index
from lazyarr.dispatch import cache as disk
from lazyarr.editions import editions, sources_in


def test_changes(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text("1")
    found = [editions([str(file)])]
    assert editions([str(file)]) == found[0]
    os.utime(file, ns=(1, 1))
    found.append(editions([str(file)]))
    file.write_text("2")
    os.utime(file, ns=(1, 1))                   # (when its state changed nobody can set)
    found.append(editions([str(file)]))
    file.rename(tmp_path / "others.py")
    found.append(editions([f"{tmp_path}/others.py"]))
    assert len({*found}) == 4


def test_sources(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.pyc", "d"):
        (tmp_path / name).write_text("")
    assert sources_in(str(tmp_path)) == [f"{tmp_path}/a.py", f"{tmp_path}/b.py"]


def test_the_sources_of_kernels_are_read_once(monkeypatch) -> None:
    """And the sum is that of their contents: bundles go by it on other machines."""
    kept: dict[bytes, bytes] = {}
    monkeypatch.setattr(disk, "fetch", kept.get)
    monkeypatch.setattr(disk, "store", lambda key, body, about: kept.update({key: body}))
    read: list[str] = []
    source = kernel_index._source
    monkeypatch.setattr(kernel_index, "_source", lambda path: read.append(path) or source(path))
    asked = kernel_index.writers.__wrapped__
    first = asked()
    count = len(read)
    assert first == kernel_index.writers() and count > 50
    assert asked() == first and len(read) == count
    monkeypatch.setattr(kernel_index, "editions", lambda files: "others")
    assert asked() == first and len(read) == 2 * count
