"""The text of a function of Python's that evaluates what is known at sight and takes one launch.

In:  where objects have their fields.   Out: LLVM IR.

    sighted(nodes, options) -> True: they are computed; None: this is for Python to do
                               False: likewise, but some may be computed by now

It does what `at_sight.at_sight` and `ready.launched` do, by the rows of `swift_sight`, which say what such
evaluations look like (`sight_rows`, `sight_looks`), and which words their launches take.
Memory for results comes first, since to make it may run the program's Python; then all has to look as it did.
From there to the launch nothing of Python's runs, nor from the launch's end till all fields are set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarr.codegen.abi import SCALAR_WORDS, Layout
from lazyarr.nodes_ir import Making, called, state
from lazyarr.nodes_words import Word
from lazyarr.object_fields import DATA, ITEMS, LENGTH, LIST_ITEMS, REFERENT, TYPE, VALUE
from lazyarr.sight_looks import LOOKS, Sighted
from lazyarr.sight_rows import HASH, Also, Launch, Number, Row
from lazyarr.threading.run import SLICE


def sighted(of: Any, name: str) -> Sighted:
    f = Sighted(name, (), of, public=True)
    roots, options = (f.load(f.args, 8 * k) for k in (0, 1))
    f.decline_if("ne", f.known(Also.BUSY), 0)
    root = f.load(f.load(roots, LIST_ITEMS))
    hashed = f.hashed(f.load(root, of.op), f.load(root, of.region), HASH)
    at = f.variable(f.load(f.nth(f.known(Also.HEADS), hashed)))
    with f.loop():
        with f.when("eq", f.get(at), 0):
            f.decline()
        f.leave_if("ne", f.within("@match", f.get(at), roots, options), 0)
        f.set(at, f.load(f.get(at), 8 * Row.NEXT))
    row, made = f.get(at), f.variable(0)
    held = list[str]()
    begin(f, row)

    def let_go() -> None:
        """Of results, and of values and the plan once these are held."""
        if held:
            f.within("@drop", f.known(Also.VALUES), f.load(row, 8 * Row.VALUES))
        for mine in held:
            f.on(Word.DECREF, mine)
        f.within("@drop", f.known(Also.RESULTS), f.get(made))
        f.store(0, f.words, 8 * Also.BUSY)

    with f.listed(row, Row.STORED, 2) as stored:
        memory = f.within("@called", f.known(Also.MEMORY), f.load(stored, 8))
        with f.when("eq", memory, 0):
            let_go()
            f.give(0)
        f.store(memory, f.nth(f.known(Also.RESULTS), f.get(made)))
        f.set(made, f.add(f.get(made), 1))
    with f.when("eq", f.within("@match", row, roots, options), 0):
        let_go()
        f.give(f.held(f.known(Word.FALSE)))
    launch = f.variable(f.within("@chosen", row))
    with f.when("eq", f.get(launch), 0):
        let_go()
        f.decline()
    with f.each(f.load(row, 8 * Row.VALUES)) as k:
        f.on(Word.INCREF, f.value(k))
    # (Whoever runs during the launch may have plans forgotten, with which their kernels go.)
    held += [f.held(f.load(f.load(row, 8 * ref), REFERENT)) for ref in (Row.PLAN, Row.WAY)]
    ran, took = timed(f, f.get(launch), root, let_go)
    with f.when("ne", f.within("@raised", f.get(launch)), 0):
        f.store(1, row, 8 * Row.OFF)            # (Python computes it again, and tells)
        f.on(Word.DECREF, took)
        let_go()
        f.give(f.held(f.known(Word.FALSE)))     # (a signal's handler may have asked for some)
    f.within("@count", f.get(launch), row, ran, took)
    first = f.load(f.add(row, f.load(row, 8 * Row.ORDER_AT)))
    f.store(f.of_c(Word.NUMBER, f.load(f.value(first), of.serial)), f.words, 8 * Also.FIRST)
    f.store(f.of_c(Word.NUMBER, f.load(row, 8 * Row.NUMBER)), f.words, 8 * Also.ROW)
    dropped = f.within("@finish", row)
    f.set(made, 0)                              # (the nodes have them)
    interrupted = signalled(f)
    f.within("@drop", f.known(Also.DROPS), dropped)
    warming = f.variable(0)
    with f.when("ne", f.load(row, 8 * Row.WARMING), 0):
        f.set(warming, f.held(f.load(row, 8 * Row.NUMBER)))
    let_go()                                    # (from here on the row may go)
    with f.when("ne", interrupted, 0):
        for mine in (took, f.get(warming)):
            f.on(Word.DECREF, mine)
        f.give(0)
    f.refuse_if("eq", f.within("@hear", f.get(warming), took), 0)
    f.give(f.held(f.known(Word.TRUE)))
    return f


def begin(f: Sighted, row: str) -> None:
    """A call is under way; helpers that sleep wake up."""
    f.store(1, f.words, 8 * Also.BUSY)
    threads = f.load(row, 8 * Row.THREADS)
    with f.when("sgt", threads, 1):
        f.on(Also.STIR, threads)                # (they take as long as all that is left till the launch)


def timed(f: Sighted, launch: str, root: str, let_go: Callable[[], None]) -> tuple[str, str]:
    """Fill a launch's words and run it: the answer of `launched`, and how long it took (a new float).

    The function ends, after it has let go of what it holds, where that raises an exception."""
    f.within("@bind", launch)
    began = f.of_c(Word.CALL, f.known(Also.CLOCK), 0, 0, 0)
    ran = f.variable(f.within("@launched", launch, root))
    with f.when("eq", f.get(ran), 0):
        f.on(Word.DECREF, began)
        let_go()
        f.give(0)
    ended = f.of_c(Word.CALL, f.known(Also.CLOCK), 0, 0, 0)
    took = f.of_c(Also.SUBTRACT, ended, began)
    for mine in (began, ended):
        f.on(Word.DECREF, mine)
    return f.get(ran), took


def signalled(f: Sighted) -> str:
    """Has a signal come whose handler raised an exception?

    A launch is where most of them arrive.  The next to look would be a finalizer of what is let go, where
    Python prints what a handler raises, and forgets it."""
    return f.by("and", f.of_c(Also.SIGNALS), 0xFFFFFFFF)                # (a C int)


def text(of: Any, name: str) -> str:
    """The module: the function, and those that it calls."""
    private: tuple[Callable[[Any], Making], ...] = (*LAUNCHING, *LOOKS, _done, _waits, _finish)
    return "\n".join([each.text() for each in (*[make(of) for make in private], sighted(of, name))])


# --------------------------------------------------------------------------------------------- its launch


def _chosen(of: Any) -> Sighted:
    """The launch for results whose pages are warm, or not; 0 if there is none."""
    f = Sighted("chosen", ("words", "row"), of)
    is_warm = f.variable(Row.WARM)
    with f.when("eq", f.load("%row", 8 * Row.STREAMED), 0):
        f.set(is_warm, Row.COLD)
    with f.listed("%row", Row.STREAMED) as number:
        buf = f.load(f.nth(f.known(Also.RESULTS), f.load(number)))
        with f.when("ne", f.load(buf, of.buffer_recycled), f.known(Word.TRUE)):
            f.set(is_warm, Row.COLD)
    launch = f.load(f.nth("%row", f.get(is_warm)))
    f.refuse_if("eq", launch, 0)
    f.give(f.add("%row", launch))
    return f


def _bind(of: Any) -> Sighted:
    """Fill the words of a launch."""
    f = Sighted("bind", ("words", "launch"), of)
    area, scratch = f.known(Also.AREA), f.known(Also.SCRATCH)
    template = f.add("%launch", f.load("%launch", 8 * Launch.WORDS_AT))
    with f.each(f.load("%launch", 8 * Launch.WORDS)) as k:
        f.store(f.load(f.nth(template, k)), f.nth(area, k))

    def put(word: str, at: str) -> None:
        f.store(word, f.nth(area, f.load(at)))

    with f.listed("%launch", Launch.READ, 3) as at:
        buf = f.load(f.value(f.load(at, 8)), of.buf)
        put(f.add(f.of_c(Word.NUMBER, f.load(buf, of.buffer_address)), f.load(at, 16)), at)
    with f.listed("%launch", Launch.WRITTEN, 3) as at:
        buf = f.load(f.nth(f.known(Also.RESULTS), f.load(at, 8)))
        put(f.add(f.of_c(Word.NUMBER, f.load(buf, of.buffer_address)), f.load(at, 16)), at)
    for real, where in ((Launch.REAL, Also.VALUES), (Launch.MADE, Also.RESULTS)):
        with f.listed("%launch", real, 3) as at:
            x = f.load(f.nth(f.known(where), f.load(at, 8)))
            put(f.add(f.load(x, DATA), f.load(at, 16)), at)
    for sequence, begin in ((Launch.MEMORY, scratch), (Launch.INSIDE, area)):
        with f.listed("%launch", sequence, 2) as at:
            put(f.add(begin, f.load(at, 8)), at)
    with f.listed("%launch", Launch.SCALARS, 4) as at:
        inputs = f.load(f.value(f.load(at, 8)), of.inputs)
        given = f.load(f.nth(inputs, f.load(at, 16)), ITEMS)
        low, high = f.variable(0), f.variable(0)
        for nbytes, repeats in ((1, 0x0101010101010101), (2, 0x0001000100010001), (4, 0x100000001), (8, 1)):
            with f.when("eq", f.load(at, 24), nbytes):
                f.set(low, f.by("mul", f.load(given, VALUE, f"i{8 * nbytes}"), repeats))
                f.set(high, f.get(low))
        with f.when("eq", f.load(at, 24), 16):
            f.set(low, f.load(given, VALUE))
            f.set(high, f.load(given, VALUE + 8))
        put_scalar(f, at, f.get(low), f.get(high))
    with f.listed("%launch", Launch.NUMBERS, 3) as at:
        bits = f.within("@becomes", f.value(f.load(at, 8)), f.load(at, 16))
        put_scalar(f, at, bits, bits)
    f.give(0)
    return f


def _becomes(of: Any) -> Sighted:
    """The bits of a number of Python's, as what a `Number` says; those of four bytes twice."""
    f = Sighted("becomes", ("words", "x", "kind"), of)
    bits = f.variable(f.load("%x", VALUE))
    with f.when("uge", "%kind", Number.INT):
        f.set(bits, f.of_c(Word.NUMBER, "%x"))
    with f.when("uge", "%kind", Number.INT_DOUBLE):
        value = f.op(f"sitofp i64 {f.get(bits)} to double")
        f.set(bits, f.op(f"bitcast double {value} to i64"))
    for single in (Number.SINGLE, Number.INT_SINGLE):
        with f.when("eq", "%kind", single):
            value = f.op(f"bitcast i64 {f.get(bits)} to double")
            value = f.op(f"fptrunc double {value} to float")
            value = f.op(f"zext i32 {f.op(f'bitcast float {value} to i32')} to i64")
            f.set(bits, f.by("mul", value, 0x100000001))
    f.give(f.get(bits))
    return f


def put_scalar(f: Sighted, at: str, low: str, high: str) -> None:
    """Write a scalar of two words to where an entry says (`launch.put_scalar`)."""
    first = f.nth(f.known(Also.AREA), f.load(at))
    for number in range(SCALAR_WORDS):
        f.store(high if number % 2 else low, first, 8 * number)


def _chunks(of: Any) -> Sighted:
    """Run all chunks of a kernel: 2 if on several threads, else 1; 0 if that raised an exception."""
    f = Sighted("chunks", ("words", "kernel", "at", "chunks", "threads", "root"), of)
    done, answer = f.variable(0), f.variable(1)
    mine = f.of_c(Also.SAVE)                    # (who waits for the interpreter goes on meanwhile)
    with f.when("sgt", "%threads", 1), f.when("sgt", "%chunks", 1):
        f.set(done, f.of_c(Also.PARALLEL, "%kernel", "%at", 0, "%chunks", "%threads", SLICE))
        f.set(answer, 2)
    with f.when("sle", f.get(done), 0):         # (somebody else uses the pool, perhaps)
        f.set(answer, 1)
        f.set(done, f.of_c(Also.SERIAL, "%kernel", "%at", 0, "%chunks", SLICE))
    f.on(Also.RESTORE, mine)
    with f.when("slt", f.get(done), "%chunks"):
        rest = f.made(Word.NEW_TUPLE, 6)
        numbers = ("%kernel", "%at", f.get(done), "%chunks", "%threads")
        for k, x in enumerate([f.held("%root"), *[f.of_c(Word.INT, number) for number in numbers]]):
            f.store(x, rest, ITEMS + 8 * k)
        told = f.within("@called", f.known(Also.REST), rest)
        f.on(Word.DECREF, rest)
        f.refuse_if("eq", told, 0)
        f.on(Word.DECREF, told)
    f.give(f.get(answer))
    return f


def _launched(of: Any) -> Sighted:
    """Run a launch whose words are filled; the answer is that of `chunks`."""
    f = Sighted("launched", ("words", "launch", "root"), of)
    area = f.known(Also.AREA)

    def said(word: int) -> str:
        return f.load("%launch", 8 * word)

    chunks, threads = said(Launch.CHUNKS), said(Launch.THREADS)
    answer = f.within("@chunks", said(Launch.ENTRY), area, chunks, threads, "%root")
    f.refuse_if("eq", answer, 0)
    with f.when("ne", said(Launch.COMBINE), 0):
        at = f.add(area, said(Launch.COMBINE_AT))
        combined = f.within("@chunks", said(Launch.COMBINE), at, said(Launch.COMBINE_CHUNKS), 1, "%root")
        f.refuse_if("eq", combined, 0)
    f.give(answer)
    return f


def _raised(of: Any) -> Sighted:
    """The flags that were raised, of those that count."""
    f = Sighted("raised", ("words", "launch"), of)
    found = f.variable(0)
    with f.listed("%launch", Launch.RAISED, 2) as at:
        flags = f.load(f.nth(f.known(Also.AREA), f.load(at)))
        f.set(found, f.by("or", f.get(found), f.by("and", flags, f.load(at, 8))))
    f.give(f.get(found))
    return f


# ------------------------------------------------------------------------------------------ what it leaves


def _hear(of: Any) -> Sighted:
    """Let Python know how long the kernels of a row have run, if it wants to; both references are taken."""
    f = Sighted("hear", ("words", "number", "took"), of)
    with f.when("eq", "%number", 0):
        f.on(Word.DECREF, "%took")
        f.give(1)
    heard = f.made(Word.NEW_TUPLE, 2)
    f.store("%number", heard, ITEMS)
    f.store("%took", heard, ITEMS + 8)
    answer = f.within("@called", f.known(Also.WARMED), heard)
    f.on(Word.DECREF, heard)
    f.refuse_if("eq", answer, 0)
    f.on(Word.DECREF, answer)
    f.give(1)
    return f


def _count(of: Any) -> Sighted:
    """Let counters know of a launch."""
    f = Sighted("count", ("words", "launch", "row", "ran", "took"), of)
    calls = f.load(f.known(Also.AREA), 8 * Layout.CALLS)
    counts = {
        of.count_memory_hits: f.load("%launch", 8 * Launch.KERNELS), of.count_native_launches: 1,
        of.count_parallel_launches: f.add("%ran", -1), of.count_fused_ops: f.load("%launch", 8 * Launch.OPS),
        of.count_nodes_run: f.load("%row", 8 * Row.MEMBERS), of.count_numpy_loop_blocks: calls,
    }  # fmt: skip
    for place, more in counts.items():
        with f.when("ne", more, 0):
            f.add_to(Word.COUNT, place, more)
    seconds, stage = f.load(f.known(Word.COUNT), of.count_seconds), f.known(Also.STAGE)
    total = f.of_c(Also.SUM, f.of_c(Word.LOOKUP, seconds, stage), "%took")
    f.of_c(Also.PUT, seconds, stage, total)
    f.on(Word.DECREF, total)
    f.give(0)
    return f


def _done(of: Any) -> Sighted:
    """Mark a node as evaluated; what it lets go of is noted behind so many others: how many are there now?"""
    f = Sighted("done", ("words", "node", "buf", "count"), of)
    new = {
        of.buf: "%buf", of.op: f.held(f.known(Word.NONE)), of.region: f.held(f.known(Word.NONE)),
        of.old: f.held(f.known(Word.NONE)), of.inputs: f.held(f.known(Also.NOTHING)),
        of.depth: f.held(f.known(Word.ZERO)), of.weight: f.held(f.known(Word.ZERO)),
    }  # fmt: skip
    first = f.nth(f.known(Also.DROPS), "%count")
    for k, (place, x) in enumerate(new.items()):
        f.store(f.load("%node", place), first, 8 * k)
        f.store(x, "%node", place)
    f.give(f.add("%count", len(new)))
    return f


def _finish(of: Any) -> Sighted:
    """The values exist: how many objects are to be let go.  What is stored goes first (`engine._finish`)."""
    f = Sighted("finish", ("words", "row"), of)
    none, count, number = f.known(Word.NONE), f.variable(0), f.variable(0)
    with f.listed("%row", Row.STORED, 2) as at:
        node, buf = f.value(f.load(at)), f.load(f.nth(f.known(Also.RESULTS), f.get(number)))
        f.set(number, f.add(f.get(number), 1))
        op = f.load(node, of.op)
        with f.when("eq", op, none):            # (a signal's handler asked for it: see `ready.launched`)
            f.store(buf, f.nth(f.known(Also.DROPS), f.get(count)))
            f.set(count, f.add(f.get(count), 1))
        with f.when("ne", op, none):
            with f.when("ne", f.within("@holder", node), 0):
                nbytes = f.of_c(Word.NUMBER, f.load(at, 8))
                f.add_to(Word.LEDGER, of.ledger_unallocated, f.by("sub", 0, nbytes))
            f.set(count, f.within("@done", node, buf, f.get(count)))
    is_kept = f.known(Also.KEPT)
    with f.when("ne", is_kept, 0), f.each(f.load("%row", 8 * Row.VALUES)) as k:
        f.store(0, f.nth(f.known(Also.MARKS), k))
    with f.listed("%row", Row.OTHERS) as at:
        place, waits = f.load(at), f.variable(0)
        with f.when("ne", is_kept, 0):
            f.set(waits, f.within("@waits", place, f.load("%row", 8 * Row.VALUES)))
        node = f.value(place)
        with f.when("eq", f.get(waits), 0), f.when("ne", f.load(node, of.op), none):
            f.set(count, f.within("@done", node, f.held(none), f.get(count)))
    f.give(f.get(count))
    return f


def _waits(of: Any) -> Sighted:
    """Is a node that is not stored to be computed again for whoever holds it, or needs it for that?  Then
    what it needs is marked (`ready._waiting`).  The later ones come first."""
    f = Sighted("waits", ("words", "place", "count"), of)
    node, marks = f.value("%place"), f.known(Also.MARKS)
    with f.when("eq", f.load(f.nth(marks, "%place")), 0):
        f.refuse_if("eq", f.within("@holder", node), 0)
    inputs = f.load(node, of.inputs)
    with f.each(f.load(inputs, LENGTH)) as j:
        given = f.load(f.nth(inputs, j), ITEMS)
        with (
            f.when("eq", f.load(given, TYPE), f.known(Word.READ)), f.each("%count") as k,
            f.when("eq", f.value(k), f.load(given, of.read_expr)),
        ):  # fmt: skip
            f.store(1, f.nth(marks, k))
    for place, word in ((of.spared, Word.TRUE), (of.errors, Also.UNRAISED)):
        before = f.load(node, place)
        f.store(f.held(f.known(word)), node, place)
        f.on(Word.DECREF, before)               # (a bool; error states, which are dicts of words)
    f.give(1)
    return f


def _drop(of: Any) -> Sighted:
    """Let go of so many objects."""
    f = Sighted("drop", ("words", "first", "count"), of)
    with f.each("%count") as k:
        f.on(Word.DECREF, f.load(f.nth("%first", k)))
    f.give(0)
    return f


LAUNCHING: tuple[Callable[[Any], Making], ...] = (
    called, state, _chosen, _becomes, _bind, _chunks, _launched, _raised, _count, _hear, _drop,
)  # fmt: skip
"""What takes a launch of a row."""
