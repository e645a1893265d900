"""What tests of this folder share: `each_way`, with kernels on one thread and on two, and without; and all
begin with nothing met, nothing measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import lazyarr

try:
    from afresh import forget
except ImportError:                             # an impostor (test_is_not_numpy) has nothing to forget

    def forget() -> None:
        """Nothing was met."""

COMPILED = [("always", 1), ("always", 2)]


@pytest.fixture(autouse=True)
def afresh() -> None:
    forget()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that asks for it with kernels; those that count none of them also without."""
    if "each_way" in metafunc.fixturenames:
        ways = COMPILED if "compiled" in metafunc.fixturenames else [*COMPILED, ("never", 1)]
        metafunc.parametrize("each_way", ways, indirect=True, ids=str)


@pytest.fixture
def each_way(request: pytest.FixtureRequest) -> Iterator[None]:
    jit, threads = request.param
    with lazyarr.options(jit=jit, num_threads=threads, verify=True):
        yield


@pytest.fixture
def compiled(each_way: None) -> None:
    """For tests that count kernels."""


@pytest.fixture
def forget_geometries() -> Iterator[Callable[[], None]]:
    """Has shared geometries forgotten, until the test ends: tests that come later go on with arrays, and with
    machine code's tables, that have them."""
    from lazyarr import geometry

    known = geometry._fresh, geometry.FRESH
    before = [table.copy() for table in known]

    def forget_all() -> None:
        for table in known:
            table.clear()

    yield forget_all
    for table, held in zip(known, before, strict=True):
        table.clear()
        table.update(held)
