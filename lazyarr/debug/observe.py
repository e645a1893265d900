"""A program run under observation: which rules, ops, joins and kernels its evaluations have.

In:  ``python -m lazyarr.debug.observe program.py report.json``.   Out: `Report` as JSON, its exit status.
Nodes are named by serial: the same program numbers them alike in every process.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator
from dataclasses import asdict

from lazyarr.config import OBSERVED
from lazyarr.debug import watch
from lazyarr.debug.explain import Explanation, Group
from lazyarr.fusion.program import NUMBERING
from lazyarr.ops import OPS
from lazyarr.records import dataclass, field


@dataclass(slots=True)
class Report:
    """Parts of switches (`switches.SWITCHES`), each with words for people."""

    rewrites: dict[str, str] = field(default_factory=dict)
    emitters: dict[str, str] = field(default_factory=dict)
    fusion: dict[str, str] = field(default_factory=dict)
    jit: dict[str, str] = field(default_factory=dict)

    def add(self, told: Explanation) -> None:
        for group in told.groups:
            if group.kernel:
                rules = (r.rule for r in group.rewrites if r.rule != NUMBERING)
                self.rewrites.update((rule, f"rule {rule}") for rule in rules)
                self.emitters.update((name, f"native code of {name}") for name in _ops(group))
                joined = ((str(o.serial), f"the loops of others for {o}") for o in group.operations[1:])
                self.fusion.update(joined)
                serials = "+".join(str(o.serial) for o in group.operations)
                self.jit[serials] = f"the kernel of {_words(group)}"


def _words(group: Group) -> str:
    """Which operations, and on which lines."""
    lines = sorted({(o.file, o.line) for o in group.operations if o.file})
    places = dict.fromkeys(f"{os.path.basename(file)}:{line}" for file, line in (*lines[:1], *lines[-1:]))
    where = f" ({' to '.join(places)})" if places else ""
    return ", ".join(f"#{o.serial} {o.op.partition(' ')[0]}" for o in group.operations) + where


def _ops(group: Group) -> Iterator[str]:
    for o in group.operations:
        words = o.op.split()
        name = words[1] if words[0] == "reduce" else words[0]
        if name in OPS and OPS[name].is_ufunc:
            yield name


def main() -> None:
    program, path = sys.argv[1:3]
    report = Report()
    watch.LISTENERS.append(report.add)
    OBSERVED.append("observe")
    sys.argv[:] = [program]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asdict(report), file)


if __name__ == "__main__":
    main()
