"""What the code of `recall_text` is given of calls met before: rows, by a hash."""

from __future__ import annotations

MOST_ARGS = 4
"""Arguments of a call, by position and by word."""

HASH = 8
"""Bits of a hash of a call, which is one of its method and the array's geometry."""


class Row:
    """The words of a call."""

    NEXT = 0
    """The address of another row, or zero."""
    METHOD = 1
    GEO = 2
    """Of the array."""
    OPTIONS = 3
    """`config.plan_key`."""
    PENDING = 4
    """Was the array's value yet to be computed?"""
    ARGS = 5
    """How many arguments there are, and which."""
    WORDS = ARGS + 1 + MOST_ARGS
    """How many are given by word, and which: words and values in turn."""
    OP = WORDS + 1 + 2 * MOST_ARGS
    """Of the node: what it computes; how it reads the array; what it writes; does it know its place?"""
    SEEN = OP + 1
    REGION = OP + 2
    RESULT = OP + 3
    NBYTES = OP + 4
    """As an int of Python's."""
    BYTES = OP + 5
    LOCATED = OP + 6
    INNER = OP + 7
    """What it is more than one node (`nodes_text.Inner`)."""
    INNER_DEPTH = OP + 8
    INNER_BYTES = OP + 9
    PROBED = OP + 10
    """Is the system to be asked whether it has the memory for some of them?"""
    END = OP + 11
