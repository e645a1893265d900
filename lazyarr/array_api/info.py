"""What the namespace says of itself.

In: nothing.   Out: versions, capabilities, devices, data types.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.array_api.array_type import on_cpu
from lazyarr.array_api.data_types import DTYPES

VERSION = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)
"""Versions add to the earlier ones, but for a list that became a tuple."""

DEFAULTS = {
    "real floating": numpy.dtype(float), "complex floating": numpy.dtype(complex),
    "integral": numpy.dtype(int), "indexing": numpy.dtype(numpy.intp),
}  # fmt: skip


def check_version(api_version: str | None) -> None:
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f'Version "{api_version}" of the Array API Standard is not supported.')


class Info:
    """The inspection functions of the standard."""

    @staticmethod
    def capabilities() -> dict[str, Any]:
        """What the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    @staticmethod
    def default_device() -> str:
        """The device of new arrays."""
        return "cpu"

    @staticmethod
    def devices() -> tuple[str, ...]:
        """All devices."""
        return ("cpu",)

    @staticmethod
    def default_dtypes(*, device: Any = None) -> dict[str, Any]:
        """The data types of new arrays, by kind."""
        on_cpu(device)
        return dict(DEFAULTS)

    @staticmethod
    def dtypes(*, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's data types, by name, of one kind or some."""
        on_cpu(device)
        found = {name: numpy.dtype(dtype) for name, dtype in DTYPES.items()}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if numpy.isdtype(dtype, kind)}
