"""The object cache on disk: damage, rights, races, bounds.  Nothing of it may reach the caller."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lazyarr.config import get_options, options, set_options
from lazyarr.dispatch import cache
from lazyarr.dispatch.bundle import opened
from lazyarr.dispatch.cache_entries import entries
from tests.crowd import at_once

KEY = cache.digest("a", "b")
ABOUT = {"kind": "test"}


@pytest.fixture
def root(tmp_path):
    before = get_options()["cache_dir"]
    place = tmp_path / "objects"
    set_options(cache_dir=str(place))
    yield place
    set_options(cache_dir=before)


def entry(root: Path, key: bytes = KEY) -> Path:
    return root / f"{key.hex()}.lzo"


def test_round_trip(root):
    assert cache.fetch(KEY) is None
    cache.store(KEY, b"object", ABOUT)
    assert cache.fetch(KEY) == b"object"
    assert cache.fetch(cache.digest("a", "c")) is None
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry(root).stat().st_mode) == 0o600
    assert os.listdir(root) == [entry(root).name]
    assert cache.about_of(entry(root).read_bytes()) == (KEY, ABOUT, b"object")


def test_keys_tell_parts_apart():
    assert cache.digest("ab", "c") != cache.digest("a", "bc")


DAMAGE = {
    "emptied": lambda data: b"",
    "cut in its head": lambda data: data[:10],
    "cut in its sum": lambda data: data[: len(cache.MAGIC) + 40],
    "cut by a byte": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "of another format": lambda data: data.replace(cache.MAGIC, b"lazyarr object 0\n"),
    **{
        f"bit {bit} of byte {at}": lambda data, at=at, bit=bit: (
            data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        )
        for at in (0, 20, 60, 82, 84, 90)
        for bit in (0, 7)
    },
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_nobody_waits_for_a_pipe_in_the_place_of_an_entry(root):
    cache.store(KEY, b"body", ABOUT)
    path = entry(root)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cache.fetch(KEY) is None


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entries_are_absent_and_removed(root, damage):
    cache.store(KEY, b"object", ABOUT)
    path = entry(root)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.fetch(KEY, lambda: ABOUT) is None
    assert cache.MISSED[-1].why == "the entry was damaged"
    assert not path.exists()
    cache.store(KEY, b"object", ABOUT)
    assert cache.fetch(KEY) == b"object"


def test_an_entry_under_another_name_is_not_loaded(root):
    cache.store(KEY, b"object", ABOUT)
    other = cache.digest("other")
    entry(root).rename(entry(root, other))
    assert cache.fetch(other) is None


def test_links_are_not_followed(root, tmp_path):
    cache.store(KEY, b"object", ABOUT)
    aside = tmp_path / "aside"
    entry(root).rename(aside)
    entry(root).symlink_to(aside)
    assert cache.fetch(KEY) is None


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_entries_that_others_can_write_are_not_loaded(root, mode):
    cache.store(KEY, b"object", ABOUT)
    entry(root).chmod(mode)
    assert cache.fetch(KEY) is None


def test_a_directory_that_others_can_write_is_not_used(tmp_path):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    with options(cache_dir=str(place)):
        cache.store(KEY, b"object", ABOUT)
        assert cache.directory() is None
        assert cache.fetch(KEY) is None
    assert os.listdir(place) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_entries_of_other_users_are_not_loaded(root):
    cache.store(KEY, b"object", ABOUT)
    os.chown(entry(root), 65534, -1)
    assert cache.fetch(KEY) is None


@pytest.mark.parametrize("place", ["/dev/null/cache", "/proc/lazyarr"])
def test_an_impossible_directory_is_silent(place):
    with options(cache_dir=place):
        cache.store(KEY, b"object", ABOUT)
        assert cache.fetch(KEY) is None


def test_a_read_only_directory_still_serves(root):
    """As an ordinary user, since root may write anywhere."""
    cache.store(KEY, b"object", ABOUT)
    code = f"""
import os, pathlib
from lazyarr.config import set_options
from lazyarr.dispatch import cache
root = pathlib.Path({str(root)!r})
if os.geteuid() == 0:
    for place in (root, *root.iterdir()):
        os.chown(place, 65534, -1)
    for up in root.parents:
        if not up.stat().st_mode & 0o001:
            up.chmod(0o755)
    os.seteuid(65534)
root.chmod(0o500)
set_options(cache_dir=str(root))
other = cache.digest("other")
cache.store(other, b"x", {ABOUT!r})
print(cache.fetch({KEY!r}), cache.fetch(other))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                         env={"PYTHONPATH": ":".join(sys.path)})
    root.chmod(0o700)
    assert out.stdout.split() == ["b'object'", "None"], out.stderr


def test_a_full_disk_is_silent_and_leaves_nothing(root, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    cache.store(KEY, b"object", ABOUT)
    assert os.listdir(root) == []


def test_zero_bytes_keep_nothing(root):
    with options(cache_bytes=0):
        cache.store(KEY, b"object", ABOUT)
        assert cache.fetch(KEY) is None
    assert not root.exists()


def test_sweep_removes_what_was_not_used_for_longest(root):
    keys = [cache.digest(str(k)) for k in range(10)]
    for k, key in enumerate(keys):
        cache.store(key, bytes(1000), ABOUT)
        os.utime(entry(root, key), (k * 1e5, k * 1e5))
    assert cache.fetch(keys[0]) is not None         # used: now the newest
    size = entry(root, keys[0]).stat().st_size
    with options(cache_bytes=4 * size):
        cache.sweep()
    left = [k for k, key in enumerate(keys) if cache.fetch(key) is not None]
    assert left == [0, 7, 8, 9]


def test_a_process_sweeps_when_it_ends(root):
    code = f"""
from lazyarr.config import set_options
from lazyarr.dispatch import cache
set_options(cache_dir={str(root)!r}, cache_bytes=5000)
for k in range(20):
    cache.store(cache.digest(str(k)), bytes(1000), {{"kind": "test"}})
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120,
                   env={"PYTHONPATH": ":".join(sys.path)})
    assert sum(file.stat().st_size for file in root.iterdir()) <= 5000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts in KiB")
def test_a_sweep_takes_no_memory_for_each_file(root):
    """A process that meets ten thousand kernels has as many files, and looks through them again and again."""
    code = f"""
import resource
from lazyarr.config import set_options
from lazyarr.dispatch import cache
set_options(cache_dir={str(root)!r})
for k in range(4000):
    open(f"{{cache.directory()}}/{{k:064x}}.lzo", "w").close()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
cache.sweep()
print(peak() - before)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                         env={"PYTHONPATH": ":".join(sys.path)})
    assert int(out.stdout) < 1000, out.stderr       # KiB; with a list of what was found: 4000


def test_a_running_process_stays_near_the_bound(root, monkeypatch):
    """An eighth above it, and a file, at most; looking through the directory a few times for that."""
    most, sweeps, sweep = 0, [], cache.sweep
    monkeypatch.setattr(cache, "sweep", lambda: sweeps.append(sweep()))
    with options(cache_bytes=20000):
        for k in range(200):
            cache.store(cache.digest(str(k)), bytes(100), ABOUT)
            most = max(most, sum(file.stat().st_size for file in root.iterdir()))
    assert 20000 - 300 < most <= 20000 + 20000 // 8 + 300
    assert 10 < len(sweeps) < 20


def test_racing_writers_and_readers(root):
    wrong = []

    def work():
        for _ in range(200):
            cache.store(KEY, b"object" * 1000, ABOUT)
            if cache.fetch(KEY) != b"object" * 1000:
                wrong.append(1)

    at_once(work)
    assert not wrong
    assert os.listdir(root) == [entry(root).name]


def test_32_processes_race_for_the_same_entries(root):
    """Each reads and writes all of them; a reader sees a whole entry or none."""
    code = f"""
import random, sys
from lazyarr.config import set_options
from lazyarr.dispatch import cache
set_options(cache_dir={str(root)!r}, cache_bytes=60000)
pick = random.Random(int(sys.argv[1]))
for _ in range(100):
    k = pick.randrange(20)
    key, body = cache.digest(str(k)), bytes([k]) * 5000
    assert cache.fetch(key) in (None, body)
    cache.store(key, body, {{"kind": "test"}})
    if pick.random() < 0.05:
        cache.sweep()
"""
    env = {"PYTHONPATH": ":".join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", code, str(k)], env=env) for k in range(32)]
    assert [process.wait(120) for process in running] == [0] * 32
    assert not [name for name in os.listdir(root) if name.endswith(".tmp")]
    assert sum(file.stat().st_size for file in root.iterdir()) <= 60000
    assert all(found.sound for found in entries())


def test_a_directory_that_others_share_is_read_only(root, tmp_path):
    """`kernel_path`: looked in after the own directory, never written, and only if it can be trusted."""
    shared = tmp_path / "shared"
    with options(cache_dir=str(shared)):
        cache.store(KEY, b"shared", ABOUT)
        cache.store(cache.digest("damaged"), b"x", ABOUT)
    damaged = entry(shared, cache.digest("damaged"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    before = sorted(shared.iterdir())
    with options(kernel_path=os.pathsep.join(["/nowhere", str(shared)])):
        assert cache.fetch(KEY) == b"shared"
        assert cache.fetch(cache.digest("damaged")) is None
        cache.store(KEY, b"own", ABOUT)
        assert cache.fetch(KEY) == b"own"
        with options(cache_bytes=0):
            assert cache.fetch(KEY) == b"shared"
    assert sorted(shared.iterdir()) == before
    opened.cache_clear()
    shared.chmod(0o777)
    with options(kernel_path=str(shared), cache_bytes=0):
        assert cache.fetch(KEY) is None
    opened.cache_clear()
