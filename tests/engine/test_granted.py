"""Nodes of medium size by machine code, as long as nobody need count them; Python hears of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import habits, recipes, swift_nodes
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.habits import SURELY, Habit
from lazyarr.nodes_words import Entry
from lazyarr.pace import NOW, SETTLING, Pace
from lazyarr.recipes import NODES
from lazyarr.slot_words import GRANTED, GRANTEE

N = 100_000
PARTS = "make", "view", "assign", "update", "recall", "table"
CODE: list[Any] = []


@pytest.fixture(autouse=True)
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The code is there, nobody looks on, nodes are made whatever they cost."""
    import lazyarr.engine  # noqa: F401  (which loads LLVM)

    COMPILER.ready(1e12)
    if not CODE:
        CODE.append(swift_nodes.load(True))
    if CODE[0] is None:
        pytest.skip("objects lie otherwise here")
    for name in PARTS:
        monkeypatch.setattr(NODES, name, getattr(CODE[0], name))
    monkeypatch.setattr(recipes, "OBSERVED", [])
    monkeypatch.setattr(Habit, "took", lambda self, seconds: None)
    DIRECT.left = 1 << 20
    with np.options(plan="auto"):
        yield
    DIRECT.forget()


@pytest.fixture
def pythons(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Nodes that Python makes."""
    found: list[Any] = []
    built = recipes._built
    monkeypatch.setattr(recipes, "_built", lambda *given: found.append(given[0].op.name) or built(*given))
    return found


def arrays() -> list[Any]:
    rng = numpy.random.default_rng(7)
    real = [rng.uniform(-2, 2, N) for _ in range(2)]
    return [*map(np.array, real), *real]


def chain(np: Any, x: Any, y: Any) -> Any:
    return ((x * y + x) / 3 - y) * x


def paused(np: Any, x: Any, y: Any) -> Any:
    return np.maximum(x * y, 0.5) * 2 - np.minimum(x, y) * 3


def rounds(program: Callable[..., Any], times: int) -> None:
    x, y, a, b = arrays()
    for _ in range(times):
        found = program(np, x, y)
        assert numpy.asarray(found).tobytes() == program(numpy, a, b).tobytes()


@pytest.mark.parametrize("program", [chain, paused])
def test_python_makes_few_of_the_nodes_that_come_round(program: Any, pythons: list[Any]) -> None:
    NOW.quiet = 1 << 20
    rounds(program, 4 * SURELY)
    pythons.clear()
    before = COUNT.nodes_built
    rounds(program, 50)
    assert COUNT.nodes_built - before == 50 * (5 if program is chain else 6)
    assert len(pythons) < 10


def test_what_was_made_is_counted() -> None:
    NOW.quiet, DIRECT.left = 1000, 5000
    rounds(chain, 4 * SURELY)
    made = COUNT.nodes_built
    DIRECT.taken()
    quiet, left = NOW.quiet, DIRECT.left
    DIRECT.grant(None, None)
    rounds(chain, 20)
    DIRECT.taken()
    assert quiet - NOW.quiet == COUNT.nodes_built - made == 100
    assert left - DIRECT.left >= 100


def test_no_more_are_made_than_python_lets() -> None:
    NOW.quiet = 1 << 20
    rounds(chain, 4 * SURELY)
    for quiet, left, most in ((7, 100, 7), (100, 7, 6), (0, 100, 0), (100, 0, 0)):
        NOW.quiet, DIRECT.left = quiet, left
        DIRECT.grant(None, None)
        assert GRANTED.value == most
    DIRECT.taken()


def test_those_of_a_piece_of_code_are_its_own(pythons: list[Any]) -> None:
    """Where that is timed: other code's are not its calls."""
    NOW.quiet = 1 << 20
    rounds(chain, 4 * SURELY)
    x, y, a, b = arrays()

    def other() -> Any:
        return ((x * y + x) / 3 - y) * x

    for code, own in ((chain.__code__, True), (other.__code__, False)):
        NOW.quiet, pace = 0, Pace()
        pace._left = 1000
        DIRECT.grant(pace, code)
        assert GRANTEE.value == id(code)
        pythons.clear()
        found = chain(np, x, y)
        assert bool(pythons) != own
        DIRECT.taken()
        assert pace._left == (995 if own else 1000)
        assert numpy.asarray(found).tobytes() == chain(numpy, a, b).tobytes()


def test_code_that_is_numpys_grants_nothing() -> None:
    pace = Pace()
    assert pace.left() == SETTLING - 1
    pace.numpys = True
    assert pace.left() == 0
    DIRECT.grant(pace, chain.__code__)
    assert not GRANTED.value


def test_nothing_is_granted_while_medium_arrays_are_numpys() -> None:
    NOW.quiet = 1000
    DIRECT.grant(None, None)
    assert GRANTED.value
    DIRECT._starts(100)
    assert not GRANTED.value and not DIRECT.granted
    DIRECT._ends()


def test_a_call_on_what_exists_is_its_habits(pythons: list[Any]) -> None:
    """Code makes it at the one place where it is always fused; the same at another is Python's to look at."""
    NOW.quiet = 1 << 20
    rounds(chain, 4 * SURELY)
    x, y, a, b = arrays()
    pythons.clear()
    found = chain(np, x, y)
    assert not pythons
    alone = x * y
    assert len(pythons) == 1
    assert numpy.asarray(found).tobytes() == chain(numpy, a, b).tobytes()
    assert numpy.asarray(alone).tobytes() == (a * b).tobytes()


def test_results_that_come_to_be_alone_are_pythons_again() -> None:
    NOW.quiet = 1 << 20
    x, y, _, _ = arrays()

    def call(more: bool) -> None:
        z = x * y
        np.evaluate(((z + x) / 3 - y) * x if more else z)

    for _ in range(4 * SURELY):
        call(True)
    rows = NODES.table.rows
    waits = (rows[:, Entry.WAITS] == id(call.__code__)).any()
    assert waits
    for _ in range(4):
        NOW.quiet = 0                           # (they are counted, and so looked at, now and then)
        DIRECT.taken()
        call(False)
    for _ in range(4 * habits.ALONE):
        DIRECT.taken()
        call(False)
    assert not (rows[:, Entry.WAITS] == id(call.__code__)).any()


def test_where_other_sizes_are_medium_nothing_is_taken() -> None:
    """Under options by which these are large they are made, and nobody counts."""
    NOW.quiet = 1 << 20
    rounds(chain, 4 * SURELY)
    x, y, _, _ = arrays()
    with np.options(eager_elements=8):
        DIRECT.grant(None, None)
        before = GRANTED.value
        assert before
        np.evaluate(chain(np, x, y))
        assert GRANTED.value == before
