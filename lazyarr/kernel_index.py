"""What a launch must know of a kernel, kept beside the compiled code: a warm start writes no kernel's text.

In:  a parfor, the target, whether it streams.   Out: `Entry`, or None if the kernel is not known.
The index is a part of the object cache.  An entry's key holds all that the text follows from: the parfor,
the options that affect code, and the source of whatever writes kernels.  It names the compiled
objects by their own keys, which hold the text: an entry may be missing, but never be wrong.  It holds the
main object itself, too: a file less to be read.
"""

from __future__ import annotations

import marshal
import os
from functools import cache
from typing import NamedTuple

import numpy

from lazyarr import config
from lazyarr.codegen.abi import Layout
from lazyarr.dispatch import cache as disk
from lazyarr.fusion.parfor import Parfor, Reduction
from lazyarr.target import Target

WRITERS = (
    "codegen", "fusion/parfor.py", "ops.py", "draws.py", "dtypes.py", "target.py", "reduce_order.py",
    "reduce_proof.py", "kernel_index.py",
)  # fmt: skip
"""Files and folders that the text of a kernel follows from (a test compares them with the imports)."""

_NONE = "-"
_END = b"\0"


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
    """The main object, as it is in the cache; `remember` puts it in."""


def recall(parfor: Parfor, target: Target, nontemporal: bool) -> Entry | None:
    """What is known of the kernel of a parfor."""
    body = disk.fetch(_key(parfor, target, nontemporal))
    if body is None:
        return None
    head, _, main_body = body.partition(_END)
    pieces, numbers, *loops = head.decode().split("\n")
    main, shell, combine = map(_piece, pieces.split(" "))
    rank, operands, scalars, called, scratch, flags = map(int, numbers.split(" "))
    assert main is not None
    found = tuple((name, sig) for name, sig in (line.split(" ") for line in loops))
    return Entry(main, shell, combine, Layout(rank, operands, scalars, called), scratch, flags, found, main_body)


def remember(parfor: Parfor, target: Target, nontemporal: bool, entry: Entry) -> None:
    """Keep what is known of the kernel of a parfor."""
    pieces = " ".join(map(_text, (entry.main, entry.shell, entry.combine)))
    numbers = " ".join(map(str, (*entry.layout, entry.scratch_bytes, entry.flags)))
    body = disk.fetch(entry.main.key) or b""
    lines = [pieces, numbers, *map(" ".join, entry.loops)]
    disk.store(_key(parfor, target, nontemporal), b"".join(("\n".join(lines).encode(), _END, body)))


def _text(piece: Piece | None) -> str:
    return _NONE if piece is None else f"{piece.symbol}:{piece.key.hex()}"


def _piece(text: str) -> Piece | None:
    if text == _NONE:
        return None
    symbol, _, key = text.partition(":")
    return Piece(symbol, bytes.fromhex(key))


def _key(parfor: Parfor, target: Target, nontemporal: bool) -> bytes:
    options = repr((tuple(target), config.code_key(), nontemporal))
    return disk.digest("kernel", writers(), numpy.__version__, options, said(parfor))


def said(parfor: Parfor) -> str:
    """All that a parfor says, in a fifth of the time that its `repr` takes."""
    dims, operands, scalars, body = parfor
    insts = [(*i[:3], tuple(i.attr) if isinstance(i.attr, Reduction) else i.attr) for i in body]
    # (Version 2 knows no references to what was said before: equal values give equal bytes.)
    return marshal.dumps((dims, [tuple(o) for o in operands], scalars, insts), 2).decode("latin-1")


@cache
def writers() -> str:
    """A digest of the source of all that writes kernels."""
    here = os.path.dirname(__file__)
    files: list[str] = []
    for name in WRITERS:
        path = os.path.join(here, name)
        files += [path] if name.endswith(".py") else sorted(entry.path for entry in os.scandir(path))
    return disk.digest(*(_source(file) for file in files if file.endswith(".py"))).hex()


def _source(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return file.read().decode()
