"""An error that was caught keeps no array: none of our frames is in a cycle with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lazyarr as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "objects that are no numbers": lambda x: np.add.reduce(np.array([*x[:2], "text"], object), dtype="i8"),
    "a key beyond": lambda x: x[:12].__setitem__(99, 1),
    "a shape": lambda x: x.reshape(7, 7),
    "an axis": lambda x: x.sum(axis=7),
    "operands": lambda x: x + np.zeros(5),
    "joined": lambda x: np.concatenate((x, x[None])),
    "ragged": lambda x: np.array([x, [1, 2]]),
    "singular": lambda x: np.linalg.inv(x),
    "a type": lambda x: x.astype("nothing"),
    "out": lambda x: np.sqrt(x, out=np.zeros(2)),
}


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("size", [12, 400_000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_are_freed_at_once(name: str, size: int) -> None:
    x = np.arange(size) * 1.0
    seen = weakref.ref(x)
    try:
        PROGRAMS[name](x)
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError):
        pass
    else:
        pytest.fail("no error")
    del x
    assert seen() is None


def test_elements_of_an_array_that_was_refused() -> None:
    held = object()
    x = np.array([held] * 3 + ["text"], object)
    seen = weakref.ref(x)
    with pytest.raises((ValueError, TypeError)) as raised:
        np.add.reduce(x, dtype="i8", initial=None)
    del raised, x
    assert seen() is None
