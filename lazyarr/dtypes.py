"""Plain dtypes: the element types that the engine compiles, each named by NumPy's type character.

In:  numpy dtypes.   Out: one canonical character per element type, or None for what only NumPy handles:
also for C's second 64-bit integers (``q`` beside ``l``), which are equal to the first, and have scalars
of their own.  Everything behind the NumPy face speaks these characters, because a ufunc's loop
signatures (``dd->d``) are written in them.
"""

from __future__ import annotations

import numpy

from lazyarr.records import NamedTuple


class Plain(NamedTuple):
    """One row of the table: how an element type looks to NumPy and to LLVM."""

    char: str
    kind: str
    """NumPy's kind: b, i, u, f or c."""
    itemsize: int
    """Bytes of one element in memory."""
    llvm: str
    """LLVM type of one element in memory; for complex, of one component."""


_ROWS = [*map(Plain._make, (
    ("?", "b", 1, "i8"),
    ("b", "i", 1, "i8"),
    ("h", "i", 2, "i16"),
    ("i", "i", 4, "i32"),
    ("l", "i", 8, "i64"),
    ("B", "u", 1, "i8"),
    ("H", "u", 2, "i16"),
    ("I", "u", 4, "i32"),
    ("L", "u", 8, "i64"),
    ("e", "f", 2, "half"),
    ("f", "f", 4, "float"),
    ("d", "f", 8, "double"),
    ("F", "c", 8, "float"),
    ("D", "c", 16, "double"),
))]

PLAIN: dict[str, Plain] = {row.char: row for row in _ROWS}

_by_layout = {(row.kind, row.itemsize): row.char for row in _ROWS}

CANONICAL: dict[str, str] = {}
"""Every character of a loop's signature for plain element types -> its canonical character (q -> l)."""
for _c in "?bhilqBHILQefdFD":
    _dt = numpy.dtype(_c)
    CANONICAL[_c] = _by_layout[_dt.kind, _dt.itemsize]

ELEMENTS = {c: numpy.dtype(c) for c in CANONICAL if c not in "qQ"}
"""The dtypes of plain elements, which NumPy has one object of each."""

CHARS = {id(dtype): CANONICAL[c] for c, dtype in ELEMENTS.items()}
"""By identity of the usual dtypes: `char_of`."""
_others: dict[tuple[numpy.dtype, str], str | None] = {}


def char_of(dtype: numpy.dtype) -> str | None:
    """The canonical character of a plain dtype in native byte order; None for any other dtype."""
    found = CHARS.get(id(dtype))
    if found is not None:
        return found
    if dtype.metadata is not None:
        return None
    key = dtype, dtype.char                     # (q and l are equal)
    if key in _others:
        return _others[key]
    usual = ELEMENTS.get(dtype.char)            # (other libraries' dtypes may have a character of these)
    if type(dtype) is type(usual) and dtype.isnative:
        found = CANONICAL[dtype.char]
    if len(_others) < 1024:
        _others[key] = found
    return found


def canonical(signature: str) -> str:
    """A loop signature such as ``qq->?`` in canonical characters."""
    return "".join(CANONICAL.get(c, c) for c in signature)


def __getattr__(name: str) -> object:
    """This module is also `lazyarr.dtypes`, which offers what `numpy.dtypes` does."""
    return getattr(numpy.dtypes, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(numpy.dtypes)})
