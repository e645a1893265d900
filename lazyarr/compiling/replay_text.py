"""The text of a function of Python's that does a call of a replay.

In:  where objects have their fields.   Out: LLVM IR.

    replayed(row, arguments, options) -> what the compiled function returns (`calling.NOTHING` for None);
                                         None: this is for Python to do
                                         False: a floating-point flag was raised, or something has changed

It does what `short.Way`s do, by rows that `swift_replay` writes.  Memory for results comes first, since to
make it may run the program's Python; then all has to look as it did.  From there to the launch nothing of
Python's runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarr.compiling import entry
from lazyarr.compiling.calling import WARNED
from lazyarr.compiling.replay import COUNTED
from lazyarr.compiling.replay_words import (
    EXACT,
    INFINITE,
    MOST_PASSED,
    NUMBER_BYTES,
    SINGLE,
    Apart,
    Argument,
    Care,
    Kind,
    Passed,
    Replayed,
    Result,
    Source,
    Stage,
    Write,
)  # fmt: skip
from lazyarr.nodes_ir import Making, leaf, lies, whole
from lazyarr.nodes_words import Word
from lazyarr.object_fields import DATA, FLAGS, ITEMS, LENGTH, TYPE, VALUE, WRITEABLE
from lazyarr.sight_looks import Sighted, same
from lazyarr.sight_rows import Also, Row
from lazyarr.sight_text import LAUNCHING, begin, signalled, timed
from lazyarr.walk_words import MISSING


def replayed(of: Any, name: str, argument: int) -> Sighted:
    """The function; entries of arguments have so many words."""
    f = Sighted(name, (), of, public=True)
    row, args, options = f.load(f.load(f.args), DATA), f.load(f.args, 8), f.load(f.args, 16)
    f.decline_if("ne", f.known(Also.BUSY), 0)
    f.decline_if("eq", f.within("@fits", row, args, options), 0)
    made, asked, held = f.variable(0), f.variable(0), list[str]()
    begin(f, row)

    def let_go() -> None:
        """Of results, and of arguments once these are held."""
        if held:
            f.within("@drop", f.known(Also.VALUES), f.load(row, 8 * Row.VALUES))
        f.within("@drop", f.known(Also.RESULTS), f.get(made))
        f.store(0, f.words, 8 * Also.BUSY)

    def stop_if(how: str, x: Any, y: Any, answer: str | int = 0) -> None:
        with f.when(how, x, y):
            let_go()
            f.give(answer if answer == 0 else f.held(answer))       # type: ignore[arg-type]

    none, false = f.known(Word.NONE), f.known(Word.FALSE)
    with f.listed(row, Replayed.RESULTS, Result.END) as at:
        maker, memory = f.load(at, 8 * Result.MAKER), f.variable(0)
        with f.when("ne", maker, 0):
            f.set(asked, 1)
            f.set(memory, f.of_c(Word.CALL, maker, 0, 0, 0))
        with f.when("eq", maker, 0):
            dtype, axes, flags = (f.load(at, 8 * word) for word in (Result.DTYPE, Result.AXES, Result.FLAGS))
            kind, lengths = f.known(Word.REAL), f.add(at, 8 * Result.DIMS)
            f.set(memory, f.of_c(Also.NEW_ARRAY, kind, f.held(dtype), axes, lengths, 0, 0, flags, 0))
        stop_if("eq", f.get(memory), 0)
        f.store(f.get(memory), f.nth(f.known(Also.RESULTS), f.get(made)))
        f.set(made, f.add(f.get(made), 1))
    with f.when("ne", f.get(asked), 0):         # (NumPy's arrays are none that Python collects garbage for)
        stop_if("eq", f.within("@fits", row, args, options), 0, false)
    with f.each(f.load(row, 8 * Row.VALUES)) as k:
        f.on(Word.INCREF, f.value(k))
    held.append(args)
    run, told = f.load(row, 8 * Replayed.ENTRY), f.variable(0)
    with f.when("ne", run, 0):
        f.within("@saved", row, 1)
        raised = f.within("@entered", row)
        stop_if("eq", raised, MISSING, none)
        with f.when("ne", f.by("and", raised, WARNED), 0):
            f.within("@saved", row, 0)
            let_go()
            f.give(f.held(false))
        with f.when("eq", f.by("and", f.load(row, 8 * Replayed.CALLS), COUNTED - 1), 0):
            f.set(told, f.held(f.load(row, 8 * Row.NUMBER)))
    with f.listed(row, Replayed.STAGES) as at:
        stage = f.add(row, f.load(at))
        with f.listed(stage, Stage.TAKES) as of_memory:
            memory = f.of_c(Word.CALL, f.load(of_memory), 0, 0, 0)
            stop_if("eq", memory, 0)
            f.store(memory, f.nth(f.known(Also.RESULTS), f.get(made)))
            f.set(made, f.add(f.get(made), 1))
        launch = f.within("@chosen", stage)
        stop_if("eq", launch, 0, none)
        ran, took = timed(f, launch, args, let_go)
        with f.when("ne", f.within("@raised", launch), 0):
            f.on(Word.DECREF, took)
            let_go()
            f.give(f.held(false))
        f.within("@count", launch, stage, ran, took)
        with f.when("ne", signalled(f), 0):
            f.on(Word.DECREF, took)
            let_go()
            f.give(0)
        warming = f.variable(0)
        with f.when("ne", f.load(stage, 8 * Row.WARMING), 0):
            f.set(warming, f.held(f.load(stage, 8 * Row.NUMBER)))
        stop_if("eq", f.within("@hear", f.get(warming), took), 0)
        with f.listed(stage, Stage.ENDS) as ended:
            place = f.nth(f.known(Also.RESULTS), f.load(ended))
            over = f.load(place)
            f.store(f.held(none), place)
            f.on(Word.DECREF, over)

    number, answer = f.variable(0), f.variable(f.load(row, 8 * Replayed.ANSWER))
    with f.listed(row, Replayed.RESULTS, Result.END) as at:
        place = f.nth(f.known(Also.RESULTS), f.get(number))
        found = f.within("@given", at, f.load(place))
        stop_if("eq", found, 0)
        f.store(found, place)                   # (in the place of its memory, which it has taken)
        f.set(number, f.add(f.get(number), 1))
    constant = f.load(row, 8 * Replayed.ANSWER)
    with f.when("ne", constant, 0):
        f.on(Word.INCREF, constant)
    with f.when("ne", f.load(row, 8 * Replayed.IS_TUPLE), 0):
        count = f.load(row, 8 * Replayed.RESULTS)
        f.set(answer, f.of_c(Word.NEW_TUPLE, count))
        stop_if("eq", f.get(answer), 0)
        with f.each(count) as k:
            f.store(f.load(f.nth(f.known(Also.RESULTS), k)), f.nth(f.get(answer), k), ITEMS)
    with f.when("eq", f.get(answer), 0):
        f.set(answer, f.load(f.known(Also.RESULTS)))
    results = f.load(row, 8 * Replayed.RESULTS)
    first = f.nth(f.known(Also.RESULTS), results)
    f.within("@drop", first, f.by("sub", f.get(made), results))
    f.set(made, 0)                              # (results are the caller's)
    let_go()
    with f.when("ne", f.get(told), 0):          # (Python runs, and others may call this meanwhile)
        heard = f.within("@hear", f.get(told), f.held(f.known(Word.ZERO)))
        with f.when("eq", heard, 0):
            f.on(Word.DECREF, f.get(answer))
            f.give(0)
    f.give(f.get(answer))
    return f


def text(of: Any, argument: int, name: str) -> str:
    """The module: the function, and those that it calls."""
    private: tuple[Callable[[Any], Making], ...] = (
        *LAUNCHING, lies, whole, same, _saved, _entered, _given,
    )  # fmt: skip
    made = [*[make(of) for make in private], _fits(of, argument), replayed(of, name, argument)]
    return "\n".join([each.text() for each in made])


def _fits(of: Any, argument: int) -> Sighted:
    """Is a call what a row says?  The values of arguments, or what they are, are noted in order."""
    f = Sighted("fits", ("words", "row", "args", "options"), of)
    none = f.known(Word.NONE)
    f.refuse_if("ne", f.load("%row", 8 * Row.OPTIONS), "%options")
    f.refuse_if("ne", f.load(f.known(Word.OBSERVED), LENGTH), 0)
    f.refuse_if("ne", f.load("%args", LENGTH), f.load("%row", 8 * Replayed.ARGUMENTS))
    with f.listed("%row", Replayed.FIELDS, 2) as at:
        f.refuse_if("ne", f.load(f.load(at)), f.load(at, 8))
    with f.listed("%row", Replayed.NAMES, 3) as at:
        found = f.of_c(Word.LOOKUP, f.load(at), f.load(at, 8))
        with f.when("eq", found, 0):
            f.on(Word.CLEAR, None)              # (a key of the program's own type may raise when compared)
        f.refuse_if("ne", found, f.load(at, 16))
    errors = f.within("@state")
    f.refuse_if("eq", errors, MISSING)
    f.on(Word.DECREF, errors)                   # (`error_state` has it)
    f.refuse_if("ne", errors, none)
    number = f.variable(0)
    with f.listed("%row", Replayed.ARGUMENTS, argument) as at:
        x = f.load(f.nth("%args", f.get(number)), ITEMS)
        kind, value = f.load(at, 8 * Argument.KIND), f.variable(x)
        with f.when("eq", kind, Kind.NUMBER):
            f.refuse_if("ne", f.load(x, TYPE), f.load(at, 8 * Argument.SEEN))
            care = f.load(at, 8 * Argument.CARE)
            with f.when("eq", care, Care.SINGLE):
                bits = f.by("and", f.load(x, VALUE), (1 << 63) - 1)
                with f.when("ult", bits, INFINITE):
                    f.refuse_if("ugt", bits, SINGLE)
            with f.when("eq", care, Care.EXACT):
                n = f.of_c(Word.NUMBER, x)
                with f.when("eq", n, -1):       # (or it is larger than a word, which is an error)
                    f.on(Word.CLEAR, None)
                    f.give(0)
                f.refuse_if("ugt", f.add(n, EXACT), 2 * EXACT)
        with f.when("eq", kind, Kind.ITSELF):
            f.refuse_if("ne", x, f.load(at, 8 * Argument.SEEN))
        with f.when("eq", kind, Kind.NUMPYS):
            f.refuse_if("ne", f.load(x, TYPE), f.known(Word.REAL))
            f.refuse_if("eq", f.within("@lies", x, f.add(at, 8 * Argument.LOOK)), 0)
            f.refuse_if("ne", f.by("and", f.load(x, DATA), f.load(at, 8 * Argument.CARE)), 0)
        with f.when("ule", kind, Kind.PLAIN):
            f.refuse_if("eq", f.within("@whole", x), 0)
            storage, geo = f.load(x, of.array_storage), f.load(x, of.array_geo)
            with f.when("eq", kind, Kind.PLAIN):
                f.refuse_if("ne", storage, none)
                f.refuse_if("eq", f.within("@lies", geo, f.add(at, 8 * Argument.LOOK)), 0)
                odd = f.by("and", f.load(geo, DATA), f.load(at, 8 * Argument.CARE))
                f.refuse_if("ne", odd, 0)
                f.set(value, geo)
            with f.when("eq", kind, Kind.MANAGED):
                f.refuse_if("eq", storage, none)
                f.refuse_if("eq", f.within("@same", geo, f.load(at, 8 * Argument.SEEN)), 0)
                f.set(value, f.load(storage, of.storage_value))
                buf = f.load(f.get(value), of.buf)
                f.refuse_if("ne", f.load(buf, TYPE), f.known(Word.BUFFER))
                f.refuse_odd(buf)
        f.store(f.get(value), f.nth(f.known(Also.VALUES), f.get(number)))
        f.set(number, f.add(f.get(number), 1))
    with f.listed("%row", Replayed.WRITES, Write.END) as at:
        flags = f.load(f.value(f.load(at, 8 * Write.PLACE)), FLAGS, "i32")
        f.refuse_if("eq", f.by("and", flags, WRITEABLE), 0)
    with f.listed("%row", Replayed.APART, Apart.END) as at:
        mine, other = (
            f.load(f.value(f.load(at, 8 * place)), DATA) for place in (Apart.PLACE, Apart.OTHER)
        )  # fmt: skip
        begins = f.add(mine, f.load(at, 8 * Apart.BEGIN))
        with f.when("ult", begins, f.add(other, f.load(at, 8 * Apart.OTHER_UNTIL))):
            other_begins = f.add(other, f.load(at, 8 * Apart.OTHER_BEGIN))
            f.refuse_if("ult", other_begins, f.add(mine, f.load(at, 8 * Apart.UNTIL)))
    f.give(1)
    return f


def _saved(of: Any) -> Sighted:
    """Keep what arguments hold that are written to, if that may be needed; or put it back."""
    f = Sighted("saved", ("words", "row", "keeps"), of)
    copy = f.load("%row", 8 * Replayed.COPY)
    with f.when("eq", copy, 0):
        f.give(0)
    area = f.known(Also.AREA)
    with f.listed("%row", Replayed.WRITES, Write.END) as at:
        x, backup = f.value(f.load(at, 8 * Write.PLACE)), f.load(at, 8 * Write.BACKUP)
        memory = f.add(f.load(x, DATA), f.load(at, 8 * Write.BEGIN))
        for kept, source, to in ((1, memory, backup), (0, backup, memory)):
            with f.when("eq", "%keeps", kept):
                f.store(source, area, 8 * entry.FROM)
                f.store(to, area, 8 * entry.TO)
        f.store(f.load(at, 8 * Write.NBYTES), area, 8 * entry.NBYTES)
        f.do(f"call void {f.op(f'inttoptr i64 {copy} to ptr')}(i64 {area}, i64 0, i64 0)")
    f.give(0)
    return f


def _entered(of: Any) -> Sighted:
    """Run a small replay: the floating-point flags that were raised; `MISSING` where the entry refuses."""
    f = Sighted("entered", ("words", "row"), of)
    area, count = f.known(Also.AREA), f.variable(1)
    f.store(f.load("%row", 8 * Replayed.BLOCK), area)
    made_at = f.add(area, 8 * (2 + MOST_PASSED))            # (the block is first, None at the end)
    with f.listed("%row", Replayed.GIVEN, Passed.END) as at:
        kind, place, x = f.load(at, 8 * Passed.FROM), f.load(at, 8 * Passed.PLACE), f.variable(0)
        with f.when("eq", kind, Source.ARGUMENT):
            f.set(x, f.value(place))
        with f.when("eq", kind, Source.RESULT):
            f.set(x, f.load(f.nth(f.known(Also.RESULTS), place)))
        with f.when("eq", kind, Source.NUMBER):
            bits = f.within("@becomes", f.value(place), f.load(at, 8 * Passed.BECOMES))
            f.set(x, f.add(made_at, f.by("mul", f.get(count), NUMBER_BYTES)))
            f.store(bits, f.get(x), VALUE)      # (it looks there, and at nothing else of it)
        f.store(f.get(x), f.nth(area, f.get(count)))
        f.set(count, f.add(f.get(count), 1))
    none = f.known(Word.NONE)
    f.store(none, f.nth(area, f.get(count)))    # (one more: layouts are known)
    found = f.call(f.load("%row", 8 * Replayed.ENTRY), 0, area, f.add(f.get(count), 1))
    f.on(Word.DECREF, found)                    # (None, or one of the ints that the block has)
    f.leave_to_python("eq", found, none)
    calls, block = f.variable(0), f.load(f.load("%row", 8 * Replayed.BLOCK), DATA)
    with f.listed("%row", Replayed.COUNTS) as at:
        f.set(calls, f.add(f.get(calls), f.load(f.nth(block, f.load(at)))))
    counts = {
        of.count_native_launches: f.load("%row", 8 * Replayed.KERNELS),
        of.count_fused_ops: f.load("%row", 8 * Replayed.OPS), of.count_numpy_loop_blocks: f.get(calls),
    }  # fmt: skip
    for place_of_count, more in counts.items():
        with f.when("ne", more, 0):
            f.add_to(Word.COUNT, place_of_count, more)
    f.store(f.add(f.load("%row", 8 * Replayed.CALLS), 1), "%row", 8 * Replayed.CALLS)
    f.give(f.of_c(Word.NUMBER, found))
    return f


def _given(of: Any) -> Sighted:
    """What a call returns for a result, whose memory it takes; 0 where that cannot be made."""
    f = Sighted("given", ("words", "result", "memory"), of)
    none, kind = f.known(Word.NONE), f.load("%result", 8 * Result.KIND)
    with f.when("eq", kind, Kind.NUMPYS):
        f.give("%memory")
    with f.when("eq", kind, Kind.ITEM):
        item = f.of_c(Word.ITEM, "%memory", f.known(Word.ZERO))
        f.refuse_if("eq", item, 0)
        f.on(Word.DECREF, "%memory")
        f.give(item)
    array = f.made(Word.ALLOC, f.known(Word.LAZY), 0)
    storage, geo = f.variable(none), f.variable("%memory")
    with f.when("eq", kind, Kind.MANAGED):
        value, home = (f.made(Word.ALLOC, f.known(kind), 0) for kind in (Word.EXPR, Word.STORAGE))
        me = f.made(Word.WEAKREF, home, 0)
        leaf(f, value, "%memory", f.held(f.load("%result", 8 * Result.NBYTES)))
        f.store(me, value, of.home)
        f.on(Word.DECREF, none)                 # (that was there)
        fields = {
            of.storage_value: value, of.storage_dying: f.held(f.known(Word.FALSE)),
            of.storage_small_writes: f.held(f.known(Word.ZERO)),
            of.storage_repeats: f.held(f.known(Word.ZERO)), of.storage_place: f.held(none),
        }  # fmt: skip
        for place, x in fields.items():
            f.store(x, home, place)
        f.set(storage, home)
        f.set(geo, f.held(f.load("%result", 8 * Result.GEO)))
    with f.when("ne", kind, Kind.MANAGED):
        f.held(none)
    for x, place in (
        (f.get(storage), of.array_storage), (f.get(geo), of.array_geo), (f.held(none), of.array_origin),
    ):  # fmt: skip
        f.store(x, array, place)
    f.give(array)
    return f
