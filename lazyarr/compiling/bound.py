"""Launches of large replays met before: words to copy, and to fill with addresses and numbers of the call.

In:  a launch of a trace that was run once.   Out: `Bound`, with cells in the place of values.
What `known_steps` prepares for evaluations holds for replays, too, but for whose memory it is.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from lazyarr.compiling.interpret import Link
from lazyarr.compiling.places import Cell, Launch
from lazyarr.known_steps import Bound, bound_to
from lazyarr.launch import put_scalar, stores_past
from lazyarr.ready import entered
from lazyarr.records import NamedTuple


class Known(NamedTuple):
    """A launch of a replay."""

    bound: Bound
    addresses: tuple[tuple[int, Cell, int], ...]
    """Which words, whose addresses, how many bytes behind them."""
    numbers: tuple[tuple[Sequence[int], tuple[int, int]], ...]
    """First words of constants that the call gives, and where these are among the launch's scalars."""

    def run(self, at: Callable[[Cell], int], scalars: Sequence[Sequence[Any]]) -> int:
        """The flags that it raised."""
        words = self.bound.words[:]
        for word, cell, offset in self.addresses:
            words[word] = at(cell) + offset
        for firsts, (part, k) in self.numbers:
            put_scalar(words, firsts, scalars[part][k])
        return functools.reduce(operator.or_, entered(self.bound, words), 0)


class _Given:
    """`known_steps.Whereabouts` of a launch: values by their numbers, constants in order."""

    def __init__(self, each: Launch) -> None:
        places = [(part, k) for part, some in enumerate(each.scalars) for k, _ in enumerate(some)]
        self._left = iter(places)
        self._scalars = each.scalars

    def home(self, number: int) -> int:
        return number

    def constant(self, _: Any) -> Any:
        part, k = next(self._left)
        given = self._scalars[part][k]
        return (part, k) if isinstance(given, Link) else given


def is_plain(each: Launch) -> bool:
    """Is it one launch, and nothing before it?"""
    step, rows = each.step, each.step.rows
    ready = not (each.copies or each.margins or step.boxes or step.turns or step.feeds or step.tallies)
    return ready and step.keeps is None and step.ranks is None and (rows is None or not rows.delay)


def known(each: Launch, warm: bool) -> Known | None:
    """What is known of a launch, on pages that are `warm`; None if no such one was run yet."""
    step = each.step
    if step.rows is None:
        assert step.program is not None
        cells = dict(zip(step.operands, each.cells[0], strict=True))
        warm = warm and stores_past(step.program)
    else:
        warm = warm and any(part.streams for part in step.rows.parts)
        cells = {
            k: cell for part, own in zip(step.rows.parts, each.cells, strict=True)
            for k, cell in zip(part.step.operands, own, strict=True) if cell is not None
        }  # fmt: skip
    found = bound_to(step, _Given(each), warm)
    if found is None:
        return None
    addresses = [(word, cells[k], offset) for word, k, offset in found.addresses]
    if any(cell is None for _, cell, _ in addresses):
        return None
    return Known(found, tuple(addresses), found.scalars)    # type: ignore[arg-type]
