"""ARCHITECTURE.md names every module, and no module that is not there."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = set(re.findall(r"`([\w/*]+(?:\.py|/))`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))
MODULES = {p.relative_to(ROOT / "lazyarr").as_posix() for p in (ROOT / "lazyarr").rglob("*.py")}


def names(pattern: str, module: str) -> bool:
    """A pattern is a path, the end of one, or a folder."""
    return module.startswith(pattern) if pattern.endswith("/") else fnmatch(f"/{module}", f"*/{pattern}")


def test_every_module_is_named() -> None:
    modules = {module for module in MODULES if not module.endswith("__init__.py")}
    assert not {module for module in modules if not any(names(pattern, module) for pattern in NAMED)}


def test_every_name_is_a_module() -> None:
    others = {name for name in NAMED if (ROOT / name).exists()}
    assert not {pattern for pattern in NAMED - others if not any(names(pattern, m) for m in MODULES)}
