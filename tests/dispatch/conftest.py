"""A cache of objects in which nothing is yet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazyarr.config import get_options, set_options

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Path]:
    """The cache's folder, for all threads (`options` holds for one)."""
    before = get_options()["cache_dir"]
    set_options(cache_dir=str(tmp_path / "objects"))
    yield tmp_path / "objects"
    set_options(cache_dir=before)
