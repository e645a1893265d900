"""Pictures of what an evaluation would do: Graphviz's DOT language.

In:  an `Explanation`.   Out: DOT text, or a picture made of it by the package and program of Graphviz.
An operation is a box in the frame of its group, coloured where its value is stored; an edge is a value that
is read, dashed where it is in registers.
"""

from __future__ import annotations

import os
from typing import Any

from lazyarr.debug.explain import Explanation, Group, Operation, explain
from lazyarr.debug.words import size

TEXT = (".dot", ".gv")
"""Endings of files that hold the text itself."""


def dot(told: Explanation) -> str:
    """The graph in DOT."""
    lines = ["digraph lazyarr {", "  rankdir=TB; node [shape=box, fontname=monospace, fontsize=10];"]
    for word in told.inputs:
        lines.append(f"  {_name(word.partition(':')[0])} [label={_text(word)}, shape=ellipse];")
    for group in told.groups:
        lines += _frame(group)
    fates = {f"#{o.serial}": o.fate for o in told.operations}
    for o in told.operations:
        for word in (*o.inputs, *([o.changes] if o.changes else [])):
            lines += _edge(word, o, fates)
    return "\n".join([*lines, "}", ""])


def _frame(group: Group) -> list[str]:
    how = "one kernel" if group.kernel else "NumPy"
    title = [f"group {group.number}: {how} over {group.shape}", *(r.why for r in group.refusals)]
    title.append(f"reads {size(group.bytes_read)}, writes {size(group.bytes_written)}")
    lines = [f"  subgraph cluster_{group.number} {{", f"    label={_text(*title)};"]
    for o in group.operations:
        kept = ", style=filled, fillcolor=lightblue" if o.fate == "stored" else ""
        where = f"{os.path.basename(o.file)}:{o.line}" if o.file else ""
        words = [f"#{o.serial} {o.op}", f"{o.dtype} {o.shape}", where]
        lines.append(f"    {_name(f'#{o.serial}')} [label={_text(*filter(None, words))}{kept}];")
    return [*lines, "  }"]


def _edge(word: str, o: Operation, fates: dict[str, str]) -> list[str]:
    name, _, seen = word.partition("[")
    if name[:1] not in ("#", "x"):
        return []                       # a constant
    style = "solid" if fates.get(name, "stored") == "stored" else "dashed"
    label = f", label={_text('[' + seen)}, fontsize=8" if seen else ""
    return [f"  {_name(name)} -> {_name(f'#{o.serial}')} [style={style}{label}];"]


def _name(word: str) -> str:
    return word.replace("#", "n")


def _text(*lines: str) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


def visualize(*arrays: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Draw how the given lazy arrays would be computed.

    Parameters
    ----------
    *arrays : lazyarr.ndarray
        Arrays, evaluated or not; nothing is evaluated.
    path : path-like, optional
        Where to write: ``.dot`` or ``.gv`` for the text, else a picture of the kind that the ending says
        (``.svg``, ``.png``, ``.pdf``), for which the package `graphviz` and its program `dot` are needed.

    Returns
    -------
    str
        The graph in Graphviz's DOT language.

    Raises
    ------
    ImportError, RuntimeError
        For a picture, without the package, or without the program.
    """
    text = dot(explain(*arrays))
    if path is not None:
        ending = os.path.splitext(path)[1]
        body = text.encode() if ending in TEXT else _drawn(text, ending[1:])
        with open(path, "wb") as file:
            file.write(body)
    return text


def _drawn(text: str, kind: str) -> bytes:
    if not kind:
        raise ValueError("the path must end in the kind of picture: .dot, .gv, .svg, .png, .pdf")
    try:
        import graphviz
    except ImportError:
        raise ImportError(
            f"a .{kind} needs the package graphviz (pip install 'lazyarr[viz]'); .dot needs nothing"
        ) from None
    try:
        return bytes(graphviz.Source(text).pipe(format=kind))
    except graphviz.ExecutableNotFound:
        raise RuntimeError(
            f"a .{kind} needs Graphviz's program `dot` on the PATH; .dot needs nothing"
        ) from None
