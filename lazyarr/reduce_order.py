"""In which order NumPy folds: the one table of reduction orders.

In:  a reduction (ufunc, loop signature, dtype, shape, strides, axes).
Out: `Order`, from which any evaluator gets NumPy's exact bits; or `Unproved`, with the reason.

NumPy hands a reduction to its iterator, which sorts the axes by stride, coalesces them, and calls
the ufunc's inner loop on *runs*: stretches of the innermost reduced elements.  One call does
``acc = acc + tree(run)`` for the additions of inexact types (pairwise summation) and ``acc = op(acc,
x)`` one after the other for every other op.  How long a run is depends on buffering: NumPy >= 2.3
buffers only what a cast or an unmergeable axis needs, older versions cut at every buffer.  Which of
these rules the running NumPy follows is measured (`reduce_proof`), never inferred from its version.

The order depends on nothing but the arguments: equal arguments give equal orders.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy

from lazyarr.dtypes import PLAIN
from lazyarr.ops import SEARCHES
from lazyarr.own_loops import own
from lazyarr.records import NamedTuple

MASKED = 1 << 15
"""Longest run cut by a mask of which kernels have all in memory at a time: others go block by block."""

BUFFER = 8192
"""Elements in an iterator's buffer (`numpy.setbufsize` changes it)."""


class Loop(NamedTuple):
    """One axis of the input (of extent above 1) as a loop."""

    axis: int
    extent: int
    stride: int
    """In bytes, of the input."""
    kind: str
    """'p': parallel over outputs; 'r': reduced."""


class Order(NamedTuple):
    """How NumPy folds.

    For each output, ``acc`` starts from `start`.  The outer 'r' loops run in sequence; the innermost
    `tree` loops are one flat index space, cut into runs of at most `run` elements, taken in sequence.
    """

    fold: str
    """'pairwise': acc = acc + tree(run).  'sequential': acc = op(acc, x).  'any': any order.
    'cut': pairwise, where each stretch of a run between elements that a mask leaves out is a run.
    'long': the same, where runs have more than MASKED elements."""
    loops: tuple[Loop, ...]
    """Outermost first, not coalesced; 'any' may permute them."""
    tree: int
    """Innermost 'r' loops that make up the flat index space of runs; 0 where runs do not matter."""
    run: int
    """Longest run; at least the extent of the flat index space where nothing cuts it."""
    start: str
    """'identity', 'initial' (given by the caller), or 'first' (the first element, then the others)."""
    wide: bool
    """float16: a run is folded in float32 from float32(acc), and rounded once at its end."""
    reals: int = 1
    """Real numbers in an element of the pairwise tree: 2 for complex."""


class Unproved(NamedTuple):
    """NumPy's order is not known (or not this NumPy's): let NumPy reduce."""

    why: str


class Axis(NamedTuple):
    """One iterator axis: its extent and the strides of result, input and mask."""

    extent: int
    strides: tuple[int, ...]
    axis: int


Runs = Callable[[list[Axis], bool, int], tuple[int, int]]
"""A rule: (coalesced axes innermost first, cast, buffer) -> (axes in the tree space, run)."""

ROUNDING_FREE = frozenset({
    "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor",
})
"""Any order gives the same value (signs of zeros and NaN payloads aside) for real types."""

RINGS = frozenset({"add", "multiply"})
"""Any order gives the same value for integers, which wrap around."""

IN_SEQUENCE = frozenset({
    "add", "subtract", "multiply", "divide", "logaddexp", "logaddexp2", "hypot", "gcd", "lcm",
    "maximum", "minimum", "fmax", "fmin",
})
"""NumPy's loop folds one element after the other, and rounds alike on all its paths."""

UNLIKE = frozenset({"multiply", "divide", "logaddexp", "logaddexp2", "hypot"})
"""Not for complex types: multiplication uses FMA in some of its loop's paths."""

def called_in_sequence(name: str, sig: str) -> bool:
    """May a scan be calls of NumPy's loop, each on as many elements as one likes?

    (Loops of ours take several elements at a time.)"""
    unlike = name in UNLIKE and PLAIN[sig[0]].kind == "c"
    return name in IN_SEQUENCE and not unlike and not own(name, sig)


DECIDED_EARLY = frozenset({"logical_or", "logical_and"})
"""Folds of which one element may tell the result."""

HALF_RUNS = frozenset({"add", "subtract", "multiply", "divide"})
"""float16 loops that keep the accumulator in float32 for the whole run."""


def order_of(
    ufunc: str,
    sig: str,
    in_dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    axes: Sequence[int],
    *,
    initial_given: bool = False,
    out_strides: Sequence[int] | None = None,
    mask_strides: Sequence[int] | None = None,
    buffer: int = BUFFER,
    rule: Runs | None = None,
) -> Order | Unproved:
    """The order in which NumPy reduces.

    Parameters
    ----------
    ufunc : str
        Name of the ufunc whose `reduce` it is, or 'argmax' or 'argmin'.
    sig : str
        The loop's signature in canonical characters, such as ``dd->d``; the second is folded.
    in_dtype : str
        Character of the input as it lies in memory: another one than folded makes NumPy buffer.
    shape, strides : sequence of int
        Of the input, strides in bytes.
    axes : sequence of int
        Reduced axes, not negative.
    initial_given : bool
        Whether the caller passed `initial`.
    out_strides : sequence of int, optional
        Strides of a given `out`, one for each axis of the input (0 where reduced); none: allocated.
    mask_strides : sequence of int, optional
        Strides of the `where` mask, broadcast to the input's shape; none: not masked.
    buffer : int
        ``numpy.getbufsize()``.
    rule : function, optional
        One of RULES to assume; none: the one that the running NumPy was found to follow.
    """
    char = sig[1]
    plain = PLAIN.get(char)
    if plain is None or 0 in shape:
        return Unproved("no plain element type" if plain is None else "no element")
    if ufunc in SEARCHES:
        return _search(char, shape, strides, axes)
    fold = _fold(ufunc, plain.kind)
    if fold is None:
        return Unproved(f"the order of {ufunc}.reduce on '{char}' is not in the table")
    if fold != "any" and out_strides is not None and min(strides, default=0) < 0:
        return Unproved("where a result is given, some NumPys turn reversed axes round")
    axis_list = _sorted(shape, strides, axes, out_strides, mask_strides)
    loops = _loops(axis_list, strides, axes)
    start = "initial" if initial_given else _start(ufunc)
    order = Order(fold, loops, 0, 0, start, False)
    inner_reduced = not loops or loops[-1].kind == "r"
    if fold == "any" or (fold == "sequential" and not (char == "e" and ufunc in HALF_RUNS and inner_reduced)):
        return order
    if not inner_reduced:
        return Order("sequential", loops, 0, 0, start, False)
    if mask_strides is not None and (fold != "pairwise" or in_dtype != char):
        return Unproved("a mask cuts the runs of a cast sum, or of a float16 fold, by its values")
    if char == "e" and start == "first":
        return Unproved("a float16 run that begins with its first element")
    merged = coalesced([a for a in axis_list if a.extent > 1])
    cast = in_dtype != char
    if rule is None:
        from lazyarr.reduce_proof import rule_for

        row = row_of(fold, char, cast, merged)
        rule = rule_for(row)
        if rule is None:
            return Unproved(f"this NumPy does not follow a known order for: {row}")
    if mask_strides is not None:
        return _masked(order, merged, rule, char, buffer)
    return _with_runs(order, merged, rule, char, cast, buffer)


def _fold(ufunc: str, kind: str) -> str | None:
    if (ufunc in ROUNDING_FREE and kind != "c") or (ufunc in RINGS and kind in "biu"):
        return "any"
    if ufunc == "add":
        return "pairwise"
    return "sequential" if ufunc in IN_SEQUENCE and not (kind == "c" and ufunc in UNLIKE) else None


def _start(ufunc: str) -> str:
    return "first" if getattr(numpy, ufunc).identity is None else "identity"


def _search(char: str, shape: Sequence[int], strides: Sequence[int], axes: Sequence[int]) -> Order | Unproved:
    """argmax and argmin: the first of the best, counted in C order whatever the memory order."""
    if char in "FD":
        return Unproved("complex numbers compare by parts")
    if len(axes) not in (1, len(shape)):
        return Unproved("argmax over some of several axes")
    kept = [k for k in range(len(shape)) if k not in axes]
    nest = kept + sorted(axes)
    loops = tuple(
        Loop(k, shape[k], strides[k], "r" if k in axes else "p") for k in nest if shape[k] > 1
    )
    tree = sum(loop.kind == "r" for loop in loops)
    return Order("any", loops, tree, _product(loops, tree), "first", False)


def _loops(axis_list: list[Axis], strides: Sequence[int], axes: Sequence[int]) -> tuple[Loop, ...]:
    return tuple(
        Loop(a.axis, a.extent, strides[a.axis], "r" if a.axis in axes else "p")
        for a in reversed(axis_list)
        if a.extent > 1
    )


def _product(loops: Sequence[Loop], tree: int) -> int:
    return math.prod(loop.extent for loop in loops[len(loops) - tree:])


def _with_runs(order: Order, merged: list[Axis], rule: Runs, char: str, cast: bool, buffer: int) -> Order:
    """`order` with its runs, by one of the RULES."""
    count, run = rule(merged, cast, buffer) if merged else (0, 1)
    extent = math.prod(a.extent for a in merged[:count])
    tree = 0
    while _product(order.loops, tree) < extent:
        tree += 1
    reals = 2 if char in "FD" else 1
    return Order(order.fold, order.loops, tree, run, order.start, char == "e", reals)


def _masked(order: Order, merged: list[Axis], rule: Runs, char: str, buffer: int) -> Order | Unproved:
    """`order` where a mask cuts the runs: those that are as long as the innermost loops."""
    from lazyarr.reduce_proof import cut_by_masks, cut_by_nothing_else

    found = _with_runs(order, merged, rule, char, False, buffer)
    whole = merged and found.run == merged[0].extent == _product(found.loops, found.tree)
    if char == "e" or not whole:
        return Unproved("a mask cuts the runs of a float sum by its values, and rows do not merge")
    if not cut_by_masks(char) or (found.run > buffer and not cut_by_nothing_else(char)):
        return Unproved("this NumPy does not cut runs of a float sum where the mask is False")
    return found._replace(fold="cut" if found.run <= MASKED else "long")


def row_of(fold: str, char: str, cast: bool, merged: Sequence[Axis]) -> str:
    """The row of the table, as `reduce_proof` proves it: fold, element type, how runs come about."""
    if cast:
        runs = "cast"
    elif len(merged) > 1 and merged[1].strides[0] == 0:
        runs = "unmerged"
    else:
        runs = "whole"
    return f"{fold} {char} {runs}"


def _sorted(
    shape: Sequence[int],
    strides: Sequence[int],
    axes: Sequence[int],
    out_strides: Sequence[int] | None,
    mask_strides: Sequence[int] | None,
) -> list[Axis]:
    """Iterator axes, innermost first, in the iterator's K order.

    A result that NumPy allocates has no vote: it gets its strides afterwards, in the order found, 0
    along reduced axes."""
    columns = [[0] * len(shape) if out_strides is None else list(out_strides), list(strides)]
    if mask_strides is not None:
        columns.append(list(mask_strides))
    found: list[Axis] = []
    for k in reversed(range(len(shape))):
        insert(found, Axis(shape[k], tuple(0 if shape[k] == 1 else c[k] for c in columns), k))
    return found if out_strides is not None else _allocated(found, axes)


def insert(found: list[Axis], mine: Axis) -> None:
    """One step of NumPy's stable insertion sort of axes, innermost first.

    An operand votes only where both strides are non-zero; a vote against swapping wins, and without
    any vote the search goes on outwards."""
    place = len(found)
    for at in reversed(range(len(found))):
        vote = _swaps(mine.strides, found[at].strides)
        if vote is True:
            place = at
        elif vote is False:
            break
    found.insert(place, mine)


def _swaps(mine: tuple[int, ...], other: tuple[int, ...]) -> bool | None:
    votes = [abs(o) > abs(m) for m, o in zip(mine, other, strict=True) if m != 0 and o != 0]
    return all(votes) if votes else None


def _allocated(found: list[Axis], axes: Sequence[int]) -> list[Axis]:
    step = 1
    result = []
    for a in found:
        kept = a.axis not in axes and a.extent > 1
        result.append(a._replace(strides=(step if kept else 0, *a.strides[1:])))
        if kept:
            step *= a.extent
    return result


def coalesced(axis_list: Sequence[Axis]) -> list[Axis]:
    """Axes merged wherever all operands go on with one stride."""
    merged: list[Axis] = []
    for a in axis_list:
        last = merged[-1] if merged else None
        if last is not None and all(
            s * last.extent == t for s, t in zip(last.strides, a.strides, strict=True)
        ):
            merged[-1] = last._replace(extent=last.extent * a.extent)
        else:
            merged.append(a)
    return merged


def runs_where_needed(merged: list[Axis], cast: bool, buffer: int) -> tuple[int, int]:
    """NumPy >= 2.3: buffer as many whole inner axes as fit, and only where that is needed.

    Axes join the core while the estimated overhead, (1 + operands to buffer) over the elements per
    buffer, does not grow; the first axis where the result starts or ends to move closes it."""
    single = [True] * len(merged[0].strides)
    cost = best_cost = 2 if cast else 1
    size = best_size = merged[0].extent
    best, core, closing = 0, 1, 0
    for at in range(1, len(merged)):
        if closing or (size >= buffer and cost > 1):
            break
        inner, outer = merged[at - 1], merged[at]
        for k, (s, t) in enumerate(zip(inner.strides, outer.strides, strict=True)):
            if single[k] and s * inner.extent == t:
                continue
            if single[k] and not (cast and k == 1):
                cost += 1
            single[k] = False
            if k == 0 and (s == 0 or t == 0):
                closing = at
        before, size = size, size * outer.extent
        room = min(size, buffer) if cost > 1 else size
        if cost * best_size <= best_cost * room:
            best_cost, core, best_size, best = cost, before, size, at
    if best and best == closing:
        return best, core
    joined = all(_single(merged[: best + 1], k) for k in range(len(merged[0].strides)))
    if (cast or not joined) and best_size > buffer:
        best_size = core * (buffer // core)
    return best + 1, best_size


def _single(axis_list: Sequence[Axis], k: int) -> bool:
    return all(
        inner.strides[k] * inner.extent == outer.strides[k]
        for inner, outer in itertools.pairwise(axis_list)
    )


def runs_of_buffers(merged: list[Axis], cast: bool, buffer: int) -> tuple[int, int]:
    """NumPy < 2.3: every reduction is cut at every buffer, across all inner reduced axes."""
    count = 0
    while count < len(merged) and merged[count].strides[0] == 0:
        count += 1
    return count, buffer


RULES: tuple[Runs, ...] = (runs_where_needed, runs_of_buffers)


def in_c_order(shape: Sequence[int], strides: Sequence[int]) -> Order:
    """The order of elements that are kept: C order, whatever the layout."""
    loops = tuple(Loop(d, n, strides[d], "r") for d, n in enumerate(shape) if n > 1)
    return Order("sequential", loops, len(loops), math.prod(shape), "first", False)
