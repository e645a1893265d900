"""The levels of the option `debug`: what each shows, once; without it nothing is shown or imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.debug.code import statistics
from lazyarr.debug.levels import LEVELS

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
import numpy, lazyarr as np
a = np.array(numpy.arange(300000.0).reshape(600, 500))
np.evaluate(a)
for _ in range(2):
    np.evaluate(-(-np.sqrt(a)) + 1)
    np.evaluate((a * 2).sum(axis=1))
if "lazyarr.debug.levels" in sys.modules:
    print("imported")
"""

MARKS = {
    "expression": "= sqrt d->d(x0)",
    "llvm": "define void @lazyarr_",
    "rewrites": "negative: neg-neg",
    "shapes": "sqrt d->d: [m, n] -> [m, n]",
    "parfors": "%0 = load[d]()",
    "loops": "loop main lanes",
    "optimised": "tier 1: no passes run\n; ModuleID",
    "assembly": "kernel 0 kernel, tier 1: \t.",
    "statistics": "instructions:",
}


def run(cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_CACHE_DIR": str(cache), "LAZYARR_JIT": "always",
        **environment,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_table() -> None:
    assert [row.number for row in LEVELS] == list(range(1, len(LEVELS) + 1))
    assert [row.name for row in LEVELS] == list(MARKS)


def test_the_page_has_the_table() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| {row.number} | `{row.name}`" in page for row in LEVELS)


@pytest.mark.parametrize("level", range(len(LEVELS) + 1))
def test_a_level_shows_its_row_and_those_above(level: int, tmp_path: Path) -> None:
    for _ in range(2 if LEVELS[level - 1].name == "llvm" else 1):   # they are compiled, then from the cache
        done = run(tmp_path, LAZYARR_DEBUG=str(level))
        for row in LEVELS:
            assert (MARKS[row.name] in done.stderr) == (row.number <= level), row
        assert done.stdout == ("imported\n" if level else "")
        assert done.stderr.count("= sqrt d->d(x0)") == 2 * bool(level)
        assert done.stderr.count("negative: neg-neg") == (level >= 3)


@pytest.mark.parametrize("tier", [1, 2])
def test_code_is_shown_for_the_tier_that_runs(tier: int, tmp_path: Path) -> None:
    shown = run(tmp_path, LAZYARR_DEBUG="9", LAZYARR_TIER=str(tier)).stderr
    assert f"kernel 0 kernel, tier {tier}: no passes run\n" in shown
    code = [part.partition("\nlazyarr: statistics")[0] for part in shown.split("lazyarr: assembly\n")[1:]]
    assert code and all(f"kernel 0 kernel, tier {tier}: " in part for part in code)
    assert any("kernel 0 shell, tier 1: " in part for part in code)


def test_it_is_of_the_thread_and_ends_with_the_block(capfd: pytest.CaptureFixture[str]) -> None:
    x = lazyarr.array(numpy.arange(1e5))
    with lazyarr.options(jit="always", debug=1):
        lazyarr.evaluate(x + 1)
    assert "= add dd->d(" in capfd.readouterr().err
    with lazyarr.options(jit="always"):
        lazyarr.evaluate(x + 2)
    assert capfd.readouterr().err == ""


def test_an_error_of_looking_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("broken")

    monkeypatch.setattr("lazyarr.debug.watch.explanation", broken)
    x = lazyarr.array(numpy.arange(1e5))
    with lazyarr.options(jit="always", debug=1):
        y = x * 3
        assert float(numpy.asarray(y)[7]) == 21
    assert "lazyarr: cannot show an evaluation: KeyError" in capfd.readouterr().err


def test_statistics_count() -> None:
    body = ["vaddpd\t%zmm0, %zmm1, %zmm2", "movq\t%rax, 8(%rsp)", "callq\tf", "jne\t.LBB0", "retq"]
    text = "\t.text\nk:\n.LBB0:\n" + "".join(f"\t{line}\n" for line in body)
    found = statistics(text)
    assert (found.functions, found.instructions, found.vector) == (1, 5, 1)
    assert (found.calls, found.stack, found.jumps) == (1, 1, 1)


def test_compiled_functions_are_replayed_after_looking() -> None:
    """While somebody looks on the function runs itself; from then on its kernels do again."""
    x = lazyarr.array(numpy.arange(1000.0))
    lazyarr.evaluate(x)
    f = lazyarr.compile(lambda x: x * 2 + 1)
    calls = lazyarr.debug.counters
    with lazyarr.options(debug=1):
        before = calls()["traced_calls"]
        f(x)
        assert calls()["traced_calls"] == before
    f(x)
    assert calls()["traced_calls"] == before + 1
