"""Storages: program order, writes, and memory that others can see.

A `Storage` is the cell that NumPy calls the base; it holds the current value (an `Expr`) of one
allocation.  An array is (storage, geometry).  Reading captures the value of now; a write makes a
new value (`Storage.write`).  Since readers of an old value are older than the write that replaced
it, readers can always run first, and program order costs nothing.

In:  op descriptors with captured inputs.   Out: Exprs, evaluated at the call where they must be.
Always holds: memory that somebody outside can write is read and written at the call, in place.

Two kinds of arrays stand on this.  *Managed*: (storage, geometry) as above.  *Plain*: just a real
ndarray, for what is small (`arrays.stays_plain`; all of them with `jit='never'`) or not of a plain
dtype; there NumPy computes at the call, on the real memory, with its own aliasing, and the wrapper
adds next to nothing.  A plain array that is an operand of a lazy op is captured by `arrays.capture`
(a copy, it is small); a large foreign one gets a storage by `storage_of`.  Results of NumPy code that
nobody else holds become managed by `storage_of`, too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from lazyarr.config import OBSERVED, current
from lazyarr.counters import COUNT
from lazyarr.cuts import SELDOM, is_due, is_still_due
from lazyarr.error_state import Prompt
from lazyarr.expr import BROKEN, EVALUATIONS, LOCK, Expr, Map, Op, Read, is_dense, map_of
from lazyarr.geometry import address, fresh, geometry
from lazyarr.ops import may_raise
from lazyarr.resting import COLLECTING, Resting
from lazyarr.srcloc import Loc, here
from lazyarr.values import LEDGER, OWED, Buffer, Ledger, Unwritten, is_held, owner_of, results, written_below

SLACK = 1 << 20
"""Bytes that are not worth evaluating for."""

SMALL_WRITES = 16
"""So many small writes in a row are a loop over elements or rows: NumPy does the next ones at the call."""

REPEATED = 3
"""One from the same place as the one before counts for so many more: borders have lines of their own, or are
rows of which there are two or three."""

WRITEABLE = 0x400
"""NumPy's flag (NPY_ARRAY_WRITEABLE)."""

_evaluate: Any = None


def evaluate(roots: Iterable[Expr]) -> None:
    """Compute values (`materialize.evaluate`).

    Half of the time of ``import lazyarr`` would be the engine's: it waits until there is work."""
    global _evaluate
    if _evaluate is None:
        from lazyarr.interrupts import holding

        # (No fork meanwhile: a child would wait for the import for ever.  Handlers find a whole module.)
        with LOCK, Resting(), holding():
            from lazyarr.materialize import evaluate as _evaluate
    _evaluate(roots)


class Storage:
    __slots__ = ("value", "dying", "place", "repeats", "small_writes", "__weakref__")

    value: Expr
    dying: bool
    """Its only array seems to be a temporary that ends with the call under way."""
    small_writes: int
    """Pending ones in a row."""
    repeats: int
    """How many of them come from the same place of the program as the one before."""
    place: Loc | None
    """That of the last one."""

    def __init__(self, value: Expr) -> None:
        self.dying = False
        self.small_writes = self.repeats = 0
        self.place = None
        mine = weakref.ref(self)
        self.value = value              # (no call until it is counted: see `hold` and `__del__`)
        value.home = mine
        if value.op is not None:
            LEDGER.unallocated += value.nbytes
            for i in value.inputs:      # written to by another thread, which did not know this reader yet?
                if i.__class__ is Read and i.expr.replaced:
                    value.recapture()
                    break

    def hold(self, value: Expr) -> None:
        """Make `value` the current one."""
        old, mine = self.value, weakref.ref(self)
        # (No call until all is counted: an interrupt would leave a current value that nobody seems to hold.)
        self.value = value
        value.home = mine
        if value.op is not None:
            LEDGER.unallocated += value.nbytes
        if old.op is not None:
            LEDGER.unallocated -= old.nbytes
        elif old.buf is not None:
            LEDGER.orphaned(old)

    def __del__(                                # (arguments as in `Buffer.__del__`)
        self, ledger: Ledger = LEDGER, owed: Any = OWED, collecting: Any = COLLECTING, ref: Any = weakref.ref,
    ) -> None:  # fmt: skip
        try:
            value = self.value
        except AttributeError:                  # half made: an interrupt came
            return
        if value.op is not None or value.home is owed:
            ledger.unallocated -= value.nbytes
        if value.op is None:
            ledger.orphaned(value)
        if collecting.now:
            collecting.ended.append(ref(self))

    def write(
        self,
        region: numpy.ndarray,
        op: Op,
        inputs: tuple[Read | numpy.generic, ...],
        masked: bool = False,
        errors: Any = None,
        quiet: bool = False,
    ) -> None:
        """Replace `region` by what `op` computes, which may be known to raise no flags (`quiet`).

        The type checks are done: nothing below raises for the program's own mistakes."""
        size = region.size
        if not size:
            return
        loud = not quiet and may_raise(op, region.dtype.char)
        loc = here(3) if loud or OBSERVED else None
        with LOCK:                      # two threads may write to two parts of one array
            if DUE:
                catch_up()
            old = self.value
            choice = _choice(old, region, op, inputs) if masked else None
            if choice is not None:
                (op, inputs), masked = choice, False
            if old.readers is None:             # (`Expr.replace`, written out)
                old.readers = []
            old.replaced = True                 # before the node has its serial (see Expr.recapture)
            buf = old.buf
            if buf is not None:
                inputs = apart(inputs, region, buf)
            node = Expr(op, inputs, region, old, masked, errors, loc)
            seen, reads = buf is not None and buf.shared(), False
            for i in node.inputs:               # (`reads_shared`, written out)
                if i.__class__ is Read:
                    value = i.expr
                    reads = reads or value is old
                    seen = seen or (value.buf is not None and value.buf.shared())
            unmade = old.op is not None or buf.__class__ is Unwritten
            if choice is not None or (unmade and node.covers and not reads):
                node.old = None                 # nobody can ask for the old value
            self.hold(node)
            if seen or node.errors.__class__ is Prompt:
                self._computed(node, old)
                return
            bound(node)
            if size > current.eager_elements or current.jit != "auto":
                self.small_writes = self.repeats = 0
            elif self._loops(loc or here(3)):
                self.small_writes = self.repeats = 0
                evaluate([node])

    def _computed(self, node: Expr, old: Expr) -> None:
        """Compute a write at once: others see the memory that it reads or writes, or its warnings.

        It is the current value by then.  Else the one before would count as held, and be stored last, in the
        memory of both."""
        try:
            evaluate([node])
        finally:
            if node.op is not None:         # (where one of its warnings is an error, it is written)
                self.hold(old)

    def _loops(self, place: Loc | None) -> bool:
        """Do small writes, of which this is one more, come from a loop over elements or rows?"""
        self.small_writes += 1
        if place is not None and place == self.place:
            self.repeats += 1
        self.place = place
        return self.small_writes + REPEATED * self.repeats >= SMALL_WRITES

    def real(self, geo: numpy.ndarray) -> numpy.ndarray:
        """The bytes now, as an ndarray; only to look at, never to keep or to write."""
        with LOCK:                              # a write of another thread may take the buffer over
            buf: Buffer = self._made().buf
            return buf.real(geo)

    def _made(self) -> Expr:
        """The current value, which exists."""
        value = self.value
        while value.op is not None:
            evaluate([value])
            value = self.value                  # (a signal's handler may have written)
        return value

    def put(self, geo: numpy.ndarray, write: Callable[[numpy.ndarray], Any]) -> None:
        """Write at once: no other thread may move the bytes elsewhere meanwhile."""
        with LOCK:
            write(self.real(geo))

    def lend(self, geo: numpy.ndarray) -> numpy.ndarray:
        """A real ndarray for code outside.

        Pending readers go first: a write out there is not announced, and from now on the buffer
        is where the value lives."""
        with LOCK:
            value = self._made()
            while value.readers:
                evaluate(results(value, None))
                before, value = value, self._made()
                if value is before:
                    break
            buf: Buffer = value.buf
            real = buf.real(geo)
        if not geo.flags.writeable:
            real.flags.writeable = False
        KNOWN[id(buf.owner)] = self
        return real


KNOWN: weakref.WeakValueDictionary[int, Storage] = weakref.WeakValueDictionary()
"""id(owner of memory) -> the one Storage over it."""


def revive(ended: weakref.ref[Storage]) -> None:
    """Somebody may hold a storage that the garbage collector has finalized.

    Its weak references were cleared before, so without a new one nobody would know of it."""
    storage = ended()
    if storage is None:
        return
    value = storage.value
    mine = weakref.ref(value)

    def ends(_: Any) -> None:
        """It is finalized only once."""
        value = mine()
        if value is not None and value.op is not None:
            LEDGER.unallocated -= value.nbytes

    value.home = weakref.ref(storage, ends)
    if value.op is not None:
        LEDGER.unallocated += value.nbytes


COLLECTING.revive = revive


def storage_of(x: numpy.ndarray) -> Storage:
    """The storage over the memory of a real ndarray: the one that lent it, or a new one."""
    owner = owner_of(x)
    storage = KNOWN.get(id(owner))
    if storage is None or storage.value.buf is None or storage.value.buf.owner is not owner:
        storage = Storage(Expr.leaf(Buffer.borrow(owner)))
        KNOWN[id(owner)] = storage
    return storage


def geometry_in(storage: Storage, x: numpy.ndarray) -> numpy.ndarray:
    """The geometry of a real ndarray within the storage that holds its memory."""
    buf = storage.value.buf
    offset = address(x) - buf.address if x.size else 0
    writeable = x.flags.num & WRITEABLE         # (`x.flags.writeable` warns of what broadcast_arrays gave)
    if writeable and not offset and x.nbytes == buf.nbytes:
        usual = fresh(x.shape, x.dtype)         # (what was met before is known by its geometry)
        if usual.strides == x.strides and usual.dtype is x.dtype:
            return usual
    geo = geometry(x.shape, x.dtype, x.strides, offset, buf.nbytes)
    if not writeable:
        geo.flags.writeable = False
    return geo


def _choice(
    old: Expr, region: numpy.ndarray, op: Op, inputs: tuple[Any, ...]
) -> tuple[Map, tuple[Any, ...]] | None:
    """A masked write that moves elements to all of a value that waits, and has no memory yet: each element of
    the new value is one of two, and the old one need not be stored for the others to stay there."""
    if op.__class__ is not Map or old.op.__class__ is not Map or old.old is not None:
        return None
    if op.name != "copy" or op.sig[0] != op.sig[-1] or region.nbytes != old.nbytes or not is_dense(region):
        return None
    value, mask = inputs
    return map_of("where", f"?{op.sig[0]}{op.sig}"), (mask, value, Read(old, region))


def apart(inputs: tuple[Any, ...], region: numpy.ndarray, buf: Buffer | None) -> tuple[Any, ...]:
    """The inputs of a write; copies of those that lie in the memory written, but in another storage's.

    That takes two owners of one memory, as several views of a mapped file, so one of them is not ours; and
    that there is memory."""
    if buf is None or buf.unwritten:
        return inputs
    for i in inputs:
        read = i.expr.buf if i.__class__ is Read else None
        if read is not None and read is not buf and (read.bridge is not None or buf.bridge is not None):
            return tuple([_copied(each, region, buf) for each in inputs])
    return inputs


def _copied(given: Any, region: numpy.ndarray, buf: Buffer) -> Any:
    read: Buffer | None = given.expr.buf if given.__class__ is Read else None
    if read is None or read is buf:
        return given
    if not numpy.may_share_memory(read.real(given.geo), buf.real(region)):
        return given
    copy = Buffer.new(read.nbytes)
    copy.memory[:] = read.memory
    return Read(Expr.leaf(copy), given.geo)


def launch(node: Expr) -> None:
    """Keep a fresh node pending, or run it where it must not wait: it reads memory that somebody outside can
    write without telling us, or its warnings are awaited."""
    for i in node.inputs:               # (`bound`, written out: this runs for every node)
        if i.__class__ is Read:
            buf = i.expr.buf
            if buf is not None and buf.shared():
                evaluate([node])
                return
    if node.errors.__class__ is Prompt:
        evaluate([node])
        return
    if node.depth > 1 and (node.depth > SELDOM or node.depth > current.pending_nodes) and is_due(node):
        DUE.append(weakref.ref(node))
    if LEDGER.kept > LEDGER.unallocated + SLACK:
        settle()


DUE: list[weakref.ref[Expr]] = []
"""Nodes that made the pending graph too large.  They are computed at the next call: the temporaries of
the call that made them are gone then, and need no memory."""


def catch_up() -> None:
    """Compute what is due, before a new node is built upon it.

    In the middle of an expression that is what it stands on and must be stored anyway: parts that were
    written.  To store the value so far would cost memory, and a pass over it."""
    with LOCK:
        while DUE:
            value = DUE.pop()()
            if value is not None and value.op is not None and is_still_due(value):
                COUNT.node_bound += 1
                begun = EVALUATIONS.begun
                try:
                    ripe = _ripe(value)
                except BROKEN:
                    if EVALUATIONS.begun == begun:
                        raise
                    ripe = [value]              # (a signal's handler has computed some of it)
                evaluate(ripe)
                if value.op is not None and is_still_due(value):
                    evaluate([value])


def _ripe(value: Expr) -> list[Expr]:
    """What to compute of a value that is due: what it stands on, or itself where that takes less memory,
    since it stands on several arrays that nobody else needs."""
    from lazyarr.interrupts import holding

    with holding():                     # (see `evaluate`)
        from lazyarr.fusion.whole_launches import in_launches

    below = written_below(value)
    passing = sum(each.nbytes for each in below if not is_held(each))
    return [value] if passing > value.nbytes + SLACK else in_launches(below)


def bound(node: Expr) -> None:
    """The pending graph is bounded in nodes and in the memory that it keeps alive."""
    if (node.depth > SELDOM or node.depth > current.pending_nodes) and is_due(node):
        DUE.append(weakref.ref(node))
    if LEDGER.kept > LEDGER.unallocated + SLACK:
        settle()


def settle() -> None:
    """Evaluate what keeps more memory alive than NumPy would hold."""
    orphans, LEDGER.orphans = LEDGER.orphans, []
    for ref in orphans:
        value = ref()
        if value is not None and value.buf is not None:
            COUNT.memory_bound += 1
            evaluate(results(value, None))
