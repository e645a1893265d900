"""Dumps: a folder for each evaluation, where the option `dump` says, with a program that repeats it.

In:  the walk of an evaluation before it runs, its explanation and kernels.   Out: files

    DUMP/p<process>-<number>/repro.py          compares lazyarr with NumPy, see `repro`
                             x0.npy, ...       its inputs
                             explanation.txt   what `explain` says
                             graph.dot         what `visualize` draws
                             kernel0.parfor.txt, .loops.txt, .ll, .s     stage by stage (`code`)

so names sort in the order in which evaluations ran.  A process writes `dump_most` folders at most, and none
over one that is there: numbers of processes come again.  Where the files cannot be written there is one
warning, and the program goes on.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy

from lazyarr.config import current
from lazyarr.debug.code import assembly, loop_ir, modules, source, statistics, streams
from lazyarr.debug.explain import Explanation
from lazyarr.debug.graph import dot
from lazyarr.debug.levels import Programs
from lazyarr.debug.repro import CannotSay, repro
from lazyarr.fusion.program import Program
from lazyarr.plan import Walk
from lazyarr.srcloc import MOST_LINES

_numbers = count(1)
"""Of folders."""
_dumped = count(1)
"""How many evaluations there were to dump."""
_told: set[str] = set()
"""What there was a warning for."""


def dump(w: Walk, told: Explanation, programs: Programs, native: bool) -> None:
    """Write the folder of one evaluation."""
    if next(_dumped) > current.dump_most:
        _warn(f"lazyarr has dumped {current.dump_most} evaluations (option dump_most); it dumps no more")
        return
    try:
        _write(_new_folder(), w, told, programs, native)
    except OSError as error:
        _warn(f"lazyarr cannot dump evaluations: {error}")


def _new_folder() -> Path:
    Path(current.dump).mkdir(parents=True, exist_ok=True)
    while True:
        folder = Path(current.dump) / f"p{os.getpid()}-{next(_numbers):04d}"
        with suppress(FileExistsError):
            folder.mkdir()
            return folder


def _warn(words: str) -> None:
    if current.dump not in _told:
        _told.add(current.dump)
        warnings.warn(words, RuntimeWarning, stacklevel=2)


def _write(folder: Path, w: Walk, told: Explanation, programs: Programs, native: bool) -> None:
    _put(folder / "explanation.txt", f"{told}\n")
    _put(folder / "graph.dot", dot(told))
    for at, (name, program) in enumerate(programs):
        _kernel(folder, f"kernel{at}", name, program)
    lines = sorted({f"{os.path.basename(o.file)}:{o.line}" for o in told.operations if o.file})
    where = ", ".join(lines[:MOST_LINES]) + (", ..." if len(lines) > MOST_LINES else "")
    title = f"An evaluation of {len(told.operations)} operations, made at {where or 'no known line'}."
    try:
        found = repro(w, native, title, "repro.py")
    except CannotSay as error:
        _put(folder / "repro.txt", f"there is no program: no public call says {error}\n")
        return
    for file, values in found.inputs.items():
        numpy.save(folder / file, values)
    _put(folder / "repro.py", found.text)


def _kernel(folder: Path, file: str, name: str, program: Program) -> None:
    """The stages of one kernel."""
    nontemporal = streams(program)
    _put(folder / f"{file}.parfor.txt", f"{name}\n{program.parfor}\n")
    _put(folder / f"{file}.loops.txt", f"{loop_ir(program.parfor, nontemporal)}\n")
    parts = modules(source(program.parfor, nontemporal))
    _put(folder / f"{file}.ll", "\n".join(f"; {what}\n{ir}" for what, ir in parts.items()))
    made = {what: assembly(ir) for what, ir in parts.items()}
    _put(folder / f"{file}.s", "\n".join(f"# {what}: {statistics(s)}\n{s}" for what, s in made.items()))


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
