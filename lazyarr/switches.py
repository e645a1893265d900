"""Switches: what can be turned off, part by part, to find what makes a wrong result (`debug.bisect`).

In:  the option `disable`, which the environment sets for the whole process.   Out: `is_off`.
Nothing that runs at a launch asks: plans, kernels and constants are made with a part or without it.

    disable = switch ("," switch)*
    switch  = name                  a row of `SWITCHES`
            | name ":" part         one part of it: a rule, an op, nodes by serial ("12+13")
"""

from __future__ import annotations

from functools import cache

from lazyarr.config import current
from lazyarr.records import NamedTuple


class Switch(NamedTuple):
    """One row: what is switched off, and what happens instead."""

    name: str
    without: str
    parts: str = ""
    """What a part of it is; empty where it has none."""
    variable: str = "LAZYARR_DISABLE"
    """The environment variable that does it, where an option does."""
    value: str = ""


SWITCHES = (
    Switch("cache", "kernels are compiled anew, none comes from the disk", "", "LAZYARR_CACHE_BYTES", "0"),
    Switch("threads", "one thread does everything", "", "LAZYARR_NUM_THREADS", "1"),
    Switch("nontemporal", "stores go through the caches"),
    Switch("inplace", "results take memory of their own"),
    Switch("rows", "groups that share rows run one after the other, each on all rows"),
    Switch("rings", "sweeps have a second buffer of full size"),
    Switch("regions", "what is written piece by piece is stored before it is read"),
    Switch("again", "what several groups use is stored once, and computed where it can be first"),
    Switch("keep", "what counts a mask leaves nothing of the elements that it looks at"),
    Switch("packs", "NumPy picks what a mask keeps of arrays that exist"),
    Switch("feeds", "compressions are stored before they are read"),
    Switch("rewrites", "no rule changes a body", "rule"),
    Switch("numbering", "equal instructions of a body are computed again"),
    Switch("jam", "rows of stencils run one by one"),
    Switch("vectorize", "maps go one element at a time"),
    Switch("tile", "a map is one chunk, and no two values share scratch memory"),
    Switch("emitters", "NumPy's inner loops compute what has native code", "op"),
    Switch("sinking", "what is read in part is computed whole"),
    Switch("views", "no node joins a group through a view"),
    Switch("fusion", "each operation has loops of its own", "node"),
    Switch("slots", "operators on small arrays go through Python"),
    Switch("jit", "NumPy computes each operation: no kernels", "nodes"),
)
"""The finer an answer a switch is, the earlier it stands (`debug.bisect`)."""

BY_NAME = {switch.name: switch for switch in SWITCHES}
CODE = ("jam", "vectorize", "tile", "emitters")
"""Those that code generation goes by: part of the `Target`, and so of every kernel's key."""


def _parsed(text: str) -> frozenset[str]:
    found = frozenset(word.strip() for word in text.split(",") if word.strip())
    for word in found:
        name, _, part = word.partition(":")
        switch = BY_NAME.get(name)
        if switch is None or switch.value or (part and not switch.parts):
            known = ", ".join(s.name for s in SWITCHES if not s.value)
            raise ValueError(f"LAZYARR_DISABLE={text!r}: there is no switch {word!r}; there are {known}")
    return found


OFF = _parsed(current.disable)


@cache
def _nodes(name: str) -> frozenset[int]:
    """The serials that are parts of a switch."""
    words = (word.partition(":") for word in OFF)
    return frozenset(int(n) for key, _, part in words if key == name for n in part.split("+") if n)


def is_off(name: str, part: str = "") -> bool:
    """Is a switch off, or that part of it?"""
    return bool(OFF) and (name in OFF or (bool(part) and f"{name}:{part}" in OFF))


def is_node_off(name: str, serial: int) -> bool:
    """The same, where the parts are nodes."""
    return bool(OFF) and (name in OFF or serial in _nodes(name))


def code_off() -> tuple[str, ...]:
    """What is off of code generation."""
    return tuple(sorted(word for word in OFF if word.partition(":")[0] in CODE))
