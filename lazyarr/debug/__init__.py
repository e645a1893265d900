"""Looking inside: counters, plans and their reasons, pictures; dumps and bisecting of wrong results.

Imports everything below it; nothing imports this package except lazily.
"""

from __future__ import annotations

from lazyarr.counters import counters, reset
from lazyarr.debug.call_all import LevelsDiffer, call_all
from lazyarr.debug.chosen import opt_func_info
from lazyarr.debug.explain import Explanation, explain
from lazyarr.debug.graph import visualize

__all__ = [
    "Explanation", "LevelsDiffer", "call_all", "counters", "explain", "opt_func_info", "reset", "visualize",
]  # fmt: skip
