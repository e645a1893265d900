"""What tests of machine code for calls of compiled functions share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from lazyarr.compiler import COMPILER
from lazyarr.compiling import swift_replay
from lazyarr.compiling.short import SWIFT, Way
from lazyarr.config import OBSERVED
from lazyarr.sight_rows import Also

SHAPE = (300, 1000)
CODE: list[Any] = []


@pytest.fixture(params=["machine code", "Python"])
def code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The code, which is there at once, and told of what comes round at once; or not at all."""
    COMPILER.load()
    if not CODE:
        CODE.append(swift_replay.load(True))
    if CODE[0] is None:
        pytest.skip("objects lie otherwise here")
    observed = OBSERVED.copy()
    OBSERVED.clear()
    monkeypatch.setattr("lazyarr.compiling.short.SETTLED", 1)
    monkeypatch.setattr("lazyarr.compiling.short.LOOKED", 2)
    monkeypatch.setattr(SWIFT, "left", -1)
    monkeypatch.setattr(SWIFT, "code", CODE[0] if request.param == "machine code" else None)
    yield SWIFT.code
    assert not CODE[0].given.words[Also.BUSY]
    OBSERVED[:] = observed


def drawn(seed: int, *shapes: Any, dtype: str = "f8") -> list[numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    return [random.uniform(-2, 2, shape).astype(dtype) for shape in shapes or (SHAPE,)]


def same(found: Any, wanted: Any) -> None:
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    each = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for x, y in each:
        real = numpy.asarray(x)
        assert (real.shape, real.dtype, real.strides) == (y.shape, y.dtype, numpy.asarray(y).strides)
        assert real.tobytes() == y.tobytes()


def same_and_warned(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """The same results, with the same warnings."""
    results, said = list[Any](), list[set[str]]()
    for call in (ours, theirs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append(call())
        said.append({str(w.message) for w in caught})
    same(*results)
    assert said[0] == said[1]


def heard(kind: type[Way], monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    """The ways of a kind by which Python does calls from now on."""
    found: list[Way] = []
    hear: Any = kind._hear          # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "_hear", lambda self: (found.append(self), hear(self)))
    return found


def met_by(kind: type[Way], f: Any, *args: Any, calls: int = 6) -> Any:
    """The way of a kind by which a function goes, after some calls."""
    for _ in range(calls):
        f(*args)
    way = f._known.last
    assert isinstance(way, kind)
    assert (way.row is not None) == (SWIFT.code is not None)
    return way
