"""Switches: each does what its row says, seen in counts and code, and leaves NumPy's bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lazyarr
from lazyarr.switches import SWITCHES

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, sys
import numpy, lazyarr
from lazyarr.buffers import usage
from lazyarr.debug import explain
from lazyarr.kernels import host
from lazyarr.debug.code import loop_ir
from lazyarr.debug import watch
from lazyarr import config

def program(np):
    rng = numpy.random.default_rng(1)
    a, b = (np.array(rng.standard_normal((700, 500))) for _ in range(2))
    c = -(-a) * b
    d = (np.sqrt(abs(c)) + np.sqrt(abs(c))).T * a.T
    e = c.sum(axis=1)
    f = c / c.max(axis=1, keepdims=True)
    a[2:] *= 3
    k, again = b[b > 0.5] * 2, b[b > 0.5] + 2
    m = np.exp(a[:-1]) * np.sin(b[1:]) - a[1:]
    r = np.roll(c, 1, 0) + np.roll(c, -1, 1)
    big = np.full(3_000_000, 1.5) * 2
    if np is lazyarr:
        np.evaluate(big)
    big *= 3
    s = abs(b)[np.array(rng.integers(0, 700, 400))] * 2
    found = [s, c, d, e, f, a, k, again, m, r, big]
    if np is lazyarr:
        np.evaluate(*found)
    t = (lambda x: x - x.mean(keepdims=True))(b * 2)
    w = np.array(rng.standard_normal((700, 500)))
    for _ in range(4):
        w[1:-1] = w[2:] + w[:-2] * 0.5
    if np is lazyarr:
        np.evaluate(t)
        np.evaluate(w)
    return found + [t, w, k.sum(), a.max(), c.argmin()]

want = program(numpy)
told = []
config.OBSERVED.append("test")
watch.LISTENERS.append(told.append)
got = program(lazyarr)
same = all(numpy.asarray(x).tobytes() == numpy.asarray(y).tobytes() for x, y in zip(got, want, strict=True))
groups = [g for t in told for g in t.groups]
body = "".join(g.parfor for g in groups)
print(json.dumps({
    "same": same, "groups": len(groups), "kernels": sum(g.kernel for g in groups),
    "rules": sum(r.rule != "value numbering" for g in groups for r in g.rewrites),
    "equal": sum(r.rule == "value numbering" for g in groups for r in g.rewrites),
    "views": sum(o.through_view for g in groups for o in g.operations),
    "packed": sum("packed" in o.fate for g in groups for o in g.operations),
    "moved": sum(t.bytes_moved for t in told),
    "off": list(host().off), "operations": sum(len(t.operations) for t in told),
    **lazyarr.debug.counters(),
}))
"""


def run(cache: Path, **environment: str) -> dict[str, Any]:
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_CACHE_DIR": str(cache), "LAZYARR_JIT": "always",
        **environment,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def usual(cache: Path) -> dict[str, Any]:
    found = run(cache)
    assert found["same"] and not found["off"]
    return found


CHANGES: dict[str, Any] = {
    "cache": lambda off, on: off["disk_hits"] == 0 < off["compiles"],
    "threads": lambda off, on: off["parallel_launches"] == 0,
    "nontemporal": lambda off, on: off["kernels"] == on["kernels"],
    "inplace": lambda off, on: off["bytes_allocated"] > on["bytes_allocated"],
    "rows": lambda off, on: off["native_launches"] > on["native_launches"],
    "rings": lambda off, on: off["moved"] > on["moved"],
    "regions": lambda off, on: off["groups"] > on["groups"],
    "again": lambda off, on: off["moved"] > on["moved"],
    "packs": lambda off, on: off["kernels"] == on["kernels"],       # (forced kernels: nothing is packed)
    "keep": lambda off, on: off["bytes_allocated"] < on["bytes_allocated"],
    "feeds": lambda off, on: off["packed"] == 0 < on["packed"],
    "rewrites": lambda off, on: off["rules"] == 0 < on["rules"],
    "numbering": lambda off, on: off["equal"] == 0 < on["equal"],
    "jam": lambda off, on: off["off"] == ["jam"],
    "vectorize": lambda off, on: off["off"] == ["vectorize"],
    "tile": lambda off, on: off["off"] == ["tile"],
    "emitters": lambda off, on: off["numpy_loop_blocks"] > on["numpy_loop_blocks"],
    "sinking": lambda off, on: off["fused_ops"] != on["fused_ops"],
    "views": lambda off, on: off["views"] == 0 < on["views"],
    "fusion": lambda off, on: off["groups"] == off["operations"] > on["groups"],
    "slots": lambda off, on: off["kernels"] == on["kernels"],
    "jit": lambda off, on: off["kernels"] == off["native_launches"] == 0,
}


@pytest.mark.parametrize("name", [switch.name for switch in SWITCHES])
def test_a_switch_keeps_the_bits(name: str, cache: Path, usual: dict[str, Any]) -> None:
    switch = next(s for s in SWITCHES if s.name == name)
    off = run(cache, **{switch.variable: switch.value or name})
    assert off["same"]
    assert CHANGES[name](off, usual), {key: (off[key], usual[key]) for key in off if off[key] != usual[key]}


def test_parts(cache: Path, usual: dict[str, Any]) -> None:
    off = run(cache, LAZYARR_DISABLE="rewrites:neg-neg, emitters:multiply,fusion:3")
    assert off["same"] and off["rules"] == usual["rules"] - 1
    assert off["off"] == ["emitters:multiply"]
    assert off["numpy_loop_blocks"] > usual["numpy_loop_blocks"]


@pytest.mark.parametrize("text", ["speed", "threads", "vectorize:3", "rewrites,fussion"])
def test_what_is_no_switch(text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import lazyarr; lazyarr.evaluate(lazyarr.ones(1 << 20) + 1)"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_DISABLE": text, "LAZYARR_JIT": "always"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode and "there is no switch" in done.stderr


def test_they_are_of_the_process() -> None:
    with pytest.raises(ValueError, match="LAZYARR_DISABLE"):
        lazyarr.set_options(disable="fusion")
    lazyarr.set_options(**lazyarr.get_options())
