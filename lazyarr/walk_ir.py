"""LLVM IR of functions that go through nodes, statement by statement.

In:  where objects have their fields (`Places`), calls of a `Walk`'s methods.   Out: the text of a function.
All values are words.  Each function has a `context`, where scratch memory begins (`walk_words`).  One that
fails ends with an `Answer`: functions of Python's give it, others `MISSING`, and it is in the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lazyarr.object_fields import DATA, ITEMS, LENGTH, LIST_ITEMS, TYPE
from lazyarr.walk_words import LAST, MISSING, Answer, Head, Places


class Function:
    """A function as it grows: all values are words, variables have memory of their own."""

    def __init__(self, name: str, parameters: Sequence[str], public: bool = False) -> None:
        kind, given = ("ptr", "ptr %self, ptr %args, i64 %count") if public else ("i64", "")
        given = given or ", ".join(f"i64 %{p}" for p in parameters)
        self.public = public
        self.head = [f"define {'' if public else 'internal '}{kind} @{name}({given}) {{", "entry:"]
        self.lines: list[str] = []
        self.ends: list[str] = []
        """Where the loops lead that are being written."""
        self.names = 0

    def text(self) -> str:
        return "\n".join([*self.head, *self.lines, "  unreachable", "}", ""])

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def op(self, text: str) -> str:
        name = self.name("%t")
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    # ------------------------------------------------------------------------------ memory

    def _at(self, base: str, offset: int) -> str:
        at = self.op(f"add i64 {base}, {offset}") if offset else base
        return self.op(f"inttoptr i64 {at} to ptr")

    def load(self, base: str, offset: int = 0, kind: str = "i64") -> str:
        found = self.op(f"load {kind}, ptr {self._at(base, offset)}, align 1")
        return found if kind == "i64" else self.op(f"zext {kind} {found} to i64")

    def store(self, word: Any, base: str, offset: int = 0, kind: str = "i64") -> None:
        if kind != "i64":
            word = self.op(f"trunc i64 {word} to {kind}")
        self.do(f"store {kind} {word}, ptr {self._at(base, offset)}, align 1")

    def variable(self, word: Any) -> str:
        """A variable with its first value."""
        name = self.name("%v")
        self.head.append(f"  {name} = alloca i64")
        self.set(name, word)
        return name

    def get(self, variable: str) -> str:
        return self.op(f"load i64, ptr {variable}")

    def set(self, variable: str, word: Any) -> None:
        self.do(f"store i64 {word}, ptr {variable}")

    # -------------------------------------------------------------------------- arithmetic

    def add(self, x: Any, y: Any) -> str:
        return self.op(f"add i64 {x}, {y}")

    def by(self, what: str, x: Any, y: Any) -> str:
        return self.op(f"{what} i64 {x}, {y}")

    def call(self, function: str, *words: Any) -> str:
        given = ", ".join(f"i64 {word}" for word in words)
        if not function.startswith("@"):
            function = self.op(f"inttoptr i64 {function} to ptr")
        return self.op(f"call i64 {function}({given})")

    # ----------------------------------------------------------------------------- control

    @contextmanager
    def when(self, how: str, x: Any, y: Any) -> Iterator[None]:
        """What is done if a comparison holds."""
        then, after = self.name("then"), self.name("after")
        self.do(f"br i1 {self.op(f'icmp {how} i64 {x}, {y}')}, label %{then}, label %{after}")
        self.lines.append(f"{then}:")
        yield
        self.do(f"br label %{after}")
        self.lines.append(f"{after}:")

    @contextmanager
    def loop(self) -> Iterator[None]:
        """What is done again and again."""
        again, after = self.name("again"), self.name("after")
        self.do(f"br label %{again}")
        self.lines.append(f"{again}:")
        self.ends.append(after)
        yield
        self.do(f"br label %{again}")
        self.lines.append(f"{after}:")
        self.ends.pop()

    def leave_if(self, how: str, x: Any, y: Any) -> None:
        """Leave the loop if a comparison holds."""
        on = self.name("on")
        self.do(f"br i1 {self.op(f'icmp {how} i64 {x}, {y}')}, label %{self.ends[-1]}, label %{on}")
        self.lines.append(f"{on}:")

    @contextmanager
    def each(self, count: str) -> Iterator[str]:
        """Numbers from 0 on."""
        number = self.variable(0)
        with self.loop():
            k = self.get(number)
            self.leave_if("sge", k, count)
            yield k
            self.set(number, self.add(k, 1))

    @contextmanager
    def items(self, sequence: str, is_list: bool) -> Iterator[tuple[str, str]]:
        """The items of a list or a tuple, and their numbers."""
        first = self.load(sequence, LIST_ITEMS) if is_list else self.add(sequence, ITEMS)
        with self.each(self.load(sequence, LENGTH)) as k:
            yield self.load(self.add(first, self.by("shl", k, 3))), k

    def give(self, word: Any) -> None:
        """The function's result; what follows is never reached."""
        if self.public:
            word, kind = self.op(f"inttoptr i64 {word} to ptr"), "ptr"
        else:
            kind = "i64"
        self.do(f"ret {kind} {word}")
        self.lines.append(f"{self.name('never')}:")


class Walk(Function):
    """A function that goes through nodes: `head` are the words at the begin of scratch memory."""

    def __init__(self, name: str, parameters: Sequence[str], of: Places, public: bool = False) -> None:
        super().__init__(name, parameters, public)
        self.of = of
        self.context = "%context"
        if public:
            self.args = self.op("ptrtoint ptr %args to i64")
            self.context = self.load(self.load(self.args), DATA)

    def known(self, word: int) -> str:
        return self.load(self.context, 8 * word)

    def note(self, word: int, value: Any) -> None:
        self.store(value, self.context, 8 * word)

    def fail(self, answer: int | str) -> None:
        """End with an answer; what follows is never reached."""
        if self.public:
            self.set("%answer", answer)
            self.do("br label %answers")
            self.lines.append(f"{self.name('never')}:")
            return
        if isinstance(answer, int):
            self.note(Head.STATUS, answer)
        self.give(MISSING)

    def text(self) -> str:
        if self.public:
            self.head.append("  %answer = alloca i64")
            self.lines += ["  unreachable", "answers:"]
            answer = self.get("%answer")
            with self.when("eq", answer, Answer.RAISED):
                self.give(0)
            found = self.load(self.add(self.context, self.by("shl", answer, 3)), 8 * Head.ANSWERS)
            self.call_void(self.known(Head.INCREF), found)
            self.give(found)
        return super().text()

    def call_void(self, function: str, *words: Any) -> None:
        given = ", ".join(f"i64 {word}" for word in words)
        self.do(f"call void {self.op(f'inttoptr i64 {function} to ptr')}({given})")

    def decline_if(self, how: str, x: Any, y: Any, answer: int = Answer.DECLINED) -> None:
        with self.when(how, x, y):
            self.fail(answer)

    def is_type(self, x: str, kind: int) -> None:
        """Decline what is of another type."""
        self.decline_if("ne", self.load(x, TYPE), self.known(kind))

    def attribute(self, x: str, name: str, kind: int | None = None) -> str:
        """An attribute, which has been set; perhaps of a type."""
        found = self.load(x, getattr(self.of, name))
        self.decline_if("eq", found, 0)
        if kind is not None:
            self.is_type(found, kind)
        return found

    def is_true(self, x: str, name: str) -> str:
        """1 where an attribute is True, 0 where it is False."""
        found = self.attribute(x, name)
        true = self.op(f"zext i1 {self.op(f'icmp eq i64 {found}, {self.known(Head.TRUE)}')} to i64")
        with self.when("eq", true, 0):
            self.decline_if("ne", found, self.known(Head.FALSE))
        return true

    def within(self, function: str, *words: Any) -> str:
        """Call a function of this module; its failure is this one's."""
        found = self.call(function, self.context, *words)
        with self.when("eq", found, MISSING):
            self.fail(self.known(Head.STATUS))
        return found

    def number(self, x: str) -> str:
        return self.call("@number", self.context, x)

    def append(self, to: str, x: str) -> None:
        answer = self.by("and", self.call(self.known(Head.APPEND), to, x), 0xFFFFFFFF)     # (an int)
        self.decline_if("ne", answer, 0, Answer.RAISED)

    def begin(self) -> None:
        generation = self.add(self.known(Head.GENERATION), 1)
        self.decline_if("sgt", generation, LAST)
        self.note(Head.GENERATION, generation)
        for word in (Head.COUNT, Head.STATUS, Head.OBJECTS, Head.GEOMETRIES):
            self.note(word, 0)

    def argument(self, at: int) -> str:
        return self.load(self.args, 8 * at)
