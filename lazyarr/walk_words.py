"""What the functions that go through nodes (`walk_text`) and their callers agree upon.

Scratch memory begins with a `Head`; then come a table from objects' addresses to numbers, whose entries hold
for one call, an area for addresses, and room for bytes.  Numbers have names here, as in all such modules, by
classes that are no enums: these take 10 us to make for each name.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple


class Answer:
    """What a function says that has no result."""

    FINE = 0
    SINKS = 1
    """Some value is read in part, or at some positions: it may sink."""
    CALLS = 2
    """Some nodes stand for several, and are to be written out first."""
    DECLINED = 3
    """This is for Python to do."""
    SMALL = 4
    """There is not enough room: again, with more."""
    RAISED = 5
    """An exception is set."""
    END = 6


class Head:
    """The words that scratch memory begins with."""

    GENERATION = 0
    """Which call an entry of the table belongs to."""
    COUNT = 1
    """Entries of this call."""
    MOST = 2
    """How many there may be."""
    SHIFT = 3
    """Of a hash of 64 bits, to find an entry."""
    TABLE = 4
    TABLE_END = 5
    AREA = 6
    AREA_END = 7
    ROOM = 8
    ROOM_END = 9
    STATUS = 10
    """An `Answer`: what a function within says that failed."""
    OBJECTS = 11
    """How many objects have numbers, and geometries."""
    GEOMETRIES = 12
    APPEND = 13
    """Functions of Python's: PyList_Append, Py_IncRef, PyLong_AsSsize_t, PyBytes_FromStringAndSize."""
    INCREF = 14
    NUMBER = 15
    BYTES = 16
    NONE = 17
    TRUE = 18
    EXPR = 19
    """Types."""
    READ = 20
    TUPLE = 21
    LIST = 22
    REF = 23
    NDARRAY = 24
    STORAGE = 25
    CALL = 26
    GATHER = 27
    FALSE = 28
    ZERO = 29
    NOTHING = 30
    """An empty tuple."""
    DECREF = 31
    """More functions: Py_DecRef, PyDict_GetItemWithError, PyLong_FromSsize_t."""
    LOOKUP = 32
    INT = 33
    UNALLOCATED = 34
    """Where `LEDGER.unallocated` lies."""
    ANSWERS = 35
    """The ints that are answers."""
    END = ANSWERS + Answer.END


class Places(NamedTuple):
    """Where nodes, reads and storages have their attributes."""

    op: int
    inputs: int
    region: int
    old: int
    covers: int
    masked: int
    buf: int
    readers: int
    home: int
    spared: int
    serial: int
    nbytes: int
    depth: int
    weight: int
    expr: int
    geo: int
    value: int
    dying: int


ENTRY = 16
"""Bytes of an entry: the address of an object; its number, and above it the generation."""

LAST = (1 << 31) - 1
"""The last generation: then the table has entries of all of them, and memory has to be made anew."""

MISSING = -(1 << 62)
"""In the place of a number."""


def names_of(suffix: str) -> tuple[str, str, str]:
    """The names of the functions, which end with a suffix."""
    return f"lazyarr_closure_{suffix}", f"lazyarr_key_{suffix}", f"lazyarr_finish_{suffix}"
