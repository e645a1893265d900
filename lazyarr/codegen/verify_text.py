"""Where the text of a function touches memory: each address as an object and bytes from its beginning.

In:  the text of a `Function` (`reduce_flow`), and the objects that it is given.
Out: nothing, or `InvalidKernel` with the first access that is not proved to lie inside of its object.

The text is read in order, as it was written: what holds in a block is what held where it was entered and the
condition of the branch, and a loop's index goes by steps from its first value to below its last one.  Loops
of a few known iterations with carried numbers are gone through one by one.  Whatever is not understood is a
number that nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from lazyarr.codegen.invalid import InvalidKernel
from lazyarr.codegen.linear import ZERO, Facts, Number, Poly, poly
from lazyarr.records import NamedTuple, dataclass

ITERATIONS = 16
"""Iterations that are gone through one by one, at most."""

SIZES = {"half": 2, "float": 4, "double": 8, "ptr": 8}
NUMBER = re.compile(r"-?\d+")
QUIET = "@llvm.prefetch."
"""Calls that touch nothing, though they are given an address."""


class Pointer(NamedTuple):
    to: str
    """The object."""
    at: Poly


class Condition(NamedTuple):
    kind: str
    """A comparison of numbers, 'and', or 'not'."""
    one: Value
    other: Value


class Lanes(NamedTuple):
    """Numbers from 0 to a limit."""

    most: int


Value = Poly | Pointer | Condition | Lanes | None
Access = Callable[["Text", Facts, Pointer, "Poly | int", bool], None]
"""Is so many bytes at a place all right to load, or to store?  Raises what is wrong."""
Loaded = Callable[["Text", Facts, Pointer], Value]
"""What an object has at a place, as far as it is known."""
Called = Callable[["Text", Facts, str, list[Value]], None]
"""Is a function called with what it may be called with?"""


@dataclass(slots=True)
class Block:
    label: str
    lines: list[str]
    """All but the branch at the end."""
    condition: str
    ways: tuple[str, ...]


class Text:
    """Goes through one function."""

    def __init__(self, text: str, access: Access, loaded: Loaded, called: Called, facts: Facts) -> None:
        self.access, self.loaded, self.called, self.facts = access, loaded, called, facts
        self.values: dict[str, Value] = {}
        self.tables: dict[str, int] = {}
        """Constants of the module's, and their bytes."""
        self.stack: dict[str, int] = {}
        """Stack memory, and its bytes."""
        self.held: dict[tuple[str, Number], Value] = {}
        """What this block has put into stack memory."""
        self.blocks = _blocks(text)
        self.number = {block.label: k for k, block in enumerate(self.blocks)}
        self.before = [
            [j for j, other in enumerate(self.blocks) if block.label in other.ways] for block in self.blocks
        ]
        self.above = self._dominators()
        self.scopes: dict[int, Facts] = {}
        self.line = ""

    def given(self, declarations: Iterable[str]) -> None:
        """What the module declares."""
        for text in declarations:
            found = re.match(r"(@\S+) = internal constant \[(\d+) x i8\] ", text)
            if found:
                self.tables[found[1]] = int(found[2])
                self.values[found[1]] = Pointer(found[1], ZERO)

    def fail(self, why: str) -> None:
        raise InvalidKernel(f"{why}: {self.line.strip()}")

    def run(self) -> None:
        self.part(0, len(self.blocks))

    def _dominators(self) -> list[int]:
        """Block -> the one that every way to it comes through last.  (Blocks are in order, loops aside.)"""
        found = [0] * len(self.blocks)
        for k in range(1, len(self.blocks)):
            ways = [j for j in self.before[k] if j < k]
            at = ways[0] if ways else 0
            for j in ways[1:]:
                while at != j:
                    at, j = (found[at], j) if at > j else (at, found[j])
            found[k] = at
        return found

    # Blocks

    def part(self, first: int, end: int) -> None:
        """Blocks in order."""
        k = first
        while k < end:
            latch = max((j for j in self.before[k] if j >= k), default=-1)
            k = self.loop(k, latch) if latch >= 0 else self.block(k)

    def enter(self, k: int) -> Facts:
        """What holds at the beginning of a block."""
        self.held = {}
        above = self.above[k]
        scope = self.scopes[k] = Facts(self.scopes[above]) if k else Facts(self.facts)
        ways = [j for j in self.before[k] if j < k]
        block = self.blocks[above]
        if ways == [above] and block.condition and len(set(block.ways)) == 2:
            condition = self.value(block.condition)
            self.assume(scope, condition, self.blocks[k].label == block.ways[0])
        return scope

    def block(self, k: int) -> int:
        scope = self.enter(k)
        for line in self.blocks[k].lines:
            self.instruction(scope, line)
        return k + 1

    def loop(self, k: int, latch: int) -> int:
        """The blocks of a loop, once for any of its iterations or for each."""
        scope = self.enter(k)
        low, high, step, index = self.counted(k, latch)
        phis = [line for line in self.blocks[k].lines if " = phi " in line]
        rest = self.blocks[k].lines[len(phis) :]
        numbers = [line for line in phis if " = phi i64 " in line]
        if len(numbers) > 1 and (times := iterations(low, high, step)):
            before = self.blocks[self.above[k]].label
            for _ in range(times):
                given = {self.named(line): self.value(_ways(line)[before]) for line in phis}
                self.values.update(given)
                self.body(k, latch, rest, scope)
                before = self.blocks[latch].label
            return latch + 1
        for line in phis:
            self.values[self.named(line)] = scope.symbol() if line in numbers else None
        if low is not None and high is not None and step is not None:
            self.values[index] = self.iteration(scope, low, high, step)
        self.body(k, latch, rest, scope)
        return latch + 1

    def body(self, k: int, latch: int, rest: list[str], scope: Facts) -> None:
        self.scopes[k] = Facts(scope)
        for line in rest:
            self.instruction(self.scopes[k], line)
        self.part(k + 1, latch + 1)

    def counted(self, k: int, latch: int) -> tuple[Poly | None, Poly | None, Poly | None, str]:
        """First value, end and step of a loop's index, if it has one that is tested before each iteration."""
        unknown = None, None, None, ""
        block, last = self.blocks[k], self.blocks[latch]
        line = next((one for one in block.lines if " = phi i64 " in one), "")
        outer = [j for j in self.before[k] if j < k]
        if not line or len(outer) != 1 or last.label not in (ways := _ways(line)):
            return unknown
        index, following = self.named(line), ways[last.label]
        tests = [re.fullmatch(rf"  {re.escape(last.condition)} = icmp slt i64 (\S+), (\S+)", one)
                 for one in last.lines] if last.condition and last.ways[0] == block.label else []
        test = next((t for t in tests if t and t[1] == following), None)
        added = re.compile(rf"  {re.escape(following)} = add i64 {re.escape(index)}, (\S+)")
        steps = [m for b in self.blocks[k : latch + 1] for one in b.lines if (m := added.fullmatch(one))]
        if test is None or len(steps) != 1:
            return unknown
        low, high = self.number_of(ways[self.blocks[outer[0]].label]), self.number_of(test[2])
        inside = {self.named(one) for b in self.blocks[k : latch + 1] for one in b.lines if " = " in one}
        step = None if steps[0][1] in inside else self.number_of(steps[0][1])
        scope = self.scopes[k]
        if low is None or high is None or test[2] in inside or not scope.never_negative(high - low - 1):
            return unknown
        if step is None or not scope.never_negative(step):
            return unknown
        return low, high, step, index

    def iteration(self, scope: Facts, low: Poly, high: Poly, step: Poly) -> Poly:
        """The index in any iteration."""
        count = scope.symbol(0)
        (number,) = count.symbols
        size = step.number
        whole = (high - low) * Fraction(1, size) if size else ZERO
        exact = bool(size) and all(c.denominator == 1 for c in whole.terms.values())
        scope.at_most(number, step, high - low - (step if exact else 1))
        return low + step * count

    # Values

    def named(self, line: str) -> str:
        return line.split(" = ", 1)[0].strip()

    def value(self, name: str) -> Value:
        if name[:1] in ("%", "@"):
            return self.values.get(name)
        return poly(int(name)) if NUMBER.fullmatch(name) else None

    def number_of(self, name: str) -> Poly | None:
        found = self.value(name)
        return found if isinstance(found, Poly) else None

    def assume(self, scope: Facts, condition: Value, truth: bool) -> None:
        """From here on a condition is true, or false."""
        if not isinstance(condition, Condition):
            return
        kind, one, other = condition
        if kind == "not":
            self.assume(scope, one, not truth)
        elif kind == "and" and truth:
            self.assume(scope, one, True)
            self.assume(scope, other, True)
        elif isinstance(one, Poly) and isinstance(other, Poly):
            self.compared(scope, kind if truth else OPPOSITE[kind], one, other)

    def compared(self, scope: Facts, kind: str, x: Poly, y: Poly) -> None:
        if kind == "eq":
            scope.is_zero(x - y)
        elif kind != "ne":
            if kind[1] == "g":
                x, y = y, x
            if kind[0] == "u":          # x below y, as numbers without a sign: y has none
                if not scope.never_negative(y):
                    return
                scope.holds(x)
            scope.holds(y - x - (1 if kind[2] == "t" else 0))

    def instruction(self, scope: Facts, line: str) -> None:
        self.line = line
        name, equals, text = line.strip().partition(" = ")
        if not equals:
            name, text = "", line.strip()
        op, _, rest = text.partition(" ")
        made: Value = None
        if op in ARITHMETIC and rest.startswith("i64 "):
            made = self.arithmetic(scope, op, *(self.number_of(x) for x in rest[4:].split(", ")))
        elif op == "icmp":
            made = self.comparison(rest)
        elif op in ("and", "xor") and rest.startswith("i1 "):
            x, y = rest[3:].split(", ")
            if op == "and":
                made = Condition("and", self.value(x), self.value(y))
            elif y == "true":
                made = Condition("not", self.value(x), None)
        elif op == "and" and rest.startswith("<"):
            made = _masked_lanes(rest)
        elif op == "extractelement":
            found = re.fullmatch(r"<\d+ x i64> (\S+), i64 \d+", rest)
            lanes = self.value(found[1]) if found else None
            made = scope.symbol(0, lanes.most) if isinstance(lanes, Lanes) else None
        elif op == "select":
            made = self.chosen(scope, rest)
        elif op == "getelementptr":
            made = self.moved(rest)
        elif op == "alloca":
            made = self.allocated(name, rest)
        elif op in ("load", "store", "atomicrmw"):
            made = self.touched(scope, op, rest)
        elif op == "call":
            self.call(scope, rest)
        if name:
            self.values[name] = made

    def arithmetic(self, scope: Facts, op: str, x: Poly | None, y: Poly | None) -> Value:
        if x is None or y is None:
            return None
        by = y.number
        if op in ("add", "sub", "mul"):
            return x + y if op == "add" else x - y if op == "sub" else x * y
        if op == "and":
            return self.masked(scope, x, by)
        if op == "shl":
            return x * (1 << int(by)) if by is not None else None
        if op == "lshr":
            y = poly(1 << int(by)) if by is not None else None
        if y is None or not scope.never_negative(x) or not scope.never_negative(y - 1):
            return scope.symbol()
        made = scope.quotient(x, y)
        return x - made * y if op == "urem" else made

    def masked(self, scope: Facts, x: Poly, by: Number | None) -> Value:
        """Whole multiples of a power of two, or what is left."""
        whole = by is not None and by < 0
        size = (-by if whole else by + 1) if by is not None else 0
        if size < 1 or size.denominator > 1 or int(size) & (int(size) - 1):
            return scope.symbol()
        if not scope.never_negative(x):
            return scope.symbol()
        made = scope.quotient(x, poly(size)) * size
        return made if whole else x - made

    def comparison(self, rest: str) -> Value:
        found = re.fullmatch(r"(\w+) (?:i64|ptr) (\S+), (\S+)", rest)
        return Condition(found[1], self.value(found[2]), self.value(found[3])) if found else None

    def chosen(self, scope: Facts, rest: str) -> Value:
        found = re.fullmatch(r"i1 (\S+), i64 (\S+), i64 (\S+)", rest)
        if not found:
            return None
        x, y, condition = self.number_of(found[2]), self.number_of(found[3]), self.value(found[1])
        if x is None or y is None:
            return None
        smaller = condition == Condition("slt", x, y)
        return scope.either(x, y, smaller)

    def moved(self, rest: str) -> Value:
        found = re.fullmatch(r"(.+?), ptr (\S+), i64 (\S+)", rest)
        base = self.value(found[2]) if found else None
        if found is None or not isinstance(base, Pointer):
            vector = re.fullmatch(r"i8, ptr (\S+), <\d+ x i64> \S+", rest)
            base = self.value(vector[1]) if vector else None
            return base._replace(at=base.at + self.facts.symbol()) if isinstance(base, Pointer) else None
        offset = self.number_of(found[3])
        moved = self.facts.symbol() if offset is None else offset * size(found[1])
        return base._replace(at=base.at + moved)

    def allocated(self, name: str, rest: str) -> Value:
        found = re.fullmatch(r"(.+?), align \d+", rest)
        assert found is not None
        self.stack[name] = size(found[1])
        return Pointer(name, ZERO)

    # Memory

    def touched(self, scope: Facts, op: str, rest: str) -> Value:
        what = rest.removeprefix("atomic ").removeprefix("or ")
        if op == "load":
            t, _, place = what.partition(", ptr ")
            stored = ""
        elif op == "store":
            stored, _, place = what.removeprefix("volatile ").rpartition(", ptr ")
            t, _, stored = stored.partition(" ") if not stored.startswith("<") else _vector(stored)
        else:
            t, place, stored = "i64", what.removeprefix("ptr "), "?"
        pointer = self.value(re.split(r"[ ,]", place)[0])
        if not isinstance(pointer, Pointer):
            self.fail("an address that nobody knows")
            return None
        pointer = pointer._replace(at=scope.plain(pointer.at))
        self.touch(scope, pointer, size(t), bool(stored))
        if pointer.to in self.stack:
            at = pointer.at.number
            if stored and at is not None:
                self.held[pointer.to, at] = self.value(stored)
            return None
        return self.loaded(self, scope, pointer) if not stored and t in ("i64", "ptr") else None

    def touch(self, scope: Facts, pointer: Pointer, count: int, stores: bool) -> None:
        if pointer.to in self.tables and stores:
            self.fail("a constant does not change")
        elif pointer.to in self.tables:
            self.within(scope, pointer.at, count, self.tables[pointer.to])
        elif pointer.to in self.stack:
            self.within(scope, pointer.at, count, self.stack[pointer.to])
        else:
            self.access(self, scope, pointer, count, stores)

    def within(self, scope: Facts, at: Poly, count: Poly | int, end: Poly | int) -> None:
        """Do so many bytes lie between 0 and an end?"""
        if not scope.never_negative(at):
            self.fail("may begin before what it is part of")
        if not scope.never_negative(poly(end) - at - count):
            self.fail("may end behind what it is part of")

    def call(self, scope: Facts, rest: str) -> None:
        found = re.fullmatch(r"(.+?) (@\S+?|%\S+?)\((.*)\)(?: [a-z]+)*", rest)
        assert found is not None, rest
        if found[2].startswith(QUIET):
            return
        given = re.findall(r"ptr> (\S+?)(?:,|$)|(?:ptr|i64) ([^\s,]+)", found[3])
        arguments = [self.value(a or b) for a, b in given]
        if "ptr" in found[3]:
            self.called(self, scope, found[2], arguments)


ARITHMETIC = {"add", "sub", "mul", "and", "lshr", "shl", "udiv", "urem"}

OPPOSITE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "ult": "uge",
    "uge": "ult", "ugt": "ule", "ule": "ugt",
}  # fmt: skip


def iterations(low: Poly | None, high: Poly | None, step: Poly | None) -> int:
    """How many there are, if they are known and few; 0: they are not."""
    if low is None or high is None or step is None:
        return 0
    begin, end, by = low.number, high.number, step.number
    if begin is None or end is None or not by:
        return 0
    times = -((begin - end) // by)
    return int(times) if 0 < times <= ITERATIONS else 0


def size(t: str) -> int:
    """Bytes of a type."""
    many = re.fullmatch(r"[\[<](\d+) x (.+)[\]>]", t)
    if many:
        return int(many[1]) * size(many[2])
    return SIZES[t] if t in SIZES else int(t[1:]) // 8


def _masked_lanes(rest: str) -> Lanes | None:
    """Of `and`, with one number for all lanes."""
    found = re.fullmatch(r"<\d+ x i64> \S+, <i64 (\d+)(?:, i64 \1)*>", rest)
    return Lanes(int(found[1])) if found else None


def _vector(stored: str) -> tuple[str, str, str]:
    t, _, value = stored.partition("> ")
    return t + ">", "", value


def _ways(line: str) -> dict[str, str]:
    """Of a phi: from which block what comes."""
    found = re.findall(r"\[(.+?), %([^\s\],]+)\]", line.split(" = phi ", 1)[1])
    return {label: value for value, label in found}


def _blocks(text: str) -> list[Block]:
    found: list[Block] = []
    for line in text.splitlines()[1:]:
        if line.endswith(":"):
            found.append(Block(line[:-1], [], "", ()))
        elif line.startswith("  br "):
            found[-1].ways = tuple(re.findall(r"label %(\S+?)(?:,|$)", line))
            condition = re.match(r"  br i1 (\S+),", line)
            found[-1].condition = condition[1] if condition else ""
        elif line.startswith("  ") and line != "  ret void":
            found[-1].lines.append(line)
    return found
