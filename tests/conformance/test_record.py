"""The record of NumPy's own tests that fail here: each is one of NumPy's, stands once, and has a reason."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy
import pytest

RECORD = tomllib.loads((Path(__file__).parent / "numpy_suite.toml").read_text(encoding="utf-8"))
NAMES = [name for group in RECORD.values() for name in group["tests"]]
SUITE = Path(numpy.__file__).parent


def test_each_group_has_a_reason():
    for group in RECORD.values():
        assert len(group["why"]) > 30 and group["tests"]
        assert not re.search(r"not (yet )?(implemented|supported)", group["why"])
        assert group.get("mode", "always") == "always"


def test_each_test_stands_once():
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


@pytest.mark.skipif(not numpy.__version__.startswith("2.4."), reason="the record is of NumPy 2.4")
@pytest.mark.skipif(not (SUITE / "lib" / "tests").exists(), reason="NumPy is installed without its tests")
@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_test_of_numpys(name):
    file, *path = name.split("::")
    folder, _, stem = file.rpartition("/")
    source = (SUITE / folder / "tests" / f"{stem}.py").read_text(encoding="utf-8")
    for part in path:
        assert re.search(rf"^\s*(def|class) {part}\b", source, re.MULTILINE), part
