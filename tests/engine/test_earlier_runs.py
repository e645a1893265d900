"""What a run has found is known to later runs of the same program, and to nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyarr as np
from lazyarr.earlier_runs import Runs


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A program's file, and a cache of its own."""
    with np.options(cache_dir=str(tmp_path / "cache")):
        yield begins_with(tmp_path / "a.py", monkeypatch)


def begins_with(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(file), raising=False)
    return file


def test_nobody_has_said_anything() -> None:
    assert not Runs().paid()


def test_the_last_run_counts() -> None:
    Runs().note(True)
    assert Runs().paid()
    Runs().note(True)
    assert Runs().paid()
    Runs().note(False)
    assert not Runs().paid()
    Runs().note(False)
    assert not Runs().paid()


def test_what_a_run_finds_first_counts() -> None:
    run = Runs()
    run.note(False)
    run.note(True)
    assert not Runs().paid()


def test_a_run_asks_once() -> None:
    run = Runs()
    assert not run.paid()
    Runs().note(True)
    assert not run.paid()
    assert Runs().paid()


def test_other_programs_have_runs_of_their_own(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Runs().note(True)
    begins_with(program.with_name("b.py"), monkeypatch)
    assert not Runs().paid()
    begins_with(program, monkeypatch)
    assert Runs().paid()


def test_lines_of_a_shell_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    Runs().note(True)
    assert not Runs().paid()


def test_without_a_cache_nothing_is_known() -> None:
    with np.options(cache_bytes=0):
        Runs().note(True)
        assert not Runs().paid()
