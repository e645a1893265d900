"""The body of a loop over elements as scalar IR: what it takes, what it gives, what it does to which array.

In:  a Python function of the index and of all that the body needs, the kind of each (`Given`).
Out: `Body`; `Refused` says why there is none.
The body's function gives the variables that are read after the loop, or in the next iteration.
"""

from __future__ import annotations

import types
from collections.abc import Mapping

from lazyarr.config import current
from lazyarr.records import NamedTuple
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.capture import Captured
from lazyarr.scalar.elements import CHARS
from lazyarr.scalar.ir import Function, Return
from lazyarr.scalar.translate import Tracer
from lazyarr.scalar.values import Array, Const, Elem, Pack, Val, Value
from lazyarr.scalar.verify import verify

UNSETTLED = "an iteration changes the type of a variable"


class Given(NamedTuple):
    """The kind of one parameter: a Python "number", a NumPy "scalar", an "array"."""

    kind: str
    char: str
    """'b', 'i' or 'f' of a number; else the dtype's character."""
    ndim: int = 0


class Body(NamedTuple):
    function: Function
    captured: Captured
    results: tuple[Given, ...]
    places: dict[str, int]
    """Parameter -> where it begins among the words after the index."""


class _Tracer(Tracer):
    """A translation whose function gives any number of numbers."""

    scalars = True

    def __init__(self, fn: types.FunctionType, given: Mapping[str, Given]) -> None:
        super().__init__(fn, {})
        self.given = {name: self._param(each) for name, each in given.items()}
        self.results: tuple[Given, ...] | None = None

    def _param(self, given: Given) -> Value:
        if given.kind == "number":
            return self.fresh(given.char)
        if given.kind == "scalar":
            return Elem(given.char, self.fresh(CHARS[given.char]))
        base, axes = self.fresh("a"), range(given.ndim)
        lengths = tuple([self.fresh("i") for _ in axes])
        return Array(given.char, base, lengths, tuple([self.fresh("i") for _ in axes]))

    def leave(self, value: Value) -> None:
        if len(self.frames) > 1:
            super().leave(value)
            return
        assert isinstance(value, Pack)
        found = tuple(map(self._result, value.items))
        if self.results is not None and self.results != found:
            raise self.refuse(UNSETTLED)
        self.results = found
        numbers = [x.value if isinstance(x, Elem) else x for x in value.items]
        self.end(Return(tuple([self.number(x) for x in numbers]), self.fuel.number))

    def _result(self, x: Value) -> Given:
        if isinstance(x, Elem):
            return Given("scalar", x.char)
        if not isinstance(x, Val | Const):
            raise self.refuse("a variable that is read after an iteration is no number")
        return Given("number", x.type)


def body_of(fn: types.FunctionType, given: Mapping[str, Given]) -> Body:
    """The IR of a loop's body; `given` begins with the index."""
    tracer = _Tracer(fn, given)
    try:
        function, captured = tracer.run()
    except Refused as refusal:
        refusal.captured = tracer.captured()
        raise
    if current.verify:
        verify(function)
    places, at = {}, 0
    for name, each in list(given.items())[1:]:
        places[name] = at
        at += 1 + 2 * each.ndim
    assert tracer.results is not None
    return Body(function, captured, tracer.results, places)


def words_of(given: Given) -> int:
    """How many words a parameter takes."""
    return 1 + 2 * given.ndim


def element_char(given: Given) -> str:
    """The dtype that NumPy finds for a list of such numbers."""
    return {"b": "?", "i": "l", "f": "d"}[given.char] if given.kind == "number" else given.char


def result_type(given: Given) -> str:
    """'b', 'i' or 'f'."""
    return given.char if given.kind == "number" else CHARS[given.char]


