"""Evaluations met before: from what is asked for to machine code with the least Python there is.

In:  pending values that somebody asks for.   Out: the plan that was run before for such ones, its launches
prepared; or word of what is new (`Met`), by which the next one like it is known.

    look (nodes, leaves, one flat key) -> the plan -> one launch, of which only addresses are missing

For a hundred thousand elements a launch takes no longer than the Python around it, and several times as long
after large data went through the caches: what counts is how much code runs, and how many objects it looks at.
So closure, sinking, walk and plan are one loop here, for evaluations of few nodes that write to no memory of
before; the key says all that the key of a walk says of these.  (What writes over all of a value that is yet
to be computed, as ``x *= x`` does, makes a new one.)  All else goes the long way.
"""

from __future__ import annotations

import sys
import weakref
from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lazyarr import flags
from lazyarr.bufferize import Placement
from lazyarr.buffers import array, keep_warm
from lazyarr.calls import Call, written_out
from lazyarr.codegen.abi import Layout
from lazyarr.compiler import COMPILER
from lazyarr.config import plan_key
from lazyarr.counters import COUNT
from lazyarr.error_state import buffer_size, ignores
from lazyarr.expr import COMPRESS, EVALUATIONS, Expr, Gather, Read, Reduce
from lazyarr.fusion.conflict import SHARED
from lazyarr.fusion.structure import by_contents
from lazyarr.geometry import FRESH
from lazyarr.hot import ran
from lazyarr.interrupts import holding
from lazyarr.known_steps import Bound, KnownStep, Places, bound, known_step
from lazyarr.late import late
from lazyarr.launch import put_scalar
from lazyarr.plan import Plan, Walk
from lazyarr.plan_patterns import SIZES
from lazyarr.records import NamedTuple, dataclass
from lazyarr.reduce_order import DECIDED_EARLY
from lazyarr.srcloc import note_lines
from lazyarr.threading.run import parallel_for
from lazyarr.values import ALIGNED, LEDGER, Buffer

if TYPE_CHECKING:
    from lazyarr.known_kept import counted
    from lazyarr.outlook import was_fed
else:
    late(globals(), known_kept="counted", outlook="was_fed")

MOST = 64
"""Nodes: of more a launch takes longer than planning."""

MAX_KNOWN = 1024
"""Evaluations; all are forgotten when there are more."""


class Way(list[KnownStep | None]):
    """A plan's steps, as an evaluation takes them.  The plan holds it, all others look whether it is there:
    kernels go with the last plan that runs them."""

    __slots__ = ("__weakref__",)


@dataclass(slots=True, eq=False, repr=False)
class Met:
    """An evaluation, looked at.  (Nobody may print geometries, as of a tuple: no memory is there.)"""

    nodes: list[Expr]
    leaves: list[Expr]
    """None if there is no plan yet."""
    key: tuple[Any, ...]
    pins: list[Any]
    kept: bool
    """Does an array that seems to be a temporary hold a node that is not to be stored?"""
    calls: dict[int, Call]
    """Of the nodes that stand for several: what for, by number."""
    stored: list[bool]
    plan: Plan | None
    way: Way | None
    share: float | None = None
    """How much of the time for all nodes is the first one's, to NumPy; None where nobody asked."""
    ignored: list[bool] | None = None
    """Which nodes ask for no flag, where that makes a difference."""
    counted: tuple[Any, ...] | None = None
    """The key without the number of elements that a mask keeps, where it may be without."""
    over: tuple[tuple[int, int], ...] = ()
    """Which nodes write over all of which others, by number."""


class Folded(NamedTuple):
    """What remains of an evaluation whose calls were written out, for the next one like it."""

    key: tuple[Any, ...]
    pins: list[Any]
    calls: dict[int, Call]
    stored: list[bool]
    serials: list[int]
    """Of its nodes, which are the last ones of their calls."""


_known: dict[tuple[Any, ...], tuple[weakref.ref[Plan], weakref.ref[Way], list[Any]]] = {}
"""Plans that `planning` remembers, and which of their `ways`."""

_UNASKED: Any = None
"""Stands for what planning alone asks of a walk."""


def look(roots: Sequence[Expr]) -> Met | None:
    """The nodes to compute for pending `roots`, in program order, and their key; None if they go the long
    way.  (Written out, without calls: each would take as long as what it does.)"""
    if COMPILER.usable is False or sys.is_finalizing():
        return None
    found: dict[int, Expr] = {}
    todo = [*roots]
    while todo:
        node = todo.pop()
        serial = node.serial
        if serial in found:
            continue
        old = node.old
        if len(found) == MOST or (old is not None and (not node.covers or old.op is None)):
            return None
        found[serial] = node
        for i in node.inputs:
            if i.__class__ is Read:
                value = i.expr
                if value.op is not None:
                    todo.append(value)
                elif value.buf is None:         # overtaken by another thread's write
                    return None
    nodes = [*found.values()] if len(found) == 1 else [found[serial] for serial in sorted(found)]
    numbers = {id(n): k for k, n in enumerate(nodes)}
    wanted = set(map(id, roots))
    leaves: list[Expr] = []
    pins: list[Any] = []
    key: list[Any] = [plan_key(), buffer_size()]
    add, kept, early, packed = key.append, False, False, None
    calls: dict[int, Call] = {}
    stores: list[bool] = []
    over: tuple[tuple[int, int], ...] = ()
    for node in nodes:
        op: Any = node.op
        add(op)
        if op.__class__ is Call:
            calls[numbers[id(node)]] = op
            early = early or op.early
        elif op.__class__ is Reduce:
            early = early or op.name in DECIDED_EARLY
            if op.initial is not None:
                add(op.initial.tobytes())       # (-0.0 and 0.0 are equal)
        elif op is COMPRESS:
            packed = node
        for i in node.inputs:
            if i.__class__ is not Read:
                add(i.dtype.char)               # type: ignore[union-attr]
                continue
            value, geo = i.expr, i.geo
            k = numbers.get(id(value))
            if k is None:
                leaves.append(value)
                k = numbers[id(value)] = -len(leaves)
                if value.buf.is_odd():
                    add(value.buf.address % ALIGNED)
            elif k >= 0 and (geo is not value.region or op.__class__ is Gather):
                return None                     # it may sink
            add(k)
            if id(geo) in FRESH:
                pins.append(geo)
                add(id(geo))
            else:
                add(by_contents(geo))
        geo = node.region                       # type: ignore[assignment]
        if id(geo) in FRESH:
            pins.append(geo)
            add(id(geo))
        else:
            add(by_contents(geo))
        stored = id(node) in wanted
        if not stored:
            storage = None if node.home is None else node.home()
            if storage is not None and storage.value is node:
                stored = not storage.dying or node.spared
                kept = kept or not stored
            for ref in node.readers or ():
                reader = ref()
                if reader is not None and reader.op is not None and id(reader) not in numbers:
                    stored = True               # it needs the value
        add(stored)
        if node.old is not None:
            k = numbers.get(id(node.old))
            if k is None:
                return None
            over = *over, (len(stores), k)
            add((k,))                           # (no op looks like that)
        stores.append(stored)
    if over and calls:
        return None
    ignored = [ignores(node.errors) for node in nodes] if early else None
    if ignored:
        key += ignored
    whole = tuple(key)
    plan, way = _found(whole)
    any_count = None if packed is None else for_any_count(nodes, packed, key)
    if plan is None and any_count is not None:
        plan, way = _found(any_count)
        whole = whole if plan is None else any_count
    # (Who has no plan lets go of what is read as soon as that is over.)
    leaves = [] if plan is None else leaves
    return Met(nodes, leaves, whole, pins, kept, calls, stores, plan, way, None, ignored, any_count, over)


_NONE: tuple[weakref.ref[Plan] | None, weakref.ref[Way] | None, list[Any]] = (None, None, [])


def _found(key: tuple[Any, ...]) -> tuple[Plan | None, Way | None]:
    known, there, _ = _known.get(key, _NONE)
    if known is None or there is None:
        return None, None
    plan, way = known(), there()
    return (None, None) if plan is None or way is None else (plan, way)


def for_any_count(nodes: Sequence[Expr], packed: Expr, key: Sequence[Any]) -> tuple[Any, ...] | None:
    """A key without the number of elements that a mask keeps, if that is large, and no other extent.

    (Whether it decides something of the plan, `plan_patterns.kept_of` says.  Beyond the size of NumPy's
    buffers runs of folds are as long as these, or nothing cuts them.)"""
    geo: Any = packed.region
    n, kept = geo.shape[0], dict[int, str]()
    if n <= SHARED or buffer_size() > SHARED:
        return None
    for node in nodes:
        for each in (node.region, *[i.geo for i in node.inputs if i.__class__ is Read]):
            assert each is not None
            if each.size == n:
                if each.shape != geo.shape or id(each) not in FRESH:
                    return None
                kept[id(each)] = each.dtype.char
    return (*key[:2], "kept", bisect_left(SIZES, n), *[kept.get(part, part) for part in key[2:]])


def written(met: Met) -> tuple[Folded, list[Expr]]:
    """Write out the calls of an evaluation: what remains of it, and the nodes to compute."""
    folded = Folded(met.key, met.pins, met.calls, met.stored, [node.serial for node in met.nodes])
    nodes = [each for node in met.nodes for each in written_out(node)]
    met.nodes.clear()                           # (who called has the same list)
    met.leaves.clear()
    return folded, nodes


def note(met: Met | Folded, plan: Plan, w: Walk) -> None:
    """Remember the plan of an evaluation, which was run, all of its kernels being there.

    Not where rules look at constants or flags, which `look` does not, nor where somebody let go of an array
    since."""
    rules = w.tokens.rules
    if not plan.noted or rules.numbers or rules.flagless or w.key[:2] != met.key[:2]:
        return
    if isinstance(met, Met):
        if w.stored == met.stored:
            steps = [known_step(step, Places({}, len(met.stored)), met.over) for step in plan.steps]
            _enter(plan, _key_of(met, plan, steps), met.pins, Way(steps))
        return
    stored = [serial in w.asked for serial in met.serials]
    if stored == met.stored and len(w.asked) == sum(stored):
        places = Places(met.calls, len(met.stored))
        one = known_step(plan.steps[0], places) if len(plan.steps) == 1 else None
        _enter(plan, met.key, met.pins, Way([one]))


def _key_of(met: Met, plan: Plan, steps: list[KnownStep | None]) -> tuple[Any, ...]:
    """By which an evaluation is known: whatever a mask keeps, if its one launch takes any number of these."""
    one = steps[0] if len(steps) == 1 else None
    takes_any = plan.for_any_count and one is not None and one.kept is not None
    return (met.counted if takes_any else None) or met.key


MOST_WAYS = 16
"""Of one plan; all are forgotten when there are more."""


def _enter(plan: Plan, key: tuple[Any, ...], pins: list[Any], way: Way) -> None:
    if len(plan.ways) == MOST_WAYS:             # (calls that are noted anew are others each time)
        for each in [k for k, found in _known.items() if found[0]() is plan]:
            del _known[each]
        plan.ways.clear()
    if len(_known) >= MAX_KNOWN:
        _known.clear()
    plan.ways.append(way)
    _known[key] = weakref.ref(plan), weakref.ref(way), pins


def launched(met: Met, one: KnownStep, late: list[flags.Late]) -> bool:
    """Compute a step by one launch into fresh memory; False if it goes another way.

    Its results may lie elsewhere, or flags of calls have to be told apart.  Warnings to give are added to
    `late`.  (Written out: see `known_steps`.)"""
    nodes, leaves = met.nodes, met.leaves
    if one.step.shared and any(nodes[k].op is None for k in one.step.shared):
        return False                            # NumPy did the step that computed them before
    for k in one.held:
        value = nodes[k] if k >= 0 else leaves[-1 - k]
        storage = None if value.home is None else value.home()
        if storage is None or storage.value is not value:
            return False                        # it ends here: a result may take its place
    buffers = {}
    for k in one.stored:                        # (no comprehension: that is a function, too)
        buffers[k] = Buffer.new(nodes[k].nbytes)
    warm = bool(one.streamed)
    for k in one.streamed:
        warm = warm and buffers[k].recycled
    b = one.bound[warm] or bound(one, warm)
    if b is None:
        return False
    if one.kept is not None:
        node = nodes[one.kept]
        was_fed(node.inputs[2].expr.serial, b.keep.sums)    # type: ignore[union-attr]
        b = counted(b, node.region.shape[0])            # type: ignore[union-attr]
    words = b.words[:]
    for word, k, offset in b.addresses:
        buf = leaves[-1 - k].buf if k < 0 else buffers[k] if k in buffers else nodes[k].buf
        words[word] = buf.address + offset
    for places, (k, i) in b.scalars:
        put_scalar(words, places, nodes[k].inputs[i])       # type: ignore[arg-type]
    try:
        raised = entered(b, words)
    except Exception as error:
        note_lines(error, [nodes[k].loc for k in (*one.stored, *one.others)])
        raise
    if EVALUATIONS.are_overtaken():             # (by a handler: what was read may be something else by now)
        read = [leaves[-1 - k] if k < 0 else nodes[k] for _, k, _ in b.addresses]
        EVALUATIONS.go_on([nodes[k] for k in (*one.stored, *one.others)], read)
    if any(raised):
        if met.calls:
            assert met.way is not None
            met.way[:] = [None]                 # from now on they are written out: operations warn, not calls
            return False
        with holding():
            from lazyarr.replay import explain

        members = [nodes[k] for k in one.step.members]
        late += explain(one.step, members, raised, _placement(nodes, one, buffers))
    for k, buf in buffers.items():              # (first: see `engine._finish`)
        node = nodes[k]
        storage = None if node.home is None else node.home()
        if node.op is None:                     # (a signal's handler asked for it, and may have written since
            continue                            # to what was read here)
        if storage is not None and storage.value is node:
            LEDGER.unallocated -= node.nbytes
        node.buf = buf                          # (`Expr.done`, written out: no call since the look)
        node.op = node.region = node.old = None
        node.inputs = ()
        node.depth = node.weight = 0
    waiting: Collection[int] = ()
    if one.step.shared:
        waiting = _placement(nodes, one, buffers).waiting
    elif met.kept:
        waiting = _waiting(nodes, one)
    every = reduce(or_, raised)
    for k in one.others:
        node = nodes[k]
        if node.serial in waiting:
            node.spared = True
            node.errors = flags.told_again(node.errors, every) if every else flags.UNRAISED
        elif node.op is not None:
            node.done(None)
    COUNT.nodes_run += len(one.step.members)
    return True


def entered(b: Bound, words: Any) -> list[int]:
    """Run a launch whose words are filled but for what it needs beside; the flags that parts raised."""
    lent = []
    for mine, nbytes in b.memory:
        memory, place, _ = array(nbytes)
        for word in mine:
            words[word] = place
        lent.append((memory, place))
        del memory                              # (kept warm is what nobody else holds)
    at = words.buffer_info()[0]
    for word, offset in b.inside:
        words[word] = at + offset
    began = perf_counter()
    parallel_for(b.entry, at, b.chunks, b.threads)
    if b.combine:
        parallel_for(b.combine, at + b.combine_at, b.combine_chunks, 1)
    spent = perf_counter() - began
    while lent:
        keep_warm(*lent.pop())
    raised = []
    for word, own in b.raised:
        raised.append(words[word] & own)
    for word, own in b.also:
        raised[0] |= words[word] & own
    for kernel in b.kernels:
        if not kernel.heat.asked:
            ran(kernel, spent / len(b.kernels))
    COUNT.seconds["run"] += spent
    COUNT.memory_hits += len(b.kernels)
    COUNT.native_launches += 1
    COUNT.fused_ops += b.ops
    COUNT.numpy_loop_blocks += words[Layout.CALLS]
    return raised


def _waiting(nodes: list[Expr], one: KnownStep) -> set[int]:
    """Which of the others an array holds that seems to be a temporary, and what these need: by serial.

    (`bufferize.Placement`, written out.)"""
    waiting = set[int]()
    for k in reversed(one.others):
        node = nodes[k]
        storage = None if node.home is None else node.home()
        if node.serial in waiting or (storage is not None and storage.value is node):
            waiting.add(node.serial)
            for i in node.inputs:
                if i.__class__ is Read:
                    waiting.add(i.expr.serial)
    return waiting


def _placement(nodes: list[Expr], one: KnownStep, buffers: dict[int, Buffer]) -> Placement:
    members = [nodes[k] for k in sorted((*one.stored, *one.others))]
    serials = [{nodes[k].serial for k in those} for those in (buffers, one.step.staying)]
    placement = Placement(members, *serials)
    placement.buffers.update({nodes[k].serial: buf for k, buf in buffers.items()})
    return placement


def walk_of(met: Met, late: list[flags.Late]) -> Walk:
    """What the steps of a known plan go by."""
    return Walk(met.nodes, met.leaves, met.key, _UNASKED, _UNASKED, _UNASKED, late)
