"""A program's second run loads its kernels from the cache: LLVM is never loaded, the results are the same."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazyarr.dispatch import image
from lazyarr.dispatch.cache import about_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not image.here(), reason="images are for Linux on x86-64")

COUNTED = ("launches", "parallel", "compiles", "hits")
PROGRAM = """
import sys
import numpy
import lazyarr as np
from lazyarr import compiler
from lazyarr.counters import COUNT

compiler.LARGE_NS = compiler.LOOK_NS = 0        # also a short program asks for kernels
np.set_options(num_threads=2)

def results(np):
    a = np.asarray(numpy.random.default_rng(1).random((700, 900)))
    b = np.sqrt(a) * 2 + np.exp(-a)
    b[::2] -= 1
    c = np.where(b > 0.5, b, a[::-1])
    yield from (b, c, c.sum(0), c.std(1), c.T + c.T, c.astype("f4"), np.argmax(c, 1), a[c > 1])
    yield from map(np.asarray, (c.sum(), c.max(), a[c > 0.7].sum(), ((a - b) ** 2).mean()))

{before}
for got, want in zip(results(np), results(numpy), strict=True):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
print("llvmlite.binding" in sys.modules, COUNT.native_launches, COUNT.parallel_launches, COUNT.compiles,
      COUNT.disk_hits)
"""


STREAMS = """
import sys
import numpy
import lazyarr as np
from lazyarr import compiler
from lazyarr.counters import COUNT

compiler.LOOK_NS, compiler.LARGE_NS = 0, {large}
a = np.asarray(numpy.ones(3_000_000))
for _ in range({rounds}):
    np.evaluate(a * 2 + 1)          # from the second time on the pages are warm, and stores pass the caches
print("llvmlite.binding" in sys.modules, COUNT.native_launches, COUNT.parallel_launches, COUNT.compiles,
      COUNT.disk_hits)
"""


MET = """
import sys
import numpy
import lazyarr as np
from lazyarr import compiler
from lazyarr.counters import COUNT

a = np.asarray(numpy.ones(3_000_000))
compiler.LOOK_NS, compiler.LARGE_NS = {look}, {large}
for _ in range(2):
    np.evaluate(a - 1)                  # there is as much work as needed
for _ in range({rounds}):
    np.evaluate(a * 2 + 1)
print("llvmlite.binding" in sys.modules, COUNT.native_launches, COUNT.parallel_launches, COUNT.compiles,
      COUNT.disk_hits)
"""


def run(
    cache: Path, jit: str, before: str = "", program: str = PROGRAM, **fields: float
) -> tuple[bool, dict[str, int]]:
    """Run the program: was LLVM loaded, and the counts."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYARR_JIT": jit, "LAZYARR_CACHE_DIR": str(cache)}
    source = program.format(before=before, **fields)
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    loaded, *counts = done.stdout.split()
    return loaded == "True", dict(zip(COUNTED, map(int, counts), strict=True))


def kernels_in(cache: Path) -> list[tuple[Path, Path]]:
    """The files of each kernel: its entry in the index, and the image that it has for itself."""
    found = []
    for file in sorted(cache.iterdir()):
        _, about, body = about_of(file.read_bytes())
        if about["kind"] == "kernel":
            (_, key), *_ = marshal.loads(body)
            found.append((file, cache / f"{key.hex()}.lzo"))
    return found


@pytest.mark.parametrize("jit", ["auto", "always"])
def test_the_second_run_needs_no_llvm(jit: str, tmp_path: Path) -> None:
    loaded, first = run(tmp_path, jit)
    assert loaded and first["compiles"] > 5 and first["hits"] == 0
    loaded, second = run(tmp_path, jit)
    assert not loaded
    assert second["compiles"] == 0 and second["hits"] == first["compiles"]
    assert second["launches"] == first["launches"] and second["parallel"] == first["parallel"] > 0


def test_kernels_are_looked_for_when_an_evaluation_is_met_again(tmp_path: Path) -> None:
    """To import the engine takes longer than one evaluation of medium size takes NumPy."""
    def launches(rounds: int, look: float, large: float = 1e9) -> int:
        return run(tmp_path, "auto", program=MET, rounds=rounds, look=look, large=large)[1]["launches"]

    assert launches(1, 0, 0) == 3
    assert launches(1, 8e6) == 1 and launches(2, 8e6) == 2      # (of the first ones the second)
    assert launches(1, 4e6) == 2                                # large enough alone


def test_what_is_missing_is_compiled(tmp_path: Path) -> None:
    _, first = run(tmp_path, "always")
    files = sorted(tmp_path.iterdir())
    for file in files[::3]:
        file.write_bytes(file.read_bytes()[:-1])        # damaged: absent
    loaded, second = run(tmp_path, "always")
    assert loaded and second["compiles"] + second["hits"] == first["compiles"]
    assert {*tmp_path.iterdir()} <= {*files}
    run(tmp_path, "always")             # of two entries for one damaged image one may have lacked it
    assert not run(tmp_path, "always")[0]


def test_what_is_missing_is_numpys_until_llvm_pays(tmp_path: Path) -> None:
    """With kernels for a part of the work, and nobody to compile the rest, nothing is lost."""
    run(tmp_path, "auto")
    kernels = kernels_in(tmp_path)
    assert len(kernels) > 5
    for entry, own in kernels[::2]:
        entry.unlink()
        own.unlink(missing_ok=True)     # several entries may name one image
    loaded, counts = run(tmp_path, "auto", "compiler.LARGE_NS = 1e9")
    assert not loaded and counts["compiles"] == 0 and counts["launches"] > 0


def test_another_writer_of_kernels_finds_no_entry(tmp_path: Path) -> None:
    """The index goes by the writers' source; the objects go by their text, and are found again."""
    _, first = run(tmp_path, "always")
    other = "from lazyarr import kernel_index; kernel_index.writers = lambda: 'other'"
    loaded, second = run(tmp_path, "always", other)
    assert loaded and second["compiles"] == 0 and second["hits"] == first["compiles"]


def test_a_stand_in_does_not_last(tmp_path: Path) -> None:
    """A kernel that streams is not in the cache: the other one is used until LLVM pays."""
    _, first = run(tmp_path, "auto", program=STREAMS, large=0, rounds=1)
    assert first["compiles"] == 1
    loaded, second = run(tmp_path, "auto", program=STREAMS, large=1e9, rounds=3)
    assert not loaded and second["launches"] == 3 and second["hits"] == 1
    loaded, third = run(tmp_path, "auto", program=STREAMS, large=1e9, rounds=100)
    assert loaded and third["launches"] == 100 and (third["compiles"], third["hits"]) == (1, 1)
