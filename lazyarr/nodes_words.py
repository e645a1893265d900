"""What the functions that make pending nodes (`nodes_text`, `writes_text`) are given: words, and tables of
recipes, writes and views.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple

AXES = 4
"""Operands have so many axes at most."""

BITS = 8
"""Of the number of an entry in the table of recipes."""

WRITES = 64
"""Entries in the table of writes."""

VIEWS = 8
"""Bits of the number of an entry in the table of views."""

WORD_BITS = 64
MIX = 0x9E3779B97F4A7C15 - (1 << WORD_BITS)
"""What addresses are multiplied by: the golden ratio."""


def hashed(x: int, geo: int, bits: int) -> int:
    """A hash of two addresses, of which the second one is a geometry's: what `Making.hashed` computes."""
    return ((x ^ geo >> 4) * MIX & (1 << WORD_BITS) - 1) >> WORD_BITS - bits


class Word:
    """What the functions are given: the words of an array, by what they hold."""

    TABLE = 0
    """Addresses: of the first recipe (`Entry`), of the first write (`Write`), of `slot_words.UNUSUAL`."""
    WRITES = 1
    UNUSUAL = 2
    OWNER = 3
    """The address of the word of the lock of all values that is zero where nobody holds it."""
    PENDING = 4
    """Options' usual values, and `storage.SLACK`."""
    EAGER = 5
    SLACK = 6
    MOVED = 7
    """Elements: writes of more are counted, up to those of medium size; assignments, and others."""
    IN_PLACE = 8
    MEDIUM = 9
    NONE = 10
    FALSE = 11
    TRUE = 12
    ZERO = 13
    LESS = 14
    """-1."""
    REAL = 15
    LAZY = 16
    """Types: of NumPy's arrays, of ours, reads, nodes, storages, buffers, indices."""
    READ = 17
    EXPR = 18
    STORAGE = 19
    BUFFER = 20
    TUPLE = 21
    SLICE = 22
    INTEGER = 23
    ELLIPSIS = 24
    NOTHING = 25
    SERIALS = 26
    COUNT = 27
    LEDGER = 28
    DUE = 29
    OBSERVED = 30
    STATES = 31
    """The context variable of NumPy's error state."""
    WARNINGS = 32
    """The namespaces of two modules, each followed by a name in it."""
    FILTERS = 33
    SEEN_IN = 34
    SEEN = 35
    GETFRAME = 36
    THEIRS = 37
    USUAL = 38
    """Python functions: may a recipe be used under unusual options, or a write be made; what is done after
    all is set (`swift_nodes`)."""
    ALWAYS = 39
    CAPTURE = 40
    """`arrays.capture`, of a plain array."""
    LAUNCH = 41
    CROWDED = 42
    WRITTEN = 43
    ALLOC = 44
    """Functions of C, as in `swift_nodes.FUNCTIONS`."""
    INCREF = 45
    DECREF = 46
    NEW_TUPLE = 47
    LIST = 48
    APPEND = 49
    WEAKREF = 50
    NUMBER = 51
    INT = 52
    NEXT = 53
    STATE = 54
    LOOKUP = 55
    CALL = 56
    CLEAR = 57
    CODE = 58
    LASTI = 59
    ITEM = 60
    RECALLS = 61
    """Where the address of the first known call for each hash is (`recall_text`)."""
    OURS = 62
    """As `THEIRS`."""
    ABOVE = 63
    BYTES = 64
    FLAT = 65
    """`numpy.frombuffer`; its second argument; an empty tuple."""
    OCTET = 66
    EMPTY = 67
    PROBE = 68
    """`swift_nodes.probed`."""
    PROBE_ONE = 69
    """`geometry.probe`."""
    ALLOWED = 70
    """The addresses of `slot_words.GRANTED`, `GRANTEE`, `SHARED`."""
    GRANTEE = 71
    SHARED = 72
    VIEWS = 73
    """The address of the first `View`."""
    END = 74


OPERAND = 2 + 2 * AXES
"""Words that say what an operand is: its dtype, or the type of a scalar; axes, extents, strides."""


class Entry:
    """The words of an entry: a recipe that Python has written."""

    UFUNC = 0
    COUNT = 1
    """Operands."""
    FIRST = 2
    SECOND = FIRST + OPERAND
    OP = SECOND + OPERAND
    REGION = OP + 1
    NBYTES = OP + 2
    """As an int of Python's."""
    BYTES = OP + 3
    FLAGGED = OP + 4
    WHEN = OP + 5
    """Whether it is a node under usual options (`When`)."""
    MAKERS = OP + 6
    """Types that make constants of the operands, or zero."""
    RECIPE = OP + 8
    SNAPSHOTS = OP + 9
    """How copies of the operands lie that are plain arrays of their own, or zero."""
    WAITS = OP + 11
    """The code, and the place in it, of a call whose results wait, always (`habits`)."""
    END = OP + 13


class When:
    """Calls that are nodes."""

    NEVER = 0
    """Python looks whether they are."""
    ALWAYS = 1
    PENDING = 2
    """Those with an operand that is yet to be computed."""
    GRANTED = 3
    """Those, and the calls of one place, as long as Python need not count them (`slot_words.GRANTED`)."""


class Write:
    """The words of an entry in the table of writes, which ends with one of zeros: dtypes and types by which
    it is known, and what it does."""

    UFUNC = 0
    """`None` of an assignment."""
    INTO = 1
    """The dtype that is written."""
    TAGS = 2
    """Dtypes of arrays, types of scalars, or zero."""
    OP = 4
    QUIET = 5
    MAKERS = 6
    END = 8


class View:
    """The words of an entry in the table of views: an array's geometry, a key (`view_keys`), and that of the
    view."""

    GEO = 0
    KEY = 1
    SEEN = 2
    END = 4


class Places(NamedTuple):
    """Where nodes, reads, storages, arrays, buffers and counters have their attributes."""

    op: int
    inputs: int
    region: int
    old: int
    covers: int
    masked: int
    nbytes: int
    buf: int
    readers: int
    home: int
    replaced: int
    errors: int
    loc: int
    spared: int
    serial: int
    depth: int
    weight: int
    epoch: int
    node_index: int
    read_expr: int
    read_geo: int
    storage_value: int
    storage_dying: int
    storage_small_writes: int
    storage_repeats: int
    storage_place: int
    array_storage: int
    array_geo: int
    array_origin: int
    buffer_memory: int
    buffer_bridge: int
    buffer_address: int
    buffer_nbytes: int
    buffer_recycled: int
    buffer_orphan: int
    bridge_base: int
    count_nodes_built: int
    count_bytes_numpy: int
    count_recalled: int
    ledger_kept: int
    ledger_unallocated: int
