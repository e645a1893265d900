"""Options of the test run."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))     # for what tests of several folders share
from covering import covering

# A shell that runs the tests in the background ignores Ctrl-C for them, and so would what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is tested is compiled code, from the first evaluation on; `tests/engine/test_worth.py` tests who waits.
os.environ.setdefault("LAZYARR_PLAN", "always")

# A busy machine is no failure; examples may be ghosts (below), and those that fail are printed.
with suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("lazyarr", deadline=None)
    settings.load_profile("lazyarr")

# Whoever reads ghost memory, where users find zeros, does not get away with it here.
with suppress(ImportError):                     # an impostor (test_is_not_numpy) has none
    from lazyarr import geometry

    geometry._reserved = lambda nbytes: None
    geometry._ghosts.clear()


# A child that hangs says where it is (pyproject.toml has how long a test may take).
HANGS = 300
"""Seconds after which a child is taken to hang, where a test says nothing else."""
os.environ.setdefault("PYTHONFAULTHANDLER", "1")
_communicate = subprocess.Popen.communicate


def _communicate_or_end(
    child: subprocess.Popen[Any], input: Any = None, timeout: float | None = None
) -> tuple[Any, Any]:
    try:
        return _communicate(child, input, HANGS if timeout is None else timeout)
    except subprocess.TimeoutExpired:
        if timeout is not None:
            raise
    child.send_signal(signal.SIGABRT)
    _, said = _communicate(child, timeout=20)
    raise AssertionError(f"{child.args} hangs: {said!s}")


subprocess.Popen.communicate = _communicate_or_end      # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew instead of comparing"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked ``covering`` the parameters that hold every pair of their values."""
    groups: dict[Any, list[pytest.Function]] = {}
    for item in items:
        if item.get_closest_marker("covering"):
            assert isinstance(item, pytest.Function)
            groups.setdefault((item.parent, item.originalname), []).append(item)
    left = set()
    for group in groups.values():
        kept = covering([[*map(id, item.callspec.params.values())] for item in group])
        left |= {*group} - {group[k] for k in kept}
    if left:
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]


def pytest_collection_finish() -> None:
    """Tens of thousands of tests are no garbage: else each collection that a test asks for takes 0.3 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_no_garbage() -> None:
    """Nor are plans and kernels of the files before: each collection would go through them, for 0.2 s.

    What of all this becomes garbage in cycles later is not freed before the worker ends: to look for it, file
    by file, takes 0.4 s of each of hundreds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _nobody_looks_on() -> Iterator[None]:
    """An option that watches, once on, has everything asked whether it is: no test leaves that behind."""
    config = sys.modules.get("lazyarr.config")      # (an impostor has none)
    before = [] if config is None else config.OBSERVED.copy()
    yield
    if config is not None:
        config.OBSERVED[:] = before


@pytest.fixture(autouse=True)
def _no_loop_goes_on() -> None:
    """Each test begins where nothing was cut, or ran in one launch, so far."""
    for name in ("lazyarr.cuts", "lazyarr.fusion.whole_launches"):
        module = sys.modules.get(name)              # (an impostor has none)
        if module is not None:
            module.forget()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name beside the test, in `golden/`."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path}: see --update-golden"

    return check


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What each evaluation would do (`lazyarr.debug.Explanation`)."""
    from lazyarr import config
    from lazyarr.debug import watch

    found: list[Any] = []
    monkeypatch.setattr(watch, "LISTENERS", [found.append])
    config.OBSERVED.append("test")
    yield found
    config.OBSERVED.remove("test")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is launched in row blocks (`lazyarr.plan.RowBlocks`)."""
    from lazyarr import launch_rows

    found: list[Any] = []
    run = launch_rows._run

    def noted(rows: Any, *given: Any) -> list[int]:
        found.append(rows)
        return run(rows, *given)

    monkeypatch.setattr(launch_rows, "_run", noted)
    return found
