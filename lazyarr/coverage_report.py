"""What runs where: every public function of NumPy's namespace, and how lazyarr runs it.

In: the op table, the face's rules.   Out: lists for users, and the configuration as text.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr import namespace
from lazyarr.ops import OPS, loop_types, native


def coverage() -> dict[str, tuple[str, ...]]:
    """List how NumPy's public functions run.

    Returns
    -------
    dict of str to tuple of str
        ``native``: ufuncs compiled into fused kernels for at least one dtype.
        ``inner_loops``: ufuncs whose NumPy loops run, block by block, inside fused kernels.
        ``lazy``: functions that make views or nodes, or are NumPy's own code over such.
        ``numpy``: functions that NumPy runs on evaluated arrays.
    """
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
    """Show how NumPy was built, and what lazyarr uses.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}
        Print, or return a dict with NumPy's entries and ``lazyarr``.
    """
    from lazyarr.runner_report import info

    if mode == "dicts":
        return {**numpy.show_config("dicts"), "lazyarr": info()}
    numpy.show_config(mode)
    print(info())
    return None
