"""What is found for the chains of some groups holds for all that are alike (`fusion.rows.Stage`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import planning
from lazyarr.engine import _refuse
from lazyarr.fusion import rows
from lazyarr.materialize import closure
from lazyarr.plan import walk


def softmaxes(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    x = np.array(numpy.linspace(-1, k + 1, numpy.prod(shape)).reshape(shape))
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def norms(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    x = np.array(numpy.linspace(-1, k + 1, numpy.prod(shape)).reshape(shape))
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)


def one_buffer(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    """The same groups as `two_buffers`, but that others of their accesses are of one buffer."""
    x = np.array(numpy.linspace(-1, k + 1, numpy.prod(shape)).reshape(shape))
    return (x - x.sum(axis, keepdims=True)) * x


def two_buffers(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    x, y, z = (np.array(numpy.linspace(-c, k + 1, numpy.prod(shape)).reshape(shape)) for c in (1, 2, 3))
    return (y - x.sum(axis, keepdims=True)) * z


def sweeps(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    u = np.array(numpy.linspace(-1, k + 1, numpy.prod(shape)).reshape(shape))
    for _ in range(3 + k % 3):
        u[1:-1] = (u[2:] + u[:-2]) * 0.5
    return u


def borders(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    """Edges: rows and columns by themselves."""
    u = np.array(numpy.linspace(-1, k + 1, numpy.prod(shape)).reshape(shape))
    for _ in range(3 + k % 3):
        u[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:]) * 0.3
        u[0] = u[1]
        u[:, 0] = u[:, 1]
    return u


def held(np: Any, k: int, shape: tuple[int, ...], axis: int) -> Any:
    """A value that is changed later is read before, and stays, in every other one."""
    u = softmaxes(np, k, shape, axis)
    before = u * 2.0 if k % 2 else None
    u[:2] += u.sum(axis, keepdims=True)[:2]
    return u if before is None else u + before


PROGRAMS = (softmaxes, norms, one_buffer, two_buffers, sweeps, borders, held)
SHAPES = ((6, 5), (40, 30), (600, 30), (30, 600))


def programs(np: Any, chosen: tuple[Callable[..., Any], ...]) -> list[Any]:
    """Several of each, among each other."""
    return [
        program(np, k, shape, axis)
        for k in range(3) for shape in SHAPES for axis in (0, 1) for program in chosen
    ]  # fmt: skip


def told(found: rows.Found) -> Any:
    return found.apart, [
        (c.numbers, c.axes, c.extent, c.lags, c.starts, c.reach, c.folds, c.spread, c.window(),
         [[t[2:] for t in touches] for touches in c.touches])
        for c in found.chains
    ]  # fmt: skip


class Unlike(rows.Kinds):
    """No group is like any other."""

    numbering = itertools.count()

    def begun(self, group: Any) -> Any:
        found = super().begun(group)
        return replace(found, kind=replace(found.kind, number=next(self.numbering)))


CHOSEN = {**{p.__name__: (p,) for p in PROGRAMS}, "all": PROGRAMS}


@pytest.mark.parametrize("name", CHOSEN)
def test_as_if_none_were_alike(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    chosen, found, real = CHOSEN[name], list[rows.Found](), planning.chains

    def chains(*args: Any) -> rows.Found:
        mine = real(*args)
        with monkeypatch.context() as patched:
            patched.setattr(rows, "Kinds", Unlike)
            assert told(real(*args)) == told(mine)
        found.append(mine)
        return mine

    monkeypatch.setattr(planning, "chains", chains)
    with lazyarr.options(jit="always", pending_nodes=1 << 30), numpy.errstate(all="ignore"):
        arrays = programs(lazyarr, chosen)
        roots = [x.storage.value for x in arrays]
        planning._make(walk(closure(roots), roots), _refuse)
        assert any(f.chains for f in found)
        lazyarr.evaluate(*arrays)
    with numpy.errstate(all="ignore"):
        for ours, theirs in zip(arrays, programs(numpy, chosen), strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def asked(monkeypatch: pytest.MonkeyPatch, number: int) -> int:
    """How often it is asked whether a group follows others, for so many softmaxes."""
    count, real = itertools.count(), rows.ways_into

    def ways_into(*args: Any) -> Any:
        next(count)
        return real(*args)

    with monkeypatch.context() as patched, lazyarr.options(jit="always", pending_nodes=1 << 30):
        patched.setattr(rows, "ways_into", ways_into)
        arrays = [softmaxes(lazyarr, k, (40, 30), 1) for k in range(number)]
        roots = [x.storage.value for x in arrays]
        planning._make(walk(closure(roots), roots), _refuse)
    return next(count)


def test_asked_once_for_all_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (asked(monkeypatch, number) for number in (200, 600))
    assert 0 < many <= few < 200
