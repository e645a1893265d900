"""What is known of a compiled function, in words.

In:  its replays and refusals by key.   Out: text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lazyarr.compiling.comprehensions import Comprehension
from lazyarr.compiling.general import General
from lazyarr.compiling.interpret import NUMBERS
from lazyarr.compiling.known import Key, is_layout
from lazyarr.compiling.loops import Loop
from lazyarr.compiling.replay import Replay
from lazyarr.compiling.small import Small
from lazyarr.geometry import fresh
from lazyarr.scalar.compiled import Refusal


def told(
    name: str, found: Mapping[Key, Replay | Refusal], last: Refusal | None,
    loops: Iterable[Loop | Comprehension],
    others: Iterable[Refusal | None],
    general: Mapping[Key, General | Refusal],
) -> str:
    """A line for each kind of calls, those of arrays of all lengths among them, and for each loop."""
    lines = [f"  ({_arguments(key)}): {_way(each)}" for key, each in list(found.items())]
    lines += [f"  ({_lengthless(key[1])}): {_guards(each)}" for key, each in list(general.items())]
    if last is not None and not lines:
        lines.append(f"  not compiled: {last}")
    by_line = [(each.place.line, each.report) for each in loops]
    by_line += [(each.line, f"Python's: {each.why}") for each in others if each is not None]
    lines += [f"  {f'loop at line {line}' if line else 'loops'}: {what}" for line, what in sorted(by_line)]
    return "\n".join([f"{name}:", *lines])


def _way(found: Replay | Refusal) -> str:
    if isinstance(found, Refusal):
        return f"not compiled: {found}"
    return f"{found.kernels} kernels in one call" if isinstance(found, Small) else f"{found.kernels} launches"


LETTERS = "mnpqrstuvwxyz"
"""Of lengths that are not always the same; equal ones have one letter."""


def _lengthless(key: Key) -> str:
    """The kinds of arguments whose lengths vary."""
    found = []
    for item in key:
        if item[0] in ("number", "static"):
            found.append(_argument(item[1]))
            continue
        order, dtype, _, _, axes = item
        shape = ", ".join([str(n) if n >= 0 else LETTERS[-1 - n] for n in axes])
        found.append(f"{dtype}[{shape}]{' strided' if order == 'F' and len(axes) > 1 else ''}")
    return ", ".join(found)


def _guards(found: General | Refusal) -> str:
    """What lengths must be for one trace to be theirs."""
    if isinstance(found, Refusal):
        return f"each length by itself: {found}"
    said = [
        f"{q.left.words(LETTERS)} {q.sign if q.answer else NOT[q.sign]} {q.right.words(LETTERS)}"
        for q in found.template.guards
    ]  # fmt: skip
    return "all lengths" + (f" where {', '.join(said)}" if said else "")


NOT = {"==": "!=", "<=": ">", "<": ">="}


def _arguments(key: Key) -> str:
    """The kinds of arguments of a key, much as NumPy would name them."""
    return ", ".join(map(_argument, key[1:]))


def _argument(item: Key) -> str:
    c = item[0]
    if is_layout(item):
        _, shape, strides, dtype, _ = item
        usual = strides == fresh(shape, dtype).strides
        return f"{dtype}{list(shape)}{'' if usual else ' strided'}"
    if len(item) == 1:
        return str(c.__name__)
    return str(item[1]) if c in NUMBERS or c is tuple else repr(item[1])
