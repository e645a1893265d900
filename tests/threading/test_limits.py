"""How many threads: options, affinity, quotas."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy
import pytest

from lazyarr.config import get_options, options, set_options
from lazyarr.threading import limits
from lazyarr.threading.limits import available_threads, cpu_quota, get_num_threads, set_num_threads


@pytest.fixture(autouse=True)
def restored():
    before = get_options()["num_threads"]
    yield
    set_options(num_threads=before)


def test_default_is_all_that_the_process_may_use():
    assert get_num_threads() == available_threads()
    assert 1 <= available_threads() <= (os.cpu_count() or 1)


def test_set_and_get():
    for n in (1, available_threads(), numpy.int64(1)):
        set_num_threads(n)
        assert get_num_threads() == n


@pytest.mark.parametrize(
    ("n", "error"),
    [
        (0, ValueError),
        (-1, ValueError),
        (available_threads() + 1, ValueError),
        (1.0, TypeError),
        ("1", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_bad_numbers(n, error):
    before = get_num_threads()
    with pytest.raises(error):
        set_num_threads(n)
    assert get_num_threads() == before


def test_options_limit_it(monkeypatch):
    monkeypatch.setattr(limits, "available_threads", lambda: 8)
    with options(num_threads=3):
        assert get_num_threads() == 3
    with options(num_threads=100):
        assert get_num_threads() == 8
    with options(threading_layer="serial"):
        assert get_num_threads() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is Linux's")
def test_affinity():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from lazyarr.threading.limits import get_num_threads
print(get_num_threads())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                         env={"PYTHONPATH": ":".join(sys.path), "LAZYARR_NUM_THREADS": "4"})
    assert out.stdout.split() == ["1"], out.stderr


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"a/cpu.max": "400000 100000\n", "a/b/cpu.max": "max 100000\n"}, 4),
        ({"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "500000 100000\n"}, 3),
        ({"cpu.max": "nonsense\n"}, None),
        ({}, None),
    ],
)
def test_quota_of_version_2(tmp_path, files, expected):
    membership = tmp_path / "cgroup"
    write(membership, "0::/a/b\n")
    for name, text in files.items():
        write(tmp_path / "fs" / name, text)
    assert cpu_quota(membership, tmp_path / "fs") == expected


@pytest.mark.parametrize(
    ("quota", "expected"), [("-1\n", None), ("250000\n", 3), ("100000\n", 1)]
)
def test_quota_of_version_1(tmp_path, quota, expected):
    membership = tmp_path / "cgroup"
    write(membership, "7:memory:/a\n4:cpu,cpuacct:/a\n1:name=systemd:/x\n")
    write(tmp_path / "fs/cpu,cpuacct/a/cpu.cfs_quota_us", quota)
    write(tmp_path / "fs/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
    assert cpu_quota(membership, tmp_path / "fs") == expected


def test_no_control_groups(tmp_path):
    assert cpu_quota(tmp_path / "absent", tmp_path) is None
