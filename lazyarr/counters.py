"""What happened, as plain numbers: the one place where the engine's events are counted.

In:  `COUNT.name += 1` wherever an event happens.   Out: `counters()`, a snapshot.
Counts are what tests assert and what `--stats` prints; nothing reads them to decide anything.  (Whoever waits
for many small calls hears of each.)
"""

from __future__ import annotations

from lazyarr.slot_words import ANSWERED, WAITING

NAMES = (
    "nodes_built",          # Expr nodes made by calls
    "recalled",             # calls of NumPy's Python code whose nodes were made without running it
    "nodes_run",            # Expr nodes evaluated
    "node_bound",           # evaluations because the pending graph grew too large
    "memory_bound",         # evaluations because pending nodes kept too many bytes alive
    "plans",                # evaluations that were planned anew, not by a known structure
    "unplanned",            # evaluations that NumPy did, since no plan was worth its price yet (`worth`)
    "hastened",             # times that calls became NumPy's: to make nodes took too long (`pace`, `direct`)
    "reshaped",             # others whose nodes are where they were in a plan of other extents
    "assembled",            # groups of these whose programs were made; others share those of groups like them
    "bodies",               # of these, those whose bodies were written: others had one of another shape's
    "fused_ops",            # ops that ran inside native kernels
    "native_launches",      # kernel launches
    "parallel_launches",    # of these, the ones that used more than one thread
    "replays",              # launches that NumPy did again, to tell which op raised a flag
    "numpy_loop_blocks",    # blocks of elements that kernels handed to NumPy's inner loops: calls of those
    "numpy_eager",          # small results computed by NumPy at the call
    "numpy_fallbacks",      # calls that only NumPy can do
    "scalar_interpreted",   # evaluations of a scalar function without its machine code
    "compiles",             # kernels compiled by LLVM
    "hot_compiles",         # kernels compiled once more, better, in the background
    "hot_swaps",            # kernels that such code has taken the place of
    "disk_hits",            # kernels loaded from the object cache on disk
    "memory_hits",          # kernels found loaded
    "traces",               # kinds of calls that compiled functions can replay
    "instances",            # others, of arrays of other lengths, for which a trace was there
    "traced_calls",         # calls of compiled functions that were replayed
    "misfits",              # such calls that the function itself had to do after all
    "loop_blocks",          # blocks of iterations of Python's loops that machine code began
    "parallel_blocks",      # of these, the ones whose iterations were shared among threads
    "bytes_numpy",          # results of the calls that made nodes: NumPy allocates each of them
    "bytes_allocated",      # asked of the allocator
    "bytes_recycled",       # of these, from pages used before
    "bytes_fresh",          # of these, from fresh pages (small blocks are neither)
)
STAGES = ("plan", "compile", "run", "fallback")


class Counters:
    """One int per name of `NAMES`, and the seconds spent in each of `STAGES`."""

    __slots__ = (*(name for name in NAMES if name != "numpy_eager"), "by_python", "seconds")

    by_python: int
    """What of `numpy_eager` is counted here; the rest, in the slots."""

    nodes_built: int
    recalled: int
    nodes_run: int
    node_bound: int
    memory_bound: int
    plans: int
    unplanned: int
    hastened: int
    reshaped: int
    assembled: int
    bodies: int
    fused_ops: int
    native_launches: int
    parallel_launches: int
    numpy_loop_blocks: int
    replays: int
    numpy_fallbacks: int
    scalar_interpreted: int
    compiles: int
    hot_compiles: int
    hot_swaps: int
    disk_hits: int
    memory_hits: int
    traces: int
    instances: int
    traced_calls: int
    misfits: int
    loop_blocks: int
    parallel_blocks: int
    bytes_numpy: int
    bytes_allocated: int
    bytes_recycled: int
    bytes_fresh: int
    seconds: dict[str, float]

    def __init__(self) -> None:
        self.reset()

    @property
    def eager(self) -> int:
        """The same, while somebody waits for many."""
        return self.by_python

    @eager.setter
    def eager(self, count: int) -> None:
        self.by_python = count
        for hear in WAITING:
            hear()

    @property
    def numpy_eager(self) -> int:
        return self.by_python + ANSWERED.value

    def reset(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)       # (never anything else: machine code looks into it)
        for name in Counters.__slots__:
            if name != "seconds":
                setattr(self, name, 0)
        ANSWERED.value = 0


COUNT = Counters()


def counters() -> dict[str, int | float]:
    """Return all counters as a new dict.

    Returns
    -------
    dict
        Event counts by name, and seconds as ``seconds_<stage>``.
    """
    found: dict[str, int | float] = {name: getattr(COUNT, name) for name in NAMES}
    found.update((f"seconds_{stage}", spent) for stage, spent in COUNT.seconds.items())
    return found


def reset() -> None:
    """Set all counters to zero."""
    COUNT.reset()
