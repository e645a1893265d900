"""The text of the module of functions that make nodes, views and writes.

In:  where objects have their fields, the functions' names.   Out: LLVM IR.
"""

from __future__ import annotations

from typing import Any

from lazyarr.nodes_ir import shared
from lazyarr.nodes_text import make
from lazyarr.recall_text import called_so, recall
from lazyarr.view_keys import written as view_keys
from lazyarr.writes_text import assign, is_slice, update, view, written

PUBLIC = {"make": make, "view": view, "assign": assign, "update": update, "recall": recall}


def text(of: Any, names: dict[str, str]) -> str:
    private = [*shared(of), *view_keys(of), is_slice(of), written(of), called_so(of)]
    public = [write(of, names[name]) for name, write in PUBLIC.items()]
    return "\n".join([each.text() for each in (*private, *public)])
