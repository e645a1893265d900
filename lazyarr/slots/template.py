"""The code of the slots' functions as it lies in the cache: to write it takes some milliseconds.

In:  where objects have their fields.   Out: code for any address, and where words belong that each process
knows for itself: objects' and functions' addresses.
An entry's key holds all that the code follows from: the files of what writes it, fields and limits, the
versions of Python and NumPy.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping

import numpy

from lazyarr import object_fields as fields
from lazyarr.dispatch import cache as disk
from lazyarr.editions import imported
from lazyarr.records import NamedTuple


class Template(NamedTuple):
    """Code, but for some words."""

    code: bytes
    words: dict[str, list[int]]
    """Of each word: its name, and where it belongs."""
    labels: dict[str, int]
    """Where functions begin."""


def template(places: Mapping[str, int], writes: bool) -> Template | None:
    """The code, given the places and limits of `known.Known`; None if it is not there and `writes` does
    not allow to write it."""
    what = sys.version, numpy.__version__, repr(sorted(places.items())), str(fields.DATA), _sources()
    key = disk.digest("slots", *what) if what[-1] else None
    body = None if key is None else disk.fetch(key)
    if body is not None:
        return Template._make(marshal.loads(body))
    if not writes:
        return None
    from lazyarr.slots.writing import written  # here: what is in the cache needs nobody who writes it

    made = written(places)
    if key is not None:
        disk.store(key, marshal.dumps(tuple(made)), {"kind": "slots", "python": what[0], "numpy": what[1]})
    return made


def _sources() -> str:
    """The editions of what writes the code; nothing where nobody can tell.  Then the cache is left alone."""
    return imported([os.path.dirname(__file__)], [str(fields.__file__)])
