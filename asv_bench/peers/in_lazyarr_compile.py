"""The target programs in lazyarr as functions for `lazyarr.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.targets import TARGETS

import lazyarr
from peers.in_lazyarr import array, finish

__all__ = ["PROGRAMS", "array", "finish"]


def compiled(call: Callable[..., Any]) -> Callable[..., Any]:
    found: Callable[..., Any] = lazyarr.compile(lambda *arrays: call(lazyarr, *arrays))
    return found


PROGRAMS = {name: compiled(target.call) for name, target in TARGETS.items()}
