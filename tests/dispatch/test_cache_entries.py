"""Looking after the cache: what a key depends on, why a lookup failed, bundles, the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lazyarr
from lazyarr import cache, config, kernel_index
from lazyarr.config import options
from lazyarr.dispatch import bundle, cache_entries, jit
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.parfor import Inst, Operand, Parfor, Reduction, Shift

pytestmark = pytest.mark.skipif(not jit.available(), reason="looks at compiled kernels")

PARFOR = Parfor(
    "p", (Operand("d", "u"), Operand("d", "u", "out")), "d", (
        Inst("load", "d", (), 0), Inst("scalar", "d", (), 0), Inst("add", "dd->d", (0, 1)),
        Inst("store", "d", (2,), 1),
    ),
)  # fmt: skip
CHANGED = {
    "dims": "pp",
    "operands": (Operand("d", "s"), Operand("d", "u", "out")),
    "scalars": "f",
    "body": (*PARFOR.body[:2], Inst("multiply", "dd->d", (0, 1)), PARFOR.body[3]),
    "shifts": (Shift(0, 0, 0), Shift(0, 0, 1)),
    "crossed": "ro",
}
TARGET = host_level()
OTHER_TARGET = {
    "name": "X", "features": "+x", "vector_bytes": 8, "fma": not TARGET.fma, "half": not TARGET.half,
    "machine": "m", "triple": "t", "off": ("tile",),
    "equal": ((PARFOR.body[2].op, PARFOR.body[2].sig, "NumPy"),),
}  # fmt: skip
OTHER_OPTION = {"math": "native", "tier": 1}
"""Another value of each option that changes text."""


def told(parfor=PARFOR, target=TARGET, nontemporal=False):
    return kernel_index.key(parfor, target, nontemporal), kernel_index.about(parfor, target, nontemporal)


def test_functions_that_a_body_does_not_name_make_no_difference() -> None:
    assert told() == told(target=TARGET._replace(equal=(("exp", "d->d", "libm"), ("log", "f->f", "NumPy"))))


def only(field: str, one, other) -> None:
    """The keys differ, and what is told of them differs in that field alone."""
    assert one[0] != other[0]
    assert {name for name in one[1] if one[1][name] != other[1][name]} == {field}


@pytest.mark.parametrize("field", Parfor._fields)
def test_a_kernels_key_depends_on_the_parfor(field):
    other = told(PARFOR._replace(**{field: CHANGED[field]}))
    assert told()[0] != other[0]
    differ = {name for name in told()[1] if told()[1][name] != other[1][name]}
    assert differ == {field, "body"}, "the body's sum is of all that a parfor says"


@pytest.mark.parametrize("field", Reduction._fields)
def test_a_kernels_key_depends_on_how_it_folds(field):
    how = Reduction("add", "pairwise", 1)
    other = {"ufunc": "multiply", "order": "sequential", "out": 0, "start": 0, "mask": 0, "group": 2,
        "quiet": True, "cut": True, "long": True, "resumes": True}[field]
    with_ = [Parfor("r", PARFOR.operands, "d", (*PARFOR.body[:3], Inst("reduce", "d", (2,), h)))
             for h in (how, how._replace(**{field: other}))]
    only("body", *map(told, with_))


@pytest.mark.parametrize("field", type(TARGET)._fields)
def test_a_kernels_key_depends_on_the_target(field):
    other = told(target=TARGET._replace(**{field: OTHER_TARGET[field]}))
    only("level" if field == "name" else field, told(), other)


@pytest.mark.parametrize("field", config.CODE)
def test_a_kernels_key_depends_on_the_options(field):
    before = told()
    with options(**{field: OTHER_OPTION[field]}):
        only(field, before, told())


def test_a_kernels_key_depends_on_what_writes_it(monkeypatch):
    before = told()
    only("nontemporal", before, told(nontemporal=True))
    monkeypatch.setattr(kernel_index.numpy, "__version__", "9.9")
    kernel_index._surroundings.cache_clear()
    only("numpy", before, told())
    monkeypatch.undo()
    monkeypatch.setattr(kernel_index, "version", lambda: "0.0")
    kernel_index._surroundings.cache_clear()
    only("llvmlite", before, told())
    monkeypatch.undo()
    monkeypatch.setattr(kernel_index, "writers", lambda: "0" * 64)
    kernel_index._surroundings.cache_clear()
    only("source", before, told())
    kernel_index._surroundings.cache_clear()


@pytest.mark.parametrize("field", ["name", "features", "triple"])
def test_a_codes_key_depends_on_the_target(field):
    other = TARGET._replace(**{field: OTHER_TARGET[field]})
    assert jit.key_of("ir", TARGET) != jit.key_of("ir", other)
    assert jit.about_code("s", "ir", TARGET) != jit.about_code("s", "ir", other)


def test_a_codes_key_depends_on_text_level_and_llvm(monkeypatch):
    one = jit.key_of("ir", TARGET), jit.about_code("s", "ir", TARGET)
    only("text", one, (jit.key_of("other", TARGET), jit.about_code("s", "other", TARGET)))
    only("opt", one, (jit.key_of("ir", TARGET, 2), jit.about_code("s", "ir", TARGET, 2)))
    monkeypatch.setattr(jit, "version", lambda: "0.0")
    only("llvmlite", one, (jit.key_of("ir", TARGET), jit.about_code("s", "ir", TARGET)))


def child(code: str, cold: Path, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_DIR": str(cold), **env},
    )  # fmt: skip


PROGRAM = """
import lazyarr as np
np.set_options(jit="always")
x = np.arange(50.0)
np.evaluate(x * 2.5 - 1)
np.evaluate(np.sqrt(x))
(x + x).sum()
c = np.debug.counters()
print(c["compiles"], c["disk_hits"])
"""


@pytest.fixture
def warm(cold):
    """A cache that holds the kernels of a program."""
    done = child(PROGRAM, cold)
    assert done.stdout.split()[1] == "0", done.stderr
    assert child(PROGRAM, cold).stdout.split()[0] == "0"
    return cold


def test_explain_names_the_field_that_differs(warm):
    low = lazyarr.__cpu_baseline__[-1]
    if low == host_level().name:
        pytest.skip("this host has no other level")
    code = PROGRAM + "print(*np.cache.explain(99), sep='\\n')"
    lines = child(code, warm, LAZYARR_CPU_LEVEL=low).stdout.splitlines()
    (at,) = [k for k, line in enumerate(lines) if line.startswith("kernel load sqrt store")]
    assert lines[at].endswith("there is no such entry; the nearest differs by")
    assert lines[at + 1] == f"  level: wanted {low}, there is {host_level().name}"
    assert not lines[at + 2].startswith(" ")
    assert "kernel" not in child(code, warm).stdout


def test_explain_prints_short_pieces_from_where_values_differ(monkeypatch):
    """Of a body of hundreds of operations the part that differs."""
    ops = " ".join(["load", "multiply", "add"] * 60)
    entry = {"kind": "kernel", "level": "X86_V3", "body": f"{ops} sqrt {ops}", "scalars": "d"}
    wanted = {**entry, "body": f"{ops} exp {ops}"}
    monkeypatch.setattr(disk, "MISSED", [disk.Missed(b"1", lambda: wanted, "there is no such entry")] * 2)
    there = cache_entries.Entry("", b"2", entry, 0, 0.0, b"")
    monkeypatch.setattr(cache_entries, "entries", lambda: [there])
    found = cache.explain()
    assert [d.fields for d in found] == [{"body": (wanted["body"], entry["body"])}] * 2
    assert str(found) == repr(found) == "\n".join(map(str, found))
    first, second = str(found[0]).splitlines()
    assert first.endswith("…: there is no such entry; the nearest differs by") and len(first) < 150
    assert "tiply add exp load" in second and "tiply add sqrt load" in second and len(second) < 200
    assert "level" not in str(found)


def test_explain_of_an_empty_cache(cold):
    disk.MISSED.clear()
    assert disk.fetch(told()[0], lambda: told()[1]) is None
    (missed,) = cache.explain()
    assert missed.fields == {} and "nor any other of its kind" in str(missed)


def test_entries_and_totals(warm):
    found = list(cache.entries())
    assert all(entry.sound and entry.nbytes == len(entry.data) for entry in found)
    totals = cache.totals()
    assert totals.files == len(found) == len(list(warm.iterdir()))
    assert totals.levels == {host_level().name: totals.kinds["kernel"]}
    assert set(totals.kinds) - {"writers"} == {"kernel", "code", "evaluation"}      # (once a process)
    assert cache.verify() == []
    damaged = Path(found[0].path)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert cache.verify() == [str(damaged)] and cache.totals().damaged == 1
    assert cache.verify(remove=True) == [str(damaged)] and not damaged.exists()
    assert cache.clear() == len(found) - 1 and list(warm.iterdir()) == []


def test_export_and_import(warm, tmp_path):
    place = tmp_path / "all.lzb"
    count = cache.export_to(place)
    assert count == len(list(warm.iterdir()))
    assert cache.import_from(place) == 0
    assert cache.clear() == count
    assert child(PROGRAM, warm, LAZYARR_KERNEL_PATH=str(place)).stdout.split()[0] == "0"
    cache.clear()
    assert cache.import_from(place) == count
    assert child(PROGRAM, warm).stdout.split()[0] == "0"


def test_what_is_no_bundle_is_refused(warm, tmp_path):
    place = tmp_path / "all.lzb"
    cache.export_to(place)
    whole = place.read_bytes()
    for broken, why in (
        (b"", "empty"), (b"junk", "no bundle"), (whole[:30], "no bundle"), (whole[:200], "damaged"),
        (whole[:60] + b"#" + whole[61:], "damaged"),
        (whole[:-1], "entry .* is damaged"),
    ):  # fmt: skip
        place.write_bytes(broken)
        cache.clear()
        with pytest.raises(ValueError, match=why):
            cache.import_from(place)
        with options(kernel_path=str(place)):
            bundle.opened.cache_clear()
            assert disk.fetch(told()[0]) is None
    place.write_bytes(whole)
    place.chmod(0o666)
    with pytest.raises(PermissionError, match="others can write"):
        cache.import_from(place)
    bundle.opened.cache_clear()
    with options(cache_bytes=0), pytest.raises(ValueError, match="no cache directory"):
        cache.import_from(place)


def command(cold: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "lazyarr", "cache", *words], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "LAZYARR_CACHE_DIR": str(cold)},
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_command_line(warm, tmp_path):
    count = len(list(warm.iterdir()))
    status, text = command(warm, "list")
    assert status == 0 and len(text.splitlines()) == count
    assert any("kernel" in line and host_level().name in line and "load sqrt store" in line
               for line in text.splitlines())
    status, text = command(warm, "stats")
    assert status == 0 and text.startswith(f"{warm}: {count} files, ")
    assert command(warm, "verify") == (0, f"all {count} entries are sound\n")
    assert command(warm, "export", str(tmp_path / "b")) == (0, f"{count} entries in {tmp_path / 'b'}\n")
    assert command(warm, "clear") == (0, f"{count} files removed\n")
    assert command(warm, "import", str(tmp_path / "b")) == (0, f"{count} entries added\n")
    next(warm.iterdir()).write_bytes(b"")
    status, text = command(warm, "verify")
    assert status == 1 and len(text.splitlines()) == 2
    assert command(warm, "import", "/nowhere")[0] == 1
    for words in ((), ("nonsense",), ("export",), ("list", "x")):
        status, text = command(warm, *words)
        assert status == 2 and text.startswith("usage: python -m lazyarr cache")
