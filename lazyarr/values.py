"""The bytes behind values: buffers, who else may hold them, and the memory promise.

In:  nbytes, or foreign ndarrays.   Out: `Buffer`s.
Memory promise: bytes that only pending nodes keep alive (`LEDGER.kept`) never exceed the bytes of
live storages that are not allocated yet (`LEDGER.unallocated`), which NumPy would hold by now.
"""

from __future__ import annotations

import math
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy

from lazyarr.buffers import array, keep_warm, passing, ring
from lazyarr.counters import COUNT
from lazyarr.expr import LOCK, Expr
from lazyarr.forks import hold_at_forks
from lazyarr.geometry import address, offset_of
from lazyarr.resting import COLLECTING

if TYPE_CHECKING:
    from lazyarr.ring_pages import Pattern

hold_at_forks(LOCK)         # here: a fork takes the lock of `buffers`, taken inside this one, after it


class Bridge:
    """Flat bytes over an ndarray that we did not allocate.

    NumPy keeps this object, not the owner, as the base of our views, so the owner's reference
    count tells how many *others* hold the memory."""

    __slots__ = ("base", "__array_interface__")

    def __init__(self, owner: numpy.ndarray) -> None:
        if owner.flags.forc:                    # (nearly all are; the general case takes ten times as long)
            low = address(owner)
            high = low + owner.nbytes
        else:
            low, high = numpy.lib.array_utils.byte_bounds(owner)
        self.base = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (high - low,),
            "data": (low, not owner.flags.writeable),
        }

    def is_seen_below(self) -> bool:
        """Is the owner itself a view, of something that anybody else has?

        (`np.linspace` and others return views of what they have made; an array that a view refers to owns
        its memory, or nobody knows who does.)"""
        if self.base.base is None:
            return False
        return (
            type(self.base.base) is not numpy.ndarray or self.base.base.base is not None
            or sys.getrefcount(self.base.base) > ALONE
        )


class _Alone:
    memory = numpy.empty(0)


ALONE = sys.getrefcount(_Alone().memory)
"""References to an ndarray that only one attribute holds: that one, and getrefcount's argument."""


ALIGNED = 16
"""Addresses of our own memory are multiples of it, as those of malloc; no element asks for more."""

ORPHANS = 256
"""Of these so many are noted before those that are gone are looked for."""


class Ledger:
    """The memory promise in three numbers, kept up to date by every change of a storage."""

    __slots__ = ("kept", "unallocated", "orphans", "most")

    def __init__(self) -> None:
        self.kept = 0
        self.unallocated = 0
        self.orphans: list[weakref.ref[Expr]] = []
        """Of values that only pending nodes keep, most of which end with their readers."""

        self.most = ORPHANS
        """So many, and those that are gone are left out."""

    def orphaned(self, value: Expr, ref: Any = weakref.ref) -> None:        # (as in `Buffer.__del__`)
        """`value` lost its storage; if pending nodes read it, they alone keep its bytes alive."""
        buf = value.buf
        if buf is None:
            return
        if buf.unwritten:
            buf.forgo()
        elif value.readers and not buf.orphan and value.waiting():
            buf.orphan = True
            self.kept += buf.nbytes
            self.orphans.append(ref(value))
            if len(self.orphans) > self.most:
                self._thin_out()

    def _thin_out(self) -> None:
        alive, self.orphans = self.orphans, []          # (whatever ends meanwhile may add to the new list)
        try:
            alive = [ref for ref in alive if ref() is not None]
        finally:                                        # (a signal's handler may raise)
            self.orphans.extend(alive)                  # (the list of now: another thread may have taken one)
        self.most = max(ORPHANS, 2 * len(alive))


LEDGER = Ledger()


class _Gone:
    __slots__ = ("__weakref__",)


OWED: Any = weakref.ref(_Gone())
"""In the place of a value's home: a storage whose weak references the garbage collector has cleared.  It may
not have ended yet, so when it does, it takes its bytes off the ledger (nobody else knows of it)."""


class Buffer:
    """The bytes of one storage: flat `memory`, its address, and who else may hold it."""

    __slots__ = (
        "memory", "address", "nbytes", "bridge", "recycled", "orphan", "expected", "layout", "__weakref__",
    )  # fmt: skip

    unwritten = False
    comes_round = False
    """Is only what was used last there?"""

    def __init__(self, memory: numpy.ndarray, bridge: Bridge | None = None, recycled: bool = False) -> None:
        self.memory = memory
        self.address = address(memory)
        self.nbytes = memory.nbytes
        self.bridge = bridge
        self.recycled = recycled
        self.orphan = False

    @classmethod
    def new(cls, nbytes: int, recurs: bool = True) -> Buffer:
        self = cls.__new__(cls)
        self.memory, self.address, self.recycled = array(nbytes) if recurs else passing(nbytes)
        self.nbytes = nbytes
        self.bridge = None
        self.orphan = False
        return self

    @classmethod
    def borrow(cls, owner: numpy.ndarray) -> Buffer:
        bridge = Bridge(owner)
        return cls(numpy.asarray(bridge), bridge)

    @property
    def owner(self) -> numpy.ndarray:
        return self.memory if self.bridge is None else self.bridge.base

    def shared(self) -> bool:
        """Can anybody outside reach these bytes?  (A view refers to `memory` or to its owner.)"""
        if sys.getrefcount(self.memory) > ALONE:
            return True
        bridge = self.bridge
        return bridge is not None and (sys.getrefcount(bridge.base) > ALONE or bridge.is_seen_below())

    def is_odd(self) -> bool:
        """Does it begin where no memory of ours does?  (To some kernels that makes a difference.)"""
        return self.bridge is not None and bool(self.address % ALIGNED)

    def writeable(self) -> bool:
        """May these bytes be changed in place?"""
        return bool(self.memory.flags.writeable)

    def real(self, geo: numpy.ndarray) -> numpy.ndarray:
        """The ndarray that `geo` describes, over these bytes."""
        return numpy.ndarray(geo.shape, geo.dtype, self.memory, offset_of(geo), geo.strides)

    def __del__(
        self, references: Any = sys.getrefcount, alone: int = ALONE, keep: Any = keep_warm,
        ledger: Ledger = LEDGER, collecting: Any = COLLECTING,
    ) -> None:
        # (Of garbage this is one finalizer among others, which may still use the memory.)
        # The names are arguments: at exit a module's own may be gone.
        try:
            orphan = self.orphan
        except AttributeError:                  # half made: an interrupt came
            return
        if orphan:
            ledger.kept -= self.nbytes
        if self.bridge is None and references(self.memory) <= alone and not collecting.now:
            keep(self.memory, self.address)


class Unwritten(Buffer):
    """A buffer that takes its memory when somebody first asks for it, to store something or to look:
    `np.empty`.  From then on it is an ordinary one, so its bytes are arbitrary, but stay what they are.

    The storage that it is made for counts as not allocated yet (`expected`) until then, or until a
    write gives it another value, which counts instead."""

    __slots__ = ()

    unwritten = True

    layout: numpy.ndarray
    """The array that it was made for: what is written to parts of it goes along these axes."""

    def __init__(self, layout: numpy.ndarray, expected: bool = True) -> None:
        self.layout = layout
        self.nbytes = layout.nbytes
        self.bridge = None
        self.orphan = False
        self.expected = expected
        if expected:
            LEDGER.unallocated += self.nbytes
            COUNT.bytes_numpy += self.nbytes

    def __getattr__(self, name: str) -> Any:
        """`memory`, `address` or `recycled`: the others are set."""
        made = Buffer.new(self.nbytes)
        self.forgo()
        self.memory, self.address, self.recycled = made.memory, made.address, made.recycled
        self.__class__ = Buffer         # type: ignore[assignment]
        return getattr(self, name)

    def shared(self) -> bool:
        return False

    def __del__(self, *_: Any) -> None:
        """There is nothing to give back."""

    def forgo(self, ledger: Ledger = LEDGER) -> None:
        if self.expected:
            self.expected = False
            ledger.unallocated -= self.nbytes


class Ring(Buffer):
    """The bytes of values that live within one launch only (`buffers.Ring`)."""

    __slots__ = ()

    comes_round = True

    @classmethod
    def of(cls, kind: Pattern | None, nbytes: int) -> Buffer:
        """One of that pattern; an ordinary buffer where there is none."""
        found = None if kind is None else ring(kind, nbytes)
        return Buffer.new(nbytes) if found is None else cls(numpy.asarray(found))


class Positions(Buffer):
    """Addresses that stand for positions in a stream of random numbers (`draws`): nothing lies there, and
    nobody looks.  Nobody can write there, either, so no result takes its place."""

    __slots__ = ()

    def __init__(self, geo: numpy.ndarray) -> None:
        self.memory = numpy.ndarray(geo.nbytes, numpy.uint8, geo.base)
        self.memory.flags.writeable = False
        self.address = address(geo)
        self.nbytes = geo.nbytes
        self.bridge = None
        self.recycled = self.orphan = False

    def shared(self) -> bool:
        return False

    def __del__(self, *_: Any) -> None:
        """There is nothing to give back."""


def owner_of(x: numpy.ndarray) -> numpy.ndarray:
    """The ndarray that owns the memory behind x (strided tricks interpose other objects)."""
    owner = x
    base: Any = x.base
    while base is not None:
        if isinstance(base, numpy.ndarray):
            owner = base
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return owner


def results(value: Expr, before: int | None) -> list[Expr]:
    """The results, of calls older than serial `before`, to compute so that nothing older still
    reads this value.  Not the readers themselves: of (a * a).sum() the sum, so that a * a is freed."""
    limit = math.inf if before is None else before
    seen: set[int] = set()
    last: list[Expr] = []
    todo = value.waiting()
    while todo:
        node = todo.pop()
        if node.serial in seen or node.serial >= limit or node.home is None:
            continue                    # (without a home it is still being made, by another thread)
        seen.add(node.serial)
        ends = True
        for ref in [*(node.readers or ())]:             # (`Expr.waiting`, written out)
            reader = ref()
            if reader is not None and reader.op is not None and reader.serial < limit:
                todo.append(reader)
                ends = False
        if ends or is_held(node):
            last.append(node)
    return last


def written_below(value: Expr) -> list[Expr]:
    """The last pending values, down from a pending one, that were made by writing to a part of memory."""
    return [n for n in value.pending(_writes_a_part) if _writes_a_part(n)]


def _writes_a_part(value: Expr) -> bool:
    return value.old is not None and not value.covers


def settle(value: Expr, buf: Buffer) -> None:
    """It is computed, and lies there from now on."""
    held = is_held(value)
    if not held and COLLECTING.now and value.home is not None and value.home() is None:
        value.home = OWED
    if held:
        LEDGER.unallocated -= value.nbytes
    value.buf = buf                     # (`Expr.done`, written out: an interrupt would have it counted twice)
    value.op = value.region = value.old = None
    value.inputs = ()
    value.depth = value.weight = 0


def is_held(value: Expr) -> bool:
    """Is it the current value of a live storage, that the program can still ask for?"""
    home = value.home
    if home is None:
        return False
    storage = home()
    return storage is not None and storage.value is value


def is_kept(value: Expr) -> bool:
    """Is it worth its memory: held, and not by a temporary that dies with the call that evaluates?

    That is a guess (`Storage.dying`).  A value that was spared once is kept the next time, so a
    wrong guess costs one more computation, never a wrong result."""
    home = value.home
    if home is None:
        return False
    storage = home()
    return storage is not None and storage.value is value and (not storage.dying or value.spared)
