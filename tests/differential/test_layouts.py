"""Results lie in memory as NumPy's do, for operands of any layout: strides, ownership, shape of `base`."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr

LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "columns": lambda np, x: np.asfortranarray(x),
    "moved": lambda np, x: np.moveaxis(np.array(np.moveaxis(x, -1, 0)), 0, -1),
    "backwards": lambda np, x: np.array(x[::-1, ..., ::-1])[::-1, ..., ::-1],
    "apart": lambda np, x: np.repeat(x, 2, axis=-1)[..., ::2],
    "broadcast": lambda np, x: np.broadcast_to(x[:, :1], x.shape),
}

FOLDS = ["sum", "max", "mean", "var", "any", "argmax", "ptp", "count_nonzero", "nansum", "nanmax", "average"]
ALONG = ["cumsum", "sort", "argsort", "flip", "diff", "gradient"]
AXES = (0, 1, (0, 2), None)

RESHAPES = {
    "reshape": lambda np, x: x.reshape(6, -1),
    "reshape F": lambda np, x: x.reshape(6, -1, order="F"),
    "reshape A": lambda np, x: x.reshape(-1, order="A"),
    "ravel": lambda np, x: x.ravel(),
    "ravel K": lambda np, x: x.ravel("K"),
    "flatten": lambda np, x: x.flatten(),
    "flatten F": lambda np, x: x.flatten("F"),
    "astype": lambda np, x: x.astype("D"),
    "copy": lambda np, x: x.copy(),
    "copy K": lambda np, x: x.copy("K"),
    "where": lambda np, x: np.where(x > 3, x, 0),
    "add": lambda np, x: x + 1,
    "add T": lambda np, x: x.T + x.T,
}
if inspect.signature(numpy.reshape).parameters.get("copy"):             # from NumPy 2.1 on
    RESHAPES["reshape copy"] = lambda np, x: np.reshape(x, (-1, 6), copy=True)


def operand(np: Any, layout: str, char: str) -> Any:
    return LAYOUTS[layout](np, np.array(numpy.arange(72).reshape(6, 4, 3) % 11 - 2, char))


def lies(x: Any) -> tuple[Any, ...]:
    base, flags = x.base, x.flags
    contiguous = flags.c_contiguous, flags.f_contiguous
    of_base = None if base is None else base.shape
    return x.dtype, x.shape, x.strides, contiguous, flags.owndata, flags.writeable, of_base


def outcome(np: Any, name: str, layout: str, char: str, **options: Any) -> Any:
    """How the results lie, or the error."""
    try:
        found = getattr(np, name)(operand(np, layout, char), **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    found = found if isinstance(found, list | tuple) else [found]
    return [
        (x.dtype, x.shape, x.strides, x.flags.owndata) if hasattr(x, "strides") else type(x) for x in found
    ]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FOLDS)
def test_folds(jit: str, name: str, layout: str) -> None:
    for char, axis, keepdims in itertools.product("hd", AXES, (False, True)):
        of: Any = {"name": name, "layout": layout, "char": char, "axis": axis, "keepdims": keepdims}
        assert outcome(lazyarr, **of) == outcome(numpy, **of), of


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mask", [*LAYOUTS, "rows", "smaller"])
def test_masked_folds(jit: str, mask: str, layout: str) -> None:
    """NumPy looks at both, the array and the mask."""
    for axis, keepdims in itertools.product((0, 1, (0, 2)), (False, True)):
        found = []
        for np in (lazyarr, numpy):
            where = operand(np, mask if mask in LAYOUTS else "apart", "h") > 2
            where = {"rows": where[:, :1], "smaller": where[0]}.get(mask, where)
            x = operand(np, layout, "d").sum(axis, where=where, keepdims=keepdims)
            found.append((lies(x), x.tobytes()))
        assert found[0] == found[1], (axis, keepdims)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ALONG)
def test_along_an_axis(jit: str, name: str, layout: str) -> None:
    for char, axis in itertools.product("bd", (0, 1, 2)):
        of: Any = {"name": name, "layout": layout, "char": char, "axis": axis}
        assert outcome(lazyarr, **of) == outcome(numpy, **of), of


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", RESHAPES)
def test_copies_and_reshapes(jit: str, name: str, layout: str) -> None:
    for char in "bD":
        want, got = (RESHAPES[name](np, operand(np, layout, char)) for np in (numpy, lazyarr))
        assert lies(got) == lies(want), char


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("decimals", [0, 2])
def test_rounded(jit: str, decimals: int, layout: str) -> None:
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x.diagonal(), lambda x: x[:, :1]):
        want, got = (view(operand(np, layout, "f")).round(decimals) for np in (numpy, lazyarr))
        assert lies(got) == lies(want)


def test_a_reshaped_copy_is_a_view_of_the_copy(jit: str) -> None:
    x = lazyarr.array(numpy.arange(12.0).reshape(3, 4)).T
    y = x.reshape(6, 2)
    with pytest.raises(ValueError, match="cannot resize this array: it does not own its data"):
        y.resize(3)
    y[0] = 7
    assert y.base[0].tolist() == [7, 7, 8] and x[0].tolist() == [0, 4, 8]


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("step", [4, -4, 8, -8, 3])
@pytest.mark.parametrize("n", [9, 60_000])
def test_negative_in_place_with_gaps(char, step, n):
    """NumPy 2.4 reads elements in between where the steps are 4 (float32) and 8 (float64)."""
    found = []
    for xp in (lazyarr, numpy):
        x = xp.arange(n * 8.0).astype(char) + 1
        part = x[8:-8][::step]
        xp.negative(part, out=part)
        found.append(numpy.asarray(x))
    assert found[0].tobytes() == found[1].tobytes()


MADE: dict[str, Callable[[Any, int], Any]] = {
    "linspace": lambda np, n: np.linspace(0, 1, n), "axis": lambda np, n: np.linspace([0, 1], 1, n, axis=1),
    "logspace": lambda np, n: np.logspace(0, 1, n), "vander": lambda np, n: np.vander(np.arange(n // 4), 4),
    "indices": lambda np, n: np.indices((n // 8, 4)),
    "mesh": lambda np, n: np.meshgrid(np.arange(n), [1, 2])[0],
    "nonzero": lambda np, n: np.nonzero(np.ones((n, 2)))[0], "where": lambda np, n: np.argwhere(np.ones(n)),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("n", [40, 70_000])
def test_ownership_of_what_numpy_makes(name, n):
    ours, real = (MADE[name](np, n) for np in (lazyarr, numpy))
    assert ours.flags.owndata == real.flags.owndata and (ours.base is None) == (real.base is None)
    assert ours.strides == real.strides and (real.base is None or ours.base.shape == real.base.shape)


@pytest.mark.parametrize("other", [numpy.float64(2), numpy.full((), 2.0), numpy.full((), 2, "f4")], ids=repr)
def test_what_has_no_axes_is_cast_beforehand(jit: str, other: Any) -> None:
    """So NumPy needs no iterator, and axes of length 1 have the strides of its shorter way."""
    real = numpy.asfortranarray(numpy.arange(48.0).reshape(12, 1, 4))
    for char, dtype in itertools.product("fd", (None, "f4", "f8")):
        options: Any = {"dtype": dtype, "casting": "unsafe"}
        x = lazyarr.array(real.astype(char))
        got = lazyarr.add(x, other if other.__class__ is numpy.float64 else lazyarr.array(other), **options)
        want = numpy.add(real.astype(char), other, **options)
        assert lies(got)[:4] == lies(want)[:4], (char, dtype)
