"""Bisecting: which part of the engine makes a wrong result.

In:  a program whose exit status says whether its results are right, such as a dump's ``repro.py``.
Out: `Verdict`: the parts each of which, switched off, mends it (`switches.SWITCHES`), the likeliest first.
Each trial is a process of its own.  A switch that mends is taken apart: its parts are what the
program's evaluations have of it (`observe`).  Where no single one mends, all are off at first, and whatever
can be on again without harm is: no member of what is left can be missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence

from lazyarr.records import NamedTuple, dataclass, field
from lazyarr.switches import SWITCHES, Switch

Off = tuple[str, ...]
"""What is off in a trial: ``name`` or ``name:part``."""

BY_NAME = {switch.name: switch for switch in SWITCHES}


class Finding(NamedTuple):
    """Off, it mends the program."""

    off: Off
    words: str

    def __str__(self) -> str:
        setting = " ".join(f"{name}={value}" for name, value in environment(self.off).items())
        return f"{self.words}  [{setting}]"


@dataclass(slots=True)
class Verdict:
    wrong: str
    """What the program says of itself; empty if it is right as it is."""
    findings: list[Finding] = field(default_factory=list)
    trials: int = 0

    def __str__(self) -> str:
        if not self.wrong:
            return "the program is right: there is nothing to find"
        lines = [f"wrong: {self.wrong}"]
        if not self.findings:
            lines.append("no switch mends it: it is no matter of fusion or code, but of what the graph says")
        for finding in self.findings[:1]:
            lines.append(f"mended without {finding}")
        lines += [f"     or without {finding}" for finding in self.findings[1:]]
        return "\n".join([*lines, f"({self.trials} trials)"])


def environment(off: Off) -> dict[str, str]:
    """The environment variables that switch parts off, besides those that the user has switched off."""
    found: dict[str, str] = {}
    for word in off:
        switch = BY_NAME[word.partition(":")[0]]
        known = found.get(switch.variable, os.environ.get(switch.variable))
        value = switch.value or word
        found[switch.variable] = f"{known},{value}" if known and not switch.value else value
    return found


class Trials:
    """Runs a program with parts switched off, and remembers how that ended."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self.command, self.timeout = list(command), timeout
        self.known: dict[Off, bool] = {}
        self.said = ""

    def mends(self, off: Off) -> bool:
        """Is the program right without these parts?"""
        key = tuple(sorted(off))
        if key not in self.known:
            self.known[key] = not self.run([sys.executable, *self.command], environment(off))
        return self.known[key]

    def run(self, command: list[str], changes: Mapping[str, str]) -> str:
        """What a wrong program says; empty where it is right."""
        kept = {k: v for k, v in os.environ.items() if k not in ("LAZYARR_DEBUG", "LAZYARR_DUMP")}
        env = {**kept, **changes}
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return f"it runs for more than {self.timeout:g} s"
        words = (done.stdout.strip() or done.stderr.strip()).splitlines()
        return (words[-1] if words else f"exit status {done.returncode}") if done.returncode else ""

    def observed(self) -> dict[str, dict[str, str]]:
        """The parts of switches that the program has; what it says is kept."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            observe = [sys.executable, "-m", "lazyarr.debug.observe", self.command[0], path]
            self.said = self.run(observe, {})
            try:
                with open(path, encoding="utf-8") as file:
                    return dict(json.load(file))
            except (OSError, ValueError):       # it crashed: there are whole switches still
                return {}


def smallest(candidates: Sequence[str], mends: Callable[[Off], bool]) -> list[Off]:
    """Each candidate that mends by itself; else one set that does, and of which none can be missed."""
    single = [(one,) for one in candidates if mends((one,))]
    if single or not candidates or not mends(tuple(candidates)):
        return list(single)
    needed = list(candidates)
    for one in candidates:
        without = tuple(x for x in needed if x != one)
        if without and mends(without):
            needed.remove(one)
    return [tuple(needed)]


def bisect(program: str, timeout: float = 300.0) -> Verdict:
    """Find the parts of the engine that make a program wrong.

    Parameters
    ----------
    program : str
        A script that ends with exit status 0 if its results are right, such as a dump's ``repro.py``.
    timeout : float, optional
        Seconds after which a run counts as wrong.

    Returns
    -------
    Verdict
    """
    trials = Trials([program], timeout)
    report = trials.observed()
    if trials.mends(()):
        return Verdict("")
    found = Verdict(trials.said or trials.run([sys.executable, program], {}))
    if trials.mends(("cache",)):                # then others change what is looked for there, and mend too
        found.findings = [_finding(("cache",), report)]
    else:
        wholes = smallest([switch.name for switch in SWITCHES], trials.mends)
        offs = [off for whole in wholes for off in _apart(whole, report, trials)]
        found.findings = [_finding(off, report) for off in sorted(offs, key=len)]
    found.trials = len(trials.known) + 1
    return found


def _apart(whole: Off, report: Mapping[str, Mapping[str, str]], trials: Trials) -> list[Off]:
    """A switch by its parts, where these mend as well."""
    if len(whole) > 1:
        return [whole]
    parts = [f"{whole[0]}:{part}" for part in report.get(whole[0], ())]
    return smallest(parts, trials.mends) or [whole]


def _finding(off: Off, report: Mapping[str, Mapping[str, str]]) -> Finding:
    words = []
    for word in off:
        name, _, part = word.partition(":")
        switch: Switch = BY_NAME[name]
        words.append(report.get(name, {}).get(part, f"{name} (off: {switch.without})"))
    return Finding(off, "; ".join(words))
