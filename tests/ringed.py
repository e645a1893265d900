"""Sweeps that take turns with a ring of pages, and what makes all of them do so, small as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy
import pytest

from lazyarr import buffers, plan, planning, row_room
from lazyarr.config import options

INNER = "u[1:-1, 1:-1]"
AROUND = "u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]"
JACOBI = f"{INNER} = ({AROUND}) * q"
BORDERS = "u[0] = u[1]\nu[-1] = u[-2]\nu[:, 0] = u[:, 1]\nu[:, -1] = u[:, -2]"
HEAT = f"{INNER} += ({AROUND} - 4 * {INNER}) * q\n{BORDERS}"

SWEEPS = {
    "jacobi": JACOBI,
    "heat": HEAT,
    "two borders": f"{INNER} += {AROUND}\nu[0] = u[1]\nu[-1] = u[-2]",
    "upwards": "u[1:] = u[:-1] * q + u[1:]",
    "far": "u[2:-2, 1:-3] = (u[4:, 1:-3] + u[:-4, 2:-2] + u[2:-2, :-4]) * q",
    "lopsided": "u[3:, :-1] = (u[:-3, 1:] + u[1:-2, :-1] - u[3:, 1:]) * q",
}  # fmt: skip


@contextmanager
def small_blocks(threads: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans with blocks of few rows, verified; rings that other tests asked for in vain do not count."""
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 18)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 3)
    monkeypatch.setattr(buffers._allocator, "_credit", buffers.IN_VAIN)
    if buffers._allocator.rings is None:                    # (of a process that had none yet)
        monkeypatch.setattr(buffers._allocator, "rings", buffers._ring_pages())
    planning.forget()
    with options(jit="always", plan="always", verify=True, num_threads=threads):
        yield
    planning.forget()


def alike(ours: Sequence[numpy.ndarray], want: Sequence[numpy.ndarray]) -> None:
    """The same arrays, with one NaN for all."""
    for a, b in zip(ours, want, strict=True):
        nans = a != a
        assert a.dtype == b.dtype and a.shape == b.shape
        assert (nans == (b != b)).all() and a[~nans].tobytes() == b[~nans].tobytes()
