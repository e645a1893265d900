"""Array comprehensions: ``array([f(x) for x in a])`` in a lifted function, computed straight into the array.

In:  the call in a function's syntax tree.   Out: an expression that asks a `Comprehension` first:

    array([f(x, y) for x in a]) -> made.take() if (made := loops[0](array, a, (y,))).whole
                                   else made.maker([f(x, y) for x in made.given()])

The dtype is the one that NumPy finds for the elements, whose types are known.  What is not computed whole,
for whatever reason, Python does from its beginning: nothing has happened but in memory of its own.  What is
gone through is evaluated once, where Python does it; for the second axis, of numbers and arrays only.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Mapping
from typing import Any

import numpy

import lazyarr
from lazyarr.compiler import COMPILER
from lazyarr.compiling.chunks import SOONER, Chunks, Ran, Unfit, fits, is_array, kind_of
from lazyarr.compiling.syntax import is_plain_call, loads
from lazyarr.config import current
from lazyarr.error_state import remembered
from lazyarr.records import NamedTuple
from lazyarr.scalar.body import Given, body_of, element_char
from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.compiled import Refusal, Refusing
from lazyarr.scalar.ir import Place
from lazyarr.vectorizing import why_not

ELEMENT_NS = 250.0
"""What an element takes in Python, roughly."""
SMALL_NS, WORTH_NS, LOAD_NS = 50e3, 2e6, 50e6
"""What a comprehension takes in Python from which on machine code pays; all its runs, for compiling it; for
loading LLVM."""
BLOCK = 1 << 16
"""Elements between two looks for signals."""
MAKERS = (numpy.array, numpy.asarray, lazyarr.array, lazyarr.asarray)
_ROWS, _OUT, _BODY = "__lazyarr_k{}__", "__lazyarr_out__", "__lazyarr_body__"
_FIRST, _STEP, _COUNT = "__lazyarr_first{}__", "__lazyarr_step{}__", "__lazyarr_count{}__"


class Axis(NamedTuple):
    """One ``for`` of a comprehension."""

    target: str
    ranged: bool
    """Through a range (its first, its step, its length are parameters); else an array, which is one."""


class Made:
    """What became of one run.  (It lives as long as the call of the function, and so keeps no arrays.)"""

    def __init__(self, maker: Any, first: Any, value: Any) -> None:
        self.maker, self._given = maker, first
        self.value, self.whole = value, value is not None

    def take(self) -> Any:
        """The array."""
        value, self.value, self._given = self.value, None, None
        return value

    def given(self) -> Any:
        """What Python goes through in its place."""
        first, self._given = self._given, None
        return first


class Comprehension:
    """A comprehension that is lifted.

    Attributes
    ----------
    report : str
        What became of its last run.
    """

    def __init__(
        self, made: tuple[types.FunctionType, types.FunctionType, types.FunctionType], axes: list[Axis],
        params: list[str], place: Place,
    ) -> None:
        self.iterated, self.element, self.body = made
        self.axes = axes
        self.params, self.names = params, params[len(extents(axes)) :]
        self.place = place
        self.variants: dict[tuple[Given, ...], tuple[str, Chunks] | Refusing] = {}
        self.spent = 0.0
        self.report = "it has not run yet"

    def __call__(self, maker: Any, first: Any, inputs: tuple[Any, ...]) -> Made:
        return Made(maker, first, self._array(maker, first, inputs))

    def _array(self, maker: Any, first: Any, inputs: tuple[Any, ...]) -> Any:
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
            kinds = [self._kind(name, x) for name, x in zip(self.names, inputs, strict=True)]
            shape, words = self._extents(first, inputs)
            params = self.params[: len(words)]
            kinds = [*[self._kind(name, x) for name, x in zip(params, words, strict=True)], *kinds]
            return self._made(maker, shape, [*words, *inputs], tuple(kinds))
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

    def _extents(self, first: Any, inputs: tuple[Any, ...]) -> tuple[tuple[int, ...], list[Any]]:
        """The shape of the result, and what the body needs to go through it."""
        gone_through = [first]
        if len(self.axes) > 1 and is_ranged(first) is not None and len(first):
            try:
                gone_through += self.iterated(*inputs)
            except Exception:               # the function itself will raise it, if it comes so far
                raise Refused("an error in what it goes through") from None
        shape, words = [], []
        for axis, x in zip(self.axes, gone_through, strict=False):
            if is_ranged(x) != axis.ranged or not len(x):
                raise Refused("it goes through neither ranges nor vectors, or through empty ones")
            words += [x.start, x.step, len(x)] if axis.ranged else [x]
            shape.append(len(x))
        return tuple(shape), words

    def _made(self, maker: Any, shape: tuple[int, ...], inputs: list[Any], kinds: tuple[Given, ...]) -> Any:
        ns = ELEMENT_NS * float(numpy.prod(shape))
        self.spent += ns
        loads_llvm = COMPILER.usable is None
        worth = bool(self.variants) or self.spent > (LOAD_NS if loads_llvm else WORTH_NS)
        if current.jit != "always" and (ns < SMALL_NS or not worth):
            raise Refused("it takes little time")
        if loads_llvm:
            COMPILER.load()
        if not COMPILER.usable:
            raise Refused("nothing can be compiled here")
        char, chunks, numbers = self._variant(kinds, len(shape))
        out = numpy.empty(shape, char)
        self._fill(chunks, [*inputs, out], numbers, shape)
        self.report = chunks.order
        own = maker is numpy.array or maker is numpy.asarray
        return out if own else lazyarr.asarray(out)

    def _variant(self, kinds: tuple[Given, ...], ndim: int) -> tuple[str, Chunks, list[Any]]:
        """The code for variables of these kinds."""
        found = self.variants.get(kinds)
        if isinstance(found, Refusing) and found.captured.values(self.element) is not None:
            raise Refused(str(found.refusal))
        if found is not None and not isinstance(found, Refusing):
            numbers = found[1].body.captured.values(self.body)
            if numbers is not None:
                return *found, numbers
        rows = [_ROWS.format(k) for k in range(ndim)]
        index = dict.fromkeys(rows, Given("number", "i"))
        given = dict(zip(self.params, kinds, strict=True))
        try:
            (result,) = body_of(self.element, index | given).results
            char = element_char(result)
            out = {_OUT: Given("array", char, ndim)}
            body = body_of(self.body, {rows[0]: index[rows[0]]} | given | out)
        except Refused as refused:
            refusal = Refusal(refused.why, refused.place if refused.place.line else self.place)
            self.variants[kinds] = Refusing(refused.captured, refusal)
            raise
        chunks = Chunks(body, [*self.params, _OUT], (), ())
        self.variants[kinds] = char, chunks
        numbers = body.captured.values(self.body)
        assert numbers is not None
        return char, chunks, numbers

    def _fill(self, chunks: Chunks, inputs: list[Any], numbers: list[Any], shape: tuple[int, ...]) -> None:
        """Compute all elements, block by block."""
        row = int(numpy.prod(shape[1:]))
        done, count = 0, max(BLOCK // row, 1)
        while done < shape[0]:
            ran: Ran = chunks.run(inputs, numbers, range(done, min(done + count, shape[0])))
            if ran.why and not (ran.why in SOONER and count > 1):
                raise Refused(ran.why)
            if ran.why:
                count = max(count // 8, 1)
            else:
                done += count


def is_ranged(x: Any) -> bool | None:
    """Is it a range, or else a vector?  None for neither."""
    if type(x) is range:
        return fits(x) or None
    return False if is_array(x) and len(x.shape) == 1 else None


# -------------------------------------------------------------------------------- syntax trees


class Parts(NamedTuple):
    """A comprehension in a syntax tree."""

    axes: list[Axis]
    iterated: list[ast.expr]
    """What each axis goes through."""
    element: ast.expr


def parts_of(x: ast.Call) -> Parts | None:
    """The comprehension that is a call's only argument, if it is one of ranges and arrays."""
    if x.keywords or len(x.args) != 1 or not _is_name(x.func):
        return None
    axes: list[Axis] = []
    iterated: list[ast.expr] = []
    inner = x.args[0]
    while isinstance(inner, ast.ListComp) and len(axes) < 2:
        (first, *more) = inner.generators
        if more or first.ifs or first.is_async or not isinstance(first.target, ast.Name):
            return None
        if axes and not _is_simple_range(first.iter):
            return None
        earlier = {axis.target for axis in axes}
        if earlier & (loads([first.iter]).keys() | {first.target.id}):
            return None
        axes.append(Axis(first.target.id, isinstance(first.iter, ast.Call)))
        iterated.append(first.iter)
        inner = inner.elt
    scopes = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda | ast.NamedExpr
    if not axes or any(isinstance(y, scopes) for y in ast.walk(inner)):
        return None
    return Parts(axes, iterated, inner)


def _is_name(x: ast.expr) -> bool:
    """Is it a name, or an attribute of one?"""
    return isinstance(x, ast.Name) or (isinstance(x, ast.Attribute) and _is_name(x.value))


def _is_simple_range(x: ast.expr) -> bool:
    """Is it a name, or a range with bounds that may be evaluated at another time?"""
    if not isinstance(x, ast.Call):
        return isinstance(x, ast.Name)
    return is_plain_call(x) and _is_name(x.func) and all(map(_is_simple, x.args))


def _is_simple(x: ast.expr) -> bool:
    """Is it one of numbers, names and lengths?"""
    if isinstance(x, ast.BinOp):
        return _is_simple(x.left) and _is_simple(x.right)
    if isinstance(x, ast.UnaryOp):
        return _is_simple(x.operand)
    if isinstance(x, ast.Subscript):
        if not isinstance(x.value, ast.Attribute) or not isinstance(x.value.value, ast.Name):
            return False
        return x.value.attr == "shape" and isinstance(x.slice, ast.Constant)
    if isinstance(x, ast.Call):
        named = isinstance(x.func, ast.Name) and x.func.id == "len" and not x.keywords
        return named and len(x.args) == 1 and isinstance(x.args[0], ast.Name)
    return isinstance(x, ast.Constant | ast.Name)


def extents(axes: list[Axis]) -> list[str]:
    """The parameters by which a body goes through its axes."""
    found = []
    for k, axis in enumerate(axes):
        names = (_FIRST, _STEP, _COUNT) if axis.ranged else (_COUNT,)
        found += [name.format(k) for name in names]
    return found


def _item(k: int, axis: Axis) -> str:
    at = _ROWS.format(k)
    return f"{_FIRST.format(k)} + {at} * {_STEP.format(k)}" if axis.ranged else f"{_COUNT.format(k)}[{at}]"


def functions(parts: Parts, given: list[str]) -> list[ast.stmt]:
    """What gives what is gone through; what computes one element; and what stores a row of them."""
    iterated = ast.parse(f"def {_BODY}({', '.join(given)}):\n    return None").body[0]
    assert isinstance(iterated, ast.FunctionDef) and isinstance(iterated.body[0], ast.Return)
    iterated.body[0].value = ast.Tuple(copy.deepcopy(parts.iterated[1:]), ast.Load())
    axes, params = parts.axes, ", ".join([*extents(parts.axes), *given])
    rows = [_ROWS.format(k) for k in range(len(axes))]
    lines = [f"def {_BODY}({', '.join(rows)}, {params}):"]
    lines += [f"    {axis.target} = {_item(k, axis)}" for k, axis in enumerate(axes)]
    element = ast.parse("\n".join([*lines, "    return (None,)"])).body[0]
    lines = [f"def {_BODY}({rows[0]}, {params}, {_OUT}):", f"    {axes[0].target} = {_item(0, axes[0])}"]
    deep = "    "
    if len(axes) == 2:
        count = _COUNT.format(1) if axes[1].ranged else f"len({_COUNT.format(1)})"
        lines.append(f"    for {rows[1]} in range({count}):")
        lines.append(f"        {axes[1].target} = {_item(1, axes[1])}")
        deep = "        "
    lines += [f"{deep}{_OUT}[{', '.join(rows)}] = None", "    return ()"]
    stored = ast.parse("\n".join(lines)).body[0]
    assert isinstance(element, ast.FunctionDef) and isinstance(stored, ast.FunctionDef)
    last = element.body[-1]
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    last.value.elts = [copy.deepcopy(parts.element)]
    assigns = [x for x in ast.walk(stored) if isinstance(x, ast.Assign)]
    (to,) = [x for x in assigns if isinstance(x.value, ast.Constant) and x.value.value is None]
    to.value = copy.deepcopy(parts.element)
    return [iterated, element, stored]


def asking(x: ast.Call, parts: Parts, loops: str, number: int, given: list[str]) -> ast.expr:
    """The expression in the place of the call."""
    made = f"__lazyarr_made{number}__"
    values = "".join(f"{name}, " for name in given)
    asked = f"({made} := {loops}[{number}](None, None, ({values}))).whole"
    text = f"{made}.take() if {asked} else {made}.maker({made}.given())"
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.IfExp) and isinstance(tree.test, ast.Attribute)
    assert isinstance(tree.test.value, ast.NamedExpr) and isinstance(tree.test.value.value, ast.Call)
    call = tree.test.value.value
    assert isinstance(x.args[0], ast.ListComp) and isinstance(tree.orelse, ast.Call)
    axis = x.args[0].generators[0]
    call.args[:2] = [x.func, axis.iter]
    for y in ast.walk(tree):
        if "lineno" in y._attributes:
            ast.copy_location(y, x)
    axis.iter, tree.orelse.args = tree.orelse.args[0], x.args
    return tree
