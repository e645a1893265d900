"""The functions' loops as callables, and the CPU's status flags."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest

from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level

sys.path.append(str(Path(__file__).parents[3] / "tools"))

_STATUS = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i32 @lazyarr_test_status(i32 %clear) {
  %p = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %now = load i32, ptr %p, align 4
  %rest = and i32 %now, %clear
  store i32 %rest, ptr %p, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret i32 %now
}
"""
_BITS = {1: "invalid", 4: "divide", 8: "over", 16: "under"}


@pytest.fixture(scope="session")
def raised() -> Callable[[Callable[[], object]], set[str]]:
    """Which flags code raises."""
    symbol = "lazyarr_test_status"
    address = jit.load(_STATUS, (symbol,), host_level(), kernel=False)[symbol]
    status = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(address)

    def flags(run: Callable[[], object]) -> set[str]:
        status(~63 & 0xFFFFFFFF)
        run()
        now = status(~63 & 0xFFFFFFFF)
        return {key for bit, key in _BITS.items() if now & bit}

    return flags


@pytest.fixture
def quiet() -> Iterator[None]:
    with numpy.errstate(all="ignore"):
        yield
