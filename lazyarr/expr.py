"""The expression DAG: immutable nodes, equal by identity, built on every call.

A node is the value of one storage (all its bytes) after one operation: the bytes of `old`, with
`region` replaced by what `op` computes from `inputs`.  A fresh result has no `old`.  Reading is
`Read(expr, geo)`: a value as it was at the call, seen through a geometry.  `serial` is program
order; inputs are always older than the node, so there are no cycles.

    expr     = Expr(op, inputs, region, old, masked)
    op       = Map | Gather | Scan | Scatter | Reduce | Tally | Keep | Compress | Opaque
               None once evaluated (then `buf` holds the bytes)
    input    = Read | numpy.generic            a constant is already of the loop's dtype
    geometry = ndarray over ghost memory (geometry.py): shape, strides, dtype, offset, flags

The classes of `op` are frozen descriptors, one per kind of computation, equal by value.  (Those that every
plan's key is made of are tuples: hashing and comparing these is the interpreter's own work.)
Nothing here recurses: walks iterate and a chain of a million nodes is freed iteratively.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from _thread import RLock
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from lazyarr.counters import COUNT
from lazyarr.geometry import PROBED, probe
from lazyarr.records import NamedTuple, dataclass
from lazyarr.srcloc import Loc

LOCK = RLock()
"""Held while values are computed or replaced: nodes are shared by all Python threads."""


class Overtaken(Exception):
    """Another evaluation came in between."""


BROKEN = Overtaken, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError
"""What comes of it where nodes have been computed meanwhile."""


class Evaluations:
    """How many have begun, and which one of them is under way.  (Whoever asks has the lock.)

    A signal's handler or a finalizer may ask for values in the middle of an evaluation, for those that it is
    at among others.  What this one knows of its nodes is not so any more then: it begins anew, with what is
    left to be computed, before it writes over anything and before it remembers a plan."""

    __slots__ = ("begun", "mine")

    def __init__(self) -> None:
        self.begun = self.mine = 0

    def are_overtaken(self) -> bool:
        """Has another one begun since the one under way did, if there is one?"""
        return self.mine != 0 and self.mine != self.begun

    def go_on(self, nodes: Iterable[Any], read: Iterable[Any] = ()) -> None:
        """Raise `Overtaken` if another one has computed some of the nodes, or written over what they read."""
        if self.are_overtaken() and (
            any(node is not None and node.op is None for node in nodes)
            or any(x is not None and x.op is None and x.buf is None for x in read)
        ):
            raise Overtaken


EVALUATIONS = Evaluations()


class Map(NamedTuple):
    """Elementwise: one inner loop over the broadcast inputs, result `part` cast into the region.

    `name` is a ufunc of NumPy ('add', 'clip', ...), or one of
      'copy'   sig 'd->f': the input cast (NumPy's unsafe cast) into the region
      'where'  sig '?dd->d'
      a draw   'PCG64_d' and the like (see `draws`): the positions, and constants
    `sig` is the loop's signature in canonical characters (dtypes.canonical); inputs of other
    dtypes are cast to it, and the result is cast to the region's dtype, as the ufunc would.
    `fusion.reference` does it with NumPy: the oracle, and the way without a compiler.
    """

    name: str
    sig: str
    part: int = 0


@functools.cache
def map_of(name: str, sig: str) -> Map:
    """The same object each time, by which evaluations are known at sight (`at_sight`)."""
    return Map(name, sig)


class Reduce(NamedTuple):
    """A fold of the first input over `axes`; an optional bool mask is the last input.

    `name` is 'add', 'multiply', 'maximum', 'minimum', 'fmax', 'fmin', 'logical_and',
    'logical_or', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'argmax', 'argmin' or any other
    reducible ufunc.  `sig` is the loop's signature ('dd->d'); the input is cast to its second
    character.  `initial` is None, or the value to start from as a NumPy scalar of the result dtype.
    """

    name: str
    sig: str
    axes: tuple[int, ...]
    keepdims: bool
    masked: bool = False
    initial: Any = None


class Scan(NamedTuple):
    """Running results of a ufunc along an axis of the input, over which the region is: ``ufunc.accumulate``.

    `sig` is the loop's signature ('dd->d'), of one type; the input is cast to it."""

    name: str
    sig: str
    axis: int


class Gather(NamedTuple):
    """Elements of the first input, the table, at positions that the other inputs hold.

    Those are integers, broadcast over the region, one for each of the table's `axes`; a negative one
    counts from the end.  They are in bounds: that was checked at the call, of the values captured.
    Along axis d of the region the table moves along its axis ``dims[d]``, or stays where that is -1.
    `along` says that positions vary along all axes of the region (``take_along_axis``); else they vary
    along the still ones alone, which are where NumPy puts them: ``a[:, i, j]``, ``a[i, :, j]``.
    """

    axes: tuple[int, ...]
    dims: tuple[int, ...]
    along: bool = False


class Scatter(NamedTuple):
    """A write of the first input, broadcast over `shape`, to positions that the other inputs hold.

    The mirror image of `Gather`: the region is the table, along whose `axes` the positions count, and what
    is iterated over is not the region but `shape`.  It never covers the region.  Of elements that go to one
    place the last in C order stays.  `free` says that no two go to one place, so that any order does.
    """

    axes: tuple[int, ...]
    dims: tuple[int, ...]
    shape: tuple[int, ...]
    along: bool = False
    free: bool = False


BLOCK = 1 << 9
"""Elements of a mask that are counted together."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many elements of a mask are True before each block of `BLOCK` of them in C order, and in all.

    The region is 1-d, of 64-bit integers: one for each block, and the total.  So these are the ranks
    of the blocks' first elements among those that the mask keeps.  Behind them come `HEAD` words that say
    that nothing else is there (`Keep`)."""


class Keep(NamedTuple):
    """`Tally` of the second input (bool), with what may be had of the first one (same shape) in passing.

    Behind these words the region has room for what `codegen.compress_keep` leaves there: sums of whole
    vectors of kept elements, where `leaf` says of how many of these a leaf of NumPy's tree has at least, or,
    where it is 0, the kept elements.  Neither is there if there are more than `room`."""

    leaf: int
    room: int


HEAD = 3
"""Words that say what is kept, behind the ranks; 0: nothing."""


@dataclass(frozen=True, slots=True)
class Compress:
    """The elements of the first input, in C order, where the second (bool, same shape) is True.

    The third is the mask's `Tally`, or `Keep` of the same two, evaluated.  The region is 1-d, and its length
    is the total."""


TALLY, COMPRESS = Tally(), Compress()
"""The same objects each time, by which evaluations are known at sight (`at_sight`)."""


ELEMENTWISE = (Map, Gather, Scan)
"""Ops that make one element of the region in each iteration of their space, from inputs at that one."""

FOLDS = (Reduce, Tally, Keep, Compress)
"""Ops that run over what they read, in an order of their own."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything that only NumPy does, still lazy: `run(region, *inputs, *options)` writes into the region.

    `run` is a function of a module, and `options` have no arrays among them: a plan remembers the op.
    `name` is what NumPy's warnings call it.  One that `makes` its result is `run(*inputs, *options)`, gives
    a new array of the region's layout, and that is the value's memory."""

    run: Callable[..., Any]
    name: str
    options: tuple[Any, ...] = ()
    makes: bool = False


Op = Map | Gather | Scan | Scatter | Reduce | Tally | Keep | Compress | Opaque


class Read:
    """A value, as it was at the call, seen through a geometry.  Shape () broadcasts like a scalar."""

    __slots__ = ("expr", "geo")

    def __init__(self, expr: Expr, geo: numpy.ndarray) -> None:
        self.expr = expr
        self.geo = geo


class Expr:
    """One value of one storage.  Immutable but for what evaluation fills in.

    Attributes
    ----------
    op : Op or None
        What computes it; None for a leaf and once evaluated.
    inputs : tuple of Read or numpy.generic
        Operands; with `masked` the last one is a bool mask over the region.
    region : geometry
        What is written.
    old : Expr or None
        The value that the bytes outside the region (and under a False mask) come from.
    covers : bool
        The region is every byte, once, and there is no mask: `old` is not needed, only its buffer.
    nbytes : int
        Size of the whole storage.
    buf : Buffer or None
        The bytes, once they exist.
    readers : list of weakref to Expr, or None
        Nodes that read this value (ask `waiting`).
    home : weakref to the Storage whose current value this is (or was); None while it is being made
    replaced : bool
        A write is about to give its storage another value, or has.
    errors : the error state of the call, or None for NumPy's default
    loc : where the user's program made it (`srcloc`); None where `op` raises no floating-point flags
    spared : bool
        Computed once without being stored, because its array seemed to be a temporary.
    serial : int
        Program order.  (A node that stands for several has so many `inner` numbers before its own.)
    depth, weight : int
        Pending nodes below: on the longest path, and in total (shared ones counted again).
    epoch, index : scratch slots for walks (`epoch` says which walk `index` belongs to)
    """

    __slots__ = (
        "op", "inputs", "region", "old", "covers", "masked", "nbytes", "buf", "readers", "home",
        "replaced", "errors", "loc", "spared", "serial", "depth", "weight", "epoch", "index", "__weakref__",
    )
    depth: int
    weight: int

    def __init__(
        self,
        op: Op,
        inputs: tuple[Read | numpy.generic, ...],
        region: numpy.ndarray,
        old: Expr | None = None,
        masked: bool = False,
        errors: Any = None,
        loc: Loc | None = None,
        inner: int = 0,
    ) -> None:
        self.op: Op | None = op
        self.inputs = inputs
        self.region: numpy.ndarray | None = region
        self.old = old
        self.masked = masked
        self.buf: Any = None
        self.readers: list[weakref.ref[Expr]] | None = None
        self.home: weakref.ref[Any] | None = None
        self.errors = errors
        self.loc = loc
        self.spared = self.replaced = False
        self.epoch = -1
        self.index = 0
        self.serial = next(_serials) if not inner else next(itertools.islice(_serials, inner, None))
        COUNT.nodes_built += 1 + inner
        # All fields are set before another thread can find this node among the readers of its inputs.
        self.depth = self.weight = 1
        if old is None:
            self.covers = True
            self.nbytes = region.nbytes
            if self.nbytes >= PROBED:
                probe(region)
            COUNT.bytes_numpy += self.nbytes
        else:
            self.nbytes = old.nbytes
            whole = not masked and op.__class__ is not Scatter
            self.covers = whole and region.nbytes == old.nbytes and is_dense(region)
        me = weakref.ref(self)
        depth = weight = 0
        # Enlisting is written out twice: a call for each input would cost what all the rest does.
        # (No call between look and change: there another thread might come in.)
        late = False
        for i in inputs:
            if i.__class__ is Read:
                value = i.expr
                readers = value.readers
                if readers is None:
                    value.readers = [me]
                else:
                    readers.append(me)
                    n = len(readers)
                    if n >= 64 and not n & (n - 1):
                        value.waiting()
                    if value.replaced and value is not old:
                        late = True
                if value.op is not None:
                    weight += value.weight
                    if value.depth > depth:
                        depth = value.depth
        if old is not None and not self.covers:
            readers = old.readers
            if readers is None:
                old.readers = [me]
            else:
                readers.append(me)
                n = len(readers)
                if n >= 64 and not n & (n - 1):
                    old.waiting()
            if old.op is not None:
                weight += old.weight
                if old.depth > depth:
                    depth = old.depth
        self.depth = depth + 1
        self.weight = weight + 1
        if late:
            self.recapture()

    def recapture(self) -> None:
        """Read what is there now: between the capture of a value and this node another thread wrote.

        So the readers of a value are always older than the write that replaced it.  Whoever shares an
        array among threads writes elsewhere than others read; for this reader, both values are alike."""
        with LOCK:
            if self.op is not None:
                self.follow()
                self.serial = next(itertools.islice(_serials, getattr(self.op, "inner", 0), None))

    def follow(self) -> None:
        """Read the current values of the storages, where there are newer ones."""
        self.inputs = tuple([self._moved(i) for i in self.inputs])

    def _moved(self, i: Read | numpy.generic) -> Read | numpy.generic:
        """An input, reading the current value of its storage.  (Other nodes may share the given one.)"""
        if not isinstance(i, Read) or not i.expr.replaced or i.expr is self.old or i.expr.home is None:
            return i
        home = i.expr.home()
        if home is None:
            return i
        me = weakref.ref(self)
        value: Expr = home.value
        if i.expr.readers is not None:
            i.expr.readers.remove(me)
        if value.readers is None:
            value.readers = [me]
        else:
            _enlist(value, me)
        return Read(value, i.geo)

    @classmethod
    def leaf(cls, buf: Any) -> Expr:
        """A value that exists already."""
        self = cls.__new__(cls)
        self.op = self.region = self.old = self.readers = self.home = self.errors = self.loc = None
        self.inputs = ()
        self.masked = self.spared = self.replaced = False
        self.covers = True
        self.buf = buf
        self.nbytes = buf.nbytes
        self.epoch = -1
        self.index = self.depth = self.weight = 0
        self.serial = next(_serials)
        return self

    def instead(
        self, op: Op, inputs: tuple[Read | numpy.generic, ...], region: numpy.ndarray, nbytes: int
    ) -> Expr:
        """A new array's node in this one's place in program order: what it reads is as old.

        (So it is right to read a value that was replaced since, and nothing is captured anew.)"""
        made = self._beside(region, self.serial, nbytes)
        made.turn(op, inputs)
        return made

    def _beside(self, region: numpy.ndarray, serial: int, nbytes: int) -> Expr:
        """A node of the same call that is yet to be told what it computes."""
        made = Expr.__new__(Expr)
        made.op, made.region, made.old, made.covers, made.masked = None, region, None, True, False
        made.buf = made.readers = made.home = None
        made.errors, made.loc, made.serial, made.nbytes = self.errors, self.loc, serial, nbytes
        made.spared = made.replaced = False
        made.depth, made.weight, made.epoch, made.index = self.depth, self.weight, -1, 0
        return made

    def before(
        self, op: Op, inputs: tuple[Read | numpy.generic, ...], region: numpy.ndarray, old: Expr | None,
        serial: int,
    ) -> Expr:
        """One of the nodes that this one stands for (`calls`)."""
        made = self._beside(region, serial, region.nbytes if old is None else old.nbytes)
        made.become(op, inputs, region, old)
        return made

    def become(
        self, op: Op, inputs: tuple[Read | numpy.generic, ...], region: numpy.ndarray, old: Expr | None
    ) -> None:
        """Compute something, perhaps in the place of a value that nobody else will ask for."""
        self.region, self.old = region, old
        self.covers = old is None or (region.nbytes == old.nbytes and is_dense(region))
        if old is not None:
            old.replace()
            if not self.covers:
                _enlist(old, weakref.ref(self))
        self.turn(op, inputs)

    def turn(self, op: Op, inputs: tuple[Read | numpy.generic, ...]) -> None:
        """Compute the same in another way."""
        self.op, self.inputs = op, inputs
        me = weakref.ref(self)
        for i in inputs:
            if i.__class__ is Read:
                if i.expr.readers is None:
                    i.expr.readers = [me]
                else:
                    _enlist(i.expr, me)

    def needs(self) -> list[Expr]:
        """The values that must exist before this one can be computed."""
        if self.op is None:
            return []
        found = [i.expr for i in self.inputs if i.__class__ is Read]
        if not self.covers and self.old is not None:
            found.append(self.old)
        return found

    def pending(self, ends: Callable[[Expr], bool] | None = None) -> list[Expr]:
        """This node and all pending ones below, oldest first; but none below one that `ends` the walk."""
        found: dict[int, Expr] = {}
        todo = [self]
        while todo:
            node = todo.pop()
            if node.op is None or node.serial in found:
                continue
            found[node.serial] = node
            if ends is None or not ends(node):
                for i in node.inputs:                   # (`needs`, written out)
                    if i.__class__ is Read and i.expr.op is not None:
                        todo.append(i.expr)
                if not node.covers and node.old is not None:
                    todo.append(node.old)
        return [found[serial] for serial in sorted(found)]

    def weigh(self) -> None:
        """Count the pending nodes below anew: some of them were computed."""
        for node in self.pending():
            depth = weight = 1
            op = node.op
            if op.__class__ is not Map:         # (a call, perhaps)
                depth += getattr(op, "depth", 0)
                weight += getattr(op, "inner", 0)
            most, old = 0, node.old
            for i in node.inputs:
                if i.__class__ is Read and i.expr.op is not None:
                    weight += i.expr.weight
                    if i.expr.depth > most:
                        most = i.expr.depth
            if old is not None and old.op is not None and not node.covers:
                weight += old.weight
                most = max(most, old.depth)
            node.depth, node.weight = depth + most, weight

    def waiting(self, reader: Expr | None = None) -> list[Expr]:
        """Pending nodes that still read this value, oldest first.

        The references are weak: a reader whose result nobody can ask for any more does not count."""
        readers = self.readers
        if not readers:
            return []
        # (Others may add to the list, and take from it.  `tuple` would ask for memory once it knows where the
        # items are, and that may run finalizers.)
        known = [*readers]
        alive = []
        refs = []
        for ref in known:
            node = ref()
            if node is not None and node.op is not None:
                refs.append(ref)
                if node is not reader:
                    alive.append(node)
        n = len(known)
        if len(refs) < n:
            try:
                if readers[n - 1] is known[-1]:
                    readers[:n] = refs          # (no call between look and change)
            except IndexError:                  # somebody else has taken the dead ones out
                pass
        return alive

    def replace(self) -> None:
        """A write is about to make another value of the storage: who reads this one from now on is late."""
        if self.readers is None:
            self.readers = []           # so that new readers come through `_enlist`
        self.replaced = True

    def done(self, buf: Any) -> None:
        """Mark as evaluated: `buf` holds the bytes, and nothing else is kept alive."""
        self.buf = buf
        self.op = self.region = self.old = None
        self.inputs = ()
        self.depth = self.weight = 0

    def __repr__(self) -> str:
        state = "leaf" if self.op is None else f"{self.op}"
        return f"<Expr {self.serial} {state}>"


def _enlist(value: Expr, reader: weakref.ref[Expr]) -> bool:
    """One more reader; is it too late?  A value may be read for ever: whenever the list has doubled, the
    dead ones go."""
    readers = value.readers
    assert readers is not None
    readers.append(reader)
    n = len(readers)
    if n >= 64 and not n & (n - 1):
        value.waiting()
    return value.replaced


def is_dense(geo: numpy.ndarray) -> bool:
    """Does the geometry visit each byte of its extent exactly once?"""
    flags = geo.flags
    if flags.forc:
        return True
    step = geo.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(geo.strides, geo.shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= n
    return True


_serials = itertools.count(1)
