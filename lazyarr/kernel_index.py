"""What a launch must know of a kernel, kept beside the compiled code: a warm start writes no kernel's text.

In:  a parfor, the target, whether it streams.   Out: `Entry`, or None if the kernel is not known.
The index is a part of the object cache.  An entry's key holds all that text and code follow from: the parfor,
the options that affect code, the source of whatever writes kernels, llvmlite's version (and so LLVM's).  It
names the compiled objects by their own keys, which hold the text: an entry may be missing, but never be
wrong.  It holds the main object itself, too: a file less to be read.
"""

from __future__ import annotations

import marshal
import os
from functools import cache
from typing import Any

import numpy

from lazyarr import config
from lazyarr.codegen.abi import Layout
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.llvm import version
from lazyarr.editions import editions, sources_in
from lazyarr.fusion.parfor import Parfor, Reduction
from lazyarr.records import NamedTuple
from lazyarr.target import Target

WRITERS = (
    "codegen", "codegen/mathlib", "config.py", "cpu_choice.py", "cpu_features.py", "op_targets.py",
    "mxcsr.py", "fusion/parfor.py", "ops.py", "own_ufuncs.py", "own_loops.py", "interrupts.py", "draws.py",
    "ranges.py", "dtypes.py", "target.py", "reduce_order.py", "reduce_proof.py", "tuning.py",
    "cache_sizes.py", "kernel_index.py", "parallel.py", "records.py", "slot_words.py", "numpy_loops.py",
)  # fmt: skip
"""Files and folders that the text of a kernel follows from (a test compares them with the imports)."""

FORMAT = 2
"""Of `marshal`: it knows no references to what was said before, so equal values give equal bytes."""


class Piece(NamedTuple):
    """A function in the object cache."""

    symbol: str
    key: bytes


class Entry(NamedTuple):
    """One kernel; see `codegen.pipeline.Source`."""

    main: Piece
    shell: Piece | None
    combine: Piece | None
    layout: Layout
    scratch_bytes: int
    flags: int
    loops: tuple[tuple[str, str], ...]
    body: bytes = b""
    """The main object, as it is in the cache; what lacks it is given it by `remember`."""
    tier: int = 1
    """How well the main object is compiled (`kernels.TIERS`)."""
    whole: bool = False
    """Has it a kernel for launches that are one chunk (`abi.WHOLE`)?"""


def recall(parfor: Parfor, target: Target, nontemporal: bool) -> Entry | None:
    """What is known of the kernel of a parfor."""
    body = disk.fetch(key(parfor, target, nontemporal), lambda: about(parfor, target, nontemporal))
    if body is None:
        return None
    main, shell, combine, layout, *others = marshal.loads(body)
    return Entry(Piece(*main), shell and Piece(*shell), combine and Piece(*combine), Layout(*layout), *others)


def remember(parfor: Parfor, target: Target, nontemporal: bool, entry: Entry) -> None:
    """Keep what is known of the kernel of a parfor."""
    whole = entry._replace(body=entry.body or disk.fetch(entry.main.key) or b"")
    disk.store(key(parfor, target, nontemporal), packed(whole), about(parfor, target, nontemporal))


def packed(entry: Entry) -> bytes:
    """An entry as bytes."""
    plain = [tuple(field) if isinstance(field, tuple) else field for field in entry]
    return marshal.dumps(plain, FORMAT)


def about(parfor: Parfor, target: Target, nontemporal: bool) -> dict[str, str]:
    """What the key of a kernel is a digest of, piece by piece (a test changes each)."""
    ops = " ".join(inst.op for inst in parfor.body)
    target = _named(parfor, target)
    return {
        "kind": "kernel", "numpy": numpy.__version__, "llvmlite": version(), "source": writers()[:16],
        "level": target.name, **dict(zip(target._fields[1:], map(str, target[1:]), strict=True)),
        **dict(zip(config.CODE, map(str, config.code_key()), strict=True)),
        "nontemporal": str(nontemporal), "dims": parfor.dims, "scalars": parfor.scalars,
        "operands": " ".join(f"{o.dtype}-{o.access}-{o.role}" for o in parfor.operands),
        "shifts": " ".join("{}:{}:{}".format(*s) for s in parfor.shifts),
        "crossed": parfor.crossed,
        "body": f"{ops[:MOST]} ({disk.digest(more=said(parfor)).hex()[:16]})",
    }  # fmt: skip


MOST = 200
"""Characters of a body's ops that are kept."""


def key(parfor: Parfor, target: Target, nontemporal: bool) -> bytes:
    """Where a kernel is in the cache."""
    surroundings = _surroundings(_named(parfor, target), config.code_key(), nontemporal)
    return disk.digest(surroundings, more=said(parfor))


def _named(parfor: Parfor, target: Target) -> Target:
    """A target that says no more of functions than of those that a body names.  (Where a bundle is loaded
    NumPy may have others.)"""
    if not target.equal:
        return target
    named = {(inst.op, inst.sig) for inst in parfor.body}
    equal = tuple([each for each in target.equal if each[:2] in named])
    return target if equal == target.equal else target._replace(equal=equal)


@cache
def _surroundings(target: Target, options: tuple[object, ...], nontemporal: bool) -> str:
    """All but the parfor that a kernel's text and code follow from."""
    what = repr((tuple(target), options, nontemporal))
    return "\0".join(("kernel", writers(), numpy.__version__, version(), what))


def said(parfor: Parfor) -> bytes:
    """All that a parfor says, in a tenth of the time that its `repr` takes."""
    dims, operands, scalars, body, shifts, crossed = parfor
    insts: list[tuple[Any, ...]] = list(map(tuple, body))
    if "r" in dims:                     # `marshal` takes plain tuples only
        insts = [(*i[:3], tuple(i[3]) if isinstance(i[3], Reduction) else i[3]) for i in insts]
    said = dims, list(map(tuple, operands)), scalars, insts, list(map(tuple, shifts)), crossed
    return marshal.dumps(said, FORMAT)


@cache
def writers() -> str:
    """A digest of the source of all that writes kernels; the cache remembers it for these editions."""
    here = os.path.dirname(__file__)
    files: list[str] = []
    for name in WRITERS:
        path = f"{here}/{name}"
        files += [path] if name.endswith(".py") else sources_in(path)
    key = disk.digest("writers", editions(files))
    known = disk.fetch(key)
    if known is not None:
        return known.decode()
    found = disk.digest(*map(_source, files)).hex()
    disk.store(key, found.encode(), {"kind": "writers", "source": found[:16]})
    return found


def _source(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return file.read().decode()
