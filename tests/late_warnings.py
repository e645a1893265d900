"""Warnings that come when values are computed, for tests of several folders."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def shown() -> Iterator[list[warnings.WarningMessage]]:
    """All warnings that are shown.  (Where they are recorded, they are awaited, and operations not lazy.)"""
    found: list[warnings.WarningMessage] = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(warnings, "showwarning", lambda *args: found.append(warnings.WarningMessage(*args)))
        warnings.simplefilter("always")
        yield found
