"""Run a map parfor's kernel on NumPy arrays, chunk by chunk, as the launcher does."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pytest

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.pipeline import Source, compile_parfor
from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import row
from lazyarr.target import Target

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
THREAD = 1
"""The thread number that tests run as: not 0, so that scratch memory of another thread is noticed."""


@dataclass
class Launch:
    """The words of one launch, and what must stay alive with them."""

    words: numpy.ndarray
    chunks: int
    scratch: numpy.ndarray

    def flags(self) -> int:
        return int(self.words[Layout.FLAGS])


def launch_of(
    source: Source, arrays: Sequence[numpy.ndarray], scalars: Sequence[Any], tile: Sequence[int]
) -> Launch:
    """Words for arrays over one iteration space (strides 0 where an operand is repeated)."""
    layout, shape = source.layout, arrays[0].shape
    words = numpy.zeros(layout.extra(0), "i8")
    chunks = 1
    for d, n in enumerate(shape):
        words[layout.shape(d)], words[layout.tile(d)] = n, tile[d]
        words[layout.grid(d)] = -(-n // tile[d])
        chunks *= -(-n // tile[d])
    for k, a in enumerate(arrays):
        words[layout.pointer(k)] = a.__array_interface__["data"][0]
        for d, stride in enumerate(a.strides):
            words[layout.stride(k, d)] = stride
    for k, s in enumerate(scalars):
        words[layout.scalar(k) : layout.scalar(k) + 2] = numpy.frombuffer(s.tobytes().ljust(16, b"\0"), "i8")
    for k, (name, sig) in enumerate(source.loops):
        loop = inner_loop(row(name).fn, sig)
        assert loop is not None
        words[layout.loop(k)], words[layout.loop(k) + 1] = loop.address, loop.data
    scratch = numpy.zeros(source.scratch_bytes * (THREAD + 1) + 64, "u1")
    at = scratch.__array_interface__["data"][0]
    words[Layout.SCRATCH] = -(-at // 64) * 64
    return Launch(words, chunks, scratch)


def run_native(
    parfor: Parfor,
    arrays: Sequence[numpy.ndarray],
    scalars: Sequence[Any] = (),
    tile: Sequence[int] | None = None,
    target: Target | None = None,
    nontemporal: bool = False,
    opt: int = 0,
) -> int:
    """Compile the kernel and run all chunks; NumPy's FPE flags."""
    target = target or host_level()
    source = compile_parfor(parfor, target, nontemporal=nontemporal, verify=True)
    launch = launch_of(source, arrays, scalars, tile or arrays[0].shape)
    kernel = KERNEL(load(source.ir, (source.symbol,), target, opt)[source.symbol])
    for chunk in range(launch.chunks):
        kernel(launch.words.ctypes.data, chunk, THREAD)
    return launch.flags()


@pytest.fixture
def native() -> Callable[..., int]:
    return run_native
