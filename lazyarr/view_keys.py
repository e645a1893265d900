"""LLVM IR of functions that find the geometry of a view again, which loops ask for again and again.

In:  an array's geometry, a key of slices, ints, None and Ellipsis.   Out: the geometry that NumPy gives.
A loop over sweeps takes the same few views of its arrays each time.  Geometries are shared (`geometry`), so
one serves all of them: NumPy need not make it, nodes that read through it are nearer to each other in the
caches, and what describes them (`walk_text`) says it once.
Keys that are remembered count few elements from an array's ends, as sweeps' do; of a loop over elements each
is another one.  They are words, in which an item takes `ITEM` bits.
"""

from __future__ import annotations

from lazyarr.nodes_ir import Making
from lazyarr.nodes_words import VIEWS, Places, View, Word
from lazyarr.object_fields import LENGTH, TYPE, VALUE
from lazyarr.walk_words import MISSING

NEAR = 8
"""Elements from an end, at most."""

NUMBER = 5
"""Bits of a number, or None, which is zero."""

ITEM = 3 + 3 * NUMBER
"""Bits of an item: its kind, and the numbers of a slice."""

MOST = 3
"""Items; a word has room for no more."""

assert 1 + 2 * NEAR < 1 << NUMBER and 1 + MOST * ITEM < 64


def written(of: Places) -> list[Making]:
    return [_near(of), _item(of), _packed(of), _seen(of)]


def _near(of: Places) -> Making:
    """The word of a slice's number: of an int near zero, or None; else `MISSING`."""
    f = Making("near", ("words", "x"), of)
    with f.when("eq", "%x", f.known(Word.NONE)):
        f.give(0)
    f.leave_to_python("ne", f.load("%x", TYPE), f.known(Word.INTEGER))
    number = f.of_c(Word.NUMBER, "%x")
    with f.when("eq", number, -1), f.when("ne", "%x", f.known(Word.LESS)):
        f.on(Word.CLEAR, None)                  # (too large for a word)
        f.give(MISSING)
    f.leave_to_python("ugt", f.add(number, NEAR), 2 * NEAR)
    f.give(f.add(number, NEAR + 1))
    return f


def _item(of: Places) -> Making:
    """The word of an item of a key, or `MISSING`."""
    f = Making("item", ("words", "x"), of)
    kind = f.load("%x", TYPE)
    with f.when("eq", kind, f.known(Word.SLICE)):
        word = f.variable(1)
        for k in range(3):
            number = f.within("@near", f.load("%x", VALUE + 8 * k))
            f.leave_to_python("eq", number, MISSING)
            f.set(word, f.by("or", f.by("shl", f.get(word), NUMBER), number))
        f.give(f.get(word))
    for other, known in enumerate((Word.NOTHING, Word.ELLIPSIS), 2):
        with f.when("eq", kind, f.known(known)):
            f.give(other << 3 * NUMBER)
    number = f.within("@near", "%x")
    f.leave_to_python("eq", number, MISSING)
    f.give(f.add(number, 4 << 3 * NUMBER))
    return f


def _packed(of: Places) -> Making:
    """The word of a key, or `MISSING`."""
    f = Making("packed", ("words", "key"), of)
    word = f.variable(1)
    with f.when("ne", f.load("%key", TYPE), f.known(Word.TUPLE)):
        found = f.within("@item", "%key")
        f.leave_to_python("eq", found, MISSING)
        f.give(f.by("or", found, 1 << ITEM))
    f.leave_to_python("ugt", f.load("%key", LENGTH), MOST)
    with f.items("%key", is_list=False) as (x, _):
        found = f.within("@item", x)
        f.leave_to_python("eq", found, MISSING)
        f.set(word, f.by("or", f.by("shl", f.get(word), ITEM), found))
    f.give(f.get(word))
    return f


def _seen(of: Places) -> Making:
    """The geometry of a view, as a new reference; 0 where NumPy raises."""
    f = Making("seen", ("words", "geo", "key"), of)
    key = f.within("@packed", "%key")
    with f.when("eq", key, MISSING):
        f.give(f.of_c(Word.ITEM, "%geo", "%key"))
    number = f.hashed(key, "%geo", VIEWS)
    at = f.add(f.known(Word.VIEWS), f.by("mul", number, 8 * View.END))
    with f.when("eq", f.load(at, 8 * View.GEO), "%geo"), f.when("eq", f.load(at, 8 * View.KEY), key):
        f.give(f.held(f.load(at, 8 * View.SEEN)))
    found = f.made(Word.ITEM, "%geo", "%key")
    before = [f.load(at, 8 * word) for word in (View.GEO, View.SEEN)]       # (of nothing, perhaps)
    for word, x in ((View.GEO, f.held("%geo")), (View.KEY, key), (View.SEEN, f.held(found))):
        f.store(x, at, 8 * word)
    for x in before:
        f.on(Word.DECREF, x)
    f.give(found)
    return f
