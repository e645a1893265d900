"""What is known of a compiled function, in words.

In:  its replays and refusals by key.   Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.interpret import NUMBERS
from lazyarr.compiling.replay import Replay
from lazyarr.compiling.small import Small
from lazyarr.geometry import fresh
from lazyarr.scalar.compiled import Refusal

SETTINGS = 1
"""How many items of a key are options."""


def told(name: str, found: Mapping[tuple[Any, ...], Replay | Refusal], last: Refusal | None) -> str:
    """A line for each kind of calls."""
    lines = [f"  ({_arguments(key)}): {_way(each)}" for key, each in list(found.items())]
    if last is not None and not lines:
        lines.append(f"  not compiled: {last}")
    return "\n".join([f"{name}:", *lines])


def _way(found: Replay | Refusal) -> str:
    if isinstance(found, Refusal):
        return f"not compiled: {found}"
    return f"{found.kernels} kernels in one call" if isinstance(found, Small) else f"{found.kernels} launches"


def _arguments(key: tuple[Any, ...]) -> str:
    """The kinds of arguments of a key, much as NumPy would name them."""
    found, items = [], list(key[SETTINGS:])
    while items:
        c = items.pop(0)
        if c is ndarray or c is numpy.ndarray:
            shape, strides, dtype = items[:3]
            del items[:3]
            usual = strides == fresh(shape, dtype).strides
            found.append(f"{dtype}{list(shape)}{'' if usual else ' strided'}")
        elif c in NUMBERS and not (items and isinstance(items[0], str)):
            found.append(c.__name__)
        else:
            found.append(str(items.pop(0)) if c in NUMBERS or c is tuple else repr(items.pop(0)))
    return ", ".join(found)
