"""Kernels ahead of time: a bundle of several levels serves processes of each, without LLVM."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import lazyarr
from lazyarr import kernels
from lazyarr.config import get_options, set_options
from lazyarr.dispatch import bundle, elf, image, jit
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import BY_NAME, host_level, selection

pytestmark = pytest.mark.skipif(not jit.available() or not image.here(), reason="loads images")

PROGRAM = """
import numpy, lazyarr as np

@np.vectorize
def collatz(n):
    k = 0
    while n > 1 and k < 50:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k

def fn(x, y, seed=3):
    z = np.sqrt(x * 2 + y)
    e = np.exp(x - x.max(1, keepdims=True))
    n = (x * 100).astype("i8") + 3
    drawn = np.random.default_rng(seed).random(300_000) + 1
    soft = e / e.sum(1, keepdims=True)
    return z, (z - x).sum(0), soft, x[y > 0.5] + 1, z.std(), drawn, collatz(n), x.prod(0)
"""
RUN = """
import sys
sys.path.insert(0, {here!r})
from program import fn, np, numpy
if {path!r}:
    print(*np.load_kernels({path!r}))
a, b = (numpy.random.default_rng(k).random((400, 300)).astype({dtype!r}) for k in (1, 2))
found = [numpy.asarray(x) for x in fn(np.array(a), np.array(b))]
c = np.debug.counters()
print(c["compiles"], c["disk_hits"] > 0, c["native_launches"] > 5, "llvmlite.binding" in sys.modules)
print(*{{row["current"] for rows in np.debug.opt_func_info().values() for row in rows.values()}})
numpy.savez({out!r}, *found)
"""


def run(place: Path, path: str = "", dtype: str = "f8", out: str = "out.npz", **env: str) -> list[str]:
    code = RUN.format(here=str(place), path=path, dtype=dtype, out=str(place / out))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_BYTES": "0",
             "LAZYARR_JIT": "always", **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the program and a bundle of it, for the host's levels and one of another machine."""
    place = tmp_path_factory.mktemp("bundle")
    (place / "program.py").write_text(PROGRAM)
    code = f"""
import sys
sys.path.insert(0, {str(place)!r})
from program import fn, np
levels = [*np.__cpu_baseline__[-1:], *np.__cpu_dispatch__]
levels = [name for name in levels if np.__cpu_features__[name]]
print(np.export_kernels(fn, [("float64[700, 500]",) * 2, ("float32[700, 500]",) * 2],
                        targets=[*levels, "ASIMD"], path={str(place / "b.lzb")!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_BYTES": "0"})
    assert done.stdout.startswith("Exported("), done.stderr
    return place


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("level", selection().usable if jit.available() else ())
def test_each_level_finds_its_kernels(made, level, dtype):
    path = str(made / "b.lzb")
    with_ = run(made, path, dtype, "with.npz", LAZYARR_CPU_LEVEL=level)
    assert with_ == [" ".join([*selection().usable, "ASIMD"]), "0 True True False", level]
    if dtype == "f8" and level == host_level().name:
        without = run(made, "", dtype, "without.npz")
        assert int(without[0].split()[0]) > 5
        one, other = numpy.load(made / "with.npz"), numpy.load(made / "without.npz")
        assert all(one[name].tobytes() == other[name].tobytes() for name in one.files)


def test_the_environment_may_name_bundles_instead(made):
    found = run(made, LAZYARR_KERNEL_PATH=str(made / "b.lzb"))
    assert found == ["0 True True False", host_level().name]


def test_the_highest_common_level_is_chosen(made, tmp_path):
    low, high = selection().usable[:2]
    (tmp_path / "program.py").write_text(PROGRAM)
    whole = bundle.load(str(made / "b.lzb"))
    kept = [(key, whole.entry(key)) for key in whole.all_keys()]
    bundle.write(str(tmp_path / "low.lzb"), kept, {**whole.about, "levels": [low, high, "ASIMD"]})
    path = str(tmp_path / "low.lzb")
    assert run(tmp_path, path)[1:] == ["0 True True False", high]
    assert run(tmp_path, path, LAZYARR_CPU_DISPATCH="none")[1:] == ["0 True True False", low]


@pytest.fixture
def options_kept():
    before = get_options()
    yield
    set_options(**before)
    bundle.opened.cache_clear()


@pytest.mark.parametrize("field", ["numpy", "llvmlite", "source"])
def test_bundles_of_other_versions_are_not_used(made, tmp_path, field, options_kept):
    about = {**bundle.load(str(made / "b.lzb")).about, field: "other"}
    bundle.write(str(tmp_path / "b"), [], about)
    with pytest.warns(RuntimeWarning, match="another version of"):
        assert lazyarr.load_kernels(tmp_path / "b") == ()
    assert lazyarr.get_options()["kernel_path"] == ""


def test_bundles_of_other_levels_are_told_of(tmp_path, options_kept):
    bundle.write(str(tmp_path / "b"), [], {"levels": ["RVV"]})
    with pytest.warns(RuntimeWarning, match="for RVV, and this host has none of these"):
        lazyarr.load_kernels(tmp_path / "b")


def test_loading_a_bundle_imports_nothing_that_writes_or_runs_kernels(made):
    code = f"import sys, lazyarr; lazyarr.load_kernels({str(made / 'b.lzb')!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    there = set(done.stdout.split())
    assert "lazyarr.kernel_index" in there, done.stderr
    assert not there & {"lazyarr.engine", "lazyarr.kernels", "lazyarr.codegen.lower", "lazyarr.bundles"}


def test_code_of_another_machine_is_an_object_of_it(made):
    whole = bundle.load(str(made / "b.lzb"))
    bodies = []
    for key in whole.all_keys():
        told = disk.about_of(whole.entry(key))
        assert told is not None and told[0] == key
        if told[1]["kind"] == "code" and told[1]["level"] == "ASIMD":
            bodies.append(told[2])
        elif told[1]["kind"] == "code":
            assert image.is_packed(told[2])
    assert len(bodies) > 20
    assert {(elf.is_elf(body), int.from_bytes(body[18:20], "little")) for body in bodies} == {(True, 183)}


@pytest.mark.parametrize(
    ("signatures", "targets", "why"),
    [
        ([("float64(3)",)], None, "must be a dtype and a shape"),
        ("float64", None, "leaves nothing to kernels"),
        ([("float64[3000]",)], ["RVV"], "no level RVV to export for; there are X86_V2"),
        ([("float64[3000]",)], ["AVX9"], "no level AVX9"),
        ([(1.0,)], None, "leaves nothing to kernels"),
    ],
)
def test_what_is_refused(tmp_path, signatures, targets, why):
    with pytest.raises(ValueError, match=why):
        lazyarr.export_kernels(lambda x: x * 2, signatures, targets=targets, path=tmp_path / "b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("signatures", "shapes"),
    [
        ("float32[:, 64], float32[64]", [(2048, 64), (64,)]),
        (["float32[:], float32[:]"], [(1 << 17,)] * 2),
        ([["float32[:, :]", "float32[:]"]], [(363, 363), (363,)]),
        ([("float32[7, 40000]", numpy.ones(40000, "f4"))], [(7, 40000), (40000,)]),
        ("float32[:, 100000], float32", [(32, 100000), ()]),
    ],
)
def test_signatures_are_written_as_for_compile(tmp_path, signatures, shapes):
    seen = []

    def fn(x, y):
        seen.append([numpy.shape(x), numpy.shape(y)])
        return x * 2 + y

    made = lazyarr.export_kernels(fn, signatures, targets=[host_level().name], path=tmp_path / "b")
    assert made.kernels and all(found == shapes for found in seen)


def test_what_goes_wrong_while_planning_is_raised(tmp_path):
    """Not told on stderr, as what goes wrong while looking on."""
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lazyarr.export_kernels(fails, [("float64[10]",)], path=tmp_path / "b")
    assert BY_NAME[host_level().name].target is host_level()


def test_the_target_of_a_plan_is_the_planning_threads_alone():
    """Another thread compiles, and runs, for the host meanwhile."""
    mine, seen, found = host_level().name, [], []

    def other():
        seen.append(kernels.host().name)
        with lazyarr.options(jit="always"):
            x = lazyarr.asarray(numpy.linspace(1, 2, 777))
            found.append(numpy.asarray(lazyarr.hypot(x * 3.25, x) - 0.125))

    with kernels.compiling_for(BY_NAME["ASIMD"].target):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert kernels.host().name == "ASIMD"
        with kernels.compiling_for(BY_NAME["SVE"].target):
            assert kernels.host().name == "SVE"
        assert kernels.host().name == "ASIMD"
    assert seen == [mine] == [kernels.host().name]
    x = numpy.linspace(1, 2, 777)
    assert found[0].tobytes() == (numpy.hypot(x * 3.25, x) - 0.125).tobytes()


def test_other_threads_go_on_and_are_not_exported(tmp_path):
    """What they evaluate meanwhile is theirs: it runs, and the bundle has the function's kernels only."""
    begun, done = threading.Event(), threading.Event()
    found = []

    def other():
        begun.wait(60)
        with lazyarr.options(jit="always"):
            for k in range(20):
                x = lazyarr.asarray(numpy.linspace(k, k + 1, 500))
                found.append(numpy.asarray(lazyarr.arctan2(x * 2, x + k)))
        done.set()

    def fn(x):
        begun.set()
        done.wait(60)
        return x * 3 - 1

    thread = threading.Thread(target=other)
    thread.start()
    path = tmp_path / "b"
    made = lazyarr.export_kernels(fn, [("float64[3000]",)], ["X86_V2", "ASIMD"], path)
    thread.join()
    for k, one in enumerate(found):
        x = numpy.linspace(k, k + 1, 500)
        assert one.tobytes() == numpy.arctan2(x * 2, x + k).tobytes()
    assert made.levels == ("X86_V2", "ASIMD")
    whole = bundle.load(str(path))
    told = [disk.about_of(whole.entry(key)) for key in whole.all_keys()]
    bodies = {entry[1]["body"].split(" (")[0] for entry in told if entry and entry[1]["kind"] == "kernel"}
    assert "load scalar multiply scalar subtract store" in bodies
    assert not [body for body in bodies if "arctan2" in body]
