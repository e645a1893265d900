"""What evaluations import when they need it, they import while signals wait: handlers find whole modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyarr

ROOT = Path(lazyarr.__file__).parent
MODULES = (
    "storage", "engine", "ready", "kernels", "planning", "steps", "dispatch/jit",
    "dispatch/cache",
)  # fmt: skip
WHOLE = {"lazyarr.debug.watch", "lazyarr.interrupts", "lazyarr.late"}
"""These are looked on with, or are there already."""


def late_imports(node: ast.AST, held: bool = False, within: bool = False) -> Iterator[str]:
    """Modules of ours that functions import while signals do not wait."""
    for child in ast.iter_child_nodes(node):
        function = within or isinstance(child, ast.FunctionDef)
        waits = held or (isinstance(child, ast.With) and any(map(_holds, child.items)))
        if isinstance(child, ast.ImportFrom) and function and not waits:
            yield from [child.module] if (child.module or "").startswith("lazyarr") else []
        yield from late_imports(child, waits, function)


def _holds(item: ast.withitem) -> bool:
    return "holding()" in ast.unparse(item)


@pytest.mark.parametrize("module", MODULES)
def test_signals_wait(module: str) -> None:
    tree = ast.parse((ROOT / f"{module}.py").read_text(encoding="utf-8"))
    assert not {*late_imports(tree)} - WHOLE
