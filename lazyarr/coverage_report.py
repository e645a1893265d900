"""What runs where: every public function of NumPy's namespace, and how lazyarr runs it.

In: the op table, the face's rules.   Out: lists for users, and the configuration as text.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr import namespace
from lazyarr.ops import OPS, loop_types, native


def coverage() -> dict[str, tuple[str, ...]]:
    """`lazyarr.coverage`."""
    found: dict[str, list[str]] = {"native": [], "inner_loops": [], "lazy": [], "numpy": []}
    for name in sorted(set(numpy.__all__) | {"clip"}):
        x = getattr(numpy, name, None)
        if callable(x) and not isinstance(x, type):
            found[_lane(x)].append(name)
    return {lane: tuple(names) for lane, names in found.items()}


def _lane(x: Any) -> str:
    name = getattr(x, "__name__", "")
    if isinstance(x, numpy.ufunc):
        row = OPS.get(name)
        if row is None or row.fn is not x:
            return "numpy"
        return "native" if any(native(name, sig) for sig in loop_types(name)) else "inner_loops"
    return "lazy" if x in namespace.OVERRIDES else "numpy"


def show_config(mode: str = "stdout") -> Any:
    """`lazyarr.show_config`."""
    from lazyarr.runner_report import info

    if mode == "dicts":
        return {**numpy.show_config("dicts"), "lazyarr": info()}
    numpy.show_config(mode)
    print(info())
    return None
