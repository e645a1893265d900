"""The manifest: what was probed of this host and of LLVM, which levels hold, what is built for which of them.

In:  nothing.   Out: `Manifest`, made once for a host, an LLVM, the options for CPUs and the op table.
It is an entry of the object cache: who asks later need not load LLVM.
"""

from __future__ import annotations

import ctypes
import json
import os
from contextlib import suppress
from functools import cache
from typing import Any

from lazyarr import cpu_features
from lazyarr.config import cpu_key
from lazyarr.cpu_features import FEATURE, LEVELS, features_of, here, of_the_system
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME, denied_by_llvm, llvm_features, missing, selection
from lazyarr.dispatch.llvm import binding, version, within
from lazyarr.op_targets import built, read
from lazyarr.ops import OPS, PYTHONS, SHARED
from lazyarr.records import NamedTuple

FORMAT = "1"


class Manifest(NamedTuple):
    """What is told; each a dict of words, to be printed or kept as JSON."""

    probed: dict[str, Any]
    """The machine; features by the system's list, and by LLVM's; versions."""
    validated: dict[str, str]
    """Each level of this machine -> ``runs``, or why it cannot be used."""
    built: dict[str, dict[str, Any]]
    """Each statement of the op table -> the levels that it is compiled for, LLVM's level, the ops."""


_made: dict[bytes, Manifest] = {}


def manifest() -> Manifest:
    """The manifest: from the cache, or made now.

    Raises
    ------
    ImportError
        Without llvmlite.
    RuntimeError, ValueError
        If the options for CPUs ask for what cannot be had.
    """
    key = _key()
    found = _made.get(key)
    if found is None:
        body = disk.fetch(key)
        with suppress(TypeError, ValueError):
            found = Manifest(**json.loads(body)) if body else None
        if found is None:
            found = _make()
            about = {"kind": "manifest", "machine": here(), "llvm": found.probed["LLVM"]}
            disk.store(key, json.dumps(found._asdict()).encode(), about)
        _made[key] = found
    return found


def _key() -> bytes:
    """By all that it follows from: a new LLVM, host, option, or row of a table makes a new one."""
    tables = repr((cpu_features.FEATURES, LEVELS, _statements()))
    system = of_the_system()
    host = " ".join(sorted(system)) if system is not None else "unknown"
    return disk.digest("manifest", FORMAT, here(), host, version(), _library(), repr(cpu_key()), tables)


@cache
def _library() -> str:
    """Which file LLVM is, as far as can be told without loading it."""
    import llvmlite

    place = os.path.join(os.path.dirname(llvmlite.__file__), "binding")
    with os.scandir(place) as files:
        found = [file for file in files if "llvmlite." in file.name and not file.name.endswith(".py")]
    stats = sorted((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in found)
    return repr((place, stats))


def _statements() -> dict[str, list[str]]:
    """The ops of each statement; those that are not in the table have words for them."""
    found: dict[str, list[str]] = {}
    for op in OPS.values():
        found.setdefault(op.targets, []).append(op.name)
    found.setdefault(SHARED, []).append("random draws")
    found.setdefault(PYTHONS, []).append("Python functions (`vectorize`)")
    return found


def _make() -> Manifest:
    with within():
        llvm = binding()
        known = frozenset(llvm.get_host_cpu_features() if here() == "x86_64" else ())   # elsewhere not all
        names = ".".join(map(str, llvm.llvm_version_info)), str(llvm.get_process_triple())
    system = of_the_system()
    probed = {
        "machine": here(), "system": sorted(system) if system is not None else [],
        "llvm": sorted(llvm_features()), "llvmlite": version(), "LLVM": names[0], "triple": names[1],
    }  # fmt: skip
    mine = [level.name for level in LEVELS if level.machine == here()]
    return Manifest(probed, {name: _verdict(name, known) for name in mine}, _built())


def _built() -> dict[str, dict[str, Any]]:
    chosen = selection()
    told: dict[str, dict[str, Any]] = {}
    for statement, ops in _statements().items():
        levels = [name for name in built(statement, here(), chosen.baseline) if name in chosen.usable]
        told[statement] = {"levels": levels, "opt": read(statement).opt, "ops": ops}
    return told


def _verdict(name: str, known: frozenset[str]) -> str:
    """What stands against a level, or ``runs``; `known` are the features that LLVM has words for."""
    features = features_of(name)
    reasons = (
        ("LLVM does not know", [f for f in features if known and FEATURE[f].llvm not in known]),
        ("this host lacks", missing(BY_NAME[name])),
        ("LLVM does not see", [f for f in features if f in denied_by_llvm()]),
    )
    for why, what in reasons:
        if what:
            return f"{why} {', '.join(what)}"
    if name not in selection().usable:
        return "left out by the options"
    try:
        return "runs" if _answer(name) == ANSWER else "its code gives wrong results"
    except RuntimeError as error:
        return f"its code cannot be loaded: {error}"


ANSWER = 42.0
_TRIAL = """
define double @{symbol}(double %x) {{
  %p = alloca <{n} x double>
  %a = insertelement <{n} x double> zeroinitializer, double %x, i32 {last}
  store volatile <{n} x double> %a, ptr %p
  %b = load volatile <{n} x double>, ptr %p
  %c = fmul <{n} x double> %b, %b
  %d = fadd <{n} x double> %c, %b
  %r = extractelement <{n} x double> %d, i32 {last}
  ret double %r
}}
"""


def _answer(level: str) -> float:
    """What a function gives that is compiled for a level and run: vectors of its width, 6 * 6 + 6."""
    target, symbol = BY_NAME[level].target, f"lazyarr_trial_{level}"
    n = target.vector_bytes // 8
    code = jit.load(_TRIAL.format(symbol=symbol, n=n, last=n - 1), (symbol,), target, kernel=False)
    return float(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code[symbol])(6.0))


def lines(told: dict[str, Any]) -> list[str]:
    """For people, of a manifest as a dict; or of the reason why there is ``none``."""
    if "none" in told:
        return [f"none: {told['none']}"]
    probed = told["probed"]
    found = [
        f"probed: {probed['machine']} ({probed['triple']}); {len(probed['system'])} features by the system, "
        f"{len(probed['llvm'])} by LLVM {probed['LLVM']}",
        *(f"validated: {level} {verdict}" for level, verdict in told["validated"].items()),
    ]
    for statement, row in told["built"].items():
        ops = row["ops"] if len(row["ops"]) < FEW else [f"{len(row['ops'])} ops"]
        levels = " ".join(row["levels"]) or "nothing"
        found.append(f"built: {levels}, opt {row['opt']}: {', '.join(ops)} ({statement!r})")
    return found


FEW = 4
"""Ops of a statement that are named."""
