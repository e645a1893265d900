"""Looking inside: counters, plans, and why something was not fused.

Imports everything below it; nothing imports this package except lazily.
"""

from __future__ import annotations

from lazyarr.counters import counters, reset
from lazyarr.debug.explain import explain

__all__ = ["counters", "explain", "reset"]
