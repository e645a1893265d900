"""Arrays over memory that NumPy made: lazy as ours where nobody else has it, and known as ours by then."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import at_sight, materialize, swift_nodes, swift_sight
from lazyarr.at_sight import SWIFT
from lazyarr.compiler import COMPILER
from lazyarr.config import OBSERVED
from lazyarr.counters import COUNT
from lazyarr.geometry import is_fresh
from lazyarr.recipes import NODES
from lazyarr.values import ALIGNED

SHAPE = (150, 160)
NODES_BY = "make", "view", "assign", "update", "recall", "table"
CODE: list[Any] = []


@pytest.fixture(autouse=True, params=["machine code", "Python"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Who makes nodes, and evaluates what comes round: at once, and all that is large is lazy."""
    COMPILER.load()
    materialize._load()
    if not CODE:
        CODE.extend((swift_nodes.load(True), swift_sight.load(True)))
    if None in CODE:
        pytest.skip("objects lie otherwise here")
    swift = request.param == "machine code"
    for name in NODES_BY:
        monkeypatch.setattr(NODES, name, getattr(CODE[0], name) if swift else None)
    observed = OBSERVED.copy()
    OBSERVED.clear()
    at_sight._sights.clear()
    at_sight._noted.clear()
    monkeypatch.setattr(at_sight, "SETTLED", 1)
    monkeypatch.setattr(at_sight, "LOOKED", 2)
    monkeypatch.setattr(SWIFT, "left", -1)      # (nobody loads it meanwhile)
    monkeypatch.setattr(SWIFT, "code", CODE[1] if swift else None)
    monkeypatch.setattr(SWIFT, "evaluate", CODE[1].evaluate if swift else None)
    with np.options(jit="always", plan="always", tier="2"):
        yield request.param
    OBSERVED[:] = observed


def drawn(seed: int = 1) -> numpy.ndarray:
    return numpy.random.default_rng(seed).uniform(0.5, 2, SHAPE)


def loaded() -> Any:
    file = io.BytesIO()
    numpy.save(file, drawn())
    file.seek(0)
    return np.load(file)


def part_of(whole: numpy.ndarray) -> Any:
    """An array over part of what nobody else has."""
    return np.asarray(whole.reshape(-1)[800 : 800 + drawn().size].reshape(SHAPE))


MADE: dict[str, Callable[[], Any]] = {
    "asarray": lambda: np.asarray(drawn()),
    "draws": lambda: np.random.default_rng(3).standard_normal(SHAPE),
    "linspace": lambda: np.linspace(0.5, 2, SHAPE[0] * SHAPE[1]).reshape(SHAPE),
    "meshgrid": lambda: np.meshgrid(np.arange(float(SHAPE[1])), np.arange(float(SHAPE[0])))[0],
    "load": loaded,
    "tile": lambda: np.tile(np.arange(1.0, 1 + SHAPE[1]), (SHAPE[0], 1)),
    "part of a whole": lambda: part_of(numpy.tile(drawn(), (2, 1))),
    "columns": lambda: np.asarray(numpy.asfortranarray(drawn())),
    "list": lambda: np.array(drawn().tolist()),
}


@pytest.mark.parametrize("name", MADE)
def test_operations_wait(name: str) -> None:
    """Nobody else can write there, so nothing is computed before somebody asks for it."""
    x = MADE[name]()
    real = numpy.array(x)
    np.evaluate(np.ones(SHAPE) * 2)
    for _ in range(12):
        before = COUNT.native_launches
        y = (x * 2 - 1) / (x + 3)
        assert COUNT.native_launches == before
        assert y.storage.value.op is not None
        np.evaluate(y)
        assert COUNT.native_launches == before + 1
        assert numpy.asarray(y).tobytes() == ((real * 2 - 1) / (real + 3)).tobytes()


@pytest.mark.parametrize("name", MADE)
def test_what_comes_round_is_known(name: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, asked = MADE[name](), list[Any]()
    look = at_sight.at_sight
    monkeypatch.setattr(materialize, "_at_sight", lambda roots: asked.append(roots) or look(roots))
    for _ in range(8):
        np.evaluate(x * 2 - x / 3)
    asked.clear()
    np.evaluate(x * 2 - x / 3)
    # (What lies in columns has geometries of its own each time, as ours has.)
    assert len(asked) == (by == "Python" or name == "columns")


def holders(root: numpy.ndarray) -> dict[str, Callable[[], Any]]:
    return {
        "the whole": lambda: root, "a view": lambda: root[5:9], "a buffer": lambda: memoryview(root),
        "another part": lambda: root.reshape(-1)[3:],
    }  # fmt: skip


@pytest.mark.parametrize("holder", holders(numpy.ones(SHAPE)))
@pytest.mark.parametrize("whole", [True, False])
def test_others_write(whole: bool, holder: str) -> None:
    """Who holds the memory below may write there: what reads it is computed at the call."""
    for _ in range(3):
        root = numpy.tile(drawn(), (2, 1))
        held = holders(root)[holder]()
        x = np.asarray(root) if whole else part_of(root)
        del root
        real = numpy.array(x)
        y = x * 2 + 1
        numpy.asarray(held)[...] = 7
        assert numpy.asarray(y).tobytes() == (real * 2 + 1).tobytes()
        assert (numpy.asarray(x) == 7).any()
        del held
        real = numpy.array(x)
        z = x - 3
        assert z.storage.value.op is not None
        x += 1                                  # (by the program itself)
        assert numpy.asarray(z).tobytes() == (real - 3).tobytes()
        assert numpy.asarray(x).tobytes() == (real + 1).tobytes()


def test_who_asks_for_the_base_has_it() -> None:
    """`x.base` is what the array is a view of; then it is somebody's."""
    x = part_of(numpy.tile(drawn(), (2, 1)))
    assert not x.storage.value.buf.shared()
    below = x.base
    y = x * 2
    wanted = numpy.array(x) * 2
    below *= 0
    assert numpy.asarray(y).tobytes() == wanted.tobytes()
    assert not numpy.asarray(x).any()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i2"])
def test_odd_addresses(dtype: str) -> None:
    """Memory that begins anywhere has NumPy's bits, in turn with such as ours."""
    real = drawn().astype(dtype)
    places = [0, 1, 2, 4, 8, 16]
    for _ in range(4):
        for place in places:
            room = numpy.empty(real.nbytes + 2 * ALIGNED, "u1")
            begin = -room.__array_interface__["data"][0] % ALIGNED + place
            odd = room[begin : begin + real.nbytes].view(dtype).reshape(SHAPE)
            odd[...] = real
            del room
            x = np.asarray(odd)
            del odd
            y = x * x + 1
            assert numpy.asarray(y).tobytes() == (real * real + 1).tobytes()


def test_a_read_only_array_does_not_make_others_so() -> None:
    """Geometries are shared."""
    x, y = np.asarray(drawn(1)), np.asarray(drawn(2))
    assert is_fresh(x.geo) and x.geo is y.geo
    frozen = np.borrow(drawn(3))
    x.flags.writeable = False
    y[0] = 1
    for z in (x, frozen):
        with pytest.raises(ValueError, match="read-only"):
            z[0] = 1
    z = np.asarray(drawn(4))
    z += 1
    real = drawn(5)
    real.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(real)[0] = 1
