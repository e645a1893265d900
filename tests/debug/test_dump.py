"""Dumps: each evaluation's program is right by itself, is the same evaluation, and tells what is wrong."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarr

sys.path.append(str(Path(__file__).parent))
from injected import DUMPING, RULE, environment, run

SIZE = 60_000

HEAD = """
import numpy, lazyarr as np
real = numpy.random.default_rng(5)
a, b = (np.array(real.standard_normal((300, 200))) for _ in range(2))
i = np.array(real.integers(0, 300, 70))
z = a + 1j * b
np.evaluate(a, b, i, z)
"""

PROGRAMS = {
    "elementwise": "r = [-(-(a * 2)) + a * 2, np.where(a > 0, a, 3), np.modf(b)[1], a.astype('f') / 3]",
    "views": "c = a + b; r = [c[1:] - c[:-1], c.T[::2, ::-1] * 2, (c.ravel() * 2).reshape(200, 300)]",
    "repeated": "c = a + 1; r = [np.broadcast_to(c[:1], a.shape)[1:, ::2] * 3]",
    "writes": "a[2:10] *= 3; a[a > .5] = 2; b[::2, 1:] = a[1::2, 1:]; r = [a, b]",
    "output": "c = np.ones((300, 200)); np.exp(a, where=a > .2, out=c); r = [c]",
    "unwritten": "c = np.empty((300, 200)); c[:250] = a[:250] + 1; r = [c[:250] * 2]",
    "columns": "r = [a.T.copy() + 1, np.asfortranarray(a) * np.arange(200), a.T + np.linspace(0, 1, 300)]",
    "folds": "c = abs(a) + 1; r = [c.sum(axis=0), c.max(axis=1, keepdims=True), c.argmin(axis=1), b.any(0)]",
    "masked fold": "r = [np.add.reduce(a, axis=1, where=b > 0, initial=2.5), np.maximum.reduce(b, axis=0)]",
    "positions": "r = [(a * 2)[i] + 1, (b + 1)[:, i[:60] % 200], np.take_along_axis(a, np.argsort(b, 1), 1)]",
    "to positions": "k = i * 2 % 300; a[k] = b[:70] + 1; b[:, k[:9] % 200] = 3; r = [a, b]",
    "along an axis": "k = np.argsort(b[:20], 1); np.put_along_axis(a[:20], k, b[:20] * 2, 1); r = [a]",
    "compress": "r = [(a * 2)[b > 0] + 1]",
    "draws": "g = np.random.default_rng(3); r = [g.random((300, 200)) * a, g.uniform(-1, 4, (300, 200)) + b]",
    "by NumPy": "r = [np.cumsum(a * b, axis=1) + 1, (a + 1) @ (b.T * 2)]",
    "complex": "r = [z * z.conj(), abs(z) + z.real, (z * np.complex64(2 - 1j)).imag.copy()]",
    "integers": "k = i * 3 - 7; r = [k // 5, k % np.int32(4), k.astype('u1') << 2, k > 100]",
    "special": "r = [a * np.inf, b + np.float32('nan'), z * complex('nan')]",
}
"""They begin in line 8 of their scripts."""

TAIL = "\nnp.evaluate(*r)\n"


def parfors(folder: Path) -> list[str]:
    return [p.read_text() for p in sorted(folder.glob("*.parfor.txt"))]


ALL = """
import contextlib, io, json, runpy, sys
import lazyarr
said = {{}}
for name, script in {scripts}:
    lazyarr.set_options(jit={jit!r}, dump={folder!r} + "/" + name)
    with contextlib.redirect_stdout(io.StringIO()) as words:
        try:
            runpy.run_path(script, run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code
    said[name] = [status or 0, words.getvalue()]
print(json.dumps(said))
"""
"""Programs one after the other in one process, each with a folder for its dumps."""


def runs(tmp_path: Path, scripts: dict[str, Path], jit: str, folder: str) -> dict[str, list[Any]]:
    """How each ended, and what it said."""
    code = ALL.format(scripts=[(name, str(path)) for name, path in scripts.items()], jit=jit,
                      folder=str(tmp_path / folder))  # fmt: skip
    done = run(["-c", code], environment(tmp_path))
    assert done.returncode == 0 and not done.stderr, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def last(folder: Path) -> Path:
    """What was evaluated last."""
    return sorted(folder.iterdir(), key=lambda path: path.name)[-1]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Any]]]:
    """All programs, and then those that were dumped of them."""
    tmp_path = tmp_path_factory.mktemp("repeated")
    scripts = {name: tmp_path / name / "script.py" for name in PROGRAMS}
    for name, script in scripts.items():
        script.parent.mkdir()
        script.write_text(HEAD + PROGRAMS[name] + TAIL)
    said = runs(tmp_path, scripts, "always", "dump")
    assert all(ends == [0, ""] for ends in said.values()), said
    dumped = {name: last(tmp_path / "dump" / name) / "repro.py" for name in PROGRAMS}
    return tmp_path, runs(tmp_path, dumped, "auto", "again")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_repeat_evaluations(name: str, repeated: tuple[Path, dict[str, list[Any]]]) -> None:
    tmp_path, said = repeated
    folder = last(tmp_path / "dump" / name)
    assert {"explanation.txt", "graph.dot", "repro.py"} <= {p.name for p in folder.iterdir()}
    assert said[name] == [0, "the same bits\n"]
    assert parfors(last(tmp_path / "again" / name)) == parfors(folder) != []
    assert "script.py:8" in (folder / "repro.py").read_text()


def test_stages_are_there(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HEAD + "r = [np.sqrt(abs(a)) + 1]" + TAIL)
    done = run([str(script)], environment(tmp_path, **DUMPING, LAZYARR_DUMP=str(tmp_path / "dump")))
    assert done.returncode == 0, done.stderr
    folder = sorted((tmp_path / "dump").iterdir())[-1]
    marks = {
        "parfor.txt": "%0 = load[d]", "loops.txt": "loop main", "ll": "define void", "s": "# kernel: ",
    }  # fmt: skip
    for ending, mark in marks.items():
        assert mark in (folder / f"kernel0.{ending}").read_text()


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HEAD + "r = [a * 2, abs(b) + 1]" + TAIL)
    done = run([str(script)], environment(tmp_path, **DUMPING, LAZYARR_DUMP=str(tmp_path / "dump")))
    assert done.returncode == 0, done.stderr
    repro = str(sorted((tmp_path / "dump").iterdir())[-1] / "repro.py")
    assert run([repro], environment(tmp_path)).returncode == 0
    wrong = run([repro], environment(tmp_path, RULE))
    assert wrong.returncode == 1
    assert wrong.stdout.startswith("v") and "of 60000 elements differ" in wrong.stdout
    assert run([repro], environment(tmp_path, RULE, LAZYARR_DISABLE="rewrites")).returncode == 0


def test_bounded(tmp_path: Path) -> None:
    x = lazyarr.array(numpy.arange(float(SIZE)))
    lazyarr.evaluate(x)
    with lazyarr.options(jit="always", dump=str(tmp_path / "dump"), dump_most=2), pytest.warns(
        RuntimeWarning, match="it dumps no more"
    ) as told:
        monkey_reset()
        for k in range(5):
            lazyarr.evaluate(x * k)
    assert len(told) == 1
    assert [p.name[-4:] for p in sorted((tmp_path / "dump").iterdir())] == ["0001", "0002"]


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    """Numbers of processes come again."""
    there = [tmp_path / "dump" / f"p{os.getpid()}-{number:04d}" for number in (1, 3)]
    for folder in there:
        folder.mkdir(parents=True)
        (folder / "repro.py").write_text("another process's")
    x = lazyarr.array(numpy.arange(float(SIZE)))
    lazyarr.evaluate(x)
    with lazyarr.options(jit="always", dump=str(tmp_path / "dump"), dump_most=3):
        monkey_reset()
        for k in range(3):
            lazyarr.evaluate(x * k)
    numbers = [int(p.name[-4:]) for p in sorted((tmp_path / "dump").iterdir())]
    assert numbers == [1, 2, 3, 4, 5]
    assert all((folder / "repro.py").read_text() == "another process's" for folder in there)


@pytest.mark.parametrize("inside", ["", "dump"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    x = lazyarr.array(numpy.arange(float(SIZE)))
    with lazyarr.options(jit="always", dump=str(tmp_path / "file" / inside)), pytest.warns(
        RuntimeWarning, match="cannot dump"
    ) as told:
        monkey_reset()
        for k in range(3):
            y = x * k
            lazyarr.evaluate(y)
        assert float(numpy.asarray(y)[2]) == 4
    assert len(told) == 1


def monkey_reset() -> None:
    """Number evaluations from 1 again."""
    import itertools

    from lazyarr.debug import dump

    numbers: Any = itertools.count(1)
    dump._numbers, dump._dumped = numbers, itertools.count(1)
    dump._told.clear()
