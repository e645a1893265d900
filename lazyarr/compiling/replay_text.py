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


class _Call(Sighted):
    """The function, whose steps are methods."""

    def __init__(self, of: Any, name: str) -> None:
        super().__init__(name, (), of, public=True)
        self.row, self.arguments, self.options = (
            self.load(self.load(self.args), DATA), self.load(self.args, 8), self.load(self.args, 16)
        )  # fmt: skip
        self.holds = False
        """Are the values of arguments held from here on?"""

    def let_go(self) -> None:
        """Of results, and of arguments once these are held."""
        if self.holds:
            self.within("@drop", self.known(Also.VALUES), self.load(self.row, 8 * Row.VALUES))
        self.within("@drop", self.known(Also.RESULTS), self.get(self.taken))
        self.store(0, self.words, 8 * Also.BUSY)

    def stop(self, answer: str | int = 0) -> None:
        """End the call: an exception was raised, or an object is the answer."""
        self.let_go()
        self.give(answer if answer == 0 else self.held(answer))         # type: ignore[arg-type]

    def stop_if(self, how: str, x: Any, y: Any, answer: str | int = 0) -> None:
        with self.when(how, x, y):
            self.stop(answer)

    def result(self, number: str) -> str:
        """The address of the word of a result, or of a temporary behind them."""
        return self.nth(self.known(Also.RESULTS), number)

    def begin(self) -> None:
        """Refuse other calls; from here on no other one is under way."""
        self.decline_if("ne", self.known(Also.BUSY), 0)
        fits = self.within("@fits", self.row, self.arguments, self.options)
        self.decline_if("eq", fits, 0)
        self.taken, self.asked = self.variable(0), self.variable(0)
        begin(self, self.row)
        self.none, self.false = self.known(Word.NONE), self.known(Word.FALSE)

    def note(self, memory: str) -> None:
        """One result more, or a temporary."""
        self.stop_if("eq", memory, 0)
        self.store(memory, self.result(self.get(self.taken)))
        self.set(self.taken, self.add(self.get(self.taken), 1))

    def take_memory(self) -> None:
        """For results; then all has to look as it did."""
        with self.listed(self.row, Replayed.RESULTS, Result.END) as at:
            maker, memory = self.load(at, 8 * Result.MAKER), self.variable(0)
            with self.when("ne", maker, 0):
                self.set(self.asked, 1)
                self.set(memory, self.of_c(Word.CALL, maker, 0, 0, 0))
            with self.when("eq", maker, 0):
                dtype, axes, flags = (
                    self.load(at, 8 * word) for word in (Result.DTYPE, Result.AXES, Result.FLAGS)
                )
                kind, lengths = self.known(Word.REAL), self.add(at, 8 * Result.DIMS)
                given = kind, self.held(dtype), axes, lengths, 0, 0, flags, 0
                self.set(memory, self.of_c(Also.NEW_ARRAY, *given))
            self.note(self.get(memory))
        with self.when("ne", self.get(self.asked), 0):      # (Python collects no garbage for NumPy's arrays)
            fits = self.within("@fits", self.row, self.arguments, self.options)
            self.stop_if("eq", fits, 0, self.false)
        with self.each(self.load(self.row, 8 * Row.VALUES)) as k:
            self.on(Word.INCREF, self.value(k))
        self.holds = True

    def enter(self) -> None:
        """Run a small replay, if it is one."""
        self.told = self.variable(0)
        with self.when("ne", self.load(self.row, 8 * Replayed.ENTRY), 0):
            self.within("@saved", self.row, 1)
            raised = self.within("@entered", self.row)
            self.stop_if("eq", raised, MISSING, self.none)
            with self.when("ne", self.by("and", raised, WARNED), 0):
                self.within("@saved", self.row, 0)
                self.stop(self.false)
            calls = self.load(self.row, 8 * Replayed.CALLS)
            with self.when("eq", self.by("and", calls, COUNTED - 1), 0):
                self.set(self.told, self.held(self.load(self.row, 8 * Row.NUMBER)))

    def launch(self, stage: str) -> None:
        """Run one of the launches of a large replay."""
        with self.listed(stage, Stage.TAKES) as at:
            self.note(self.of_c(Word.CALL, self.load(at), 0, 0, 0))
        launch = self.within("@chosen", stage)
        self.stop_if("eq", launch, 0, self.none)
        ran, took = timed(self, launch, self.arguments, self.let_go)
        with self.when("ne", self.within("@raised", launch), 0):
            self.on(Word.DECREF, took)
            self.stop(self.false)
        self.within("@count", launch, stage, ran, took)
        with self.when("ne", signalled(self), 0):
            self.on(Word.DECREF, took)
            self.stop()
        warming = self.variable(0)
        with self.when("ne", self.load(stage, 8 * Row.WARMING), 0):
            self.set(warming, self.held(self.load(stage, 8 * Row.NUMBER)))
        self.stop_if("eq", self.within("@hear", self.get(warming), took), 0)
        with self.listed(stage, Stage.ENDS) as at:
            place = self.result(self.load(at))
            over = self.load(place)
            self.store(self.held(self.none), place)
            self.on(Word.DECREF, over)

    def answer(self) -> str:
        """What the call gives, of memory that the call has no more."""
        number, answer = self.variable(0), self.variable(self.load(self.row, 8 * Replayed.ANSWER))
        with self.listed(self.row, Replayed.RESULTS, Result.END) as at:
            place = self.result(self.get(number))
            found = self.within("@given", at, self.load(place))
            self.stop_if("eq", found, 0)
            self.store(found, place)            # (in the place of its memory, which it has taken)
            self.set(number, self.add(self.get(number), 1))
        constant, count = (self.load(self.row, 8 * word) for word in (Replayed.ANSWER, Replayed.RESULTS))
        with self.when("ne", constant, 0):
            self.on(Word.INCREF, constant)
        with self.when("ne", self.load(self.row, 8 * Replayed.IS_TUPLE), 0):
            self.set(answer, self.of_c(Word.NEW_TUPLE, count))
            self.stop_if("eq", self.get(answer), 0)
            with self.each(count) as k:
                self.store(self.load(self.result(k)), self.nth(self.get(answer), k), ITEMS)
        with self.when("eq", self.get(answer), 0):
            self.set(answer, self.load(self.known(Also.RESULTS)))
        self.within("@drop", self.result(count), self.by("sub", self.get(self.taken), count))
        self.set(self.taken, 0)                  # (results are the caller's)
        return answer

    def tell(self, answer: str) -> None:
        """Let kernels hear, if it is time; then Python runs, and others may call this meanwhile."""
        with self.when("ne", self.get(self.told), 0):
            heard = self.within("@hear", self.get(self.told), self.held(self.known(Word.ZERO)))
            with self.when("eq", heard, 0):
                self.on(Word.DECREF, self.get(answer))
                self.give(0)


def replayed(of: Any, name: str) -> Sighted:
    """The function."""
    f = _Call(of, name)
    f.begin()
    f.take_memory()
    f.enter()
    with f.listed(f.row, Replayed.STAGES) as at:
        f.launch(f.add(f.row, f.load(at)))
    answer = f.answer()
    f.let_go()
    f.tell(answer)
    f.give(f.get(answer))
    return f


def text(of: Any, argument: int, name: str) -> str:
    """The module: the function, and those that it calls; entries of arguments have so many words."""
    private: tuple[Callable[[Any], Making], ...] = (
        *LAUNCHING, lies, whole, same, _saved, _entered, _given,
    )  # fmt: skip
    made = [*[make(of) for make in private], _fits(of, argument), replayed(of, name)]
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
