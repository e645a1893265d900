"""Which optimisations are on: the table of names for the option `parallel` and `compile(parallel=...)`.

In:  True, False, or names.   Out: the set of the names that are on; ValueError for any other name.
Results are the same whatever is on; a row says what happens where one is off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazyarr.records import NamedTuple


class Part(NamedTuple):
    """One row."""

    name: str
    without: str


PARTS = tuple(map(Part._make, (
    ("comprehension", "comprehensions in `array(...)` of compiled functions run as Python"),
    ("prange", "loops of compiled functions run as Python"),
    ("numpy", "NumPy computes operations on arrays, one by one"),
    ("reduction", "each fold has a kernel of its own, apart from what makes and uses its elements"),
    ("setitem", "NumPy does the writes to parts of arrays"),
    ("stencil", "stencils are not replayed, and no part of compiled functions"),
    ("fusion", "each operation has loops of its own"),
)))
ALL = frozenset(part.name for part in PARTS)
_ON, _OFF = ("1", "true", "yes", "on", "all"), ("0", "false", "no", "off", "none", "")


def parts(value: Any) -> frozenset[str]:
    """The names that are on: True is all; a string has them separated by commas or spaces."""
    given = value
    if isinstance(value, bool):
        return ALL if value else frozenset()
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _ON or word in _OFF:
            return ALL if word in _ON else frozenset()
        value = value.replace(",", " ").split()
    if not isinstance(value, Iterable):
        raise TypeError(f"parallel={given!r}: must be True, False or a set of names")
    found = frozenset(value)
    unknown = sorted(repr(name) for name in found - ALL)
    if unknown:
        known = ", ".join(part.name for part in PARTS)
        raise ValueError(f"parallel={given!r}: there is no {', '.join(unknown)}; there are {known}")
    return found
