"""Proof of the table of reduction orders against the running NumPy, row by row, at first use.

In:  rows of `reduce_order`.   Out: the rule that the running NumPy follows for a row, or None.
Each row is judged by small sums of cancelling values, for which any other order gives other bits.
`fold` executes an `Order` with elementwise NumPy calls only: it is the meaning of an order, for the
proof and for tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy

from lazyarr.records import NamedTuple
from lazyarr.reduce_order import RULES, Order, Runs, Unproved, order_of

Array = numpy.ndarray[Any, Any]

LEAF = 128
"""Longest stretch that NumPy sums without splitting (counted in reals for complex types)."""


class Probe(NamedTuple):
    """A reduction to try: the array is a (viewed) stretch of random numbers."""

    shape: tuple[int, ...]
    """Of the array that is allocated, C order."""
    take: tuple[int, ...]
    """How much of each axis is reduced or kept."""
    axes: tuple[int, ...]


CUT = 272
"""Buffer size while probing: small, so that a few hundred elements show every cut."""

PROBES: dict[str, tuple[Probe, ...]] = {
    "whole": (
        Probe((129,), (129,), (0,)),
        Probe((2 * CUT + 5,), (2 * CUT + 5,), (0,)),
        Probe((2, CUT + 1), (2, CUT + 1), (1,)),
    ),
    "unmerged": (
        Probe((7, 70), (7, 60), (0, 1)),
        Probe((3, 170), (3, 150), (0, 1)),
        Probe((2, CUT + 9), (2, CUT + 1), (0, 1)),
        Probe((2, 20, 12), (2, 20, 9), (1, 2)),
    ),
    "cast": (
        Probe((2 * CUT + 5,), (2 * CUT + 5,), (0,)),
        Probe((2, CUT + 1), (2, CUT + 1), (1,)),
        Probe((5, 110), (5, 100), (0, 1)),
    ),
}
"""How runs come about (the last word of a row) -> probes, block boundaries among them."""

UFUNC = {"pairwise": "add", "sequential": "multiply"}
CASTS = {"e": "f", "f": "d", "d": "f", "F": "D", "D": "F"}
"""An input type for each folded type, where the row has a cast."""

ROWS = tuple(
    f"{fold} {char} {runs}"
    for fold, chars in (("pairwise", "efdFD"), ("sequential", "e"))
    for char in chars
    for runs in PROBES
)


@cache
def rule_for(row: str) -> Runs | None:
    """The rule of RULES that gives the running NumPy's bits on every probe of the row.

    Runs come from NumPy's iterator, which knows no element types: one rule for all rows."""
    rule = _followed()
    return rule if rule is not None and _agrees(rule, row) else None


@cache
def cut_by_masks(char: str) -> bool:
    """Is each stretch of a run between elements that a mask leaves out a run of its own?"""
    return _by_stretches(char, 300)


@cache
def cut_by_nothing_else(char: str) -> bool:
    """Are such stretches whole where they are longer than an iterator's buffer, and run over its end?"""
    usual = numpy.setbufsize(CUT)
    try:
        return _by_stretches(char, 5 * CUT + 7)
    finally:
        numpy.setbufsize(usual)


def _by_stretches(char: str, n: int) -> bool:
    """Does NumPy sum up rows of so many elements stretch by stretch?"""
    x = _random(Probe((6, n), (6, n), (1,)), char, "add", 3)
    x[5] = -0.0
    noise = (_mixed(9, x.shape) >> 11) % 1000
    keeps = noise < numpy.array([500, 997, 50, 1000, 0, 800])[:, None]
    expected = numpy.add.reduce(x, axis=1, where=keeps)
    for values, kept, wanted in zip(x, keeps, expected, strict=True):
        acc = numpy.zeros((), x.dtype)
        edges = numpy.flatnonzero(numpy.diff(kept, prepend=False, append=False))
        for low, high in edges.reshape(-1, 2):
            acc = acc + tree(values[low:high])
        if acc.tobytes() != wanted.tobytes():
            return False
    return True


@cache
def _followed() -> Runs | None:
    decisive = [row for row in ROWS if row.startswith("pairwise d")]
    return next((rule for rule in RULES if all(_agrees(rule, row) for row in decisive)), None)


def self_check(rows: Sequence[str] = ROWS) -> dict[str, bool]:
    """Row -> does the running NumPy follow it?  Rows are judged once, at first use."""
    return {row: rule_for(row) is not None for row in rows}


def _agrees(rule: Runs, row: str) -> bool:
    kind, char, runs = row.split()
    ufunc, source = UFUNC[kind], CASTS[char] if runs == "cast" else char
    usual = numpy.setbufsize(CUT)
    try:
        with numpy.errstate(all="ignore"):
            return all(
                _holds(rule, ufunc, char, probe, _random(probe, source, ufunc, seed))
                for seed, probe in enumerate(PROBES[runs])
            )
    finally:
        numpy.setbufsize(usual)


def _holds(rule: Runs, ufunc: str, char: str, probe: Probe, x: Array) -> bool:
    """Does the rule give NumPy's bits for one array?"""
    sig = char * 2 + "->" + char
    order = order_of(ufunc, sig, x.dtype.char, x.shape, x.strides, probe.axes, buffer=CUT, rule=rule)
    expected = getattr(numpy, ufunc).reduce(x, axis=probe.axes, dtype=numpy.dtype(char))
    return not isinstance(order, Unproved) and numpy.array_equal(expected, fold(order, ufunc, x, char))


def _random(probe: Probe, char: str, ufunc: str, seed: int) -> Array:
    """Numbers of both signs and many magnitudes; for products, close to one."""
    reach = {"e": 3, "f": 12}.get(char.lower(), 30)
    dtype = numpy.dtype(char)

    def draw(stream: int) -> Array:
        x: Array = (_mixed(stream, probe.shape) >> 11) * 2.0**-52 - 1
        if ufunc != "multiply":
            exponents = _mixed(stream + 1, probe.shape) % (2 * reach)
            x = numpy.ldexp(x, exponents.astype("i8") - reach)
        else:
            x = x * 1e-3 + 1
        return x

    values: Array = draw(4 * seed) + (1j * draw(4 * seed + 2) if dtype.kind == "c" else 0)
    return values.astype(dtype)[tuple(slice(0, n) for n in probe.take)]


def _mixed(stream: int, shape: tuple[int, ...]) -> Array:
    """Random 64-bit integers (SplitMix64); importing `numpy.random` takes longer than the whole proof."""
    z: Array = numpy.arange(1, math.prod(shape) + 1, dtype="u8") + numpy.uint64(stream << 32)
    z = z * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> 30) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> 27) * numpy.uint64(0x94D049BB133111EB)
    mixed: Array = (z ^ z >> 31).reshape(shape)
    return mixed


def fold(order: Order, ufunc: str, x: Array, char: str, initial: Any = None) -> Array:
    """Reduce `x` exactly as `order` says, with elementwise operations only.

    The result has the parallel axes of `order`, put back into the order of the input's axes."""
    nest = [loop.axis for loop in order.loops if loop.kind == "p"]
    nest += [loop.axis for loop in order.loops if loop.kind == "r"]
    outputs = sum(loop.kind == "p" for loop in order.loops)
    ones = tuple(k for k in range(x.ndim) if k not in nest)
    v = x.astype(char).transpose(*ones, *nest).reshape([x.shape[k] for k in nest])
    flat = v.reshape(*v.shape[:outputs], -1)
    extent = 1
    for loop in order.loops[len(order.loops) - order.tree:] if order.tree else ():
        extent *= loop.extent
    op = getattr(numpy, ufunc)
    start = op.identity if order.start == "identity" else initial
    first = 1 if order.start == "first" else 0
    acc = flat[..., 0] if first else numpy.full(flat.shape[:-1], start, char)
    for low in range(0, flat.shape[-1], extent):
        for a in range(low, low + extent, max(order.run, 1)):
            b = min(a + max(order.run, 1), low + extent)
            acc = _run(order, op, acc, flat[..., max(a, first): b])
    back = numpy.argsort([loop.axis for loop in order.loops if loop.kind == "p"])
    return acc.transpose(back)


def _run(order: Order, op: Any, acc: Array, values: Array) -> Array:
    """acc = acc + tree(values), or acc = op(acc, x) for each x."""
    narrow = acc.dtype
    if order.wide:
        acc, values = acc.astype("f"), values.astype("f")
    if order.fold == "pairwise":
        acc = acc + tree(values)
    else:
        for k in range(values.shape[-1]):
            acc = op(acc, values[..., k])
    return acc.astype(narrow)


def tree(v: Array) -> Array:
    """NumPy's pairwise sum along the last axis."""
    if v.dtype.kind == "c":
        half = v.real.dtype
        out = numpy.empty(v.shape[:-1], v.dtype)
        out.real, out.imag = (_tree(part.astype(half), _leaf_complex, 2) for part in (v.real, v.imag))
        return out
    return _tree(v, _leaf_real, 1)


def _tree(v: Array, leaf: Callable[[Array], Array], per: int) -> Array:
    """Split at half, rounded down to a multiple of eight reals, until a leaf remains."""
    n = v.shape[-1] * per
    if n <= LEAF:
        return leaf(v)
    cut = (n // 2 - n // 2 % 8) // per
    return _tree(v[..., :cut], leaf, per) + _tree(v[..., cut:], leaf, per)


def _leaf_real(v: Array) -> Array:
    """Eight accumulators, combined by neighbours, then the tail one by one."""
    n = v.shape[-1]
    if n < 8:
        return _in_sequence(numpy.full(v.shape[:-1], -0.0, v.dtype), v)
    r = _lanes(v, 8)
    s = r[..., 0::2] + r[..., 1::2]
    s = s[..., 0::2] + s[..., 1::2]
    return _in_sequence(s[..., 0] + s[..., 1], v[..., n - n % 8:])


def _leaf_complex(v: Array) -> Array:
    """One part of complex numbers: four accumulators."""
    n = v.shape[-1]
    if n < 4:
        return _in_sequence(numpy.full(v.shape[:-1], -0.0, v.dtype), v)
    r = _lanes(v, 4)
    return _in_sequence((r[..., 0] + r[..., 1]) + (r[..., 2] + r[..., 3]), v[..., n - n % 4:])


def _lanes(v: Array, lanes: int) -> Array:
    n = v.shape[-1]
    acc = v[..., :lanes]
    for k in range(lanes, n - n % lanes, lanes):
        acc = acc + v[..., k: k + lanes]
    return acc


def _in_sequence(acc: Array, v: Array) -> Array:
    for k in range(v.shape[-1]):
        acc = acc + v[..., k]
    return acc
