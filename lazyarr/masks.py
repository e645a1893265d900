"""x[mask]: how many elements are kept is known at the call, since shapes are; the elements wait.

In:  an array and a bool array of its shape.   Out: a lazy array of a Compress node.
One kernel computes the mask and counts it, block by block.  A mask that ends with the call is not stored
where computing it again, when the elements are packed, moves less memory than storing it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr.arrays import Unsupported, capture, fresh_array, is_pending, managed, ndarray, now, plain, wrap
from lazyarr.codegen.ranks_words import ELEMENTS, LINE
from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.dtypes import char_of
from lazyarr.elementwise import at_call, made, operand
from lazyarr.error_state import prompt
from lazyarr.expr import BLOCK, COMPRESS, HEAD, Compress, Expr, Map, Read
from lazyarr.gather import kept_by, take
from lazyarr.geometry import fresh, offset_of, same
from lazyarr.habits import MEDIUM
from lazyarr.movement import ravel
from lazyarr.ops import flags, native, row
from lazyarr.outlook import caches_hold, counting, outlook, was_fed
from lazyarr.pace import may_try
from lazyarr.packing import PACKING, count_kept, fits, is_medium, may_pack, pack, packed
from lazyarr.storage import Storage, evaluate
from lazyarr.values import Buffer, is_held

STORED_BYTES = 2
"""Memory that one element of a mask moves when it is stored and read."""

HIDDEN = 8.0
"""Work (`ops.Op.cost`) on one element that hides behind the loads of an array."""

FEW = 64
"""NumPy finds few elements, one of so many, at memory's speed; more cost it a mispredicted branch each."""

SAMPLE = 1 << 10
"""Elements of a mask that tell whether it keeps few."""

FEWER = 512
"""Of arrays beyond the caches: there each of them is waited for."""

PICKED = 8
"""Few elements of what exists are NumPy's up to so many times the usual size."""


def compressed(x: ndarray, mask: ndarray) -> ndarray:
    """x[mask]."""
    if at_call(x.geo.size, (x, mask)) or not x.geo.ndim or _packs(x, mask):
        return _at_call(x, mask)
    if _exist(x, mask):
        few = FEW if x.geo.nbytes <= caches_hold() else FEWER
        if _seems(few, now(mask)) and (n := count_kept(now(mask))) * few <= x.geo.size:
            return _at_call(x, mask, n)
    given, kept = capture(x), capture(mask)
    storage = mask.storage
    if storage is not None and storage.dying and not _cheap(kept.expr, given):
        storage.dying = False
    blocks = -(-x.geo.size // BLOCK)
    ranks = _counted(given, kept, blocks)
    if ranks is None:
        known, launches = outlook(given, kept), COUNT.native_launches
        tally = counting(given, kept, known)
        COUNT.bytes_numpy -= tally.nbytes       # a result that NumPy does not have
        ranks = Read(tally, known.ranks)
        evaluate([tally])
        n = known.told(tally, COUNT.native_launches > launches)
        if n and n * x.geo.itemsize <= 8 * current.eager_elements and may_try() and not prompt():
            was_fed(tally.serial, False)        # (results so small do not wait, whoever reads them)
            found = _left(tally, blocks, n, x.geo.dtype)
            if found is not None:
                return found
    else:
        n = int(ranks.expr.buf.memory.view(numpy.int64)[blocks])
    if not n:
        nothing: ndarray = wrap(numpy.empty(0, x.geo.dtype))
        return nothing
    if n * FEW <= x.geo.size and at_call(x.geo.size, (x, mask), PICKED):
        return _at_call(x, mask, n)
    made(n)
    return fresh_array(COMPRESS, (given, kept, ranks), fresh((n,), x.geo.dtype))


def rows_kept(x: ndarray, mask: ndarray) -> ndarray | None:
    """x[mask], for a mask of the first axes, where both exist and rows are short; None otherwise."""
    if mask.geo.size > MEDIUM * current.eager_elements or not _exist(x, mask):
        return None
    return _at_call(x, mask)


def _alone(ranks: Read, blocks: int) -> Read:
    """Ranks with nothing behind them."""
    words = ranks.expr.buf.memory.view(numpy.int64)[: ranks.geo.size]
    if not words[blocks + 1 :].any():
        return ranks
    buf = Buffer.new(ranks.geo.nbytes)
    copy = buf.memory.view(numpy.int64)
    copy[: blocks + 1], copy[blocks + 1 :] = words[: blocks + 1], 0
    return Read(Expr.leaf(buf), ranks.geo)


def _packs(x: ndarray, mask: ndarray) -> bool:
    """Is an array that exists packed at the call, though it is no small one?  (A mask that is yet to be
    computed would be counted in its place, which takes as long.)"""
    return is_medium(x.geo.size) and not is_pending(x) and _is_code_there(x, mask)


def _exist(x: ndarray, mask: ndarray) -> bool:
    """May both be packed at the call, whatever their size?  (Of few elements only the lines in which they are
    are read.)"""
    return not is_pending(x) and not is_pending(mask) and _is_code_there(x, mask)


def _is_code_there(x: ndarray, mask: ndarray) -> bool:
    if not may_try() or prompt():
        return False
    if PACKING.usual():
        return fits(x.geo, mask.geo)
    PACKING.hear(nbytes=x.geo.nbytes)
    return False


def _seems(few: int, mask: numpy.ndarray) -> bool:
    """Does a mask keep no more than one of so many elements, as some of them tell?"""
    some = mask.reshape(-1)[:: -(-mask.size // SAMPLE)]
    return count_kept(some) * few <= some.size


def _at_call(x: ndarray, mask: ndarray, n: int | None = None) -> ndarray:
    """x[mask], of what exists (by now); `n`: so many elements."""
    COUNT.eager += 1
    given, flags = now(x), now(mask)
    if not may_pack(given, flags):
        found: ndarray = wrap(packed(given, flags))
        made(found.geo.size)
        return found
    n = count_kept(flags) if n is None else n
    made(n * (given.size // flags.size))
    shape = (n, *given.shape[flags.ndim :])
    if not n:
        return plain(numpy.empty(shape, given.dtype))
    size = math.prod(shape)
    small = size * given.itemsize <= 8 * current.eager_elements or char_of(given.dtype) is None
    if small or (DIRECT.on and size <= DIRECT.reach):   # (what slots make then is plain, and what they read)
        real = numpy.empty(shape, given.dtype)
        pack(given, flags, real)
        return plain(real)
    geo = fresh(shape, given.dtype)
    buf = Buffer.new(geo.nbytes)                # (recycled: fresh pages would take as long as this)
    pack(given, flags, buf.real(geo))
    COUNT.bytes_numpy += geo.nbytes
    return managed(Storage(Expr.leaf(buf)), geo)


def _left(tally: Expr, blocks: int, n: int, dtype: numpy.dtype) -> ndarray | None:
    """A copy of the elements that counting has kept behind the ranks, if it has: a node and its evaluation
    would take longer."""
    buf, head = tally.buf, 8 * (blocks + 1)
    if not buf.memory[head : head + 8 * HEAD].view(numpy.int64)[ELEMENTS]:
        return None
    at = (buf.address + head + 8 * HEAD + LINE - 1 & -LINE) - buf.address
    COUNT.eager += 1
    return plain(numpy.ndarray(n, dtype, buf.memory, at).copy())


def _counted(x: Read, mask: Read, blocks: int) -> Read | None:
    """What was counted for another array that is read through a mask, and still waits: until it is computed
    nobody writes to the mask.  What was kept of that one is not this one's."""
    for node in mask.expr.waiting():
        op, inputs = node.op, node.inputs       # (another thread may compute it meanwhile)
        if isinstance(op, Compress) and inputs:
            other, given, ranks = inputs
            assert isinstance(given, Read) and isinstance(ranks, Read)
            if given.expr is mask.expr and same(given.geo, mask.geo):
                if other.expr is x.expr and same(other.geo, x.geo):             # type: ignore[union-attr]
                    return ranks
                return _alone(ranks, blocks)
    return None


def _cheap(mask: Expr, x: Read) -> bool:
    """Is it better to compute a mask twice than to store it?  It must not warn twice, either."""
    if mask.old is None and _in_memory(x.expr) and _reads_alone(mask, x):
        return _is_free(mask.op) and row(mask.op.name).cost <= HIDDEN    # type: ignore[union-attr]
    known = {_place(x)}
    if not is_held(x.expr):
        known.update(_place(read) for node in _below(x.expr) for read in _loads(node))
    moved, work = 0.0, 0.0
    for node in _below(mask):
        op = node.op
        if node.old is not None or not _is_free(op):
            return False
        work += row(op.name).cost               # type: ignore[union-attr]
        for read in _loads(node):
            if _place(read) not in known:
                known.add(_place(read))
                moved += min(1.0, read.expr.nbytes / mask.nbytes / read.geo.itemsize) * read.geo.itemsize
    return moved <= STORED_BYTES and work <= HIDDEN


def _is_free(op: Any) -> bool:
    """Is it compiled, and raises no flags?"""
    return op.__class__ is Map and not flags(op.name, op.sig) and native(op.name, op.sig)


def _reads_alone(mask: Expr, x: Read) -> bool:
    """Does it read nothing but what is kept or not, as it is read there?  (Most masks do.)"""
    for i in mask.inputs:
        if i.__class__ is Read and (i.expr is not x.expr or i.geo is not x.geo):
            return False
    return True


def _place(read: Read) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    return id(read.expr), read.geo.shape, read.geo.strides, offset_of(read.geo)


def _below(value: Expr) -> Iterator[Expr]:
    """The pending nodes of which only `value` is made, itself first."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        node = todo.pop()
        if node.serial in seen or node.op is None:
            continue
        seen.add(node.serial)
        yield node
        todo += [i.expr for i in node.inputs if isinstance(i, Read) and not _in_memory(i.expr)]


def _loads(node: Expr) -> list[Read]:
    return [i for i in node.inputs if isinstance(i, Read) and _in_memory(i.expr)]


def _in_memory(value: Expr) -> bool:
    """Does it exist, or will it be stored?"""
    return value.op is None or is_held(value)


def unpacked(value: ndarray, mask: Read) -> tuple[Map, tuple[Any, ...]] | None:
    """What ``a[mask] = value`` computes where the mask is True, if `value` is ``b[mask]``, or one native
    operation on such: the operation and its inputs over the whole mask."""
    if value.storage is None:
        return None
    node = value.storage.value
    if node.op is None or node.masked or node.region is None or not same(value.geo, node.region):
        return None
    char = char_of(value.geo.dtype)
    if isinstance(node.op, Compress):
        return (Map("copy", f"{char}->{char}"), node.inputs[:1]) if _is_under(node, mask) else None
    if not isinstance(node.op, Map) or not node.covers or not native(node.op.name, node.op.sig):
        return None
    if node.op.sig.partition("->")[2] != char:
        return None
    inputs = tuple([_source(i, mask) for i in node.inputs])
    return None if None in inputs else (node.op, inputs)


def _source(i: Any, mask: Read) -> Any:
    """An input of an operation on packed elements, over the whole mask; None if it is none."""
    if not isinstance(i, Read):
        return i
    node = i.expr
    packed = isinstance(node.op, Compress) and node.region is not None and same(i.geo, node.region)
    return node.inputs[0] if packed and _is_under(node, mask) else None


def _is_under(node: Expr, mask: Read) -> bool:
    """Are a compression's elements those that this mask keeps, of an array that still has that value?

    (Whoever reads a value must be older than the write that replaces it.)"""
    source, given = node.inputs[:2]
    assert isinstance(source, Read) and isinstance(given, Read)
    return not source.expr.replaced and given.expr is mask.expr and same(given.geo, mask.geo)


def _mask_and(condition: Any, a: Any) -> tuple[ndarray, ndarray]:
    """A bool array and another array."""
    mask, x = operand(condition), operand(a)
    if mask.__class__ is not ndarray or x.__class__ is not ndarray or mask.geo.dtype != bool:
        raise Unsupported
    return mask, x


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """numpy.compress along all axes, with a condition for each element, or along one of several."""
    mask, x = _mask_and(condition, a)
    along_all = axis is None or (axis == 0 and x.ndim == 1)
    if out is None and not along_all and mask.geo.ndim == 1:
        return take(x, kept_by(mask)[0], axis)
    if out is not None or not along_all or mask.geo.shape != (x.geo.size,):
        raise Unsupported
    return compressed(ravel(x), mask)


def extract(condition: Any, arr: Any) -> Any:
    """numpy.extract, with a condition of the array's shape."""
    mask, x = _mask_and(condition, arr)
    if mask.geo.shape != x.geo.shape:
        raise Unsupported
    return compressed(x, mask)
