"""The words of the rows by which machine code does calls of compiled functions.

In:  nothing.   Out: places of words, and what they say: `swift_replay` writes them, `replay_text` the code.
"""

from __future__ import annotations

from enum import IntEnum

import numpy

from lazyarr.sight_rows import MOST_VALUES, Row


class Replayed(IntEnum):
    """The words of a row behind those that the rows of evaluations have, too, of which options, values,
    threads and who hears of it count here."""

    ARGUMENTS = Row.END
    """Of `Argument`s."""
    ARGUMENTS_AT = Row.END + 1
    FIELDS = Row.END + 2
    """Of two words: where a field of an object is, and what it has to hold."""
    FIELDS_AT = Row.END + 3
    NAMES = Row.END + 4
    """Of three words: a namespace, a name, what it has to mean."""
    NAMES_AT = Row.END + 5
    RESULTS = Row.END + 6
    """Of `Result`s."""
    RESULTS_AT = Row.END + 7
    IS_TUPLE = Row.END + 8
    """Are results in a tuple?"""
    ENTRY = Row.END + 9
    """The function that runs a small replay (`entry`); 0 where there are launches."""
    GIVEN = Row.END + 10
    """What that is given besides its block: of `Passed`s."""
    GIVEN_AT = Row.END + 11
    BLOCK = Row.END + 12
    KERNELS = Row.END + 13
    OPS = Row.END + 14
    COUNTS = Row.END + 15
    """The words of the block that count calls of NumPy's loops."""
    COUNTS_AT = Row.END + 16
    CALLS = Row.END + 17
    """How many there were of it."""
    WRITES = Row.END + 18
    """Of `Write`s: the arguments that it writes to."""
    WRITES_AT = Row.END + 19
    APART = Row.END + 20
    """Of `Apart`s: each such argument, and each other one, which it must not overlap."""
    APART_AT = Row.END + 21
    COPY = Row.END + 22
    """The function that copies (`entry`), if what is written is to be put back where flags are raised."""
    ANSWER = Row.END + 23
    """What a call gives in the place of results, if anything."""
    STAGES = Row.END + 24
    """Where the launches of a large replay have their words, in bytes behind the row's begin."""
    STAGES_AT = Row.END + 25
    END = Row.END + 26


class Stage(IntEnum):
    """The words of a launch behind those that the rows of evaluations have, too, of which launches, what is
    streamed, heat, and who hears of it count here."""

    TAKES = Row.END
    """What gives memory for temporaries, which follow results."""
    TAKES_AT = Row.END + 1
    ENDS = Row.END + 2
    """The numbers of those that end with it."""
    ENDS_AT = Row.END + 3
    END = Row.END + 4


class Kind(IntEnum):
    """What an argument is, and a result."""

    MANAGED = 0
    """An array somewhere in a storage: all of it."""
    PLAIN = 1
    """An array that is memory itself."""
    NUMBER = 2
    """An argument that counts by type."""
    ITEM = 3
    """The one element of an array: a result."""
    NUMPYS = 4
    """An array of NumPy's."""
    ITSELF = 5
    """An argument that is one object."""


class Care(IntEnum):
    """What is to be looked at of a number."""

    NONE = 0
    SINGLE = 1
    """A float that is not finite, or one that those of 32 bits reach."""
    EXACT = 2
    """An int that floats of 64 bits can be."""


NUMBER_BYTES = 32
"""Of a number that looks like an object of Python's with a value (which lies 16 bytes behind its begin)."""

MOST_PASSED = 3 * MOST_VALUES
"""Arguments, results and numbers, of each so many."""

EXACT = 1 << 53
SINGLE, INFINITE = (int(numpy.float64(x).view("i8")) for x in (numpy.finfo("f").max, numpy.inf))
"""The bits of these."""


class Argument(IntEnum):
    KIND = 0
    SEEN = 1
    """The geometry, the type, or the object itself."""
    CARE = 2
    """Bits that the address of plain memory must not have; of a number a `Care`."""
    LOOK = 3
    """How plain memory lies, as an operand in `nodes_words.Entry`; so the argument itself begins here."""


class Passed(IntEnum):
    """What the entry of small replays is given."""

    FROM = 0
    """A `Source`."""
    PLACE = 1
    BECOMES = 2
    """Of a number a `Number`."""
    END = 3


class Source(IntEnum):
    ARGUMENT = 0
    RESULT = 1
    NUMBER = 2
    """An argument that becomes something else."""


class Write(IntEnum):
    PLACE = 0
    BEGIN = 1
    """In bytes behind the first element."""
    NBYTES = 2
    BACKUP = 3
    """The address of room for what was there."""
    END = 4


class Apart(IntEnum):
    """Two arguments: their places, and where they begin and end, in bytes behind the first element."""

    PLACE = 0
    BEGIN = 1
    UNTIL = 2
    OTHER = 3
    OTHER_BEGIN = 4
    OTHER_UNTIL = 5
    END = 6


class Result(IntEnum):
    KIND = 0
    MAKER = 1
    """What gives its memory, called without arguments; 0 for an array of NumPy's without holes."""
    GEO = 2
    NBYTES = 3
    """As an int of Python's."""
    DTYPE = 4
    AXES = 5
    FLAGS = 6
    """As NumPy's function takes them, which makes it."""
    DIMS = 7
    """Its lengths, as many as entries have."""
    END = 7 + AXES
