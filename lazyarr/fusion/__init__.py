"""Expression DAG -> parfors: groups of nodes that run as one loop nest, and their bodies.

Public: rules by which bodies are rewritten, and ops of a program's own for them.

register_rewrite, unregister_rewrite    add a rule or rewrite, take it out again
Rule, Rewrite, Value                    what they are written in
Keeps, Stage                            what a rule leaves equal, what it looks at
check_rule                              test what it promises
register_lowering, unregister_lowering  an op that replacements may have
check_lowering                          test its code against its reference
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazyarr.fusion.registry import register_rewrite as register_rewrite
    from lazyarr.fusion.registry import unregister_rewrite as unregister_rewrite
    from lazyarr.fusion.rewrite import Keeps as Keeps
    from lazyarr.fusion.rewrite import Rewrite as Rewrite
    from lazyarr.fusion.rewrite import Rule as Rule
    from lazyarr.fusion.rewrite import Stage as Stage
    from lazyarr.fusion.rewrite import Value as Value
    from lazyarr.fusion.soundness import Unsound as Unsound
    from lazyarr.fusion.soundness import check_rule as check_rule

_HOMES = {
    "lazyarr.fusion.registry": "register_rewrite unregister_rewrite",
    "lazyarr.fusion.rewrite": "Keeps Rewrite Rule Stage Value",
    "lazyarr.fusion.soundness": "Unsound check_rule",
    "lazyarr.lowerings": "check_lowering register_lowering unregister_lowering",
}
"""Public names by module: imported when they are asked for, since the engine needs few of these modules."""
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)         # pyright: ignore


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
