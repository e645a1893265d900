"""The target programs in jax: `jit` of programs of whole arrays, with 64-bit types and XLA's fast math."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
from benchmarks.targets import SWEEPS, TARGETS

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def array(x: numpy.ndarray) -> Any:
    return jnp.array(x)


def finish(result: Any) -> Any:
    return jax.block_until_ready(result)


def jacobi(start: Any) -> Any:
    def sweep(_: int, u: Any) -> Any:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].set(0.25 * around)

    return jax.lax.fori_loop(0, SWEEPS, sweep, start)


def heat(start: Any) -> Any:
    def step(_: int, u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return jnp.pad(inner + 0.1 * (around - 4 * inner), 1, mode="edge")

    return jax.lax.fori_loop(0, SWEEPS, step, start)


def of_numpy(name: str) -> Callable[..., Any]:
    """NumPy's program, over jax's names."""
    return lambda *arrays: TARGETS[name].call(jnp, *arrays)


OWN = {"Jacobi": jacobi, "heat": heat, "masked sum": lambda a: jnp.where(a > 0, a, 0).sum()}
PROGRAMS: dict[str, Callable[..., Any]] = {name: jax.jit(OWN.get(name, of_numpy(name))) for name in TARGETS}
