"""Bisecting finds faults that were put into a process: a rule, an op's code, a pass, a fusion, a kernel."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from lazyarr.debug.bisect import Trials, smallest
from lazyarr.debug.bisect import environment as switched
from lazyarr.switches import SWITCHES

sys.path.append(str(Path(__file__).parent))
from injected import CONFLICT, DUMPING, PASS, RULE, environment, run

SCRIPT = """
import numpy, lazyarr as np
a = np.array(numpy.random.default_rng(1).standard_normal(100_003))
np.evaluate(a)
b = abs(a * 2) - a
c = a[:-1] + 1
a[1:] = c * 3
np.evaluate(a, b)
"""


def bisected(tmp_path: Path, fault: str) -> list[str]:
    """What the command line says of a program with a fault."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = run([str(script)], environment(tmp_path, **DUMPING, LAZYARR_DUMP=str(tmp_path / "dump")))
    assert done.returncode == 0, done.stderr
    repro = str(sorted((tmp_path / "dump").iterdir())[-1] / "repro.py")
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    found = run(["-m", "lazyarr.debug", "bisect", repro], environment(tmp_path, fault), 300)
    assert found.returncode == 0 and not found.stderr, found.stdout + found.stderr
    return found.stdout.splitlines()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (RULE, "mended without rule abs-is-nothing  [LAZYARR_DISABLE=rewrites:abs-is-nothing]"),
        (PASS, "mended without vectorize (off: maps go one element at a time)  [LAZYARR_DISABLE=vectorize]"),
        (CONFLICT, "LAZYARR_DISABLE=fusion:"),
    ],
    ids=["rule", "pass", "fusion"],
)  # fmt: skip
def test_finds(fault: str, words: str, tmp_path: Path) -> None:
    lines = bisected(tmp_path, fault)
    assert lines[0].startswith("wrong: ") and "elements differ" in lines[0]
    assert words in lines[1] or any(words in line for line in lines[1:] if words.startswith("LAZYARR")), lines
    assert any("LAZYARR_DISABLE=jit:" in line for line in lines[1:])


def test_what_there_is_to_switch_off(tmp_path: Path) -> None:
    """The parts of each switch that has any."""
    script, report = tmp_path / "script.py", tmp_path / "report.json"
    script.write_text(SCRIPT.replace("abs(a * 2)", "-(-(a * 2))"))
    done = run(["-m", "lazyarr.debug.observe", str(script), str(report)], environment(tmp_path, **DUMPING))
    assert done.returncode == 0, done.stderr
    parts = json.loads(report.read_text())
    assert set(parts) == {switch.name for switch in SWITCHES if switch.parts}
    assert parts["emitters"]["subtract"] == "native code of subtract"
    assert all(parts.values())


def test_what_is_right(tmp_path: Path) -> None:
    assert bisected(tmp_path, "") == ["the program is right: there is nothing to find"]


def test_what_no_switch_mends(tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    script.write_text("import sys; print('never right'); sys.exit(3)")
    found = run(["-m", "lazyarr.debug", "bisect", str(script)], environment(tmp_path))
    assert found.returncode == 1
    assert found.stdout.splitlines()[:2] == [
        "wrong: never right",
        "no switch mends it: it is no matter of fusion or code, but of what the graph says",
    ]


@pytest.mark.parametrize("args", [[], ["bisect"], ["dissect", "x.py"]])
def test_usage(args: list[str], tmp_path: Path) -> None:
    done = run(["-m", "lazyarr.debug", *args], environment(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith("usage: ")


def test_smallest_sets() -> None:
    assert smallest("abcd", lambda off: "b" in off) == [("b",)]
    assert smallest("abcd", lambda off: bool(set(off) & set("ad"))) == [("a",), ("d",)]
    assert smallest("abcde", lambda off: {"b", "d"} <= set(off)) == [("b", "d")]
    assert smallest("abc", lambda off: False) == smallest("", lambda off: True) == []


def test_what_the_user_switched_off_stays_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAZYARR_DISABLE", "views,fusion:7")
    monkeypatch.setenv("LAZYARR_NUM_THREADS", "2")
    assert switched(()) == {}
    assert switched(("threads", "fusion:3", "rewrites")) == {
        "LAZYARR_NUM_THREADS": "1", "LAZYARR_DISABLE": "views,fusion:7,fusion:3,rewrites"
    }  # fmt: skip
    script = tmp_path / "script.py"
    script.write_text("import os, sys; sys.exit('views' not in os.environ['LAZYARR_DISABLE'])")
    trials = Trials([str(script)], 100)
    assert trials.mends(()) and trials.mends(("jit",))
    assert os.environ["LAZYARR_DISABLE"] == "views,fusion:7"


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAZYARR_DISABLE", raising=False)
    assert switched(("threads", "fusion:3", "rewrites")) == {
        "LAZYARR_NUM_THREADS": "1", "LAZYARR_DISABLE": "fusion:3,rewrites"
    }  # fmt: skip
