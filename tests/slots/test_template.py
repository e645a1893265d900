"""The slots' code is written once, and lies in the cache from then on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazyarr.slots import install, template, words, writing
from lazyarr.slots.tables import METHODS, OTHER_METHODS, TURNED, UFUNC_METHODS
from tests.slots.operands import ONLY_HERE

pytestmark = ONLY_HERE

PROGRAM = """
import sys
import lazyarr as np
np.slots.attach()
x = np.arange(5.0)
assert (x + x).sum() == 20 == np.sum(2 * x) and x.shape == (5,) and x[3] == 3 and x.max() == 4
from lazyarr.slot_words import ANSWERED
assert ANSWERED.value
print("lazyarr.slots.writing" in sys.modules)
"""


def _said(program: str, cache: Path, **options: str) -> str:
    env = {**os.environ, "LAZYARR_CACHE_DIR": str(cache), **options}
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, env=env, check=True, timeout=100, capture_output=True, text=True)
    return done.stdout.strip()


def _writes(cache: Path, **options: str) -> bool:
    """Does a program write the code?"""
    return _said(PROGRAM, cache, **options) == "True"


def test_written_once(tmp_path: Path) -> None:
    assert [_writes(tmp_path) for _ in range(3)] == [True, False, False]
    (entry,) = tmp_path.iterdir()
    data = bytearray(entry.read_bytes())
    data[-100] ^= 1
    entry.write_bytes(data)
    assert _writes(tmp_path) and not _writes(tmp_path)


def test_without_a_cache(tmp_path: Path) -> None:
    assert _writes(tmp_path, LAZYARR_CACHE_BYTES="0") and not [*tmp_path.iterdir()]


def test_what_has_to_be_written_has_to_pay(tmp_path: Path) -> None:
    """Beside a cache that has no code, small calls go on through Python for longer."""
    program = PROGRAM.replace("np.slots.attach()", """
from lazyarr.slots import PAYS, WRITING_PAYS
from lazyarr.slot_words import ANSWERED, WAITING
y = np.arange(5.0)
for k in range(PAYS + 5):
    y + 1
early = not WAITING
for k in range(WRITING_PAYS):
    y + 1
assert not WAITING
""").replace('print(', 'print(early, ')
    assert _said(program, tmp_path) == "False True"
    assert _said(program, tmp_path) == "True False"


def test_the_code_is_for_any_process() -> None:
    """No two writings differ, and no word of it is missing."""
    places = words.places()
    one, other = writing.written(places), writing.written(places)
    assert one == other == template.template(places, True)
    named = [*METHODS.split(), *OTHER_METHODS, *UFUNC_METHODS.split(), TURNED]
    known = {
        *words.addresses(), *map(words.record_of, named),
        *(words.before(number) for number, _ in install._places()),
    }  # fmt: skip
    assert known >= {*one.words}


def test_other_editions_are_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    places = words.places()
    assert template.template(places, True) == template.template(places, False)
    monkeypatch.setattr(template, "imported", lambda *_: "others")
    assert template.template(places, False) is None
    assert template.template({**places, "geo": 8}, False) is None
