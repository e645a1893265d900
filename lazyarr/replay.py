"""Replay: which operations of a fused kernel raised the floating-point flags that the kernel reports.

In:  the nodes of a step whose kernel just ran, not finished yet, and the flags of all chunks together; of
     steps that run in row blocks, of each kernel.
Out: `flags.Late` warnings, in NumPy's words.
Where only one operation can raise what was raised, it did.  Else NumPy computes the nodes again, one by
one, in memory of their own, and says which did and what they are called.  That costs what NumPy would
have taken, so a step is replayed `MOST` times for a set of categories; later the last finding is assumed.
Where the kernel overwrote what an operation read (it ran in place), that one cannot be computed again.  If
none of the others raised a category, the finding of another run of the step, or else a guess by the table
below, has to do.  Where one of those in question ignores the category, nothing is said: better to miss a
warning than to give one that the program does not want.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from operator import or_

import numpy

from lazyarr.bufferize import Placement, copy_of
from lazyarr.counters import COUNT
from lazyarr.dtypes import char_of
from lazyarr.error_state import TEXTS
from lazyarr.expr import Expr, Map, Read, Reduce, Scan
from lazyarr.flags import BITS, Late, Listener, Raised, call_of, late, may_have_raised, warns
from lazyarr.fusion import reference
from lazyarr.geometry import same
from lazyarr.ops import flags, kind, told
from lazyarr.plan import Finding, Known, RowBlocks, Step
from lazyarr.records import NamedTuple
from lazyarr.values import Buffer

MOST = 4

LIKELY = {
    "divide": ["divide floor_divide remainder divmod fmod reciprocal log log2 log10 log1p power float_power "
               "arctanh"],
    "over": ["exp exp2 expm1 sinh cosh", "power float_power", "square multiply", "cast", "divide",
             "add subtract hypot ldexp logaddexp logaddexp2"],
    "under": ["exp exp2", "power float_power", "square multiply", "divide", "cast"],
    "invalid": ["sqrt log log2 log10 log1p arcsin arccos arccosh arctanh power float_power divide "
                "floor_divide remainder divmod fmod", "cast", "multiply", "accumulate", "subtract", "add"],
}  # fmt: skip
"""Operations that raise a category, the most likely first; of those in one row the earliest: what becomes NaN
or infinite there raises nothing any more further on.  Guesses go by it."""

RANKS = {
    key: {name: rank for rank, row in enumerate(rows) for name in row.split()} for key, rows in LIKELY.items()
}

Suspects = dict[str, dict[tuple[int, str], int]]
"""For each category, who may have raised it: call and name -> position among the members."""


class Watched(NamedTuple):
    """What is known of some members before (`replay_blocks`)."""

    of: set[tuple[int, str]]
    """Positions of members, and the category that they did not raise, unless it is among the findings."""
    finding: list[tuple[int, Raised]]


UNWATCHED = Watched(set(), [])


def explain(
    step: Step, members: Sequence[Expr], raised: Sequence[int], placement: Placement,
    watched: Watched = UNWATCHED,
) -> list[Late]:
    """The warnings for the flags that each kernel of a step raised."""
    every = reduce(or_, raised)
    keys = [key for key, bit in BITS.items() if every & bit and any(warns(n.errors, key) for n in members)]
    case: tuple[str | int, ...] = (*keys, *raised) if len(raised) > 1 else tuple(keys)
    known = step.raised.get(case, Known(MOST, None))
    finding = known.finding if keys else ()
    if keys and (known.left or watched.of or finding is None):
        spans = [range(len(members))] if step.rows is None else spans_of(step.rows)
        sure = [(at, one) for at, one in watched.finding if one.key in keys]
        suspects: Suspects = {}
        for key in keys:
            for span, bits in zip(spans, raised, strict=True):
                found = suspects_of(members, span, key) if bits & BITS[key] else {}
                if any(at in span and one.key == key for at, one in watched.finding):
                    continue            # (others of the kernel may have raised it as well)
                found = {who: at for who, at in found.items() if (at, key) not in watched.of}
                if len(found) == 1:
                    sure += [(at, Raised(key, _words(key, name))) for (_, name), at in found.items()]
                else:
                    suspects[key] = suspects.get(key, {}) | found
        known, finding = _found(members, {k: who for k, who in suspects.items() if who}, placement, known)
        finding = sorted([*sure, *finding], key=lambda each: BITS[each[1].key])     # as NumPy tells of a call
        if known.finding is not None:
            step.raised[case] = known._replace(finding=finding)
    return [each for at, one in finding or () for each in late(members[at], [one])]


def spans_of(rows: RowBlocks) -> list[range]:
    """Which members of the step each part has."""
    ends = list(accumulate(len(part.step.members) for part in rows.parts))
    return [range(begin, end) for begin, end in pairwise((0, *ends))]


def _found(
    members: Sequence[Expr], suspects: Suspects, placement: Placement, known: Known
) -> tuple[Known, Finding]:
    """What is known of the step from now on, and who of the suspects it was this time."""
    if not suspects:
        return Known(0, ()), ()
    wanted = {at for found in suspects.values() for at in found.values()}
    able = _able(members, placement) & wanted if known.left else set()
    finding: list[tuple[int, Raised]] = []
    if able:
        try:
            finding = [(at, one) for at, one in _replayed(members, able, placement) if one.key in suspects]
        except MemoryError:
            able = set()
    told = {one.key for _, one in finding}
    unsure = {
        key: left for key, found in suspects.items()
        if key not in told and (left := {who: at for who, at in found.items() if at not in able})
    }  # fmt: skip
    before = _guess(members, unsure) if known.finding is None else known.finding
    finding += [(at, one) for at, one in before if one.key in unsure]
    return (Known(known.left - 1, finding) if able else known), finding


def suspects_of(members: Sequence[Expr], span: range, key: str) -> dict[tuple[int, str], int]:
    """Who of a kernel's members may have raised a category."""
    found: dict[tuple[int, str], int] = {}
    for at in span:
        node = members[at]
        assert node.op is not None
        for name in _names(node, key) if may_have_raised(node.errors, key) else ():
            found.setdefault((call_of(node, node.op), name), at)
    return found


def _names(node: Expr, key: str) -> Iterator[str]:
    """What NumPy may call a node where it raises a category.

    A cast of inputs has a name of its own, one of the result has the operation's."""
    op, region = node.op, node.region
    if not isinstance(op, Map | Reduce | Scan) or region is None:
        return
    ins, _, outs = op.sig.partition("->")
    part = outs[op.part] if isinstance(op, Map) else outs
    given = [char_of(i.geo.dtype if isinstance(i, Read) else i.dtype) for i in node.inputs]
    cast = any(key in flags("copy", f"{a}->{b}") for a, b in zip(given, ins, strict=False))
    own = key in flags(op.name, op.sig) and not (key == "invalid" and _squares(node))
    own = own or key in flags("copy", f"{part}->{char_of(region.dtype)}")
    if isinstance(op, Reduce):
        if own or cast:
            yield "reduce"
    elif op.name == "copy":
        if own or cast:
            yield "cast"
    else:
        if own:
            yield "accumulate" if isinstance(op, Scan) else op.name
        if cast:
            yield "cast"


def _squares(node: Expr) -> bool:
    """Is it a real number times itself?  That is never an invalid operation, though its name may be."""
    op = node.op
    if not isinstance(op, Map) or op.name not in ("multiply", "square") or kind(op.sig[0]) == "c":
        return False
    x, y = node.inputs[0], node.inputs[-1 - node.masked]
    return isinstance(x, Read) and isinstance(y, Read) and x.expr is y.expr and same(x.geo, y.geo)


def _words(key: str, name: str) -> str:
    return f"{TEXTS[key]} encountered in {told(name)}"


def _guess(members: Sequence[Expr], suspects: Suspects) -> Finding:
    """The most likely one for each category; none where it may be one that is not to warn."""
    finding = []
    for key, found in suspects.items():
        ranks = RANKS[key]
        if all(warns(members[at].errors, key) for at in found.values()):
            who = min(found, key=lambda who: (ranks.get(who[1], len(ranks)), who[0]))
            finding.append((found[who], Raised(key, _words(key, who[1]))))
    return finding


def _replayed(
    members: Sequence[Expr], wanted: set[int], placement: Placement
) -> list[tuple[int, Raised]]:
    """Compute some members again, and what they are computed from."""
    needed = _needed(members, wanted, placement)
    uses = Counter(value.serial for at in needed for value in members[at].needs())
    temporaries: dict[int, Buffer] = {}
    finding: list[tuple[int, Raised]] = []
    COUNT.replays += 1
    for at in sorted(needed, key=lambda at: members[at].serial):
        node = members[at]
        listener = Listener()
        with numpy.errstate(all="log", call=listener):
            made = _compute(node, temporaries, uses, placement)
        if at in wanted:
            finding += [(at, one) for one in listener.raised]
        for value in node.needs():
            uses[value.serial] -= 1
            if not uses[value.serial]:
                temporaries.pop(value.serial, None)
        if uses[node.serial]:
            temporaries[node.serial] = made
    return finding


def _needed(members: Sequence[Expr], wanted: set[int], placement: Placement) -> set[int]:
    """What is computed for some members: themselves, and what they read that is not stored."""
    positions = {n.serial: at for at, n in enumerate(members)}
    here = _here(members, placement)
    needed: set[int] = set()
    todo = list(wanted)
    while todo:
        at = todo.pop()
        if at not in needed:
            needed.add(at)
            inside = (v.serial for v in members[at].needs() if v.serial in positions)
            todo += [positions[serial] for serial in inside if serial not in here]
    return needed


def _here(members: Sequence[Expr], placement: Placement) -> set[int]:
    """Serials of the members whose values the step stored, and did not overwrite."""
    gone = {*placement.passing(), *(value.serial for value in placement.taken.values())}
    return {n.serial for n in members if n.serial in placement.buffers and n.serial not in gone}


def _able(members: Sequence[Expr], placement: Placement) -> set[int]:
    """Members that can be computed again: there still is, or can be computed, all that they read."""
    inside = {n.serial for n in members}
    gone = {value.serial for value in placement.taken.values()}
    here = _here(members, placement)
    able: set[int] = set()
    for at in sorted(range(len(members)), key=lambda at: members[at].serial):
        read = {value.serial: value for value in members[at].needs()}
        if all(
            serial in here or (serial not in inside and value.buf is not None and serial not in gone)
            for serial, value in read.items()
        ):
            able.add(at)
            here.add(members[at].serial)
    return able


def _compute(
    node: Expr, temporaries: dict[int, Buffer], uses: Counter[int], placement: Placement
) -> Buffer:
    """One node by NumPy, in memory of its own."""
    op, region, old = node.op, node.region, node.old
    assert op is not None and region is not None

    def home(value: Expr) -> Buffer:
        return temporaries.get(value.serial) or placement.of(value)

    if node.covers or old is None:
        made = Buffer.new(node.nbytes)
    elif old.serial in temporaries and uses[old.serial] == 1:
        made = temporaries[old.serial]              # nobody else needs it
    else:
        made = copy_of(home(old))
    inputs = [home(i.expr).real(i.geo) if isinstance(i, Read) else i for i in node.inputs]
    mask = inputs.pop() if node.masked else True
    reference.run(op, made.real(region), tuple(inputs), mask)
    return made
