"""Whoever changes a file makes another edition of it, whatever its size and times."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lazyarr import editions as module
from lazyarr import kernel_index
from lazyarr.dispatch import cache as disk
from lazyarr.editions import editions, imported, sources_in


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


def test_what_was_imported(tmp_path: Path, monkeypatch) -> None:
    """Nobody can tell of what changed since, nor where there are no sources."""
    code, others, file = tmp_path / "code", tmp_path / "others", tmp_path / "one.py"
    for folder in (code, others):
        folder.mkdir()
    for each in (code / "a.py", others / "a.pyc", file):
        each.write_text("1")
    assert not imported([str(code)]) and not imported([str(code)], [str(file)])
    monkeypatch.setattr(module, "IMPORTED", module.IMPORTED + 10**15)
    assert imported([str(code)]) == editions([f"{code}/a.py"])
    assert imported([str(code)], [str(file)]) == editions([f"{code}/a.py", str(file)])
    for wrong in ([str(others)], [str(code), str(others)], [f"{tmp_path}/archive.zip/lazyarr"]):
        assert not imported(wrong)
    assert not imported([str(code)], [f"{tmp_path}/two.py"])


def test_the_library_notes_early_when_it_is_imported() -> None:
    """Before there is anything that machine code follows from."""
    program = "import sys, lazyarr; print(*[m for m in sys.modules if m.startswith('lazyarr.')])"
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, check=True, timeout=100, capture_output=True, text=True)
    assert {*done.stdout.split("lazyarr.config")[0].split()} <= {
        "lazyarr.resting", "lazyarr.records", "lazyarr.parallel", "lazyarr.slot_words"
    }  # fmt: skip


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
