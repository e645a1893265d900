"""Run the example programs with NumPy and with lazyarr in turn, and print one table.

    python demo.py [program...]

Each program runs in processes of its own: with NumPy, with lazyarr and an empty kernel cache (cold), and
with lazyarr again (warm), in turn, three rounds; the table shows the medians.

whole    time of the process, without the saving of results for the comparison
compute  time of the part between loading the data and drawing the pictures
peak     peak resident memory of the process; the LLVM library alone takes some 70 MB of lazyarr's
results  compared with NumPy's, bit by bit

Pictures are written to ``examples/out``.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("terrain", "photo", "stocks", "black_scholes")
ROUNDS = 3
RUNS = {"numpy": (), "lazyarr cold": ("-m", "lazyarr"), "lazyarr warm": ("-m", "lazyarr")}
HEAD = ("program", "run", "whole s", "", "compute s", "", "peak MB", "", "results")
WIDTHS = (14, 13, 8, 8, 10, 8, 8, 7, 8)


@dataclass(frozen=True)
class Run:
    """What one process took."""

    whole: float
    compute: float
    peak: int


def run(command: tuple[str, ...], program: str, results: Path, cache: Path) -> Run:
    """Run a program in a new process and wait for its end."""
    results.mkdir(exist_ok=True)
    environment = {**os.environ, "EXAMPLES_RECORD": str(results), "LAZYARR_CACHE_DIR": str(cache)}
    script, pictures = str(HERE / f"{program}.py"), str(HERE / "out")
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command, script, pictures],
        env={**environment, "MPLBACKEND": "Agg"},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{program} with {' '.join(command) or 'numpy'}: exit status {process.returncode}")
    times = json.loads((results / "run.json").read_text())
    return Run(wall - times["save"], times["compute"], usage.ru_maxrss * 1024)


def verdict(reference: Path, results: Path) -> str:
    """``equal``, or the largest difference.  (Compared in a process of its own, to keep this one small:
    the peak memory of a process is counted from that of the one that started it.)"""
    command = [sys.executable, str(HERE / "compare.py"), str(reference), str(results)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    wrong = {name: row["difference"] for name, row in found.items() if not row["equal"]}
    return ", ".join(f"{name} differs by {by}" for name, by in wrong.items()) or "equal bits"


def line(*cells: str) -> str:
    return " ".join(
        cell.ljust(width) if i in (0, 1, 8) else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ).rstrip()


def row(program: str, name: str, this: Run, base: Run, results: str) -> str:
    def ratio(a: float, b: float) -> str:
        return "" if this is base else f"({a / b:.2f}x)"

    return line(
        program,
        name,
        f"{this.whole:.2f}",
        ratio(base.whole, this.whole),
        f"{this.compute:.3f}",
        ratio(base.compute, this.compute),
        f"{this.peak / 1e6:.0f}",
        ratio(this.peak, base.peak),
        results,
    )


def demonstrate(program: str, folder: Path) -> bool:
    """Print the table's rows of one program; True if all results agree."""
    taken: dict[str, list[Run]] = {name: [] for name in RUNS}
    for turn in range(ROUNDS):
        for name, command in RUNS.items():
            taken[name].append(run(command, program, folder / name, folder / f"cache {turn}"))
    middle = {name: median(runs) for name, runs in taken.items()}
    base = middle["numpy"]
    right = True
    for name, this in middle.items():
        found = "" if this is base else verdict(folder / "numpy", folder / name)
        right = right and found in ("", "equal bits")
        print(row(program, name, this, base, found), flush=True)
    return right


def median(runs: list[Run]) -> Run:
    """The medians of each figure."""
    return Run(*(statistics.median(getattr(run, f.name) for run in runs) for f in fields(Run)))


def main(*programs: str) -> None:
    (HERE / "out").mkdir(exist_ok=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)         # installers write it, for all alike
    for use in ("import matplotlib.pyplot", "import lazyarr; lazyarr.ones(1 << 20).sum().item()"):
        subprocess.run([sys.executable, "-c", use], check=True)     # into the system's file cache
    print(line(*HEAD))
    right = True
    for program in programs or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            right = demonstrate(program, Path(folder)) and right
    print("\n(..x): times as fast as NumPy; of the memory that NumPy needs.  Pictures: examples/out")
    if not right:
        sys.exit("results differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
