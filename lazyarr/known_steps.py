"""Steps of evaluations met before: launches that lack nothing but addresses and the scalars of each call.

In:  a step of a plan that was run.   Out: `KnownStep`; `Bound`, one launch with all that it takes.
A kernel of its own and one that runs others in row blocks are the same here: words to copy, words to fill,
memory for the time, somewhere to jump to.  So what is left for each launch (`ready.launched`) is short:
where large data went through the caches, the interpreter's code and objects are out of them, and what need
not be looked at saves several times what it takes otherwise.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lazyarr.calls import Call, Made
from lazyarr.codegen.abi import Layout
from lazyarr.fusion.program import Program
from lazyarr.kernels import Kernel
from lazyarr.late import late
from lazyarr.launch import Prepared, program_key, put_scalar, stores_past
from lazyarr.launch_rows import Ready, rows_key
from lazyarr.plan import RowBlocks, Step
from lazyarr.records import NamedTuple, dataclass
from lazyarr.threading.limits import get_num_threads

if TYPE_CHECKING:
    from lazyarr.known_kept import counted, of_fed, of_keep, of_tally
else:
    late(globals(), known_kept="counted of_fed of_keep of_tally")      # (few programs have such launches)

Source = tuple[int, int]
"""A runtime scalar: node and number of the input."""


@dataclass(slots=True, eq=False)
class Bound:
    """A launch."""

    words: array[int]
    """A template, with the constants that are part of the plan."""
    addresses: tuple[tuple[int, int, int], ...]
    """The words for addresses: whose memory, and how many bytes behind its begin."""
    scalars: tuple[tuple[Sequence[int], Source], ...]
    """The first words of each runtime scalar."""
    memory: tuple[tuple[tuple[int, ...], int], ...]
    """The words for addresses of memory for the time of the launch, and its bytes."""
    entry: int
    chunks: int
    threads: int
    combine: int
    """Address of what combines partial results; 0 where nothing does."""
    combine_chunks: int
    raised: tuple[tuple[int, int], ...]
    """For each part: the word that collects flags, and those that its ops can raise."""
    kernels: tuple[Kernel, ...]
    """For each part."""
    ops: int
    keep: Any
    """What else has code that is run."""
    inside: tuple[tuple[int, int], ...] = ()
    """Words that say where others lie, and how many bytes behind the first one that is."""
    combine_at: int = 0
    """Likewise where the words of what combines begin."""
    also: tuple[tuple[int, int], ...] = ()
    """Further words that collect flags, of the first part."""
    constants: tuple[tuple[int, Any], ...] = ()
    """Scalars in the template, and their first words."""
    counts: dict[int, Bound] | None = None
    """Of what is fed with kept elements, and has no words yet: this launch for numbers of these (`counted`).
    Else None."""


class KnownStep(NamedTuple):
    """A step that is one launch; its nodes are an evaluation's, some of which may stand for several."""

    step: Step
    stored: tuple[int, ...]
    others: tuple[int, ...]
    """Its nodes that are not stored."""
    held: tuple[int, ...]
    """Values whose memory a result might take, or that wait for the end of row blocks, were they not held."""
    streamed: tuple[int, ...]
    """Results that may be stored past the caches where their pages are warm."""
    bound: list[Bound | None]
    """The launch where pages are cold, or warm."""
    places: Places
    kept: int | None
    """The node that compresses, where a fold is fed by one: the launch goes by how many elements it keeps."""


class Whereabouts(Protocol):
    """Where values and constants of a plan's nodes are."""

    def home(self, number: int) -> int | None: ...
    def constant(self, given: Any) -> Any: ...


class Places:
    """Where the nodes of a plan are in an evaluation in which some of them stand for several."""

    def __init__(self, calls: Mapping[int, Call], count: int) -> None:
        self.at: dict[int, int] = {}
        """The evaluation's nodes by the plan's numbers."""
        self.made: dict[int, Made] = {}
        """What calls are made of, by the plan's numbers."""
        self.first: dict[int, int] = {}
        """And the number of the first node of each one's call."""
        number = 0
        for k in range(count):
            call = calls.get(k)
            if call is not None:
                for j, made in enumerate(call.nodes):
                    self.made[number + j], self.first[number + j] = made, number
                number += call.inner
            self.at[number] = k
            number += 1
        self.count = number

    def home(self, number: int) -> int | None:
        """Whose memory a value lies in: its own, or that of the last node of its call, written over it; None
        where that is none of the evaluation's nodes."""
        while number >= 0 and number not in self.at:
            first, made = self.first[number], self.made.items()
            over = [k for k, one in made if self.first[k] == first and one.old == number - first]
            if len(over) != 1:
                return None
            number = over[0]
        return self.at[number] if number >= 0 else number

    def constant(self, given: Any) -> Any:
        """A runtime scalar: itself, or where it is found."""
        if given.__class__ is not tuple:
            return given
        number, at = given
        made = self.made.get(number)
        return (self.at[number], at) if made is None else made.inputs[at]


def known_step(step: Step, places: Places, over: Sequence[tuple[int, int]] = ()) -> KnownStep | None:
    """What is ready of a step; None if it is no such launch.  `over` says which nodes write over others."""
    rows, program = step.rows, step.program
    if any(k in step.stored and (old in step.stored or old not in step.members) for k, old in over):
        return None                             # (a result may take the memory of what it writes over)
    if step.boxes or step.turns or step.ranks is not None or any(s.ranks is None for _, s in step.feeds):
        return None
    if (rows is None or rows.delay) if program is None else 0 in program.loops.shape:
        return None
    waiting = {k for each in step.reusable for k in each}.difference(step.members)
    if rows is not None:
        waiting.update(rows.early)
    homes = [places.home(k) for k in step.stored]
    held = [places.home(k) for k in waiting]
    streamed = [places.home(k) for k in _streamed(step)]
    mine = [(k, at) for k, at in places.at.items() if k in step.members]
    if None in (*homes, *held, *streamed) or any(at in homes and k not in step.stored for k, at in mine):
        return None                             # (a call's last node is not stored, but an earlier one is)
    found = KnownStep(
        step, _each(homes), tuple([at for _, at in mine if at not in homes]), _each(held), _each(streamed),
        [None, None], places, _kept(step, places),
    )  # fmt: skip
    return found if bound(found, False) or bound(found, True) else None


def _kept(step: Step, places: Places) -> int | None:
    folds = step.program is not None and "r" in step.program.parfor.dims
    return places.at.get(step.feeds[0][1].members[-1]) if step.feeds and folds else None


def _each(numbers: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(k for k in numbers if k is not None))


def _streamed(step: Step) -> list[int]:
    """What a step may store past the caches."""
    if step.rows is not None:
        return [part.step.operands[k] for part in step.rows.parts if part.streams for k in part.step.written]
    assert step.program is not None
    return [step.operands[k] for k in step.written] if stores_past(step.program) else []


def bound(known: KnownStep, warm: bool) -> Bound | None:
    """The launch of a step, which may store past the caches where pages are `warm`; None if no such one was
    prepared yet."""
    found = known.bound[warm]
    if found is None:
        found = known.bound[warm] = bound_to(known.step, known.places, warm, known.kept is None)
    return found


def bound_to(step: Step, places: Whereabouts, warm: bool, of_known_length: bool = True) -> Bound | None:
    """The launch of a step whose operands are found at some places, if such a one was prepared."""
    if step.rows is not None:
        return _of_rows(step.rows, places, warm)
    if step.program is None:
        return None
    if step.tallies:
        return of_tally(step, step.program, places)
    if step.keeps is not None:
        return of_keep(step, step.program, step.keeps, places)
    if not step.feeds:
        return _of_program(step, step.program, places, warm)
    found = of_fed(step, step.program, places, warm)
    return counted(found, step.program.loops.shape[0]) if found is not None and of_known_length else found


def _of_program(step: Step, program: Program, places: Whereabouts, warm: bool) -> Bound | None:
    p: Prepared | None = program.launches.get(program_key(warm))
    if p is None:
        return None
    words, scalars = p.words[:], list[tuple[Sequence[int], Source]]()
    for word, given in zip(p.scalars, step.constants, strict=True):
        put(words, (word,), places.constant(given), scalars)
    homes = [places.home(k) for k in step.operands]
    memory = ((Layout.SCRATCH,), p.scratch_bytes), ((p.partials_word,), p.partial_bytes)
    return None if None in homes else Bound(
        words, tuple(zip(p.pointers, homes, program.offsets, strict=True)),     # type: ignore[arg-type]
        tuple(scalars), tuple([(word, n) for word, n in memory if n]),
        p.kernel.address, p.chunks, p.threads, p.combine, p.combine_chunks,
        ((Layout.FLAGS, p.kernel.flags),), (p.kernel,), p.kernel.ops, p,
    )  # fmt: skip


def _of_rows(rows: RowBlocks, places: Whereabouts, warm: bool) -> Bound | None:
    ready: Ready | None = rows.launches.get(rows_key(warm, get_num_threads()))
    if ready is None:
        return None
    words, scalars, addresses = ready.words[:], list[tuple[Sequence[int], Source]](), []
    for part, mine in zip(rows.parts, ready.scalars, strict=True):
        for each, given in zip(mine, part.step.constants, strict=True):
            put(words, each, places.constant(given), scalars)
    for word, value in ready.addresses:
        home = places.home(value)
        if home is None:
            return None
        addresses.append((word, home, 0))
    return Bound(
        words, tuple(addresses), tuple(scalars), (((Layout.SCRATCH,), ready.memory_bytes),),
        ready.shell[ready.kernel], ready.chunks, ready.threads, 0, 0, tuple(ready.raised),
        tuple(ready.kernels[: len(rows.parts)]), ready.ops, ready,
    )  # fmt: skip


def put(
    words: array[int], places: Sequence[int], given: Any, scalars: list[tuple[Sequence[int], Source]]
) -> None:
    """Write a constant to a template, or note where one is to be written at each launch."""
    if given.__class__ is tuple:
        scalars.append((places, given))
    else:
        put_scalar(words, places, given)
