"""Array comprehensions of a lifted function as they run: computed straight into the array.

In:  at each run what the first axis goes through, and the variables that elements need (the expressions that
ask are `comprehension_trees`').   Out: the array; or what Python is to go through.

Each axis is gone through by an index (`iterated`).  The dtype is the one that NumPy finds for the elements,
whose types are known, or the one that the call asks for.  Where there are conditions, elements are computed
where these hold, and then put side by side.  What is not computed whole, for whatever reason, Python does
from its beginning: nothing has happened but in memory of its own.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Mapping
from typing import Any

import numpy

import lazyarr
from lazyarr.compiler import COMPILER
from lazyarr.compiling.chunks import SOONER, Chunks, Ran, Unfit, kind_of
from lazyarr.compiling.comprehension_trees import COUNT, INDEX, KEPT, OUT, Parts, functions, gone_through
from lazyarr.compiling.iterated import Called, Form, Source, Way, way
from lazyarr.compiling.source import compiled, function
from lazyarr.config import current
from lazyarr.dtypes import char_of
from lazyarr.error_state import remembered
from lazyarr.scalar.body import Given, body_of, element_char
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.compiled import Refusal, Refusing
from lazyarr.scalar.ir import Place
from lazyarr.scalar.results import CHARS
from lazyarr.vectorizing import why_not

ELEMENT_NS = 250.0
"""What an element takes in Python, roughly."""
SMALL_NS, WORTH_NS, LOAD_NS = 50e3, 2e6, 50e6
"""What a comprehension takes in Python from which on machine code pays; all its runs, for compiling it; for
loading LLVM."""
BLOCK = 1 << 16
"""Elements between two looks for signals."""
MAKERS = (numpy.array, numpy.asarray, lazyarr.array, lazyarr.asarray)
WANTED: dict[Any, str] = {bool: "?", int: "l", float: "d"} | {
    name: c for c in CHARS for d in (numpy.dtype(c),) for name in (d.type, d.name, d.char, d.str[1:])
}
"""What a call may ask for as a dtype, but objects of dtypes."""
Key = tuple[tuple[Form, ...], tuple[Given, ...], str]
"""How the axes are gone through; kinds of their words and of variables; the dtype that is asked for, or
nothing."""


Functions = tuple[types.FunctionType, types.FunctionType, list[str]]
"""Of axes that are gone through in certain ways: what gives an element, what stores some, and the parameters
of that one between its index and its own memory."""


class Made:
    """What became of one run.  (It lives as long as the call of the function, and so keeps no arrays.)"""

    def __init__(self, maker: Any, source: Source, first: Any, value: Any) -> None:
        self.maker, self._source, self._given = maker, source, first
        self.value, self.whole = value, value is not None

    def take(self) -> Any:
        """The array."""
        value, self.value, self._given = self.value, None, None
        return value

    def given(self) -> Any:
        """What Python goes through in its place."""
        first, self._given = self._given, None
        return self._source.of(first) if isinstance(self._source, Called) else first


class Comprehension:
    """A comprehension that is lifted.

    Attributes
    ----------
    report : str
        What became of its last run.
    """

    def __init__(self, fn: types.FunctionType, parts: Parts, given: list[str], place: Place) -> None:
        self.fn, self.parts, self.given, self.place = fn, parts, given, place
        self.others = self._made(gone_through(parts, given))
        self.texts: dict[tuple[Form, ...], Functions] = {}
        self.variants: dict[Key, tuple[str, Chunks] | Refusing] = {}
        self.spent = 0.0
        self.report = "it has not run yet"

    def __call__(self, maker: Any, first: Any, inputs: tuple[Any, ...], dtype: Any) -> Made:
        source = self.parts.axes[0].source
        return Made(maker, source, first, self._array(maker, first, inputs, dtype))

    def _array(self, maker: Any, first: Any, inputs: tuple[Any, ...], dtype: Any) -> Any:
        """The array; None if it is Python's."""
        why = why_not()
        state = remembered()
        if "comprehension" not in current.parallel:
            why = "comprehensions are switched off"
        elif not any(maker is known for known in MAKERS):
            why = "it is no call of `array`"
        elif state is not None and state["under"] == "warn":
            why = "underflows are to be warned of"
        try:
            if why:
                raise Refused(why)
            kinds = [self._kind(name, x) for name, x in zip(self.given, inputs, strict=True)]
            ways = self._ways(first, inputs)
            words = [x for each in ways for x in each.words]
            kinds = [*[self._kind("what it goes through", x) for x in words], *kinds]
            key = tuple([each.form for each in ways]), tuple(kinds), _char(dtype)
            return self._found(maker, tuple([each.length for each in ways]), [*words, *inputs], key)
        except (Refused, Unfit) as refused:
            self.report = f"Python's: {refused}"
            return None

    def prepare(self, known: Mapping[str, Given | None]) -> None:
        """What it takes is computed in the function: nothing is compiled before the first call."""

    def _kind(self, name: str, x: Any) -> Given:
        kind = kind_of(x)
        if kind is None:
            raise Refused(f"`{name}` is of type {type(x).__name__}, or of such a dtype or size")
        return kind

    def _ways(self, first: Any, inputs: tuple[Any, ...]) -> list[Way]:
        """How each axis is gone through."""
        axes = self.parts.axes
        ways = [way(axes[0].source, first)]
        if len(axes) > 1 and ways[0].length:
            try:
                others = self.others(*inputs)
            except Exception:               # the function itself will raise it, if it comes so far
                raise Refused("an error in what it goes through") from None
            ways += [way(axis.source, x, first) for axis, x in zip(axes[1:], others, strict=True)]
        if not all(each.length for each in ways):
            raise Refused("it goes through nothing")
        return ways

    def _found(self, maker: Any, shape: tuple[int, ...], inputs: list[Any], key: Key) -> Any:
        ns = ELEMENT_NS * math.prod(shape)
        self.spent += ns
        loads_llvm = COMPILER.usable is None
        worth = bool(self.variants) or self.spent > (LOAD_NS if loads_llvm else WORTH_NS)
        if current.jit != "always" and (ns < SMALL_NS or not worth):
            raise Refused("it takes little time")
        if loads_llvm:
            COMPILER.load()
        if not COMPILER.usable:
            raise Refused("nothing can be compiled here")
        char, chunks, numbers = self._variant(key)
        parts = self.parts
        of_items = shape if parts.flat else shape[:1]
        out = numpy.empty(math.prod(shape) if parts.flat else shape, char)
        kept = numpy.zeros(math.prod(of_items), bool) if parts.picks else None
        own = [out.reshape(shape)] if kept is None else [out.reshape(shape), kept.reshape(of_items)]
        self._fill(chunks, [*shape[1:], *inputs, *own], numbers, shape)
        self.report = chunks.order
        if kept is not None:
            out = out[kept] if kept.any() else numpy.array([], key[2] or None)
        return out if maker is numpy.array or maker is numpy.asarray else lazyarr.asarray(out)

    def _made(self, tree: ast.FunctionDef) -> types.FunctionType:
        return function(compiled(tree, self.fn, self.fn.__code__.co_freevars), self.fn, {})

    def _variant(self, key: Key) -> tuple[str, Chunks, list[Any]]:
        """The code for what is gone through in such ways, and variables of such kinds."""
        forms, kinds, wanted = key
        if forms not in self.texts:
            one, some, names = functions(self.parts, forms, self.given)
            self.texts[forms] = self._made(one), self._made(some), names
        (element_of, body_at, params), found = self.texts[forms], self.variants.get(key)
        if isinstance(found, Refusing) and found.captured.values(element_of) is not None:
            raise Refused(str(found.refusal))
        if found is not None and not isinstance(found, Refusing):
            numbers = found[1].body.captured.values(body_at)
            if numbers is not None:
                return *found, numbers
        index = Given("number", "i")
        rows = [INDEX.format(k) for k in range(len(forms))]
        lengths = [index] * (len(rows) - 1)
        given = dict(zip(params, [*lengths, *kinds], strict=True))
        own = {OUT: Given("array", wanted, len(rows))}
        if self.parts.picks:
            own[KEPT] = Given("array", "?", len(rows) if self.parts.flat else 1)
        try:
            inner = {name: kind for name, kind in given.items() if name != COUNT}
            (result,) = body_of(element_of, dict.fromkeys(rows, index) | inner).results
            char = wanted or element_char(result)
            own[OUT] = Given("array", char, len(rows))
            body = body_of(body_at, {rows[0]: index} | given | own)
        except Refused as refused:
            refusal = Refusal(refused.why, refused.place if refused.place.line else self.place)
            self.variants[key] = Refusing(refused.captured, refusal)
            raise
        chunks = Chunks(body, [*params, *own], (), ())
        self.variants[key] = char, chunks
        numbers = body.captured.values(body_at)
        assert numbers is not None
        return char, chunks, numbers

    def _fill(self, chunks: Chunks, inputs: list[Any], numbers: list[Any], shape: tuple[int, ...]) -> None:
        """Compute all elements, block by block."""
        row = math.prod(shape[1:])
        done, count = 0, max(BLOCK // row, 1)
        while done < shape[0]:
            ran: Ran = chunks.run(inputs, numbers, range(done, min(done + count, shape[0])))
            if ran.why and not (ran.why in SOONER and count > 1):
                raise Refused(ran.why)
            if ran.why:
                count = max(count // 8, 1)
            else:
                done += count


def _char(dtype: Any) -> str:
    """The dtype that a call asks for; "" if for none."""
    if dtype is None:
        return ""
    if isinstance(dtype, numpy.dtype):
        found: str | None = dtype.char if char_of(dtype) == dtype.char and dtype.char in CHARS else None
    else:
        found = WANTED.get(dtype) if isinstance(dtype, type | str) else None
    if found is None:
        raise Refused("its dtype is none that elements are stored as")
    return found
