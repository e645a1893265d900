"""The example programs give the same bits with NumPy and with lazyarr, on small made-up data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).parents[2]

SMALL = """
import sys
sys.path.insert(0, {examples!r})
import numpy as np
rng = np.random.default_rng(3)
{program}
for name, array in results.items():
    np.save(sys.argv[1] + "/" + name + ".npy", array)
"""
PROGRAMS = {
    "terrain": """
import terrain
hills = (rng.random((30, 40)).cumsum(0).cumsum(1) * 10).astype(np.float32)
results = terrain.analyse(hills, 90.0, 70.0, 7)
""",
    "photo": """
import photo
results = photo.develop(rng.random((40, 50, 3)).astype(np.float32), 5)
""",
    "stocks": """
import stocks
prices = np.exp(rng.normal(0, 0.05, (150, 6)).cumsum(axis=0))
results = stocks.analyse(prices, 100)
""",
    "black_scholes": """
import black_scholes
results = black_scholes.price(*black_scholes.options(100_000))
""",
}


def results(program: str, folder: Path, *command: str, **environment: str) -> dict[str, numpy.ndarray]:
    folder.mkdir()
    script = folder / "prog.py"
    script.write_text(SMALL.format(examples=str(ROOT / "examples"), program=PROGRAMS[program]))
    subprocess.run(
        [sys.executable, *command, str(script), str(folder)],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        timeout=120,
    )
    return {path.stem: numpy.load(path) for path in sorted(folder.glob("*.npy"))}


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_bits(program: str, tmp_path: Path) -> None:
    expected = results(program, tmp_path / "numpy")
    assert expected
    for jit in ("auto", "always"):
        found = results(program, tmp_path / jit, "-m", "lazyarr", LAZYARR_JIT=jit)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            numpy.testing.assert_array_equal(found[name], array, strict=True, err_msg=f"{jit} {name}")
            zero = (array == 0) & (found[name] == 0)
            signs = numpy.signbit(array.astype(float)), numpy.signbit(found[name].astype(float))
            assert (signs[0] == signs[1])[zero].all(), f"{jit} {name}"
