"""What array comprehensions go through: ranges and arrays, several side by side, and counted ones.

In:  what stands after ``in`` as far as it is seen in a syntax tree (`Source`), and its value at a call.
Out: `Way`: how many items there are, the words that machine code finds them by, and the text of an item.

    range(9)               first + k * step
    a                      a[k]
    zip(a, b)              (a[k], b[k])
    enumerate(a, n)        (n + k, a[k])
    row, an item of a      row[k]

Calls of `zip` and `enumerate` are seen, since their iterators do not tell what they go through; those of
`range` where nobody else may be called in its place.
"""

from __future__ import annotations

from typing import Any

from lazyarr.compiling.chunks import fits, is_array
from lazyarr.records import NamedTuple
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.prange import prange

ROW = "row"
"""The source that is an item of the axis before."""
NEITHER = "it goes through neither ranges nor arrays"


class Called(NamedTuple):
    """A call whose value is the function and the values of its arguments."""

    args: tuple[Any, ...]
    """The source of each argument, keyword arguments last."""
    names: tuple[str, ...]
    """Of the keyword arguments."""

    def of(self, value: Any) -> Any:
        """What the call gives."""
        fn, given = value
        given = [x.of(v) if isinstance(x, Called) else v for x, v in zip(self.args, given, strict=True)]
        at = len(given) - len(self.names)
        return fn(*given[:at], **dict(zip(self.names, given[at:], strict=True)))


Source = Called | str | None
"""None where nothing but the value tells."""
Form = str | tuple[Any, ...]


class Way(NamedTuple):
    form: Form
    """By which an item is written."""
    length: int
    words: list[Any]


def way(source: Source, value: Any, before: Any = None) -> Way:
    """The way through a value; `before` is what the axis before goes through.

    Raises
    ------
    Refused
        Where there is none.
    """
    if isinstance(source, Called):
        fn, given = value
        if fn in CALLS:
            return CALLS[fn](source, given)         # type: ignore[no-any-return]
        raise Refused(NEITHER)
    if source == ROW:
        if not is_array(before) or len(before.shape) < 2:
            raise Refused("it goes through items that are no rows")
        return Way(ROW, before.shape[1], [])
    if type(value) is range:
        if not fits(value):
            raise Refused("it goes through a range beyond 64 bits")
        return Way("range", len(value), [value.start, value.step])
    if is_array(value) and value.shape:
        return Way("array", value.shape[0], [value])
    raise Refused(NEITHER)


def _zipped(source: Called, given: tuple[Any, ...]) -> Way:
    at = len(given) - len(source.names)
    ways = [way(x, v) for x, v in zip(source.args[:at], given[:at], strict=True)]
    counts = [each.length for each in ways]
    if not ways or source.names not in ((), ("strict",)) or (source.names and type(given[at]) is not bool):
        raise Refused("such a call of `zip`")
    if source.names and given[at] and len(set(counts)) > 1:
        raise Refused("it zips what is of different lengths")
    return Way(("zip", *[w.form for w in ways]), min(counts), [x for w in ways for x in w.words])


def _enumerated(source: Called, given: tuple[Any, ...]) -> Way:
    plain = len(given) - len(source.names)
    if plain < 1 or len(given) > 2 or source.names not in ((), ("start",)):
        raise Refused("such a call of `enumerate`")
    start = given[1] if len(given) == 2 else 0
    if type(start) is not int:
        raise Refused("`enumerate` does not start at an int")
    inner = way(source.args[0], given[0])
    return Way(("enumerate", inner.form), inner.length, [start, *inner.words])


def _ranged(source: Called, given: tuple[Any, ...]) -> Way:
    if source.names:
        raise Refused("such a call of `range`")
    try:
        return way(None, range(*given))
    except (TypeError, ValueError):         # the function itself will raise it, if it comes so far
        raise Refused("an error in what it goes through") from None


ITERATORS: dict[Any, Any] = {zip: _zipped, enumerate: _enumerated}
"""Iterators that are seen through."""
CALLS: dict[Any, Any] = {**ITERATORS, range: _ranged, prange: _ranged}
"""Calls that are known."""

_WORD = "__lazyarr_word{}__"


def item(form: Form, at: str, params: list[str], before: str) -> str:
    """The text of the item at an index; the parameters that it needs are appended.

    (`before` is the variable of the axis before.)"""

    def fresh() -> str:
        params.append(_WORD.format(len(params)))
        return params[-1]

    if form == "range":
        first, step = fresh(), fresh()
        return f"{first} + {at} * {step}"
    if form == "array":
        return f"{fresh()}[{at}]"
    if form == ROW:
        return f"{before}[{at}]"
    assert isinstance(form, tuple)
    kind, *inner = form
    if kind == "enumerate":
        return f"({fresh()} + {at}, {item(inner[0], at, params, before)})"
    return f"({''.join([f'{item(each, at, params, before)}, ' for each in inner])})"
